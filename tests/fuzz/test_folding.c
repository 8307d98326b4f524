/* Folded equals unfolded, to the nanosecond and cause by cause and GPU by GPU.
 *
 * Usage: test_folding [SEED [FIRST [COUNT]]]; without arguments seed 1, 1000 scenarios. */
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
#include "plan/memory/memory.h"
#include "support/random_scenario.h"
#include "support/share.h"
#include "train/groups.h"
#include "train/step.h"

struct family {
    uint64_t seed;
    uint64_t first;
    uint64_t count;
};

static struct step_request request_of(const struct scenario *scenario, uint64_t number)
{
    const struct memory_job job = memory_job_of(scenario);
    struct step_request request = {.folds = true};
    if (number % 3 == 0) {
        request.checkpoint_bytes = memory_checkpoint_bytes(&job, NULL);
        request.is_checkpoint_async = number % 2 == 0;
    }
    return request;
}

static void compare(uint64_t seed, uint64_t number, uint32_t *folded_ranks)
{
    struct arena *arena = arena_new();
    const struct scenario *scenario = random_scenario(arena, seed, number);
    struct step_request request = request_of(scenario, number);
    struct step_result folded;
    struct step_result full;
    struct step_detail folded_detail;
    struct step_detail full_detail;
    request.detail = &folded_detail;
    step_simulate(arena, scenario, &request, &folded);
    request.folds = false;
    request.detail = &full_detail;
    step_simulate(arena, scenario, &request, &full);
    if (folded.step_ns != full.step_ns ||
        memcmp(folded.gpu_ns, full.gpu_ns, sizeof full.gpu_ns) != 0) {
        fprintf(stderr, "seed %llu number %llu\n%s", (unsigned long long)seed,
                (unsigned long long)number, random_scenario_text(arena, seed, number));
    }
    assert_int_equal(folded.step_ns, full.step_ns);
    assert_memory_equal(folded.gpu_ns, full.gpu_ns, sizeof full.gpu_ns);
    assert_string_equal(folded.busiest_link, full.busiest_link);
    assert_int_equal(folded_detail.bytes_sent, full_detail.bytes_sent);
    for (int64_t rank = 0; rank < scenario->gpus; rank++) {
        assert_memory_equal(folded_detail.rank_causes[rank], full_detail.rank_causes[rank],
                            sizeof full_detail.rank_causes[rank]);
    }
    *folded_ranks += folded.engine.ranks_simulated < scenario->gpus;
    arena_free(arena);
}

static void folded_equals_unfolded_for_every_gpu(void **state)
{
    const struct family *family = *state;
    uint32_t folded_ranks = 0;
    for (uint64_t i = 0; i < family->count; i++) {
        compare(family->seed, family->first + i, &folded_ranks);
    }
    print_message("seed %llu: %llu scenarios, %u of them folded\n",
                  (unsigned long long)family->seed, (unsigned long long)family->count,
                  folded_ranks);
    assert_true(family->count < 100 || folded_ranks > family->count / 2);
}

/* What a family must hold to mean something: each way to train, and each kind of group. */
struct coverage {
    uint32_t schedules[SCHEDULE_COUNT_];
    uint32_t contexts[CONTEXT_COUNT_];
    uint32_t groups[GROUP_KIND_COUNT_];
    uint32_t orders, wide_experts, offloads, loras, uneven, limited, overlapped, precise;
};

static void count_groups(const struct scenario *scenario, struct coverage *coverage)
{
    const struct mesh mesh = mesh_of(&scenario->parallel);
    const enum precision precision = (enum precision)scenario->precision;
    struct group_layout layout = group_layout_of(&mesh, &scenario->parallel, &scenario->model);
    layout.reduces_scales = software_amax_group(&scenario->software, precision) == AMAX_ALL;
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        coverage->groups[kind] += groups_count(&layout, (enum group_kind)kind) > 0;
    }
    /* What plan/memory/memory keeps on a rank is what plan/mesh lays there. */
    if (scenario->parallel.zero > 0) {
        assert_int_equal(mesh_shards(&mesh, MESH_DATA), memory_dense_shards(&scenario->parallel));
        assert_int_equal(mesh_shards(&mesh, MESH_EXPERT_DATA),
                         memory_expert_shards(&scenario->parallel));
    }
}

static void count_ways(const struct scenario *scenario, struct coverage *coverage)
{
    const struct parallel *parallel = &scenario->parallel;
    const bool is_usual = parallel->order[0] == AXIS_TP && parallel->order[4] == AXIS_PP;
    coverage->schedules[parallel->schedule]++;
    coverage->contexts[parallel->context] += parallel->cp > 1;
    coverage->orders += !is_usual;
    coverage->wide_experts += parallel->ep > parallel->cp * parallel->dp;
    coverage->offloads += scenario->offload.optimizer > 0;
    coverage->loras += scenario->lora.rank > 0;
    coverage->uneven += scenario->routing.kind != ROUTING_EVEN;
    coverage->limited += scenario->model.group_limit > 0;
    coverage->overlapped += parallel->overlaps_experts;
    coverage->precise += scenario->precision == PRECISION_FP8;
}

static void every_way_to_train_is_among_the_random_scenarios(void **state)
{
    const struct family *family = *state;
    struct coverage coverage = {.orders = 0};
    for (uint64_t i = 0; i < 400; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = random_scenario(arena, family->seed, i);
        count_groups(scenario, &coverage);
        count_ways(scenario, &coverage);
        arena_free(arena);
    }
    for (uint32_t kind = 0; kind < SCHEDULE_FILE; kind++) {
        assert_true(coverage.schedules[kind] >= 5);
    }
    for (uint32_t kind = 0; kind < CONTEXT_COUNT_; kind++) {
        assert_true(coverage.contexts[kind] >= 10);
    }
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        assert_true(coverage.groups[kind] >= 5);
    }
    assert_true(coverage.orders >= 50 && coverage.wide_experts >= 5 && coverage.offloads >= 10);
    assert_true(coverage.loras >= 10 && coverage.uneven >= 10 && coverage.limited >= 10);
    assert_true(coverage.overlapped >= 5 && coverage.precise >= 30);
}

/* A slowed GPU computes longer: its own compute, launch and optimizer time rise. */
static void slowing_any_gpu_changes_that_gpus_breakdown(void **state)
{
    const struct family *family = *state;
    for (uint64_t i = 0; i < 40 && i < family->count; i++) {
        struct arena *arena = arena_new();
        struct scenario *scenario = random_scenario(arena, family->seed, family->first + i);
        scenario->slow_count = 0;
        struct step_result result;
        struct step_detail before;
        struct step_detail after;
        step_simulate(arena, scenario, &(struct step_request){.detail = &before}, &result);
        const struct rng_key key = {
            .seed = family->seed, .stream = rng_stream("slow gpu"), .rank = i};
        struct slow_rank slow = {(int64_t)rng_below(&key, (uint64_t)scenario->gpus), 0.8, 1, 1};
        scenario->slow = &slow;
        scenario->slow_count = 1;
        step_simulate(arena, scenario, &(struct step_request){.detail = &after}, &result);
        assert_true(after.rank_causes[slow.rank][CAUSE_COMPUTE] >
                    before.rank_causes[slow.rank][CAUSE_COMPUTE]);
        arena_free(arena);
    }
}

/* One slow GPU splits what it touches and no more: never more classes than GPUs,
 * and the fast scenario's classes are fewer. */
static void one_slow_gpu_splits_only_what_it_touches(void **state)
{
    const struct family *family = *state;
    for (uint64_t i = 0; i < 40 && i < family->count; i++) {
        struct arena *arena = arena_new();
        struct scenario *scenario = random_scenario(arena, family->seed, family->first + i);
        scenario->slow_count = 0;
        struct step_result fast;
        struct step_result slowed;
        const struct step_request request = {.folds = true};
        step_simulate(arena, scenario, &request, &fast);
        struct slow_rank slow = {scenario->gpus - 1, 0.8, 1, 1};
        scenario->slow = &slow;
        scenario->slow_count = 1;
        step_simulate(arena, scenario, &request, &slowed);
        assert_true(fast.engine.ranks_simulated <= slowed.engine.ranks_simulated);
        assert_true(slowed.engine.ranks_simulated <= scenario->gpus);
        arena_free(arena);
    }
}

int main(int argc, char **argv)
{
    struct family family = {argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
                            argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
                            argc > 3 ? strtoull(argv[3], NULL, 10) : share_of(1000)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(every_way_to_train_is_among_the_random_scenarios, &family),
        cmocka_unit_test_prestate(folded_equals_unfolded_for_every_gpu, &family),
        cmocka_unit_test_prestate(slowing_any_gpu_changes_that_gpus_breakdown, &family),
        cmocka_unit_test_prestate(one_slow_gpu_splits_only_what_it_touches, &family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
