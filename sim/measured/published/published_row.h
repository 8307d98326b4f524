/* One row of a CSV of measured runs (published_rows.h) as the scenario that it describes.
 *
 * The scenario is the one that `stoker validate` predicts, with what was blank filled as there;
 * what was filled is told by a note. It is then an ordinary one.
 */
#ifndef MEASURED_PUBLISHED_PUBLISHED_ROW_H
#define MEASURED_PUBLISHED_PUBLISHED_ROW_H

#include "bands/published_table.h"

/* The file's name ends in .csv. */
bool published_is_table(const char *path);

struct published_row {
    const struct catalogue *catalogue;
    const struct published_table *table;
    const char *id; /* of the row */
};

/* Its scenario, in the arena, and its number. NULL, with a message, when there is none or it is no
 * scenario. */
MUST_USE struct scenario *published_row_scenario(struct arena *arena,
                                                 const struct published_row *of, uint32_t *number,
                                                 struct diag *diag);

#endif
