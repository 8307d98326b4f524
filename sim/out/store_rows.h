/* Inside the store: a result's rows, in the order of the relations' columns. */
#ifndef OUT_STORE_ROWS_H
#define OUT_STORE_ROWS_H

#include "out/store_sql.h"

/* The columns of table `run`: what was predicted, from what, and what it took. */
void rows_run(const struct result *result, struct value *values);

void rows_breakdown(const struct result *result, size_t cause, struct value *values);
void rows_assumption(const struct result *result, size_t index, struct value *values);
void rows_link_use(const struct result *result, size_t index, struct value *values);
void rows_link_load(const struct result *result, size_t index, struct value *values);
void rows_traffic(const struct result *result, size_t index, struct value *values);
void rows_job(const struct result *result, size_t index, struct value *values);
void rows_study(const struct store_study *study, struct value *values);
void rows_point(const char *study_key, const struct store_point *point, struct value *values,
                struct arena *arena);
void rows_point_axis(const char *study_key, const struct store_point *point, uint32_t axis,
                     struct value *values);

/* Where a point's status stands among the values of rows_point. */
#define POINT_STATUS_COLUMN 5

#endif
