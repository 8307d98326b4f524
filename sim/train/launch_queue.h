/* The host's launches along a program: where the GPU has to wait for one.
 *
 * The host launches kernels one after the other, each for its time, and runs ahead of the GPU,
 * which takes them in order. A kernel begins when the one before it has ended and it has been
 * launched; so behind long kernels short ones find their launches done, and a run of short ones
 * waits when the lead is used up.
 *
 *     host   |1|2|3|4|5|6|7|            lead: how long the GPU still has to work on what has
 *     GPU      |..1..|..2..|3|4|5|6||7| been launched, when the host ends a launch
 *
 * The lead is all that has to be known of what came before: carried from segment to segment,
 * layers and microbatches alike. It is at most the work of the last `depth` launches, as the host
 * stops when so many are pending; and zero when the program makes the host wait for the GPU (a
 * *drain*). Programs go through their launches with train/launch_history.
 *
 * A burst, kernels launched without a synchronisation between them, is summed up by three times,
 * from which what it waits for any lead follows:
 *
 *     deficit = max over its kernels of (host's time until it is launched - work before it)
 *     wait    = max(0, deficit - lead),    lead' = lead + wait + work - host
 *
 * (Lindley's recursion of a queue, taken over a whole burst.) All is in integers, so that equal
 * cycles of microbatches become equal tasks once the lead has settled.
 *
 * ASSUMES: while the GPU waits for communication or for another stage the host gains nothing; and
 * launches of communication cost it nothing.
 * ASSUMES: kernels of a burst are equally long where it is cut by the depth; the host stops at
 * ends of bursts only.
 */
#ifndef TRAIN_LAUNCH_QUEUE_H
#define TRAIN_LAUNCH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"

struct arena;

struct launch_burst {
    int64_t launches;
    int64_t host_ns;    /* of all of them */
    int64_t work_ns;    /* of their kernels on the GPU, gaps between them included */
    int64_t deficit_ns; /* >= 0 */
};

/* Adds so many kernels of together `work_ns`, equally long, for which the host takes `host_ns`. */
void launch_burst_add(struct launch_burst *burst, int64_t launches, int64_t work_ns,
                      int64_t host_ns);

/* Part `number` of `count` equal ones: one after the other they wait as long as the whole does. */
struct launch_burst launch_burst_part(const struct launch_burst *burst, int64_t number,
                                      int64_t count);

struct launch_queue {
    int64_t lead_ns;
    int64_t depth;               /* launches */
    struct launch_burst *recent; /* [capacity], a ring: the last `depth` launches */
    uint32_t first, count, capacity;
    int64_t recent_launches, recent_ns; /* their sums */
};

/* Empty. `depth` at least 1. */
void launch_queue_init(struct launch_queue *queue, struct arena *arena, int64_t depth);

/* The ring alone: the lead is train/launch_history's. */
void launch_queue_forget(struct launch_queue *queue);
/* With a launch or more. */
void launch_queue_remember(struct launch_queue *queue, const struct launch_burst *burst);
/* Of bursts that were before all that is remembered, in their order and with drains (no launches),
 * those that the last `depth` launches reach: as if all had been remembered in their turn. Whether
 * these reach on. */
MUST_USE bool launch_queue_remember_older(struct launch_queue *queue,
                                          const struct launch_burst *bursts, size_t count);
/* The same at once, of bursts without drains, whose sums are known; false, and nothing is done, if
 * the last `depth` launches may not reach all of them. */
MUST_USE bool launch_queue_remember_whole(struct launch_queue *queue,
                                          const struct launch_burst *bursts, uint32_t count,
                                          int64_t launches, int64_t work_ns);
/* The work of the last `depth` launches; there must be one. */
int64_t launch_queue_pending_ns(const struct launch_queue *queue);

#endif
