/* The best layout of a search is the best of all, tried one by one, on random spaces; and what the
 * search leaves out is worse. Its bounds are no more than any of the steps. So are the layouts that
 * miss a GPU's memory by little: the best found is the best of all that do.
 *
 * Usage: test_search [SEED [FIRST [COUNT]]]; without arguments seed 3, 200 spaces of up to 500
 * layouts. */
#include "base/absent.h"
#include "base/arena.h"
#include "base/rng.h"
#include "input/scenario.h"
#include "input/scenario_load.h"
#include "study/evaluate.h"
#include "study/search/search.h"
#include "study/search/search_same.h"
#include "study/search/search_software.h"
#include "support/assert_close.h"
#include "support/share.h"
#include "support/slow_search.h"

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

/* The third set is the caller's. */
static bool read_text(struct arena *arena, const char *text, const char *set,
                      struct slow_search *world)
{
    static const struct catalogue here = {.directories = {"."}, .count = 1};
    *world = (struct slow_search){.arena = arena};
    struct diag *diag = diag_new(arena);
    const struct doc_node *document = doc_parse(arena, "space", text, strlen(text), diag);
    assert_non_null(document);
    const char *sets[] = {"parallel.tp=8", "batch.micro=1", set};
    const struct scenario *base = scenario_resolve(arena, document, &here, sets, 3, diag);
    if (base == NULL || !search_space_read(arena, document, base, &world->space, diag)) {
        diag_print(diag, stderr);
        return false;
    }
    return true;
}

static bool read_world(struct arena *arena, struct rng_key *key, struct slow_search *world)
{
    return read_text(arena, text_of(arena, key), "seed=1", world);
}

/* With a gap, what is found is worse than the best by no more, and says by how much at most. */
static void check_gap(const struct slow_search *world)
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

/* A near miss is found where one is better than all that fits, or nothing does: the best of them.
 */
static void check_near(const struct slow_search *world)
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
static struct search_request request_of(struct slow_search *world, uint64_t spaces)
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
        struct slow_search world;
        assert_true(read_world(arena, &key, &world));
        const uint64_t product = slow_search_product(&world.space);
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
        slow_search_run(&world);
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
static bool check_near_alone(const struct slow_search *world, const struct search_result *all)
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

/* Where only the best is asked for, runs of worse layouts are left; and some are tried before all
 * others, here those of `all` with these numbers. It is the same best, by one process or three. */
static void check_only_best(const struct slow_search *world, const struct search_result *all,
                            const uint32_t *numbers, uint32_t count)
{
    struct relayout first[2];
    for (uint32_t i = 0; i < count; i++) {
        first[i] = all->found[numbers[i]].layout;
    }
    struct search_request request = {.space = &world->space,
                                     .jobs = 1,
                                     .folds = true,
                                     .only_best = true,
                                     .first = first,
                                     .first_count = count};
    struct search_result one, three;
    search_run(world->arena, &request, &one);
    request.jobs = 3;
    search_run(world->arena, &request, &three);
    assert_memory_equal(&one.counts, &three.counts, sizeof one.counts);
    assert_int_equal(one.counts.layouts, all->counts.layouts);
    assert_true(one.is_certified && one.found_count > 0);
    assert_true(one.found[0].value <= all->found[0].value &&
                one.found[0].value >= all->found[0].value);
    assert_true(search_is_same(&one.found[0].layout, &all->found[0].layout));
    assert_true(search_is_same(&one.found[0].layout, &three.found[0].layout));
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
        struct slow_search world;
        assert_true(read_world(arena, &key, &world));
        struct search_result one, three, all;
        struct search_request request = {.space = &world.space, .jobs = 1, .folds = true};
        if (slow_search_product(&world.space) <= LAYOUTS_MAX) {
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
                assert_true(slow_search_is_same(&near.found[i].layout, &all.found[i].layout));
            }
            alone += check_near_alone(&world, &all);
            assert_int_equal(all.counts.by_bound, 0);
            assert_int_equal(all.counts.layouts, one.counts.layouts);
            if (one.found_count > 0) {
                assert_int_equal(one.found[0].order, all.found[0].order);
                const uint32_t numbers[] = {all.found_count - 1, all.found_count / 2};
                check_only_best(&world, &all, numbers, done % 3);
                done++;
            }
        }
        arena_free(arena);
    }
}

/* As if one layout were simulated after the other, whatever is simulated beside it in vain. */
static void the_best_alone_does_not_depend_on_jobs(void **state)
{
    const struct family *family = *state;
    struct rng_key key = {
        .seed = family->seed, .stream = rng_stream("best"), .rank = family->first};
    uint64_t dropped = 0;
    for (uint32_t done = 0; done < 20;) {
        struct arena *arena = arena_new();
        struct slow_search world;
        assert_true(read_world(arena, &key, &world));
        struct search_result one, three, all;
        struct search_request request = {
            .space = &world.space, .near = 0.2, .gap = 0.02, .folds = true};
        if (slow_search_product(&world.space) <= LAYOUTS_MAX) {
            request.jobs = 1;
            search_run(arena, &request, &all);
            request.only_best = true;
            search_run(arena, &request, &one);
            request.jobs = 3;
            search_run(arena, &request, &three);
            assert_memory_equal(&one.counts, &three.counts, sizeof one.counts);
            assert_memory_equal(&one.near.counts, &three.near.counts, sizeof one.near.counts);
            assert_int_equal(one.found_count, three.found_count);
            assert_int_equal(one.counts.layouts, all.counts.layouts);
            for (uint32_t i = 0; i < one.found_count; i++) {
                assert_int_equal(one.found[i].order, three.found[i].order);
            }
            done += one.found_count > 0;
            assert_true(one.is_certified && (one.found_count == 0 || one.gap <= request.gap));
            dropped += all.counts.simulated - one.counts.simulated;
        }
        arena_free(arena);
    }
    assert_true(dropped > 20);
}

/* Of a layout that is longer than the best it is told that it is, or all, and of the best all. */
static bool is_left(const struct slow_search *world, const struct relayout *layout, int64_t best_ns)
{
    struct evaluator *evaluator = evaluator_new(world->arena, world->space.base, true);
    const struct scenario *scenario =
        evaluator_lay_out(evaluator, world->arena, layout, diag_new(world->arena));
    struct step_result whole, step;
    evaluator_simulate(evaluator, world->arena, scenario, 0, &whole);
    evaluator_simulate(evaluator, world->arena, scenario, best_ns, &step);
    assert_false(whole.is_longer);
    assert_true(step.is_longer ? whole.step_ns > best_ns : step.step_ns == whole.step_ns);
    assert_true(step.is_longer || memcmp(&step.spread, &whole.spread, sizeof step.spread) == 0);
    evaluator_free(evaluator);
    return step.is_longer;
}

/* Behind thin up-links, where steps are medians of runs that lie apart, some are left. */
static void runs_of_worse_layouts_are_left(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct slow_search world;
    assert_true(read_text(arena,
                          "model: mixtral-8x22b\ncluster: h100-roce-24k\ngpus: 128\n"
                          "software: megatron-2024\n"
                          "batch: {global: 256, sequence_length: 4096}\n"
                          "search: {parallel.tp: [4], parallel.cp: [1], parallel.pp: [4], "
                          "parallel.ep: [8], parallel.etp: [4], batch.micro: [1], "
                          "parallel.schedule: [interleaved], parallel.virtual_stages: all, "
                          "parallel.zero: [1], parallel.sequence_parallel: [true], "
                          "recompute: [none], offload: {optimizer: [0], "
                          "activation_layers: [0]}}\n",
                          "cluster.fabric.oversubscription=3", &world));
    const struct search_request request = {
        .space = &world.space, .jobs = 1, .folds = true, .is_exhaustive = true};
    struct search_result all;
    search_run(arena, &request, &all);
    uint32_t left = 0;
    for (uint32_t i = 0; i < all.found_count; i++) {
        left += is_left(&world, &all.found[i].layout, (int64_t)(all.found[0].step_s * 1e9));
    }
    assert_in_range(left, 1, all.found_count - 1);
    check_only_best(&world, &all, &(uint32_t){0}, 1);
    arena_free(arena);
}

int main(int argc, char **argv)
{
    struct family family = {argc > 1 ? strtoull(argv[1], NULL, 10) : 3,
                            argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
                            argc > 3 ? strtoull(argv[3], NULL, 10) : share_of(200)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(the_best_found_is_the_best_of_all, &family),
        cmocka_unit_test_prestate(the_outcome_does_not_depend_on_jobs_or_bounds, &family),
        cmocka_unit_test_prestate(the_best_alone_does_not_depend_on_jobs, &family),
        cmocka_unit_test(runs_of_worse_layouts_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
