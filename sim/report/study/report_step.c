/* Where the steps of a report's points go: the account of all GPUs' time, and the critical path.
 *
 * The two differ, and both are told: a GPU that waits for a late send has a bubble, but what would
 * make the step shorter is the send. Steps of different batches are told for a million tokens.
 */
#include "report/study/report_words.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/html/chart.h"
#include "report/hangs.h"
#include "report/plot/plot_colours.h"
#include "report/sheet.h"

#include <math.h>

enum { ROWS_MAX = 12 };

static const double LEAST_SHARE = 0.002; /* of the longest step: less is not seen */
static const double MILLION = 1e6;

/* One step, or a million tokens. */
struct scale {
    bool is_of_tokens;
    const char *unit; /* "s of a step" */
};

static struct scale scale_of(const struct reported *reported)
{
    struct scale scale = {false, "s of a step"};
    const double tokens = reported->best->row->tokens_per_step;
    for (uint32_t i = 0; i < reported->count; i++) {
        const double own = reported->points[i].row->tokens_per_step;
        if (own < tokens || own > tokens) {
            scale = (struct scale){true, "s of 1M tokens"};
        }
    }
    return scale;
}

static double scaled(const struct scale *scale, const struct store_row *row, double s)
{
    return is_absent(s) ? 0 : scale->is_of_tokens ? s * MILLION / row->tokens_per_step : s;
}

static const double *seconds_of(const struct store_row *row, bool is_path)
{
    return is_path ? row->path_s : row->breakdown_s;
}

static bool has_path(const struct store_row *row)
{
    double sum_s = 0;
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        sum_s += is_absent(row->path_s[cause]) ? 0 : row->path_s[cause];
    }
    return sum_s > 0;
}

static double longest(const struct reported *reported, const struct scale *scale)
{
    double most = 0;
    for (uint32_t i = 0; i < reported->count && i < ROWS_MAX; i++) {
        const struct store_row *row = reported->points[i].row;
        most = fmax(most, scaled(scale, row, row->step_s));
    }
    return most;
}

/* Causes that are seen in one bar at least, in their order; the last series is of the others. */
static uint32_t add_series(const struct reported *reported, const struct scale *scale, bool is_path,
                           double least, struct chart *chart)
{
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        double most = 0;
        for (uint32_t i = 0; i < reported->count && i < ROWS_MAX; i++) {
            const struct store_row *row = reported->points[i].row;
            most = fmax(most, scaled(scale, row, seconds_of(row, is_path)[cause]));
        }
        if (most >= least) {
            chart_series(chart, hangs_name(chart->arena, cause), plot_cause_colours[cause]);
        }
    }
    return chart_series(chart, "others", 0xcccccc);
}

static void add_bar(struct chart *chart, uint32_t others, const struct scale *scale,
                    const struct store_row *of, bool is_path)
{
    double rest = 0;
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        const double s = scaled(scale, of, seconds_of(of, is_path)[cause]);
        const uint32_t series = chart_series_find(chart, hangs_name(chart->arena, cause));
        if (series < others) {
            chart_piece(chart, series, s);
        } else {
            rest += s;
        }
    }
    chart_piece(chart, others, rest);
}

static void add_chart(const struct reported *reported, const struct scale *scale, bool is_path,
                      const char *title, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    struct chart *chart = chart_new(arena, title);
    chart->unit = " s";
    const uint32_t others =
        add_series(reported, scale, is_path, LEAST_SHARE * longest(reported, scale), chart);
    for (uint32_t i = 0; i < reported->count && i < ROWS_MAX; i++) {
        const struct store_row *row = reported->points[i].row;
        if (is_path && !has_path(row)) {
            continue;
        }
        const char *seconds = arena_printf(arena, "%.4g s", scaled(scale, row, row->step_s));
        const char *mfu = arena_printf(arena, "%.1f %% MFU", 100 * row->mfu);
        chart_row(chart, row->label, is_path ? hangs_text(arena, row) : seconds,
                  is_path ? NULL : mfu);
        add_bar(chart, others, scale, row, is_path);
    }
    if (chart->row_count > 0) {
        sheet_chart(sheet, chart);
    }
}

/* The two points whose seconds stand side by side; NULL: there is one point. */
static const struct store_row *other_of(const struct reported *reported)
{
    return reported->base != reported->best ? reported->base->row
           : reported->count > 1            ? reported->points[1].row
                                            : NULL;
}

/* Of a cause that takes nothing anywhere, nothing is said. */
static bool is_told(const struct store_row *best, const struct store_row *other, uint32_t cause)
{
    const struct store_row *rows[] = {best, other};
    for (uint32_t i = 0; i < 2; i++) {
        for (int is_path = 0; rows[i] != NULL && is_path < 2; is_path++) {
            const double s = seconds_of(rows[i], is_path != 0)[cause];
            if (!is_absent(s) && s >= 0.0005 * rows[i]->step_s) {
                return true;
            }
        }
    }
    return false;
}

static const char *change_text(struct arena *arena, double s)
{
    return fabs(s) < 0.005 ? "0" : arena_printf(arena, "%+.2f", s);
}

static void add_cells(const struct scale *scale, const struct store_row *best,
                      const struct store_row *other, bool is_path, uint32_t cause,
                      struct sheet *table)
{
    const double mine = scaled(scale, best, seconds_of(best, is_path)[cause]);
    const double its =
        other != NULL ? scaled(scale, other, seconds_of(other, is_path)[cause]) : ABSENT;
    sheet_number(table, NULL, its);
    sheet_number(table, NULL, mine);
    sheet_number(table, NULL, other != NULL ? mine - its : ABSENT);
}

static void add_table(const struct reported *reported, const struct scale *scale,
                      struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct store_row *best = reported->best->row;
    const struct store_row *other = other_of(reported);
    const bool has_two = other != NULL;
    const bool has_paths = has_path(best) && (!has_two || has_path(other));
    const char *mine = arena_printf(arena, "%s", best->label);
    const char *its = has_two ? other->label : NULL;
    const char *path = has_paths ? arena_printf(arena, "path: %s", best->label) : NULL;
    const char *its_path = has_paths && has_two ? arena_printf(arena, "path: %s", its) : NULL;
    const struct field fields[] = {
        {NULL, FIELD_LEFT(scale->unit)},
        {NULL, FIELD_RIGHT(its, "%.2f", 1)},
        {NULL, FIELD_RIGHT(mine, "%.2f", 1)},
        {NULL, FIELD_SHOW(has_two ? "change" : NULL, change_text)},
        {NULL, FIELD_RIGHT(its_path, "%.2f", 1), .gives_way = 3},
        {NULL, FIELD_RIGHT(path, "%.2f", 1)},
        {NULL, FIELD_SHOW(has_paths && has_two ? "change of the path" : NULL, change_text)},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        if (is_told(best, other, cause)) {
            sheet_text(table, NULL, cause_titles[cause]);
            add_cells(scale, best, other, false, cause, table);
            add_cells(scale, best, other, true, cause, table);
        }
    }
}

static void say_path(const struct reported *reported, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    struct store_row *rows = arena_array(arena, reported->count, sizeof *rows);
    uint32_t *order = arena_array(arena, reported->count, sizeof *order);
    for (uint32_t i = 0; i < reported->count; i++) {
        rows[i] = *reported->points[i].row;
        order[i] = i;
    }
    const char *sentence =
        hangs_sentence(arena, &(struct hangs_rows){rows, order, reported->count});
    if (sentence != NULL && reported->count > 1) {
        sheet_say(sheet, "By their critical paths %s.\n", sentence);
    }
    sheet_say(sheet,
              "The account is of all GPUs' time: one that waits for a late send has a bubble. "
              "The critical path is the longest chain of the step: what is not on it may "
              "be faster, and the step is as long.\n");
}

void report_add_step(const struct reported *reported, struct sheet *sheet)
{
    const struct scale scale = scale_of(reported);
    struct arena *arena = sheet_arena(sheet);
    sheet_heading(sheet, "Where the step goes, and what it hangs on");
    add_chart(reported, &scale, false,
              arena_printf(arena, "Seconds%s, mean over GPUs, by cause",
                           scale.is_of_tokens ? " of 1M tokens" : " of a step"),
              sheet);
    if (has_path(reported->best->row)) {
        add_chart(reported, &scale, true, "The critical path of a step, by cause", sheet);
        say_path(reported, sheet);
    }
    add_table(reported, &scale, sheet);
}
