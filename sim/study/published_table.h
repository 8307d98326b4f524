/* A CSV file whose first line names its columns. */
#ifndef STUDY_PUBLISHED_TABLE_H
#define STUDY_PUBLISHED_TABLE_H

#include "base/check.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

struct published_table {
    const char *path;
    const char *const *columns; /* names, from the first line */
    uint32_t column_count;
    const char *const *fields; /* [row * column_count + column]; "" where blank */
    uint32_t row_count;
};

/* Quoted fields and doubled quotes as in RFC 4180. NULL after a diagnosis. */
MUST_USE const struct published_table *published_load(struct arena *arena, const char *path,
                                                      struct diag *diag);

/* A field of a row; "" when it is blank or there is no such column. */
const char *published_text(const struct published_table *table, uint32_t row, const char *column);

/* False when blank or not a number. */
bool published_number(const struct published_table *table, uint32_t row, const char *column,
                      double *value);

#endif
