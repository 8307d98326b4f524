/* What the ways to shard, to share sequences and to schedule send in a step, against the closed
 * forms of oracles.md 3. Programs are built, not run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"
#include "input/scenario.h"
#include "plan/memory/memory_layer.h"
#include "support/assert_close.h"
#include "support/volume.h"

/* Llama-3 8B: 8,030,261,248 parameters, 1,050,677,248 in embedding, head and final norm. */
static const double ALL = 8030261248.0;
static const double LAYERS = 6979584000.0;
static const double EDGE = 1050677248.0;

static struct step_system *llama(struct arena *arena, uint32_t gpus, const char *parallel,
                                 int batch)
{
    return volume_system(arena,
                         arena_printf(arena,
                                      "model: llama3-8b\ncluster: h100-3200\ngpus: %u\n"
                                      "software: megatron-2024\nparallel: {%s}\n"
                                      "batch: {global: %d, micro: 1, sequence_length: 8192}\n",
                                      gpus, parallel, batch));
}

/* ---- sequences on several ranks ----------------------------------------------------------- */

/* cp 4: a rank has 2048 tokens, whose keys and values are 2 x 8 x 128 x 2 = 4096 bytes each:
 * 8,388,608 bytes a shift. Forward 3 shifts; backward 3 again, and 4 of gradients, the last one
 * home: 10 for each of 32 layers. */
static void a_ring_shifts_keys_and_values_and_their_gradients(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = llama(arena, 8, "cp: 4, cp_type: ring", 2);
    const struct volume shifts = volume_of(system, 0, STREAM_CONTEXT, COLLECTIVE_SHIFT);
    assert_int_equal(shifts.count, 32 * 10);
    assert_close(shifts.rank_bytes, 320 * 8388608.0, 1e-15);
    assert_int_equal(volume_of(system, 0, STREAM_CONTEXT, COLLECTIVE_ALL_GATHER).count, 0);
    arena_free(arena);
}

/* cp 4: queries, keys and values of 2048 tokens 2048 x (4096 + 2 x 1024) x 2 = 25,165,824 bytes,
 * results 2048 x 4096 x 2 = 16,777,216, each forward and, their gradients, backward. */
static void ulysses_deals_out_heads_and_takes_results_back(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = llama(arena, 8, "cp: 4, cp_type: ulysses", 2);
    const struct volume volume = volume_of(system, 0, STREAM_CONTEXT, COLLECTIVE_ALL_TO_ALL);
    assert_int_equal(volume.count, 32 * 4);
    assert_close(volume.bytes, 32 * 2 * (25165824.0 + 16777216.0), 1e-15);
    assert_close(volume.rank_bytes, 0.75 * volume.bytes, 1e-15);
    arena_free(arena);
}

/* ---- sharding ----------------------------------------------------------------------------- */

/* Two microbatches: layers are gathered for each forward and backward, for each forward, or
 * once; embedding and head for each microbatch, or once. 2 bytes a parameter. */
static void resharding_says_how_often_layers_are_gathered(void **state)
{
    (void)state;
    static const struct {
        const char *parallel;
        double layers, edge; /* times */
    } rows[] = {{"zero: 3", 4, 2},
                {"zero: 3, reshard: after-backward", 2, 2},
                {"zero: 3, reshard: after-step", 1, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        const struct step_system *system = llama(arena, 8, rows[i].parallel, 16);
        const struct volume gathered =
            volume_of(system, 0, STREAM_DATA_GATHER, COLLECTIVE_ALL_GATHER);
        const struct volume reduced =
            volume_of(system, 0, STREAM_DATA_REDUCE, COLLECTIVE_REDUCE_SCATTER);
        assert_close(gathered.bytes, 2 * (rows[i].layers * LAYERS + rows[i].edge * EDGE), 1e-14);
        assert_close(gathered.rank_bytes, gathered.bytes * 7 / 8, 1e-14);
        assert_close(reduced.bytes, 4 * 2 * ALL, 1e-14);
        arena_free(arena);
    }
}

/* dp 8 in shard groups of 2: a reduce-scatter of 4 bytes a parameter over 2, then an all-reduce
 * of the half over the 4 copies: 2 x 3/4 of it leaves a rank. Parameters come from one other. */
static void hsdp_sums_shards_over_their_copies(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = llama(arena, 8, "zero: 1, zero_group: 2", 16);
    const struct volume scattered =
        volume_of(system, 0, STREAM_DATA_REDUCE, COLLECTIVE_REDUCE_SCATTER);
    const struct volume summed = volume_of(system, 0, STREAM_REPLICA_REDUCE, COLLECTIVE_ALL_REDUCE);
    const struct volume gathered = volume_of(system, 0, STREAM_DATA_GATHER, COLLECTIVE_ALL_GATHER);
    assert_close(scattered.bytes, 4 * ALL, 1e-14);
    assert_close(scattered.rank_bytes, 2 * ALL, 1e-14);
    assert_int_equal(summed.count, scattered.count);
    assert_close(summed.bytes, 2 * ALL, 1e-14);
    assert_close(gathered.bytes, 2 * ALL, 1e-14);
    assert_close(gathered.rank_bytes, ALL, 1e-14);
    arena_free(arena);
}

/* FSDP in shard groups of 4: each of two microbatches is reduce-scattered, and its quarter of 4
 * bytes a parameter summed over the copies. */
static void copies_are_summed_with_each_microbatch(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = llama(arena, 8, "zero: 3, zero_group: 4", 16);
    const struct volume summed = volume_of(system, 0, STREAM_REPLICA_REDUCE, COLLECTIVE_ALL_REDUCE);
    assert_close(summed.bytes, 2 * ALL, 1e-14);
    arena_free(arena);
}

/* ---- stages ------------------------------------------------------------------------------- */

static uint32_t messages_of(const char *schedule)
{
    struct arena *arena = arena_new();
    const char *parallel = arena_printf(arena, "pp: 4, schedule: %s", schedule);
    const struct step_system *system = llama(arena, 8, parallel, 16);
    const uint32_t count = volume_sent(system, 1).count;
    arena_free(arena);
    return count;
}

/* m = 8 microbatches through a middle stage: activations on and gradients back, 16; with two
 * chunks each way 32; with DualPipe half of the microbatches each way, 16. */
static void two_chunks_send_twice_and_dualpipe_once(void **state)
{
    (void)state;
    assert_int_equal(messages_of("1f1b"), 16);
    assert_int_equal(messages_of("zb-h1"), 16);
    assert_int_equal(messages_of("zb-v"), 32);
    assert_int_equal(messages_of("dualpipev"), 32);
    assert_int_equal(messages_of("dualpipe"), 16);
}

/* With DualPipe stages 0 and 3 hold the first and the last quarter of the layers: what they
 * reduce together is the same on both, in the same order, and all of it 4 bytes a parameter. */
static void stages_that_hold_the_same_reduce_the_same(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = llama(arena, 8, "pp: 4, zero: 1, schedule: dualpipe", 16);
    const struct engine_program *first = &system->engine.programs[0];
    const struct engine_program *last = &system->engine.programs[3];
    static const enum stream streams[] = {STREAM_DATA_REDUCE, STREAM_DATA_GATHER};
    for (size_t s = 0; s < 2; s++) {
        const uint32_t count = first->counts[streams[s]];
        assert_true(count > 0);
        assert_int_equal(count, last->counts[streams[s]]);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(engine_program_task(first, streams[s], i)->transfer,
                             engine_program_task(last, streams[s], i)->transfer);
        }
    }
    double reduced = 0;
    for (uint32_t stage = 0; stage < 2; stage++) {
        reduced += volume_of(system, stage, STREAM_DATA_REDUCE, COLLECTIVE_REDUCE_SCATTER).bytes;
    }
    assert_close(reduced, 4 * ALL, 1e-14);
    assert_int_equal(system->jobs[0].groups[GROUP_DATA].ranks, 4);
    arena_free(arena);
}

/* ---- what is computed again, what is not trained ------------------------------------------ */

/* Mixtral: four exchanges a layer and microbatch, two more when experts are computed again. */
static void experts_that_are_computed_again_exchange_again(void **state)
{
    (void)state;
    static const char text[] =
        "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 16\nsoftware: megatron-2024\n"
        "parallel: {ep: 8}\nbatch: {global: 16, micro: 1, sequence_length: 4096}\n%s\n";
    static const struct {
        const char *recompute;
        uint32_t exchanges;
    } rows[] = {{"recompute: none", 32 * 4},
                {"recompute: {modules: [moe]}", 32 * 6},
                {"recompute: full", 32 * 6},
                {"recompute: {layers: 5}", 32 * 4 + 5 * 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        const struct step_system *system =
            volume_system(arena, arena_printf(arena, text, rows[i].recompute));
        assert_int_equal(volume_of(system, 0, STREAM_EXPERT, COLLECTIVE_ALL_TO_ALL).count,
                         rows[i].exchanges);
        arena_free(arena);
    }
}

/* LoRA of rank 16 beside QKV and the projection of Llama-3 8B: 16 x (4096 + 6144) and
 * 16 x (4096 + 4096) parameters a layer, 9,437,184 in all, reduced in 4 bytes and gathered in 2;
 * without clipping nobody asks for a norm. */
static void frozen_weights_have_no_gradients(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = volume_system(
        arena, "model: llama3-8b\ncluster: h100-3200\ngpus: 8\nsoftware: megatron-2024\n"
               "lora: {rank: 16, targets: [qkv, projection]}\noptimizer: {clip: false}\n"
               "parallel: {zero: 1}\nbatch: {global: 8, micro: 1, sequence_length: 8192}\n");
    const double trained = 32 * 16 * (4096.0 + 6144 + 4096 + 4096);
    assert_close(volume_of(system, 0, STREAM_DATA_REDUCE, COLLECTIVE_REDUCE_SCATTER).bytes,
                 4 * trained, 1e-14);
    assert_close(volume_of(system, 0, STREAM_DATA_GATHER, COLLECTIVE_ALL_GATHER).bytes, 2 * trained,
                 1e-14);
    assert_int_equal(system->engine.programs[0].counts[STREAM_WORLD], 0);
    arena_free(arena);
}

/* One, three or all of 32 layers keep their activations on the host, where the first that backward
 * needs is the last: they go out once and come back once for each of two microbatches. */
static void offloaded_activations_go_out_and_come_back(void **state)
{
    (void)state;
    static const uint32_t offloaded[] = {1, 3, 32};
    for (size_t i = 0; i < sizeof offloaded / sizeof *offloaded; i++) {
        struct arena *arena = arena_new();
        const struct step_system *system = volume_system(
            arena, arena_printf(arena,
                                "model: llama3-8b\ncluster: h100-3200\ngpus: 8\n"
                                "software: megatron-2024\noffload: {activation_layers: %u}\n"
                                "batch: {global: 16, micro: 1, sequence_length: 8192}\n",
                                offloaded[i]));
        const struct scenario *scenario = system->jobs[0].is.scenario;
        const struct memory_job job = memory_job_of(scenario);
        const double layer =
            memory_layer_of(&job.shape, model_layer(&scenario->model, 0), false).kept;
        const struct volume out = volume_of(system, 0, STREAM_OFFLOAD, COLLECTIVE_SEND);
        const struct volume back = volume_of(system, 0, STREAM_FETCH, COLLECTIVE_SEND);
        assert_true(layer > 1e9);
        assert_int_equal(out.count, offloaded[i] * 2);
        assert_int_equal(back.count, offloaded[i] * 2);
        assert_close(out.bytes, 2 * offloaded[i] * layer, 1e-14);
        assert_close(back.bytes, 2 * offloaded[i] * layer, 1e-14);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_shifts_keys_and_values_and_their_gradients),
        cmocka_unit_test(ulysses_deals_out_heads_and_takes_results_back),
        cmocka_unit_test(resharding_says_how_often_layers_are_gathered),
        cmocka_unit_test(hsdp_sums_shards_over_their_copies),
        cmocka_unit_test(copies_are_summed_with_each_microbatch),
        cmocka_unit_test(two_chunks_send_twice_and_dualpipe_once),
        cmocka_unit_test(stages_that_hold_the_same_reduce_the_same),
        cmocka_unit_test(experts_that_are_computed_again_exchange_again),
        cmocka_unit_test(frozen_weights_have_no_gradients),
        cmocka_unit_test(offloaded_activations_go_out_and_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
