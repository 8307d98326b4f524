/* Measured peaks of a GPU's memory beside what is predicted of the same, row by row: from these is
 * the error of memory (bands/memory_errors).
 */
#ifndef MEASURED_PUBLISHED_MEMORY_ROWS_H
#define MEASURED_PUBLISHED_MEMORY_ROWS_H

#include "bands/memory_errors.h"
#include "measured/published/published_rows.h"

/* A row that is not predicted, and why. */
struct memory_skipped {
    uint32_t row;
    const char *why;
};
struct memory_rows {
    struct memory_errors errors; /* its strings are the table's */
    const struct memory_skipped *skipped;
    uint32_t skipped_count;
};

/* Predicts each row of a table of peaks (published_load_peaks). */
struct memory_rows memory_rows_predict(struct arena *arena, const struct published_table *table,
                                       const struct catalogue *catalogue);

/* A warning for each row that was skipped. */
void memory_rows_warn(const struct published_table *table, const struct memory_rows *rows,
                      struct diag *diag);

/* False with a message at the file: no peak could be predicted or, where they are written, too few
 * for who reads that. */
MUST_USE bool memory_rows_check(const struct memory_rows *rows, const char *path, bool is_written,
                                struct diag *diag);

#endif
