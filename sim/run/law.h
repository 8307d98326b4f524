/* How long something lasts that is not the same each time: repairs, restarts, until a hang is seen.
 *
 * A law is a mean and a shape. A draw is a hash (base/rng) put through the law's inverse
 * distribution, so the same key gives the same duration whatever else is drawn.
 */
#ifndef RUN_LAW_H
#define RUN_LAW_H

#include "base/rng.h"
#include "des/event.h"

enum law_kind {
    LAW_FIXED,       /* the mean, always */
    LAW_EXPONENTIAL, /* no memory */
    LAW_LOGNORMAL,   /* many short ones, few long; shape: standard deviation of the logarithm */
    LAW_WEIBULL, /* shape below 1: the longer it has lasted the longer it will; 1: exponential */
    LAW_COUNT_
};
extern const char *const law_names[LAW_COUNT_];

struct law {
    enum law_kind kind;
    double mean_s; /* >= 0; 0: no time at all */
    double shape;  /* > 0 where the kind has one */
};

/* At most SIM_YEARS_MAX, 200 years. */
sim_time law_draw(const struct law *law, const struct rng_key *key);

/* A duration in seconds as simulated time: what exceeds 200 years is never reached. */
sim_time law_time(double duration_s);

#endif
