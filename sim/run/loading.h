/* What a run's steps wait for their data: the loaders of a node (hw/dataloader) against a step of a
 * given length.
 */
#ifndef RUN_LOADING_H
#define RUN_LOADING_H

#include "input/scenario.h"

struct arena;

/* What each step waits once the loaders are steady, and in `first_s` the first batch of all, which
 * nothing hides. Scratch memory is the arena's. */
int64_t loading_stall_ns(struct arena *arena, const struct scenario *scenario, int64_t step_ns,
                         double *first_s);

#endif
