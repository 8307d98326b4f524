/* A step is run once more, with compute tasks that end with their action (program) and a
 * hook at the end of each. Tasks of an action follow one another, and so do its bars. */
#include "train/timeline.h"

#include "base/arena.h"
#include "base/check.h"
#include "train/fold.h"
#include "train/placement.h"

struct recorder {
    struct timeline *timeline;
    const struct program_actions *actions; /* of each stage */
    const struct engine_system *run;
    const uint32_t *speaker; /* actor of each stage */
    uint32_t program_first;
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

static void record(const struct recorder *recorder, uint32_t stage, uint32_t index, sim_time start,
                   sim_time end)
{
    const struct program_actions *actions = &recorder->actions[stage];
    const struct engine_program *program =
        &recorder->run->programs[recorder->program_first + stage];
    sim_assert(index < actions->task_count && index < program->counts[STREAM_COMPUTE]);
    const struct task *task = &program->tasks[STREAM_COMPUTE][index];
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

static void on_task(void *context, uint32_t actor, uint32_t stream, uint32_t index, sim_time start,
                    sim_time end)
{
    const struct recorder *recorder = context;
    if (stream != STREAM_COMPUTE || recorder->run->actors[actor].job != 0) {
        return;
    }
    const uint32_t stage = recorder->run->actors[actor].program - recorder->program_first;
    if (recorder->speaker[stage] == actor && end > start) {
        record(recorder, stage, index, start, end);
    }
}

/* The first actor of each stage. */
static const uint32_t *choose_speakers(struct arena *arena, const struct engine_system *run,
                                       const struct system_job *job)
{
    uint32_t *speaker = arena_array(arena, job->mesh.pp, sizeof *speaker);
    for (uint32_t i = run->actor_count; i-- > 0;) {
        const uint32_t stage = run->actors[i].program - job->program_first;
        sim_assert(stage < job->mesh.pp);
        speaker[stage] = i;
    }
    return speaker;
}

static void make_rows(struct arena *arena, const struct engine_system *run,
                      const struct system_job *job, struct timeline *timeline)
{
    timeline->rows = arena_array(arena, timeline->stages, sizeof *timeline->rows);
    for (uint32_t stage = 0; stage < timeline->stages; stage++) {
        const struct engine_program *program = &run->programs[job->program_first + stage];
        timeline->rows[stage].bars =
            arena_array(arena, program->counts[STREAM_COMPUTE], sizeof *timeline->rows[stage].bars);
    }
}

void timeline_simulate(struct arena *arena, const struct scenario *scenario, bool folds,
                       struct timeline *timeline)
{
    const uint32_t stages = (uint32_t)scenario->parallel.pp;
    struct placement placement;
    placement_choose(arena, scenario, &placement);
    const struct step_job job = {scenario, placement.gpu_of_rank[0], 1};
    struct program_actions *actions = arena_array(arena, stages, sizeof *actions);
    const struct step_options options = {.actions = actions};
    const struct step_system *system = system_build(arena, &job, 1, placement.gpus, &options);
    const struct engine_system *run =
        folds ? &fold_system(arena, &system->engine)->engine : &system->engine;
    *timeline =
        (struct timeline){.stages = stages, .chunks = (uint32_t)scenario->parallel.virtual_stages};
    make_rows(arena, run, &system->jobs[0], timeline);
    struct recorder recorder = {
        .timeline = timeline,
        .actions = actions,
        .run = run,
        .speaker = choose_speakers(arena, run, &system->jobs[0]),
        .program_first = system->jobs[0].program_first,
        .last_action = arena_array(arena, stages, sizeof(uint32_t)),
    };
    const struct engine_options engine_options = {on_task, &recorder};
    struct engine_outcome outcome;
    engine_run(arena, run, &engine_options, &outcome);
    timeline->end = outcome.jobs[0].end;
}
