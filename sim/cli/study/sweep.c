/* The command `stoker sweep`: it predicts every point of a study and prints
 * them as a table.
 */
#include "base/arena.h"
#include "cli/anchor.h"
#include "cli/study/bests.h"
#include "cli/study/portfolios.h"
#include "input/study/auto_keys.h"
#include "report/page.h"
#include "report/study/sweep_sheet.h"
#include "study/axes.h"

#include <inttypes.h>

#define SWEEP_SCHEMA "stoker.sweep/1"

/* That the others are held against: the first that has a result. */
static const struct store_row *base_row(const struct session *session)
{
    uint32_t i = 0;
    while (i + 1 < session->row_count && !store_row_is_good(&session->rows[i])) {
        i++;
    }
    return &session->rows[i];
}

static bool is_of_portfolio(const struct options *options)
{
    return options_given(options, "portfolio");
}

static void answer(struct session *session, struct sheet *sheet)
{
    struct sweeper *sweeper = (struct sweeper *)session;
    if (is_of_portfolio(&session->options)) {
        portfolios_answer(sweeper, sheet);
        return;
    }
    if (sweeper->best != BEST_NONE) {
        sweeper_answer_bests(sweeper, sheet);
    } else {
        const struct against *against = session_against(session, base_row(session));
        const struct shown_points points = session_shown(session, against, USUAL_IN_SWEEP);
        sweep_answer(&points, sheet);
    }
}

static void add(struct session *session, struct sheet *sheet)
{
    struct sweeper *sweeper = (struct sweeper *)session;
    if (is_of_portfolio(&session->options)) {
        portfolios_add(sweeper, sheet);
        return;
    }
    if (sweeper->best != BEST_NONE) {
        sweeper_add_bests(sweeper, sheet);
        return;
    }
    const struct store_row *base = base_row(session);
    const struct against *against = session_against(session, base);
    const struct shown_points points = session_shown(session, against, USUAL_IN_SWEEP);
    const bool is_page = session->options.style == SHEET_AS_TEXT && !session->options.is_wide;
    sweeper->listing.page_width = is_page ? page_width(stdout) : 0;
    sweep_add(&points, &sweeper->listing, base, sheet);
    session_add_required(session, against, sheet);
}

/* A portfolio and a scenario are taken for one another easily. */
static bool check_kind(const struct options *options, const struct doc_node *document)
{
    struct diag *diag = options->cli->diag;
    const struct doc_node *portfolio = doc_find(document, "portfolio");
    if (portfolio != NULL && !is_of_portfolio(options)) {
        diag_add(diag, DIAG_INPUT, &portfolio->key_place, "this is a portfolio, not a scenario");
        diag_help(diag, "sweep it with `stoker sweep --portfolio %s`", options->arguments.items[0]);
        return false;
    }
    if (portfolio == NULL && is_of_portfolio(options)) {
        diag_add(diag, DIAG_INPUT, &document->place, "there is no portfolio: in it");
        diag_help(diag, "write one like portfolio: [{scenario: dense.yaml, weight: 60 %%}, "
                        "{scenario: moe.yaml, weight: 40 %%}] with sweep: and lose:");
        return false;
    }
    return true;
}

static bool expand(struct session *session)
{
    struct sweeper *sweeper = (struct sweeper *)session;
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    session->catalogue = options_catalogue(options);
    struct study_base base = options_study_base(options, &session->catalogue);
    base.jobs = (uint32_t)session->jobs;
    const struct doc_node *read = anchor_load_document(options, options->arguments.items[0]);
    const struct doc_node *swept = read != NULL ? axes_add(cli->arena, read, sweeper->axes.items,
                                                           sweeper->axes.count, cli->diag)
                                                : NULL;
    const struct doc_node *document =
        swept != NULL && sweeper->best != BEST_NONE ? auto_keys_left_out(cli->arena, swept) : swept;
    if (document == NULL) {
        return false;
    }
    sweeper->has_own_layout = auto_keys_of(cli->arena, swept, base.sets, base.set_count).count == 0;
    if (!check_kind(options, document)) {
        return false;
    }
    if (is_of_portfolio(options)) {
        return portfolios_expand(sweeper, document, &base);
    }
    if (!study_is_asked(document)) {
        diag_add(cli->diag, DIAG_INPUT, &document->place, "there is no sweep: and no variants:");
        diag_help(cli->diag, "write one like sweep: {batch.micro: [1, 2, 4]}, or --axis "
                             "batch.micro=1,2,4, or use `stoker run`");
        return false;
    }
    /* What a shard's points miss is known when all are there. */
    const uint32_t count = session->many.shard.count > 0 ? 0 : 1;
    return session_require(session, &document, count) &&
           study_expand(cli->arena, document, &base, &session->study, cli->diag) &&
           (sweeper->best == BEST_NONE || sweeper_expand_bests(sweeper, document, &base));
}

/* "results/stoker-2-of-4.db": beside the usual file, and never it. */
static const char *shard_path(struct arena *arena, struct shard shard)
{
    static const char suffix[] = ".db";
    const int stem = (int)(sizeof OPTIONS_DB_DEFAULT - sizeof suffix);
    return arena_printf(arena, "%.*s-%" PRIu32 "-of-%" PRIu32 "%s", stem, OPTIONS_DB_DEFAULT,
                        shard.number, shard.count, suffix);
}

/* Checks the study, too: what is wrong with it is better known before a cluster runs it. */
static int print_script(struct session *session)
{
    struct options *options = &session->options;
    if (!options_refuse(
            options,
            "shard json plot size output metric require feasible sort top format tables no-db",
            "a script, whose shards only store their points",
            "leave it out; ask for it when the shards are merged")) {
        return EXIT_USAGE;
    }
    if (!expand(session)) {
        return EXIT_INPUT;
    }
    struct arena *arena = options->cli->arena;
    const char *db = shell_quoted(arena, arena_printf(arena, "--db=%s", options->db_path));
    const struct shard_script script = {
        .piece_count = session->study.count,
        .pieces = "points",
        .folder = arena_printf(arena, "%s.shards-%.8s", options->db_path, session->study.key),
        .suffix = ".db",
        .write = "--db=",
        .read = "",
        .join = "merge",
        .join_words = arena_printf(arena, " %s --complete", db),
    };
    return launch_print(options, &session->many, &script, " db ");
}

static void prepare(struct session *session)
{
    struct sweeper *sweeper = (struct sweeper *)session;
    session_prepare_required(session);
    if (sweeper->bests.number_of != NULL) {
        sweeper_prepare_bests(sweeper);
    }
}

static int run(struct options *options)
{
    static const struct session_command command = {
        .schema = SWEEP_SCHEMA, .expand = expand, .prepare = prepare, .add = add, .answer = answer};
    struct session *session = (struct session *)options;
    const struct shard shard = session->many.shard;
    const struct sweeper *sweeper = (const struct sweeper *)options;
    if (is_of_portfolio(options) &&
        !options_refuse(options, "shard slurm parallel metric require feasible sort top anchor",
                        "a portfolio, whose table has a line for each fabric",
                        "leave it out, or sweep one of its scenarios by itself")) {
        return EXIT_USAGE;
    }
    if (sweeper->best == BEST_NONE
            ? !options_refuse(options, "by gap", "a sweep of what is", "add --best layout")
            : !is_of_portfolio(options) &&
                  !options_refuse(options, "shard slurm parallel metric feasible sort top",
                                  "--best",
                                  "leave it out: `stoker search` has shards, of one value")) {
        return EXIT_USAGE;
    }
    if (launch_is_wanted(options)) {
        return print_script(session);
    }
    if (shard.count > 0) {
        if (!options_refuse(options, "plot size output require",
                            "a shard, which lacks the other points",
                            "merge the shards, then draw with `stoker plot`") ||
            !options_refuse(options, "no-db", "a shard, whose points are stored to be merged",
                            "leave it out")) {
            return EXIT_USAGE;
        }
        if (!options_given(options, "db")) {
            options->db_path = shard_path(options->cli->arena, shard);
        }
    }
    if (options->is_json && !options_refuse(options, "feasible sort top", "--json",
                                            "the document has all points, in their order")) {
        return EXIT_USAGE;
    }
    return session_main(session, &command);
}

static void read_sort(const struct command_option *option, const char *argument, void *input,
                      struct argp_state *state)
{
    struct sweeper *sweeper = input;
    (void)option;
    sweeper->listing.sort = requirement_metric_find(argument);
    if (sweeper->listing.sort == NULL) {
        argp_error(state,
                   "there is no metric '%s'; `stoker list metrics` names them, gpus is one, "
                   "too",
                   argument);
    }
}

static const struct command_option listing_options[] = {
    {"feasible", 0, NULL, "List only the points that have a result",
     OPTION_FLAG(struct sweeper, listing.is_feasible)},
    {"sort", 0, "METRIC", "List the best by this metric first (`stoker list metrics`, or gpus)",
     OPTION_OWN(read_sort, struct sweeper, listing.sort)},
    {"top", 0, "N", "List only the first N points",
     OPTION_COUNT(struct sweeper, listing.top, 1, STUDY_POINTS_MAX)},
    {0},
};

static const char *const best_names[BEST_COUNT_] = {"none", "layout", "usual"};

static const struct command_option own_options[] = {
    {"axis", 0, "KEY=A,B|A..B",
     "Sweep this key over these values, as sweep: in the file would say it; may be repeated",
     OPTION_LIST(struct sweeper, axes)},
    {"portfolio", 0, NULL,
     "FILE is a portfolio: scenarios with shares of GPU-hours, on each of the fabrics that its "
     "sweep: has; which lose at most what `lose:` says, and what these cost",
     OPTION_BARE},
    {"best", 0, "layout|usual",
     "Each value at its own best layout, found as by `stoker search` (search: narrows it), and "
     "what the layouts of the other values would cost there; usual: of axes that search: does not "
     "name the usual values, as auto has them, which takes seconds",
     OPTION_CHOICE(struct sweeper, best, best_names, BEST_COUNT_)},
    {"by", 0, "step|days|cost|energy", "With --best: what is to be least (default: step)",
     OPTION_CHOICE(struct sweeper, by, search_by_names, SEARCH_BY_COUNT_)},
    {"gap", 0, "PERCENT",
     "With --best: end a search when no layout can be better by more than that (default: 0)",
     OPTION_QUANTITY(struct sweeper, gap, DIM_FRACTION, 0.0, 1.0)},
    {0},
};

static const struct command_option many_options[] = {
    MANY_OPTIONS(struct session, many,
                 "Only part K of N, counted from 1, for several machines: its points go to a "
                 "results file of their own (default results/stoker-K-of-N.db), which `stoker "
                 "merge` joins",
                 "points"),
    {0},
};

const struct command command_sweep = {
    .name = "sweep",
    .summary = "every combination of a scenario's sweep, stored as it goes",
    .scenarios = SCENARIOS_FIRST,
    .arguments = "FILE",
    .about =
        "Predicts every combination that the scenario's sweep: and variants: ask for. Points "
        "are stored as they are done: a sweep that was stopped goes on where it was."
        "\vExamples: stoker sweep scenarios/study-batch.yaml --plot heatmap:mfu\n"
        "stoker sweep scenarios/study-batch.yaml --slurm=4 > study.sbatch && sbatch "
        "study.sbatch\n"
        "stoker sweep scenarios/study-batch.yaml --parallel=4 > study.sh && sh study.sh -S "
        "one,two\n"
        "stoker sweep scenarios/quickstart.yaml --axis cluster.network='400 Gbps,3200 Gbps' --best "
        "layout --gap 1%\n"
        "stoker sweep scenarios/study-batch.yaml --require 'mfu>=45 %' --require 'gpus<=1024'\n"
        "stoker sweep --portfolio scenarios/portfolios/one-fabric.yaml\n"
        "Exit status 4: no point fits, or none meets what is required (of a shard: never, others "
        "may have one that does); 5: some points failed.",
    .options = {options_prediction, options_anchor, options_store, options_no_store,
                session_options, own_options, requirement_options, listing_options, options_table,
                options_page, many_options, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "a scenario file with sweep: or variants:, or --axis",
    .input_size = sizeof(struct sweeper),
    .run = run,
};
