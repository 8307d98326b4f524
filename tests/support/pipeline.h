/* A bare pipeline for the engine: fixed durations, no kernels, no fabric.
 *
 * Turns a schedule's actions into engine programs in which a forward takes forward_ns, input
 * gradients backward_ns, weight gradients weights_ns, a pair all of them, and a message
 * latency_ns.
 */
#ifndef TESTS_SUPPORT_PIPELINE_H
#define TESTS_SUPPORT_PIPELINE_H

#include "des/engine.h"
#include "plan/schedule/schedule.h"

struct pipeline_costs {
    int64_t forward_ns;
    int64_t backward_ns;
    int64_t weights_ns;
    int64_t latency_ns;
};

/* The system of `shape`; all memory is the arena's. */
struct engine_system pipeline_system(struct arena *arena, const struct schedule_shape *shape,
                                     const struct pipeline_costs *costs);

/* The same costs for schedule_evaluate. */
struct schedule_costs pipeline_schedule_costs(const struct pipeline_costs *costs);

enum { PIPELINE_CAUSE_WORK, PIPELINE_CAUSE_BUBBLE, PIPELINE_CAUSE_EXPOSED, PIPELINE_CAUSE_OTHER };

#endif
