/* Where a job lies after some of its nodes broke, and spares that lie behind all jobs took their
 * ranks.
 *
 *     nodes of the cluster   0 1 2 3 4 5 6 7 | 8 9 ...        spares behind
 *     two broke              0 . 2 3 4 . 6 7 | 1 5            ranks of nodes 1 and 5 on 8 and 9
 *
 * Which ones broke is drawn once from the scenario's seed, so that of three two are the same as of
 * two. Spares are taken from the first on that no job has, and of those that jobs leave idle
 * between them last; a node that the scenario says was replaced is broken, and no spare. Where the
 * job holds nodes that its own segments leave idle (run/holding), the place of a broken one is
 * first taken by such a one of its domain, and behind lie only what spares there are beside them.
 *
 * Where groups need more than a node of an NVLink domain (train/placement_segment) a segment with a
 * broken node moves as a whole, as long as there are spares for the rest of it; then the node moves
 * alone, and its groups leave their domain.
 */
#ifndef TRAIN_PLACEMENT_SPARES_H
#define TRAIN_PLACEMENT_SPARES_H

#include <stdint.h>

struct arena;
struct scenario;

struct placement_spares {
    int64_t all;
    int64_t idle; /* of these, that segments leave of the job's domains */
};

/* `scenario` with so many of its nodes replaced, beside those that it says are. There are no more
 * than it has nodes and spares, and the cluster has room for all (input/scenario_load). */
void placement_displace(struct arena *arena, const struct scenario *scenario,
                        const struct placement_spares *spares, int64_t displaced,
                        struct scenario *changed);

#endif
