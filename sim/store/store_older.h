/* Results files of older schemas, brought to this one's.
 *
 * From schema 12 on: its tables had what these have, scenarios in whole among the runs, and each
 * text in each row. All rows are put into new tables, in one transaction; a column that the old
 * ones lack is NULL, and where it may not be the file stays as it is, and is refused.
 */
#ifndef STORE_STORE_OLDER_H
#define STORE_STORE_OLDER_H

#include "store/store_sql.h"

/* Makes the tables of a new file. */
typedef bool store_create_function(struct store *store, struct diag *diag);

/* Whether there is a way from that schema. */
bool older_is_known(int64_t schema);

/* With a note; false, with the reason: nothing was changed. */
MUST_USE bool older_bring(struct store *store, int64_t schema, store_create_function *create,
                          struct diag *diag);

#endif
