/* It lets study/policy search, then prints what was stored, as the search of layouts does.
 */
#include "cli/study/policies.h"

#include "base/arena.h"
#include "base/host.h"
#include "cli/progress.h"
#include "report/study/policies_sheet.h"
#include "study/search/search_auto.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define POLICIES_SCHEMA "stoker.policies/1"

enum { PROGRESS_BYTES = 160 };

struct policies {
    struct session session;
    const struct doc_node *document;
    struct study_base base;
    struct policy_space space;
    enum policy_by by;
    uint32_t top;
    struct policy_found found;
    struct policy_point *points; /* of the session's study */
    struct progress progress;
    double host_s;
};

/* ---- searching --------------------------------------------------------------------------- */

static void show_progress(void *context, uint32_t tried, uint32_t wanted)
{
    struct policies *policies = context;
    char text[PROGRESS_BYTES];
    if (!progress_is_due(&policies->progress)) {
        return;
    }
    snprintf(text, sizeof text, "%" PRIu32 " of %" PRIu32 " policies", tried, wanted);
    progress_show(text);
}

static struct policy_request request_of(struct policies *policies)
{
    return (struct policy_request){
        .document = policies->document,
        .base = &policies->base,
        .space = &policies->space,
        .by = policies->by,
        .folds = policies->session.options.folds,
        .top = policies->top,
        .on_policy = show_progress,
        .context = policies,
    };
}

static bool read_space(struct policies *policies)
{
    struct cli *cli = policies->session.options.cli;
    struct auto_layout found;
    const struct auto_hook hook = search_auto_hook(&policies->base);
    const struct scenario *scenario =
        auto_layout_resolve(cli->arena, policies->document, &hook, &found, cli->diag);
    policies->base = search_auto_base(cli->arena, &policies->base, &found);
    return scenario != NULL &&
           policy_space_read(cli->arena, policies->document, &policies->space, cli->diag) &&
           policy_check(scenario, policies->by, policies->document, cli->diag);
}

static bool expand(struct session *session)
{
    struct policies *policies = (struct policies *)session;
    struct cli *cli = session->options.cli;
    session->catalogue = options_catalogue(&session->options);
    policies->base = options_study_base(&session->options, &session->catalogue);
    if (!read_space(policies) || !session_begin(session)) {
        return false;
    }
    policy_space_warn(&policies->space, policies->base.sets, policies->base.set_count, cli->diag);
    const struct policy_request request = request_of(policies);
    policies->progress = (struct progress){.cli = cli};
    const double begin_s = host_now_s();
    const bool is_good = policy_search(cli->arena, &request, &policies->found, cli->diag);
    policies->host_s = host_now_s() - begin_s;
    progress_end(&policies->progress);
    if (!is_good) {
        return false;
    }
    if (policies->found.good == 0) {
        return policies_tell_nothing(&policies->found, policies->document, cli->diag);
    }
    return policy_study(cli->arena, &request, &policies->found, &session->study, &policies->points,
                        cli->diag);
}

static void add(struct session *session, struct sheet *sheet)
{
    const struct policies *policies = (const struct policies *)session;
    const struct policies_shown shown = {&policies->found, &policies->space, policies->by,
                                         policies->points, policies->host_s};
    struct shown_points points = session_shown(session, NULL, 0);
    if (!points.columns.are_asked) {
        points.columns = policies_columns(session->options.cli->arena);
    }
    policies_add(&shown, &points, sheet);
}

int policies_main(struct session *session, const struct doc_node *document, enum policy_by by,
                  uint32_t top)
{
    static const struct session_command command = {
        .schema = POLICIES_SCHEMA, .expand = expand, .prepare = NULL, .add = add};
    const struct options *options = &session->options;
    if (by == POLICY_BY_COUNT_) {
        diag_add(options->cli->diag, DIAG_USAGE, NULL, "--by step: no policy changes the step");
        diag_help(options->cli->diag, "say --by days, cost, energy or goodput");
        return EXIT_USAGE;
    }
    if (!options_refuse(options, "gap", "a search of policies", "leave it out") ||
        !options_refuse(options, "shard slurm parallel write-found read-found",
                        "a search of policies", "it is one process; leave it out")) {
        return EXIT_USAGE;
    }
    struct policies policies = {.session = *session, .document = document, .by = by, .top = top};
    const int status = session_main(&policies.session, &command);
    policy_forget(&policies.found);
    return status;
}
