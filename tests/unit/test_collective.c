/* The table of collectives: laws that every row must obey, and the slow form executed on
 * symbolic chunks. */
#include "plan/collective/collective.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "support/assert_close.h"
#include "support/collective_case.h"

static const double MIB = 1024.0 * 1024.0;

/* ---- every row on every group ------------------------------------------------------- */

struct row {
    enum collective_operation operation;
    enum collective_algorithm algorithm;
    const struct collective_group *group;
    struct arena *arena;
};

typedef void row_test(const struct row *row);

static bool is_offered(const struct row *row)
{
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    return collective_phases(row->operation, row->algorithm, row->group, MIB, phases) > 0;
}

/* Runs a test for each pair that is offered, on each sample group; how often. */
static uint32_t for_each_row(row_test *test)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < collective_case_count; i++) {
        for (int operation = 0; operation < COLLECTIVE_OPERATION_COUNT_; operation++) {
            for (int algorithm = 0; algorithm < ALGORITHM_COUNT_; algorithm++) {
                struct arena *arena = arena_new();
                const struct collective_group group =
                    collective_case_group(arena, &collective_cases[i]);
                const struct row row = {(enum collective_operation)operation,
                                        (enum collective_algorithm)algorithm, &group, arena};
                if (is_offered(&row)) {
                    count++;
                    test(&row);
                }
                arena_free(arena);
            }
        }
    }
    return count;
}

static bool is_even(const struct collective_group *group)
{
    return group->ranks % group->nodes == 0 && group->node_first[1] == group->ranks / group->nodes;
}

static bool is_switched(const struct row *row)
{
    return row->algorithm == ALGORITHM_NVLS || row->algorithm == ALGORITHM_NVLS_TREE ||
           row->algorithm == ALGORITHM_SHARP;
}

static struct collective_loads loads_of(const struct row *row, double bytes)
{
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    const uint32_t count =
        collective_phases(row->operation, row->algorithm, row->group, bytes, phases);
    struct collective_loads loads = collective_loads_new(row->arena, row->group);
    for (uint32_t i = 0; i < count; i++) {
        collective_loads_add(row->arena, &loads, row->operation, row->algorithm, i,
                             phases[i].bytes);
    }
    return loads;
}

/* ---- turning -------------------------------------------------------------------------- */

static void assert_turned(const double *loads, uint32_t from, uint32_t to)
{
    assert_true(fabs(loads[from] - loads[to]) <= 1e-9 * MIB);
}

/* What rank i sends to rank k in a phase, rank i + step sends to rank k + step. */
static void assert_phase_turns(const struct row *row, uint32_t phase)
{
    const uint32_t n = row->group->ranks;
    const uint32_t step = row->group->nodes > 1 ? n / row->group->nodes : 1;
    struct collective_loads loads = collective_loads_new(row->arena, row->group);
    collective_loads_add(row->arena, &loads, row->operation, row->algorithm, phase, MIB);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t turned = (i + step) % n;
        assert_turned(loads.out, i, turned);
        assert_turned(loads.in, i, turned);
        assert_turned(loads.nic_out, i, turned);
        assert_turned(loads.nic_in, i, turned);
        for (uint32_t k = 0; k < n; k++) {
            assert_turned(loads.pairs, i * n + k, turned * n + (k + step) % n);
        }
    }
}

static void expect_turned(const struct row *row)
{
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    if (is_even(row->group) && collective_turns(row->operation, row->algorithm, row->group)) {
        const uint32_t count =
            collective_phases(row->operation, row->algorithm, row->group, MIB, phases);
        for (uint32_t i = 0; i < count; i++) {
            assert_phase_turns(row, i);
        }
    }
}

static void what_is_said_to_turn_looks_the_same_from_each_rank(void **state)
{
    (void)state;
    assert_true(for_each_row(expect_turned) > 0);
    struct arena *arena = arena_new();
    const struct collective_group two = collective_group_of(arena, 2, 8);
    const struct collective_group one = collective_group_of(arena, 1, 8);
    assert_true(collective_turns(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, &two));
    assert_true(collective_turns(COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, &one));
    assert_false(collective_turns(COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, &two));
    arena_free(arena);
}

/* ---- what is offered ------------------------------------------------------------------ */

/* Which pairs are offered in which groups; what is not here is in none:
 *     a  one node of eight                 d  c, and the network's switches do not reduce
 *     b  a, and its switch does not reduce e  three nodes of one: no power of two; pat
 *     c  two nodes of eight                f  two nodes of one: a send, too */
static const struct {
    enum collective_operation operation;
    enum collective_algorithm algorithm;
    const char *groups;
} offered[] = {
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, "abcdef"},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_MULTI_RAIL_RING, "abcdef"},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, "abcdef"},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_HALVING_DOUBLING, "abcdf"},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_HIERARCHICAL, "cd"},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS, "a"},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS_TREE, "cd"},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_SHARP, "cef"},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_RING, "abcdef"},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_MULTI_RAIL_RING, "abcdef"},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_HALVING_DOUBLING, "abcdf"},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_HIERARCHICAL, "cd"},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_NVLS, "a"},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_PAT, "ef"},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, "abcdef"},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_MULTI_RAIL_RING, "abcdef"},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_HALVING_DOUBLING, "abcdf"},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_HIERARCHICAL, "cd"},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_NVLS, "a"},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_PAT, "ef"},
    {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, "abcdef"},
    {COLLECTIVE_BROADCAST, ALGORITHM_RING, "abcdef"},
    {COLLECTIVE_BROADCAST, ALGORITHM_MULTI_RAIL_RING, "abcdef"},
    {COLLECTIVE_BROADCAST, ALGORITHM_TREE, "abcdef"},
    {COLLECTIVE_REDUCE, ALGORITHM_RING, "abcdef"},
    {COLLECTIVE_REDUCE, ALGORITHM_MULTI_RAIL_RING, "abcdef"},
    {COLLECTIVE_REDUCE, ALGORITHM_TREE, "abcdef"},
    {COLLECTIVE_SEND, ALGORITHM_DIRECT, "f"},
    {COLLECTIVE_SHIFT, ALGORITHM_DIRECT, "abcdef"},
    {COLLECTIVE_BARRIER, ALGORITHM_RING, "abcdef"},
    {COLLECTIVE_BARRIER, ALGORITHM_MULTI_RAIL_RING, "abcdef"},
    {COLLECTIVE_BARRIER, ALGORITHM_TREE, "abcdef"},
    {COLLECTIVE_BARRIER, ALGORITHM_HALVING_DOUBLING, "abcdf"},
    {COLLECTIVE_BARRIER, ALGORITHM_HIERARCHICAL, "cd"},
    {COLLECTIVE_BARRIER, ALGORITHM_NVLS, "a"},
    {COLLECTIVE_BARRIER, ALGORITHM_NVLS_TREE, "cd"},
    {COLLECTIVE_BARRIER, ALGORITHM_SHARP, "cef"},
};

static bool is_expected(enum collective_operation operation, enum collective_algorithm algorithm,
                        char name)
{
    bool is_there = false;
    for (size_t i = 0; i < sizeof offered / sizeof *offered; i++) {
        const bool is_it = offered[i].operation == operation && offered[i].algorithm == algorithm;
        is_there = is_there || (is_it && strchr(offered[i].groups, name) != NULL);
    }
    return is_there;
}

static void expect_offered(const struct collective_group *group, char name)
{
    for (enum collective_operation o = 0; o < COLLECTIVE_OPERATION_COUNT_; o++) {
        for (enum collective_algorithm a = 0; a < ALGORITHM_COUNT_; a++) {
            const struct row row = {o, a, group, NULL};
            if (is_offered(&row) != is_expected(o, a, name)) {
                fail_msg("%s by %s in group %c", collective_operation_names[o],
                         collective_algorithm_names[a], name);
            }
        }
    }
}

static void pairs_are_offered_where_they_make_sense(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct collective_group group = collective_group_of(arena, 1, 8);
    expect_offered(&group, 'a');
    group.has_multicast = false;
    expect_offered(&group, 'b');
    group = collective_group_of(arena, 2, 8);
    expect_offered(&group, 'c');
    group.has_reduction = false;
    expect_offered(&group, 'd');
    group = collective_group_of(arena, 3, 1);
    expect_offered(&group, 'e');
    group = collective_group_of(arena, 2, 1);
    expect_offered(&group, 'f');
    arena_free(arena);
}

static void every_operation_and_algorithm_has_a_name_and_a_row(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    const struct collective_group alone = collective_group_of(arena, 1, 1);
    bool has_row[ALGORITHM_COUNT_] = {false};
    for (int operation = 0; operation < COLLECTIVE_OPERATION_COUNT_; operation++) {
        assert_non_null(collective_operation_names[operation]);
        uint32_t rows = 0;
        for (int algorithm = 0; algorithm < ALGORITHM_COUNT_; algorithm++) {
            /* One rank has nobody to send to: one phase of nothing. */
            if (collective_phases((enum collective_operation)operation,
                                  (enum collective_algorithm)algorithm, &alone, MIB, phases) == 0) {
                continue;
            }
            assert_true(phases[0].bytes <= 0);
            assert_int_equal(phases[0].rounds_intra + phases[0].rounds_inter, 0);
            has_row[algorithm] = true;
            rows++;
        }
        assert_true(rows > 0);
    }
    for (int algorithm = 0; algorithm < ALGORITHM_COUNT_; algorithm++) {
        assert_non_null(collective_algorithm_names[algorithm]);
        assert_true(has_row[algorithm]);
    }
    arena_free(arena);
}

/* ---- bytes ----------------------------------------------------------------------------- */

/* Of what all ranks send together: a reduction needs N - 1 sends of each byte, so does
 * handing it out; an all-reduce both. All-to-all: N ranks send all but their own part; shift: N
 * ranks send all. */
static double total_of(enum collective_operation operation, uint32_t ranks)
{
    switch (operation) {
    case COLLECTIVE_ALL_REDUCE:
        return 2 * (ranks - 1);
    case COLLECTIVE_BARRIER:
        return 0;
    case COLLECTIVE_SHIFT:
        return ranks;
    default:
        return ranks - 1;
    }
}

static void check_total(const struct row *row)
{
    const struct collective_loads loads = loads_of(row, MIB);
    if (!is_switched(row)) {
        const double total = collective_loads_total(&loads);
        assert_close(total, total_of(row->operation, row->group->ranks) * MIB, 1e-12);
    }
}

static void no_algorithm_sends_more_or_less_than_its_operation_needs(void **state)
{
    (void)state;
    assert_true(for_each_row(check_total) > 150);
}

static void sums_of_pairs(const struct collective_loads *loads, uint32_t rank, double *sent,
                          double *received)
{
    const uint32_t n = loads->group->ranks;
    *sent = *received = 0;
    for (uint32_t i = 0; i < n; i++) {
        *sent += loads->pairs[rank * n + i];
        *received += loads->pairs[i * n + rank];
    }
}

/* In a broadcast all but rank 0 receive S, in a reduce they send it; an all-gather brings each
 * rank the (N-1)/N S that it lacks, a reduce-scatter takes as much away. In an all-reduce each
 * rank sends what it receives. */
static void check_ranks(const struct row *row)
{
    if (is_switched(row) || !is_even(row->group)) {
        return;
    }
    const struct collective_loads loads = loads_of(row, MIB);
    const double lacking = MIB * (double)(row->group->ranks - 1) / (double)row->group->ranks;
    for (uint32_t i = 0; i < row->group->ranks; i++) {
        double sent;
        double received;
        sums_of_pairs(&loads, i, &sent, &received);
        switch (row->operation) {
        case COLLECTIVE_BROADCAST:
            assert_close(received, i == 0 ? 0 : MIB, 1e-12);
            break;
        case COLLECTIVE_REDUCE:
            assert_close(sent, i == 0 ? 0 : MIB, 1e-12);
            break;
        case COLLECTIVE_ALL_GATHER:
        case COLLECTIVE_REDUCE_SCATTER:
        case COLLECTIVE_ALL_TO_ALL:
            assert_close(received, lacking, 1e-12);
            assert_close(sent, lacking, 1e-12);
            break;
        case COLLECTIVE_SHIFT:
            assert_close(received, MIB, 1e-12);
            assert_close(sent, MIB, 1e-12);
            break;
        case COLLECTIVE_ALL_REDUCE:
            assert_close(sent, received, 1e-12);
            assert_true(sent > 0.99 * MIB);
            break;
        default:
            break;
        }
    }
}

static void each_rank_sends_and_receives_what_the_operation_demands(void **state)
{
    (void)state;
    for_each_row(check_ranks);
}

static void check_scale(const struct row *row)
{
    struct collective_phase once[COLLECTIVE_PHASES_MAX];
    struct collective_phase twice[COLLECTIVE_PHASES_MAX];
    const uint32_t count = collective_phases(row->operation, row->algorithm, row->group, MIB, once);
    assert_int_equal(collective_phases(row->operation, row->algorithm, row->group, 2 * MIB, twice),
                     count);
    int64_t rounds = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_close(twice[i].bytes, 2 * once[i].bytes, 1e-15);
        assert_true(twice[i].rounds_intra == once[i].rounds_intra);
        assert_true(twice[i].rounds_inter == once[i].rounds_inter);
        assert_true(once[i].rounds_intra >= 0 && once[i].rounds_inter >= 0);
        rounds += once[i].rounds_intra + once[i].rounds_inter;
        assert_true(row->group->nodes > 1 || once[i].rounds_inter == 0);
        assert_true(row->group->nodes < row->group->ranks || once[i].rounds_intra == 0);
    }
    assert_true(rounds > 0);
}

static void bytes_scale_and_rounds_do_not(void **state)
{
    (void)state;
    for_each_row(check_scale);
}

static void an_all_reduce_is_a_reduce_scatter_and_an_all_gather(void **state)
{
    (void)state;
    static const enum collective_algorithm algorithms[] = {
        ALGORITHM_RING, ALGORITHM_MULTI_RAIL_RING, ALGORITHM_HALVING_DOUBLING,
        ALGORITHM_HIERARCHICAL};
    struct arena *arena = arena_new();
    const struct collective_group group = collective_group_of(arena, 4, 8);
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        double seconds[3];
        for (int operation = COLLECTIVE_ALL_REDUCE; operation <= COLLECTIVE_REDUCE_SCATTER;
             operation++) {
            struct collective_phase phases[COLLECTIVE_PHASES_MAX];
            const uint32_t count = collective_phases((enum collective_operation)operation,
                                                     algorithms[i], &group, MIB, phases);
            seconds[operation] = collective_time_s(phases, count, 1e-6, 5e-6, 50e9);
        }
        assert_close(seconds[COLLECTIVE_ALL_REDUCE],
                     seconds[COLLECTIVE_ALL_GATHER] + seconds[COLLECTIVE_REDUCE_SCATTER], 1e-12);
    }
    arena_free(arena);
}

static void bus_bandwidth_factors_are_those_of_nccl_tests(void **state)
{
    (void)state;
    assert_close(collective_busbw_factor(COLLECTIVE_ALL_REDUCE, 8), 1.75, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_ALL_REDUCE, 2), 1.0, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_ALL_GATHER, 8), 0.875, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_REDUCE_SCATTER, 8), 0.875, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_ALL_TO_ALL, 8), 0.875, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_BROADCAST, 8), 1.0, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_REDUCE, 8), 1.0, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_SEND, 2), 1.0, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_SHIFT, 8), 1.0, 1e-15);
}

/* ---- rounds and shapes -------------------------------------------------------------------- */

static struct collective_phase only_phase(enum collective_operation operation,
                                          enum collective_algorithm algorithm,
                                          const struct collective_group *group)
{
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    assert_int_equal(collective_phases(operation, algorithm, group, MIB, phases), 1);
    return phases[0];
}

static void rounds_are_told_apart_by_where_they_go(void **state)
{
    (void)state;
    /* 4 nodes of 8: a ring has 2*31 = 62 rounds, of which 2*3 leave a node; a tree goes 7 up
     * the chain and log2(4) = 2 between nodes, and the same down; the node's switch takes one
     * round, the network's two; a chain to all ranks has 31, of which 3 leave a node. */
    static const struct {
        enum collective_operation operation;
        enum collective_algorithm algorithm;
        int64_t intra, inter;
    } expected[] = {
        {COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 56, 6},
        {COLLECTIVE_ALL_REDUCE, ALGORITHM_MULTI_RAIL_RING, 56, 6},
        {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 14, 4},
        {COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS_TREE, 1, 4},
        {COLLECTIVE_ALL_REDUCE, ALGORITHM_SHARP, 1, 2},
        {COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 28, 3},
        {COLLECTIVE_BROADCAST, ALGORITHM_RING, 28, 3},
        {COLLECTIVE_BROADCAST, ALGORITHM_TREE, 14, 2}, /* to a root, log2(3) down: 1 + 1 */
        {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 0, 1},
        {COLLECTIVE_SHIFT, ALGORITHM_DIRECT, 0, 1},
    };
    struct arena *arena = arena_new();
    const struct collective_group group = collective_group_of(arena, 4, 8);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct collective_phase phase =
            only_phase(expected[i].operation, expected[i].algorithm, &group);
        assert_int_equal(phase.rounds_intra, expected[i].intra);
        assert_int_equal(phase.rounds_inter, expected[i].inter);
    }
    arena_free(arena);
}

static void tree_rounds_are_twice_the_logarithm_rounded_down(void **state)
{
    (void)state;
    static const uint32_t expected[][2] = {{2, 2}, {3, 2}, {4, 4},    {5, 4},
                                           {8, 6}, {9, 6}, {256, 16}, {257, 16}};
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct collective_group group = collective_group_of(arena, expected[i][0], 1);
        const struct collective_phase phase =
            only_phase(COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, &group);
        assert_int_equal(phase.rounds_inter, expected[i][1]);
        assert_close(phase.bytes, 2 * MIB, 1e-15);
    }
    arena_free(arena);
}

/* NCCL's trees (btree and dtree) over 4 nodes: 0 <- 2 <- {1, 3} and, mirrored, 3 <- 1 <- {2, 0}.
 * Each edge carries half of S up and half down. */
static void the_double_tree_over_four_nodes_is_the_known_one(void **state)
{
    (void)state;
    static const uint32_t edges[][2] = {{0, 2}, {2, 1}, {2, 3}, {3, 1}, {1, 2}, {1, 0}};
    double expected[16] = {0};
    for (size_t i = 0; i < 6; i++) {
        expected[edges[i][0] * 4 + edges[i][1]] += MIB / 2;
        expected[edges[i][1] * 4 + edges[i][0]] += MIB / 2;
    }
    struct arena *arena = arena_new();
    const struct collective_group group = collective_group_of(arena, 4, 1);
    const struct row row = {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, &group, arena};
    const struct collective_loads loads = loads_of(&row, MIB);
    for (size_t i = 0; i < 16; i++) {
        assert_close(loads.pairs[i], expected[i], 1e-15);
    }
    arena_free(arena);
}

/* In a double tree no node sends more than 2 S: half of S up and down in the tree where it is
 * a leaf, and in the other half up and to two children. Odd and even counts, up to 40. */
static void no_node_of_a_double_tree_sends_more_than_twice_the_buffer(void **state)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= 40; nodes++) {
        struct arena *arena = arena_new();
        const struct collective_group group = collective_group_of(arena, nodes, 1);
        const struct row row = {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, &group, arena};
        const struct collective_loads loads = loads_of(&row, MIB);
        double most = 0;
        for (uint32_t i = 0; i < nodes; i++) {
            most = loads.nic_out[i] > most ? loads.nic_out[i] : most;
        }
        assert_true(most <= 2 * MIB * (1 + 1e-12));
        assert_true(nodes < 4 || most >= 2 * MIB * (1 - 1e-12));
        arena_free(arena);
    }
}

/* 2 nodes of 8 ranks on 4 NICs: a quarter of the bytes crosses on each. Three nodes whose last
 * has the rails 0 to 3 only: what leaves it does so over 4 NICs. */
static void a_multi_rail_ring_uses_each_nic_alike(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct collective_group group = collective_group_of(arena, 2, 8);
    static const uint32_t shared[] = {0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3};
    group.rails = shared;
    const struct row row = {COLLECTIVE_ALL_GATHER, ALGORITHM_MULTI_RAIL_RING, &group, arena};
    struct collective_loads loads = loads_of(&row, 16.0 / 15 * MIB);
    for (uint32_t i = 0; i < 16; i++) {
        assert_close(loads.nic_out[i], i % 2 == 0 ? MIB / 4 : 0, 1e-12);
        assert_close(loads.out[i], 7.0 / 8 * MIB, 1e-12);
    }
    const struct collective_group uneven =
        collective_case_group(arena, &collective_cases[collective_case_count - 1]);
    const struct row last = {COLLECTIVE_ALL_GATHER, ALGORITHM_MULTI_RAIL_RING, &uneven, arena};
    loads = loads_of(&last, 20.0 / 19 * MIB);
    assert_close(loads.nic_out[16], MIB / 4, 1e-12);
    assert_close(loads.nic_in[16], 2 * MIB / 8, 1e-12); /* rails 0 and 4 of the node before */
    assert_close(loads.nic_in[4] + 1, 1, 1e-12);        /* its rail 4 hears nothing */
    arena_free(arena);
}

/* 8 ranks: in an all-reduce through the switch S + S/8 out and in; all-gather S/8 out, S in. */
static void a_switch_that_multicasts_sees_each_byte_once(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct collective_group group = collective_group_of(arena, 1, 8);
    static const struct {
        enum collective_operation operation;
        double out, in;
    } expected[] = {{COLLECTIVE_ALL_REDUCE, 1.125, 1.125},
                    {COLLECTIVE_ALL_GATHER, 0.125, 1},
                    {COLLECTIVE_REDUCE_SCATTER, 1, 0.125}};
    for (size_t i = 0; i < 3; i++) {
        const struct row row = {expected[i].operation, ALGORITHM_NVLS, &group, arena};
        const struct collective_loads loads = loads_of(&row, MIB);
        assert_close(loads.out[3], expected[i].out * MIB, 1e-12);
        assert_close(loads.in[3], expected[i].in * MIB, 1e-12);
    }
    arena_free(arena);
}

/* 2 nodes of 8: between nodes each NIC carries an eighth of S to the network's switches and
 * back. Without multicast the members exchange eighths: 2 * 7/8 S each. */
static void the_network_reduces_on_every_rail(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct collective_group group = collective_group_of(arena, 2, 8);
    const struct row row = {COLLECTIVE_ALL_REDUCE, ALGORITHM_SHARP, &group, arena};
    struct collective_loads loads = loads_of(&row, MIB);
    assert_close(loads.out[9], 1.125 * MIB, 1e-12);
    assert_close(loads.nic_out[9], MIB / 8, 1e-12);
    assert_close(loads.nic_in[9], MIB / 8, 1e-12);
    assert_close(loads.network, 2 * MIB, 1e-12);
    group.has_multicast = false;
    loads = loads_of(&row, MIB);
    assert_close(loads.out[9], 1.75 * MIB, 1e-12);
    assert_close(loads.nic_out[9], MIB / 8, 1e-12);
    arena_free(arena);
}

/* ---- single sends on symbolic chunks ---------------------------------------------------------
 *
 * holds[rank][chunk] is the set of ranks whose contribution it contains. */

struct board {
    const struct row *row;
    struct collective_script script;
    uint32_t pieces;
    uint64_t *holds, *next;
    uint32_t *received;
    double *pairs; /* share of the buffer */
    struct collective_send *sends;
};

static uint64_t *cell(const struct board *board, uint64_t *holds, uint32_t rank, uint32_t chunk)
{
    return &holds[rank * board->script.chunks + chunk % board->script.chunks];
}

static uint32_t owner_of(const struct board *board, uint32_t chunk)
{
    return chunk / (board->script.chunks / board->row->group->ranks);
}

static uint64_t at_first(const struct board *board, uint32_t rank, uint32_t chunk)
{
    const uint64_t own = UINT64_C(1) << rank;
    switch (board->row->operation) {
    case COLLECTIVE_ALL_GATHER:
        return owner_of(board, chunk) == rank ? own : 0;
    case COLLECTIVE_BROADCAST:
        return rank == 0 ? own : 0;
    default:
        return own;
    }
}

/* What must be there at the end; 0: anything. */
static uint64_t at_last(const struct board *board, uint32_t rank, uint32_t chunk)
{
    const uint32_t ranks = board->row->group->ranks;
    const uint64_t all = (UINT64_C(1) << ranks) - 1;
    switch (board->row->operation) {
    case COLLECTIVE_ALL_GATHER:
        return UINT64_C(1) << owner_of(board, chunk);
    case COLLECTIVE_BROADCAST:
        return 1;
    case COLLECTIVE_REDUCE_SCATTER:
        return owner_of(board, chunk) == rank ? all : 0;
    case COLLECTIVE_REDUCE:
        return rank == 0 ? all : 0;
    case COLLECTIVE_SHIFT:
        return UINT64_C(1) << (rank + ranks - 1) % ranks;
    default:
        return all;
    }
}

static void carry_out(struct board *board, const struct collective_send *send)
{
    for (uint32_t i = 0; i < send->count; i++) {
        const uint32_t chunk = send->chunk + i * send->stride;
        const uint64_t sent = *cell(board, board->holds, send->from, chunk);
        uint64_t *there = cell(board, board->next, send->to, chunk);
        assert_true(sent != 0);
        if (send->is_reduce) {
            assert_true((*there & sent) == 0); /* else it would count twice */
            *there |= sent;
        } else {
            *there = sent;
        }
    }
    board->pairs[send->from * board->row->group->ranks + send->to] +=
        (double)send->count / (double)board->script.chunks;
    board->received[send->to]++;
}

static void play_round(struct board *board, uint32_t round)
{
    const struct row *row = board->row;
    const uint32_t n = row->group->ranks;
    memcpy(board->next, board->holds, n * board->script.chunks * sizeof *board->next);
    memset(board->received, 0, n * sizeof *board->received);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t count = collective_sends(row->operation, row->algorithm, row->group,
                                                board->pieces, i, round, board->sends);
        assert_true(count <= board->script.sends_max);
        for (uint32_t k = 0; k < count; k++) {
            assert_int_equal(board->sends[k].from, i);
            assert_true(board->sends[k].to < n && board->sends[k].to != i);
            carry_out(board, &board->sends[k]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(collective_receives(row->operation, row->algorithm, row->group,
                                             board->pieces, i, round),
                         board->received[i]);
    }
    memcpy(board->holds, board->next, n * board->script.chunks * sizeof *board->next);
}

static bool board_init(struct board *board, const struct row *row, uint32_t pieces)
{
    const uint32_t n = row->group->ranks;
    *board = (struct board){.row = row, .pieces = pieces};
    if (!collective_script(row->operation, row->algorithm, row->group, pieces, &board->script)) {
        return false;
    }
    const size_t cells = (size_t)n * board->script.chunks;
    board->holds = arena_array(row->arena, cells, sizeof *board->holds);
    board->next = arena_array(row->arena, cells, sizeof *board->next);
    board->received = arena_array(row->arena, n, sizeof *board->received);
    board->pairs = arena_array(row->arena, (size_t)n * n, sizeof *board->pairs);
    board->sends = arena_array(row->arena, board->script.sends_max, sizeof *board->sends);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < board->script.chunks; k++) {
            *cell(board, board->holds, i, k) = at_first(board, i, k);
        }
    }
    for (uint32_t i = 0; i < board->script.rounds; i++) {
        play_round(board, i);
    }
    return true;
}

static void check_ending(const struct row *row)
{
    for (uint32_t pieces = 1; pieces <= 5; pieces += 2) {
        struct board board;
        if (!board_init(&board, row, pieces)) {
            assert_true(is_switched(row));
            return;
        }
        /* All-to-all and send move what stays apart: their pairs are checked below. */
        if (row->operation == COLLECTIVE_ALL_TO_ALL || row->operation == COLLECTIVE_SEND) {
            return;
        }
        for (uint32_t i = 0; i < row->group->ranks; i++) {
            for (uint32_t k = 0; k < board.script.chunks; k++) {
                const uint64_t expected = at_last(&board, i, k);
                assert_true(expected == 0 || *cell(&board, board.holds, i, k) == expected);
            }
        }
    }
}

static void single_sends_end_where_the_operation_says(void **state)
{
    (void)state;
    assert_true(for_each_row(check_ending) > 150);
}

/* What a rank sends to others of its node, and to other nodes, and what it receives. */
static void sums_of_rank(const struct collective_group *group, const double *pairs, uint32_t rank,
                         double sums[4])
{
    memset(sums, 0, 4 * sizeof *sums);
    for (uint32_t i = 0; i < group->ranks; i++) {
        const int level = collective_node_of(group, i) == collective_node_of(group, rank) ? 0 : 1;
        sums[level] += pairs[rank * group->ranks + i];
        sums[2 + level] += pairs[i * group->ranks + rank];
    }
}

/* Bytes per pair of ranks equal the phases'. On several rails, nodes of unequal size share them
 * otherwise, and rings go up one node and down the next: there sums per rank are equal. */
static void check_pairs(const struct row *row)
{
    struct board board;
    const bool has_rails =
        row->algorithm == ALGORITHM_MULTI_RAIL_RING || row->algorithm == ALGORITHM_TREE;
    if ((has_rails && !is_even(row->group)) || row->operation == COLLECTIVE_BARRIER ||
        !board_init(&board, row, 3)) {
        return;
    }
    const uint32_t n = row->group->ranks;
    const struct collective_loads loads = loads_of(row, 1);
    for (uint32_t i = 0; i < n; i++) {
        double slow[4];
        double coupled[4];
        sums_of_rank(row->group, board.pairs, i, slow);
        sums_of_rank(row->group, loads.pairs, i, coupled);
        for (uint32_t k = 0; k < 4; k++) {
            assert_close(slow[k] + 1, coupled[k] + 1, 1e-12);
        }
        for (uint32_t k = 0; k < n && row->algorithm != ALGORITHM_MULTI_RAIL_RING; k++) {
            assert_close(board.pairs[i * n + k] + 1, loads.pairs[i * n + k] + 1, 1e-12);
        }
    }
}

static void single_sends_carry_the_bytes_of_the_phases(void **state)
{
    (void)state;
    for_each_row(check_pairs);
}

/* Event-level definition: 2(N-1) rounds of N messages of S/N each. */
static void a_ring_of_single_sends_has_the_known_rounds_and_messages(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct collective_group group = collective_group_of(arena, 2, 4);
    struct collective_script script;
    struct collective_send send;
    assert_true(collective_script(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, &group, 1, &script));
    assert_int_equal(script.rounds, 14);
    assert_int_equal(script.chunks, 8);
    for (uint32_t round = 0; round < script.rounds; round++) {
        for (uint32_t i = 0; i < 8; i++) {
            assert_int_equal(
                collective_sends(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, &group, 1, i, round, &send),
                1);
            assert_int_equal(send.to, (i + 1) % 8);
            assert_int_equal(send.count, 1);
            assert_int_equal(send.is_reduce, round < 7);
        }
    }
    arena_free(arena);
}

/* 8 ranks, one a node; rank 0 gets 3 times the mean: 3/8 of each buffer S, the others (5/8)/7 of
 * it. So rank 0 receives 7 x 3/8 S = 2.625 S from outside, another 7 x 5/56 S = 0.625 S,
 * and every rank but rank 0 sends 1 - 5/56 of S, which is what the phase counts. */
static void an_uneven_all_to_all_sends_the_hot_rank_its_share(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct collective_group group = collective_group_of(arena, 8, 1);
    group.hottest = 3;
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    assert_int_equal(
        collective_phases(COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, &group, 56.0, phases), 1);
    assert_close(phases[0].bytes, 56.0 * (1 - 5.0 / 56), 1e-12);
    struct collective_loads loads = collective_loads_new(arena, &group);
    collective_loads_add(arena, &loads, COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 0,
                         phases[0].bytes);
    assert_close(loads.nic_in[0], 2.625 * 56, 1e-12);
    assert_close(loads.nic_in[5], 0.625 * 56, 1e-12);
    assert_close(loads.nic_out[0], 0.625 * 56, 1e-12);
    assert_close(loads.nic_out[5], 51.0, 1e-12);
    group.hottest = 8; /* everything goes to rank 0 */
    struct collective_loads all = collective_loads_new(arena, &group);
    collective_loads_add(arena, &all, COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 0, 56.0);
    assert_close(all.nic_in[0], 7.0 * 56, 1e-12);
    assert_close(collective_loads_total(&all), 7.0 * 56, 1e-12);
    arena_free(arena);
}

/* DeepSeek-V3's exchange: 64 ranks on 8 nodes of 8, S = 4096 tokens x 8 copies x 7168 bytes =
 * 234,881,024. Straight, 7/8 of S leave the node, 7/64 stay in it. Sent once per node, half as
 * much crosses: 7/8 x 117,440,512 = 102,760,448 a NIC. What arrives at a rank, for each of 56
 * senders 1/64 of S on behalf of 8 members, is handed on to the 7 others. */
static void rows_sent_once_per_node_are_handed_on_inside(void **state)
{
    (void)state;
    const double all = 4096.0 * 8 * 7168;
    struct arena *arena = arena_new();
    struct collective_group group = collective_group_of(arena, 8, 8);
    group.node_share = 0.5;
    const struct row row = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, &group, arena};
    const struct collective_loads loads = loads_of(&row, all);
    for (uint32_t i = 0; i < 64; i++) {
        assert_close(loads.nic_out[i], 102760448.0, 1e-12);
        assert_close(loads.nic_in[i], 102760448.0, 1e-12);
        assert_close(loads.out[i], 7.0 / 64 * all + 56.0 / 64 * 7.0 / 8 * all, 1e-12);
    }
    group.node_share = 1;
    const struct collective_loads straight = loads_of(&row, all);
    assert_close(straight.nic_out[5], 7.0 / 8 * all, 1e-12);
    assert_close(straight.out[5], 7.0 / 64 * all, 1e-12);
    arena_free(arena);
}

/* The hot rank gets 4 of 16 parts, the other 15 share 12: 0.8 each. Handed on or not, what is
 * meant for it reaches it: 4/16 S from each of 15 senders, of which its 3 neighbours' come
 * straight; of 12 others' rows those that landed at it, 3 senders', need no further hop. */
static void the_hot_rank_gets_its_rows_by_either_way(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct collective_group group = collective_group_of(arena, 4, 4);
    group.hottest = 4;
    group.node_share = 0.5;
    const struct row row = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, &group, arena};
    const struct collective_loads loads = loads_of(&row, MIB);
    assert_close(loads.in[0], (3 + 12 - 3) * 4.0 / 16 * MIB, 1e-12);
    /* 3 senders on its rail, each half of what node 0 gets: 4 + 3 x 0.8 of 16 parts. */
    assert_close(loads.nic_in[0], 3 * 0.5 * 6.4 / 16 * MIB, 1e-12);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_offered_where_they_make_sense),
        cmocka_unit_test(every_operation_and_algorithm_has_a_name_and_a_row),
        cmocka_unit_test(no_algorithm_sends_more_or_less_than_its_operation_needs),
        cmocka_unit_test(each_rank_sends_and_receives_what_the_operation_demands),
        cmocka_unit_test(bytes_scale_and_rounds_do_not),
        cmocka_unit_test(what_is_said_to_turn_looks_the_same_from_each_rank),
        cmocka_unit_test(an_all_reduce_is_a_reduce_scatter_and_an_all_gather),
        cmocka_unit_test(bus_bandwidth_factors_are_those_of_nccl_tests),
        cmocka_unit_test(rounds_are_told_apart_by_where_they_go),
        cmocka_unit_test(tree_rounds_are_twice_the_logarithm_rounded_down),
        cmocka_unit_test(the_double_tree_over_four_nodes_is_the_known_one),
        cmocka_unit_test(no_node_of_a_double_tree_sends_more_than_twice_the_buffer),
        cmocka_unit_test(a_multi_rail_ring_uses_each_nic_alike),
        cmocka_unit_test(a_switch_that_multicasts_sees_each_byte_once),
        cmocka_unit_test(the_network_reduces_on_every_rail),
        cmocka_unit_test(an_uneven_all_to_all_sends_the_hot_rank_its_share),
        cmocka_unit_test(rows_sent_once_per_node_are_handed_on_inside),
        cmocka_unit_test(the_hot_rank_gets_its_rows_by_either_way),
        cmocka_unit_test(single_sends_end_where_the_operation_says),
        cmocka_unit_test(single_sends_carry_the_bytes_of_the_phases),
        cmocka_unit_test(a_ring_of_single_sends_has_the_known_rounds_and_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
