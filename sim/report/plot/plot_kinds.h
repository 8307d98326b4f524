/* Inside the plots: the kinds, one row each. */
#ifndef REPORT_PLOT_PLOT_KINDS_H
#define REPORT_PLOT_PLOT_KINDS_H

#include "report/plot/plot_data.h"

/* One picture in the making. */
struct plot_page {
    struct arena *arena;
    const struct plot_request *request;
    const char *name;        /* of the files, without suffix: safe in a script */
    struct plot_item *items; /* all rows of all series; at least one */
    uint32_t item_count;
    const void *subject; /* what is drawn instead, of plots that are no study's */
    struct csv csv;
    uint32_t number_count; /* columns of the CSV: numbers, then texts */
    uint32_t text_count;
    const char *const *texts;
    FILE *script;
    struct diag *diag;
};

struct plot_kind {
    const char *name;
    const char *title; /* what it shows */
    /* Writes the CSV and the script. False, with the reason in diag, when there
     * is nothing to draw; the CSV is whole then all the same. */
    bool (*write)(struct plot_page *page);
};

/* Makes the files and runs gnuplot; `write` fills CSV and script as a kind's does. The page needs
 * arena, request (title and path_base) and diag. */
MUST_USE bool plot_page_draw(struct plot_page *page, bool (*write)(struct plot_page *page));

/* The columns of the CSV, of which the texts come last; then a row for each point. */
void plot_head(struct plot_page *page, const char *const *numbers, uint32_t number_count,
               const char *const *texts, uint32_t text_count);
void plot_row(struct plot_page *page, const double *numbers, const char *const *texts);
#define PLOT_HEAD(page, numbers, texts)                                  \
    plot_head(page, numbers, sizeof(numbers) / sizeof *(numbers), texts, \
              sizeof(texts) / sizeof *(texts))
#define PLOT_NUMBERS(...) ((const double[]){__VA_ARGS__})
#define PLOT_TEXTS(...) ((const char *const[]){__VA_ARGS__})

/* The beginning of every script. Each of the text columns becomes an array of that name with an
 * element for each of the `row_count` rows; plot_title[1] is the title. */
void plot_script_begin(struct plot_page *page, uint32_t row_count);

/* Its end: `plot`, one command, is drawn as SVG of `width` by `height` pixels and
 * as PNG with 1.5 times as many. */
void plot_script_end(struct plot_page *page, uint32_t width, uint32_t height, const char *plot);

/* The metric that was asked for, mfu when none was; NULL, with a message, if it is unknown. */
const struct figure_metric *plot_request_metric(const struct plot_page *page);

bool plot_write_lines(struct plot_page *page);
bool plot_write_causes(struct plot_page *page);
bool plot_write_dollars(struct plot_page *page);
bool plot_write_heatmap(struct plot_page *page);
bool plot_write_pareto(struct plot_page *page);

#endif
