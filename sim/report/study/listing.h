/* Which points the table of `stoker sweep` has, in which order, and what it is written as.
 *
 *   --feasible     those that have a result alone
 *   --sort METRIC  the best first, by a metric of `stoker list metrics` or gpus (fewest first)
 *   --top N        the first N of them
 *   --format       csv (RFC 4180) or md: the table alone, for a spreadsheet or a page
 *
 * What is required goes before: points that meet all, those that miss, those without a result
 * (study/requirements); each of these is sorted by itself, ties as they are, and points without
 * the metric last. The JSON document, whose points are all of them in their order, and what is said
 * below the table know nothing of it.
 */
#ifndef REPORT_STUDY_LISTING_H
#define REPORT_STUDY_LISTING_H

#include "report/against_sheet.h"

struct requirements;

struct listing {
    bool is_feasible;                 /* only these */
    const struct figure_metric *sort; /* NULL: as they are */
    int64_t top;                      /* 0: all */
    size_t page_width;                /* that people read: a matrix may stand for it; 0: none */
};

/* The rows of the table by their number among the points; *count is how many. */
const uint32_t *listing_order(struct arena *arena, const struct listing *listing,
                              const struct against_rows *points,
                              const struct requirements *requirements, uint32_t *count);

/* How many of `count` points the table leaves out, below it; nothing where it has all. */
void listing_say_rest(uint32_t count, uint32_t listed, struct sheet *sheet);

#endif
