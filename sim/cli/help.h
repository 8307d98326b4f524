/* The command `help` of each program, and the list of its commands, which wrong usage prints. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/options.h"

#include <stdio.h>

void help_print_commands(const struct program *program, FILE *out);

/* The command, of whichever program. */
struct help {
    struct options options;
    uint32_t format;
};
extern const struct command_option help_options[];
int help_run(struct options *options);

#endif
