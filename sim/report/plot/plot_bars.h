/* Inside the plots: lying bars, one below the other, each with its name to the left. Long names
 * have room there, and nothing need be turned.
 *
 *     name of the first |#######           what it is worth
 *        of the second  |############
 *                       +-----+-----+-
 *
 * Rows are told from the top, the middle of the first one being 0. In a page of a size they are as
 * high as it lets them be, but bars are no thicker than in rows of THICKEST times the usual height:
 * THICK, in scripts, is what to multiply half their thickness by.
 */
#ifndef REPORT_PLOT_PLOT_BARS_H
#define REPORT_PLOT_PLOT_BARS_H

#include "report/plot/plot_kinds.h"

enum { PLOT_BARS_LINE = 18 /* from one line of a name to the next */ };

struct plot_rows {
    uint32_t count;
    uint32_t height;    /* of each, usually */
    uint32_t lines;     /* of the names: no row is lower than they need */
    const char *which;  /* which are drawn where not all have room: "first", "best" */
    const char *what;   /* "points" */
    uint32_t count_all; /* of which `count` are the ones that could be drawn; 0: `count` */
};

/* Sets the page's frame for the rows; the note says how many were left out, if any. Returns how
 * many are drawn. */
uint32_t plot_bars_set(struct plot_page *page, const struct plot_frame *frame,
                       const struct plot_rows *rows);

/* How many rows of names of so many lines have room in the frame that is set. */
uint32_t plot_bars_room(const struct plot_page *page, uint32_t lines);

/* What names take to the left of the axis: of each as many lines, none wider than `most`. */
uint32_t plot_bars_left(struct arena *arena, const char *const *names, uint32_t count,
                        uint32_t line_count, double most);

struct plot_bars {
    uint32_t count;
    double last;       /* row of the last one */
    uint32_t height;   /* of a row, usually */
    const char *name;  /* of bar i of 1 to `count`, as gnuplot reads it: "label[i]" */
    const char *place; /* its row: "i-1" */
};

/* Their axes as commands, but for the range of x and its title. */
void plot_bars_axes(const struct plot_page *page, const struct plot_bars *bars);

#endif
