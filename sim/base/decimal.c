/* An integer below 2^53 and a power of ten up to 10^22 are doubles without a rounding, so their
 * product or quotient, rounded once, is the nearest to the number (W. D. Clinger, How to Read
 * Floating Point Numbers Accurately, PLDI 1990, section 5, the fast path).
 */
#include "base/decimal.h"

#include <stdint.h>

static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { EXPONENT_MOST = sizeof POWERS / sizeof *POWERS - 1 };

/* Its next digit may be 9, and it is still below 2^53. */
static const int64_t WHOLE_MOST = ((INT64_C(1) << 53) - 10) / 10;

bool decimal_read(const char *text, size_t length, int exponent10, double *value)
{
    const char *end = text + length;
    const bool is_negative = length > 0 && *text == '-';
    const char *at = text + (length > 0 && (*text == '-' || *text == '+') ? 1 : 0);
    const char *point = NULL; /* what follows it */
    int64_t whole = 0;
    size_t digits = 0;
    for (; at < end; at++) {
        if (*at >= '0' && *at <= '9' && whole <= WHOLE_MOST) {
            whole = 10 * whole + (*at - '0');
            digits++;
        } else if (*at == '.' && point == NULL) {
            point = at + 1;
        } else {
            return false;
        }
    }
    const int64_t exponent = exponent10 - (point != NULL ? end - point : 0);
    if (digits == 0 || exponent > EXPONENT_MOST || exponent < -EXPONENT_MOST) {
        return false;
    }
    const double number =
        exponent < 0 ? (double)whole / POWERS[-exponent] : (double)whole * POWERS[exponent];
    *value = is_negative ? -number : number;
    return true;
}
