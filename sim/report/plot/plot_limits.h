/* Inside the plots: what is required (`require: [days <= 60]`), as dotted lines with their names.
 *
 *                days <= 60        one on the axis to the right: its name above the plot
 *     |     o         :
 *     |          o    :
 *     |---------------:---  cost_usd <= 2M USD     one on the axis up: at the right end
 *     +-------------------
 *
 * A limit far from all values would squeeze them; it, and what is no axis of the picture, stands in
 * the note: of heatmaps, bars of causes, what would help, each value at its best and the front of
 * memory all of it. In `dollars` and `lines` points that miss any are crosses, bars hatched
 * (plot_series.misses).
 */
#ifndef REPORT_PLOT_PLOT_LIMITS_H
#define REPORT_PLOT_PLOT_LIMITS_H

#include "report/plot/plot_kinds.h"

enum { PLOT_LIMITS_MAX = 6 /* on an axis; more stand in the note */ };

/* The key of points that miss what is required. */
#define PLOT_MISS_TEXT "misses what is required"

/* Those of one axis. */
struct plot_limits {
    const struct plot_limit *items[PLOT_LIMITS_MAX];
    double at[PLOT_LIMITS_MAX]; /* in the axis' unit */
    uint32_t count;
};

/* Those of a metric, near the values from `low` to `high`, which are widened to hold them; the
 * axis shows `factor` times what is stored. */
void plot_limits_find(const struct plot_page *page, const char *metric, double factor, double *low,
                      double *high, struct plot_limits *limits);

/* Says in the page's note what neither of the two (NULL: there is none) draws. */
void plot_limits_note(struct plot_page *page, const struct plot_limits *across,
                      const struct plot_limits *up);

/* What their names need to the right of the plot, and above it. */
uint32_t plot_limits_right(const struct plot_limits *limits);
uint32_t plot_limits_above(const struct plot_limits *limits);

/* The lines, as commands: level ones, with names so many pixels from the lower end of the axis (as
 * plot_labels_spread has them), and upright ones, whose names go to the side on which the axis'
 * middle is. LOW and PIXEL are the script's: the axis' lower end, and what a pixel is of its unit.
 */
void plot_limits_write_level(const struct plot_page *page, const struct plot_limits *limits,
                             const double *heights);
void plot_limits_write_upright(const struct plot_page *page, const struct plot_limits *limits,
                               double middle);

#endif
