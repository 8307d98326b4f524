/* Days against dollars. A label goes to the first of four sides of its point
 * where it covers neither a point nor a label placed before; where none is
 * free, the label of a point that another one beats in both is left out.
 * Comparing all pairs is fine for the at most LABELS_MAX points that have one.
 */
#include "report/plot/plot_kinds.h"

#include "base/absent.h"
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define LABELS_MAX 200

/* Sizes of text as a share of the plot's width and height. */
#define LETTER_WIDTH 0.0150
#define LINE_HEIGHT 0.042
#define POINT_GAP 0.014

enum side { SIDE_RIGHT, SIDE_LEFT, SIDE_ABOVE, SIDE_BELOW, SIDE_NONE };

struct box {
    double left, right, low, high;
};

struct offer {
    const struct plot_item *item;
    const char *label;
    double cost; /* shown unit */
    double days;
    bool is_best; /* none is both cheaper and faster */
    enum side side;
    struct box box; /* of the label; empty for SIDE_NONE */
};

struct dollars {
    struct offer *offers; /* by cost */
    uint32_t count;
    const char *unit;   /* "million USD" */
    const char *column; /* "cost_million_usd" */
    double factor;
    double cost_low, cost_high, days_low, days_high; /* of the axes */
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
    const double margin = span > 0 ? 0.18 * span : 0.1 * high;
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
            dollars->offers[dollars->count++] = (struct offer){
                .item = item, .label = row->label, .days = row->wall_clock_days, .side = SIDE_NONE};
            cost_max = row->cost_usd > cost_max ? row->cost_usd : cost_max;
        }
    }
    choose_unit(dollars, cost_max);
    for (uint32_t i = 0; i < dollars->count; i++) {
        dollars->offers[i].cost = dollars->offers[i].item->row->cost_usd * dollars->factor;
    }
    qsort(dollars->offers, dollars->count, sizeof *dollars->offers, compare_offers);
}

static void measure(struct dollars *dollars)
{
    double days_low = dollars->offers[0].days;
    double days_high = days_low;
    for (uint32_t i = 0; i < dollars->count; i++) {
        const double days = dollars->offers[i].days;
        days_low = days < days_low ? days : days_low;
        days_high = days > days_high ? days : days_high;
    }
    choose_range(dollars->offers[0].cost, dollars->offers[dollars->count - 1].cost,
                 &dollars->cost_low, &dollars->cost_high);
    choose_range(days_low, days_high, &dollars->days_low, &dollars->days_high);
    if (!(dollars->cost_high > dollars->cost_low)) {
        dollars->cost_high = dollars->cost_low + 1; /* everything is free */
    }
}

/* ---- labels -------------------------------------------------------------------- */

static size_t letters_of(const char *text)
{
    size_t letters = 0;
    for (; *text != '\0'; text++) {
        letters += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return letters;
}

static double share_x(const struct dollars *dollars, const struct offer *offer)
{
    return (offer->cost - dollars->cost_low) / (dollars->cost_high - dollars->cost_low);
}

static double share_y(const struct dollars *dollars, const struct offer *offer)
{
    return (offer->days - dollars->days_low) / (dollars->days_high - dollars->days_low);
}

static struct box box_at(const struct dollars *dollars, const struct offer *offer, enum side side)
{
    const double x = share_x(dollars, offer);
    const double y = share_y(dollars, offer);
    const double width = LETTER_WIDTH * (double)letters_of(offer->label);
    const double half = LINE_HEIGHT / 2;
    switch (side) {
    case SIDE_RIGHT:
        return (struct box){x + POINT_GAP, x + POINT_GAP + width, y - half, y + half};
    case SIDE_LEFT:
        return (struct box){x - POINT_GAP - width, x - POINT_GAP, y - half, y + half};
    case SIDE_ABOVE:
        return (struct box){x - width / 2, x + width / 2, y + half, y + half + LINE_HEIGHT};
    default:
        return (struct box){x - width / 2, x + width / 2, y - half - LINE_HEIGHT, y - half};
    }
}

static bool do_overlap(const struct box *a, const struct box *b)
{
    return a->left < b->right && b->left < a->right && a->low < b->high && b->low < a->high;
}

static bool is_free(const struct dollars *dollars, const struct box *box, uint32_t self)
{
    if (box->left < 0 || box->right > 1 || box->low < 0 || box->high > 1) {
        return false;
    }
    for (uint32_t i = 0; i < dollars->count; i++) {
        const struct offer *offer = &dollars->offers[i];
        const double x = share_x(dollars, offer);
        const double y = share_y(dollars, offer);
        const struct box point = {x - 0.008, x + 0.008, y - 0.014, y + 0.014};
        const bool is_covered =
            i != self &&
            (do_overlap(box, &point) || (offer->side != SIDE_NONE && do_overlap(box, &offer->box)));
        if (is_covered) {
            return false;
        }
    }
    return true;
}

static void place_label(struct dollars *dollars, uint32_t self)
{
    struct offer *offer = &dollars->offers[self];
    for (uint32_t side = SIDE_RIGHT; side < SIDE_NONE; side++) {
        const struct box box = box_at(dollars, offer, (enum side)side);
        if (is_free(dollars, &box, self)) {
            offer->side = (enum side)side;
            offer->box = box;
            return;
        }
    }
    if (offer->is_best) {
        offer->side = SIDE_RIGHT;
        offer->box = box_at(dollars, offer, SIDE_RIGHT);
    }
}

/* The best first: theirs are the labels one looks for. */
static void place_labels(struct dollars *dollars)
{
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < dollars->count && i < LABELS_MAX; i++) {
            if (dollars->offers[i].is_best == (pass == 0)) {
                place_label(dollars, i);
            }
        }
    }
}

/* ---- files --------------------------------------------------------------------- */

static const char *const text_columns[] = {"label", "series_title", "plot_title"};

static void write_data(struct plot_page *page, const struct dollars *dollars)
{
    const char *const numbers[] = {"series", dollars->column, "days", "side", "is_best"};
    PLOT_HEAD(page, numbers, text_columns);
    for (uint32_t i = 0; i < dollars->count; i++) {
        const struct offer *offer = &dollars->offers[i];
        plot_row(page,
                 PLOT_NUMBERS(offer->item->series, offer->cost, offer->days, offer->side,
                              offer->is_best),
                 PLOT_TEXTS(offer->label, offer->item->series_title, page->request->title));
    }
}

/* An unseen label is empty, not NaN: see plot_lines.c. */
static const char *plot_command(struct plot_page *page, const struct dollars *dollars)
{
    static const char *const places[SIDE_NONE] = {
        [SIDE_RIGHT] = "left offset 1,0",
        [SIDE_LEFT] = "right offset -1,0",
        [SIDE_ABOVE] = "center offset 0,0.9",
        [SIDE_BELOW] = "center offset 0,-0.9",
    };
    const char *plot =
        arena_printf(page->arena,
                     "plot DATA using (column('is_best') == 1 ? column('%s') : "
                     "NaN):(column('days')) smooth unique "
                     "with lines lc rgb '#bbbbbb' lw 1.5 dt 2 title 'none cheaper and faster', \\\n"
                     "     for [i=0:%u] DATA using (column('series') == i ? column('%s') : NaN):"
                     "(column('days')) with points lt i+1 ps 1.4 title SERIES_TITLE[i+1]",
                     dollars->column, page->request->series_count - 1, dollars->column);
    for (uint32_t side = 0; side < SIDE_NONE; side++) {
        plot = arena_printf(page->arena,
                            "%s, \\\n     DATA using (column('%s')):(column('days')):"
                            "(column('side') == %u ? label[int($0)+1] : '') with labels %s "
                            "textcolor rgb '#222222' notitle",
                            plot, dollars->column, side, places[side]);
    }
    return plot;
}

static void write_script(struct plot_page *page, const struct dollars *dollars)
{
    FILE *script = page->script;
    const uint32_t series_count = page->request->series_count;
    plot_script_begin(page, dollars->count);
    fprintf(script,
            "array SERIES_TITLE[%u]\n"
            "do for [i=1:%u] { SERIES_TITLE[i] = '' }\n"
            "stats DATA using (SERIES_TITLE[int(column('series'))+1] = series_title[int($0)+1], "
            "0) nooutput\n"
            "set xrange [%.10g:%.10g]\nset yrange [%.10g:%.10g]\n"
            "set xlabel 'cost, %s'\nset ylabel 'wall-clock, days'\n"
            "set grid xtics ytics lc rgb '#dddddd' lw 0.8 lt 1\n",
            series_count, series_count, dollars->cost_low, dollars->cost_high, dollars->days_low,
            dollars->days_high, dollars->unit);
    fputs(series_count > 1 ? "set key outside right top Left reverse\n" : "unset key\n", script);
    plot_script_end(page, series_count > 1 ? 960 : 800, 500, plot_command(page, dollars));
}

bool plot_write_dollars(struct plot_page *page)
{
    struct dollars dollars = {.count = 0};
    collect_offers(page, &dollars);
    if (dollars.count > 0) {
        measure(&dollars);
        mark_best(&dollars);
        place_labels(&dollars);
    }
    write_data(page, &dollars);
    if (dollars.count == 0) {
        diag_add(page->diag, DIAG_FAILURE, NULL, "no point of this study has days and dollars");
        diag_help(page->diag, "say how long to train and what a GPU costs: `run: {tokens: 300B}` "
                              "and `price: {gpu_hour: 2 USD}` in the scenario");
        return false;
    }
    write_script(page, &dollars);
    return true;
}
