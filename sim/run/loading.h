/* What a run's steps wait for their data.
 *
 * The loaders of a node are first run against steps of one length (hw/dataloader), each microbatch
 * after the other in equal time. Where they keep up with steps many times as fast, so that not
 * even forwards in a row can outrun them, and nothing that is read crosses the NICs of training,
 * there is no more to say: they cost the first batch. Else they are simulated beside the steps, by
 * the same engine (train/loading/step_loaded).
 *
 * ASSUMES: page caches (data.page_cache) are empty in the first epoch and hold what they can in all
 * others; every step reads what is read in the mean.
 * ASSUMES: loaders of more than LOADERS_WORKERS_MAX workers, and those of jobs that share the
 * fabric, stall all GPUs alike, for what they make a run of equal steps wait.
 */
#ifndef RUN_LOADING_H
#define RUN_LOADING_H

#include "train/step.h"

struct arena;

struct loading {
    struct step_loaders loaders;
    bool are_beside;  /* the steps are to be simulated with these */
    int64_t stall_ns; /* that each step waits for steady loaders, where they are not */
    int64_t epoch_ns; /* that the ends of epochs cost, shared by all steps of the run */
    double first_s;   /* for the first batch of all, which nothing hides */
};

/* Of a step without loaders; nothing without `data`. Scratch memory is the arena's. */
struct loading loading_of(struct arena *arena, const struct scenario *scenario, int64_t step_ns);

/* Where loaders were not beside it, adds their stall to the step. Where reading keeps a link of the
 * storage busier than the step does its busiest, that is the busiest now, and what the GPUs stall
 * for. */
void loading_add(struct arena *arena, const struct scenario *scenario,
                 const struct loading *loading, struct step_result *step);

#endif
