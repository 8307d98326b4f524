/* What is said of a prediction's anchor (input/study/anchor): by which measured run it was
 * corrected, and by how much. Nothing where there is none.
 *
 * JSON: anchor{run, scenario, measured_step_s, predicted_step_s, weight, factor, band, votes}.
 */
#ifndef REPORT_ANCHOR_SHEET_H
#define REPORT_ANCHOR_SHEET_H

#include "report/sheet.h"

struct anchor;

void anchor_add(struct sheet *sheet, const struct anchor *anchor);

/* "anchored by my.log: 4.20 s measured, 3.83 s predicted; ...", a line. */
void anchor_say(struct sheet *sheet, const struct anchor *anchor);

#endif
