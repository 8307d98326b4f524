/* The command `stoker whatif`: what would help this run most, and why. Each question of
 * study/whatif is simulated by itself, ranked, and printed with the --set that asks it.
 */
#include "cli/anchor.h"
#include "cli/study/session.h"
#include "report/study/whatif_sheet.h"
#include "study/search/search_auto.h"
#include "study/whatif_found.h"

#define WHATIF_SCHEMA "stoker.whatif/1"

/* Begins with the session, so that shared parsers find it. */
struct asker {
    struct session session;
    struct study_base base;
    struct whatif_found found;
    const struct against *against; /* [row_count] */
};

static const struct command_option own_options[] = {
    {"by", 0, "days|usd|kwh",
     "What is to be least (default: days; of a step without a run its time)",
     OPTION_CHOICE(struct asker, found.by, whatif_by_names, WHATIF_BY_COUNT_)},
    {0},
};

static bool expand(struct session *session)
{
    struct asker *asker = (struct asker *)session;
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    session->catalogue = options_catalogue(options);
    asker->base = options_study_base(options, &session->catalogue);
    const struct doc_node *document = anchor_load_document(options, options->arguments.items[0]);
    if (document == NULL) {
        return false;
    }
    asker->base.jobs = (uint32_t)session->jobs;
    struct auto_layout found;
    const struct auto_hook hook = search_auto_hook(&asker->base);
    const struct whatif_asked asked = {
        document, &asker->base,
        auto_layout_resolve(cli->arena, document, &hook, &found, cli->diag)};
    if (asked.scenario == NULL) {
        return false;
    }
    return whatif_ask(cli->arena, &asked, &asker->found, &session->study, cli->diag);
}

static void prepare(struct session *session)
{
    struct asker *asker = (struct asker *)session;
    struct cli *cli = session->options.cli;
    asker->found.rows = session->rows;
    asker->found.row_count = session->row_count;
    const struct whatif_climb climb = {cli->arena, &asker->base, cli->diag, session_run_more,
                                       session};
    whatif_climb(&climb, &asker->found);
    asker->against = session_against(session, &session->rows[0]);
    session->series =
        whatif_series(cli->arena, &asker->found, asker->against, session->study.title);
}

static void add(struct session *session, struct sheet *sheet)
{
    const struct asker *asker = (const struct asker *)session;
    whatif_add(&asker->found, asker->against, sheet);
}

static int run(struct options *options)
{
    static const struct session_command command = {WHATIF_SCHEMA, expand, prepare, add};
    return session_main((struct session *)options, &command);
}

const struct command command_whatif = {
    .name = "whatif",
    .summary = "what would help a scenario most, each row simulated, with its --set",
    .arguments = "FILE",
    .about =
        "Simulates a scenario with one change at a time, for the same tokens: what is free "
        "(routing, checkpoints, recomputation, precision, microbatch, layout, and the best of the "
        "usual layouts, found by a search), what can be bought "
        "(twice each link, no oversubscription, faster storage, slow GPUs replaced), and ideals, "
        "which are upper bounds; then 5 % of each link up and down, and a ladder: the best, "
        "then the best given that. Each row has the --set that asks it."
        "\vExample: stoker whatif scenarios/quickstart.yaml --by usd\n"
        "Exit status 4: nothing of it fits; 5: some points failed.",
    .options = {options_prediction, options_anchor, options_store, options_no_store,
                session_options, own_options, options_table, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "a scenario file",
    .input_size = sizeof(struct asker),
    .run = run,
};
