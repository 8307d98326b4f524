/* The words of a scenario's choices, and the sizes that some of them stand for. */
#include "input/scenario.h"

#include "base/check.h"

const char *const reshard_names[RESHARD_COUNT_] = {"after-forward", "after-backward", "after-step"};
const char *const parallel_axis_names[AXIS_COUNT_] = {"tp", "cp", "ep", "dp", "pp"};
const char *const recompute_names[RECOMPUTE_COUNT_] = {"none", "selective", "full"};
const char *const state_names[STATE_COUNT_] = {"none", "fp32", "bf16", "fp16", "fp8", "int8"};
const char *const token_routing_names[ROUTING_COUNT_] = {"even", "lognormal"};
const char *const lora_target_names[LORA_TARGET_COUNT_] = {"qkv", "projection", "fc1", "fc2"};
const char *const placement_names[PLACEMENT_COUNT_] = {"packed", "spread", "random"};
const char *const checkpoint_mode_names[CHECKPOINT_MODE_COUNT_] = {"blocking", "async"};
const char *const checkpoint_target_names[CHECKPOINT_TARGET_COUNT_] = {"shared", "local", "memory",
                                                                       "peer"};

const char *const optimizer_rule_names[OPTIMIZER_RULE_COUNT_] = {"adam", "sgd-momentum", "sgd"};

#define INT8_BLOCK 2048.0 /* values that share one fp32 scale */

double state_bytes(enum state_format format)
{
    static const double bytes[STATE_COUNT_] = {
        [STATE_NONE] = 0.0, [STATE_FP32] = 4.0, [STATE_BF16] = 2.0,
        [STATE_FP16] = 2.0, [STATE_FP8] = 1.0,  [STATE_INT8] = 1.0 + 4.0 / INT8_BLOCK};
    sim_assert(format < STATE_COUNT_);
    return bytes[format];
}

double optimizer_moment_bytes(const struct optimizer *optimizer)
{
    static const double moments[OPTIMIZER_RULE_COUNT_] = {
        [OPTIMIZER_ADAM] = 2.0, [OPTIMIZER_MOMENTUM] = 1.0, [OPTIMIZER_SGD] = 0.0};
    sim_assert(optimizer->rule < OPTIMIZER_RULE_COUNT_);
    return moments[optimizer->rule] * state_bytes((enum state_format)optimizer->moments);
}
