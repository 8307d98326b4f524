/* Inside the plots: where values stand on the axes of pictures with lines.
 *
 * To the right an axis has the values of a study's (plot_axis), evenly where they grow by factors
 * or are words. Up it begins at 0, or, where all values lie close together, below the lowest one:
 * then its lower end has a mark.
 */
#ifndef REPORT_PLOT_PLOT_PLACES_H
#define REPORT_PLOT_PLOT_PLACES_H

#include "report/plot/plot_kinds.h"

/* How far to the right of the plot's left end a value of the axis is, in pixels; and no value has
 * less to the next one. The page's frame is set. */
double plot_place_pixel(const struct plot_page *page, const struct plot_axis *x, uint32_t place);
double plot_places_narrowest(const struct plot_page *page, const struct plot_axis *x);

/* The ends of an axis up that holds the values from `lowest` to `highest`. */
void plot_places_up(double lowest, double highest, double *low, double *high);

/* Ranges as commands; of the axis up its tics, of 1, 2 or 5 times a power of ten, none below `low`,
 * and the mark. */
void plot_places_write_across(FILE *script, const struct plot_axis *x);
void plot_places_write_up(FILE *script, double low, double high);

#endif
