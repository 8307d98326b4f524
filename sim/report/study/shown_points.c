/* A metric of a row without a result does not exist. */
#include "report/study/shown_points.h"

#include "base/absent.h"

struct field shown_metric_field(const struct shown_points *points, uint32_t number)
{
    const struct figure_metric *metric = points->columns.items[number];
    const bool is_asked = points->columns.are_asked;
    struct field field = points_metric_field(metric);
    field.gives_way = is_asked ? 0 : metric->gives_way;
    field.is_common = !is_asked;
    return field;
}

struct field *shown_metric_heads(const struct shown_points *points, struct field *fields)
{
    for (uint32_t i = 0; i < points->columns.count; i++) {
        *fields++ = shown_metric_field(points, i);
    }
    return fields;
}

void shown_metric_cells(const struct shown_points *points, const struct store_row *row,
                        struct sheet *table)
{
    const bool is_good = store_row_is_good(row);
    for (uint32_t i = 0; i < points->columns.count; i++) {
        const struct figure_metric *metric = points->columns.items[i];
        sheet_number(table, NULL, is_good ? store_metric_value(metric, row) : ABSENT);
    }
}
