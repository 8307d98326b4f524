/* By how much a step moves when constants that it leans on are others, to first order: each part of
 * its critical path (critical.h) gets longer in the proportion in which the tasks of that kind do.
 *
 * How long tasks take alone is known from the system as it is built: kernels from the kernel model,
 * collectives from their prices, messages from the links on their way. So a moved constant costs
 * the building of a system and no run. What transfers cost one another moves as their bytes do,
 * what they cost kernels as how long they are and how much they take of the rate, the wait for the
 * slowest GPU as the spread and what it is of.
 *
 * ASSUMES: the path stays the longest, and the tasks of a kind on it move as all of them do.
 */
#ifndef TRAIN_CRITICAL_MOVED_H
#define TRAIN_CRITICAL_MOVED_H

#include "train/critical/critical.h"

struct scenario;

struct step_memo;

/* Of all tasks of job 0's programs, each once: by kind, cause and link, as parts of a path are; of
 * CRITICAL_INTERFERENCE and CRITICAL_COVERED what transfers take of kernels that are beside all of
 * them. */
struct moved_durations {
    struct critical_part *parts;
    uint32_t count;
    double jitter_spread;
};

/* Of a system by itself as it is built for `scenario`, of which `memo` (NULL: none) may know some
 * already. What is found is the arena's; `scratch`, which the system was built in, is reset. */
void moved_durations_find(struct arena *arena, struct arena *scratch,
                          const struct scenario *scenario, struct step_memo *memo,
                          struct moved_durations *durations);

/* By what share of the path it gets longer when tasks take `moved` instead of `base`. */
double moved_share(const struct critical *path, const struct moved_durations *base,
                   const struct moved_durations *moved);

#endif
