/* Each value at its own best: a thick line through the best point of each value of an axis, below
 * the axis which that is, and a thin one for the layout of today (plot_series.today), which is the
 * same at all values; between them, shaded, what today's layout loses.
 *
 * Of a sweep with --best the points are the winners that were found; of any other study the best of
 * those that have the value.
 */
#include "report/plot/plot_limits.h"
#include "report/plot/plot_places.h"

#include "base/absent.h"
#include "base/arena.h"
#include "store/store.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = 900,
    PLOT_HEIGHT = 340,
    LINE_HEIGHT = 20,
    WINNER_LINES = 5, /* of a winner's name */
    TEXT_WIDTH = 52,  /* of a number at a point, with a gap */
    WORD_WIDTH = 84,  /* of a name, or some are not written */
};
#define SEEN 0.0005 /* of a loss: less is none */

/* A value of the axis. */
struct spot {
    const struct store_row *best;
    const char *winner;
    double value, today; /* ABSENT: none */
};

struct best {
    const struct figure_metric *metric;
    struct plot_axis x;
    struct spot *spots; /* [x.count] */
    double low, high;
    uint32_t lost; /* values at which today's layout has no result, and the others have */
    const char *reason;
    bool has_value, has_today, has_winners, has_texts;
    uint32_t step;  /* one name of so many is written */
    double *rooms;  /* [x.count] what each may be wide */
    uint32_t lines; /* that the longest takes */
};

static bool is_better(const struct figure_metric *metric, double value, double other)
{
    return is_absent(other) || (metric->is_higher_better ? value > other : value < other);
}

/* The winner's own name, or, of other studies, what the other axes say. */
static const char *winner_of(const struct plot_page *page, const struct best *best, uint32_t item)
{
    const struct plot_series *series = &page->request->series[0];
    return series->winners != NULL && item < series->count
               ? series->winners[item]
               : plot_other_axes(page->arena, page->items[item].row, best->x.name, NULL);
}

static void collect(struct plot_page *page, struct best *best)
{
    best->spots = arena_array(page->arena, best->x.count, sizeof *best->spots);
    for (uint32_t i = 0; i < best->x.count; i++) {
        best->spots[i] = (struct spot){.winner = "", .value = ABSENT, .today = ABSENT};
    }
    for (uint32_t i = 0; i < page->item_count; i++) {
        const struct store_row *row = page->items[i].row;
        const double value = plot_mark(row) == NULL ? plot_metric_value(best->metric, row) : ABSENT;
        struct spot *spot = &best->spots[plot_axis_index(&best->x, row)];
        if (!is_absent(value) && is_better(best->metric, value, spot->value)) {
            spot->value = value;
            spot->best = row;
            spot->winner = winner_of(page, best, i);
            best->has_value = true;
            best->has_winners = best->has_winners || spot->winner[0] != '\0';
        }
    }
}

static void collect_today(const struct plot_page *page, struct best *best)
{
    const struct plot_series *series = &page->request->series[0];
    for (uint32_t i = 0; i < series->today_count; i++) {
        const struct store_row *row = &series->today[i];
        const uint32_t place = plot_axis_index(&best->x, row);
        const char *mark = plot_mark(row);
        if (place >= best->x.count) {
            continue;
        }
        best->spots[place].today = mark == NULL ? plot_metric_value(best->metric, row) : ABSENT;
        best->has_today = best->has_today || mark == NULL;
        if (mark != NULL && best->spots[place].best != NULL) {
            best->lost++;
            best->reason = mark;
        }
    }
}

static void measure(struct best *best)
{
    double low = HUGE_VAL;
    double high = -HUGE_VAL;
    for (uint32_t i = 0; i < best->x.count; i++) {
        const double values[] = {best->spots[i].value, best->spots[i].today};
        for (uint32_t k = 0; k < 2; k++) {
            low = is_absent(values[k]) ? low : fmin(low, values[k]);
            high = is_absent(values[k]) ? high : fmax(high, values[k]);
        }
    }
    plot_places_up(low, high, &best->low, &best->high);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *const text_columns[] = {"x_label",  "winner",   "winner_2",
                                           "winner_3", "winner_4", "winner_5",
                                           "x_title",  "y_title",  "loss"};

/* "-3.1 %": today's by the best; "": it is that, or there is none. */
static const char *loss_of(struct arena *arena, const struct spot *spot)
{
    const double change = spot->today / spot->value - 1;
    return is_absent(spot->value) || is_absent(spot->today) || fabs(change) < SEEN
               ? ""
               : arena_printf(arena, "%+.1f %%", 100 * change);
}

static void write_data(struct plot_page *page, const struct best *best)
{
    const char *const numbers[] = {"x", best->metric->csv,
                                   arena_printf(page->arena, "today_%s", best->metric->csv)};
    PLOT_HEAD(page, numbers, text_columns);
    for (uint32_t i = 0; i < best->x.count; i++) {
        const struct spot *spot = &best->spots[i];
        const char *label;
        const char *winner[WINNER_LINES];
        plot_text_wrap(page->arena, best->x.labels[i], best->rooms[i], &label, 1);
        plot_text_wrap(page->arena, spot->winner, best->rooms[i], winner, WINNER_LINES);
        plot_row(page, PLOT_NUMBERS(best->x.values[i], spot->value, spot->today),
                 PLOT_TEXTS(label, winner[0], winner[1], winner[2], winner[3], winner[4],
                            best->x.title, best->metric->title, loss_of(page->arena, spot)));
    }
}

static void say_what(struct plot_page *page, const struct best *best)
{
    const struct plot_series *series = &page->request->series[0];
    if (best->has_winners) {
        plot_add_note(page, "below each value its best");
    }
    if (series->winners_share != NULL) {
        plot_add_note(page, arena_printf(page->arena, "all: %s", series->winners_share));
    }
    plot_limits_note(page, NULL, NULL);
    if (best->lost > 0) {
        plot_add_note(page,
                      arena_printf(page->arena, "today's layout: %s at %lu of %lu", best->reason,
                                   (unsigned long)best->lost, (unsigned long)best->x.count));
    }
}

static uint32_t add_keys(const struct plot_page *page, const struct best *best,
                         struct plot_key *keys)
{
    uint32_t count = 0;
    keys[count++] = plot_key_patch(page->arena, "each value at its best", "#0072B2");
    if (best->has_today) {
        keys[count++] = plot_key_of(page->arena, "the layout of today (dashed)",
                                    "pt 6 ps 1 lw 1.6 lc rgb '#555555'");
        keys[count++] = plot_key_patch(page->arena, "what that loses", "#f3d6c4");
    }
    return count;
}

static void set_frame(struct plot_page *page, const struct best *best, uint32_t lines)
{
    struct plot_key *keys = arena_array(page->arena, 3, sizeof *keys);
    plot_frame_set(page, &(struct plot_frame){
                             .width = WIDTH,
                             .plot_height = PLOT_HEIGHT,
                             .left = 64,
                             .right = 64,
                             .bottom = PLOT_TICS + LINE_HEIGHT * lines,
                             .x_title = best->x.title[0] != '\0' ? "x_title[1]" : NULL,
                             .y_title = "y_title[1]",
                             .keys = keys,
                             .key_count = add_keys(page, best, keys),
                         });
}

/* Names are centred below their values: the first and the last have room up to the picture's
 * border, the others up to the next. */
static double room_of(const struct plot_page *page, const struct best *best, uint32_t place,
                      double between)
{
    const double left = page->frame.left + plot_place_pixel(page, &best->x, place);
    return fmin(between, 2 * fmin(left, page->frame.width - left)) - 8;
}

static void measure_names(const struct plot_page *page, struct best *best)
{
    const double narrowest = plot_places_narrowest(page, &best->x);
    best->has_texts = narrowest >= TEXT_WIDTH;
    best->step = (uint32_t)fmax(1, ceil(WORD_WIDTH / narrowest));
    best->rooms = arena_array(page->arena, best->x.count, sizeof *best->rooms);
    best->lines = 0;
    for (uint32_t i = 0; i < best->x.count; i++) {
        const char *winner[WINNER_LINES];
        best->rooms[i] = room_of(page, best, i, best->step * narrowest);
        plot_text_wrap(page->arena, best->spots[i].winner, best->rooms[i], winner, WINNER_LINES);
        for (uint32_t line = 0; line < WINNER_LINES; line++) {
            best->lines = winner[line][0] != '\0' && line >= best->lines ? line + 1 : best->lines;
        }
    }
}

static void lay_out(struct plot_page *page, struct best *best)
{
    if (page->request->title == NULL) {
        page->title = "Each value at its best";
    }
    say_what(page, best);
    set_frame(page, best, WINNER_LINES);
    measure_names(page, best);
    set_frame(page, best, best->lines);
}

static void write_axes(struct plot_page *page, const struct best *best)
{
    FILE *script = page->script;
    fprintf(script,
            "LOW = %.10g\nset yrange [LOW:%.10g]\nset key off\nset xtics ()\n"
            "array X[%lu]\nstats DATA using (X[int($0)+1] = column('x'), 0) nooutput\n",
            best->low, best->high, (unsigned long)best->x.count);
    plot_places_write_across(script, &best->x);
    plot_places_write_up(script, best->low, best->high);
    for (uint32_t i = 0; i < best->x.count; i += best->step) {
        const unsigned long row = i + 1ul;
        fprintf(script,
                "set xtics add (tic(x_label[%lu].more(winner[%lu]).more(winner_2[%lu])"
                ".more(winner_3[%lu]).more(winner_4[%lu]).more(winner_5[%lu])) X[%lu])\n",
                row, row, row, row, row, row, row);
    }
}

/* A column's value, where there is one. */
static const char *value_in(struct arena *arena, const char *column)
{
    return arena_printf(arena, "(strcol('%s') eq '' ? NaN : column('%s'))", column, column);
}

static const char *plot_command(const struct plot_page *page, const struct best *best)
{
    struct arena *arena = page->arena;
    const char *csv = best->metric->csv;
    const char *value = value_in(arena, csv);
    const char *today = value_in(arena, arena_printf(arena, "today_%s", csv));
    const int above = best->metric->is_higher_better ? 1 : -1;
    const char *command = "plot ";
    if (best->has_today) {
        command = arena_printf(arena,
                               "plot DATA using (column('x')):%s:%s with filledcurves "
                               "fs solid 1 noborder fc rgb '#f3d6c4', \\\n"
                               "     DATA using (column('x')):%s with linespoints lw 1.4 dt 2 pt 6 "
                               "ps 0.8 lc rgb '#555555', \\\n     ",
                               value, today, today);
    }
    command = arena_printf(arena,
                           "%sDATA using (column('x')):%s with linespoints lw 4 dt 1 pt 7 ps 1.1 "
                           "lc rgb '#0072B2'",
                           command, value);
    if (!best->has_texts) {
        return command;
    }
    return arena_printf(arena,
                        "%s, \\\n     DATA using (column('x')):%s:(strcol('%s') eq '' ? '' : "
                        "sprintf('%s', column('%s'))) with labels offset 0,%d textcolor rgb "
                        "'#222222', \\\n"
                        "     DATA using (column('x')):%s:(loss[int($0)+1] eq '-' ? '' : "
                        "loss[int($0)+1]) with labels left offset 0.3,%d textcolor rgb '#8a3b00'",
                        command, value, csv, best->metric->format, csv, above,
                        best->has_today ? today : value, -above);
}

bool plot_write_best(struct plot_page *page)
{
    struct best best = {.metric = plot_request_metric(page)};
    if (best.metric == NULL || !plot_axis_collect(page->arena, page->items, page->item_count,
                                                  page->request->x_axis, 0, &best.x, page->diag)) {
        return false;
    }
    collect(page, &best);
    collect_today(page, &best);
    measure(&best);
    lay_out(page, &best);
    write_data(page, &best);
    if (!best.has_value) {
        return diag_add(page->diag, DIAG_FAILURE, NULL, "no point of this study has a value of %s",
                        best.metric->name);
    }
    plot_script_begin(page, best.x.count);
    write_axes(page, &best);
    plot_script_end(page, plot_command(page, &best));
    return true;
}
