/* The pairs of measured runs from which ratios have their bands (bands/ratio_bands): made of rows,
 * written to models/ratios.csv, and how good the bands are that they give.
 */
#ifndef LAB_RATIO_PAIRS_H
#define LAB_RATIO_PAIRS_H

#include "bands/ratio_bands.h"
#include "lab/pairs.h"
#include "lab/predictions.h"

/* Of pairs that were found among rows. */
struct ratio_pairs ratio_pairs_of(struct arena *arena, const struct pairs *pairs);

/* False, with a DIAG_FAILURE. `predictions`: where these are from; NULL: all were simulated. */
MUST_USE bool ratio_pairs_write(struct arena *arena, const char *path, const struct pairs *pairs,
                                const struct predictions *predictions, struct diag *diag);

/* How good the bands are: each pair is held against those of other sources. Of an axis; or of all
 * that are not apart (axis_count). By votes: pairs of one share it. */
struct ratio_coverage {
    uint32_t votes;                   /* that have a band */
    double inside, width;             /* share of these; mean of ln(high / low); ABSENT: none */
    double clear, likely;             /* votes that are called so, pairs of one sharing it */
    double right_clear, right_likely; /* share that went as predicted; ABSENT: none */
};
struct ratio_coverage ratio_pairs_measure(struct arena *arena, const struct ratio_pairs *pairs,
                                          uint32_t axis);

#endif
