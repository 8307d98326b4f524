/* Symmetry: which parts of a system cannot be told apart.
 *
 * The parts (ranks, groups, links) are nodes of a graph with initial colours
 * (what a part is) and labelled edges (how parts are connected: "member of, on
 * stream 3", "crosses, with usage 65536"). Two nodes stay in one class only if
 * they have the same colour and, for each label and class, equally many
 * neighbours over that label in that class. Refining until nothing changes
 * gives the coarsest such partition (an equitable partition; 1-dimensional
 * Weisfeiler-Leman colour refinement: Berkholz, Bonsma, Grohe 2017, "Tight
 * lower and upper bounds for the complexity of canonical colour refinement").
 *
 * In a deterministic simulation in which what happens at one instant commutes,
 * nodes of one class have the same history, so one of each is enough.
 *
 * Classes are numbered by their first node: class of node 0 is 0, and so on,
 * so the result does not depend on hashing. Refinement compares 64-bit
 * hashes; a collision would merge two classes wrongly (probability below 1e-9
 * for a million nodes) and symmetry_is_equitable, which compares exactly, is
 * run by the tests and, in debug builds, always.
 *
 * Cost: O(edges) once, and then, for each class that is parted, the edges of all its parts but
 * one: what is alike stays as it was, and a node unlike the rest costs what it makes unlike.
 */
#ifndef PLAN_SYMMETRY_H
#define PLAN_SYMMETRY_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

struct symmetry_edge {
    uint32_t from, to;
    uint64_t label; /* seen from both sides; direction counts */
};

/* A node may stand for several that are alike. Over an edge each one of `from` then has `to`
 * neighbours, and each one of `to` has `from`. */
struct symmetry_counts {
    uint32_t to, from;
};

struct symmetry_graph {
    uint32_t node_count;
    uint32_t edge_count;
    const uint64_t *colours; /* initial, per node */
    const struct symmetry_edge *edges;
    const struct symmetry_counts *counts; /* per edge; NULL: all one */
};

struct symmetry_classes {
    uint32_t count;
    uint32_t *class_of; /* per node */
    uint32_t *first;    /* per class: its first node */
    uint32_t *sizes;    /* per class: its nodes */
};

void symmetry_refine(struct arena *arena, const struct symmetry_graph *graph,
                     struct symmetry_classes *classes);

/* Exact check of the definition above. O(edges log edges). */
bool symmetry_is_equitable(struct arena *arena, const struct symmetry_graph *graph,
                           const struct symmetry_classes *classes);

#endif
