/* Days against dollars: the front, which nothing beats in both, is drawn and named; the rest is
 * faint. Where dollars are days times a constant (the same GPUs at the same price) there is nothing
 * to weigh, and bars say which is best.
 */
#include "report/plot/plot_bars.h"
#include "report/plot/plot_kinds.h"
#include "report/plot/plot_labels.h"
#include "report/plot/plot_limits.h"

#include "base/absent.h"
#include "base/arena.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 900,
    PLOT_HEIGHT = 400,
    BARS_MAX = 40,
    BAR_HEIGHT = 27,
    BAR_HEIGHT_2 = 42, /* of bars whose names have two lines */

    LIMIT_NAME_HEIGHT = 18,
    LABEL_WIDTH_MAX = 330,
    LABEL_LINES = 2,
    NAMED_MAX = 30 /* of more, the front alone has names */
};
#define MISS_STYLE "pt 2 ps 0.9 lw 1.6 lc rgb '#8a3b00'"
#define BAR_BOX                                                                           \
    ":(column('bar')):(0):(column('days')):(column('bar')-0.3*THICK):(column('bar')+0.3*" \
    "THICK) with boxxyerror "
#define SAME 0.005 /* costs by days that differ by less are one price */

struct offer {
    const struct plot_item *item;
    const char *label;
    double cost; /* shown unit */
    double days;
    bool is_best; /* none is both cheaper and faster */
};

struct dollars {
    struct offer *offers; /* by cost, then by days */
    uint32_t count;
    const char *unit;   /* "million USD" */
    const char *column; /* "cost_million_usd" */
    double factor;
    double cost_low, cost_high, days_low, days_high; /* of the axes */
    bool is_one_price;
    struct plot_limits cost_limits, days_limits;
    bool has_misses;
};

static void choose_unit(struct dollars *dollars, double cost_usd_max)
{
    const bool is_million = cost_usd_max >= 1e6;
    const bool is_thousand = !is_million && cost_usd_max >= 1e4;
    dollars->factor = is_million ? 1e-6 : is_thousand ? 1e-3 : 1;
    dollars->unit = is_million ? "million USD" : is_thousand ? "thousand USD" : "USD";
    dollars->column = is_million    ? "cost_million_usd"
                      : is_thousand ? "cost_thousand_usd"
                                    : "cost_usd";
}

static int compare_offers(const void *a, const void *b)
{
    const struct offer *left = a;
    const struct offer *right = b;
    if (left->cost < right->cost || left->cost > right->cost) {
        return left->cost < right->cost ? -1 : 1;
    }
    return (left->days > right->days) - (left->days < right->days);
}

/* Seen from the cheapest on, an offer is among the best if it is faster than all before. */
static void mark_best(struct dollars *dollars)
{
    double fastest = dollars->count > 0 ? 2 * dollars->days_high : 0;
    for (uint32_t i = 0; i < dollars->count; i++) {
        struct offer *offer = &dollars->offers[i];
        offer->is_best = offer->days < fastest;
        fastest = offer->is_best ? offer->days : fastest;
    }
}

/* From 0, unless that would squeeze all points into the far part. */
static void choose_range(double low, double high, double *from, double *to)
{
    const double span = high - low;
    const double margin = span > 0 ? 0.12 * span : 0.1 * high;
    *from = low < 0.5 * high ? 0 : low - margin;
    *to = high + margin;
}

static void collect_offers(struct plot_page *page, struct dollars *dollars)
{
    double cost_max = 0;
    dollars->offers = arena_array(page->arena, page->item_count, sizeof *dollars->offers);
    for (uint32_t i = 0; i < page->item_count; i++) {
        const struct plot_item *item = &page->items[i];
        const struct store_row *row = item->row;
        if (plot_mark(row) == NULL && !is_absent(row->wall_clock_days) &&
            !is_absent(row->cost_usd)) {
            dollars->offers[dollars->count++] =
                (struct offer){.item = item, .label = row->label, .days = row->wall_clock_days};
            cost_max = row->cost_usd > cost_max ? row->cost_usd : cost_max;
        }
    }
    choose_unit(dollars, cost_max);
    for (uint32_t i = 0; i < dollars->count; i++) {
        dollars->offers[i].cost = dollars->offers[i].item->row->cost_usd * dollars->factor;
    }
    qsort(dollars->offers, dollars->count, sizeof *dollars->offers, compare_offers);
}

static void measure(const struct plot_page *page, struct dollars *dollars)
{
    double days_low = dollars->offers[0].days;
    double days_high = days_low;
    double least = dollars->offers[0].cost / days_low;
    double most = least;
    for (uint32_t i = 0; i < dollars->count; i++) {
        const struct offer *offer = &dollars->offers[i];
        days_low = fmin(days_low, offer->days);
        days_high = fmax(days_high, offer->days);
        least = fmin(least, offer->cost / offer->days);
        most = fmax(most, offer->cost / offer->days);
        dollars->has_misses = dollars->has_misses || offer->item->misses;
    }
    dollars->is_one_price = dollars->count > 1 && most - least <= SAME * most;
    double cost_low = dollars->offers[0].cost;
    double cost_high = dollars->offers[dollars->count - 1].cost;
    plot_limits_find(page, "cost_usd", dollars->factor, &cost_low, &cost_high,
                     &dollars->cost_limits);
    plot_limits_find(page, "days", 1, &days_low, &days_high, &dollars->days_limits);
    choose_range(cost_low, cost_high, &dollars->cost_low, &dollars->cost_high);
    choose_range(days_low, days_high, &dollars->days_low, &dollars->days_high);
    if (!(dollars->cost_high > dollars->cost_low)) {
        dollars->cost_high = dollars->cost_low + 1; /* everything is free */
    }
}

/* ---- points ---------------------------------------------------------------- */

static const char *const text_columns[] = {"label", "series_title"};

static void place_names(const struct plot_page *page, const struct dollars *dollars,
                        struct plot_named *named)
{
    const double width = page->frame.width - page->frame.left - page->frame.right;
    const double height = page->frame.plot_height;
    for (uint32_t i = 0; i < dollars->count; i++) {
        const struct offer *offer = &dollars->offers[i];
        named[i] = (struct plot_named){
            .x = width * (offer->cost - dollars->cost_low) /
                 (dollars->cost_high - dollars->cost_low),
            .y = height * (offer->days - dollars->days_low) /
                 (dollars->days_high - dollars->days_low),
            .label = offer->is_best || dollars->count <= NAMED_MAX ? offer->label : "",
            .is_front = offer->is_best};
    }
    plot_labels_place(named, dollars->count, width, height);
}

static void write_data(struct plot_page *page, const struct dollars *dollars)
{
    const char *const numbers[] = {"series", dollars->column, "days", "side", "is_best", "misses"};
    struct plot_named *named = arena_array(page->arena, dollars->count, sizeof *named);
    place_names(page, dollars, named);
    PLOT_HEAD(page, numbers, text_columns);
    for (uint32_t i = 0; i < dollars->count; i++) {
        const struct offer *offer = &dollars->offers[i];
        plot_row(page,
                 PLOT_NUMBERS(offer->item->series, offer->cost, offer->days, named[i].side,
                              offer->is_best, offer->item->misses),
                 PLOT_TEXTS(offer->label, offer->item->series_title));
    }
}

static void lay_out(struct plot_page *page, const struct dollars *dollars)
{
    const uint32_t series_count = page->request->series_count;
    struct plot_key *keys = arena_array(page->arena, series_count + 2u, sizeof *keys);
    uint32_t count = 0;
    for (uint32_t i = 0; i < series_count && series_count > 1; i++) {
        const char *title = page->request->series[i].title;
        keys[count++] = (struct plot_key){arena_printf(page->arena, "SERIES_TITLE[%lu]", i + 1ul),
                                          plot_text_width(title != NULL ? title : "", PLOT_LETTER),
                                          arena_printf(page->arena, "lt %lu", i + 1ul)};
    }
    keys[count++] = plot_key_of(page->arena, "the front: none is cheaper and faster",
                                series_count > 1 ? "pt 7 ps 1.4 lc rgb '#777777'"
                                                 : "pt 7 ps 1.4 lc rgb '#0072B2'");
    if (dollars->has_misses) {
        keys[count++] = plot_key_of(page->arena, PLOT_MISS_TEXT, MISS_STYLE);
    }
    plot_limits_note(page, &dollars->cost_limits, &dollars->days_limits);
    const uint32_t right = plot_limits_right(&dollars->days_limits);
    plot_frame_set(page, &(struct plot_frame){
                             .width = WIDTH,
                             .plot_height = PLOT_HEIGHT,
                             .left = 60,
                             .right = right > 24 ? right : 24,
                             .above = plot_limits_above(&dollars->cost_limits),
                             .bottom = PLOT_TICS,
                             .x_title = arena_printf(page->arena, "'cost, %s'", dollars->unit),
                             .y_title = "'wall-clock, days'",
                             .keys = keys,
                             .key_count = count});
}

/* Names of days that are required stand at the right end, apart. */
static void write_limits(const struct plot_page *page, const struct dollars *dollars)
{
    const double unit = (dollars->days_high - dollars->days_low) / page->frame.plot_height;
    double heights[PLOT_LIMITS_MAX] = {0};
    for (uint32_t i = 0; i < dollars->days_limits.count; i++) {
        heights[i] = (dollars->days_limits.at[i] - dollars->days_low) / unit;
    }
    plot_labels_spread(page->arena, heights, dollars->days_limits.count, LIMIT_NAME_HEIGHT,
                       page->frame.plot_height);
    fprintf(page->script, "LOW = %.10g\nPIXEL = %.10g\n", dollars->days_low, unit);
    plot_limits_write_level(page, &dollars->days_limits, heights);
    plot_limits_write_upright(page, &dollars->cost_limits,
                              (dollars->cost_low + dollars->cost_high) / 2);
}

static void write_points(struct plot_page *page, const struct dollars *dollars)
{
    const uint32_t series_count = page->request->series_count;
    const char *column = dollars->column;
    const char *x = arena_printf(page->arena, "column('%s')", column);
    plot_script_begin(page, dollars->count);
    fprintf(page->script,
            "array SERIES_TITLE[%u]\n"
            "do for [i=1:%u] { SERIES_TITLE[i] = '' }\n"
            "stats DATA using (SERIES_TITLE[int(column('series'))+1] = series_title[int($0)+1], "
            "0) nooutput\n"
            "set xrange [%.10g:%.10g]\nset yrange [%.10g:%.10g]\n"
            "set key off\n"
            "set grid xtics ytics lc rgb '#dddddd' lw 0.8 lt 1\n",
            series_count, series_count, dollars->cost_low, dollars->cost_high, dollars->days_low,
            dollars->days_high);
    write_limits(page, dollars);
    /* Rows that are not of the front would cut its line. */
    fprintf(page->script, "set datafile missing NaN\n");
    const char *misses = dollars->has_misses
                             ? arena_printf(page->arena,
                                            ", \\\n     DATA using (column('misses') == 1 ? %s : "
                                            "NaN):(column('days')) with points " MISS_STYLE,
                                            x)
                             : "";
    plot_script_end(
        page,
        arena_printf(page->arena,
                     "plot DATA using (column('is_best') == 1 ? %s : NaN):(column('days')) smooth "
                     "unique with lines lc rgb '#999999' lw 1.5 dt 2, \\\n"
                     "     for [i=0:%u] DATA using (column('series') == i && column('is_best') == "
                     "0 && column('misses') == 0 ? %s : NaN):(column('days')) with points pt "
                     "MARK[i%%8+1] ps 1 lc rgb '#aa'.COLOUR[i%%8+1][2:7], \\\n"
                     "     for [i=0:%u] DATA using (column('series') == i && column('is_best') == "
                     "1 && column('misses') == 0 ? %s : NaN):(column('days')) with points lt i+1 "
                     "ps 1.4%s%s",
                     x, series_count - 1, x, series_count - 1, x, misses,
                     plot_labels_command(page->arena, x, "column('days')")));
}

/* ---- bars, of one price ---------------------------------------------------------------- */

static int compare_days(const void *a, const void *b)
{
    const double left = ((const struct offer *)a)->days;
    const double right = ((const struct offer *)b)->days;
    return (left > right) - (left < right);
}

/* What may be paid is as many days. */
static struct plot_limits limits_of_bars(const struct dollars *dollars)
{
    struct plot_limits limits = dollars->days_limits;
    const double day = dollars->offers[0].cost / dollars->offers[0].days;
    for (uint32_t i = 0; i < dollars->cost_limits.count && limits.count < PLOT_LIMITS_MAX; i++) {
        limits.items[limits.count] = dollars->cost_limits.items[i];
        limits.at[limits.count++] = dollars->cost_limits.at[i] / day;
    }
    return limits;
}

static double highest(const struct plot_limits *limits)
{
    double most = 0;
    for (uint32_t i = 0; i < limits->count; i++) {
        most = fmax(most, limits->at[i]);
    }
    return most;
}

/* The best of them, as many as have room. */
static uint32_t lay_out_bars(struct plot_page *page, const struct dollars *dollars,
                             const char *const *names, const struct plot_limits *limits)
{
    const double name_width = plot_frame_scaled(page, WIDTH, LABEL_WIDTH_MAX);
    const uint32_t count = dollars->count < BARS_MAX ? dollars->count : BARS_MAX;
    double longest = 0;
    for (uint32_t i = 0; i < count; i++) {
        longest = fmax(longest, plot_text_width(names[i], PLOT_LETTER));
    }
    const uint32_t lines = longest > name_width ? LABEL_LINES : 1;
    struct plot_key *key = arena_alloc(page->arena, sizeof *key);
    *key = plot_key_of(page->arena, "hatched: " PLOT_MISS_TEXT, "pt 4 ps 1.4 lc rgb '#8a3b00'");
    const struct plot_frame frame = {
        .width = WIDTH,
        .keys = key,
        .key_count = dollars->has_misses,
        .left = plot_bars_left(page->arena, names, count, lines, name_width),
        .right = 220,
        .above = plot_limits_above(limits),
        .bottom = PLOT_TICS,
        .x_title = "'wall-clock, days; all cost the same a day'"};
    return plot_bars_set(page, &frame,
                         &(struct plot_rows){.count = count,
                                             .height = lines > 1 ? BAR_HEIGHT_2 : BAR_HEIGHT,
                                             .lines = lines,
                                             .which = "best",
                                             .what = "points",
                                             .count_all = dollars->count});
}

static void write_bars(struct plot_page *page, struct dollars *dollars)
{
    static const char *const numbers[] = {"bar", "days", "cost_usd", "misses"};
    static const char *const texts[] = {"label", "label_2"};
    qsort(dollars->offers, dollars->count, sizeof *dollars->offers, compare_days);
    const char **names = arena_array(page->arena, dollars->count, sizeof *names);
    for (uint32_t i = 0; i < dollars->count; i++) {
        names[i] = plot_item_label(page, dollars->offers[i].item);
    }
    const double name_width = plot_frame_scaled(page, WIDTH, LABEL_WIDTH_MAX);
    const struct plot_limits limits = limits_of_bars(dollars);
    plot_limits_note(page, &dollars->cost_limits, &dollars->days_limits);
    const uint32_t count = lay_out_bars(page, dollars, names, &limits);
    const double end = fmax(dollars->offers[count - 1].days, highest(&limits));
    PLOT_HEAD(page, numbers, texts);
    for (uint32_t i = 0; i < count; i++) {
        const struct offer *offer = &dollars->offers[i];
        const char *label[LABEL_LINES];
        plot_text_wrap(page->arena, names[i], name_width, label, LABEL_LINES);
        plot_row(page,
                 PLOT_NUMBERS(i, offer->days, offer->cost / dollars->factor, offer->item->misses),
                 PLOT_TEXTS(label[0], label[1]));
    }
    plot_script_begin(page, count);
    fprintf(page->script, "END = %.10g\nset xrange [0:END]\n", end);
    plot_limits_write_upright(page, &limits, end / 2);
    plot_bars_axes(page, &(struct plot_bars){.count = count,
                                             .last = count - 1.0,
                                             .height = BAR_HEIGHT,
                                             .name = "label[i].more(label_2[i])",
                                             .place = "i-1"});
    plot_script_end(
        page,
        arena_printf(page->arena,
                     "plot DATA using (column('misses') == 0 ? 0 : NaN)" BAR_BOX
                     "fs solid 1 noborder fc rgb '#0072B2', \\\n"
                     "     DATA using (column('misses') == 1 ? 0 : NaN)" BAR_BOX
                     "fs pattern 4 border lc rgb '#999999' fc rgb '#8a3b00', \\\n"
                     "     DATA using (END):(column('bar')):(sprintf('  %%.1f days, %%.1f %s', "
                     "column('days'), %g * column('cost_usd'))) with labels left "
                     "textcolor rgb '#222222'",
                     dollars->unit, dollars->factor));
}

bool plot_write_dollars(struct plot_page *page)
{
    struct dollars dollars = {.count = 0};
    collect_offers(page, &dollars);
    if (page->request->title == NULL) {
        page->title = "Days against dollars";
    }
    if (dollars.count > 0) {
        measure(page, &dollars);
        mark_best(&dollars);
    }
    if (dollars.is_one_price) {
        write_bars(page, &dollars);
        return true;
    }
    lay_out(page, &dollars);
    write_data(page, &dollars);
    if (dollars.count == 0) {
        diag_add(page->diag, DIAG_FAILURE, NULL, "no point of this study has days and dollars");
        diag_help(page->diag, "say how long to train and what a GPU costs: `run: {tokens: 300B}` "
                              "and `price: {gpu_hour: 2 USD}` in the scenario");
        return false;
    }
    write_points(page, &dollars);
    return true;
}
