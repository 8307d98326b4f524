/* Quantities with units: text -> SI double, and back for people to read.
 *
 * Inside the program everything is in SI base units and bytes (never bits).
 * A quantity in a file carries its unit: "400 Gbps", "50 GB/s", "80 GiB",
 * "1.5 us", "15.6T", "2.00 USD", "0.08 USD/kWh", "989.4 TFLOP/s". A bare
 * number where a unit is expected is an error, and so is the unit of another
 * dimension; bits where bytes are expected (or the reverse) get a message of
 * their own, because that is the factor of 8 that people lose.
 *
 * Space between number and unit is optional. Prefixes: k M G T P E (1000) and
 * Ki Mi Gi Ti Pi (1024). `Gbps` = `Gb/s` = `Gbit/s` = 1e9 bits a second;
 * `GB/s` = 1e9 bytes a second. Durations: ns us ms s min h d (also "days"),
 * months of 730 h and years of 12 such months.
 * FLOP rates: "FLOP/s" with a prefix ("TFLOPS" is accepted too).
 * Money "USD" or "$", "2M USD"; hourly and energy prices "USD/h" is plain USD where the
 * key says per hour; "USD/kWh", "USD/month". Another currency is told that money
 * is in USD. Emissions "kg/kWh", "g/kWh". Power "W", "kW", "MW". Energy "J", "kWh". Mass "kg", "t".
 * Length "m".
 * Frequency "Hz".."GHz".
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Durations that sums are told in. */
#define SECONDS_PER_HOUR 3600.0
#define SECONDS_PER_DAY 86400.0
#define HOURS_PER_DAY 24.0
#define HOURS_PER_MONTH 730.0 /* a twelfth of a year of 8,760 */

enum dimension {
    DIM_COUNT,            /* 16384, 1.5M, 15.6T (tokens); no unit, decimal prefix allowed */
    DIM_FRACTION,         /* 0.85 or "85 %"; no unit otherwise */
    DIM_BYTES,            /* "80 GiB" -> bytes */
    DIM_BYTES_PER_S,      /* "3.35 TB/s" -> bytes/s; bits are refused with advice */
    DIM_LINK_BYTES_PER_S, /* "400 Gbps" or "50 GB/s" -> bytes/s; both spellings welcome */
    DIM_SECONDS,          /* "1.5 us" -> s */
    DIM_FLOP_PER_S,       /* "989.4 TFLOP/s" -> FLOP/s */
    DIM_FLOP,             /* "3.8e25 FLOP" -> FLOP */
    DIM_USD,              /* "2.00 USD" */
    DIM_USD_PER_KWH,      /* "0.08 USD/kWh" */
    DIM_USD_PER_MONTH,    /* "130 USD/month" */
    DIM_KG_PER_KWH,       /* "0.4 kg/kWh" */
    DIM_WATT,             /* "700 W" */
    DIM_HERTZ,            /* "1.83 GHz" */
    DIM_JOULE,            /* "300 MWh" */
    DIM_KG,               /* "20 t" of CO2 */
    DIM_METRE,            /* "20 m" of cable */
    DIM_LAST_
};

/* Parses `text` as `dimension` into `*value` (SI). On failure returns false
 * and writes into `message` (size `message_bytes`) what is wrong and what
 * would be right, e.g. "a bandwidth needs a unit; write '400 Gbps' or '50
 * GB/s'". Not-a-number, infinities and numbers beyond 1e30 are refused. */
MUST_USE bool units_parse(const char *text, enum dimension dimension, double *value, char *message,
                          size_t message_bytes);

/* Nanoseconds in seconds: the nearest double. Whoever says a simulated time says this one, to the
 * bit: times 1e-9, which is no double, two in five differ in the last. */
double units_seconds(int64_t nanoseconds);

/* a - b; 0, which is never negative, where they are the same but for rounding: where they differ by
 * no more than a billionth, a nanosecond in a second's step. */
double units_difference(double a, double b);

/* Takes the sign from each number of a text that is printed as zero: "-0.0 t" is "0.0 t". Returns
 * the text. */
char *units_plain_zeros(char *text);

/* "3.35 TB/s" etc. with `digits` significant digits; the inverse for reports.
 * The result is written to `text` and returned. */
const char *units_format(double value, enum dimension dimension, int digits, char *text,
                         size_t text_bytes);

/* A duration as people say it: "12.0 s", "3.25 ms", "54.3 days", "850 ns". */
const char *units_format_duration(double seconds, char *text, size_t text_bytes);

/* The unit that units_format writes, without prefix: "bps", "" of a count; and how many of it make
 * one in SI. */
const char *units_unit(enum dimension dimension, double *per_si);

/* What it is, for sentences: "a bandwidth". */
const char *units_noun(enum dimension dimension);

/* What a value of this dimension looks like, for help texts: "400 Gbps". */
const char *units_example(enum dimension dimension);

#endif
