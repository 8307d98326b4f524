/* What DeepSpeed's limits on gathered parameters keep, gather again and put off: counted by hand
 * for 8 layers of 12 h^2 + 13 h = 12,596,224 parameters (h = 1,024) on 16 GPUs. Attention has
 * 4 h^2 of them in matrices, the two matrices of the MLP as many each. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "input/scenario.h"
#include "support/assert_close.h"
#include "support/volume.h"
#include "train/program/program_live.h"
#include "train/step.h"

#define LAYERS 8
static const double LAYER = 12596224.0;
static const double EDGE = 512.0 * 1024 + 64 * 1024 + 2 * 1024; /* tables, last norm */

static const struct step_system *system_of(struct arena *arena, const char *tied, int microbatches,
                                           const char *fsdp)
{
    const char *text = arena_printf(
        arena,
        "model: {model: inline, source: made up, layers: 8, hidden: 1024, ffn_hidden: 4096,\n"
        "  heads: 8, vocab: 512, max_positions: 64, mlp: gelu, norm: layernorm,\n"
        "  positions: learned, biases: true, tied_embeddings: %s, embedding_norm: false,\n"
        "  dropout: false}\n"
        "cluster: h100-3200\ngpus: 16\nparallel: {zero: 3}\nrecompute: full\n"
        "batch: {global: %d, micro: 1, sequence_length: 64}\n"
        "software:\n  software: inline\n  source: made up\n  attention: fa2\n"
        "  gradients: {precision: bf16}\n"
        "  overlap: {dp_gradients: true, dp_parameters: true}\n%s",
        tied, 16 * microbatches, fsdp);
    return volume_system(arena, text);
}

static const struct scenario *scenario_of(const struct step_system *system)
{
    return system->jobs[0].is.scenario;
}

static struct step_result step_of(struct arena *arena, const char *fsdp)
{
    struct step_result result;
    const struct scenario *scenario = scenario_of(system_of(arena, "true", 1, fsdp));
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
    return result;
}

/* How many tasks of `other` the task of a stream waits for that is so far from its end; 0: none. */
static uint32_t waits_for(const struct step_system *system, enum stream stream, uint32_t from_end,
                          enum stream other)
{
    const struct engine_program *program = &system->engine.programs[0];
    const uint32_t index = program->counts[stream] - 1 - from_end;
    const struct task *task = engine_program_task(program, stream, index);
    for (uint32_t i = 0; i < task->wait_count; i++) {
        if (task->wait_stream[i] == other) {
            return engine_program_wait(program, stream, index, i);
        }
    }
    return 0;
}

static double again_of(const struct scenario *scenario)
{
    const struct program_job job = program_job_of(scenario);
    return live_again(&job, 0);
}

/* ---- gathered twice for a backward pass ---------------------------------------------------- */

/* Between two uses of the MLP's second matrix lies nothing, of its first 2 x 4 h^2 = 8,388,608
 * parameters, of attention's 16,777,216. What lies that far apart or farther is not kept. */
static void a_matrix_is_gathered_again_when_too_much_is_used_between(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const struct {
        int64_t distance;
        double again;
    } rows[] = {
        {0, 0},       {16777217, 0}, {16777216, 1.0 / 3}, {8388609, 1.0 / 3}, {8388608, 2.0 / 3},
        {1, 2.0 / 3},
    };
    struct scenario scenario = *scenario_of(system_of(arena, "true", 1, ""));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        scenario.software.fsdp_reuse_distance = rows[i].distance;
        assert_close(again_of(&scenario), rows[i].again, 1e-12);
    }
    scenario.recompute.kind = RECOMPUTE_NONE;
    assert_true(again_of(&scenario) == 0);
    arena_free(arena);
}

/* Two thirds are gathered twice: 8 layers forward, 8 x 5/3 backward, and the edge. */
static void what_is_gathered_again_is_sent_again(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        system_of(arena, "true", 1, "  fsdp: {reuse_distance: 8388608}\n");
    const struct volume volume = volume_of(system, 0, STREAM_DATA_GATHER, COLLECTIVE_ALL_GATHER);
    assert_close(volume.bytes, 2 * (8 * LAYER * (1 + 5.0 / 3) + EDGE), 1e-12);
    arena_free(arena);
}

/* ---- kept from the forward pass ------------------------------------------------------------ */

/* The edge and three layers are 38,380,544 parameters: three of the 8 layers are there when the
 * backward pass begins; with one parameter less two. A matrix of embedding and head that is not
 * tied is not counted. */
static void the_last_layers_of_a_forward_pass_stay_as_far_as_there_is_room(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const struct {
        const char *tied;
        const char *fsdp;
        int microbatches;
        uint32_t gathers;
    } rows[] = {
        {"true", "", 1, 1 + 8 + 8},
        {"true", "  fsdp: {live_parameters: 38380544}\n", 1, 1 + 8 + 5},
        {"true", "  fsdp: {live_parameters: 38380543}\n", 1, 1 + 8 + 6},
        {"true", "  fsdp: {live_parameters: 38380544}\n", 3, 3 * (1 + 8 + 5)},
        {"false", "  fsdp: {live_parameters: 37788672}\n", 1, 1 + 8 + 5},
        {"true", "  fsdp: {live_parameters: 1000000000}\n", 1, 1 + 8},
    };
    assert_true(EDGE + 3 * LAYER == 38380544.0 && 3 * LAYER == 37788672.0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct step_system *system =
            system_of(arena, rows[i].tied, rows[i].microbatches, rows[i].fsdp);
        assert_int_equal(system->engine.programs[0].counts[STREAM_DATA_GATHER], rows[i].gathers);
    }
    arena_free(arena);
}

/* Of 17 gathers or, with one layer kept, 16, the third is of the second layer. It is there before
 * the first layer's compute if embedding, head and one layer, 13,188,096 parameters, leave room. */
static void a_layer_is_gathered_ahead_when_there_is_room_for_one_more_parameter(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *no =
        system_of(arena, "true", 1, "  fsdp: {prefetch: 1000, live_parameters: 13188096}\n");
    const struct step_system *yes =
        system_of(arena, "true", 1, "  fsdp: {prefetch: 1000, live_parameters: 13188097}\n");
    assert_true(EDGE + LAYER == 13188096.0);
    const enum stream gather = STREAM_DATA_GATHER;
    assert_true(waits_for(no, gather, 13, STREAM_COMPUTE) >
                waits_for(no, gather, 14, STREAM_COMPUTE));
    assert_int_equal(waits_for(yes, gather, 13, STREAM_COMPUTE),
                     waits_for(yes, gather, 14, STREAM_COMPUTE));
    arena_free(arena);
}

/* Without room for two layers none is gathered ahead, however far software may look. */
static void no_layer_is_gathered_ahead_without_room(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_result reached = step_of(arena, "  fsdp: {prefetch: 0}\n");
    const struct step_result full =
        step_of(arena, "  fsdp: {prefetch: 1000, live_parameters: 1}\n");
    const struct step_result ahead = step_of(arena, "  fsdp: {prefetch: 1000}\n");
    assert_int_equal(full.step_ns, reached.step_ns);
    assert_true(ahead.step_ns < reached.step_ns);
    arena_free(arena);
}

/* ---- one communicator ----------------------------------------------------------------------- */

/* The first layer's gather for its backward pass is the last of 17, after 7 reductions when it is
 * not gathered ahead; its own reduction, the last but the edge's, comes after all gathers. */
static void on_one_queue_gathers_and_reductions_wait_for_those_before_them(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *two = system_of(arena, "true", 1, "  fsdp: {prefetch: 0}\n");
    const struct step_system *one =
        system_of(arena, "true", 1, "  fsdp: {prefetch: 0, one_queue: true}\n");
    assert_int_equal(one->engine.programs[0].counts[STREAM_DATA_GATHER], 17);
    assert_int_equal(waits_for(two, STREAM_DATA_GATHER, 0, STREAM_DATA_REDUCE), 0);
    assert_int_equal(waits_for(one, STREAM_DATA_GATHER, 0, STREAM_DATA_REDUCE), 7);
    assert_int_equal(waits_for(two, STREAM_DATA_REDUCE, 1, STREAM_DATA_GATHER), 0);
    assert_int_equal(waits_for(one, STREAM_DATA_REDUCE, 1, STREAM_DATA_GATHER), 17);
    arena_free(arena);
}

/* Nothing is gathered ahead and there is one queue, so no call is beside compute. 1 ms before
 * each of 8 gathers forward, 8 backward and 8 reductions: 24 ms of exposed communication, whatever
 * the bandwidth. And what the host spends on each rank's share of 4 matrices, in as many calls:
 * 24 x 4 x 16 x 10 us = 15.36 ms of launches. */
static void a_layer_without_prefetch_exposes_what_calls_and_launches_cost(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_result bare = step_of(arena, "  fsdp: {prefetch: 0, one_queue: true}\n");
    const struct step_result calls =
        step_of(arena, "  fsdp: {prefetch: 0, one_queue: true, per_call: 1 ms}\n");
    const struct step_result host =
        step_of(arena, "  fsdp: {prefetch: 0, one_queue: true, host_per_rank: 10 us}\n");
    assert_close((double)(calls.gpu_ns[CAUSE_EXPOSED_DP] - bare.gpu_ns[CAUSE_EXPOSED_DP]) / 16,
                 3 * LAYERS * 1e6, 1e-6);
    assert_close((double)(calls.step_ns - bare.step_ns), 3 * LAYERS * 1e6, 1e-6);
    assert_close((double)(host.gpu_ns[CAUSE_LAUNCH] - bare.gpu_ns[CAUSE_LAUNCH]) / 16, 15.36e6,
                 1e-6);
    arena_free(arena);
}

/* At 100 TB/s in the node and of each NIC, where all bytes take half a microsecond, what is exposed
 * is what 26 transfers cost without their bytes, one after the other: the library's start and
 * rounds, and the 1 ms that the software spends before each of the layers' 24. */
static void with_endless_bandwidth_latencies_and_calls_are_what_is_exposed(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        system_of(arena, "true", 1, "  fsdp: {prefetch: 0, one_queue: true, per_call: 1 ms}\n");
    struct scenario endless = *scenario_of(system);
    endless.cluster.nic_bytes_per_s = 1e14;
    endless.cluster.network_bytes_per_s = 8e14;
    endless.optimizer.clips = false;
    endless.cluster.scale_up_bytes_per_s = 1e14;
    const struct step_job job = {&endless, NULL, 1};
    const struct step_system *fast = system_build(arena, &job, 1, 16, &(struct step_options){0});
    double latency_s = 0;
    static const enum stream streams[] = {STREAM_DATA_GATHER, STREAM_DATA_REDUCE};
    for (size_t s = 0; s < 2; s++) {
        const struct engine_program *program = &fast->engine.programs[0];
        for (uint32_t i = 0; i < program->counts[streams[s]]; i++) {
            const struct task *task = engine_program_task(program, streams[s], i);
            latency_s += fast->transfers.origins[task->transfer].latency_s;
        }
    }
    struct step_result result;
    step_simulate(arena, &endless, &(struct step_request){.folds = true}, &result);
    assert_true(latency_s > 3 * LAYERS * 1e-3);
    assert_close((double)result.gpu_ns[CAUSE_EXPOSED_DP] / 16e9, latency_s, 1e-4);
    arena_free(arena);
}

/* ---- buckets of gradients -------------------------------------------------------------------- */

/* Gradients of a layer are 25,192,448 bytes. A bucket of three of them: 3, 3 and 2 layers, then
 * the edge; a byte less: four times two, and the edge. With half a layer to a bucket each layer is
 * two calls. */
static void layers_are_reduced_together_up_to_a_bucket(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const struct {
        const char *text;
        uint32_t reductions, calls;
    } rows[] = {
        {"  bucket: {size: 75577344 B}\n  fsdp: {reduce_buckets: true}\n", 3 + 1, 1},
        {"  bucket: {size: 75577343 B}\n  fsdp: {reduce_buckets: true}\n", 4 + 1, 1},
        {"  bucket: {size: 12596224 B}\n  fsdp: {reduce_buckets: true}\n", 8 + 1, 2},
        {"  bucket: {size: 75577344 B}\n", 8 + 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct step_system *system = system_of(arena, "true", 1, rows[i].text);
        const struct volume volume =
            volume_of(system, 0, STREAM_DATA_REDUCE, COLLECTIVE_REDUCE_SCATTER);
        const struct engine_program *program = &system->engine.programs[0];
        const uint32_t first = engine_program_task(program, STREAM_DATA_REDUCE, 0)->transfer;
        assert_int_equal(volume.count, rows[i].reductions);
        assert_close(volume.bytes, 2 * (LAYERS * LAYER + EDGE), 1e-12);
        assert_int_equal(system->transfers.origins[first].calls, rows[i].calls);
    }
    arena_free(arena);
}

#define BUCKETS "  bucket: {size: 75577344 B}\n  fsdp: {reduce_buckets: true, gathers: matrix}\n"

/* Of two microbatches 3 buckets each: the first one's backward pass ends with its own. */
static void a_backward_pass_ends_when_its_last_bucket_is_reduced(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = system_of(arena, "true", 2, BUCKETS);
    const struct engine_program *program = &system->engine.programs[0];
    uint32_t waits = 0;
    for (uint32_t i = 0; i < program->counts[STREAM_COMPUTE]; i++) {
        const uint32_t from_end = program->counts[STREAM_COMPUTE] - 1 - i;
        waits += waits_for(system, STREAM_COMPUTE, from_end, STREAM_DATA_REDUCE) == 3;
    }
    assert_int_equal(waits, 1);
    arena_free(arena);
}

static const struct step_system *built_anew(struct arena *arena, const struct scenario *scenario)
{
    const struct step_job job = {scenario, NULL, 1};
    return system_build(arena, &job, 1, 16, &(struct step_options){0});
}

static double reductions_latency_s(const struct step_system *system)
{
    const struct engine_program *program = &system->engine.programs[0];
    double sum = 0;
    for (uint32_t i = 0; i < program->counts[STREAM_DATA_REDUCE]; i++) {
        const uint32_t transfer = engine_program_task(program, STREAM_DATA_REDUCE, i)->transfer;
        sum += system->transfers.origins[transfer].latency_s;
    }
    return sum;
}

/* However few the buckets, the framework spends its millisecond on each of 8 x 4 matrices. */
static void a_bucket_costs_what_its_matrices_cost_the_framework(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *usual = system_of(arena, "true", 1, BUCKETS);
    struct scenario calls = *scenario_of(usual);
    calls.software.fsdp_per_call_s += 1e-3;
    assert_close(reductions_latency_s(built_anew(arena, &calls)) - reductions_latency_s(usual),
                 32e-3, 1e-9);
    arena_free(arena);
}

/* In two groups of 8 each bucket's eighth is summed over both, with the edge's 4 times. */
static void buckets_of_groups_are_summed_over_their_copies(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct scenario scenario = *scenario_of(system_of(arena, "true", 1, BUCKETS));
    scenario.parallel.zero_group = 8;
    const struct volume summed =
        volume_of(built_anew(arena, &scenario), 0, STREAM_REPLICA_REDUCE, COLLECTIVE_ALL_REDUCE);
    assert_int_equal(summed.count, 4);
    assert_close(summed.bytes, 2 * (LAYERS * LAYER + EDGE) / 8, 1e-12);
    arena_free(arena);
}

/* A layer's shard on one of 8 ranks is 12,596,224 x 2 / 8 = 3,149,056 bytes, the edge's 147,968. Up
 * to three layers' bytes, or a byte more: 3, 3 and 2 layers, these with the edge; a byte less: four
 * times two, the last with the edge. Without a bucket each reduction has its own sum. */
static void sums_over_copies_are_joined_up_to_their_bucket(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const struct {
        double bucket_bytes;
        uint32_t sums;
    } rows[] = {{9447168, 3}, {9447169, 3}, {9447167, 4}, {0, 9}, {1e12, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scenario scenario = *scenario_of(system_of(arena, "true", 1, ""));
        scenario.parallel.zero_group = 8;
        scenario.software.fsdp_sum_bucket_bytes = rows[i].bucket_bytes;
        const struct volume summed = volume_of(built_anew(arena, &scenario), 0,
                                               STREAM_REPLICA_REDUCE, COLLECTIVE_ALL_REDUCE);
        assert_int_equal(summed.count, rows[i].sums);
        assert_close(summed.bytes, 2 * (LAYERS * LAYER + EDGE) / 8, 1e-12);
    }
    arena_free(arena);
}

/* Joined up to three layers, the second sum is of the layers up to the third from the end: the last
 * two gathers are emitted after it. In the queue the gather before last waits for both sums, and
 * by itself for none; the reduction after the second sum waits for that gather either way. */
static void sums_over_copies_take_their_turn_in_the_queue(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *fsdp = "  fsdp: {prefetch: 0, one_queue: true, sum_bucket: 9447168 B}\n";
    struct scenario scenario = *scenario_of(system_of(arena, "true", 1, fsdp));
    scenario.parallel.zero_group = 8;
    const struct step_system *apart = built_anew(arena, &scenario);
    scenario.software.fsdp_queues_sums = true;
    const struct step_system *queued = built_anew(arena, &scenario);
    assert_int_equal(waits_for(apart, STREAM_DATA_GATHER, 1, STREAM_REPLICA_REDUCE), 0);
    assert_int_equal(waits_for(apart, STREAM_DATA_GATHER, 1, STREAM_DATA_REDUCE), 6);
    assert_int_equal(waits_for(queued, STREAM_DATA_GATHER, 1, STREAM_REPLICA_REDUCE), 2);
    assert_int_equal(waits_for(queued, STREAM_DATA_GATHER, 1, STREAM_DATA_REDUCE), 0);
    assert_int_equal(waits_for(queued, STREAM_DATA_GATHER, 0, STREAM_DATA_REDUCE), 7);
    assert_int_equal(waits_for(queued, STREAM_REPLICA_REDUCE, 1, STREAM_DATA_REDUCE), 6);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_is_gathered_again_when_too_much_is_used_between),
        cmocka_unit_test(what_is_gathered_again_is_sent_again),
        cmocka_unit_test(the_last_layers_of_a_forward_pass_stay_as_far_as_there_is_room),
        cmocka_unit_test(a_layer_is_gathered_ahead_when_there_is_room_for_one_more_parameter),
        cmocka_unit_test(no_layer_is_gathered_ahead_without_room),
        cmocka_unit_test(on_one_queue_gathers_and_reductions_wait_for_those_before_them),
        cmocka_unit_test(a_layer_without_prefetch_exposes_what_calls_and_launches_cost),
        cmocka_unit_test(with_endless_bandwidth_latencies_and_calls_are_what_is_exposed),
        cmocka_unit_test(layers_are_reduced_together_up_to_a_bucket),
        cmocka_unit_test(a_backward_pass_ends_when_its_last_bucket_is_reduced),
        cmocka_unit_test(a_bucket_costs_what_its_matrices_cost_the_framework),
        cmocka_unit_test(buckets_of_groups_are_summed_over_their_copies),
        cmocka_unit_test(sums_over_copies_are_joined_up_to_their_bucket),
        cmocka_unit_test(sums_over_copies_take_their_turn_in_the_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
