/* GSL's quantile of unsorted data (linear between neighbours), which the lab
 * uses for all its medians and p90s. It sorts the caller's array in place.
 */
#include "lab/quantile.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

double quantile_of(double *values, uint32_t count, double share)
{
    if (count == 0) {
        return 0.0;
    }
    gsl_sort(values, 1, count);
    return gsl_stats_quantile_from_sorted_data(values, 1, count, share);
}
