/* Inside the plots: lying bars, one below the other, each with its name to the left. Long names
 * have room there, and nothing need be turned.
 *
 *     name of the first |#######           what it is worth
 *        of the second  |############
 *                       +-----+-----+-
 */
#ifndef REPORT_PLOT_PLOT_BARS_H
#define REPORT_PLOT_PLOT_BARS_H

#include "report/plot/plot_kinds.h"

struct plot_bars {
    uint32_t count;
    double last;       /* row of the last one; that of the first is 0 */
    const char *name;  /* of bar i of 1 to `count`, as gnuplot reads it: "label[i]" */
    const char *place; /* its row: "i-1" */
};

/* What their names take to the left of the axis: of each as many lines, none wider than `most`. */
uint32_t plot_bars_left(struct arena *arena, const char *const *names, uint32_t count,
                        uint32_t line_count, double most);

/* Their axes as commands, but for the range of x and its title. */
void plot_bars_axes(FILE *script, const struct plot_bars *bars);

#endif
