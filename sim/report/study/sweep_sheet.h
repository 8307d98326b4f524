/* What is said of the points of a sweep: a table of those that are listed, the best by what was
 * asked for or by each metric that decides, and how they stand against one of them.
 */
#ifndef REPORT_STUDY_SWEEP_SHEET_H
#define REPORT_STUDY_SWEEP_SHEET_H

#include "report/study/listing.h"
#include "report/study/shown_points.h"

/* Which points are best, a line for each measure. */
void sweep_answer(const struct shown_points *points, struct sheet *sheet);

/* The points are held against `base`, one of their rows. */
void sweep_add(const struct shown_points *points, const struct listing *listing,
               const struct store_row *base, struct sheet *sheet);

#endif
