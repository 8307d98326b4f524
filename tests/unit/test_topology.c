#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "hw/fabric.h"

#include <string.h>

/* NICs of 50 GB/s, efficiency 1: 4 nodes a leaf group at 2:1, 2 groups a pod at 4:1. */
static const struct cluster rails = {
    .gpus_per_node = 8,
    .domain_nodes = 1,
    .nics_per_node = 8,
    .nic_bytes_per_s = 50e9,
    .nic_efficiency = 1,
    .fabric_kind = FABRIC_RAIL,
    .routing = ROUTING_ECMP,
    .ecmp_paths = 1,
    .has_pxn = true,
    .nodes_per_leaf = 4,
    .oversubscription = 2,
    .uplink_bytes_per_s = 50e9,
    .leaves_per_pod = 2,
    .pod_oversubscription = 4,
    .leaves_per_group = 2,
    .global_oversubscription = 1,
    .dimensions = {4, 3, 5},
    .torus_link_bytes_per_s = 50e9,
};

struct rig {
    struct arena *arena;
    struct topology topology;
};

static void rig_init(struct rig *rig, const struct cluster *cluster, uint32_t nodes, uint32_t ports)
{
    rig->arena = arena_new();
    topology_build(&rig->topology, rig->arena, cluster, nodes, ports);
}

static struct cluster of_kind(enum fabric_kind kind, enum routing_kind routing)
{
    struct cluster cluster = rails;
    cluster.fabric_kind = kind;
    cluster.routing = routing;
    return cluster;
}

static uint32_t links_of(const struct topology *topology, enum link_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->link_count; i++) {
        count += topology->links[i].kind == kind;
    }
    return count;
}

/* Sum of the capacities out of one switch, of one kind. */
static int64_t sum_out(const struct topology *topology, uint32_t from, enum link_kind kind)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < topology->link_count; i++) {
        if (topology->links[i].from == from && topology->links[i].kind == kind) {
            sum += topology->links[i].capacity;
        }
    }
    return sum;
}

static uint32_t switches_of(const struct topology *topology, uint8_t level)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->switch_count; i++) {
        count += topology->switches[i].level == level;
    }
    return count;
}

/* The obvious way: relax all links until nothing changes. */
static void measure_slowly(const struct topology *topology, uint32_t to, uint32_t *hops)
{
    for (uint32_t i = 0; i < topology->switch_count; i++) {
        hops[i] = i == to ? 0 : TOPOLOGY_FAR;
    }
    for (bool is_changing = true; is_changing;) {
        is_changing = false;
        for (uint32_t i = 0; i < topology->link_count; i++) {
            const struct topology_link *link = &topology->links[i];
            if (hops[link->to] + 1 < hops[link->from]) {
                hops[link->from] = hops[link->to] + 1;
                is_changing = true;
            }
        }
    }
}

/* ---- every kind --------------------------------------------------------------------- */

/* The formulas for trees and grids, and the search that stops early, against the slow search;
 * and each next hop is one nearer, none is left out. */
static void distances_and_next_hops_agree_with_a_plain_search(void **state)
{
    (void)state;
    static const enum fabric_kind kinds[] = {FABRIC_RAIL, FABRIC_RAIL_ONLY, FABRIC_TREE,
                                             FABRIC_DRAGONFLY, FABRIC_TORUS};
    for (uint32_t k = 0; k < 2 * sizeof kinds / sizeof *kinds; k++) {
        struct rig rig;
        const struct cluster cluster =
            of_kind(kinds[k / 2], k % 2 == 0 ? ROUTING_ECMP : ROUTING_ADAPTIVE);
        rig_init(&rig, &cluster, 28, 4); /* 7 leaf groups: the last pod is not full */
        const struct topology *t = &rig.topology;
        uint32_t *hops = arena_array(rig.arena, t->switch_count, sizeof *hops);
        uint32_t *links = arena_array(rig.arena, t->degree_max, sizeof *links);
        for (uint32_t to = 0; to < t->switch_count; to++) {
            measure_slowly(t, to, hops);
            for (uint32_t at = 0; at < t->switch_count; at++) {
                assert_int_equal(topology_distance(t, at, to), hops[at]);
                uint32_t nearer = 0;
                for (uint32_t i = 0; i < t->link_count; i++) {
                    nearer += at != to && hops[at] != TOPOLOGY_FAR && t->links[i].from == at &&
                              hops[t->links[i].to] + 1 == hops[at];
                }
                const uint32_t count = at == to ? 0 : topology_next(t, at, to, links);
                assert_int_equal(count, nearer);
                for (uint32_t i = 0; i < count; i++) {
                    assert_int_equal(t->links[links[i]].from, at);
                    assert_int_equal(hops[t->links[links[i]].to] + 1, hops[at]);
                }
            }
        }
        arena_free(rig.arena);
    }
}

static void the_way_back_of_a_link_is_its_neighbour(void **state)
{
    (void)state;
    for (uint32_t kind = FABRIC_RAIL; kind < FABRIC_EXPLICIT; kind++) {
        struct rig rig;
        const struct cluster cluster = of_kind((enum fabric_kind)kind, ROUTING_ECMP);
        rig_init(&rig, &cluster, 28, 8);
        for (uint32_t i = 0; i < rig.topology.link_count; i++) {
            assert_int_equal(rig.topology.links[i].from, rig.topology.links[i ^ 1u].to);
            assert_int_equal(rig.topology.links[i].to, rig.topology.links[i ^ 1u].from);
        }
        arena_free(rig.arena);
    }
}

/* ---- levels ------------------------------------------------------------------------- */

/* 16 nodes are 4 leaf groups of 8 rails, 2 pods. A leaf serves 4 ports of 50 GB/s, at 2:1
 * 100 GB/s up: 2 spines of 50 GB/s. A pod has 16 leaves with 1,600 GB/s up, at 4:1 400 GB/s out:
 * 200 GB/s of each spine, 4 cores each. */
static void a_three_level_rail_fabric_has_the_switches_that_its_bandwidth_asks_for(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rails, 16, 8);
    assert_int_equal(switches_of(&rig.topology, 1), 32);
    assert_int_equal(switches_of(&rig.topology, 2), 4);
    assert_int_equal(switches_of(&rig.topology, 3), 8);
    assert_int_equal(links_of(&rig.topology, LINK_LEAF_UP), 64);
    assert_int_equal(links_of(&rig.topology, LINK_LEAF_DOWN), 64);
    assert_int_equal(links_of(&rig.topology, LINK_POD_UP), 16);
    arena_free(rig.arena);
}

/* Same rail in a leaf group: one switch, 0 links. Another group of the pod: leaf, spine, leaf,
 * 2 links. Another pod: leaf, spine, core, spine, leaf, 4 links. Other rails are other leaves. */
static void path_lengths_of_rails(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rails, 16, 8);
    const struct topology *t = &rig.topology;
    const uint32_t *at = t->port_switch;
    assert_int_equal(topology_distance(t, at[0 * 8 + 3], at[3 * 8 + 3]), 0);
    assert_int_equal(topology_distance(t, at[0 * 8 + 3], at[4 * 8 + 3]), 2);
    assert_int_equal(topology_distance(t, at[0 * 8 + 3], at[8 * 8 + 3]), 4);
    assert_int_equal(topology_distance(t, at[0 * 8 + 3], at[0 * 8 + 4]), 2);
    arena_free(rig.arena);
}

/* 5 nodes of 7 ports of 10 GB/s on a leaf, 350 GB/s; at 3:1 116.67 GB/s up, over 12 up-links of
 * 10 GB/s: none divides evenly, and yet they sum up to the byte; so do the 2-group pod's, whose
 * 233.33 GB/s at 7:1 are 33.33 GB/s. Merged, one link has the sum. */
static void shares_sum_up_exactly(void **state)
{
    (void)state;
    struct cluster tree = of_kind(FABRIC_TREE, ROUTING_ECMP);
    tree.nics_per_node = 7;
    tree.gpus_per_node = 7;
    tree.nic_bytes_per_s = 10e9;
    tree.uplink_bytes_per_s = 10e9;
    tree.nodes_per_leaf = 5;
    tree.oversubscription = 3;
    tree.pod_oversubscription = 7;
    for (uint32_t routing = 0; routing < 2; routing++) {
        struct rig rig;
        tree.routing = routing;
        rig_init(&rig, &tree, 40, 7);
        const struct topology *t = &rig.topology;
        int64_t pod = 0;
        for (uint32_t s = 0; s < t->switch_count; s++) {
            if (t->switches[s].level == 1) {
                assert_int_equal(sum_out(t, s, LINK_LEAF_UP), 116666666667);
            }
            pod += t->switches[s].pod == 1 ? sum_out(t, s, LINK_POD_UP) : 0;
        }
        assert_int_equal(pod, 33333333333);
        assert_int_equal(switches_of(t, 2), routing == ROUTING_ECMP ? 4 * 12 : 4);
        arena_free(rig.arena);
    }
}

/* A tree hangs all 8 ports of a node on one leaf. */
static void a_tree_has_one_leaf_in_a_group(void **state)
{
    (void)state;
    struct rig rig;
    const struct cluster tree = of_kind(FABRIC_TREE, ROUTING_ADAPTIVE);
    rig_init(&rig, &tree, 16, 8);
    assert_int_equal(switches_of(&rig.topology, 1), 4);
    assert_int_equal(rig.topology.port_switch[5 * 8 + 7], 1);
    assert_int_equal(sum_out(&rig.topology, 1, LINK_LEAF_UP), 4 * 8 * 50000000000 / 2);
    arena_free(rig.arena);
}

static void rails_of_a_rail_only_fabric_never_meet(void **state)
{
    (void)state;
    struct rig rig;
    const struct cluster cluster = of_kind(FABRIC_RAIL_ONLY, ROUTING_ADAPTIVE);
    rig_init(&rig, &cluster, 4, 8);
    assert_int_equal(rig.topology.switch_count, 8);
    assert_int_equal(rig.topology.link_count, 0);
    assert_int_equal(topology_distance(&rig.topology, 0, 1), TOPOLOGY_FAR);
    arena_free(rig.arena);
}

/* ---- dragonfly, torus --------------------------------------------------------------- */

/* 28 nodes are 7 leaves in 4 groups. A leaf sends 4 x 8 x 50 GB/s at 2:1 = 800 GB/s up, a group of
 * 2 leaves 1,600 GB/s to 3 others: 533.33 GB/s, 11 links of about 50 GB/s to each. Two leaves of
 * different groups are at most leaf, spine, spine, leaf: 3 links. */
static void a_dragonfly_joins_every_pair_of_groups(void **state)
{
    (void)state;
    struct rig rig;
    const struct cluster cluster = of_kind(FABRIC_DRAGONFLY, ROUTING_ECMP);
    rig_init(&rig, &cluster, 28, 8);
    const struct topology *t = &rig.topology;
    assert_int_equal(switches_of(t, 1), 7);
    assert_int_equal(switches_of(t, 2), 4 * 16);
    assert_int_equal(links_of(t, LINK_GLOBAL), 2 * 11 * 6);
    for (uint32_t a = 0; a < 7; a++) {
        for (uint32_t b = 0; b < 7; b++) {
            const uint32_t expected = a == b ? 0 : a / 2 == b / 2 ? 2 : 3;
            assert_int_equal(topology_distance(t, a, b), expected);
        }
    }
    for (uint32_t group = 0; group < 4; group++) {
        int64_t out = 0;
        for (uint32_t s = 0; s < t->switch_count; s++) {
            out += t->switches[s].pod == group ? sum_out(t, s, LINK_GLOBAL) : 0;
        }
        assert_int_equal(out, 1600000000000);
    }
    arena_free(rig.arena);
}

/* 4 x 3 x 5: node (1, 0, 0) is 1, (0, 1, 0) is 4, (0, 0, 1) is 12. From (0, 0, 0) to (3, 2, 3):
 * one step back in each of x (4) and y (3), two in z (5): 4 hops. */
static void a_torus_counts_steps_the_shorter_way_round(void **state)
{
    (void)state;
    struct rig rig;
    const struct cluster cluster = of_kind(FABRIC_TORUS, ROUTING_ADAPTIVE);
    rig_init(&rig, &cluster, 60, 8);
    const struct topology *t = &rig.topology;
    assert_int_equal(topology_distance(t, 0, 3 + 4 * (2 + 3 * 3)), 4);
    assert_int_equal(topology_distance(t, 0, 2), 2);
    assert_int_equal(t->link_count, 60 * 6); /* six neighbours each */
    assert_int_equal(t->port_switch[17 * 8 + 5], 17);
    arena_free(rig.arena);
}

/* Between the two nodes of a dimension of 2 there is one link, not one each way round. */
static void a_dimension_of_two_has_one_link(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster cluster = of_kind(FABRIC_TORUS, ROUTING_ADAPTIVE);
    cluster.dimensions[0] = 2;
    cluster.dimensions[1] = 3;
    cluster.dimensions[2] = 1;
    rig_init(&rig, &cluster, 6, 1);
    assert_int_equal(rig.topology.link_count, 6 * 3);
    arena_free(rig.arena);
}

/* ---- explicit ----------------------------------------------------------------------- */

/* Two leaves of two nodes; 3 cables to spine a, 1 to spine b; leaf 0 must reach leaf 1 by b. */
static const struct cluster_switch switches[] = {
    {.name = "leaf0"}, {.name = "leaf1"}, {.name = "a"}, {.name = "b"}};
static const struct cluster_port ports[] = {{0, 0, 1, -1}, {1, 2, 3, 0}, {1, 2, 3, 1}};
static const struct cluster_link cables[] = {
    {0, 2, 10e9, 3}, {1, 2, 10e9, 3}, {0, 3, 10e9, 1}, {1, 3, 10e9, 1}};
static const struct cluster_route routes[] = {{.at = 0, .to = 1, .via = 3}};

static struct cluster listed(enum routing_kind routing)
{
    struct cluster cluster = of_kind(FABRIC_EXPLICIT, routing);
    cluster.nics_per_node = 2;
    cluster.gpus_per_node = 2;
    cluster.switches = (struct cluster_switch *)switches;
    cluster.ports = (struct cluster_port *)ports;
    cluster.links = (struct cluster_link *)cables;
    cluster.routes = (struct cluster_route *)routes;
    cluster.switch_count = 4;
    cluster.port_count = 3;
    cluster.link_count = 4;
    return cluster;
}

/* ECMP sees 3 + 1 cables of 10 GB/s from leaf 0; adaptive routing two links, 30 and 10. */
static void cables_are_merged_for_adaptive_routing_only(void **state)
{
    (void)state;
    uint32_t links[8];
    for (uint32_t routing = 0; routing < 2; routing++) {
        struct rig rig;
        const struct cluster cluster = listed((enum routing_kind)routing);
        const bool merges = routing == ROUTING_ADAPTIVE;
        rig_init(&rig, &cluster, 4, 2);
        assert_int_equal(rig.topology.link_count, merges ? 8 : 16);
        assert_int_equal(topology_next(&rig.topology, 0, 1, links), merges ? 2 : 4);
        assert_int_equal(rig.topology.links[links[0]].capacity, merges ? 30000000000 : 10000000000);
        assert_int_equal(rig.topology.port_switch[3 * 2 + 1], 1);
        assert_string_equal(rig.topology.switches[2].name, "a");
        assert_int_equal(rig.topology.switches[2].level, 2);
        arena_free(rig.arena);
    }
}

/* NIC 1 of each node hangs on leaf0, NIC 0 on leaf1; the later line is of NIC 0 and moves no
 * other. */
static void a_nic_that_is_named_hangs_where_it_says(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster_port by_rail[] = {{0, 0, 3, 1}, {1, 0, 3, 0}};
    struct cluster cluster = listed(ROUTING_ADAPTIVE);
    cluster.ports = by_rail;
    cluster.port_count = 2;
    rig_init(&rig, &cluster, 4, 2);
    for (uint32_t node = 0; node < 4; node++) {
        assert_int_equal(rig.topology.port_switch[2 * node], 1);
        assert_int_equal(rig.topology.port_switch[2 * node + 1], 0);
    }
    arena_free(rig.arena);
}

static void a_route_of_the_file_overrules_the_shortest_way(void **state)
{
    (void)state;
    struct rig rig;
    uint32_t links[8];
    struct cluster cluster = listed(ROUTING_ECMP);
    cluster.route_count = 1;
    rig_init(&rig, &cluster, 4, 2);
    assert_int_equal(topology_next(&rig.topology, 0, 1, links), 1);
    assert_int_equal(rig.topology.links[links[0]].to, 3);
    assert_int_equal(topology_next(&rig.topology, 1, 0, links), 4);
    arena_free(rig.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_and_next_hops_agree_with_a_plain_search),
        cmocka_unit_test(the_way_back_of_a_link_is_its_neighbour),
        cmocka_unit_test(a_three_level_rail_fabric_has_the_switches_that_its_bandwidth_asks_for),
        cmocka_unit_test(path_lengths_of_rails),
        cmocka_unit_test(shares_sum_up_exactly),
        cmocka_unit_test(a_tree_has_one_leaf_in_a_group),
        cmocka_unit_test(rails_of_a_rail_only_fabric_never_meet),
        cmocka_unit_test(a_dragonfly_joins_every_pair_of_groups),
        cmocka_unit_test(a_torus_counts_steps_the_shorter_way_round),
        cmocka_unit_test(a_dimension_of_two_has_one_link),
        cmocka_unit_test(cables_are_merged_for_adaptive_routing_only),
        cmocka_unit_test(a_nic_that_is_named_hangs_where_it_says),
        cmocka_unit_test(a_route_of_the_file_overrules_the_shortest_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
