/* A point is resolved as any other, and its scenario's GPU is then given more memory. */
#include "study/near_points.h"

#include "base/arena.h"
#include "base/diag.h"
#include "input/scenario.h"
#include "plan/memory/memory.h"
#include "bands/memory_errors.h"
#include "run/run.h"
#include "run/verdict.h"

#include <stdlib.h>

struct near_points near_points_of(struct arena *arena, const struct study *study,
                                  const struct store_row *rows, uint32_t count)
{
    struct near_point *items = arena_array(arena, count + 1u, sizeof *items);
    struct near_points found = {.items = items};
    for (uint32_t i = 0; i < count; i++) {
        const struct store_row *row = &rows[i];
        const double over =
            row->has_run ? memory_over(row->memory_peak_bytes, row->memory_limit_bytes) : 0;
        if (over > 0) {
            items[found.count++] = (struct near_point){&study->points[row->number], over};
        }
    }
    return found;
}

/* ---- they are predicted ------------------------------------------------------------------- */

/* False: it does not miss, or by more than the error, or has no result even so. */
static bool predict(struct arena *arena, const struct near_setting *setting,
                    const struct study_point *point, struct store_row *row)
{
    struct diag *unheard = diag_new(arena);
    const struct scenario *own = study_point_resolve(point, arena, setting->catalogue, unheard);
    if (own == NULL) {
        return false;
    }
    const struct memory_verdict verdict = memory_check(own);
    const double over = memory_over(verdict.worst.total_bytes, verdict.limit_bytes);
    if (over <= 0 || !memory_errors_are_near(setting->errors, over)) {
        return false;
    }
    struct scenario *scenario = arena_alloc(arena, sizeof *scenario);
    *scenario = *own;
    scenario->gpu.memory_bytes = verdict.worst.total_bytes;
    const struct run_request request = {.folds = setting->folds, .build = "", .finds_path = true};
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
        if (memory_errors_are_near(errors, points->items[i].over)) {
            near[(*count)++] = points->items[i];
        }
    }
    qsort(near, *count, sizeof *near, compare_over);
    return near;
}

struct near_rows near_points_predict(struct arena *arena, const struct near_setting *setting,
                                     const struct near_points *points)
{
    uint32_t count = 0;
    const struct near_point *near = near_ones(arena, points, setting->errors, &count);
    const uint32_t tried = count < NEAR_POINTS_MAX ? count : NEAR_POINTS_MAX;
    struct near_rows rows = {.items = arena_array(arena, tried + 1u, sizeof *rows.items),
                             .left_out = count - tried};
    for (uint32_t i = 0; i < tried; i++) {
        rows.count += predict(arena, setting, near[i].point, &rows.items[rows.count]);
    }
    return rows;
}
