/* In what share of draws each fabric of a portfolio takes least, as wins.h has it of points.
 *
 * In draw d a job's ratio on fabric i is
 *
 *     r_i exp(-sigma_i y_d)     y_d: of the kinds of difference to the job's best, the same in all
 *                               jobs and fabrics that differ in these
 *
 * and the fabric takes, for the portfolio's work, price / work of it (study/portfolio): GPU-hours,
 * or USD where all fabrics have a price. That of least wins, of several each by its share; behind
 * is what it takes more than the least in the mean, as a part of the least that is predicted.
 *
 * ASSUMES: jobs' errors go the same way, as the bands of study/portfolio do.
 */
#ifndef STUDY_PORTFOLIO_WINS_H
#define STUDY_PORTFOLIO_WINS_H

#include "study/portfolio.h"

enum { PORTFOLIO_DRAWS = 1000 };

struct portfolio_plan {
    struct portfolio_share shares[PORTFOLIO_JOBS_MAX];
    const char *kinds[PORTFOLIO_JOBS_MAX]; /* of difference: the same text has the same draws */
    double usd;                            /* of a GPU-hour; ABSENT: it has no price */
};

struct portfolio_win {
    double share, behind; /* ABSENT: a job is not held there, or has no band */
};

/* Of each plan of `jobs` jobs. True: what wins takes least USD; false: the fewest GPU-hours, for
 * one has no price. */
bool portfolio_wins(const struct portfolio_plan *plans, uint32_t count, uint32_t jobs,
                    struct portfolio_win *wins);

#endif
