/* The scenario's system with cut tasks, folded if that is wanted; the engine's hooks hear of every
 * task and wait of every actor, and pass on those of the GPUs that are watched. */
#include "train/watch.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/record/engine_record.h"
#include "input/scenario.h"
#include "train/placement.h"

#include <math.h>
#include <stdlib.h>

/* ---- who is watched ------------------------------------------------------------------------- */

static bool is_folded(const struct watch *watch)
{
    return watch->folded != NULL && watch->run == &watch->folded->engine;
}

/* The actor of the run that stands for a rank. */
static uint32_t actor_of(const struct watch *watch, int64_t rank)
{
    const uint32_t built = system_actor_of(watch->system, &watch->system->jobs[0], (uint32_t)rank);
    return is_folded(watch) ? watch->folded->actor_class[built] : built;
}

/* The first actor of each stage that is not slow; where all are, the first. */
static void choose_speakers(struct arena *arena, const struct scenario *scenario,
                            struct watch *watch)
{
    const struct engine_system *run = watch->run;
    bool *is_slow = arena_array(arena, run->actor_count, sizeof *is_slow);
    for (int64_t i = 0; i < scenario->slow_count; i++) {
        is_slow[actor_of(watch, scenario->slow[i].rank)] = true;
    }
    bool *has_fast = arena_array(arena, watch->stages, sizeof *has_fast);
    for (uint32_t i = run->actor_count; i-- > 0;) {
        const uint32_t stage = run->actors[i].program - watch->program_first;
        sim_assert(stage < watch->stages);
        if (!is_slow[i] || !has_fast[stage]) {
            watch->gpus[stage] = (struct watch_gpu){.actor = i, .stage = stage, .rank = -1};
            has_fast[stage] = has_fast[stage] || !is_slow[i];
        }
    }
    watch->gpu_count = watch->stages;
}

static void number_actors(struct watch *watch)
{
    for (uint32_t i = 0; i < watch->run->actor_count; i++) {
        watch->gpu_of_actor[i] = ENGINE_NONE;
    }
    for (uint32_t i = 0; i < watch->gpu_count; i++) {
        watch->gpu_of_actor[watch->gpus[i].actor] = i;
    }
}

void watch_prepare(struct arena *arena, const struct scenario *scenario,
                   const struct watch_request *request, struct watch *watch)
{
    const bool folds = request->folds;
    const uint32_t stages = (uint32_t)scenario->parallel.pp;
    struct placement placement;
    placement_choose(arena, scenario, &placement);
    const struct step_job job = {scenario, placement.gpu_of_rank[0], 1};
    struct program_actions *actions = arena_array(arena, stages, sizeof *actions);
    const struct step_options options = {
        .folds = folds, .actions = actions, .each_action = request->counts_work};
    const struct step_system *system = system_build(arena, &job, 1, placement.gpus, &options);
    const struct folded_system *folded =
        folds ? fold_orbits(arena, &system->engine, system->orbits) : NULL;
    *watch = (struct watch){
        .system = system,
        .run = folds ? &folded->engine : &system->engine,
        .folded = folded,
        .actions = actions,
        .gpus =
            arena_array(arena, stages + WATCH_SLOW_MAX + WATCH_CLASSES_MAX, sizeof *watch->gpus),
        .stages = stages,
        .chunks = (uint32_t)scenario->parallel.virtual_stages,
        .program_first = system->jobs[0].program_first,
        .member = {(uint64_t)scenario->seed, 0},
    };
    watch->gpu_of_actor = arena_array(arena, watch->run->actor_count, sizeof *watch->gpu_of_actor);
    choose_speakers(arena, scenario, watch);
    number_actors(watch);
}

/* ---- slow ones ------------------------------------------------------------------------------ */

/* What is left of the part that is slowest. */
static double share_of(const struct slow_rank *slow)
{
    return fmin(slow->speed, fmin(slow->nic, slow->scale_up));
}

/* The slowest first, then by rank. */
static int by_share(const void *left, const void *right)
{
    const struct slow_rank *a = *(const struct slow_rank *const *)left;
    const struct slow_rank *b = *(const struct slow_rank *const *)right;
    if (share_of(a) < share_of(b) || share_of(a) > share_of(b)) {
        return share_of(a) < share_of(b) ? -1 : 1;
    }
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void add_slow(struct watch *watch, const struct slow_rank *slow)
{
    const uint32_t actor = actor_of(watch, slow->rank);
    const uint32_t known = watch->gpu_of_actor[actor];
    if (known == ENGINE_NONE && watch->gpu_count == watch->stages + WATCH_SLOW_MAX) {
        watch->slow_left_out++;
    } else if (known == ENGINE_NONE) {
        const uint32_t stage = watch->run->actors[actor].program - watch->program_first;
        watch->gpu_of_actor[actor] = watch->gpu_count;
        watch->gpus[watch->gpu_count++] =
            (struct watch_gpu){.actor = actor, .stage = stage, .slow = slow, .rank = -1};
    } else if (watch->gpus[known].slow == NULL) {
        watch->gpus[known].slow = slow;
    } else {
        watch->gpus[known].alike++;
    }
}

void watch_fold(struct arena *arena, struct watch *watch)
{
    if (watch->folded == NULL) {
        watch->folded = fold_system(arena, &watch->system->engine);
    }
}

void watch_add_slow(struct arena *arena, const struct scenario *scenario, struct watch *watch)
{
    const size_t count = (size_t)scenario->slow_count;
    const struct slow_rank **slow = arena_array(arena, count + 1, sizeof *slow);
    for (size_t i = 0; i < count; i++) {
        slow[i] = &scenario->slow[i];
    }
    qsort(slow, count, sizeof *slow, by_share);
    for (size_t i = 0; i < count; i++) {
        add_slow(watch, slow[i]);
    }
}

/* ---- others --------------------------------------------------------------------------------- */

uint32_t watch_class(const struct watch *watch, uint32_t gpu)
{
    const uint32_t actor = watch->gpus[gpu].actor;
    return is_folded(watch) ? actor : watch->folded->actor_class[actor];
}

uint32_t watch_gpu_of_class(const struct watch *watch, uint32_t class)
{
    for (uint32_t i = 0; i < watch->gpu_count; i++) {
        if (watch_class(watch, i) == class) {
            return i;
        }
    }
    return watch->folded->engine.actors[class].program - watch->program_first;
}

bool watch_has_class(const struct watch *watch, uint32_t class)
{
    return watch_class(watch, watch_gpu_of_class(watch, class)) == class;
}

static int64_t first_rank_of_class(const struct watch *watch, uint32_t class)
{
    const struct system_job *job = &watch->system->jobs[0];
    uint32_t rank = 0;
    while (watch->folded->actor_class[system_actor_of(watch->system, job, rank)] != class) {
        rank++;
        sim_assert(rank < mesh_size(&job->mesh));
    }
    return rank;
}

void watch_add_class(struct watch *watch, uint32_t class)
{
    const int64_t rank = first_rank_of_class(watch, class);
    const uint32_t actor = actor_of(watch, rank);
    sim_assert(watch->gpu_of_actor[actor] == ENGINE_NONE);
    sim_assert(watch->gpu_count < watch->stages + WATCH_SLOW_MAX + WATCH_CLASSES_MAX);
    watch->gpu_of_actor[actor] = watch->gpu_count;
    watch->gpus[watch->gpu_count++] = (struct watch_gpu){
        .actor = actor,
        .stage = watch->run->actors[actor].program - watch->program_first,
        .rank = rank,
    };
}

/* ---- the run -------------------------------------------------------------------------------- */

const struct engine_program *watch_program(const struct watch *watch, uint32_t stage)
{
    sim_assert(stage < watch->stages);
    return &watch->run->programs[watch->program_first + stage];
}

struct listener {
    const struct watch *watch;
    const struct watch_ears *ears;
};

static void hear_task(void *context, uint32_t actor, uint32_t stream, uint32_t index,
                      sim_time start, sim_time end)
{
    const struct listener *listener = context;
    const uint32_t gpu = listener->watch->gpu_of_actor[actor];
    if (gpu != ENGINE_NONE) {
        listener->ears->on_task(listener->ears->context, gpu, stream, index, start, end);
    }
}

static void hear_wait(void *context, uint32_t actor, uint8_t cause, int64_t ns)
{
    const struct listener *listener = context;
    const uint32_t gpu = listener->watch->gpu_of_actor[actor];
    if (gpu != ENGINE_NONE && listener->ears->on_wait != NULL) {
        listener->ears->on_wait(listener->ears->context, gpu, (enum cause)cause, ns);
    }
}

void watch_run(struct arena *arena, const struct watch *watch, const struct watch_ears *ears,
               struct engine_outcome *outcome)
{
    struct listener listener = {watch, ears};
    const struct engine_options options = {
        .on_task = hear_task, .on_wait = hear_wait, .context = &listener};
    ensemble_run(arena, watch->run, watch->member, &options, outcome);
}

sim_time watch_record(struct arena *arena, struct watch *watch, struct engine_record *record,
                      const struct engine_options *hooks)
{
    struct engine_options options = {.each_cycle = true};
    if (hooks != NULL) {
        options = *hooks;
    }
    options.record = record;
    struct engine_outcome outcome;
    watch_fold(arena, watch);
    ensemble_run(arena, &watch->folded->engine, watch->member, &options, &outcome);
    return outcome.jobs[0].end;
}
