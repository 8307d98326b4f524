/* The table of the commands that `stoker` has, in the order in which help tells them. */
#include "cli/commands.h"

static const struct command *const commands[] = {
    &command_run,      &command_compare,   &command_sweep,      &command_search,  &command_whatif,
    &command_why,      &command_quote,     &command_budget,     &command_audit,   &command_diff,
    &command_new,      &command_merge,     &command_collective, &command_plot,    &command_report,
    &command_trace,    &command_list,      &command_show,       &command_explain, &command_import,
    &command_validate, &command_calibrate, &command_help,
};

const struct program program_stoker = {
    .name = "stoker",
    .summary = "how fast a large model trains on a cluster",
    .about = "How fast a large model trains on a cluster, why not faster, and what would change "
             "that.",
    .example = "stoker run scenarios/quickstart.yaml",
    .commands = commands,
    .command_count = sizeof commands / sizeof *commands,
    .has_files = true,
};
