/* Options become a request to study/bests, with progress on stderr. */
#include "cli/study/bests.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/printable.h"
#include "bands/memory_errors.h"
#include "cli/progress.h"
#include "report/against_sheet.h"
#include "report/study/bests_sheet.h"

#include <string.h>

/* Of one value after the other. */
struct bests_progress {
    struct progress line;
    struct arena *arena;
};

static void begin(void *context, const struct study_point *point)
{
    struct bests_progress *progress = context;
    progress->line.before =
        arena_printf(progress->arena, "%s: ", printable_line(progress->arena, point->label));
}

static bool show(void *context, const struct search_state *state)
{
    progress_search(&((struct bests_progress *)context)->line, state);
    return true;
}

bool sweeper_find_bests(struct sweeper *sweeper, const struct best_request *asked,
                        struct best_layout *layouts)
{
    struct session *session = &sweeper->session;
    struct cli *cli = session->options.cli;
    struct bests_progress progress = {.line = {.cli = cli, .unit = search_by_units[sweeper->by]},
                                      .arena = cli->arena};
    struct best_request request = *asked;
    request.by = (enum search_by)sweeper->by;
    request.gap = sweeper->gap;
    request.jobs = (uint32_t)session->jobs;
    request.folds = session->options.folds;
    request.is_usual = sweeper->best == BEST_USUAL;
    request.begins = begin;
    request.goes_on = show;
    request.context = &progress;
    const bool is_good = bests_find(cli->arena, &request, layouts, cli->diag);
    progress_end(&progress.line);
    return is_good;
}

bool sweeper_expand_bests(struct sweeper *sweeper, const struct doc_node *document,
                          const struct study_base *base)
{
    struct session *session = &sweeper->session;
    struct cli *cli = session->options.cli;
    struct bests *bests = &sweeper->bests;
    bests->values = session->study;
    bests->requirements = &session->requirements;
    bests->memory_errors = memory_errors_open(cli->arena, base->catalogue, cli->diag);
    bests->layouts = arena_array(cli->arena, bests->values.count, sizeof *bests->layouts);
    const struct best_request request = {
        .document = document,
        .base = base,
        .values = &bests->values,
        .by = (enum search_by)sweeper->by,
        .near = bests->memory_errors != NULL ? bests->memory_errors->near : 0,
        .require = requirements_of_search(&session->requirements, cli->arena,
                                          search_by_metrics[sweeper->by])};
    if (!sweeper_find_bests(sweeper, &request, bests->layouts)) {
        return false;
    }
    const bool is_good = bests_study(cli->arena, &request, bests, &session->study, cli->diag);
    if (!is_good && session->study.count == 0) {
        bests_help_near(cli->arena, bests, cli->diag);
    }
    return is_good;
}

static bool is_drawn(const struct session *session)
{
    for (uint32_t i = 0; i < session->plots.count; i++) {
        if (strcmp(session->wishes[i].kind, "best") == 0) {
            return true;
        }
    }
    return false;
}

void sweeper_prepare_bests(struct sweeper *sweeper)
{
    struct session *session = &sweeper->session;
    sweeper->bests.rows = session->rows;
    sweeper->bests.row_count = session->row_count;
    if (!is_drawn(session)) {
        return;
    }
    struct plot_series *series =
        bests_series(session->options.cli->arena, &sweeper->bests, session->study.title);
    struct store_row *today = NULL;
    if (sweeper->has_own_layout &&
        session_run_more(session, &sweeper->bests.values, &today, &series->today_count)) {
        series->today = today;
    }
    session->best_series = series;
}

/* In what share of draws each value wins, at its own best: [values.count], of those that have a
 * result; NULL: fewer than two can be told. */
static const struct wins *wins_of_values(const struct sweeper *sweeper,
                                         const struct against_rows *winners)
{
    const struct session *session = &sweeper->session;
    const struct bests *bests = &sweeper->bests;
    struct arena *arena = session->options.cli->arena;
    struct against_points points = session_points(session);
    points.rows = winners->rows;
    points.count = winners->count;
    const struct store_row *base = bests_row(bests, bests_first(bests), bests_first(bests));
    const struct wins *found =
        against_wins(arena, &points, base != NULL ? base : winners->rows, winners->against);
    struct wins *wins = arena_array(arena, bests->values.count + (size_t)1, sizeof *wins);
    uint32_t next = 0;
    for (uint32_t i = 0; i < bests->values.count; i++) {
        wins[i] = found != NULL && bests_row(bests, i, i) != NULL
                      ? found[next++]
                      : (struct wins){.days_share = ABSENT, .usd_share = ABSENT};
    }
    return found != NULL ? wins : NULL;
}

static const struct against *against_of_bests(struct sweeper *sweeper)
{
    struct session *session = &sweeper->session;
    const uint32_t first = bests_first(&sweeper->bests);
    const struct store_row *base = bests_row(&sweeper->bests, first, first);
    return session_against(session, base != NULL ? base : session->rows);
}

void sweeper_answer_bests(struct sweeper *sweeper, struct sheet *sheet)
{
    sheet_answer(sheet, bests_answer(sweeper->session.options.cli->arena, &sweeper->bests,
                                     against_of_bests(sweeper)));
}

void sweeper_add_bests(struct sweeper *sweeper, struct sheet *sheet)
{
    struct session *session = &sweeper->session;
    const struct bests *bests = &sweeper->bests;
    struct arena *arena = session->options.cli->arena;
    const struct against *against = against_of_bests(sweeper);
    struct against_rows winners;
    struct against *held;
    winners.rows = bests_winners(arena, bests, against, &held, &winners.count);
    winners.against = held;
    bests_add(bests, against, wins_of_values(sweeper, &winners), sheet);
    const struct near_points near = bests_near(arena, bests);
    session_add_required_of(session, &winners, &near, sheet);
}
