/* A step is run once more and recorded: the path is walked, and with it it is known who has a row;
 * transfers of these are looked up. Then it is watched (train/watch) for bars and pieces. Tasks of
 * an action follow one another, and so do its bars.
 */
#include "train/timeline.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/record/engine_critical.h"
#include "train/watch.h"

enum { PATH_SHARE = 50 }; /* of the run: with less of the path a GPU gets no row for it */

struct recorder {
    struct arena *arena;
    struct timeline *timeline;
    struct watch *watch;
    uint32_t *last_action; /* of the bar being written, per row; PROGRAM_NO_ACTION: none */
};

/* ---- bars ----------------------------------------------------------------------------------- */

static enum timeline_kind kind_of(const struct task *task, uint32_t action)
{
    if (action != PROGRAM_NO_ACTION) {
        return TIMELINE_ACTION;
    }
    return task->cause == CAUSE_OPTIMIZER ? TIMELINE_OPTIMIZER : TIMELINE_OTHER;
}

/* Does a task go on with the last bar of its row? */
static bool goes_on(const struct recorder *recorder, uint32_t number, uint32_t action,
                    enum timeline_kind kind, sim_time start)
{
    const struct timeline_row *row = &recorder->timeline->rows[number];
    if (row->count == 0 || recorder->last_action[number] != action) {
        return false;
    }
    const struct timeline_bar *bar = &row->bars[row->count - 1];
    return action != PROGRAM_NO_ACTION || (bar->kind == kind && bar->end == start);
}

/* Of a task of stream 0. */
static void add_to_bars(struct recorder *recorder, uint32_t number, uint32_t index,
                        const struct timeline_piece *piece)
{
    struct timeline_row *row = &recorder->timeline->rows[number];
    const struct program_actions *actions = &recorder->watch->actions[row->stage];
    const struct engine_program *program = watch_program(recorder->watch, row->stage);
    sim_assert(index < actions->task_count && index < program->counts[STREAM_COMPUTE]);
    const struct task *task = engine_program_task(program, STREAM_COMPUTE, index);
    const uint32_t action = actions->action_of[index];
    const enum timeline_kind kind = kind_of(task, action);
    if (!goes_on(recorder, number, action, kind, piece->start)) {
        row->bars[row->count] = (struct timeline_bar){.kind = kind, .start = piece->start};
        if (kind == TIMELINE_ACTION) {
            row->bars[row->count].action = actions->order.actions[action];
        }
        row->count++;
        recorder->last_action[number] = action;
    }
    struct timeline_bar *bar = &row->bars[row->count - 1];
    bar->end = piece->end;
    bar->recompute_ns += task->cause == CAUSE_RECOMPUTE ? piece->end - piece->start : 0;
}

/* ---- pieces --------------------------------------------------------------------------------- */

static sim_time end_of_pieces(const struct timeline_row *row)
{
    return row->piece_count > 0 ? row->pieces[row->piece_count - 1].end : 0;
}

/* Longer than nothing. One that goes on with the last of its kind is a part of it. */
static void add_piece(struct arena *arena, struct timeline_row *row, struct timeline_piece piece)
{
    sim_assert(piece.start == end_of_pieces(row) && piece.end > piece.start);
    struct timeline_piece *last = row->piece_count > 0 ? &row->pieces[row->piece_count - 1] : NULL;
    if (last != NULL && last->cause == piece.cause && last->bar == piece.bar) {
        last->end = piece.end;
        return;
    }
    row->pieces = arena_grow(arena, row->pieces, &row->piece_capacity, row->piece_count + 1,
                             sizeof *row->pieces);
    row->pieces[row->piece_count++] = piece;
}

static void add_wait(struct arena *arena, struct timeline_row *row, enum cause cause, int64_t ns)
{
    const sim_time start = end_of_pieces(row);
    if (ns > 0) {
        add_piece(arena, row, (struct timeline_piece){start, start + ns, cause, TIMELINE_NO_BAR});
    }
}

static void on_wait(void *context, uint32_t gpu, enum cause cause, int64_t ns)
{
    struct recorder *recorder = context;
    add_wait(recorder->arena, &recorder->timeline->rows[gpu], cause, ns);
}

static void on_task(void *context, uint32_t gpu, uint32_t stream, uint32_t index, sim_time start,
                    sim_time end)
{
    struct recorder *recorder = context;
    if (stream != STREAM_COMPUTE || end == start) {
        return;
    }
    struct timeline_row *row = &recorder->timeline->rows[gpu];
    const struct engine_program *program = watch_program(recorder->watch, row->stage);
    struct timeline_piece piece = {
        .start = start,
        .end = end,
        .cause = (enum cause)engine_program_task(program, STREAM_COMPUTE, index)->cause,
    };
    add_to_bars(recorder, gpu, index, &piece);
    piece.bar = row->count - 1;
    add_piece(recorder->arena, row, piece);
}

/* ---- transfers ------------------------------------------------------------------------------ */

static void add_stream(struct recorder *recorder, uint32_t number, uint32_t stream,
                       struct engine_record *record)
{
    struct timeline_row *row = &recorder->timeline->rows[number];
    const uint32_t actor = watch_class(recorder->watch, number);
    const struct engine_system *system = engine_record_system(record);
    const struct engine_program *program = engine_program_of_actor(system, actor);
    for (uint32_t i = 0; i < program->counts[stream]; i++) {
        const struct engine_span span = engine_critical_moving(record, actor, stream, i);
        if (span.end > span.start) {
            row->transfers = arena_grow(recorder->arena, row->transfers, &row->transfer_capacity,
                                        row->transfer_count + 1, sizeof *row->transfers);
            row->transfers[row->transfer_count++] = (struct timeline_transfer){
                span.start, span.end, (enum cause)system->streams[stream].exposed_cause};
        }
    }
}

/* ---- the path ------------------------------------------------------------------------------- */

struct path_maker {
    struct recorder *recorder;
    const struct engine_system *system;
};

static void add_leg(struct arena *arena, struct timeline *timeline, struct timeline_leg leg)
{
    timeline->path = arena_grow(arena, timeline->path, &timeline->leg_capacity,
                                timeline->leg_count + 1, sizeof *timeline->path);
    timeline->path[timeline->leg_count++] = leg;
}

/* The last one first. As long as not all rows are known, its class stands for its row. */
static void on_leg(void *context, const struct engine_leg *leg)
{
    struct path_maker *maker = context;
    sim_assert(leg->times == 1);
    if (leg->end > leg->begin) {
        const uint8_t cause = leg->stream == STREAM_COMPUTE
                                  ? leg->task->cause
                                  : maker->system->streams[leg->stream].exposed_cause;
        add_leg(maker->recorder->arena, maker->recorder->timeline,
                (struct timeline_leg){leg->begin, leg->end, leg->actor, (enum cause)cause});
    }
}

static void turn_round(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->leg_count / 2; i++) {
        const size_t other = timeline->leg_count - 1 - i;
        const struct timeline_leg leg = timeline->path[i];
        timeline->path[i] = timeline->path[other];
        timeline->path[other] = leg;
    }
}

static void check_path(const struct timeline *timeline)
{
    sim_time now = 0;
    for (size_t i = 0; i < timeline->leg_count; i++) {
        sim_assert(timeline->path[i].start == now);
        now = timeline->path[i].end;
    }
    sim_assert(now == timeline->run_end);
}

/* GPUs that are not watched yet and over which most of the path runs, the one with most first. */
static void watch_path(struct arena *scratch, struct watch *watch, const struct timeline *timeline)
{
    const uint32_t classes = watch->folded->engine.actor_count;
    sim_time *on_class = arena_array(scratch, classes, sizeof *on_class);
    for (size_t i = 0; i < timeline->leg_count; i++) {
        on_class[timeline->path[i].row] += timeline->path[i].end - timeline->path[i].start;
    }
    for (uint32_t added = 0; added < WATCH_CLASSES_MAX; added++) {
        uint32_t most = ENGINE_NONE;
        for (uint32_t class = 0; class < classes; class ++) {
            const bool is_longer = most == ENGINE_NONE || on_class[class] > on_class[most];
            most = is_longer && !watch_has_class(watch, class) ? class : most;
        }
        if (most == ENGINE_NONE || on_class[most] < timeline->run_end / PATH_SHARE) {
            break;
        }
        watch_add_class(watch, most);
    }
}

/* Of the path, which decides who else has a row. */
static void find_path(struct recorder *recorder, struct engine_record *record)
{
    struct timeline *timeline = recorder->timeline;
    struct arena *scratch = arena_new();
    struct path_maker maker = {recorder, engine_record_system(record)};
    engine_critical_walk(record, on_leg, &maker);
    turn_round(timeline);
    timeline->run_end = timeline->path[timeline->leg_count - 1].end;
    check_path(timeline);
    watch_path(scratch, recorder->watch, timeline);
    for (size_t i = 0; i < timeline->leg_count; i++) {
        timeline->path[i].row = watch_gpu_of_class(recorder->watch, timeline->path[i].row);
    }
    arena_free(scratch);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void make_rows(struct recorder *recorder)
{
    const struct watch *watch = recorder->watch;
    struct timeline *timeline = recorder->timeline;
    timeline->row_count = watch->gpu_count;
    timeline->rows = arena_array(recorder->arena, watch->gpu_count, sizeof *timeline->rows);
    for (uint32_t i = 0; i < watch->gpu_count; i++) {
        const struct watch_gpu *gpu = &watch->gpus[i];
        const uint32_t tasks = watch_program(watch, gpu->stage)->counts[STREAM_COMPUTE];
        timeline->rows[i] = (struct timeline_row){
            .stage = gpu->stage,
            .slow = gpu->slow,
            .alike = gpu->alike,
            .rank = gpu->rank,
            .bars = arena_array(recorder->arena, tasks, sizeof *timeline->rows[i].bars),
        };
    }
    recorder->last_action = arena_array(recorder->arena, watch->gpu_count, sizeof(uint32_t));
}

static void add_transfers(struct recorder *recorder, struct engine_record *record)
{
    for (uint32_t i = 0; i < recorder->timeline->row_count; i++) {
        for (uint32_t s = STREAM_COMPUTE + 1; s < STREAM_COUNT_; s++) {
            add_stream(recorder, i, s, record);
        }
    }
}

/* Everybody waits for the slowest GPU. */
static void add_jitter(struct arena *arena, int64_t jitter_ns, struct timeline *timeline)
{
    const uint32_t last = timeline->path[timeline->leg_count - 1].row;
    timeline->end += jitter_ns;
    for (uint32_t i = 0; i < timeline->row_count; i++) {
        add_wait(arena, &timeline->rows[i], CAUSE_STRAGGLER_WAIT, jitter_ns);
        sim_assert(end_of_pieces(&timeline->rows[i]) == timeline->end);
    }
    if (jitter_ns > 0) {
        add_leg(
            arena, timeline,
            (struct timeline_leg){timeline->run_end, timeline->end, last, CAUSE_STRAGGLER_WAIT});
    }
}

void timeline_simulate(struct arena *arena, const struct scenario *scenario,
                       const struct timeline_request *request, struct timeline *timeline)
{
    struct watch watch;
    watch_prepare(arena, scenario, &(struct watch_request){.folds = request->folds}, &watch);
    watch_add_slow(arena, scenario, &watch);
    watch.member.number = request->step != NULL ? request->step->spread.median : 0;
    *timeline = (struct timeline){
        .stages = watch.stages, .chunks = watch.chunks, .slow_left_out = watch.slow_left_out};
    struct recorder recorder = {.arena = arena, .timeline = timeline, .watch = &watch};
    struct arena *scratch = arena_new();
    struct engine_record *record = engine_record_new(scratch);
    watch_record(scratch, &watch, record, NULL);
    find_path(&recorder, record);
    make_rows(&recorder);
    add_transfers(&recorder, record);
    arena_free(scratch);
    struct engine_outcome outcome;
    watch_run(arena, &watch, &(struct watch_ears){on_task, on_wait, &recorder}, &outcome);
    sim_assert(timeline->run_end == outcome.jobs[0].end);
    timeline->end = timeline->run_end;
    add_jitter(arena, request->step != NULL ? request->step->jitter_ns : 0, timeline);
}
