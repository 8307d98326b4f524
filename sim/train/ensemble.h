/* The step as the median of runs that differ by a ten-thousandth.
 *
 * Flows that share a thin link can lock in phase, as pendulums on one beam do. A stage of an
 * interleaved pipeline alternates exchanges with computing, and its messages to the next stage
 * cross the same up-link. If all stages do the same thing at the same time, their messages disturb
 * one exchange of two; half a cycle apart they disturb each. Both patterns keep themselves up once
 * they have begun, one is 22 % slower, and which one a step falls into is decided by nanoseconds
 * while the pipeline fills: the step time of Mixtral 8x22B behind 3:1 up-links changed by 16 % when
 * the NICs' bandwidth changed by 0.01 %. A real fabric has the same patterns and chooses between
 * them by chance, so one run of ours proves little. Noise does not dissolve them (measured: kernels
 * or messages varied at random by 1, 3 and 10 % leave a spread of 13, 11 and 11 %; only 30 %, more
 * than any machine has, brings it to 2 to 4 %).
 *
 * So where runs whose bandwidths differ by up to 0.03 % either way (hashed from the seed) differ in
 * length by more than ENSEMBLE_SPREAD_MIN, the prediction is the median member of
 * ENSEMBLE_MEMBERS, with its own exact accounts, and the least and the most are told. Elsewhere it
 * is the unperturbed run, to the nanosecond.
 *
 * What is cheap to exclude is excluded. When no flow slows another, times are sums and maxima of
 * given durations and no change grows on the way (max-plus maps are non-expansive: Baccelli, Cohen,
 * Olsder, Quadrat 1992, Synchronization and Linearity, section 3); and where all ranks run one
 * program there are no stages between which a phase could lock (measured: FSDP at 25 to 400 Gbps
 * spreads as its input does). Where flows do slow others it is asked of the unperturbed run whether
 * small differences grow on its way (engine_steadiness in des/engine.h): where they do not, members
 * differ by what their bandwidths do. Otherwise three probes are run, and the rest of the members
 * only if those differ. They run folded, also where the caller simulates every GPU: that is the
 * same.
 *
 * All bandwidths change by the same factor, so ranks that fold, fold in each member, links that
 * are slack stay so, and a cycle of microbatches that repeats, repeats.
 *
 * ASSUMES: what begins at one instant may do so in every member. A lock of such ties is not told:
 * with NICs of no latency at all one random step of 1,000 took 72.3 ms in all members, and 60.7
 * with 2 us. Delays of up to 0.5 us, drawn for each channel, tell of it (62.4 to 72.3 ms), but
 * would have to be the same for channels that fold.
 */
#ifndef TRAIN_ENSEMBLE_H
#define TRAIN_ENSEMBLE_H

#include "des/engine.h"

#include <stdbool.h>

struct engine_known;

/* Odd, so that the median is one of them: a run with accounts that add up. With nine, and 0.01 %,
 * of 680 pairs of neighbours behind thin links 20 had medians outside one another's spread; with
 * nine and 0.03 % none, but 3 of 160 adjacent ones in one direction; with fifteen none. */
#define ENSEMBLE_MEMBERS 15
/* (most - least) / least from which on the median is predicted. */
#define ENSEMBLE_SPREAD_MIN 1e-3

/* Of what its runs know of programs (des/engine_known.h). */
#define ENSEMBLE_KNOWN_BYTES_MAX (4 << 20)

/* One run of an ensemble. */
struct ensemble_member {
    uint64_t seed;
    uint32_t number; /* 0: unperturbed */
};

struct ensemble_spread {
    bool is_longer;                /* the prediction ends after `enough`; no more is known */
    struct ensemble_member median; /* the run that is the prediction */
    uint32_t members;              /* 1: there is nothing to be told, the rest is 0 */
    sim_time least_ns, most_ns;    /* of job 0's end */
};

/* False: no flow was slowed enough, no phase can lock, or differences do not grow. `outcome` is
 * member 0's, of whose steadiness is asked what is known. */
bool ensemble_is_needed(const struct engine_system *system, const struct engine_outcome *outcome);

/* Finds the median, given the outcome of member 0, which was run already. Nothing of it stays in
 * memory. Of a median that ends after `enough` it is asked only whether it does (SIM_TIME_MAX: it
 * is asked when): members that cannot end by then are left, and once more than half of all have
 * been the others are not run; whether they differ is not asked where member 0 is among these. */
struct ensemble_spread ensemble_find(const struct engine_system *system, uint64_t seed,
                                     const struct engine_outcome *unperturbed, sim_time enough);

/* The system, where what one member finds out about its programs, such as where stretches begin and
 * who waits for whom, is kept in `known` for the others, unless the programs have numbers already.
 * What it takes is the arena's. */
const struct engine_system *ensemble_share(struct arena *arena, const struct engine_system *system,
                                           struct engine_known *known);

/* The outcome of one member. All memory is the arena's. */
void ensemble_run(struct arena *arena, const struct engine_system *system,
                  struct ensemble_member member, const struct engine_options *options,
                  struct engine_outcome *outcome);

#endif
