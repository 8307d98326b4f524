/* Inside the plots: names of points, none of which covers a point or another name.
 *
 * A name goes to the first of four sides of its point where it is free; where none is, it is left
 * out. The front's names have the choice first. Comparing all
 * pairs is fine for the at most PLOT_LABELS_MAX points that have one.
 */
#ifndef REPORT_PLOT_PLOT_LABELS_H
#define REPORT_PLOT_PLOT_LABELS_H

#include <stdbool.h>
#include <stdint.h>

struct arena;

enum { PLOT_LABELS_MAX = 200 };

enum plot_side { PLOT_RIGHT, PLOT_LEFT, PLOT_ABOVE, PLOT_BELOW, PLOT_NO_SIDE };

struct plot_box {
    double left, right, low, high;
};

struct plot_named {
    double x, y; /* pixels from the lower left corner of the plot */
    const char *label;
    bool is_front;
    enum plot_side side; /* found */
    struct plot_box box; /* of the name; empty for PLOT_NO_SIDE */
};

/* Of a plot of `width` by `height` pixels; the front's names first. */
void plot_labels_place(struct plot_named *points, uint32_t count, double width, double height);

/* Moves places on a line, in pixels from its lower end, apart: no two closer than `gap`, none above
 * `top` while there is room. */
void plot_labels_spread(struct arena *arena, double *places, uint32_t count, double gap,
                        double top);

/* The labels as parts of a plot command, a column `side` saying which: `x` and `y` are expressions
 * of the point's place, label[] its name. */
const char *plot_labels_command(struct arena *arena, const char *x, const char *y);

#endif
