/* Kinds of difference between two runs of the same work, and the pairs of measured runs that differ
 * in one kind: they say how far the *ratio* of two predictions is off, where errors that both
 * share cancel.
 *
 * An axis is a row of a table: the columns that define it, of which one at least differs, and those
 * that may differ with it, for they follow from the choice (another GPU has another layout). A
 * pair is two rows of one source, predicted and measured, that are equal in all other columns of
 * AXIS_COLUMNS, text by text, a blank too; in ep, cp and virtual_pp a blank is a 1. Columns that
 * are not listed (notes, parameters, what was measured) do not count.
 *
 * A ratio is of tokens per second and GPU, of the second run over the first:
 *     measured  x = ln of the ratio measured; below AXIS_TIE either way it is a tie
 *     error     e = ln(ratio predicted / ratio measured)
 * Which of a pair is the first: in the order of rows, but where the first column that differs is
 * no whole number, in that of its texts. Pairs of one source, model, axis and difference (which
 * columns, from what to what) are one vote.
 */
#ifndef LAB_AXES_H
#define LAB_AXES_H

#include "lab/validate.h"

#define AXIS_TIE 0.0198026272961797 /* ln 1.02: a repeat on another cluster moves as much */

/* What tells one run from another, in the order in which differences are named. A set of them is a
 * mask of bits, 1 << number. */
#define AXIS_COLUMNS_MAX 64
extern const char *const axis_columns[];
extern const uint32_t axis_column_count;

/* AXIS_COLUMNS_MAX: there is no such column. */
uint32_t axis_column_find(const char *name);

enum axis_condition {
    AXIS_ANY,
    AXIS_LIKE_SIZES,   /* clusters within a factor of four */
    AXIS_LIKE_BATCHES, /* as many sequences for each GPU */
    AXIS_CONDITION_COUNT_
};

struct axis {
    const char *name;
    uint64_t defining, follows;
    enum axis_condition condition;
    bool is_apart; /* from the mean of axes: noise of releases, or what another axis has, too */
};
extern const uint32_t axis_count;
struct axis axis_get(uint32_t number);
const char *axis_name(uint32_t number);
bool axis_is_apart(uint32_t number);

struct pair {
    uint32_t axis, vote; /* votes are numbered over all axes */
    const struct validated_row *first, *second;
    uint64_t differs;   /* columns */
    const char *values; /* "micro_batch 1>2; recompute none>full": what of the defining ones does */
    double measured, error; /* x and e */
};

struct pairs {
    struct pair *items; /* axis by axis */
    uint32_t count, vote_count;
};

/* Rows of one or several tables, all predicted and measured. Compares each with each: some hundred
 * rows, and most end at the source. */
struct pairs axes_pairs(struct arena *arena, const struct validated_row *rows, uint32_t count);

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
};
struct axis_score axes_score(struct arena *arena, const struct pairs *pairs, uint32_t axis);

/* Means over the axes that are not apart and have so many votes; `pairs` is how many axes. */
struct axis_score axes_mean(const struct axis_score *scores, uint32_t votes_min);

#endif
