/* Which rank writes how much of a checkpoint.
 *
 * A checkpoint holds the weights once, and the optimizer's states once (plan/memory counts them).
 * Who writes which of these bytes is the framework's choice (software.checkpoint.writers), and
 * follows from who holds them: of `holders` ranks with the same parameters,
 *
 *     first    the first writes all, what others have of it is gathered there
 *     holders  each writes what it alone has: its shards of the states (ZeRO 1 and 2) and of the
 *              weights (ZeRO 3); what all of them have, the first writes; of replicas that hold the
 *              same shards (zero_group) the first
 *     shared   all of them write an equal part of everything
 *
 * Ranks of a pipeline stage that write the same parts have one *role*. Parts are weighed by the
 * parameters that a GPU holds and scaled to the whole, so that roles add up to the checkpoint: what
 * tensor-parallel ranks hold alike (norms, routers) is counted once.
 *
 * ASSUMES: gathering to the first rank takes no time beside writing.
 */
#ifndef PLAN_CHECKPOINT_ROLES_H
#define PLAN_CHECKPOINT_ROLES_H

#include "input/job/checkpoint.h"
#include "plan/memory/memory_job.h"

struct arena;

struct checkpoint_role {
    uint32_t stage;
    uint32_t parts; /* bits; 0: writes nothing */
    uint32_t ranks; /* > 0 */
    double share;   /* of the whole checkpoint, that each of them writes */
};

struct checkpoint_roles {
    struct checkpoint_role *items; /* a stage after the other; of a stage in rising `parts` */
    uint32_t count;
    uint32_t *of_rank; /* index into items */
};

/* Shares of all ranks add up to 1. Memory is the arena's. */
struct checkpoint_roles checkpoint_roles_of(struct arena *arena, const struct memory_job *job);

/* The weights and states that each rank of a stage holds, whoever else holds them, too. */
struct checkpoint_held {
    double dense_bytes, expert_bytes;
};
struct checkpoint_held checkpoint_held_of(const struct memory_job *job, uint32_t stage);

/* Both: what it reads of a checkpoint after a restart. */
double checkpoint_held_bytes(const struct memory_job *job, uint32_t stage);

/* How many copies of what a node writes lie in hosts' memory: of an asynchronous checkpoint one,
 * until it is written. Of one that is kept there (run.checkpoint.to: memory, peer) two, a whole one
 * and the next, which replaces it once it is whole, and one on its way to the file system; of a
 * peer's two more. */
uint32_t checkpoint_copies(const struct checkpoint *plan);

/* What a node holds of one such copy: the node of whatever stage that writes most.
 * ASSUMES: tensor-parallel ranks are neighbours, and each rank of a node may be the first to hold
 * its experts. */
double checkpoint_staged_bytes(const struct memory_job *job, double gpus_per_node);

/* Whether a stage has ranks of several roles. */
bool checkpoint_roles_differ(const struct checkpoint_roles *roles);

#endif
