/* The figures of a prediction on a sheet: the document of `stoker run --json`, whole.
 *
 * It is that of design.md section 5: SI units, fractions instead of per cent, keys always there and
 * in the same order. Memory kinds without a unit in their name are bytes of the fullest GPU. Lists
 * of what a step does are empty where there is no step.
 */
#ifndef REPORT_RESULT_SHEET_H
#define REPORT_RESULT_SHEET_H

#include "report/sheet.h"
#include "run/result.h"

void result_sheet_add(const struct result *result, struct sheet *sheet);

/* A row for each figure that is shown (run/figures.h) and exists, in a list of two columns. */
void result_sheet_show(const struct result *result, struct sheet *list);

#endif
