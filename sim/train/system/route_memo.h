/* What collectives cross, worked out once for all systems of a study.
 *
 * A pattern of PAT among a thousand ranks is a thousand sends, each traced switch by switch; which
 * links they cross depends on the cluster and on where the group lies, and not on what a constant
 * of the GPU or the software is, nor on latencies. So it is keyed by
 *
 *     the cluster byte by byte, texts, places and latencies apart, and the GPUs of the fabric
 *     what the software leaves of the network, where kernels send by themselves
 *     the turns (hw/fabric_turn) by which routes are gathered
 *     the group's GPUs, what its tokens are, the operation, the algorithm and the phase
 *
 * How fast a route is follows from the links, and is worked out each time. What is kept is what
 * would be traced: a memo changes no result. Only fabrics of levels that hash nothing are kept
 * (rail, rail-only and tree, adaptive): of others the key does not hold all that counts.
 */
#ifndef TRAIN_SYSTEM_ROUTE_MEMO_H
#define TRAIN_SYSTEM_ROUTE_MEMO_H

#include "base/memo.h"
#include "input/cluster.h"
#include "train/transfer.h"

#include <stdbool.h>

struct route_memo;

struct route_memo *route_memo_new(void);
void route_memo_free(struct route_memo *memo); /* NULL is allowed */

/* Whether routes of a cluster can be kept. */
bool route_memo_takes(const struct cluster *cluster);

struct route_wish {
    const struct group_shape *shape;
    enum collective_operation operation;
    enum collective_algorithm algorithm;
    uint32_t phase;
    bool is_direct; /* fabric_trace_direct */
};

/* Between fabric_trace_begin and fabric_trace_end, whose trace is then whole. False: it is not
 * known. */
MUST_USE bool route_memo_take(struct route_memo *memo, const struct transfer_setting *setting,
                              const struct route_wish *wish);
/* What was not known, once it was traced. */
void route_memo_keep(struct route_memo *memo, const struct transfer_setting *setting,
                     const struct route_wish *wish, const struct fabric_route *route);

struct memo_count route_memo_count(const struct route_memo *memo);

#endif
