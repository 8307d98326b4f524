/* Collectives: what an algorithm sends, in closed form.
 *
 * Symbols: N ranks, S bytes of the full buffer (all-reduce: each rank's; all-gather
 * and reduce-scatter: the whole array), alpha seconds per round. One table, a row
 * per (operation, algorithm): rounds and the bytes each rank sends and receives.
 *
 *   ring all-reduce                     2(N-1) rounds, 2(N-1)/N * S a rank
 *   ring all-gather, reduce-scatter     N-1 rounds,    (N-1)/N * S a rank
 *   double binary tree all-reduce       2*ceil(log2(N)) rounds, 2S a rank (pipelined)
 *   ring (pipelined) broadcast, reduce  N-1 rounds,    S a rank
 *   send                                1 round,       S
 *
 * Time on links of B bytes/s: rounds * alpha + bytes / B (Thakur, Rabenseifner,
 * Gropp 2005; Sanders, Speck, Traeff 2009 for the two trees). busbw as
 * nccl-tests defines it: algbw = S/t times 2(N-1)/N for all-reduce, (N-1)/N for
 * all-gather and reduce-scatter, 1 else.
 */
#ifndef PLAN_COLLECTIVE_H
#define PLAN_COLLECTIVE_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

enum collective_operation {
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_ALL_GATHER,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_REDUCE,
    COLLECTIVE_SEND,
    COLLECTIVE_OPERATION_COUNT_
};

enum collective_algorithm { ALGORITHM_RING, ALGORITHM_TREE, ALGORITHM_DIRECT, ALGORITHM_COUNT_ };

extern const char *const collective_operation_names[COLLECTIVE_OPERATION_COUNT_];
extern const char *const collective_algorithm_names[ALGORITHM_COUNT_];

struct collective_plan {
    int64_t rounds;    /* latency terms */
    double rank_bytes; /* sent by each rank (= received) */
};

/* False when the algorithm does not offer the operation. N >= 1; N == 1 costs nothing. */
MUST_USE bool collective_plan(enum collective_operation operation,
                              enum collective_algorithm algorithm, int64_t ranks, double bytes,
                              struct collective_plan *plan);

/* Rounds of a two-level group: `nodes` nodes with `per_node` ranks each. Rounds
 * inside nodes and between them are told apart, because their latency differs.
 * Counted as NCCL counts them (src/graph/tuning.cc, ncclTopoTuneModel): a ring
 * passes the nodes - 1 boundaries once a pass and takes the other rounds inside
 * nodes; a tree is a chain inside a node (per_node - 1 rounds up, as many down)
 * and a binary tree over the nodes. ASSUMES: ranks are sorted by node. */
struct collective_rounds {
    int64_t intra;
    int64_t inter;
};
MUST_USE bool collective_rounds(enum collective_operation operation,
                                enum collective_algorithm algorithm, int64_t nodes,
                                int64_t per_node, struct collective_rounds *rounds);

/* busbw / algbw. */
double collective_busbw_factor(enum collective_operation operation, int64_t ranks);

/* Closed-form time with one latency and one bandwidth. */
double collective_time_s(const struct collective_plan *plan, double alpha_s,
                         double bandwidth_bytes_per_s);

#endif
