/* Inside the store: a result's rows, in the order of the relations' columns. */
#ifndef STORE_STORE_ROWS_H
#define STORE_STORE_ROWS_H

#include "store/store.h"
#include "store/store_sql.h"

/* A row of a table that is known by its relation: as many values as that has columns. */
struct row {
    enum relation_id id;
    struct value *values;
};

/* Rows: a run before what hangs on it, a point before its axes. Texts are borrowed from what they
 * were made of. */
struct row_list {
    struct arena *arena;
    struct row *items;
    uint32_t count;
    size_t capacity;
};

/* A row of zeroes at the end of the list, to be filled. */
struct value *rows_add(struct row_list *rows, enum relation_id id);

/* All rows of a result: run, breakdown, and all that hangs on it. */
void rows_of_result(const struct result *result, struct row_list *rows);

/* All rows of a point: those of its result, if it has one, its own, and its axes. */
void rows_of_point(const char *study_key, const struct store_point *point, struct row_list *rows);

void rows_study(const struct store_study *study, struct value *values);

/* Where a point's status stands among the values of rows_point. */
#define POINT_STATUS_COLUMN 5

#endif
