/* The step once more, watched: each task of one GPU of each stage, when it ends.
 *
 *     struct watch watch;
 *     watch_prepare(arena, scenario, &(struct watch_request){.folds = true}, &watch);
 *     watch_run(arena, &watch, &(struct watch_ears){.on_task = on_task, .context = context},
 *               &outcome);
 *
 * Of each stage the first GPU simulated speaks that is not slow (`slow:`); who wants those beside
 * it adds them. The scenario runs alone on its fabric, with no checkpoint in the step, and compute
 * tasks end with their action (of the schedule), so that each belongs to one. That changes their
 * number and not the step; but where tasks are cut, a wait may be booked on another of the streams
 * that it was for.
 */
#ifndef TRAIN_WATCH_H
#define TRAIN_WATCH_H

#include "train/ensemble.h"
#include "train/metrics.h"
#include "train/program/program.h"
#include "train/system.h"

/* One that is watched. */
struct watch_gpu {
    uint32_t actor; /* of the run */
    uint32_t stage;
    const struct slow_rank *slow; /* the first slow GPU that it stands for; NULL: none */
    uint32_t alike;               /* more slow ones that it stands for */
    int64_t rank; /* the first that it stands for, of one added by its class; else -1 */
};

enum {
    WATCH_SLOW_MAX = 8, /* more slow ones are not added: those that are slowest are */
    WATCH_CLASSES_MAX = 4,
};

struct watch {
    const struct step_system *system;
    const struct engine_system *run;
    const struct folded_system *folded;    /* of the system; NULL: not yet */
    const struct program_actions *actions; /* of each stage */
    struct watch_gpu *gpus;                /* [gpu_count]; the first are those of the stages */
    uint32_t *gpu_of_actor;                /* of the run; ENGINE_NONE: it is not watched */
    uint32_t gpu_count, stages, chunks;
    uint32_t slow_left_out;
    uint32_t program_first; /* program of stage 0 */
    struct ensemble_member member;
};

struct watch_request {
    bool folds;
    bool counts_work; /* the FLOPs and bytes of tasks are wanted, too: slower */
};

/* All memory is the arena's. */
void watch_prepare(struct arena *arena, const struct scenario *scenario,
                   const struct watch_request *request, struct watch *watch);

/* Watches the scenario's slow GPUs, too; those that are alike are one. One that speaks for its
 * stage is told there. */
void watch_add_slow(struct arena *arena, const struct scenario *scenario, struct watch *watch);

/* Watches a GPU of a class of the folded system that is not watched yet; at most WATCH_CLASSES_MAX
 * times. */
void watch_add_class(struct watch *watch, uint32_t class);

/* The program of a stage's GPUs. */
const struct engine_program *watch_program(const struct watch *watch, uint32_t stage);

/* A task of a GPU that is watched has ended. `start` is when it began to compute, or met its
 * channel. Without slow ones the GPU's number is its stage's. */
typedef void watch_function(void *context, uint32_t gpu, uint32_t stream, uint32_t index,
                            sim_time start, sim_time end);

/* It has waited for `ns` until now before it computes on, or for the end of the step. */
typedef void watch_wait_function(void *context, uint32_t gpu, enum cause cause, int64_t ns);

/* Who hears of it. */
struct watch_ears {
    watch_function *on_task;
    watch_wait_function *on_wait; /* NULL: nobody */
    void *context;
};

/* Runs the step to its end. */
void watch_run(struct arena *arena, const struct watch *watch, const struct watch_ears *ears,
               struct engine_outcome *outcome);

/* Folds the system, if it is not yet. */
void watch_fold(struct arena *arena, struct watch *watch);

/* The same of the folded system, each cycle by itself: what ended when. And when all had. Of its
 * actors the ears of `hooks` hear, if there are any (NULL: none). */
sim_time watch_record(struct arena *arena, struct watch *watch, struct engine_record *record,
                      const struct engine_options *hooks);

/* A GPU's actor in that. */
uint32_t watch_class(const struct watch *watch, uint32_t gpu);

/* Who of those that are watched is of a class, or else the stage's. */
uint32_t watch_gpu_of_class(const struct watch *watch, uint32_t class);
bool watch_has_class(const struct watch *watch, uint32_t class);

#endif
