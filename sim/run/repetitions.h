/* Many histories of a run (run/history) and what can be said of them: what it takes in the mean,
 * how far one history may lie from it, and how well the mean is known.
 *
 * Repetition i of two plans has the same failures (run/failure), so their difference is known far
 * better than either.
 */
#ifndef RUN_REPETITIONS_H
#define RUN_REPETITIONS_H

#include "run/history.h"

struct repetition_spread {
    double mean, error; /* standard error of the mean */
    double p5, p50, p95;
};

struct repetitions {
    uint32_t count;
    struct repetition_spread wall_s;
    struct repetition_spread goodput;
    double account_s[ACCOUNT_COUNT_]; /* means; they sum to wall_s.mean */
    double *interruptions;            /* [class_count], mean of a history */
    double interruptions_all;
    uint32_t broken_most; /* nodes at a time, in any of them */
    uint32_t unfinished;  /* histories that reached the horizon before their last step */
};

/* All memory is the arena's. `count` at least 2. */
void repetitions_run(struct arena *arena, const struct history_plan *plan, uint64_t seed,
                     uint32_t count, struct repetitions *all);

#endif
