/* The command `stoker whatif`: what would help this run most, and why. Each question of
 * study/whatif is simulated by itself, ranked, and printed with the --set that asks it.
 */
#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/printable.h"
#include "cli/anchor.h"
#include "cli/study/session.h"
#include "input/scenario_load.h"
#include "report/against_sheet.h"
#include "report/show/show_yaml.h"
#include "report/study/whatif_sheet.h"
#include "report/yaml_page.h"
#include "study/search/search_auto.h"
#include "study/whatif_found.h"

#include <inttypes.h>
#include <string.h>

#define WHATIF_SCHEMA "stoker.whatif/1"

enum { WHATIF_ROWS_MAX = 1000 };

/* Begins with the session, so that shared parsers find it. */
struct asker {
    struct session session;
    struct study_base base;
    struct whatif_found found;
    const struct against *against; /* [row_count] */
    const struct wins *wins;       /* [row_count] of each row beside the scenario as it is */
    bool has_sets;
    int64_t apply; /* a row's number; 0: none */
};

static const struct command_option own_options[] = {
    {"by", 0, "days|usd|kwh",
     "What is to be least (default: days; of a step without a run its time)",
     OPTION_CHOICE(struct asker, found.by, whatif_by_names, WHATIF_BY_COUNT_)},
    {"sets", 0, NULL, "Print the --set of each numbered row below the table",
     OPTION_FLAG(struct asker, has_sets)},
    {"apply", 0, "N", "Print the scenario with what row N changes, in place of the table",
     OPTION_COUNT(struct asker, apply, 1, WHATIF_ROWS_MAX)},
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

/* In what share of draws each row is better than the scenario as it is. */
static const struct wins *wins_of_rows(const struct session *session, const struct against *against)
{
    struct arena *arena = session->options.cli->arena;
    struct wins *all = arena_array(arena, session->row_count + (size_t)1, sizeof *all);
    for (uint32_t i = 0; i < session->row_count; i++) {
        const struct store_row rows[] = {session->rows[0], session->rows[i]};
        const struct against both[] = {against[0], against[i]};
        struct against_points points = session_points(session);
        points.rows = rows;
        points.count = 2;
        const struct wins *wins = i > 0 ? against_wins(arena, &points, &rows[0], both) : NULL;
        all[i] = wins != NULL ? wins[1] : (struct wins){NULL, ABSENT, ABSENT, ABSENT, ABSENT};
        all[i].label = session->rows[i].label;
    }
    return all;
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
    asker->wins = wins_of_rows(session, asker->against);
    session->series =
        whatif_series(cli->arena, &asker->found, asker->against, session->study.title);
}

static void add(struct session *session, struct sheet *sheet)
{
    const struct asker *asker = (const struct asker *)session;
    whatif_add(&asker->found, asker->against, asker->wins, asker->has_sets, sheet);
}

static void answer(struct session *session, struct sheet *sheet)
{
    const struct asker *asker = (const struct asker *)session;
    sheet_answer(sheet, whatif_answer(session->options.cli->arena, &asker->found, asker->against));
}

/* "cluster.nics.count=16" where the file has a cluster's name: the cluster stands there then. */
static bool set_key(struct cli *cli, const struct doc_node *all, const char *set,
                    struct doc_node *document)
{
    const size_t length = strcspn(set, ".=");
    const char *section = arena_strndup(cli->arena, set, length);
    const struct doc_node *named = doc_find(document, section);
    const struct doc_node *whole = doc_find(all, section);
    const bool is_name = set[length] == '.' && named != NULL && named->kind == DOC_SCALAR &&
                         whole != NULL && whole->kind == DOC_MAPPING;
    return (!is_name || doc_put(cli->arena, document, section, whole, cli->diag)) &&
           doc_set(cli->arena, document, set, cli->diag);
}

/* The file as it stands, what was set, and what the row sets. */
static bool print_applied(struct session *session)
{
    if (((const struct asker *)session)->apply == 0) {
        return false;
    }
    const struct asker *asker = (const struct asker *)session;
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    const struct whatif_list list = whatif_listed(&asker->found, cli->arena);
    if ((uint64_t)asker->apply > list.count) {
        diag_add(cli->diag, DIAG_INPUT, NULL, "--apply %" PRId64 ": the table has %" PRIu32 " rows",
                 asker->apply, list.count);
        return true;
    }
    const struct whatif_remedy *remedy =
        whatif_remedy_of(&asker->found, &asker->found.rows[list.shown[asker->apply - 1]]);
    struct doc_node *document =
        scenario_load_document(cli->arena, options->arguments.items[0], cli->diag);
    bool is_good = document != NULL;
    for (size_t i = 0; i < options->sets.count && is_good; i++) {
        is_good = set_key(cli, whatif_whole(&asker->found), options->sets.items[i], document);
    }
    for (uint32_t i = 0; i < remedy->set_count && is_good; i++) {
        is_good = set_key(cli, whatif_whole(&asker->found), remedy->sets[i], document);
    }
    if (is_good) {
        struct yaml_page page;
        FILE *out = yaml_page_begin(&page, cli->arena, stdout);
        fprintf(out, "# %s of `stoker whatif %s`\n", remedy->name,
                printable_line(cli->arena, options->arguments.items[0]));
        const struct show_yaml yaml = {.arena = cli->arena, .root = document, .path = ""};
        show_yaml_print(&yaml, out);
        const bool is_written = options_yaml_end(options, &page);
        sim_assert(is_written || diag_has_error(cli->diag));
    }
    return true;
}

static int run(struct options *options)
{
    const struct asker *asker = (const struct asker *)options;
    if (asker->apply > 0 && !options_refuse(options, "json format tables sets wide plot",
                                            "--apply, which prints a scenario", "leave it out")) {
        return EXIT_USAGE;
    }
    static const struct session_command command = {WHATIF_SCHEMA, expand, prepare,
                                                   add,           answer, print_applied};
    return session_main((struct session *)options, &command);
}

const struct command command_whatif = {
    .name = "whatif",
    .summary = "what would help a scenario most, each row simulated, with its --set",
    .scenarios = SCENARIOS_FIRST,
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
                session_options, own_options, options_table, options_page, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "a scenario file",
    .input_size = sizeof(struct asker),
    .run = run,
};
