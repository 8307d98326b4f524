/* Stages that are no whole number of pods: each lies across them in its own way, and the last pod
 * is filled in part. What a folded system of them is built of is counted by hand, and it runs as
 * every GPU does, to the nanosecond. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "support/fixture.h"
#include "train/fold.h"
#include "train/step.h"
#include "train/system.h"

/* Two stages of 128 GPUs, 8 leaf groups of two nodes each, in pods of six: they end at 96 and 192,
 * GPU 64 of the second stage, and the third has 64 GPUs of 96. So leaf groups 0 to 3, 4 and 5, 6
 * and 7 of a stage lie in one pod in both. */
static const char scenario_text[] = "scenario: across pods\n"
                                    "model: llama3-8b\n"
                                    "cluster: h100-roce-24k\n" /* two nodes a leaf */
                                    "gpus: 256\n"
                                    "software: megatron-2024\n"
                                    "parallel: {tp: 8, pp: 2, sequence_parallel: true}\n"
                                    "batch: {global: 64, micro: 1, sequence_length: 2048}\n";

static const struct scenario *across_pods(struct arena *arena, const char *set)
{
    const char *sets[] = {"cluster.fabric.leaves_per_pod=6", set};
    return fixture_scenario(arena, &(struct fixture_source){.text = scenario_text,
                                                            .sets = sets,
                                                            .set_count = set != NULL ? 2 : 1});
}

static uint32_t actors_built(struct arena *arena, const struct scenario *scenario)
{
    const struct step_job job = {scenario, NULL, 1};
    const struct step_options options = {.folds = true};
    return system_build(arena, &job, 1, (uint32_t)scenario->gpus, &options)->engine.actor_count;
}

static void assert_folded_as_every_gpu(struct arena *arena, const struct scenario *scenario)
{
    struct step_result folded, whole;
    struct step_detail of_folded, of_whole;
    step_simulate(arena, scenario, &(struct step_request){.folds = true, .detail = &of_folded},
                  &folded);
    step_simulate(arena, scenario, &(struct step_request){.detail = &of_whole}, &whole);
    assert_int_equal(folded.step_ns, whole.step_ns);
    assert_int_equal(whole.engine.ranks_simulated, scenario->gpus);
    assert_int_equal(of_folded.bytes_sent, of_whole.bytes_sent);
    for (uint32_t rank = 0; rank < scenario->gpus; rank++) {
        assert_memory_equal(of_folded.rank_causes[rank], of_whole.rank_causes[rank],
                            sizeof of_folded.rank_causes[rank]);
    }
}

/* Of two stages one GPU each of three kinds of leaf groups: nodes of a leaf group change places,
 * and GPUs of a tensor group. */
static void of_each_part_of_a_stage_in_a_pod_one_gpu_is_built(void **state)
{
    struct arena *arena = *state;
    const struct scenario *scenario = across_pods(arena, NULL);
    assert_int_equal(actors_built(arena, scenario), 2 * 3);
    assert_folded_as_every_gpu(arena, scenario);
}

/* GPU 21, in leaf group 1: it is of a kind of its own, beside 0, 2 and 3; in leaf groups one node
 * has it, and in tensor groups one rank. */
static void a_slow_gpu_parts_what_it_touches(void **state)
{
    struct arena *arena = *state;
    const struct scenario *scenario = across_pods(arena, "slow=[{rank: 21, speed: 0.9}]");
    assert_int_equal(actors_built(arena, scenario), 2 * 4 * 2 * 2);
    assert_folded_as_every_gpu(arena, scenario);
}

/* Slow ones at the same place of leaf groups 1 and 4 are of two kinds, for these lie in other pods;
 * of 1 and 2 they are of one. */
static void alike_in_another_pod_is_another_kind(void **state)
{
    struct arena *arena = *state;
    const struct scenario *scenario =
        across_pods(arena, "slow=[{rank: 21, speed: 0.9}, {rank: 69, speed: 0.9}]");
    assert_int_equal(actors_built(arena, scenario), 2 * 5 * 2 * 2);
    assert_folded_as_every_gpu(arena, scenario);
    scenario = across_pods(arena, "slow=[{rank: 21, speed: 0.9}, {rank: 37, speed: 0.9}]");
    assert_int_equal(actors_built(arena, scenario), 2 * 4 * 2 * 2);
    assert_folded_as_every_gpu(arena, scenario);
}

/* Leaf groups of six nodes, all in one pod: 48 GPUs, ends at 48, 96, GPUs 16, 64 and 112 of the
 * second stage. Of both stages nodes 0 and 1, 2 to 5, 6 and 7, 8 to 11, 12 and 13, 14 and 15 lie in
 * one. */
static void leaf_groups_part_nodes_as_pods_do_leaf_groups(void **state)
{
    struct arena *arena = *state;
    const struct scenario *scenario = across_pods(arena, "cluster.fabric.nodes_per_leaf=6");
    assert_int_equal(actors_built(arena, scenario), 2 * 6);
    assert_folded_as_every_gpu(arena, scenario);
}

/* Of four stages the last begins at GPU 384, at the beginning of the fifth pod: it lies there as
 * the first does, four pods on, and its routes are not traced again. Also where one of its GPUs is
 * slow, and that one's NIC. */
static void a_stage_that_lies_as_an_earlier_one_runs_as_traced(void **state)
{
    struct arena *arena = *state;
    const char *sets[] = {"cluster.fabric.leaves_per_pod=6", "gpus=512", "parallel.pp=4",
                          "slow=[{rank: 405, speed: 0.9, nic: 0.5}]"};
    for (uint32_t count = 3; count <= 4; count++) {
        const struct fixture_source source = {
            .text = scenario_text, .sets = sets, .set_count = count};
        assert_folded_as_every_gpu(arena, fixture_scenario(arena, &source));
    }
}

static int make_arena(void **state)
{
    *state = arena_new();
    return 0;
}

static int free_arena(void **state)
{
    arena_free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_arena, free_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(of_each_part_of_a_stage_in_a_pod_one_gpu_is_built),
        TEST(a_slow_gpu_parts_what_it_touches),
        TEST(alike_in_another_pod_is_another_kind),
        TEST(leaf_groups_part_nodes_as_pods_do_leaf_groups),
        TEST(a_stage_that_lies_as_an_earlier_one_runs_as_traced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
