/* Pairs of measured runs that differ in one kind of setting (bands/axes), and how well their ratios
 * are predicted.
 *
 * A pair is two rows of one source, predicted and measured, that differ in a column that defines
 * the axis, and are equal in all others of axis_columns but those that may follow: text by text, a
 * blank too; in ep, cp and virtual_pp a blank is a 1. Columns that are not listed (notes,
 * parameters, what was measured) do not count.
 *
 * A ratio is of tokens per second and GPU, of the second run over the first:
 *     measured  x = ln of the ratio measured; below AXIS_TIE either way it is a tie
 *     error     e = ln(ratio predicted / ratio measured)
 * Which of a pair is the first: in the order of rows, but where the first column that differs is
 * no whole number, in that of its texts. Pairs of one source, model, axis and difference (which
 * columns, from what to what) are one vote.
 *
 * A choice is what a source tells of a difference, whatever the model and whichever comes first:
 * its pairs are turned so that the first whole number that differs grows, and their medians, of x
 * and of what is predicted, are one point of `slope_of_choices`. Repeats and models that disagree
 * weigh there no more than one that stands alone.
 */
#ifndef LAB_PAIRS_H
#define LAB_PAIRS_H

#include "bands/axes.h"
#include "measured/validate.h"

struct pair {
    uint32_t axis, vote; /* votes are numbered over all axes */
    uint32_t choice;     /* so are choices */
    bool is_turned;      /* of its choice the second comes first */
    const struct validated_row *first, *second;
    uint64_t differs;   /* columns */
    const char *values; /* "micro_batch 1>2; recompute none>full": what of the defining ones does */
    double measured, error; /* x and e */
};

struct pairs {
    struct pair *items; /* axis by axis */
    uint32_t count, vote_count, choice_count;
};

/* Rows of one or several tables, all predicted and measured. Compares each with each: some hundred
 * rows, and most end at the source. */
struct pairs pairs_of(struct arena *arena, const struct validated_row *rows, uint32_t count);

/* Of an axis. A figure that does not exist is ABSENT: without pairs all, without clear ones signs.
 */
struct axis_score {
    const char *name;
    uint32_t pairs, votes, clear; /* clear: no tie */
    double right_sign;            /* share of clear pairs on the side foretold */
    double right_sign_by_vote;    /* the mean over votes of that share */
    double flip;                  /* what wrong signs cost: sum of |x| of them / sum of |x| */
    double mean, median;          /* over votes, of |e| */
    double base;                  /* over votes, of |x|: what "no difference" would score */
    double skill;                 /* 1 - mean / base */
    double slope;                 /* of predicted over measured logarithms, through 0 */
    double slope_of_choices;      /* the same of the medians of each choice */
};
struct axis_score pairs_score(struct arena *arena, const struct pairs *pairs, uint32_t axis);

/* Means over the axes that are not apart and have so many votes; `pairs` is how many axes. */
struct axis_score pairs_mean(const struct axis_score *scores, uint32_t votes_min);

#endif
