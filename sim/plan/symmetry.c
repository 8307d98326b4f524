/* Every node has a sum, over its edges, of a hash of (label, direction, neighbour's class). A sum
 * does not depend on the order of edges, counts multiplicities, and can be kept up to date: a node
 * that changes its class takes one term off each neighbour's sum and puts another one there.
 *
 * A class whose members have one sum is settled. Where neighbours changed, members are unsettled:
 * they are parted by their sums. The settled rest of a class keeps its name, or else the largest
 * part does; the others get new names, and only what they touch is looked at next. So a few nodes
 * that are unlike the rest cost what lies around them, not a round over all edges for each step
 * outwards. When nothing is unsettled the partition is stable, and as no parting was without need,
 * it is the coarsest; classes are then numbered by their first nodes.
 */
#include "plan/symmetry.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* ---- parts of classes ------------------------------------------------------------------- */

/* Unsettled nodes of one class with one sum. */
struct part {
    uint64_t sum;
    uint32_t class;
    uint32_t size;
    uint32_t name; /* the class that it becomes */
};

/* Open-addressing table of parts. */
struct part_table {
    struct part *parts;
    uint32_t *slots; /* part + 1; 0 = empty */
    uint32_t mask;
    uint32_t count;
};

static struct part_table table_new(struct arena *arena, uint32_t node_count)
{
    uint32_t size = 16;
    while (size < node_count * 2u) {
        size *= 2;
    }
    return (struct part_table){.parts = arena_array(arena, node_count, sizeof(struct part)),
                               .slots = arena_array(arena, size, sizeof(uint32_t)),
                               .mask = size - 1};
}

static uint32_t *slot_of(const struct part_table *table, uint32_t class, uint64_t sum)
{
    uint32_t slot = (uint32_t)rng_mix(sum + class) & table->mask;
    while (table->slots[slot] != 0) {
        const struct part *part = &table->parts[table->slots[slot] - 1];
        if (part->sum == sum && part->class == class) {
            break;
        }
        slot = (slot + 1) & table->mask;
    }
    return &table->slots[slot];
}

/* The part of a node, which is counted in. */
static uint32_t join_part(struct part_table *table, uint32_t class, uint64_t sum)
{
    uint32_t *slot = slot_of(table, class, sum);
    if (*slot == 0) {
        table->parts[table->count] = (struct part){.sum = sum, .class = class, .name = class};
        *slot = ++table->count;
    }
    table->parts[*slot - 1].size++;
    return *slot - 1;
}

static void table_clear(struct part_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        uint32_t slot = (uint32_t)rng_mix(table->parts[i].sum + table->parts[i].class);
        for (slot &= table->mask; table->slots[slot] != 0; slot = (slot + 1) & table->mask) {
            table->slots[slot] = 0;
        }
    }
    table->count = 0;
}

/* ---- the partition ---------------------------------------------------------------------- */

struct refiner {
    const struct symmetry_graph *graph;
    uint32_t *class_of;
    uint32_t count;
    uint64_t *sums;       /* per node */
    uint32_t *edge_first; /* per node and one more: into edges_of */
    uint32_t *edges_of;   /* edges that begin or end at a node */
    struct class_state {
        uint64_t sum; /* of settled members */
        uint32_t size, unsettled;
        uint32_t largest; /* part + 1 of the unsettled, while they are parted */
    } * classes;          /* [nodes] */
    uint32_t *unsettled;  /* nodes */
    uint32_t unsettled_count;
    bool *is_unsettled;
    uint32_t *part_of;    /* per unsettled node in its order */
    uint32_t *moved_from; /* per node that moved, in that order: its old class */
    uint32_t *moved;
    uint32_t moved_count;
    struct part_table table;
};

static struct symmetry_counts counts_of(const struct symmetry_graph *graph, uint32_t edge)
{
    return graph->counts != NULL ? graph->counts[edge] : (struct symmetry_counts){1, 1};
}

/* Hash of a neighbour seen over a label; the two ends of an edge use different
 * labels, so direction counts. */
static uint64_t signature(uint64_t label, uint32_t neighbour_class)
{
    return rng_hash_pair(label, neighbour_class);
}

static void unsettle(struct refiner *refiner, uint32_t node)
{
    if (!refiner->is_unsettled[node]) {
        refiner->is_unsettled[node] = true;
        refiner->unsettled[refiner->unsettled_count++] = node;
        refiner->classes[refiner->class_of[node]].unsettled++;
    }
}

static void index_edges(struct arena *arena, struct refiner *refiner)
{
    const struct symmetry_graph *graph = refiner->graph;
    refiner->edge_first = arena_array(arena, graph->node_count + 2u, sizeof(uint32_t));
    refiner->edges_of = arena_array(arena, (size_t)2 * graph->edge_count, sizeof(uint32_t));
    uint32_t *cursor = refiner->edge_first + 1;
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        cursor[graph->edges[i].from + 1]++;
        cursor[graph->edges[i].to + 1]++;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        cursor[n + 1] += cursor[n];
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        refiner->edges_of[cursor[graph->edges[i].from]++] = i;
        refiner->edges_of[cursor[graph->edges[i].to]++] = i;
    }
}

/* Classes by colour; all nodes are unsettled. */
static void begin(struct arena *arena, struct refiner *refiner)
{
    const struct symmetry_graph *graph = refiner->graph;
    const uint32_t n = graph->node_count;
    refiner->class_of = arena_array(arena, n, sizeof *refiner->class_of);
    refiner->sums = arena_array(arena, n, sizeof *refiner->sums);
    refiner->classes = arena_array(arena, n, sizeof *refiner->classes);
    refiner->unsettled = arena_array(arena, n, sizeof *refiner->unsettled);
    refiner->is_unsettled = arena_array(arena, n, sizeof *refiner->is_unsettled);
    refiner->part_of = arena_array(arena, n, sizeof *refiner->part_of);
    refiner->moved = arena_array(arena, n, sizeof *refiner->moved);
    refiner->moved_from = arena_array(arena, n, sizeof *refiner->moved_from);
    refiner->table = table_new(arena, n);
    for (uint32_t i = 0; i < n; i++) {
        refiner->class_of[i] = join_part(&refiner->table, 0, graph->colours[i]);
        refiner->classes[refiner->class_of[i]].size++;
    }
    refiner->count = refiner->table.count;
    table_clear(&refiner->table);
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct symmetry_edge *edge = &graph->edges[i];
        const struct symmetry_counts counts = counts_of(graph, i);
        refiner->sums[edge->from] +=
            counts.to * signature(2u * edge->label, refiner->class_of[edge->to]);
        refiner->sums[edge->to] +=
            counts.from * signature(2u * edge->label + 1u, refiner->class_of[edge->from]);
    }
    for (uint32_t i = 0; i < n; i++) {
        unsettle(refiner, i);
    }
}

/* Counts the parts of unsettled nodes, and of each class the largest. */
static void form_parts(struct refiner *refiner)
{
    for (uint32_t i = 0; i < refiner->unsettled_count; i++) {
        const uint32_t node = refiner->unsettled[i];
        refiner->part_of[i] =
            join_part(&refiner->table, refiner->class_of[node], refiner->sums[node]);
    }
    for (uint32_t i = 0; i < refiner->table.count; i++) {
        const struct part *part = &refiner->table.parts[i];
        uint32_t *largest = &refiner->classes[part->class].largest;
        if (*largest == 0 || part->size > refiner->table.parts[*largest - 1].size) {
            *largest = i + 1;
        }
    }
}

/* A part that has the sum of settled members stays with them; where there are none the largest
 * part keeps the class. The others become classes of their own. */
static void name_parts(struct refiner *refiner)
{
    for (uint32_t i = 0; i < refiner->table.count; i++) {
        struct part *part = &refiner->table.parts[i];
        struct class_state *class = &refiner->classes[part->class];
        const bool has_settled = class->unsettled < class->size;
        const bool stays = has_settled ? part->sum == class->sum : class->largest == i + 1;
        part->name = stays ? part->class : refiner->count++;
    }
    for (uint32_t i = 0; i < refiner->table.count; i++) {
        const struct part *part = &refiner->table.parts[i];
        struct class_state *old = &refiner->classes[part->class];
        struct class_state *class = &refiner->classes[part->name];
        class->sum = part->sum;
        old->largest = 0;
        old->unsettled -= part->size;
        if (class != old) {
            old->size -= part->size;
            class->size = part->size;
        }
    }
}

static void move_nodes(struct refiner *refiner)
{
    refiner->moved_count = 0;
    for (uint32_t i = 0; i < refiner->unsettled_count; i++) {
        const uint32_t node = refiner->unsettled[i];
        const uint32_t name = refiner->table.parts[refiner->part_of[i]].name;
        refiner->is_unsettled[node] = false;
        if (name != refiner->class_of[node]) {
            refiner->moved[refiner->moved_count] = node;
            refiner->moved_from[refiner->moved_count++] = refiner->class_of[node];
            refiner->class_of[node] = name;
        }
    }
    refiner->unsettled_count = 0;
    table_clear(&refiner->table);
}

/* Over one edge, whose other end sees a node under another name. */
static void tell(struct refiner *refiner, uint32_t number, uint32_t node, uint32_t before,
                 uint32_t after)
{
    const struct symmetry_edge *edge = &refiner->graph->edges[number];
    const struct symmetry_counts counts = counts_of(refiner->graph, number);
    if (edge->to == node) {
        const uint64_t label = 2u * edge->label;
        refiner->sums[edge->from] +=
            counts.to * (signature(label, after) - signature(label, before));
        unsettle(refiner, edge->from);
    }
    if (edge->from == node) {
        const uint64_t label = 2u * edge->label + 1u;
        refiner->sums[edge->to] +=
            counts.from * (signature(label, after) - signature(label, before));
        unsettle(refiner, edge->to);
    }
}

static void tell_neighbours(struct refiner *refiner)
{
    for (uint32_t i = 0; i < refiner->moved_count; i++) {
        const uint32_t node = refiner->moved[i];
        uint32_t before = UINT32_MAX;
        for (uint32_t k = refiner->edge_first[node]; k < refiner->edge_first[node + 1]; k++) {
            const uint32_t edge = refiner->edges_of[k];
            if (edge != before) { /* one from a node to itself is listed twice */
                tell(refiner, edge, node, refiner->moved_from[i], refiner->class_of[node]);
            }
            before = edge;
        }
    }
}

/* Numbers classes in the order of their first nodes. */
static void number_classes(struct arena *arena, const struct refiner *refiner,
                           struct symmetry_classes *classes)
{
    const uint32_t n = refiner->graph->node_count;
    uint32_t *numbers = arena_array(arena, refiner->count, sizeof *numbers);
    *classes = (struct symmetry_classes){.class_of = refiner->class_of};
    classes->first = arena_array(arena, refiner->count, sizeof *classes->first);
    classes->sizes = arena_array(arena, refiner->count, sizeof *classes->sizes);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *number = &numbers[refiner->class_of[i]]; /* + 1 */
        if (*number == 0) {
            classes->first[classes->count] = i;
            *number = ++classes->count;
        }
        classes->class_of[i] = *number - 1;
        classes->sizes[*number - 1]++;
    }
    sim_assert(classes->count == refiner->count);
}

void symmetry_refine(struct arena *arena, const struct symmetry_graph *graph,
                     struct symmetry_classes *classes)
{
    struct arena *scratch = arena_new();
    struct refiner refiner = {.graph = graph};
    index_edges(scratch, &refiner);
    begin(scratch, &refiner);
    while (refiner.unsettled_count > 0) { /* each round makes a class, or is the last */
        form_parts(&refiner);
        name_parts(&refiner);
        move_nodes(&refiner);
        tell_neighbours(&refiner);
    }
    refiner.class_of = memcpy(arena_array(arena, graph->node_count, sizeof *refiner.class_of),
                              refiner.class_of, graph->node_count * sizeof *refiner.class_of);
    number_classes(arena, &refiner, classes);
    arena_free(scratch);
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
