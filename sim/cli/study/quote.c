/* The command `stoker quote`: offers of machines, each at its best layout for the same jobs, as a
 * study of its own; study/quote judges, report/study/quote_sheet says.
 */
#include "bands/limits.h"
#include "base/arena.h"
#include "cli/study/bests.h"
#include "input/study/quote_keys.h"
#include "report/study/quote_sheet.h"
#include "study/quote/quote_found.h"
#include "study/quote/quote_policies.h"

#include <string.h>

#define QUOTE_SCHEMA "stoker.quote/1"

/* Begins with the sweeper, whose options of --best it has, so that shared parsers find it. */
struct quoter {
    struct sweeper sweeper;
    struct study_base base;
    struct quote quote;
    struct quote_found found;
    struct limits limits;
    bool is_judged;
};

static bool find_layouts(struct quoter *quoter)
{
    struct quote_points *points = &quoter->found.points;
    struct arena *arena = quoter->sweeper.session.options.cli->arena;
    const uint32_t jobs = quoter->quote.job_count;
    points->layouts = arena_array(arena, (size_t)jobs * points->per_job, sizeof *points->layouts);
    for (uint32_t job = 0; job < jobs; job++) {
        const struct best_request request = {
            .document = policy_part(arena, quoter->quote.jobs[job].document, false),
            .base = &quoter->base,
            .values = &points->values[job]};
        if (!sweeper_find_bests(&quoter->sweeper, &request,
                                &points->layouts[(size_t)job * points->per_job])) {
            return false;
        }
    }
    return true;
}

/* Scenarios and quotes are taken for one another easily. */
static bool check_kind(const struct options *options, const struct doc_node *document)
{
    struct diag *diag = options->cli->diag;
    const struct doc_node *scenario = doc_find(document, "scenario");
    if (scenario == NULL) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &scenario->key_place, "this is a scenario, not a quote");
    diag_help(diag, "write a file with job: %s and offers:; `stoker help quote.offers` says how",
              options->arguments.items[0]);
    return false;
}

static bool expand(struct session *session)
{
    struct quoter *quoter = (struct quoter *)session;
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    session->catalogue = options_catalogue(options);
    quoter->base = options_study_base(options, &session->catalogue);
    quoter->base.jobs = (uint32_t)session->jobs;
    const struct doc_node *document = doc_load(cli->arena, options->arguments.items[0], cli->diag);
    if (document == NULL || !check_kind(options, document) ||
        !quote_read(cli->arena, document, &session->catalogue, &quoter->quote, cli->diag) ||
        !quote_points_of(cli->arena, &quoter->quote, &quoter->base, &quoter->found.points,
                         cli->diag) ||
        (quoter->sweeper.best != BEST_NONE &&
         (!quote_check_sets(cli->arena, &quoter->quote, cli->diag) || !find_layouts(quoter) ||
          !quote_find_policies(cli->arena, &quoter->found.points, &quoter->base, options->folds,
                               cli->diag)))) {
        return false;
    }
    return quote_study(cli->arena, &quoter->found.points, document, &quoter->base, &session->study,
                       cli->diag);
}

static void prepare(struct session *session)
{
    struct quoter *quoter = (struct quoter *)session;
    struct cli *cli = session->options.cli;
    const char *reason = NULL;
    const struct against_points points = session_points(session);
    const bool has_limits =
        limits_load(cli->arena, &session->catalogue, &quoter->limits, &reason, cli->diag);
    (void)has_limits; /* then nothing is known of boxes */
    const struct quote_judging judging = {.arena = cli->arena,
                                          .points = &points,
                                          .limits = &quoter->limits,
                                          .run = session_run_more,
                                          .context = session,
                                          .base = &quoter->base};
    quoter->is_judged = quote_judge(&judging, &quoter->found);
}

static void add(struct session *session, struct sheet *sheet)
{
    const struct quoter *quoter = (const struct quoter *)session;
    const struct against_rows rows = {session->rows, NULL, session->row_count};
    if (quoter->is_judged) {
        quote_add(&quoter->found, &rows, sheet, session->options.cli->diag);
    }
}

static int run(struct options *options)
{
    static const struct session_command command = {
        .schema = QUOTE_SCHEMA, .expand = expand, .prepare = prepare, .add = add};
    return session_main((struct session *)options, &command);
}

static const char *const best_names[BEST_COUNT_] = {"none", "layout", "usual"};

static const struct command_option own_options[] = {
    {"best", 0, "usual|layout|none",
     "Each offer at its own best layout (default: usual): of the usual ones, of all that `stoker "
     "search` has, or the jobs' own; where a job has failures also with its own "
     "best checkpoints and spares, of the run's axes in the job's search:",
     OPTION_CHOICE(struct quoter, sweeper.best, best_names, BEST_COUNT_)},
    {"gap", 0, "PERCENT",
     "End a search when no layout can be better by more than that (default: 2 %)",
     OPTION_QUANTITY(struct quoter, sweeper.gap, DIM_FRACTION, 0.0, 1.0)},
    {0},
};

static const struct quoter defaults = {.sweeper = {.best = BEST_USUAL, .gap = 0.02}};

const struct command command_quote = {
    .name = "quote",
    .summary = "offers of machines: which, by when, for how much, how sure",
    .scenarios = SCENARIOS_FIRST,
    .arguments = "FILE",
    .about =
        "Judges offers by what they train: each at its best layout for the same job, or several "
        "one after the other, from its delivery on, which may come in parts. Says when all is "
        "done, what it costs and when that is paid, in what share of draws each offer wins, at "
        "which price and which delivery that turns, and which one measurement on a vendor's box is "
        "worth most before anything is signed."
        "\vExample: stoker quote scenarios/quotes/three-offers.yaml\n"
        "Exit status 4: no offer holds the jobs; 5: some points failed.",
    .options = {options_prediction, options_store, options_no_store, session_options, own_options,
                options_table, options_page, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "a file of offers",
    .input_size = sizeof(struct quoter),
    .defaults = &defaults,
    .run = run,
};
