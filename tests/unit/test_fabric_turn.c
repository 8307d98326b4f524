#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "des/fluid.h"
#include "hw/fabric_turn.h"

/* 8 GPUs and NICs a node, 4 nodes on a leaf group, 2 groups in a pod: 32 and 64 GPUs. */
static const struct cluster rails = {
    .gpus_per_node = 8,
    .scale_up_kind = SCALE_UP_NVSWITCH,
    .scale_up_bytes_per_s = 400e9,
    .scale_up_efficiency = 1,
    .domain_nodes = 1,
    .nics_per_node = 8,
    .nic_bytes_per_s = 50e9,
    .nic_efficiency = 1,
    .fabric_kind = FABRIC_RAIL,
    .routing = ROUTING_ADAPTIVE,
    .ecmp_paths = 1,
    .nodes_per_leaf = 4,
    .oversubscription = 2,
    .uplink_bytes_per_s = 50e9,
    .leaves_per_pod = 2,
    .pod_oversubscription = 4,
    .leaves_per_group = 2,
    .global_oversubscription = 1,
    .storage_write_bytes_per_s = 100e9,
    .storage_read_bytes_per_s = 100e9,
    .storage_node_bytes_per_s = 10e9,
};
static const struct gpu gpu = {.host_link_bytes_per_s = 25e9};

enum { GPUS = 128 }; /* two pods */

static void rig_init(struct fabric *fabric, const struct cluster *cluster)
{
    fabric_init(fabric, arena_new(), cluster, &gpu, GPUS, 1);
}

/* Blocks of two nodes lie under a leaf, in which nodes change places; a block of a pod is turned by
 * its leaf groups of 32, one of both pods by a pod. A step of the whole block is no turn. */
static void blocks_turn_by_what_lies_below_the_same_switches(void **state)
{
    (void)state;
    struct fabric fabric;
    rig_init(&fabric, &rails);
    assert_int_equal(fabric_turns_outer(&fabric, 16, 8), 8);
    assert_int_equal(fabric_turns_outer(&fabric, 32, 4), 8);
    assert_int_equal(fabric_turns_outer(&fabric, 64, 8), 32);
    assert_int_equal(fabric_turns_outer(&fabric, 64, 64), 64);
    assert_int_equal(fabric_turns_outer(&fabric, 128, 8), 64);
    assert_int_equal(fabric_turns_outer(&fabric, 4, 4), 4);
    arena_free(fabric.arena);
}

/* Each GPU its own NIC: one by one; four GPUs to a NIC: four by four. */
static void within_a_node_what_shares_a_nic_stays_together(void **state)
{
    (void)state;
    struct fabric fabric;
    rig_init(&fabric, &rails);
    assert_int_equal(fabric_turns_inner(&fabric, 8), 1);
    arena_free(fabric.arena);
    struct cluster two = rails;
    two.nics_per_node = 2;
    rig_init(&fabric, &two);
    assert_int_equal(fabric_turns_inner(&fabric, 8), 4);
    assert_int_equal(fabric_turns_inner(&fabric, 2), 2);
    arena_free(fabric.arena);
}

static void what_is_hashed_or_numbered_by_place_does_not_turn(void **state)
{
    (void)state;
    struct fabric fabric;
    struct cluster hashed = rails;
    hashed.routing = ROUTING_ECMP;
    rig_init(&fabric, &hashed);
    assert_int_equal(fabric_turns_outer(&fabric, 64, 8), 64);
    assert_int_equal(fabric_turns_inner(&fabric, 8), 8);
    arena_free(fabric.arena);
    struct cluster dragonfly = rails;
    dragonfly.fabric_kind = FABRIC_DRAGONFLY;
    rig_init(&fabric, &dragonfly);
    assert_int_equal(fabric_turns_outer(&fabric, 64, 8), 64);
    arena_free(fabric.arena);
}

/* Every link is the i-th of exactly one orbit, all members of which have its kind and capacity. */
static void assert_orbits_part_the_links(const struct fabric_turns *turns)
{
    const struct fabric *fabric = turns->fabric;
    uint32_t *seen = arena_array(fabric->arena, fabric->link_count, sizeof *seen);
    for (uint32_t link = 0; link < fabric->link_count; link++) {
        if (fabric_turns_link(turns, link, TURN_BOTH) != link) {
            continue;
        }
        uint32_t before = link;
        for (uint32_t i = 0; i < fabric_turns_links(turns, link, TURN_BOTH); i++) {
            const uint32_t other = fabric_turns_nth(turns, link, i);
            assert_true(i == 0 || other > before);
            assert_int_equal(fabric_turns_link(turns, other, TURN_BOTH), link);
            assert_int_equal(fabric_link_kind(fabric, other), fabric_link_kind(fabric, link));
            assert_int_equal(fabric_link_capacity(fabric, other),
                             fabric_link_capacity(fabric, link));
            seen[other]++;
            before = other;
        }
    }
    for (uint32_t link = 0; link < fabric->link_count; link++) {
        assert_int_equal(seen[link], 1);
    }
}

static void every_link_lies_in_one_orbit_of_its_like(void **state)
{
    (void)state;
    static const enum fabric_kind kinds[] = {FABRIC_RAIL, FABRIC_TREE};
    static const uint32_t blocks[] = {16, 32, 64, 128};
    for (uint32_t k = 0; k < 2; k++) {
        struct cluster cluster = rails;
        cluster.fabric_kind = kinds[k];
        struct fabric fabric;
        rig_init(&fabric, &cluster);
        for (uint32_t b = 0; b < 4; b++) {
            const struct fabric_turns turns = {
                .fabric = &fabric,
                .outer_by = fabric_turns_outer(&fabric, blocks[b], 8),
                .outer_around = blocks[b],
                .inner_by = 1,
                .inner_around = 4,
            };
            assert_orbits_part_the_links(&turns);
        }
        arena_free(fabric.arena);
    }
}

static void trace_ring(const struct fabric_turns *turns, uint32_t senders, struct fabric *fabric,
                       struct fabric_route *route)
{
    fabric_trace_begin(fabric);
    for (uint32_t node = 0; node < senders; node++) {
        fabric_trace_send(fabric, node * 8, (node + 1) * 8 % GPUS, FLUID_USAGE_ONE);
    }
    if (turns != NULL) {
        fabric_turns_gather(turns, fabric, TURN_OUTER);
    }
    fabric_trace_end(fabric, route);
}

/* A ring over one GPU of each of 16 nodes, turned by pods of 8 nodes: the sends of the first 8
 * stand for all, and put on the links of the first pod what the whole ring puts on them. */
static void sends_of_one_orbit_stand_for_all(void **state)
{
    (void)state;
    struct fabric fabric;
    rig_init(&fabric, &rails);
    const struct fabric_turns turns = {&fabric, 64, 128, 1, 1};
    struct fabric_route whole, part;
    trace_ring(NULL, 16, &fabric, &whole);
    trace_ring(&turns, 8, &fabric, &part);
    assert_int_equal(part.count * 2, whole.count);
    assert_int_equal(part.cap_bytes_per_s, whole.cap_bytes_per_s);
    assert_int_equal(part.bottleneck, whole.bottleneck);
    assert_int_equal(part.hops_max, whole.hops_max);
    for (uint32_t i = 0, k = 0; i < part.count; i++) {
        while (whole.crossings[k].link != part.crossings[i].link) {
            k++;
        }
        assert_int_equal(part.crossings[i].usage, whole.crossings[k].usage);
    }
    arena_free(fabric.arena);
}

/* 128 GPUs turned by pods and one by one in fours: firsts are 0, 4, 8, ... 60, numbered so. */
static void firsts_are_numbered_in_rising_order(void **state)
{
    (void)state;
    struct fabric fabric;
    rig_init(&fabric, &rails);
    const struct fabric_turns turns = {&fabric, 64, 128, 1, 4};
    uint32_t number = 0;
    for (uint32_t gpu_number = 0; gpu_number < GPUS; gpu_number++) {
        const uint32_t first = fabric_turns_gpu(&turns, gpu_number, TURN_BOTH);
        assert_int_equal(first, gpu_number % 64 / 4 * 4);
        if (first == gpu_number) {
            assert_int_equal(fabric_turns_number(&turns, first), number++);
            assert_int_equal(fabric_turns_next(&turns, first), first < 60 ? first + 4 : GPUS);
        }
    }
    assert_int_equal(number * fabric_turns_size(&turns, TURN_BOTH), GPUS);
    arena_free(fabric.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_turn_by_what_lies_below_the_same_switches),
        cmocka_unit_test(within_a_node_what_shares_a_nic_stays_together),
        cmocka_unit_test(what_is_hashed_or_numbered_by_place_does_not_turn),
        cmocka_unit_test(every_link_lies_in_one_orbit_of_its_like),
        cmocka_unit_test(sends_of_one_orbit_stand_for_all),
        cmocka_unit_test(firsts_are_numbered_in_rising_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
