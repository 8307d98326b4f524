/* The double nearest to a decimal number, where that takes one operation.
 *
 * Files hold short numbers ("0.9371", "400"), and strtod, which is right for every text, takes some
 * five hundred instructions for each.
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>

/* [+-] digits with at most one point among them, times 10^exponent10: what strtod makes of it, to
 * the bit. False, and *value as it was, where it is anything else, or so long or so far from 1 that
 * more than one rounding would be needed: ask strtod. */
MUST_USE bool decimal_read(const char *text, size_t length, int exponent10, double *value);

#endif
