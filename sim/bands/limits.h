/* Limits of what predictions can tell (numerical noise, how far anchors, assumptions and rates are
 * trusted): models/limits.yaml of the catalogue.
 *
 *     resolution: {hashed: 0.0715 %, provenance: measured, source: ...}
 *     anchor: {trust: 80 %, provenance: fitted, source: ...}
 *     assumptions: {range: 20 %, provenance: assumed, source: ...}
 *     failures: {factor: 1.7, provenance: measured, source: ...}
 *     box_gemm: {spread: 2.7 %, provenance: measured, source: ...}
 *     reported_pcie: {factor: 2.8, provenance: measured, source: ...}
 *
 * resolution   Where each GPU has routes of its own, what comes sooner meets other transfers than
 *              before, so that a faster link may make a step longer. By how much at the most, as a
 *              fraction of the step (tests/published/noise): two steps that differ by less are
 *              not told apart, whichever is the shorter. Where replicas are alike it was none.
 * trust        The share that is taken of an anchor's weight (measured/anchor).
 * range        By how much of itself an assumed constant is moved, to rank what a run leans on.
 * box_...      How far boxes of one kind of GPU differ in the rates of products, attention, memory
 *              and links, as a deviation of its logarithm: what votes of many boxes hold and a box
 *              that was measured (input/study/box) knows of itself. What is not there is not known.
 * reported_... By which factor steps that public reports tell were off, of ways that no fit has
 *              seen (bands/unproven): of a few reports the largest, of many what four fifths keep.
 * factor       By how much rates of failures of one cluster were off in others: exp of the mean of
 *              |ln|. Of a normal distribution that mean is sqrt(2 / pi) deviations.
 *
 * ASSUMES: what was measured of one run, whose leaves are oversubscribed 3:1, holds for all whose
 * routes are hashed or crossed by other jobs.
 * ASSUMES: rates that count interruptions of jobs are as far off as those of failed hardware. Of
 * the former three other sources are known, and people stopped most of their jobs: told is too
 * little.
 */
#ifndef BANDS_LIMITS_H
#define BANDS_LIMITS_H

#include "bands/unproven.h"
#include "input/catalogue.h"
#include "input/study/box.h"
#include "run/result.h"

#define LIMITS_FILE "models/limits.yaml"

struct scenario;

struct limits {
    double resolution; /* of steps of GPUs with routes of their own, as a fraction */
    double trust;
    double range;                     /* of assumed constants; 0: not known */
    double failure_factor;            /* of rates of failures; 0: not known */
    double box_held[BOX_RATE_COUNT_]; /* 0: not known */
    double host_spread;               /* of the logarithm of a launch's time; 0: not known */
    double reported[UNPROVEN_COUNT];  /* >= 1; 0: not known */
};

/* Of the first catalogue directory that has the file. Else false and why, and limits of which
 * nothing is known: no resolution, all trust, no error of rates. One that the system does not let
 * us read is a DIAG_FAILURE, too. */
MUST_USE bool limits_load(struct arena *arena, const struct catalogue *catalogue,
                          struct limits *limits, const char **reason, struct diag *diag);

/* Whether its steps have a resolution: each GPU has routes of its own, which leave its node. */
bool limits_apply(const struct scenario *scenario);

/* Of steps of that scenario; 0: each difference is one. */
double limits_resolution(const struct limits *limits, const struct scenario *scenario);

/* Standard deviation of the logarithm of all rates of failures of that scenario, by these or by its
 * own failures.rates_within. */
double limits_of_rates(const struct limits *limits, const struct scenario *scenario);

/* How far off a run may be, by the band of its step and, where it has failures, their rates. */
struct band;
struct run_deviations limits_deviations(struct arena *arena, const struct catalogue *catalogue,
                                        const struct band *band, const struct result *result,
                                        struct diag *diag);

#endif
