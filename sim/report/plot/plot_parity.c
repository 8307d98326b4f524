/* A scatter plot with one point for each measured run: measured time to the
 * right, predicted time upwards. The series are the sources, and the suspect
 * rows come last as one of their own.
 */
#include "report/plot/plot_parity.h"

#include "base/arena.h"
#include "report/plot/plot_kinds.h"

#include <string.h>

static const char *const text_columns[] = {"series_title", "row_id", "plot_title"};
static const char suspects[] = "suspect, not scored";

/* What is drawn. */
struct parity {
    const struct parity_point *points;
    uint32_t count;
    const char **titles; /* of series, in the order of the rows; suspects last */
    uint32_t series_count;
    double low, high; /* s */
};

static const char *title_of(const struct parity_point *point)
{
    return point->is_suspect ? suspects : point->source;
}

static uint32_t series_of(const struct parity *parity, const char *title)
{
    uint32_t series = 0;
    while (series < parity->series_count && strcmp(parity->titles[series], title) != 0) {
        series++;
    }
    return series;
}

static void widen(struct parity *parity, double value)
{
    parity->low = parity->low == 0.0 || value < parity->low ? value : parity->low;
    parity->high = value > parity->high ? value : parity->high;
}

static void collect(struct arena *arena, struct parity *parity)
{
    parity->titles = arena_array(arena, parity->count + (size_t)1, sizeof *parity->titles);
    bool has_suspects = false;
    for (uint32_t i = 0; i < parity->count; i++) {
        const struct parity_point *point = &parity->points[i];
        widen(parity,
              point->measured_s < point->predicted_s ? point->measured_s : point->predicted_s);
        widen(parity,
              point->measured_s > point->predicted_s ? point->measured_s : point->predicted_s);
        if (point->is_suspect) {
            has_suspects = true;
        } else if (series_of(parity, point->source) == parity->series_count) {
            parity->titles[parity->series_count++] = point->source;
        }
    }
    if (has_suspects) {
        parity->titles[parity->series_count++] = suspects;
    }
}

static void write_data(struct plot_page *page, const struct parity *parity)
{
    static const char *const numbers[] = {"series", "measured_s", "predicted_s"};
    PLOT_HEAD(page, numbers, text_columns);
    for (uint32_t i = 0; i < parity->count; i++) {
        const struct parity_point *point = &parity->points[i];
        plot_row(
            page,
            PLOT_NUMBERS(series_of(parity, title_of(point)), point->measured_s, point->predicted_s),
            PLOT_TEXTS(title_of(point), point->id, page->request->title));
    }
}

static bool write_page(struct plot_page *page)
{
    struct parity parity = *(const struct parity *)page->subject;
    collect(page->arena, &parity);
    write_data(page, &parity);
    if (parity.count == 0) {
        return diag_add(page->diag, DIAG_FAILURE, NULL, "no row was predicted and measured");
    }
    plot_script_begin(page, parity.count);
    fprintf(page->script,
            "array SERIES_TITLE[%u]\n"
            "array OPEN[8] = [6, 4, 8, 10, 12, 14, 1, 2]\n" /* of the palette's second turn */
            "stats DATA using (SERIES_TITLE[int(column('series'))+1] = series_title[int($0)+1], 0) "
            "nooutput\n"
            "set logscale xy\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n"
            "set size ratio 1\nset grid xtics ytics lc rgb '#dddddd' lw 0.8 lt 1\n"
            "set xlabel 'measured step, s'\nset ylabel 'predicted step, s'\n"
            "set key outside right top Left reverse\n",
            parity.series_count, parity.low / 1.3, parity.high * 1.3, parity.low / 1.3,
            parity.high * 1.3);
    plot_script_end(
        page, 900, 640,
        arena_printf(page->arena,
                     "plot x with lines lc rgb '#333333' lw 1.2 dt 1 title 'equal', \\\n"
                     "     1.1*x with lines lc rgb '#777777' lw 1 dt 2 title '10 %% off', \\\n"
                     "     0.9*x with lines lc rgb '#777777' lw 1 dt 2 notitle, \\\n"
                     "     for [i=0:%u] DATA using (column('series') == i ? column('measured_s') : "
                     "NaN):(column('predicted_s')) with points lc rgb COLOUR[i%%8+1] "
                     "pt (i < 8 ? MARK[i+1] : OPEN[i%%8+1]) lw 1 ps 0.7 "
                     "title SERIES_TITLE[i+1]",
                     parity.series_count - 1));
    return true;
}

bool plot_parity(struct arena *arena, const struct parity_point *points, uint32_t count,
                 const char *path_base, struct diag *diag)
{
    const struct parity parity = {.points = points, .count = count};
    const struct plot_request request = {.title = "Step times, predicted and measured",
                                         .path_base = path_base};
    struct plot_page page = {.arena = arena, .request = &request, .subject = &parity, .diag = diag};
    return plot_page_draw(&page, write_page);
}
