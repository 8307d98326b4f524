/* A portfolio is expanded with each job's anchor and, with --best, its layouts;
 * study/portfolio_found judges, report/study/portfolio_sheet says.
 */
#include "cli/study/portfolios.h"

#include "base/arena.h"
#include "cli/anchor.h"
#include "cli/study/bests.h"
#include "report/study/portfolio_sheet.h"

/* Each point of a job with the layout that is best there. */
static bool lay_out(struct sweeper *sweeper, const struct study_base *base, uint32_t job)
{
    struct portfolio_found *all = sweeper->portfolios;
    struct arena *arena = sweeper->session.options.cli->arena;
    const uint32_t count = all->fabrics.count;
    struct study_point *points = &sweeper->session.study.points[(size_t)job * count];
    const struct study values = {.points = points, .count = count};
    const struct best_request request = {
        .document = all->portfolio.jobs[job].document, .base = base, .values = &values};
    struct best_layout *layouts = arena_array(arena, count, sizeof *layouts);
    if (!sweeper_find_bests(sweeper, &request, layouts)) {
        return false;
    }
    for (uint32_t f = 0; f < count; f++) {
        if (layouts[f].is_found) {
            const struct study_point value = points[f];
            best_lay_out(arena, &value, &layouts[f], &points[f]);
            all->layouts[job * count + f] = layouts[f].label;
        }
    }
    return true;
}

/* Each job's own anchor moves its level on all fabrics. */
static bool put_anchors(const struct options *options, struct portfolio *portfolio)
{
    const struct doc_node *documents[PORTFOLIO_JOBS_MAX];
    for (uint32_t i = 0; i < portfolio->job_count; i++) {
        documents[i] = portfolio->jobs[i].document;
    }
    const bool is_good = anchor_put(options, documents, portfolio->job_count);
    for (uint32_t i = 0; i < portfolio->job_count; i++) {
        portfolio->jobs[i].document = documents[i];
    }
    return is_good;
}

bool portfolios_expand(struct sweeper *sweeper, const struct doc_node *document,
                       const struct study_base *base)
{
    struct session *session = &sweeper->session;
    struct cli *cli = session->options.cli;
    struct portfolio_found *all = arena_alloc(cli->arena, sizeof *all);
    *all = (struct portfolio_found){.layouts = NULL};
    sweeper->portfolios = all;
    if (!portfolio_read(cli->arena, document, &session->catalogue, &all->portfolio, cli->diag) ||
        !put_anchors(&session->options, &all->portfolio) ||
        !portfolio_expand(cli->arena, &all->portfolio, base, &session->study, &all->fabrics,
                          cli->diag)) {
        return false;
    }
    all->layouts = arena_array(cli->arena, session->study.count, sizeof *all->layouts);
    for (uint32_t job = 0; sweeper->best != BEST_NONE && job < all->portfolio.job_count; job++) {
        if (!lay_out(sweeper, base, job)) {
            return false;
        }
    }
    const bool is_good = study_of_points(cli->arena, document, base, &session->study, cli->diag) &&
                         portfolio_check(&all->portfolio, &session->study, all->fabrics.count,
                                         &session->catalogue, cli->diag);
    session->study.title = all->portfolio.title;
    return is_good;
}

void portfolios_answer(const struct sweeper *sweeper, struct sheet *sheet)
{
    const struct session *session = &sweeper->session;
    struct arena *arena = session->options.cli->arena;
    const struct against_points points = session_points(session);
    portfolio_judge(arena, &points, sweeper->portfolios);
    sheet_answer(sheet, portfolio_answer(arena, sweeper->portfolios));
}

void portfolios_add(const struct sweeper *sweeper, struct sheet *sheet)
{
    const struct session *session = &sweeper->session;
    struct cli *cli = session->options.cli;
    const struct against_rows rows = {session->rows, NULL, session->row_count};
    portfolio_add(sweeper->portfolios, &rows, sweeper->best != BEST_NONE, sheet, cli->diag);
}
