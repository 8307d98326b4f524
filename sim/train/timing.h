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
    struct work segments[LAYER_KINDS_MAX][SEGMENT_COUNT_]; /* by kind of layer */
};

/* Of a layer of that kind (index into model.kinds); of segments outside layers: any. */
struct work timing_work(const struct timing *timing, uint32_t kind, enum segment_kind segment);

void timing_init(const struct scenario *scenario, struct timing *timing);

/* What the segments of this scenario's layers of a kind (index into model.kinds) depend on, and
 * the GPU that runs them: a kernel's products in that kernel's precision. */
struct cost_shape timing_shape(const struct scenario *scenario, uint32_t kind);
struct kernel_gpu timing_gpu(const struct scenario *scenario);
struct kernel_gpu timing_gpu_of(const struct scenario *scenario, const struct kernel *kernel);

/* One kernel by itself. */
struct kernel_time timing_kernel(const struct scenario *scenario, const struct kernel *kernel);

/* The optimizer's update of `parameters` parameters. */
struct work timing_optimizer(const struct scenario *scenario, double parameters);

/* One pass over `bytes` of memory (gradient norm). */
struct work timing_memory_pass(const struct scenario *scenario, double bytes);

/* The kernels of a segment back to back, with what the host adds. */
struct work timing_segment(const struct scenario *scenario, const struct segment *segment);

#endif
