/* The policy of each point of a quote: how often it writes checkpoints, how many nodes stand ready.
 *
 * An offer that breaks more often, or whose storage is slower, wants another interval; with one for
 * all it is that interval which is judged. Where a job has failures each point's is searched
 * (study/policy) at the layout that was found: over the axes of the run in the job's own `search:`,
 * or else over
 *
 *     run.checkpoint.every    1 min..4 h, each whole number of steps
 *     run.recovery.spares     0, 1, 2, 5 and 10 % of the nodes
 *
 * by what the quote is judged by: cost or days. The job's own stays where it cannot be told apart
 * from the best (two standard errors of the paired difference).
 */
#ifndef STUDY_QUOTE_QUOTE_POLICIES_H
#define STUDY_QUOTE_QUOTE_POLICIES_H

#include "study/policy/policy_trial.h"
#include "study/quote/quote_points.h"

struct quote_policy {
    const char *sets[POLICY_SETS_MAX];
    uint32_t set_count; /* 0: the job's own */
    const char *words;  /* "every 79.2 s, spares 5 %"; NULL: the job's own */
    double gains;       /* of days or cost, over the job's own; ABSENT: that lets no run be done */
};

/* Fills points->policies, [jobs * per_job]. False, with messages: an axis of a job's `search:` is
 * wrong, or a point's scenario cannot be read. A point that does not fit keeps the job's. */
MUST_USE bool quote_find_policies(struct arena *arena, struct quote_points *points,
                                  const struct study_base *base, bool folds, struct diag *diag);

#endif
