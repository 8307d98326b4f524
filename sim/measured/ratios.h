/* Ratios of two runs of the same work: what validation says of a choice, apart from how far both
 * runs are off.
 *
 * Two rows of a source are a pair when one column differs, both state it as a number, and all other
 * columns that tell what was run are the same (but for those that follow from others: data
 * parallelism, microbatches, parameters). Of repeats each is paired. `measured` is the second row's
 * time over the first's, the first being the one with the smaller number; `predicted` likewise.
 */
#ifndef MEASURED_RATIOS_H
#define MEASURED_RATIOS_H

#include "measured/validate.h"

struct ratio {
    const struct validated_row *first, *second;
    double from, to; /* in the column; from < to */
    double measured, predicted;
    double error; /* predicted / measured - 1 */
};

/* Rows are those to be paired: predicted and measured. In the order of the rows. */
struct ratio *ratios_of(struct arena *arena, const struct validated_row *rows, uint32_t count,
                        const char *column, uint32_t *ratio_count);

struct ratio_score {
    uint32_t pairs;
    double mean;       /* of absolute errors; ABSENT: no pairs */
    double right_sign; /* share of pairs of which the faster one is foretold; ABSENT */
    double slope;      /* of ln predicted over ln measured, through the origin; ABSENT: no pair
                          differs */
};
struct ratio_score ratios_score(const struct ratio *ratios, uint32_t count);

#endif
