/* The whole machine of one step, unfolded: every GPU an actor, every group and
 * pair a channel, every port a link.
 *
 * Folding (train/fold) turns it into a smaller one of the same kind; the
 * engine runs either.
 */
#ifndef TRAIN_SYSTEM_H
#define TRAIN_SYSTEM_H

#include "hw/fabric.h"
#include "plan/mesh.h"
#include "train/program.h"

struct step_system {
    struct engine_system engine;
    struct fabric fabric;
    struct mesh mesh;
    struct transfer_table transfers;
    struct group_shape tensor; /* of the first stage's groups, for reports */
    struct group_shape data;
    struct group_shape pair; /* first boundary between stages; ranks 1: none */
    struct group_shape embedding;
    struct group_shape world;
};

struct step_options {
    double checkpoint_bytes;  /* written by all ranks together at the end of the step; 0: none */
    bool is_checkpoint_async; /* only the copy to host memory is in the step */
};

/* All memory is the arena's. The scenario outlives the system. */
struct step_system *system_build(struct arena *arena, const struct scenario *scenario,
                                 const struct step_options *options);

/* The busiest link of a kind: bytes of a step, and the time they take at least. */
struct link_load {
    double bytes;
    int64_t capacity_bytes_per_s;
    double time_s;
};

/* What a step puts on the busiest link of each kind: every task's bytes, whether the
 * link can be tight or not, so it does not depend on folding. */
void system_link_loads(struct arena *arena, const struct step_system *system,
                       struct link_load loads[LINK_KIND_COUNT_]);

#endif
