/* The command `stoker explain`: it predicts a scenario and prints the arithmetic of the
 * prediction, so that it can be redone with a pocket calculator.
 */
#include "input/scenario.h"
#include "report/explain/explain_sections.h"
#include "cli/anchor.h"
#include "bands/memory_errors.h"
#include "cli/predict.h"

#include "base/arena.h"
#include "base/diag.h"
#include "bands/band.h"
#include "train/step.h"
#include "train/step_memo.h"

#include <string.h>

#define EXPLAIN_SCHEMA "stoker.explain/1"

static const struct section {
    const char *key;   /* in JSON */
    const char *title; /* for people */
    explain_section *add;
} sections[] = {
    {"model", "Model", explain_model},
    {"layer", "One layer on one GPU", explain_layer},
    {"network", "Communication of one GPU", explain_network},
    {"pipeline", "Pipeline", explain_pipeline},
    {"step", "The step", explain_step},
    {"memory", "Memory of the fullest stage", explain_memory},
    {"run", "The run", explain_run},
    {"assumptions", "Assumed constants", explain_assumptions},
    {"band", "How far it may be off", explain_band},
};

enum { SECTIONS = sizeof sections / sizeof *sections };

/* Begins with the options, so that shared parsers find them. */
struct explainer {
    struct options options;
    bool ranks;
};

static const struct command_option own_options[] = {
    {"rank", 0, NULL, "Only the assumed constants, by what they move",
     OPTION_FLAG(struct explainer, ranks)},
    {0},
};

/* The sections named behind the file, as bits; 0, with a message: there is no such one. */
static uint32_t sections_named(const struct options *options)
{
    struct cli *cli = options->cli;
    const char *keys[SECTIONS];
    for (uint32_t i = 0; i < SECTIONS; i++) {
        keys[i] = sections[i].key;
    }
    uint32_t named = options->arguments.count > 1 ? 0 : (1u << SECTIONS) - 1;
    for (size_t k = 1; k < options->arguments.count; k++) {
        const char *name = options->arguments.items[k];
        uint32_t found = 0;
        for (uint32_t i = 0; i < SECTIONS; i++) {
            found |= strcmp(keys[i], name) == 0 ? 1u << i : 0;
        }
        if (found == 0) {
            diag_add(cli->diag, DIAG_USAGE, NULL, "there is no section '%s'", name);
            diag_help_nearest(cli->diag, diag_nearest(name, keys, SECTIONS),
                              arena_printf(cli->arena, "the sections are %s",
                                           sheet_joined(cli->arena, keys, SECTIONS)));
            return 0;
        }
        named |= found;
    }
    return named;
}

static struct sheet *explain(const struct explanation *explanation, uint32_t named, bool ranks)
{
    struct sheet *sheet = sheet_new(explanation->arena, EXPLAIN_SCHEMA);
    sheet_text(sheet, "scenario", explanation->scenario->title);
    sheet_text(sheet, "key", explanation->result->key);
    sheet_say(sheet, "%s\n%s", explanation->scenario->title, ranks ? "" : "\n");
    if (ranks) {
        explain_rank(explanation, sheet);
        return sheet;
    }
    for (uint32_t i = 0; i < SECTIONS; i++) {
        if ((named & 1u << i) != 0) {
            sheet_say(sheet, "%u. %s\n\n", i + 1, sections[i].title);
            sections[i].add(explanation, sheet_object(sheet, sections[i].key));
        }
    }
    return sheet;
}

/* Of the run that is the result. */
static const struct forecast *forecast_of(struct arena *arena, const struct scenario *scenario,
                                          const struct step_result *step)
{
    const struct ensemble_member member = {(uint64_t)scenario->seed, step->spread.median};
    return scenario->neighbour_count == 0 ? forecast_step(arena, scenario, member) : NULL;
}

static int run(struct options *options)
{
    struct cli *cli = options->cli;
    const bool ranks = ((const struct explainer *)options)->ranks;
    const uint32_t named = sections_named(options);
    if (named == 0) {
        return EXIT_USAGE;
    }
    const struct scenario *scenario = predict_load(options, options->arguments.items[0]);
    if (scenario == NULL) {
        return EXIT_INPUT;
    }
    struct result result;
    struct step_memo *memo = step_memo_new();
    predict_result(options, scenario, &(struct predict_way){.jobs = 1, .memo = memo}, &result);
    const struct catalogue catalogue = options_catalogue(options);
    result.band = band_find(cli->arena, &catalogue, &result, cli->diag);
    result.memory_doubt = memory_doubt_new(cli->arena, &catalogue, &result, cli->diag);
    predict_rank_assumptions(options, memo, &result);
    step_memo_free(memo);
    const struct explanation explanation = {
        .arena = cli->arena,
        .scenario = scenario,
        .result = &result,
        .system = step_system_of(cli->arena, scenario),
        .forecast = forecast_of(cli->arena, scenario, &result.step),
    };
    options_print(options, explain(&explanation, named, ranks));
    predict_check_memory(options, scenario, &result.step);
    return 0;
}

const struct command command_explain = {
    .name = "explain",
    .summary = "the arithmetic of a prediction, number by number",
    .scenarios = SCENARIOS_FIRST,
    .arguments = "FILE [SECTION...]",
    .about =
        "Predicts a scenario and shows the arithmetic: FLOPs, the kernels of a layer, transfers, "
        "pipeline, step, memory, days and money, each with its formula and inputs; or only the "
        "sections named: model, layer, network, pipeline, step, memory, run, assumptions, band."
        "\vExample: stoker explain scenarios/quickstart.yaml --set parallel.tp=4\n"
        "stoker explain scenarios/quickstart.yaml memory\n"
        "stoker explain scenarios/quickstart.yaml --rank\n"
        "Nothing is stored. Exit status 4: the plan does not fit into memory; the arithmetic is "
        "printed all the same.",
    .options = {options_prediction, options_anchor, options_row, options_convention, own_options,
                options_page, options_general},
    .arguments_min = 1,
    .arguments_max = 1 + SECTIONS,
    .input_size = sizeof(struct explainer),
    .wanted = "a scenario file",
    .run = run,
};
