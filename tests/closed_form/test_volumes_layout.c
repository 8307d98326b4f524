/* What a step sends per rank in each layout, against the closed forms and worked numbers of
 * oracles.md 3. Rings are forced where a sum counts what a rank sends: (N-1)/N of the buffer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"
#include "support/assert_close.h"
#include "support/volume.h"
#include "train/program/program_calls.h"

static double all_of(const struct step_system *system, uint32_t stage, enum stream stream)
{
    double sum = 0;
    for (uint32_t operation = 0; operation < COLLECTIVE_OPERATION_COUNT_; operation++) {
        sum += volume_of(system, stage, stream, (enum collective_operation)operation).rank_bytes;
    }
    return sum;
}

/* ---- data parallelism: Llama 3 8B, 8,030,261,248 parameters, 64 ranks --------------------- */

#define LLAMA_8B_64(gradients, rest)                                   \
    "model: llama3-8b\ncluster: h100-3200\ngpus: 64\n"                 \
    "software: {software: inline, source: made up, attention: fa3, "   \
    "gradients: {precision: " gradients "}, bucket: {size: 160 MB}}\n" \
    "collectives: {data: {algorithm: ring}}\n"                         \
    "batch: {global: 64, micro: 1, sequence_length: 8192}\n" rest

static const double PSI = 8030261248.0;
static const double SHARE = 63.0 / 64;

static void assert_data(const char *text, double gathered, double reduced)
{
    struct arena *arena = arena_new();
    const struct step_system *system = volume_system(arena, text);
    assert_close(all_of(system, 0, STREAM_DATA_GATHER), gathered, 1e-9);
    assert_close(all_of(system, 0, STREAM_DATA_REDUCE), reduced, 1e-9);
    arena_free(arena);
}

/* All-reduce 2 (N-1)/N psi g: 63.238 GB of fp32, 31.619 of bf16 gradients. Distributed optimizer:
 * half of it and (N-1)/N psi 2: 47.429 in all. */
static void gradients_are_reduced_once_a_step(void **state)
{
    (void)state;
    assert_close(2 * SHARE * PSI * 4, 63.238e9, 1e-4);
    assert_close(SHARE * PSI * (4 + 2), 47.429e9, 1e-4);
    assert_data(LLAMA_8B_64("fp32", "parallel: {zero: 0}\n"), 0, 2 * SHARE * PSI * 4);
    assert_data(LLAMA_8B_64("bf16", "parallel: {zero: 0}\n"), 0, 2 * SHARE * PSI * 2);
    assert_data(LLAMA_8B_64("fp32", "parallel: {zero: 1}\n"), SHARE * PSI * 2, SHARE * PSI * 4);
}

/* FSDP gathers twice: 15.810 + 15.810 + 31.619 GB; once when parameters stay from forward to
 * backward. What is not in a layer, embedding and head, is gathered once a step. */
static void sharded_parameters_are_gathered_for_each_pass(void **state)
{
    (void)state;
    const double edge = 2 * 128256.0 * 4096 + 4096;
    const double once = SHARE * PSI * 2;
    const double again = SHARE * (PSI - edge) * 2;
    assert_close(once, 15.810e9, 1e-4);
    assert_data(LLAMA_8B_64("fp32", "parallel: {zero: 3}\n"), once + again, SHARE * PSI * 4);
    assert_data(LLAMA_8B_64("bf16", "parallel: {zero: 3}\n"), once + again, SHARE * PSI * 2);
    assert_data(LLAMA_8B_64("fp32", "parallel: {zero: 3, reshard: after-backward}\n"), once,
                SHARE * PSI * 4);
}

#define TWICE_BY(fsdp, rest)                                          \
    "model: llama3-8b\ncluster: h100-3200\ngpus: 64\n"                \
    "software: {software: inline, source: made up, attention: fa3, "  \
    "gradients: {precision: fp32}, bucket: {size: 160 MB}" fsdp "}\n" \
    "collectives: {data: {algorithm: ring}}\n"                        \
    "batch: {global: 128, micro: 1, sequence_length: 8192}\n" rest
#define TWICE(rest) TWICE_BY("", rest)

/* With two microbatches ZeRO 2 and FSDP reduce all gradients twice, embedding's and head's, too,
 * because what is summed is sharded (FSDP's post-backward hooks, the root's included; DeepSpeed's
 * reduce_ipg_grads of each backward); ZeRO 1 once. FSDP gathers everything twice as often, unless
 * it stays until the end of the step; with no_sync it reduces once. In 4 bytes what is gathered in
 * 2. */
static void what_accumulation_repeats(void **state)
{
    (void)state;
    const double edge = 2 * 128256.0 * 4096 + 4096;
    const double layers = SHARE * (PSI - edge) * 2;
    const double ends = SHARE * edge * 2;
    const double once = layers + ends;
    assert_data(TWICE("parallel: {zero: 1}\n"), once, 2 * once);
    assert_data(TWICE("parallel: {zero: 2}\n"), once, 4 * once);
    assert_data(TWICE("parallel: {zero: 3}\n"), 2 * ends + 4 * layers, 4 * once);
    assert_data(TWICE("parallel: {zero: 3, reshard: after-backward}\n"), 2 * once, 4 * once);
    assert_data(TWICE("parallel: {zero: 3, reshard: after-step}\n"), once, 4 * once);
    assert_data(TWICE_BY(", fsdp: {no_sync: replicas}", "parallel: {zero: 3}\n"),
                2 * ends + 4 * layers, 4 * once);
    assert_data(TWICE_BY(", fsdp: {no_sync: all}", "parallel: {zero: 3}\n"), 2 * ends + 4 * layers,
                2 * once);
    assert_data(TWICE_BY(", fsdp: {no_sync: all}", "parallel: {zero: 2}\n"), once, 2 * once);
}

/* Of HSDP, shards over 8 of 64, a rank's eighth of the gradients, 2 x 7/8 of it, is summed over 8
 * replicas with each of two backward passes, as FSDP does unless told (no_sync,
 * set_requires_all_reduce); ZeRO 1 once. */
static void replicas_sum_with_each_backward_unless_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double sums;
    } rows[] = {
        {TWICE("parallel: {zero: 1, zero_group: 8}\n"), 1},
        {TWICE("parallel: {zero: 2, zero_group: 8}\n"), 2},
        {TWICE("parallel: {zero: 3, zero_group: 8}\n"), 2},
        {TWICE_BY(", fsdp: {no_sync: replicas}", "parallel: {zero: 3, zero_group: 8}\n"), 1},
        {TWICE_BY(", fsdp: {no_sync: all}", "parallel: {zero: 3, zero_group: 8}\n"), 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        const struct step_system *system = volume_system(arena, rows[i].text);
        assert_close(all_of(system, 0, STREAM_REPLICA_REDUCE),
                     rows[i].sums * 2 * 7.0 / 8 * PSI * 4 / 8, 1e-9);
        arena_free(arena);
    }
}

#define PIPELINE(schedule, rest)                                     \
    "model: llama3-8b\ncluster: h100-3200\ngpus: 64\n"               \
    "software: {software: inline, source: made up, attention: fa3, " \
    "gradients: {precision: fp32}, bucket: {size: 160 MB}}\n"        \
    "collectives: {data: {algorithm: ring}}\n"                       \
    "batch: {global: 128, micro: 1, sequence_length: 8192}\n"        \
    "parallel: {pp: 2, schedule: " schedule ", " rest "}\n"

/* pp 2, dp 32, four microbatches: whatever the ZeRO stage, what a stage's ranks hold is reduced
 * once, with the last microbatch: 31/32 x 4 bytes of 16 layers of 218,112,000 and the embedding,
 * 128,256 x 4096. What FSDP gathers for each pass it gathers for each of the 2 x 4. */
static void a_pipeline_reduces_once_a_step(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double layer_gathers; /* of the stage's layers, a step */
    } rows[] = {
        {PIPELINE("1f1b", "zero: 1"), 1},
        {PIPELINE("1f1b", "zero: 2"), 1},
        {PIPELINE("1f1b", "zero: 3"), 8},
        {PIPELINE("1f1b", "zero: 3, reshard: after-backward"), -1}, /* as the schedule says */
        {PIPELINE("1f1b", "zero: 3, reshard: after-step"), 1},
        {PIPELINE("gpipe", "zero: 2"), 1},
        {PIPELINE("zb-h1", "zero: 2"), 1},
        {PIPELINE("interleaved", "zero: 2, virtual_stages: 4"), 1},
        {PIPELINE("interleaved", "zero: 3, virtual_stages: 4"), 8},
    };
    const double layers = 16 * 218112000.0;
    const double edge = 128256.0 * 4096;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        const struct step_system *system = volume_system(arena, rows[i].text);
        assert_close(all_of(system, 0, STREAM_DATA_REDUCE), 31.0 / 32 * 4 * (layers + edge), 1e-9);
        if (rows[i].layer_gathers > 0) {
            assert_close(all_of(system, 0, STREAM_DATA_GATHER),
                         31.0 / 32 * 2 * (rows[i].layer_gathers * layers + edge), 1e-9);
        }
        arena_free(arena);
    }
}

/* HSDP, shards over 8 of 64: a rank gathers and reduces 7/8 of the bytes, then sums its eighth
 * over 8 replicas: 2 x 7/8 of psi g / 8. */
static void shards_are_summed_over_replicas(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        volume_system(arena, LLAMA_8B_64("fp32", "parallel: {zero: 1, zero_group: 8}\n"));
    assert_close(all_of(system, 0, STREAM_DATA_GATHER), 7.0 / 8 * PSI * 2, 1e-9);
    assert_close(all_of(system, 0, STREAM_DATA_REDUCE), 7.0 / 8 * PSI * 4, 1e-9);
    assert_close(all_of(system, 0, STREAM_REPLICA_REDUCE), 2 * 7.0 / 8 * PSI * 4 / 8, 1e-9);
    /* A copy on each node, so only the sums leave nodes. */
    const struct group_shape *groups = system->jobs[0].groups;
    assert_true(groups[GROUP_DATA].ranks == 8 && groups[GROUP_DATA].nodes == 1);
    assert_true(groups[GROUP_REPLICA].ranks == 8 && groups[GROUP_REPLICA].nodes == 8);
    arena_free(arena);
}

/* DualPipe, pp 8, dp 2: stages 0 and 7 hold the same two pieces, so 2 x 2 ranks reduce them, and
 * the optimizer is sharded over 4: (4-1)/4 of 4 bytes of each of a rank's parameters. */
static void two_stages_of_dual_pipe_reduce_together(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = volume_system(
        arena, "model: llama3-8b\ncluster: h100-3200\ngpus: 16\nsoftware: megatron-2024\n"
               "collectives: {data: {algorithm: ring}}\n"
               "parallel: {pp: 8, dp: 2, schedule: dualpipe}\n"
               "batch: {global: 32, micro: 1, sequence_length: 8192}\n");
    /* 8 pieces of 4 layers of 218,112,000; the first with the embedding of 128,256 x 4096, the
     * last with the head and the final norm. */
    const double edges = 2 * 128256.0 * 4096 + 4096;
    const double layers = 8 * 218112000.0;
    assert_int_equal(system->jobs[0].groups[GROUP_DATA].ranks, 4);
    assert_close(all_of(system, 0, STREAM_DATA_REDUCE), 0.75 * 4 * (layers + edges), 1e-9);
    assert_close(all_of(system, 7, STREAM_DATA_REDUCE), 0.75 * 4 * (layers + edges), 1e-9);
    assert_close(all_of(system, 3, STREAM_DATA_REDUCE), 0.75 * 4 * layers, 1e-9);
    arena_free(arena);
}

/* ---- rank order ------------------------------------------------------------------------ */

static const struct step_system *ordered(struct arena *arena, const char *order)
{
    return volume_system(
        arena, arena_printf(arena,
                            "model: llama3-8b\ncluster: h100-3200\ngpus: 16\n"
                            "software: megatron-2024\nparallel: {tp: 4, pp: 2, order: %s}\n"
                            "batch: {global: 4, micro: 1, sequence_length: 8192}\n",
                            order));
}

/* tp 4, pp 2, dp 2 on nodes of 8: in Megatron's order a stage fills a node, and messages between
 * stages cross the network; with pp before dp both stages of a replica share a node, and
 * gradients cross. */
static void an_order_says_what_crosses_the_network(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct system_job *usual = &ordered(arena, "tp-cp-ep-dp-pp")->jobs[0];
    assert_true(usual->pair.hops_max > 0);
    assert_int_equal(usual->groups[GROUP_DATA].nodes, 1);
    const struct system_job *other = &ordered(arena, "tp-cp-ep-pp-dp")->jobs[0];
    assert_int_equal(other->pair.hops_max, 0);
    assert_int_equal(other->groups[GROUP_DATA].nodes, 2);
    assert_int_equal(other->groups[GROUP_TENSOR].nodes, 1);
    arena_free(arena);
}

/* ---- tensor parallelism: Llama 3 70B, tp 8, 8192 tokens ------------------------------------ */

#define LLAMA_70B(sequence_parallel) LLAMA_70B_BY("megatron-2024", sequence_parallel)
#define LLAMA_70B_BY(software, sequence_parallel)                              \
    "model: llama3-70b\ncluster: h100-3200\ngpus: 8\nsoftware: " software "\n" \
    "collectives: {tensor: {algorithm: ring}}\n"                               \
    "parallel: {tp: 8, sequence_parallel: " sequence_parallel "}\n"            \
    "batch: {global: 1, micro: 1, sequence_length: 8192}\n"

/* A = 8192 x 8192 x 2 = 134,217,728 bytes. An all-reduce sends 2 x 7/8 A = 234,881,024; a layer
 * has two forward and two backward: 939,524,096. Besides: embedding and head one each, and the
 * loss 4 bytes a token three times (its maximum, the label's logit, the sum of exponentials). */
static void a_layer_reduces_its_activations_four_times(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = volume_system(arena, LLAMA_70B("false"));
    const double reduced = 234881024.0;
    const double loss = 3 * 2 * 7.0 / 8 * 8192 * 4;
    assert_close(all_of(system, 0, STREAM_TENSOR), 80 * 939524096.0 + 2 * reduced + loss, 1e-9);
    arena_free(arena);
}

/* With sequence parallelism each becomes a reduce-scatter and an all-gather, and backward the
 * inputs of both blocks are gathered again: 10 x 7/8 A = 1,174,405,120 a layer. Embedding:
 * scattered, its gradient gathered; head: gathered, again backward, its input's gradient scattered
 * (LinearWithGradAccumulationAndAsyncCommunication of megatron/core/tensor_parallel/layers.py).
 * DTensor keeps what it gathered: 8 a layer, and one less of the head. */
static void sequence_parallelism_gathers_inputs_again(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double halves; /* of A */
    } rows[] = {{LLAMA_70B("true"), 80 * 10 + 5},
                {LLAMA_70B_BY("{software: inline, source: made up, attention: fa3,\n"
                              "  gradients: {precision: fp32}, tensor: {keeps_gathered: true}}",
                              "true"),
                 80 * 8 + 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        const struct step_system *system = volume_system(arena, rows[i].text);
        const double half = 117440512.0;
        const double loss = 3 * 2 * 7.0 / 8 * 8192 * 4;
        assert_close(all_of(system, 0, STREAM_TENSOR), rows[i].halves * half + loss, 1e-9);
        arena_free(arena);
    }
}

/* 8 heads of keys and values on tp 8: each rank has one. On tp 16 Megatron-Core of 2026 gathers
 * queries, keys and values, 8192 x (64 + 2 x 8) x 128 x 2 = 167,772,160 bytes a layer, and scatters
 * their gradients; 2 activations A of 134,217,728 are gathered forward, 4 backward. */
static void few_kv_heads_are_gathered_or_copied(void **state)
{
    (void)state;
    static const struct {
        const char *software;
        double gathered; /* of a layer */
    } rows[] = {{"megatron-2025", 6 * 134217728.0}, {"megatron-2026", 6 * 134217728.0 + 167772160}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        const struct step_system *system = volume_system(
            arena, arena_printf(arena,
                                "model: llama3-70b\ncluster: gb200-nvl72\ngpus: 16\n"
                                "software: %s\nparallel: {tp: 16, sequence_parallel: true}\n"
                                "batch: {global: 1, micro: 1, sequence_length: 8192}\n",
                                rows[i].software));
        const struct volume volume = volume_of(system, 0, STREAM_TENSOR, COLLECTIVE_ALL_GATHER);
        const double ends = 3 * 134217728.0;
        assert_close(volume.bytes, 80 * rows[i].gathered + ends, 1e-12);
        arena_free(arena);
    }
}

/* ---- pipelines: what crosses a boundary ------------------------------------------------------ */

static double sent_in(const char *text, uint32_t stage)
{
    struct arena *arena = arena_new();
    const double sum = volume_sent(volume_system(arena, text), stage).bytes;
    arena_free(arena);
    return sum;
}

#define LLAMA_405B_BY(software, parallel)                                            \
    "model: llama3-405b\ncluster: h100-roce-24k\ngpus: 64\nsoftware: " software "\n" \
    "parallel: {" parallel "}\nbatch: {global: 16, micro: 1, sequence_length: 8192}\n"
#define LLAMA_405B(parallel) LLAMA_405B_BY("megatron-2024", parallel)

/* 405B: 8192 x 16384 x 2 = 268,435,456 bytes a microbatch and way; each of 8 tensor ranks sends
 * its eighth, 33,554,432. 16 microbatches forth and back; the first stage sends forth only. It is
 * as much in calls of both ways (Megatron), one way after the other (DeepSpeed) or apart. */
static void a_boundary_carries_each_microbatch_both_ways(void **state)
{
    (void)state;
    const double way = 16 * 33554432.0;
    static const char *const texts[] = {
        LLAMA_405B("tp: 8, pp: 8, sequence_parallel: true"),
        LLAMA_405B_BY("megatron-deepspeed-2022", "tp: 8, pp: 8, sequence_parallel: true"),
        LLAMA_405B_BY("{software: inline, source: made up, attention: fa2,\n"
                      "  gradients: {precision: fp32}, p2p: {calls: apart}}",
                      "tp: 8, pp: 8, sequence_parallel: true"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_close(sent_in(texts[i], 0), way, 1e-12);
        assert_close(sent_in(texts[i], 3), 2 * way, 1e-12);
        assert_close(sent_in(texts[i], 7), way, 1e-12);
    }
    assert_close(sent_in(LLAMA_405B("pp: 8, dp: 8"), 3), 2 * 2 * 268435456.0, 1e-12);
}

/* Without sequence parallelism each rank of a tensor-parallel group has the whole boundary, 8192 x
 * 16384 x 2 = 268,435,456 bytes. Megatron-Core sends it from each of the 8 (get_tensor_shapes of
 * core/pipeline_parallel/schedules.py divides by tp only with sequence parallelism), for 16
 * microbatches forth and back. Megatron-LM of 2021 sends an eighth and gathers it on arrival
 * (megatron/p2p_communication.py), DeepSpeed's pipeline of 2020 the activations alone. Stage 3 has
 * 16 layers forward (2 all-reduces each), so its gathers are all of boundaries. */
static void without_sequence_parallelism_a_boundary_goes_whole_or_in_shares(void **state)
{
    (void)state;
    static const struct {
        const char *software;
        double ahead, back; /* of 268,435,456, what a rank sends */
        uint32_t gathers;   /* of 16 microbatches */
    } rows[] = {
        {"megatron-2021", 1.0 / 8, 1.0 / 8, 32},
        {"megatron-2022", 1.0 / 8, 1.0 / 8, 32},
        {"megatron-2023", 1, 1, 0},
        {"megatron-2025", 1, 1, 0},
        {"gpt-neox-2022", 1.0 / 8, 1, 16},
        {"megatron-deepspeed-2021", 1.0 / 8, 1.0 / 8, 32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        const struct step_system *system = volume_system(
            arena, arena_printf(arena,
                                "model: llama3-405b\ncluster: h100-roce-24k\ngpus: 64\n"
                                "software: %s\nprecision: bf16\nparallel: {tp: 8, pp: 8}\n"
                                "batch: {global: 16, micro: 1, sequence_length: 8192}\n",
                                rows[i].software));
        const double whole = 16 * 268435456.0;
        assert_close(volume_sent(system, 3).bytes, (rows[i].ahead + rows[i].back) * whole, 1e-12);
        const struct volume gathered = volume_of(system, 3, STREAM_TENSOR, COLLECTIVE_ALL_GATHER);
        assert_int_equal(gathered.count, rows[i].gathers);
        assert_close(gathered.bytes, rows[i].gathers * 268435456.0, 1e-12);
        arena_free(arena);
    }
}

/* A call one way crosses the links of that way, one both ways those of both. */
static void a_call_both_ways_crosses_what_either_way_does(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        volume_system(arena, LLAMA_405B("tp: 8, pp: 8, sequence_parallel: true"));
    uint32_t calls = 0;
    for (uint32_t i = 0; i < system->engine.channel_count; i++) {
        const struct engine_channel *channel = &system->engine.channels[i];
        const struct engine_path *ways = &system->engine.paths[channel->path_first];
        if (channel->path_count == CALL_WAYS && channel->member_count == 2) {
            assert_true(ways[CALL_AHEAD].crossing_count >= 2); /* a NIC out, one in */
            assert_int_equal(ways[CALL_BACK].crossing_count, ways[CALL_AHEAD].crossing_count);
            assert_int_equal(ways[CALL_BOTH].crossing_count, 2 * ways[CALL_AHEAD].crossing_count);
            calls++;
        }
    }
    assert_int_equal(calls, 7 * 8);
    arena_free(arena);
}

/* A V100 has six links of 25 GB/s: to one other GPU one, within a node of eight all. */
static void a_pair_without_a_switch_has_a_sixth_of_what_a_node_has(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{tp: 2}\n",
        "{tp: 8}\n",
    };
    double rates[2];
    for (size_t i = 0; i < 2; i++) {
        struct arena *arena = arena_new();
        const struct step_system *system = volume_system(
            arena, arena_printf(arena,
                                "model: gpt-1.3b-bigscience\ncluster: v100-ena-25\ngpus: 8\n"
                                "precision: fp16\nsoftware: megatron-2021\n"
                                "collectives: {tensor: {algorithm: ring, protocol: Simple}}\n"
                                "batch: {global: 8, micro: 1, sequence_length: 1024}\n"
                                "parallel: %s",
                                texts[i]));
        const struct task *first =
            engine_program_task(&system->engine.programs[0], STREAM_TENSOR, 0);
        const struct transfer_origin *origin = &system->transfers.origins[first->transfer];
        rates[i] = origin->rank_bytes / (origin->time_s - origin->latency_s);
        arena_free(arena);
    }
    assert_close(rates[1] / rates[0], 6, 1e-5);
}

/* Interleaving of 2 chunks sends twice as much; a vee too, but for the turn on the last stage;
 * DualPipe, with half of the microbatches each way, as much as 1F1B. */
static void chunks_multiply_what_is_sent(void **state)
{
    (void)state;
    const double way = 16 * 33554432.0;
    assert_close(sent_in(LLAMA_405B("tp: 8, pp: 8, sequence_parallel: true, "
                                    "schedule: interleaved, virtual_stages: 2"),
                         3),
                 4 * way, 1e-12);
    static const char vee[] = LLAMA_405B("tp: 8, pp: 8, sequence_parallel: true, schedule: zb-v");
    assert_close(sent_in(vee, 3), 4 * way, 1e-12);
    assert_close(sent_in(vee, 7), 2 * way, 1e-12);
    static const char dual[] =
        LLAMA_405B("tp: 8, pp: 8, sequence_parallel: true, schedule: dualpipe");
    assert_close(sent_in(dual, 3), 2 * way, 1e-12);
    assert_close(sent_in(dual, 0), way, 1e-12);
    assert_close(sent_in(LLAMA_405B("tp: 8, pp: 8, sequence_parallel: true, "
                                    "schedule: dualpipev"),
                         3),
                 4 * way, 1e-12);
}

/* Multi-token prediction reads the embedding on the last stage, too, whose gradient it sums with
 * the first's, though head and embedding are not tied (_allreduce_word_embedding_grads of
 * megatron/core/distributed/finalize_model_grads.py asks for mtp_num_layers, too): DeepSeek-V3,
 * 129,280 x 7168 x 4 = 3,706,716,160 bytes, on the two stages. */
static void multi_token_prediction_sums_the_embedding(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double bytes;
    } rows[] = {{"deepseek-v3", 3706716160.0}, {"mixtral-8x7b", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        const struct step_system *system = volume_system(
            arena, arena_printf(arena,
                                "model: %s\ncluster: h800-3200\ngpus: 32\n"
                                "software: megatron-2025\nparallel: {pp: 4, ep: 8}\n"
                                "batch: {global: 32, micro: 1, sequence_length: 4096}\n",
                                rows[i].model));
        for (uint32_t stage = 0; stage < 4; stage++) {
            const bool sums = rows[i].bytes > 0 && (stage == 0 || stage == 3);
            const struct volume volume =
                volume_of(system, stage, STREAM_EMBEDDING, COLLECTIVE_ALL_REDUCE);
            assert_int_equal(volume.count, sums ? 1 : 0);
            assert_close(volume.bytes, sums ? rows[i].bytes : 0.0, 1e-12);
        }
        arena_free(arena);
    }
}

/* ---- context parallelism ------------------------------------------------------------ */

/* 405B, cp 16, tp 8, 131,072 tokens: a rank's keys and values 8192 x 128 x 2 x 2 = 4,194,304
 * bytes. Forward they go 15 places around: 62,914,560 bytes; backward again, and their gradients
 * all 16 places, home. It is what Megatron-Core does unless told (--cp-comm-type p2p). */
static void a_ring_passes_keys_and_values_on(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        volume_system(arena, "model: llama3-405b\ncluster: h100-roce-24k\ngpus: 128\n"
                             "software: megatron-2024\n"
                             "parallel: {tp: 8, cp: 16, sequence_parallel: true}\n"
                             "batch: {global: 1, micro: 1, sequence_length: 131072}\n");
    const struct volume volume = volume_of(system, 0, STREAM_CONTEXT, COLLECTIVE_SHIFT);
    assert_int_equal(volume.count, 126 * (15 + 15 + 16));
    assert_close(volume.rank_bytes, 126 * (2 * 62914560.0 + 16 * 4194304.0), 1e-12);
    arena_free(arena);
}

#define LATENTS                                             \
    "{software: inline, source: made up, attention: fa3,\n" \
    "  gradients: {precision: fp32}, context: {gathers: latents}}"

/* DeepSeek-V3, cp 8: what TransformerEngine's all-gather is handed are keys and values of all 128
 * heads, 192 and 128 values each: 4096 x 40,960 x 2 = 335,544,320 bytes a sequence and layer, 61
 * times forward, and again backward; their gradients come home the same way. Where latents are
 * gathered, 512 + 64 values of a token: 4,718,592 bytes. With tp 2 a rank has half of the heads,
 * but all latents. */
static void latent_attention_gathers_heads_or_latents(void **state)
{
    (void)state;
    static const struct {
        const char *software, *parallel;
        double bytes;
    } rows[] = {
        {"megatron-2025", "cp: 8", 335544320.0},
        {LATENTS, "cp: 8", 4718592.0},
        {"megatron-2025", "cp: 8, tp: 2, sequence_parallel: true", 335544320.0 / 2},
        {LATENTS, "cp: 8, tp: 2, sequence_parallel: true", 4718592.0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        const struct step_system *system = volume_system(
            arena, arena_printf(arena,
                                "model: deepseek-v3\ncluster: h800-3200\ngpus: 16\n"
                                "software: %s\nparallel: {%s, cp_type: all-gather}\n"
                                "batch: {global: 2, micro: 1, sequence_length: 4096}\n",
                                rows[i].software, rows[i].parallel));
        const struct volume gathered = volume_of(system, 0, STREAM_CONTEXT, COLLECTIVE_ALL_GATHER);
        const struct volume summed =
            volume_of(system, 0, STREAM_CONTEXT, COLLECTIVE_REDUCE_SCATTER);
        assert_close(gathered.bytes / gathered.count, rows[i].bytes, 1e-12);
        assert_close(summed.bytes, gathered.bytes / 2, 1e-12);
        arena_free(arena);
    }
}

/* Ulysses: each rank sends 15/16 of its queries, keys and values, and of the output, both ways.
 * Llama 3 8B, cp 8, 8192 tokens: 1024 tokens of (32 + 8 + 8) x 128 and 32 x 128 values in 2
 * bytes: 12,582,912 and 8,388,608 bytes, 7/8 of which leave, twice a layer. */
static void ulysses_deals_out_heads(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        volume_system(arena, "model: llama3-8b\ncluster: h100-3200\ngpus: 8\n"
                             "software: megatron-2024\nparallel: {cp: 8, cp_type: ulysses}\n"
                             "batch: {global: 1, micro: 1, sequence_length: 8192}\n");
    const struct volume volume = volume_of(system, 0, STREAM_CONTEXT, COLLECTIVE_ALL_TO_ALL);
    assert_int_equal(volume.count, 32 * 4);
    assert_close(volume.rank_bytes, 32 * 2 * 7.0 / 8 * (12582912.0 + 8388608.0), 1e-12);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_reduced_once_a_step),
        cmocka_unit_test(sharded_parameters_are_gathered_for_each_pass),
        cmocka_unit_test(what_accumulation_repeats),
        cmocka_unit_test(replicas_sum_with_each_backward_unless_told),
        cmocka_unit_test(a_pipeline_reduces_once_a_step),
        cmocka_unit_test(shards_are_summed_over_replicas),
        cmocka_unit_test(two_stages_of_dual_pipe_reduce_together),
        cmocka_unit_test(an_order_says_what_crosses_the_network),
        cmocka_unit_test(a_layer_reduces_its_activations_four_times),
        cmocka_unit_test(sequence_parallelism_gathers_inputs_again),
        cmocka_unit_test(few_kv_heads_are_gathered_or_copied),
        cmocka_unit_test(a_boundary_carries_each_microbatch_both_ways),
        cmocka_unit_test(without_sequence_parallelism_a_boundary_goes_whole_or_in_shares),
        cmocka_unit_test(a_call_both_ways_crosses_what_either_way_does),
        cmocka_unit_test(a_pair_without_a_switch_has_a_sixth_of_what_a_node_has),
        cmocka_unit_test(chunks_multiply_what_is_sent),
        cmocka_unit_test(multi_token_prediction_sums_the_embedding),
        cmocka_unit_test(a_ring_passes_keys_and_values_on),
        cmocka_unit_test(latent_attention_gathers_heads_or_latents),
        cmocka_unit_test(ulysses_deals_out_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
