/* Rows grow as they come; the axis is found when all are there. */
#include "report/html/chart.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"

#include <math.h>
#include <string.h>

struct chart *chart_new(struct arena *arena, const char *title)
{
    struct chart *chart = arena_alloc(arena, sizeof *chart);
    *chart = (struct chart){.arena = arena,
                            .title = title,
                            .unit = "",
                            .reference = ABSENT,
                            .least = HUGE_VAL,
                            .most = -HUGE_VAL};
    return chart;
}

uint32_t chart_series_find(const struct chart *chart, const char *name)
{
    uint32_t i = 0;
    while (i < chart->series_count && strcmp(chart->series[i], name) != 0) {
        i++;
    }
    return i;
}

uint32_t chart_series(struct chart *chart, const char *name, uint32_t colour)
{
    const uint32_t found = chart_series_find(chart, name);
    if (found < chart->series_count) {
        return found;
    }
    sim_assert(chart->series_count < CHART_SERIES_MAX);
    chart->series[chart->series_count] = name;
    chart->colours[chart->series_count] = colour;
    return chart->series_count++;
}

struct chart_row *chart_row(struct chart *chart, const char *name, const char *value,
                            const char *beside)
{
    chart->rows = arena_grow(chart->arena, chart->rows, &chart->row_capacity, chart->row_count + 1,
                             sizeof *chart->rows);
    struct chart_row *row = &chart->rows[chart->row_count++];
    *row = (struct chart_row){.name = name, .value = value, .beside = beside};
    return row;
}

static void include(struct chart *chart, double value)
{
    if (!is_absent(value)) {
        chart->least = fmin(chart->least, value);
        chart->most = fmax(chart->most, value);
    }
}

static struct chart_mark *add_mark(struct chart *chart)
{
    sim_assert(chart->row_count > 0);
    struct chart_row *row = &chart->rows[chart->row_count - 1];
    row->marks = arena_grow(chart->arena, row->marks, &row->mark_capacity, row->mark_count + 1,
                            sizeof *row->marks);
    return &row->marks[row->mark_count++];
}

void chart_dot(struct chart *chart, double at, double low, double high)
{
    *add_mark(chart) = (struct chart_mark){.at = at, .from = low, .to = high};
    include(chart, at);
    include(chart, low);
    include(chart, high);
}

void chart_piece(struct chart *chart, uint32_t series, double length)
{
    sim_assert(length >= 0);
    struct chart_mark *mark = add_mark(chart);
    const struct chart_row *row = &chart->rows[chart->row_count - 1];
    const double from = row->mark_count > 1 ? row->marks[row->mark_count - 2].to : 0;
    *mark = (struct chart_mark){.from = from, .to = from + length, .at = ABSENT, .series = series};
    include(chart, 0);
    include(chart, from + length);
}

/* 1, 2 or 5 times a power of ten, such that about five steps make the width. */
static double step_of(double width)
{
    const double rough = width / 5;
    const double power = pow(10, floor(log10(rough)));
    const double times = rough / power;
    return power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

struct chart_axis chart_axis_of(const struct chart *chart)
{
    const bool has_reference = !is_absent(chart->reference);
    double from = has_reference ? fmin(chart->least, chart->reference) : chart->least;
    double to = has_reference ? fmax(chart->most, chart->reference) : chart->most;
    if (!(to > from)) { /* one value, or none */
        from = isfinite(from) ? from : 0;
        const double half = fmax(fabs(from) / 10, 1e-9);
        to = from + half;
        from = from > 0 ? fmax(0, from - half) : from;
    }
    struct chart_axis axis = {.step = step_of(to - from)};
    const double margin = chart->least < 0 || chart->least > 0 ? 0.03 * (to - from) : 0;
    axis.from = from - margin;
    axis.to = to + 0.03 * (to - from);
    axis.first = axis.step * ceil(axis.from / axis.step - 1e-9);
    while (axis.count < CHART_TICKS_MAX && axis.first + axis.count * axis.step <= axis.to) {
        axis.count++;
    }
    return axis;
}
