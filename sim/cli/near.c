/* The share of measured peaks that would have fit, or not, says how near is near. */
#include "cli/near.h"

#include "base/arena.h"

#include <inttypes.h>
#include <math.h>

const struct memory_errors *near_errors(const struct options *options,
                                        const struct catalogue *catalogue)
{
    struct cli *cli = options->cli;
    struct memory_errors *errors = arena_alloc(cli->arena, sizeof *errors);
    const char *reason = NULL;
    if (memory_errors_load(cli->arena, catalogue, errors, &reason, cli->diag)) {
        return errors;
    }
    diag_add(cli->diag, DIAG_NOTE, NULL, "what nearly fits is not told from what does not: %s",
             reason);
    return NULL;
}

double near_over(double needed_bytes, double limit_bytes)
{
    return needed_bytes / limit_bytes - 1.0;
}

const char *near_words(struct arena *arena, const struct memory_errors *errors, double over)
{
    if (errors == NULL || fabs(over) > errors->median) {
        return NULL;
    }
    const double below = memory_errors_share(errors, over);
    return arena_printf(arena,
                        "by %.2g %%, less than the error of memory: of %" PRIu32
                        " measured peaks, off by %.1f %% in the median, %.0f %% lay so far %s "
                        "their prediction",
                        100 * fabs(over), errors->count, 100 * errors->median,
                        100 * (over > 0 ? below : 1.0 - below), over > 0 ? "below" : "above");
}
