/* A bar of the timeline becomes one box, or several where it shows more than
 * one part (recomputation, a forward beside a backward). gnuplot draws the
 * boxes from the CSV; numbers of microbatches are written where a box is wide
 * enough.
 */
#include "report/plot/plot_pipeline.h"

#include "base/arena.h"
#include "base/check.h"
#include "report/plot/plot_kinds.h"

#include <inttypes.h>

enum {
    PLOT_WIDTH = 1200, /* of its axes, in pixels */
    LEFT = 44,
    RIGHT = 24,
    DIGIT_WIDTH = 7,
    ROW_HEIGHT_MAX = 34,
    ROW_HEIGHT_MIN = 8,
    LABELS_ROW_HEIGHT = 11, /* lower rows have no room for numbers */
    ROWS_HEIGHT_MAX = 900,
};

/* What a bar shows, and the row of the key. */
enum part {
    PART_FORWARD,
    PART_BACKWARD,
    PART_INPUT,
    PART_WEIGHTS,
    PART_RECOMPUTE,
    PART_OPTIMIZER,
    PART_OTHER,
    PART_COUNT
};

static const struct part_row {
    const char *name;
    uint32_t colour;
    bool has_chunks; /* chunks differ in lightness */
} parts[PART_COUNT] = {
    [PART_FORWARD] = {"forward", 0x0072b2, true},
    [PART_BACKWARD] = {"backward", 0xd55e00, true},
    [PART_INPUT] = {"input gradients", 0xe69f00, true},
    [PART_WEIGHTS] = {"weight gradients", 0x009e73, true},
    [PART_RECOMPUTE] = {"recomputation", 0x8c8c8c, false},
    [PART_OPTIMIZER] = {"optimizer", 0x444444, false},
    [PART_OTHER] = {"host", 0xbbbbbb, false},
};

/* A box of the picture and a line of the CSV. */
struct box {
    enum part part;
    uint32_t stage, chunk, microbatch;
    bool is_of_microbatch;
    double low, high; /* within the row: 0 to 1 */
    sim_time start, end;
};

struct gantt {
    struct arena *arena;
    const struct timeline *timeline;
    struct box *boxes;
    size_t count, capacity;
    bool has_part[PART_COUNT];
};

static void add_box(struct gantt *gantt, struct box box)
{
    if (box.end <= box.start) {
        return;
    }
    gantt->boxes = arena_grow(gantt->arena, gantt->boxes, &gantt->capacity, gantt->count + 1,
                              sizeof *gantt->boxes);
    gantt->boxes[gantt->count++] = box;
    gantt->has_part[box.part] = true;
}

/* ---- boxes of a bar --------------------------------------------------------------------- */

static enum part part_of(const struct schedule_action *action)
{
    switch (action->operation) {
    case SCHEDULE_FORWARD:
        return PART_FORWARD;
    case SCHEDULE_BACKWARD_INPUT:
        return PART_INPUT;
    case SCHEDULE_WEIGHTS:
        return PART_WEIGHTS;
    default:
        return PART_BACKWARD;
    }
}

static void add_action(struct gantt *gantt, uint32_t stage, const struct timeline_bar *bar)
{
    const struct schedule_action *action = &bar->action;
    const bool is_pair = action->operation == SCHEDULE_PAIR;
    struct box box = {.part = part_of(action),
                      .stage = stage,
                      .chunk = schedule_backward_chunk(action),
                      .microbatch = schedule_backward_microbatch(action),
                      .is_of_microbatch = true,
                      .low = 0,
                      .high = is_pair ? 0.5 : 1,
                      .start = bar->start + bar->recompute_ns,
                      .end = bar->end};
    add_box(gantt, box);
    box.end = box.start;
    box.start = bar->start;
    box.part = PART_RECOMPUTE;
    add_box(gantt, box);
    if (is_pair) {
        add_box(gantt, (struct box){PART_FORWARD, stage, action->chunk, action->microbatch, true,
                                    0.5, 1, bar->start, bar->end});
    }
}

static void add_bars(struct gantt *gantt)
{
    for (uint32_t stage = 0; stage < gantt->timeline->stages; stage++) {
        const struct timeline_row *row = &gantt->timeline->rows[stage];
        for (size_t i = 0; i < row->count; i++) {
            const struct timeline_bar *bar = &row->bars[i];
            if (bar->kind == TIMELINE_ACTION) {
                add_action(gantt, stage, bar);
            } else {
                add_box(gantt, (struct box){.part = bar->kind == TIMELINE_OPTIMIZER ? PART_OPTIMIZER
                                                                                    : PART_OTHER,
                                            .stage = stage,
                                            .high = 1,
                                            .start = bar->start,
                                            .end = bar->end});
            }
        }
    }
}

/* ---- how they look ------------------------------------------------------------------------ */

/* The first chunk has half its colour, the last all of it; a single one in between. */
static uint32_t colour_of(const struct gantt *gantt, const struct box *box)
{
    const uint32_t colour = parts[box->part].colour;
    if (!parts[box->part].has_chunks) {
        return colour;
    }
    const uint32_t chunks = gantt->timeline->chunks;
    const double share = chunks == 1 ? 0.75 : 0.5 + 0.5 * box->chunk / (chunks - 1);
    uint32_t mixed = 0;
    for (uint32_t shift = 0; shift <= 16; shift += 8) {
        const double channel = (colour >> shift) & 0xff;
        mixed |= (uint32_t)(255 - share * (255 - channel)) << shift;
    }
    return mixed;
}

static uint32_t row_height(const struct gantt *gantt)
{
    const uint32_t height = ROWS_HEIGHT_MAX / gantt->timeline->stages;
    return height > ROW_HEIGHT_MAX   ? ROW_HEIGHT_MAX
           : height < ROW_HEIGHT_MIN ? ROW_HEIGHT_MIN
                                     : height;
}

/* The microbatch's number, where it can be read. */
static const char *label_of(const struct gantt *gantt, const struct box *box)
{
    const char *label = arena_printf(gantt->arena, "%" PRIu32, box->microbatch);
    uint32_t digits = 0;
    while (label[digits] != '\0') {
        digits++;
    }
    const double width =
        (double)(box->end - box->start) / (double)gantt->timeline->end * PLOT_WIDTH;
    const double height = (box->high - box->low) * row_height(gantt);
    const bool has_room = width >= DIGIT_WIDTH * digits + 2 && height >= LABELS_ROW_HEIGHT;
    return has_room && box->is_of_microbatch && box->part != PART_RECOMPUTE ? label : "";
}

/* ---- files ---------------------------------------------------------------------------------- */

static void write_boxes(struct plot_page *page, const struct gantt *gantt)
{
    static const char *const numbers[] = {"stage", "chunk", "microbatch", "start_s",
                                          "end_s", "low",   "high",       "colour"};
    static const char *const texts[] = {"action", "label"};
    PLOT_HEAD(page, numbers, texts);
    for (size_t i = 0; i < gantt->count; i++) {
        const struct box *box = &gantt->boxes[i];
        plot_row(page,
                 PLOT_NUMBERS(box->stage, box->is_of_microbatch ? (double)box->chunk : -1,
                              box->is_of_microbatch ? (double)box->microbatch : -1,
                              sim_time_to_s(box->start), sim_time_to_s(box->end), box->low,
                              box->high, colour_of(gantt, box)),
                 PLOT_TEXTS(parts[box->part].name, label_of(gantt, box)));
    }
}

/* Names of the parts that are there, each with its colour. */
static void lay_out(struct plot_page *page, const struct gantt *gantt)
{
    struct plot_key *keys = arena_array(page->arena, PART_COUNT, sizeof *keys);
    uint32_t count = 0;
    for (uint32_t part = 0; part < PART_COUNT; part++) {
        if (gantt->has_part[part]) {
            const struct box box = {.part = (enum part)part, .chunk = gantt->timeline->chunks - 1};
            keys[count++] =
                (struct plot_key){arena_printf(page->arena, "'%s'", parts[part].name),
                                  plot_text_width(parts[part].name, PLOT_LETTER),
                                  arena_printf(page->arena, "pt 5 ps 1.4 lc rgb '#%06" PRIx32 "'",
                                               colour_of(gantt, &box))};
        }
    }
    page->frame =
        (struct plot_frame){.width = PLOT_WIDTH + LEFT + RIGHT,
                            .plot_height = gantt->timeline->stages * row_height(gantt) + 10,
                            .left = LEFT,
                            .right = RIGHT,
                            .bottom = 50,
                            .y_title = "'stage'",
                            .keys = keys,
                            .key_count = count};
}

static bool write_gantt(struct plot_page *page)
{
    const struct gantt *gantt = page->subject;
    const uint32_t stages = gantt->timeline->stages;
    const double end_s = sim_time_to_s(gantt->timeline->end);
    const bool is_in_ms = end_s < 10;
    lay_out(page, gantt);
    write_boxes(page, gantt);
    plot_script_begin(page, (uint32_t)gantt->count);
    fprintf(page->script,
            "SCALE = %d\nset border 1\nunset grid\n"
            "set key off\nset xlabel 'time, %s'\nset ytics scale 0 %s\n"
            "set xrange [0:%.10g]\nset yrange [%.10g:-0.6]\n"
            "middle(from, to) = SCALE * (from + to) / 2\n"
            "height(low, high) = column(1) + 0.42 - 0.84 * (low + high) / 2\n"
            "has_label(row) = label[row] ne '-'\n",
            is_in_ms ? 1000 : 1, is_in_ms ? "ms" : "s",
            stages <= ROWS_HEIGHT_MAX / LABELS_ROW_HEIGHT ? "1" : "", end_s * (is_in_ms ? 1000 : 1),
            stages - 0.4);
    plot_script_end(
        page,
        arena_printf(page->arena,
                     "plot DATA using (middle(column(4), column(5))):(height(column(6), column(7)))"
                     ":(SCALE * (column(5) - column(4)) / 2):(0.42 * (column(7) - column(6))):8 "
                     "with boxxyerror fill solid 1 border rgb '#ffffff' lw 0.4 "
                     "lc rgb variable, \\\n"
                     "     DATA using (has_label(int($0)+1) ? middle(column(4), column(5)) : NaN)"
                     ":(height(column(6), column(7))):(label[int($0)+1]) "
                     "with labels font 'DejaVu Sans,9'"));
    return true;
}

bool plot_pipeline(struct arena *arena, const struct timeline *timeline, const char *title,
                   const char *path_base, struct diag *diag)
{
    struct gantt gantt = {.arena = arena, .timeline = timeline};
    add_bars(&gantt);
    const struct plot_request request = {.title = title, .path_base = path_base};
    struct plot_page page = {.arena = arena, .request = &request, .subject = &gantt, .diag = diag};
    return plot_page_draw(&page, write_gantt);
}
