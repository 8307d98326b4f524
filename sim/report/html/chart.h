/* A chart of a document: one row for each thing that is compared, with a name at its left, a value
 * at its right, and between them, on one scale for all rows, either
 *
 *     a dot with its band       |----o------|            "1.07 x"   (chart_dot)
 *     pieces one after another  [####][##][###]          "44.3 s"   (chart_piece)
 *
 *     struct chart *chart = chart_new(arena, "Tokens per second against 400 Gbps");
 *     chart->unit = " x";
 *     chart_row(chart, "3200 Gbps", "1.07 x", "1.01 to 1.13");
 *     chart_dot(chart, 1.07, 1.01, 1.13);
 *     sheet_chart(sheet, chart);
 *
 * A row each, so that on a narrow page a name stands above its row and letters keep their size: a
 * picture of fixed proportions shrinks them. What a chart shows a table beside it says in numbers;
 * printers without pictures leave it out.
 */
#ifndef REPORT_HTML_CHART_H
#define REPORT_HTML_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

struct chart_mark {
    double from, to; /* of a piece; of a dot its band: ABSENT where it is not known */
    double at;       /* of a dot; ABSENT: a piece */
    uint32_t series; /* of a piece */
};

struct chart_row {
    const char *name, *value, *beside; /* "" or NULL: nothing */
    bool is_reference;                 /* its dot is hollow */
    struct chart_mark *marks;
    uint32_t mark_count;
    size_t mark_capacity;
};

enum { CHART_SERIES_MAX = 24 };

struct chart {
    struct arena *arena;
    const char *title;
    const char *unit;   /* behind the numbers of the axis: " x", " s"; "" at first */
    double reference;   /* a line across all rows; ABSENT at first: none */
    double least, most; /* of all that is shown, as marks are added; pieces begin at 0 */
    uint32_t series_count;
    const char *series[CHART_SERIES_MAX]; /* what pieces are, in their colours, 0xrrggbb */
    uint32_t colours[CHART_SERIES_MAX];
    struct chart_row *rows;
    uint32_t row_count;
    size_t row_capacity;
};

struct chart *chart_new(struct arena *arena, const char *title);

/* The number of a series, made where there is none of that name. */
uint32_t chart_series(struct chart *chart, const char *name, uint32_t colour);

/* series_count: there is none. */
uint32_t chart_series_find(const struct chart *chart, const char *name);

/* Texts are borrowed. */
struct chart_row *chart_row(struct chart *chart, const char *name, const char *value,
                            const char *beside);
/* On the last row. */
void chart_dot(struct chart *chart, double at, double low, double high);
void chart_piece(struct chart *chart, uint32_t series, double length);

/* Where its axis begins and ends, and its numbers in between: a step of 1, 2 or 5 times a power of
 * ten, from `first` on, `count` of them (CHART_TICKS_MAX at most). */
enum { CHART_TICKS_MAX = 8 };
struct chart_axis {
    double from, to, first, step;
    uint32_t count;
};
struct chart_axis chart_axis_of(const struct chart *chart);

#endif
