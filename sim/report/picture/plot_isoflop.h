/* Losses over parameters, a curve for each number of FLOPs, with a dot where it is least. Files as
 * of any plot; the CSV has a line for each point.
 */
#ifndef REPORT_PICTURE_PLOT_ISOFLOP_H
#define REPORT_PICTURE_PLOT_ISOFLOP_H

#include "report/plot/plot.h"

struct arena;

struct isoflop_curve {
    const char *name; /* "5.76e23 FLOP" */
    const double *parameters, *loss;
    uint32_t count;
    double best_parameters, best_loss;
    bool is_asked; /* the one that is asked about */
};

/* Of the request: title, path_base and size. */
MUST_USE bool plot_isoflop(struct arena *arena, const struct isoflop_curve *curves, uint32_t count,
                           const struct plot_request *request, struct diag *diag);

#endif
