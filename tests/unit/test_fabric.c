/* Links of a fabric, and those that sends and rings cross on it, by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/fabric_rig.h"
#include "base/arena.h"
#include "des/fluid.h"

#include <math.h>

/* Six links of 25 GB/s from GPU to GPU, one to each other: a group of n has (n - 1) x 25 GB/s of
 * each GPU, at most all 150, however its ring goes; a send has a pair's 25; NICs are as before. */
static void without_a_switch_a_group_has_the_links_within_it(void **state)
{
    (void)state;
    struct cluster mesh = rig_rails;
    mesh.scale_up_bytes_per_s = 150e9;
    mesh.peer_bytes_per_s = 25e9;
    struct rig rig;
    rig_init(&rig, &mesh, 16);
    static const uint32_t ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const int64_t expected[] = {0, 0, 25, 50, 75, 100, 125, 150, 150};
    for (uint32_t count = 2; count <= 8; count++) {
        fabric_trace_begin(&rig.fabric);
        fabric_trace_group(&rig.fabric, count);
        for (uint32_t i = 0; i < count; i++) {
            fabric_trace_send(&rig.fabric, ranks[i], ranks[(i + 1) % count], FLUID_USAGE_ONE);
        }
        fabric_trace_end(&rig.fabric, &rig.route);
        /* usages are 24 bits behind the point */
        assert_true(llabs(rig.route.cap_bytes_per_s - expected[count] * 1000000000) < 20000);
    }
    rig_send(&rig, 3, 6, FLUID_USAGE_ONE);
    assert_true(llabs(rig.route.cap_bytes_per_s - 25000000000) < 20000);
    rig_send(&rig, 3, 11, FLUID_USAGE_ONE);
    assert_int_equal(rig.route.cap_bytes_per_s, 50000000000);
    /* to another rail by a GPU beside it: also of a group with one GPU a node that is a pair */
    fabric_trace_begin(&rig.fabric);
    fabric_trace_group(&rig.fabric, 1);
    fabric_trace_send(&rig.fabric, 3, 12, FLUID_USAGE_ONE);
    fabric_trace_end(&rig.fabric, &rig.route);
    assert_true(llabs(rig.route.cap_bytes_per_s - 25000000000) < 20000);
    arena_free(rig.arena);
}

/* ---- links -------------------------------------------------------------------------- */

/* A leaf serves one rail of 4 nodes: 4 x 50 GB/s down, at 2:1 100 GB/s up. A pod has
 * 2 groups of 8 leaves: 16 x 100 GB/s, at 4:1 400 GB/s. */
static void links_are_counted_under_their_kinds(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rig_rails, 128);
    uint32_t counts[LINK_KIND_COUNT_];
    uint32_t seen[LINK_KIND_COUNT_] = {0};
    fabric_count_links(&rig.fabric, counts);
    for (uint32_t link = 0; link < rig.fabric.link_count; link++) {
        seen[fabric_link_kind(&rig.fabric, link)]++;
    }
    assert_memory_equal(counts, seen, sizeof counts);
    assert_int_equal(counts[LINK_NIC_OUT], 128);
    arena_free(rig.arena);
}

static void capacities_follow_the_oversubscription(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rig_rails, 128);
    assert_int_equal(rig_capacity(&rig, LINK_NIC_OUT), 50000000000);
    assert_int_equal(rig_capacity(&rig, LINK_LEAF_UP), 100000000000);
    assert_int_equal(rig_capacity(&rig, LINK_POD_UP), 400000000000);
    assert_int_equal(rig.fabric.nodes, 16);
    arena_free(rig.arena);
}

/* More NICs than GPUs: a GPU's port has its share of them. 32 x 100 Gbps = 8 x 50 GB/s. */
static void a_gpu_with_several_nics_has_one_wide_port(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster many = rig_rails;
    many.nics_per_node = 32;
    many.nic_bytes_per_s = 12.5e9;
    rig_init(&rig, &many, 16);
    assert_int_equal(rig.fabric.ports_per_node, 8);
    assert_int_equal(rig_capacity(&rig, LINK_NIC_OUT), 50000000000);
    arena_free(rig.arena);
}

static void links_have_names_for_people(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rig_rails, 128);
    const struct fabric *f = &rig.fabric;
    assert_string_equal(fabric_link_name(rig.arena, f, 12), "scale-up port out, GPU 12");
    assert_string_equal(fabric_link_name(rig.arena, f, f->first[LINK_NIC_IN] + 29),
                        "NIC in, node 3 port 5");
    assert_string_equal(fabric_link_name(rig.arena, f, f->first[LINK_STORAGE]), "file system");
    assert_string_equal(fabric_link_name(rig.arena, f, f->first[LINK_STORAGE_READ]),
                        "file system, reading");
    assert_string_equal(fabric_link_name(rig.arena, f, f->first[LINK_SWITCH_FIRST_]),
                        "leaf 0 -> spine 0");
    arena_free(rig.arena);
}

/* ---- sends -------------------------------------------------------------------------- */

/* Inside a node 2 links. On a rail: same group 2 NICs, 1 switch; other group also a leaf's
 * up-link and one's down-link, 3 switches; other pod also two pod links, 5 switches. */
static void a_send_on_a_rail_crosses_what_lies_between(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rig_rails, 128);
    rig_send(&rig, 2, 5, FLUID_USAGE_ONE);
    assert_int_equal(rig.route.count, 2);
    assert_int_equal(rig.route.hops_max, 0);
    rig_send(&rig, 2, 26, FLUID_USAGE_ONE);
    assert_int_equal(rig.route.count, 2);
    assert_int_equal(rig.route.hops_max, 1);
    assert_int_equal(rig_usage(&rig, LINK_NIC_OUT, 2), FLUID_USAGE_ONE);
    assert_int_equal(rig_usage(&rig, LINK_NIC_IN, 26), FLUID_USAGE_ONE);
    rig_send(&rig, 2, 34, FLUID_USAGE_ONE);
    assert_int_equal(rig.route.count, 4);
    assert_int_equal(rig.route.hops_max, 3);
    assert_int_equal(rig_crossings(&rig, LINK_LEAF_UP), 1);
    assert_int_equal(rig_crossings(&rig, LINK_LEAF_DOWN), 1);
    rig_send(&rig, 2, 66, FLUID_USAGE_ONE);
    assert_int_equal(rig.route.count, 6);
    assert_int_equal(rig.route.hops_max, 5);
    assert_int_equal(rig_crossings(&rig, LINK_POD_UP), 1);
    arena_free(rig.arena);
}

/* From one leaf to one leaf of another pod: the first send finds the way, the second goes along it,
 * the third, within the pod, finds its own, the fourth the first one's again. Each crosses a leaf's
 * up-link, three a pod's; the furthest crosses five switches, whichever came last. */
static void a_way_that_is_known_is_the_way_that_was_found(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rig_rails, 128);
    static const uint32_t sends[][2] = {{2, 66}, {10, 74}, {18, 34}, {26, 82}};
    fabric_trace_begin(&rig.fabric);
    for (uint32_t i = 0; i < sizeof sends / sizeof *sends; i++) {
        fabric_trace_send(&rig.fabric, sends[i][0], sends[i][1], FLUID_USAGE_ONE);
    }
    fabric_trace_end(&rig.fabric, &rig.route);
    assert_int_equal(rig.route.hops_max, 5);
    uint64_t usage[LINK_KIND_COUNT_] = {0};
    for (uint32_t i = 0; i < rig.route.count; i++) {
        const struct fabric_crossing *crossing = &rig.route.crossings[i];
        usage[fabric_link_kind(&rig.fabric, crossing->link)] += crossing->usage / FLUID_USAGE_ONE;
    }
    assert_int_equal(usage[LINK_NIC_OUT], 4);
    assert_int_equal(usage[LINK_NIC_IN], 4);
    assert_int_equal(usage[LINK_LEAF_UP], 4);
    assert_int_equal(usage[LINK_LEAF_DOWN], 4);
    assert_int_equal(usage[LINK_POD_UP], 3);
    assert_int_equal(usage[LINK_POD_DOWN], 3);
    arena_free(rig.arena);
}

/* From GPU 2 of node 0 to GPU 5 of node 1, which is 13: by NVLink to GPU 5 of node 0, then on
 * rail 5, one switch. Without PXN from port 2 through the spine to port 5. */
static void pxn_goes_to_the_right_rail_by_nvlink(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rig_rails, 128);
    rig_send(&rig, 2, 13, FLUID_USAGE_ONE);
    assert_int_equal(rig.route.count, 4);
    assert_int_equal(rig_usage(&rig, LINK_SCALE_UP_OUT, 2), FLUID_USAGE_ONE);
    assert_int_equal(rig_usage(&rig, LINK_SCALE_UP_IN, 5), FLUID_USAGE_ONE);
    assert_int_equal(rig_usage(&rig, LINK_NIC_OUT, 5), FLUID_USAGE_ONE);
    assert_int_equal(rig.route.hops_max, 1);
    arena_free(rig.arena);

    struct cluster without = rig_rails;
    without.has_pxn = false;
    rig_init(&rig, &without, 128);
    rig_send(&rig, 2, 13, FLUID_USAGE_ONE);
    assert_int_equal(rig.route.count, 4);
    assert_int_equal(rig_usage(&rig, LINK_NIC_OUT, 2), FLUID_USAGE_ONE);
    assert_int_equal(rig_crossings(&rig, LINK_LEAF_UP), 1);
    assert_int_equal(rig.route.hops_max, 3);
    arena_free(rig.arena);
}

/* A rail-only fabric has no other way, whatever the file says of PXN. On a tree all ports of a
 * node hang on one leaf: nothing to gain. */
static void pxn_depends_on_where_the_ports_hang(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster cluster = rig_rails;
    cluster.fabric_kind = FABRIC_RAIL_ONLY;
    cluster.has_pxn = false;
    rig_init(&rig, &cluster, 32);
    rig_send(&rig, 2, 13, FLUID_USAGE_ONE);
    assert_int_equal(rig_usage(&rig, LINK_NIC_OUT, 5), FLUID_USAGE_ONE);
    arena_free(rig.arena);
    cluster.fabric_kind = FABRIC_TREE;
    cluster.has_pxn = true;
    rig_init(&rig, &cluster, 32);
    rig_send(&rig, 2, 13, FLUID_USAGE_ONE);
    assert_int_equal(rig_usage(&rig, LINK_NIC_OUT, 2), FLUID_USAGE_ONE);
    assert_int_equal(rig.route.count, 2);
    arena_free(rig.arena);
}

/* Trays of 4 GPUs, 3 trays in an NVLink domain: GPU 0 and 11 talk by NVLink, 0 and 12 by NICs. */
static void a_rack_of_trays_is_one_nvlink_domain(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster rack = rig_rails;
    rack.gpus_per_node = 4;
    rack.nics_per_node = 4;
    rack.domain_nodes = 3;
    rig_init(&rig, &rack, 32);
    assert_int_equal(rig.fabric.domains, 3);
    rig_send(&rig, 0, 11, FLUID_USAGE_ONE);
    assert_int_equal(rig_usage(&rig, LINK_SCALE_UP_IN, 11), FLUID_USAGE_ONE);
    assert_int_equal(rig.route.hops_max, 0);
    rig_send(&rig, 0, 12, FLUID_USAGE_ONE);
    assert_int_equal(rig_crossings(&rig, LINK_SCALE_UP_OUT), 0);
    assert_int_equal(rig_usage(&rig, LINK_NIC_IN, 12), FLUID_USAGE_ONE);
    arena_free(rig.arena);
}

/* One NIC for 8 GPUs: all share port 0, so two sends at once make its usage two. */
static void gpus_share_a_single_nic(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster shared = rig_rails;
    shared.nics_per_node = 1;
    rig_init(&rig, &shared, 16);
    fabric_trace_begin(&rig.fabric);
    fabric_trace_send(&rig.fabric, 0, 8, FLUID_USAGE_ONE);
    fabric_trace_send(&rig.fabric, 7, 9, FLUID_USAGE_ONE);
    fabric_trace_end(&rig.fabric, &rig.route);
    assert_int_equal(rig_usage(&rig, LINK_NIC_OUT, 0), 2 * FLUID_USAGE_ONE);
    assert_int_equal(rig.route.cap_bytes_per_s, 25000000000);
    assert_int_equal(rig.route.bottleneck, rig.fabric.first[LINK_NIC_OUT]);
    arena_free(rig.arena);
}

static void a_checkpoint_goes_over_host_and_storage(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rig_rails, 16);
    fabric_trace_begin(&rig.fabric);
    fabric_trace_storage(&rig.fabric, 9, STORAGE_WRITE);
    fabric_trace_end(&rig.fabric, &rig.route);
    assert_int_equal(rig.route.count, 4); /* host, node, writing, both ways */
    assert_int_equal(rig.route.cap_bytes_per_s, 10000000000);
    fabric_trace_begin(&rig.fabric);
    fabric_trace_storage(&rig.fabric, 9, STORAGE_COPY);
    fabric_trace_end(&rig.fabric, &rig.route);
    assert_int_equal(rig.route.count, 1);
    assert_int_equal(rig.route.cap_bytes_per_s, 25000000000);
    arena_free(rig.arena);
}

/* GPU 9 lies in node 1. What its drives hold is read from them, and goes on from there to the file
 * system when it is drained. */
static void what_lies_on_drives_is_read_from_those_of_the_node(void **state)
{
    (void)state;
    static const enum storage_way ways[] = {STORAGE_READ_LOCAL, STORAGE_DRAIN};
    struct rig rig;
    struct cluster cluster = rig_rails;
    cluster.local_read_bytes_per_s = 20e9;
    cluster.local_write_bytes_per_s = 10e9;
    rig_init(&rig, &cluster, 16);
    for (uint32_t i = 0; i < 2; i++) {
        fabric_trace_begin(&rig.fabric);
        fabric_trace_storage(&rig.fabric, 9, ways[i]);
        fabric_trace_end(&rig.fabric, &rig.route);
        assert_int_equal(rig_usage(&rig, LINK_LOCAL_READ, 1), FLUID_USAGE_ONE);
        assert_int_equal(rig_crossings(&rig, LINK_LOCAL), 0);
        assert_int_equal(rig_crossings(&rig, LINK_HOST), 0);
        assert_int_equal(rig.route.count, i == 0 ? 1 : 4); /* node, writing, both ways */
    }
    arena_free(rig.arena);
}

/* Of 5 nodes with two a leaf: 0 and 1 are each other's peers, 2 and 3 too; 4 is alone below its
 * leaf and has the next of all, 0. Of one leaf of 32 they are a ring; of 7 with four a leaf two, of
 * four and of three. What is read comes the other way. */
static void a_node_s_peer_is_the_next_below_its_leaf(void **state)
{
    (void)state;
    static const uint32_t of_pairs[] = {1, 0, 3, 2, 0};
    static const uint32_t of_one[] = {1, 2, 3, 4, 0};
    static const uint32_t of_fours[] = {1, 2, 3, 0, 5, 6, 4};
    static const struct {
        uint32_t nodes, each;
        const uint32_t *peers;
    } rows[] = {{5, 2, of_pairs}, {5, 32, of_one}, {7, 4, of_fours}};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rig rig;
        struct cluster cluster = rig_rails;
        cluster.nodes_per_leaf = rows[i].each;
        rig_init(&rig, &cluster, 8 * rows[i].nodes);
        for (uint32_t node = 0; node < rows[i].nodes; node++) {
            const uint32_t peer = rows[i].peers[node];
            const uint32_t ours = 8 * node + 3;
            const uint32_t theirs = 8 * peer + 3;
            assert_int_equal(fabric_peer_of(&rig.fabric, ours), theirs);
            fabric_trace_begin(&rig.fabric);
            fabric_trace_storage(&rig.fabric, ours, STORAGE_WRITE_PEER);
            fabric_trace_end(&rig.fabric, &rig.route);
            assert_int_equal(rig_usage(&rig, LINK_HOST, ours), FLUID_USAGE_ONE);
            assert_int_equal(rig_usage(&rig, LINK_NIC_OUT, ours), FLUID_USAGE_ONE);
            assert_int_equal(rig_usage(&rig, LINK_NIC_IN, theirs), FLUID_USAGE_ONE);
            fabric_trace_begin(&rig.fabric);
            fabric_trace_storage(&rig.fabric, ours, STORAGE_READ_PEER);
            fabric_trace_end(&rig.fabric, &rig.route);
            assert_int_equal(rig_usage(&rig, LINK_NIC_OUT, theirs), FLUID_USAGE_ONE);
            assert_int_equal(rig_usage(&rig, LINK_NIC_IN, ours), FLUID_USAGE_ONE);
            assert_int_equal(rig_usage(&rig, LINK_HOST, ours), 0);
        }
        arena_free(rig.arena);
    }
}

static void an_empty_trace_has_no_cap(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rig_rails, 16);
    fabric_trace_begin(&rig.fabric);
    fabric_trace_end(&rig.fabric, &rig.route);
    assert_int_equal(rig.route.count, 0);
    assert_true(rig.route.cap_bytes_per_s == INT64_MAX);
    arena_free(rig.arena);
}

/* 1 us by NVLink; 5 us and 3 switches of 1 us between leaf groups. */
static void a_message_pays_for_its_switches(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rig_rails, 128);
    rig_send(&rig, 2, 5, FLUID_USAGE_ONE);
    assert_true(fabric_message_s(&rig.fabric, &rig.route, NULL) * 1e9 == 1000);
    rig_send(&rig, 2, 34, FLUID_USAGE_ONE);
    assert_int_equal((int)(fabric_message_s(&rig.fabric, &rig.route, NULL) * 1e9 + 0.5), 8000);
    arena_free(rig.arena);
}

/* ---- rings -------------------------------------------------------------------------- */

/* One rank of each of 16 nodes: all on rail 3; the ring crosses leaf groups at 4
 * places (3 -> 4, 7 -> 8, 11 -> 12, 15 -> 0) and pods at 2 (7 -> 8, 15 -> 0). */
static void a_ring_of_one_rail_stays_on_it_and_crosses_each_boundary_once(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rig_rails, 128);
    uint32_t ranks[16];
    for (uint32_t i = 0; i < 16; i++) {
        ranks[i] = 8 * i + 3;
    }
    rig_ring(&rig, ranks, 16);
    assert_int_equal(rig_crossings(&rig, LINK_NIC_OUT), 16);
    assert_int_equal(rig_crossings(&rig, LINK_LEAF_UP), 4);
    assert_int_equal(rig_sum(&rig, LINK_LEAF_UP), 4 * FLUID_USAGE_ONE);
    assert_int_equal(rig_crossings(&rig, LINK_POD_UP), 2);
    assert_int_equal(rig.route.hops_max, 5);
    assert_int_equal(rig.route.cap_bytes_per_s, 50000000000);
    arena_free(rig.arena);
}

/* Few links are sorted, many are found by looking at all: both give them by number, each
 * once, whatever the order of the sends; and nothing stays behind for the next trace. */
static void crossings_come_by_link_number(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rig_rails, 1024);
    for (uint32_t count = 3; count <= 1024; count = count * 7 + 2) {
        struct fabric_route first = {.count = 0};
        for (uint32_t backwards = 0; backwards < 2; backwards++) {
            fabric_trace_begin(&rig.fabric);
            for (uint32_t i = 0; i < count; i++) {
                const uint32_t rank = backwards == 0 ? i : count - 1 - i;
                fabric_trace_send(&rig.fabric, rank, (rank + 8) % 1024, 1000 + rank);
            }
            fabric_trace_end(&rig.fabric, backwards == 0 ? &first : &rig.route);
        }
        assert_int_equal(first.count, rig.route.count);
        for (uint32_t i = 0; i < first.count; i++) {
            assert_true(i == 0 || first.crossings[i - 1].link < first.crossings[i].link);
            assert_int_equal(first.crossings[i].link, rig.route.crossings[i].link);
            assert_int_equal(first.crossings[i].usage, rig.route.crossings[i].usage);
        }
    }
    arena_free(rig.arena);
}

/* ---- describing --------------------------------------------------------------------- */

/* GPU 2 to GPU 37 (node 4, port 5, another group): NVLink out and in to the relay, NIC out, up,
 * down, NIC in. */
static void a_path_lists_its_links_in_order(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rig_rails, 128);
    static const enum link_kind kinds[] = {LINK_SCALE_UP_OUT, LINK_SCALE_UP_IN, LINK_NIC_OUT,
                                           LINK_LEAF_UP,      LINK_LEAF_DOWN,   LINK_NIC_IN};
    uint32_t links[8];
    assert_int_equal(fabric_path(&rig.fabric, 2, 37, links, 8), 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(fabric_link_kind(&rig.fabric, links[i]), kinds[i]);
    }
    assert_int_equal(fabric_path(&rig.fabric, 2, 37, links, 4), 4);
    arena_free(rig.arena);
}

/* 16 nodes of 8 x 50 GB/s in leaf groups of 4, one pod: half to half is 8 nodes x 400 GB/s =
 * 3.2 TB/s at 1:1; the up-links of 2 groups carry 3.2 TB/s / n at n:1. Two pods at 7:1 behind
 * leaves at 1:1: 3.2 TB/s / 7. */
static void bisection_is_what_the_up_links_leave(void **state)
{
    (void)state;
    static const double ratios[] = {1, 2, 7};
    for (uint32_t i = 0; i < 3; i++) {
        struct rig rig;
        struct cluster cluster = rig_rails;
        cluster.leaves_per_pod = 0;
        cluster.oversubscription = ratios[i];
        rig_init(&rig, &cluster, 128);
        assert_int_equal((int64_t)(fabric_bisection(&rig.fabric) / 1e6 + 0.5),
                         (int64_t)(3.2e6 / ratios[i] + 0.5));
        arena_free(rig.arena);
        cluster.leaves_per_pod = 2;
        cluster.oversubscription = 1;
        cluster.pod_oversubscription = ratios[i];
        rig_init(&rig, &cluster, 128);
        assert_int_equal((int64_t)(fabric_bisection(&rig.fabric) / 1e6 + 0.5),
                         (int64_t)(3.2e6 / ratios[i] + 0.5));
        arena_free(rig.arena);
    }
}

/* A ring of 8 nodes with links of 50 GB/s each way: node i to i + 4, half each way round, 8 ports
 * of each of 4 nodes. A link clockwise out of node 3 carries half of the flows of nodes 0 to 3:
 * 4 x 8 / 2 = 16. So 50/16 GB/s each, 32 flows: 100 GB/s, the two links each way that are cut. */
static void bisection_of_a_ring_is_its_two_cut_links(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster torus = rig_rails;
    torus.fabric_kind = FABRIC_TORUS;
    torus.dimensions[0] = 8;
    torus.dimensions[1] = 1;
    torus.dimensions[2] = 1;
    rig_init(&rig, &torus, 64);
    assert_int_equal((int64_t)(fabric_bisection(&rig.fabric) / 1e6 + 0.5), 100000);
    arena_free(rig.arena);
}

/* Every pair of nodes of every kind has a way, from NIC out to NIC in. */
static void every_node_reaches_every_other(void **state)
{
    (void)state;
    for (uint32_t kind = FABRIC_RAIL; kind < FABRIC_EXPLICIT; kind++) {
        for (uint32_t routing = 0; routing < 2; routing++) {
            struct rig rig;
            struct cluster cluster = rig_rails;
            cluster.fabric_kind = kind;
            cluster.routing = routing;
            cluster.nodes_per_leaf = kind == FABRIC_RAIL_ONLY ? 20 : 4;
            rig_init(&rig, &cluster, 160);
            for (uint32_t pair = 0; pair < 20 * 20; pair++) {
                if (pair / 20 != pair % 20) {
                    rig_send(&rig, pair / 20 * 8 + 1, pair % 20 * 8 + 6, FLUID_USAGE_ONE);
                    assert_int_equal(rig_sum(&rig, LINK_NIC_OUT), FLUID_USAGE_ONE);
                    assert_int_equal(rig_usage(&rig, LINK_NIC_IN, pair % 20 * 8 + 6),
                                     FLUID_USAGE_ONE);
                    assert_true(rig.route.hops_max >= 1);
                }
            }
            arena_free(rig.arena);
        }
    }
}

/* Links of GPU 11, the fourth of the second node, and nothing else carry less: its scale-up port in
 * both directions, its NIC out, and each lane in of its NIC where ECMP has several. Of two losses
 * the greater counts; with 4 NICs a node it has its neighbour's. */
static void a_weak_gpu_has_weak_links_both_ways(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        struct cluster cluster = rig_rails;
        cluster.routing = i % 2 == 0 ? ROUTING_ADAPTIVE : ROUTING_ECMP;
        cluster.bonded_ports = 2;
        cluster.nics_per_node = i < 2 ? 8 : 4;
        const uint32_t port = i < 2 ? 11 : 5;
        struct rig rig;
        rig_init(&rig, &cluster, 64);
        const struct fabric *f = &rig.fabric;
        int64_t whole[1024];
        assert_true(f->link_count <= 1024);
        for (uint32_t link = 0; link < f->link_count; link++) {
            whole[link] = fabric_link_capacity(f, link);
        }
        fabric_weaken(&rig.fabric, 11, (struct fabric_weakness){1, 1});
        assert_null(f->weak);
        fabric_weaken(&rig.fabric, 11, (struct fabric_weakness){0.25, 0.5});
        fabric_weaken(&rig.fabric, 11, (struct fabric_weakness){0.5, 0.5});
        uint32_t lanes = 0;
        for (uint32_t link = 0; link < f->link_count; link++) {
            const bool is_in = link >= f->first[LINK_NIC_IN] + port * f->lanes_in &&
                               link < f->first[LINK_NIC_IN] + (port + 1) * f->lanes_in;
            const bool is_nic = is_in || link == f->first[LINK_NIC_OUT] + port;
            const bool is_scale_up =
                link == f->first[LINK_SCALE_UP_OUT] + 11 || link == f->first[LINK_SCALE_UP_IN] + 11;
            const double left = is_nic ? 0.25 : is_scale_up ? 0.5 : 1;
            lanes += is_in ? 1 : 0;
            assert_int_equal(fabric_link_capacity(f, link), llround((double)whole[link] * left));
        }
        assert_int_equal(lanes, f->lanes_in);
        assert_true(i % 2 == 0 || lanes > 1);
        arena_free(rig.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_switch_a_group_has_the_links_within_it),
        cmocka_unit_test(links_are_counted_under_their_kinds),
        cmocka_unit_test(capacities_follow_the_oversubscription),
        cmocka_unit_test(a_gpu_with_several_nics_has_one_wide_port),
        cmocka_unit_test(links_have_names_for_people),
        cmocka_unit_test(a_send_on_a_rail_crosses_what_lies_between),
        cmocka_unit_test(a_way_that_is_known_is_the_way_that_was_found),
        cmocka_unit_test(pxn_goes_to_the_right_rail_by_nvlink),
        cmocka_unit_test(pxn_depends_on_where_the_ports_hang),
        cmocka_unit_test(a_rack_of_trays_is_one_nvlink_domain),
        cmocka_unit_test(gpus_share_a_single_nic),
        cmocka_unit_test(a_checkpoint_goes_over_host_and_storage),
        cmocka_unit_test(what_lies_on_drives_is_read_from_those_of_the_node),
        cmocka_unit_test(a_node_s_peer_is_the_next_below_its_leaf),
        cmocka_unit_test(an_empty_trace_has_no_cap),
        cmocka_unit_test(a_message_pays_for_its_switches),
        cmocka_unit_test(a_ring_of_one_rail_stays_on_it_and_crosses_each_boundary_once),
        cmocka_unit_test(crossings_come_by_link_number),
        cmocka_unit_test(a_path_lists_its_links_in_order),
        cmocka_unit_test(bisection_is_what_the_up_links_leave),
        cmocka_unit_test(bisection_of_a_ring_is_its_two_cut_links),
        cmocka_unit_test(every_node_reaches_every_other),
        cmocka_unit_test(a_weak_gpu_has_weak_links_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
