/* Experts in what a step says of itself: FLOPs that are executed again, and what is remembered of
 * another step. */
#include "base/arena.h"
#include "support/fixture.h"
#include "train/step.h"
#include "train/step_memo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"

/* Of a token, the two experts that it meets are computed again in each of 32 layers, three matrices
 * of 4,096 x 14,336 each, at two FLOPs a weight; the router is not counted. */
static void experts_computed_again_count_in_hfu(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *base = "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 64\n"
                       "software: megatron-2025\nparallel: {tp: 2, pp: 4, ep: 8, zero: 1, "
                       "sequence_parallel: true}\n"
                       "batch: {global: 64, micro: 1, sequence_length: 2048}\n";
    static const char *const recomputed[] = {"none", "{modules: [moe]}"};
    struct step_result results[2];
    for (int i = 0; i < 2; i++) {
        const struct fixture_source source = {
            .text = arena_printf(arena, "%srecompute: %s\n", base, recomputed[i])};
        step_simulate(arena, fixture_scenario(arena, &source),
                      &(struct step_request){.folds = true}, &results[i]);
    }
    const double flop = 32 * 2 * 3 * 2.0 * 4096 * 14336;
    assert_close(results[1].hardware_flop_per_token - results[0].hardware_flop_per_token, flop,
                 1e-9);
    /* The step has them, no faster than the peak; before, none. */
    const double least_s = 64 * 2048 * flop / results[1].peak_flop_per_s;
    assert_int_equal(results[0].gpu_ns[CAUSE_RECOMPUTE], 0);
    assert_true((double)results[1].gpu_ns[CAUSE_RECOMPUTE] * 1e-9 > least_s);
    assert_true((double)results[1].gpu_ns[CAUSE_RECOMPUTE] * 1e-9 < 3 * least_s);
    /* To the experts and back three times, not twice; what hides it does not become less. */
    assert_true(results[1].gpu_ns[CAUSE_EXPOSED_EP] >= results[0].gpu_ns[CAUSE_EXPOSED_EP]);
    arena_free(arena);
}

/* Rows of the hottest experts are part of what kernels' times are remembered by: of two steps that
 * have nothing else apart, the second is not that of the first. */
static void a_memo_knows_steps_apart_by_rows_of_experts(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct fixture_source source = {
        .text = "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 64\nsoftware: megatron-2025\n"
                "parallel: {tp: 2, pp: 4, ep: 8, zero: 1, sequence_parallel: true}\n"
                "batch: {global: 64, micro: 1, sequence_length: 2048}\n"
                "routing: {distribution: lognormal, spread: 0.5}\n"};
    struct scenario *scenario = fixture_scenario(arena, &source);
    struct step_memo *memo = step_memo_new();
    int64_t step_ns[2];
    for (int i = 0; i < 2; i++) {
        scenario->routing.spread *= i + 1;
        struct step_result alone, remembered;
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &alone);
        step_simulate(arena, scenario, &(struct step_request){.folds = true, .memo = memo},
                      &remembered);
        assert_int_equal(remembered.step_ns, alone.step_ns);
        step_ns[i] = alone.step_ns;
    }
    assert_true(step_ns[1] > step_ns[0]);
    step_memo_free(memo);
    arena_free(arena);
}

/* Stages that send tensor-parallel ranks a share each gather it before the pair that needs it:
 * beside all that a pair waits for already, a gather more on each way, and no wait less. */
static void what_comes_in_shares_is_gathered_beside_a_pair(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const char *const scattered[] = {"software.p2p.scatter_gather=none",
                                            "software.p2p.scatter_gather=activations",
                                            "software.p2p.scatter_gather=both"};
    struct step_result results[3];
    for (int i = 0; i < 3; i++) {
        const struct fixture_source source = {
            .text = "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 64\nsoftware: megatron-2025\n"
                    "parallel: {tp: 2, pp: 4, ep: 4, zero: 1, sequence_parallel: false, "
                    "schedule: dualpipe}\n"
                    "batch: {global: 64, micro: 1, sequence_length: 2048}\n",
            .sets = &scattered[i],
            .set_count = 1};
        step_simulate(arena, fixture_scenario(arena, &source),
                      &(struct step_request){.folds = true}, &results[i]);
    }
    for (int i = 1; i < 3; i++) {
        const int64_t *now = results[i].gpu_ns;
        const int64_t *before = results[i - 1].gpu_ns;
        assert_int_equal(now[CAUSE_COMPUTE], before[CAUSE_COMPUTE]);
        assert_true(now[CAUSE_EXPOSED_TP] > before[CAUSE_EXPOSED_TP]);
        assert_true(now[CAUSE_EXPOSED_PP] < before[CAUSE_EXPOSED_PP]);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experts_computed_again_count_in_hfu),
        cmocka_unit_test(what_comes_in_shares_is_gathered_beside_a_pair),
        cmocka_unit_test(a_memo_knows_steps_apart_by_rows_of_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
