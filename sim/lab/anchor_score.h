/* What anchors would have been worth to those who published.
 *
 * Of each source every run in turn is the anchor of every other one of the same model, which is
 * then predicted by the fit that did not see the source, and by what other sources say of weight
 * and band (measured/anchor).
 *
 * A line for each number of kinds of difference (bands/axes) between the two; runs that differ in
 * what no measured pair does are apart. Each source counts as much, whatever the number of its
 * pairs.
 */
#ifndef LAB_ANCHOR_SCORE_H
#define LAB_ANCHOR_SCORE_H

#include "measured/anchor.h"
#include "measured/validate.h"

#define ANCHOR_LINES 6 /* none, 1, 2, 3, more; not measured */

struct anchor_score {
    const char *name;
    uint32_t pairs, sources;       /* pairs: ordered */
    double alone, whole, weighted; /* means of absolute errors: no anchor, weight 1, the best */
    double weight;                 /* mean */
    double right_way;              /* share of pairs whose errors have one sign */
    double inside_alone, inside;   /* share in the band without the anchor, and with it */
    double width_alone, width;     /* mean ln(high / low) of these */
};

/* Of rows that are predicted and measured: one of each vote. */
void anchor_scores(const struct catalogue *catalogue, const struct anchor_evidence *evidence,
                   const struct validated_row *rows, uint32_t count,
                   struct anchor_score scores[ANCHOR_LINES]);

#endif
