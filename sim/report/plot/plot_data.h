/* Inside the plots: what can be shown (metrics, axes, causes), rows made into
 * items, and the writing of CSV that gnuplot reads.
 *
 * CSV follows RFC 4180, with a head row and numbers with '.'. All text is
 * cleaned, because gnuplot 5.4 ends a field at the first inner quote,
 * reads escapes such as \n in data, and drops a row with an empty field: a
 * double quote becomes ”, a backslash ∖ (U+2216), a mark that is not
 * shown (base/printable.h) a space, an empty text "-"; what a spreadsheet would
 * compute begins with an apostrophe. A number that does not exist is blank; no
 * `using` of a script may lean on its column in that row.
 */
#ifndef REPORT_PLOT_PLOT_DATA_H
#define REPORT_PLOT_PLOT_DATA_H

#include "report/plot/plot.h"
#include "store/store_metrics.h"

#include <stdio.h>

/* As it is shown, times the metric's factor; ABSENT where the row has none (base/absent.h). */
double plot_metric_value(const struct figure_metric *metric, const struct store_row *row);
/* "out of memory", "does not divide", "not possible" or "failed" for a row without a prediction to
 * draw; NULL for one with. */
const char *plot_mark(const struct store_row *row);

/* One row to draw, and the series it came from. */
struct plot_item {
    const struct store_row *row; /* borrowed */
    const char *series_title;    /* as the picture names it */
    uint32_t series;
    bool misses; /* what is required */
};

/* The distinct values of an axis over all items: ascending when they are
 * numbers, else in the order of the rows. */
struct plot_axis {
    const char *name; /* NULL: the rows have no axes, and their labels are the values */
    const char *title;
    double factor; /* SI -> shown */
    bool is_numeric;
    bool is_log2; /* numbers above 0 that grow by factors */
    uint32_t count;
    const double *values; /* shown; 0, 1, 2, ... for words */
    const char *const *labels;
};

/* Collects axis `name` (NULL: the rows' axis number `fallback`). False, with a
 * message that names the axes there are, when no row has it. */
MUST_USE bool plot_axis_collect(struct arena *arena, const struct plot_item *items, uint32_t count,
                                const char *name, uint32_t fallback, struct plot_axis *axis,
                                struct diag *diag);

/* The index of an item's value among the axis' values. */
uint32_t plot_axis_index(const struct plot_axis *axis, const struct store_row *row);

/* "micro 2, zero 1": the values of the axes that are neither `x` nor `y` (may be NULL). */
const char *plot_other_axes(struct arena *arena, const struct store_row *row, const char *x,
                            const char *y);

/* "micro, zero": the names of these. */
const char *plot_other_names(struct arena *arena, const struct store_row *row, const char *x,
                             const char *y);

struct csv {
    FILE *out;
    bool has_field; /* in this row */
};

/* The next fields of a row: names, numbers (nothing, where one is ABSENT), texts. */
void csv_names(struct csv *csv, const char *const *names, uint32_t count);
void csv_numbers(struct csv *csv, const double *numbers, uint32_t count);
void csv_texts(struct csv *csv, const char *const *texts, uint32_t count);
void csv_row_end(struct csv *csv);

#endif
