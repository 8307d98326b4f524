/* Inside the drawing of a pipeline: which part of a step is magnified, and where its critical path
 * runs.
 */
#ifndef REPORT_PICTURE_PLOT_PIPELINE_VIEW_H
#define REPORT_PICTURE_PLOT_PIPELINE_VIEW_H

#include "train/timeline.h"

/* The path stays on a row for a while, then a message takes it to another. Runs follow one another
 * from 0 to the end of the step without a gap. */
struct pipeline_run {
    sim_time start, end;
    uint32_t row, to; /* of a message the sender and the receiver; else the same */
};

/* All memory is the arena's. */
struct pipeline_run *pipeline_runs(struct arena *arena, const struct timeline *timeline,
                                   size_t *count);

/* Does the step have more bars than can be told apart in so many pixels? */
bool pipeline_is_crowded(const struct timeline *timeline, double pixels);

/* A part to magnify: whole cycles of a stage's operations (its forwards and backwards take turns,
 * or are all alike), with at least four actions, where stages compute most; of several such the
 * one nearest to the middle of the step. Where no stage has a cycle: four actions in the middle of
 * the last stage's. */
struct pipeline_window {
    sim_time from, to;
    bool is_cycle;
};
struct pipeline_window pipeline_window_of(const struct timeline *timeline);

#endif
