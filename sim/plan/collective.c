/* An algorithm makes one or two passes over the buffer. In a pass each rank
 * sends a share of it: (N-1)/N where the buffer is scattered over the ranks,
 * all of it where every byte goes through every rank. All-reduce makes two
 * passes (reduce, then distribute), everything else one. So a row is an
 * operation, an algorithm, and how that algorithm's rounds lie over nodes.
 *
 * Thakur, Rabenseifner, Gropp 2005, "Optimization of collective communication
 * operations in MPICH", sections 4 to 6; Sanders, Speck, Traeff 2009, "Two-tree
 * algorithms for full bandwidth broadcast, reduction and scan".
 *
 * ASSUMES: pipelined algorithms (tree, broadcast, reduce) cut the buffer finely
 * enough that filling the pipeline costs only the latency of its depth.
 */
#include "plan/collective.h"

#include "base/check.h"

#include <stddef.h>

const char *const collective_operation_names[COLLECTIVE_OPERATION_COUNT_] = {
    [COLLECTIVE_ALL_REDUCE] = "all-reduce",
    [COLLECTIVE_ALL_GATHER] = "all-gather",
    [COLLECTIVE_REDUCE_SCATTER] = "reduce-scatter",
    [COLLECTIVE_BROADCAST] = "broadcast",
    [COLLECTIVE_REDUCE] = "reduce",
    [COLLECTIVE_SEND] = "send",
};

const char *const collective_algorithm_names[ALGORITHM_COUNT_] = {
    [ALGORITHM_RING] = "ring",
    [ALGORITHM_TREE] = "tree",
    [ALGORITHM_DIRECT] = "direct",
};

/* ---- rounds of one pass ------------------------------------------------ */

static struct collective_rounds ring_rounds(int64_t nodes, int64_t per_node)
{
    return (struct collective_rounds){.intra = nodes * (per_node - 1), .inter = nodes - 1};
}

/* Depth of the tree over n nodes that NCCL builds: one above a balanced binary
 * tree of the n - 1 others. */
static int64_t ceil_log2(int64_t n)
{
    int64_t log = 0;
    while ((INT64_C(1) << log) < n) {
        log++;
    }
    return log;
}

static struct collective_rounds tree_rounds(int64_t nodes, int64_t per_node)
{
    return (struct collective_rounds){.intra = per_node - 1, .inter = ceil_log2(nodes)};
}

static struct collective_rounds direct_rounds(int64_t nodes, int64_t per_node)
{
    (void)per_node;
    return (struct collective_rounds){.intra = nodes > 1 ? 0 : 1, .inter = nodes > 1 ? 1 : 0};
}

/* ---- the table --------------------------------------------------------- */

static double scattered(int64_t ranks)
{
    return (double)(ranks - 1) / (double)ranks;
}

static double whole(int64_t ranks)
{
    (void)ranks;
    return 1.0;
}

struct collective_row {
    enum collective_operation operation;
    enum collective_algorithm algorithm;
    int64_t passes;
    double (*share)(int64_t ranks); /* of the buffer, sent by each rank in a pass */
    struct collective_rounds (*rounds)(int64_t nodes, int64_t per_node); /* of a pass */
};

/* The first row of an operation is the one that defines its bus bandwidth. */
static const struct collective_row rows[] = {
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 2, scattered, ring_rounds},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 2, whole, tree_rounds},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 1, scattered, ring_rounds},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, 1, scattered, ring_rounds},
    {COLLECTIVE_BROADCAST, ALGORITHM_RING, 1, whole, ring_rounds},
    {COLLECTIVE_REDUCE, ALGORITHM_RING, 1, whole, ring_rounds},
    {COLLECTIVE_SEND, ALGORITHM_DIRECT, 1, whole, direct_rounds},
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])

static const struct collective_row *row_find(enum collective_operation operation,
                                             enum collective_algorithm algorithm)
{
    sim_assert(operation < COLLECTIVE_OPERATION_COUNT_);
    sim_assert(algorithm < ALGORITHM_COUNT_);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].operation == operation && rows[i].algorithm == algorithm) {
            return &rows[i];
        }
    }
    return NULL;
}

/* ---- what callers ask -------------------------------------------------- */

bool collective_plan(enum collective_operation operation, enum collective_algorithm algorithm,
                     int64_t ranks, double bytes, struct collective_plan *plan)
{
    sim_assert(ranks >= 1);
    sim_assert(bytes >= 0);
    const struct collective_row *row = row_find(operation, algorithm);
    if (row == NULL) {
        return false;
    }
    if (ranks == 1) {
        *plan = (struct collective_plan){0};
        return true;
    }
    /* Ranks of one level: every round is of the same kind. */
    const struct collective_rounds rounds = row->rounds(ranks, 1);
    plan->rounds = row->passes * (rounds.intra + rounds.inter);
    plan->rank_bytes = (double)row->passes * row->share(ranks) * bytes;
    sim_assert(plan->rounds > 0);
    return true;
}

bool collective_rounds(enum collective_operation operation, enum collective_algorithm algorithm,
                       int64_t nodes, int64_t per_node, struct collective_rounds *rounds)
{
    sim_assert(nodes >= 1 && per_node >= 1);
    const struct collective_row *row = row_find(operation, algorithm);
    if (row == NULL) {
        return false;
    }
    if (nodes == 1 && per_node == 1) {
        *rounds = (struct collective_rounds){0};
        return true;
    }
    const struct collective_rounds pass = row->rounds(nodes, per_node);
    rounds->intra = row->passes * pass.intra;
    rounds->inter = row->passes * pass.inter;
    return true;
}

/* nccl-tests, doc/PERFORMANCE.md: bus bandwidth is what the links carry when
 * the operation is done with the fewest bytes, so the factor is the first
 * row's share of the buffer. */
double collective_busbw_factor(enum collective_operation operation, int64_t ranks)
{
    sim_assert(operation < COLLECTIVE_OPERATION_COUNT_);
    sim_assert(ranks >= 1);
    size_t i = 0;
    while (rows[i].operation != operation) {
        i++;
        sim_assert(i < ROW_COUNT);
    }
    return (double)rows[i].passes * rows[i].share(ranks);
}

double collective_time_s(const struct collective_plan *plan, double alpha_s,
                         double bandwidth_bytes_per_s)
{
    sim_assert(alpha_s >= 0);
    sim_assert(bandwidth_bytes_per_s > 0);
    return (double)plan->rounds * alpha_s + plan->rank_bytes / bandwidth_bytes_per_s;
}
