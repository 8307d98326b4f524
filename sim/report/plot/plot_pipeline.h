/* A drawing of a pipeline: a row of bars for each stage, time to the right. Forwards are blue,
 * backwards orange (input gradients alone yellow, weight gradients green), lighter in a stage's
 * first chunk than in its last; what a backward repeats of the forward is grey, at its front.
 * A forward beside a backward: two bars of half the height. Files as of any plot; the CSV has
 * one line for each bar drawn.
 */
#ifndef REPORT_PLOT_PLOT_PIPELINE_H
#define REPORT_PLOT_PLOT_PIPELINE_H

#include "base/diag.h"
#include "train/timeline.h"

MUST_USE bool plot_pipeline(struct arena *arena, const struct timeline *timeline, const char *title,
                            const char *path_base, struct diag *diag);

#endif
