/* What is said of changes that might turn a comparison (study/flip): a sentence, and a table of
 * them, those that hurt the answer most first.
 */
#ifndef REPORT_STUDY_FLIP_SHEET_H
#define REPORT_STUDY_FLIP_SHEET_H

#include "report/sheet.h"
#include "study/flip/flip.h"

/* "A stays the fastest with 9 of 12 changes; turned by fp8 (0.93 x, clear)". `rows` are the points
 * as they are. NULL: no change has an answer. */
const char *flip_answer(struct arena *arena, const struct flip *flip, const struct store_row *rows);

void flip_add(const struct flip *flip, const struct store_row *rows, const struct against *against,
              struct sheet *sheet);

#endif
