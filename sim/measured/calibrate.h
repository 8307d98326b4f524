/* Calibration: a collective library's constants from measured curves.
 *
 * With algorithm and protocol given, a collective's time is linear in four kinds of
 * unknowns (plan/collective/tuner):
 *
 *     time = stretch * (base + rounds_inside * nvlink + rounds_between * network)
 *          + bytes / (cap * efficiency)
 *
 * so each pair on each GPU architecture is a linear regression for base, nvlink, network and
 * 1 / efficiency (one on one node, on two, on more), on relative errors: rows are divided by
 * the measured time. Outliers count less (Tukey's biweight, gsl_multifit_robust). An
 * unknown that the data cannot tell apart keeps the library's value: rounds, when all
 * curves have the same or their standard error is as large as they are; a bandwidth, when all its
 * sizes are the same, its standard error is a third of it, or it is a tenth of the library's. So
 * does one that comes out below zero, but for a base, which is then 0; and links are used in
 * full at most, for the simulation lets no transfer be faster than they are.
 * What the library says of filling pipelines stays; the limits on bus bandwidth do not
 * apply where a bandwidth was fitted.
 *
 * Only what was measured changes: constants of a pair on as many nodes (one, two, more) as some
 * curve had. On others its times stay as they are to the last bit, launch and rounds included.
 *
 * A pair whose own points are then off by more than FIT_MEDIAN_MAX (measured/fit_limit) in the
 * median keeps the library's constants, and a library that is off by more over all points is
 * refused.
 *
 * Which pair ran at a size is the measurement's word; where it says nothing, the library's
 * choice, so choosing and fitting alternate until the choice stays, and of these attempts the one
 * whose predictions are the least off in the median counts.
 *
 * What was fitted is what is predicted: the new library says of each architecture that has a fit
 * which pair each point counted for (measured/choices), and chooses that, so the errors told are
 * those of predicting the same points with it. A log that lets the library choose replaces what the
 * catalogue's library was seen to choose.
 */
#ifndef MEASURED_CALIBRATE_H
#define MEASURED_CALIBRATE_H

#include "input/cluster.h"
#include "measured/curves.h"

enum calibration_unknown {
    UNKNOWN_BASE,
    UNKNOWN_SCALE_UP,
    UNKNOWN_NETWORK,
    UNKNOWN_SLOWNESS, /* 1 / efficiency on one node; on two and on more follow */
    UNKNOWN_COUNT_ = UNKNOWN_SLOWNESS + SPAN_COUNT_
};

/* One pair on one architecture. */
struct calibration_group {
    uint32_t architecture;
    struct collective_choice pair; /* algorithms that are alike count as the one they are like */
    uint32_t points;
    double bytes_min, bytes_max;
    bool has_span[SPAN_COUNT_]; /* enum library_span: points on so many nodes */
    bool is_fitted;             /* false: too few points, or no rank, or a fit that misses */
    bool is_missed;             /* the last of these; median and p90 are of that fit */
    const char *reason;         /* why not */
    bool is_free[UNKNOWN_COUNT_];
    bool is_held[UNKNOWN_COUNT_]; /* at its limit: no base, or links used in full */
    double value[UNKNOWN_COUNT_]; /* s; slownesses as efficiencies */
    double error[UNKNOWN_COUNT_]; /* standard errors, of what was free */
    double median, p90;           /* relative errors of this pair's points */
};

struct calibration {
    struct library *library; /* the fitted one */
    struct calibration_group *groups;
    uint32_t group_count;
    struct curve_errors before, after; /* by what the libraries predict of the points */
};

/* False, with the reason, when nothing could be fitted, or what was misses the measurements. */
MUST_USE bool calibrate(struct arena *arena, const struct curve *curves, uint32_t count,
                        const struct library *library, struct calibration *calibration,
                        struct diag *diag);

#endif
