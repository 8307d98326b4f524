/* Texts that many rows have, stored once each: names of links, causes and keys of runs in the lists
 * that hang on a run hold numbers of these (table `text`), which views give back as texts.
 *
 * Numbers are known for as long as what they were read from stands: behind a transaction that was
 * rolled back they are forgotten (texts_forget).
 */
#ifndef STORE_STORE_TEXTS_H
#define STORE_STORE_TEXTS_H

#include "store/store_sql.h"

/* The table, in a new file. */
MUST_USE bool texts_create(struct store *store, struct diag *diag);

/* A text's number; of a new text, which is stored, the next. Inside a transaction. */
MUST_USE bool texts_number(struct store *store, const char *text, int64_t *number,
                           struct diag *diag);

/* What was read of the file. */
void texts_forget(struct store *store);

/* Closes what is owned: the last call. */
void texts_close(struct store *store);

#endif
