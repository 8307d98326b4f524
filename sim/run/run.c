/* Steps become a run by multiplication: one is simulated, so is what a checkpoint adds to it
 * (run/checkpoint), and loaders run against its length (run/loading). Days follow here, money and
 * energy in run/money.
 */
#include "run/run.h"

#include "base/check.h"
#include "base/rng.h"
#include "run/checkpoint.h"
#include "run/loading.h"
#include "run/money.h"
#include "run/regime.h"
#include "train/step.h"
#include "train/step_memo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SECONDS_PER_HOUR 3600.0
#define SECONDS_PER_DAY 86400.0

static uint64_t hash_text(const struct scenario *scenario)
{
    return rng_hash_bytes(scenario->resolved_text, strlen(scenario->resolved_text), 0);
}

/* After the hash of the text. */
static void put_key(uint64_t hash, const struct scenario *scenario, const char *build, char key[17])
{
    hash = rng_hash_bytes(build, strlen(build), hash);
    hash = rng_hash_bytes(&scenario->seed, sizeof scenario->seed, hash);
    snprintf(key, 17, "%016llx", (unsigned long long)hash);
}

void run_key(const struct scenario *scenario, const char *build, char key[17])
{
    put_key(hash_text(scenario), scenario, build, key);
}

int64_t run_steps(double tokens, int64_t tokens_per_step, struct ledger *ledger)
{
    return (int64_t)LEDGER_SUM(ledger, "steps", "", ceil(tokens / (double)tokens_per_step),
                               LEDGER_TERM(tokens, "tokens"),
                               LEDGER_TERM(tokens_per_step, "a step"));
}

/* What a GPU of the final step waits for data, in the mean: for the loaders, and for what is
 * read over the fabric. */
static double data_stall_s(const struct scenario *scenario, const struct step_result *step)
{
    return (double)step->gpu_ns[CAUSE_DATA_STALL] * 1e-9 / (double)scenario->gpus;
}

/* Of the steps and whatever stops them, in seconds. */
static double add_up_time(const struct scenario *scenario, double step_s, struct ledger *ledger,
                          struct run_result *run)
{
    const double steps = (double)run->steps;
    const double checkpoints = (double)run->checkpoints;
    const double steps_s = LEDGER_SUM(ledger, "time in steps", "seconds", steps * step_s,
                                      LEDGER_TERM(steps, ""), LEDGER_TERM(step_s, "s"));
    const double blocked_s =
        LEDGER_SUM(ledger, "blocked by checkpoints", "seconds", checkpoints * run->checkpoint_s,
                   LEDGER_TERM(checkpoints, ""), LEDGER_TERM(run->checkpoint_s, "s"));
    const double loaded_s =
        LEDGER_SUM(ledger, "with the first batch", "seconds",
                   steps_s + blocked_s + run->first_batch_s, LEDGER_TERM(steps_s, "seconds"),
                   LEDGER_TERM(blocked_s, "seconds"), LEDGER_TERM(run->first_batch_s, "seconds"));
    const double startup_s = scenario->startup_s;
    const double wall_s =
        startup_s > 0 ? LEDGER_SUM(ledger, "with the start", "seconds", loaded_s + startup_s,
                                   LEDGER_TERM(loaded_s, "seconds"), LEDGER_TERM(startup_s, "s"))
                      : loaded_s;
    ledger_remark(ledger, "no failures, no restarts");
    run->days = LEDGER_SUM(ledger, "wall-clock", "days", wall_s / SECONDS_PER_DAY,
                           LEDGER_TERM(wall_s, "seconds"), LEDGER_TERM(SECONDS_PER_DAY, "s"));
    run->gpu_hours =
        LEDGER_SUM(ledger, "GPU-hours", "h", wall_s / SECONDS_PER_HOUR * (double)scenario->gpus,
                   LEDGER_TERM(wall_s, "seconds"), LEDGER_TERM(SECONDS_PER_HOUR, "s"),
                   LEDGER_TERM(scenario->gpus, "GPUs"));
    run->goodput = LEDGER_SUM(ledger, "goodput", "%", steps * (step_s - run->data_stall_s) / wall_s,
                              LEDGER_TERM(steps, "steps"), LEDGER_TERM(step_s, "s"),
                              LEDGER_TERM(run->data_stall_s, "s"), LEDGER_TERM(wall_s, "seconds"));
    ledger_remark(ledger, "checkpoint and data stalls only");
    sim_assert(run->goodput > 0);
    sim_assert(run->goodput <= 1);
    run->account_s[ACCOUNT_USEFUL] = steps * (step_s - run->data_stall_s);
    run->account_s[ACCOUNT_DATA_STALL] = steps * run->data_stall_s;
    run->account_s[ACCOUNT_CHECKPOINT] = blocked_s;
    run->account_s[ACCOUNT_PLANNED] = startup_s + run->first_batch_s;
    return wall_s;
}

void run_add_up(const struct scenario *scenario, const struct step_result *step,
                struct ledger *ledger, struct run_result *run)
{
    const double wall_s = add_up_time(scenario, sim_time_to_s(step->step_ns), ledger, run);
    money_add_up(scenario, step, wall_s, ledger, run);
}

static void add_run(struct arena *arena, const struct regime_basis *basis,
                    const struct step_result *step, struct run_result *run)
{
    const struct scenario *scenario = basis->scenario;
    const double step_s = sim_time_to_s(step->step_ns);
    run->is_asked = true;
    run->tokens = scenario->run_tokens;
    run->steps = run_steps(scenario->run_tokens, step->model_flop_tokens, NULL);
    checkpoint_count(scenario, step_s, NULL, run);
    run->checkpoint_s = checkpoint_wait_s(arena, basis, step_s, run->checkpoint_bytes);
    run_add_up(scenario, step, NULL, run);
}

static void simulate_run(struct arena *arena, const struct scenario *scenario,
                         const struct run_request *request, struct result *result)
{
    memset(result, 0, sizeof *result);
    result->scenario = scenario;
    result->build = request->build;
    struct step_result *step = &result->step;
    struct run_result *run = &result->run;
    step_simulate(arena, scenario,
                  &(struct step_request){.folds = request->folds, .memo = request->memo}, step);
    const struct regime_basis basis = {
        .scenario = scenario,
        .member = {(uint64_t)scenario->seed, step->spread.median},
        .step_ns = step->step_ns,
        .folds = request->folds,
        .memo = request->memo,
    };
    const struct loading_use loading = loading_run(arena, scenario, step->step_ns);
    run->first_batch_s = loading.first_s;
    loading_add_stall(arena, scenario, &loading, step);
    run->data_stall_s = data_stall_s(scenario, step);
    if (scenario->run_tokens > 0) {
        add_run(arena, &basis, step, run);
    }
}

/* The steps of a run have kernel times in common, also where no study remembers them. */
void run_simulate(struct arena *arena, const struct scenario *scenario,
                  const struct run_request *request, struct result *result)
{
    const bool has_steps = scenario->run_tokens > 0 && scenario->checkpoint.is_enabled;
    struct step_memo *own = request->memo == NULL && has_steps ? step_memo_new() : NULL;
    struct run_request with = *request;
    with.memo = own != NULL ? own : request->memo;
    simulate_run(arena, scenario, &with, result);
    step_memo_free(own);
}

void run_predict(struct arena *arena, const struct scenario *scenario,
                 const struct run_request *request, struct result *result)
{
    run_simulate(arena, scenario, request, result);
    const uint64_t hash = hash_text(scenario);
    put_key(hash, scenario, request->build, result->key);
    put_key(hash, scenario, "", result->scenario_key);
}
