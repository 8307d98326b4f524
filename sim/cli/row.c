/* The row is found and made a scenario by measured/published/published_row. */
#include "cli/row.h"

#include "base/arena.h"
#include "input/scenario.h"
#include "measured/published/published_columns.h"
#include "measured/published/published_row.h"
#include "input/scenario_load.h"

struct scenario *row_missing(const struct options *options, const char *path)
{
    diag_add(options->cli->diag, DIAG_USAGE, NULL, "%s is a table of runs", path);
    diag_help(options->cli->diag, "say which: --row ID; `stoker validate` predicts all of them");
    return NULL;
}

struct scenario *row_load(const struct options *options, const char *path)
{
    struct cli *cli = options->cli;
    const struct catalogue catalogue = options_catalogue(options);
    const struct published_table *table =
        published_load_runs(cli->arena, path, &catalogue, cli->diag);
    const struct published_row row = {&catalogue, table, options->row};
    uint32_t number = 0;
    struct scenario *scenario =
        table != NULL ? published_row_scenario(cli->arena, &row, &number, cli->diag) : NULL;
    return scenario == NULL || options->sets.count == 0
               ? scenario
               : scenario_resolve(cli->arena, scenario->document, &catalogue, options->sets.items,
                                  options->sets.count, cli->diag);
}
