/* Two runs of the engine that begin alike; their difference is divided by steps, and what does not
 * divide goes to compute, by less than a nanosecond of a GPU.
 */
#include "train/loading/step_loaded.h"

#include "base/arena.h"
#include "base/check.h"
#include "train/fold.h"
#include "train/loading/loaders.h"

#include <math.h>

/* Main processes outlive steps that take so many times as long as all that there is to do. */
static const double LONGEST = 16;
enum { DRAWN_BATCHES = 128 };

struct loaded {
    const struct step_job *job;
    const struct step_request *request;
    const struct step_result *alone;
    uint32_t gpus;
};

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

static struct engine_job run(const struct loaded *loaded, uint32_t steps)
{
    struct arena *arena = arena_new();
    const struct step_request *request = loaded->request;
    const struct step_options options = {
        .checkpoint_bytes = request->checkpoint_bytes,
        .is_checkpoint_async = request->is_checkpoint_async,
        .flush_bytes = request->flush_bytes,
        .drain_bytes = request->drain_bytes,
        .is_copied_beside = request->is_copied_beside,
        .takes_batches = true,
        .wait_ns = loaded->alone->jitter_ns,
        .memo = request->memo,
    };
    struct step_job job = *loaded->job;
    job.steps = steps;
    const struct step_system *system = system_build(arena, &job, 1, loaded->gpus, &options);
    const struct loaders_options loaders = {
        .of = &request->loaders->of,
        .starts_full = !request->loaders->are_slow,
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
    struct engine_outcome outcome;
    ensemble_run(arena, runs, request->member != NULL ? *request->member : member, NULL, &outcome);
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

void step_load(const struct step_job *job, uint32_t gpus, const struct step_request *request,
               struct step_result *result)
{
    const struct dataloader_options *of = &request->loaders->of;
    const struct loaded loaded = {job, request, result, gpus};
    const uint64_t ahead = (uint64_t)of->workers * of->prefetch;
    const uint64_t fills = 2 * ahead / (uint64_t)job->scenario->batch.microbatches + 2;
    uint32_t period = period_of(&loaded);
    const bool is_drawn = of->law != BATCHES_EQUAL;
    uint32_t steps = at_most(fills + (is_drawn ? 2 * drawn_steps(&loaded) : 2 * period));
    struct engine_job more = run(&loaded, steps);
    while (!is_drawn && !repeats(&more, steps, period) && steps < ENGINE_STEPS_MAX) {
        steps = at_most(2 * (uint64_t)steps);
        more = run(&loaded, steps);
    }
    period = repeats(&more, steps, period) ? period : steps / 2;
    const struct engine_job less = run(&loaded, steps - period);
    divide(&more, &less, period, job->scenario->gpus, result);
}
