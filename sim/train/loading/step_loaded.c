/* Two runs of the engine that begin alike; their difference is divided by steps, and what does not
 * divide goes to compute, by less than a nanosecond of a GPU.
 *
 * While full queues drain each step is like the one before, too, and shorter than what follows. So
 * batches are counted: over the second half of the steps loaders have to make what is taken.
 */
#include "train/loading/step_loaded.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/scenario.h"
#include "train/fold.h"
#include "train/loading/loaders.h"
#include "train/streams.h"

#include <math.h>

/* Main processes outlive steps that take so many times as long as all that there is to do. */
static const double LONGEST = 16;
enum { DRAWN_BATCHES = 128 };
enum { DRAWN_PART = 20 };    /* of what is taken: what drawn batches may differ by */
enum { SEEN_BATCHES = 100 }; /* of which one too few is seen: a queue that drains by 1 % */

struct loaded {
    const struct step_job *job;
    const struct step_request *request;
    const struct step_result *alone;
    uint32_t gpus;
    bool starts_full; /* the queue of each loader */
};

/* ---- what loaders make ---------------------------------------------------------------------- */

struct made {
    const struct engine_system *system;
    uint32_t from, to; /* batches that a loader has handed over */
    uint32_t *of;      /* [actor_count] batches that it has made */
    int64_t between;   /* that all have made from then to then */
    int64_t taken;
};

static void count_task(void *context, uint32_t actor, uint32_t stream, uint32_t index,
                       sim_time start, sim_time end)
{
    struct made *made = context;
    const struct engine_actor *is = &made->system->actors[actor];
    (void)start, (void)end;
    if (is->job == 0) {
        return;
    }
    if (stream != STREAM_READ) {
        made->of[actor]++;
    } else if (index + 1 == made->from) {
        made->between -= (int64_t)made->of[actor] * is->multiplicity;
    } else if (index + 1 == made->to) {
        made->between += (int64_t)made->of[actor] * is->multiplicity;
        made->taken += (int64_t)(made->to - made->from) * is->multiplicity;
    }
}

/* What `steps` steps take at most: as long as if everything came one after the other. */
static sim_time longest_ns(const struct loaded *loaded, uint32_t steps)
{
    const struct dataloader_options *of = &loaded->request->loaders->of;
    const double each = (double)loaded->job->scenario->batch.microbatches;
    const double batches = steps * each + of->workers * (of->prefetch + (double)of->fills);
    const double step_s = sim_time_to_s(loaded->alone->step_ns);
    const double all_s = batches * dataloader_crowded_s(of) + steps * step_s;
    return sim_time_from_s(fmin(4e9, LONGEST * all_s));
}

/* `made` may be NULL. */
static struct engine_job run(const struct loaded *loaded, uint32_t steps, struct made *made)
{
    struct arena *arena = arena_new();
    const struct step_request *request = loaded->request;
    struct step_options options = step_options_of(request);
    options.folds = false; /* each GPU is built, then folded with its loaders */
    options.takes_batches = true;
    options.wait_ns = loaded->alone->jitter_ns;
    struct step_job job = *loaded->job;
    job.steps = steps;
    const struct step_system *system = system_build(arena, &job, 1, loaded->gpus, &options);
    const struct loaders_options loaders = {
        .of = &request->loaders->of,
        .starts_full = loaded->starts_full,
        .longest_ns = longest_ns(loaded, steps),
    };
    struct engine_system whole = loaders_beside(arena, system, &loaders);
    if (!request->folds) {
        whole.classes = fold_classes(arena, &whole);
    }
    const struct engine_system *runs =
        request->folds ? &fold_system(arena, &whole)->engine : &whole;
    const struct ensemble_member member = {(uint64_t)job.scenario->seed,
                                           loaded->alone->spread.median};
    const struct engine_options counts = {.on_task = count_task, .context = made};
    if (made != NULL) {
        made->system = runs;
        made->of = arena_array(arena, runs->actor_count, sizeof *made->of);
    }
    struct engine_outcome outcome;
    ensemble_run(arena, runs, request->member != NULL ? *request->member : member,
                 made != NULL ? &counts : NULL, &outcome);
    const struct engine_job steps_run = outcome.jobs[0];
    sim_assert(steps_run.end < loaders.longest_ns);
    arena_free(arena);
    return steps_run;
}

/* Steps after which a microbatch is a worker's again. */
static uint32_t period_of(const struct loaded *loaded)
{
    const struct dataloader_options *of = &loaded->request->loaders->of;
    uint64_t a = of->workers;
    uint64_t b = (uint64_t)loaded->job->scenario->batch.microbatches;
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return of->workers / (uint32_t)a;
}

static uint32_t at_most(uint64_t steps)
{
    return steps < ENGINE_STEPS_MAX ? (uint32_t)steps : ENGINE_STEPS_MAX;
}

/* Of batches drawn at random, for a mean of some hundreds of each loader. */
static uint32_t drawn_steps(const struct loaded *loaded)
{
    const uint64_t microbatches = (uint64_t)loaded->job->scenario->batch.microbatches;
    return at_most(DRAWN_BATCHES / microbatches + 1);
}

/* Whether the last p steps took as long as the p before them. */
static bool repeats(const struct engine_job *run, uint32_t steps, uint32_t period)
{
    const sim_time *ends = run->step_ends;
    return steps > 2 * period && ends[steps - 1] - ends[steps - 1 - period] ==
                                     ends[steps - 1 - period] - ends[steps - 1 - 2 * period];
}

/* What the one run has more, by steps. */
static void divide(const struct engine_job *more, const struct engine_job *less, uint32_t steps,
                   int64_t gpus, struct step_result *result)
{
    const sim_time longer_ns = more->end - less->end;
    sim_assert(longer_ns > 0);
    result->step_ns = longer_ns / steps;
    int64_t left = gpus * result->step_ns;
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        const int64_t of_all = more->total_causes[c] - less->total_causes[c];
        result->gpu_ns[c] = of_all > 0 ? of_all / steps : 0;
        left -= result->gpu_ns[c];
    }
    result->gpu_ns[CAUSE_COMPUTE] += left;
    sim_assert(result->gpu_ns[CAUSE_COMPUTE] >= 0);
}

/* Whether full queues are emptier after the second half of the steps than before it: by one batch,
 * or, where steps are not alike, by more than they differ. */
static bool drains(const struct loaded *loaded, uint32_t steps, bool are_alike)
{
    const struct dataloader_options *of = &loaded->request->loaders->of;
    const uint32_t each = (uint32_t)loaded->job->scenario->batch.microbatches;
    const uint32_t period = period_of(loaded);
    const uint32_t least = at_most((uint64_t)2 * (SEEN_BATCHES / each + 1));
    steps = steps < least ? least : steps;
    const uint32_t counted = steps / 2 > period ? steps / 2 / period * period : steps / 2;
    struct made made = {.from = (steps - counted) * each, .to = steps * each};
    run(loaded, steps, &made);
    const int64_t loaders = made.taken / (made.to - made.from);
    const int64_t differ = are_alike ? 0 : loaders * of->workers + made.taken / DRAWN_PART;
    return made.taken - made.between > differ;
}

/* A run that ends as all go on, of so many steps at least, and its steps. */
static struct engine_job run_until_alike(const struct loaded *loaded, bool is_drawn,
                                         uint32_t *steps)
{
    const uint32_t period = period_of(loaded);
    struct engine_job job = run(loaded, *steps, NULL);
    while (!is_drawn && !repeats(&job, *steps, period) && *steps < ENGINE_STEPS_MAX) {
        *steps = at_most(2 * (uint64_t)*steps);
        job = run(loaded, *steps, NULL);
    }
    return job;
}

void step_load(const struct step_job *job, uint32_t gpus, const struct step_request *request,
               struct step_result *result)
{
    const struct dataloader_options *of = &request->loaders->of;
    struct loaded loaded = {job, request, result, gpus, !request->loaders->are_slow};
    const uint64_t ahead = (uint64_t)of->workers * of->prefetch;
    const uint64_t fills = 2 * ahead / (uint64_t)job->scenario->batch.microbatches + 2;
    uint32_t period = period_of(&loaded);
    const bool is_drawn = of->law != BATCHES_EQUAL;
    uint32_t steps = at_most(fills + (is_drawn ? 2 * drawn_steps(&loaded) : 2 * period));
    struct engine_job more = run_until_alike(&loaded, is_drawn, &steps);
    if (loaded.starts_full && drains(&loaded, steps, repeats(&more, steps, period))) {
        loaded.starts_full = false;
        more = run_until_alike(&loaded, is_drawn, &steps);
    }
    period = repeats(&more, steps, period) ? period : steps / 2;
    const struct engine_job less = run(&loaded, steps - period, NULL);
    divide(&more, &less, period, job->scenario->gpus, result);
}
