/* A line that is wider than the terminal would be a new one each time. */
#include "cli/progress.h"

#include "report/study/study_sheet.h"

#include "base/absent.h"
#include "base/host.h"
#include "study/search/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define PERIOD_S 0.1
enum { COLUMNS = 79, TEXT_BYTES = 256 };

bool progress_is_shown(const struct cli *cli)
{
    return !cli->is_quiet && isatty(STDERR_FILENO) == 1;
}

bool progress_is_due(struct progress *progress)
{
    if (!progress_is_shown(progress->cli)) {
        return false;
    }
    const double now_s = host_now_s();
    const bool is_due = now_s - progress->shown_s >= PERIOD_S;
    progress->shown_s = is_due ? now_s : progress->shown_s;
    return is_due;
}

void progress_show(const char *text)
{
    fprintf(stderr, "\r%-*.*s%s", COLUMNS, COLUMNS, text, text[0] == '\0' ? "\r" : "");
    fflush(stderr);
}

void progress_search(struct progress *progress, const struct search_state *state)
{
    const struct search_counts *counts = &state->counts;
    const char *before = progress->before != NULL ? progress->before : "";
    char text[TEXT_BYTES];
    if (!progress_is_due(progress)) {
        return;
    }
    if (state->is_growing) {
        snprintf(text, sizeof text, "%s%.0f %% of the space: %" PRIu64 " layouts so far", before,
                 100 * state->grown, counts->layouts);
    } else if (is_absent(state->best)) {
        snprintf(text, sizeof text, "%s%" PRIu64 " layouts, %" PRIu64 " left, none found so far",
                 before, counts->layouts, counts->by_bound);
    } else {
        snprintf(text, sizeof text,
                 "%s%" PRIu64 " layouts, %" PRIu64 " left; best of %" PRIu64
                 " %.4g %s, gap %.2f %%",
                 before, counts->layouts, counts->by_bound, counts->simulated, state->best,
                 progress->unit, 100 * state->gap);
    }
    progress_show(text);
}

void progress_end(struct progress *progress)
{
    if (progress->shown_s > 0) {
        progress_show("");
        progress->shown_s = 0;
    }
}

void progress_room(const struct cli *cli, const struct study_start *start)
{
    struct diag *diag = diag_new(cli->arena); /* the command's is printed at its end */
    study_tell_room(start, diag);
    if (!cli->is_quiet) {
        diag_print(diag, stderr);
    }
}
