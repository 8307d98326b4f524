/* A study of two axes that is asked for one number a point, as a matrix: the axis with more values
 * downwards, the other across, the best and what equals it marked, beside what has no result why.
 *
 *     goodput %: every down, write across, * the best
 *      every     57.5 GB/s  1 TB/s  2 TB/s
 *      4 min          66.3    92.3   *93.4
 *      8 min          77.2    92.4    93.0
 */
#ifndef REPORT_STUDY_MATRIX_SHEET_H
#define REPORT_STUDY_MATRIX_SHEET_H

#include "report/study/shown_points.h"
#include "report/winners.h"

/* Two axes of at least two values each, every pair once; one metric that somebody asked for, and
 * nothing required, which a cell could not tell; and all columns have room on a page of that width:
 * the best might be in one that has not. */
bool matrix_has_room(const struct shown_points *points, const struct store_row *base,
                     size_t page_width);

/* `best`: by the metric; its `best` is NULL where none has it. */
void matrix_add(const struct shown_points *points, const struct store_row *base,
                const struct winners *best, struct sheet *sheet);

#endif
