/* The commands of the program `stoker-lab`, one row each, and those that need no file of their own.
 */
#include "lab/cli/lab_commands.h"

#include "cli/help.h"
#include "cli/options.h"
#include "lab/cli/calibrate_steps.h"

static const struct command *const commands[] = {
    &command_lab_validate, &command_lab_calibrate, &command_lab_backtest,
    &command_lab_bands,    &command_lab_help,
};

const struct program program_lab = {
    .name = "stoker-lab",
    .summary = "what the constants and bands of stoker's catalogue are made by",
    .about = "Fits the constants of stoker's catalogue to measured runs, and says what they, its "
             "rules and its bands are worth.",
    .example = "stoker-lab validate tests/published/networks.csv --summary --ratios",
    .commands = commands,
    .command_count = sizeof commands / sizeof *commands,
};

/* All else that is calibrated, users calibrate. */
static int refuse(struct options *options)
{
    diag_add(options->cli->diag, DIAG_USAGE, NULL, "the lab calibrates steps, not '%s'",
             options->arguments.items[0]);
    diag_help(options->cli->diag, "stoker-lab calibrate steps FILE.csv; `stoker calibrate` takes "
                                  "collectives, GEMMs, attention and memory");
    return EXIT_USAGE;
}

const struct command command_lab_calibrate = {
    .name = "calibrate",
    .summary = "constants of software profiles from measured steps, fitted jointly",
    .arguments = "steps FILE.csv...",
    .about = "Fits constants of software profiles to measured steps: `stoker-lab calibrate steps "
             "--help`.",
    .options = {options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "'steps', and a file",
    .sub = &command_calibrate_steps,
    .run = refuse,
};

const struct command command_lab_help = {
    .name = "help",
    .summary = "a command; its manual, completion",
    .arguments = "[COMMAND]",
    .about = "Tells of a command what its --help says. Without any, lists the commands."
             "\vExamples: stoker-lab help validate\n"
             "stoker-lab help --format man | man -l -\n"
             "source <(stoker-lab help --format bash)",
    .options = {help_options},
    .arguments_max = 1,
    .wanted = "a command",
    .input_size = sizeof(struct help),
    .run = help_run,
};
