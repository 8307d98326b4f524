/* A drawing of what a site draws over a step (run/power_trace): a line over time, with its mean.
 * Files as of any plot; the CSV has one line for each bin.
 */
#ifndef REPORT_PICTURE_PLOT_POWER_H
#define REPORT_PICTURE_PLOT_POWER_H

#include "report/plot/plot.h"
#include "run/power_trace.h"

/* Of the request: title, path_base and size. */
MUST_USE bool plot_power(struct arena *arena, const struct power_trace *trace,
                         const struct plot_request *request, struct diag *diag);

#endif
