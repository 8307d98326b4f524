/* Which of several points takes least, draw by draw: in what share of draws each wins, and what it
 * costs in the mean to have chosen it where another was less.
 *
 * Draw d has a length of the base's step, a ratio to it for each kind of difference, rates of
 * failures, and history number d. What points have in common is one draw in all of them:
 *
 *     days = those of history d * (1 + s (e - 1)) * (1 + f (g - 1))
 *
 *     s, f   share of the days that hang on steps, and that failures cost (run/duration)
 *     e      exp(sigma_base z + sigma_ratio y), y of the kinds of difference, 0 where points differ
 *            in nothing that moves a step
 *     g      exp(sigma_rates x)
 *
 * A point wins that takes least; where several do, each by its share. Behind the best is the mean
 * of all draws: what is lost for not knowing which draw it will be.
 *
 * ASSUMES: points that differ from the base in the same kinds are off by the same factor, as those
 * for which it is a gain gain too much or too little, and the others lose; those that differ in
 * others, by factors that have nothing in common.
 * ASSUMES: what failures cost is in proportion to their rates (a run that walks each draw: stoker
 * run), and USD to the time that nodes are held.
 */
#ifndef STUDY_WINS_H
#define STUDY_WINS_H

#include "bands/against.h"
#include "run/account.h"

#include <stdint.h>

struct wins_point {
    const char *label;
    double days;           /* the mean of its histories */
    const double *times_s; /* [time_count] of its histories; 0: nothing fails */
    uint32_t time_count;
    const double *account_s; /* [ACCOUNT_COUNT_] of its days */
    double cost_usd;         /* ABSENT: it has no price */
    /* Deviations of logarithms: of the base's step, of the ratio to it (below 0: the point is
     * slower), of the rates of failures. */
    double step, ratio, rates;
    const char *kinds; /* of difference: points that have the same text have one ratio */
};

/* Of each of the points. */
void wins_of_points(const struct wins_point *points, uint32_t count, struct wins *wins);

/* Of values of any kind, point i's in draw d at values[i * draws + d]: in what share of draws each
 * is the least, and by how much it is more than the least in the mean. */
void wins_of_values(const double *values, uint32_t count, uint32_t draws, double *shares,
                    double *behind);

#endif
