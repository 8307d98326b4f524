/* Inside the plots: the kinds, one row each. */
#ifndef REPORT_PLOT_PLOT_KINDS_H
#define REPORT_PLOT_PLOT_KINDS_H

#include "report/plot/plot_data.h"
#include "report/plot/plot_frame.h"

/* One picture in the making. */
struct plot_page {
    struct arena *arena;
    const struct plot_request *request;
    const char *name;  /* of the files, without suffix: safe in a script */
    const char *title; /* the request's, or what a kind says of several studies */
    const char *note;  /* what is fixed, and what is not shown; "" */
    const struct plot_size *size;
    struct plot_frame frame; /* set by plot_frame_set, before the head is written */
    struct plot_item *items; /* all rows of all series; at least one */
    uint32_t item_count;
    const void *subject; /* what is drawn instead, of plots that are no study's */
    struct csv csv;
    bool has_row;          /* the CSV has one */
    uint32_t number_count; /* columns of the CSV: numbers, then texts, then words of the frame */
    uint32_t text_count;
    const char *const *texts;
    FILE *script;
    struct diag *diag;
};

struct plot_kind {
    const char *name;
    const char *title; /* what it shows */
    unsigned takes;    /* PLOT_TAKES_... */
    /* What is drawn of one study at a time; NULL: it draws several beside each other. */
    const char *alone;
    /* Writes the CSV and the script. False, with the reason in diag, when there
     * is nothing to draw; the CSV is whole then all the same. */
    bool (*write)(struct plot_page *page);
};

/* Makes the files and runs gnuplot; `write` fills CSV and script as a kind's does. The page needs
 * arena, request (title and path_base) and diag. */
MUST_USE bool plot_page_draw(struct plot_page *page, bool (*write)(struct plot_page *page));

/* A point's name, behind that of its study where there are several. */
const char *plot_item_label(const struct plot_page *page, const struct plot_item *item);

/* Says more in the page's note: "best over pp". */
void plot_add_note(struct plot_page *page, const char *text);

/* The columns of the CSV, of which the texts come last; then a row for each point. The words of the
 * frame are columns of their own, of which the first row has the text. */
void plot_head(struct plot_page *page, const char *const *numbers, uint32_t number_count,
               const char *const *texts, uint32_t text_count);
void plot_row(struct plot_page *page, const double *numbers, const char *const *texts);
#define PLOT_HEAD(page, numbers, texts)                                  \
    plot_head(page, numbers, sizeof(numbers) / sizeof *(numbers), texts, \
              sizeof(texts) / sizeof *(texts))
#define PLOT_NUMBERS(...) ((const double[]){__VA_ARGS__})
#define PLOT_TEXTS(...) ((const char *const[]){__VA_ARGS__})

/* The beginning of every script. Each of the text columns becomes an array of that name with an
 * element for each of the `row_count` rows; the frame is drawn when all its texts are known. */
void plot_script_begin(struct plot_page *page, uint32_t row_count);

/* Its end: the frame, and `plot`, one command, as SVG and as PNG of 1.5 times as many pixels. */
void plot_script_end(struct plot_page *page, const char *plot);

/* The same of several plots: `plots` writes their commands, once for each picture. What the frame
 * has around them are labels, which it is to unset after the first. */
void plot_script_end_with(struct plot_page *page, void (*plots)(struct plot_page *page));

/* The metric that was asked for; when none was mfu, or tokens/s of a GPU where peaks differ and mfu
 * does not compare, which is a note of the page where it was asked for all the same. NULL, with a
 * message, if it is unknown. */
const struct figure_metric *plot_request_metric(struct plot_page *page);

bool plot_write_lines(struct plot_page *page);
bool plot_write_causes(struct plot_page *page);
bool plot_write_dollars(struct plot_page *page);
bool plot_write_heatmap(struct plot_page *page);
bool plot_write_pareto(struct plot_page *page);
bool plot_write_whatif(struct plot_page *page);
bool plot_write_best(struct plot_page *page);

#endif
