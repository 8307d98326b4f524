/* A point of a study against another: how much faster it is, and how sure that is.
 *
 * The band of the ratio comes from measured runs that differ in the
 * same kinds of setting (bands/differences, bands/ratio_bands). Where the two scenarios differ in
 * keys that no measured runs do, their errors are taken as independent: each of the two has its
 * band (bands/band), and the squares of logarithms add up.
 *
 * Days are the days that are printed (run/duration), queue and start and teardown in them: so many
 * more are M / B - 1. Of these only the shares m and b hang on steps (duration_share_of_steps), so
 *
 *     d ln(M / B) = m d ln(ratio of steps) + (m - b) d ln(step of the base)
 *
 * The ratio has its band, none where they differ in nothing that moves a step; the step that both
 * have has the base's. Days of runs with failures are told apart by their histories, too, which
 * meet the same failures in both (paired), and by how often what fails (bands/limits), which is the
 * same in both: d ln(M / B) = (share of failures in M - that in B) d ln(rates). These four are
 * independent, and their squares add up.
 * A band of a normal distribution has four fifths of it.
 *
 * No difference is told that is smaller than the resolution of the two (bands/limits): bands are
 * not narrower, and where there is none such a difference is too close to call all the same.
 *
 * Where one of the two has what is not validated (bands/unproven), their errors are independent,
 * and all verdicts are "not validated".
 *
 * ASSUMES: what no measured pair differs in cancels nothing.
 */
#ifndef BANDS_AGAINST_H
#define BANDS_AGAINST_H

#include <stdbool.h>
#include <stdint.h>

struct against {
    double speed_up;   /* tokens/s of the whole cluster, over the base's; ABSENT as what follows */
    double per_gpu;    /* the same per GPU */
    double factor;     /* of the band: from the ratio over it to the ratio times it; ABSENT: none */
    double half;       /* ln of the same factor of half the votes */
    double resolution; /* ln of the ratio that is told from none, of it or of the base; 0: any */
    const char *no_resolution;             /* why it is not known, where there may be one; NULL */
    const char *verdict, *verdict_per_gpu; /* ratio_verdict_names; NULL: no band, and not closer */
    const char *reason;                    /* why there is none; "" */
    bool reason_is_same;      /* nothing that they differ in moves a step, as of the base itself */
    const char *const *kinds; /* of difference */
    const char *const *unmeasured; /* keys of which no measured pair is */
    uint32_t kind_count, unmeasured_count;
    const char *const *unproven; /* of either: what is not validated (bands/unproven) */
    uint32_t unproven_count;     /* > 0: no verdict but that */
    const char *years;           /* of another GPU, whose profile is of another year: which; NULL */
    uint32_t votes;              /* of pairs of these kinds; 0: errors are taken as independent */
    double days, days_error;     /* more than the base has, by the base's; ABSENT: one has no run */
    double days_spread;          /* ln f of their band, as `factor`; ABSENT: it is not known */
    double rates;             /* deviation of ln of the rates of its failures; 0: nothing fails */
    double base_step;         /* the same of the base's step */
    double days_share;        /* of its days, and the base's if that is less, that hang on steps */
    uint32_t histories;       /* of both, paired; 0: in one at least nothing fails */
    const char *days_verdict; /* as `verdict`, of the days: by band and histories; NULL */
};

/* Its verdict is that the two are too close to be called. */
bool against_is_close(const struct against *against);

/* One at least has a band. */
bool against_are_known(const struct against *against, uint32_t count);

/* The point that is told least finely, or of which it is not known how finely, of one at least. */
const struct against *against_coarsest(const struct against *against, uint32_t count);

/* Of all points, the coarsest: ln of a ratio that is told from none; 0: any. */
double against_resolution(const struct against *against, uint32_t count);

/* A logarithm of two values of the same point, of which so large a share hangs on steps, that is no
 * difference. */
bool against_is_unresolved(const struct against *against, double share, double logarithm);

/* What points win, draw by draw (study/wins). */
struct wins {
    const char *label;
    double days_share, days_behind; /* ABSENT: it is not among those that are compared */
    double usd_share, usd_behind;   /* ABSENT: one of them has no price */
};

#endif
