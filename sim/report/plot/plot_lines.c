/* One metric over one axis of a sweep, with a line for each combination of the
 * other axes. Points are sorted by line and place before they are written; one
 * that has no value gets a mark at the bottom of the picture instead.
 */
#include "report/plot/plot_kinds.h"

#include "base/absent.h"
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define LINES_MAX 32 /* more cannot be told apart */
#define TICKS_MAX 14 /* a label for each value up to here */
#define VALUES_SHOWN_MAX 12
#define KEY_BELOW_MAX 4

struct spot {
    const struct store_row *row;
    uint32_t line;
    uint32_t x_index;
    uint32_t order;      /* of the items */
    uint32_t mark_level; /* how many marks stand below its own at this x */
};

struct lines {
    const struct figure_metric *metric;
    struct plot_axis x;
    struct spot *spots; /* by line, then by x */
    uint32_t spot_count;
    const char **titles;
    uint32_t line_count;
    double high; /* of the values; 0 when there is none */
};

/* "H100, micro 2": the series, if there are several, and the axes that x does not show. */
static const char *line_title(const struct plot_page *page, const struct lines *lines,
                              const struct plot_item *item)
{
    const char *axes = plot_other_axes(page->arena, item->row, lines->x.name, NULL);
    if (page->request->series_count < 2) {
        return axes;
    }
    return axes[0] == '\0' ? item->series_title
                           : arena_printf(page->arena, "%s, %s", item->series_title, axes);
}

static uint32_t line_of(struct lines *lines, const char *title)
{
    uint32_t line = 0;
    while (line < lines->line_count && strcmp(lines->titles[line], title) != 0) {
        line++;
    }
    if (line == lines->line_count) {
        lines->titles[lines->line_count++] = title;
    }
    return line;
}

static int compare_spots(const void *a, const void *b)
{
    const struct spot *left = a;
    const struct spot *right = b;
    if (left->line != right->line) {
        return left->line < right->line ? -1 : 1;
    }
    if (left->x_index != right->x_index) {
        return left->x_index < right->x_index ? -1 : 1;
    }
    return (left->order > right->order) - (left->order < right->order);
}

static void collect_spots(struct plot_page *page, struct lines *lines)
{
    lines->spots = arena_array(page->arena, page->item_count, sizeof *lines->spots);
    lines->titles = arena_array(page->arena, page->item_count, sizeof *lines->titles);
    for (uint32_t i = 0; i < page->item_count; i++) {
        const struct plot_item *item = &page->items[i];
        const uint32_t line = line_of(lines, line_title(page, lines, item));
        lines->spots[lines->spot_count++] =
            (struct spot){.row = item->row,
                          .line = line,
                          .x_index = plot_axis_index(&lines->x, item->row),
                          .order = i};
    }
    qsort(lines->spots, lines->spot_count, sizeof *lines->spots, compare_spots);
}

static void measure(struct plot_page *page, struct lines *lines)
{
    uint32_t *marks = arena_array(page->arena, lines->x.count, sizeof *marks);
    for (uint32_t i = 0; i < lines->spot_count; i++) {
        struct spot *spot = &lines->spots[i];
        if (plot_mark(spot->row) != NULL) {
            spot->mark_level = marks[spot->x_index]++;
            continue;
        }
        const double value = plot_metric_value(lines->metric, spot->row);
        lines->high = value > lines->high ? value : lines->high;
    }
}

static const char *const text_columns[] = {"line_title", "x_label", "mark",
                                           "plot_title", "x_title", "y_title"};

static void write_data(struct plot_page *page, const struct lines *lines)
{
    const char *const numbers[] = {"line", "x_index", "x", "mark_level", lines->metric->csv};
    PLOT_HEAD(page, numbers, text_columns);
    for (uint32_t i = 0; i < lines->spot_count; i++) {
        const struct spot *spot = &lines->spots[i];
        const char *mark = plot_mark(spot->row);
        plot_row(page,
                 PLOT_NUMBERS(spot->line, spot->x_index, lines->x.values[spot->x_index],
                              spot->mark_level,
                              mark == NULL ? plot_metric_value(lines->metric, spot->row) : ABSENT),
                 PLOT_TEXTS(lines->titles[spot->line], lines->x.labels[spot->x_index],
                            mark == NULL ? "" : mark, page->request->title, lines->x.title,
                            lines->metric->title));
    }
}

static void write_x_range(const struct plot_axis *x, FILE *script)
{
    const double first = x->values[0];
    const double last = x->values[x->count - 1];
    if (x->is_log2) {
        fprintf(script, "set logscale x 2\nset xrange [%.10g:%.10g]\n", first / 1.25, last * 1.25);
    } else {
        const double span = last - first;
        const double margin = x->is_numeric ? (span > 0 ? 0.05 * span : 1) : 0.5;
        fprintf(script, "set xrange [%.10g:%.10g]\n", first - margin, last + margin);
    }
}

/* A few lines are named below the plot, where long titles have room; many beside it. */
static const char *key_command(uint32_t line_count)
{
    if (line_count < 2) {
        return "unset key";
    }
    return line_count <= KEY_BELOW_MAX ? "set key outside below left Left reverse"
                                       : "set key outside right top Left reverse";
}

static void write_axes(struct plot_page *page, const struct lines *lines)
{
    FILE *script = page->script;
    fprintf(script,
            "array X[%u]\narray X_LABEL[%u]\narray LINE_TITLE[%u]\n"
            "stats DATA using (X[int(column('x_index'))+1] = column('x'), "
            "X_LABEL[int(column('x_index'))+1] = x_label[int($0)+1], "
            "LINE_TITLE[int(column('line'))+1] = line_title[int($0)+1], 0) nooutput\n",
            lines->x.count, lines->x.count, lines->line_count);
    write_x_range(&lines->x, script);
    if (lines->x.count <= TICKS_MAX || !lines->x.is_numeric) {
        fprintf(script, "set xtics ()\nset for [i=1:%u] xtics add (tic(X_LABEL[i]) X[i])\n",
                lines->x.count);
    }
    fputs(lines->x.is_numeric ? "" : "set xtics rotate by -25\n", script);
    fprintf(script,
            "set xlabel x_title[1]\nset ylabel y_title[1]\n"
            "TOP = %.6g\nset yrange [0:TOP]\n%s\n",
            1.12 * lines->high, key_command(lines->line_count));
}

/* A label that is not to be seen is empty: gnuplot 5.4 crashes when the only label of a plot has
 * no place (NaN). */
static const char *plot_command(struct plot_page *page, const struct lines *lines)
{
    const char *column = lines->metric->csv;
    const char *plot = arena_printf(
        page->arena,
        "plot for [i=0:%u] DATA using (column('line') == i ? column('x') : NaN):"
        "(strcol('mark') eq '-' ? column('%s') : NaN) with linespoints lt i+1 "
        "title LINE_TITLE[i+1], \\\n"
        "     for [i=0:%u] DATA using (column('x')):((0.03+0.05*column('mark_level'))*TOP):"
        "(column('line') == i && strcol('mark') ne '-' ? strcol('mark') : '') "
        "with labels textcolor lt i+1 notitle",
        lines->line_count - 1, column, lines->line_count - 1);
    if (lines->line_count > 1 || lines->spot_count > VALUES_SHOWN_MAX) {
        return plot;
    }
    return arena_printf(page->arena,
                        "%s, \\\n     DATA using (column('x')):(column('%s')):"
                        "(strcol('mark') eq '-' ? sprintf('%s', column('%s')) : '') "
                        "with labels offset 0,0.9 textcolor rgb '#333333' notitle",
                        plot, column, lines->metric->format, column);
}

bool plot_write_lines(struct plot_page *page)
{
    struct lines lines = {.metric = plot_request_metric(page)};
    if (lines.metric == NULL ||
        !plot_axis_collect(page->arena, page->items, page->item_count, page->request->x_axis, 0,
                           &lines.x, page->diag)) {
        return false;
    }
    collect_spots(page, &lines);
    measure(page, &lines);
    write_data(page, &lines);
    if (!(lines.high > 0)) {
        return diag_add(page->diag, DIAG_FAILURE, NULL, "no point of this study has a value of %s",
                        lines.metric->name);
    }
    if (lines.line_count > LINES_MAX) {
        return diag_add(page->diag, DIAG_USAGE, NULL,
                        "%u lines cannot be told apart; at most %d are drawn (try a heatmap)",
                        lines.line_count, LINES_MAX);
    }
    plot_script_begin(page, lines.spot_count);
    write_axes(page, &lines);
    plot_script_end(page, lines.line_count > 1 ? 900 : 760, 460, plot_command(page, &lines));
    return true;
}
