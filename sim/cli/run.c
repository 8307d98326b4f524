/* The command `stoker run`: it predicts one scenario, stores the result, and
 * prints it on one screen.
 */
#include "cli/anchor.h"
#include "bands/memory_errors.h"
#include "cli/predict.h"

#include "base/arena.h"
#include "base/workers.h"
#include "study/study.h"
#include "report/told.h"
#include "report/screen.h"
#include "bands/band.h"
#include "bands/limits.h"
#include "run/verdict.h"
#include "train/step_memo.h"

/* Begins with the options, so that shared parsers find them. */
struct runner {
    struct options options;
    int64_t jobs; /* 0: as many as there are cores */
};

static const struct command_option own_options[] = {
    {"jobs", 'j', "N",
     "Processes that draw the histories of a run with failures (default: as many as there are "
     "cores, where it takes long); the result is the same",
     OPTION_COUNT(struct runner, jobs, 1, WORKERS_MAX)},
    {0},
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

/* How far off a run may be, asked in the midst of its prediction. */
struct doubts {
    const struct options *options;
    const struct band *band; /* of its step; NULL: nobody asked yet */
};

static struct run_deviations deviations_of(void *context, const struct result *result)
{
    struct doubts *doubts = context;
    struct cli *cli = doubts->options->cli;
    const struct catalogue catalogue = options_catalogue_again(doubts->options);
    doubts->band = band_find(cli->arena, &catalogue, result, cli->diag);
    return limits_deviations(cli->arena, &catalogue, doubts->band, result, cli->diag);
}

static int run(struct options *options)
{
    struct cli *cli = options->cli;
    const struct scenario *scenario = predict_load(options, options->arguments.items[0]);
    if (scenario == NULL) {
        return EXIT_INPUT;
    }
    predict_tell_room(options, scenario);
    struct result result;
    const uint32_t jobs =
        workers_count((uint32_t)((const struct runner *)options)->jobs, WORKERS_MAX);
    struct doubts doubts = {options, NULL};
    struct step_memo *memo = step_memo_new();
    const struct predict_way way = {jobs, deviations_of, &doubts, memo};
    predict_result(options, scenario, &way, &result);
    if (!verdict_of_plan(&result, cli->diag)) {
        step_memo_free(memo);
        return EXIT_INPUT; /* or what its messages say */
    }
    predict_hold(options, doubts.band, &result);
    predict_rank_assumptions(options, memo, &result);
    predict_ask_unsaid(options, memo, &result);
    step_memo_free(memo);
    options_print(options, screen_sheet(&result, cli->arena));
    if (!options->forgets) {
        store_result(options, &result);
    }
    told_placement(&result, cli->diag);
    predict_check_memory(options, scenario, &result.step);
    verdict_of_run(&result, cli->diag);
    return 0;
}

const struct command command_run = {
    .name = "run",
    .summary = "predict one scenario: step, MFU, days, money, energy",
    .scenarios = SCENARIOS_FIRST,
    .arguments = "FILE",
    .about = "Predicts one scenario: step time and where it goes, MFU, memory, days, money, energy."
             "\vExample: stoker run scenarios/quickstart.yaml --set parallel.tp=4\n"
             "stoker run tests/published/runs.csv --row titan-8b-8g-FSDP\n"
             "Exit status 4: the plan does not fit into memory, checkpoints do not fit on the "
             "storage or take longer than their interval, or the run makes no progress; the "
             "result is printed all the same.",
    .options = {own_options, options_prediction, options_anchor, options_row, options_convention,
                options_store, options_no_store, options_page, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "a scenario file",
    .input_size = sizeof(struct runner),
    .run = run,
};
