/* The table, and what callers ask of it. An algorithm more is a function or two in
 * collective_phases.c and collective_edges.c (and a slow form in collective_sends*.c) and a
 * row here. */
#include "plan/collective/collective.h"

#include "plan/collective/collective_rows.h"
#include "input/formats/measurement.h"

#include <stddef.h>

/* ---- the table --------------------------------------------------------- */

static const struct collective_row rows[] = {
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, ring_phases, ring_edges, &ring_slow, TURNS},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_MULTI_RAIL_RING, ring_phases, multi_rail_ring_edges,
     &multi_rail_ring_slow, TURNS},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, tree_phases, tree_edges, &trees_slow, TURNS_IN_NODE},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_HALVING_DOUBLING, halving_doubling_phases,
     halving_doubling_edges, &halving_doubling_slow, TURNS_NOT},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_HIERARCHICAL, hierarchical_phases, hierarchical_edges,
     &hierarchical_slow, TURNS},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS, nvls_phases, nvls_edges, NULL, TURNS},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS_TREE, nvls_tree_phases, nvls_tree_edges, NULL,
     TURNS_NOT},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_SHARP, sharp_phases, sharp_edges, NULL, TURNS_NOT},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_RING, ring_phases, ring_edges, &ring_slow, TURNS},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_MULTI_RAIL_RING, ring_phases, multi_rail_ring_edges,
     &multi_rail_ring_slow, TURNS},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_HALVING_DOUBLING, halving_doubling_phases,
     halving_doubling_edges, &halving_doubling_slow, TURNS_NOT},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_HIERARCHICAL, hierarchical_phases, hierarchical_edges,
     &hierarchical_slow, TURNS},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_NVLS, nvls_phases, nvls_edges, NULL, TURNS},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_PAT, pat_phases, pat_edges, &pat_slow, TURNS},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, ring_phases, ring_edges, &ring_slow, TURNS},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_MULTI_RAIL_RING, ring_phases, multi_rail_ring_edges,
     &multi_rail_ring_slow, TURNS},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_HALVING_DOUBLING, halving_doubling_phases,
     halving_doubling_edges, &halving_doubling_slow, TURNS_NOT},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_HIERARCHICAL, hierarchical_phases, hierarchical_edges,
     &hierarchical_slow, TURNS},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_NVLS, nvls_phases, nvls_edges, NULL, TURNS},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_PAT, pat_phases, pat_edges, &pat_slow, TURNS},
    {COLLECTIVE_BROADCAST, ALGORITHM_RING, ring_phases, ring_edges, &chain_slow, TURNS_NOT},
    {COLLECTIVE_BROADCAST, ALGORITHM_MULTI_RAIL_RING, ring_phases, multi_rail_ring_edges,
     &rail_chains_slow, TURNS_NOT},
    {COLLECTIVE_BROADCAST, ALGORITHM_TREE, tree_phases, tree_edges, &trees_slow, TURNS_NOT},
    {COLLECTIVE_REDUCE, ALGORITHM_RING, ring_phases, ring_edges, &chain_slow, TURNS_NOT},
    {COLLECTIVE_REDUCE, ALGORITHM_MULTI_RAIL_RING, ring_phases, multi_rail_ring_edges,
     &rail_chains_slow, TURNS_NOT},
    {COLLECTIVE_REDUCE, ALGORITHM_TREE, tree_phases, tree_edges, &trees_slow, TURNS_NOT},
    {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, all_to_all_phases, all_to_all_edges, &all_to_all_slow,
     TURNS_NOT},
    {COLLECTIVE_SEND, ALGORITHM_DIRECT, send_phases, send_edges, &send_slow, TURNS_NOT},
    {COLLECTIVE_SHIFT, ALGORITHM_DIRECT, shift_phases, shift_edges, &shift_slow, TURNS},
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])

/* A barrier is an all-reduce of nothing. */
static enum collective_operation carried_out(enum collective_operation operation)
{
    return operation == COLLECTIVE_BARRIER ? COLLECTIVE_ALL_REDUCE : operation;
}

static const struct collective_row *row_find(enum collective_operation operation,
                                             enum collective_algorithm algorithm)
{
    sim_assert(operation < COLLECTIVE_OPERATION_COUNT_);
    sim_assert(algorithm < ALGORITHM_COUNT_);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].operation == carried_out(operation) && rows[i].algorithm == algorithm) {
            return &rows[i];
        }
    }
    return NULL;
}

static void group_check(const struct collective_group *group)
{
    sim_assert(group->ranks >= 1);
    sim_assert(group->nodes >= 1 && group->nodes <= group->ranks);
    sim_assert(group->node_first[0] == 0);
    sim_assert(group->node_first[group->nodes] == group->ranks);
}

/* ---- phases, edges -------------------------------------------------- */

uint32_t collective_record(const struct collective_call *call,
                           struct collective_phase list[COLLECTIVE_PHASES_MAX],
                           struct ledger *ledger)
{
    sim_assert(call->bytes >= 0);
    group_check(call->group);
    const struct collective_row *row = row_find(call->operation, call->algorithm);
    if (row == NULL) {
        return 0;
    }
    if (call->group->ranks == 1) {
        list[0] = (struct collective_phase){0};
        return 1;
    }
    const double moved = call->operation == COLLECTIVE_BARRIER ? 0 : call->bytes;
    const uint32_t count = row->list(row->operation, call->group, moved, list, ledger);
    sim_assert(count <= COLLECTIVE_PHASES_MAX);
    return count;
}

uint32_t collective_phases(enum collective_operation operation, enum collective_algorithm algorithm,
                           const struct collective_group *group, double bytes,
                           struct collective_phase list[COLLECTIVE_PHASES_MAX])
{
    const struct collective_call call = {operation, algorithm, group, bytes};
    return collective_record(&call, list, NULL);
}

void collective_edges(struct arena *arena, enum collective_operation operation,
                      enum collective_algorithm algorithm, const struct collective_group *group,
                      uint32_t number, const struct collective_visitor *visitor)
{
    group_check(group);
    const struct collective_row *row = row_find(operation, algorithm);
    sim_assert(row != NULL);
    if (group->ranks == 1) {
        return;
    }
    const struct collective_walk walk = {
        .arena = arena,
        .operation = row->operation,
        .group = group,
        .visitor = visitor,
        .is_reversed = row->operation == COLLECTIVE_REDUCE,
    };
    row->edges(&walk, number);
}

bool collective_turns(enum collective_operation operation, enum collective_algorithm algorithm,
                      const struct collective_group *group)
{
    const struct collective_row *row = row_find(operation, algorithm);
    sim_assert(row != NULL);
    return row->turns == TURNS || (row->turns == TURNS_IN_NODE && group->nodes == 1);
}

/* ---- what follows from them ----------------------------------------------- */

double collective_busbw_factor(enum collective_operation operation, int64_t ranks)
{
    sim_assert(operation < COLLECTIVE_OPERATION_COUNT_);
    sim_assert(ranks >= 1);
    return measurement_bus_factor(collective_operation_names[operation], ranks);
}

/* ---- single sends ----------------------------------------------------------- */

/* The row if it has a slow form, and the question to put to it. */
static const struct collective_row *slow_find(enum collective_operation operation,
                                              enum collective_algorithm algorithm,
                                              const struct collective_group *group, uint32_t pieces,
                                              struct collective_ask *ask)
{
    sim_assert(pieces >= 1);
    const struct collective_row *row = row_find(operation, algorithm);
    if (row == NULL || row->slow == NULL) {
        return NULL;
    }
    *ask = (struct collective_ask){row->operation, group, pieces, row->slow->form};
    return row;
}

bool collective_script(enum collective_operation operation, enum collective_algorithm algorithm,
                       const struct collective_group *group, uint32_t pieces,
                       struct collective_script *script)
{
    group_check(group);
    struct collective_ask ask;
    const struct collective_row *row = slow_find(operation, algorithm, group, pieces, &ask);
    *script = (struct collective_script){0, 1, 0, 1};
    if (row == NULL) {
        return false;
    }
    return group->ranks == 1 || row->slow->script(&ask, script);
}

uint32_t collective_sends(enum collective_operation operation, enum collective_algorithm algorithm,
                          const struct collective_group *group, uint32_t pieces, uint32_t rank,
                          uint32_t round, struct collective_send *sends)
{
    sim_assert(rank < group->ranks);
    struct collective_ask ask;
    const struct collective_row *row = slow_find(operation, algorithm, group, pieces, &ask);
    sim_assert(row != NULL);
    return row->slow->sends(&ask, rank, round, sends);
}

uint32_t collective_receives(enum collective_operation operation,
                             enum collective_algorithm algorithm,
                             const struct collective_group *group, uint32_t pieces, uint32_t rank,
                             uint32_t round)
{
    sim_assert(rank < group->ranks);
    struct collective_ask ask;
    const struct collective_row *row = slow_find(operation, algorithm, group, pieces, &ask);
    sim_assert(row != NULL);
    return row->slow->receives(&ask, rank, round);
}
