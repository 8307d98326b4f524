/* The list of commands, as `stoker help` and wrong usage print it. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

void help_print_commands(FILE *out);

#endif
