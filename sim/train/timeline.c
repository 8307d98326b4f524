/* A step is run once more and watched (train/watch). Tasks of an action follow one another, and so
 * do its bars. */
#include "train/timeline.h"

#include "base/arena.h"
#include "base/check.h"
#include "train/watch.h"

struct recorder {
    struct timeline *timeline;
    const struct watch *watch;
    uint32_t *last_action; /* of the bar being written, per stage; PROGRAM_NO_ACTION: none */
};

static enum timeline_kind kind_of(const struct task *task, uint32_t action)
{
    if (action != PROGRAM_NO_ACTION) {
        return TIMELINE_ACTION;
    }
    return task->cause == CAUSE_OPTIMIZER ? TIMELINE_OPTIMIZER : TIMELINE_OTHER;
}

/* Does a task go on with the last bar of its stage? */
static bool goes_on(const struct recorder *recorder, uint32_t stage, uint32_t action,
                    enum timeline_kind kind, sim_time start)
{
    const struct timeline_row *row = &recorder->timeline->rows[stage];
    if (row->count == 0 || recorder->last_action[stage] != action) {
        return false;
    }
    const struct timeline_bar *bar = &row->bars[row->count - 1];
    return action != PROGRAM_NO_ACTION || (bar->kind == kind && bar->end == start);
}

static void record(struct recorder *recorder, uint32_t stage, uint32_t index, sim_time start,
                   sim_time end)
{
    const struct program_actions *actions = &recorder->watch->actions[stage];
    const struct engine_program *program = watch_program(recorder->watch, stage);
    sim_assert(index < actions->task_count && index < program->counts[STREAM_COMPUTE]);
    const struct task *task = engine_program_task(program, STREAM_COMPUTE, index);
    const uint32_t action = actions->action_of[index];
    const enum timeline_kind kind = kind_of(task, action);
    struct timeline_row *row = &recorder->timeline->rows[stage];
    if (!goes_on(recorder, stage, action, kind, start)) {
        row->bars[row->count] = (struct timeline_bar){.kind = kind, .start = start};
        if (kind == TIMELINE_ACTION) {
            row->bars[row->count].action = actions->order.actions[action];
        }
        row->count++;
        recorder->last_action[stage] = action;
    }
    struct timeline_bar *bar = &row->bars[row->count - 1];
    bar->end = end;
    bar->recompute_ns += task->cause == CAUSE_RECOMPUTE ? end - start : 0;
}

static void on_task(void *context, uint32_t stage, uint32_t stream, uint32_t index, sim_time start,
                    sim_time end)
{
    if (stream == STREAM_COMPUTE && end > start) {
        record(context, stage, index, start, end);
    }
}

static void make_rows(struct arena *arena, const struct watch *watch, struct timeline *timeline)
{
    timeline->rows = arena_array(arena, watch->stages, sizeof *timeline->rows);
    for (uint32_t stage = 0; stage < watch->stages; stage++) {
        timeline->rows[stage].bars =
            arena_array(arena, watch_program(watch, stage)->counts[STREAM_COMPUTE],
                        sizeof *timeline->rows[stage].bars);
    }
}

void timeline_simulate(struct arena *arena, const struct scenario *scenario, bool folds,
                       struct timeline *timeline)
{
    struct watch watch;
    watch_prepare(arena, scenario, folds, &watch);
    *timeline = (struct timeline){.stages = watch.stages, .chunks = watch.chunks};
    make_rows(arena, &watch, timeline);
    struct recorder recorder = {
        .timeline = timeline,
        .watch = &watch,
        .last_action = arena_array(arena, watch.stages, sizeof(uint32_t)),
    };
    struct engine_outcome outcome;
    watch_run(arena, &watch, on_task, &recorder, &outcome);
    timeline->end = outcome.jobs[0].end;
}
