/* How far predictions are off, a row for each source and a dot for each measured run: an error of
 * 10 % is as far from the middle for a step of 0.2 s as for one of 1,000 s, and what a source has
 * in common is seen at once. Suspect rows, which are not scored, are rings. The worst are named
 * below the title.
 */
#include "report/picture/plot_parity.h"

#include "base/arena.h"
#include "base/diag.h"
#include "report/plot/plot_bars.h"
#include "report/plot/plot_kinds.h"

#include <math.h>

enum { WIDTH = 900, ROW_HEIGHT = 26, WORST = 3, LEFT = 200, RIGHT = 130 };
#define ERROR_SHOWN 40.0 /* %: what is further off stands at the edge */

/* What is drawn. */
struct parity {
    const struct parity_point *points;
    uint32_t count;
    const struct parity_source **sources;    /* in the order of the rows */
    uint32_t source_count, shown;            /* rows, and those that have room */
    const struct parity_point *worst[WORST]; /* scored, the worst first; NULL: fewer are */
};

static double error_of(const struct parity_point *point)
{
    return 100 * (point->predicted_s / point->measured_s - 1);
}

static uint32_t source_of(const struct parity *parity, const struct parity_point *point)
{
    uint32_t source = 0;
    while (source < parity->source_count && parity->sources[source] != point->source) {
        source++;
    }
    return source;
}

static void note_worst(struct parity *parity, const struct parity_point *point)
{
    for (uint32_t k = 0; k < WORST; k++) {
        const struct parity_point *other = parity->worst[k];
        if (other == NULL || fabs(error_of(point)) > fabs(error_of(other))) {
            parity->worst[k] = point;
            if (other == NULL) {
                return;
            }
            point = other;
        }
    }
}

static void collect(struct arena *arena, struct parity *parity)
{
    parity->sources = arena_array(arena, parity->count, sizeof *parity->sources);
    for (uint32_t i = 0; i < parity->count; i++) {
        const struct parity_point *point = &parity->points[i];
        if (source_of(parity, point) == parity->source_count) {
            parity->sources[parity->source_count++] = point->source;
        }
        if (!point->is_suspect) {
            note_worst(parity, point);
        }
    }
}

/* "worst: a +30 %, b -26 %" */
static const char *worst_of(struct arena *arena, const struct parity *parity)
{
    const char *text = "";
    for (uint32_t k = 0; k < WORST && parity->worst[k] != NULL; k++) {
        text = arena_printf(arena, "%s%s %s %+.0f %%", text, k == 0 ? "worst:" : ",",
                            parity->worst[k]->id, error_of(parity->worst[k]));
    }
    return text;
}

/* "102 runs, 4.2 %": of the scored rows of a source. */
static const char *summary_of(struct arena *arena, const struct parity_source *source)
{
    return source->runs > 0 ? arena_printf(arena, "%lu runs, %.1f %%", (unsigned long)source->runs,
                                           100 * source->mean)
                            : "not scored";
}

static void write_data(struct plot_page *page, const struct parity *parity)
{
    static const char *const numbers[] = {"source_index",  "measured_s", "predicted_s",
                                          "error_percent", "shown",      "jitter",
                                          "is_suspect"};
    static const char *const texts[] = {"source", "row_id", "summary"};
    PLOT_HEAD(page, numbers, texts);
    for (uint32_t i = 0; i < parity->count; i++) {
        const struct parity_point *point = &parity->points[i];
        const uint32_t source = source_of(parity, point);
        const double error = error_of(point);
        const double jitter = 0.5 * ((i * 7 % 13) / 12.0 - 0.5); /* so that dots are seen apart */
        plot_row(
            page,
            PLOT_NUMBERS(source, point->measured_s, point->predicted_s, error,
                         fmax(-ERROR_SHOWN, fmin(ERROR_SHOWN, error)), jitter, point->is_suspect),
            PLOT_TEXTS(point->source->name, point->id, summary_of(page->arena, point->source)));
    }
}

static void lay_out(struct plot_page *page, struct parity *parity)
{
    enum { KEYS = 3 };
    struct plot_key *keys = arena_array(page->arena, KEYS, sizeof *keys);
    keys[0] = plot_key_of(page->arena, "a measured run", "pt 7 ps 0.7 lc rgb '#0072B2'");
    keys[1] = plot_key_of(page->arena, "suspect, not scored", "pt 6 ps 0.7 lc rgb '#999999'");
    keys[2] = plot_key_patch(page->arena, "within 10 %", "#e3eef5");
    const struct plot_frame frame = {
        .width = WIDTH,
        .left = LEFT,
        .right = RIGHT,
        .bottom = PLOT_TICS,
        .x_title = arena_printf(page->arena,
                                "'predicted step longer than measured, %%; beyond %g at the edge'",
                                ERROR_SHOWN),
        .keys = keys,
        .key_count = KEYS};
    parity->shown = plot_bars_set(page, &frame,
                                  &(struct plot_rows){.count = parity->source_count,
                                                      .height = ROW_HEIGHT,
                                                      .lines = 1,
                                                      .which = "first",
                                                      .what = "sources"});
}

static bool write_page(struct plot_page *page)
{
    struct parity parity = *(const struct parity *)page->subject;
    collect(page->arena, &parity);
    page->note = worst_of(page->arena, &parity);
    lay_out(page, &parity);
    write_data(page, &parity);
    if (parity.count == 0) {
        return diag_add(page->diag, DIAG_FAILURE, NULL, "no row was predicted and measured");
    }
    plot_script_begin(page, parity.count);
    fprintf(page->script,
            "array SOURCE[%u]\narray SUMMARY[%u]\n"
            "stats DATA using (SOURCE[int(column('source_index'))+1] = source[int($0)+1], "
            "SUMMARY[int(column('source_index'))+1] = summary[int($0)+1], 0) nooutput\n"
            "set xrange [%g:%g]\n"
            "set object rectangle from -10, graph 0 to 10, graph 1 fillcolor rgb '#e3eef5' "
            "fillstyle solid 1 noborder behind\n"
            "set arrow from 0, graph 0 to 0, graph 1 nohead lc rgb '#333333' lw 1\n"
            "set for [i=1:%u] label SUMMARY[i] at graph 1, first i-1 left offset 0.8,0 "
            "font 'DejaVu Sans,11' textcolor rgb '#444444'\n",
            parity.source_count, parity.source_count, -1.05 * ERROR_SHOWN, 1.05 * ERROR_SHOWN,
            parity.shown);
    plot_bars_axes(page, &(struct plot_bars){.count = parity.shown,
                                             .last = parity.shown - 1.0,
                                             .height = ROW_HEIGHT,
                                             .name = "SOURCE[i]",
                                             .place = "i-1"});
    plot_script_end(
        page,
        "plot DATA using (column('is_suspect') == 1 ? column('shown') : NaN):"
        "(column('source_index')+column('jitter')) with points pt 6 ps 0.7 lw 0.8 "
        "lc rgb '#999999', \\\n"
        "     DATA using (column('is_suspect') == 0 ? column('shown') : NaN):"
        "(column('source_index')+column('jitter')) with points pt 7 ps 0.6 lc rgb '#600072B2'");
    return true;
}

bool plot_parity(struct arena *arena, const struct parity_point *points, uint32_t count,
                 const struct plot_request *request, struct diag *diag)
{
    const struct parity parity = {.points = points, .count = count};
    struct plot_page page = {.arena = arena,
                             .request = request,
                             .title = "How far predicted steps are off, by source",
                             .subject = &parity,
                             .diag = diag};
    return plot_page_draw(&page, write_page);
}
