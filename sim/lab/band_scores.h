/* How good bands are, class by class, out of fold: each vote of the catalogue is held against the
 * band that the other sources' votes make, by the regression of widths (bands/width) and, beside
 * it, by one width for all.
 */
#ifndef LAB_BAND_SCORES_H
#define LAB_BAND_SCORES_H

#include "bands/width.h"

/* Of votes of a class; ABSENT where there are none. */
struct band_line {
    double inside;
    /* How probable it is that so many lie inside, or what is no likelier, were each of them to by
     * BAND_SHARE, as if votes knew nothing of each other: exact, two-sided binomial. */
    double p;
    double width, score; /* means of ln f, either side, and of band_score */
};

struct band_class {
    const char *name;
    uint32_t votes;
    struct band_line own, plain; /* by the regression; by one width */
};

/* Of all votes first. */
const struct band_class *band_classes(struct arena *arena, const struct band_votes *votes,
                                      uint32_t *count);

/* A feature of the regression. */
struct band_feature {
    const char *says;
    double times;   /* as wide with one of it, by all votes */
    double without; /* the score of all votes, out of fold, of the regression without it */
};
void band_features(struct arena *arena, const struct band_votes *votes,
                   struct band_feature features[WIDTH_FEATURE_COUNT]);

#endif
