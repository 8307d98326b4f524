/* What a run takes, term by term, each a line of `stoker explain`; a term that is 0 and
 * that a run need not have (a start, a teardown, a queue) has none.
 */
#include "run/duration.h"

#include "base/check.h"
#include "base/ledger.h"
#include "base/units.h"
#include "input/scenario.h"
#include "run/goodput.h"
#include "run/run.h"

#include <math.h>

/* ---- parts ---------------------------------------------------------------------------------- */

double duration_start_s(const struct scenario *scenario, double first_batch_s)
{
    return scenario->startup_s + scenario->plan.first_steps.all_s + first_batch_s;
}

double duration_ends_s(const struct scenario *scenario)
{
    return duration_start_s(scenario, 0) + scenario->teardown_s;
}

double duration_least_s(const struct scenario *scenario, double steps_s)
{
    return steps_s + duration_ends_s(scenario);
}

double duration_days(const struct scenario *scenario, double held_s)
{
    return (held_s + scenario->plan.queue_s) / SECONDS_PER_DAY;
}

double duration_share_of_steps(const double account_s[ACCOUNT_COUNT_])
{
    const double all_s = account_sum_s(account_s) + account_s[ACCOUNT_QUEUED];
    const double stays_s = account_s[ACCOUNT_QUEUED] + account_s[ACCOUNT_PLANNED];
    return all_s > 0 ? 1 - stays_s / all_s : 1;
}

double duration_share_of_failures(const double account_s[ACCOUNT_COUNT_])
{
    const double all_s = account_sum_s(account_s) + account_s[ACCOUNT_QUEUED];
    const double failing_s = account_s[ACCOUNT_LOST] + account_s[ACCOUNT_DETECTION] +
                             account_s[ACCOUNT_WAITING] + account_s[ACCOUNT_RECOVERY];
    return all_s > 0 ? failing_s / all_s : 0;
}

double duration_factor(const double account_s[ACCOUNT_COUNT_], double factor)
{
    return 1 + duration_share_of_steps(account_s) * (factor - 1);
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* From when the job has its nodes until they are free. */
static double held_s(const struct scenario *scenario, double between_s, struct ledger *ledger,
                     const struct run_result *run)
{
    double sum_s =
        LEDGER_SUM(ledger, "with the first batch", "seconds", between_s + run->first_batch_s,
                   LEDGER_TERM(between_s, "seconds"), LEDGER_TERM(run->first_batch_s, "seconds"));
    const double startup_s = duration_start_s(scenario, 0);
    if (startup_s > 0) {
        sum_s = LEDGER_SUM(ledger, "with the start", "seconds", sum_s + startup_s,
                           LEDGER_TERM(sum_s, "seconds"), LEDGER_TERM(startup_s, "s"));
    }
    if (scenario->teardown_s > 0) {
        sum_s = LEDGER_SUM(ledger, "with the teardown", "seconds", sum_s + scenario->teardown_s,
                           LEDGER_TERM(sum_s, "seconds"), LEDGER_TERM(scenario->teardown_s, "s"));
    }
    return sum_s;
}

/* Of the steps and whatever stops them, in seconds. */
static double add_up_usual(const struct scenario *scenario, double step_s, struct ledger *ledger,
                           struct run_result *run)
{
    const double steps = (double)run->steps;
    const double checkpoints = (double)run->checkpoints;
    const double steps_s = LEDGER_SUM(ledger, "time in steps", "seconds", steps * step_s,
                                      LEDGER_TERM(steps, ""), LEDGER_TERM(step_s, "s"));
    const double blocked_s =
        LEDGER_SUM(ledger, "blocked by checkpoints", "seconds", checkpoints * run->checkpoint_s,
                   LEDGER_TERM(checkpoints, ""), LEDGER_TERM(run->checkpoint_s, "s"));
    const double wall_s = held_s(scenario, steps_s + blocked_s, ledger, run);
    ledger_remark(ledger, "no failures, no restarts");
    run->account_s[ACCOUNT_USEFUL] = LEDGER_SUM(
        ledger, "productive", "seconds", steps * (step_s - run->data_stall_s),
        LEDGER_TERM(steps, ""), LEDGER_TERM(step_s, "s"), LEDGER_TERM(run->data_stall_s, "s"));
    run->account_s[ACCOUNT_DATA_STALL] = steps * run->data_stall_s;
    run->account_s[ACCOUNT_CHECKPOINT] = blocked_s;
    run->account_s[ACCOUNT_PLANNED] =
        duration_start_s(scenario, run->first_batch_s) + scenario->teardown_s;
    return wall_s;
}

/* The mean of the stages' by the time that their GPUs spend in steps that count. */
static double mfu_of_stages(struct ledger *ledger, const struct run_result *run)
{
    double sum = 0;
    double gpu_s = 0;
    for (uint32_t i = 0; i < run->stage_count; i++) {
        const struct run_stage_use *stage = &run->stages[i];
        const double of_stage_s = (double)stage->scenario->gpus * stage->account_s[ACCOUNT_USEFUL];
        sum += of_stage_s * stage->step->mfu;
        gpu_s += of_stage_s;
    }
    const double mfu = gpu_s > 0 ? sum / gpu_s : 0;
    ledger_say(ledger, "MFU of all stages", "%", mfu, "by their GPUs' useful time");
    return mfu;
}

/* The wall clock in the mean of histories: their accounts added up. */
static double add_up_accounts(struct ledger *ledger, const struct run_result *run)
{
    const double *s = run->account_s;
    for (uint32_t i = 0; i < ACCOUNT_QUEUED; i++) {
        ledger_say(ledger, account_names[i], "seconds", s[i], account_words[i]);
    }
    const double wall_s = LEDGER_SUM(
        ledger, "all of these", "seconds",
        s[ACCOUNT_USEFUL] + s[ACCOUNT_DATA_STALL] + s[ACCOUNT_DEGRADED] + s[ACCOUNT_CHECKPOINT] +
            s[ACCOUNT_LOST] + s[ACCOUNT_DETECTION] + s[ACCOUNT_WAITING] + s[ACCOUNT_RECOVERY] +
            s[ACCOUNT_PLANNED],
        LEDGER_TERM(s[ACCOUNT_USEFUL], "seconds"), LEDGER_TERM(s[ACCOUNT_DATA_STALL], "seconds"),
        LEDGER_TERM(s[ACCOUNT_DEGRADED], "seconds"), LEDGER_TERM(s[ACCOUNT_CHECKPOINT], "seconds"),
        LEDGER_TERM(s[ACCOUNT_LOST], "seconds"), LEDGER_TERM(s[ACCOUNT_DETECTION], "seconds"),
        LEDGER_TERM(s[ACCOUNT_WAITING], "seconds"), LEDGER_TERM(s[ACCOUNT_RECOVERY], "seconds"),
        LEDGER_TERM(s[ACCOUNT_PLANNED], "seconds"));
    sim_assert(fabs(wall_s - account_sum_s(s)) <= 1e-9 * wall_s); /* no account is left out */
    ledger_remark(ledger, run->repetitions > 0 ? "means of all histories" : "nothing fails");
    return wall_s;
}

/* The job holds no GPU while it is in the queue. */
static void add_up_days(const struct scenario *scenario, double wall_s, struct ledger *ledger,
                        struct run_result *run)
{
    const double queue_s = scenario->plan.queue_s;
    const double all_s =
        queue_s > 0 ? LEDGER_SUM(ledger, "with the queue", "seconds", wall_s + queue_s,
                                 LEDGER_TERM(wall_s, "seconds"), LEDGER_TERM(queue_s, "seconds"))
                    : wall_s;
    run->account_s[ACCOUNT_QUEUED] = queue_s;
    run->days = LEDGER_SUM(ledger, "wall-clock", "days", all_s / SECONDS_PER_DAY,
                           LEDGER_TERM(all_s, "seconds"), LEDGER_TERM(SECONDS_PER_DAY, "s"));
}

double duration_add_up(const struct scenario *scenario, const struct step_result *step,
                       struct ledger *ledger, struct run_result *run)
{
    const double wall_s = run->is_walked
                              ? add_up_accounts(ledger, run)
                              : add_up_usual(scenario, run_step_s(scenario, step), ledger, run);
    const double mfu = run->stage_count > 0 ? mfu_of_stages(ledger, run) : step->mfu;
    goodput_add_up(wall_s, mfu, ledger, run);
    add_up_days(scenario, wall_s, ledger, run);
    return wall_s;
}
