/* What each fabric loses of a portfolio's work (study/portfolio), and the leanest that loses no
 * more than it may.
 *
 * A job is held against the fabric on which it does most, with the bands of ratios that `sweep` and
 * `compare` have (study/against). A fabric loses at most so much *clearly* where all of the
 * band of its work lies on that side of the limit, *likely* where that of half the votes does.
 *
 * Leanest are those within the limit of which none other is leaner (portfolio_is_leaner): with two
 * axes there may be several, less bandwidth with less oversubscription and the other way round.
 * In what share of draws each takes least, the same draws for all: study/portfolio_wins.
 * With a price those on the front are not beaten both in what a GPU-hour costs and in what is lost.
 */
#ifndef STUDY_PORTFOLIO_FOUND_H
#define STUDY_PORTFOLIO_FOUND_H

#include "study/against.h"
#include "study/portfolio.h"
#include "study/portfolio_wins.h"

/* A job on a fabric. */
struct portfolio_placed {
    const struct store_row *row;
    const struct against *against;
    double ratio;       /* of what it does at its best; ABSENT */
    const char *layout; /* the best there; NULL: as its scenario says */
};

/* A fabric with all jobs. */
struct portfolio_fabric {
    const struct study_point *point;
    struct portfolio_placed *jobs;
    struct portfolio_sum sum;
    double loss; /* ABSENT: a job has no result */
    bool is_within;
    const char *verdict;     /* NULL: no band */
    double network_usd, usd; /* of a GPU-hour; ABSENT: nothing has a price */
    double work_per_usd;     /* over that of the fabric that loses least; ABSENT */
    bool is_leanest, is_on_front;
    struct portfolio_win wins;
};

struct portfolio_found {
    struct portfolio portfolio;
    struct study fabrics;
    const char **layouts;            /* [job * fabrics + fabric] */
    struct portfolio_fabric *judged; /* [fabrics] */
    struct against *against;         /* [job * fabrics + fabric] */
    const char **best_labels;        /* [jobs] the fabric at which each does most; NULL: none */
    bool wins_are_of_usd;            /* else of GPU-hours (study/portfolio_wins) */
};

/* Judges the points, job after job, each on all fabrics: fills in all but the portfolio, the
 * fabrics and the layouts. The arena's, as are the rows. */
void portfolio_judge(struct arena *arena, const struct against_points *points,
                     struct portfolio_found *found);

/* The fabric that loses least; NULL: all jobs have a result on none. */
const struct portfolio_fabric *portfolio_least_lost(const struct portfolio_found *found);

#endif
