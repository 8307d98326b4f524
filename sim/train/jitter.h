/* What a step waits for the slowest GPU.
 *
 * GPUs that do the same do not take equally long: some are slower for good (chips, cooling:
 * gpu.speed_spread), and the host and its network disturb all at random (software.jitter.spread).
 * If the time that a GPU is busy in a step is normally distributed, with these shares of it as
 * standard deviations over GPUs and over GPUs and steps, the two are independent, and
 *
 *     spread = sqrt(speed_spread^2 + jitter.spread^2)
 *
 * A step of N GPUs lasts longer than one of the mean GPU by
 *
 *     spread * busy * E(N),    E(N) = quantile of the normal distribution at (N - 3/8) / (N + 1/4)
 *
 * where E(N) is the expected largest of N standard normal values (Blom 1958, Statistical
 * Estimates and Transformed Beta-Variables, section 6.9: within 0.03 of the exact value): 0 of
 * one, 1.4 of 8, 2.4 of 64, 3.2 of 1,000, 3.8 of 10,000. Every GPU but the slowest waits for it;
 * ours are all mean ones, so all of them wait.
 *
 * Besides, whatever interrupts a GPU or its host for a moment (daemons, the proxies of the NICs, a
 * launch that comes late) is waited for at the next operation of all replicas (parameters gathered,
 * gradients reduced), whether it runs beside compute or not: who comes late also computes late. If
 * arrivals of n ranks have the standard deviation `software.jitter.meeting`, each such operation
 * costs
 *
 *     meeting * E(n)
 *
 * of all, as the largest interruption counts, however rare it is on one of them (Beckman et al.
 * 2008, Benchmarking the effects of operating system interference on extreme-scale parallel
 * machines, Cluster Computing 11). A program has it as a wait in front of the operation
 * (train/program/program_builder).
 *
 * ASSUMES: delays that go with a GPU's work add up over the step and are waited for once, at its
 * end; those of a moment never add up, and where a pipeline waits anyway they cost nothing.
 * ASSUMES: groups that share operations of tensor, context or expert parallelism come together.
 * ASSUMES: GPUs are busy for the mean of all of them.
 * ASSUMES: GPUs that are slow for good lie anywhere: nobody sorts them onto the same replicas.
 * Which are slow is not drawn, since any draw would tell all GPUs apart and leave nothing to fold;
 * `slow` names GPUs whose speed is known, and these are simulated.
 */
#ifndef TRAIN_JITTER_H
#define TRAIN_JITTER_H

#include "base/ledger.h"
#include "train/metrics.h"

struct gpu;
struct software;

/* The spread of kernels and of GPUs that are slower for good, combined. */
double jitter_spread_of(const struct gpu *gpu, const struct software *software);

/* E(n); n >= 1. */
double jitter_largest(int64_t n);

/* At an operation of so many ranks, all replicas. */
double jitter_meeting_s(const struct software *software, int64_t ranks);

/* The wait of `gpus` GPUs with that spread (jitter_spread_of), from gpu_ns of a step without it. */
int64_t jitter_wait_ns(double spread, int64_t gpus, const int64_t gpu_ns[CAUSE_COUNT_],
                       struct ledger *ledger);

/* Time in which a GPU is busy, mean of all: what the spread is of. */
double jitter_busy_s(int64_t gpus, const int64_t gpu_ns[CAUSE_COUNT_]);

#endif
