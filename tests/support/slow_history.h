/* A run walked step by step, checkpoint by checkpoint: run/history without jumps.
 *
 * Nanosecond arithmetic over the same draws, written in the order in which things happen: a step
 * begins, and either ends or is cut off by what happens first. Costs the steps of the run.
 */
#ifndef TESTS_SUPPORT_SLOW_HISTORY_H
#define TESTS_SUPPORT_SLOW_HISTORY_H

#include "run/history/history.h"

void slow_history_run(struct arena *arena, const struct history_plan *plan, uint64_t seed,
                      uint64_t repetition, struct history_outcome *outcome);

#endif
