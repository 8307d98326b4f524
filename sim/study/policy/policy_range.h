/* The best of a range of intervals, of which each costs much to try and all meet the same failures.
 *
 * Some that lie evenly by their logarithm are tried, ends included; then the best of them and its
 * neighbours are closed in on by golden section (GSL's), until the interval is known to 1 % or one
 * step. Where the best is an end, the half beside it is looked at in the same way.
 */
#ifndef STUDY_POLICY_POLICY_RANGE_H
#define STUDY_POLICY_POLICY_RANGE_H

#include <stdint.h>

struct policy_range {
    int64_t least, most; /* steps, 1 or more; most may be less: then the range is `least` alone */
    /* The same whenever it is asked; HUGE_VAL: not to be had. */
    double (*loss_at)(void *context, int64_t steps);
    void *context;
};

/* The best that was tried; of equal ones the shortest. */
int64_t policy_range_search(const struct policy_range *range);

#endif
