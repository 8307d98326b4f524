/* What is said of several jobs on each of some fabrics (study/portfolio_found): what each fabric
 * loses, the leanest that loses no more than it may, what they cost.
 */
#ifndef REPORT_STUDY_PORTFOLIO_SHEET_H
#define REPORT_STUDY_PORTFOLIO_SHEET_H

#include "report/against_sheet.h"
#include "study/portfolio_found.h"

/* How many lose no more than they may, and which of them is cheapest. */
const char *portfolio_answer(struct arena *arena, const struct portfolio_found *found);

/* Of all rows, and with the layouts that were found where some were looked for. Where no fabric
 * loses so little, and where a job has no result on any, there is an error in the diag. */
void portfolio_add(const struct portfolio_found *found, const struct against_rows *rows,
                   bool has_layouts, struct sheet *sheet, struct diag *diag);

#endif
