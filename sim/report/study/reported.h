/* A stored study as somebody reads it who did not run it: its best points in order, what they are
 * held against, and how sure that is. All of it is read from the results file, and nothing is
 * simulated: what is not stored (what else would help, why) is not told.
 *
 * Scenarios are stored as they were resolved, so bands of steps and of ratios are found as they
 * were when the study was run (bands/band, study/against), by the measured runs that the catalogue
 * has now.
 *
 * Points are ranked by the first metric that decides (report/winners), days before money, of the
 * offers of a quote money before days; of more than REPORTED_ALL the REPORTED_BEST best are told,
 * and the point that they are held against.
 */
#ifndef REPORT_STUDY_REPORTED_H
#define REPORT_STUDY_REPORTED_H

#include "bands/against.h"
#include "bands/band.h"
#include "run/figures.h"
#include "study/study.h"

enum { REPORTED_ALL = 40, REPORTED_BEST = 20 };

struct reported_range {
    double p10, p90; /* ABSENT: not known */
};

/* A point that has a result. */
struct reported_point {
    const struct store_row *row;
    const struct scenario *scenario; /* as it was resolved; NULL: this build cannot read it */
    struct band band;                /* of its step */
    struct reported_range step, mfu; /* seconds, and a fraction */
    struct reported_range days, usd; /* where nothing fails */
};

struct reported {
    const struct store_study_row *study;
    const struct figure_metric *judge; /* by what points are ranked */
    struct reported_point *points;     /* the best first */
    uint32_t count;
    uint32_t left_out;                      /* that have a result, too */
    const struct reported_point *best;      /* the first; NULL: no point has a result */
    const struct reported_point *base;      /* one of them; likewise */
    const struct against *against;          /* [count], the base */
    const struct against *of_best;          /* [count], the best point */
    const struct store_row *const *lacking; /* points that have none */
    uint32_t lacking_count;
    const struct store_assumption *assumptions; /* of the best point, by name */
    uint32_t assumption_count;
    const char *scenario_text; /* of the best point, as it was resolved; NULL: none */
    const char *no_votes;      /* why steps have no band; NULL */
};

struct reported_asked {
    struct store *store;
    const struct store_study_row *study;
    const struct catalogue *catalogue;
    const char *base; /* a label; NULL: the first point that has a result */
    uint32_t most;    /* points; 0: as above */
};

/* False with a message: the study has no point yet, or the base is none of its points. */
MUST_USE bool reported_read(struct arena *arena, const struct reported_asked *asked,
                            struct reported *reported, struct diag *diag);

#endif
