/* A point is resolved as any other, and its scenario's GPU is then given more memory. */
#include "cli/study/near_points.h"

#include "base/arena.h"
#include "base/diag.h"
#include "plan/memory/memory.h"
#include "run/run.h"
#include "run/verdict.h"

struct near_points near_points_of(const struct session *session)
{
    struct study_point *items =
        arena_array(session->options.cli->arena, NEAR_POINTS_MAX, sizeof *items);
    struct near_points found = {.items = items};
    for (uint32_t i = 0; i < session->row_count && found.count < NEAR_POINTS_MAX; i++) {
        const struct store_row *row = &session->rows[i];
        const double over =
            row->has_run ? near_over(row->memory_peak_bytes, row->memory_limit_bytes) : 0;
        if (over > 0 && over <= MEMORY_ERRORS_MOST) {
            items[found.count++] = session->study.points[row->number];
        }
    }
    return found;
}

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
    const struct run_request request = {.folds = session->options.folds, .build = ""};
    struct result *result = arena_alloc(arena, sizeof *result);
    run_predict(arena, scenario, &request, result);
    if (!result->step.memory.fits || !verdict_of_run(result, unheard)) {
        return false;
    }
    store_row_of(result, point->label, row);
    row->memory_limit_bytes = verdict.limit_bytes;
    return true;
}

struct store_row *near_points_predict(const struct session *session,
                                      const struct near_points *points,
                                      const struct memory_errors *errors, uint32_t *count)
{
    struct store_row *rows =
        arena_array(session->options.cli->arena, points->count + 1u, sizeof *rows);
    *count = 0;
    for (uint32_t i = 0; i < points->count && errors != NULL; i++) {
        *count += predict(session, &points->items[i], errors, &rows[*count]);
    }
    return rows;
}
