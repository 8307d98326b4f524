/* Pieces are gathered to episodes (an action's, or a wait between two), episodes to columns, and
 * parts of columns become boxes, sorted so that those of one colour can be drawn together. All
 * walks are linear in pieces and transfers but for the sorting.
 */
#include "report/picture/plot_pipeline_columns.h"

#include "base/arena.h"
#include "base/check.h"

#include <math.h>
#include <stdlib.h>

enum { SHARES_MAX = PART_COUNT_ + 2 };
#define WAIT_PIXELS 1 /* within an action, in the mean */
#define ALIKE 0.015   /* shares that differ by less look the same */

/* What part of a column's time. */
struct share {
    uint32_t part, chunk;
    sim_time ns;
};

struct column {
    sim_time start, end;
    struct share shares[SHARES_MAX]; /* rising by part, then chunk */
    uint32_t count;
    const struct timeline_bar *bar; /* the action whose number stands here; NULL: of none */
    bool is_bar;                    /* an action alone, or its last piece */
};

/* Pieces of an action, or of a wait between two. */
struct episode {
    sim_time start, end;
    size_t first, last;             /* pieces */
    const struct timeline_bar *bar; /* NULL: a wait */
};

struct maker {
    struct arena *arena;
    const struct timeline *timeline;
    const struct timeline_row *row;
    uint32_t number;
    const struct pipeline_view *view;
    struct pipeline_boxes *boxes;
    struct column *columns;
    size_t count, capacity;
};

static double pixels_of(const struct maker *maker, sim_time ns)
{
    const struct pipeline_view *view = maker->view;
    return (double)ns / (double)(view->to - view->from) * view->pixels;
}

static sim_time overlap_of(sim_time start, sim_time end, sim_time from, sim_time to)
{
    const sim_time begin = start > from ? start : from;
    const sim_time stop = end < to ? end : to;
    return stop > begin ? stop - begin : 0;
}

/* ---- shares ---------------------------------------------------------------------------------- */

static void add_share(struct column *column, uint32_t part, uint32_t chunk, sim_time ns)
{
    uint32_t i = 0;
    while (i < column->count &&
           (column->shares[i].part < part ||
            (column->shares[i].part == part && column->shares[i].chunk < chunk))) {
        i++;
    }
    if (i == column->count || column->shares[i].part != part || column->shares[i].chunk != chunk) {
        sim_assert(column->count < SHARES_MAX);
        for (uint32_t k = column->count++; k > i; k--) {
            column->shares[k] = column->shares[k - 1];
        }
        column->shares[i] = (struct share){part, chunk, 0};
    }
    column->shares[i].ns += ns;
}

static uint32_t part_of_action(const struct schedule_action *action)
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

/* So much time of a piece. Of a forward beside a backward each has half. */
static void add_piece(const struct maker *maker, const struct timeline_piece *piece, sim_time ns,
                      bool has_chunks, struct column *column)
{
    if (piece->bar == TIMELINE_NO_BAR) {
        add_share(column, pipeline_part_of_cause(piece->cause), PIPELINE_NO_CHUNK, ns);
        return;
    }
    const struct timeline_bar *bar = &maker->row->bars[piece->bar];
    const struct schedule_action *action = &bar->action;
    if (bar->kind != TIMELINE_ACTION) {
        const uint32_t part = bar->kind == TIMELINE_OPTIMIZER ? PART_OPTIMIZER : PART_HOST;
        add_share(column, part, PIPELINE_NO_CHUNK, ns);
    } else if (piece->cause == CAUSE_RECOMPUTE) {
        add_share(column, PART_RECOMPUTE, PIPELINE_NO_CHUNK, ns);
    } else if (action->operation == SCHEDULE_PAIR) {
        add_share(column, PART_FORWARD, has_chunks ? action->chunk : PIPELINE_NO_CHUNK, ns / 2);
        add_share(column, PART_BACKWARD,
                  has_chunks ? schedule_backward_chunk(action) : PIPELINE_NO_CHUNK, ns - ns / 2);
    } else {
        add_share(column, part_of_action(action),
                  has_chunks ? schedule_backward_chunk(action) : PIPELINE_NO_CHUNK, ns);
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

static struct column *new_column(struct maker *maker, sim_time start)
{
    maker->columns = arena_grow(maker->arena, maker->columns, &maker->capacity, maker->count + 1,
                                sizeof *maker->columns);
    struct column *column = &maker->columns[maker->count++];
    *column = (struct column){.start = start, .end = start};
    return column;
}

/* What of the pieces lies in the view. */
static void add_pieces(const struct maker *maker, const struct episode *episode, bool has_chunks,
                       struct column *column)
{
    for (size_t i = episode->first; i <= episode->last; i++) {
        const struct timeline_piece *piece = &maker->row->pieces[i];
        const sim_time ns =
            overlap_of(piece->start, piece->end, maker->view->from, maker->view->to);
        if (ns > 0) {
            add_piece(maker, piece, ns, has_chunks, column);
        }
    }
    column->end = episode->end;
}

/* One for each piece; the widest of kernels has the label. */
static void add_each_piece(struct maker *maker, const struct episode *episode)
{
    const size_t before = maker->count;
    size_t widest = SIZE_MAX;
    for (size_t i = episode->first; i <= episode->last; i++) {
        const struct timeline_piece *piece = &maker->row->pieces[i];
        const sim_time ns =
            overlap_of(piece->start, piece->end, maker->view->from, maker->view->to);
        if (ns == 0) {
            continue;
        }
        const sim_time start = piece->start > episode->start ? piece->start : episode->start;
        struct column *column = new_column(maker, start);
        add_piece(maker, piece, ns, true, column);
        column->end = start + ns;
        if (piece->bar != TIMELINE_NO_BAR &&
            (widest == SIZE_MAX ||
             ns > maker->columns[widest].end - maker->columns[widest].start)) {
            widest = maker->count - 1;
        }
    }
    if (widest != SIZE_MAX) {
        maker->columns[widest].bar = episode->bar;
    }
    sim_assert(maker->count > before); /* pieces follow one another without a gap */
    maker->columns[maker->count - 1].is_bar = episode->bar != NULL;
}

/* Can its pieces be seen, and its waits among them? */
static bool has_visible_pieces(const struct maker *maker, const struct episode *episode)
{
    const size_t pieces = episode->last - episode->first + 1;
    sim_time waited = 0;
    size_t waits = 0;
    for (size_t i = episode->first; i <= episode->last; i++) {
        const struct timeline_piece *piece = &maker->row->pieces[i];
        waits += piece->bar == TIMELINE_NO_BAR;
        waited += piece->bar == TIMELINE_NO_BAR ? piece->end - piece->start : 0;
    }
    return pixels_of(maker, episode->end - episode->start) >=
               maker->view->piece_pixels * (double)pieces &&
           pixels_of(maker, waited) >= WAIT_PIXELS * (double)waits;
}

static void add_alone(struct maker *maker, const struct episode *episode)
{
    if (episode->first == episode->last || has_visible_pieces(maker, episode)) {
        add_each_piece(maker, episode);
        return;
    }
    struct column *column = new_column(maker, episode->start);
    add_pieces(maker, episode, true, column);
    column->bar = episode->bar;
    column->is_bar = true;
}

/* The episode that begins with a piece, cut to the view; false when it lies outside. */
static bool episode_at(const struct maker *maker, size_t first, struct episode *episode)
{
    const struct timeline_row *row = maker->row;
    const size_t bar = row->pieces[first].bar;
    size_t last = first;
    for (size_t i = first + 1; bar != TIMELINE_NO_BAR && i < row->piece_count; i++) {
        if (row->pieces[i].bar == bar) {
            last = i;
        } else if (row->pieces[i].bar != TIMELINE_NO_BAR) {
            break;
        }
    }
    *episode = (struct episode){row->pieces[first].start, row->pieces[last].end, first, last,
                                bar != TIMELINE_NO_BAR ? &row->bars[bar] : NULL};
    const struct pipeline_view *view = maker->view;
    episode->start = episode->start > view->from ? episode->start : view->from;
    episode->end = episode->end < view->to ? episode->end : view->to;
    return episode->end > episode->start;
}

static bool is_same_operation(const struct timeline_bar *a, const struct timeline_bar *b)
{
    return a != NULL && b != NULL && a->kind == b->kind &&
           a->action.operation == b->action.operation;
}

/* Columns of several: from one that is wide by itself to the next, cut where the operation comes
 * again with which the column began. */
struct gathering {
    struct column *column;          /* NULL: none is open */
    const struct timeline_bar *bar; /* the first in it; NULL: none yet */
};

static void gather(struct maker *maker, const struct episode *episode, struct gathering *open)
{
    const double least = maker->view->bar_pixels;
    if (pixels_of(maker, episode->end - episode->start) >= least) {
        open->column = NULL;
        add_alone(maker, episode);
        return;
    }
    if (open->column != NULL) {
        const double pixels = pixels_of(maker, open->column->end - open->column->start);
        const bool is_cycle = open->bar == NULL || open->bar->kind != TIMELINE_ACTION ||
                              is_same_operation(open->bar, episode->bar);
        if (pixels >= 4 * least || (pixels >= least && is_cycle)) {
            open->column = NULL;
        }
    }
    if (open->column == NULL) {
        *open = (struct gathering){new_column(maker, episode->start), NULL};
    }
    open->bar = open->bar == NULL ? episode->bar : open->bar;
    add_pieces(maker, episode, false, open->column);
}

static bool look_alike(const struct column *a, const struct column *b)
{
    const double length_a = (double)(a->end - a->start);
    const double length_b = (double)(b->end - b->start);
    bool are_alike = a->count == b->count && !a->is_bar && !b->is_bar;
    for (uint32_t i = 0; are_alike && i < a->count; i++) {
        are_alike =
            a->shares[i].part == b->shares[i].part &&
            fabs((double)a->shares[i].ns / length_a - (double)b->shares[i].ns / length_b) < ALIKE;
    }
    return are_alike;
}

/* Neighbours that look the same are one. */
static void join_alike(struct maker *maker)
{
    size_t kept = 0;
    for (size_t i = 1; i < maker->count; i++) {
        struct column *last = &maker->columns[kept];
        const struct column *next = &maker->columns[i];
        if (!look_alike(last, next)) {
            maker->columns[++kept] = *next;
            continue;
        }
        for (uint32_t k = 0; k < next->count; k++) {
            last->shares[k].ns += next->shares[k].ns;
        }
        last->end = next->end;
    }
    maker->count = maker->count > 0 ? kept + 1 : 0;
}

static void make_columns(struct maker *maker)
{
    struct gathering open = {NULL, NULL};
    for (size_t i = 0; i < maker->row->piece_count;) {
        struct episode episode;
        if (episode_at(maker, i, &episode)) {
            if (maker->view->gathers) {
                gather(maker, &episode, &open);
            } else {
                add_alone(maker, &episode);
            }
        }
        i = episode.last + 1;
    }
    join_alike(maker);
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static void add_box(struct maker *maker, const struct pipeline_box *box)
{
    struct pipeline_boxes *boxes = maker->boxes;
    boxes->items = arena_grow(maker->arena, boxes->items, &boxes->capacity, boxes->count + 1,
                              sizeof *boxes->items);
    boxes->items[boxes->count++] = *box;
}

/* The microbatch of a part of an action's column; of a pair each half has its own. */
static uint32_t label_of(const struct column *column, uint32_t part)
{
    if (column->bar == NULL || column->bar->kind != TIMELINE_ACTION || part > PART_WEIGHTS) {
        return PIPELINE_NO_LABEL;
    }
    const struct schedule_action *action = &column->bar->action;
    return part == PART_FORWARD ? action->microbatch : schedule_backward_microbatch(action);
}

static void stack(struct maker *maker, const struct column *column)
{
    const double length = (double)(column->end - column->start);
    sim_time below = 0;
    for (uint32_t i = 0; i < column->count; i++) {
        const struct share *share = &column->shares[i];
        if (share->ns == 0) {
            continue;
        }
        add_box(maker, &(struct pipeline_box){
                           .row = maker->number,
                           .part = share->part,
                           .chunk = share->chunk,
                           .label = label_of(column, share->part),
                           .start = column->start,
                           .end = column->end,
                           .low = (double)below / length,
                           .high = (double)(below + share->ns) / length,
                           .ends_bar = column->is_bar,
                       });
        below += share->ns;
    }
    sim_assert(below == column->end - column->start);
}

static int compare(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

/* The highest part first, so that what lies below is drawn over it. */
static int by_look(const void *left, const void *right)
{
    const struct pipeline_box *a = left;
    const struct pipeline_box *b = right;
    int order = compare(a->lane, b->lane);
    order = order != 0 ? order : compare(b->part, a->part);
    order = order != 0 ? order : compare(b->chunk, a->chunk);
    order = order != 0 ? order : compare(a->row, b->row);
    return order != 0 ? order : (a->start > b->start) - (a->start < b->start);
}

void pipeline_sort(struct pipeline_boxes *boxes)
{
    qsort(boxes->items, boxes->count, sizeof *boxes->items, by_look);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

struct span {
    sim_time start, end;
};

static int by_start(const void *left, const void *right)
{
    const struct span *a = left;
    const struct span *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* When transfers of a cause move, in order of time, none upon another. */
static struct span *spans_of(const struct maker *maker, enum cause cause, size_t *count)
{
    const struct timeline_row *row = maker->row;
    struct span *spans = arena_array(maker->arena, row->transfer_count + 1, sizeof *spans);
    size_t all = 0;
    for (size_t i = 0; i < row->transfer_count; i++) {
        const struct timeline_transfer *transfer = &row->transfers[i];
        if (transfer->cause == cause &&
            overlap_of(transfer->start, transfer->end, maker->view->from, maker->view->to) > 0) {
            spans[all++] = (struct span){transfer->start, transfer->end};
        }
    }
    qsort(spans, all, sizeof *spans, by_start);
    *count = 0;
    for (size_t i = 0; i < all; i++) {
        struct span *last = *count > 0 ? &spans[*count - 1] : NULL;
        if (last != NULL && spans[i].start <= last->end) {
            last->end = spans[i].end > last->end ? spans[i].end : last->end;
        } else {
            spans[(*count)++] = spans[i];
        }
    }
    return spans;
}

static void add_to_lane(struct maker *maker, uint32_t lane, struct span span, double share)
{
    const struct pipeline_view *view = maker->view;
    if (share > 0) {
        add_box(maker, &(struct pipeline_box){
                           .row = maker->number,
                           .lane = lane + 1,
                           .part = pipeline_part_of_cause(view->lanes[lane]),
                           .chunk = PIPELINE_NO_CHUNK,
                           .label = PIPELINE_NO_LABEL,
                           .start = span.start > view->from ? span.start : view->from,
                           .end = span.end < view->to ? span.end : view->to,
                           .high = share,
                       });
    }
}

/* As high as the share of each column in which one moves. */
static void add_shares(struct maker *maker, uint32_t lane, const struct span *spans, size_t count)
{
    size_t first = 0;
    for (size_t i = 0; i < maker->count; i++) {
        const struct column *column = &maker->columns[i];
        while (first < count && spans[first].end <= column->start) {
            first++;
        }
        sim_time busy = 0;
        for (size_t k = first; k < count && spans[k].start < column->end; k++) {
            busy += overlap_of(spans[k].start, spans[k].end, column->start, column->end);
        }
        add_to_lane(maker, lane, (struct span){column->start, column->end},
                    (double)busy / (double)(column->end - column->start));
    }
}

static void add_lane(struct maker *maker, uint32_t lane)
{
    size_t count = 0;
    const struct span *spans = spans_of(maker, maker->view->lanes[lane], &count);
    if (count > maker->count && maker->view->pixels < maker->view->lane_pixels * (double)count) {
        add_shares(maker, lane, spans, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        add_to_lane(maker, lane, spans[i], 1);
    }
}

void pipeline_columns(struct arena *arena, const struct timeline *timeline, uint32_t row,
                      const struct pipeline_view *view, struct pipeline_boxes *boxes)
{
    struct maker maker = {.arena = arena_new(),
                          .timeline = timeline,
                          .row = &timeline->rows[row],
                          .number = row,
                          .view = view,
                          .boxes = boxes};
    make_columns(&maker);
    struct arena *scratch = maker.arena;
    maker.arena = arena;
    for (size_t i = 0; i < maker.count; i++) {
        stack(&maker, &maker.columns[i]);
    }
    for (uint32_t lane = 0; lane < view->lane_count; lane++) {
        add_lane(&maker, lane);
    }
    arena_free(scratch);
}
