/* The command `stoker-lab calibrate steps`: it fits the constants of software
 * profiles and GPUs jointly to the measured times of whole steps.
 */
#include "lab/cli/calibrate_steps.h"

#include "base/arena.h"
#include "base/path.h"
#include "measured/fit_limit.h"
#include "measured/score.h"

#include <string.h>

/* ---- the command line ----------------------------------------------------------------- */

static const char *const prior_words[PRIORS_COUNT_] = {
    [PRIORS_CATALOGUE] = "catalogue", [PRIORS_FILE] = "file"};

static const struct command_option own_options[] = {
    {"constants", 0, "FILE",
     "What is fitted, with priors (default: tests/published/constants.yaml)",
     OPTION_TEXT(struct steps_fit, constants_path)},
    {"priors", 0, "WHICH",
     "catalogue: what its files say now (default). file: those of --constants, for a fit to all "
     "that the catalogue was fitted to",
     OPTION_CHOICE(struct steps_fit, priors, prior_words, PRIORS_COUNT_)},
    {"jobs", 'j', "N", "Processes that simulate rows (default: as many as cores)",
     OPTION_COUNT(struct steps_fit, jobs, 1, 256)},
    {"write", 0, NULL, "Put the fitted values into the files of the catalogue",
     OPTION_FLAG(struct steps_fit, writes)},
    {"rounds", 0, "N", "Sets of slopes on the way (default: 2)",
     OPTION_COUNT(struct steps_fit, rounds, 1, 20)},
    {"repeats", 0, "N", "Splits into halves of the cross-validation (default: 10)",
     OPTION_COUNT(struct steps_fit, repeats, 1, 1000)},
    {"errors", 0, "OUT.csv",
     "Write each vote's error by the fit without its source, as validate --errors does",
     OPTION_TEXT(struct steps_fit, errors_path)},
    {"predictions", 0, "OUT.csv",
     "Write each row's step as fitted, by a half that it was not in, and without its source",
     OPTION_TEXT(struct steps_fit, predictions_path)},
    {"covariance", 0, "OUT.csv",
     "Write the fitted constants with their standard errors and correlations",
     OPTION_TEXT(struct steps_fit, covariance_path)},
    {"without", 0, "TEXT", "Leave out rows whose source has TEXT in it (may be repeated)",
     OPTION_LIST(struct steps_fit, without)},
    OPTIONS_APART,
    {0},
};

/* ---- the fit ---------------------------------------------------------------------------- */

static bool open_problem(struct steps_fit *steps)
{
    const struct fit_tables asked = {
        .constants_path = steps->constants_path,
        .priors = steps->priors,
        .paths = &steps->options.arguments,
        .without = &steps->without,
        .jobs = (uint32_t)steps->jobs,
        .catalogue = &steps->catalogue,
    };
    return fit_tables_open(steps->options.cli, &asked, &steps->rows, &steps->problem);
}

static bool fit_all(struct steps_fit *steps)
{
    struct cli *cli = steps->options.cli;
    struct arena *arena = cli->arena;
    steps->fit = fit_run(arena, &steps->problem, (uint32_t)steps->rounds, cli->diag);
    if (steps->fit == NULL) {
        return false;
    }
    const struct fit_system system = fit_system_of(arena, steps->fit, NULL);
    steps->folds = fit_cross_validate(arena, &system, &steps->problem, (uint32_t)steps->repeats);
    const uint32_t rows = steps->rows.count;
    double *left_out = arena_array(arena, rows, sizeof *left_out);
    steps->left_out = fit_leave_out(arena, steps->fit, left_out);
    steps->left_out_error = arena_array(arena, rows, sizeof *steps->left_out_error);
    fit_errors_of(left_out, rows, steps->left_out_error);
    steps->predictions = fit_predictions_of(arena, steps->fit, &steps->folds, left_out);
    steps->ablation = fit_ablate(arena, steps->fit, &steps->folds);
    steps->parts =
        steps->ablation != NULL ? fit_remove_parts(arena, steps->fit, &steps->folds) : NULL;
    return steps->parts != NULL &&
           (steps->folds.fits == 0 || fit_check_fold(arena, steps->fit, &steps->check));
}

/* Constants that are far off explain nothing: they would only spoil other predictions. */
static bool check_error(const struct steps_fit *steps)
{
    struct cli *cli = steps->options.cli;
    const struct score score = fit_score(cli->arena, &steps->problem.votes, steps->fit->residual);
    if (score.median <= FIT_MEDIAN_MAX) {
        return true;
    }
    diag_add(cli->diag, DIAG_FAILURE, NULL,
             "with the best constants the %u row%s off by %.1f %% in the median, and the limit is "
             "%.0f %%",
             steps->rows.count, steps->rows.count == 1 ? " is" : "s are", 100.0 * score.median,
             100.0 * FIT_MEDIAN_MAX);
    diag_help(cli->diag,
              "nothing is written. Constants move within their priors only: look for what "
              "the rows say wrongly (stoker explain FILE.csv --row ID), or for a cluster "
              "that is not as its file says");
    return false;
}

/* Bands are of runs of sources that nobody fitted to. */
static bool write_errors(const struct steps_fit *steps)
{
    struct cli *cli = steps->options.cli;
    const uint32_t count = steps->rows.count;
    if (steps->errors_path == NULL) {
        return true;
    }
    struct validated_row *rows = arena_array(cli->arena, count, sizeof *rows);
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = steps->rows.rows[i];
        rows[i].error = steps->left_out_error[i];
    }
    const struct band_votes votes = score_votes(cli->arena, rows, count);
    return path_make_directories(cli->arena, steps->errors_path, cli->diag) &&
           band_write(cli->arena, steps->errors_path, &votes, cli->diag);
}

/* What depends on how well it is met. */
static bool write_all(struct steps_fit *steps)
{
    struct cli *cli = steps->options.cli;
    if (!check_error(steps)) {
        return false;
    }
    return (!steps->writes ||
            fit_write(cli->arena, &steps->catalogue, steps->fit, &steps->changes, cli->diag)) &&
           write_errors(steps) &&
           (steps->predictions_path == NULL ||
            (path_make_directories(cli->arena, steps->predictions_path, cli->diag) &&
             fit_predictions_write(cli->arena, steps->predictions_path, &steps->rows,
                                   &steps->predictions, cli->diag))) &&
           (steps->covariance_path == NULL ||
            (path_make_directories(cli->arena, steps->covariance_path, cli->diag) &&
             fit_covariance_write(cli->arena, steps->covariance_path, steps->fit, cli->diag)));
}

/* What a fit from the file's priors prints does not hang on what the catalogue said before. */
static void tell_changes(const struct steps_fit *steps)
{
    for (uint32_t i = 0; i < steps->changes.count; i++) {
        const struct fit_change *change = &steps->changes.items[i];
        fprintf(stderr, "%s: %s: %s -> %s\n", change->path, change->key,
                change->before != NULL ? change->before : "(absent)", change->after);
    }
}

static int run(struct options *options)
{
    struct steps_fit *steps = (struct steps_fit *)options;
    steps->catalogue = options_catalogue(options);
    if (!open_problem(steps) || !fit_all(steps)) {
        return EXIT_INPUT;
    }
    const bool is_written = write_all(steps);
    if (steps->priors == PRIORS_FILE && !options->cli->is_quiet) {
        tell_changes(steps);
    }
    calibrate_steps_print(steps, stdout);
    return is_written ? 0 : EXIT_FAILED;
}

const struct command command_calibrate_steps = {
    .name = "steps",
    .summary = "constants of software profiles from measured steps, fitted jointly",
    .arguments = "FILE.csv...",
    .about =
        "Fits constants of software profiles (and GPUs) jointly to measured step times, from "
        "one row on: each starts from what the catalogue says and moves as far as the rows pull "
        "against that; what no row uses stays. Says how well it fits, how far rows that were "
        "not fitted are off (cross-validation, sources left out), and what each effect is worth."
        "\vExamples: stoker-lab calibrate steps my-runs.csv --write\n"
        "stoker-lab calibrate steps tests/published/runs.csv --priors file --rounds 1\n"
        "stoker-lab calibrate steps tests/published/runs.csv my-runs.csv --without SOURCE "
        "--priors file --predictions out.csv\n"
        "Every row is simulated some hundred times: minutes for hundreds of rows.\n"
        "Exit status 3: a file cannot be read, or no row can be predicted with it. 1: what was "
        "fitted misses the rows by more than 10 % in the median; nothing is written.",
    .options = {own_options, options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "a CSV file of measured runs",
    .input_size = sizeof(struct steps_fit),
    .defaults = &(const struct steps_fit){.constants_path = "tests/published/constants.yaml",
                                          .rounds = 2,
                                          .repeats = 10},
    .run = run,
};
