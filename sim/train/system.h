/* The machine of one step: every GPU an actor, every group and pair a channel, every port a link;
 * or, where it is going to be folded, the first one of each orbit: of those that symmetries of the
 * fabric bring to one place (train/quotient). Several jobs may share the fabric.
 *
 * ASSUMES: of several jobs only the first one writes checkpoints, and all slow down beside their
 * collectives, and get of the links' bandwidth, as its software says.
 * ASSUMES: software.communication cuts the fabric's links for all that crosses them, checkpoints
 * and data over the NICs too; the file system's own links stay.
 *
 * ASSUMES: the CPU updates a GPU's share of the optimizer at a rate of its own, in bytes of states
 * read and written (software.host.update), whatever else the host does.
 *
 * Folding (train/fold) turns it into a smaller one of the same kind; the
 * engine runs either.
 */
#ifndef TRAIN_SYSTEM_H
#define TRAIN_SYSTEM_H

#include "hw/fabric.h"
#include "hw/fabric_turn.h"
#include "plan/checkpoint_roles.h"
#include "plan/mesh.h"
#include "plan/routing.h"
#include "train/fold.h"
#include "train/groups.h"
#include "train/program/program.h"

/* One job on the fabric: a scenario, the GPUs it was given, and how often its step is run. */
struct step_job {
    const struct scenario *scenario;
    const uint32_t *gpu_of_rank; /* GPUs of the fabric; NULL: rank r is GPU r */
    uint32_t steps;              /* >= 1 */
};

struct system_job {
    struct step_job is;
    struct mesh mesh;
    struct group_layout layout;
    struct routing_job router; /* of its tokens, and so: */
    struct routing_load routing;
    uint32_t actor_first;   /* of the first ranks of orbits, in rising order: system_actor_of */
    uint32_t program_first; /* a stage's, then those of roles */
    const struct checkpoint_roles *writers;       /* NULL: it writes no checkpoint in this step */
    const uint32_t *program_of_role;              /* of the engine; NULL: as the stage's */
    struct group_shape groups[GROUP_KIND_COUNT_]; /* the one that speaks for all; ranks 1: none */
    struct fabric_route pair;                     /* first boundary between stages, forward */
    bool has_pair;
    struct transfer_patterns patterns[STREAM_COUNT_];
    int64_t *host_wait_ns; /* [mesh.pp], for launches, in a step (train/launch_queue) */
};

struct step_system {
    struct engine_system engine;
    struct fabric fabric;
    struct fabric_turns turns;
    const uint32_t *links;            /* per link of the engine: its number in the fabric */
    const struct fold_orbits *orbits; /* NULL: nothing turns, each link of the fabric is there */
    struct transfer_setting setting;
    struct transfer_table transfers;
    struct system_job *jobs; /* [engine.job_count]; 0 is the one that was asked about */
    /* Of what is kept of the study's systems that which holds for this one; NULL: nothing. */
    struct system_frame *frame;
    struct system_variant *variant;
};

struct step_options {
    double checkpoint_bytes;  /* written by job 0 at the end of its step, by whoever does
                               * (plan/checkpoint_roles); 0: none */
    bool is_checkpoint_async; /* only the copy to host memory is in the step, */
    bool is_copied_beside;    /* and that from its beginning on, until parameters change */
    double flush_bytes; /* of an earlier one, flushed to where it lies first beside the step */
    double drain_bytes; /* of one before that, from there to the file system */
    bool is_for_length; /* nobody asks what waits are for: what made whom late is not followed */
    bool takes_batches; /* job 0 meets loaders (train/loading), still to come */
    sim_time wait_ns;   /* of all at the end of each step of job 0, as stragglers' wait */
    bool folds;         /* it is going to be folded: only the first of each orbit is wanted */
    bool is_for_times;  /* it is not going to be run: channels of each stage's first GPU alone */
    struct program_actions *actions; /* [pp] of job 0, to be filled; NULL: not wanted */
    struct step_memo *memo;          /* of the study; NULL: none */
    bool each_action;                /* programs without actions written once: slow, but the amounts
                                      * of work of `actions` are counted then */
};

/* All memory is the arena's. The scenarios outlive the system. The fabric has the cluster of
 * job 0 and `gpus` GPUs, at least as many as all jobs use. */
struct step_system *system_build(struct arena *arena, const struct step_job *jobs,
                                 uint32_t job_count, uint32_t gpus,
                                 const struct step_options *options);

/* Of one job that is going to be folded the fabric, what turns and the groups alone, for whoever
 * prices its transfers (train/bound): no programs, actors and channels, which cost most of it. */
struct step_system *system_outline(struct arena *arena, const struct step_job *job, uint32_t gpus);

/* The system folded; one that was built to be (options.folds). */
const struct folded_system *system_fold(struct arena *arena, const struct step_system *system);

/* The actor that stands for a job's rank. */
uint32_t system_actor_of(const struct step_system *system, const struct system_job *job,
                         uint32_t rank);

/* The GPU of the fabric on which a job's rank runs. */
uint32_t system_gpu_of(const struct system_job *job, uint32_t rank);

#endif
