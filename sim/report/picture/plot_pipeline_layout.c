/* Heights are shared out among rows; pixels for a piece, a bar or a transfer grow until there are
 * not too many boxes.
 */
#include "report/picture/plot_pipeline_layout.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/slow_ranks.h"
#include "report/plot/plot_colours.h"
#include "report/plot/plot_frame.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    NAME_MARGIN = 24,
    ROWS_HEIGHT_MIN = 490, /* of a panel that shows lanes */
    ROWS_HEIGHT_MAX = 900,
    ROW_SHARE = 64, /* of that for each row, in between */
    ROW_HEIGHT_MIN = 4,
    ROW_HEIGHT_MAX = 240,
    BETWEEN_MIN = 3,
    BETWEEN_MAX = 18,
    ABOVE_LANES = 2,
    LANE_HEIGHT_MIN = 3,
    BETWEEN_PANELS = 12,
    MAGNIFIED_ROWS_MAX = 24,
    MAGNIFIED_STAGES = 16, /* of more */
    OVERVIEW_HEIGHT = 200,
    OVERVIEW_ROW_MIN = 4,
    OVERVIEW_ROW_MAX = 22,
    OVERVIEW_PIXELS = 6, /* of a column */
    CAPTION_HEIGHT = 22,
    AXIS_HEIGHT = 26,
    LABELS_ROW_HEIGHT = 11, /* lower rows have no room for numbers */
    LABEL_ROOM = 3,
    LABELS_MAX = 260,       /* 250 bytes each */
    BOXES_MAX = 2000,       /* of a panel */
    WHOLE_BOXES_MAX = 4200, /* of a panel that is alone */
};
#define OVERVIEW_SHARE 0.25 /* of a page that is to be filled */
#define PIECE_PIXELS 2.5
#define COARSER 1.25    /* from one try to the next */
#define LANE_SHARE 0.32 /* of the height of the row it is of */
#define BETWEEN_SHARE 0.36

/* Kernels have shades of their cause; gradients that are computed apart, colours of their own. */
static const struct part_row {
    const char *name;
    enum cause cause;
    uint32_t own_colour;      /* 0: the cause's */
    double lightest, darkest; /* of the first chunk and of the last: how much of the colour */
} kernels[PART_CAUSE_FIRST_] = {
    [PART_FORWARD] = {"forward", CAUSE_COMPUTE, 0, 0.16, 0.3},
    [PART_BACKWARD] = {"backward", CAUSE_COMPUTE, 0, 0.72, 1},
    [PART_INPUT] = {"input gradients", CAUSE_COMPUTE, 0x3f51b5, 0.72, 1},
    [PART_WEIGHTS] = {"weight gradients", CAUSE_COMPUTE, 0x00798c, 0.72, 1},
    [PART_RECOMPUTE] = {"recomputation", CAUSE_RECOMPUTE, 0, 1, 1},
    [PART_OPTIMIZER] = {"optimizer", CAUSE_OPTIMIZER, 0, 1, 1},
    [PART_HOST] = {"host", CAUSE_LAUNCH, 0, 1, 1},
};

/* ---- names ----------------------------------------------------------------------------------- */

/* "TP communication" of "exposed TP communication". */
static const char *cause_name(enum cause cause)
{
    static const char exposed[] = "exposed ";
    const char *title = cause_titles[cause];
    return strncmp(title, exposed, strlen(exposed)) == 0 ? title + strlen(exposed) : title;
}

const char *pipeline_part_name(uint32_t part)
{
    return part < PART_CAUSE_FIRST_ ? kernels[part].name
                                    : cause_name((enum cause)(part - PART_CAUSE_FIRST_));
}

/* "TP" */
const char *pipeline_lane_name(struct arena *arena, enum cause cause)
{
    const char *name = cause_name(cause);
    return arena_printf(arena, "%.*s", (int)strcspn(name, " "), name);
}

/* "90 %", "NIC 50 %" */
static const char *slowness_of(struct arena *arena, const struct slow_rank *slow)
{
    return slow->speed < 1 ? arena_printf(arena, "%.3g %%", 100 * slow->speed)
           : slow->nic < 1 ? arena_printf(arena, "NIC %.3g %%", 100 * slow->nic)
                           : arena_printf(arena, "scale-up %.3g %%", 100 * slow->scale_up);
}

const char *pipeline_row_name(struct arena *arena, const struct timeline *timeline, uint32_t number)
{
    const struct timeline_row *row = &timeline->rows[number];
    if (row->rank >= 0) {
        return arena_printf(arena, "rank %lld, on the path", (long long)row->rank);
    }
    if (row->slow == NULL) {
        return arena_printf(arena, "stage %" PRIu32, row->stage);
    }
    const char *alike =
        row->alike > 0 ? arena_printf(arena, ", %" PRIu32 " alike", row->alike) : "";
    return arena_printf(
        arena, "%srank %lld: %s%s",
        number < timeline->stages ? arena_printf(arena, "stage %" PRIu32 ", ", row->stage) : "",
        (long long)row->slow->rank, slowness_of(arena, row->slow), alike);
}

/* ---- colours --------------------------------------------------------------------------------- */

static uint32_t mix_with_white(uint32_t colour, double share)
{
    uint32_t mixed = 0;
    for (uint32_t shift = 0; shift <= 16; shift += 8) {
        const double channel = (colour >> shift) & 0xff;
        mixed |= (uint32_t)(255 - share * (255 - channel)) << shift;
    }
    return mixed;
}

uint32_t pipeline_colour(const struct timeline *timeline, uint32_t part, uint32_t chunk)
{
    if (part >= PART_CAUSE_FIRST_) {
        return plot_cause_colours[part - PART_CAUSE_FIRST_];
    }
    const struct part_row *row = &kernels[part];
    const double place = chunk == PIPELINE_NO_CHUNK || timeline->chunks == 1
                             ? 1
                             : (double)chunk / (timeline->chunks - 1);
    const uint32_t colour = row->own_colour != 0 ? row->own_colour : plot_cause_colours[row->cause];
    return mix_with_white(colour, row->lightest + place * (row->darkest - row->lightest));
}

/* ---- layout ---------------------------------------------------------------------------------- */

double pipeline_row_top(const struct pipeline_panel *panel, double place)
{
    const double pitch = panel->row_height + panel->view.lane_count * panel->lane_height +
                         (panel->view.lane_count > 0 ? ABOVE_LANES : 0) + panel->between;
    return panel->top + place * pitch;
}

/* Where boxes of a row or a lane stand. */
double pipeline_base(const struct pipeline_panel *panel, uint32_t row, uint32_t lane)
{
    const double base = pipeline_row_top(panel, panel->places[row]) + panel->row_height;
    return lane == 0 ? base : base + ABOVE_LANES + lane * panel->lane_height;
}

double pipeline_height(const struct pipeline_panel *panel, uint32_t lane)
{
    return lane == 0 ? panel->row_height : panel->lane_height - 1;
}

double pipeline_bottom(const struct pipeline_panel *panel)
{
    return pipeline_row_top(panel, panel->row_count);
}

double pipeline_x(const struct pipeline_panel *panel, sim_time time)
{
    return (double)(time - panel->view.from) / (double)(panel->view.to - panel->view.from) *
           panel->view.pixels;
}

const char *pipeline_label(const struct pipeline_drawing *drawing,
                           const struct pipeline_panel *panel, const struct pipeline_box *box)
{
    if (box->label == PIPELINE_NO_LABEL || panel->view.gathers) {
        return "";
    }
    const char *label = arena_printf(drawing->arena, "%" PRIu32, box->label);
    const double width = pipeline_x(panel, box->end) - pipeline_x(panel, box->start);
    const double height = (box->high - box->low) * panel->row_height;
    const bool has_room =
        width >= panel->label_width + panel->label_room && height >= LABELS_ROW_HEIGHT;
    return has_room ? label : "";
}

/* Numbers weigh more than boxes: where there are too many, only wider ones have them. */
static void find_label_room(const struct pipeline_drawing *drawing, struct pipeline_panel *panel)
{
    for (size_t i = 0; i < panel->boxes.count; i++) {
        const uint32_t label = panel->boxes.items[i].label;
        const char *text =
            label != PIPELINE_NO_LABEL ? arena_printf(drawing->arena, "%" PRIu32, label) : "";
        panel->label_width = fmax(panel->label_width, plot_text_width(text, PIPELINE_SMALL));
    }
    size_t count = LABELS_MAX + 1;
    for (panel->label_room = LABEL_ROOM; count > LABELS_MAX; panel->label_room *= COARSER) {
        count = 0;
        for (size_t i = 0; i < panel->boxes.count; i++) {
            count += pipeline_label(drawing, panel, &panel->boxes.items[i])[0] != '\0';
        }
    }
    panel->label_room /= COARSER;
}

/* Kinds of transfer that there are. */
static void find_lanes(struct pipeline_drawing *drawing)
{
    bool has[CAUSE_COUNT_] = {false};
    for (uint32_t i = 0; i < drawing->timeline->row_count; i++) {
        const struct timeline_row *row = &drawing->timeline->rows[i];
        for (size_t k = 0; k < row->transfer_count; k++) {
            has[row->transfers[k].cause] = true;
        }
    }
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        if (has[cause]) {
            drawing->lanes[drawing->lane_count++] = (enum cause)cause;
        }
    }
}

static double at_least(double value, double least)
{
    return value > least ? value : least;
}

static double between(double least, double value, double most)
{
    return fmin(at_least(value, least), most);
}

/* Of a step too long to be seen: of more stages than these some, and all slow GPUs with theirs. */
static void choose_shown(const struct timeline *timeline, bool *is_shown)
{
    for (uint32_t i = 0; i < MAGNIFIED_STAGES; i++) {
        is_shown[(uint64_t)i * (timeline->stages - 1) / (MAGNIFIED_STAGES - 1)] = true;
    }
    for (uint32_t row = timeline->stages; row < timeline->row_count; row++) {
        is_shown[row] = true;
        is_shown[timeline->rows[row].stage] = true;
    }
}

/* Slow GPUs below their stage. Rows that are not shown have a place between those that are. */
static void place_rows(const struct pipeline_drawing *drawing, bool shows_all,
                       struct pipeline_panel *panel)
{
    const struct timeline *timeline = drawing->timeline;
    bool *is_shown = arena_array(drawing->arena, timeline->row_count, sizeof *is_shown);
    panel->rows = arena_array(drawing->arena, timeline->row_count, sizeof *panel->rows);
    panel->places = arena_array(drawing->arena, timeline->row_count, sizeof *panel->places);
    if (!shows_all && timeline->row_count > MAGNIFIED_ROWS_MAX) {
        choose_shown(timeline, is_shown);
    } else {
        memset(is_shown, true, timeline->row_count * sizeof *is_shown);
    }
    for (uint32_t stage = 0; stage < timeline->stages; stage++) {
        for (uint32_t row = 0; row < timeline->row_count; row++) {
            if (timeline->rows[row].stage == stage) {
                panel->places[row] = is_shown[row] ? panel->row_count : panel->row_count - 0.5;
                panel->rows[panel->row_count] = row;
                panel->row_count += is_shown[row];
            }
        }
    }
}

/* What the rows of a panel with lanes share: of a page that is to be filled what captions, axes and
 * the overview (of a step that is not shown whole) leave. */
static double detail_room(const struct pipeline_drawing *drawing, double rows, bool is_whole)
{
    if (!(drawing->room > 0)) {
        return between(ROWS_HEIGHT_MIN, rows * ROW_SHARE, ROWS_HEIGHT_MAX);
    }
    const double around = AXIS_HEIGHT + PIPELINE_AXIS_TITLE +
                          (is_whole ? 0 : AXIS_HEIGHT + 2 * CAPTION_HEIGHT + BETWEEN_PANELS);
    return at_least((drawing->room - around) * (is_whole ? 1 : 1 - OVERVIEW_SHARE), ROW_HEIGHT_MIN);
}

static double overview_room(const struct pipeline_drawing *drawing)
{
    return drawing->room > 0 ? OVERVIEW_SHARE * drawing->room : OVERVIEW_HEIGHT;
}

/* A panel with lanes; of as many pixels for each box that there are not too many. */
static struct pipeline_panel detail_of(const struct pipeline_drawing *drawing, sim_time from,
                                       sim_time to, bool shows_all)
{
    struct pipeline_panel panel = {.view = {.from = from,
                                            .to = to,
                                            .pixels = drawing->width,
                                            .piece_pixels = PIECE_PIXELS,
                                            .lane_pixels = PIECE_PIXELS,
                                            .lanes = drawing->lanes,
                                            .lane_count = drawing->lane_count}};
    place_rows(drawing, shows_all, &panel);
    const double rows = panel.row_count;
    const double room = detail_room(drawing, rows, shows_all);
    const double share = 1 + LANE_SHARE * drawing->lane_count + BETWEEN_SHARE;
    panel.row_height = between(ROW_HEIGHT_MIN, floor(room / rows / share), ROW_HEIGHT_MAX);
    panel.lane_height = at_least(floor(LANE_SHARE * panel.row_height), LANE_HEIGHT_MIN);
    panel.between = between(BETWEEN_MIN, floor(BETWEEN_SHARE * panel.row_height), BETWEEN_MAX);
    return panel;
}

static struct pipeline_panel overview_of(const struct pipeline_drawing *drawing)
{
    struct pipeline_panel panel = {.view = {.from = 0,
                                            .to = drawing->timeline->end,
                                            .pixels = drawing->width,
                                            .piece_pixels = PIECE_PIXELS,
                                            .gathers = true,
                                            .bar_pixels = OVERVIEW_PIXELS}};
    place_rows(drawing, true, &panel);
    const double rows = panel.row_count;
    const double room = overview_room(drawing);
    panel.between = rows > room / 8 ? 1 : BETWEEN_MIN;
    panel.row_height =
        between(OVERVIEW_ROW_MIN, floor(room / rows) - panel.between, OVERVIEW_ROW_MAX);
    return panel;
}

static const char *window_caption(const struct pipeline_drawing *drawing,
                                  const struct pipeline_panel *panel, bool is_cycle)
{
    struct arena *arena = drawing->arena;
    const struct timeline *timeline = drawing->timeline;
    const char *rows = panel->row_count < timeline->row_count
                           ? arena_printf(arena, " (%" PRIu32 " of %" PRIu32 " rows)",
                                          panel->row_count, timeline->row_count)
                           : "";
    return arena_printf(arena, "magnified: %.6g to %.6g %s%s%s",
                        drawing->unit * sim_time_to_s(panel->view.from),
                        drawing->unit * sim_time_to_s(panel->view.to), drawing->unit_name,
                        is_cycle ? ", of a steady part" : "", rows);
}

/* As fine as it can be without too many boxes. */
static void fill(const struct pipeline_drawing *drawing, struct pipeline_panel *panel)
{
    for (;;) {
        panel->boxes.count = 0;
        for (uint32_t i = 0; i < panel->row_count; i++) {
            pipeline_columns(drawing->arena, drawing->timeline, panel->rows[i], &panel->view,
                             &panel->boxes);
        }
        if (panel->boxes.count <= BOXES_MAX || panel->view.piece_pixels > panel->view.pixels) {
            break;
        }
        panel->view.piece_pixels *= COARSER;
        panel->view.bar_pixels *= COARSER;
        panel->view.lane_pixels *= COARSER;
    }
    pipeline_sort(&panel->boxes);
}

static void show_whole(struct pipeline_drawing *drawing)
{
    drawing->panel_count = 1;
    drawing->panels[0] = detail_of(drawing, 0, drawing->timeline->end, true);
    drawing->panels[0].caption = "";
    fill(drawing, &drawing->panels[0]);
}

static void show_whole_and_part(struct pipeline_drawing *drawing)
{
    const struct pipeline_window window = pipeline_window_of(drawing->timeline);
    drawing->panel_count = 2;
    drawing->panels[0] = overview_of(drawing);
    drawing->panels[0].caption = "the whole step";
    drawing->panels[1] = detail_of(drawing, window.from, window.to, false);
    drawing->panels[1].caption = window_caption(drawing, &drawing->panels[1], window.is_cycle);
    fill(drawing, &drawing->panels[0]);
    fill(drawing, &drawing->panels[1]);
}

static void note_parts(struct pipeline_drawing *drawing, const struct pipeline_panel *panel)
{
    for (size_t i = 0; i < panel->boxes.count; i++) {
        const struct pipeline_box *box = &panel->boxes.items[i];
        drawing->has_part[box->part] = true;
        drawing->has_wait = drawing->has_wait || (box->lane == 0 && box->part >= PART_CAUSE_FIRST_);
    }
}

static void lay_out_panels(struct pipeline_drawing *drawing)
{
    const bool is_crowded = pipeline_is_crowded(drawing->timeline, drawing->width);
    if (!is_crowded) {
        show_whole(drawing);
    }
    if (is_crowded || drawing->panels[0].boxes.count > WHOLE_BOXES_MAX) {
        show_whole_and_part(drawing);
    }
    double top = 0;
    for (uint32_t i = 0; i < drawing->panel_count; i++) {
        struct pipeline_panel *panel = &drawing->panels[i];
        panel->top = top + (panel->caption[0] != '\0' ? CAPTION_HEIGHT : 0);
        top = pipeline_bottom(panel) + AXIS_HEIGHT +
              (i + 1 == drawing->panel_count ? 0 : BETWEEN_PANELS);
        note_parts(drawing, panel);
        find_label_room(drawing, panel);
    }
    drawing->height = top + PIPELINE_AXIS_TITLE;
}

/* As wide as the longest name. */
static double left_of(struct arena *arena, const struct timeline *timeline)
{
    double left = 0;
    for (uint32_t row = 0; row < timeline->row_count; row++) {
        left = at_least(plot_text_width(pipeline_row_name(arena, timeline, row), PIPELINE_SMALL),
                        left);
    }
    return ceil(left) + NAME_MARGIN;
}

struct pipeline_drawing pipeline_lay_out(struct arena *arena, const struct timeline *timeline,
                                         const struct pipeline_page *page)
{
    struct pipeline_drawing drawing = {.arena = arena, .timeline = timeline, .room = page->height};
    drawing.left = left_of(arena, timeline);
    drawing.width = page->width - PIPELINE_RIGHT - drawing.left;
    const bool is_in_ms = sim_time_to_s(timeline->end) < 10;
    drawing.unit = is_in_ms ? 1e3 : 1;
    drawing.unit_name = is_in_ms ? "ms" : "s";
    drawing.runs = pipeline_runs(arena, timeline, &drawing.run_count);
    find_lanes(&drawing);
    lay_out_panels(&drawing);
    return drawing;
}
