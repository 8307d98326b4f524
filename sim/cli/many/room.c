/* Messages of a diag of their own, which is printed at once: the command's comes at its end. */
#include "cli/many/room.h"

#include "base/units.h"

#include <inttypes.h>

enum { DIGITS = 3, TEXT_BYTES = 32 };

void room_tell(const struct cli *cli, const struct study_start *start)
{
    char need[TEXT_BYTES];
    char all[TEXT_BYTES];
    char has[TEXT_BYTES];
    const double need_bytes = (double)start->need_bytes;
    units_format(need_bytes, DIM_BYTES, DIGITS, need, sizeof need);
    units_format(need_bytes * start->jobs, DIM_BYTES, DIGITS, all, sizeof all);
    units_format((double)start->machine_bytes, DIM_BYTES, DIGITS, has, sizeof has);
    struct diag *diag = diag_new(cli->arena);
    const int64_t fitting = start->machine_bytes / start->need_bytes;
    if (fitting == 0) {
        diag_add(diag, DIAG_WARNING, NULL,
                 "'%s' needs about %s of memory to be simulated, and this machine has %s",
                 start->label, need, has);
        diag_help(diag, "without --fold=off most steps need little; or use a larger machine. What "
                        "is killed costs its point, and is run again by the same command");
    } else if (start->jobs > fitting) {
        diag_add(diag, DIAG_WARNING, NULL,
                 "%" PRIu32 " processes may need about %s of memory together (%s for '%s'), and "
                 "this machine has %s",
                 start->jobs, all, need, start->label, has);
        diag_help(diag, "-j %" PRId64 " has room", fitting);
    } else if (start->jobs < start->jobs_wanted) {
        diag_add(diag, DIAG_NOTE, NULL,
                 "%" PRIu32 " process%s, not %" PRIu32 ": each may need about %s of memory (for "
                 "'%s'), and this machine has %s",
                 start->jobs, start->jobs > 1 ? "es" : "", start->jobs_wanted, need, start->label,
                 has);
    }
    if (!cli->is_quiet) {
        diag_print(diag, stderr);
    }
}
