/* Measured collectives beside what is predicted, a panel for each curve: bus bandwidth by the size
 * of the buffer, both axes by factors. Measured are points, predicted is a line, what was predicted
 * before a fit a dashed one. Titles have the median of how far off predictions are, before and
 * after.
 *
 * The canvas is as large as its panels need. In a page of a size the first have room, and it is
 * said of how many. Files as of any plot; the CSV has a line for each point.
 */
#ifndef REPORT_PLOT_PLOT_PANELS_H
#define REPORT_PLOT_PLOT_PANELS_H

#include "report/plot/plot.h"

struct panel_point {
    double bytes;
    double measured, before, predicted; /* bytes/s, all > 0; before ABSENT: nothing was fitted */
};

struct panel {
    const char *name;
    const struct panel_point *points; /* by bytes */
    uint32_t count;                   /* at least one */
    double error, error_before; /* median, a fraction; error_before ABSENT: nothing was fitted */
};

struct panels {
    const struct panel *items;
    uint32_t count;             /* at least one */
    double error, error_before; /* over all points */
};

/* Of the request: title, path_base and size. */
MUST_USE bool plot_panels(struct arena *arena, const struct panels *panels,
                          const struct plot_request *request, struct diag *diag);

#endif
