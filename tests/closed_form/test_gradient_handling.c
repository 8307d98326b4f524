/* What frameworks of 2021 to 2023 do with gradients and launches, one effect at a time: each
 * against its formula, on a system that is otherwise the same. */
#include "base/arena.h"
#include "plan/cost.h"
#include "support/volume.h"
#include "train/step.h"
#include "train/timing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Llama-3 8B on `gpus` H100, nothing overlaps. */
static const struct scenario *scenario_of(struct arena *arena, int gpus, const char *accumulation,
                                          const char *host, const char *zero)
{
    const char *text = arena_printf(
        arena,
        "model: llama3-8b\ncluster: h100-400\ngpus: %d\nparallel: {zero: 1}\n"
        "batch: {global: %d, micro: 1, sequence_length: 8192}\nrecompute: full\n"
        "software:\n  software: inline\n  source: made up\n  attention: fa2\n"
        "  gradients: {precision: fp32, accumulation: %s}\n  host: {per_kernel: 30 us%s}\n"
        "  zero: {%s}\n",
        gpus, gpus, accumulation, host, zero);
    return volume_system(arena, text)->jobs[0].is.scenario;
}

static const struct scenario *plain(struct arena *arena, int gpus)
{
    return scenario_of(arena, gpus, "fused", "", "parameters: all-gather");
}

static void segment_of(const struct scenario *scenario, struct segment *segment)
{
    const struct cost_shape shape = timing_shape(scenario, 0);
    *segment = (struct segment){.count = 0};
    cost_segment(&shape, SEGMENT_MLP_WGRAD, segment);
}

/* A product of so many values in bf16 writes them, and a pass reads them and reads and writes
 * the fp32 sums: 2 + (2 + 8) bytes for each in place of the product's 8. */
static void a_separate_sum_reads_what_the_product_wrote(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct segment fused;
    struct segment separate;
    segment_of(plain(arena, 8), &fused);
    segment_of(scenario_of(arena, 8, "separate", "", ""), &separate);
    assert_int_equal(separate.count, 2 * fused.count);
    for (uint32_t i = 0; i < fused.count; i++) {
        const struct kernel *product = &separate.kernels[2 * i];
        const struct kernel *sum = &separate.kernels[2 * i + 1];
        const double values = (double)product->m * (double)product->n;
        assert_string_equal(sum->name, "gradient add");
        assert_true(sum->kind == KERNEL_MEMORY);
        assert_true(sum->bytes == 10.0 * values);
        assert_true(product->bytes == fused.kernels[i].bytes - 6.0 * values);
    }
    arena_free(arena);
}

/* Beside a long product the host is far ahead, unless it waits: then each launch counts. */
static void a_host_that_waits_adds_each_launch(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct segment segment;
    const struct scenario *ahead = plain(arena, 8);
    const struct scenario *waits = scenario_of(arena, 8, "fused", ", blocking: true", "");
    segment_of(ahead, &segment);
    const struct timing_runner runs_ahead = timing_runner_of(ahead);
    const struct timing_runner runs_held = timing_runner_of(waits);
    const struct work free = timing_segment(&runs_ahead, SEGMENT_MLP_WGRAD, &segment);
    const struct work held = timing_segment(&runs_held, SEGMENT_MLP_WGRAD, &segment);
    assert_true(segment.count > 0);
    assert_int_equal(held.busy_ns, free.busy_ns);
    assert_int_equal(held.launch_ns, free.launch_ns + (int64_t)segment.count * 30 * 1000);
    assert_int_equal(held.burst.launches, 0);
    assert_int_equal(free.burst.deficit_ns, 30 * 1000); /* the first launch, from an empty queue */
    arena_free(arena);
}

static int64_t exposed_dp(struct arena *arena, int gpus, const char *zero)
{
    const struct scenario *scenario = scenario_of(arena, gpus, "fused", "", zero);
    struct step_result result;
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
    return result.gpu_ns[CAUSE_EXPOSED_DP] / gpus;
}

/* Gradients of 4 bytes and parameters of 2: whole sums send 2 x 4 + 2, shards 4 + 2. */
static void sums_on_all_ranks_send_gradients_twice(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const double shards = (double)exposed_dp(arena, 64, "gradients: reduce-scatter");
    const double whole = (double)exposed_dp(arena, 64, "gradients: all-reduce");
    assert_true(whole / shards > 0.9 * 10.0 / 6.0 && whole / shards < 1.1 * 10.0 / 6.0);
    arena_free(arena);
}

/* A ring for each owner: what the broadcasts cost beyond a gather grows faster than the ranks. */
static void broadcasts_of_owners_grow_with_their_number(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    int64_t beyond[2] = {0, 0};
    static const int gpus[2] = {32, 128};
    for (int i = 0; i < 2; i++) {
        beyond[i] = exposed_dp(arena, gpus[i], "parameters: broadcast") -
                    exposed_dp(arena, gpus[i], "parameters: all-gather");
    }
    assert_true(beyond[0] > 0);
    assert_true(beyond[1] > 4 * beyond[0]);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_separate_sum_reads_what_the_product_wrote),
        cmocka_unit_test(a_host_that_waits_adds_each_launch),
        cmocka_unit_test(sums_on_all_ranks_send_gradients_twice),
        cmocka_unit_test(broadcasts_of_owners_grow_with_their_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
