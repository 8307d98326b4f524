/* Points are predicted by other processes, in each of them one after the other in the same arena,
 * forgotten before the next: each takes the memory of its largest point. This process stores them,
 * so there is one that writes; a point over which its process ends is stored as failed.
 *
 * Waiting for the disk takes longer than most points, so several share a transaction: a point that
 * has come back waits for others, and nobody is told of it before it is stored: while others come,
 * for a tenth of a second, and as long for the next that does not come.
 */
#include "study/study.h"

#include "base/arena.h"
#include "base/host.h"
#include "base/workers.h"
#include "run/run.h"
#include "run/verdict.h"
#include "train/step_memo.h"

#include <string.h>

enum { BACKLOG_POINTS = 100, BACKLOG_MS = 100 };

/* Points that have come back and are not stored yet. */
struct backlog {
    struct arena *arena; /* of the packed ones */
    struct store_packed packed[BACKLOG_POINTS];
    uint32_t numbers[BACKLOG_POINTS];
    enum point_status statuses[BACKLOG_POINTS];
    uint32_t count;
    double begin_s; /* when the first came */
};

struct point_run {
    const struct study *study;
    const struct study_request *request;
    struct store *store;
    struct study_outcome *outcome;
    struct diag *diag;       /* of the study: what the store says */
    const uint32_t *pending; /* numbers of the points that are not stored */
    uint32_t pending_count;
    uint32_t done;
    struct backlog *backlog;
    struct step_memo *memo; /* of all points; each process that predicts has its own copy */
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

/* Why a point could not be resolved, or its months not be had. Impossible sizes are a verdict,
 * which stays; with a mistake in its input, or a file that could not be read, it has failed and is
 * tried again by the next run. */
static void give_reason(const struct diag *diag, struct store_point *stored)
{
    const char *reason = diag_first_error(diag);
    stored->status = diag_is_verdict(diag) ? POINT_INFEASIBLE : POINT_FAILED;
    stored->message = reason != NULL ? reason : "";
}

/* Unless it is known. */
static void predict(const struct point_run *run, struct arena *arena,
                    const struct study_point *point, const struct scenario *scenario,
                    struct result *result)
{
    const struct run_request request = {.folds = run->request->folds,
                                        .build = run->request->build,
                                        .memo = run->memo,
                                        .finds_path = true};
    const double start_s = host_now_s();
    if (point->result != NULL) {
        *result = *point->result;
    } else {
        run_predict(arena, scenario, &request, result);
    }
    result->step.engine.host_s = host_now_s() - start_s;
    result->step.engine.host_peak_bytes = host_peak_bytes();
}

static void judge(struct arena *arena, const struct result *result, struct store_point *stored)
{
    stored->result = result;
    struct diag *diag = diag_new(arena);
    if (!result->step.memory.fits) {
        stored->status = POINT_INFEASIBLE;
        stored->message = result->step.memory_advice;
    } else if (!verdict_of_run(result, diag)) {
        give_reason(diag, stored);
    } else {
        stored->status = POINT_OK;
        stored->message = "";
    }
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
    const struct scenario *scenario =
        point->failure == NULL ? study_point_resolve(point, arena, run->request->catalogue, diag)
                               : NULL;
    if (point->failure != NULL) {
        stored.status = POINT_FAILED;
        stored.message = point->failure;
    } else if (scenario != NULL) {
        predict(run, arena, point, scenario, &result);
        judge(arena, &result, &stored);
    } else {
        give_reason(diag, &stored);
    }
    const struct store_packed packed = store_pack(arena, run->study->key, &stored);
    const struct prediction prediction = {stored.status};
    char *bytes = arena_room(arena, sizeof prediction + packed.size_bytes, 1);
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
        run->request->on_point(run->request->context, run->done, outcome->wanted,
                               run->study->points[number].label, status, was_stored);
    }
}

/* ---- storing ----------------------------------------------------------------------------- */

static void count_stored(struct point_run *run, uint32_t first, uint32_t count)
{
    const struct backlog *backlog = run->backlog;
    for (uint32_t i = first; i < first + count; i++) {
        count_point(run, backlog->numbers[i], backlog->statuses[i], false);
    }
}

/* One by one, up to the one that cannot be stored. */
static bool store_singly(struct point_run *run)
{
    const struct backlog *backlog = run->backlog;
    uint32_t i = 0;
    while (i < backlog->count && store_packed(run->store, &backlog->packed[i], 1, run->diag)) {
        count_stored(run, i++, 1);
    }
    return i == backlog->count;
}

/* All that wait, in one transaction; where that cannot be, as many as can. Of a file that another
 * program keeps locked nobody waits for the end twice. */
static bool store_backlog(void *context)
{
    struct point_run *run = context;
    struct backlog *backlog = run->backlog;
    struct diag *unheard = diag_new(backlog->arena);
    bool is_good = true;
    if (backlog->count > 1 && store_packed(run->store, backlog->packed, backlog->count, unheard)) {
        count_stored(run, 0, backlog->count);
    } else if (store_is_locked(run->store)) {
        diag_add_from(run->diag, unheard, DIAG_FAILURE);
        is_good = false;
    } else {
        is_good = store_singly(run);
    }
    backlog->count = 0;
    arena_reset(backlog->arena);
    return is_good;
}

/* Puts a point to those that wait, and stores them where they are many or have waited for long. */
static bool put_off(struct point_run *run, uint32_t number, enum point_status status,
                    struct store_packed packed)
{
    struct backlog *backlog = run->backlog;
    if (backlog->count == 0) {
        backlog->begin_s = host_now_s();
    }
    backlog->packed[backlog->count] = packed;
    backlog->numbers[backlog->count] = number;
    backlog->statuses[backlog->count++] = status;
    const bool is_due = host_now_s() - backlog->begin_s >= BACKLOG_MS * 1e-3;
    return backlog->count < BACKLOG_POINTS && !is_due ? true : store_backlog(run);
}

/* Nothing came of a point: why not is all there is to store. */
static bool take_failed(struct point_run *run, uint32_t number, const char *failure)
{
    struct store_point stored = store_point_of(&run->study->points[number], number);
    stored.status = POINT_FAILED;
    stored.message = failure;
    return put_off(run, number, POINT_FAILED,
                   store_pack(run->backlog->arena, run->study->key, &stored));
}

static bool take_point(void *context, uint32_t piece, const struct piece_result *result)
{
    struct point_run *run = context;
    const uint32_t number = run->pending[piece];
    if (result->failure != NULL) {
        return take_failed(run, number, result->failure);
    }
    struct prediction prediction;
    sim_assert(result->size_bytes > sizeof prediction);
    memcpy(&prediction, result->bytes, sizeof prediction);
    const size_t size_bytes = result->size_bytes - sizeof prediction;
    char *bytes = arena_room(run->backlog->arena, size_bytes, 1);
    memcpy(bytes, (const char *)result->bytes + sizeof prediction, size_bytes);
    return put_off(run, number, (enum point_status)prediction.status,
                   (struct store_packed){bytes, size_bytes});
}

static uint32_t count_wanted(const struct study *study, struct shard shard)
{
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < study->count; i++) {
        wanted += shard_has(shard, i);
    }
    return wanted;
}

/* Of the shard's points, counts those that are stored and lists the others. */
static bool sort_points(struct point_run *run, uint32_t *pending)
{
    for (uint32_t i = 0; i < run->study->count; i++) {
        if (!shard_has(run->request->shard, i)) {
            continue;
        }
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

/* Where nobody says how many processes, as many as have room. */
static uint32_t start_jobs(const struct point_run *run)
{
    const struct study_request *request = run->request;
    struct study_start start = {.need_bytes = 0, .machine_bytes = host_memory_bytes()};
    for (uint32_t i = 0; i < run->pending_count; i++) {
        const struct study_point *point = &run->study->points[run->pending[i]];
        if (point->need_bytes[request->folds] >= start.need_bytes) {
            start.need_bytes = point->need_bytes[request->folds];
            start.label = point->label;
        }
    }
    start.jobs = start.jobs_wanted = workers_count(request->jobs, run->pending_count);
    if (start.need_bytes == 0) { /* no point of them can be read */
        return start.jobs;
    }
    const int64_t fitting = start.machine_bytes / start.need_bytes;
    if (request->jobs == 0 && start.jobs > fitting) {
        start.jobs = fitting > 0 ? (uint32_t)fitting : 1;
    }
    if (request->on_start != NULL) {
        request->on_start(request->context, &start);
    }
    return start.jobs;
}

bool study_run(const struct study *study, const struct study_request *request, struct store *store,
               struct study_outcome *outcome, struct diag *diag)
{
    *outcome = (struct study_outcome){.wanted = count_wanted(study, request->shard)};
    const struct store_study stored = {study->key, study->title, study->kind, request->build,
                                       study->count};
    if (!store_study(store, &stored, diag)) {
        return false;
    }
    struct arena *arena = arena_new();
    uint32_t *pending = arena_array(arena, study->count, sizeof *pending);
    struct backlog *backlog = arena_alloc(arena, sizeof *backlog);
    struct point_run run = {.study = study,
                            .request = request,
                            .store = store,
                            .outcome = outcome,
                            .diag = diag,
                            .pending = pending,
                            .backlog = backlog,
                            .memo = step_memo_new()};
    bool is_good = sort_points(&run, pending);
    if (is_good && run.pending_count > 0) {
        const struct workers_request workers = {
            .jobs = start_jobs(&run),
            .piece_count = run.pending_count,
            .work = work_on_point,
            .take = take_point,
            .idle = store_backlog,
            .idle_ms = BACKLOG_MS,
            .context = &run,
        };
        backlog->arena = arena_new();
        is_good = workers_run(&workers);
        arena_free(backlog->arena);
    }
    step_memo_free(run.memo);
    arena_free(arena);
    sim_assert(!is_good || outcome->ok + outcome->infeasible + outcome->failed == outcome->wanted);
    return is_good;
}
