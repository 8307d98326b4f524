/* Laws of layouts, on random scenarios that are planned but not simulated.
 *
 * Usage: test_layout_laws [SEED [FIRST [COUNT]]]; without arguments seed 11, 2,000 scenarios. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "plan/memory/memory.h"
#include "plan/schedule/schedule.h"
#include "support/random_scenario.h"
#include "support/share.h"
#include "train/timing.h"

struct family {
    uint64_t seed, first, count;
};

static void explain_failure(const struct family *family, uint64_t i, double before, double after)
{
    fprintf(stderr, "seed %llu number %llu: %.17g -> %.17g\n", (unsigned long long)family->seed,
            (unsigned long long)(family->first + i), before, after);
}

/* ---- FLOPs --------------------------------------------------------------------------------- */

static const enum segment_kind layer_segments[] = {
    SEGMENT_ATTENTION,          SEGMENT_ATTENTION_INNER_BACKWARD, SEGMENT_ATTENTION_INNER_WGRAD,
    SEGMENT_ATTENTION_DGRAD,    SEGMENT_ATTENTION_WGRAD,          SEGMENT_MLP,
    SEGMENT_MLP_INNER_BACKWARD, SEGMENT_MLP_INNER_WGRAD,          SEGMENT_MLP_DGRAD,
    SEGMENT_MLP_WGRAD,
};

static const enum segment_kind expert_segments[] = {
    SEGMENT_ATTENTION,
    SEGMENT_ATTENTION_INNER_BACKWARD,
    SEGMENT_ATTENTION_INNER_WGRAD,
    SEGMENT_ATTENTION_DGRAD,
    SEGMENT_ATTENTION_WGRAD,
    SEGMENT_EXPERTS,
    SEGMENT_EXPERTS_BACKWARD,
    SEGMENT_EXPERTS_WGRAD,
    SEGMENT_SHARED,
    SEGMENT_SHARED_INNER_BACKWARD,
    SEGMENT_SHARED_INNER_WGRAD,
    SEGMENT_SHARED_DGRAD,
    SEGMENT_SHARED_WGRAD,
};

/* Of one microbatch through one layer, on all the ranks that share its sequences. */
static double layer_flop(const struct scenario *scenario, uint32_t kind)
{
    const bool has_experts = scenario->model.kinds[kind].has_experts;
    const enum segment_kind *kinds = has_experts ? expert_segments : layer_segments;
    const size_t count = has_experts ? sizeof expert_segments / sizeof *expert_segments
                                     : sizeof layer_segments / sizeof *layer_segments;
    struct cost_shape shape = timing_shape(scenario, kind);
    shape.expert_rows = 1; /* a hot rank computes more than its share: not the mean of all */
    double flop = 0;
    for (size_t i = 0; i < count; i++) {
        struct segment segment = {.count = 0};
        cost_segment(&shape, kinds[i], &segment);
        flop += cost_segment_flop(&segment);
    }
    return flop * (double)(scenario->parallel.tp * scenario->parallel.cp);
}

/* Every rank of a tensor-parallel group has a kv head of its own when there are fewer heads
 * than ranks, and computes latent attention's down-projections: these repeat work. */
static bool repeats_no_work(const struct scenario *scenario)
{
    return scenario->model.kv_heads % scenario->parallel.tp == 0 &&
           scenario->model.latent.kv_rank == 0 && scenario->lora.rank == 0;
}

/* What a GPU executes times the GPUs that share the work is what one GPU would execute. */
static void executed_flops_do_not_depend_on_the_layout(void **state)
{
    const struct family *family = *state;
    uint64_t checked = 0;
    for (uint64_t i = 0; i < family->count; i++) {
        struct arena *arena = arena_new();
        struct scenario *scenario = random_scenario(arena, family->seed, family->first + i);
        if (repeats_no_work(scenario)) {
            for (uint32_t kind = 0; kind < scenario->model.kind_count; kind++) {
                struct scenario alone = *scenario;
                alone.parallel.tp = alone.parallel.cp = 1;
                alone.parallel.ep = alone.parallel.etp = 1;
                alone.parallel.is_sequence_parallel = false;
                const double whole = layer_flop(&alone, kind);
                const double cut = layer_flop(scenario, kind);
                if (cut < whole * (1 - 1e-12) || cut > whole * (1 + 1e-12)) {
                    explain_failure(family, i, whole, cut);
                }
                assert_true(cut >= whole * (1 - 1e-12) && cut <= whole * (1 + 1e-12));
                checked++;
            }
        }
        arena_free(arena);
    }
    assert_true(family->count < 100 || checked > family->count / 2);
}

/* ---- memory -------------------------------------------------------------------------------- */

static double states_bytes(const struct memory_use *use)
{
    return use->weights_bytes + use->gradients_bytes + use->optimizer_bytes;
}

typedef bool shard_change(struct scenario *scenario);

static bool shard_one_stage_more(struct scenario *scenario)
{
    scenario->parallel.zero++;
    return scenario->parallel.zero <= 3;
}

static bool shard_over_all(struct scenario *scenario)
{
    struct parallel *parallel = &scenario->parallel;
    const bool is_less = parallel->zero_group < parallel->cp * parallel->dp;
    parallel->zero_group = parallel->cp * parallel->dp;
    return is_less && parallel->zero > 0;
}

static bool halve_experts_of_a_rank(struct scenario *scenario)
{
    struct parallel *parallel = &scenario->parallel;
    const int64_t copies = scenario->model.experts + scenario->routing.redundant_experts;
    parallel->ep *= 2;
    return scenario->model.experts > 0 && scenario->model.experts % parallel->ep == 0 &&
           copies % parallel->ep == 0 &&
           parallel->tp * parallel->cp * parallel->dp % (parallel->ep * parallel->etp) == 0;
}

/* Weights, gradients and optimizer of every stage fall or stay. */
static void check_shard_change(const struct family *family, shard_change *change)
{
    uint64_t checked = 0;
    for (uint64_t i = 0; i < family->count; i++) {
        struct arena *arena = arena_new();
        struct scenario *scenario = random_scenario(arena, family->seed, family->first + i);
        struct scenario changed = *scenario;
        if (change(&changed)) {
            const struct memory_job job = memory_job_of(scenario);
            const struct memory_job changed_job = memory_job_of(&changed);
            for (int64_t stage = 0; stage < scenario->parallel.pp; stage++) {
                const struct memory_use before = memory_of_stage(&job, stage);
                const struct memory_use after = memory_of_stage(&changed_job, stage);
                const double limit = states_bytes(&before) * (1 + 1e-12);
                if (states_bytes(&after) > limit) {
                    explain_failure(family, i, states_bytes(&before), states_bytes(&after));
                }
                assert_true(states_bytes(&after) <= limit);
            }
            checked++;
        }
        arena_free(arena);
    }
    assert_true(family->count < 1000 || checked > 50);
}

static void states_fall_when_zero_shards_more(void **state)
{
    check_shard_change(*state, shard_one_stage_more);
}

static void states_fall_when_the_zero_group_grows(void **state)
{
    check_shard_change(*state, shard_over_all);
}

static void states_fall_when_ep_grows(void **state)
{
    check_shard_change(*state, halve_experts_of_a_rank);
}

/* The parts of a use sum to its total, and every part is there or 0. */
static void memory_sums_exactly(void **state)
{
    const struct family *family = *state;
    for (uint64_t i = 0; i < family->count; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = random_scenario(arena, family->seed, family->first + i);
        const struct memory_job job = memory_job_of(scenario);
        for (int64_t stage = 0; stage < scenario->parallel.pp; stage++) {
            const struct memory_use use = memory_of_stage(&job, stage);
            const double sum = states_bytes(&use) + use.activations_bytes + use.logits_bytes +
                               use.temporary_bytes + use.buffers_bytes + use.overhead_bytes;
            assert_true(use.activations_bytes >= 0 && use.temporary_bytes >= 0);
            assert_true(use.total_bytes >= sum * (1 - 1e-12));
            assert_true(use.total_bytes <= sum * (1 + 1e-12));
        }
        arena_free(arena);
    }
}

/* ---- schedules ----------------------------------------------------------------------------- */

static void no_schedule_deadlocks(void **state)
{
    const struct family *family = *state;
    for (uint64_t i = 0; i < family->count; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = random_scenario(arena, family->seed, family->first + i);
        const struct schedule_shape shape =
            schedule_shape_of(&scenario->parallel, &scenario->batch);
        struct schedule_order *orders = arena_array(arena, shape.stages, sizeof *orders);
        for (uint32_t stage = 0; stage < shape.stages; stage++) {
            orders[stage] = schedule_order(arena, &shape, stage);
        }
        assert_true(schedule_check(arena, &shape, orders, NULL));
        arena_free(arena);
    }
}

int main(int argc, char **argv)
{
    struct family family = {argc > 1 ? strtoull(argv[1], NULL, 10) : 11,
                            argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
                            argc > 3 ? strtoull(argv[3], NULL, 10) : share_of(2000)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(executed_flops_do_not_depend_on_the_layout, &family),
        cmocka_unit_test_prestate(states_fall_when_zero_shards_more, &family),
        cmocka_unit_test_prestate(states_fall_when_the_zero_group_grows, &family),
        cmocka_unit_test_prestate(states_fall_when_ep_grows, &family),
        cmocka_unit_test_prestate(memory_sums_exactly, &family),
        cmocka_unit_test_prestate(no_schedule_deadlocks, &family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
