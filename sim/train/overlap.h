/* What hides communication in a step, and what ends the hiding.
 *
 * While a transfer is under way, the GPU computes (the transfer is hidden, beside a forward, a
 * backward, ...) or it waits. A wait ends when the last of what it was for has ended, and belongs
 * to the stream of that (of several at one instant, to the lowest): the same rule by which the
 * engine books it (des/engine.h). What was to be computed next is what ended the hiding.
 *
 *     compute   | forward 3 |          wait          | forward 4 |
 *     dp gather      |==hidden==|======= of layer 4 =======|
 *                    under way                       ended by a forward
 *
 * One GPU of each stage is looked at (train/watch), between the step's begin and its last task.
 * `under_way_ns` counts from when the GPU meets the channel, so it has in it what the GPU waits
 * there for its partners; a receive is posted long before its message and its time says nothing.
 * Exactly, in ns: what the stage computes and all its waits add up to the end of its last computing
 * task.
 */
#ifndef TRAIN_OVERLAP_H
#define TRAIN_OVERLAP_H

#include "train/streams.h"

struct arena;
struct scenario;

/* What a GPU computes meanwhile, or next. */
enum overlap_work {
    OVERLAP_FORWARD,
    OVERLAP_RECOMPUTE,
    OVERLAP_BACKWARD,  /* input gradients, or both */
    OVERLAP_WEIGHTS,   /* weight gradients by themselves */
    OVERLAP_PAIR,      /* a forward beside a backward */
    OVERLAP_OPTIMIZER, /* and the gradient norm */
    OVERLAP_OTHER,     /* the host at the step's begin */
    OVERLAP_WORK_COUNT_
};
extern const char *const overlap_work_names[OVERLAP_WORK_COUNT_];

struct overlap_stream {
    uint32_t tasks;
    int64_t under_way_ns;
    int64_t beside_ns[OVERLAP_WORK_COUNT_]; /* hidden: under way while this is computed */
    int64_t waited_ns[OVERLAP_WORK_COUNT_]; /* ended the wait: this was computed next */
    uint32_t waits[OVERLAP_WORK_COUNT_];    /* how many */
};

struct overlap {
    uint32_t stage; /* the one that waits longest, the first of equals */
    struct overlap_stream streams[STREAM_COUNT_]; /* [STREAM_COMPUTE] unused */
    int64_t computing_ns[OVERLAP_WORK_COUNT_];
    sim_time end; /* of the step, on all GPUs */
};

/* Sums over what it was computed beside, or over what ended the waits. */
int64_t overlap_sum(const int64_t ns[OVERLAP_WORK_COUNT_]);

/* Of the stage whose GPU waits longest for communication. The arena keeps what the run needs. */
void overlap_simulate(struct arena *arena, const struct scenario *scenario, bool folds,
                      struct overlap *overlap);

#endif
