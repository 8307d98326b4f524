/* Each round gives every node a new colour: a hash of its old one and of the
 * sum, over its edges, of a hash of (label, direction, neighbour's colour). A
 * sum does not depend on the order of edges and counts multiplicities. Colours
 * are then renamed to class numbers in order of first appearance. A round that
 * makes no new class ends the refinement, because classes only ever split.
 */
#include "plan/symmetry.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* Open-addressing table from a 64-bit colour to its class number. */
struct namer {
    uint64_t *keys;
    uint32_t *names; /* class + 1; 0 = empty */
    uint32_t mask;
};

static struct namer namer_new(struct arena *arena, uint32_t node_count)
{
    uint32_t size = 16;
    while (size < node_count * 2u) {
        size *= 2;
    }
    return (struct namer){arena_array(arena, size, sizeof(uint64_t)),
                          arena_array(arena, size, sizeof(uint32_t)), size - 1};
}

static uint32_t name_of(struct namer *namer, uint64_t colour, uint32_t *count)
{
    uint32_t slot = (uint32_t)rng_mix(colour) & namer->mask;
    while (namer->names[slot] != 0 && namer->keys[slot] != colour) {
        slot = (slot + 1) & namer->mask;
    }
    if (namer->names[slot] == 0) {
        namer->keys[slot] = colour;
        namer->names[slot] = ++*count;
    }
    return namer->names[slot] - 1;
}

/* Renames colours to classes; returns how many there are. */
static uint32_t rename_colours(struct namer *namer, const uint64_t *colours, uint32_t node_count,
                               uint32_t *class_of)
{
    uint32_t count = 0;
    memset(namer->names, 0, ((size_t)namer->mask + 1) * sizeof *namer->names);
    for (uint32_t i = 0; i < node_count; i++) {
        class_of[i] = name_of(namer, colours[i], &count);
    }
    return count;
}

/* Hash of a neighbour seen over a label; the two ends of an edge use different
 * labels, so direction counts. */
static uint64_t signature(uint64_t label, uint32_t neighbour_class)
{
    return rng_hash_pair(label, neighbour_class);
}

static struct symmetry_counts counts_of(const struct symmetry_graph *graph, uint32_t edge)
{
    return graph->counts != NULL ? graph->counts[edge] : (struct symmetry_counts){1, 1};
}

static void one_round(const struct symmetry_graph *graph, const uint32_t *class_of,
                      uint64_t *colours)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        colours[i] = rng_mix(class_of[i] + 1u);
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct symmetry_edge *edge = &graph->edges[i];
        const struct symmetry_counts counts = counts_of(graph, i);
        colours[edge->from] += counts.to * signature(2u * edge->label, class_of[edge->to]);
        colours[edge->to] += counts.from * signature(2u * edge->label + 1u, class_of[edge->from]);
    }
}

/* The old class is part of the new colour through its hash; a sum of hashes
 * keeps it apart from every other class with the probability stated. */
void symmetry_refine(struct arena *arena, const struct symmetry_graph *graph,
                     struct symmetry_classes *classes)
{
    const uint32_t n = graph->node_count;
    struct namer namer = namer_new(arena, n);
    uint64_t *colours = arena_array(arena, n, sizeof *colours);
    classes->class_of = arena_array(arena, n, sizeof *classes->class_of);
    classes->count = rename_colours(&namer, graph->colours, n, classes->class_of);
    classes->rounds = 0;
    for (;;) {
        one_round(graph, classes->class_of, colours);
        const uint32_t count = rename_colours(&namer, colours, n, classes->class_of);
        classes->rounds++;
        sim_assert(count >= classes->count);
        if (count == classes->count) {
            break;
        }
        classes->count = count;
    }
    classes->first = arena_array(arena, classes->count, sizeof *classes->first);
    classes->sizes = arena_array(arena, classes->count, sizeof *classes->sizes);
    for (uint32_t i = n; i-- > 0;) {
        classes->first[classes->class_of[i]] = i;
        classes->sizes[classes->class_of[i]]++;
    }
    debug_assert(symmetry_is_equitable(arena, graph, classes));
}

/* ---- the exact check ------------------------------------------------------ */

struct half_edge {
    uint32_t node;
    uint32_t neighbour_class;
    uint64_t label;
    uint32_t is_backward;
    uint32_t count;
};

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_half_edges(const void *left, const void *right)
{
    const struct half_edge *a = left;
    const struct half_edge *b = right;
    int order = compare_u64(a->node, b->node);
    order = order != 0 ? order : compare_u64(a->label, b->label);
    order = order != 0 ? order : compare_u64(a->is_backward, b->is_backward);
    return order != 0 ? order : compare_u64(a->neighbour_class, b->neighbour_class);
}

static bool are_alike(const struct half_edge *a, const struct half_edge *b)
{
    return a->label == b->label && a->is_backward == b->is_backward &&
           a->neighbour_class == b->neighbour_class;
}

/* Adds up those of edges at..end-1 that are like the first; the first that is not. */
static uint32_t count_alike(const struct half_edge *edges, uint32_t at, uint32_t end,
                            uint64_t *count)
{
    uint32_t next = at;
    *count = 0;
    while (next < end && are_alike(&edges[at], &edges[next])) {
        *count += edges[next++].count;
    }
    return next;
}

static bool same_signature(const struct half_edge *edges, const uint32_t *starts, uint32_t a,
                           uint32_t b)
{
    uint32_t x = starts[a];
    uint32_t y = starts[b];
    while (x < starts[a + 1] && y < starts[b + 1]) {
        uint64_t of_a;
        uint64_t of_b;
        if (!are_alike(&edges[x], &edges[y])) {
            return false;
        }
        x = count_alike(edges, x, starts[a + 1], &of_a);
        y = count_alike(edges, y, starts[b + 1], &of_b);
        if (of_a != of_b) {
            return false;
        }
    }
    return x == starts[a + 1] && y == starts[b + 1];
}

bool symmetry_is_equitable(struct arena *arena, const struct symmetry_graph *graph,
                           const struct symmetry_classes *classes)
{
    const uint32_t count = graph->edge_count * 2;
    struct half_edge *edges = arena_array(arena, count, sizeof *edges);
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct symmetry_edge *edge = &graph->edges[i];
        const struct symmetry_counts counts = counts_of(graph, i);
        edges[(size_t)2 * i] =
            (struct half_edge){edge->from, classes->class_of[edge->to], edge->label, 0, counts.to};
        edges[(size_t)2 * i + 1] = (struct half_edge){edge->to, classes->class_of[edge->from],
                                                      edge->label, 1, counts.from};
    }
    qsort(edges, count, sizeof *edges, compare_half_edges);
    uint32_t *starts = arena_array(arena, graph->node_count + 1u, sizeof *starts);
    for (uint32_t i = 0; i < count; i++) {
        starts[edges[i].node + 1]++;
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        starts[i + 1] += starts[i];
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const uint32_t first = classes->first[classes->class_of[i]];
        if (graph->colours[i] != graph->colours[first] ||
            !same_signature(edges, starts, first, i)) {
            return false;
        }
    }
    return true;
}
