/* Names of the causes, and small figures that follow from a result by one
 * formula each.
 */
#include "train/metrics.h"

#include "base/absent.h"

const char *const cause_names[CAUSE_COUNT_] = {
    [CAUSE_COMPUTE] = "compute",
    [CAUSE_RECOMPUTE] = "recompute",
    [CAUSE_OPTIMIZER] = "optimizer",
    [CAUSE_LAUNCH] = "launch",
    [CAUSE_INTERFERENCE] = "interference",
    [CAUSE_EXPOSED_TP] = "exposed_tp",
    [CAUSE_EXPOSED_CP] = "exposed_cp",
    [CAUSE_EXPOSED_EP] = "exposed_ep",
    [CAUSE_EXPOSED_PP] = "exposed_pp",
    [CAUSE_EXPOSED_DP] = "exposed_dp",
    [CAUSE_EXPOSED_OFFLOAD] = "exposed_offload",
    [CAUSE_BUBBLE] = "bubble",
    [CAUSE_STRAGGLER_WAIT] = "straggler_wait",
    [CAUSE_DATA_STALL] = "data_stall",
    [CAUSE_CHECKPOINT_STALL] = "checkpoint_stall",
};

const char *const cause_titles[CAUSE_COUNT_] = {
    [CAUSE_COMPUTE] = "compute",
    [CAUSE_RECOMPUTE] = "recompute",
    [CAUSE_OPTIMIZER] = "optimizer",
    [CAUSE_LAUNCH] = "launch gaps",
    [CAUSE_INTERFERENCE] = "interference",
    [CAUSE_EXPOSED_TP] = "exposed TP communication",
    [CAUSE_EXPOSED_CP] = "exposed CP communication",
    [CAUSE_EXPOSED_EP] = "exposed EP communication",
    [CAUSE_EXPOSED_PP] = "exposed PP communication",
    [CAUSE_EXPOSED_DP] = "exposed DP communication",
    [CAUSE_EXPOSED_OFFLOAD] = "exposed offload",
    [CAUSE_BUBBLE] = "pipeline bubble",
    [CAUSE_STRAGGLER_WAIT] = "straggler wait",
    [CAUSE_DATA_STALL] = "data stall",
    [CAUSE_CHECKPOINT_STALL] = "checkpoint stall",
};

bool metrics_has_step(const struct result *result)
{
    return result->step.memory.fits;
}

bool metrics_has_run(const struct result *result)
{
    return metrics_has_step(result) && result->run.is_asked;
}

bool metrics_has_checkpoints(const struct result *result)
{
    return metrics_has_run(result) && result->scenario->checkpoint.is_enabled;
}

static bool has_spread(const struct result *result)
{
    return metrics_has_step(result) && result->step.spread.members > 1;
}

double metrics_step_least_s(const struct result *result)
{
    const struct step_result *step = &result->step;
    return has_spread(result) ? (double)(step->step_ns - step->spread.below_ns) * 1e-9 : ABSENT;
}

double metrics_step_most_s(const struct result *result)
{
    const struct step_result *step = &result->step;
    return has_spread(result) ? (double)(step->step_ns + step->spread.above_ns) * 1e-9 : ABSENT;
}

double metrics_flop_by(const struct result *result, enum flop_convention convention)
{
    const struct scenario *scenario = result->scenario;
    if (convention == FLOP_CAUSAL) {
        return result->step.flop_per_token_causal;
    }
    return cost_train_flop(&scenario->model, scenario->batch.sequence_length, scenario->parallel.tp,
                           convention);
}

double metrics_mfu_by(const struct result *result, enum flop_convention convention)
{
    return result->step.tokens_per_s_per_gpu * metrics_flop_by(result, convention) /
           result->step.peak_flop_per_s;
}
