/* The points of a study as people and programs read them: what sweep and compare share. */
#ifndef REPORT_POINTS_H
#define REPORT_POINTS_H

#include "report/plot/plot_data.h"
#include "report/sheet.h"

/* A point has a result but for memory, of GPUs or of the host. */
bool points_is_oom(const struct store_row *row);

/* Why a point has no result worth a line: "OOM: needs 123 GB of 80", or the
 * message. "" when it is good. */
const char *points_reason(struct arena *arena, const struct store_row *row);

/* The head of a column of these; NULL: all have a result. */
const char *points_lack_head(const struct store_row *rows, uint32_t count);

/* At least one good point has a run, so that days and money are worth a column. */
bool points_have_runs(const struct store_row *rows, uint32_t count);

/* What a GPU-hour of a row may cost more than one of the base until the same tokens cost the same;
 * below 0: it must be cheaper; ABSENT: one of them has no price, or costs nothing. */
double points_worth(const struct store_row *row, const struct store_row *base);

/* The row that costs least; NULL: one that has a result has no price, or none has a result. */
const struct store_row *points_cheapest(const struct store_row *rows, uint32_t count);

/* The step of at least one good point is the median of runs that lie apart (train/ensemble). */
bool points_have_spreads(const struct store_row *rows, uint32_t count);

/* From the shortest to the longest of these, in seconds, as a cell: "26.64 to 31.05"; and the field
 * of its column. */
void points_add_spread(struct sheet *table, const struct store_row *row);
struct field points_spread_field(bool is_shown);

/* The metrics of a table of points. */
struct point_columns {
    const struct figure_metric *const *items;
    uint32_t count;
    bool are_asked; /* by name; else they are the usual ones */
};

/* Those of these names. */
struct point_columns points_columns_named(struct arena *arena, const char *const *names,
                                          uint32_t count);

/* Those that are `usual` in a table (run/figures.h), of months only where a row has some. */
struct point_columns points_columns_usual(struct arena *arena, unsigned usual,
                                          const struct store_row *rows, uint32_t count);

/* One point, added to an array: label, axes, status, message, and what was predicted, null where
 * that does not exist. Returns the object, for members that follow. */
struct sheet *points_add(struct sheet *array, const struct store_row *row);

/* The column of a metric in a table, of which the cells are its values in the store. */
struct field points_metric_field(const struct figure_metric *metric);

/* A metric of a row alone: "41.3", "7.31 k"; "-" when it does not exist. And what it is of:
 * "MFU %", "USD". */
const char *points_metric(struct arena *arena, const struct figure_metric *metric,
                          const struct store_row *row);
const char *points_metric_head(const struct figure_metric *metric);

#endif
