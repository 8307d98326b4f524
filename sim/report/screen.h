/* One prediction, whole: the screen of `stoker run`, and its JSON document.
 *
 * The screen answers in this order: how long and how much; where the step
 * goes, by cause, in seconds and per cent of the step; memory against the
 * limit; what bounds it; how MFU was counted; the assumed constants it leaned
 * on; what the simulation itself took. Printed digits are rounded so that each
 * column adds up to its total line exactly (largest remainder), and every
 * cause that is not zero has a line.
 *
 * What does not exist (base/absent.h: the step of a plan that does not fit, days without `run:`) is
 * "-" on the screen and null in the document; lists of what a step does are empty then.
 *
 * The document is that of design.md section 5: SI units, fractions instead of
 * per cent, keys always there and in the same order; "schema" tells what they
 * mean. Memory kinds without a unit in their name are bytes of the fullest GPU.
 */
#ifndef REPORT_SCREEN_H
#define REPORT_SCREEN_H

#include "base/json.h"
#include "run/result.h"

#define RUN_SCHEMA "stoker.run/1"

void screen_run(const struct result *result, struct arena *arena, FILE *out);

/* Where the step goes: every cause that is not zero, their sum, and what bounds it. */
void screen_causes(const struct result *result, struct arena *arena, FILE *out);

/* 16384 -> "16,384", without decimals. */
const char *screen_grouped(struct arena *arena, double value);

/* The result as one JSON document on `out`. */
void screen_json(const struct result *result, FILE *out);

/* Splits `total` units among `count` parts (sum above 0) in proportion, in whole units that
 * add up to it: each part gets its share rounded down, then the largest
 * remainders one more; among equals the earlier part. */
void screen_apportion(const int64_t *parts, uint32_t count, int64_t total, int64_t *units);

#endif
