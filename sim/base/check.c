#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *file, int line, const char *function, const char *condition)
{
    fprintf(stderr, "%s:%d: %s: broken invariant: %s\n", file, line, function, condition);
    fflush(stderr);
    abort();
}
