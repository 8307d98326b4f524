/* A pipeline over a thin network: eight stages of 1F1B, one on each node, whose eight GPUs share a
 * NIC with the same stage of eight replicas. Stages meet (train/program/program_calls.h), so what
 * a microbatch costs can be counted, and neither phases nor chance decide it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "train/step.h"

#include "support/fixture.h"

static const char document_format[] =
    "model: {model: inline, source: made up, layers: 24, hidden: 2048, ffn_hidden: 8192,\n"
    "  heads: 16, vocab: %d, max_positions: 2048, mlp: gelu, norm: layernorm,\n"
    "  positions: learned, biases: true, tied_embeddings: true}\n"
    "cluster: v100-ena-25\n"
    "gpus: 64\n"
    "software: megatron-2021\n"
    "precision: fp16\n"
    "parallel: {tp: 1, pp: 8, dp: 8, schedule: 1f1b, zero: 0}\n"
    "batch: {global: %d, micro: 1, sequence_length: 2048}\n"
    "recompute: full\n";

static double step_s(int gbps, int microbatches, int vocab)
{
    struct arena *arena = arena_new();
    const char *text = arena_printf(arena, document_format, vocab, 8 * microbatches);
    const char *const sets[] = {
        arena_printf(arena, "cluster.nics.bandwidth=%d Gbps", gbps),
        "software.attention=unfused",
    };
    struct scenario *scenario = fixture_scenario(
        arena, &(struct fixture_source){.text = text, .sets = sets, .set_count = 2});
    const struct step_request request = {.folds = true};
    struct step_result result;
    step_simulate(arena, scenario, &request, &result);
    const double seconds = sim_time_to_s(result.step_ns);
    arena_free(arena);
    return seconds;
}

/* 32 microbatches more are 64 calls more of each stage in the middle, one with either neighbour. In
 * a call 8 GPUs send 2048 x 2048 values of 2 bytes each over a NIC with 0.96 of its bandwidth. What
 * computes, what the library loses for each byte, latencies and the end of the step are the same on
 * both networks: 64 x 8 x 8388608 B / 0.96 x (1 / 0.625 - 1 / 1.25 GB/s) = 3.579 s. */
static void a_microbatch_more_sends_two_messages(void **state)
{
    (void)state;
    const double slow_s = step_s(5, 64, 1024) - step_s(5, 32, 1024);
    const double fast_s = step_s(10, 64, 1024) - step_s(10, 32, 1024);
    const double expected_s = 64 * 8 * 8388608.0 / 0.96 * (1 / 0.625e9 - 1 / 1.25e9);
    assert_true(fabs(expected_s - 3.579) < 0.001);
    assert_true(fabs(slow_s - fast_s - expected_s) < 1e-4 * expected_s);
}

/* A network of twice the bandwidth never slows a step, and at most halves it. */
static void a_faster_network_never_slows_a_pipeline(void **state)
{
    (void)state;
    double before_s = step_s(1, 16, 1024);
    for (int gbps = 2; gbps <= 1024; gbps *= 2) {
        const double now_s = step_s(gbps, 16, 1024);
        assert_true(now_s <= before_s);
        assert_true(2 * now_s >= before_s);
        before_s = now_s;
    }
}

/* Nor does a last stage that has less to do: 29,056 words took 15.2 s where 128 took 15.9, when
 * messages of one stage arrived while it computed. */
static void less_work_never_slows_a_pipeline(void **state)
{
    (void)state;
    double before_s = step_s(25, 128, 128);
    for (int vocab = 1024; vocab <= 131072; vocab *= 2) {
        const double now_s = step_s(25, 128, vocab);
        assert_true(now_s >= before_s);
        before_s = now_s;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_microbatch_more_sends_two_messages),
        cmocka_unit_test(a_faster_network_never_slows_a_pipeline),
        cmocka_unit_test(less_work_never_slows_a_pipeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
