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
#include "support/volume.h"

/* Mixtral 8x7B: 45,097,156,608 parameters in experts, 1,605,636,096 besides. */
static const double EXPERTS = 45097156608.0;
static const double OTHERS = 1605636096.0;

static const char mixtral_text[] =
    "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 16\nsoftware: megatron-2024\n"
    "parallel: {ep: 8}\nbatch: {global: 32, micro: 1, sequence_length: 4096}\n";

/* dispatch T k h 2 = 4096 x 2 x 4096 x 2 = 67,108,864 bytes, of which 7/8 leave the rank; and
 * combine; both again backward: 4 x 32 layers x 2 microbatches. */
static void a_layer_with_experts_has_four_all_to_alls(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = volume_system(arena, mixtral_text);
    const struct volume volume = volume_of(system, 0, STREAM_EXPERT, COLLECTIVE_ALL_TO_ALL);
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
    const struct step_system *system = volume_system(arena, mixtral_text);
    const struct volume dense = volume_of(system, 0, STREAM_DATA_REDUCE, COLLECTIVE_REDUCE_SCATTER);
    const struct volume experts =
        volume_of(system, 0, STREAM_EXPERT_REDUCE, COLLECTIVE_REDUCE_SCATTER);
    const struct volume gathered =
        volume_of(system, 0, STREAM_EXPERT_GATHER, COLLECTIVE_ALL_GATHER);
    assert_close(dense.bytes, 4 * OTHERS, 1e-14);
    assert_close(experts.bytes, 4 * EXPERTS / 8, 1e-14);
    assert_close(experts.rank_bytes, experts.bytes / 2, 1e-14);
    assert_close(gathered.bytes, 2 * EXPERTS / 8, 1e-14);
    assert_close(volume_of(system, 0, STREAM_DATA_GATHER, COLLECTIVE_ALL_GATHER).bytes, 2 * OTHERS,
                 1e-14);
    arena_free(arena);
}

/* Without expert parallelism nothing is exchanged, and all parameters go one way. */
static void without_expert_ranks_experts_are_reduced_with_the_rest(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        volume_system(arena, "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 16\n"
                             "software: megatron-2024\n"
                             "batch: {global: 16, micro: 1, sequence_length: 4096}\n");
    assert_int_equal(system->engine.programs[0].counts[STREAM_EXPERT], 0);
    assert_int_equal(system->engine.programs[0].counts[STREAM_EXPERT_REDUCE], 0);
    assert_close(volume_of(system, 0, STREAM_DATA_REDUCE, COLLECTIVE_REDUCE_SCATTER).bytes,
                 4 * (OTHERS + EXPERTS), 1e-14);
    arena_free(arena);
}

/* tp 2 with sequence parallelism: a rank's own tokens are half, so it exchanges half. The copies
 * are gathered and scattered over tp. With A = 4096 x 4096 x 2 bytes a layer gathers A + 2A
 * forward, 2A (attention, twice) + 2A backward, and scatters A + 2A and A + 2A; the head
 * gathers A, forward and backward, the embedding backward, and both scatter A each. */
static void tensor_ranks_exchange_their_own_tokens_and_gather_copies(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        volume_system(arena, "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 16\n"
                             "software: megatron-2024\n"
                             "parallel: {tp: 2, ep: 8, sequence_parallel: true}\n"
                             "batch: {global: 8, micro: 1, sequence_length: 4096}\n");
    const double a = 4096.0 * 4096.0 * 2.0;
    assert_close(volume_of(system, 0, STREAM_EXPERT, COLLECTIVE_ALL_TO_ALL).bytes, 128 * a, 1e-15);
    assert_close(volume_of(system, 0, STREAM_TENSOR, COLLECTIVE_ALL_GATHER).bytes, (32 * 7 + 3) * a,
                 1e-15);
    assert_close(volume_of(system, 0, STREAM_TENSOR, COLLECTIVE_REDUCE_SCATTER).bytes,
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
        volume_system(arena, "model: llama3-405b\ncluster: h100-roce-24k\ngpus: 128\n"
                             "software: megatron-2024\n"
                             "parallel: {tp: 8, cp: 16, cp_type: all-gather, "
                             "sequence_parallel: true}\n"
                             "batch: {global: 1, micro: 1, sequence_length: 131072}\n");
    const struct volume gathered = volume_of(system, 0, STREAM_CONTEXT, COLLECTIVE_ALL_GATHER);
    const struct volume summed = volume_of(system, 0, STREAM_CONTEXT, COLLECTIVE_REDUCE_SCATTER);
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
    const struct step_system *system = volume_system(
        arena, "model: llama3-8b\ncluster: h100-3200\ngpus: 8\nsoftware: megatron-2024\n"
               "parallel: {cp: 2}\nbatch: {global: 4, micro: 1, sequence_length: 8192}\n");
    const struct volume volume =
        volume_of(system, 0, STREAM_DATA_REDUCE, COLLECTIVE_REDUCE_SCATTER);
    assert_close(volume.bytes, 4 * 8030261248.0, 1e-14);
    assert_int_equal(system->jobs[0].groups[GROUP_DATA].ranks, 8);
    assert_int_equal(system->jobs[0].groups[GROUP_CONTEXT].ranks, 2);
    arena_free(arena);
}

/* ---- experts folded over other ranks -------------------------------------------------- */

/* tp 2, etp 1, ep 8 > dp 4: a rank's own tokens are 2048, 2 copies of 4096 x 2 bytes: 33,554,432
 * bytes an exchange, four a layer; nobody shares an expert, so nothing is gathered for them: over
 * tp a layer gathers A = 4096 x 4096 x 2 forward once and backward twice, scatters A twice. */
static void experts_on_single_ranks_gather_nothing(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        volume_system(arena, "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 8\n"
                             "software: megatron-2024\n"
                             "parallel: {tp: 2, ep: 8, etp: 1, sequence_parallel: true}\n"
                             "batch: {global: 4, micro: 1, sequence_length: 4096}\n");
    const double a = 4096.0 * 4096.0 * 2.0;
    const struct volume exchanged = volume_of(system, 0, STREAM_EXPERT, COLLECTIVE_ALL_TO_ALL);
    assert_int_equal(exchanged.count, 128);
    assert_close(exchanged.bytes, 128 * a, 1e-15);
    assert_close(exchanged.rank_bytes, 128 * a * 7 / 8, 1e-15);
    assert_close(volume_of(system, 0, STREAM_TENSOR, COLLECTIVE_ALL_GATHER).bytes, (32 * 3 + 3) * a,
                 1e-15);
    assert_close(volume_of(system, 0, STREAM_TENSOR, COLLECTIVE_REDUCE_SCATTER).bytes,
                 (32 * 2 + 2) * a, 1e-15);
    assert_int_equal(system->engine.programs[0].counts[STREAM_EXPERT_TENSOR], 0);
    arena_free(arena);
}

/* tp 4, etp 2, ep 4: what two ranks have is gathered, each a quarter of the tokens in two copies:
 * A per gather, forward and backward; and scattered. */
static void ranks_that_share_an_expert_gather_what_they_got(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system =
        volume_system(arena, "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 8\n"
                             "software: megatron-2024\n"
                             "parallel: {tp: 4, ep: 4, etp: 2, sequence_parallel: true}\n"
                             "batch: {global: 2, micro: 1, sequence_length: 4096}\n");
    const double a = 4096.0 * 4096.0 * 2.0;
    const struct volume gathered =
        volume_of(system, 0, STREAM_EXPERT_TENSOR, COLLECTIVE_ALL_GATHER);
    const struct volume scattered =
        volume_of(system, 0, STREAM_EXPERT_TENSOR, COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(gathered.count, 64);
    assert_close(gathered.bytes, 64 * a, 1e-15);
    assert_close(scattered.bytes, 64 * a, 1e-15);
    assert_close(volume_of(system, 0, STREAM_EXPERT, COLLECTIVE_ALL_TO_ALL).bytes, 128 * a / 2,
                 1e-15);
    arena_free(arena);
}

/* ---- DeepSeek-V3 -------------------------------------------------------------------------- */

static const char deepseek_text[] =
    "model: deepseek-v3\ncluster: h800-3200\ngpus: 64\nsoftware: deepseek-2024\n"
    "precision: fp8\nparallel: {ep: 64}\n"
    "batch: {global: 64, micro: 1, sequence_length: 4096}\n";

/* Ranks that have any of a token's 8 experts, 4 of 256 on each of 64: of the 4 groups of 8 that are
 * drawn, of 32 ranks and 128 experts, by symmetry 32 x (1 - C(124, 8) / C(128, 8)), where the
 * quotient is 120 x 119 x 118 x 117 / (128 x 127 x 126 x 125). */
static const double RANKS_OF_A_TOKEN =
    32.0 * (1.0 - 120.0 * 119.0 * 118.0 * 117.0 / (128.0 * 127.0 * 126.0 * 125.0));

/* And nodes, of which each has a group: 4 x (1 - C(96, 8) / C(128, 8)). */
static const double NODES_OF_A_TOKEN =
    4.0 * (1.0 - 96.0 * 95.0 * 94.0 * 93.0 * 92.0 * 91.0 * 90.0 * 89.0 /
                     (128.0 * 127.0 * 126.0 * 125.0 * 124.0 * 123.0 * 122.0 * 121.0));

/* 4096 tokens of 7168 values, each once to each rank that has any of its experts: of 8 copies,
 * 234,881,024 bytes in fp8 to the experts, and an fp32 scale for each 128 of them; 469,762,048 in
 * bf16 back; twice each; 58 layers with experts and one of multi-token prediction. */
static void deepseek_sends_fp8_and_gets_bf16_back(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = volume_system(arena, deepseek_text);
    const struct volume volume = volume_of(system, 0, STREAM_EXPERT, COLLECTIVE_ALL_TO_ALL);
    assert_int_equal(volume.count, 59 * 4);
    assert_close(volume.bytes,
                 RANKS_OF_A_TOKEN / 8 * 59 * 2 * (234881024.0 * (1 + 4.0 / 128) + 469762048.0),
                 1e-12);
    arena_free(arena);
}

/* A token goes once to each of its nodes, 3.63 of 8 in the mean: of 29,360,128 bytes of fp8 for a
 * node those for others, 7/8, leave a NIC, which carries more of them than of staged ones. */
static void deepseek_sends_a_token_once_to_a_node(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = volume_system(arena, deepseek_text);
    const struct group_shape *shape = &system->jobs[0].groups[GROUP_EXPERT];
    assert_true(shape->ranks == 64 && shape->nodes == 8);
    assert_close(shape->group.node_share * RANKS_OF_A_TOKEN, NODES_OF_A_TOKEN, 1e-14);
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    assert_int_equal(collective_phases(COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, &shape->group,
                                       RANKS_OF_A_TOKEN * 4096 * 7168, phases),
                     1);
    struct fabric_route route;
    group_route(&system->setting, shape, COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 0, &route);
    uint32_t nics = 0;
    for (uint32_t i = 0; i < route.count; i++) {
        if (fabric_link_kind(&system->fabric, route.crossings[i].link) == LINK_NIC_OUT) {
            const double staged = (double)route.crossings[i].usage / FLUID_USAGE_ONE;
            const double sent = phases[0].bytes * staged / system->fabric.network_share;
            assert_close(sent, 7.0 / 8 * NODES_OF_A_TOKEN * 29360128.0,
                         1e-5); /* usages: integers */
            nics++;
        }
    }
    assert_int_equal(nics, 64);
    arena_free(arena);
}

/* With an uneven router one rank gets more than the mean, as plan/routing draws it, and the
 * exchange is as slow as the way into that rank. */
static void a_hot_rank_slows_the_exchange(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *even = volume_system(arena, mixtral_text);
    char text[1024];
    snprintf(text, sizeof text, "%srouting: {distribution: lognormal, spread: 0.5}\n",
             mixtral_text);
    const struct step_system *hot = volume_system(arena, text);
    const struct group_shape *shape = &hot->jobs[0].groups[GROUP_EXPERT];
    const double hottest = routing_of(&hot->jobs[0].router).hottest_rank;
    assert_true(hottest > 1.1);
    assert_close(shape->group.hottest, hottest, 1e-15);
    struct fabric_route straight;
    struct fabric_route slowed;
    group_route(&even->setting, &even->jobs[0].groups[GROUP_EXPERT], COLLECTIVE_ALL_TO_ALL,
                ALGORITHM_DIRECT, 0, &straight);
    group_route(&hot->setting, shape, COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 0, &slowed);
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    (void)collective_phases(COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, &shape->group, 8, phases);
    /* Seven ranks send hottest / 8 each to the one; of even parts 1 / 8. */
    assert_close(phases[0].bytes / (double)slowed.cap_bytes_per_s,
                 hottest * 7 / (double)straight.cap_bytes_per_s, 1e-5);
    arena_free(arena);
}

/* ---- the host ------------------------------------------------------------------------------ */

/* Llama 3 8B on 8 GPUs, half of the optimizer on the host: of a rank's shard, an eighth, half of
 * the fp32 gradients go out and half of the bf16 parameters come back. */
static void half_of_an_offloaded_optimizer_crosses_the_host_link(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = volume_system(
        arena, "model: llama3-8b\ncluster: h100-3200\ngpus: 8\nsoftware: megatron-2024\n"
               "parallel: {zero: 1}\noffload: {optimizer: 50 %}\n"
               "batch: {global: 8, micro: 1, sequence_length: 8192}\n");
    const double shard = 8030261248.0 / 8;
    const struct engine_program *program = &system->engine.programs[0];
    const struct transfer_origin *origins = system->transfers.origins;
    assert_int_equal(program->counts[STREAM_OFFLOAD], 2); /* gradients, and the CPU's work */
    const struct task *offload = engine_program_task(program, STREAM_OFFLOAD, 0);
    assert_close(origins[offload->transfer].bytes, shard / 2 * 4, 1e-9);
    assert_close(volume_of(system, 0, STREAM_FETCH, COLLECTIVE_SEND).bytes, shard / 2 * 2, 1e-9);
    /* Every GPU has a link of its own each way. */
    for (uint32_t rank = 0; rank < 8; rank++) {
        const struct engine_actor *actor = &system->engine.actors[rank];
        const struct engine_channel *out =
            &system->engine.channels[actor->channels[STREAM_OFFLOAD]];
        const struct engine_path *path = &system->engine.paths[out->path_first];
        assert_int_equal(out->member_count, 1);
        assert_int_equal(out->path_count, 2);
        assert_int_equal(path->crossing_count, 1);
        assert_int_equal(
            fabric_link_kind(&system->fabric, system->engine.crossings[path->crossing_first].link),
            LINK_HOST);
        const struct engine_channel *back = &system->engine.channels[actor->channels[STREAM_FETCH]];
        assert_int_equal(system->engine.paths[back->path_first].cap_bytes_per_s, 63000000000);
    }
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
        cmocka_unit_test(experts_on_single_ranks_gather_nothing),
        cmocka_unit_test(ranks_that_share_an_expert_gather_what_they_got),
        cmocka_unit_test(deepseek_sends_fp8_and_gets_bf16_back),
        cmocka_unit_test(deepseek_sends_a_token_once_to_a_node),
        cmocka_unit_test(a_hot_rank_slows_the_exchange),
        cmocka_unit_test(half_of_an_offloaded_optimizer_crosses_the_host_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
