/* Two axes of a sweep as a grid of coloured cells, with the value written into
 * each. A third axis is folded by showing its best value. Cells that failed or
 * do not fit say so in place of a number.
 */
#include "report/plot/plot_kinds.h"
#include "report/plot/plot_limits.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"

#include <math.h>
#include <string.h>

enum {
    SIDE_MAX = 40, /* cells; more are not legible */
    CELL_WIDTH = 70,
    CELL_HEIGHT = 56,
    PLOT_WIDTH_MIN = 520,
    COLOURS_WIDTH = 84,
    VALUE_WIDTH = 48,
    LINE_HEIGHT = 18,
};

struct heatmap {
    const struct figure_metric *metric;
    struct plot_axis x, y;
    const struct store_row **cells; /* x fastest; the best point there, NULL if none */
    const struct store_row *best;   /* of the cells; NULL: none has a value */
    double low, high;               /* of the values shown */
    bool has_value;
    bool has_texts;          /* cells have room for them */
    uint32_t x_step, y_step; /* one label of so many is written */
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
        map->best = is_better(map->metric, map->cells[i], map->best) ? map->cells[i] : map->best;
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

static const char *const text_columns[] = {"x_label", "y_label", "cell",
                                           "x_title", "y_title", "value_title"};

static void write_cell(struct plot_page *page, const struct heatmap *map, uint32_t x, uint32_t y)
{
    const struct store_row *row = map->cells[(size_t)y * map->x.count + x];
    const char *mark = row == NULL ? " " : cell_mark(map->metric, row);
    const double value = mark == NULL ? plot_metric_value(map->metric, row) : ABSENT;
    char text[32];
    snprintf(text, sizeof text, map->metric->format, value);
    const bool is_dark = mark == NULL && brightness(map, value) < 0.6;
    plot_row(page, PLOT_NUMBERS(x, y, value, mark == NULL, is_dark, row == map->best),
             PLOT_TEXTS(map->x.labels[x], map->y.labels[y], mark == NULL ? text : mark,
                        map->x.title, map->y.title, map->metric->title));
}

static void write_data(struct plot_page *page, const struct heatmap *map)
{
    const char *const numbers[] = {"x_index",   "y_index", map->metric->csv,
                                   "has_value", "is_dark", "is_best"};
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
    fprintf(script,
            "set cbrange [%.10g:%.10g]\nset colorbox user origin graph 1.02, graph 0 "
            "size graph 0.02, graph 1 noborder\n",
            map->low - pad, map->high + pad);
}

static void write_axes(struct plot_page *page, const struct heatmap *map)
{
    FILE *script = page->script;
    fprintf(script,
            "array X_LABEL[%u]\narray Y_LABEL[%u]\n"
            "stats DATA using (X_LABEL[int(column('x_index'))+1] = x_label[int($0)+1], "
            "Y_LABEL[int(column('y_index'))+1] = y_label[int($0)+1], 0) nooutput\n"
            "set xtics ()\nset for [i=1:%u:%u] xtics add (tic(X_LABEL[i]) i-1)\n"
            "set ytics ()\nset for [i=1:%u:%u] ytics add (tic(Y_LABEL[i]) i-1)\n",
            map->x.count, map->y.count, map->x.count, map->x_step, map->y.count, map->y_step);
    fprintf(script, "set xrange [-0.5:%u-0.5]\nset yrange [-0.5:%u-0.5]\n", map->x.count,
            map->y.count);
    fputs("unset key\nunset grid\nset border 0\n"
          "set tics scale 0\n",
          script);
}

/* Columns 1 and 2 are the cell's place. An unseen label is empty, not NaN: see plot_lines.c. */
static const char *plot_command(struct plot_page *page, const struct heatmap *map)
{
    static const char box[] = "(column('x_index')-0.48):(column('x_index')+0.48):"
                              "(column('y_index')-0.48):(column('y_index')+0.48)";
    const char *text = map->has_texts ? "cell[int($0)+1] : '') with labels textcolor rgb"
                                      : "'' : '') with labels textcolor rgb";
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
        "     DATA using 1:2:(column('has_value') == 1 && column('is_dark') == 0 ? %s '#222222', "
        "\\\n"
        "     DATA using (column('is_best') == 1 ? column('x_index') : NaN):(column('y_index')):%s "
        "with boxxy fs empty lc rgb '#D55E00' lw 3 dt 1",
        plot, box, map->metric->csv, text, text, box);
}

static double widest(const char *const *labels, uint32_t count)
{
    double width = 0;
    for (uint32_t i = 0; i < count; i++) {
        width = fmax(width, plot_text_width(labels[i], PLOT_LETTER));
    }
    return width;
}

/* The widest of what is written in cells. */
static double widest_cell(const struct heatmap *map)
{
    double width = 0;
    for (size_t i = 0; i < (size_t)map->x.count * map->y.count; i++) {
        const char *mark = map->cells[i] != NULL ? cell_mark(map->metric, map->cells[i]) : NULL;
        width = fmax(width, mark != NULL ? plot_text_width(mark, PLOT_LETTER) : VALUE_WIDTH);
    }
    return width;
}

static void say_what(struct plot_page *page, const struct heatmap *map)
{
    const char *hidden =
        plot_other_names(page->arena, page->items[0].row, map->x.name, map->y.name);
    if (hidden[0] != '\0') {
        plot_add_note(page, arena_printf(page->arena, "each cell the best over %s", hidden));
    }
    if (map->has_value) {
        plot_add_note(page, "framed: the best");
    }
    plot_limits_note(page, NULL, NULL);
    if (page->request->title == NULL) {
        page->title = arena_printf(page->arena, "%.*s, the best of %lu studies",
                                   (int)strcspn(map->metric->title, ","), map->metric->title,
                                   (unsigned long)page->request->series_count);
    }
}

/* Cells as wide as what is written in them and below; where a page of a size has no room for that,
 * colours alone are shown, and some of the labels. */
static void lay_out(struct plot_page *page, struct heatmap *map)
{
    const double words = widest_cell(map);
    const double label = widest(map->x.labels, map->x.count) + 12;
    const double left = fmax(widest(map->y.labels, map->y.count) + 22, 40);
    const double cells =
        fmax(fmax(fmax(words + 10, CELL_WIDTH), label) * map->x.count, PLOT_WIDTH_MIN);
    const struct plot_frame frame = {
        .width = (uint32_t)(left + cells + COLOURS_WIDTH),
        .plot_height = CELL_HEIGHT * (map->y.count < 4 ? 4 : map->y.count),
        .left = (uint32_t)left,
        .right = COLOURS_WIDTH,
        .bottom = PLOT_TICS,
        .x_title = "x_title[1]",
        .y_title = "y_title[1].' (up); '.value_title[1].' (colour)'",
    };
    say_what(page, map);
    plot_frame_set(page, &frame);
    const double width = (page->frame.width - left - COLOURS_WIDTH) / map->x.count;
    const double height = (double)page->frame.plot_height / map->y.count;
    map->has_texts = width >= words + 4 && height >= LINE_HEIGHT;
    map->x_step = (uint32_t)ceil(label / width - 1e-9);
    map->y_step = (uint32_t)ceil(LINE_HEIGHT / height - 1e-9);
    if (!map->has_texts) {
        plot_add_note(page, "grey: no result");
        plot_frame_set(page, &frame);
    }
}

static void write_script(struct plot_page *page, const struct heatmap *map)
{
    plot_script_begin(page, map->x.count * map->y.count);
    write_axes(page, map);
    if (map->has_value) {
        write_colours(map, page->script);
    }
    plot_script_end(page, plot_command(page, map));
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
    lay_out(page, &map);
    write_data(page, &map);
    write_script(page, &map);
    return true;
}
