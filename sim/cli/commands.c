/* The table of commands, in the order in which `stoker help` shows them, and
 * the search for the nearest name.
 */
#include "cli/commands.h"

#include <string.h>

const struct command commands[] = {
    {"run", "predict one scenario: step, MFU, days, money, energy", command_run},
    {"compare", "several scenarios or variants side by side, and what changed", command_compare},
    {"sweep", "every combination of a scenario's sweep, stored as it goes", command_sweep},
    {"merge", "several results files into one, kept apart by build", command_merge},
    {"collective", "one collective over a range of sizes, as nccl-tests prints it",
     command_collective},
    {"plot", "draw a stored study with gnuplot", command_plot},
    {"list", "models, GPUs, clusters, scenarios, studies and what else there is", command_list},
    {"show", "one of them with everything it says and what follows from it", command_show},
    {"explain", "the arithmetic of a prediction, number by number", command_explain},
    {"import", "files of Hugging Face, NCCL, nvidia-smi, Slurm as YAML; logs as measured runs",
     command_import},
    {"validate", "measured runs of a CSV beside predictions, and how far off they are",
     command_validate},
    {"calibrate", "constants from measurements: collectives, GEMMs, attention, whole steps",
     command_calibrate},
};
const uint32_t command_count = sizeof commands / sizeof *commands;

const struct command *command_find(const char *name)
{
    for (uint32_t i = 0; i < command_count; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

const char *command_nearest(const char *name)
{
    const char *names[sizeof commands / sizeof *commands];
    for (uint32_t i = 0; i < command_count; i++) {
        names[i] = commands[i].name;
    }
    return diag_nearest(name, names, command_count);
}
