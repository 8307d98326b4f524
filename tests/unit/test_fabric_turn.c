#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "des/fluid.h"
#include "hw/fabric_turn.h"
#include "support/fabric_rig.h"

enum { GPUS = 128 }; /* two pods */

static void of_two_pods(struct fabric *fabric, const struct cluster *cluster)
{
    fabric_init(fabric, arena_new(), cluster, &rig_gpu, GPUS, 1);
}

/* Blocks of two nodes lie under a leaf, in which nodes change places; a block of a pod is turned by
 * its leaf groups of 32, one of both pods by a pod. A step of the whole block is no turn. */
static void blocks_turn_by_what_lies_below_the_same_switches(void **state)
{
    (void)state;
    struct fabric fabric;
    of_two_pods(&fabric, &rig_rails);
    assert_int_equal(fabric_turns_outer(&fabric, 16, 8), 8);
    assert_int_equal(fabric_turns_outer(&fabric, 32, 4), 8);
    assert_int_equal(fabric_turns_outer(&fabric, 64, 8), 32);
    assert_int_equal(fabric_turns_outer(&fabric, 64, 64), 64);
    assert_int_equal(fabric_turns_outer(&fabric, 128, 8), 64);
    assert_int_equal(fabric_turns_outer(&fabric, 4, 4), 4);
    arena_free(fabric.arena);
}

/* Each link of a GPU, of its leaf and its pod is moved to those of the GPU so much further on. */
static void assert_moves(struct fabric *fabric, uint32_t by)
{
    for (uint32_t gpu = 1; gpu + by < fabric->gpus; gpu++) {
        struct fabric_route here, there;
        fabric_trace_begin(fabric);
        fabric_trace_send(fabric, gpu, 0, FLUID_USAGE_ONE);
        fabric_trace_end(fabric, &here);
        fabric_trace_begin(fabric);
        fabric_trace_send(fabric, gpu + by, by, FLUID_USAGE_ONE);
        fabric_trace_end(fabric, &there);
        assert_int_equal(here.count, there.count);
        for (uint32_t i = 0; i < here.count; i++) {
            const uint32_t link = here.crossings[i].link;
            assert_int_equal(fabric_turns_beside(fabric, link, by), there.crossings[i].link);
            assert_int_equal(fabric_link_capacity(fabric, link),
                             fabric_link_capacity(fabric, there.crossings[i].link));
        }
    }
}

/* In blocks of so many GPUs, of which parts change places. */
static uint32_t further(const struct fabric *fabric, uint32_t around)
{
    struct fabric_turns turns = fabric_turns_none(fabric);
    assert_int_equal(fabric_turns_further(&turns), fabric->gpus);
    turns.at[1] = (struct fabric_turn){8, around, NULL};
    return fabric_turns_further(&turns);
}

/* Pods of 64 GPUs of which the third is half full: stages of 32 are moved by a pod, stages of 80 by
 * five pods, of which there are not so many; of what is hashed none is moved. */
static void what_lies_on_pods_is_moved_on_also_to_one_filled_in_part(void **state)
{
    (void)state;
    struct fabric fabric;
    fabric_init(&fabric, arena_new(), &rig_rails, &rig_gpu, 160, 1);
    assert_int_equal(further(&fabric, 32), 64);
    assert_int_equal(further(&fabric, 80), 160);
    assert_moves(&fabric, 64);
    assert_moves(&fabric, 128);
    arena_free(fabric.arena);
    struct cluster hashed = rig_rails;
    hashed.routing = ROUTING_ECMP;
    of_two_pods(&fabric, &hashed);
    assert_int_equal(further(&fabric, 32), GPUS);
    arena_free(fabric.arena);
}

/* Each GPU its own NIC: one by one; four GPUs to a NIC: four by four. */
static void within_a_node_what_shares_a_nic_stays_together(void **state)
{
    (void)state;
    struct fabric fabric;
    of_two_pods(&fabric, &rig_rails);
    assert_int_equal(fabric_turns_inner(&fabric, 8), 1);
    arena_free(fabric.arena);
    struct cluster two = rig_rails;
    two.nics_per_node = 2;
    of_two_pods(&fabric, &two);
    assert_int_equal(fabric_turns_inner(&fabric, 8), 4);
    assert_int_equal(fabric_turns_inner(&fabric, 2), 2);
    arena_free(fabric.arena);
}

static void what_is_hashed_or_numbered_by_place_does_not_turn(void **state)
{
    (void)state;
    struct fabric fabric;
    struct cluster hashed = rig_rails;
    hashed.routing = ROUTING_ECMP;
    of_two_pods(&fabric, &hashed);
    assert_int_equal(fabric_turns_outer(&fabric, 64, 8), 64);
    assert_int_equal(fabric_turns_inner(&fabric, 8), 8);
    arena_free(fabric.arena);
    struct cluster dragonfly = rig_rails;
    dragonfly.fabric_kind = FABRIC_DRAGONFLY;
    of_two_pods(&fabric, &dragonfly);
    assert_int_equal(fabric_turns_outer(&fabric, 64, 8), 64);
    arena_free(fabric.arena);
}

/* One unit is not like the others. */
static const struct fabric_kinds *kinds_but_one(struct arena *arena, uint32_t units, uint32_t one)
{
    uint32_t *first = arena_array(arena, units, sizeof *first);
    for (uint32_t unit = 0; unit < units; unit++) {
        first[unit] = unit == one ? one : one == 0;
    }
    return fabric_kinds_of(arena, first, units);
}

/* Every link is the i-th of exactly one orbit, all members of which have its kind and capacity. */
static void assert_orbits_part_the_links(const struct fabric_turns *turns)
{
    const struct fabric *fabric = turns->fabric;
    uint32_t *seen = arena_array(fabric->arena, fabric->link_count, sizeof *seen);
    for (uint32_t link = 0; link < fabric->link_count; link++) {
        if (fabric_turns_link(turns, link, TURN_ALL) != link) {
            continue;
        }
        uint32_t before = link;
        for (uint32_t i = 0; i < fabric_turns_links(turns, link, TURN_ALL); i++) {
            const uint32_t other = fabric_turns_nth(turns, link, i);
            assert_true(i == 0 || other > before);
            assert_int_equal(fabric_turns_link(turns, other, TURN_ALL), link);
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
        struct cluster cluster = rig_rails;
        cluster.fabric_kind = kinds[k];
        struct fabric fabric;
        of_two_pods(&fabric, &cluster);
        for (uint32_t b = 0; b < 4; b++) {
            const uint32_t by = fabric_turns_outer(&fabric, blocks[b], 8);
            const uint32_t below = fabric_turns_outer(&fabric, by, 8);
            struct fabric_turns turns = {
                &fabric, {{by, blocks[b], NULL}, {below, by, NULL}, {1, 1, NULL}, {1, 4, NULL}}};
            assert_orbits_part_the_links(&turns);
            turns.at[0].kinds = kinds_but_one(fabric.arena, blocks[b] / by, 1);
            turns.at[1].kinds = kinds_but_one(fabric.arena, by / below, 0);
            turns.at[TURN_LEVEL_INNER].kinds = kinds_but_one(fabric.arena, 4, 2);
            assert_orbits_part_the_links(&turns);
        }
        arena_free(fabric.arena);
    }
}

/* Of 160 GPUs in pods of 64 the third is half full. One block of all: two leaf groups of 32 in each
 * pod, one in the last. Two of 80: no leaf group lies whole in both; ends of leaf groups are at 32,
 * 64, 96, 128, GPUs 16 and 48 of the second: nodes of 8 GPUs go in pairs, as do 64 to 79. */
static void what_lies_in_one_pod_in_all_blocks_changes_places_there(void **state)
{
    (void)state;
    struct fabric fabric;
    fabric_init(&fabric, arena_new(), &rig_rails, &rig_gpu, 160, 1);
    assert_int_equal(fabric_turns_outer(&fabric, 160, 8), 160);
    struct fabric_cut cut = fabric_turns_parted(&fabric, 160, 8);
    assert_int_equal(cut.by, 32);
    assert_int_equal(cut.apart, 64);
    const struct fabric_kinds *kinds = fabric_kinds_parted(fabric.arena, &fabric, 160, cut);
    static const uint32_t of_leaves[] = {0, 0, 1, 1, 2};
    assert_int_equal(kinds->count, 3);
    assert_memory_equal(kinds->kind, of_leaves, sizeof of_leaves);
    struct fabric_turns turns = {&fabric,
                                 {{1, 1, NULL}, {32, 160, kinds}, {8, 32, NULL}, {1, 8, NULL}}};
    assert_orbits_part_the_links(&turns);
    cut = fabric_turns_parted(&fabric, 80, 8);
    assert_int_equal(cut.by, 8);
    assert_int_equal(cut.apart, 32);
    kinds = fabric_kinds_parted(fabric.arena, &fabric, 80, cut);
    static const uint32_t of_nodes[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4};
    assert_int_equal(kinds->count, 5);
    assert_memory_equal(kinds->kind, of_nodes, sizeof of_nodes);
    turns.at[1] = (struct fabric_turn){8, 80, kinds};
    turns.at[2] = (struct fabric_turn){1, 1, NULL};
    assert_orbits_part_the_links(&turns);
    assert_int_equal(fabric_turns_parted(&fabric, 80, 80).by, 80);
    arena_free(fabric.arena);
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
    of_two_pods(&fabric, &rig_rails);
    const struct fabric_turns turns = {&fabric,
                                       {{64, 128, NULL}, {1, 1, NULL}, {1, 1, NULL}, {1, 1, NULL}}};
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

/* In each pod leaf groups of 4 nodes change places, and nodes in each: of the 8 nodes that send the
 * first one speaks for all, of the 2 leaf groups' up-links the first. Each is used as in the whole
 * ring: a NIC by one send, an up-link by the one that leaves its leaf group. */
static void nodes_of_like_units_have_the_same_on_their_links(void **state)
{
    (void)state;
    struct fabric fabric;
    of_two_pods(&fabric, &rig_rails);
    const struct fabric_turns turns = {
        &fabric, {{64, 128, NULL}, {32, 64, NULL}, {8, 32, NULL}, {1, 1, NULL}}};
    struct fabric_route whole, part;
    trace_ring(NULL, 16, &fabric, &whole);
    fabric_trace_begin(&fabric);
    for (uint32_t node = 0; node < 8; node++) {
        fabric_trace_send(&fabric, node * 8, (node + 1) * 8, FLUID_USAGE_ONE);
    }
    fabric_turns_gather(&turns, &fabric, TURN_OUTER | TURN_MIDDLE);
    fabric_trace_end(&fabric, &part);
    uint32_t links = 0;
    for (uint32_t i = 0, k = 0; i < part.count; i++) {
        while (whole.crossings[k].link != part.crossings[i].link) {
            k++;
        }
        assert_int_equal(part.crossings[i].usage, whole.crossings[k].usage);
        links += fabric_turns_links(&turns, part.crossings[i].link, TURN_ALL);
    }
    assert_int_equal(part.count, 6); /* NIC, leaf and pod, out and in */
    assert_int_equal(links, whole.count);
    arena_free(fabric.arena);
}

/* The second pod is unlike the first: each has links of its own that are first, on every level of
 * which units change places one. */
static void kinds_part_what_a_transfer_crosses(void **state)
{
    (void)state;
    struct fabric fabric;
    of_two_pods(&fabric, &rig_rails);
    struct fabric_turns turns = {&fabric,
                                 {{64, 128, NULL}, {32, 64, NULL}, {8, 32, NULL}, {1, 1, NULL}}};
    turns.at[0].kinds = kinds_but_one(fabric.arena, 2, 1);
    turns.at[2].kinds = kinds_but_one(fabric.arena, 4, 1);
    const uint32_t nic = fabric.first[LINK_NIC_OUT];
    /* Nodes 0 and 1 of the first leaf groups of both pods; 8 ports a node. */
    static const uint32_t nodes[] = {0, 1, 8, 9};
    static const uint32_t sizes[] = {2 * 3, 2, 2 * 3, 2};
    assert_int_equal(fabric_turns_parts(&turns, nic, TURN_OUTER | TURN_MIDDLE), 4);
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t part = fabric_turns_part(&turns, nic, TURN_OUTER | TURN_MIDDLE, i);
        assert_int_equal(part, nic + nodes[i] * 8);
        assert_int_equal(fabric_turns_links(&turns, part, TURN_ALL), sizes[i]);
        assert_int_equal(fabric_turns_orbit(&turns, nodes[i] * 8, TURN_ALL), sizes[i]);
    }
    assert_int_equal(fabric_turns_parts(&turns, nic, TURN_MIDDLE), 2);
    assert_int_equal(fabric_turns_part(&turns, nic, TURN_MIDDLE, 1), nic + 8);
    assert_int_equal(fabric_turns_between(&turns, 0, 8), 4);
    assert_int_equal(fabric_turns_between(&turns, 7, 64 + 32), TURN_OUTER | 2);
    arena_free(fabric.arena);
}

/* 64 GPUs on, the other pod: every link of the first has its like there, in the same order. */
static void links_of_one_pod_lie_beside_those_of_the_other(void **state)
{
    (void)state;
    struct fabric fabric;
    of_two_pods(&fabric, &rig_rails);
    const struct fabric_turns turns = {&fabric,
                                       {{64, 128, NULL}, {1, 1, NULL}, {1, 1, NULL}, {1, 1, NULL}}};
    uint32_t moved = 0;
    for (uint32_t link = 0; link < fabric.link_count; link++) {
        assert_int_equal(fabric_turns_beside(&fabric, link, 0), link);
        if (fabric_turns_links(&turns, link, TURN_ALL) == 2 &&
            fabric_turns_link(&turns, link, TURN_ALL) == link) {
            assert_int_equal(fabric_turns_beside(&fabric, link, 64),
                             fabric_turns_nth(&turns, link, 1));
            moved++;
        }
    }
    assert_int_equal(2 * moved, fabric.link_count - 3); /* all but the file system's */
    arena_free(fabric.arena);
}

/* Goes through all GPUs; each orbit has as many members as its first says. */
static void assert_firsts_are_numbered(const struct fabric_turns *turns)
{
    uint32_t members[GPUS] = {0};
    uint32_t number = 0;
    uint32_t before = 0;
    for (uint32_t i = 0; i < GPUS; i++) {
        const uint32_t first = fabric_turns_gpu(turns, i, TURN_ALL);
        assert_true(first <= i);
        members[first]++;
        if (first == i) {
            assert_int_equal(fabric_turns_number(turns, first), number++);
            assert_true(i == 0 || fabric_turns_next(turns, before) == i);
            before = i;
        }
    }
    assert_int_equal(fabric_turns_next(turns, before), GPUS);
    assert_int_equal(fabric_turns_number(turns, GPUS), number);
    for (uint32_t i = 0; i < GPUS; i++) {
        const uint32_t first = fabric_turns_gpu(turns, i, TURN_ALL);
        assert_int_equal(fabric_turns_orbit(turns, i, TURN_ALL), members[first]);
    }
}

/* 128 GPUs turned by pods and one by one in fours: firsts are 0, 4, 8, ... 60. Then leaf groups
 * change places, too, but for the second of each pod, and of each four the first does not. */
static void firsts_are_numbered_in_rising_order(void **state)
{
    (void)state;
    struct fabric fabric;
    of_two_pods(&fabric, &rig_rails);
    struct fabric_turns turns = {&fabric,
                                 {{64, 128, NULL}, {1, 1, NULL}, {1, 1, NULL}, {1, 4, NULL}}};
    assert_int_equal(fabric_turns_gpu(&turns, 127, TURN_ALL), 60);
    assert_int_equal(fabric_turns_number(&turns, 60), 15);
    assert_int_equal(fabric_turns_next(&turns, 8), 12);
    assert_firsts_are_numbered(&turns);
    turns.at[1] = (struct fabric_turn){16, 64, kinds_but_one(fabric.arena, 4, 1)};
    turns.at[TURN_LEVEL_INNER].kinds = kinds_but_one(fabric.arena, 4, 0);
    assert_int_equal(fabric_turns_gpu(&turns, 127, TURN_ALL), 13);
    assert_int_equal(fabric_turns_orbit(&turns, 127, TURN_ALL), 2 * 3 * 3);
    assert_firsts_are_numbered(&turns);
    arena_free(fabric.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_turn_by_what_lies_below_the_same_switches),
        cmocka_unit_test(what_lies_on_pods_is_moved_on_also_to_one_filled_in_part),
        cmocka_unit_test(within_a_node_what_shares_a_nic_stays_together),
        cmocka_unit_test(what_is_hashed_or_numbered_by_place_does_not_turn),
        cmocka_unit_test(every_link_lies_in_one_orbit_of_its_like),
        cmocka_unit_test(what_lies_in_one_pod_in_all_blocks_changes_places_there),
        cmocka_unit_test(sends_of_one_orbit_stand_for_all),
        cmocka_unit_test(nodes_of_like_units_have_the_same_on_their_links),
        cmocka_unit_test(kinds_part_what_a_transfer_crosses),
        cmocka_unit_test(links_of_one_pod_lie_beside_those_of_the_other),
        cmocka_unit_test(firsts_are_numbered_in_rising_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
