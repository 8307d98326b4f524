/* The command `stoker why`: is this step what such runs get, and if not, why. The log says the
 * step, itself or a scenario the rest; study/why seeks causes.
 */
#include "cli/anchor.h"
#include "cli/predict.h"

#include "bands/limits.h"
#include "base/arena.h"
#include "base/units.h"
#include "foreign/import_kinds.h"
#include "foreign/logs/log_claims.h"
#include "input/doc/text_folder.h"
#include "input/doc/text_source.h"
#include "input/scenario_load.h"
#include "measured/published/published_row.h"
#include "report/study/why_sheet.h"
#include "study/study.h"
#include "train/step_memo.h"

#define WHY_SCHEMA "stoker.why/1"

enum { COUNT_MAX = 1000 * 1000 };

/* Begins with the options, so that shared parsers find them. */
struct asker {
    struct options options;
    struct importer importer;
};

static const struct command_option own_options[] = {
    {.help = "Of a log (what it does not say):", .group = 1},
    {"gpu", 0, "NAME", "GPU of models/gpus", OPTION_TEXT(struct asker, importer.gpu)},
    {"gpus", 0, "N", "GPUs of the run", OPTION_COUNT(struct asker, importer.gpus, 1, COUNT_MAX)},
    {"model", 0, "NAME", "Model of models/llms, instead of the log's shapes",
     OPTION_TEXT(struct asker, importer.model)},
    {"skip", 0, "N", "Lines of steps to leave out (default: a quarter of them, at most 10)",
     OPTION_COUNT(struct asker, importer.skip, 0, COUNT_MAX)},
    {"run", 0, "N", "Which run of a log that holds several (default: the last that has a step)",
     OPTION_COUNT(struct asker, importer.run, 1, COUNT_MAX)},
    OPTIONS_APART,
    {0},
};

static const struct asker defaults = {.importer = {.skip = -1}};

/* Of a log, which is read here, once: it may be standard input. */
static bool load_claims(struct importer *importer, const char *path, struct log_claims *claims)
{
    *claims = (struct log_claims){.flop_per_s = 0};
    if (published_is_table(path) || !(text_source_exists(path) || text_folder_is(path))) {
        return true;
    }
    if (!import_open_log(importer, path)) {
        return false;
    }
    *claims = log_claims_of(importer->arena, &importer->file);
    return true;
}

/* The run that is asked about; one that ran out of memory before its first step is the scenario.
 */
static bool find_run(struct asker *asker, struct log_claims *claims, struct anchoring_run *run)
{
    const struct options *options = &asker->options;
    struct cli *cli = options->cli;
    const char *log = options->arguments.items[0];
    const char *path = options->arguments.count > 1 ? options->arguments.items[1] : NULL;
    const struct doc_node *document =
        path != NULL ? scenario_load_document(cli->arena, path, cli->diag) : NULL;
    if ((path != NULL && document == NULL) || !load_claims(&asker->importer, log, claims)) {
        return false;
    }
    if (claims->is_out_of_memory && !claims->has_step) {
        if (document == NULL) {
            diag_add(cli->diag, DIAG_INPUT, &claims->out_of_memory,
                     "it ran out of memory before its first step");
            diag_help(cli->diag, "give the scenario of the run behind it: what was counted of its "
                                 "memory, and what would fit, follow from that");
            return false;
        }
        const struct catalogue catalogue = options_catalogue_again(options);
        *run = (struct anchoring_run){.notes = ""};
        run->scenario = scenario_resolve(cli->arena, document, &catalogue, options->sets.items,
                                         options->sets.count, cli->diag);
        return run->scenario != NULL;
    }
    if (claims->is_out_of_memory) {
        diag_add(cli->diag, DIAG_WARNING, &claims->out_of_memory,
                 "it ran out of memory after some steps; explained is how long these took");
        diag_help(cli->diag, "`stoker run` counts the memory of its scenario");
    }
    return anchor_run_of(options, log, &asker->importer, document, run);
}

/* Causes are held against how far boxes differ. */
static bool load_limits(const struct options *options, struct limits *limits)
{
    struct cli *cli = options->cli;
    const struct catalogue catalogue = options_catalogue_again(options);
    const char *reason = "it has no range of assumptions";
    if (limits_load(cli->arena, &catalogue, limits, &reason, cli->diag) && limits->range > 0) {
        return true;
    }
    diag_add(cli->diag, DIAG_INPUT, NULL, "causes cannot be ranked: %s", reason);
    diag_help(cli->diag, "the catalogue needs " LIMITS_FILE " with a section assumptions");
    return false;
}

static bool answer(const struct asker *asker, const struct anchoring_run *run,
                   const struct log_claims *claims)
{
    const struct options *options = &asker->options;
    struct cli *cli = options->cli;
    const struct catalogue catalogue = options_catalogue_again(options);
    const struct study_base base = options_study_base(options, &catalogue);
    struct result result;
    struct limits limits;
    if (!load_limits(options, &limits)) {
        return false;
    }
    struct step_memo *memo = step_memo_new();
    predict_alone(options, run->scenario, claims->checkpoint_s > 0, memo, &result);
    const struct why_asked asked = {&catalogue,          &result, &limits, &base, memo, run->step_s,
                                    claims->checkpoint_s};
    const struct place place = {.file = options->arguments.items[0]};
    struct why_found found;
    if (!why_check(&asked, &place, cli->diag)) {
        step_memo_free(memo);
        return false;
    }
    why_ask(cli->arena, &asked, &found);
    const struct why_log log = {
        .name = options->arguments.items[0],
        .notes = run->notes,
        .step_s = run->step_s,
        .flop_per_s = claims->flop_per_s,
        .mfu = claims->mfu,
        .slow = asker->importer.stalls.slow,
        .steps = asker->importer.stalls.steps,
        .lost = asker->importer.stalls.share,
        .file = options->arguments.count > 1 ? options->arguments.items[1] : NULL,
    };
    struct sheet *sheet = sheet_new(cli->arena, WHY_SCHEMA);
    why_add(&found, &result, &log, sheet);
    options_print(options, sheet);
    step_memo_free(memo);
    return true;
}

static int run(struct options *options)
{
    struct asker *asker = (struct asker *)options;
    asker->importer.arena = options->cli->arena;
    asker->importer.diag = options->cli->diag;
    const struct catalogue catalogue = options_catalogue_again(options);
    asker->importer.catalogue = &catalogue;
    struct anchoring_run measured;
    struct log_claims claims;
    const bool is_good = find_run(asker, &claims, &measured) && answer(asker, &measured, &claims);
    return is_good ? 0 : EXIT_INPUT;
}

const struct command command_why = {
    .name = "why",
    .summary = "is a measured step what such runs get; if not, the likeliest causes",
    .scenarios = SCENARIOS_ALSO,
    .arguments = "LOG [SCENARIO]",
    .about =
        "Holds the step of a training log against the prediction and its 80 % interval, and seeks "
        "causes of the gap: features that nobody told, each simulated; numbers of your machine "
        "(products, attention, copies, launches, links), each with the value that alone would "
        "explain it; layouts that would be faster; MFU by each convention. LOG is a log that "
        "import reads (or a folder of such, or -), FILE.csv:ID or a step as \"4.1 s\". A log that "
        "says all arguments of its "
        "run "
        "needs no SCENARIO. Of what was never held against measured runs it says so and claims "
        "nothing."
        "\vExample: stoker why train.log mine.yaml\n"
        "stoker why \"5.2 s\" scenarios/quickstart.yaml --json",
    .options = {own_options, options_prediction, options_page, options_general},
    .arguments_min = 1,
    .arguments_max = 2,
    .wanted = "a training log",
    .input_size = sizeof(struct asker),
    .defaults = &defaults,
    .run = run,
};
