/* A policy's keys are set as `stoker run --set` would, so that nothing is tried that a user could
 * not run.
 */
#include "study/policy/policy_trial.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/units.h"
#include "input/scenario_load.h"
#include "run/duration.h"
#include "run/known.h"
#include "run/money.h"
#include "run/history/paired.h"
#include "run/history/repetitions.h"
#include "run/run.h"
#include "run/verdict.h"

#include <gsl/gsl_statistics.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const policy_by_units[POLICY_BY_COUNT_] = {"days", "USD", "kWh", ""};

/* ---- values ------------------------------------------------------------------------------- */

static double value_of(const struct result *result, enum policy_by by, const struct repetition *one)
{
    const struct holding holding = holding_of_run(result->scenario, &result->step, &result->run);
    switch (by) {
    case POLICY_BY_COST:
        return money_of_history(&holding, &result->step, one).cost_usd;
    case POLICY_BY_ENERGY:
        return money_of_history(&holding, &result->step, one).energy_kwh;
    case POLICY_BY_GOODPUT:
        return one->goodput;
    case POLICY_BY_DAYS:
    case POLICY_BY_COUNT_:
        break;
    }
    return duration_days(result->scenario, one->wall_s);
}

double policy_loss(const struct policy *policy, enum policy_by by)
{
    if (policy->state != POLICY_GOOD) {
        return HUGE_VAL;
    }
    return by == POLICY_BY_GOODPUT ? -policy->value : policy->value;
}

/* What a run costs beside its hours and its energy is the same in all histories of a policy. */
static double cost_beside_usd(const struct result *result)
{
    const struct run_result *run = &result->run;
    const struct holding holding = holding_of_run(result->scenario, &result->step, run);
    const double wall_s = account_sum_s(run->account_s);
    const struct money_use use = {.wall_s = wall_s,
                                  .held_s = wall_s -
                                            run->unheld_gpu_hours * SECONDS_PER_HOUR / holding.gpus,
                                  .energy_kwh = run->energy_kwh};
    return run->cost_usd - money_cost_usd(&holding, &use, NULL);
}

static void take_histories(const struct policy_trials *trials, struct policy *policy)
{
    const struct run_result *run = &policy->result->run;
    const enum policy_by by = trials->request->by;
    const double beside = by == POLICY_BY_COST ? cost_beside_usd(policy->result) : 0;
    policy->count = run->repetitions;
    policy->each = arena_array(trials->arena, policy->count, sizeof *policy->each);
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct repetition *one = &run->histories[i];
        policy->each[i] = beside + value_of(policy->result, by, one);
    }
    policy->value = gsl_stats_mean(policy->each, 1, policy->count);
}

void policy_hold_against(const struct policy *best, enum policy_by by, struct policy *policy)
{
    const uint32_t count = policy->count < best->count ? policy->count : best->count;
    const bool is_most_best = by == POLICY_BY_GOODPUT;
    const struct paired paired = paired_of(is_most_best ? best->each : policy->each,
                                           is_most_best ? policy->each : best->each, count);
    policy->behind = paired.mean;
    policy->error = paired.error;
    policy->is_tied = paired_is_tied(&paired);
}

/* ---- one policy ---------------------------------------------------------------------------- */

const struct scenario *policy_resolve(const struct policy_trials *trials, struct arena *arena,
                                      const struct policy *policy, struct diag *diag)
{
    const struct study_base *base = trials->request->base;
    const struct policy_space *space = trials->request->space;
    const char **sets =
        arena_array(arena, base->set_count + (size_t)POLICY_AXIS_COUNT_ + 1, sizeof *sets);
    uint32_t count = 0;
    for (; count < base->set_count; count++) {
        sets[count] = base->sets[count];
    }
    for (uint32_t i = 0; i < space->axis_count; i++) {
        if (policy->texts[i] != NULL) {
            sets[count++] = arena_printf(arena, "%s=%s", policy_axis_paths[space->axes[i].kind],
                                         policy->texts[i]);
        }
    }
    if (policy->every_steps > 0) {
        sets[count++] =
            arena_printf(arena, "run.checkpoint.every=%" PRId64 " steps", policy->every_steps);
    }
    return scenario_resolve(arena, trials->request->document, base->catalogue, sets, count, diag);
}

void policy_drop(struct policy *policy)
{
    arena_free(policy->arena);
    policy->arena = NULL;
    policy->scenario = NULL;
    policy->result = NULL;
}

static void give_up(const struct policy_trials *trials, enum policy_state state,
                    const struct diag *diag, struct policy *policy)
{
    const char *reason = diag_first_error(diag);
    policy->state = state;
    policy->reason = arena_strdup(trials->arena, reason != NULL ? reason : "");
    policy->value = ABSENT;
    policy->behind = ABSENT;
    policy->error = ABSENT;
}

uint32_t policy_sets(struct arena *arena, const struct policy_space *space,
                     const struct policy *policy, const char **sets)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < space->axis_count; i++) {
        sets[count++] =
            arena_printf(arena, "%s=%s", policy_axis_paths[space->axes[i].kind], policy->texts[i]);
    }
    if (policy->every_steps > 0) {
        sets[count++] =
            arena_printf(arena, "run.checkpoint.every=%lld steps", (long long)policy->every_steps);
    }
    return count;
}

const char *policy_words(struct arena *arena, const struct policy_space *space,
                         const struct policy *policy)
{
    const char *words = "";
    for (uint32_t i = 0; i < space->axis_count; i++) {
        const char *path = policy_axis_paths[space->axes[i].kind];
        words = arena_printf(arena, "%s%s%s %s", words, i > 0 ? ", " : "", strrchr(path, '.') + 1,
                             policy->texts[i]);
    }
    return words;
}

void policy_try(struct policy_trials *trials, struct policy *policy)
{
    const struct policy_request *request = trials->request;
    const struct run_request predicted = {.folds = request->folds,
                                          .build = request->base->build,
                                          .memo = trials->memo,
                                          .known = trials->known,
                                          .finds_path = true};
    policy->arena = arena_new();
    struct diag *diag = diag_new(policy->arena);
    trials->tried++;
    policy->scenario = policy_resolve(trials, policy->arena, policy, diag);
    if (policy->scenario == NULL) {
        give_up(trials, POLICY_IMPOSSIBLE, diag, policy);
        policy_drop(policy);
        return;
    }
    struct result *result = arena_alloc(policy->arena, sizeof *result);
    run_predict(policy->arena, policy->scenario, &predicted, result);
    policy->result = result;
    policy->every_s = result_has_checkpoints(result) ? result->run.checkpoint_every_s : 0;
    if (!verdict_of_run(result, diag)) {
        give_up(trials, POLICY_WITHOUT_PROGRESS, diag, policy);
        return;
    }
    policy->state = POLICY_GOOD;
    take_histories(trials, policy);
}
