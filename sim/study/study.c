/* Points one after the other, each in the same arena, forgotten before the
 * next: the memory of a study is that of its largest point.
 */
#include "study/study.h"

#include "base/arena.h"
#include "base/host.h"
#include "train/run.h"

#include <string.h>

struct point_run {
    const struct study_request *request;
    struct store *store;
    const char *study_key;
    struct diag *diag; /* of the study: what the store says */
    struct arena *arena;
};

static struct store_point store_point_of(const struct study_point *point, uint32_t number)
{
    struct store_point stored = {
        .number = number, .label = point->label, .axis_count = point->axis_count, .message = ""};
    for (uint32_t i = 0; i < point->axis_count; i++) {
        stored.axes[i] = point->axes[i];
        stored.value_texts[i] = point->value_texts[i];
        stored.values[i] = point->values[i];
    }
    return stored;
}

static void predict(const struct point_run *run, const struct scenario *scenario,
                    struct result *result, struct store_point *stored)
{
    const struct run_request request = {run->request->folds, run->request->build};
    const double start_s = host_now_s();
    run_predict(run->arena, scenario, &request, result);
    result->step.engine.host_s = host_now_s() - start_s;
    result->step.engine.host_peak_bytes = host_peak_bytes();
    const bool fits = result->step.memory.fits;
    stored->status = fits ? POINT_OK : POINT_INFEASIBLE;
    stored->message = fits ? "" : result->step.memory_advice;
    stored->result = result;
}

/* Why a point could not be resolved. Impossible sizes are a verdict, which stays; with a mistake in
 * its input, or a file that could not be read, it has failed and is tried again by the next run. */
static void give_reason(const struct diag *diag, struct store_point *stored)
{
    const char *reason = diag_first_error(diag);
    stored->status = diag_is_verdict(diag) ? POINT_INFEASIBLE : POINT_FAILED;
    stored->message = reason != NULL ? reason : "";
}

static bool run_point(const struct point_run *run, const struct study_point *point, uint32_t number,
                      enum point_status *status)
{
    struct store_point stored = store_point_of(point, number);
    struct diag *diag = diag_new(run->arena);
    struct result result;
    const struct scenario *scenario = scenario_resolve(
        run->arena, point->document, run->request->catalogue, point->sets, point->set_count, diag);
    if (scenario != NULL) {
        predict(run, scenario, &result, &stored);
    } else {
        give_reason(diag, &stored);
    }
    *status = stored.status;
    return store_point(run->store, run->study_key, &stored, run->diag);
}

static void count_status(struct study_outcome *outcome, enum point_status status, bool was_stored)
{
    uint32_t *const counts[] = {&outcome->ok, &outcome->infeasible, &outcome->failed};
    (*counts[status])++;
    outcome->reused += was_stored;
}

static bool run_points(const struct point_run *run, const struct study *study,
                       struct study_outcome *outcome)
{
    const struct study_request *request = run->request;
    for (uint32_t i = 0; i < study->count; i++) {
        enum point_status status = POINT_FAILED;
        const bool was_stored = store_has_point(run->store, study->key, i, &status);
        if (diag_has_error(run->diag)) { /* the store could not be read */
            return false;
        }
        if (!was_stored && !run_point(run, &study->points[i], i, &status)) {
            return false;
        }
        count_status(outcome, status, was_stored);
        if (request->on_point != NULL) {
            request->on_point(request->context, i + 1, study->count, study->points[i].label, status,
                              was_stored);
        }
        arena_reset(run->arena);
    }
    return true;
}

bool study_run(const struct study *study, const struct study_request *request, struct store *store,
               struct study_outcome *outcome, struct diag *diag)
{
    *outcome = (struct study_outcome){0};
    const struct store_study stored = {study->key, study->title, study->kind, request->build};
    if (!store_study(store, &stored, diag)) {
        return false;
    }
    const struct point_run run = {request, store, study->key, diag, arena_new()};
    const bool is_good = run_points(&run, study, outcome);
    arena_free(run.arena);
    sim_assert(!is_good || outcome->ok + outcome->infeasible + outcome->failed == study->count);
    return is_good;
}
