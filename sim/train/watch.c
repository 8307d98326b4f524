/* The scenario's system with cut tasks, folded if that is wanted; the engine's hook hears of every
 * task of every actor, and passes on those of the speakers. */
#include "train/watch.h"

#include "base/arena.h"
#include "base/check.h"
#include "train/fold.h"
#include "train/placement.h"

/* The first actor of each stage. */
static const uint32_t *choose_speakers(struct arena *arena, const struct watch *watch)
{
    uint32_t *speaker = arena_array(arena, watch->stages, sizeof *speaker);
    for (uint32_t i = watch->run->actor_count; i-- > 0;) {
        const uint32_t stage = watch->run->actors[i].program - watch->program_first;
        sim_assert(stage < watch->stages);
        speaker[stage] = i;
    }
    return speaker;
}

void watch_prepare(struct arena *arena, const struct scenario *scenario, bool folds,
                   struct watch *watch)
{
    const uint32_t stages = (uint32_t)scenario->parallel.pp;
    struct placement placement;
    placement_choose(arena, scenario, &placement);
    const struct step_job job = {scenario, placement.gpu_of_rank[0], 1};
    struct program_actions *actions = arena_array(arena, stages, sizeof *actions);
    const struct step_options options = {.folds = folds, .actions = actions};
    const struct step_system *system = system_build(arena, &job, 1, placement.gpus, &options);
    *watch = (struct watch){
        .run =
            folds ? &fold_orbits(arena, &system->engine, system->orbits)->engine : &system->engine,
        .actions = actions,
        .stages = stages,
        .chunks = (uint32_t)scenario->parallel.virtual_stages,
        .program_first = system->jobs[0].program_first,
    };
    watch->speaker = choose_speakers(arena, watch);
}

const struct engine_program *watch_program(const struct watch *watch, uint32_t stage)
{
    sim_assert(stage < watch->stages);
    return &watch->run->programs[watch->program_first + stage];
}

struct listener {
    const struct watch *watch;
    watch_function *on_task;
    void *context;
};

static void hear(void *context, uint32_t actor, uint32_t stream, uint32_t index, sim_time start,
                 sim_time end)
{
    const struct listener *listener = context;
    const struct watch *watch = listener->watch;
    const struct engine_actor *who = &watch->run->actors[actor];
    const uint32_t stage = who->program - watch->program_first;
    if (who->job == 0 && watch->speaker[stage] == actor) {
        listener->on_task(listener->context, stage, stream, index, start, end);
    }
}

void watch_run(struct arena *arena, const struct watch *watch, watch_function *on_task,
               void *context, struct engine_outcome *outcome)
{
    struct listener listener = {watch, on_task, context};
    const struct engine_options options = {.on_task = hear, .context = &listener};
    engine_run(arena, watch->run, &options, outcome);
}
