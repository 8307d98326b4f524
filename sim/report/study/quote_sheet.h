/* What `stoker quote` says: who wins and how sure that is, what turns it, what to measure before
 * signing; then each offer's figures with their bands, cash by month, and how its jobs go.
 */
#ifndef REPORT_STUDY_QUOTE_SHEET_H
#define REPORT_STUDY_QUOTE_SHEET_H

#include "report/sheet.h"
#include "report/against_sheet.h"
#include "study/quote/quote_found.h"

/* All of it; a DIAG_INFEASIBLE where no offer holds the jobs. */
void quote_add(const struct quote_found *found, const struct against_rows *rows,
               struct sheet *sheet, struct diag *diag);

#endif
