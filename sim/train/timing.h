/* How long the parts of a step take on this scenario's GPU: where plan (what
 * kernels) meets hw (how long).
 *
 * Each kernel is rounded to nanoseconds before summing, so merging segments
 * into one task changes nothing.
 *
 * The host launches kernels ahead of the GPU and needs software.host.per_kernel for each. Where it
 * falls behind, the GPU waits: how long depends on what came before (train/launch_queue), so a
 * segment says what it asks of the host, and program_builder, which knows the order, what
 * is waited for. With software.host.blocking all of the host's time is launch time; with
 * software.host.graphs the kernels of what is captured need no host, and the gaps before them are
 * gpu.launch.in_graph, not gpu.launch.time.
 *
 * ASSUMES: the first kernel of a graph starts after the same gap as the others. Where parts of
 * layers are captured this errs low, by the launch of one graph for each.
 *
 * Where software launches a product or a conversion for each expert (cost.h, launches), the gaps
 * of conversions count each, those of products, which run on 4 streams, one in 4; and the host
 * takes software.experts.per_tensor more for each expert's.
 *
 * To the router's kernels come software.experts.launches more, of which only the gaps and the
 * host's time count, and forward the time for which the GPU stands when the host reads the
 * router's choice (software.experts.synchronisation). Unless experts have a capacity, it reads it,
 * and its lead is gone.
 *
 * Kernels that stream memory, and fused attention, take 1 / software.memory_kernels.derate and
 * 1 / software.attention_kernels.derate of what hw/kernel says of the GPU; eager ones whose
 * operands are not in one piece (cost.h, is_strided) 1 / software.memory_kernels.strided more.
 * Sparse kernels reach the shares that software.sparse_kernels says.
 * Scans reach the shares of peak and bandwidth that software.scan_kernels says, whatever the rule.
 */
#ifndef TRAIN_TIMING_H
#define TRAIN_TIMING_H

#include "hw/attention.h"
#include "plan/cost.h"
#include "train/launch_queue.h"

struct scenario;

/* What kernels execute, and move between the GPU and its memory; and of which segments they are,
 * bits 1 << enum segment_kind. */
struct work_amount {
    double flop, bytes;
    uint64_t segments;
};
_Static_assert(SEGMENT_COUNT_ <= 64, "a set of segments is a word");

/* Work of one stretch of kernels, in nanoseconds at full speed. */
struct work {
    int64_t busy_ns;
    int64_t launch_ns;         /* gaps, without waits for launches */
    struct launch_burst burst; /* what waits for launches depend on; launches 0: on nothing */
    bool drains;               /* then the host waits for the GPU */
    struct work_amount amount;
};

/* Who runs kernels: a GPU, with its software, and what products multiply in. */
struct timing_runner {
    const struct gpu *gpu;
    const struct software *software;
    enum precision precision;
    bool knows_rows;  /* of experts before the router has chosen: padded to a capacity */
    bool is_replayed; /* what it runs is in a CUDA graph; see timing_runner_in */
};
struct timing_runner timing_runner_of(const struct scenario *scenario);
/* The same as it runs kernels of that segment: replayed from a graph, if the software captures it;
 * SEGMENT_COUNT_: the optimizer's. */
struct timing_runner timing_runner_in(const struct timing_runner *runner, enum segment_kind kind);

struct timing {
    struct timing_runner runner;
    struct work segments[LAYER_KINDS_MAX][SEGMENT_COUNT_]; /* by kind of layer */
};

/* Of a layer of that kind (index into model.kinds); of segments outside layers: any. */
struct work timing_work(const struct timing *timing, uint32_t kind, enum segment_kind segment);

/* What the segments of this scenario's layers of a kind (index into model.kinds) depend on. */
struct cost_shape timing_shape(const struct scenario *scenario, uint32_t kind);

/* Of all kinds of layers of the shape's model; the shape is that of any of them. */
void timing_init(const struct timing_runner *runner, const struct cost_shape *shape,
                 struct timing *timing);

/* The GPU as a kernel meets it: products in that kernel's precision. */
struct kernel_gpu timing_gpu(const struct timing_runner *runner, const struct kernel *kernel);

/* Of a kernel of fused attention, as hw wants it; and which it is: in fp8, or the software's. */
enum attention_kind timing_attention_kind(const struct timing_runner *runner,
                                          const struct kernel *kernel);
struct attention_size timing_attention(const struct kernel *kernel);

/* What the software makes of a kernel's rate, beyond what hw/kernel knows: 1 for a product. */
double timing_derate(const struct software *software, const struct kernel *kernel);

/* One kernel by itself. */
struct kernel_time timing_kernel(const struct timing_runner *runner, const struct kernel *kernel);
/* The same, recorded; `ledger` may be NULL. */
struct kernel_time timing_count_kernel(const struct timing_runner *runner,
                                       const struct kernel *kernel, struct ledger *ledger);

/* The optimizer's update of `parameters` parameters. */
struct work timing_optimizer(const struct timing_runner *runner, const struct optimizer *optimizer,
                             double parameters);

/* One pass over `bytes` of memory (gradient norm). */
struct work timing_memory_pass(const struct timing_runner *runner, double bytes);

/* The kernels of a segment back to back, and what they ask of the host. `kind` SEGMENT_COUNT_: of
 * the optimizer. */
struct work timing_segment(const struct timing_runner *runner, enum segment_kind kind,
                           const struct segment *segment);

#endif
