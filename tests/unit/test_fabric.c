#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "des/fluid.h"
#include "hw/fabric.h"

/* 8 GPUs a node, 8 NICs of 50 GB/s, 4 nodes a leaf group at 2:1, 2 groups a pod at 4:1;
 * efficiencies 1, so capacities are round. */
static const struct cluster rails = {
    .gpus_per_node = 8,
    .scale_up_bytes_per_s = 400e9,
    .scale_up_efficiency = 1,
    .scale_up_latency_s = 1e-6,
    .nics_per_node = 8,
    .nic_bytes_per_s = 50e9,
    .nic_efficiency = 1,
    .nic_latency_s = 5e-6,
    .fabric_kind = FABRIC_RAIL,
    .nodes_per_leaf = 4,
    .oversubscription = 2,
    .leaves_per_pod = 2,
    .pod_oversubscription = 4,
    .hop_latency_s = 1e-6,
    .storage_write_bytes_per_s = 100e9,
    .storage_node_bytes_per_s = 10e9,
};
static const struct gpu gpu = {.host_link_bytes_per_s = 25e9};

struct rig {
    struct arena *arena;
    struct fabric fabric;
    struct fabric_route route;
};

static void rig_init(struct rig *rig, const struct cluster *cluster, uint32_t gpus)
{
    rig->arena = arena_new();
    fabric_init(&rig->fabric, rig->arena, cluster, &gpu, gpus);
}

static uint64_t usage_of(const struct rig *rig, enum link_kind kind, uint32_t number)
{
    for (uint32_t i = 0; i < rig->route.count; i++) {
        if (rig->route.crossings[i].link == rig->fabric.first[kind] + number) {
            return rig->route.crossings[i].usage;
        }
    }
    return 0;
}

static uint32_t crossings_of(const struct rig *rig, enum link_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rig->route.count; i++) {
        count += fabric_link_kind(&rig->fabric, rig->route.crossings[i].link) == kind;
    }
    return count;
}

/* A leaf serves one rail of 4 nodes: 4 x 50 GB/s down, at 2:1 100 GB/s up. A pod has
 * 2 groups of 8 leaves: 16 x 100 GB/s, at 4:1 400 GB/s. */
static void capacities_follow_the_oversubscription(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rails, 128);
    assert_int_equal(rig.fabric.capacity[LINK_NIC_OUT], 50000000000);
    assert_int_equal(rig.fabric.capacity[LINK_LEAF_UP], 100000000000);
    assert_int_equal(rig.fabric.capacity[LINK_POD_UP], 400000000000);
    assert_int_equal(rig.fabric.nodes, 16);
    assert_int_equal(rig.fabric.leaf_groups, 4);
    assert_int_equal(rig.fabric.pods, 2);
    arena_free(rig.arena);
}

static void a_ring_inside_a_node_uses_each_port_once(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rails, 128);
    const uint32_t ranks[] = {8, 9, 10, 11, 12, 13, 14, 15};
    fabric_ring(&rig.fabric, ranks, 8, &rig.route);
    assert_int_equal(rig.route.nodes, 1);
    assert_int_equal(rig.route.count, 16);
    assert_int_equal(usage_of(&rig, LINK_SCALE_UP_OUT, 8), FLUID_USAGE_ONE);
    assert_int_equal(rig.route.cap_bytes_per_s, 400000000000);
    arena_free(rig.arena);
}

/* Two whole nodes: the ring leaves each over its 8 NICs, an eighth of the bytes on
 * each; 8 x 50 = 400 GB/s, as fast as the scale-up ports. */
static void a_ring_over_whole_nodes_spreads_over_all_rails(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rails, 128);
    uint32_t ranks[16];
    for (uint32_t i = 0; i < 16; i++) {
        ranks[i] = i;
    }
    fabric_ring(&rig.fabric, ranks, 16, &rig.route);
    assert_int_equal(rig.route.nodes, 2);
    assert_int_equal(rig.route.hops_max, 1);
    assert_int_equal(crossings_of(&rig, LINK_NIC_OUT), 16);
    assert_int_equal(crossings_of(&rig, LINK_NIC_IN), 16);
    assert_int_equal(crossings_of(&rig, LINK_LEAF_UP), 0);
    assert_int_equal(usage_of(&rig, LINK_NIC_OUT, 0), FLUID_USAGE_ONE / 8);
    assert_int_equal(rig.route.cap_bytes_per_s, 400000000000);
    arena_free(rig.arena);
}

/* One rank of each of 16 nodes: all on rail 3; the ring crosses leaf groups at 4
 * places (3 -> 4, 7 -> 8, 11 -> 12, 15 -> 0) and pods at 2 (7 -> 8, 15 -> 0). */
static void a_ring_of_one_rail_stays_on_it_and_crosses_each_boundary_once(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rails, 128);
    uint32_t ranks[16];
    for (uint32_t i = 0; i < 16; i++) {
        ranks[i] = 8 * i + 3;
    }
    fabric_ring(&rig.fabric, ranks, 16, &rig.route);
    assert_int_equal(crossings_of(&rig, LINK_NIC_OUT), 16);
    assert_int_equal(crossings_of(&rig, LINK_LEAF_UP), 4);
    assert_int_equal(usage_of(&rig, LINK_LEAF_UP, 3), FLUID_USAGE_ONE);
    assert_int_equal(usage_of(&rig, LINK_LEAF_UP, 8 + 3), FLUID_USAGE_ONE);
    assert_int_equal(crossings_of(&rig, LINK_POD_UP), 2);
    assert_int_equal(rig.route.hops_max, 5);
    assert_int_equal(rig.route.cap_bytes_per_s, 50000000000);
    arena_free(rig.arena);
}

static void a_pair_takes_the_ports_of_its_two_gpus(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rails, 128);
    fabric_pair(&rig.fabric, 2, 34, &rig.route); /* node 0 to node 4: other leaf group */
    assert_int_equal(rig.route.count, 4);
    assert_int_equal(usage_of(&rig, LINK_NIC_OUT, 2), FLUID_USAGE_ONE);
    assert_int_equal(usage_of(&rig, LINK_NIC_IN, 34), FLUID_USAGE_ONE);
    assert_int_equal(usage_of(&rig, LINK_LEAF_UP, 2), FLUID_USAGE_ONE);
    assert_int_equal(usage_of(&rig, LINK_LEAF_DOWN, 8 + 2), FLUID_USAGE_ONE);
    assert_int_equal(rig.route.hops_max, 3);
    fabric_pair(&rig.fabric, 2, 5, &rig.route);
    assert_int_equal(rig.route.count, 2);
    assert_int_equal(rig.route.nodes, 1);
    arena_free(rig.arena);
}

/* One NIC for 8 GPUs: all share port 0, and a ring over whole nodes has one rail. */
static void gpus_share_a_single_nic(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster shared = rails;
    shared.nics_per_node = 1;
    rig_init(&rig, &shared, 16);
    uint32_t ranks[16];
    for (uint32_t i = 0; i < 16; i++) {
        ranks[i] = i;
    }
    fabric_ring(&rig.fabric, ranks, 16, &rig.route);
    assert_int_equal(usage_of(&rig, LINK_NIC_OUT, 0), FLUID_USAGE_ONE);
    assert_int_equal(rig.route.cap_bytes_per_s, 50000000000);
    arena_free(rig.arena);
}

/* More NICs than GPUs: a GPU's port has its share of them. 32 x 100 Gbps = 8 x 50 GB/s. */
static void a_gpu_with_several_nics_has_one_wide_port(void **state)
{
    (void)state;
    struct rig rig;
    struct cluster many = rails;
    many.nics_per_node = 32;
    many.nic_bytes_per_s = 12.5e9;
    rig_init(&rig, &many, 16);
    assert_int_equal(rig.fabric.ports_per_node, 8);
    assert_int_equal(rig.fabric.capacity[LINK_NIC_OUT], 50000000000);
    arena_free(rig.arena);
}

static void a_checkpoint_goes_over_host_and_storage(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &rails, 16);
    fabric_to_storage(&rig.fabric, 9, false, &rig.route);
    assert_int_equal(rig.route.count, 3);
    assert_int_equal(rig.route.cap_bytes_per_s, 10000000000);
    fabric_to_storage(&rig.fabric, 9, true, &rig.route);
    assert_int_equal(rig.route.count, 1);
    assert_int_equal(rig.route.cap_bytes_per_s, 25000000000);
    arena_free(rig.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacities_follow_the_oversubscription),
        cmocka_unit_test(a_ring_inside_a_node_uses_each_port_once),
        cmocka_unit_test(a_ring_over_whole_nodes_spreads_over_all_rails),
        cmocka_unit_test(a_ring_of_one_rail_stays_on_it_and_crosses_each_boundary_once),
        cmocka_unit_test(a_pair_takes_the_ports_of_its_two_gpus),
        cmocka_unit_test(gpus_share_a_single_nic),
        cmocka_unit_test(a_gpu_with_several_nics_has_one_wide_port),
        cmocka_unit_test(a_checkpoint_goes_over_host_and_storage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
