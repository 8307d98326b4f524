/* Numbers as commands print them, in the arena's memory. */
#ifndef REPORT_NUMBERS_H
#define REPORT_NUMBERS_H

#include "base/units.h"

struct arena;

/* "80 GB", "3.35 TB/s": four digits at most, no zeros at the end. */
const char *number_quantity(struct arena *arena, double value, enum dimension dimension);

/* "3200 Gbps", however many. */
const char *number_gbps(struct arena *arena, double bytes_per_s);

/* "405.9 B" parameters. */
const char *number_billions(struct arena *arena, double count);

/* "16,384". */
const char *number_grouped(struct arena *arena, double value);

/* "1.20 k", "3.45 M": dollars, GPU-hours and the like in three digits. */
const char *number_short(struct arena *arena, double value);

/* "6.19 s", "66.7 days". */
const char *number_duration(struct arena *arena, double seconds);

#endif
