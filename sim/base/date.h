/* Days of the Gregorian calendar, as people write them: "2026-09-01" (ISO 8601).
 *
 * A day is its number from 1970-01-01 on; a time of day is a fraction of it. Years are four digits,
 * from 1000 on.
 */
#ifndef BASE_DATE_H
#define BASE_DATE_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

enum { DATE_BYTES = 24 };

/* False: it is no date, or there is no such day. */
MUST_USE bool date_parse(const char *text, int64_t *day);

/* Written to `text` and returned. */
const char *date_text(int64_t day, char text[DATE_BYTES]);

/* The first day of the month that is `months` after the day's own. */
int64_t date_month(int64_t day, int64_t months);

/* Today, by the host's clock (UTC): for who asks for an answer that depends on it. */
int64_t date_host_today(void);

#endif
