/* Inside the drawing of a pipeline: what a row shows at each moment, as boxes that can be seen.
 *
 * A row of a timeline is cut into *columns*, side by side from the begin of a view to its end. A
 * column is as fine as its width allows:
 *
 *     a piece    kernels of one action up to the next wait, or a wait
 *     a bar      all of an action, with what it waits for inside
 *     several    bars and waits until they are wide enough, up to where the same operation comes
 *                again: so of a steady state each column has whole cycles and looks like the next
 *
 * Within a column the parts lie upon each other, kernels below and waits above, each as high as its
 * share of the column's time. So areas are times whatever the columns are, and however many bars
 * there are, none is a hair that one screen shows and another does not. Heights of all boxes of a
 * row add up to its length (column by column, exactly).
 *
 * A lane below a row is one kind of transfer. Where these can be seen, or are fewer than columns,
 * each has its box, else a column of the row has one as high as the share of its time in which such
 * a transfer moves.
 */
#ifndef REPORT_PICTURE_PLOT_PIPELINE_COLUMNS_H
#define REPORT_PICTURE_PLOT_PIPELINE_COLUMNS_H

#include "train/timeline.h"

/* What a box shows, and the order in which parts lie upon each other. */
enum pipeline_part {
    PART_FORWARD,
    PART_BACKWARD,
    PART_INPUT,
    PART_WEIGHTS,
    PART_RECOMPUTE,
    PART_OPTIMIZER,
    PART_HOST,
    PART_CAUSE_FIRST_, /* then waits, by cause */
    PART_COUNT_ = PART_CAUSE_FIRST_ + CAUSE_COUNT_
};

/* Of a wait, or of a transfer that it is for. */
static inline uint32_t pipeline_part_of_cause(enum cause cause)
{
    return PART_CAUSE_FIRST_ + (uint32_t)cause;
}

#define PIPELINE_NO_CHUNK UINT32_MAX
#define PIPELINE_NO_LABEL UINT32_MAX

struct pipeline_box {
    uint32_t row;
    uint32_t lane;  /* 0: the row itself, else the number of a lane + 1 */
    uint32_t part;  /* of enum pipeline_part */
    uint32_t chunk; /* PIPELINE_NO_CHUNK: of several, or of none */
    uint32_t label; /* of an action the microbatch, told once; else PIPELINE_NO_LABEL */
    sim_time start, end;
    double low, high; /* of the row's or the lane's height: 0 to 1 */
    bool ends_bar;    /* the next box is of another action */
};

struct pipeline_boxes {
    struct pipeline_box *items;
    size_t count, capacity;
};

struct pipeline_view {
    sim_time from, to;
    double pixels;       /* between them */
    bool gathers;        /* bars together in columns; else one has its own, however narrow */
    double piece_pixels; /* pieces that are narrower in the mean are shown as bars, */
    double bar_pixels;   /* columns of several bars are at least so wide */
    double lane_pixels;  /* transfers that are narrower in the mean with columns */
    const enum cause *lanes;
    uint32_t lane_count;
};

/* In the order in which boxes are drawn that stand on the base of their row: lanes last, of a row
 * what lies higher first, all of one look (part and chunk) one after the other. */
void pipeline_sort(struct pipeline_boxes *boxes);

/* Adds the boxes of a timeline's row. */
void pipeline_columns(struct arena *arena, const struct timeline *timeline, uint32_t row,
                      const struct pipeline_view *view, struct pipeline_boxes *boxes);

#endif
