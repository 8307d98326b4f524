/* Where a job lies whose broken nodes spares stand for: on a cluster small enough to count, and in
 * the step that comes of it. Leaves have 4 nodes of 8 GPUs. */
#include "train/placement_spares.h"

#include "base/arena.h"
#include "run/regime.h"
#include "train/placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/fixture.h"

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

static struct scenario *sixteen_nodes(struct arena *arena, const char *const *sets, uint32_t count)
{
    static const char text[] = "scenario: sixteen nodes\n"
                               "model: llama3-8b\n"
                               "cluster: h100-3200\n"
                               "gpus: 128\n"
                               "software: megatron-2024\n"
                               "precision: bf16\n"
                               "parallel: {tp: 2, pp: 2}\n"
                               "batch: {global: 256, micro: 1, sequence_length: 8192}\n"
                               "run: {tokens: 1T, checkpoint: {every: 30 min}, failures: true,\n"
                               "      recovery: {spares: 8, spares_at: end}}\n";
    return fixture_scenario(
        arena, &(struct fixture_source){.text = text, .sets = sets, .set_count = count});
}

static void displace(struct arena *arena, const struct scenario *scenario, int64_t count,
                     struct scenario *changed)
{
    const struct placement_spares spares = {.all = scenario->recovery.spares};
    placement_displace(arena, scenario, &spares, count, changed);
    for (int64_t i = 0; i < changed->replaced_count; i++) {
        assert_in_range(changed->replaced[i].node, 0, scenario->nodes - 1);
        for (int64_t k = 0; k < i; k++) {
            assert_true(changed->replaced[i].node != changed->replaced[k].node);
            assert_true(changed->replaced[i].by != changed->replaced[k].by);
        }
    }
}

/* Of 16 nodes, on places 16, 17, ... of the cluster; two of three are the two of two. */
static void spares_lie_behind_the_job_one_after_the_other(void **state)
{
    struct arena *arena = *state;
    const struct scenario *scenario = sixteen_nodes(arena, NULL, 0);
    struct scenario all;
    displace(arena, scenario, 8, &all);
    assert_int_equal(all.replaced_count, 8);
    for (int64_t count = 1; count <= 8; count++) {
        struct scenario changed;
        displace(arena, scenario, count, &changed);
        assert_int_equal(changed.replaced_count, count);
        for (int64_t i = 0; i < count; i++) {
            assert_int_equal(changed.replaced[i].by, 16 + i);
            assert_int_equal(changed.replaced[i].node, all.replaced[i].node);
        }
    }
}

/* Another seed, other nodes: of the first to break in 40 seeds more than 8 of 16 are met (fewer in
 * one of 5e-4, by 16 cells and 40 balls). */
static void which_nodes_break_is_drawn_from_the_seed(void **state)
{
    struct arena *arena = *state;
    struct scenario scenario = *sixteen_nodes(arena, NULL, 0);
    bool is_met[16] = {false};
    uint32_t met = 0;
    for (scenario.seed = 1; scenario.seed <= 40; scenario.seed++) {
        struct scenario changed;
        displace(arena, &scenario, 1, &changed);
        const int64_t node = changed.replaced[0].node;
        met += is_met[node] ? 0 : 1;
        is_met[node] = true;
    }
    assert_true(met > 8);
}

/* Behind a neighbour of 8 nodes, too; and what was replaced by hand stays so, or moves on. */
static void spares_stand_in_nobodys_way(void **state)
{
    struct arena *arena = *state;
    static const char *const sets[] = {
        "jobs=[{scenario: {scenario: eight, model: llama3-8b, gpus: 64, parallel: {tp: 2}, "
        "batch: {global: 64, micro: 1}}}]",
        "replaced=[{node: 5, by: 26}]"};
    const struct scenario *scenario = sixteen_nodes(arena, sets, 2);
    struct scenario changed;
    displace(arena, scenario, 8, &changed);
    const bool has_moved_on = changed.replaced_count == 8;
    assert_true(has_moved_on || changed.replaced_count == 9);
    assert_int_equal(changed.replaced[0].node, 5);
    for (int64_t i = has_moved_on ? 0 : 1; i < changed.replaced_count; i++) {
        assert_true(changed.replaced[i].by >= 24 && changed.replaced[i].by != 26);
    }
}

/* Sixteen nodes at random of 26, and eight spares; of the job's nodes one is said to be replaced.
 * The two nodes that are left are its own broken one, which is where it lies while another one is
 * said to be replaced by the same, and one more: no spare lies on the first. */
static void a_node_that_was_replaced_is_no_spare(void **state)
{
    struct arena *arena = *state;
    static const char *const sets[] = {"cluster.nodes=26", "placement=random",
                                       "replaced=[{node: 5, by: 3}]"};
    struct scenario scenario = *sixteen_nodes(arena, sets, 3);
    for (scenario.seed = 1; scenario.seed <= 40; scenario.seed++) {
        struct replaced_node other = {6, 3};
        struct scenario before = scenario;
        before.replaced = &other;
        struct placement placement;
        placement_choose(arena, &before, &placement);
        const int64_t broken = placement.gpu_of_rank[0][5 * 8] / 8;
        struct scenario changed;
        displace(arena, &scenario, 8, &changed);
        for (int64_t i = 0; i < changed.replaced_count; i++) {
            assert_true(changed.replaced[i].by != broken);
        }
    }
}

/* A cluster of 24 nodes holds 16 and 8 spares, and its last spare is node 23. */
static void spares_fill_the_cluster(void **state)
{
    struct arena *arena = *state;
    static const char *const sets[] = {"cluster.nodes=24", "placement=random"};
    for (uint32_t count = 1; count <= 2; count++) {
        const struct scenario *scenario = sixteen_nodes(arena, sets, count);
        struct scenario changed;
        displace(arena, scenario, 8, &changed);
        struct placement placement;
        placement_choose(arena, &changed, &placement);
        assert_int_equal(placement.gpus, 24 * 8);
        for (int64_t i = 0; i < 8; i++) {
            const struct replaced_node *replaced = &changed.replaced[i];
            assert_in_range(replaced->by, 0, 23);
            assert_int_equal(placement.gpu_of_rank[0][replaced->node * 8], replaced->by * 8);
        }
    }
}

/* ---- NVLink domains -------------------------------------------------------------------------- */

/* 64 trays of 4 GPUs, 18 a rack; expert groups of 32 GPUs are segments of 8 trays, two a rack,
 * which with 2 trays idle each end on tray 69 of the cluster; 70 and 71 are idle. Plain
 * all-to-alls, alone: what leaves a rack shows whole. */
static struct scenario *racks(struct arena *arena, const char *spares)
{
    const char *sets[] = {"cluster=gb300-nvl72",
                          "batch.global=512",
                          "software.experts.exchange=copies",
                          "parallel.overlap_experts=false",
                          "run.tokens=1T",
                          "run.failures=true",
                          "run.recovery.spares_at=end",
                          spares};
    return fixture_scenario(arena, &(struct fixture_source){.path = "scenarios/qwen3-235b-256.yaml",
                                                            .sets = sets,
                                                            .set_count = 8});
}

/* With 16 spares two segments move, each to a rack that has room for 8 trays: 72 to 79, 80 to 87.
 * With 4 a tray moves alone, to tray 70. */
static void a_segment_moves_as_a_whole_where_spares_allow(void **state)
{
    struct arena *arena = *state;
    struct scenario changed;
    displace(arena, racks(arena, "run.recovery.spares=16"), 2, &changed);
    const bool is_one = changed.replaced_count == 8; /* both broke in the same */
    assert_true(is_one || changed.replaced_count == 16);
    for (int64_t i = 0; i < changed.replaced_count; i++) {
        assert_int_equal(changed.replaced[i].by, 72 + i);
        assert_int_equal(changed.replaced[i].node % 8, i % 8);
    }
    struct placement placement;
    placement_choose(arena, &changed, &placement);
    assert_int_equal(placement.use.straddling, 0);
    struct scenario scenario = *racks(arena, "run.recovery.spares=16");
    for (int64_t count = 1; count <= 16; count++) { /* never more than there are */
        for (scenario.seed = 1; scenario.seed <= 9; scenario.seed++) {
            displace(arena, &scenario, count, &changed);
            assert_in_range(changed.replaced_count, 8, 16);
        }
    }
    displace(arena, racks(arena, "run.recovery.spares=4"), 1, &changed);
    assert_int_equal(changed.replaced_count, 1);
    assert_int_equal(changed.replaced[0].by, 70);
    placement_choose(arena, &changed, &placement);
    assert_true(placement.use.straddling > 0);
}

/* Of 78 trays the last rack has 6, behind the job's 70: a segment of 8 has no room. */
static void a_tray_moves_alone_where_its_segment_has_no_room(void **state)
{
    struct arena *arena = *state;
    struct scenario scenario = *racks(arena, "run.recovery.spares=14");
    struct scenario changed;
    scenario.cluster.nodes_max = 78;
    displace(arena, &scenario, 1, &changed);
    assert_int_equal(changed.replaced_count, 1);
    assert_int_equal(changed.replaced[0].by, 70);
}

/* The job holds the two trays that its segments leave of each rack: 8, and no spare beside them.
 * Whatever breaks is replaced by one of its rack, as long as there is one, and no group is parted;
 * of a ninth spare, behind them all, nobody needs anything before the eight are gone. */
static void a_tray_that_its_segment_left_stands_for_one_of_its_rack(void **state)
{
    struct arena *arena = *state;
    struct scenario scenario = *racks(arena, "run.recovery.spares=4");
    for (int64_t more = 0; more <= 1; more++) {
        const struct placement_spares spares = {.all = 8 + more, .idle = 8};
        for (int64_t count = 1; count <= 8; count++) {
            struct scenario changed;
            struct placement placement;
            placement_displace(arena, &scenario, &spares, count, &changed);
            placement_choose(arena, &changed, &placement);
            assert_int_equal(changed.replaced_count, count);
            int64_t elsewhere = 0;
            for (int64_t i = 0; i < count; i++) {
                const struct replaced_node *one = &changed.replaced[i];
                elsewhere += one->node / 16 != one->by / 18 ? 1 : 0;
                assert_true(one->by % 18 >= 16 || one->by >= 72);
            }
            assert_true(elsewhere > 0 || placement.use.straddling == 0);
            assert_true(count > 1 || elsewhere == 0);
        }
    }
}

/* ---- the step -------------------------------------------------------------------------------- */

static int64_t step_of(struct arena *arena, const struct scenario *scenario)
{
    struct step_result step;
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &step);
    return step.step_ns;
}

/* The regime is the step of a scenario that says by hand what was replaced by what. */
static void a_regime_of_displaced_nodes_is_the_step_with_them_replaced(void **state)
{
    struct arena *arena = *state;
    static const char *const narrow[] = {"cluster.fabric.oversubscription=8",
                                         "cluster.fabric.nodes_per_leaf=4"};
    struct scenario *scenario = sixteen_nodes(arena, narrow, 2);
    struct scenario changed;
    displace(arena, scenario, 4, &changed);
    const char *text =
        arena_printf(arena,
                     "replaced=[{node: %d, by: 16}, {node: %d, by: 17}, {node: %d, by: 18}, "
                     "{node: %d, by: 19}]",
                     (int)changed.replaced[0].node, (int)changed.replaced[1].node,
                     (int)changed.replaced[2].node, (int)changed.replaced[3].node);
    const char *const by_hand[] = {narrow[0], narrow[1], text};
    const struct regime_basis basis = {
        .scenario = scenario, .scale = 1, .folds = true, .spares = {.all = 8}};
    const struct regime regime = {.displaced = 4};
    const int64_t usual = step_of(arena, scenario);
    const int64_t displaced = regime_step_ns(arena, &basis, &regime);
    assert_int_equal(displaced, step_of(arena, sixteen_nodes(arena, by_hand, 3)));
    assert_true(displaced > usual);
}

/* What is known of displaced nodes is known for a number of spares: more of them let segments move
 * as a whole. */
static void what_is_known_of_displaced_nodes_hangs_on_the_spares(void **state)
{
    struct arena *arena = *state;
    struct regime_memo *known = regime_memo_new(arena);
    int64_t steps[2];
    for (uint32_t i = 0; i < 2; i++) {
        const struct scenario *scenario =
            racks(arena, i == 0 ? "run.recovery.spares=16" : "run.recovery.spares=4");
        const struct regime_basis basis = {.scenario = scenario,
                                           .scale = 1,
                                           .folds = true,
                                           .spares = {.all = scenario->recovery.spares},
                                           .known = known};
        const struct regime regime = {.displaced = 1};
        steps[i] = regime_step_ns(arena, &basis, &regime);
        assert_int_equal(regime_step_ns(arena, &basis, &regime), steps[i]);
        assert_int_equal(regime_memo_count(known), i + 1);
    }
    assert_true((double)steps[1] > 1.2 * (double)steps[0]);
}

/* 128 GPUs without two replicas of four are 120 on fifteen nodes: rank 126 stands at 6, and of two
 * replaced nodes the last is not there any more. The regime is the step of that scenario by hand,
 * 256 sequences for its 240. */
static void of_fewer_replicas_slow_and_replaced_ones_lie_within(void **state)
{
    struct arena *arena = *state;
    static const char *const whole[] = {"slow=[{rank: 126, speed: 0.5, nic: 0.3}]",
                                        "replaced=[{node: 15, by: 16}, {node: 3, by: 17}]",
                                        "run.recovery.without_node=elastic",
                                        "run.recovery.batch=shrunk"};
    const struct scenario *scenario = sixteen_nodes(arena, whole, 4);
    const struct regime_basis basis = {
        .scenario = scenario, .scale = 1, .folds = true, .spares = {.all = 8}};
    const int64_t smaller = regime_step_ns(arena, &basis, &(struct regime){.missing = 2});
    const char *const same[] = {"slow=[{rank: 6, speed: 0.5, nic: 0.3}]",
                                "replaced=[{node: 3, by: 17}]", "gpus=120", "batch.global=240"};
    const int64_t by_hand = step_of(arena, sixteen_nodes(arena, same, 4));
    assert_in_range(smaller * 15 - by_hand * 16 + 8, 0, 16); /* of 256 / 240, rounded */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(spares_lie_behind_the_job_one_after_the_other),
        TEST(which_nodes_break_is_drawn_from_the_seed),
        TEST(spares_stand_in_nobodys_way),
        TEST(spares_fill_the_cluster),
        TEST(a_node_that_was_replaced_is_no_spare),
        TEST(a_tray_moves_alone_where_its_segment_has_no_room),
        TEST(a_segment_moves_as_a_whole_where_spares_allow),
        TEST(a_tray_that_its_segment_left_stands_for_one_of_its_rack),
        TEST(a_regime_of_displaced_nodes_is_the_step_with_them_replaced),
        TEST(what_is_known_of_displaced_nodes_hangs_on_the_spares),
        TEST(of_fewer_replicas_slow_and_replaced_ones_lie_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
