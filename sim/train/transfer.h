/* Collectives as transfers: which algorithm, how much latency, how many bytes.
 *
 * Where plan (what an algorithm sends) meets hw (what the fabric offers). Of the
 * algorithms that offer an operation the one that is fastest on an idle fabric is taken,
 * as a library's tuner does. The transfer's bytes are those each rank sends;
 * the fabric's route says how they load the links.
 */
#ifndef TRAIN_TRANSFER_H
#define TRAIN_TRANSFER_H

#include "des/engine.h"
#include "hw/fabric.h"
#include "plan/collective.h"

/* A group of ranks as the fabric sees it. */
struct group_shape {
    uint32_t ranks;
    uint32_t nodes;
    uint32_t hops_max;
    int64_t cap_bytes_per_s;
};

struct group_shape group_shape_of(const struct fabric_route *route, uint32_t ranks);

struct engine_transfer transfer_of_collective(const struct fabric *fabric,
                                              const struct group_shape *group,
                                              enum collective_operation operation, double bytes);

/* The same with the choice that was made, for `explain`. */
struct transfer_choice {
    enum collective_algorithm algorithm;
    struct collective_rounds rounds;
    double rank_bytes;
    double latency_s;
    double time_s; /* on an idle fabric */
};
struct transfer_choice transfer_choose(const struct fabric *fabric, const struct group_shape *group,
                                       enum collective_operation operation, double bytes);

#endif
