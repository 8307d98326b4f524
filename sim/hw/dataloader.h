/* DataLoader workers: samples read, decoded and delivered in order.
 *
 * PyTorch's rules: at the start prefetch * workers batches are handed out
 * round-robin; each batch taken hands out one more; a batch is made by one
 * worker and delivered in order, so a slow one holds up those behind it.
 * Without workers a batch is made when it is asked for.
 *
 * Workers share the host cores that this loader may use: with more of them at work
 * than cores, all slow down alike (a processor-sharing server, des/server).
 *
 * Closed forms for equal times t, step T, W workers, N steps (tests):
 *     W = 0            N (t + T)
 *     t <= W T         t + N T           (only the first batch is waited for)
 *     t >  W T         t ceil(N/W) + ((N-1) mod W + 1) T
 */
#ifndef HW_DATALOADER_H
#define HW_DATALOADER_H

#include "des/event.h"

struct arena;

struct dataloader_options {
    uint32_t workers;  /* 0: inline */
    uint32_t prefetch; /* batches ahead per worker, >= 1 */
    uint32_t cores;    /* that the workers share, >= 1 */
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
