#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "plan/symmetry.h"

/* A ring of 12 equal nodes is one class: each has one neighbour ahead, one behind. */
static void equal_nodes_of_a_ring_are_one_class(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    uint64_t colours[12] = {0};
    struct symmetry_edge edges[12];
    for (uint32_t i = 0; i < 12; i++) {
        edges[i] = (struct symmetry_edge){i, (i + 1) % 12, 7};
    }
    const struct symmetry_graph graph = {12, 12, colours, edges, NULL};
    struct symmetry_classes classes;
    symmetry_refine(arena, &graph, &classes);
    assert_int_equal(classes.count, 1);
    assert_int_equal(classes.sizes[0], 12);
    assert_true(symmetry_is_equitable(arena, &graph, &classes));
    arena_free(arena);
}

/* One marked node of a directed ring splits it by distance: all 12 apart. */
static void one_marked_node_splits_a_ring_by_distance(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    uint64_t colours[12] = {0};
    struct symmetry_edge edges[12];
    colours[5] = 1;
    for (uint32_t i = 0; i < 12; i++) {
        edges[i] = (struct symmetry_edge){i, (i + 1) % 12, 7};
    }
    const struct symmetry_graph graph = {12, 12, colours, edges, NULL};
    struct symmetry_classes classes;
    symmetry_refine(arena, &graph, &classes);
    assert_int_equal(classes.count, 12);
    arena_free(arena);
}

/* Two groups of 4 ranks; a slow rank in one: the slow one, its 3 peers, the 4
 * others, and the two groups: 5 classes. */
static void a_slow_member_splits_its_own_group_only(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    uint64_t colours[10] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 2};
    struct symmetry_edge edges[8];
    colours[6] = 9;
    for (uint32_t i = 0; i < 8; i++) {
        edges[i] = (struct symmetry_edge){i, 8 + i / 4, 0};
    }
    const struct symmetry_graph graph = {10, 8, colours, edges, NULL};
    struct symmetry_classes classes;
    symmetry_refine(arena, &graph, &classes);
    assert_int_equal(classes.count, 5);
    assert_int_equal(classes.class_of[0], classes.class_of[3]);
    assert_int_equal(classes.class_of[4], classes.class_of[7]);
    assert_true(classes.class_of[4] != classes.class_of[0]);
    assert_true(classes.class_of[8] != classes.class_of[9]);
    arena_free(arena);
}

/* The label of an edge and its direction count. */
static void labels_and_directions_count(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    uint64_t colours[4] = {0};
    const struct symmetry_edge labelled[] = {{0, 1, 1}, {2, 3, 2}};
    const struct symmetry_graph graph = {4, 2, colours, labelled, NULL};
    struct symmetry_classes classes;
    symmetry_refine(arena, &graph, &classes);
    assert_int_equal(classes.count, 4);
    arena_free(arena);
}

/* How many neighbours of a class a node has over a label, on that side. */
static uint32_t count_neighbours(const struct symmetry_graph *graph, const uint32_t *class_of,
                                 uint32_t node, const struct symmetry_edge *like, bool is_ahead)
{
    uint32_t count = 0;
    const uint32_t class = class_of[is_ahead ? like->to : like->from];
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct symmetry_edge *edge = &graph->edges[i];
        const uint32_t other = is_ahead ? edge->to : edge->from;
        const struct symmetry_counts counts =
            graph->counts != NULL ? graph->counts[i] : (struct symmetry_counts){1, 1};
        if ((is_ahead ? edge->from : edge->to) == node && edge->label == like->label &&
            class_of[other] == class) {
            count += is_ahead ? counts.to : counts.from;
        }
    }
    return count;
}

static bool look_alike(const struct symmetry_graph *graph, const uint32_t *class_of, uint32_t a,
                       uint32_t b)
{
    bool are_alike = class_of[a] == class_of[b];
    for (uint32_t i = 0; are_alike && i < graph->edge_count; i++) {
        const struct symmetry_edge *like = &graph->edges[i];
        for (uint32_t side = 0; side < 2; side++) {
            are_alike = are_alike && count_neighbours(graph, class_of, a, like, side == 0) ==
                                         count_neighbours(graph, class_of, b, like, side == 0);
        }
    }
    return are_alike;
}

/* The definition, round after round: classes numbered by their first nodes. */
static uint32_t refine_by_rounds(const struct symmetry_graph *graph, uint32_t *class_of)
{
    const uint32_t n = graph->node_count;
    uint32_t next[64] = {0};
    uint32_t count = 0;
    uint32_t before = 0;
    for (uint32_t round = 0; round == 0 || count > before; round++) {
        before = count;
        count = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t k = 0;
            while (k < i && !(round == 0 ? graph->colours[k] == graph->colours[i]
                                         : look_alike(graph, class_of, k, i))) {
                k++;
            }
            next[i] = k < i ? next[k] : count++;
        }
        memcpy(class_of, next, n * sizeof *class_of);
    }
    return count;
}

/* Edges, some of which stand for several neighbours. */
static void random_graphs_refine_as_by_rounds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct arena *arena = arena_new();
        struct rng_key key = {.seed = seed, .stream = rng_stream("random graph of counts")};
        const uint32_t nodes = 2 + (uint32_t)rng_below(&key, 40);
        uint64_t colours[64] = {0};
        struct symmetry_edge edges[60];
        struct symmetry_counts counts[60];
        colours[nodes / 2] = seed % 3 == 0;
        for (uint32_t i = 0; i < 60; i++) {
            key.operation = i + 1;
            const uint64_t drawn = rng_below(&key, (uint64_t)nodes * nodes * 8);
            /* as often as not a ring, whose nodes are alike */
            edges[i].from = seed % 2 == 0 ? i % nodes : (uint32_t)(drawn / 8 % nodes);
            edges[i].to = seed % 2 == 0 ? (i + 1) % nodes : (uint32_t)(drawn / 8 / nodes);
            edges[i].label = seed % 2 == 0 ? 0 : drawn % 2;
            counts[i] = (struct symmetry_counts){1 + drawn / 2 % 2, 1 + drawn / 4 % 2};
        }
        const struct symmetry_graph graph = {nodes, (uint32_t)(seed % 60), colours, edges,
                                             seed % 4 < 2 ? counts : NULL};
        struct symmetry_classes classes;
        uint32_t by_rounds[64] = {0};
        symmetry_refine(arena, &graph, &classes);
        assert_true(symmetry_is_equitable(arena, &graph, &classes));
        assert_int_equal(classes.count, refine_by_rounds(&graph, by_rounds));
        assert_memory_equal(classes.class_of, by_rounds, nodes * sizeof *by_rounds);
        arena_free(arena);
    }
}

static void random_graphs_refine_to_equitable_partitions(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct arena *arena = arena_new();
        struct rng_key key = {.seed = seed, .stream = rng_stream("random graph")};
        const uint32_t nodes = 2 + (uint32_t)rng_below(&key, 40);
        uint64_t *colours = arena_array(arena, nodes, sizeof *colours);
        struct symmetry_edge edges[60];
        for (uint32_t i = 0; i < 60; i++) {
            key.operation = 3 * i + 1;
            edges[i].from = (uint32_t)rng_below(&key, nodes);
            key.operation++;
            edges[i].to = (uint32_t)rng_below(&key, nodes);
            key.operation++;
            edges[i].label = rng_below(&key, 2);
        }
        const struct symmetry_graph graph = {nodes, (uint32_t)(seed % 60), colours, edges, NULL};
        struct symmetry_classes classes;
        symmetry_refine(arena, &graph, &classes);
        assert_true(symmetry_is_equitable(arena, &graph, &classes));
        uint32_t sum = 0;
        for (uint32_t k = 0; k < classes.count; k++) {
            sum += classes.sizes[k];
            assert_int_equal(classes.class_of[classes.first[k]], k);
        }
        assert_int_equal(sum, nodes);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_nodes_of_a_ring_are_one_class),
        cmocka_unit_test(one_marked_node_splits_a_ring_by_distance),
        cmocka_unit_test(a_slow_member_splits_its_own_group_only),
        cmocka_unit_test(labels_and_directions_count),
        cmocka_unit_test(random_graphs_refine_to_equitable_partitions),
        cmocka_unit_test(random_graphs_refine_as_by_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
