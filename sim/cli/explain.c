/* The command `stoker explain`: it predicts a scenario and prints the
 * arithmetic of the prediction, so that it can be redone with a pocket
 * calculator.
 */
#include "report/explain/explain_sections.h"
#include "report/explain/explain_text.h"
#include "cli/predict.h"

#include "base/arena.h"
#include "train/step.h"
#include "report/screen.h"

#define EXPLAIN_SCHEMA "stoker.explain/1"

struct section {
    const char *key;   /* in JSON */
    const char *title; /* for people */
    explain_print_function *print;
    explain_json_function *json;
};

static const struct section sections[] = {
    {"model", "Model", explain_model_print, explain_model_json},
    {"layer", "One layer on one GPU", explain_layer_print, explain_layer_json},
    {"network", "Communication of one GPU", explain_network_print, explain_network_json},
    {"pipeline", "Pipeline", explain_pipeline_print, explain_pipeline_json},
    {"step", "The step", explain_step_print, explain_step_json},
    {"memory", "Memory of the fullest stage", explain_memory_print, explain_memory_json},
    {"run", "The run", explain_run_print, explain_run_json},
    {"assumptions", "Assumed constants", explain_assumptions_print, explain_assumptions_json},
};

enum { SECTION_COUNT = sizeof sections / sizeof *sections };

static void print_text(const struct explanation *explanation, FILE *out)
{
    fprintf(out, "%s\n\n", explanation->scenario->title);
    for (uint32_t i = 0; i < SECTION_COUNT; i++) {
        fprintf(out, "%u. %s\n\n", i + 1, sections[i].title);
        sections[i].print(explanation, out);
    }
}

static void print_json(const struct explanation *explanation, FILE *out)
{
    struct json json;
    json_begin(&json, out);
    json_object_open(&json, NULL);
    json_text(&json, "schema", EXPLAIN_SCHEMA);
    json_text(&json, "scenario", explanation->scenario->title);
    json_text(&json, "key", explanation->result->key);
    for (uint32_t i = 0; i < SECTION_COUNT; i++) {
        json_object_open(&json, sections[i].key);
        sections[i].json(explanation, &json);
        json_object_close(&json);
    }
    json_object_close(&json);
    json_end(&json);
}

static int run(struct options *options)
{
    struct cli *cli = options->cli;
    const struct scenario *scenario = predict_load(options, options->arguments.items[0]);
    if (scenario == NULL) {
        return EXIT_INPUT;
    }
    struct result result;
    predict_result(options, scenario, &result);
    const struct explanation explanation = {
        .arena = cli->arena,
        .scenario = scenario,
        .result = &result,
        .system = step_system_of(cli->arena, scenario),
    };
    if (options->is_json) {
        print_json(&explanation, stdout);
    } else {
        print_text(&explanation, stdout);
    }
    if (!result.step.memory.fits) {
        diag_add(cli->diag, DIAG_INFEASIBLE, NULL, "the plan does not fit into memory: %s",
                 result.step.memory_advice);
    }
    return 0;
}

const struct command command_explain = {
    .name = "explain",
    .summary = "the arithmetic of a prediction, number by number",
    .arguments = "FILE",
    .about =
        "Predicts a scenario and shows the arithmetic: FLOPs, the kernels of a layer, transfers, "
        "pipeline, step, memory, days and money, each with its formula and inputs."
        "\vExample: stoker explain scenarios/quickstart.yaml --set parallel.tp=4\n"
        "Nothing is stored. Exit status 4: the plan does not fit into memory; the arithmetic is "
        "printed all the same.",
    .options = {options_prediction, options_row, options_convention, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "a scenario file",
    .run = run,
};
