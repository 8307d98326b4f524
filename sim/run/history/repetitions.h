/* Many histories of a run (run/history) and what can be said of them: what it takes in the mean,
 * how far one history may lie from it, and how well the mean is known.
 *
 * Repetition i of two plans has the same failures (run/failure), so their difference is known far
 * better than either.
 */
#ifndef RUN_HISTORY_REPETITIONS_H
#define RUN_HISTORY_REPETITIONS_H

#include "run/history/history.h"

#include <stddef.h>

struct repetition_spread {
    double mean, error; /* standard error of the mean */
    double p5, p50, p95;
};

/* One of them: what costs and comparisons are made of. */
struct repetition {
    double wall_s;
    double steps_s;  /* in steps, also those that were done again */
    double unheld_s; /* of nodes, as in an outcome, of all stages */
    double goodput;
};

struct repetitions {
    uint32_t count;
    struct repetition *each; /* [count] in the order of their numbers */
    struct repetition_spread wall_s;
    struct repetition_spread goodput;
    double account_s[ACCOUNT_COUNT_];          /* means; they sum to wall_s.mean */
    double (*stage_account_s)[ACCOUNT_COUNT_]; /* [stage_count] of the plan, means */
    double checkpoints;                        /* mean */
    double *interruptions;                     /* [class_count], mean of a history */
    double *blamed_s; /* [class_count], mean: lost, detection, waiting and recovery for it */
    double *unheld_s; /* [stage_count] of the plan, means: of nodes, as in an outcome */
    double saved;     /* mean: times that nodes were taken, and no step was lost */
    double interruptions_all;
    uint32_t broken_most; /* nodes at a time, in any of them */
    uint64_t turns;       /* of all histories' loops */
    uint32_t unfinished;  /* histories that reached the horizon before their last step */
};

/* What a process has found out about steps, as bytes for the others. */
struct repetitions_news {
    const void *bytes;
    size_t size_bytes;
};

/* What is drawn, and by how many processes. What comes of it does not depend on these. */
struct repetitions_request {
    const struct history_plan *plan;
    uint64_t seed;
    uint32_t count; /* at least 2 */
    uint32_t jobs;  /* processes, where it is worth it; 0 or 1: this one */
    /* Of steps (plan->step_of) that a process had to find out, so that the caller knows them, too:
     * what it came to know since it was asked last, as bytes in the arena, and taking that in.
     * NULL: nothing. */
    struct repetitions_news (*news)(void *context, struct arena *arena);
    void (*learn)(void *context, const struct repetitions_news *news);
    /* The plan of one history, where they differ in how long steps take and how often what fails:
     * stages, classes and the number of steps are those of `plan`. Memory is the arena's. NULL: all
     * are `plan`'s. */
    const struct history_plan *(*plan_of)(void *context, struct arena *arena, uint32_t number);
    void *plans;
};

/* All memory is the arena's. When the first history of one plan does not finish, the others are not
 * drawn: `count` is 1 then, and there is no spread. */
void repetitions_draw(struct arena *arena, const struct repetitions_request *request,
                      struct repetitions *all);

/* Draws all histories in this process. */
void repetitions_run(struct arena *arena, const struct history_plan *plan, uint64_t seed,
                     uint32_t count, struct repetitions *all);

/* As many as it takes, a power of two from 16 on, for the standard error of wall_s over its mean to
 * be `precision`, and request->count at most. */
void repetitions_until(struct arena *arena, const struct repetitions_request *request,
                       double precision, struct repetitions *all);

#endif
