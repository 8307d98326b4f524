/* What would help, ranked: how much sooner the first point's tokens are trained with each of the
 * others, by kind (free, to buy); what is ideal as outlines, an upper bound. Below
 * it, where the study has one, a ladder: each step with those above it, since gains do not add.
 *
 * Of a study that is no whatif's the points are held against the first that has a result.
 *
 * Whiskers say what the comparison can tell (plot_series.factors); a bar whose whisker reaches
 * nothing is hatched: too close. Rows that have no result are counted.
 */
#include "report/plot/plot_bars.h"
#include "report/plot/plot_kinds.h"
#include "report/plot/plot_limits.h"

#include "base/absent.h"
#include "base/arena.h"
#include "run/duration.h"
#include "store/store.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = 900,
    BAR_HEIGHT = 25,
    BARS_MAX = 30,
    LABEL_WIDTH_MAX = 330,
    LABELS_RIGHT = 166,
};

#define LOSS_SHOWN 1.2 /* of the greatest gain: bars of what loses more end at the edge, */
#define GAIN_SHOWN 5.0 /* %, if it is as much; losses beside less are shown whole */

enum bar_kind { BAR_FREE, BAR_PURCHASE, BAR_IDEAL, BAR_POINT, BAR_RUNG, BAR_KINDS };

static const struct {
    const char *group; /* as points name it, on the axis "group" */
    const char *title;
    const char *colour;
} bar_kinds[BAR_KINDS] = {
    [BAR_FREE] = {"free", "free", "#0072B2"},
    [BAR_PURCHASE] = {"purchase", "to buy", "#E69F00"},
    [BAR_IDEAL] = {"ideal", "ideal: an upper bound", "#555555"},
    [BAR_POINT] = {NULL, "another point", "#0072B2"},
    [BAR_RUNG] = {NULL, "cumulative", "#009E73"},
};

struct bar {
    const struct store_row *row;
    enum bar_kind kind;
    double y;
    double from, to;  /* saved, % */
    double low, high; /* of its band; ABSENT: there is none */
    bool is_close;    /* to nothing */
};

struct whatif {
    const struct store_row *now;
    struct bar *bars;       /* the best first, then the ladder */
    uint32_t count;         /* of bars that are drawn */
    uint32_t ranked, asked; /* of them those that are no ladder's, and how many could be */
    double name_width;
    bool has_days, has_band;
    bool has_kind[BAR_KINDS][2]; /* and whether it is close to nothing */
    double least, most;          /* saved, % */
};

/* What is to be least, for the same tokens. */
static double value_of(const struct whatif *whatif, const struct store_row *row)
{
    return whatif->has_days ? row->wall_clock_days : row->step_s / row->tokens_per_step;
}

static double saved(const struct whatif *whatif, double value)
{
    return 100 * (1 - value / value_of(whatif, whatif->now));
}

/* What `whatif` calls a point's group; NULL: another command stored it. */
static const char *group_of(const struct store_row *row)
{
    for (uint32_t axis = 0; axis < row->axis_count; axis++) {
        if (strcmp(row->axes[axis], "group") == 0) {
            return row->value_texts[axis];
        }
    }
    return NULL;
}

/* BAR_KINDS: one that is not drawn, as what is a little more or less. */
static enum bar_kind kind_of(const struct store_row *row)
{
    const char *group = group_of(row);
    if (group == NULL) {
        return BAR_POINT;
    }
    uint32_t kind = 0;
    while (kind < BAR_POINT && strcmp(group, bar_kinds[kind].group) != 0) {
        kind++;
    }
    return kind < BAR_POINT ? (enum bar_kind)kind : BAR_KINDS;
}

/* What the others are held against: the scenario as it is, or, of a study that has no such point,
 * the first with a result; NULL: it has none. */
static const struct store_row *base_of(const struct plot_series *series)
{
    const struct store_row *first = NULL;
    for (uint32_t i = 0; i < series->count; i++) {
        const struct store_row *row = &series->rows[i];
        const char *group = group_of(row);
        const bool has_result = plot_mark(row) == NULL;
        if (group != NULL && strcmp(group, "now") == 0) {
            return has_result ? row : NULL;
        }
        first = first == NULL && has_result ? row : first;
    }
    return first;
}

static void add_bar(struct whatif *whatif, struct bar bar, double factor)
{
    const double value = value_of(whatif, bar.row);
    bar.to = saved(whatif, value);
    const double share = whatif->has_days ? duration_share_of_steps(bar.row->account_s) : 1;
    bar.low = is_absent(factor) ? ABSENT : saved(whatif, value * pow(factor, share));
    bar.high = is_absent(factor) ? ABSENT : saved(whatif, value / pow(factor, share));
    bar.is_close = !is_absent(factor) && bar.low < 0 && bar.high > 0;
    whatif->has_band = whatif->has_band || !is_absent(factor);
    uint32_t at = whatif->count++;
    while (bar.kind != BAR_RUNG && at > 0 && bar.to > whatif->bars[at - 1].to) {
        whatif->bars[at] = whatif->bars[at - 1];
        at--;
    }
    whatif->bars[at] = bar;
}

static void collect_rows(const struct plot_page *page, struct whatif *whatif)
{
    const struct plot_series *series = &page->request->series[0];
    for (uint32_t i = 0; i < series->count; i++) {
        const enum bar_kind kind = kind_of(&series->rows[i]);
        const bool is_now = &series->rows[i] == whatif->now;
        if (!is_now && plot_mark(&series->rows[i]) == NULL && kind != BAR_KINDS) {
            add_bar(whatif, (struct bar){.row = &series->rows[i], .kind = kind},
                    series->factors != NULL ? series->factors[i] : ABSENT);
        }
    }
    whatif->asked = whatif->count;
    whatif->count = whatif->count < BARS_MAX ? whatif->count : BARS_MAX;
    whatif->ranked = whatif->count;
}

static void collect_ladder(const struct plot_page *page, struct whatif *whatif)
{
    const struct plot_series *series = &page->request->series[0];
    double from = 0;
    for (uint32_t i = 0; i < series->rung_count; i++) {
        add_bar(whatif, (struct bar){.row = &series->rungs[i], .kind = BAR_RUNG, .from = from},
                ABSENT);
        from = whatif->bars[whatif->count - 1].to;
    }
}

static void place(struct whatif *whatif)
{
    double y = 0;
    memset(whatif->has_kind, 0, sizeof whatif->has_kind);
    whatif->least = 0;
    whatif->most = 0;
    for (uint32_t i = 0; i < whatif->count; i++) {
        struct bar *bar = &whatif->bars[i];
        y += bar->kind == BAR_RUNG && i > 0 && whatif->bars[i - 1].kind != BAR_RUNG ? 0.8 : 0;
        bar->y = y++;
        whatif->has_kind[bar->kind][bar->is_close] = true;
        const double ends[] = {bar->from, bar->to, bar->low, bar->high};
        for (uint32_t end = 0; end < 4; end++) {
            whatif->least = is_absent(ends[end]) ? whatif->least : fmin(whatif->least, ends[end]);
            whatif->most = is_absent(ends[end]) ? whatif->most : fmax(whatif->most, ends[end]);
        }
    }
    if (whatif->most >= GAIN_SHOWN) {
        whatif->least = fmax(whatif->least, -LOSS_SHOWN * whatif->most);
    }
    whatif->most = fmax(whatif->most, 1e-3);
}

/* Whether a bar or a whisker is longer than is shown. */
static bool is_clipped(const struct whatif *whatif)
{
    for (uint32_t i = 0; i < whatif->count; i++) {
        const struct bar *bar = &whatif->bars[i];
        if (fmin(bar->from, bar->to) < whatif->least ||
            (!is_absent(bar->low) && bar->low < whatif->least)) {
            return true;
        }
    }
    return false;
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *label_of(const struct plot_page *page, const struct whatif *whatif, uint32_t i)
{
    uint32_t rung = 0;
    for (uint32_t k = 0; k <= i; k++) {
        rung += whatif->bars[k].kind == BAR_RUNG;
    }
    const char *label = whatif->bars[i].row->label;
    return rung > 0 ? arena_printf(page->arena, "%lu. %s", (unsigned long)rung, label) : label;
}

static uint32_t add_keys(const struct plot_page *page, const struct whatif *whatif,
                         struct plot_key *keys)
{
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < BAR_KINDS; kind++) {
        if (whatif->has_kind[kind][false] || whatif->has_kind[kind][true]) {
            keys[count++] =
                plot_key_of(page->arena, bar_kinds[kind].title,
                            arena_printf(page->arena, "pt %d ps 1.4 lc rgb '%s'",
                                         kind == BAR_IDEAL ? 4 : 5, bar_kinds[kind].colour));
        }
    }
    return count;
}

static void set_frame(struct plot_page *page, struct whatif *whatif)
{
    const char **names = arena_array(page->arena, whatif->count, sizeof *names);
    for (uint32_t i = 0; i < whatif->count; i++) {
        names[i] = label_of(page, whatif, i);
    }
    struct plot_key *keys = arena_array(page->arena, BAR_KINDS, sizeof *keys);
    const double last = whatif->count > 0 ? whatif->bars[whatif->count - 1].y : 0;
    whatif->name_width = plot_frame_scaled(page, WIDTH, LABEL_WIDTH_MAX);
    plot_frame_set(
        page,
        &(struct plot_frame){
            .width = WIDTH,
            .plot_height = (uint32_t)(BAR_HEIGHT * (last + 1.4)),
            .left = plot_bars_left(page->arena, names, whatif->count, 1, whatif->name_width),
            .right = LABELS_RIGHT,
            .bottom = PLOT_TICS,
            .x_title = whatif->has_days ? "'days saved, % of what it is now'"
                                        : "'time for the same tokens saved, % of what it is now'",
            .keys = keys,
            .key_count = add_keys(page, whatif, keys),
        });
}

/* Leaves as many rows: of the ladder at most half of them, the first. */
static void cut(struct whatif *whatif, uint32_t rows)
{
    uint32_t ranked = 0;
    while (ranked < whatif->count && whatif->bars[ranked].kind != BAR_RUNG) {
        ranked++;
    }
    const uint32_t rungs = whatif->count - ranked < rows / 2 ? whatif->count - ranked : rows / 2;
    const uint32_t room = rungs > 0 ? rows - rungs - 1 : rows; /* the gap before the ladder */
    const uint32_t kept = ranked < room ? ranked : room;
    memmove(&whatif->bars[kept], &whatif->bars[ranked], rungs * sizeof *whatif->bars);
    whatif->ranked = kept;
    whatif->count = kept + rungs;
}

static void lay_out(struct plot_page *page, struct whatif *whatif)
{
    plot_limits_note(page, NULL, NULL);
    if (whatif->has_band) {
        plot_add_note(page, "whiskers: p10 to p90 of the comparison; hatched: too close");
    }
    set_frame(page, whatif);
    const uint32_t room = plot_bars_room(page, 1);
    if (whatif->count + 1u + is_clipped(whatif) > room) {
        cut(whatif, room > 4 ? room - 1 : 3); /* the note takes a line of its own */
        place(whatif);
    }
    if (whatif->asked > whatif->ranked) {
        plot_add_note(page,
                      arena_printf(page->arena, "the best %lu of %lu",
                                   (unsigned long)whatif->ranked, (unsigned long)whatif->asked));
    }
    if (is_clipped(whatif)) {
        plot_add_note(page, "bars at the edge go on");
    }
    set_frame(page, whatif);
}

static void write_data(struct plot_page *page, const struct whatif *whatif)
{
    static const char *const numbers[] = {"y",          "kind",        "from_percent",
                                          "to_percent", "low_percent", "high_percent",
                                          "is_close",   "days"};
    static const char *const texts[] = {"label"};
    PLOT_HEAD(page, numbers, texts);
    for (uint32_t i = 0; i < whatif->count; i++) {
        const struct bar *bar = &whatif->bars[i];
        const char *label;
        plot_text_wrap(page->arena, label_of(page, whatif, i), whatif->name_width, &label, 1);
        plot_row(page,
                 PLOT_NUMBERS(bar->y, bar->kind, bar->from, bar->to, bar->low, bar->high,
                              bar->is_close, bar->row->wall_clock_days),
                 PLOT_TEXTS(label));
    }
}

/* Bars of a kind, in a style. */
static const char *bars_command(const struct plot_page *page, uint32_t kind, bool is_close,
                                const char *style)
{
    return arena_printf(
        page->arena,
        "DATA using (column('kind') == %d && column('is_close') == %d ? "
        "column('from_percent') : NaN):(column('y')):(column('from_percent')):"
        "(edge(column('to_percent'))):(column('y')-0.34*THICK):(column('y')+0.34*THICK) with "
        "boxxyerror fs %s fc rgb '%s' dt 1 lw 1, \\\n     ",
        kind, is_close, style, bar_kinds[kind].colour);
}

static const char *plot_command(struct plot_page *page, const struct whatif *whatif)
{
    const char *plot = "plot ";
    for (uint32_t kind = 0; kind < BAR_KINDS; kind++) {
        const char *usual =
            kind == BAR_IDEAL ? "empty border lc rgb '#555555'" : "solid 1 noborder";
        for (uint32_t is_close = 0; is_close < 2; is_close++) {
            if (whatif->has_kind[kind][is_close]) {
                plot = arena_printf(
                    page->arena, "%s%s", plot,
                    bars_command(page, kind, is_close,
                                 is_close ? "pattern 4 border lc rgb '#555555'" : usual));
            }
        }
    }
    if (whatif->has_band) {
        plot =
            arena_printf(page->arena,
                         "%sDATA using (strcol('low_percent') eq '' ? NaN : "
                         "edge(column('low_percent'))):(column('y')):(edge(column('high_percent'))-"
                         "edge(column('low_percent'))):(0) with vectors nohead lw 1.4 dt 1 "
                         "lc rgb '#222222', \\\n     ",
                         plot);
    }
    return arena_printf(
        page->arena,
        "%sDATA using (%.10g):(column('y')):(%s) with labels left textcolor rgb '#222222'", plot,
        whatif->most,
        whatif->has_days
            ? "sprintf('  %.1f %%, %.1f days', shown(column('to_percent')), column('days'))"
            : "sprintf('  %.1f %%', shown(column('to_percent')))");
}

static void write_script(struct plot_page *page, const struct whatif *whatif)
{
    plot_script_begin(page, whatif->count);
    fprintf(page->script,
            "array Y[%u]\nstats DATA using (Y[int($0)+1] = column('y'), 0) nooutput\n"
            "edge(x) = x < %.10g ? %.10g : x\n"
            "shown(x) = abs(x) < 0.05 ? 0.0 : x\n" /* not -0.0 */
            "set xrange [%.10g:%.10g]\n"
            "set arrow from 0, graph 0 to 0, graph 1 nohead lc rgb '#333333' lw 1\n",
            whatif->count, whatif->least, whatif->least, whatif->least, whatif->most);
    plot_bars_axes(page, &(struct plot_bars){.count = whatif->count,
                                             .last = whatif->bars[whatif->count - 1].y,
                                             .height = BAR_HEIGHT,
                                             .name = "label[i]",
                                             .place = "Y[i]"});
    plot_script_end(page, plot_command(page, whatif));
}

static bool report_nothing(struct plot_page *page, const struct whatif *whatif)
{
    if (whatif->now == NULL) {
        return diag_add(page->diag, DIAG_FAILURE, NULL,
                        "as it is it has no result, so that there is no baseline");
    }
    return diag_add(page->diag, DIAG_FAILURE, NULL, "only one point of this study has a result");
}

bool plot_write_whatif(struct plot_page *page)
{
    const struct plot_series *series = &page->request->series[0];
    const size_t most = (size_t)series->count + series->rung_count;
    struct whatif whatif = {.bars = arena_array(page->arena, most, sizeof *whatif.bars)};
    whatif.now = base_of(series);
    if (whatif.now != NULL) {
        whatif.has_days = !is_absent(whatif.now->wall_clock_days);
        collect_rows(page, &whatif);
        collect_ladder(page, &whatif);
        place(&whatif);
    }
    lay_out(page, &whatif);
    write_data(page, &whatif);
    if (whatif.count == 0) {
        return report_nothing(page, &whatif);
    }
    write_script(page, &whatif);
    return true;
}
