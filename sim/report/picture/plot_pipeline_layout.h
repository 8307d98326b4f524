/* Inside the drawing of a pipeline: which panels it has, and where everything in them stands.
 *
 *     the whole step           an overview: rows alone
 *     |==========|=|=====|
 *            .      .
 *     magnified  .        .    rows with a lane below for each kind of transfer
 *     |==================|
 *
 * A step that can be seen as it is has one panel, with lanes. Lengths are pixels of the SVG, from
 * the upper left corner of the plot. A panel is as fine as it can be with a bounded number of
 * boxes, since each weighs some 50 bytes in the SVG.
 */
#ifndef REPORT_PICTURE_PLOT_PIPELINE_LAYOUT_H
#define REPORT_PICTURE_PLOT_PIPELINE_LAYOUT_H

#include "report/picture/plot_pipeline_columns.h"
#include "report/picture/plot_pipeline_view.h"

enum {
    PIPELINE_WIDTH = 976, /* of the picture: text of 11 pixels is 9 of one 800 wide */
    PIPELINE_RIGHT = 16,
    PIPELINE_AXIS_TITLE = 18,
    PIPELINE_SMALL = 11,   /* letters of names and numbers */
    PIPELINE_GAP_FROM = 4, /* wider bars are told apart by a gap */
};

/* A part of the picture that shows a part of the step. */
struct pipeline_panel {
    struct pipeline_view view;
    const char *caption; /* "" */
    double top, row_height, between;
    double lane_height;
    double
        label_width;   /* of the widest number: boxes of one width have all their numbers or none */
    double label_room; /* pixels beside a number */
    uint32_t *rows;    /* [row_count] of the timeline, from above */
    uint32_t row_count;
    double *places; /* of each row of the timeline, counted from above; between two if not shown */
    struct pipeline_boxes boxes; /* sorted */
};

struct pipeline_drawing {
    struct arena *arena;
    const struct timeline *timeline;
    struct pipeline_panel panels[2];
    uint32_t panel_count;
    double left;          /* of the plot: room for names */
    double width, height; /* of the plot */
    double room;          /* that its height is to fill; 0: what it needs */
    double unit;          /* of times, in a second */
    const char *unit_name;
    enum cause lanes[CAUSE_COUNT_]; /* kinds of transfer that there are */
    uint32_t lane_count;
    struct pipeline_run *runs;
    size_t run_count;
    bool has_part[PART_COUNT_]; /* in a row or a lane */
    bool has_wait;
};

/* The page that it is laid out for. */
struct pipeline_page {
    double width;  /* of the picture */
    double height; /* of the plot; 0: what it needs */
};

/* Borrows the timeline; all memory is the arena's. Rows that cannot be as low as `height` would
 * have them make the drawing higher. */
struct pipeline_drawing pipeline_lay_out(struct arena *arena, const struct timeline *timeline,
                                         const struct pipeline_page *page);

/* ---- places ---------------------------------------------------------------------------------- */

double pipeline_x(const struct pipeline_panel *panel, sim_time time);

/* `place` counts rows from above. */
double pipeline_row_top(const struct pipeline_panel *panel, double place);
double pipeline_bottom(const struct pipeline_panel *panel);

/* On what boxes of a row (lane 0) or a lane of it stand, and how high a full one is. */
double pipeline_base(const struct pipeline_panel *panel, uint32_t row, uint32_t lane);
double pipeline_height(const struct pipeline_panel *panel, uint32_t lane);

/* ---- words and colours ----------------------------------------------------------------------- */

const char *pipeline_part_name(uint32_t part);                         /* "TP communication" */
const char *pipeline_lane_name(struct arena *arena, enum cause cause); /* "TP" */
const char *pipeline_row_name(struct arena *arena, const struct timeline *timeline,
                              uint32_t number); /* "stage 3", "rank 21: 90 %" */

/* The microbatch's number, where it can be read. */
const char *pipeline_label(const struct pipeline_drawing *drawing,
                           const struct pipeline_panel *panel, const struct pipeline_box *box);

/* Of several chunks, and of the only one, the darkest. */
uint32_t pipeline_colour(const struct timeline *timeline, uint32_t part, uint32_t chunk);

#endif
