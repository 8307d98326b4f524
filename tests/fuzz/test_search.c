/* The best layout of a search is the best of all, tried one by one, on random spaces; and what the
 * search leaves out is worse. Its bounds are no more than any of the steps. So are the layouts that
 * miss a GPU's memory by little: the best found is the best of all that do.
 *
 * Usage: test_search [SEED [FIRST [COUNT]]]; without arguments seed 3, 200 spaces of up to 500
 * layouts. */
#include "base/absent.h"
#include "base/arena.h"
#include "base/rng.h"
#include "input/features/features_used.h"
#include "input/scenario.h"
#include "input/scenario_load.h"
#include "plan/memory/memory.h"
#include "study/evaluate.h"
#include "study/search/search.h"
#include "study/search/search_software.h"
#include "study/search/search_memory.h"
#include "study/search/search_stages.h"
#include "support/assert_close.h"
#include "support/share.h"
#include "train/bound/bound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct family {
    uint64_t seed, first, count;
};

enum { LAYOUTS_MAX = 500 };

static uint64_t roll(struct rng_key *key, uint64_t bound)
{
    key->operation++;
    return rng_below(key, bound);
}

static const char *one_of(struct rng_key *key, const char *const *texts, uint64_t count)
{
    return texts[roll(key, count)];
}
#define ONE_OF(key, ...)                            \
    one_of(key, (const char *const[]){__VA_ARGS__}, \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static bool is_moe(const char *model)
{
    return strcmp(model, "mixtral-8x7b") == 0;
}

/* An axis that stays as it is where nobody names it; not always one that matters. */
static const char *staying_of(struct rng_key *key, const char *model)
{
    return is_moe(model) && roll(key, 2) == 0
               ? "  parallel.overlap_experts: all\n"
               : ONE_OF(key, "", "  parallel.cp_type: all\n", "  parallel.layers_per_stage: all\n",
                        "  parallel.layers_per_stage: balanced\n", "  parallel.zero_group: all\n",
                        "  parallel.zero_group: [2, 8]\n", "  parallel.reshard: all\n",
                        "  parallel.microbatch_group: all\n",
                        "  parallel.microbatch_group: [4, 6]\n");
}

/* Few microbatches on few GPUs, so that hundreds take seconds, and memory that some fit. */
static const char *text_of(struct arena *arena, struct rng_key *key)
{
    const char *model = ONE_OF(key, "llama3-8b", "llama2-70b", "mixtral-8x7b", "gpt3-175b");
    const char *ep = is_moe(model) ? ONE_OF(key, "[1]", "[1, 2, 8]", "all") : "[1]";
    const char *etp = is_moe(model) ? ONE_OF(key, "[tp]", "[1, tp]", "1..4", "[tp, 1, 16]") : "all";
    const char *staying = staying_of(key, model);
    return arena_printf(
        arena,
        "model: %s\ncluster: %s\ngpus: %s\n"
        "batch: {global: %s, sequence_length: %s}\n"
        "search:\n  parallel.tp: %s\n  parallel.cp: %s\n  parallel.ep: %s\n  parallel.etp: %s\n"
        "  parallel.pp: %s\n"
        "  parallel.schedule: %s\n  parallel.virtual_stages: %s\n  parallel.zero: %s\n"
        "  parallel.sequence_parallel: %s\n  batch.micro: %s\n  recompute: %s\n"
        "  offload: {optimizer: %s, activation_layers: %s}\n%s",
        model, ONE_OF(key, "h100-3200", "a100-80gb-800", "h100-400"), ONE_OF(key, "16", "32", "64"),
        ONE_OF(key, "16", "24", "32"), ONE_OF(key, "1024", "2048"),
        ONE_OF(key, "[1, 2, 4, 8]", "[4, 8]", "[2]"), ONE_OF(key, "[1]", "[1]", "[1, 2]"), ep, etp,
        ONE_OF(key, "[1, 2, 4]", "1..4", "[4, 8]"),
        ONE_OF(key, "[1f1b]", "[1f1b, interleaved]", "[gpipe, zb-h1, 1f1b]",
               "[dualpipe, dualpipev, 1f1b]", "[zb-h2, zb-v, interleaved]"),
        ONE_OF(key, "[2]", "1..2", "[2, 4]"), ONE_OF(key, "[1]", "[0, 1, 2]", "[1, 3]", "[2, 3]"),
        ONE_OF(key, "[true]", "all"), ONE_OF(key, "[1]", "[1, 2]", "1..4"),
        ONE_OF(key, "[none]", "[none, selective, full]", "[full, {layers: 1..3}]",
               "[none, {modules: [norm]}, {modules: [core-attention, mlp]}]", "[{layers: 0..40}]"),
        ONE_OF(key, "[0]", "[0]", "[0, 0.5]"), ONE_OF(key, "[0]", "[0]", "[0, 2]", "0..2"),
        staying);
}

struct world {
    struct arena *arena;
    struct search_space space;
    const struct search_result *found; /* what the search simulated is not simulated again */
    double best;                       /* tried one by one; ABSENT: nothing fits */
    double near;                       /* so far over a GPU's memory is near */
    double near_best;                  /* of those that are; ABSENT: none is */
    uint64_t near_count;
    uint64_t tried, fitting;
    uint64_t known;  /* of these: simulated by the search */
    uint64_t loose;  /* thousandths of bound over step, of those that fit, added up */
    uint64_t memory; /* the same of least memory, of all */
};

/* What the search leaves out by must be no more than plan/memory counts, of the layout and of all
 * in its line; and not far less: what is far less leaves out nothing. */
static void check_memory(struct world *world, struct arena *arena, const struct scenario *scenario,
                         uint32_t recompute, double total_bytes)
{
    const struct search_shape *shape = search_shape_new(arena, &world->space, scenario);
    const struct search_crowd *crowd = search_crowd_new(arena, scenario);
    const struct search_stock stock = search_stock_of(scenario);
    const struct search_held held = search_held_of(arena, scenario, shape, crowd, &stock);
    const struct recompute *is = &scenario->recompute;
    const int64_t offloaded = scenario->offload.activation_layers;
    const struct search_choice choice = {
        .plain = recompute,
        .full_layers = is->kind != RECOMPUTE_FULL ? 0
                       : is->layers > 0           ? is->layers
                                                  : INT64_MAX,
        .offloaded_layers = offloaded,
    };
    const double least = search_least_bytes(&held, &choice);
    assert_true(least <= total_bytes);
    assert_true(search_least_of_line(&held, offloaded) <= least);
    /* Each layer counts, so without its first a stage that is all of the model needs less. */
    assert_true(scenario->parallel.pp > 1 ||
                search_least_of_line(&held, 1) < search_least_of_line(&held, 0));
    world->memory += (uint64_t)(1000.0 * least / total_bytes);
}

static int64_t etp_of(const struct relayout *layout)
{
    return layout->etp > 0 ? layout->etp : layout->tp;
}

static bool is_same(const struct relayout *a, const struct relayout *b)
{
    return (a->cp == 1 || a->context == b->context) && a->reshard == b->reshard &&
           a->overlap == b->overlap && a->zero_group == b->zero_group &&
           a->microbatch_group == b->microbatch_group && a->ends[0] == b->ends[0] &&
           a->ends[1] == b->ends[1] && a->tp == b->tp && a->cp == b->cp && a->pp == b->pp &&
           a->ep == b->ep && etp_of(a) == etp_of(b) && a->virtual_stages == b->virtual_stages &&
           a->schedule == b->schedule && a->zero == b->zero && a->micro == b->micro &&
           (a->tp == 1 || a->is_sequence_parallel == b->is_sequence_parallel) &&
           a->recompute.kind == b->recompute.kind && a->recompute.modules == b->recompute.modules &&
           a->recompute.layers == b->recompute.layers &&
           a->offload.activation_layers == b->offload.activation_layers &&
           memcmp(&a->offload.optimizer, &b->offload.optimizer, sizeof a->offload.optimizer) == 0;
}

static sim_time simulated_ns(struct arena *arena, const struct scenario *scenario)
{
    struct step_result step;
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &step);
    return step.step_ns;
}

/* A step that the search simulated, or else one that is simulated here. That both are the same is
 * what test_evaluate is about. */
static sim_time step_ns_of(struct world *world, struct arena *arena, const struct relayout *layout,
                           const struct scenario *scenario)
{
    for (uint32_t i = 0; i < world->found->found_count; i++) {
        if (is_same(&world->found->found[i].layout, layout)) {
            world->known++;
            return sim_time_from_s(world->found->found[i].step_s);
        }
    }
    return simulated_ns(arena, scenario);
}

/* Not with the margin; without it, or with so much more memory. */
static bool is_near(const struct world *world, const struct memory_verdict *verdict, double margin)
{
    return verdict->worst.total_bytes > verdict->limit_bytes * (1 - margin) &&
           verdict->worst.total_bytes <= verdict->limit_bytes * (1.0 + world->near) &&
           (verdict->host_limit_bytes <= 0 || verdict->host_bytes <= verdict->host_limit_bytes);
}

/* Simulated here, whatever the search did: in its own GPUs, into which it does not fit. */
static void try_near(struct world *world, struct arena *arena, const struct scenario *scenario)
{
    const double value = sim_time_to_s(simulated_ns(arena, scenario));
    world->near_count++;
    world->near_best =
        is_absent(world->near_best) || value < world->near_best ? value : world->near_best;
}

/* As the search's, but layout by layout. */
static void try_layout(struct world *world, const struct relayout_frame *frame,
                       const struct relayout *layout, uint32_t recompute)
{
    struct arena *arena = arena_new();
    struct scenario scenario;
    struct feature_set lacked = {{0}};
    if (scenario_relayout(arena, frame, layout, &scenario, diag_new(arena)) &&
        features_hold(&scenario, &world->space.allowed, &lacked)) {
        const struct memory_verdict verdict = memory_check(&scenario);
        world->tried++;
        check_memory(world, arena, &scenario, recompute, verdict.worst.total_bytes);
        const double margin = scenario.memory_margin;
        if (is_near(world, &verdict, margin)) {
            try_near(world, arena, &scenario);
        }
        if (verdict.fits && verdict.worst.total_bytes <= verdict.limit_bytes * (1 - margin)) {
            const sim_time step_ns = step_ns_of(world, arena, layout, &scenario);
            const struct bound bound = bound_step(&scenario);
            const double value = sim_time_to_s(step_ns);
            if (bound.step_ns > step_ns) {
                const struct search_sets sets = search_layout_sets(arena, layout);
                for (uint32_t i = 0; i < sets.count; i++) {
                    fprintf(stderr, "%s ", sets.items[i]);
                }
                fail_msg("model %s, %lld GPUs of %s, batch %lld: bound %.6f over step %.6f",
                         scenario.model.name, (long long)scenario.gpus, scenario.cluster.name,
                         (long long)scenario.batch.global, (double)bound.step_ns * 1e-9, value);
            }
            world->loose += (uint64_t)(1000.0 * (double)bound.step_ns / (double)step_ns);
            world->fitting++;
            world->best = is_absent(world->best) || value < world->best ? value : world->best;
        }
    }
    arena_free(arena);
}

/* Number `number` of the product of all axes. */
static struct relayout layout_of(const struct search_space *space, uint64_t number)
{
    const struct search_values *axes = space->axes;
    double at[SEARCH_AXIS_COUNT_];
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        const uint64_t k = number % axes[i].count;
        number /= axes[i].count;
        at[i] = i == SEARCH_RECOMPUTE ? (double)k : axes[i].items[k];
    }
    const uint32_t schedule = (uint32_t)at[SEARCH_SCHEDULE];
    const bool two = schedule == SCHEDULE_ZB_V || schedule == SCHEDULE_DUALPIPE ||
                     schedule == SCHEDULE_DUALPIPEV;
    return (struct relayout){
        .context = (uint32_t)at[SEARCH_CP_TYPE],
        .zero_group = (int64_t)at[SEARCH_ZERO_GROUP],
        .microbatch_group = (int64_t)at[SEARCH_MICROBATCH_GROUP],
        .reshard = (uint32_t)at[SEARCH_RESHARD],
        .overlap = (uint32_t)at[SEARCH_OVERLAP_EXPERTS],
        .tp = (int64_t)at[SEARCH_TP],
        .cp = (int64_t)at[SEARCH_CP],
        .ep = (int64_t)at[SEARCH_EP],
        .etp = (int64_t)at[SEARCH_ETP],
        .pp = (int64_t)at[SEARCH_PP],
        .virtual_stages = schedule == SCHEDULE_INTERLEAVED ? (int64_t)at[SEARCH_VIRTUAL_STAGES]
                          : two                            ? 2
                                                           : 1,
        .schedule = schedule,
        .zero = (int64_t)at[SEARCH_ZERO],
        .micro = (int64_t)at[SEARCH_MICRO],
        .is_sequence_parallel = at[SEARCH_SEQUENCE_PARALLEL] > 0,
        .recompute = space->recomputes[(uint32_t)at[SEARCH_RECOMPUTE]],
        .offload = {at[SEARCH_OFFLOAD_OPTIMIZER], (int64_t)at[SEARCH_OFFLOAD_LAYERS]},
    };
}

/* Without a pipeline one schedule stands for all: 1f1b if it is among them, else the first. */
static bool is_idle(const struct search_space *space, const struct relayout *layout)
{
    const struct search_values *schedules = &space->axes[SEARCH_SCHEDULE];
    uint32_t one = (uint32_t)schedules->items[0];
    for (uint32_t i = 0; i < schedules->count; i++) {
        one = (uint32_t)schedules->items[i] == SCHEDULE_1F1B ? SCHEDULE_1F1B : one;
    }
    return layout->pp == 1 && layout->schedule != one;
}

static uint32_t recompute_of(const struct search_space *space, uint64_t number)
{
    for (uint32_t i = 0; i < SEARCH_RECOMPUTE; i++) {
        number /= space->axes[i].count;
    }
    return (uint32_t)(number % space->axes[SEARCH_RECOMPUTE].count);
}

static uint64_t product_of(const struct search_space *space)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        product *= space->axes[i].count;
    }
    return product;
}

static bool read_world(struct arena *arena, struct rng_key *key, struct world *world)
{
    static const struct catalogue here = {{"."}, 1, NULL};
    *world = (struct world){.arena = arena, .best = ABSENT, .near_best = ABSENT};
    const char *text = text_of(arena, key);
    struct diag *diag = diag_new(arena);
    const struct doc_node *document = doc_parse(arena, "space", text, strlen(text), diag);
    assert_non_null(document);
    const char *sets[] = {"parallel.tp=8", "batch.micro=1"};
    const struct scenario *base = scenario_resolve(arena, document, &here, sets, 2, diag);
    if (base == NULL || !search_space_read(arena, document, base, &world->space, diag)) {
        diag_print(diag, stderr);
        return false;
    }
    return true;
}

/* With a gap, what is found is worse than the best by no more, and says by how much at most. */
static void check_gap(const struct world *world)
{
    struct arena *arena = arena_new();
    struct search_result result;
    const struct search_request request = {
        .space = &world->space, .gap = 0.05, .near = world->near, .jobs = 1, .folds = true};
    search_run(arena, &request, &result);
    assert_true(result.is_certified && result.gap <= request.gap);
    assert_true(result.found[0].value * (1.0 - result.gap) <= world->best * (1.0 + 1e-12));
    const struct search_near *near = &result.near;
    const double enough = result.best * (1.0 - request.gap);
    for (uint32_t i = 0; i < near->count; i++) {
        assert_true(near->found[i].value < enough);
    }
    assert_true(near->is_certified);
    assert_int_equal(near->count > 0, !is_absent(world->near_best) && world->near_best < enough);
    assert_true(near->count == 0 ||
                near->found[0].value * (1.0 - request.gap) <= world->near_best * (1.0 + 1e-12));
    arena_free(arena);
}

/* What does not matter to a layout is not said, whatever the axis has. */
static void leave_idle(struct relayout *layout)
{
    const bool is_interleaved =
        layout->schedule == SCHEDULE_INTERLEAVED && layout->virtual_stages > 1;
    const bool is_plain =
        layout->schedule == SCHEDULE_1F1B || layout->schedule == SCHEDULE_INTERLEAVED;
    layout->context = layout->cp > 1 ? layout->context : 0;
    layout->microbatch_group = is_interleaved ? layout->microbatch_group : 0;
    layout->reshard = layout->zero == 3 ? layout->reshard : 0;
    layout->overlap = layout->ep > 1 && is_plain ? layout->overlap : 0;
}

static bool is_balanced(const struct search_space *space, uint64_t number)
{
    for (uint32_t i = 0; i < SEARCH_LAYERS; i++) {
        number /= space->axes[i].count;
    }
    const struct search_values *ways = &space->axes[SEARCH_LAYERS];
    return ways->items[number % ways->count] > 0;
}

static void try_all(struct world *world, uint64_t product)
{
    struct relayout_frame frame;
    relayout_frame_init(world->space.base, &frame);
    struct search_stages *stages = search_stages_new(world->arena, world->space.base);
    for (uint64_t i = 0; i < product; i++) {
        struct relayout layout = layout_of(&world->space, i);
        leave_idle(&layout);
        if (is_balanced(&world->space, i) && !search_stages_balance(stages, &layout)) {
            continue; /* even ones are */
        }
        if (!is_idle(&world->space, &layout)) {
            try_layout(world, &frame, &layout, recompute_of(&world->space, i));
        }
    }
}

/* A near miss is found where one is better than all that fits, or nothing does: the best of them.
 */
static void check_near(const struct world *world)
{
    const struct search_near *near = &world->found->near;
    const struct search_counts *counts = &near->counts;
    const bool is_worth =
        !is_absent(world->near_best) && (is_absent(world->best) || world->near_best < world->best);
    assert_true(near->is_certified);
    assert_int_equal(near->count > 0, is_worth);
    assert_true(counts->layouts >= near->count);
    assert_int_equal(counts->layouts, counts->by_count + counts->by_bound + counts->simulated);
    const double limit_bytes = world->space.base->gpu.memory_bytes;
    const double free_bytes = limit_bytes * world->space.base->memory_margin;
    for (uint32_t i = 0; i < near->count; i++) {
        assert_true(near->found[i].memory_bytes > limit_bytes - free_bytes);
        assert_true(near->found[i].memory_bytes <= limit_bytes * (1.0 + world->near));
        assert_true(is_absent(world->best) || near->found[i].value < world->best);
        assert_true(i == 0 || near->found[i].value >= near->found[i - 1].value);
    }
    if (near->count > 0 &&
        (near->found[0].value < world->near_best || near->found[0].value > world->near_best)) {
        fail_msg("near: found %.9f, best %.9f", near->found[0].value, world->near_best);
    }
}

/* Near and far misses, by one process or two, with lines left out whole or not. */
static struct search_request request_of(struct world *world, uint64_t spaces)
{
    world->near = spaces % 3 == 0 ? 0.04 : spaces % 3 == 1 ? 0.3 : 2.0;
    return (struct search_request){.space = &world->space,
                                   .near = world->near,
                                   .jobs = 1 + (uint32_t)(spaces % 2),
                                   .folds = true,
                                   .is_of_lines = spaces % 4 < 2};
}

static void the_best_found_is_the_best_of_all(void **state)
{
    const struct family *family = *state;
    uint64_t spaces = 0, empty = 0, left_out = 0, fitting = 0, loose = 0, tried = 0, memory = 0;
    uint64_t known = 0, found = 0, near = 0, near_found = 0, near_left_out = 0, lacking = 0;
    struct rng_key key = {
        .seed = family->seed, .stream = rng_stream("spaces"), .rank = family->first};
    while (spaces < family->count) {
        struct arena *arena = arena_new();
        struct world world;
        assert_true(read_world(arena, &key, &world));
        const uint64_t product = product_of(&world.space);
        if (product > LAYOUTS_MAX) {
            arena_free(arena);
            continue;
        }
        spaces++;
        if (spaces % 3 != 0) { /* of the others what megatron-2024 has */
            search_software_lift(&world.space);
        }
        struct search_result result;
        const struct search_request request = request_of(&world, spaces);
        search_run(arena, &request, &result);
        world.found = &result;
        try_all(&world, product);
        assert_true(result.is_certified);
        assert_true(result.counts.layouts <= world.tried);
        assert_int_equal(is_absent(world.best), result.found_count == 0);
        empty += result.found_count == 0;
        if (result.found_count > 0 &&
            (result.found[0].value < world.best || result.found[0].value > world.best)) {
            fail_msg("space %llu: found %.9f, best %.9f", (unsigned long long)spaces,
                     result.found[0].value, world.best);
        }
        if (result.found_count > 0) {
            assert_true(result.gap <= 0);
        }
        if (result.found_count > 0 && spaces % 4 == 0) {
            check_gap(&world);
        }
        check_near(&world);
        lacking += result.lacking.layouts > 0;
        near += world.near_count;
        near_found += result.near.count > 0;
        near_left_out += result.near.counts.by_bound;
        left_out += result.counts.by_bound;
        fitting += world.fitting;
        loose += world.loose;
        tried += world.tried;
        memory += world.memory;
        known += world.known;
        found += result.found_count;
        arena_free(arena);
    }
    fprintf(stderr,
            "%llu spaces, %llu empty; of %llu layouts that fit %llu left out by their bound; "
            "bound over step on average %.3f, least memory over memory %.3f\n",
            (unsigned long long)spaces, (unsigned long long)empty, (unsigned long long)fitting,
            (unsigned long long)left_out, (double)loose / 1000.0 / (double)fitting,
            (double)memory / 1000.0 / (double)tried);
    fprintf(stderr, "%llu near misses, in %llu spaces better than what fits; %llu left out\n",
            (unsigned long long)near, (unsigned long long)near_found,
            (unsigned long long)near_left_out);
    assert_true(family->count < 50 || (near_found > 10 && near_left_out > near / 3));
    assert_true(family->count < 50 || (left_out > fitting / 3 && empty > 0));
    assert_true(family->count < 50 || lacking > 5);
    assert_true(known > found / 2); /* others have another name for the same */
    assert_true(memory > 900 * tried);
}

/* GPUs of less memory than any layout needs: near misses are those of the layouts that fit without
 * it (`all` of them, and what each needs) that need at most `more` times as much, no fewer and no
 * more. False where that is as much as there was. */
static bool check_near_alone(const struct world *world, const struct search_result *all)
{
    const double more = 1.5;
    double least_bytes = ABSENT;
    for (uint32_t i = 0; i < all->found_count; i++) {
        const double bytes = all->found[i].memory_bytes;
        least_bytes = is_absent(least_bytes) || bytes < least_bytes ? bytes : least_bytes;
    }
    struct scenario base = *world->space.base;
    struct search_space space = world->space;
    base.gpu.memory_bytes = 0.9 * least_bytes;
    space.base = &base;
    if (is_absent(least_bytes) ||
        more * base.gpu.memory_bytes > world->space.base->gpu.memory_bytes) {
        return false;
    }
    uint32_t expected = 0;
    for (uint32_t i = 0; i < all->found_count; i++) {
        expected += all->found[i].memory_bytes <= base.gpu.memory_bytes * (1.0 + (more - 1.0));
    }
    struct search_result result;
    const struct search_request request = {
        .space = &space, .near = more - 1.0, .jobs = 1, .folds = true, .is_exhaustive = true};
    search_run(world->arena, &request, &result);
    assert_int_equal(result.found_count, 0);
    assert_int_equal(result.near.count, expected);
    assert_int_equal(result.near.counts.simulated, expected);
    return true;
}

/* Everything simulated, or left out by bounds, by one process or three: the same. */
static void the_outcome_does_not_depend_on_jobs_or_bounds(void **state)
{
    const struct family *family = *state;
    struct rng_key key = {
        .seed = family->seed, .stream = rng_stream("jobs"), .rank = family->first};
    uint32_t alone = 0;
    for (uint32_t done = 0; done < 5 || alone < 3;) {
        struct arena *arena = arena_new();
        struct world world;
        assert_true(read_world(arena, &key, &world));
        struct search_result one, three, all;
        struct search_request request = {.space = &world.space, .jobs = 1, .folds = true};
        if (product_of(&world.space) <= LAYOUTS_MAX) {
            search_run(arena, &request, &one);
            request.jobs = 3;
            search_run(arena, &request, &three);
            request.is_exhaustive = true;
            search_run(arena, &request, &all);
            assert_memory_equal(&one.counts, &three.counts, sizeof one.counts);
            assert_int_equal(one.found_count, three.found_count);
            for (uint32_t i = 0; i < one.found_count; i++) {
                assert_int_equal(one.found[i].order, three.found[i].order);
                assert_true(one.found[i].value <= three.found[i].value &&
                            one.found[i].value >= three.found[i].value);
            }
            request.near = 0.2;
            struct search_result near;
            search_run(arena, &request, &near);
            assert_memory_equal(&near.counts, &all.counts, sizeof near.counts);
            assert_int_equal(near.families, all.families);
            assert_int_equal(near.found_count, all.found_count);
            for (uint32_t i = 0; i < all.found_count; i++) {
                assert_true(is_same(&near.found[i].layout, &all.found[i].layout));
            }
            alone += check_near_alone(&world, &all);
            assert_int_equal(all.counts.by_bound, 0);
            assert_int_equal(all.counts.layouts, one.counts.layouts);
            if (one.found_count > 0) {
                assert_int_equal(one.found[0].order, all.found[0].order);
                done++;
            }
        }
        arena_free(arena);
    }
}

int main(int argc, char **argv)
{
    struct family family = {argc > 1 ? strtoull(argv[1], NULL, 10) : 3,
                            argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
                            argc > 3 ? strtoull(argv[3], NULL, 10) : share_of(200)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(the_best_found_is_the_best_of_all, &family),
        cmocka_unit_test_prestate(the_outcome_does_not_depend_on_jobs_or_bounds, &family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
