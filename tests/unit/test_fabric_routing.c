/* How transfers spread over links that lie side by side: adaptively, by a hash, over bonded ports;
 * at what rate ports are staged; and what a reduction in the switches crosses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/fabric_rig.h"
#include "base/arena.h"
#include "base/rng.h"
#include "des/fluid.h"

#include <math.h>

/* ---- adaptive routing --------------------------------------------------------------- */

/* A 4 x 4 x 4 torus: from (0,0,0) to (2,1,0) the ways lead through x both ways round (2 is
 * half of 4) and y. What leaves node 0 and what enters the destination is the whole usage, for a
 * usage that no way divides; three hops, so links carry three times the usage together. */
static void spreading_loses_nothing(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster torus = rig_rails;
    torus.fabric_kind = FABRIC_TORUS;
    rig_init(&rig, &torus, 512);
    const uint64_t usage = 65537;
    rig_send(&rig, 0, 8 * (2 + 4), usage);
    uint64_t out = 0;
    uint64_t in = 0;
    for (uint32_t i = 0; i < rig.route.count; i++) {
        const uint32_t link = rig.route.crossings[i].link;
        if (fabric_link_kind(&rig.fabric, link) == LINK_TORUS) {
            const struct topology_link *l =
                &rig.fabric.topology.links[link - rig.fabric.first[LINK_SWITCH_FIRST_]];
            out += l->from == 0 ? rig.route.crossings[i].usage : 0;
            in += l->to == 6 ? rig.route.crossings[i].usage : 0;
        }
    }
    assert_int_equal(out, usage);
    assert_int_equal(in, usage);
    assert_int_equal(rig_sum(&rig, LINK_TORUS), 3 * usage);
    assert_int_equal(rig.route.hops_max, 4);
    assert_true(rig_crossings(&rig, LINK_TORUS) > 6);
    arena_free(rig.arena);
}

/* ---- ECMP --------------------------------------------------------------------------- */

/* 32 nodes a leaf at 1:1 and 2 groups: 32 spines over each rail's leaves. */
static struct cluster hashed(void)
{
    struct cluster cluster = rig_rails;
    cluster.routing = ROUTING_ECMP;
    cluster.nodes_per_leaf = 32;
    cluster.oversubscription = 1;
    cluster.leaves_per_pod = 0;
    return cluster;
}

/* One rail's 32 nodes all send to the other group, 50 GB/s each over 32 up-links of 50 GB/s.
 * If each had its own, the rate would be 50 GB/s. A hash gives 32 different ones with
 * probability 32!/32^32 = 2e-13: some link carries at least two. */
static void collisions_are_real_and_reproducible(void **state)
{
    (void)state;
    struct cluster cluster = hashed();
    uint64_t sums[3];
    for (uint32_t run = 0; run < 3; run++) {
        struct rig rig;
        rig.arena = arena_new();
        fabric_init(&rig.fabric, rig.arena, &cluster, &rig_gpu, 512, run == 2 ? 8 : 7);
        fabric_trace_begin(&rig.fabric);
        for (uint32_t node = 0; node < 32; node++) {
            fabric_trace_send(&rig.fabric, 8 * node, 8 * (node + 32), FLUID_USAGE_ONE);
        }
        fabric_trace_end(&rig.fabric, &rig.route);
        assert_int_equal(rig_sum(&rig, LINK_LEAF_UP), 32 * FLUID_USAGE_ONE);
        assert_true(rig.route.cap_bytes_per_s <= 25000000000);
        assert_int_equal(fabric_link_kind(&rig.fabric, rig.route.bottleneck), LINK_LEAF_UP);
        sums[run] = 0;
        for (uint32_t i = 0; i < rig.route.count; i++) {
            const struct fabric_crossing *crossing = &rig.route.crossings[i];
            sums[run] = rng_mix(sums[run] + crossing->link + (crossing->usage << 32));
        }
        arena_free(rig.arena);
    }
    assert_true(sums[0] == sums[1]);
    assert_true(sums[0] != sums[2]);
}

/* 8 rails, 32 x 32 pairs of nodes: 8,192 connections over 8 x 32 up-links are 32 each on average
 * with a standard deviation of 5.6; all of 256 lie within 5 of these, 4 to 60, unless
 * something is wrong (one chance in 7,000). */
static void a_hash_spreads_evenly(void **state)
{
    (void)state;
    struct rig rig;
    const struct cluster cluster = hashed();
    rig_init(&rig, &cluster, 512);
    fabric_trace_begin(&rig.fabric);
    for (uint32_t from = 0; from < 256; from++) {
        for (uint32_t node = 32; node < 64; node++) {
            fabric_trace_send(&rig.fabric, from, 8 * node + from % 8, FLUID_USAGE_ONE);
        }
    }
    fabric_trace_end(&rig.fabric, &rig.route);
    assert_int_equal(rig_crossings(&rig, LINK_LEAF_UP), 256);
    for (uint32_t i = 0; i < rig.route.count; i++) {
        if (fabric_link_kind(&rig.fabric, rig.route.crossings[i].link) == LINK_LEAF_UP) {
            assert_in_range(rig.route.crossings[i].usage, 4 * FLUID_USAGE_ONE,
                            60 * FLUID_USAGE_ONE);
        }
    }
    arena_free(rig.arena);
}

/* 3 connections share 65,536: 21,846 + 21,845 + 21,845 on the up-links that they take. */
static void paths_share_a_transfer_exactly(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster cluster = hashed();
    cluster.ecmp_paths = 3;
    rig_init(&rig, &cluster, 512);
    rig_send(&rig, 0, 8 * 32, FLUID_USAGE_ONE);
    assert_int_equal(rig_sum(&rig, LINK_LEAF_UP), FLUID_USAGE_ONE);
    assert_int_equal(rig_sum(&rig, LINK_LEAF_DOWN), FLUID_USAGE_ONE);
    assert_in_range(rig_crossings(&rig, LINK_LEAF_UP), 1, 3);
    arena_free(rig.arena);
}

/* A NIC of 50 GB/s is two bonded ports of 25. A transfer of two connections from another leaf
 * finds both ports with one chance in two, and its 65,536 parts are 32,768 on each: 50 GB/s.
 * Otherwise all are on one: 25. Of 256 NICs half see either, 128 with a deviation of 8. Within a
 * leaf the ports are the sender's, one connection on each. */
static void connections_may_meet_on_a_bonded_port(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster cluster = hashed();
    cluster.ecmp_paths = 2;
    cluster.bonded_ports = 2;
    cluster.uplink_bytes_per_s = 400e9; /* the up-links never bind */
    rig_init(&rig, &cluster, 512);
    uint32_t halved = 0;
    for (uint32_t from = 0; from < 256; from++) {
        rig_send(&rig, from, from + 256, FLUID_USAGE_ONE);
        assert_int_equal(rig_sum(&rig, LINK_NIC_IN), FLUID_USAGE_ONE);
        const uint32_t ports = rig_crossings(&rig, LINK_NIC_IN);
        assert_int_equal(rig.route.cap_bytes_per_s, ports == 2 ? 50000000000 : 25000000000);
        halved += ports == 1;
    }
    assert_in_range(halved, 128 - 5 * 8, 128 + 5 * 8);
    rig_send(&rig, 0, 8, FLUID_USAGE_ONE); /* the next node, on the same leaf */
    assert_int_equal(rig_crossings(&rig, LINK_NIC_IN), 2);
    assert_int_equal(rig.route.cap_bytes_per_s, 50000000000);
    arena_free(rig.arena);
}

/* What meets on one port of 25 GB/s is staged at that rate: 1 / (1/25 + 1/100) = 20 GB/s; what has
 * both leaves by a NIC of 50, 1 / (1/50 + 1/100) = 33.3. */
static void a_bonded_port_is_staged_at_its_own_rate(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster cluster = hashed();
    cluster.ecmp_paths = 2;
    cluster.bonded_ports = 2;
    cluster.uplink_bytes_per_s = 400e9;
    rig_init(&rig, &cluster, 512);
    fabric_derate(&rig.fabric, (struct fabric_losses){1, 100e9});
    for (uint32_t from = 0; from < 64; from++) {
        rig_send(&rig, from, from + 256, FLUID_USAGE_ONE);
        const bool meets = rig_crossings(&rig, LINK_NIC_IN) == 1;
        assert_int_equal(rig.route.cap_bytes_per_s, meets ? 20000000000 : 33333333333);
    }
    arena_free(rig.arena);
}

/* Adaptive routing has no hash, so the same NIC is one link. */
static void bonded_ports_are_one_link_without_a_hash(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster cluster = rig_rails;
    cluster.bonded_ports = 2;
    rig_init(&rig, &cluster, 512);
    rig_send(&rig, 0, 256, FLUID_USAGE_ONE);
    assert_int_equal(rig_usage(&rig, LINK_NIC_IN, 256), FLUID_USAGE_ONE);
    arena_free(rig.arena);
}

/* A NIC of 50 GB/s behind GPUs that stage at 150 has 1 / (1/50 + 1/150) = 37.5 GB/s, one of 6.25
 * has 6. Two GPUs that share a NIC stage at 300 together: 42.857. Up-links are wires. */
static void staging_is_a_time_for_each_byte(void **state)
{
    (void)state;
    static const struct {
        int64_t nics;
        double nic, staged;
    } rows[] = {{8, 50e9, 37.5e9}, {8, 6.25e9, 6e9}, {4, 50e9, 300e9 / 7}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rig rig;
        struct cluster cluster = rig_rails;
        cluster.nics_per_node = rows[i].nics;
        cluster.nic_bytes_per_s = rows[i].nic;
        rig_init(&rig, &cluster, 64);
        const struct fabric *f = &rig.fabric;
        const uint32_t up_link = f->first[LINK_SWITCH_FIRST_];
        const int64_t up = fabric_link_capacity(f, up_link);
        fabric_derate(&rig.fabric, (struct fabric_losses){1, 150e9});
        assert_int_equal(fabric_link_capacity(f, f->first[LINK_NIC_OUT]), llround(rows[i].staged));
        assert_int_equal(fabric_link_capacity(f, f->first[LINK_NIC_IN]), llround(rows[i].staged));
        assert_int_equal(fabric_link_capacity(f, up_link), up);
        arena_free(rig.arena);
    }
}

/* A port of 50 GB/s behind GPUs that stage at 150 carries 37.5 of staged bytes, and 50 of those
 * that kernels write to it themselves. A bonded port under ECMP has two links in of 25 GB/s each,
 * staged 21.4. */
static void what_is_not_staged_has_all_of_the_port(void **state)
{
    (void)state;
    for (uint32_t bonded = 1; bonded <= 2; bonded++) {
        struct rig rig;
        struct cluster cluster = hashed();
        cluster.bonded_ports = bonded;
        cluster.uplink_bytes_per_s = 400e9;
        rig_init(&rig, &cluster, 512);
        fabric_derate(&rig.fabric, (struct fabric_losses){1, 150e9});
        for (uint32_t is_direct = 0; is_direct < 2; is_direct++) {
            fabric_trace_begin(&rig.fabric);
            if (is_direct) {
                fabric_trace_direct(&rig.fabric);
            }
            fabric_trace_send(&rig.fabric, 3, 259, FLUID_USAGE_ONE);
            fabric_trace_end(&rig.fabric, &rig.route);
            const double port = is_direct ? 50e9 : 37.5e9;
            const double lane = is_direct ? 25e9 : 1 / (1 / 25e9 + 1 / 150e9);
            assert_close((double)rig.route.cap_bytes_per_s, bonded == 1 ? port : lane, 1e-6);
            /* What is not staged asks of 50 GB/s for 37.5 / 50 of what is, to the nearest part. */
            assert_int_equal(rig_usage(&rig, LINK_NIC_OUT, 3),
                             is_direct ? FLUID_USAGE_ONE / 4 * 3 : FLUID_USAGE_ONE);
        }
        rig_send(&rig, 3, 259, FLUID_USAGE_ONE); /* the next trace is staged again */
        assert_true(rig.route.cap_bytes_per_s < 40000000000);
        arena_free(rig.arena);
    }
}

/* ---- reduction in the network ------------------------------------------------------- */

/* One rail of 16 nodes in 4 leaf groups, 2 pods: 16 ports each way; the tree joins 4 leaves, 2
 * spines and the core by 6 pairs of links, each crossed once each way however many nodes lie
 * below. */
static void a_reduction_crosses_each_link_of_its_tree_once(void **state)
{
    (void)state;
    for (uint32_t routing = 0; routing < 2; routing++) {
        struct rig rig;
        struct cluster cluster = rig_rails;
        cluster.routing = routing;
        uint32_t ranks[16];
        for (uint32_t i = 0; i < 16; i++) {
            ranks[i] = 8 * i + 3;
        }
        rig_init(&rig, &cluster, 128);
        fabric_trace_begin(&rig.fabric);
        fabric_trace_reduction(&rig.fabric, ranks, 16, FLUID_USAGE_ONE);
        fabric_trace_end(&rig.fabric, &rig.route);
        assert_int_equal(rig_crossings(&rig, LINK_NIC_OUT), 16);
        assert_int_equal(rig_crossings(&rig, LINK_NIC_IN), 16);
        assert_int_equal(rig_crossings(&rig, LINK_LEAF_UP), 4);
        assert_int_equal(rig_crossings(&rig, LINK_LEAF_DOWN), 4);
        assert_int_equal(rig_crossings(&rig, LINK_POD_UP), 2);
        assert_int_equal(rig_crossings(&rig, LINK_POD_DOWN), 2);
        assert_int_equal(rig.route.count, 44);
        for (uint32_t i = 0; i < rig.route.count; i++) {
            assert_int_equal(rig.route.crossings[i].usage, FLUID_USAGE_ONE);
        }
        assert_int_equal(rig.route.hops_max, 5);
        arena_free(rig.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spreading_loses_nothing),
        cmocka_unit_test(collisions_are_real_and_reproducible),
        cmocka_unit_test(a_hash_spreads_evenly),
        cmocka_unit_test(paths_share_a_transfer_exactly),
        cmocka_unit_test(staging_is_a_time_for_each_byte),
        cmocka_unit_test(what_is_not_staged_has_all_of_the_port),
        cmocka_unit_test(connections_may_meet_on_a_bonded_port),
        cmocka_unit_test(a_bonded_port_is_staged_at_its_own_rate),
        cmocka_unit_test(bonded_ports_are_one_link_without_a_hash),
        cmocka_unit_test(a_reduction_crosses_each_link_of_its_tree_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
