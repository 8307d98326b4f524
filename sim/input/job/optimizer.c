/* The words of what is kept of a parameter, and the sizes that they stand for. */
#include "input/job/optimizer.h"

#include "base/check.h"
#include "input/software.h"

const char *const state_names[STATE_COUNT_] = {"none", "fp32", "bf16", "fp16", "fp8", "int8"};
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

bool optimizer_has_matrices(const struct optimizer *optimizer)
{
    return optimizer->matrices.steps > 0;
}

double optimizer_matrix_moment_bytes(const struct optimizer *optimizer)
{
    sim_assert(optimizer_has_matrices(optimizer));
    return (double)optimizer->matrices.moments * state_bytes((enum state_format)optimizer->moments);
}

bool optimizer_gathers_ahead(const struct optimizer *optimizer, const struct software *software)
{
    const bool is_behind =
        optimizer_has_matrices(optimizer) && optimizer->matrices.gather == MATRIX_GATHER_BEHIND;
    return software->overlaps_dp_parameters && !is_behind;
}
