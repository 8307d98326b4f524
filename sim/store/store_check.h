/* Inside the store: whether what a results file holds can be what we wrote into it. Anybody may
 * have written the file, so each value is looked at when it is read, before it is used: it is of
 * its column's kind, is there unless the column may be NULL, is finite and of a size that
 * predictions have, a number of something is not negative, and one that others divide by not 0, and
 * a point is one of those that its study has. */
#ifndef STORE_STORE_CHECK_H
#define STORE_STORE_CHECK_H

#include "store/store_sql.h"

/* The row of the relation that `statement` stands on. False with a DIAG_INPUT that names the table,
 * the row and the column. */
MUST_USE bool check_relation_row(struct store *store, const struct relation *relation,
                                 sqlite3_stmt *statement, struct diag *diag);

/* A row of any statement: the columns that are those of a table. */
MUST_USE bool check_row(struct store *store, sqlite3_stmt *statement, struct diag *diag);

/* No point of the study (NULL: of any) is numbered beyond those that it has: what is said of it
 * would be looked for among these. */
MUST_USE bool check_points(struct store *store, const char *study_key, struct diag *diag);

#endif
