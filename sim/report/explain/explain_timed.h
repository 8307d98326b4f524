/* The kernels of a step's parts with their times: what section 2 shows.
 *
 * A phase is a pass through a layer, or what the first and last stage do
 * besides; it is a list of segments (plan/cost), each a list of kernels. Times
 * are train/timing's, in whole nanoseconds as the engine gets them, so that sums
 * are exact.
 */
#ifndef REPORT_EXPLAIN_EXPLAIN_TIMED_H
#define REPORT_EXPLAIN_EXPLAIN_TIMED_H

#include "report/explain/explain_sections.h"
#include "train/timing.h"

enum phase {
    PHASE_FORWARD,
    PHASE_BACKWARD,
    PHASE_RECOMPUTE, /* empty when nothing is */
    PHASE_ENDS,      /* embedding and head, forward and backward */
    PHASE_COUNT_
};

struct timed_kernel {
    struct kernel kernel;
    int64_t busy_ns;
    int64_t launch_ns;
    struct gemm_tiling tiling;       /* of a GEMM */
    struct attention_work attention; /* of fused attention */
    double compute_s;                /* of the arithmetic alone; 0: there is none */
    double memory_s;                 /* of the traffic alone */
    bool is_memory_bound;
};

struct timed_sum {
    struct work work;
    double flop;
    double bytes;
};

struct timed_segment {
    const char *title; /* static text */
    uint32_t count;
    struct timed_kernel kernels[SEGMENT_KERNELS_MAX];
    struct timed_sum sum;
};

struct timed_phase {
    const char *key;   /* in JSON */
    const char *title; /* for people */
    struct timed_segment *segments;
    uint32_t count;
    struct timed_sum sum;
};

/* Of the layer that stands for all (model_shown_kind): one with experts, if all but the first ones
 * have them; one with a scan. */
void explain_time_phase(const struct explanation *explanation, enum phase phase,
                        struct timed_phase *timed);

/* What kernels add up to in a step on a GPU, mean of all stages, in seconds, beside what the
 * simulation booked. They are equal unless a GPU is slow. The sums are recorded in `ledger`. */
struct timed_step {
    double compute_s, recompute_s, optimizer_s, launch_s;
    double host_wait_s; /* of launch_s: for launches, where the host falls behind */
};
struct timed_step explain_time_step(const struct explanation *explanation, struct ledger *ledger);

#endif
