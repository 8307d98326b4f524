/* Which builds predicted the runs of a results file, as text for a list; and
 * the note that says by how much another build's predictions of the same
 * scenarios differ.
 */
#include "report/builds.h"

#include "base/arena.h"

#include <inttypes.h>

const char *builds_text(struct arena *arena, const struct store_build *builds, uint32_t count)
{
    if (count == 0) {
        return "no runs";
    }
    const char *text =
        arena_printf(arena, "runs of %" PRIu32 " build%s:", count, count > 1 ? "s" : "");
    for (uint32_t i = 0; i < count; i++) {
        text = arena_printf(arena, "%s%s %.*s (%" PRId64 ")", text, i > 0 ? "," : "", BUILDS_DIGITS,
                            builds[i].build, builds[i].runs);
    }
    return text;
}

void builds_note(struct diag *diag, const struct store_build *others, uint32_t count)
{
    if (count == 0) {
        return;
    }
    const struct store_build *last = &others[0];
    diag_add(diag, DIAG_NOTE, NULL,
             "another build, %.*s, predicted %" PRId64
             " of these, too: the step times of this one are %+.1f to %+.1f %% off",
             BUILDS_DIGITS, last->build, last->runs, 100 * last->change_min,
             100 * last->change_max);
    if (count > 1) {
        diag_help(diag, "so did %" PRIu32 " more; `stoker list runs` names them", count - 1);
    }
}
