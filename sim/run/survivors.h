/* Where the states of a lost GPU still are, with run.recovery.from: replica.
 *
 * Replicas hold copies of each other's states (plan/state_copies). Who comes in the place of a lost
 * GPU, node or domain has each part from one other GPU that holds it, of several in turn, over
 * NVLink or the fabric: flows of the engine, all at once. The others have what they had; nobody
 * reads storage.
 *
 * What ends all processes leaves no copy: of the job itself, of the file system. So do corrupted
 * weights, which replicas have from each other, and a leaf or domain that has all nodes
 * of some part.
 *
 * ASSUMES: what takes a process ends one of them, and the others wait with what they hold.
 * ASSUMES: reads are as long wherever in the job the lost nodes are: those are simulated that hold
 * most: the leaf or domain that has the first of these, and of nodes on spot the next from that on.
 * ASSUMES: after several nodes at once it is read as after that of which it takes longest; of those
 * on spot so many are gone as the mean of what is more than one, to the nearest whole node, but one
 * fewer at most than hold each part: more may leave nothing to read.
 * ASSUMES: survivors send from GPU memory at the network's rate, and nothing else is under way.
 */
#ifndef RUN_SURVIVORS_H
#define RUN_SURVIVORS_H

#include "run/history/history.h"

struct arena;
struct scenario;

struct survivors {
    uint32_t nodes;     /* that hold each part of the states; 1: some part lies in one node alone;
                          * 0: nobody asks */
    const double *lost; /* [failures.kind_count + 1] of a kind's failures, and of what is taken from
                          * spot, those that leave no copy of some part; NULL where nodes < 2 */
    double read_s[HISTORY_LEVELS]; /* after a failure of that level; 0 where the scenario states all
                                    * of a restart, or what fails leaves no copy */
};

/* Memory is the arena's. */
void survivors_of(struct arena *arena, const struct scenario *scenario,
                  struct survivors *survivors);

#endif
