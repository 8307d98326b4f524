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
#include "measured/published/published_row.h"

/* A usage error that a table needs --row; returns NULL. */
struct scenario *row_missing(const struct options *options, const char *path);

/* The scenario of --row, with --set. NULL, with a message, when there is no such row or it is no
 * scenario. */
MUST_USE struct scenario *row_load(const struct options *options, const char *path);

#endif
