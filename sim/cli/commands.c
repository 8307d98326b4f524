/* The table of commands, in the order in which --help lists them. */
#include "cli/commands.h"

#include <string.h>

const struct command *const commands[] = {
    &command_run,    &command_compare,  &command_sweep,     &command_search,
    &command_whatif, &command_new,      &command_merge,     &command_collective,
    &command_plot,   &command_list,     &command_show,      &command_explain,
    &command_import, &command_validate, &command_calibrate, &command_help,
};
const uint32_t command_count = sizeof commands / sizeof *commands;

const struct command *command_find(const char *name)
{
    for (uint32_t i = 0; i < command_count; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

const char *command_nearest(const char *name)
{
    const char *names[sizeof commands / sizeof *commands];
    for (uint32_t i = 0; i < command_count; i++) {
        names[i] = commands[i]->name;
    }
    return diag_nearest(name, names, command_count);
}
