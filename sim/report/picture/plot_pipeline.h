/* A drawing of a pipeline: a row for each stage and each slow GPU, time to the right.
 *
 *     stage 0  [F0][F1]///////[B0][F2]//     kernels; hatched: what it waits for, by cause
 *        TP     .. ..          ... ..        transfers under way, a lane for each kind
 *        PP       -  -           -  -
 *     stage 1  ...
 *
 * Each moment of each row has a colour. Those of waits and transfers are the causes' of all
 * pictures; kernels have shades of compute: forwards light, backwards full (weight gradients
 * apart), lighter in a stage's first chunk than in its last; numbers are those of microbatches.
 * What is too narrow to be seen lies upon each other by its share of the time
 * (plot_pipeline_columns). The critical path is outlined in black; slanted lines are the messages
 * by which it goes from one row to another.
 *
 * A step of more than a thousand bars, or of bars that are hairs, is drawn twice: whole, without
 * lanes, and below some microbatches of its steady state magnified.
 *
 * Files as of any plot. The CSV has a line for each box, with the share of the row's height at
 * which it begins and ends, and for each part of the path (lane -1). Of a panel and a row, the
 * lengths of boxes of lane 0 times their heights add up to the panel's; the path of the first panel
 * is as long as the step.
 *
 * ASSUMES: what a step waits for loaders that do not keep up (run/loading) is not drawn.
 */
#ifndef REPORT_PICTURE_PLOT_PIPELINE_H
#define REPORT_PICTURE_PLOT_PIPELINE_H

#include "report/plot/plot.h"
#include "train/timeline.h"

/* `fixed`: "1f1b, 8 microbatches". Of the request: title, path_base and size. */
MUST_USE bool plot_pipeline(struct arena *arena, const struct timeline *timeline, const char *fixed,
                            const struct plot_request *request, struct diag *diag);

#endif
