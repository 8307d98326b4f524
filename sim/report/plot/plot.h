/* Plots of a study, drawn by gnuplot as SVG and PNG.
 *
 * A plot is a row in a table: its name, what study it suits, a function that
 * writes the data (CSV, units in the head) and a gnuplot script. Data and script are
 * kept beside the pictures (NAME.csv, NAME.gp), so that any plot can be redone
 * without us: `gnuplot NAME.gp`. gnuplot is started without a shell
 * (posix_spawnp). When it is missing or fails, data and script are written all
 * the same and the diag says what to install.
 *
 * Around each is the same frame (plot_frame): title, what is fixed in grey, names,
 * the version. Names of series leave out what all of them say. What is not shown is
 * told: a line or a heatmap's cell that is the best of several points says over
 * what. A new picture takes the place of an old one when it is whole. A file's name
 * keeps letters, digits, '.', '_' and '-'; any other character becomes '_'.
 *
 * A picture is as large as what it shows, or has a size: for a slide, for a square, for print. Of
 * bars that have no room there the first, or the best, are drawn, and it is said of how many.
 *
 * Text that comes from users reaches gnuplot as data columns only, never inside
 * a script: gnuplot runs backticks in double-quoted strings.
 *
 *   lines       a metric against one axis, a line for each series and combination of the others
 *   causes      stacked bars: the step by cause, and the run, one bar per point
 *   dollars     days against dollars and the front; of one price ranked bars
 *   heatmap     a metric over two axes; the best framed, what has no result grey, with the reason
 *   whatif      what each point saves of the first one's time, ranked, and a ladder
 *   best        each value at its best, with its name, and what the layout of today loses
 *   pareto      a metric against the fullest GPU's memory, and what nothing beats in both
 */
#ifndef REPORT_PLOT_PLOT_H
#define REPORT_PLOT_PLOT_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct diag;

/* What is required: days <= 60. */
struct plot_limit {
    const char *text;   /* "days <= 60" */
    const char *metric; /* a name of store/store_metrics, or "gpus" */
    double value;       /* as the metric is stored */
};

struct plot_series {
    const char *title;
    const struct store_row *rows; /* borrowed */
    uint32_t count;
    /* [count], or NULL: of each row against the first one, four fifths of ratios of tokens/s lie
     * between this times and one over it times the ratio; ABSENT: nobody knows. */
    const double *factors;
    const bool *misses;            /* [count], or NULL: which rows miss what is required */
    const char *const *winners;    /* of a best: each row's name [count]; NULL: by its axes */
    const char *winners_share;     /* and what they have in common; NULL: nothing is known */
    const struct store_row *today; /* of a best: the values with the layout that the file has */
    uint32_t today_count;
    const struct store_row *rungs; /* of a whatif: a ladder, each with those before it */
    uint32_t rung_count;
};

struct plot_request {
    const char *kind;      /* one of plot_kinds */
    const char *metric;    /* "mfu", "days", ... of a kind that takes one; NULL: its own */
    const char *x_axis;    /* the name of an axis; NULL: the first axis */
    const char *y_axis;    /* NULL: the second axis */
    const char *title;     /* NULL: of several studies, each named by its own */
    const char *path_base; /* "results/fabric": .csv .gp .svg .png are appended */
    uint32_t size;         /* index of plot_size_names; 0: the usual one, which is what it needs */
    const struct plot_series *series;
    uint32_t series_count;
    const struct plot_limit *limits;
    uint32_t limit_count;
};

/* Names of the kinds, for help, completion and messages; the first is drawn where none is asked
 * for. */
const char *const *plot_kinds(uint32_t *count);
const char *plot_kind_title(uint32_t number);

/* What a request may say, to a kind that takes it. */
enum { PLOT_TAKES_METRIC = 1, PLOT_TAKES_X = 2, PLOT_TAKES_Y = 4 };

/* Whether a kind takes all of these; false of a name that is none. */
bool plot_kind_takes(const char *kind, unsigned what);

/* "lines, heatmap and best": the kinds that do. */
const char *plot_kinds_taking(struct arena *arena, unsigned what);

/* "usual", "slide", "square", "print": plot_frame.h says how large they are. */
enum { PLOT_SIZE_COUNT = 4 };
extern const char *const plot_size_names[PLOT_SIZE_COUNT];

/* The path that plot_draw uses for a request's `suffix`: ".svg", ".csv", ... */
const char *plot_path(struct arena *arena, const char *path_base, const char *suffix);

/* Writes data and script, then runs gnuplot for SVG and PNG. False when
 * something is missing; what could be written is there. */
MUST_USE bool plot_draw(struct arena *arena, const struct plot_request *request, struct diag *diag);

#endif
