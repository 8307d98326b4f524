/* Begins and ends of all tasks are kept; then each stage's streams are walked along its computing
 * tasks. Tasks of a stream follow one another, so both walks are linear.
 */
#include "train/overlap.h"

#include "base/arena.h"
#include "base/check.h"
#include "train/metrics.h"
#include "train/watch.h"

const char *const overlap_work_names[OVERLAP_WORK_COUNT_] = {
    [OVERLAP_FORWARD] = "forward",   [OVERLAP_RECOMPUTE] = "recompute",
    [OVERLAP_BACKWARD] = "backward", [OVERLAP_WEIGHTS] = "weight gradients",
    [OVERLAP_PAIR] = "pair",         [OVERLAP_OPTIMIZER] = "optimizer",
    [OVERLAP_OTHER] = "other",
};

struct span {
    sim_time start, end;
};

struct record {
    struct span *spans[STREAM_COUNT_]; /* of each task; NULL: the stream has none */
};

static void on_task(void *context, uint32_t stage, uint32_t stream, uint32_t index, sim_time start,
                    sim_time end)
{
    struct record *records = context;
    records[stage].spans[stream][index] = (struct span){start, end};
}

static struct record *new_records(struct arena *arena, const struct watch *watch)
{
    struct record *records = arena_array(arena, watch->stages, sizeof *records);
    for (uint32_t stage = 0; stage < watch->stages; stage++) {
        const uint32_t *counts = watch_program(watch, stage)->counts;
        for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
            if (counts[s] > 0) {
                records[stage].spans[s] = arena_array(arena, counts[s], sizeof(struct span));
            }
        }
    }
    return records;
}

static enum overlap_work work_of(const struct watch *watch, uint32_t stage, uint32_t index)
{
    static const enum overlap_work of_operation[] = {
        [SCHEDULE_FORWARD] = OVERLAP_FORWARD,
        [SCHEDULE_BACKWARD] = OVERLAP_BACKWARD,
        [SCHEDULE_BACKWARD_INPUT] = OVERLAP_BACKWARD,
        [SCHEDULE_WEIGHTS] = OVERLAP_WEIGHTS,
        [SCHEDULE_PAIR] = OVERLAP_PAIR,
    };
    const struct program_actions *actions = &watch->actions[stage];
    const uint8_t cause =
        engine_program_task(watch_program(watch, stage), STREAM_COMPUTE, index)->cause;
    const uint32_t action = actions->action_of[index];
    if (cause == CAUSE_OPTIMIZER) {
        return OVERLAP_OPTIMIZER;
    }
    if (action == PROGRAM_NO_ACTION) {
        return OVERLAP_OTHER;
    }
    return cause == CAUSE_RECOMPUTE ? OVERLAP_RECOMPUTE
                                    : of_operation[actions->order.actions[action].operation];
}

/* ---- one stage ---------------------------------------------------------------------- */

/* The stream whose task lets this one begin: the last to end of those waited for. */
static uint32_t owner_of(const struct record *record, const struct engine_walk *walk)
{
    uint32_t owner = STREAM_COUNT_;
    sim_time latest = 0;
    for (uint32_t i = 0; i < walk->task->wait_count; i++) {
        const uint32_t stream = walk->task->wait_stream[i];
        const sim_time end = record->spans[stream][engine_walk_wait(walk, i) - 1].end;
        if (owner == STREAM_COUNT_ || end > latest || (end == latest && stream < owner)) {
            owner = stream;
            latest = end;
        }
    }
    sim_assert(owner < STREAM_COUNT_);
    return owner;
}

static void add_waits(const struct watch *watch, uint32_t stage, const struct record *record,
                      struct overlap *overlap)
{
    const struct engine_program *program = watch_program(watch, stage);
    const struct span *spans = record->spans[STREAM_COMPUTE];
    sim_time free_since = 0;
    for (struct engine_walk walk = engine_walk_of(program, STREAM_COMPUTE); walk.task != NULL;
         engine_walk_next(&walk)) {
        const struct span *span = &spans[walk.index];
        const enum overlap_work work = work_of(watch, stage, walk.index);
        overlap->computing_ns[work] += span->end - span->start;
        const sim_time waited = span->start - free_since;
        if (waited > 0) {
            struct overlap_stream *stream = &overlap->streams[owner_of(record, &walk)];
            stream->waited_ns[work] += waited;
            stream->waits[work]++;
        }
        free_since = span->end;
    }
}

static sim_time common(struct span a, struct span b)
{
    const sim_time start = a.start > b.start ? a.start : b.start;
    const sim_time end = a.end < b.end ? a.end : b.end;
    return end > start ? end - start : 0;
}

static void add_hidden(const struct watch *watch, uint32_t stage, const struct record *record,
                       uint32_t number, struct overlap_stream *stream)
{
    const uint32_t *counts = watch_program(watch, stage)->counts;
    const struct span *computing = record->spans[STREAM_COMPUTE];
    uint32_t first = 0; /* that has not ended before the task began */
    stream->tasks = counts[number];
    for (uint32_t i = 0; i < counts[number]; i++) {
        const struct span span = record->spans[number][i];
        stream->under_way_ns += span.end - span.start;
        while (first < counts[STREAM_COMPUTE] && computing[first].end <= span.start) {
            first++;
        }
        for (uint32_t k = first; k < counts[STREAM_COMPUTE] && computing[k].start < span.end; k++) {
            stream->beside_ns[work_of(watch, stage, k)] += common(span, computing[k]);
        }
    }
}

static void look_at(const struct watch *watch, const struct record *record, struct overlap *overlap)
{
    for (uint32_t s = STREAM_COMPUTE + 1; s < STREAM_COUNT_; s++) {
        add_hidden(watch, overlap->stage, record, s, &overlap->streams[s]);
    }
    add_waits(watch, overlap->stage, record, overlap);
}

/* ---- all stages --------------------------------------------------------------------- */

int64_t overlap_sum(const int64_t ns[OVERLAP_WORK_COUNT_])
{
    int64_t sum = 0;
    for (uint32_t work = 0; work < OVERLAP_WORK_COUNT_; work++) {
        sum += ns[work];
    }
    return sum;
}

static int64_t waited_ns(const struct overlap *overlap)
{
    int64_t sum = 0;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        sum += overlap_sum(overlap->streams[s].waited_ns);
    }
    return sum;
}

/* The engine booked the same waits: on a stream's exposed cause, or what its partners' delay took
 * of them on its wait cause. */
static void check_books(const struct watch *watch, const int64_t *causes,
                        const struct overlap *overlap)
{
    const struct engine_stream *streams = watch->run->streams;
    const int64_t idle = overlap->end - overlap_sum(overlap->computing_ns) - waited_ns(overlap);
    int64_t booked[CAUSE_COUNT_] = {0};
    int64_t delayed = 0;
    for (uint32_t s = STREAM_COMPUTE + 1; s < STREAM_COUNT_; s++) {
        booked[streams[s].exposed_cause] += overlap_sum(overlap->streams[s].waited_ns);
    }
    for (uint32_t cause = CAUSE_EXPOSED_TP; cause <= CAUSE_EXPOSED_OFFLOAD; cause++) {
        sim_assert(causes[cause] <= booked[cause]);
        delayed += booked[cause] - causes[cause];
    }
    sim_assert(delayed + idle == causes[CAUSE_BUBBLE] + causes[CAUSE_STRAGGLER_WAIT]);
}

void overlap_simulate(struct arena *arena, const struct scenario *scenario, bool folds,
                      struct overlap *overlap)
{
    struct watch watch;
    watch_prepare(arena, scenario, &(struct watch_request){.folds = folds}, &watch);
    struct record *records = new_records(arena, &watch);
    struct engine_outcome outcome;
    watch_run(arena, &watch, &(struct watch_ears){.on_task = on_task, .context = records},
              &outcome);
    for (uint32_t stage = 0; stage < watch.stages; stage++) {
        struct overlap one = {.stage = stage, .end = outcome.jobs[0].end};
        look_at(&watch, &records[stage], &one);
        check_books(&watch, outcome.actor_causes[watch.gpus[stage].actor], &one);
        if (stage == 0 || waited_ns(&one) > waited_ns(overlap)) {
            *overlap = one;
        }
    }
}
