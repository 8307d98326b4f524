/* Small figures that follow from a result by one formula each. */
#include "run/result.h"

#include "base/absent.h"
#include "base/units.h"
#include "input/scenario.h"

bool result_has_step(const struct result *result)
{
    return result->step.memory.fits;
}

bool result_has_run(const struct result *result)
{
    const struct run_result *run = &result->run;
    return result_has_step(result) && run->is_asked && !run->makes_no_progress &&
           run->stage_unfit == 0 && !run->evaluates_too_long;
}

const char *result_no_run(const struct result *result)
{
    const struct run_result *run = &result->run;
    return !result_has_step(result)  ? "the plan does not fit into memory"
           : run->makes_no_progress  ? "the run makes no progress"
           : run->evaluates_too_long ? "an evaluation takes longer than the steps before it"
                                     : "a stage of the run does not fit";
}

bool result_has_failures(const struct result *result)
{
    return result_has_run(result) && result->run.repetitions > 0;
}

bool result_has_checkpoints(const struct result *result)
{
    return result_has_run(result) && result->scenario->checkpoint.is_enabled;
}

static bool has_spread(const struct result *result)
{
    return result_has_step(result) && result->step.spread.members > 1;
}

double result_step_least_s(const struct result *result)
{
    const struct step_result *step = &result->step;
    return has_spread(result) ? units_seconds(step->step_ns - step->spread.below_ns) : ABSENT;
}

double result_step_most_s(const struct result *result)
{
    const struct step_result *step = &result->step;
    return has_spread(result) ? units_seconds(step->step_ns + step->spread.above_ns) : ABSENT;
}

double result_flop_by(const struct result *result, enum flop_convention convention)
{
    const struct scenario *scenario = result->scenario;
    if (convention == FLOP_CAUSAL) {
        return result->step.flop_per_token_causal;
    }
    return cost_train_flop(&scenario->model, scenario->batch.sequence_length, scenario->parallel.tp,
                           convention);
}

double result_mfu_by(const struct result *result, enum flop_convention convention)
{
    return result->step.tokens_per_s_per_gpu * result_flop_by(result, convention) /
           result->step.peak_flop_per_s;
}

const char *result_memory_verdict(const struct result *result)
{
    if (!result->step.memory.fits) {
        return "does not fit";
    }
    return result->memory_doubt != NULL && result->memory_doubt->is_in_doubt ? "may not fit"
                                                                             : "fits";
}
