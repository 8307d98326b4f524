/* A metric against memory: what a shorter step takes of a GPU. The front, of which no point has
 * less memory and is as good, is joined by a line; its points are labelled.
 */
#include "report/plot/plot_kinds.h"
#include "report/plot/plot_labels.h"
#include "report/plot/plot_limits.h"

#include "base/absent.h"
#include "base/arena.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 900, PLOT_HEIGHT = 400, NAMED_MAX = 30 /* of more, the front alone */ };

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

static const char *const text_columns[] = {"label", "y_title"};

/* Of the axes, with room around the points. */
struct range {
    double low, high;
};

static struct range range_of(double low, double high)
{
    const double span = high > low ? high - low : fabs(high) > 0 ? fabs(high) : 1;
    return (struct range){low - 0.08 * span, high + 0.12 * span};
}

static void find_ranges(const struct pareto *pareto, struct range *memory, struct range *values)
{
    double low = pareto->spots[0].value;
    double high = low;
    for (uint32_t i = 0; i < pareto->count; i++) {
        low = fmin(low, pareto->spots[i].value);
        high = fmax(high, pareto->spots[i].value);
    }
    *memory = range_of(pareto->spots[0].memory_gb, pareto->spots[pareto->count - 1].memory_gb);
    *values = range_of(low, high);
}

static double share(const struct range *range, double value)
{
    return (value - range->low) / (range->high - range->low);
}

static struct plot_named *place_names(const struct plot_page *page, const struct pareto *pareto)
{
    struct plot_named *named = arena_array(page->arena, pareto->count, sizeof *named);
    const double width = page->frame.width - page->frame.left - page->frame.right;
    struct range memory, values;
    find_ranges(pareto, &memory, &values);
    for (uint32_t i = 0; i < pareto->count; i++) {
        const struct spot *spot = &pareto->spots[i];
        named[i] = (struct plot_named){
            .x = width * share(&memory, spot->memory_gb),
            .y = page->frame.plot_height * share(&values, spot->value),
            .label = spot->is_front || pareto->count <= NAMED_MAX ? spot->item->row->label : "",
            .is_front = spot->is_front};
    }
    plot_labels_place(named, pareto->count, width, page->frame.plot_height);
    return named;
}

/* The front first: what is left out between its points would break its line. */
static void write_data(struct plot_page *page, const struct pareto *pareto)
{
    const char *const numbers[] = {"memory_peak_gb", pareto->metric->csv, "is_front", "side"};
    PLOT_HEAD(page, numbers, text_columns);
    const struct plot_named *named = pareto->count > 0 ? place_names(page, pareto) : NULL;
    for (uint32_t i = 0; i < 2 * pareto->count; i++) {
        const uint32_t number = i % pareto->count;
        const struct spot *spot = &pareto->spots[number];
        if (spot->is_front == (i < pareto->count)) {
            plot_row(page,
                     PLOT_NUMBERS(spot->memory_gb, spot->value, spot->is_front, named[number].side),
                     PLOT_TEXTS(spot->item->row->label, pareto->metric->title));
        }
    }
}

static void lay_out(struct plot_page *page, const struct pareto *pareto)
{
    if (page->request->title == NULL) {
        page->title = arena_printf(page->arena, "%.*s against memory",
                                   (int)strcspn(pareto->metric->title, ","), pareto->metric->title);
    }
    plot_limits_note(page, NULL, NULL);
    struct plot_key *key = arena_alloc(page->arena, sizeof *key);
    *key = plot_key_of(page->arena, "the front: none has less memory and is as good", "lt 1");
    plot_frame_set(page, &(struct plot_frame){.width = WIDTH,
                                              .plot_height = PLOT_HEIGHT,
                                              .left = 64,
                                              .right = 24,
                                              .bottom = PLOT_TICS,
                                              .x_title = "'peak memory of a GPU, GB'",
                                              .y_title = "y_title[1]",
                                              .keys = key,
                                              .key_count = 1});
}

static void write_script(struct plot_page *page, const struct pareto *pareto)
{
    const char *column = pareto->metric->csv;
    struct range memory, values;
    find_ranges(pareto, &memory, &values);
    plot_script_begin(page, pareto->count);
    fprintf(page->script,
            "set xrange [%.10g:%.10g]\nset yrange [%.10g:%.10g]\n"
            "set key off\n"
            "set grid xtics ytics lc rgb '#dddddd' lw 0.8 lt 1\n",
            memory.low, memory.high, values.low, values.high);
    plot_script_end(
        page,
        arena_printf(page->arena,
                     "plot DATA using (column('is_front') == 1 ? column('memory_peak_gb') : "
                     "NaN):(column('%s')) smooth unique with lines lc rgb '#999999' lw 1.5 dt 2, "
                     "\\\n"
                     "     DATA using (column('is_front') == 0 ? column('memory_peak_gb') : "
                     "NaN):(column('%s')) with points pt 7 ps 1 lc rgb '#aa777777', \\\n"
                     "     DATA using (column('is_front') == 1 ? column('memory_peak_gb') : "
                     "NaN):(column('%s')) with points lt 1 ps 1.3%s",
                     column, column, column,
                     plot_labels_command(page->arena, "column('memory_peak_gb')",
                                         arena_printf(page->arena, "column('%s')", column))));
}

bool plot_write_pareto(struct plot_page *page)
{
    struct pareto pareto = {.metric = plot_request_metric(page)};
    if (pareto.metric == NULL) {
        return false;
    }
    collect(page, &pareto);
    mark_front(&pareto);
    lay_out(page, &pareto);
    write_data(page, &pareto);
    if (pareto.count == 0) {
        return diag_add(page->diag, DIAG_FAILURE, NULL, "no point of this study has a value of %s",
                        pareto.metric->name);
    }
    write_script(page, &pareto);
    return true;
}
