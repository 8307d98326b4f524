/* Collectives in closed form, against oracles.md sections 3 and 4. */
#include "plan/collective.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/assert_close.h"

static const double KIB = 1024.0;
static const double MIB = 1024.0 * 1024.0;
static const double GIB = 1024.0 * 1024.0 * 1024.0;

static struct collective_plan plan_of(enum collective_operation operation,
                                      enum collective_algorithm algorithm, int64_t ranks,
                                      double bytes)
{
    struct collective_plan plan = {-1, -1};
    assert_true(collective_plan(operation, algorithm, ranks, bytes, &plan));
    return plan;
}

static double all_reduce_s(enum collective_algorithm algorithm, int64_t ranks, double bytes,
                           double alpha_s, double bandwidth_bytes_per_s)
{
    const struct collective_plan plan = plan_of(COLLECTIVE_ALL_REDUCE, algorithm, ranks, bytes);
    return collective_time_s(&plan, alpha_s, bandwidth_bytes_per_s);
}

static void a_ring_all_reduce_of_eight_ranks_has_the_known_time(void **state)
{
    (void)state;
    /* 2*7/8 * 2^30 B / 450e9 B/s = 4.17566265 ms; 14 rounds of 5 us add 0.07 ms. */
    const double time_s = all_reduce_s(ALGORITHM_RING, 8, GIB, 0, 450e9);
    assert_close(time_s, 4.175662648888889e-3, 1e-12);
    assert_close(all_reduce_s(ALGORITHM_RING, 8, GIB, 5e-6, 450e9), 4.245662648888889e-3, 1e-12);
    /* algbw 257.14 GB/s; times 1.75 the bandwidth of the link again. */
    const double algbw = GIB / time_s;
    assert_close(algbw, 257.142857142857e9, 1e-12);
    assert_close(algbw * collective_busbw_factor(COLLECTIVE_ALL_REDUCE, 8), 450e9, 1e-12);
}

static void ring_and_tree_of_256_ranks_have_the_known_times(void **state)
{
    (void)state;
    /* Ring: 510 * 5 us = 2.55 ms, and 2*255/256 * 64 MiB / 50 GB/s = 2.6738688 ms.
     * Tree: 16 * 5 us = 0.08 ms, and 2 * 64 MiB / 50 GB/s = 2.68435456 ms. */
    assert_close(all_reduce_s(ALGORITHM_RING, 256, 64 * MIB, 5e-6, 50e9), 5.2238688e-3, 1e-12);
    assert_close(all_reduce_s(ALGORITHM_TREE, 256, 64 * MIB, 5e-6, 50e9), 2.76435456e-3, 1e-12);
    assert_close(all_reduce_s(ALGORITHM_RING, 256, 64 * KIB, 5e-6, 50e9), 2.5526112e-3, 1e-12);
    assert_close(all_reduce_s(ALGORITHM_TREE, 256, 64 * KIB, 5e-6, 50e9), 0.08262144e-3, 1e-12);
}

static void ring_and_tree_cross_where_bytes_outweigh_rounds(void **state)
{
    (void)state;
    /* 2(N-1)a + 2(N-1)/N S/B = 2 log2(N) a + 2 S/B at S = N a B (N-1-log2 N):
     * 256 * 5 us * 50 GB/s * 247 = 15.808 GB. */
    const double crossing = 15.808e9;
    assert_close(all_reduce_s(ALGORITHM_RING, 256, crossing, 5e-6, 50e9),
                 all_reduce_s(ALGORITHM_TREE, 256, crossing, 5e-6, 50e9), 1e-12);
    assert_true(all_reduce_s(ALGORITHM_RING, 256, 0.9 * crossing, 5e-6, 50e9) >
                all_reduce_s(ALGORITHM_TREE, 256, 0.9 * crossing, 5e-6, 50e9));
    assert_true(all_reduce_s(ALGORITHM_RING, 256, 1.1 * crossing, 5e-6, 50e9) <
                all_reduce_s(ALGORITHM_TREE, 256, 1.1 * crossing, 5e-6, 50e9));
}

static void a_hierarchical_all_reduce_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    /* 8 x 32 ranks, 1 GiB: reduce-scatter and all-gather in the node (1 us, 450
     * GB/s), all-reduce of an eighth between nodes (5 us, 50 GB/s): 9.70060 ms. */
    const struct collective_plan scatter =
        plan_of(COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, 8, GIB);
    const struct collective_plan gather = plan_of(COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 8, GIB);
    const double inside_s =
        collective_time_s(&scatter, 1e-6, 450e9) + collective_time_s(&gather, 1e-6, 450e9);
    const double between_s = all_reduce_s(ALGORITHM_RING, 32, GIB / 8, 5e-6, 50e9);
    assert_close(inside_s, 4.175662648888889e-3 + 0.014e-3, 1e-12);
    assert_close(inside_s + between_s, 9.70059960888889e-3, 1e-12);
    /* A flat ring over 8 NICs of 50 GB/s, and over one. */
    assert_close(all_reduce_s(ALGORITHM_RING, 256, GIB, 5e-6, 400e9), 7.8977376e-3, 1e-9);
    assert_close(all_reduce_s(ALGORITHM_RING, 256, GIB, 5e-6, 50e9), 45.3319008e-3, 1e-9);
}

static void ranks_send_the_published_bytes_of_data_parallelism(void **state)
{
    (void)state;
    /* Llama 3 8B, 64 ranks, fp32 gradients: 2*63/64 * 4 B * 8,030,261,248 = 63.238 GB;
     * sharded: 63/64 * (4 + 2) B = 47.429 GB. */
    const double parameters = 8030261248.0;
    const double reduced =
        plan_of(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 64, 4 * parameters).rank_bytes;
    const double sharded =
        plan_of(COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, 64, 4 * parameters).rank_bytes +
        plan_of(COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 64, 2 * parameters).rank_bytes;
    assert_close(reduced, 63.238307328e9, 1e-12);
    assert_close(sharded, 47.428730496e9, 1e-12);
}

static void ranks_send_the_published_bytes_of_tensor_parallelism(void **state)
{
    (void)state;
    /* Llama 3 70B, tp 8, s 8192, b 1: a tensor of 2*8192*8192 = 134,217,728 B; one
     * all-reduce sends 2*7/8 of it, four a layer. With sequence parallelism five
     * pairs' worth: 10 * 7/8 of it. */
    const double tensor = 2.0 * 8192 * 8192;
    const double once = plan_of(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 8, tensor).rank_bytes;
    const double half = plan_of(COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 8, tensor).rank_bytes;
    assert_close(once, 234881024.0, 1e-15);
    assert_close(4 * once, 939524096.0, 1e-15);
    assert_close(10 * half, 1174405120.0, 1e-15);
}

static void bus_bandwidth_factors_are_those_of_nccl_tests(void **state)
{
    (void)state;
    assert_close(collective_busbw_factor(COLLECTIVE_ALL_REDUCE, 8), 1.75, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_ALL_REDUCE, 2), 1.0, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_ALL_GATHER, 8), 0.875, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_REDUCE_SCATTER, 8), 0.875, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_BROADCAST, 8), 1.0, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_REDUCE, 8), 1.0, 1e-15);
    assert_close(collective_busbw_factor(COLLECTIVE_SEND, 2), 1.0, 1e-15);
}

static void a_ring_without_latency_runs_at_bus_bandwidth(void **state)
{
    (void)state;
    /* The definition of busbw: S/t times the factor is the link's rate. */
    for (int operation = 0; operation < COLLECTIVE_SEND; operation++) {
        for (int64_t ranks = 2; ranks <= 64; ranks++) {
            const struct collective_plan plan =
                plan_of((enum collective_operation)operation, ALGORITHM_RING, ranks, GIB);
            const double algbw = GIB / collective_time_s(&plan, 0, 25e9);
            const double factor =
                collective_busbw_factor((enum collective_operation)operation, ranks);
            assert_close(algbw * factor, 25e9, 1e-12);
        }
    }
}

static void only_offered_pairs_have_a_plan(void **state)
{
    (void)state;
    static const bool is_offered[COLLECTIVE_OPERATION_COUNT_][ALGORITHM_COUNT_] = {
        [COLLECTIVE_ALL_REDUCE] = {true, true, false},
        [COLLECTIVE_ALL_GATHER] = {true, false, false},
        [COLLECTIVE_REDUCE_SCATTER] = {true, false, false},
        [COLLECTIVE_BROADCAST] = {true, false, false},
        [COLLECTIVE_REDUCE] = {true, false, false},
        [COLLECTIVE_SEND] = {false, false, true},
    };
    for (int operation = 0; operation < COLLECTIVE_OPERATION_COUNT_; operation++) {
        for (int algorithm = 0; algorithm < ALGORITHM_COUNT_; algorithm++) {
            struct collective_plan plan;
            struct collective_rounds rounds;
            const bool expected = is_offered[operation][algorithm];
            assert_int_equal(collective_plan((enum collective_operation)operation,
                                             (enum collective_algorithm)algorithm, 8, 1, &plan),
                             expected);
            assert_int_equal(collective_rounds((enum collective_operation)operation,
                                               (enum collective_algorithm)algorithm, 2, 4, &rounds),
                             expected);
        }
        assert_non_null(collective_operation_names[operation]);
    }
    for (int algorithm = 0; algorithm < ALGORITHM_COUNT_; algorithm++) {
        assert_non_null(collective_algorithm_names[algorithm]);
    }
}

static void laws_hold_for_every_row(enum collective_operation operation,
                                    enum collective_algorithm algorithm)
{
    struct collective_plan plan;
    if (!collective_plan(operation, algorithm, 1, MIB, &plan)) {
        return;
    }
    assert_true(plan.rounds == 0 && plan.rank_bytes <= 0); /* one rank has nobody to send to */
    struct collective_plan before = plan;
    for (int64_t ranks = 2; ranks <= 300; ranks++) {
        plan = plan_of(operation, algorithm, ranks, MIB);
        assert_true(plan.rounds >= before.rounds && plan.rank_bytes >= before.rank_bytes);
        /* Twice the buffer, twice the bytes, in as many rounds. */
        const struct collective_plan doubled = plan_of(operation, algorithm, ranks, 2 * MIB);
        assert_true(doubled.rounds == plan.rounds);
        assert_close(doubled.rank_bytes, 2 * plan.rank_bytes, 1e-15);
        before = plan;
    }
}

static void plans_grow_with_ranks_and_scale_with_bytes(void **state)
{
    (void)state;
    for (int operation = 0; operation < COLLECTIVE_OPERATION_COUNT_; operation++) {
        for (int algorithm = 0; algorithm < ALGORITHM_COUNT_; algorithm++) {
            laws_hold_for_every_row((enum collective_operation)operation,
                                    (enum collective_algorithm)algorithm);
        }
    }
}

static void an_all_reduce_is_a_reduce_scatter_and_an_all_gather(void **state)
{
    (void)state;
    for (int64_t ranks = 1; ranks <= 100; ranks++) {
        const struct collective_plan whole =
            plan_of(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, ranks, GIB);
        const struct collective_plan scatter =
            plan_of(COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, ranks, GIB);
        const struct collective_plan gather =
            plan_of(COLLECTIVE_ALL_GATHER, ALGORITHM_RING, ranks, GIB);
        assert_true(whole.rounds == scatter.rounds + gather.rounds);
        assert_close(whole.rank_bytes, scatter.rank_bytes + gather.rank_bytes, 1e-15);
    }
}

static void tree_rounds_are_twice_the_depth(void **state)
{
    (void)state;
    static const int64_t expected[][2] = {{2, 2}, {3, 4}, {4, 4},    {5, 6},
                                          {8, 6}, {9, 8}, {256, 16}, {257, 18}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct collective_plan plan =
            plan_of(COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, expected[i][0], MIB);
        assert_int_equal(plan.rounds, expected[i][1]);
        assert_close(plan.rank_bytes, 2 * MIB, 1e-15);
    }
}

static void rounds_are_told_apart_by_where_they_go(void **state)
{
    (void)state;
    /* 4 nodes of 8: a ring has 2*31 = 62 rounds, of which 2*3 leave a node; a tree
     * goes 7 up the chain and 2 between nodes, and the same down. */
    struct collective_rounds rounds;
    assert_true(collective_rounds(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 4, 8, &rounds));
    assert_int_equal(rounds.intra, 56);
    assert_int_equal(rounds.inter, 6);
    assert_true(collective_rounds(COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 4, 8, &rounds));
    assert_int_equal(rounds.intra, 14);
    assert_int_equal(rounds.inter, 4);
    assert_true(collective_rounds(COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 4, 8, &rounds));
    assert_int_equal(rounds.intra, 28);
    assert_int_equal(rounds.inter, 3);
    assert_true(collective_rounds(COLLECTIVE_SEND, ALGORITHM_DIRECT, 2, 1, &rounds));
    assert_int_equal(rounds.intra, 0);
    assert_int_equal(rounds.inter, 1);
    assert_true(collective_rounds(COLLECTIVE_SEND, ALGORITHM_DIRECT, 1, 2, &rounds));
    assert_int_equal(rounds.intra, 1);
    assert_int_equal(rounds.inter, 0);
}

static void rounds_of_a_ring_over_nodes_add_up_to_those_of_the_plan(void **state)
{
    (void)state;
    for (int64_t nodes = 1; nodes <= 12; nodes++) {
        for (int64_t per_node = 1; per_node <= 8; per_node++) {
            struct collective_rounds rounds;
            const struct collective_plan plan =
                plan_of(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, nodes * per_node, MIB);
            assert_true(
                collective_rounds(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, nodes, per_node, &rounds));
            assert_true(rounds.intra + rounds.inter == plan.rounds);
            assert_true((rounds.inter == 0) == (nodes == 1));
            assert_true((rounds.intra == 0) == (per_node == 1));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_all_reduce_of_eight_ranks_has_the_known_time),
        cmocka_unit_test(ring_and_tree_of_256_ranks_have_the_known_times),
        cmocka_unit_test(ring_and_tree_cross_where_bytes_outweigh_rounds),
        cmocka_unit_test(a_hierarchical_all_reduce_is_the_sum_of_its_parts),
        cmocka_unit_test(ranks_send_the_published_bytes_of_data_parallelism),
        cmocka_unit_test(ranks_send_the_published_bytes_of_tensor_parallelism),
        cmocka_unit_test(bus_bandwidth_factors_are_those_of_nccl_tests),
        cmocka_unit_test(a_ring_without_latency_runs_at_bus_bandwidth),
        cmocka_unit_test(only_offered_pairs_have_a_plan),
        cmocka_unit_test(plans_grow_with_ranks_and_scale_with_bytes),
        cmocka_unit_test(an_all_reduce_is_a_reduce_scatter_and_an_all_gather),
        cmocka_unit_test(tree_rounds_are_twice_the_depth),
        cmocka_unit_test(rounds_are_told_apart_by_where_they_go),
        cmocka_unit_test(rounds_of_a_ring_over_nodes_add_up_to_those_of_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
