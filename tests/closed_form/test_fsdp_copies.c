/* What FSDP moves in memory beside what it sends, and what selective recomputation per operation
 * computes again: bytes and FLOPs counted by hand for Llama-3 8B. */
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

static const struct scenario *scenario_of(struct arena *arena, const char *more)
{
    const char *text = arena_printf(
        arena,
        "model: llama3-8b\ncluster: h100-3200\ngpus: 8\nparallel: {zero: 3}\nrecompute: selective\n"
        "batch: {global: 8, micro: 1, sequence_length: 8192}\n"
        "software:\n  software: inline\n  source: made up\n  attention: fa2\n"
        "  gradients: {precision: fp32}\n"
        "  overlap: {dp_gradients: true, dp_parameters: true}\n%s",
        more);
    return volume_system(arena, text)->jobs[0].is.scenario;
}

static double compute_s(struct arena *arena, const struct scenario *scenario)
{
    struct step_result result;
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
    return (double)result.gpu_ns[CAUSE_COMPUTE] / 8 * 1e-9;
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
    const double rate = with->gpu.memory_bandwidth_bytes_per_s * with->gpu.memory_kernel_efficiency;
    assert_close(compute_s(arena, with) - compute_s(arena, without), bytes / rate, 1e-4);
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
        cmocka_unit_test(every_second_product_is_computed_again_but_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
