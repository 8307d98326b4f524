/* ZeRO++: what is sent, by hand, and what quantizing costs. 8 layers of 12,596,224 parameters and
 * 591,872 besides on 16 GPUs in two nodes of 8; scales of 4 bytes for 4,000 values. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "input/scenario.h"
#include "support/assert_close.h"
#include "support/memory_case.h"
#include "support/volume.h"
#include "train/step.h"

static const double LAYERS = 8 * 12596224.0;
static const double EDGE = 591872.0;

static const struct step_system *system_of(struct arena *arena, const char *options)
{
    const char *text = arena_printf(
        arena,
        "model: {model: inline, source: made up, layers: 8, hidden: 1024, ffn_hidden: 4096,\n"
        "  heads: 8, vocab: 512, max_positions: 64, mlp: gelu, norm: layernorm,\n"
        "  positions: learned, biases: true, tied_embeddings: true, embedding_norm: false,\n"
        "  dropout: false}\n"
        "cluster: h100-3200\ngpus: 16\nparallel: {zero: 3%s}\n"
        "batch: {global: 16, micro: 1, sequence_length: 64}\n"
        "software:\n  software: inline\n  source: made up\n  attention: fa2\n"
        "  gradients: {precision: bf16}\n"
        "  overlap: {dp_gradients: true, dp_parameters: true}\n"
        "  fsdp: {quantized_block: 4000, gathers: matrix}\n",
        options);
    return volume_system(arena, text);
}

static struct volume gathered(const struct step_system *system, enum stream stream)
{
    return volume_of(system, 0, stream, COLLECTIVE_ALL_GATHER);
}

static struct volume exchanged(const struct step_system *system, enum stream stream)
{
    return volume_of(system, 0, stream, COLLECTIVE_ALL_TO_ALL);
}

/* ---- what is sent ---------------------------------------------------------------------------- */

/* A byte and 4 / 4,000 of one instead of two. */
static void quantized_weights_are_gathered_in_half_the_bytes(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *usual = system_of(arena, "");
    const struct step_system *less = system_of(arena, ", zero_quantized_weights: true");
    assert_close(gathered(usual, STREAM_DATA_GATHER).bytes, 2 * (2 * LAYERS + EDGE), 1e-12);
    assert_close(gathered(less, STREAM_DATA_GATHER).bytes, 1.001 * (2 * LAYERS + EDGE), 1e-12);
    arena_free(arena);
}

/* Seven eighths of the layers come from the node's other GPUs; nothing from the other node. */
static void a_local_copy_keeps_the_backward_gathers_in_the_node(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = system_of(arena, ", zero_local_weights: true");
    const struct volume local = gathered(system, STREAM_LOCAL_GATHER);
    assert_close(gathered(system, STREAM_DATA_GATHER).bytes, 2 * (LAYERS + EDGE), 1e-12);
    assert_int_equal(local.count, 8);
    assert_close(local.bytes, 2 * LAYERS, 1e-12);
    assert_close(local.rank_bytes, 2 * LAYERS * 7 / 8, 1e-12);
    assert_int_equal(system->jobs[0].groups[GROUP_LOCAL].nodes, 1);
    arena_free(arena);
}

/* Half a byte and 4 / 4,000: of all gradients in the node, of an eighth between the two, where one
 * of two pieces leaves. Nothing is left for a reduce-scatter. */
static void quantized_gradients_are_exchanged_in_the_node_and_then_between_nodes(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = system_of(arena, ", zero_quantized_gradients: true");
    const struct volume local = exchanged(system, STREAM_LOCAL_REDUCE);
    const struct volume across = exchanged(system, STREAM_ACROSS_REDUCE);
    const double all = 0.501 * (LAYERS + EDGE);
    assert_close(local.bytes, all, 1e-12);
    assert_close(local.rank_bytes, all * 7 / 8, 1e-12);
    assert_close(across.bytes, all / 8, 1e-12);
    assert_close(across.rank_bytes, all / 16, 1e-12);
    assert_int_equal(system->engine.programs[0].counts[STREAM_DATA_REDUCE], 0);
    assert_int_equal(system->jobs[0].groups[GROUP_ACROSS].ranks, 2);
    assert_int_equal(system->jobs[0].groups[GROUP_ACROSS].nodes, 2);
    arena_free(arena);
}

/* The paper's sum: of M bytes in 16 bits a node gathers M twice and reduces M once; with all three
 * M / 2 forward and M / 4 of gradients (8 ranks, an eighth each): 0.75 M, and a thousandth or two
 * for scales. */
static void three_m_become_three_quarters(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *usual = system_of(arena, "");
    const struct step_system *less =
        system_of(arena, ", zero_quantized_weights: true, zero_local_weights: true,\n"
                         "  zero_quantized_gradients: true");
    const double m = 2 * (LAYERS + EDGE);
    const double before = gathered(usual, STREAM_DATA_GATHER).bytes +
                          volume_of(usual, 0, STREAM_DATA_REDUCE, COLLECTIVE_REDUCE_SCATTER).bytes;
    const double after =
        gathered(less, STREAM_DATA_GATHER).bytes + 8 * exchanged(less, STREAM_ACROSS_REDUCE).bytes;
    assert_close(before, 3 * m - 2 * EDGE, 1e-12); /* the edge is gathered once */
    assert_close(after, (0.5 * 1.001 + 0.25 * 1.002) * m, 1e-12);
    arena_free(arena);
}

/* Groups of 4 instead of a node's 8. */
static void local_groups_are_as_large_as_the_scenario_says(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        system_of(arena, ", zero_quantized_gradients: true, zero_local_group: 4");
    assert_int_equal(system->jobs[0].groups[GROUP_LOCAL].ranks, 4);
    assert_int_equal(system->jobs[0].groups[GROUP_ACROSS].ranks, 4);
    assert_close(exchanged(system, STREAM_ACROSS_REDUCE).bytes, 0.501 * (LAYERS + EDGE) / 4, 1e-12);
    arena_free(arena);
}

/* What transfers of a stream cost besides their bytes, built anew. */
static double latency_s(struct arena *arena, const struct scenario *scenario, enum stream stream)
{
    const struct step_job job = {scenario, NULL, 1};
    const struct step_system *system = system_build(arena, &job, 1, 16, &(struct step_options){0});
    const struct engine_program *program = &system->engine.programs[0];
    double sum = 0;
    for (uint32_t i = 0; i < program->counts[stream]; i++) {
        const struct task *task = engine_program_task(program, stream, i);
        sum += system->transfers.origins[task->transfer].latency_s;
    }
    return sum;
}

/* 8 layers of 4 matrices are 32 calls, with the edge 33 of gradients: a millisecond more each. A
 * gather's is 1 ms more for each of its 8 ranks, not of all 16. */
static void each_call_costs_what_the_software_says(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        system_of(arena, ", zero_local_weights: true, zero_quantized_gradients: true");
    const struct scenario *usual = system->jobs[0].is.scenario;
    struct scenario calls = *usual;
    struct scenario ranks = *usual;
    calls.software.fsdp_per_call_s += 1e-3;
    ranks.software.fsdp_per_rank_s += 1e-3;
    static const enum stream streams[] = {STREAM_LOCAL_REDUCE, STREAM_ACROSS_REDUCE};
    for (size_t i = 0; i < 2; i++) {
        const double more =
            latency_s(arena, &calls, streams[i]) - latency_s(arena, usual, streams[i]);
        assert_close(more, 33e-3, 1e-9);
    }
    const double more = latency_s(arena, &ranks, STREAM_LOCAL_GATHER) -
                        latency_s(arena, usual, STREAM_LOCAL_GATHER);
    assert_close(more, 32 * 8 * 1e-3, 1e-9);
    arena_free(arena);
}

/* How many tasks of `other` a task waits for; 0: none. */
static uint32_t wait_of(const struct engine_program *program, enum stream stream, uint32_t index,
                        enum stream other)
{
    const struct task *task = engine_program_task(program, stream, index);
    for (uint32_t i = 0; i < task->wait_count; i++) {
        if (task->wait_stream[i] == other) {
            return engine_program_wait(program, stream, index, i);
        }
    }
    return 0;
}

/* Sums of a node go to the others when they are there, layer by layer; and something that is
 * computed, the gradients' norm, waits for all 9 of either. */
static void sums_follow_their_pieces_and_the_norm_follows_the_sums(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = system_of(arena, ", zero_quantized_gradients: true");
    const struct engine_program *program = &system->engine.programs[0];
    assert_int_equal(program->counts[STREAM_ACROSS_REDUCE], 9);
    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(wait_of(program, STREAM_ACROSS_REDUCE, i, STREAM_LOCAL_REDUCE), i + 1);
    }
    uint32_t waits = 0;
    for (uint32_t i = 0; i < program->counts[STREAM_COMPUTE]; i++) {
        waits += wait_of(program, STREAM_COMPUTE, i, STREAM_ACROSS_REDUCE) == 9;
    }
    assert_int_equal(waits, 1);
    arena_free(arena);
}

/* ---- what it costs -------------------------------------------------------------------------- */

/* Inside a node as tensor-parallel calls, between nodes as data-parallel ones. */
static void local_calls_disturb_compute_as_their_links_do(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct scenario scenario =
        *system_of(arena, ", zero_quantized_gradients: true")->jobs[0].is.scenario;
    scenario.software.scale_up_interference = 0.2;
    scenario.software.network_interference = 0.1;
    const struct step_job job = {&scenario, NULL, 1};
    static const uint32_t expected[][2] = {{200000, 100000}, {100000, 200000}};
    static const int64_t groups[] = {8, 16};
    for (size_t i = 0; i < 2; i++) {
        scenario.parallel.zero_local_group = groups[i];
        const struct step_system *system =
            system_build(arena, &job, 1, 16, &(struct step_options){0});
        const struct engine_stream *streams = system->engine.streams;
        assert_int_equal(streams[STREAM_LOCAL_REDUCE].interference, expected[i][0]);
        assert_int_equal(streams[STREAM_ACROSS_REDUCE].interference, expected[i][1]);
    }
    arena_free(arena);
}

static double compute_s(struct arena *arena, const struct step_system *system, bool folds)
{
    struct step_result result;
    step_simulate(arena, system->jobs[0].is.scenario, &(struct step_request){.folds = folds},
                  &result);
    return (double)result.gpu_ns[CAUSE_COMPUTE] / 16 * 1e-9;
}

/* Weights: a GPU reads 2 bytes and writes 1.001 of its sixteenth, and the other way round of all,
 * 16 layers and the edge. Gradients: 2 read, 0.501 written; read again; and of an eighth 0.501
 * written, read, 2 written. */
static void quantizing_takes_the_time_of_the_bytes_it_moves(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *usual = system_of(arena, "");
    const struct gpu *gpu = &usual->jobs[0].is.scenario->gpu;
    const double rate = gpu->memory_bandwidth_bytes_per_s * gpu->memory_kernel_efficiency;
    const double plain = compute_s(arena, usual, true);
    const double weights =
        compute_s(arena, system_of(arena, ", zero_quantized_weights: true"), true);
    const double gradients =
        compute_s(arena, system_of(arena, ", zero_quantized_gradients: true"), true);
    assert_close(weights - plain, 3.001 * (1 + 1.0 / 16) * (2 * LAYERS + EDGE) / rate, 1e-3);
    assert_close(gradients - plain, (2 + 1.002 + (1.002 + 2) / 8) * (LAYERS + EDGE) / rate, 1e-3);
    arena_free(arena);
}

/* GPUs of a node, and those of one place in the nodes, do alike. */
static void a_folded_step_is_the_unfolded_one(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct step_result results[2];
    const struct scenario *scenario =
        system_of(arena, ", zero_quantized_weights: true, zero_local_weights: true,\n"
                         "  zero_quantized_gradients: true")
            ->jobs[0]
            .is.scenario;
    for (int i = 0; i < 2; i++) {
        step_simulate(arena, scenario, &(struct step_request){.folds = i == 1}, &results[i]);
    }
    assert_int_equal(results[0].step_ns, results[1].step_ns);
    assert_true(results[1].engine.ranks_simulated < results[0].engine.ranks_simulated);
    arena_free(arena);
}

/* 8B on 64 ranks, a copy for 8: an eighth of 8,030,261,248 parameters in 2 bytes more. */
static void a_local_copy_takes_its_share_of_memory(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    memory_case_cut(&c, (struct memory_cut){1, 1, 64, 3, 1, 1});
    const double without = memory_case_use(&c, 0).buffers_bytes;
    c.scenario.parallel.has_local_weights = true;
    c.scenario.parallel.zero_local_group = 8;
    assert_close(memory_case_use(&c, 0).buffers_bytes - without, 2 * 8030261248.0 / 8, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantized_weights_are_gathered_in_half_the_bytes),
        cmocka_unit_test(a_local_copy_keeps_the_backward_gathers_in_the_node),
        cmocka_unit_test(quantized_gradients_are_exchanged_in_the_node_and_then_between_nodes),
        cmocka_unit_test(three_m_become_three_quarters),
        cmocka_unit_test(local_groups_are_as_large_as_the_scenario_says),
        cmocka_unit_test(each_call_costs_what_the_software_says),
        cmocka_unit_test(sums_follow_their_pieces_and_the_norm_follows_the_sums),
        cmocka_unit_test(local_calls_disturb_compute_as_their_links_do),
        cmocka_unit_test(quantizing_takes_the_time_of_the_bytes_it_moves),
        cmocka_unit_test(a_folded_step_is_the_unfolded_one),
        cmocka_unit_test(a_local_copy_takes_its_share_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
