/* The command `stoker new`: a scenario to begin with, of a model on some GPUs of a cluster, with a
 * layout that fits and is the fastest of the usual ones (study/search), each line with what it is.
 *
 * The batch is about BATCH_TOKENS a step, in whole multiples of what any layout divides it into.
 */
#include "cli/options.h"
#include "cli/progress.h"

#include "base/arena.h"
#include "base/diag.h"
#include "base/path.h"
#include "base/version.h"
#include "input/doc/doc.h"
#include "input/scenario.h"
#include "input/study/title.h"
#include "report/near.h"
#include "report/numbers.h"
#include "study/search/search_software.h"
#include "study/search/search_study.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { GPUS_MAX = 1000000, SEQUENCE_MAX = 8192, EVERY_REPLICA_MAX = 1024, FEWER_REPLICAS = 8 };
#define BATCH_TOKENS \
    4194304.0 /* ASSUMES: 4 Mi tokens a step, as models of 2023 to 2025 are trained */

/* Begins with the options, so that shared parsers find them. */
struct starter {
    struct options options;
    int64_t gpus, global, sequence;
    double tokens;
    const char *cluster, *software, *output;
    struct progress progress;
};

static const struct starter defaults = {.tokens = 1e12};

static const struct command_option own_options[] = {
    {"gpus", 0, "N", "How many GPUs (required)", OPTION_COUNT(struct starter, gpus, 1, GPUS_MAX)},
    {"cluster", 0, "NAME", "Which cluster (required; `stoker list clusters`)",
     OPTION_TEXT(struct starter, cluster)},
    {"software", 0, "NAME", "Which framework (default: by the GPU; `stoker list software`)",
     OPTION_TEXT(struct starter, software)},
    {"tokens", 0, "T", "Tokens of the whole training (default: 1T)",
     OPTION_QUANTITY(struct starter, tokens, DIM_COUNT, 1, 1e18)},
    {"batch", 0, "N", "Sequences of a step (default: about 4 million tokens)",
     OPTION_COUNT(struct starter, global, 1, 1000000000)},
    {"sequence-length", 0, "N", "Tokens of a sequence (default: the model's, at most 8,192)",
     OPTION_COUNT(struct starter, sequence, 1, 100000000)},
    {"any-software", 0, NULL,
     "Any layout, also one that the software's release has not (`has:` of its profile)",
     OPTION_FLAG(struct options, any_software)},
    {"output", 'o', "FILE", "Write there, where nothing is yet, instead of stdout",
     OPTION_TEXT(struct starter, output)},
    {0},
};

/* ---- what is asked of the search ------------------------------------------------------------ */

/* Beside what is usual of a layout (study/search/search_space). Of these a step may be searched in
 * seconds; others are for whoever asks for them. */
static const char space[] = "search: {parallel: {cp: [1], tp: all}}\n";

/* Layouts that are simulated, times their GPUs: of a million GPUs the eight layouts of the search's
 * first batch, of thousands as many as the gap takes. */
#define SIMULATED_GPUS_MAX 4e6
#define GAP 0.02

struct start {
    const char *precision;
    int64_t global, sequence;
};

/* As YAML has it: in quotes where a character would mean something else there. */
static const char *scalar(struct arena *arena, const char *text)
{
    if (text[0] != '\0' && text[0] != '-' && text[0] != '?' &&
        strpbrk(text, ":#\"'{}[],&*!|>%@`\\\n\t") == NULL) {
        return text;
    }
    const char *quoted = "\"";
    for (const char *next = text; *next != '\0'; next++) {
        quoted = arena_printf(arena, "%s%s%c", quoted, strchr("\"\\", *next) ? "\\" : "", *next);
    }
    return arena_printf(arena, "%s\"", quoted);
}

static const struct doc_node *document_of(const struct starter *starter, const struct start *start)
{
    struct arena *arena = starter->options.cli->arena;
    const char *length = start->sequence > 0
                             ? arena_printf(arena, ", sequence_length: %" PRId64, start->sequence)
                             : "";
    const char *software =
        starter->software != NULL
            ? arena_printf(arena, "software: %s\n", scalar(arena, starter->software))
            : "";
    const char *text = arena_printf(
        arena,
        "scenario: new\nmodel: %s\ncluster: %s\ngpus: %" PRId64
        "\n%sprecision: %s\nbatch: {global: %" PRId64 "%s}\nrun: {tokens: %.17g}\n%s",
        scalar(arena, starter->options.arguments.items[0]), scalar(arena, starter->cluster),
        starter->gpus, software, start->precision, start->global, length, starter->tokens, space);
    return doc_parse(arena, "stoker new", text, strlen(text), starter->options.cli->diag);
}

/* Sequences of about BATCH_TOKENS, a multiple of all GPUs or, of many, of an eighth of them: a
 * replica of a model that needs so many has eight GPUs at least. */
static int64_t usual_global(const struct starter *starter, int64_t sequence)
{
    const int64_t gpus = starter->gpus;
    const bool is_divided = gpus > EVERY_REPLICA_MAX && gpus % FEWER_REPLICAS == 0;
    const int64_t unit = is_divided ? gpus / FEWER_REPLICAS : gpus;
    const double wanted =
        fmax(BATCH_TOKENS / (double)sequence, 1); /* long ones: one for each unit */
    return ((int64_t)wanted + unit - 1) / unit * unit;
}

/* Some scenario of these words, whose layout is any that divides; NULL, with messages. */
static const struct scenario *read(const struct starter *starter, const struct start *start,
                                   const struct study_base *base, struct diag *diag)
{
    const struct doc_node *document = document_of(starter, start);
    return document != NULL ? search_base(starter->options.cli->arena, document, base, diag) : NULL;
}

/* bf16, or what GPUs before it have. */
static const struct scenario *begin(const struct starter *starter, struct start *start,
                                    const struct study_base *base)
{
    struct cli *cli = starter->options.cli;
    *start = (struct start){"bf16", starter->global > 0 ? starter->global : starter->gpus,
                            starter->sequence};
    const struct scenario *scenario = read(starter, start, base, diag_new(cli->arena));
    if (scenario == NULL) {
        start->precision = "fp16";
        scenario = read(starter, start, base, diag_new(cli->arena));
    }
    if (scenario == NULL) {
        start->precision = "bf16";
        return read(starter, start, base, cli->diag);
    }
    if (starter->sequence == 0) {
        const int64_t longest = scenario->batch.sequence_length;
        start->sequence = longest < SEQUENCE_MAX ? longest : SEQUENCE_MAX;
    }
    if (starter->global == 0) {
        start->global = usual_global(starter, start->sequence);
    }
    return scenario;
}

/* ---- what is written ------------------------------------------------------------------------ */

static const char *value_of(struct arena *arena, const struct search_found *found,
                            enum search_axis axis)
{
    return search_layout_value(arena, &found->layout, axis);
}

/* "15.6T", as scenarios write tokens. */
static const char *tokens_text(struct arena *arena, double tokens)
{
    const double unit = tokens >= 1e12 ? 1e12 : tokens >= 1e9 ? 1e9 : 1;
    return arena_printf(arena, "%.15g%s", tokens / unit,
                        unit >= 1e12  ? "T"
                        : unit >= 1e9 ? "B"
                                      : "");
}

static const char *scenario_text(const struct starter *starter, const struct start *start,
                                 const struct scenario *scenario,
                                 const struct search_result *result)
{
    struct arena *arena = starter->options.cli->arena;
    const struct search_found *found = &result->found[0];
    const char *title = title_generate(arena, scenario);
    const char *software = starter->software != NULL ? starter->software : scenario->software.name;
    const char *head = arena_printf(
        arena,
        "# Written by stoker %s: the fastest of %s layouts%s (gap %.2g %%); %.4g s a step, "
        "%.1f of %.1f GB.\n"
        "scenario: %s\n"
        "model: %-24s # stoker list models, or a config.json of Hugging Face\n"
        "cluster: %-22s # stoker list clusters\n"
        "gpus: %" PRId64 "\n"
        "software: %-21s # what the framework does: stoker list software\n"
        "precision: %-20s # or fp8, where GPU and software have it\n",
        stoker_version(), number_grouped(arena, (double)result->counts.layouts),
        result->lacking.layouts > 0 ? arena_printf(arena, " that %s has", scenario->software.name)
                                    : "",
        100 * (result->is_certified ? GAP : result->gap), found->step_s, found->memory_bytes / 1e9,
        scenario->gpu.memory_bytes / 1e9, scalar(arena, title),
        scalar(arena, starter->options.arguments.items[0]), scalar(arena, starter->cluster),
        starter->gpus, scalar(arena, software), start->precision);
    const bool has_experts = strcmp(value_of(arena, found, SEARCH_EP), "1") != 0;
    const char *etp = found->layout.etp == 0
                          ? ""
                          : arena_printf(arena, "  etp: %-24s # of these, GPUs that share each\n",
                                         value_of(arena, found, SEARCH_ETP));
    const char *stages =
        found->layout.ends[0] == 0
            ? ""
            : arena_printf(arena, "  layers_per_stage: %s # the last has the loss, too\n",
                           value_of(arena, found, SEARCH_LAYERS));
    const char *overlap = found->layout.overlap > 1
                              ? "  overlap_experts: true         # exchanges beside compute\n"
                              : "";
    const char *parallel = arena_printf(
        arena,
        "parallel:\n"
        "  tp: %-25s # GPUs that share each layer's matrices\n"
        "  pp: %-25s # stages of the pipeline\n"
        "%s%s%s%s"
        "  dp: auto                      # replicas: the GPUs that are left\n"
        "  zero: %-23s # what replicas share out: 1 optimizer, 3 weights, too\n"
        "  schedule: %-19s # order of microbatches in the pipeline\n"
        "  virtual_stages: %-13s # chunks of a stage, when interleaved\n"
        "  sequence_parallel: %s\n",
        value_of(arena, found, SEARCH_TP), value_of(arena, found, SEARCH_PP),
        has_experts ? arena_printf(arena, "  ep: %-25s # GPUs that share the experts of a layer\n",
                                   value_of(arena, found, SEARCH_EP))
                    : "",
        etp, stages, overlap, value_of(arena, found, SEARCH_ZERO),
        value_of(arena, found, SEARCH_SCHEDULE), value_of(arena, found, SEARCH_VIRTUAL_STAGES),
        value_of(arena, found, SEARCH_SEQUENCE_PARALLEL));
    return arena_printf(
        arena,
        "%s%s"
        "batch:\n"
        "  global: %-21" PRId64 " # sequences of a step\n"
        "  micro: %-22s # of a microbatch\n"
        "  sequence_length: %" PRId64 "\n"
        "recompute: %-20s # or selective, full: less memory, more time\n"
        "run:\n"
        "  tokens: %-21s # of the whole training; failures: true adds what breaks\n"
        "  checkpoint: {every: 30 min, mode: async}\n"
        "# Next: stoker run FILE, stoker whatif FILE,\n"
        "# stoker sweep FILE --axis cluster.network=\"400 Gbps,3200 Gbps\" --best layout\n",
        head, parallel, start->global, value_of(arena, found, SEARCH_MICRO), start->sequence,
        value_of(arena, found, SEARCH_RECOMPUTE), tokens_text(arena, starter->tokens));
}

/* ---- the command ---------------------------------------------------------------------------- */

static bool check_options(const struct starter *starter)
{
    struct diag *diag = starter->options.cli->diag;
    const bool has_gpus = options_given(&starter->options, "gpus");
    if (!has_gpus || starter->cluster == NULL) {
        diag_add(diag, DIAG_USAGE, NULL, "%s%s%s", has_gpus ? "" : "--gpus N",
                 has_gpus || starter->cluster != NULL ? "" : " and ",
                 starter->cluster != NULL ? " is missing" : "--cluster NAME is missing");
        diag_help(
            diag,
            "write it like stoker new MODEL --gpus 256 --cluster NAME (`stoker list models`)");
        return false;
    }
    return options_refuse(&starter->options, "json", "a scenario, which is YAML",
                          "leave it out; `stoker search --json` has the best layouts");
}

static int say_nothing_fits(const struct starter *starter, const struct search_space *found_in,
                            const struct search_result *result)
{
    struct cli *cli = starter->options.cli;
    const char *left_out = search_software_left_out(cli->arena, found_in, result);
    diag_add(cli->diag, DIAG_INFEASIBLE, NULL, "no layout of %s fits on %" PRId64 " GPUs of %s%s",
             starter->options.arguments.items[0], starter->gpus, starter->cluster,
             near_margin_clause(cli->arena, found_in->base->memory_margin));
    diag_help(cli->diag, "%s",
              result->counts.layouts > 0
                  ? arena_printf(cli->arena, "the nearest is %s: %s; ask for more GPUs",
                                 search_layout_label(cli->arena, found_in, &result->nearest),
                                 search_lack(cli->arena, found_in, &result->nearest))
              : left_out != NULL ? left_out
                                 : "no sizes go together: try another --gpus or --batch");
    return EXIT_INFEASIBLE;
}

static bool put_text(const void *context, FILE *out)
{
    return fputs(context, out) >= 0;
}

static int write_text(const struct starter *starter, const char *text)
{
    struct cli *cli = starter->options.cli;
    if (starter->output == NULL) {
        fputs(text, stdout);
        return 0;
    }
    const struct path_content content = {put_text, text, "name a file that is not there yet", true};
    return path_write_whole(cli->arena, starter->output, &content, cli->diag) ? 0 : EXIT_FAILED;
}

static bool goes_on(void *context, const struct search_state *state)
{
    struct starter *starter = context;
    progress_search(&starter->progress, state);
    return (double)state->counts.simulated * (double)starter->gpus < SIMULATED_GPUS_MAX;
}

static int run(struct options *options)
{
    struct starter *starter = (struct starter *)options;
    struct cli *cli = options->cli;
    starter->progress = (struct progress){.cli = cli, .unit = search_by_units[SEARCH_BY_STEP]};
    if (!check_options(starter)) {
        return EXIT_USAGE;
    }
    const struct catalogue catalogue = options_catalogue(options);
    const struct study_base base = options_study_base(options, &catalogue);
    struct start start;
    if (begin(starter, &start, &base) == NULL) {
        return EXIT_INPUT;
    }
    const struct doc_node *document = document_of(starter, &start);
    const struct scenario *scenario =
        document != NULL ? search_base(cli->arena, document, &base, cli->diag) : NULL;
    struct search_space found_in;
    if (scenario == NULL ||
        !search_space_usual(cli->arena, document, scenario, &found_in, cli->diag)) {
        return EXIT_INPUT;
    }
    if (options->any_software) {
        search_software_lift(&found_in);
    }
    const struct search_request request = {
        .space = &found_in,
        .by = SEARCH_BY_STEP,
        .gap = GAP,
        .folds = true,
        .goes_on = goes_on,
        .context = starter,
    };
    struct search_result result;
    search_run(cli->arena, &request, &result);
    progress_end(&starter->progress);
    return result.found_count == 0
               ? say_nothing_fits(starter, &found_in, &result)
               : write_text(starter, scenario_text(starter, &start, scenario, &result));
}

const struct command command_new = {
    .name = "new",
    .summary = "a scenario to begin with: a model on some GPUs, with a layout that fits",
    .arguments = "MODEL",
    .about =
        "Writes a commented scenario of at most 30 lines: the model (a name of the catalogue "
        "or a config.json) on so many GPUs of a cluster, with the fastest of the usual "
        "layouts (tensor and pipeline parallelism, experts, ZeRO 1 and 3, microbatches of 1 "
        "to 4, recomputation) that fit into memory."
        "\vExample: stoker new MODEL --gpus 256 --cluster NAME > mine.yaml (`stoker list models`)\n"
        "Exit status 4: no layout fits; the nearest is named.",
    .options = {own_options, options_row, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "a model",
    .input_size = sizeof(struct starter),
    .defaults = &defaults,
    .run = run,
};
