/* Which arguments may be names is the command's (enum command_scenarios); folders are few. */
#include "cli/study/named.h"

#include "base/arena.h"
#include "cli/options.h"
#include "report/show/show_name.h"

#include <string.h>

static bool may_be_name(const struct options *options, uint32_t number)
{
    switch (options->command->scenarios) {
    case SCENARIOS_NONE:
        return false;
    case SCENARIOS_FIRST:
        return number == 0;
    case SCENARIOS_LAST:
        return number + 1 == options->arguments.count;
    case SCENARIOS_ALL:
    case SCENARIOS_ALSO:
        return true;
    }
    return false;
}

bool named_scenarios(struct options *options)
{
    struct cli *cli = options->cli;
    const bool is_alone = options->command->scenarios != SCENARIOS_ALSO;
    if (options->command->scenarios == SCENARIOS_NONE) {
        return true;
    }
    const struct catalogue catalogue = options_catalogue(options);
    for (uint32_t i = 0; i < options->arguments.count; i++) {
        const char *text = options->arguments.items[i];
        if (!may_be_name(options, i) || !catalogue_is_name(text) || doc_files_exist(NULL, text)) {
            continue;
        }
        const char *path = show_name_scenario(cli->arena, &catalogue, text);
        if (path != NULL) {
            options->arguments.items[i] = path;
        } else if (is_alone) {
            diag_add(cli->diag, DIAG_INPUT, NULL, "there is no file and no scenario '%s'", text);
            diag_help_nearest(
                cli->diag, show_name_nearest_scenario(cli->arena, &catalogue, text),
                "`stoker list scenarios` names the scenarios, `stoker new` writes one");
            return false;
        }
    }
    return true;
}
