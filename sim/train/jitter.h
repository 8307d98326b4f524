/* What a step waits for the slowest GPU.
 *
 * GPUs that do the same do not take equally long: clocks differ by temperature and power, the
 * host and its network disturb at random. If the time that a GPU is busy in a step is normally
 * distributed over GPUs and steps, with a standard deviation of software.jitter.spread of it, a
 * step of N GPUs lasts longer than one of the mean GPU by
 *
 *     spread * busy * E(N),    E(N) = quantile of the normal distribution at (N - 3/8) / (N + 1/4)
 *
 * where E(N) is the expected largest of N standard normal values (Blom 1958, Statistical
 * Estimates and Transformed Beta-Variables, section 6.9: within 0.03 of the exact value): 0 of
 * one, 1.4 of 8, 2.4 of 64, 3.2 of 1,000, 3.8 of 10,000. Every GPU but the slowest waits for it;
 * ours are all mean ones, so all of them wait.
 *
 * ASSUMES: the delays of a GPU add up over the step and everybody meets once, at its end. In fact
 * collectives meet within their groups many times a step: more often, and among fewer.
 * ASSUMES: GPUs are busy for the mean of all of them.
 */
#ifndef TRAIN_JITTER_H
#define TRAIN_JITTER_H

#include "base/ledger.h"
#include "train/metrics.h"

/* E(n); n >= 1. */
double jitter_largest(int64_t n);

/* The wait of `gpus` GPUs with that spread (software.jitter), from gpu_ns of a step without it. */
int64_t jitter_wait_ns(double spread, int64_t gpus, const int64_t gpu_ns[CAUSE_COUNT_],
                       struct ledger *ledger);

/* Time in which a GPU is busy, mean of all: what the spread is of. */
double jitter_busy_s(int64_t gpus, const int64_t gpu_ns[CAUSE_COUNT_]);

#endif
