/* The plan of constants, the tables, and the rows of both. */
#include "lab/cli/fit_tables.h"

#include "base/arena.h"
#include "lab/fit/fit_priors.h"
#include "measured/published/published_columns.h"
#include "measured/published/published_rules.h"

void fit_tables_progress(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

/* NULL after a diagnosis. */
static const struct published_table *load_table(struct cli *cli, const struct fit_tables *asked,
                                                const char *path)
{
    const struct published_table *table =
        published_load_runs(cli->arena, path, asked->catalogue, cli->diag);
    if (table == NULL || !asked->is_of_the_day) {
        return table;
    }
    struct published_table *dated = arena_alloc(cli->arena, sizeof *dated);
    *dated = *table;
    dated->rules = published_rules_of_the_day(cli->arena, table->rules);
    return dated;
}

bool fit_tables_open(struct cli *cli, const struct fit_tables *asked, struct fit_rows *rows,
                     struct fit_problem *problem)
{
    const struct fit_plan *plan = fit_plan_load(cli->arena, asked->constants_path, cli->diag);
    const uint32_t count = asked->paths->count;
    const struct published_table **tables = arena_array(cli->arena, count, sizeof *tables);
    bool is_good = true;
    for (uint32_t i = 0; i < count; i++) {
        tables[i] = load_table(cli, asked, asked->paths->items[i]);
        is_good = tables[i] != NULL && is_good;
    }
    if (plan != NULL && asked->priors == PRIORS_CATALOGUE) {
        plan = fit_plan_at_catalogue(cli->arena, plan, asked->catalogue, cli->diag);
    }
    if (plan == NULL || !is_good) {
        return false;
    }
    *rows = (struct fit_rows){
        .arena = cli->arena,
        .diag = cli->diag,
        .tables = tables,
        .table_count = count,
        .without = asked->without->items,
        .without_count = asked->without->count,
        .catalogue = asked->catalogue,
        .jobs = asked->jobs,
        .plan = plan,
    };
    if (!fit_rows_open(rows, cli->diag)) {
        return false;
    }
    *problem = fit_rows_problem(rows);
    problem->progress = cli->is_quiet ? NULL : fit_tables_progress;
    return true;
}
