/* When the stages of a pipeline have their gradients at the earliest: the longest path through the
 * orders of all stages, each action taking at least so long.
 *
 *     struct pipeline *pipeline = pipeline_new(arena, &shape, pieces);
 *     const int64_t *ready_ns = pipeline_walk(pipeline, &costs);
 *
 * An action begins when the one before it on its stage has ended, a forward also when the
 * microbatch's forward through the piece in front has and its message has come, a backward the
 * same from behind. Messages leave a stage one after the other, ahead and back each for itself,
 * and what both have in common carries no more than it can. A chunk's first forward does not end
 * before its parameters are gathered. Gradients of a chunk are reduced beside its last backward,
 * or its last weight gradients, and then, one chunk after the other. Durations and messages only
 * ever make what follows later (a longest path), so with durations that nothing falls below no
 * step ends sooner. Stages walk on by turns as far as what has come lets them: each action is
 * looked at once, and each stage once more per turn.
 *
 * A pair of a forward and a backward begins when both may, and both end with it
 * (parallel.overlap_experts). Not for dualpipe and dualpipev, nor for schedules of files.
 */
#ifndef TRAIN_BOUND_PIPELINE_H
#define TRAIN_BOUND_PIPELINE_H

#include "plan/schedule/schedule.h"
#include "train/bound/border.h"

struct arena;
struct pipeline;

/* Reductions queue on streams: those of dense parameters, and of experts. */
enum { PIPELINE_OPERATIONS = SCHEDULE_WEIGHTS + 1, PIPELINE_QUEUES = 2 };

/* Of a stage. */
enum pipeline_end {
    PIPELINE_ACTIONS,
    PIPELINE_REDUCED,                                   /* a queue behind the other */
    PIPELINE_SENT = PIPELINE_REDUCED + PIPELINE_QUEUES, /* all messages */
    PIPELINE_NICS_SENT,                                 /* and by its NICs also what was gathered */
    PIPELINE_NICS,                                      /* and reduced */
    PIPELINE_ENDS
};

/* What things take at least. Pieces are numbered from the first of the model. */
struct pipeline_costs {
    int64_t *action_ns[PIPELINE_OPERATIONS];   /* by operation, per piece */
    const int64_t *pair_ns;                    /* by pipeline_pair; NULL: there are none */
    const int64_t *gathered_ns;                /* per piece: when its stage has its parameters */
    const int64_t *reduce_ns[PIPELINE_QUEUES]; /* per piece: of its gradients */
    const int64_t *nic_gather_ns; /* per stage: of its NICs, what is gathered in front of all */
    const int64_t *nic_reduce_ns; /* per piece: of them, what is reduced of it */
    struct border border;         /* messages from one stage to another */
    int64_t receive_ns[2]; /* [is_forward]: what the stage does with one, before it goes on */
    bool blocks;           /* a stage goes on when the bytes of its message have left */
};

bool pipeline_is_possible(const struct schedule_shape *shape);
/* The number of a stage's pairs of a forward through one chunk and a backward through another. */
uint32_t pipeline_pair(const struct schedule_shape *shape, uint32_t stage, uint32_t forward,
                       uint32_t backward);
/* `pieces`: of [stage * chunks + chunk]. */
struct pipeline *pipeline_new(struct arena *arena, const struct schedule_shape *shape,
                              const uint32_t *pieces);

/* For each stage when its actions have ended, and behind these for each when the reductions of its
 * first queue have, then of its second, and so on, one of PIPELINE_ENDS behind the other; until the
 * next walk. */
const int64_t *pipeline_walk(struct pipeline *pipeline, const struct pipeline_costs *costs);

#endif
