/* How far predicted peaks of memory are off (bands/memory_errors): `rows[]`, `sources[]` and
 * `summary`.
 */
#ifndef REPORT_MEASURED_MEMORY_SHEET_H
#define REPORT_MEASURED_MEMORY_SHEET_H

#include "bands/memory_errors.h"
#include "report/sheet.h"

void memory_errors_add(const struct memory_errors *errors, struct sheet *sheet);

#endif
