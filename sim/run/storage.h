/* What a job moves to and from storage while it does nothing else: a checkpoint that is flushed,
 * states that all ranks read after a restart. Flows of the engine (des/engine) over the fabric's
 * links (hw/fabric), which share nodes' storage links and the file system by max-min; several jobs,
 * or readers and writers, may move at the same time.
 *
 *     struct storage_move move = {scenario, STORAGE_FLUSH, roles.of_rank, bytes, 0, NULL};
 *     sim_time end;
 *     storage_run(arena, &move, 1, &end);
 *
 * On a storage network of its own, nodes that move the same are one node that stands for many; over
 * the fabric, to a peer's memory and from another GPU's each rank is there, and then folded
 * (train/fold).
 *
 * Whoever makes files of what it moves does not move more than it can make (software.checkpoint).
 *
 * ASSUMES: all begin at the same instant.
 */
#ifndef RUN_STORAGE_H
#define RUN_STORAGE_H

#include "des/event.h"
#include "hw/fabric.h"

struct arena;
struct scenario;

struct storage_move {
    const struct scenario *scenario; /* the cluster is that of the first move */
    enum storage_way way;
    const uint32_t *kind_of_rank; /* [scenario->gpus] */
    const double *kind_bytes;     /* what a rank of that kind moves; 0: nothing */
    uint32_t node_first;          /* of the cluster; its ranks fill nodes from there on */
    const uint32_t
        *source; /* [scenario->gpus] the rank whose GPU's memory each reads from, over the
                             * fabric, in the place of `way`; NULL: none does */
};

/* When the last byte of each move has arrived. Moves may be of the same ranks. Scratch memory is
 * the arena's. */
void storage_run(struct arena *arena, const struct storage_move *moves, uint32_t count,
                 sim_time *ends);

#endif
