/* The command `stoker-lab validate`: what `stoker validate` says of measured runs, and beside it
 * how well ratios of them, anchors, rules and bands do; and it writes the tables that bands are
 * from.
 */
#include "lab/cli/lab_validate.h"

#include "base/arena.h"
#include "base/path.h"
#include "lab/cli/lab_commands.h"
#include "lab/ratio_pairs.h"
#include "report/sheet.h"

#include <string.h>

/* ---- the command line ----------------------------------------------------------------- */

/* The word behind it is a column's name, unless it looks like an option or a file. */
static void read_ratios(const struct command_option *option, const char *argument, void *input,
                        struct argp_state *state)
{
    struct lab_validation *lab = input;
    struct options *options = &lab->validation.options;
    if (argument == NULL && state->next < state->argc &&
        strpbrk(state->argv[state->next], "-./") == NULL) {
        argument = state->argv[state->next++];
        options->uses[options->use_count - 1].argument = argument;
    }
    lab->has_axes = argument == NULL;
    option_text(option, argument, input, state);
}

static const struct command_option own_options[] = {
    {"errors", 0, "OUT.csv",
     "Write the error of each vote: models/validated.csv, from which `stoker run` has its bands",
     OPTION_TEXT(struct lab_validation, errors)},
    {"pairs", 0, "OUT.csv",
     "Write pairs of rows that differ in one kind of setting: models/ratios.csv, from which "
     "`stoker compare` and `sweep` have bands of ratios",
     OPTION_TEXT(struct lab_validation, pairs)},
    {"ratios", 0, "COLUMN",
     "Ratios of the steps of two rows that differ in COLUMN and in nothing else, as "
     "inter_node_gbps_per_node; without one, a line for each kind of difference",
     .is_optional = true, OPTION_OWN(read_ratios, struct lab_validation, validation.ratios)},
    {"anchors", 0, NULL,
     "How far off runs are that are predicted by another run of their source as an anchor, by the "
     "number of kinds of difference between the two",
     OPTION_FLAG(struct lab_validation, has_anchors)},
    {"rules", 0, NULL,
     "What each entry of tests/published/rules.yaml is worth: its rows are predicted without it",
     OPTION_FLAG(struct lab_validation, has_rules)},
    {"predictions", 0, "FILE",
     "Take predictions from what `calibrate steps --predictions` wrote; sources that it lacks are "
     "simulated",
     OPTION_TEXT(struct lab_validation, predictions_path)},
    {"held-out", 0, "WHAT",
     "Of these, the ones by fits that did not see what: source (default), fold or nothing",
     OPTION_CHOICE(struct lab_validation, held_out, held_out_names, HELD_OUT_COUNT_)},
    OPTIONS_APART,
    {0},
};

static bool check_options(const struct lab_validation *lab)
{
    const struct options *options = &lab->validation.options;
    return validated_check_column(lab->validation.ratios, options->cli->diag) &&
           (lab->predictions_path == NULL ||
            (options_refuse(options, "rules", "rows that are not simulated",
                            "leave out --predictions") &&
             options_refuse(options, "as-typed", "predictions of a file, which are of whole rows",
                            "leave out --predictions"))) &&
           (lab->predictions_path != NULL ||
            options_refuse(options, "held-out", "rows that are simulated",
                           "name a file of --predictions, or leave it out"));
}

/* ---- predictions of a file -------------------------------------------------------------- */

static bool load_predictions(struct lab_validation *lab)
{
    struct validation *validation = &lab->validation;
    struct cli *cli = validation->options.cli;
    if (lab->predictions_path == NULL) {
        return true;
    }
    lab->predictions = predictions_load(cli->arena, lab->predictions_path,
                                        (enum held_out)lab->held_out, cli->diag);
    if (lab->predictions == NULL ||
        !predictions_check(cli->arena, lab->predictions, validation->found.tables,
                           validation->found.table_count, cli->diag)) {
        return false;
    }
    lab->given = predictions_given(lab->predictions);
    validation->given = &lab->given;
    return true;
}

/* ---- what is said, and what is written --------------------------------------------------- */

/* Whose predictions they are. */
static void add_origin(const struct validation *validation, struct sheet *sheet)
{
    const struct lab_validation *lab = (const struct lab_validation *)validation;
    const char *path = lab->predictions_path;
    sheet_text(sheet, "predictions", path);
    sheet_text(sheet, "held_out", path != NULL ? held_out_names[lab->held_out] : NULL);
    if (path != NULL) {
        sheet_say(sheet, "predicted in %s by %s\n\n", path,
                  lab->held_out == HELD_OUT_NOTHING ? "the fit to all rows"
                  : lab->held_out == HELD_OUT_FOLD  ? "fits to the other half of the configurations"
                                                    : "fits to the other sources");
    }
}

static void add_more(const struct validation *validation, struct sheet *sheet)
{
    const struct lab_validation *lab = (const struct lab_validation *)validation;
    if (lab->has_axes) {
        validate_axes_print(lab, sheet);
    }
    if (lab->has_anchors) {
        validate_anchors_print(lab, sheet);
    }
    if (lab->has_rules) {
        validate_rules_print(lab, sheet);
    }
}

static bool write_errors(const struct lab_validation *lab)
{
    const struct validation *validation = &lab->validation;
    struct cli *cli = validation->options.cli;
    if (lab->errors == NULL) {
        return true;
    }
    const struct band_votes votes =
        score_votes(cli->arena, validation->found.scored, validation->found.scored_count);
    return path_make_directories(cli->arena, lab->errors, cli->diag) &&
           band_write(cli->arena, lab->errors, &votes, cli->diag);
}

static bool write_pairs(const struct lab_validation *lab)
{
    const struct validation *validation = &lab->validation;
    struct cli *cli = validation->options.cli;
    if (lab->pairs == NULL) {
        return true;
    }
    const struct pairs pairs =
        pairs_of(cli->arena, validation->found.scored, validation->found.scored_count);
    return path_make_directories(cli->arena, lab->pairs, cli->diag) &&
           ratio_pairs_write(cli->arena, lab->pairs, &pairs, lab->predictions, cli->diag);
}

static int run(struct options *options)
{
    struct lab_validation *lab = (struct lab_validation *)options;
    struct validation *validation = &lab->validation;
    validation->simulates_all = lab->errors != NULL;
    if (!check_options(lab)) {
        return EXIT_USAGE;
    }
    if (!validate_open(validation) || !load_predictions(lab) || !validate_predict(validation)) {
        return EXIT_INPUT;
    }
    const int status = validate_tell(validation);
    if (status != 0) {
        return status;
    }
    return write_errors(lab) && write_pairs(lab) && validate_draw(validation) ? 0 : EXIT_FAILED;
}

const struct command command_lab_validate = {
    .name = "validate",
    .summary = "measured runs beside predictions: what bands, ratios, anchors and rules are worth",
    .arguments = "FILE.csv...",
    .about =
        "Predicts every measured run of FILE.csv as `stoker validate` does, and says how well "
        "ratios of them are predicted, what anchors, rules and bands are worth; it writes the "
        "tables that bands are from."
        "\vExamples: stoker-lab validate tests/published/runs.csv tests/published/networks.csv "
        "--summary --ratios\n"
        "stoker-lab validate tests/published/runs.csv --rules\n"
        "stoker-lab validate mine.csv --predictions out.csv --errors models/validated.csv --pairs "
        "models/ratios.csv\n"
        "Many rows are shared among machines by `stoker validate --slurm`, whose files "
        "--read-steps "
        "takes. Exit status as of `stoker validate`.",
    .options = {validate_options, own_options, options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "a CSV file of measured runs",
    .input_size = sizeof(struct lab_validation),
    .defaults = &(const struct lab_validation){.held_out = HELD_OUT_SOURCE,
                                               .validation = {.add_origin = add_origin,
                                                              .add_more = add_more}},
    .run = run,
};
