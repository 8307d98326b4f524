/* A cycle is the shortest period of operations that holds around a place. */
#include "report/picture/plot_pipeline_view.h"

#include "base/arena.h"
#include "base/check.h"

#include <math.h>

enum {
    BARS_MAX = 1000,
    BAR_PIXELS_MIN = 4,
    WINDOW_BARS_MIN = 4,
    PERIOD_MAX = 16,
    PERIODS_SEEN = 3, /* before the middle, and after it */
    PLACES = 8,       /* of a row that are looked at */
};
#define CENTRAL 0.2

/* ---- the path -------------------------------------------------------------------------------- */

struct pipeline_run *pipeline_runs(struct arena *arena, const struct timeline *timeline,
                                   size_t *count)
{
    struct pipeline_run *runs = arena_array(arena, timeline->leg_count + 1, sizeof *runs);
    *count = 0;
    for (size_t i = 0; i < timeline->leg_count; i++) {
        const struct timeline_leg *leg = &timeline->path[i];
        const uint32_t to = i + 1 < timeline->leg_count && leg->cause == CAUSE_EXPOSED_PP
                                ? timeline->path[i + 1].row
                                : leg->row;
        struct pipeline_run *last = *count > 0 ? &runs[*count - 1] : NULL;
        if (last != NULL && last->row == leg->row && last->to == to) {
            last->end = leg->end;
        } else {
            runs[(*count)++] = (struct pipeline_run){leg->start, leg->end, leg->row, to};
        }
    }
    return runs;
}

/* ---- what is magnified ----------------------------------------------------------------------- */

bool pipeline_is_crowded(const struct timeline *timeline, double pixels)
{
    size_t all = 0;
    size_t most = 0;
    for (uint32_t i = 0; i < timeline->row_count; i++) {
        const size_t count = timeline->rows[i].count;
        all += count;
        most = count > most ? count : most;
    }
    return all > BARS_MAX || (double)most * BAR_PIXELS_MIN > pixels;
}

static bool is_alike(const struct timeline_bar *a, const struct timeline_bar *b)
{
    return a->kind == TIMELINE_ACTION && b->kind == TIMELINE_ACTION &&
           a->action.operation == b->action.operation;
}

/* 0: there is none. */
static size_t period_at(const struct timeline_row *row, size_t middle)
{
    for (size_t period = 1; period <= PERIOD_MAX; period++) {
        const size_t seen = PERIODS_SEEN * period;
        if (middle < seen || middle + seen + period >= row->count) {
            return 0;
        }
        size_t i = middle - seen;
        while (i < middle + seen && is_alike(&row->bars[i], &row->bars[i + period])) {
            i++;
        }
        if (i == middle + seen) {
            return period;
        }
    }
    return 0;
}

/* From a bar on, whole cycles; cut off at the last bar. */
static struct pipeline_window window_at(const struct timeline_row *row, size_t first, size_t period)
{
    const size_t bars =
        period > 0 ? (WINDOW_BARS_MIN + period - 1) / period * period : WINDOW_BARS_MIN;
    const size_t last = first + bars < row->count ? first + bars : row->count - 1;
    return (struct pipeline_window){row->bars[first].start, row->bars[last].start, period > 0};
}

/* Which share of it stages spend in actions, less some for its distance from the middle. */
static double score_of(const struct timeline *timeline, const struct pipeline_window *window)
{
    sim_time busy = 0;
    for (uint32_t stage = 0; stage < timeline->stages; stage++) {
        const struct timeline_row *row = &timeline->rows[stage];
        for (size_t i = 0; i < row->count && row->bars[i].start < window->to; i++) {
            const struct timeline_bar *bar = &row->bars[i];
            const sim_time from = bar->start > window->from ? bar->start : window->from;
            const sim_time to = bar->end < window->to ? bar->end : window->to;
            busy += to > from ? to - from : 0;
        }
    }
    const double share = (double)busy / (double)(window->to - window->from) / timeline->stages;
    const double middle = (double)(window->from + window->to) / 2 / (double)timeline->end;
    return share - CENTRAL * fabs(middle - 0.5);
}

struct pipeline_window pipeline_window_of(const struct timeline *timeline)
{
    const struct timeline_row *last = &timeline->rows[timeline->stages - 1];
    sim_assert(last->count > 1);
    const size_t middle = last->count / 2;
    struct pipeline_window best = window_at(last, middle - (middle > 2 ? 2 : 1), 0);
    double best_score = -1;
    for (uint32_t stage = 0; stage < timeline->stages; stage++) {
        const struct timeline_row *row = &timeline->rows[stage];
        for (size_t k = 1; k < PLACES; k++) {
            const size_t first = row->count * k / PLACES;
            const size_t period = period_at(row, first);
            if (period == 0) {
                continue;
            }
            const struct pipeline_window window = window_at(row, first, period);
            const double score = score_of(timeline, &window);
            if (score > best_score) {
                best = window;
                best_score = score;
            }
        }
    }
    return best;
}
