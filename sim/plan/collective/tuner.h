/* The tuner: how fast a collective library runs an algorithm with a protocol.
 *
 * A library (input/library: NCCL of some year) has a cost per algorithm, protocol and GPU
 * architecture: a base latency, a latency per round inside a node and between nodes, and
 * what the protocol makes of the bandwidth (LL sends a flag with every 4 of 8 bytes, LL128
 * 120 of 128, Simple all, but synchronises more). As in NCCL (src/graph/tuning.cc), the time is
 *
 *     base + sum over phases of (rounds * latency + bytes / rate)
 *     base of an all-to-all over nodes: a message posted to each of the others besides
 *     latency between nodes = the library's + message - message that the library's has in it
 *     rate = min(cap of the route on an idle fabric * efficiency, cap of the protocol) * share;
 *            what a step loses on a byte is added to that byte's time: 1 / (1 / rate + 1 / loss)
 *
 * and the library takes the algorithm and protocol of the least time, unless told
 * otherwise. The latencies and rates it gives are what the simulation uses; under contention
 * the fluid gives a flow less than its rate, never more.
 *
 * Along a chain of nodes (a broadcast, or a reduction to one rank, by a ring) a round between nodes
 * also waits for its first piece: NCCL's proxy sends a step of its buffer when the step is full
 * (sendProxyProgress in src/transport/net.cc), so that what comes over one NIC goes on over the
 * next when piece / rate of a NIC has passed. In a ring that is full of pieces nobody waits. NCCL's
 * choice (ncclTopoGetAlgoTime) knows nothing of it, and so it is apart.
 * ASSUMES: the channels that share a NIC take turns, a piece each.
 *
 * collective gives phases; the caller (train/transfer) asks the fabric for the caps of
 * their routes. Units: seconds, bytes, bytes/s of the phase's `bytes`.
 */
#ifndef PLAN_COLLECTIVE_TUNER_H
#define PLAN_COLLECTIVE_TUNER_H

#include "plan/collective/collective.h"
#include "input/collectives.h"
#include "input/gpu.h"
#include "input/library.h"

struct tuner_setting {
    const struct library *library;
    uint32_t architecture; /* enum gpu_architecture */
    uint32_t ranks;
    uint32_t nodes;         /* scale-up domains */
    double round_latency_s; /* added to a round between nodes by this network's software */
    double message_s;       /* between nodes, on the group's longest way (hw/fabric.h) */
    double nic_bytes_per_s; /* that collectives reach of one */
    bool is_scale_up_pcie;  /* PCIe inside nodes */
    struct ledger *ledger;  /* takes the sums of the price; NULL: none are wanted */
};

/* What a step leaves of a rate that a benchmark has. */
struct tuner_loss {
    double share;              /* that is left */
    double staged_bytes_per_s; /* each byte takes that much longer; 0: no longer */
};

/* Kernels of the framework's own in the library's place: they begin after so long, and wait for
 * each rank of the group so long. Rounds and links are those of Simple, without the library's
 * maxima. */
struct tuner_kernels {
    double start_s, rank_s;
};

/* An operation on a buffer, as an algorithm with a protocol does it. */
struct tuner_work {
    enum collective_operation operation;
    enum collective_algorithm algorithm;
    enum collective_protocol protocol;
    uint32_t phase_count;
    const struct collective_phase *phases;
    const double *route_caps;        /* bytes/s of each phase on an idle fabric */
    const struct tuner_loss *losses; /* of each phase, in a step; NULL: none */
    double bytes;                    /* of the buffer */
    const struct tuner_kernels *own; /* NULL: the library does it */
};

struct tuner_price {
    double latency_s[COLLECTIVE_PHASES_MAX];   /* the base in the first */
    double bytes_per_s[COLLECTIVE_PHASES_MAX]; /* rate cap of the phase's flow */
    bool is_by_library[COLLECTIVE_PHASES_MAX]; /* its maximum is less than what links carry */
    double time_s;                             /* alone on an idle fabric */
    double unforeseen_s;                 /* of time_s: what the library's choice knows nothing of */
    double start_s;                      /* the base; latency_s is it and these: */
    double round_intra_s, round_inter_s; /* of a round inside and between nodes */
    bool is_extrapolated; /* the size is outside what this library's constants were fitted to */
};

/* False when the library does not run this pair (protocol not allowed, algorithm unknown to it). */
MUST_USE bool tuner_price(const struct tuner_setting *setting, const struct tuner_work *work,
                          struct tuner_price *price);

/* The library's own choice may fall on it; the others run only when a scenario asks. NCCL
 * broadcasts and reduces to one rank along rings only (ncclTopoTuneModel in src/graph/tuning.cc:
 * other algorithms are skipped), so the time of small ones grows with the number of ranks. */
bool tuner_is_automatic(const struct library *library, enum collective_operation operation,
                        enum collective_algorithm algorithm);

/* Whether who asks so (a number of collective_algorithm_names, or COLLECTIVE_ANY) may get this
 * one. */
bool tuner_is_asked(uint32_t asked, enum collective_algorithm algorithm);

/* What the library's machine was seen to run of an operation (library_choice) in a group's place:
 * of each algorithm a bit 1 << protocol. Rows of its own nodes and GPUs come before those of as
 * many nodes (one, two, more). False: nothing was seen, the least time decides. */
bool tuner_seen(const struct tuner_setting *setting, enum collective_operation operation,
                double bytes, uint32_t protocols[ALGORITHM_COUNT_]);

#endif
