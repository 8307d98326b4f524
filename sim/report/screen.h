/* One prediction, whole: the screen of `stoker run`. Its document is in report/result_sheet.
 *
 * The screen answers in this order: how long and how much; where the step
 * goes, by cause, in seconds and per cent of the step; memory against the
 * limit; what bounds it; how MFU was counted; the assumed constants it leaned
 * on; what the simulation itself took. Printed digits are rounded so that each
 * column adds up to its total line exactly (largest remainder), and every
 * cause that is not zero has a line.
 *
 * What does not exist (base/absent.h: the step of a plan that does not fit, days without `run:`) is
 * "-" on the screen.
 */
#ifndef REPORT_SCREEN_H
#define REPORT_SCREEN_H

#include "report/sheet.h"
#include "run/result.h"

#define RUN_SCHEMA "stoker.run/1"

/* Text and document. */
struct sheet *screen_sheet(const struct result *result, struct arena *arena);

/* Where the step goes: every cause that is not zero, their sum, and what bounds it. */
void screen_causes(const struct result *result, struct sheet *sheet);

/* Splits `total` units among `count` parts (sum above 0) in proportion, in whole units that
 * add up to it: each part gets its share rounded down, then the largest
 * remainders one more; among equals the earlier part. */
void screen_apportion(const int64_t *parts, uint32_t count, int64_t total, int64_t *units);

#endif
