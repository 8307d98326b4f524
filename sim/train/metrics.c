/* The causes that a step's nanoseconds have, by the names that documents and
 * tables of the store give them.
 */
#include "train/metrics.h"

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
