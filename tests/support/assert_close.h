/* assert_close(actual, expected, relative): |actual - expected| <= relative *
 * |expected|, in double precision (cmocka's own comparison is in float). */
#ifndef TESTS_SUPPORT_ASSERT_CLOSE_H
#define TESTS_SUPPORT_ASSERT_CLOSE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_close(actual, expected, relative) \
    assert_close_at(actual, expected, relative, #actual, __FILE__, __LINE__)

static inline void assert_close_at(double actual, double expected, double relative,
                                   const char *what, const char *file, int line)
{
    /* Written so that a NaN fails. */
    if (!(fabs(actual - expected) <= relative * fabs(expected))) {
        print_error("%s = %.17g, expected %.17g within %g of it\n", what, actual, expected,
                    relative);
        _fail(file, line);
    }
}

#endif
