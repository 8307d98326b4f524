/* The inside of plan/collective/collective.h: one row per (operation, algorithm), and the functions
 * of its families. Included by collective*.c and nowhere else. */
#ifndef PLAN_COLLECTIVE_COLLECTIVE_ROWS_H
#define PLAN_COLLECTIVE_COLLECTIVE_ROWS_H

#include "plan/collective/collective.h"

struct collective_walk {
    struct arena *arena;
    enum collective_operation operation;
    const struct collective_group *group;
    const struct collective_visitor *visitor;
    bool is_reversed; /* sends go from `to` to `from`: a reduce is a broadcast run backwards */
};

/* Pipelined algorithms differ in what hangs below what (collective_sends_tree.c). */
enum collective_form { FORM_CHAIN, FORM_RAILS, FORM_TREES };

/* What is asked for in slow form. */
struct collective_ask {
    enum collective_operation operation;
    const struct collective_group *group;
    uint32_t pieces;
    enum collective_form form; /* of a forest: the row's */
};

struct collective_slow {
    bool (*script)(const struct collective_ask *ask, struct collective_script *script);
    uint32_t (*sends)(const struct collective_ask *ask, uint32_t rank, uint32_t round,
                      struct collective_send *sends);
    uint32_t (*receives)(const struct collective_ask *ask, uint32_t rank, uint32_t round);
    enum collective_form form;
};

typedef uint32_t collective_phases_function(enum collective_operation operation,
                                            const struct collective_group *group, double bytes,
                                            struct collective_phase *phases, struct ledger *ledger);
typedef void collective_edges_function(const struct collective_walk *walk, uint32_t phase);

/* Whether the edges look the same from each rank (collective_turns). */
enum collective_turning { TURNS_NOT, TURNS_IN_NODE, TURNS };

struct collective_row {
    enum collective_operation operation;
    enum collective_algorithm algorithm;
    collective_phases_function *list;
    collective_edges_function *edges;
    const struct collective_slow *slow; /* NULL: has none */
    enum collective_turning turns;
};

/* ---- the shape of a group ---------------------------------------------------------- */

static inline uint32_t group_members(const struct collective_group *group, uint32_t node)
{
    return group->node_first[node + 1] - group->node_first[node];
}

/* Which part of its buffer each rank of an all-to-all sends to rank `to`; they sum to one. */
double group_part(const struct collective_group *group, uint32_t to);

/* Whether an all-to-all sends a row once to another node, where it is handed on. */
bool group_hands_on(const struct collective_group *group);

uint32_t group_members_max(const struct collective_group *group);
/* All nodes have equally many ranks. */
bool group_is_even(const struct collective_group *group);
/* The first rank of its node on its rail. */
bool group_is_rail_head(const struct collective_group *group, uint32_t node, uint32_t rank);
/* Distinct rails of a node's ranks. */
uint32_t group_rails(const struct collective_group *group, uint32_t node);
/* The first rank of a node on its j-th rail (from 0). */
uint32_t group_rail_rank(const struct collective_group *group, uint32_t node, uint32_t j);
/* The rank of `node` that speaks with `rank` of another node: the first on the same rail, else
 * the member of the same index, modulo its count. */
uint32_t group_peer(const struct collective_group *group, uint32_t node, uint32_t rank);
/* By bisection. */
uint32_t group_node_of(const struct collective_group *group, uint32_t rank);

/* ---- binary trees ------------------------------------------------------------------- */

/* n >= 1. */
uint32_t floor_log2(uint32_t n);

#define TREE_NONE UINT32_MAX

/* Place 0 is the root, with one child; the others are a binary tree in which the place's
 * lowest bit set is its height. Odd places are leaves. */
uint32_t tree_parent(uint32_t count, uint32_t place);
/* Node of a place of tree 0 or 1 and back: tree 1 is mirrored (even count) or shifted by
 * one (odd), so that leaves of one tree are inside the other. */
uint32_t tree_node(uint32_t count, uint32_t tree, uint32_t place);
uint32_t tree_place(uint32_t count, uint32_t tree, uint32_t node);
/* Rounds from the root down, as NCCL's tuner counts. */
uint32_t tree_depth(uint32_t count);

/* ---- families ----------------------------------------------------------------------- */

collective_phases_function ring_phases, tree_phases, halving_doubling_phases, hierarchical_phases,
    nvls_phases, nvls_tree_phases, sharp_phases, pat_phases, send_phases, shift_phases,
    all_to_all_phases;
collective_edges_function ring_edges, multi_rail_ring_edges, tree_edges, halving_doubling_edges,
    hierarchical_edges, nvls_edges, nvls_tree_edges, sharp_edges, pat_edges, send_edges,
    shift_edges, all_to_all_edges;

extern const struct collective_slow ring_slow, multi_rail_ring_slow, chain_slow, rail_chains_slow,
    trees_slow, halving_doubling_slow, hierarchical_slow, pat_slow, send_slow, shift_slow,
    all_to_all_slow;

/* Of 2^q ranks: the distance between partners in a phase. */
uint32_t halving_doubling_distance(enum collective_operation operation, uint32_t ranks,
                                   uint32_t phase);
/* Of pat: likewise, and how many parts of the buffer a rank sends over it. */
uint32_t pat_distance(enum collective_operation operation, uint32_t ranks, uint32_t phase);
uint32_t pat_parts(uint32_t ranks, uint32_t distance);

#endif
