/* The law of networks for collectives: on the same cluster with slower links or longer latencies,
 * no operation on any buffer takes less time, neither as the library quotes it (its own choice of
 * algorithm and protocol, and each pair by itself) nor as it is simulated alone.
 *
 * It holds where a pair's time only falls with its links' capacity, and only rises with latency:
 * the least of such times does, too. A pair quoted faster than its links breaks it, for it is
 * chosen and then simulated slower. Of what the library chooses only what it knows counts: with
 * faster links NCCL takes Simple where LL, whose pieces are smaller, is sooner through a chain of
 * nodes (plan/collective/tuner.h), and the operation takes longer; by itself each pair keeps the
 * law with that wait in it.
 */
#ifndef TESTS_SUPPORT_COLLECTIVE_LAW_H
#define TESTS_SUPPORT_COLLECTIVE_LAW_H

#include "input/cluster.h"
#include "input/gpu.h"
#include "input/library.h"

#include <stdint.h>

struct collective_law {
    const char *name; /* for messages */
    const struct cluster *cluster;
    const struct gpu *gpu;
    const struct library *library;
    uint32_t gpus; /* 0 .. gpus - 1, all in the group; at least 2 */
    uint64_t seed; /* of the fabric */
};

/* Times compared, and how many broke the law; the first few are printed to stderr. */
struct collective_law_result {
    uint64_t compared, broken;
};

/* Links inside nodes, then NICs, at 1, 0.8, 0.5, 0.25 and 0.1 of what the cluster has, then
 * messages between nodes of 4 us over that; all operations; buffers of 1 KiB to 4 GiB. */
struct collective_law_result collective_law_check(const struct collective_law *law);

#endif
