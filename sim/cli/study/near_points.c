/* A point is resolved as any other, and its scenario's GPU is then given more memory. */
#include "cli/study/near_points.h"

#include "base/arena.h"
#include "base/diag.h"
#include "input/scenario.h"
#include "plan/memory/memory.h"
#include "report/near.h"
#include "run/run.h"
#include "run/verdict.h"

#include <stdlib.h>

struct near_points near_points_of(const struct session *session)
{
    struct near_point *items =
        arena_array(session->options.cli->arena, session->row_count + 1u, sizeof *items);
    struct near_points found = {.items = items};
    for (uint32_t i = 0; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        const double over =
            row->has_run ? near_over(row->memory_peak_bytes, row->memory_limit_bytes) : 0;
        if (over > 0) {
            items[found.count++] = (struct near_point){&session->study.points[row->number], over};
        }
    }
    return found;
}

/* ---- they are predicted ------------------------------------------------------------------- */

/* False: it does not miss, or by more than the error, or has no result even so. */
static bool predict(const struct session *session, const struct study_point *point,
                    const struct memory_errors *errors, struct store_row *row)
{
    struct arena *arena = session->options.cli->arena;
    struct diag *unheard = diag_new(arena);
    const struct scenario *own = study_point_resolve(point, arena, &session->catalogue, unheard);
    if (own == NULL) {
        return false;
    }
    const struct memory_verdict verdict = memory_check(own);
    const double over = near_over(verdict.worst.total_bytes, verdict.limit_bytes);
    if (over <= 0 || !near_is(errors, over)) {
        return false;
    }
    struct scenario *scenario = arena_alloc(arena, sizeof *scenario);
    *scenario = *own;
    scenario->gpu.memory_bytes = verdict.worst.total_bytes;
    const struct run_request request = {
        .folds = session->options.folds, .build = "", .finds_path = true};
    struct result *result = arena_alloc(arena, sizeof *result);
    run_predict(arena, scenario, &request, result);
    if (!result->step.memory.fits || !verdict_of_run(result, unheard)) {
        return false;
    }
    store_row_of(result, point->label, row);
    row->memory_limit_bytes = verdict.limit_bytes;
    return true;
}

/* Those of equal misses in their order: they are all of one array. */
static int compare_over(const void *left, const void *right)
{
    const struct near_point *a = left;
    const struct near_point *b = right;
    return a->over < b->over ? -1 : a->over > b->over ? 1 : a->point < b->point ? -1 : 1;
}

/* Those that miss nearly, the least over first. */
static const struct near_point *near_ones(struct arena *arena, const struct near_points *points,
                                          const struct memory_errors *errors, uint32_t *count)
{
    struct near_point *near = arena_array(arena, points->count + 1u, sizeof *near);
    *count = 0;
    for (uint32_t i = 0; i < points->count; i++) {
        if (near_is(errors, points->items[i].over)) {
            near[(*count)++] = points->items[i];
        }
    }
    qsort(near, *count, sizeof *near, compare_over);
    return near;
}

struct near_rows near_points_predict(const struct session *session,
                                     const struct near_points *points,
                                     const struct memory_errors *errors)
{
    struct arena *arena = session->options.cli->arena;
    uint32_t count = 0;
    const struct near_point *near = near_ones(arena, points, errors, &count);
    const uint32_t tried = count < NEAR_POINTS_MAX ? count : NEAR_POINTS_MAX;
    struct near_rows rows = {.items = arena_array(arena, tried + 1u, sizeof *rows.items),
                             .left_out = count - tried};
    for (uint32_t i = 0; i < tried; i++) {
        rows.count += predict(session, near[i].point, errors, &rows.items[rows.count]);
    }
    return rows;
}
