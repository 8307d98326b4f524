/* Two axes of a sweep as a grid of coloured cells, with the value written into
 * each. A third axis is folded by showing its best value. Cells that failed or
 * do not fit say so in place of a number.
 */
#include "report/plot/plot_kinds.h"

#include "base/absent.h"
#include "base/arena.h"

#include <string.h>

#define SIDE_MAX 40 /* cells; more are not legible */

struct heatmap {
    const struct figure_metric *metric;
    struct plot_axis x, y;
    const struct store_row **cells; /* x fastest; the best point there, NULL if none */
    double low, high;               /* of the values shown */
    bool has_value;
};

/* What a cell says in place of a value; NULL for one that has a value. */
static const char *cell_mark(const struct figure_metric *metric, const struct store_row *row)
{
    const char *mark = plot_mark(row);
    return mark == NULL && is_absent(plot_metric_value(metric, row)) ? "-" : mark;
}

static bool is_better(const struct figure_metric *metric, const struct store_row *row,
                      const struct store_row *than)
{
    if (than == NULL || cell_mark(metric, row) != NULL) {
        return than == NULL;
    }
    if (cell_mark(metric, than) != NULL) {
        return true;
    }
    const double value = plot_metric_value(metric, row);
    const double other = plot_metric_value(metric, than);
    return metric->is_higher_better ? value > other : value < other;
}

static void collect_cells(struct plot_page *page, struct heatmap *map)
{
    map->cells = arena_array(page->arena, (size_t)map->x.count * map->y.count, sizeof *map->cells);
    for (uint32_t i = 0; i < page->item_count; i++) {
        const struct store_row *row = page->items[i].row;
        const uint32_t x = plot_axis_index(&map->x, row);
        const uint32_t y = plot_axis_index(&map->y, row);
        const struct store_row **cell = &map->cells[(size_t)y * map->x.count + x];
        if (is_better(map->metric, row, *cell)) {
            *cell = row;
        }
    }
    for (size_t i = 0; i < (size_t)map->x.count * map->y.count; i++) {
        if (map->cells[i] == NULL || cell_mark(map->metric, map->cells[i]) != NULL) {
            continue;
        }
        const double value = plot_metric_value(map->metric, map->cells[i]);
        map->low = !map->has_value || value < map->low ? value : map->low;
        map->high = !map->has_value || value > map->high ? value : map->high;
        map->has_value = true;
    }
}

/* Where between the worst (0, dark) and the best (1, bright) a value is. */
static double brightness(const struct heatmap *map, double value)
{
    const double span = map->high - map->low;
    const double share = span > 0 ? (value - map->low) / span : 0.5;
    return map->metric->is_higher_better ? share : 1 - share;
}

static const char *const text_columns[] = {"x_label", "y_label", "cell",       "plot_title",
                                           "x_title", "y_title", "value_title"};

static void write_cell(struct plot_page *page, const struct heatmap *map, uint32_t x, uint32_t y)
{
    const struct store_row *row = map->cells[(size_t)y * map->x.count + x];
    const char *mark = row == NULL ? " " : cell_mark(map->metric, row);
    const double value = mark == NULL ? plot_metric_value(map->metric, row) : ABSENT;
    char text[32];
    snprintf(text, sizeof text, map->metric->format, value);
    const bool is_dark = mark == NULL && brightness(map, value) < 0.6;
    plot_row(page, PLOT_NUMBERS(x, y, value, mark == NULL, is_dark),
             PLOT_TEXTS(map->x.labels[x], map->y.labels[y], mark == NULL ? text : mark,
                        page->request->title, map->x.title, map->y.title, map->metric->title));
}

static void write_data(struct plot_page *page, const struct heatmap *map)
{
    const char *const numbers[] = {"x_index", "y_index", map->metric->csv, "has_value", "is_dark"};
    PLOT_HEAD(page, numbers, text_columns);
    for (uint32_t y = 0; y < map->y.count; y++) {
        for (uint32_t x = 0; x < map->x.count; x++) {
            write_cell(page, map, x, y);
        }
    }
}

static void write_colours(const struct heatmap *map, FILE *script)
{
    /* viridis: even steps of lightness, so it survives grey and colour-blind eyes */
    fprintf(script,
            "set palette defined (0 '#440154', 0.25 '#3b528b', 0.5 '#21918c', 0.75 '#5ec962', "
            "1 '#fde725')%s\n",
            map->metric->is_higher_better ? "" : " negative");
    const double pad = map->high > map->low ? 0 : 0.5;
    fprintf(script, "set cbrange [%.10g:%.10g]\nset cblabel value_title[1]\n", map->low - pad,
            map->high + pad);
    fputs("set colorbox user origin screen 0.855, graph 0 size screen 0.022, graph 1 "
          "noborder\nset rmargin at screen 0.83\n",
          script);
}

static void write_axes(struct plot_page *page, const struct heatmap *map)
{
    FILE *script = page->script;
    fprintf(script,
            "array X_LABEL[%u]\narray Y_LABEL[%u]\n"
            "stats DATA using (X_LABEL[int(column('x_index'))+1] = x_label[int($0)+1], "
            "Y_LABEL[int(column('y_index'))+1] = y_label[int($0)+1], 0) nooutput\n"
            "set xtics ()\nset for [i=1:%u] xtics add (tic(X_LABEL[i]) i-1)\n"
            "set ytics ()\nset for [i=1:%u] ytics add (tic(Y_LABEL[i]) i-1)\n",
            map->x.count, map->y.count, map->x.count, map->y.count);
    fprintf(script, "set xrange [-0.5:%u-0.5]\nset yrange [-0.5:%u-0.5]\n", map->x.count,
            map->y.count);
    fputs("set xlabel x_title[1]\nset ylabel y_title[1]\nunset key\nunset grid\nset border 0\n"
          "set tics scale 0\n",
          script);
    fputs(map->x.is_numeric ? "" : "set xtics rotate by -25\n", script);
}

/* Columns 1 and 2 are the cell's place. An unseen label is empty, not NaN: see plot_lines.c. */
static const char *plot_command(struct plot_page *page, const struct heatmap *map)
{
    static const char box[] = "(column('x_index')-0.48):(column('x_index')+0.48):"
                              "(column('y_index')-0.48):(column('y_index')+0.48)";
    static const char text[] = "cell[int($0)+1] : '') with labels textcolor rgb";
    const char *plot = arena_printf(
        page->arena,
        "plot DATA using (column('has_value') == 0 ? column('x_index') : NaN):(column('y_index')):"
        "%s with boxxy fs solid 1 noborder fc rgb '#dcdcdc', \\\n"
        "     DATA using 1:2:(column('has_value') == 0 ? %s '#777777'",
        box, text);
    if (!map->has_value) {
        return plot;
    }
    return arena_printf(
        page->arena,
        "%s, \\\n     DATA using (column('has_value') == 1 ? column('x_index') : NaN):"
        "(column('y_index')):%s:(column('%s')) with boxxy fs solid 1 noborder lc palette, \\\n"
        "     DATA using 1:2:(column('has_value') == 1 && column('is_dark') == 1 ? %s 'white', \\\n"
        "     DATA using 1:2:(column('has_value') == 1 && column('is_dark') == 0 ? %s '#222222'",
        plot, box, map->metric->csv, text, text);
}

static void write_script(struct plot_page *page, const struct heatmap *map)
{
    plot_script_begin(page, map->x.count * map->y.count);
    write_axes(page, map);
    if (map->has_value) {
        write_colours(map, page->script);
    }
    const uint32_t width = 290 + 76 * map->x.count;
    const uint32_t height = 140 + 56 * map->y.count;
    plot_script_end(page, width < 640 ? 640 : width, height < 380 ? 380 : height,
                    plot_command(page, map));
}

bool plot_write_heatmap(struct plot_page *page)
{
    const struct plot_request *request = page->request;
    struct heatmap map = {.metric = plot_request_metric(page)};
    if (map.metric == NULL ||
        !plot_axis_collect(page->arena, page->items, page->item_count, request->x_axis, 0, &map.x,
                           page->diag) ||
        !plot_axis_collect(page->arena, page->items, page->item_count, request->y_axis, 1, &map.y,
                           page->diag)) {
        return false;
    }
    if (map.y.name == NULL || map.x.name == NULL || strcmp(map.x.name, map.y.name) == 0) {
        return diag_add(page->diag, DIAG_USAGE, NULL, "a heatmap needs a study with two axes");
    }
    if (map.x.count > SIDE_MAX || map.y.count > SIDE_MAX) {
        return diag_add(page->diag, DIAG_USAGE, NULL,
                        "a heatmap of %u by %u cells is not legible; at most %d by %d are drawn",
                        map.x.count, map.y.count, SIDE_MAX, SIDE_MAX);
    }
    collect_cells(page, &map);
    write_data(page, &map);
    write_script(page, &map);
    return true;
}
