/* A metric of a row without a result does not exist. */
#include "report/study/shown_points.h"

struct field *shown_metric_heads(const struct shown_points *points, struct field *fields)
{
    for (uint32_t i = 0; i < points->columns.count; i++) {
        const struct figure_metric *metric = points->columns.items[i];
        const bool is_asked = points->columns.are_asked;
        *fields++ =
            (struct field){FIELD_COUNT(metric->head), .gives_way = is_asked ? 0 : metric->gives_way,
                           .is_common = !is_asked};
    }
    return fields;
}

void shown_metric_cells(const struct shown_points *points, const struct store_row *row,
                        struct sheet *table)
{
    const bool is_good = store_row_is_good(row);
    for (uint32_t i = 0; i < points->columns.count; i++) {
        const struct figure_metric *metric = points->columns.items[i];
        sheet_text(table, NULL, is_good ? points_metric(sheet_arena(table), metric, row) : NULL);
    }
}
