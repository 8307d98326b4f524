/* What steps hang on, in few words: shares of their critical paths by cause (train/critical).
 *
 * `bound by` of a point says two causes and what is in them, in a sentence; a table of points has
 * room for numbers alone. Those are these: a column of per cents for each cause that is a twentieth
 * of any path, or a sentence where all rows have the same ones.
 */
#ifndef REPORT_HANGS_H
#define REPORT_HANGS_H

#include "report/sheet.h"
#include "store/store.h"

/* "TP", "compute": a cause in a head. */
const char *hangs_name(struct arena *arena, enum cause cause);

/* Of the path of a row that has one: 0 to 1. */
double hangs_share(const struct store_row *row, enum cause cause);

/* "compute 76 %, TP 10, PP 6": the largest, up to three, of at least a twentieth. */
const char *hangs_text(struct arena *arena, const struct store_row *row);

/* Rows that have a path, by their numbers. */
struct hangs_rows {
    const struct store_row *rows;
    const uint32_t *order; /* [count] */
    uint32_t count;
};

/* "all hang on compute (57 to 84 % of the critical path), but ZeRO 3 on DP (58 %); tp twice also
 * on TP (32 %)"; NULL: there is none. */
const char *hangs_sentence(struct arena *arena, const struct hangs_rows *of);

/* What a table of points says of it, of those that have a result: the heads of its columns, into
 * `fields`, of which the next is returned; a row's cells; and a sentence below the table, where
 * shares differ so little (by 5 points) that people have no columns. */
struct hangs {
    struct hangs_rows of;
    enum cause causes[CAUSE_COUNT_];
    uint32_t count;
    bool are_alike;
};
struct hangs hangs_of(struct arena *arena, const struct store_row *rows, uint32_t count);
struct field *hangs_heads(struct arena *arena, const struct hangs *hangs, struct field *fields);
void hangs_cells(const struct hangs *hangs, const struct store_row *row, struct sheet *table);
void hangs_say(const struct hangs *hangs, struct sheet *sheet);

#endif
