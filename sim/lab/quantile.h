/* Quantiles of figures of a study: errors, ratios. */
#ifndef LAB_QUANTILE_H
#define LAB_QUANTILE_H

#include <stdint.h>

/* Sorts `values`. The value below which a share of them lies, interpolated between two as GSL and
 * others do (type 7 of Hyndman and Fan, 1996); 0 when there are none. */
double quantile_of(double *values, uint32_t count, double share);

#endif
