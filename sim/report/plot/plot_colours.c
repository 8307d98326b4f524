/* Okabe and Ito's colours for the causes that most plots show, neighbours of them for the others.
 */
#include "report/plot/plot_colours.h"

const uint32_t plot_cause_colours[CAUSE_COUNT_] = {
    [CAUSE_COMPUTE] = 0x0072b2,         [CAUSE_RECOMPUTE] = 0x004166,
    [CAUSE_OPTIMIZER] = 0x009e73,       [CAUSE_LAUNCH] = 0xf0e442,
    [CAUSE_INTERFERENCE] = 0x8c6d31,    [CAUSE_EXPOSED_TP] = 0x56b4e9,
    [CAUSE_EXPOSED_CP] = 0x9bd3c4,      [CAUSE_EXPOSED_EP] = 0xcc79a7,
    [CAUSE_EXPOSED_PP] = 0x7b4fa3,      [CAUSE_EXPOSED_DP] = 0xd55e00,
    [CAUSE_BUBBLE] = 0x999999,          [CAUSE_STRAGGLER_WAIT] = 0x666666,
    [CAUSE_DATA_STALL] = 0xe69f00,      [CAUSE_CHECKPOINT_STALL] = 0x333333,
    [CAUSE_EXPOSED_OFFLOAD] = 0xb3a100,
};
