/* Collectives against the closed forms and worked numbers of oracles.md section 4, computed
 * from phases and edges: rounds, and bytes of the busiest scale-up port and NIC. */
#include "plan/collective/collective.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "support/assert_close.h"
#include "support/collective_case.h"

static const double KIB = 1024.0;
static const double MIB = 1024.0 * 1024.0;
static const double GIB = 1024.0 * 1024.0 * 1024.0;

static double time_on(enum collective_operation operation, enum collective_algorithm algorithm,
                      uint32_t nodes, uint32_t per_node, double bytes,
                      const struct collective_levels *levels)
{
    struct arena *arena = arena_new();
    const struct collective_group group = collective_group_of(arena, nodes, per_node);
    const double time_s =
        collective_case_time_s(arena, operation, algorithm, &group, bytes, levels);
    arena_free(arena);
    return time_s;
}

/* One level: `ranks` in one node, or one on each node. */
static double flat_s(enum collective_operation operation, enum collective_algorithm algorithm,
                     uint32_t ranks, double bytes, double alpha_s, double bytes_per_s)
{
    const struct collective_levels levels = {alpha_s, alpha_s, bytes_per_s, bytes_per_s};
    return time_on(operation, algorithm, ranks, 1, bytes, &levels);
}

static double all_reduce_s(enum collective_algorithm algorithm, uint32_t ranks, double bytes,
                           double alpha_s, double bytes_per_s)
{
    return flat_s(COLLECTIVE_ALL_REDUCE, algorithm, ranks, bytes, alpha_s, bytes_per_s);
}

static void a_ring_all_reduce_of_eight_ranks_has_the_known_time(void **state)
{
    (void)state;
    /* 2*7/8 * 2^30 B / 450e9 B/s = 4.17566265 ms; 14 rounds of 5 us add 0.07 ms. */
    struct collective_levels levels = {0, 0, 450e9, 1};
    const double time_s = time_on(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 1, 8, GIB, &levels);
    assert_close(time_s, 4.175662648888889e-3, 1e-12);
    levels.alpha_intra_s = 5e-6;
    assert_close(time_on(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 1, 8, GIB, &levels),
                 4.245662648888889e-3, 1e-12);
    assert_close(time_on(COLLECTIVE_ALL_REDUCE, ALGORITHM_MULTI_RAIL_RING, 1, 8, GIB, &levels),
                 4.245662648888889e-3, 1e-12);
    /* algbw 257.14 GB/s; times 1.75 the bandwidth of the link again. */
    assert_close(GIB / time_s, 257.142857142857e9, 1e-12);
    assert_close(GIB / time_s * collective_busbw_factor(COLLECTIVE_ALL_REDUCE, 8), 450e9, 1e-12);
}

static void all_reduces_of_256_ranks_have_the_known_times(void **state)
{
    (void)state;
    /* Ring: 510 * 5 us = 2.55 ms, and 2*255/256 * 64 MiB / 50 GB/s = 2.6738688 ms.
     * Halving-doubling: 16 * 5 us = 0.08 ms, and the same bytes.
     * Tree: 16 * 5 us = 0.08 ms, and 2 * 64 MiB / 50 GB/s = 2.68435456 ms. */
    assert_close(all_reduce_s(ALGORITHM_RING, 256, 64 * MIB, 5e-6, 50e9), 5.2238688e-3, 1e-12);
    assert_close(all_reduce_s(ALGORITHM_HALVING_DOUBLING, 256, 64 * MIB, 5e-6, 50e9), 2.7538688e-3,
                 1e-12);
    assert_close(all_reduce_s(ALGORITHM_TREE, 256, 64 * MIB, 5e-6, 50e9), 2.76435456e-3, 1e-12);
    assert_close(all_reduce_s(ALGORITHM_RING, 256, 64 * KIB, 5e-6, 50e9), 2.5526112e-3, 1e-12);
    assert_close(all_reduce_s(ALGORITHM_HALVING_DOUBLING, 256, 64 * KIB, 5e-6, 50e9), 0.0826112e-3,
                 1e-12);
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

static void a_hierarchical_all_reduce_has_the_known_time(void **state)
{
    (void)state;
    /* 32 nodes of 8, 1 GiB: reduce-scatter and all-gather in the node (1 us, 450 GB/s), 4.17566
     * + 0.014 ms; all-reduce of an eighth between nodes (5 us, 50 GB/s), 5.20094 + 0.310 ms. */
    struct collective_levels levels = {1e-6, 5e-6, 450e9, 50e9};
    assert_close(time_on(COLLECTIVE_ALL_REDUCE, ALGORITHM_HIERARCHICAL, 32, 8, GIB, &levels),
                 9.70059960888889e-3, 1e-12);
    /* A ring over 8 NICs of 50 GB/s, and over one; all 510 rounds of 5 us. */
    levels.alpha_intra_s = 5e-6;
    assert_close(time_on(COLLECTIVE_ALL_REDUCE, ALGORITHM_MULTI_RAIL_RING, 32, 8, GIB, &levels),
                 7.897737599999999e-3, 1e-12);
    assert_close(time_on(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 32, 8, GIB, &levels),
                 45.33190080000001e-3, 1e-12);
}

static void an_all_to_all_has_the_known_time(void **state)
{
    (void)state;
    /* 64 GPUs, 8 a node, 64 MiB each: a NIC carries 56/64 of it, 58,720,256 B, at 50 GB/s
     * 1.17441 ms; the scale-up port 7/64, 7,340,032 B. */
    struct arena *arena = arena_new();
    const struct collective_group group = collective_group_of(arena, 8, 8);
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    assert_int_equal(
        collective_phases(COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, &group, 64 * MIB, phases), 1);
    struct collective_loads loads = collective_loads_new(arena, &group);
    collective_loads_add(arena, &loads, COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 0,
                         phases[0].bytes);
    for (uint32_t i = 0; i < 64; i++) {
        assert_close(loads.nic_out[i], 58720256, 1e-12);
        assert_close(loads.nic_in[i], 58720256, 1e-12);
        assert_close(loads.out[i], 7340032, 1e-12);
    }
    const struct collective_levels levels = {0, 0, 450e9, 50e9};
    assert_close(time_on(COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 8, 8, 64 * MIB, &levels),
                 1.17440512e-3, 1e-12);
    arena_free(arena);
}

/* 264 nodes of 8, 2,112 ranks: 2104/2112 of S leave and enter by each NIC, 7/2112 by each
 * scale-up port, as if all 4.5 million pairs had been visited. */
static void a_large_all_to_all_loads_each_port_as_all_pairs_would(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct collective_group group = collective_group_of(arena, 264, 8);
    struct collective_loads loads = collective_loads_new(arena, &group);
    collective_loads_add(arena, &loads, COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 0,
                         2111.0 / 2112 * MIB);
    for (uint32_t i = 0; i < group.ranks; i++) {
        assert_close(loads.nic_out[i], 2104.0 / 2112 * MIB, 1e-9);
        assert_close(loads.nic_in[i], 2104.0 / 2112 * MIB, 1e-9);
        assert_close(loads.out[i], 7.0 / 2112 * MIB, 1e-9);
        assert_close(loads.in[i], 7.0 / 2112 * MIB, 1e-9);
    }
    arena_free(arena);
}

static void switches_that_reduce_beat_a_ring_by_the_known_factors(void **state)
{
    (void)state;
    /* One node of 8: a port carries 1.125 S through the switch, 1.75 S in a ring: 1.5556.
     * 64 nodes: S into the network's switches, 2*63/64 S in a ring: 1.96875. */
    const struct collective_levels levels = {0, 0, 450e9, 50e9};
    assert_close(time_on(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 1, 8, GIB, &levels) /
                     time_on(COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS, 1, 8, GIB, &levels),
                 1.5555555555555556, 1e-12);
    assert_close(time_on(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 64, 1, GIB, &levels) /
                     time_on(COLLECTIVE_ALL_REDUCE, ALGORITHM_SHARP, 64, 1, GIB, &levels),
                 1.96875, 1e-12);
}

/* What a closed form knows: N, log2 N, S, alpha, B. */
struct form {
    enum collective_operation operation;
    enum collective_algorithm algorithm;
    double (*rounds)(uint32_t ranks);
    double (*share)(uint32_t ranks); /* of S over B */
};

static double log2_of(uint32_t ranks)
{
    double log = 0;
    for (; ranks > 1; ranks /= 2) {
        log++;
    }
    return log;
}

static double one_pass(uint32_t ranks)
{
    return ranks - 1;
}

static double two_passes(uint32_t ranks)
{
    return 2 * one_pass(ranks);
}

static double up_and_down(uint32_t ranks)
{
    return 2 * log2_of(ranks);
}

static double scattered(uint32_t ranks)
{
    return (ranks - 1) / (double)ranks;
}

static double scattered_twice(uint32_t ranks)
{
    return 2 * scattered(ranks);
}

static double whole(uint32_t ranks)
{
    (void)ranks;
    return 1;
}

static double whole_twice(uint32_t ranks)
{
    return 2 * whole(ranks);
}

static double one(uint32_t ranks)
{
    (void)ranks;
    return 1;
}

static double two(uint32_t ranks)
{
    return 2 * one(ranks);
}

/* Thakur, Rabenseifner, Gropp 2005; oracles.md section 4. A tree's broadcast sends S from the
 * root to both trees' roots, which send it on: S/B. */
static const struct form forms[] = {
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, two_passes, scattered_twice},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_MULTI_RAIL_RING, two_passes, scattered_twice},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, up_and_down, whole_twice},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_HALVING_DOUBLING, up_and_down, scattered_twice},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_SHARP, two, whole},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_RING, one_pass, scattered},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_MULTI_RAIL_RING, one_pass, scattered},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_HALVING_DOUBLING, log2_of, scattered},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_PAT, log2_of, scattered},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, one_pass, scattered},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_MULTI_RAIL_RING, one_pass, scattered},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_HALVING_DOUBLING, log2_of, scattered},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_PAT, log2_of, scattered},
    {COLLECTIVE_BROADCAST, ALGORITHM_RING, one_pass, whole},
    {COLLECTIVE_BROADCAST, ALGORITHM_MULTI_RAIL_RING, one_pass, whole},
    {COLLECTIVE_BROADCAST, ALGORITHM_TREE, log2_of, whole},
    {COLLECTIVE_REDUCE, ALGORITHM_RING, one_pass, whole},
    {COLLECTIVE_REDUCE, ALGORITHM_MULTI_RAIL_RING, one_pass, whole},
    {COLLECTIVE_REDUCE, ALGORITHM_TREE, log2_of, whole},
    {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, one, scattered},
};

static void check_form(const struct form *form, uint32_t ranks)
{
    const double alpha_s = 5e-6;
    const double bytes_per_s = 50e9;
    const double expected =
        form->rounds(ranks) * alpha_s + form->share(ranks) * 64 * MIB / bytes_per_s;
    assert_close(flat_s(form->operation, form->algorithm, ranks, 64 * MIB, alpha_s, bytes_per_s),
                 expected, 1e-12);
    /* The same without edges: a phase's bytes are what its busiest rank sends. */
    struct arena *arena = arena_new();
    const struct collective_group group = collective_group_of(arena, ranks, 1);
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    const uint32_t count =
        collective_phases(form->operation, form->algorithm, &group, 64 * MIB, phases);
    assert_close(collective_time_s(phases, count, 0, alpha_s, bytes_per_s), expected, 1e-12);
    arena_free(arena);
}

static void one_level_gives_the_closed_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        for (uint32_t ranks = 4; ranks <= 64; ranks *= 2) {
            check_form(&forms[i], ranks);
        }
    }
}

static void ranks_send_the_published_bytes_of_data_parallelism(void **state)
{
    (void)state;
    /* Llama 3 8B, 64 ranks, fp32 gradients: 2*63/64 * 4 B * 8,030,261,248 = 63.238 GB;
     * sharded: 63/64 * (4 + 2) B = 47.429 GB. */
    const double parameters = 8030261248.0;
    assert_close(all_reduce_s(ALGORITHM_RING, 64, 4 * parameters, 0, 1), 63.238307328e9, 1e-12);
    const double sharded =
        flat_s(COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, 64, 4 * parameters, 0, 1) +
        flat_s(COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 64, 2 * parameters, 0, 1);
    assert_close(sharded, 47.428730496e9, 1e-12);
}

static void ranks_send_the_published_bytes_of_tensor_parallelism(void **state)
{
    (void)state;
    /* Llama 3 70B, tp 8, s 8192, b 1: a tensor of 2*8192*8192 = 134,217,728 B; one
     * all-reduce sends 2*7/8 of it, four a layer. With sequence parallelism five
     * pairs' worth: 10 * 7/8 of it. */
    const double tensor = 2.0 * 8192 * 8192;
    const double once = all_reduce_s(ALGORITHM_RING, 8, tensor, 0, 1);
    const double half = flat_s(COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 8, tensor, 0, 1);
    assert_close(once, 234881024.0, 1e-15);
    assert_close(4 * once, 939524096.0, 1e-15);
    assert_close(10 * half, 1174405120.0, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_all_reduce_of_eight_ranks_has_the_known_time),
        cmocka_unit_test(all_reduces_of_256_ranks_have_the_known_times),
        cmocka_unit_test(ring_and_tree_cross_where_bytes_outweigh_rounds),
        cmocka_unit_test(a_hierarchical_all_reduce_has_the_known_time),
        cmocka_unit_test(an_all_to_all_has_the_known_time),
        cmocka_unit_test(a_large_all_to_all_loads_each_port_as_all_pairs_would),
        cmocka_unit_test(switches_that_reduce_beat_a_ring_by_the_known_factors),
        cmocka_unit_test(one_level_gives_the_closed_forms),
        cmocka_unit_test(ranks_send_the_published_bytes_of_data_parallelism),
        cmocka_unit_test(ranks_send_the_published_bytes_of_tensor_parallelism),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
