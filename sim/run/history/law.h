/* How long something lasts that is not the same each time: repairs, restarts, until a hang is seen.
 *
 * A law is a mean and a shape (input/failures/law). A draw is a hash (base/rng) put through the
 * law's inverse distribution, so the same key gives the same duration whatever else is drawn.
 */
#ifndef RUN_HISTORY_LAW_H
#define RUN_HISTORY_LAW_H

#include "base/rng.h"
#include "des/event.h"
#include "input/failures/law.h"

/* At most 4.6e9 s, 145 years. */
sim_time law_draw(const struct law *law, const struct rng_key *key);

/* A duration in seconds as simulated time: what exceeds 145 years is never reached. */
sim_time law_time(double duration_s);

/* So long after an instant; what exceeds the clock is never reached. */
sim_time law_after(sim_time instant, sim_time duration);

/* The probability that nothing of a constant rate happens in it: E[e^(-rate T)]. */
double law_spared(const struct law *law, double rate_per_s);

#endif
