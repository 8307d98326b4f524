/* Which nodes of the cluster each job gets.
 *
 * A job gets its nodes in segments (train/placement_segment): one node each where an NVLink
 * domain is a node or no group needs more; else as many as its groups need to stay in a domain,
 * of one domain each. The segments of a job come in order of
 *
 *   packed   their nodes, the lowest free ones: neighbours in number are neighbours on a leaf
 *   spread   round-robin over the leaf groups; as packed where the fabric has none
 *   random   a hash of (seed, job, node), and ranks in that order, too
 *
 * Jobs choose in the order in which the scenario has them, itself first; no node is shared.
 * Spread and random choose among all nodes the cluster file says there are (`nodes`), or
 * among as many as all jobs need. On a cluster with too few nodes to leave some idle, a job gets
 * single nodes, and some of its groups leave their domain: the result says how many.
 *
 * Last, nodes that the scenario says are replaced (input/failures/replaced_nodes) lie where it
 * says, which no job chose.
 */
#ifndef TRAIN_PLACEMENT_H
#define TRAIN_PLACEMENT_H

#include "train/metrics.h"

struct arena;
struct scenario;

struct placement {
    uint32_t gpus;        /* of the fabric */
    uint32_t nodes;       /* that were chosen among */
    const bool *is_taken; /* [nodes] a job lies there, or lay there until its node was replaced */
    const uint32_t **gpu_of_rank; /* per job: the scenario, then its neighbours */
    struct placement_use use;     /* of the scenario's own job */
};

void placement_choose(struct arena *arena, const struct scenario *scenario,
                      struct placement *placement);

#endif
