/* Calibration: settings of one box from its numbers (measured/box_numbers).
 *
 * Each number moves one key of the box's GPU or cluster until the same kernel, predicted by
 * itself, takes what was measured:
 *
 *     gemm_large   gemm.sustained (gemm_fp8.sustained, ...); a product that tiles alone would hold
 *                  up longer moves gemm.efficiency first
 *     gemm_small   gemm.k_half; where even none is too slow, gemm.efficiency
 *     attention    attention.KERNEL.forward and backward; without a backward time by one factor
 *     copy         memory_kernels.efficiency
 *     all_reduce   scale_up.efficiency in an NVLink domain, nics.efficiency between them
 *     step         nothing here: an anchor, worked out where it is used
 *
 * The predicted time is monotone in the key, so the key is found by bisection of its logarithm
 * within its bounds; where the bound is met first, the rest is told. Later numbers do not move
 * what earlier ones have set, but for k_half, which large products hardly feel: both products are
 * gone through twice.
 *
 * ASSUMES: a product that runs for seconds by itself keeps the clock that a step keeps: what
 * communication and memory draw beside it is not taken off.
 * ASSUMES: what one shape says of a rate holds for all shapes. Where many are at hand, stoker
 * calibrate gemm, attention and collectives take them.
 */
#ifndef MEASURED_BOX_FIT_H
#define MEASURED_BOX_FIT_H

#include "measured/box_numbers.h"

/* What a number did to a key. */
struct box_move {
    enum box_number number;
    const char *what; /* "gemm_large", "attention forward" */
    const char *key;  /* "gpu.gemm.sustained" */
    enum dimension dimension;
    double before, after; /* of the key; before 0: it was not told */
    double measured_s, predicted_before_s, predicted_s;
    bool is_met; /* predicted as measured; else the key is at its bound */
};

enum { BOX_MOVES_MAX = 8 };

struct box_fit {
    struct box_move moves[BOX_MOVES_MAX];
    uint32_t count;
    double left[BOX_RATE_COUNT_]; /* as struct box has it; 0: not measured */
};

/* False with a message, when the library lacks what an all-reduce on this GPU needs. */
MUST_USE bool box_fit(struct arena *arena, const struct box_numbers *numbers, struct box_fit *fit,
                      struct diag *diag);

/* What a bound leaves of a number is told; a number that is far from what any value of its key
 * explains is of something else, and no settings come of it: then false. */
MUST_USE bool box_fit_check(const struct box_numbers *numbers, const struct box_fit *fit,
                            struct diag *diag);

#endif
