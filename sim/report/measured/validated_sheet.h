/* What is said of measured runs beside predictions (measured/validated): the rows, then how far the
 * predictions are off, over all rows and in groups; and ratios of rows. Fractions are per cent in
 * the text.
 */
#ifndef REPORT_MEASURED_VALIDATED_SHEET_H
#define REPORT_MEASURED_VALIDATED_SHEET_H

#include "measured/validated.h"
#include "report/sheet.h"

void validated_add_rows(const struct validated *validated, struct sheet *sheet);
void validated_add_summary(const struct validated *validated, struct sheet *sheet);

/* Pairs of scored rows that differ in a column, and in nothing else. */
void validated_add_ratios(const struct validated *validated, const char *column,
                          struct sheet *sheet);

/* Rows that were predicted and measured, as a picture. */
MUST_USE bool validated_draw(struct arena *arena, const struct validated *validated,
                             const char *path_base, uint32_t size, struct diag *diag);

#endif
