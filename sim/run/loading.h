/* What a run's steps wait for their data: the loaders of a node (hw/dataloader) against a step of a
 * given length.
 */
#ifndef RUN_LOADING_H
#define RUN_LOADING_H

#include "train/step.h"

struct arena;

struct loading_use {
    int64_t stall_ns;     /* that each step waits once the loaders are steady */
    double first_s;       /* for the first batch of all, which nothing hides */
    double reading_share; /* 0..1: of the file system's read bandwidth that is used */
    double node_share;    /* of a node's link to it */
};

/* Nothing without `data`. Scratch memory is the arena's. */
struct loading_use loading_run(struct arena *arena, const struct scenario *scenario,
                               int64_t step_ns);

/* Adds the stall to the step; where reading keeps a link of the storage busier than the step does
 * its busiest, that is the busiest now, and what the GPUs stall for. */
void loading_add_stall(struct arena *arena, const struct scenario *scenario,
                       const struct loading_use *use, struct step_result *step);

#endif
