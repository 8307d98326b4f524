/* What is said of points side by side, and then of each against one of them.
 *
 * What a point is worth against another: the price of a GPU-hour that it may have more, when the
 * same tokens are to cost the same: what it saves of the other's cost, over its own GPU-hours. It
 * is what a faster network may cost, NICs, switches and cables, over the hours of its life.
 */
#ifndef REPORT_STUDY_COMPARE_SHEET_H
#define REPORT_STUDY_COMPARE_SHEET_H

#include "report/study/shown_points.h"

/* Which is fastest and which cheapest, in a sentence or two; NULL: the base has no result. */
const char *compare_answer(struct arena *arena, const struct shown_points *points,
                           const struct store_row *base);

/* The points are held against `base`, one of their rows; `wins` says in what share of draws each
 * wins; NULL: it is not known. */
void compare_add(const struct shown_points *points, const struct store_row *base,
                 const struct wins *wins, struct sheet *sheet);

#endif
