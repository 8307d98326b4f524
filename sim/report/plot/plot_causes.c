/* One bar for each point of a study, stacked from the causes of its step, and
 * below it a thin one of the run: the same steps, and what else its wall-clock
 * time went to. Where steps have different batches bars are as long as a million
 * tokens take. Causes have one order and one colour everywhere, so that plots can
 * be laid side by side.
 */
#include "report/plot/plot_bars.h"
#include "report/plot/plot_colours.h"
#include "report/plot/plot_kinds.h"
#include "report/plot/plot_limits.h"

#include "base/absent.h"
#include "base/arena.h"
#include "store/store.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    BARS_MAX = 60, /* more do not fit on a page */
    WIDTH = 900,
    BAR_HEIGHT = 44, /* with the gap to the next */
    LABEL_WIDTH_MAX = 260,
    LABEL_LINES = 2,
};
#define THICKNESS 0.37 /* half of a bar's, in rows */
#define RUN_THICKNESS 0.15
#define ACCOUNT_FROM 0.002 /* of the wall-clock time: less is not seen */

struct causes {
    const char *unit;   /* "s a step" */
    const char *suffix; /* of columns: "_s" */
    bool is_by_tokens;
    bool has_mfu;   /* all have the same peak */
    bool has_run;   /* a bar of the run is worth its place */
    uint32_t count; /* bars drawn */
    double name_width;
    double longest;
    bool has_cause[CAUSE_COUNT_], has_account[ACCOUNT_COUNT_];
};

/* What a time of a step is in the unit of the bars. */
static double shown(const struct causes *causes, const struct store_row *row, double step_s)
{
    return causes->is_by_tokens ? 1e9 * step_s / row->tokens_per_step : step_s;
}

/* Of an account, for each step of the run. */
static double account_of(const struct causes *causes, const struct store_row *row, uint32_t account)
{
    const double steps = row->run_tokens / row->tokens_per_step;
    return steps > 0 && !is_absent(row->wall_clock_days)
               ? shown(causes, row, row->account_s[account] / steps)
               : 0;
}

static void find_unit(const struct plot_page *page, struct causes *causes)
{
    const struct store_row *first = NULL;
    causes->has_mfu = true;
    for (uint32_t i = 0; i < page->item_count; i++) {
        const struct store_row *row = page->items[i].row;
        if (plot_mark(row) != NULL) {
            continue;
        }
        first = first == NULL ? row : first;
        causes->is_by_tokens =
            causes->is_by_tokens || fabs(row->tokens_per_step - first->tokens_per_step) > 0.5;
        causes->has_mfu = causes->has_mfu && strcmp(row->gpu, first->gpu) == 0 &&
                          strcmp(row->precision, first->precision) == 0;
    }
    causes->unit = causes->is_by_tokens ? "ms for a million tokens" : "seconds of a step";
    causes->suffix = causes->is_by_tokens ? "_ms_per_mtoken" : "_s";
}

static void measure(const struct plot_page *page, struct causes *causes)
{
    for (uint32_t i = 0; i < page->item_count; i++) {
        const struct store_row *row = page->items[i].row;
        if (plot_mark(row) != NULL) {
            continue;
        }
        double wall = 0;
        for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
            causes->has_cause[cause] = causes->has_cause[cause] || row->breakdown_s[cause] > 0;
        }
        for (uint32_t account = 0; account < ACCOUNT_COUNT_; account++) {
            wall += account_of(causes, row, account);
        }
        for (uint32_t account = ACCOUNT_DEGRADED; account < ACCOUNT_COUNT_; account++) {
            const bool is_seen = account_of(causes, row, account) > ACCOUNT_FROM * wall;
            causes->has_account[account] = causes->has_account[account] || is_seen;
            causes->has_run = causes->has_run || is_seen;
        }
        causes->longest = fmax(causes->longest, fmax(wall, shown(causes, row, row->step_s)));
    }
}

/* ---- data ---------------------------------------------------------------- */

static const char *const text_columns[] = {"label", "label_2", "mark"};
enum { BEFORE = 4 };

static const char *column_of(const struct plot_page *page, const struct causes *causes,
                             const char *name)
{
    return arena_printf(page->arena, "%s%s", name, causes->suffix);
}

/* "run_data_stall" */
static const char *run_name(const struct plot_page *page, uint32_t account)
{
    char *name = arena_printf(page->arena, "run_%s", account_names[account]);
    for (char *letter = name; *letter != '\0'; letter++) {
        if (*letter == ' ') {
            *letter = '_';
        }
    }
    return name;
}

static void write_row(struct plot_page *page, const struct causes *causes, uint32_t bar)
{
    const struct store_row *row = page->items[bar].row;
    const char *mark = plot_mark(row);
    double values[BEFORE + CAUSE_COUNT_ + ACCOUNT_COUNT_] = {
        bar, shown(causes, row, row->step_s), 100 * row->mfu, row->tokens_per_s_per_gpu};
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        values[BEFORE + cause] = shown(causes, row, row->breakdown_s[cause]);
    }
    for (uint32_t account = 0; account < ACCOUNT_COUNT_; account++) {
        values[BEFORE + CAUSE_COUNT_ + account] = account_of(causes, row, account);
    }
    for (uint32_t i = 1; mark != NULL && i < sizeof values / sizeof *values; i++) {
        values[i] = ABSENT;
    }
    const char *label[LABEL_LINES];
    plot_text_wrap(page->arena, plot_item_label(page, &page->items[bar]), causes->name_width, label,
                   LABEL_LINES);
    plot_row(page, values, PLOT_TEXTS(label[0], label[1], mark == NULL ? "" : mark));
}

static void write_data(struct plot_page *page, const struct causes *causes)
{
    const char *numbers[BEFORE + CAUSE_COUNT_ + ACCOUNT_COUNT_] = {
        "bar", column_of(page, causes, "step"), "mfu_percent", "tokens_per_s_per_gpu"};
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        numbers[BEFORE + cause] = column_of(page, causes, cause_names[cause]);
    }
    for (uint32_t account = 0; account < ACCOUNT_COUNT_; account++) {
        numbers[BEFORE + CAUSE_COUNT_ + account] = column_of(page, causes, run_name(page, account));
    }
    PLOT_HEAD(page, numbers, text_columns);
    for (uint32_t i = 0; i < page->item_count; i++) {
        write_row(page, causes, i);
    }
}

/* ---- layout ---------------------------------------------------------------- */

static const char *colour_of(const struct plot_page *page, uint32_t cause)
{
    return arena_printf(page->arena, "#%06" PRIX32, plot_cause_colours[cause]);
}

static uint32_t add_keys(const struct plot_page *page, const struct causes *causes,
                         struct plot_key *keys)
{
    uint32_t count = 0;
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        if (causes->has_cause[cause]) {
            keys[count++] =
                plot_key_patch(page->arena, cause_titles[cause], colour_of(page, cause));
        }
    }
    for (uint32_t account = ACCOUNT_DEGRADED; account < ACCOUNT_COUNT_; account++) {
        if (causes->has_account[account]) {
            keys[count++] = plot_key_patch(
                page->arena, arena_printf(page->arena, "run: %s", account_names[account]),
                account_colours[account]);
        }
    }
    return count;
}

/* Labels to the left, what a bar is worth to the right. */
static void lay_out(struct plot_page *page, struct causes *causes)
{
    const char **names = arena_array(page->arena, page->item_count, sizeof *names);
    for (uint32_t i = 0; i < page->item_count; i++) {
        names[i] = plot_item_label(page, &page->items[i]);
    }
    struct plot_key *keys = arena_array(page->arena, CAUSE_COUNT_ + ACCOUNT_COUNT_, sizeof *keys);
    causes->name_width = plot_frame_scaled(page, WIDTH, LABEL_WIDTH_MAX);
    plot_add_note(
        page, arena_printf(page->arena, "to the right: %s,%s tokens/s/GPU%s", causes->unit,
                           causes->has_mfu ? " MFU," : "",
                           causes->has_run ? "; thin: wall-clock time of the run, by step" : ""));
    plot_limits_note(page, NULL, NULL);
    const struct plot_frame frame = {
        .width = WIDTH,
        .left =
            plot_bars_left(page->arena, names, page->item_count, LABEL_LINES, causes->name_width),
        .right = causes->has_mfu ? 178 : 124,
        .bottom = PLOT_TICS,
        .x_title = arena_printf(page->arena, "'%s'", causes->unit),
        .keys = keys,
        .key_count = add_keys(page, causes, keys),
    };
    causes->count = plot_bars_set(page, &frame,
                                  &(struct plot_rows){.count = page->item_count,
                                                      .height = BAR_HEIGHT,
                                                      .lines = LABEL_LINES,
                                                      .which = "first",
                                                      .what = "points"});
}

/* ---- script ---------------------------------------------------------------- */

/* A piece of all bars, from the sum of those before it on; the sum then holds it, too. */
static const char *add_piece(struct plot_page *page, const char *plot, const char **sum,
                             const char *column, const char *colour, double low, double high)
{
    const char *end = arena_printf(page->arena, "%s+column('%s')", *sum, column);
    plot = arena_printf(
        page->arena,
        "%s DATA using (strcol('mark') eq '-' ? %s : NaN):(column('bar')):"
        "(%s):(%s):(column('bar')%+.3g*THICK):(column('bar')%+.3g*THICK) with boxxyerror "
        "fs solid 1 border lc rgb '#ffffff' dt 1 lw 0.3 fc rgb '%s', \\\n    ",
        plot, *sum, *sum, end, low, high, colour);
    *sum = end;
    return plot;
}

/* An unseen label is empty, not NaN: see plot_lines.c. */
static const char *plot_command(struct plot_page *page, const struct causes *causes)
{
    const char *plot = "plot";
    const char *sum = "0";
    const double low = causes->has_run ? THICKNESS - RUN_THICKNESS - 0.05 : THICKNESS;
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        if (causes->has_cause[cause]) {
            plot = add_piece(page, plot, &sum, column_of(page, causes, cause_names[cause]),
                             colour_of(page, cause), -THICKNESS, low);
        }
    }
    sum = "0";
    for (uint32_t account = 0; account < ACCOUNT_COUNT_ && causes->has_run; account++) {
        if (account < ACCOUNT_DEGRADED || causes->has_account[account]) {
            plot = add_piece(page, plot, &sum, column_of(page, causes, run_name(page, account)),
                             account_colours[account], THICKNESS - RUN_THICKNESS, THICKNESS);
        }
    }
    const int decimals = causes->longest >= 100 ? 0 : causes->longest >= 10 ? 1 : 2;
    return arena_printf(
        page->arena,
        "%s DATA using (END):(column('bar')%+.3g*THICK):(strcol('mark') eq '-' ? "
        "sprintf('  %%.%df %s  %s%%.0f', column('%s')%s, "
        "column('tokens_per_s_per_gpu')) : '') "
        "with labels left textcolor rgb '#222222', \\\n"
        "     DATA using (0):(column('bar')):(strcol('mark') ne '-' ? '  '.strcol('mark') : '') "
        "with labels left textcolor rgb '#8a3b00'",
        plot, (low - THICKNESS) / 2, decimals, causes->is_by_tokens ? "ms" : "s",
        causes->has_mfu ? "%.1f %%  " : "", column_of(page, causes, "step"),
        causes->has_mfu ? ", column('mfu_percent')" : "");
}

static void write_script(struct plot_page *page, const struct causes *causes)
{
    plot_script_begin(page, page->item_count);
    plot_bars_axes(page, &(struct plot_bars){.count = causes->count,
                                             .last = causes->count - 1.0,
                                             .height = BAR_HEIGHT,
                                             .name = "label[i].more(label_2[i])",
                                             .place = "i-1"});
    fprintf(page->script, "END = %.6g\nset xrange [0:END]\n", causes->longest);
    plot_script_end(page, plot_command(page, causes));
}

bool plot_write_causes(struct plot_page *page)
{
    struct causes causes = {.has_mfu = true};
    find_unit(page, &causes);
    measure(page, &causes);
    if (page->request->title == NULL) {
        page->title = "Where the step goes";
    }
    lay_out(page, &causes);
    write_data(page, &causes);
    if (!(causes.longest > 0)) {
        return diag_add(page->diag, DIAG_FAILURE, NULL, "no point of this study has a prediction");
    }
    if (page->item_count > BARS_MAX) {
        return diag_add(page->diag, DIAG_USAGE, NULL,
                        "%u bars do not fit on a page; at most %d are drawn (try lines)",
                        page->item_count, BARS_MAX);
    }
    write_script(page, &causes);
    return true;
}
