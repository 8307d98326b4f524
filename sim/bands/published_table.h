/* A CSV file whose first line names its columns, as RFC 4180 has it: quoted fields, doubled quotes,
 * either end of line. Blank lines and a byte order mark do not count.
 *
 * A line that is not as the first says (fields too few or too many, a quote that is not closed)
 * is a row with a problem, and reading goes on with the next line. Who reads the table leaves it
 * out and says so (published_check).
 */
#ifndef BANDS_PUBLISHED_TABLE_H
#define BANDS_PUBLISHED_TABLE_H

#include "base/check.h"
#include "base/diag.h"
#include "input/doc/text_file.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct published_rules;

struct published_problem {
    const char *what; /* NULL: none */
    const char *help;
    const char *at; /* in the file */
};

struct published_table {
    const char *path;
    const char *const *columns; /* names, from the first line */
    const char *const *titles;  /* where each begins in the file */
    uint32_t column_count;
    const char *const *fields;                /* [row * column_count + column]; "" where blank */
    const char *const *begins;                /* where each field begins in the file */
    const struct published_problem *problems; /* of each row */
    uint32_t row_count;
    struct text_file file;
    const struct published_rules *rules; /* by which rows become scenarios; NULL: not read */
};

/* NULL after a diagnosis: the file cannot be read, or its first line is no list of names. */
MUST_USE const struct published_table *published_load(struct arena *arena, const char *path,
                                                      struct diag *diag);

/* The same of a text in memory, which lives as long as the table. */
MUST_USE const struct published_table *published_parse(struct arena *arena,
                                                       const struct text_file *file,
                                                       struct diag *diag);

/* False, with a message, when one of the columns is not there. */
MUST_USE bool published_has_columns(const struct published_table *table, const char *const *columns,
                                    uint32_t count, struct diag *diag);

/* A column by its name; column_count when there is none. */
uint32_t published_column(const struct published_table *table, const char *column);

/* A field of a row; "" when it is blank or there is no such column. */
const char *published_at(const struct published_table *table, uint32_t row, uint32_t column);
const char *published_text(const struct published_table *table, uint32_t row, const char *column);

/* False when blank or not a number. */
bool published_number_at(const struct published_table *table, uint32_t row, uint32_t column,
                         double *value);
bool published_number(const struct published_table *table, uint32_t row, const char *column,
                      double *value);

/* Where a field stands in the file; of a column that is not there ("" too): where the row does, or
 * its problem. */
struct place published_place(const struct published_table *table, uint32_t row, const char *column);

/* Where a column's name stands in the first line. */
struct place published_column_place(const struct published_table *table, uint32_t column);

#endif
