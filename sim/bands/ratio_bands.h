/* How far the ratio of two predictions may be off: the spread of errors among pairs of measured
 * runs that differ in one kind of setting, where errors that both runs share cancel.
 *
 * models/ratios.csv of the catalogue has a line for each pair (lab/pairs): its kind of difference,
 * its source and model, its two rows, what differs, whether its source was left out of the fit
 * that predicted it or was never fitted ("source", "unseen"), and the ratio of tokens/s/GPU,
 * measured and predicted.
 *
 * The band of a ratio r goes from r / f to r * f. Errors grow with the size of the difference: each
 * is divided by sqrt(0.1 + |ln r|), with |ln r| at most 1, and f is exp of that of r times the
 * error below which RATIO_SHARE of the votes lie. All votes count: those of the kind each 1, those
 * of all other kinds together as RATIO_POOL_VOTES, so that a kind of a few pairs has not the
 * band of these few. Two predictions that differ in several kinds: variances of logarithms add up.
 *
 *     clear               all of the band lies on one side of 1
 *     likely              all of the band of half the votes does
 *     too close to call   else
 *
 * ASSUMES: what several kinds of difference are off by is independent, and each is off as
 * if the whole ratio were its own, which errs to the wide side: of the 1,125 published pairs that
 * differ in two kinds, sources left out, 88 % lay inside, of the 645 of three 87 %.
 */
#ifndef BANDS_RATIO_BANDS_H
#define BANDS_RATIO_BANDS_H

#include "input/catalogue.h"
#include "bands/axes.h"

#define RATIO_FILE "models/ratios.csv"
#define RATIO_SHARE 0.8
#define RATIO_POOL_VOTES 20

/* Of the file, whose lines lab/ratio_pairs writes. */

/* A pair, as the file has it. */
struct ratio_pair {
    uint32_t axis, vote; /* votes are numbered over all axes */
    const char *source, *model;
    const char *first, *second; /* ids of the rows */
    const char *values;         /* what differs: "400 800" */
    const char *held_out;       /* "source": the prediction's fit did not see it */
    double measured, predicted; /* ln of the ratio */
};

struct ratio_pairs {
    const struct ratio_pair *items;
    uint32_t count, vote_count;
};

/* False, with a message, when the file is wrong. */
MUST_USE bool ratio_pairs_read(struct arena *arena, const char *path, struct ratio_pairs *pairs,
                               struct diag *diag);

/* As ratio_pairs_read reads it. False with a DIAG_FAILURE. */
MUST_USE bool ratio_pairs_save(struct arena *arena, const char *path,
                               const struct ratio_pairs *pairs, struct diag *diag);

/* Of the first catalogue directory that has the file. Else false and why; one that the system does
 * not let us read is a DIAG_FAILURE, too. */
MUST_USE bool ratio_pairs_load(struct arena *arena, const struct catalogue *catalogue,
                               struct ratio_pairs *pairs, const char **reason, struct diag *diag);

enum ratio_verdict { RATIO_CLEAR, RATIO_LIKELY, RATIO_CLOSE, RATIO_VERDICT_COUNT_ };
extern const char *const ratio_verdict_names[RATIO_VERDICT_COUNT_];

struct ratio_band {
    uint32_t votes;        /* of the kinds themselves; 0: one of them has none, so no band */
    double spread;         /* ln f; of a ratio of 1 without a difference 0 */
    double spread_of_half; /* the same of half the votes */
};

/* Of a predicted ratio (its ln) of two runs that differ in these kinds; without votes of a source
 * (NULL: of all). */
struct ratio_band ratio_band_of(struct arena *arena, const struct ratio_pairs *pairs,
                                const uint32_t *axes, uint32_t count, double predicted,
                                const char *without);

/* The same of all sources, for who asks often: what a kind of difference is off by is worked out
 * the first time that it is asked for. The pairs outlive it. */
struct ratio_kinds;
struct ratio_kinds *ratio_kinds_new(struct arena *arena, const struct ratio_pairs *pairs);
struct ratio_band ratio_kinds_band(struct ratio_kinds *kinds, const uint32_t *axes, uint32_t count,
                                   double predicted);

/* The same without the votes of a source (NULL: of all), worked out each time. */
struct ratio_band ratio_kinds_without(struct ratio_kinds *kinds, const uint32_t *axes,
                                      uint32_t count, double predicted, const char *source);

enum ratio_verdict ratio_band_verdict(const struct ratio_band *band, double predicted);

#endif
