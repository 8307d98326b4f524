/* Which nodes of the cluster each job gets.
 *
 *   packed   the lowest free nodes: neighbours in number are neighbours on a leaf
 *   spread   round-robin over the leaf groups; as packed where the fabric has none
 *   random   by a hash of (seed, job, node), and ranks in that order, too
 *
 * Jobs choose in the order in which the scenario has them, itself first; no node is shared.
 * Spread and random choose among all nodes the cluster file says there are (`nodes`), or
 * among as many as all jobs need.
 */
#ifndef TRAIN_PLACEMENT_H
#define TRAIN_PLACEMENT_H

#include "spec/scenario.h"

struct placement {
    uint32_t gpus;                /* of the fabric */
    const uint32_t **gpu_of_rank; /* per job: the scenario, then its neighbours */
};

void placement_choose(struct arena *arena, const struct scenario *scenario,
                      struct placement *placement);

#endif
