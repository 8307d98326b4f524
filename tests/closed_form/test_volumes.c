/* What a step sends over context and expert parallelism, against the closed forms of
 * oracles.md 3. Programs are built, not run: bytes are summed over the tasks of one GPU. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "support/assert_close.h"
#include "train/system.h"

static const struct catalogue here = {{"."}, 1};

/* Mixtral 8x7B: 45,097,156,608 parameters in experts, 1,605,636,096 besides. */
static const double EXPERTS = 45097156608.0;
static const double OTHERS = 1605636096.0;

static const struct step_system *build(struct arena *arena, const char *text)
{
    struct diag *diag = diag_new(arena);
    const struct doc_node *document = doc_parse(arena, "test.yaml", text, strlen(text), diag);
    const struct scenario *scenario =
        document != NULL ? scenario_resolve(arena, document, &here, NULL, 0, diag) : NULL;
    if (scenario == NULL) {
        diag_print(diag, stderr);
    }
    assert_non_null(scenario);
    const struct step_job job = {scenario, NULL, 1};
    return system_build(arena, &job, 1, (uint32_t)scenario->gpus, &(struct step_options){0});
}

/* The collectives of one operation on one stream of the first stage. */
struct volume {
    uint32_t count;
    double bytes;      /* of their buffers */
    double rank_bytes; /* that a rank sends */
};

static struct volume volume_of(const struct step_system *system, enum stream stream,
                               enum collective_operation operation)
{
    const struct engine_program *program = &system->engine.programs[0];
    struct volume volume = {0, 0, 0};
    for (uint32_t i = 0; i < program->counts[stream]; i++) {
        const struct transfer_origin *origin =
            &system->transfers.origins[program->tasks[stream][i].transfer];
        assert_true(origin->is_head);
        if (origin->operation == operation) {
            volume.count++;
            volume.bytes += origin->bytes;
            volume.rank_bytes += origin->rank_bytes;
        }
    }
    return volume;
}

static const char mixtral_text[] =
    "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 16\nsoftware: megatron-2024\n"
    "parallel: {ep: 8}\nbatch: {global: 32, micro: 1, sequence_length: 4096}\n";

/* dispatch T k h 2 = 4096 x 2 x 4096 x 2 = 67,108,864 bytes, of which 7/8 leave the rank; and
 * combine; both again backward: 4 x 32 layers x 2 microbatches. */
static void a_layer_with_experts_has_four_all_to_alls(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = build(arena, mixtral_text);
    const struct volume volume = volume_of(system, STREAM_EXPERT, COLLECTIVE_ALL_TO_ALL);
    assert_int_equal(volume.count, 256);
    assert_close(volume.bytes, 256 * 67108864.0, 1e-15);
    assert_close(volume.rank_bytes, 256 * 58720256.0, 1e-15);
    arena_free(arena);
}

/* ep 8 of 16 ranks: the gradients of an eighth of the experts, 4 bytes each, over the two ranks
 * that hold them; all others over 16. The parameters come back in 2 bytes. */
static void experts_are_reduced_over_the_ranks_that_hold_them(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = build(arena, mixtral_text);
    const struct volume dense = volume_of(system, STREAM_DATA_REDUCE, COLLECTIVE_REDUCE_SCATTER);
    const struct volume experts =
        volume_of(system, STREAM_EXPERT_REDUCE, COLLECTIVE_REDUCE_SCATTER);
    const struct volume gathered = volume_of(system, STREAM_EXPERT_GATHER, COLLECTIVE_ALL_GATHER);
    assert_close(dense.bytes, 4 * OTHERS, 1e-14);
    assert_close(experts.bytes, 4 * EXPERTS / 8, 1e-14);
    assert_close(experts.rank_bytes, experts.bytes / 2, 1e-14);
    assert_close(gathered.bytes, 2 * EXPERTS / 8, 1e-14);
    assert_close(volume_of(system, STREAM_DATA_GATHER, COLLECTIVE_ALL_GATHER).bytes, 2 * OTHERS,
                 1e-14);
    arena_free(arena);
}

/* Without expert parallelism nothing is exchanged, and all parameters go one way. */
static void without_expert_ranks_experts_are_reduced_with_the_rest(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        build(arena, "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 16\n"
                     "software: megatron-2024\n"
                     "batch: {global: 16, micro: 1, sequence_length: 4096}\n");
    assert_int_equal(system->engine.programs[0].counts[STREAM_EXPERT], 0);
    assert_int_equal(system->engine.programs[0].counts[STREAM_EXPERT_REDUCE], 0);
    assert_close(volume_of(system, STREAM_DATA_REDUCE, COLLECTIVE_REDUCE_SCATTER).bytes,
                 4 * (OTHERS + EXPERTS), 1e-14);
    arena_free(arena);
}

/* tp 2 with sequence parallelism: a rank's own tokens are half, so it exchanges half. The copies
 * are gathered and scattered over tp. With A = 4096 x 4096 x 2 bytes a layer gathers A + 2A
 * forward, 2A (attention, twice) + 2A backward, and scatters A + 2A and A + 2A; the head
 * gathers A, embedding and head scatter A each. */
static void tensor_ranks_exchange_their_own_tokens_and_gather_copies(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        build(arena, "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 16\n"
                     "software: megatron-2024\n"
                     "parallel: {tp: 2, ep: 8, sequence_parallel: true}\n"
                     "batch: {global: 8, micro: 1, sequence_length: 4096}\n");
    const double a = 4096.0 * 4096.0 * 2.0;
    assert_close(volume_of(system, STREAM_EXPERT, COLLECTIVE_ALL_TO_ALL).bytes, 128 * a, 1e-15);
    assert_close(volume_of(system, STREAM_TENSOR, COLLECTIVE_ALL_GATHER).bytes, (32 * 7 + 1) * a,
                 1e-15);
    assert_close(volume_of(system, STREAM_TENSOR, COLLECTIVE_REDUCE_SCATTER).bytes,
                 (32 * 6 + 2) * a, 1e-15);
    arena_free(arena);
}

/* 405B, tp 8, cp 16, 131,072 tokens: keys and values of a sequence 2 x 131,072 x 128 x 2 =
 * 67,108,864 bytes a rank (one KV head), of which it gets 15/16 from others: 62,914,560. Each of
 * 126 layers gathers twice and reduces once. */
static void keys_and_values_are_gathered_twice_and_their_gradients_summed(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        build(arena, "model: llama3-405b\ncluster: h100-roce-24k\ngpus: 128\n"
                     "software: megatron-2024\n"
                     "parallel: {tp: 8, cp: 16, sequence_parallel: true}\n"
                     "batch: {global: 1, micro: 1, sequence_length: 131072}\n");
    const struct volume gathered = volume_of(system, STREAM_CONTEXT, COLLECTIVE_ALL_GATHER);
    const struct volume summed = volume_of(system, STREAM_CONTEXT, COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(gathered.count, 2 * 126);
    assert_int_equal(summed.count, 126);
    assert_close(gathered.bytes, 252 * 67108864.0, 1e-15);
    assert_close(gathered.rank_bytes, 252 * 62914560.0, 1e-15);
    assert_close(summed.rank_bytes, 126 * 62914560.0, 1e-15);
    arena_free(arena);
}

/* cp 2 x dp 4: the data group has the 8 ranks with the same parameters, (8 - 1)/8 of the
 * gradients' bytes leave a rank. */
static void context_ranks_join_the_reduction_of_gradients(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        build(arena, "model: llama3-8b\ncluster: h100-3200\ngpus: 8\nsoftware: megatron-2024\n"
                     "parallel: {cp: 2}\nbatch: {global: 4, micro: 1, sequence_length: 8192}\n");
    const struct volume volume = volume_of(system, STREAM_DATA_REDUCE, COLLECTIVE_REDUCE_SCATTER);
    assert_close(volume.bytes, 4 * 8030261248.0, 1e-14);
    assert_int_equal(system->jobs[0].groups[GROUP_DATA].ranks, 8);
    assert_int_equal(system->jobs[0].groups[GROUP_CONTEXT].ranks, 2);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_with_experts_has_four_all_to_alls),
        cmocka_unit_test(experts_are_reduced_over_the_ranks_that_hold_them),
        cmocka_unit_test(without_expert_ranks_experts_are_reduced_with_the_rest),
        cmocka_unit_test(tensor_ranks_exchange_their_own_tokens_and_gather_copies),
        cmocka_unit_test(keys_and_values_are_gathered_twice_and_their_gradients_summed),
        cmocka_unit_test(context_ranks_join_the_reduction_of_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
