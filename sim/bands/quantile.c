/* GSL's quantile of unsorted data (linear between neighbours), which the lab
 * uses for all its medians and p90s. It sorts the caller's array in place.
 */
#include "bands/quantile.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <stdlib.h>

double quantile_of(double *values, uint32_t count, double share)
{
    if (count == 0) {
        return 0.0;
    }
    gsl_sort(values, 1, count);
    return gsl_stats_quantile_from_sorted_data(values, 1, count, share);
}

static int compare_values(const void *a, const void *b)
{
    const double x = ((const struct weighted *)a)->value;
    const double y = ((const struct weighted *)b)->value;
    return (x > y) - (x < y);
}

double quantile_weighted(struct weighted *items, uint32_t count, double share)
{
    qsort(items, count, sizeof *items, compare_values);
    return quantile_sorted(items, count, share);
}

double quantile_sorted(const struct weighted *items, uint32_t count, double share)
{
    double all = 0, below = 0, last = 0;
    for (uint32_t i = 0; i < count; i++) {
        all += items[i].weight;
    }
    for (uint32_t i = 0; i < count; i++) {
        const double middle = (below + items[i].weight / 2) / all;
        if (middle >= share) {
            return i == 0 ? items[0].value
                          : items[i - 1].value + (items[i].value - items[i - 1].value) *
                                                     (share - last) / (middle - last);
        }
        below += items[i].weight;
        last = middle;
    }
    return count > 0 ? items[count - 1].value : 0.0;
}
