/* One unit for a column of numbers: USD, k USD or M USD, by their size.
 *
 * The smallest of them says which, for it shall be told in three digits; where the largest would
 * then have more than four before its point, the next. 7,310 and 950,000 are "7.31" and "950.00" of
 * k USD; 7,310 and 73 million "0.007" and "73.000" of M USD. Of kWh they are kWh, MWh and GWh.
 */
#ifndef REPORT_PRINTERS_SIZED_H
#define REPORT_PRINTERS_SIZED_H

#include "base/field.h"

struct sized {
    double least, most; /* of the sizes that were met; 0: of none, or of zeros */
};

/* Meets a number; what is absent, or 0, has no size. */
void sized_meet(struct sized *sized, double number);

/* How much one of the unit is: 1e3. */
double sized_unit(const struct sized *sized);

/* "k USD" of "USD", "MWh" of "kWh". */
const char *sized_head(struct arena *arena, const struct sized *sized, const char *unit);

/* The field of the kind FIELD_SIZED as one of FIELD_RIGHT: with that head, its format and scale. */
struct field sized_field(struct arena *arena, const struct sized *sized, const struct field *field);

#endif
