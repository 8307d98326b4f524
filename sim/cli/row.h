/* One row of a CSV of measured runs (published_rows.h) as the scenario that it describes:
 * what `--row ID` of run, explain and show means.
 *
 * The scenario is the one that `stoker validate` predicts, with what was blank filled as there;
 * what was filled is told by a note. It is then an ordinary one: `--set` changes it as it
 * changes a file.
 */
#ifndef CLI_ROW_H
#define CLI_ROW_H

#include "cli/options.h"
#include "bands/published_table.h"

/* The file's name ends in .csv. */
bool row_is_table(const char *path);

/* A usage error that a table needs --row; returns NULL. */
struct scenario *row_missing(const struct options *options, const char *path);

/* The scenario of the row of that id, whose number is set. NULL, with a message, when there is none
 * or it is no scenario. */
MUST_USE struct scenario *row_scenario(struct cli *cli, const struct catalogue *catalogue,
                                       const struct published_table *table, const char *id,
                                       uint32_t *number);

/* The same of --row, with --set. */
MUST_USE struct scenario *row_load(const struct options *options, const char *path);

#endif
