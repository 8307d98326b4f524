/* The command `stoker run`: it predicts one scenario, stores the result, and
 * prints it on one screen.
 */
#include "cli/predict.h"

#include "base/arena.h"
#include "report/screen.h"
#include "lab/band.h"

enum { KEY_NO_DB = 0x200, EXIT_USAGE = 2, EXIT_INPUT = 3 };

static const struct argp_option option_list[] = {
    {"no-db", KEY_NO_DB, NULL, 0, "Do not store the result", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    static const struct options_rule rule = {5, 1, 1, "a scenario file"};
    struct options *options = state->input;
    if (key == KEY_NO_DB) {
        options->stores = false;
        options->given |= GIVEN_NO_DB;
        return 0;
    }
    return options_parse_common(key, argument, state, &rule);
}

static const struct argp_child children[] = {
    {&options_prediction, 0, NULL, 0}, {&options_row, 0, NULL, 0},
    {&options_convention, 0, NULL, 0}, {&options_store, 0, NULL, 0},
    {&options_general, 0, NULL, 0},    {NULL, 0, NULL, 0},
};

static const struct argp parser = {
    .options = option_list,
    .parser = parse,
    .args_doc = "FILE",
    .doc = "Predicts one scenario: step time and where it goes, MFU, memory, days, money, energy."
           "\vExample: stoker run scenarios/quickstart.yaml --set parallel.tp=4\n"
           "stoker run tests/published/runs.csv --row titan-8b-8g-FSDP\n"
           "Exit status 4: the plan does not fit into memory; the result is printed all the same.",
    .children = children,
};

static void store_result(const struct options *options, const struct result *result)
{
    struct cli *cli = options->cli;
    struct store *store = store_open(cli->arena, options->db_path, cli->diag);
    const bool is_stored = store != NULL && store_run(store, result, cli->diag);
    store_close(store);
    if (is_stored && options->is_verbose) {
        diag_add(cli->diag, DIAG_NOTE, NULL, "stored as %s in %s", result->key, options->db_path);
    }
}

static const struct band *find_band(const struct options *options, const struct result *result)
{
    struct options silent = *options; /* where it looks has been told */
    silent.is_verbose = false;
    const struct catalogue catalogue = options_catalogue(&silent);
    return band_find(options->cli->arena, &catalogue, result, options->cli->diag);
}

int command_run(struct cli *cli, int argc, char **argv)
{
    struct options options;
    options_init(&options, cli);
    options_parse(&parser, argc, argv, &options);
    if ((options.given & GIVEN_DB) != 0 &&
        !options_refuse(&options, GIVEN_NO_DB, "a run that is stored by --db",
                        "give one of the two")) {
        return EXIT_USAGE;
    }
    const struct scenario *scenario = predict_load(&options, options.arguments[0]);
    if (scenario == NULL) {
        return EXIT_INPUT;
    }
    struct result result;
    predict_result(&options, scenario, &result);
    result.band = find_band(&options, &result);
    if (options.is_json) {
        screen_json(&result, stdout);
    } else {
        screen_run(&result, cli->arena, stdout);
    }
    if (options.stores) {
        store_result(&options, &result);
    }
    predict_check_placement(&options, &result);
    predict_check_memory(&options, &result);
    return 0;
}
