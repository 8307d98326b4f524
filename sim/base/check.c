/* What a broken invariant does: it prints where it was found and which
 * condition did not hold, and ends the program with abort(), so that a core
 * file or a debugger shows the state.
 */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *file, int line, const char *function, const char *condition)
{
    fprintf(stderr, "%s:%d: %s: broken invariant: %s\n", file, line, function, condition);
    fflush(stderr);
    abort();
}
