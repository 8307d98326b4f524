/* A bare pipeline for the engine: fixed durations, no kernels, no fabric.
 *
 * Turns a schedule's actions into engine programs in which a forward takes
 * forward_ns, a backward backward_ns, and a message latency_ns.
 */
#ifndef TESTS_SUPPORT_PIPELINE_H
#define TESTS_SUPPORT_PIPELINE_H

#include "des/engine.h"
#include "plan/schedule.h"

struct pipeline_costs {
    int64_t forward_ns;
    int64_t backward_ns;
    int64_t latency_ns;
};

/* The system of `shape`; all memory is the arena's. */
struct engine_system pipeline_system(struct arena *arena, const struct schedule_shape *shape,
                                     const struct pipeline_costs *costs);

/* When the last action ends, found without the engine: repeated relaxation of
 * start = max(end of what it waits for). The slow twin. */
int64_t pipeline_longest_path(struct arena *arena, const struct schedule_shape *shape,
                              const struct pipeline_costs *costs);

enum { PIPELINE_CAUSE_WORK, PIPELINE_CAUSE_BUBBLE, PIPELINE_CAUSE_EXPOSED, PIPELINE_CAUSE_OTHER };

#endif
