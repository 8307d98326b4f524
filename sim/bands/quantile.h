/* Quantiles of figures of a study: errors, ratios. */
#ifndef BANDS_QUANTILE_H
#define BANDS_QUANTILE_H

#include <stdint.h>

/* Sorts `values`. The value below which a share of them lies, interpolated between two as GSL and
 * others do (type 7 of Hyndman and Fan, 1996); 0 when there are none. */
double quantile_of(double *values, uint32_t count, double share);

/* A value that counts more or less than others. */
struct weighted {
    double value, weight; /* of at least 0, not all 0 */
};

/* Sorts `items`. Each stands in the middle of its share of all weight; between two the quantile is
 * a straight line, beyond the first and last it is these (type 5 of Hyndman and Fan, where all
 * weigh the same). 0 when there are none. */
double quantile_weighted(struct weighted *items, uint32_t count, double share);

/* The same of items by rising value. */
double quantile_sorted(const struct weighted *items, uint32_t count, double share);

#endif
