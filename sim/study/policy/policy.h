/* The best policy of a run with failures: how often to write checkpoints, how many nodes to keep
 * ready, whether to wait or to go on with less.
 *
 * The layout stays, so the step and its regimes are simulated once for all policies (run/known),
 * and each policy is as many histories of the run as run.repetitions says. History i of all
 * policies meets the same failures, so that of two policies the difference of each pair is taken:
 *
 *     d_i = value of one in history i - value of the other
 *     difference = mean of d,   standard error = deviation of d / sqrt(n)
 *
 * What is listed is tried, every combination of it; in a range of intervals the best is looked for
 * by golden section over the logarithm of the interval, from the best of some that lie evenly. Two
 * policies *cannot be told apart* while their difference is at most two standard errors.
 *
 * What is the best of many is the best by luck, too: by less than some standard errors of a
 * difference, since the failures are the same for all; other failures (another seed) say how much.
 *
 * ASSUMES: between two tried intervals of a range around the best the value has one least.
 */
#ifndef STUDY_POLICY_POLICY_H
#define STUDY_POLICY_POLICY_H

#include "study/policy/policy_trial.h"

/* Policies by name beside the best, each tried like the others. */
enum policy_named {
    POLICY_OWN,   /* the scenario's own */
    POLICY_YOUNG, /* the best with the interval of run/history/interval, of its own blocking part */
    POLICY_DALY,
    POLICY_EXACT,
    POLICY_NAMED_COUNT_
};
extern const char *const policy_named_names[POLICY_NAMED_COUNT_]; /* own, young, daly, exact */

struct policy_found {
    struct policy *policies; /* the best first, then those that are not good */
    uint32_t count;
    uint32_t good, without_progress, impossible, tied; /* tied: with the best itself */
    struct policy named[POLICY_NAMED_COUNT_];
    const char *no_named[POLICY_NAMED_COUNT_]; /* why there is none; NULL */
    double interval_s[POLICY_NAMED_COUNT_];    /* what the formulas say; ABSENT */
    uint32_t histories;                        /* of each */
    uint64_t steps_simulated;
    uint32_t tried;          /* of ranges, too */
    struct run_known *known; /* owned: the steps that results point to */
};

/* Whether the scenario has what a search needs: tokens, failures, a price. */
MUST_USE bool policy_check(const struct scenario *scenario, enum policy_by by,
                           const struct doc_node *document, struct diag *diag);

/* Whether it is a run of one stage in which something fails: else no policy is better than another,
 * or none is of all of it. */
bool policy_matters(const struct scenario *scenario);

/* False, with messages, where a value can be none in any combination; `found` may have no good one.
 * All memory is the arena's and the policies' own, which policy_forget gives back. */
MUST_USE bool policy_search(struct arena *arena, const struct policy_request *request,
                            struct policy_found *found, struct diag *diag);
void policy_forget(struct policy_found *found);

#endif
