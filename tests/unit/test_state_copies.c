/* Who holds the same states, on meshes small enough to be listed by hand. */
#include "plan/state_copies.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PER_NODE = 4, RANKS = 16 };

/* dp 8 without any other: ranks 0 to 7 are replicas, on two nodes of four. */
static struct mesh replicas(uint32_t shards, uint32_t ep)
{
    return (struct mesh){.tp = 1,
                         .cp = 1,
                         .dp = 8,
                         .pp = 1,
                         .ep = ep,
                         .etp = 1,
                         .shards = shards,
                         .holders = 1,
                         .order = {AXIS_TP, AXIS_CP, AXIS_EP, AXIS_DP, AXIS_PP}};
}

static struct state_copies copies_of(struct arena *arena, const struct mesh *mesh,
                                     enum mesh_line line, bool is_sharded)
{
    return state_copies_of(arena, mesh, line, is_sharded, PER_NODE);
}

/* Sharded over ranks 0 to 3 and over 4 to 7: rank 1 and 5 hold the second part. Over all eight each
 * has its own. Without shards all hold all. */
static void parts_are_as_many_as_shards(void **state)
{
    const struct mesh half = replicas(4, 1);
    const struct state_copies two = copies_of(*state, &half, MESH_DATA, true);
    assert_int_equal(two.parts, 4);
    assert_int_equal(two.each, 2);
    assert_int_equal(two.ranks[2], 1);
    assert_int_equal(two.ranks[3], 5);
    assert_int_equal(state_copies_nodes(*state, &two), 2);
    const struct mesh whole = replicas(8, 1);
    const struct state_copies one = copies_of(*state, &whole, MESH_DATA, true);
    assert_int_equal(one.parts, 8);
    assert_int_equal(state_copies_nodes(*state, &one), 1);
    const struct state_copies all = copies_of(*state, &whole, MESH_DATA, false);
    assert_int_equal(all.parts, 1);
    assert_int_equal(all.each, 8);
    assert_int_equal(state_copies_nodes(*state, &all), 2);
}

/* Four sets of experts, each on two ranks: 0 and 4 hold the first, whether their states are sharded
 * over a copy of the dense parameters (of four ranks: no shards of experts) or not at all; over all
 * eight these two have a half each. */
static void experts_have_copies_of_their_own(void **state)
{
    const struct mesh half = replicas(4, 4);
    const struct state_copies two = copies_of(*state, &half, MESH_EXPERT_DATA, true);
    assert_int_equal(two.parts, 4);
    assert_int_equal(two.each, 2);
    assert_int_equal(two.ranks[0], 0);
    assert_int_equal(two.ranks[1], 4);
    const struct mesh whole = replicas(8, 4);
    const struct state_copies one = copies_of(*state, &whole, MESH_EXPERT_DATA, true);
    assert_int_equal(one.parts, 8);
    assert_int_equal(one.each, 1);
}

/* Replicas that share a node are no help when it is lost: tp 2, dp 2, pp 2 fills the first node of
 * four with both replicas of the first stage. With pp before dp 0 1 and 4 5 are of that stage. */
static void copies_in_one_node_are_in_one_node(void **state)
{
    struct mesh mesh = {.tp = 2,
                        .cp = 1,
                        .dp = 2,
                        .pp = 2,
                        .ep = 1,
                        .etp = 1,
                        .shards = 2,
                        .holders = 1,
                        .order = {AXIS_TP, AXIS_CP, AXIS_EP, AXIS_DP, AXIS_PP}};
    const struct state_copies together = copies_of(*state, &mesh, MESH_DATA, false);
    assert_int_equal(together.parts, 4);
    assert_int_equal(state_copies_nodes(*state, &together), 1);
    mesh.order[3] = AXIS_PP;
    mesh.order[4] = AXIS_DP;
    const struct state_copies apart = copies_of(*state, &mesh, MESH_DATA, false);
    assert_int_equal(state_copies_nodes(*state, &apart), 2);
}

/* DualPipe has each piece on two stages, here in one node: stage 0 and 1 of dp 2 hold the same. */
static void a_node_counts_once(void **state)
{
    const struct mesh mesh = {.tp = 1,
                              .cp = 1,
                              .dp = 2,
                              .pp = 2,
                              .ep = 1,
                              .etp = 1,
                              .shards = 4,
                              .holders = 2,
                              .order = {AXIS_TP, AXIS_CP, AXIS_EP, AXIS_PP, AXIS_DP}};
    struct state_copies copies = copies_of(*state, &mesh, MESH_DATA, false);
    assert_int_equal(copies.each, 4);
    copies.gpus_per_node = 2; /* ranks 0 2 of stage 0, 1 3 of stage 1: nodes 0 1 0 1 */
    assert_int_equal(state_copies_nodes(*state, &copies), 2);
}

/* Sixteen ranks, each the copy of the one six on: 0 6, 1 7, ... 5 11; 12 to 15 lie apart from all.
 * Domains of two nodes, eight ranks: the first has 0 6 and 1 7, the second no pair. Without nodes 0
 * rank 0 to 3 read from 6 to 9. Where both of a pair are lost nobody has it. */
static void domains_and_sources(void **state)
{
    static const uint32_t ranks[] = {0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 12, 13, 14, 15};
    const struct state_copies copies = {ranks, 6, 2, PER_NODE};
    bool marks[2] = {false, false};
    uint32_t source[RANKS];
    (void)state;
    state_copies_mark(&copies, 2, marks);
    assert_true(marks[0]);
    assert_false(marks[1]);
    for (uint32_t i = 0; i < RANKS; i++) {
        source[i] = 99;
    }
    state_copies_sources(&copies, 0, 4, source);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(source[i], i < 4 ? i + 6 : 99);
    }
    state_copies_sources(&copies, 0, 8, source);
    assert_int_equal(source[0], 0);
    assert_int_equal(source[6], 6);
    assert_int_equal(source[2], 8);
    assert_int_equal(source[5], 11);
    /* of three the next that is left, from the end on to the first */
    static const uint32_t three[] = {0, 4, 8};
    const struct state_copies cycle = {three, 1, 3, PER_NODE};
    state_copies_sources(&cycle, 4, 4, source);
    assert_int_equal(source[4], 8);
    state_copies_sources(&cycle, 8, 4, source);
    assert_int_equal(source[8], 0);
    state_copies_sources(&cycle, 4, 8, source);
    assert_int_equal(source[4], 0);
    assert_int_equal(source[8], 0);
    /* of five two or three are lost: those that are left are asked in turn, again from the first */
    static const uint32_t five[] = {0, 3, 6, 9, 12};
    const struct state_copies ring = {five, 1, 5, PER_NODE};
    state_copies_sources(&ring, 3, 6, source);
    assert_int_equal(source[3], 9);
    assert_int_equal(source[6], 12);
    state_copies_sources(&ring, 6, 9, source);
    assert_int_equal(source[6], 0);
    assert_int_equal(source[9], 3);
    assert_int_equal(source[12], 0);
}

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(parts_are_as_many_as_shards),
        TEST(experts_have_copies_of_their_own),
        TEST(copies_in_one_node_are_in_one_node),
        TEST(a_node_counts_once),
        TEST(domains_and_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
