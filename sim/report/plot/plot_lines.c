/* One metric over one axis of a sweep, with a line for each combination of the
 * other axes, named at its right end. Of more lines than can be told apart, each
 * series shows its best at every place. Lines that are equal are one, with both
 * names; the best at each place has a ring. Points are sorted by line and place
 * before they are written; those without a value are counted in a strip below the
 * plot, by reason, and the line has a gap.
 */
#include "report/plot/plot_kinds.h"
#include "report/plot/plot_labels.h"
#include "report/plot/plot_limits.h"
#include "report/plot/plot_places.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES_MAX = 8, /* more cannot be told apart */
    VALUES_SHOWN_MAX = 12,
    WIDTH = 900,
    WIDTH_MAX = 2400, /* of many places with long names */
    PLOT_HEIGHT = 350,
    NAMES_WIDTH_MAX = 300, /* at the lines' ends */
    NAME_HEIGHT = 18,
    NAME_GAP = 14,
    X_LABEL_LINES = 3,
    WORD_WIDTH_MIN = 84, /* of a word of the axis, or all it needs; else some are not written */
    MARK_WIDTH = 58,     /* "12 of 60"; where there is less room are points */
    MARK_HEIGHT = 19,    /* of a row of the strip */
    MARK_KINDS = 4,
    MARK_GAP = 9, /* between the axis and the strip */
};
#define MISS_STYLE "pt 2 ps 1.9 lw 2 lc rgb '#8a3b00'" /* beyond the mark on which it lies */

enum winner { NO_WINNER, BEST_HERE, BEST_OF_ALL };

struct spot {
    const struct plot_item *item;
    uint32_t line;
    uint32_t x_index;
    uint32_t order; /* of the items */
    double value;   /* ABSENT: it has none */
    enum winner winner;
};

struct lines {
    const struct figure_metric *metric;
    struct plot_axis x;
    struct spot *spots; /* by line, then by x */
    uint32_t spot_count;
    const char **titles;
    uint32_t line_count;
    double low, high; /* of the axis */
    uint32_t height;  /* of the plot without the strip, in pixels */
    uint32_t step;    /* of words on the axis one of so many is written */
    bool has_value;
    const char *marks[MARK_KINDS]; /* reasons that there are */
    uint32_t mark_count;
    struct plot_limits limits;
    bool has_names;      /* of lines, at their ends */
    bool has_mark_texts; /* they have room; else points */
    bool has_misses;     /* of what is required */
};

/* ---- lines ---------------------------------------------------------------- */

/* "H100, micro 2": the series, if there are several, and the axes that x does not show. */
static const char *line_title(const struct plot_page *page, const struct lines *lines,
                              const struct plot_item *item, bool has_axes)
{
    const char *axes = has_axes ? plot_other_axes(page->arena, item->row, lines->x.name, NULL) : "";
    if (page->request->series_count < 2) {
        return axes;
    }
    const char *series = item->series_title;
    return axes[0] == '\0' ? series : arena_printf(page->arena, "%s, %s", series, axes);
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

static void collect_spots(struct plot_page *page, struct lines *lines, bool has_axes)
{
    lines->spots = arena_array(page->arena, page->item_count, sizeof *lines->spots);
    lines->titles = arena_array(page->arena, page->item_count, sizeof *lines->titles);
    lines->line_count = 0;
    lines->spot_count = page->item_count;
    for (uint32_t i = 0; i < page->item_count; i++) {
        const struct plot_item *item = &page->items[i];
        const bool has_value = plot_mark(item->row) == NULL;
        lines->spots[i] = (struct spot){
            .item = item,
            .line = line_of(lines, line_title(page, lines, item, has_axes)),
            .x_index = plot_axis_index(&lines->x, item->row),
            .order = i,
            .value = has_value ? plot_metric_value(lines->metric, item->row) : ABSENT};
    }
    qsort(lines->spots, lines->spot_count, sizeof *lines->spots, compare_spots);
}

static bool is_better(const struct lines *lines, const struct spot *spot, const struct spot *than)
{
    return is_absent(than->value) || (!is_absent(spot->value) && (lines->metric->is_higher_better
                                                                      ? spot->value > than->value
                                                                      : spot->value < than->value));
}

/* Each series at its best: of the spots of a line at a place one is left. */
static void keep_best(struct plot_page *page, struct lines *lines)
{
    const uint32_t all = lines->line_count;
    collect_spots(page, lines, false);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lines->spot_count; i++) {
        const struct spot *spot = &lines->spots[i];
        struct spot *last = kept > 0 ? &lines->spots[kept - 1] : NULL;
        if (last == NULL || last->line != spot->line || last->x_index != spot->x_index) {
            lines->spots[kept++] = *spot;
        } else if (is_better(lines, spot, last)) {
            *last = *spot;
        }
    }
    lines->spot_count = kept;
    plot_add_note(
        page,
        arena_printf(page->arena, "each point the best of %lu lines: over %s", (unsigned long)all,
                     plot_other_names(page->arena, page->items[0].row, lines->x.name, NULL)));
}

static struct spot *begin_of(const struct lines *lines, uint32_t line, uint32_t *count)
{
    uint32_t first = 0;
    while (first < lines->spot_count && lines->spots[first].line != line) {
        first++;
    }
    *count = 0;
    while (first + *count < lines->spot_count && lines->spots[first + *count].line == line) {
        (*count)++;
    }
    return &lines->spots[first];
}

static bool are_close(double one, double other)
{
    return is_absent(one) == is_absent(other) &&
           (is_absent(one) || fabs(one - other) <= 1e-9 * fabs(one));
}

static bool are_equal(const struct lines *lines, uint32_t one, uint32_t other)
{
    uint32_t count, other_count;
    const struct spot *a = begin_of(lines, one, &count);
    const struct spot *b = begin_of(lines, other, &other_count);
    bool is_equal = count == other_count;
    for (uint32_t i = 0; i < count && is_equal; i++) {
        is_equal = a[i].x_index == b[i].x_index &&
                   plot_mark(a[i].item->row) == plot_mark(b[i].item->row) &&
                   are_close(a[i].value, b[i].value);
    }
    return is_equal;
}

/* A line that lies on another one is named with it. */
static void merge_equal(struct plot_page *page, struct lines *lines)
{
    for (uint32_t line = 1; line < lines->line_count;) {
        uint32_t same = 0;
        while (same < line && !are_equal(lines, same, line)) {
            same++;
        }
        if (same == line) {
            line++;
            continue;
        }
        lines->titles[same] =
            arena_printf(page->arena, "%s = %s", lines->titles[same], lines->titles[line]);
        lines->line_count--;
        memmove(&lines->titles[line], &lines->titles[line + 1],
                (lines->line_count - line) * sizeof *lines->titles);
        uint32_t kept = 0;
        for (uint32_t i = 0; i < lines->spot_count; i++) {
            struct spot spot = lines->spots[i];
            if (spot.line != line) {
                spot.line -= spot.line > line;
                lines->spots[kept++] = spot;
            }
        }
        lines->spot_count = kept;
    }
}

/* ---- values ---------------------------------------------------------------- */

static void count_mark(struct lines *lines, const char *mark)
{
    uint32_t i = 0;
    while (i < lines->mark_count && strcmp(lines->marks[i], mark) != 0) {
        i++;
    }
    if (i == lines->mark_count) {
        sim_assert(i < MARK_KINDS);
        lines->marks[lines->mark_count++] = mark;
    }
}

static void measure(const struct plot_page *page, struct lines *lines)
{
    struct spot *winner = NULL;
    struct spot **best = arena_array(page->arena, lines->x.count, sizeof *best);
    double low = 0;
    double high = 0;
    for (uint32_t i = 0; i < lines->spot_count; i++) {
        struct spot *spot = &lines->spots[i];
        const char *mark = plot_mark(spot->item->row);
        if (mark != NULL) {
            count_mark(lines, mark);
        }
        if (is_absent(spot->value)) {
            continue;
        }
        low = !lines->has_value || spot->value < low ? spot->value : low;
        high = !lines->has_value || spot->value > high ? spot->value : high;
        if (best[spot->x_index] == NULL || is_better(lines, spot, best[spot->x_index])) {
            best[spot->x_index] = spot;
        }
        lines->has_value = true;
        lines->has_misses = lines->has_misses || spot->item->misses;
    }
    for (uint32_t i = 0; i < lines->x.count; i++) {
        if (best[i] != NULL) {
            best[i]->winner = lines->line_count > 1 ? BEST_HERE : NO_WINNER;
            winner = winner == NULL || is_better(lines, best[i], winner) ? best[i] : winner;
        }
    }
    if (winner != NULL) {
        winner->winner = BEST_OF_ALL;
    }
    plot_limits_find(page, lines->metric->name, lines->metric->factor, &low, &high, &lines->limits);
    plot_places_up(low, high, &lines->low, &lines->high);
}

/* ---- data ---------------------------------------------------------------- */

static const char *const text_columns[] = {"line_title", "mark",    "x_label", "x_label_2",
                                           "x_label_3",  "x_title", "y_title"};

/* What each place of an axis of words has. */
static double room_of_place(const struct plot_page *page, const struct lines *lines)
{
    return (page->frame.width - page->frame.left - page->frame.right - 20.0) / lines->x.count;
}

static void write_data(struct plot_page *page, const struct lines *lines)
{
    const char *const numbers[] = {"line", "x_index", "x", lines->metric->csv, "winner", "misses"};
    const char *metric = lines->metric->title;
    const char *unit = strrchr(metric, ',');
    const bool is_titled = page->request->title == NULL && unit != NULL;
    PLOT_HEAD(page, numbers, text_columns);
    for (uint32_t i = 0; i < lines->spot_count; i++) {
        const struct spot *spot = &lines->spots[i];
        const char *mark = plot_mark(spot->item->row);
        const char *words[X_LABEL_LINES];
        plot_text_wrap(page->arena, lines->x.labels[spot->x_index],
                       lines->x.is_numeric ? WIDTH : lines->step * room_of_place(page, lines) - 8,
                       words, X_LABEL_LINES);
        plot_row(page,
                 PLOT_NUMBERS(spot->line, spot->x_index, lines->x.values[spot->x_index],
                              spot->value, spot->winner, spot->item->misses),
                 PLOT_TEXTS(lines->titles[spot->line], mark == NULL ? "" : mark, words[0], words[1],
                            words[2], lines->x.title, is_titled ? unit + 2 : metric));
    }
}

/* ---- where names stand ---------------------------------------------------------------- */

/* The last spot of a line that has a value; NULL: none has. */
static const struct spot *end_of(const struct lines *lines, uint32_t line)
{
    uint32_t count;
    const struct spot *spots = begin_of(lines, line, &count);
    const struct spot *end = NULL;
    for (uint32_t i = 0; i < count; i++) {
        end = is_absent(spots[i].value) ? end : &spots[i];
    }
    return end;
}

/* Heights of the names of lines, then of limits, above the axis' low end, in pixels: at the lines'
 * ends, but none closer to another one than NAME_HEIGHT. */
static void place_names(struct arena *arena, const struct lines *lines,
                        double heights[LINES_MAX + PLOT_LIMITS_MAX])
{
    const uint32_t named = lines->has_names ? lines->line_count : 0;
    for (uint32_t i = 0; i < named + lines->limits.count; i++) {
        const struct spot *end = i < named ? end_of(lines, i) : NULL;
        const double value = i >= named    ? lines->limits.at[i - named]
                             : end != NULL ? end->value
                                           : lines->low;
        heights[i] = lines->height * (value - lines->low) / (lines->high - lines->low);
    }
    plot_labels_spread(arena, heights, named + lines->limits.count, NAME_HEIGHT, lines->height);
}

/* Below the axis' low end. */
static int strip_height(const struct lines *lines)
{
    return lines->mark_count > 0 ? MARK_GAP + (int)lines->mark_count * MARK_HEIGHT : 0;
}

static double names_width(const struct lines *lines)
{
    double width = 0;
    for (uint32_t line = 0; line < lines->line_count; line++) {
        width = fmax(width, plot_text_width(lines->titles[line], PLOT_LETTER));
    }
    return width;
}

/* Of lines that have no names at their ends, and of what is required. */
static uint32_t add_keys(const struct plot_page *page, const struct lines *lines, bool has_names,
                         struct plot_key *keys)
{
    const uint32_t named = has_names ? lines->line_count : 0;
    for (uint32_t line = 0; line < named; line++) {
        keys[line] = (struct plot_key){arena_printf(page->arena, "LINE_TITLE[%lu]", line + 1ul),
                                       plot_text_width(lines->titles[line], PLOT_LETTER),
                                       arena_printf(page->arena, "lt %lu", line + 1ul)};
    }
    if (lines->has_misses) {
        keys[named] = plot_key_of(page->arena, PLOT_MISS_TEXT, MISS_STYLE);
    }
    return named + lines->has_misses;
}

/* What the longest word of the axis needs, in as many lines as it may have. */
static double width_of_word(const struct lines *lines)
{
    double width = 0;
    for (uint32_t i = 0; i < lines->x.count && !lines->x.is_numeric; i++) {
        width = fmax(width, plot_text_width(lines->x.labels[i], PLOT_LETTER) / X_LABEL_LINES + 24);
    }
    return width;
}

/* One line needs no name, long ones stand above the plot. */
static void set_frame(struct plot_page *page, struct lines *lines)
{
    const double names = names_width(lines);
    const bool at_ends =
        lines->line_count > 1 && names <= plot_frame_scaled(page, WIDTH, NAMES_WIDTH_MAX);
    const double word = width_of_word(lines);
    const uint32_t right_names = at_ends ? (uint32_t)names + NAME_GAP + 14 : 24;
    const uint32_t right_limits = plot_limits_right(&lines->limits);
    const uint32_t right = right_names > right_limits ? right_names : right_limits;
    const double words = fmin(128 + right + word * lines->x.count, WIDTH_MAX);
    const bool has_keys = lines->line_count > 1 && !at_ends;
    struct plot_key *keys = arena_array(page->arena, lines->line_count + 1u, sizeof *keys);
    plot_frame_set(page,
                   &(struct plot_frame){
                       .width = words > WIDTH ? (uint32_t)words : WIDTH,
                       .plot_height = PLOT_HEIGHT + (uint32_t)strip_height(lines),
                       .left = lines->mark_count > 0 ? 104 : 64,
                       .right = right,
                       .bottom = PLOT_TICS + (lines->x.is_numeric ? 0u : 20 * (X_LABEL_LINES - 1)),
                       .x_title = lines->x.title[0] != '\0' ? "x_title[1]" : NULL,
                       .y_title = "y_title[1]",
                       .keys = keys,
                       .key_count = add_keys(page, lines, has_keys, keys),
                   });
    lines->has_names = at_ends;
    lines->height = page->frame.plot_height - (uint32_t)strip_height(lines);
    lines->step = (uint32_t)fmax(1, ceil(fmin(word, WORD_WIDTH_MIN) / room_of_place(page, lines)));
}

static void lay_out(struct plot_page *page, struct lines *lines)
{
    if (page->request->title == NULL) {
        page->title =
            arena_printf(page->arena, "%.*s against %.*s", (int)strcspn(lines->metric->title, ","),
                         lines->metric->title, (int)strcspn(lines->x.title, ","), lines->x.title);
    }
    if (lines->has_value && lines->spot_count > 1) {
        plot_add_note(page, lines->line_count > 1 ? "ringed: the best at each place"
                                                  : "ringed: the best");
    }
    plot_limits_note(page, NULL, &lines->limits);
    set_frame(page, lines);
    lines->has_mark_texts = plot_places_narrowest(page, &lines->x) >= MARK_WIDTH;
    if (lines->mark_count > 0 && !lines->has_mark_texts) {
        plot_add_note(page, lines->line_count > 1 ? "crosses: no result; pale: of some lines"
                                                  : "crosses: no result");
        set_frame(page, lines);
    }
}

/* ---- script ---------------------------------------------------------------- */

/* A label for each value that has room beside the one before. */
static void write_x_tics(struct plot_page *page, const struct lines *lines)
{
    const struct plot_axis *x = &lines->x;
    double free = -1e9;
    fputs("set xtics ()\n", page->script);
    for (uint32_t i = 0; i < x->count; i++) {
        const double at = plot_place_pixel(page, x, i);
        const double half = plot_text_width(x->labels[i], PLOT_LETTER) / 2 + 4;
        const bool has_room = x->is_numeric ? at - half >= free : i % lines->step == 0;
        if (has_room) {
            fprintf(page->script, "set xtics add (tic(X_LABEL[%lu]) X[%lu])\n", i + 1ul, i + 1ul);
            free = at + half;
        }
    }
}

/* Of the points at a place how many have no value for that reason. */
static void write_mark(struct plot_page *page, const struct lines *lines, uint32_t x_index,
                       uint32_t mark)
{
    const double y = MARK_GAP + (mark + 0.5) * MARK_HEIGHT;
    uint32_t all = 0;
    uint32_t marked = 0;
    for (uint32_t i = 0; i < lines->spot_count; i++) {
        const char *own = plot_mark(lines->spots[i].item->row);
        all += lines->spots[i].x_index == x_index;
        marked += lines->spots[i].x_index == x_index && own != NULL &&
                  strcmp(own, lines->marks[mark]) == 0;
    }
    if (marked == 0) {
        return;
    }
    fprintf(page->script, "set label '%s' at first X[%lu], first LOW - %.6g * PIXEL ",
            !lines->has_mark_texts ? ""
            : marked == all        ? "✕"
                                   : arena_printf(page->arena, "%lu of %lu", (unsigned long)marked,
                                                  (unsigned long)all),
            x_index + 1ul, y);
    fprintf(page->script,
            lines->has_mark_texts ? "center textcolor rgb '%s'\n"
                                  : "point pt 2 ps 0.6 lc rgb '%s'\n",
            marked == all || lines->has_mark_texts ? "#8a3b00" : "#d9b38c");
}

/* The strip below the axis' low end. */
static void write_marks(struct plot_page *page, const struct lines *lines)
{
    if (lines->mark_count == 0) {
        return;
    }
    fprintf(page->script,
            "set object rectangle from graph 0, first LOW - %d * PIXEL to graph 1, "
            "first LOW - %d * PIXEL "
            "fillcolor rgb '#f3f3f3' fillstyle solid 1 noborder behind\n",
            strip_height(lines), MARK_GAP);
    for (uint32_t mark = 0; mark < lines->mark_count; mark++) {
        fprintf(page->script,
                "set label '%s ' at graph 0, first LOW - %.6g * PIXEL right font 'DejaVu Sans,11' "
                "textcolor rgb '#8a3b00'\n",
                lines->marks[mark], MARK_GAP + (mark + 0.5) * MARK_HEIGHT);
        for (uint32_t x = 0; x < lines->x.count; x++) {
            write_mark(page, lines, x, mark);
        }
    }
}

static void write_names(struct plot_page *page, const struct lines *lines)
{
    double heights[LINES_MAX + PLOT_LIMITS_MAX] = {0};
    place_names(page->arena, lines, heights);
    const uint32_t named = lines->has_names ? lines->line_count : 0;
    for (uint32_t line = 0; line < named; line++) {
        fprintf(page->script,
                "set label LINE_TITLE[%lu] at graph 1, first LOW + %.6g * PIXEL left offset 0.8,0 "
                "textcolor lt %lu\n",
                line + 1ul, heights[line], line + 1ul);
    }
    plot_limits_write_level(page, &lines->limits, &heights[named]);
}

static void write_axes(struct plot_page *page, const struct lines *lines)
{
    FILE *script = page->script;
    fprintf(script,
            "array X[%u]\narray X_LABEL[%u]\narray LINE_TITLE[%u]\n"
            "stats DATA using (X[int(column('x_index'))+1] = column('x'), "
            "X_LABEL[int(column('x_index'))+1] = x_label[int($0)+1].more(x_label_2[int($0)+1])"
            ".more(x_label_3[int($0)+1]), "
            "LINE_TITLE[int(column('line'))+1] = line_title[int($0)+1], 0) nooutput\n",
            lines->x.count, lines->x.count, lines->line_count);
    plot_places_write_across(script, &lines->x);
    write_x_tics(page, lines);
    fprintf(script,
            "set key off\nLOW = %.10g\nTOP = %.10g\nPIXEL = (TOP - LOW) / %u\n"
            "set yrange [LOW - %d * PIXEL:TOP]\n",
            lines->low, lines->high, lines->height, strip_height(lines));
    plot_places_write_up(script, lines->low, lines->high);
    write_marks(page, lines);
    write_names(page, lines);
}

/* A label that is not to be seen is empty: gnuplot 5.4 crashes when the only label of a plot has
 * no place (NaN). */
static const char *plot_command(struct plot_page *page, const struct lines *lines)
{
    const char *column = lines->metric->csv;
    const bool shows_values = lines->line_count == 1 && lines->spot_count <= VALUES_SHOWN_MAX;
    const char *misses =
        lines->has_misses
            ? arena_printf(page->arena,
                           "     DATA using (column('misses') == 1 ? column('x') : NaN):"
                           "(strcol('%s') eq '' ? NaN : column('%s')) "
                           "with points " MISS_STYLE ", \\\n",
                           column, column)
            : "";
    return arena_printf(page->arena,
                        "plot for [i=0:%u] DATA using (column('line') == i ? column('x') : NaN):"
                        "(strcol('%s') eq '' ? NaN : column('%s')) "
                        "with linespoints lt i+1, \\\n%s"
                        "     DATA using (column('winner') > 0 ? column('x') : NaN):(column('%s')) "
                        "with points pt 6 ps 2.2 lw 1.4 lc rgb '#222222', \\\n"
                        "     DATA using (column('x')):(column('%s')):"
                        "(%s ? sprintf('%s', column('%s')) : '') "
                        "with labels offset 0,%d textcolor rgb '#222222'",
                        lines->line_count - 1, column, column, misses, column, column,
                        shows_values ? "strcol('mark') eq '-'" : "column('winner') == 2",
                        lines->metric->format, column, lines->metric->is_higher_better ? 1 : -1);
}

bool plot_write_lines(struct plot_page *page)
{
    struct lines lines = {.metric = plot_request_metric(page)};
    if (lines.metric == NULL ||
        !plot_axis_collect(page->arena, page->items, page->item_count, page->request->x_axis, 0,
                           &lines.x, page->diag)) {
        return false;
    }
    collect_spots(page, &lines, true);
    merge_equal(page, &lines);
    if (lines.line_count > LINES_MAX) {
        keep_best(page, &lines);
        merge_equal(page, &lines);
    }
    measure(page, &lines);
    if (lines.line_count > LINES_MAX) {
        return diag_add(page->diag, DIAG_USAGE, NULL,
                        "%u lines cannot be told apart; at most %d are drawn (try a heatmap)",
                        lines.line_count, LINES_MAX);
    }
    lay_out(page, &lines);
    write_data(page, &lines);
    if (!lines.has_value) {
        return diag_add(page->diag, DIAG_FAILURE, NULL, "no point of this study has a value of %s",
                        lines.metric->name);
    }
    plot_script_begin(page, lines.spot_count);
    write_axes(page, &lines);
    plot_script_end(page, plot_command(page, &lines));
    return true;
}
