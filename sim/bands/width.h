/* How wide a band is: a regression of the size of errors on what is known of a run.
 *
 * ln s = c0 + c1 x1 + ... + cn xn, s the expected |ln(measured / predicted)| of a run with features
 * x (width_features). A vote whose error is e costs ln s + e / s, the negative logarithm of an
 * exponential distribution; the coefficients are those of least cost of all votes, of which each
 * counts the same, plus WIDTH_PRIOR / 2 x ci^2 for each but c0. The cost is convex, so there is one
 * such set. Then c0 is moved until BAND_SHARE of the votes are off by less than s: four fifths of
 * runs like it lie within exp(width_of).
 *
 * ASSUMES: how much wider each feature makes a band does not hang on the other features.
 * ASSUMES: which way runs with a feature were off says nothing of which way this one will be. Slow
 * networks alone have a bias that sources agree on; with a centre of theirs bands of other sources'
 * runs would hold too few of them (results/VALIDATION.md).
 */
#ifndef BANDS_WIDTH_H
#define BANDS_WIDTH_H

#include "bands/band.h"

/* A coefficient of 0.45, half as wide again, costs as much as a vote's error three times the
 * expected: what few votes have moves little. */
#define WIDTH_PRIOR 5.0

/* Networks of clusters had 400 Gbps a node from 2021 on; what is slower was measured on few. */
#define WIDTH_USUAL_BYTES_PER_S 50e9

struct width_feature {
    const char *name;                               /* in files and JSON, "experts" */
    const char *says;                               /* on screens, "a mixture of experts" */
    double (*of)(const struct band_traits *traits); /* 0: what the others are measured against */
};
extern const struct width_feature width_features[WIDTH_FEATURE_COUNT];

/* Of these votes, as if they had none of the features `left_out` (bits 1 << row): 0 is the
 * regression, WIDTH_CONSTANT what it has to beat, one width for all. */
#define WIDTH_CONSTANT ((1U << WIDTH_FEATURE_COUNT) - 1)
struct band_width width_fit(struct arena *arena, const struct band_vote *votes, uint32_t count,
                            uint32_t left_out);

/* The factors of width_of that are not 1; *count of them. */
const struct band_part *width_parts(struct arena *arena, const struct band_width *width,
                                    const struct band_traits *traits, uint32_t *count);

/* ln f, such that four fifths of runs like it lie from 1 / f to f times their prediction. */
double width_of(const struct band_width *width, const struct band_traits *traits);

#endif
