/* The commands: one table, a row each. Adding a command is a file and a row. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "base/diag.h"

/* What every command works with. Its messages are printed by main, on stderr. */
struct cli {
    struct arena *arena;
    struct diag *diag;
    bool is_quiet; /* -q: no notes, warnings, progress */
};

/* Returns the exit status, unless an error in the diag says another. argv[0] is
 * "stoker NAME". */
typedef int command_function(struct cli *cli, int argc, char **argv);

struct command {
    const char *name;
    const char *summary; /* one line for the list */
    command_function *function;
};

extern const struct command commands[];
extern const uint32_t command_count;

/* NULL when there is none of that name. */
const struct command *command_find(const char *name);

/* The name of the command nearest to `name`, or NULL. */
const char *command_nearest(const char *name);

command_function command_run;
command_function command_compare;
command_function command_sweep;
command_function command_merge;
command_function command_collective;
command_function command_plot;
command_function command_list;
command_function command_show;
command_function command_explain;
command_function command_import;
command_function command_validate;
command_function command_calibrate;

#endif
