/* A layout that is tried without the file is the layout that --set gives, on random scenarios and
 * random layouts; and what steps remember of each other changes none.
 *
 * Usage: test_evaluate [SEED [FIRST [COUNT]]]; without arguments seed 5, 60 scenarios, seven
 * layouts each. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "input/scenario_load.h"
#include "plan/collective/collective.h"
#include "plan/memory/memory.h"
#include "study/evaluate.h"
#include "support/random_scenario.h"
#include "support/share.h"
#include "train/step_memo.h"

struct family {
    uint64_t seed, first, count;
};

enum { LAYOUTS_EACH = 4, SETS = 13 };

static uint64_t roll(struct rng_key *key, uint64_t bound)
{
    key->operation++;
    return rng_below(key, bound);
}

static int64_t power_of_two(struct rng_key *key, uint64_t exponents)
{
    return (int64_t)1 << roll(key, exponents);
}

/* Some of what may be chosen, on top of what the scenario has. */
static struct relayout draw(struct rng_key *key, const struct scenario *scenario)
{
    static const uint32_t modules[] = {1u << RECOMPUTE_NORM, 1u << RECOMPUTE_CORE_ATTENTION,
                                       1u << RECOMPUTE_ACTIVATION | 1u << RECOMPUTE_NORM};
    struct relayout layout = relayout_of(scenario);
    layout.tp = roll(key, 2) ? power_of_two(key, 4) : layout.tp;
    layout.cp = roll(key, 3) ? layout.cp : power_of_two(key, 2);
    layout.pp = roll(key, 2) ? power_of_two(key, 3) : layout.pp;
    layout.ep = roll(key, 2) ? power_of_two(key, 3) : layout.ep;
    layout.schedule = roll(key, 3) ? layout.schedule : (uint32_t)roll(key, SCHEDULE_FILE);
    layout.virtual_stages = roll(key, 2) ? layout.virtual_stages : 1 + (int64_t)roll(key, 2);
    layout.zero = roll(key, 2) ? layout.zero : (int64_t)roll(key, 4);
    layout.micro = power_of_two(key, 2);
    layout.is_sequence_parallel = roll(key, 2) != 0;
    layout.recompute = (struct recompute){.kind = (uint32_t)roll(key, RECOMPUTE_COUNT_)};
    if (layout.recompute.kind == RECOMPUTE_FULL && roll(key, 2)) {
        layout.recompute.layers = 1 + (int64_t)roll(key, 2);
    } else if (layout.recompute.kind == RECOMPUTE_SELECTIVE && roll(key, 2)) {
        layout.recompute.modules = modules[roll(key, 3)];
    }
    layout.offload.optimizer = roll(key, 3) ? layout.offload.optimizer : 0.5;
    layout.offload.activation_layers = roll(key, 3) ? 0 : 1;
    return layout;
}

static const char *recompute_text(struct arena *arena, const struct recompute *recompute)
{
    if (recompute->layers > 0) {
        return arena_printf(arena, "{layers: %lld}", (long long)recompute->layers);
    }
    const char *text = NULL;
    for (uint32_t i = 0; i < RECOMPUTE_MODULE_COUNT_; i++) {
        if ((recompute->modules >> i & 1u) != 0) {
            text = text == NULL ? recompute_module_names[i]
                                : arena_printf(arena, "%s, %s", text, recompute_module_names[i]);
        }
    }
    return text != NULL ? arena_printf(arena, "{modules: [%s]}", text)
                        : recompute_names[recompute->kind];
}

/* The same as a user says it. */
static void say(struct arena *arena, const struct relayout *layout, const char **sets)
{
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {{"parallel.tp", layout->tp},
                  {"parallel.cp", layout->cp},
                  {"parallel.pp", layout->pp},
                  {"parallel.ep", layout->ep},
                  {"parallel.virtual_stages", layout->virtual_stages},
                  {"parallel.zero", layout->zero},
                  {"batch.micro", layout->micro},
                  {"offload.activation_layers", layout->offload.activation_layers}};
    const uint32_t count = sizeof counts / sizeof *counts;
    for (uint32_t i = 0; i < count; i++) {
        sets[i] = arena_printf(arena, "%s=%lld", counts[i].key, (long long)counts[i].value);
    }
    sets[count] = arena_printf(arena, "parallel.schedule=%s", schedule_names[layout->schedule]);
    sets[count + 1] = arena_printf(arena, "parallel.sequence_parallel=%s",
                                   layout->is_sequence_parallel ? "true" : "false");
    sets[count + 2] =
        arena_printf(arena, "recompute=%s", recompute_text(arena, &layout->recompute));
    sets[count + 3] = arena_printf(arena, "offload.optimizer=%.17g", layout->offload.optimizer);
    sets[count + 4] = "parallel.dp=auto";
    assert_int_equal(count + 5, SETS);
}

static void assert_same_step(const struct step_result *a, const struct step_result *b)
{
    assert_int_equal(a->step_ns, b->step_ns);
    assert_memory_equal(a->gpu_ns, b->gpu_ns, sizeof a->gpu_ns);
    assert_memory_equal(&a->memory, &b->memory, sizeof a->memory);
    assert_memory_equal(&a->mfu, &b->mfu, sizeof a->mfu);
    assert_memory_equal(&a->hfu, &b->hfu, sizeof a->hfu);
    assert_int_equal(a->jitter_ns, b->jitter_ns);
    assert_int_equal(a->links_ns, b->links_ns);
    assert_string_equal(a->memory_advice, b->memory_advice);
}

static void assert_same_links(const struct step_result *a, const struct step_result *b)
{
    assert_int_equal(a->link_load_count, b->link_load_count);
    for (uint32_t i = 0; i < a->link_load_count; i++) {
        assert_string_equal(a->link_loads[i].name, b->link_loads[i].name);
        assert_memory_equal(&a->link_loads[i].bytes, &b->link_loads[i].bytes, sizeof(double));
        assert_memory_equal(&a->link_loads[i].utilisation, &b->link_loads[i].utilisation,
                            sizeof(double));
    }
}

static void assert_same_run(const struct result *a, const struct result *b)
{
    assert_same_step(&a->step, &b->step);
    assert_memory_equal(&a->run.days, &b->run.days, sizeof a->run.days);
    assert_memory_equal(&a->run.cost_usd, &b->run.cost_usd, sizeof a->run.cost_usd);
    assert_memory_equal(&a->run.energy_kwh, &b->run.energy_kwh, sizeof a->run.energy_kwh);
    assert_memory_equal(&a->run.checkpoint_s, &b->run.checkpoint_s, sizeof a->run.checkpoint_s);
    assert_memory_equal(&a->run.data_stall_s, &b->run.data_stall_s, sizeof a->run.data_stall_s);
}

/* One with `dp: auto`, since other degrees leave it another number of GPUs. */
static const struct doc_node *document_of(struct arena *arena, const struct family *family,
                                          uint64_t number)
{
    static const struct catalogue here = {.directories = {"."}, .count = 1};
    struct diag *diag = diag_new(arena);
    const char *text = random_scenario_text(arena, family->seed, number);
    const struct doc_node *document = doc_parse(arena, "random", text, strlen(text), diag);
    assert_non_null(document);
    const char *sets[] = {"parallel.dp=auto"};
    const struct scenario *scenario = scenario_resolve(arena, document, &here, sets, 1, diag);
    assert_non_null(scenario);
    return scenario->document;
}

static bool try_layout(struct arena *arena, const struct evaluator *evaluator,
                       const struct doc_node *document, const struct relayout *layout)
{
    static const struct catalogue here = {.directories = {"."}, .count = 1};
    const char *sets[SETS];
    say(arena, layout, sets);
    const struct scenario *said =
        scenario_resolve(arena, document, &here, sets, SETS, diag_new(arena));
    const struct scenario *tried = evaluator_lay_out(evaluator, arena, layout, diag_new(arena));
    assert_int_equal(said != NULL, tried != NULL);
    if (said == NULL || tried == NULL) {
        return false;
    }
    assert_memory_equal(&said->batch, &tried->batch, offsetof(struct batch, place));
    struct result told;
    struct result found;
    run_predict(arena, said, &(struct run_request){.folds = true, .build = "", .finds_path = true},
                &told);
    evaluator_predict(evaluator, arena, tried, &found);
    assert_same_run(&told, &found);
    struct step_result step;
    evaluator_simulate(evaluator, arena, tried, 0, &step);
    if (told.run.data_stall_s <= 0) {
        assert_same_step(&told.step, &step);
    }
    return true;
}

/* Layouts that differ in one thing, which the memo must tell apart, tried once more when it knows
 * them all. */
static void vary(struct arena *arena, const struct evaluator *evaluator,
                 const struct doc_node *document, const struct scenario *scenario)
{
    const struct relayout as_it_is = relayout_of(scenario);
    struct relayout layouts[] = {as_it_is, as_it_is, as_it_is, as_it_is, as_it_is,
                                 as_it_is, as_it_is, as_it_is, as_it_is};
    layouts[0].recompute =
        (struct recompute){.kind = RECOMPUTE_SELECTIVE, .modules = 1u << RECOMPUTE_NORM};
    layouts[1].recompute =
        (struct recompute){.kind = RECOMPUTE_SELECTIVE, .modules = 1u << RECOMPUTE_CORE_ATTENTION};
    layouts[2].micro *= 2;
    layouts[3].zero = as_it_is.zero == 1 ? 2 : 1;
    layouts[4].schedule = as_it_is.schedule == SCHEDULE_GPIPE ? SCHEDULE_1F1B : SCHEDULE_GPIPE;
    layouts[5].schedule = SCHEDULE_INTERLEAVED;
    layouts[5].virtual_stages = 2;
    layouts[6].offload.optimizer = 0.5;
    layouts[7].micro *= 8;
    for (uint32_t again = 0; again < 2; again++) {
        for (uint32_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
            (void)try_layout(arena, evaluator, document, &layouts[i]);
        }
    }
}

static void a_layout_that_is_tried_is_the_one_that_is_set(void **state)
{
    const struct family *family = *state;
    static const struct catalogue here = {.directories = {"."}, .count = 1};
    uint64_t good = 0, bad = 0, found = 0;
    for (uint64_t i = 0; i < family->count; i++) {
        struct arena *arena = arena_new();
        const struct doc_node *document = document_of(arena, family, family->first + i);
        const struct scenario *scenario =
            scenario_resolve(arena, document, &here, NULL, 0, diag_new(arena));
        assert_non_null(scenario);
        struct evaluator *evaluator = evaluator_new(arena, scenario, true);
        struct rng_key key = {
            .seed = family->seed, .stream = rng_stream("layouts"), .rank = family->first + i};
        for (uint32_t k = 0; k < LAYOUTS_EACH; k++) {
            const struct relayout layout = draw(&key, scenario);
            const bool is_good = try_layout(arena, evaluator, document, &layout);
            good += is_good ? 1 : 0;
            bad += is_good ? 0 : 1;
        }
        vary(arena, evaluator, document, scenario);
        found += step_memo_counts(evaluator_memo(evaluator)).timings.found;
        evaluator_free(evaluator);
        arena_free(arena);
    }
    assert_true(family->count < 50 || (good > family->count / 2 && bad > family->count / 2));
    assert_true(family->count < 50 || found > good); /* each is simulated twice */
}

/* A scenario, four times in all: with ports as they are, then half as fast, then twice, then in
 * between. */
static const struct scenario *remember(struct arena *arena, const struct family *family, uint64_t i,
                                       uint32_t again)
{
    const uint64_t number = i - (i > 0 && again > 0 ? 1 : 0);
    struct scenario *scenario = arena_alloc(arena, sizeof *scenario);
    *scenario = *random_scenario(arena, family->seed, family->first + number);
    static const double times_as_fast[] = {1.0, 0.5, 2.0, 1.5};
    const double faster = times_as_fast[again];
    scenario->cluster.nic_bytes_per_s *= faster;
    scenario->cluster.network_bytes_per_s *= faster;
    return scenario;
}

/* Scenarios that follow each other in one arena, emptied behind each, share all pointers. Of each
 * the programs are written, kept, and recalled where transfers have as many phases; what is found
 * out about them is known when they come once more. */
static void what_is_remembered_changes_no_step(void **state)
{
    const struct family *family = *state;
    struct arena *arena = arena_new();
    struct arena *fresh = arena_new();
    struct step_memo *memo = step_memo_new();
    for (uint64_t i = 0; i < family->count; i++) {
        for (uint32_t again = 0; again < 4; again++) {
            const struct scenario *scenario = remember(arena, family, i, again);
            struct step_result with;
            struct step_result without;
            step_simulate(arena, scenario, &(struct step_request){.folds = true, .memo = memo},
                          &with);
            step_simulate(fresh, scenario, &(struct step_request){.folds = true}, &without);
            assert_same_step(&without, &with);
            arena_reset(arena);
            arena_reset(fresh);
        }
    }
    const struct step_memo_counts counts = step_memo_counts(memo);
    assert_true(family->count < 50 || counts.programs.found > family->count / 3);
    assert_true(family->count < 50 || counts.stretches.found > family->count / 4);
    step_memo_free(memo);
    arena_free(fresh);
    arena_free(arena);
}

/* ---- what a frame follows from -------------------------------------------------------------- */

/* One thing of where a job lies and what its collectives take there, each time another. */
static void change_nic(struct scenario *scenario)
{
    scenario->cluster.nic_latency_s += 20e-6;
}

static void change_switches(struct scenario *scenario)
{
    scenario->cluster.hop_latency_s += 5e-6;
}

static void change_scale_up(struct scenario *scenario)
{
    scenario->cluster.scale_up_bytes_per_s *= 0.5;
}

static void change_leaves(struct scenario *scenario)
{
    scenario->cluster.oversubscription *= 4;
}

static void change_library(struct scenario *scenario)
{
    scenario->library.network_overhead_s += 10e-6;
}

static void change_software(struct scenario *scenario)
{
    scenario->software.scale_up_bandwidth *= 0.7;
}

static void change_choice(struct scenario *scenario)
{
    scenario->collectives[COLLECTIVE_USER_DATA].protocol = PROTOCOL_LL;
    scenario->collectives[COLLECTIVE_USER_TENSOR].protocol = PROTOCOL_LL;
}

/* Trees look different from each rank: groups do not turn any more. */
static void change_algorithm(struct scenario *scenario)
{
    scenario->collectives[COLLECTIVE_USER_DATA].algorithm = ALGORITHM_TREE;
}

static void change_order(struct scenario *scenario)
{
    uint8_t *order = scenario->parallel.order;
    for (uint32_t i = 0; i + 1 < AXIS_COUNT_; i++) {
        if (order[i] == AXIS_DP || order[i] == AXIS_PP) {
            const uint8_t moved = order[i];
            order[i] = order[i + 1];
            order[i + 1] = moved;
            return;
        }
    }
}

static void change_shards(struct scenario *scenario)
{
    struct parallel *parallel = &scenario->parallel;
    const bool is_half =
        parallel->zero > 0 && parallel->zero_group % 2 == 0 && parallel->zero_local_group == 0;
    parallel->zero_group /= is_half ? 2 : 1;
}

static void (*const changes[])(struct scenario *scenario) = {
    change_nic,       change_switches, change_scale_up, change_leaves, change_library,
    change_algorithm, change_software, change_choice,   change_order,  change_shards};

enum { CHANGES = sizeof changes / sizeof *changes };

/* A step, the same with one thing changed, and the first again: by frames that know the others it
 * is what it is by none. Most changes make another step, or this would prove nothing. */
static void a_frame_is_of_all_that_it_follows_from(void **state)
{
    const struct family *family = *state;
    struct arena *arena = arena_new();
    struct step_memo *memo = step_memo_new();
    uint64_t differing[CHANGES] = {0};
    uint64_t steps = 0;
    for (uint64_t i = 0; i < family->count; i++) {
        for (uint32_t c = 0; c <= CHANGES; c++) {
            const struct scenario *plain = random_scenario(arena, family->seed, family->first + i);
            struct scenario *scenario = arena_alloc(arena, sizeof *scenario);
            struct step_result with, again, without, before;
            *scenario = *plain;
            if (c < CHANGES) {
                changes[c](scenario);
            }
            step_simulate(arena, plain, &(struct step_request){.folds = true, .memo = memo},
                          &before);
            step_simulate(arena, scenario, &(struct step_request){.folds = true, .memo = memo},
                          &with);
            step_simulate(arena, scenario, &(struct step_request){.folds = true}, &without);
            step_simulate(arena, scenario, &(struct step_request){.folds = true, .memo = memo},
                          &again);
            assert_same_step(&without, &with);
            assert_same_step(&without, &again);
            assert_same_links(&without, &again);
            steps++;
            differing[c % CHANGES] += c < CHANGES && with.step_ns != before.step_ns ? 1 : 0;
            arena_reset(arena);
        }
    }
    const struct step_memo_counts counts = step_memo_counts(memo);
    print_message("%llu steps twice: frames found %llu, missed %llu; variants %llu, %llu\n",
                  (unsigned long long)steps, (unsigned long long)counts.frames.found,
                  (unsigned long long)counts.frames.missed,
                  (unsigned long long)counts.variants.found,
                  (unsigned long long)counts.variants.missed);
    for (uint32_t c = 0; c < CHANGES; c++) {
        print_message("change %u: %llu steps differ\n", c, (unsigned long long)differing[c]);
        assert_true(family->count < 50 || differing[c] > 0);
    }
    assert_true(family->count < 50 || counts.variants.found > steps / 8);
    assert_true(family->count < 50 || counts.routes.found > steps);
    step_memo_free(memo);
    arena_free(arena);
}

int main(int argc, char **argv)
{
    struct family family = {argc > 1 ? strtoull(argv[1], NULL, 10) : 5,
                            argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
                            argc > 3 ? strtoull(argv[3], NULL, 10) : share_of(60)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(a_layout_that_is_tried_is_the_one_that_is_set, &family),
        cmocka_unit_test_prestate(what_is_remembered_changes_no_step, &family),
        cmocka_unit_test_prestate(a_frame_is_of_all_that_it_follows_from, &family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
