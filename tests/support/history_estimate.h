/* What share of the time a run with failures gets done, from many histories of it, and how well
 * that is known.
 *
 * A ratio of sums over histories, G = sum x / sum y (useful time over all), has the standard error
 *
 *     sqrt(sum (x - G y)^2 / n) / mean y / sqrt(n)
 *
 * and lies within ESTIMATE_SIGMAS of them of a formula that is exact. A million failures bring it
 * to ESTIMATE_ERROR_MAX in most cases, and where they do not more are drawn: rules that differ
 * little in words (whether a restart may fail) are tens of errors apart. Where a share of random
 * tests is run (share.h), failures are as many fewer, and errors larger by the root of that.
 */
#ifndef TESTS_SUPPORT_HISTORY_ESTIMATE_H
#define TESTS_SUPPORT_HISTORY_ESTIMATE_H

#include "run/history/history.h"
#include "support/share.h"

#define ESTIMATE_SIGMAS 4.0
#define ESTIMATE_FAILURES (1e6 / (double)share())
#define ESTIMATE_ERROR_MAX 2.5e-4
#define ESTIMATE_SEED 42

/* Steps that are all alike, whatever the regime; `context` is the pace. */
struct even_pace {
    sim_time step_ns;
};
struct history_step even_step(void *context, const struct history_regime *regime);

struct history_estimate {
    double mean, error;
};

/* At least ESTIMATE_FAILURES, in at least 64 histories, and as many more as the error asks for.
 * What lies before `warm_up` is left out: a run begins with nothing broken. */
struct history_estimate history_estimate(const struct history_plan *plan, sim_time warm_up);

/* Fails where it lies more than ESTIMATE_SIGMAS from what is exact, and says how far. */
void assert_estimates(const char *name, const struct history_estimate *found, double exact);

#endif
