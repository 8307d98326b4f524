/* The step once more, watched: each task of one GPU of each stage, when it ends.
 *
 *     struct watch watch;
 *     watch_prepare(arena, scenario, folds, &watch);
 *     watch_run(arena, &watch, on_task, context, &outcome);
 *
 * Of each stage the first GPU simulated speaks (a slow one, if there is any, may be another). The
 * scenario runs alone on its fabric, with no checkpoint in the step, and compute tasks end with
 * their action (of the schedule), so that each belongs to one. That changes their number and not
 * the step; but where tasks are cut, a wait may be booked on another of the streams that it was
 * for.
 */
#ifndef TRAIN_WATCH_H
#define TRAIN_WATCH_H

#include "train/program/program.h"
#include "train/system.h"

struct watch {
    const struct engine_system *run;
    const struct program_actions *actions; /* of each stage */
    const uint32_t *speaker;               /* actor of each stage */
    uint32_t stages, chunks;
    uint32_t program_first; /* program of stage 0 */
};

/* All memory is the arena's. */
void watch_prepare(struct arena *arena, const struct scenario *scenario, bool folds,
                   struct watch *watch);

/* The program of a stage's speaker. */
const struct engine_program *watch_program(const struct watch *watch, uint32_t stage);

/* A task of a stage's speaker has ended. `start` is when it began to compute, or met its
 * channel. */
typedef void watch_function(void *context, uint32_t stage, uint32_t stream, uint32_t index,
                            sim_time start, sim_time end);

/* Runs the step to its end. */
void watch_run(struct arena *arena, const struct watch *watch, watch_function *on_task,
               void *context, struct engine_outcome *outcome);

#endif
