/* The command `stoker calibrate steps`: it fits the constants of software
 * profiles and GPUs jointly to the measured times of whole steps.
 */
#include "cli/calibrate/calibrate_steps.h"

#include "base/arena.h"
#include "lab/fit/fit_limit.h"
#include "lab/fit/fit_priors.h"
#include "lab/published/published_columns.h"
#include "lab/score.h"

#include <string.h>

enum { KEY_CONSTANTS = 0xc00, KEY_WRITE, KEY_ROUNDS, KEY_REPEATS, KEY_ERRORS, KEY_PRIORS };
enum { EXIT_FAILURE_ = 1, EXIT_INPUT = 3 };

/* ---- the command line ----------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {"constants", KEY_CONSTANTS, "FILE", 0,
     "What is fitted, with priors (default: tests/published/constants.yaml)", 0},
    {"priors", KEY_PRIORS, "WHICH", 0,
     "catalogue: what its files say now (default). file: those of --constants, for a fit to all "
     "that the catalogue was fitted to",
     0},
    {"jobs", 'j', "N", 0, "Processes that simulate rows (default: as many as cores)", 0},
    {"write", KEY_WRITE, NULL, 0, "Put the fitted values into the files of the catalogue", 0},
    {"rounds", KEY_ROUNDS, "N", 0, "Sets of slopes on the way (default: 2)", 0},
    {"repeats", KEY_REPEATS, "N", 0, "Splits into halves of the cross-validation (default: 10)", 0},
    {"errors", KEY_ERRORS, "OUT.csv", 0,
     "Write each vote's error by the fit without its source, as validate --errors does", 0},
    {NULL, 0, NULL, 0, "General:", -1},
    {NULL, 0, NULL, 0, NULL, 0},
};

static bool takes_file_priors(const char *which, struct argp_state *state)
{
    const bool is_file = strcmp(which, "file") == 0;
    if (!is_file && strcmp(which, "catalogue") != 0) {
        argp_error(state, "--priors '%s': catalogue or file", which);
    }
    return is_file;
}

/* A wrong number ends the program as argp does. */
static error_t parse(int key, char *argument, struct argp_state *state)
{
    static const struct options_rule rule = {1, 1, 1, "a CSV file of measured runs"};
    struct steps_fit *steps = state->input;
    switch (key) {
    case KEY_CONSTANTS:
        steps->constants_path = argument;
        return 0;
    case 'j':
        steps->jobs = options_count(argument, 256, state);
        return 0;
    case KEY_PRIORS:
        steps->takes_file_priors = takes_file_priors(argument, state);
        return 0;
    case KEY_WRITE:
        steps->writes = true;
        return 0;
    case KEY_ERRORS:
        steps->errors_path = argument;
        return 0;
    case KEY_ROUNDS:
        steps->rounds = options_count(argument, 20, state);
        return 0;
    case KEY_REPEATS:
        steps->repeats = options_count(argument, 1000, state);
        return 0;
    default:
        return options_parse_common(key, argument, state, &rule);
    }
}

static const struct argp_child children[] = {{&options_general, 0, NULL, -1}, {NULL, 0, NULL, 0}};

static const struct argp parser = {
    .options = option_list,
    .parser = parse,
    .args_doc = "FILE.csv",
    .doc = "Fits constants of software profiles (and GPUs) jointly to measured step times, from "
           "one row on: each starts from what the catalogue says and moves as far as the rows pull "
           "against that; what no row uses stays. Says how well it fits, how far rows that were "
           "not fitted are off (cross-validation, sources left out), and what each effect is worth."
           "\vExamples: stoker calibrate steps my-runs.csv --write\n"
           "stoker calibrate steps tests/published/runs.csv --priors file --rounds 1\n"
           "Every row is simulated some hundred times: minutes for hundreds of rows.\n"
           "Exit status 3: a file cannot be read, or no row can be predicted with it. 1: what was "
           "fitted misses the rows by more than 10 % in the median; nothing is written.",
    .children = children,
};

/* ---- the fit ---------------------------------------------------------------------------- */

static void progress(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

static bool open_problem(struct steps_fit *steps)
{
    struct cli *cli = steps->options.cli;
    const struct fit_plan *plan = fit_plan_load(cli->arena, steps->constants_path, cli->diag);
    const struct published_table *table =
        published_load_runs(cli->arena, steps->options.arguments[0], cli->diag);
    if (plan != NULL && !steps->takes_file_priors) {
        plan = fit_plan_at_catalogue(cli->arena, plan, &steps->catalogue, cli->diag);
    }
    if (plan == NULL || table == NULL) {
        return false;
    }
    steps->rows = (struct fit_rows){
        .arena = cli->arena,
        .diag = cli->diag,
        .table = table,
        .catalogue = &steps->catalogue,
        .jobs = (uint32_t)steps->jobs,
        .plan = plan,
    };
    if (!fit_rows_open(&steps->rows, cli->diag)) {
        return false;
    }
    steps->problem = fit_rows_problem(&steps->rows);
    steps->problem.progress = cli->is_quiet ? NULL : progress;
    return true;
}

static bool fit_all(struct steps_fit *steps)
{
    struct cli *cli = steps->options.cli;
    struct arena *arena = cli->arena;
    const uint32_t repeats = (uint32_t)steps->repeats;
    steps->fit = fit_run(arena, &steps->problem, (uint32_t)steps->rounds, cli->diag);
    if (steps->fit == NULL) {
        return false;
    }
    steps->has_folds = steps->problem.votes.config_count >= STEPS_FOLD_CONFIGS_MIN;
    if (steps->has_folds) {
        const struct fit_system system = fit_system_of(arena, steps->fit, NULL);
        steps->folds = fit_cross_validate(arena, &system, &steps->problem, repeats);
    }
    steps->left_out_error = arena_array(arena, steps->rows.count, sizeof *steps->left_out_error);
    steps->left_out = fit_leave_out(arena, steps->fit, steps->left_out_error);
    steps->ablation = fit_ablate(arena, steps->fit, repeats);
    steps->parts = steps->ablation != NULL ? fit_remove_parts(arena, steps->fit, repeats) : NULL;
    return steps->parts != NULL &&
           (!steps->has_folds || fit_check_fold(arena, steps->fit, &steps->check));
}

/* Constants that are far off explain nothing: they would only spoil other predictions. */
static bool check_error(const struct steps_fit *steps)
{
    struct cli *cli = steps->options.cli;
    double *error = arena_array(cli->arena, steps->rows.count, sizeof *error);
    fit_errors_of(steps->fit->residual, steps->rows.count, error);
    const struct score score = votes_score(cli->arena, &steps->problem.votes, NULL, error);
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

/* What rows told goes into the files. */
static bool write_values(struct steps_fit *steps)
{
    struct cli *cli = steps->options.cli;
    const struct fit_plan *plan = steps->problem.plan;
    double *values = arena_array(cli->arena, plan->count, sizeof *values);
    uint32_t count = 0;
    for (uint32_t k = 0; k < plan->count; k++) {
        if (steps->fit->is_told[k]) {
            values[count++] = steps->fit->value[k];
        }
    }
    return fit_write(cli->arena, &steps->catalogue,
                     fit_plan_narrow(cli->arena, plan, steps->fit->is_told), values,
                     &steps->changes, cli->diag);
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
    return band_write(steps->errors_path, &votes, cli->diag);
}

int calibrate_steps(struct cli *cli, int argc, char **argv)
{
    struct steps_fit *steps = arena_alloc(cli->arena, sizeof *steps);
    *steps = (struct steps_fit){
        .constants_path = "tests/published/constants.yaml", .rounds = 2, .repeats = 10};
    options_init(&steps->options, cli);
    options_parse(&parser, argc, argv, steps);
    steps->catalogue = options_catalogue(&steps->options);
    if (!open_problem(steps) || !fit_all(steps)) {
        return EXIT_INPUT;
    }
    const bool is_met = check_error(steps);
    const bool is_written = is_met && (!steps->writes || write_values(steps));
    if (steps->options.is_json) {
        calibrate_steps_print_json(steps, stdout);
    } else {
        calibrate_steps_print(steps, stdout);
    }
    return is_written && write_errors(steps) ? 0 : EXIT_FAILURE_;
}
