/* Points are predicted by another process, one after the other, each in the same arena, forgotten
 * before the next: the memory of a study is that of its largest point. This process stores them, so
 * there is one that writes; a point over which the other process ends is stored as failed.
 */
#include "study/study.h"

#include "base/arena.h"
#include "base/host.h"
#include "base/workers.h"
#include "run/run.h"
#include "input/scenario_load.h"

#include <string.h>

struct point_run {
    const struct study *study;
    const struct study_request *request;
    struct store *store;
    struct study_outcome *outcome;
    struct diag *diag;       /* of the study: what the store says */
    const uint32_t *pending; /* numbers of the points that are not stored */
    uint32_t pending_count;
    uint32_t done;
};

/* What a worker makes of a point: this, then the packed point. */
struct prediction {
    uint32_t status; /* enum point_status */
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

static void predict(const struct point_run *run, struct arena *arena,
                    const struct scenario *scenario, struct result *result,
                    struct store_point *stored)
{
    const struct run_request request = {run->request->folds, run->request->build};
    const double start_s = host_now_s();
    run_predict(arena, scenario, &request, result);
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

/* In a worker. */
static struct piece_result work_on_point(const void *context, uint32_t piece, struct arena *arena)
{
    const struct point_run *run = context;
    const uint32_t number = run->pending[piece];
    const struct study_point *point = &run->study->points[number];
    struct store_point stored = store_point_of(point, number);
    struct diag *diag = diag_new(arena);
    struct result result;
    const struct scenario *scenario = scenario_resolve(
        arena, point->document, run->request->catalogue, point->sets, point->set_count, diag);
    if (scenario != NULL) {
        predict(run, arena, scenario, &result, &stored);
    } else {
        give_reason(diag, &stored);
    }
    const struct store_packed packed = store_pack(arena, run->study->key, &stored);
    const struct prediction prediction = {stored.status};
    char *bytes = arena_alloc(arena, sizeof prediction + packed.size_bytes);
    memcpy(bytes, &prediction, sizeof prediction);
    memcpy(bytes + sizeof prediction, packed.bytes, packed.size_bytes);
    return (struct piece_result){bytes, sizeof prediction + packed.size_bytes, NULL};
}

static void count_point(struct point_run *run, uint32_t number, enum point_status status,
                        bool was_stored)
{
    struct study_outcome *outcome = run->outcome;
    uint32_t *const counts[] = {&outcome->ok, &outcome->infeasible, &outcome->failed};
    (*counts[status])++;
    outcome->reused += was_stored;
    run->done++;
    if (run->request->on_point != NULL) {
        run->request->on_point(run->request->context, run->done, run->study->count,
                               run->study->points[number].label, status, was_stored);
    }
}

/* Nothing came of a point: why not is all there is to store. */
static bool store_failed(const struct point_run *run, uint32_t number, const char *failure)
{
    struct store_point stored = store_point_of(&run->study->points[number], number);
    stored.status = POINT_FAILED;
    stored.message = failure;
    return store_point(run->store, run->study->key, &stored, run->diag);
}

static bool take_point(void *context, uint32_t piece, const struct piece_result *result)
{
    struct point_run *run = context;
    const uint32_t number = run->pending[piece];
    struct prediction prediction = {POINT_FAILED};
    bool is_stored;
    if (result->failure != NULL) {
        is_stored = store_failed(run, number, result->failure);
    } else {
        sim_assert(result->size_bytes > sizeof prediction);
        memcpy(&prediction, result->bytes, sizeof prediction);
        const struct store_packed packed = {(const char *)result->bytes + sizeof prediction,
                                            result->size_bytes - sizeof prediction};
        is_stored = store_packed(run->store, &packed, run->diag);
    }
    if (is_stored) {
        count_point(run, number, (enum point_status)prediction.status, false);
    }
    return is_stored;
}

/* Counts the points that are stored, lists the others. */
static bool sort_points(struct point_run *run, uint32_t *pending)
{
    for (uint32_t i = 0; i < run->study->count; i++) {
        enum point_status status = POINT_FAILED;
        const bool was_stored = store_has_point(run->store, run->study->key, i, &status);
        if (diag_has_error(run->diag)) { /* the store could not be read */
            return false;
        }
        if (was_stored) {
            count_point(run, i, status, true);
        } else {
            pending[run->pending_count++] = i;
        }
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
    struct arena *arena = arena_new();
    uint32_t *pending = arena_array(arena, study->count, sizeof *pending);
    struct point_run run = {.study = study,
                            .request = request,
                            .store = store,
                            .outcome = outcome,
                            .diag = diag,
                            .pending = pending};
    bool is_good = sort_points(&run, pending);
    if (is_good && run.pending_count > 0) {
        const struct workers_request workers = {
            .jobs = 1,
            .piece_count = run.pending_count,
            .work = work_on_point,
            .take = take_point,
            .context = &run,
        };
        is_good = workers_run(&workers);
    }
    arena_free(arena);
    sim_assert(!is_good || outcome->ok + outcome->infeasible + outcome->failed == study->count);
    return is_good;
}
