/* Launches as train/launch_queue.h has them, gone through burst by burst: what train/launch_history
 * does in spans, and has to agree with. */
#ifndef TESTS_SUPPORT_EACH_BURST_H
#define TESTS_SUPPORT_EACH_BURST_H

#include "train/launch_queue.h"

/* What the GPU waits for launches of a burst that comes next. */
int64_t each_burst_wait(struct launch_queue *queue, const struct launch_burst *burst);

/* The host has waited until the GPU was idle. */
void each_burst_drain(struct launch_queue *queue);

#endif
