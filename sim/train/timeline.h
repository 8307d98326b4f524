/* When each stage computes what: the pipeline of one step, for pictures.
 *
 * Of each stage one GPU speaks (train/watch).
 *
 *     struct timeline timeline;
 *     timeline_simulate(arena, scenario, folds, &timeline);
 *
 * A bar lasts from the begin of an action's first kernel to the end of its last; what it waits
 * for in between (exposed communication inside it) is part of it. Accounts of causes are not
 * taken from this run.
 */
#ifndef TRAIN_TIMELINE_H
#define TRAIN_TIMELINE_H

#include "plan/schedule/schedule.h"
#include "train/step.h"

enum timeline_kind {
    TIMELINE_ACTION,    /* of the schedule */
    TIMELINE_OPTIMIZER, /* and the gradient norm */
    TIMELINE_OTHER,     /* host work at the step's begin */
    TIMELINE_KIND_COUNT_
};

struct timeline_bar {
    enum timeline_kind kind;
    struct schedule_action action; /* of TIMELINE_ACTION */
    sim_time start, end;
    sim_time recompute_ns; /* forwards that its backward repeats, part of the bar */
};

struct timeline_row {
    struct timeline_bar *bars; /* in order of time */
    size_t count;
};

struct timeline {
    uint32_t stages;
    uint32_t chunks;
    struct timeline_row *rows; /* of each stage */
    sim_time end;              /* of the step */
};

/* All memory is the arena's. */
void timeline_simulate(struct arena *arena, const struct scenario *scenario, bool folds,
                       struct timeline *timeline);

#endif
