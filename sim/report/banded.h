/* Figures in as many digits as their band allows: 67 days where it is 60 to 74, not 66.73.
 *
 * The unit of the last digit is the power of ten that is nearest to a fifth of half the band's
 * width, in logarithms: a half of 7 days is told to 1 day, of 57 to 10, of 0.38 s to 0.1 s. So what
 * is left out is at most a third of the half. Documents (JSON, CSV) have all digits. Two figures
 * that are held against each other have the band of their ratio, which is narrower
 * (report/against_sheet.h).
 */
#ifndef REPORT_BANDED_H
#define REPORT_BANDED_H

struct arena;
struct field;
struct result;

/* The power of ten of the last digit; `half` is above 0. */
int banded_exponent(double half);

/* "67", "3.8", "8,600", "81 k", "73 M"; NULL where there is no band: half is absent, 0, or
 * no more of the value than sums are rounded by. */
const char *banded_text(struct arena *arena, double value, double half);

/* A text of the value, "481 k", "19.6 days", "3.79e25 FLOP", "1,024", its number in no more digits
 * than the band allows: "480 k". As it is where there is no band. */
const char *banded_shown(struct arena *arena, const char *text, double value, double half);

/* The first where there is a band, else what is said without one. */
const char *banded_or(const char *banded, const char *full);

/* "60 to 74", "64 to 86 M": both in the units of the second. Of two that are the same, but for what
 * sums are rounded by, it is that: "1.73". */
const char *banded_range(struct arena *arena, double low, double high);

/* The same of kWh, with their unit: "40 MWh", "36 to 44 MWh"; and without a band: "40.3 MWh". */
const char *banded_energy(struct arena *arena, double kwh, double half);
const char *banded_energy_short(struct arena *arena, double kwh);
const char *banded_energy_range(struct arena *arena, double low, double high);

/* The same of seconds: "3.8 s", "3.5 to 4.2 s"; below one in ms. */
const char *banded_duration(struct arena *arena, double seconds, double half);
const char *banded_duration_range(struct arena *arena, double low, double high);

/* A column of figures that are held against each other: all are told to the digit of the narrowest
 * band that was met, so that they line up and what is told apart looks so. */
struct banded_column {
    double least_half; /* 0: none was met, and the field's format tells its digits */
};
void banded_meet(struct banded_column *column, double value, double half);
/* The field so: no further than its format goes. */
void banded_tell(const struct banded_column *column, struct field *field);

/* Of a run's figures half their bands' widths, of the step's a share of each; ABSENT: not known. */
struct banded_halves {
    double days, cost_usd, energy_kwh;
    double of_step; /* of the step, MFU, tokens/s and FLOP/s */
};
struct banded_halves banded_halves_of(const struct result *result);

/* What is of a run's cost, and as sure as all of it; without a band in full. */
const char *banded_usd(struct arena *arena, const struct result *result, double usd);

#endif
