/* A metric of a row without a result does not exist. */
#include "report/study/shown_points.h"

#include "base/absent.h"
#include "report/banded.h"

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

void shown_metric_tell(const struct shown_points *points, const struct store_row *base,
                       uint32_t number, struct field *field)
{
    const struct figure_metric *metric = points->columns.items[number];
    if (!metric->goes_with_step || points->of.count == 0 || !store_row_is_good(base)) {
        return;
    }
    const double own = store_metric_value(metric, base);
    struct banded_column column = {0};
    for (uint32_t i = 0; i < points->of.count; i++) {
        const struct store_row *row = &points->of.rows[i];
        if (row != base && store_row_is_good(row)) {
            const double value = store_metric_value(metric, row);
            banded_meet(&column, value, against_half(&points->of.against[i], value, own));
        }
    }
    if (!(column.least_half > 0)) {
        banded_meet(&column, own,
                    against_base_half(&points->of.against[base - points->of.rows], own));
    }
    banded_tell(&column, field);
}

void shown_metrics_tell(const struct shown_points *points, const struct store_row *base,
                        struct field *fields)
{
    for (uint32_t i = 0; i < points->columns.count; i++) {
        shown_metric_tell(points, base, i, &fields[i]);
    }
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
