/* Inside the store: rows as bytes, to be handed from one process of a program to another. */
#ifndef STORE_STORE_PACK_H
#define STORE_STORE_PACK_H

#include "store/store_rows.h"

/* In the arena of the rows. */
struct store_packed pack_rows(const struct row_list *rows);

/* Adds the rows to the list; texts are borrowed from the bytes. */
void unpack_rows(const struct store_packed *packed, struct row_list *rows);

#endif
