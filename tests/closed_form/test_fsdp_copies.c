/* What FSDP and ZeRO-1 move in memory beside what they send, and what selective recomputation per
 * operation computes again: bytes and FLOPs counted by hand for Llama-3 8B. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "plan/cost.h"
#include "input/scenario.h"
#include "support/assert_close.h"
#include "support/volume.h"
#include "train/step.h"
#include "train/timing.h"

static const struct scenario *sharded(struct arena *arena, int zero, const char *more)
{
    const char *text =
        arena_printf(arena,
                     "model: llama3-8b\ncluster: h100-3200\ngpus: 8\nparallel: {zero: "
                     "%d}\nrecompute: selective\n"
                     "batch: {global: 8, micro: 1, sequence_length: 8192}\n"
                     "software:\n  software: inline\n  source: made up\n  attention: fa2\n"
                     "  gradients: {precision: fp32}\n"
                     "  overlap: {dp_gradients: true, dp_parameters: true}\n%s",
                     zero, more);
    return volume_system(arena, text)->jobs[0].is.scenario;
}

static const struct scenario *scenario_of(struct arena *arena, const char *more)
{
    return sharded(arena, 3, more);
}

static double cause_s(struct arena *arena, const struct scenario *scenario, enum cause cause)
{
    struct step_result result;
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
    return (double)result.gpu_ns[cause] / 8 * 1e-9;
}

static double compute_s(struct arena *arena, const struct scenario *scenario)
{
    return cause_s(arena, scenario, CAUSE_COMPUTE);
}

static double memory_rate(const struct scenario *scenario)
{
    return scenario->gpu.memory_bandwidth_bytes_per_s * scenario->gpu.memory_kernel_efficiency;
}

/* A layer has 218,112,000 parameters, gathered in bf16 twice; the rest 1,050,677,248, gathered
 * once; each parameter's gradient is reduced once. */
static void copies_of_fsdp_take_the_time_of_their_bytes(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *without = scenario_of(arena, "");
    const struct scenario *with =
        scenario_of(arena, "  fsdp: {gather_passes: 2, gradient_copies: 6 B}\n");
    const double layers = 32 * 218112000.0;
    const double rest = 1050677248.0;
    const double bytes = 2 * 2.0 * (2 * layers + rest) + 6.0 * (layers + rest);
    assert_close(compute_s(arena, with) - compute_s(arena, without), bytes / memory_rate(with),
                 1e-4);
    arena_free(arena);
}

/* All 8,030,261,248 parameters' gradients go through buckets, 12 bytes each, once a step; each of
 * eight ranks owns an eighth of them, and moves 38 bytes each before the update. */
static void copies_of_zero_1_take_the_time_of_their_bytes(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *without = sharded(arena, 1, "");
    const struct scenario *buckets = sharded(arena, 1, "  zero: {bucket_copies: 12 B}\n");
    const struct scenario *update = sharded(arena, 1, "  zero: {update_copies: 38 B}\n");
    const double parameters = 32 * 218112000.0 + 1050677248.0;
    assert_close(compute_s(arena, buckets) - compute_s(arena, without),
                 12.0 * parameters / memory_rate(buckets), 1e-4);
    assert_close(cause_s(arena, update, CAUSE_OPTIMIZER) - cause_s(arena, without, CAUSE_OPTIMIZER),
                 38.0 * parameters / 8 / memory_rate(update), 1e-4);
    assert_close(compute_s(arena, update), compute_s(arena, without), 0.0);
    arena_free(arena);
}

static double flop_again(const struct scenario *scenario)
{
    const struct cost_shape shape = timing_shape(scenario, 0);
    struct segment segment = {.count = 0};
    cost_segment(&shape, SEGMENT_SELECTIVE_RECOMPUTE, &segment);
    double flop = 0;
    for (uint32_t i = 0; i < segment.count; i++) {
        flop += segment.kernels[i].kind == KERNEL_MEMORY ? 0 : segment.kernels[i].flop;
    }
    return flop;
}

/* Of queries 4096, keys 1024, values 1024, projection, gate 14336, up, down: the first, the third
 * and the fifth; attention is kept. */
static void every_second_product_is_computed_again_but_the_last(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const double none = flop_again(scenario_of(arena, ""));
    const double half =
        flop_again(scenario_of(arena, "  memory: {keeps_every_second_product: true}\n"));
    assert_true(none == 0.0);
    assert_close(half, 2.0 * 8192 * 4096 * (4096 + 1024 + 14336), 1e-12);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_fsdp_take_the_time_of_their_bytes),
        cmocka_unit_test(copies_of_zero_1_take_the_time_of_their_bytes),
        cmocka_unit_test(every_second_product_is_computed_again_but_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
