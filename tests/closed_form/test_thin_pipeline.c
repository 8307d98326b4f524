/* A pipeline over a thin network: eight stages of 1F1B, one on each node, whose eight GPUs share a
 * NIC with the same stage of eight replicas. Stages meet (train/program/program_calls.h), so what
 * a microbatch costs can be counted, and neither phases nor chance decide it. And one of two stages
 * over an endless one.
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

/* Two stages of 12 layers without a head on a node each, of NICs of 8.75e14 B/s of which 0.9 are
 * reached, and bytes staged at 9e14. What the slowest GPU delays is left out. */
static struct step_result endless_pipeline(int microbatches, int latency_us)
{
    struct arena *arena = arena_new();
    const char *const sets[] = {
        arena_printf(arena, "batch.global=%d", microbatches),
        arena_printf(arena, "cluster.nics.latency=%d us", latency_us),
        "cluster=h100-3200",
        "cluster.gpus_per_node=1",
        "cluster.nics.count=1",
        "cluster.nics.bandwidth=7000000 Gbps",
        "cluster.nics.round_latency=0 us",
        "cluster.fabric.hop_latency=0 us",
        "gpus=2",
        "parallel.pp=2",
        "parallel.dp=1",
        "precision=bf16",
        "model.tied_embeddings=false",
        "model.lm_head=false",
        "optimizer.clip=false",
        "software=megatron-2024",
        "software.communication.staging=900 TB/s",
        "software.jitter.spread=0",
    };
    const char *text = arena_printf(arena, document_format, 1024, microbatches);
    struct scenario *scenario = fixture_scenario(
        arena, &(struct fixture_source){
                   .text = text, .sets = sets, .set_count = sizeof sets / sizeof *sets});
    struct step_result result;
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
    arena_free(arena);
    return result;
}

/* Of m microbatches each of two stages makes m + 1 calls: the first forward alone, m - 1 with both
 * directions at once, the last backward alone. In a call both wait for the later one, which is
 * bubble, and then for the message: its latency and 8,388,608 B x (1 / 7.875e14 + 1 / 9e14) = 20 ns
 * as rounded up. Nothing else is exposed, and launches and bubble do not know the latency. */
static void with_endless_bandwidth_a_pipeline_exposes_its_calls_latency(void **state)
{
    (void)state;
    enum { CASES = 5, GPUS = 2, BYTES_NS = 20 };
    static const int microbatches[CASES] = {1, 2, 3, 4, 8};
    for (uint32_t i = 0; i < CASES; i++) {
        const int64_t calls = microbatches[i] + 1;
        const struct step_result none = endless_pipeline(microbatches[i], 0);
        const struct step_result some = endless_pipeline(microbatches[i], 100);
        const struct step_result more = endless_pipeline(microbatches[i], 1000);
        assert_int_equal(none.gpu_ns[CAUSE_EXPOSED_PP], GPUS * calls * BYTES_NS);
        assert_int_equal(some.gpu_ns[CAUSE_EXPOSED_PP], GPUS * calls * (100000 + BYTES_NS));
        assert_int_equal(more.gpu_ns[CAUSE_EXPOSED_PP], GPUS * calls * (1000000 + BYTES_NS));
        assert_int_equal(some.step_ns - none.step_ns, calls * 100000);
        assert_int_equal(more.step_ns - none.step_ns, calls * 1000000);
        assert_int_equal(more.gpu_ns[CAUSE_LAUNCH], none.gpu_ns[CAUSE_LAUNCH]);
        assert_int_equal(more.gpu_ns[CAUSE_BUBBLE], none.gpu_ns[CAUSE_BUBBLE]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_endless_bandwidth_a_pipeline_exposes_its_calls_latency),
        cmocka_unit_test(a_microbatch_more_sends_two_messages),
        cmocka_unit_test(a_faster_network_never_slows_a_pipeline),
        cmocka_unit_test(less_work_never_slows_a_pipeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
