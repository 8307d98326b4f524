/* How long the parts of a step take on this scenario's GPU: where plan (what
 * kernels) meets hw (how long).
 *
 * Each kernel is rounded to nanoseconds before summing, so merging segments
 * into one task changes nothing.
 *
 * The host launches kernels ahead of the GPU; over a segment it needs
 * software.host.per_kernel for each. What that is longer than the segment's kernels and
 * gaps is launch time, too.
 */
#ifndef TRAIN_TIMING_H
#define TRAIN_TIMING_H

#include "hw/kernel.h"
#include "plan/cost.h"
#include "spec/scenario.h"

/* Work of one stretch of kernels, in nanoseconds at full speed. */
struct work {
    int64_t busy_ns;
    int64_t launch_ns;
};

struct timing {
    struct work segments[SEGMENT_COUNT_];
};

void timing_init(const struct scenario *scenario, struct timing *timing);

/* What the segments of this scenario depend on, and the GPU that runs them. */
struct cost_shape timing_shape(const struct scenario *scenario);
struct kernel_gpu timing_gpu(const struct scenario *scenario);

/* One kernel by itself. */
struct kernel_time timing_kernel(const struct scenario *scenario, const struct kernel *kernel);

/* The optimizer's update of `parameters` parameters. */
struct work timing_optimizer(const struct scenario *scenario, double parameters);

/* One pass over `bytes` of memory (gradient norm). */
struct work timing_memory_pass(const struct scenario *scenario, double bytes);

/* The kernels of a segment back to back, with what the host adds. */
struct work timing_segment(const struct scenario *scenario, const struct segment *segment);

#endif
