/* Text tables for people: aligned columns, units in the heads.
 *
 *     struct table *table = table_new(arena);
 *     table_column(table, "MFU %", TABLE_RIGHT);
 *     table_cell(table, "%.1f", 41.3);
 *     table_print(table, stdout);
 *
 * Cells go row by row; the last row is padded. Widths count UTF-8 characters.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "base/check.h"

#include <stdio.h>

struct arena;
struct table;

enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table *table_new(struct arena *arena);
void table_column(struct table *table, const char *head, enum table_align align);
void table_cell(struct table *table, const char *format, ...) PRINTF_LIKE(2, 3);
void table_row_end(struct table *table); /* fills what is missing with blanks */
void table_print(const struct table *table, FILE *out);

#endif
