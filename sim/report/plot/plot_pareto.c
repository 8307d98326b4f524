/* A metric against memory: what a shorter step takes of a GPU. The front, of which no point has
 * less memory and is as good, is joined by a line; its points are labelled.
 */
#include "report/plot/plot_kinds.h"

#include "base/absent.h"
#include "base/arena.h"

#include <math.h>
#include <stdlib.h>

static const double BYTES_PER_GB = 1e9;

struct spot {
    const struct plot_item *item;
    double memory_gb;
    double value;
    bool is_front;
};

struct pareto {
    const struct figure_metric *metric;
    struct spot *spots; /* by memory, then the best first */
    uint32_t count;
    uint32_t front_count;
};

static bool is_better(const struct figure_metric *metric, double value, double other)
{
    return metric->is_higher_better ? value > other : value < other;
}

static int compare_spots(const void *left, const void *right)
{
    const struct spot *a = left;
    const struct spot *b = right;
    if (a->memory_gb < b->memory_gb || a->memory_gb > b->memory_gb) {
        return a->memory_gb < b->memory_gb ? -1 : 1;
    }
    return (a->value > b->value) - (a->value < b->value);
}

static void collect(struct plot_page *page, struct pareto *pareto)
{
    pareto->spots = arena_array(page->arena, page->item_count, sizeof *pareto->spots);
    for (uint32_t i = 0; i < page->item_count; i++) {
        const struct store_row *row = page->items[i].row;
        const double value = plot_metric_value(pareto->metric, row);
        if (plot_mark(row) == NULL && !is_absent(value)) {
            pareto->spots[pareto->count++] = (struct spot){
                .item = &page->items[i],
                .memory_gb = row->memory_peak_bytes / BYTES_PER_GB,
                .value = value,
            };
        }
    }
    if (pareto->count > 0) {
        qsort(pareto->spots, pareto->count, sizeof *pareto->spots, compare_spots);
    }
}

/* From the least memory on, a point is of the front if it is better than all before, and than those
 * of the same memory. */
static void mark_front(struct pareto *pareto)
{
    const struct spot *best = NULL;
    for (uint32_t i = 0; i < pareto->count; i++) {
        struct spot *spot = &pareto->spots[i];
        bool is_beaten = best != NULL && !is_better(pareto->metric, spot->value, best->value);
        for (uint32_t k = i + 1; k < pareto->count && pareto->spots[k].memory_gb <= spot->memory_gb;
             k++) {
            is_beaten = is_beaten || is_better(pareto->metric, pareto->spots[k].value, spot->value);
        }
        if (!is_beaten) {
            spot->is_front = true;
            pareto->front_count++;
            best = spot;
        }
    }
}

static const char *const text_columns[] = {"label", "plot_title", "y_title"};

/* The front first: what is left out between its points would break its line. */
static void write_data(struct plot_page *page, const struct pareto *pareto)
{
    const char *const numbers[] = {"memory_peak_gb", pareto->metric->csv, "is_front"};
    PLOT_HEAD(page, numbers, text_columns);
    for (uint32_t i = 0; i < 2 * pareto->count; i++) {
        const struct spot *spot = &pareto->spots[i % pareto->count];
        if (spot->is_front == (i < pareto->count)) {
            plot_row(
                page, PLOT_NUMBERS(spot->memory_gb, spot->value, spot->is_front),
                PLOT_TEXTS(spot->item->row->label, page->request->title, pareto->metric->title));
        }
    }
}

/* With room for labels to the right. */
static void write_range(const char *axis, double low, double high, double room, FILE *script)
{
    const double span = high > low ? high - low : fabs(high) > 0 ? fabs(high) : 1;
    fprintf(script, "set %srange [%.10g:%.10g]\n", axis, low - 0.1 * span, high + room * span);
}

static void write_ranges(const struct plot_page *page, const struct pareto *pareto)
{
    double low = pareto->spots[0].value;
    double high = low;
    for (uint32_t i = 0; i < pareto->count; i++) {
        low = fmin(low, pareto->spots[i].value);
        high = fmax(high, pareto->spots[i].value);
    }
    write_range("x", pareto->spots[0].memory_gb, pareto->spots[pareto->count - 1].memory_gb, 0.5,
                page->script);
    write_range("y", low, high, 0.1, page->script);
}

static void write_script(struct plot_page *page, const struct pareto *pareto)
{
    const char *column = pareto->metric->csv;
    plot_script_begin(page, pareto->count);
    write_ranges(page, pareto);
    fputs("set xlabel 'peak memory of a GPU, GB'\nset ylabel y_title[1]\n"
          "set grid xtics ytics lc rgb '#dddddd' lw 0.8 lt 1\n"
          "set key outside below left Left reverse\n",
          page->script);
    plot_script_end(
        page, 900, 520,
        arena_printf(page->arena,
                     "plot DATA using (column('is_front') == 1 ? column('memory_peak_gb') : "
                     "NaN):(column('%s')) smooth unique with lines lc rgb '#bbbbbb' lw 1.5 "
                     "title 'none has less memory and is as good', \\\n"
                     "     DATA using (column('memory_peak_gb')):(column('%s')) with points lt 1 "
                     "ps 1.2 notitle, \\\n"
                     "     DATA using (column('memory_peak_gb')):(column('%s')):"
                     "(column('is_front') == 1 ? label[int($0)+1] : '') with labels left offset "
                     "0.8,0.4 font ',8' textcolor rgb '#333333' notitle",
                     column, column, column));
}

bool plot_write_pareto(struct plot_page *page)
{
    struct pareto pareto = {.metric = plot_request_metric(page)};
    if (pareto.metric == NULL) {
        return false;
    }
    collect(page, &pareto);
    mark_front(&pareto);
    write_data(page, &pareto);
    if (pareto.count == 0) {
        return diag_add(page->diag, DIAG_FAILURE, NULL, "no point of this study has a value of %s",
                        pareto.metric->name);
    }
    write_script(page, &pareto);
    return true;
}
