/* The words for options, each from the row that reads it. */
#include "cli/anchor.h"
#include "cli/reference/reference.h"

#include "base/arena.h"
#include "cli/options.h"
#include "cli/study/session.h"

const struct reference_table reference_tables[] = {
    {options_prediction, "Scenarios"},
    {options_anchor, "Anchors"},
    {options_row, "Rows of a table of runs"},
    {options_convention, "MFU"},
    {options_store, "Results"},
    {options_no_store, "Results that are not kept"},
    {session_options, "Plots of studies"},
    {options_general, "All commands"},
};
const uint32_t reference_table_count = sizeof reference_tables / sizeof *reference_tables;

const char *reference_shared(const struct command_option *table)
{
    for (uint32_t i = 0; i < reference_table_count; i++) {
        if (reference_tables[i].rows == table) {
            return reference_tables[i].title;
        }
    }
    return NULL;
}

const char *reference_option(struct arena *arena, const struct command_option *option)
{
    const char *letter = option->letter != 0 ? arena_printf(arena, "-%c, ", option->letter) : "";
    return arena_printf(arena, option->is_optional ? "%s--%s[%s%s]" : "%s--%s%s%s", letter,
                        option->name, option->argument != NULL ? "=" : "",
                        option->argument != NULL ? option->argument : "");
}
