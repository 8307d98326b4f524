/* What is kept of each parameter, and in which format; what the optimizer does with it; what lies
 * on the host instead: `optimizer` and `offload` of a scenario. */
#ifndef INPUT_JOB_OPTIMIZER_H
#define INPUT_JOB_OPTIMIZER_H

#include "input/job/matrix_rule.h"

/* What is kept of a parameter, and what the optimizer does. */
enum state_format {
    STATE_NONE,
    STATE_FP32,
    STATE_BF16,
    STATE_FP16,
    STATE_FP8,
    STATE_INT8,
    STATE_COUNT_
};
extern const char *const state_names[STATE_COUNT_];
/* Bytes of a value; int8 has one fp32 scale for each block of 2048 (bitsandbytes). */
double state_bytes(enum state_format format);

/* How many moments it keeps of a parameter: two, one (momentum), none. */
enum optimizer_rule { OPTIMIZER_ADAM, OPTIMIZER_MOMENTUM, OPTIMIZER_SGD, OPTIMIZER_RULE_COUNT_ };
extern const char *const optimizer_rule_names[OPTIMIZER_RULE_COUNT_];

struct optimizer {
    uint32_t gradients; /* enum state_format: accumulated and reduced in; default: the software's */
    uint32_t master;    /* enum state_format; default fp32; none with fp32 training */
    uint32_t moments;   /* enum state_format, of each; default fp32 */
    bool clips;         /* gradient norm over all ranks, then scaling */
    uint32_t rule;      /* enum optimizer_rule; default adam */
    struct matrix_rule matrices; /* of layers, where these are updated otherwise; steps 0: no */
};

bool optimizer_has_matrices(const struct optimizer *optimizer);

/* Of all moments of a parameter together; of one of a matrix that has a rule of its own. */
double optimizer_moment_bytes(const struct optimizer *optimizer);
double optimizer_matrix_moment_bytes(const struct optimizer *optimizer);

/* With ZeRO 1 and 2: the weights that a step updates are gathered beside the next one. */
struct software;
bool optimizer_gathers_ahead(const struct optimizer *optimizer, const struct software *software);

struct offload {
    double optimizer;          /* share of the optimizer's states, and its update, on the host */
    int64_t activation_layers; /* of each stage, whose activations go to the host and back */
};

#endif
