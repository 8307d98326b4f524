/* A number that may not exist: the days of a run that nobody asked for, the MFU of a plan that
 * does not fit. It is never 0, which would be an answer.
 *
 * Where such a number is a double, ABSENT stands in its place: a NaN, which means nothing else. It
 * is NULL in the store, null in JSON, blank in CSV and "-" on the screen, and it takes part in no
 * minimum, maximum or ranking.
 */
#ifndef BASE_ABSENT_H
#define BASE_ABSENT_H

#include <math.h>
#include <stdbool.h>

#define ABSENT ((double)NAN)

static inline bool is_absent(double value)
{
    return isnan(value);
}

#endif
