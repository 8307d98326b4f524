/* The points of a study as its tables have them: which metrics are columns, what is required of
 * them, how they stand against one of them.
 */
#ifndef REPORT_STUDY_SHOWN_POINTS_H
#define REPORT_STUDY_SHOWN_POINTS_H

#include "report/against_sheet.h"
#include "report/points.h"
#include "study/requirements.h"
#include "study/study.h"

struct shown_points {
    const struct study *study;
    const struct requirements *requirements;
    struct against_rows of;
    struct point_columns columns;
};

/* The column of a metric; those of all, into fields, of which the next is returned; and a row's
 * cells. */
struct field shown_metric_field(const struct shown_points *points, uint32_t number);
struct field *shown_metric_heads(const struct shown_points *points, struct field *fields);
/* Those of all with their digits told by the band, of points held against `base`, a row of them;
 * and one of them. */
void shown_metrics_tell(const struct shown_points *points, const struct store_row *base,
                        struct field *fields);
void shown_metric_tell(const struct shown_points *points, const struct store_row *base,
                       uint32_t number, struct field *field);
void shown_metric_cells(const struct shown_points *points, const struct store_row *row,
                        struct sheet *table);

#endif
