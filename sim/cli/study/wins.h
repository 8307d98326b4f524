/* Which of a study's points takes least, draw by draw: in what share of draws each wins, and what
 * it costs in the mean to have chosen it where another was less.
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
#ifndef CLI_STUDY_WINS_H
#define CLI_STUDY_WINS_H

#include "cli/study/against.h"

struct wins {
    const char *label;
    double days_share, days_behind; /* ABSENT: it is not among those that are compared */
    double usd_share, usd_behind;   /* ABSENT: one of them has no price */
};

/* Of each row of the session; NULL: fewer than two have days whose bands are known. */
const struct wins *wins_of(const struct session *session, const struct store_row *base,
                           const struct against *against);

/* "wins" in a point's object. */
void wins_add(struct sheet *object, const struct wins *wins);

/* The table, below those of the points. */
void wins_say(struct sheet *sheet, const struct session *session, const struct wins *wins);

#endif
