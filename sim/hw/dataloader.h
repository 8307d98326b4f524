/* DataLoader workers: samples read, decoded and delivered in order.
 *
 * PyTorch's rules: at the start prefetch * workers batches are handed out
 * round-robin; each batch taken hands out one more; a batch is made by one
 * worker and delivered in order, so a slow one holds up those behind it.
 * Without workers a batch is made when it is asked for.
 *
 * The workers of all loaders of a node share its cores, and so does the main process of each
 * GPU, which never rests (it launches kernels and polls): with more of them at work than cores,
 * all slow down alike (one processor-sharing server, des/server; a worker has at most a core).
 * The loaders of a node are alike and in step, so one is simulated for all.
 *
 * ASSUMES: kernels are launched no later when main processes share their cores.
 *
 * Closed forms for equal times t, step T, W workers, N steps (tests):
 *     W = 0            N (t + T)
 *     t <= W T         t + N T           (only the first batch is waited for)
 *     t >  W T         t ceil(N/W) + ((N-1) mod W + 1) T
 * L such loaders and m main processes on c cores, all workers at work: t is longer by
 * max(1, (L W + m) / c).
 */
#ifndef HW_DATALOADER_H
#define HW_DATALOADER_H

#include "des/event.h"

struct arena;

struct dataloader_options {
    uint32_t workers;  /* 0: inline */
    uint32_t prefetch; /* batches ahead per worker, >= 1 */
    uint32_t cores;    /* of the node, >= 1 */
    uint32_t loaders;  /* of the node, alike, >= 1 */
    uint32_t mains;    /* processes that each want a core all the time */
    sim_time batch_ns; /* one worker makes one batch, on a core of its own */
    double spread;     /* lognormal standard deviation of batch_ns, 0: all equal */
    uint64_t seed;
    uint64_t rank;
};

struct dataloader_outcome {
    sim_time total_ns;       /* all steps */
    sim_time stall_ns;       /* waited for batches, all steps */
    sim_time first_stall_ns; /* of which for the first batch */
    uint32_t buffered_max;   /* batches ready and not taken, at most */
};

/* Simulates `steps` steps of `step_ns` each, one batch a step. */
void dataloader_run(struct arena *arena, const struct dataloader_options *options, sim_time step_ns,
                    uint32_t steps, struct dataloader_outcome *outcome);

#endif
