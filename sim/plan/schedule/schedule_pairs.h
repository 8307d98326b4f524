/* The order of a stage's actions as a scenario has it: the schedule's, and, where exchanges of
 * experts overlap (parallel.overlaps_experts, of 1f1b and interleaved), each backward paired
 * with the forward after it.
 *
 *     F0 F1 F2 B0 F3 B1 F4 B2 ...   becomes   F0 F1 F2 (F3+B0) (F4+B1) ... B2
 *
 * So one more microbatch is alive than without, but not one more of each layer (memory_live).
 * With 1f1b on several stages a pair waits for the pair of the stage after it, which waits for the
 * one before it here: a round takes two pairs; interleaved, whose stages lie two microbatches
 * apart, does not wait (Megatron-LM offers its overlap with interleaving only).
 */
#ifndef PLAN_SCHEDULE_SCHEDULE_PAIRS_H
#define PLAN_SCHEDULE_SCHEDULE_PAIRS_H

#include "plan/schedule/schedule.h"

/* From the arena. */
struct schedule_order schedule_order_of(struct arena *arena, const struct scenario *scenario,
                                        uint32_t stage);

#endif
