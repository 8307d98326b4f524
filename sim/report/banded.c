/* The value is rounded first and its suffix chosen then: 9,997 in tens is "10 k". */
#include "report/banded.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/field.h"
#include "bands/band.h"
#include "report/numbers.h"
#include "report/printers/sized.h"
#include "run/result.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Of half the band's width that the last digit may be. */
#define SHARE_OF_HALF 0.2

/* Of the value that half a band is at least: below that it is what sums are rounded by. */
#define HALF_LEAST 1e-6

static bool has_width(double value, double half)
{
    return half > HALF_LEAST * fabs(value); /* false of ABSENT, too */
}

int banded_exponent(double half)
{
    sim_assert(half > 0 && isfinite(half));
    return (int)lround(log10(SHARE_OF_HALF * half));
}

struct suffix {
    int exponent;
    const char *text;
};

static struct suffix suffix_of(double value)
{
    static const struct suffix suffixes[] = {{9, " G"}, {6, " M"}, {3, " k"}};
    enum { GROUPED_DIGITS = 4 }; /* "8,600" */
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const int least = suffixes[i].exponent == 3 ? GROUPED_DIGITS : suffixes[i].exponent;
        if (fabs(value) >= pow(10, least)) {
            return suffixes[i];
        }
    }
    return (struct suffix){0, ""};
}

static double rounded(double value, int exponent)
{
    const double unit = pow(10, abs(exponent));
    return exponent < 0 ? round(value * unit) / unit : round(value / unit) * unit;
}

static const char *digits(struct arena *arena, double value, int exponent, struct suffix suffix)
{
    const int decimals = suffix.exponent > exponent ? suffix.exponent - exponent : 0;
    const double shown = rounded(value, exponent);
    return decimals == 0 && suffix.exponent == 0
               ? number_grouped(arena, shown)
               : arena_printf(arena, "%.*f", decimals, shown / pow(10, suffix.exponent));
}

const char *banded_text(struct arena *arena, double value, double half)
{
    if (!has_width(value, half)) {
        return NULL;
    }
    const int exponent = banded_exponent(half);
    const struct suffix suffix = suffix_of(rounded(value, exponent));
    return arena_printf(arena, "%s%s", digits(arena, value, exponent, suffix), suffix.text);
}

/* What the unit of a text is of the value's own, of which `number` is rounded: powers of ten, of
 * them minutes, hours (and watt-hours), days; else as the number has it. */
static double unit_of_text(double value, double number)
{
    static const double mantissas[] = {1, 6, 3.6, 8.64};
    static const double ROUNDED_BY = 0.005;
    const double ratio = value / number;
    for (size_t i = 0; i < sizeof mantissas / sizeof *mantissas; i++) {
        const double unit = mantissas[i] * pow(10, round(log10(ratio / mantissas[i])));
        if (fabs(ratio / unit - 1) <= ROUNDED_BY) {
            return unit;
        }
    }
    return ratio;
}

enum { DIGITS_LEAST = 3 }; /* that a text has, or had before its zeros went */

const char *banded_shown(struct arena *arena, const char *text, double value, double half)
{
    char digits_of_text[32];
    size_t count = 0;
    const char *rest = text;
    for (; strchr("-0123456789.,", *rest) != NULL && *rest != '\0'; rest++) {
        if (*rest != ',' && count + 1 < sizeof digits_of_text) {
            digits_of_text[count++] = *rest;
        }
    }
    digits_of_text[count] = '\0';
    const double number = strtod(digits_of_text, NULL);
    if (!has_width(value, half) || number == 0) {
        return text;
    }
    const char *point = strchr(digits_of_text, '.');
    const int decimals = point != NULL ? (int)strlen(point + 1) : 0;
    const int significant = (int)floor(log10(fabs(number))) + 1 + decimals;
    const int finest = -decimals - (significant < DIGITS_LEAST ? DIGITS_LEAST - significant : 0);
    const double unit = unit_of_text(value, number);
    const int banded = banded_exponent(half / unit);
    const int exponent = banded > finest ? banded : finest;
    const double shown = rounded(value / unit, exponent);
    return exponent < 0 ? arena_printf(arena, "%.*f%s", -exponent, shown, rest)
                        : arena_printf(arena, "%s%s", number_grouped(arena, shown), rest);
}

const char *banded_or(const char *banded, const char *full)
{
    return banded != NULL ? banded : full;
}

const char *banded_range(struct arena *arena, double low, double high)
{
    const double half = (high - low) / 2;
    sim_assert(high >= low);
    if (!has_width(high, half)) { /* nothing of it is drawn: minutes, of a step that was measured */
        return fabs(low) < 1000 ? arena_printf(arena, "%.3g", low) : number_grouped(arena, low);
    }
    const int exponent = banded_exponent(half);
    const struct suffix suffix = suffix_of(rounded(high, exponent));
    return arena_printf(arena, "%s to %s%s", digits(arena, low, exponent, suffix),
                        digits(arena, high, exponent, suffix), suffix.text);
}

void banded_meet(struct banded_column *column, double value, double half)
{
    if (has_width(value, half)) {
        column->least_half = column->least_half > 0 ? fmin(column->least_half, half) : half;
    }
}

/* Of "%.1f" a tenth, in the number's own unit; 0: it is of another kind. */
static double finest_of(const struct field *field)
{
    const char *point = field->format != NULL ? strchr(field->format, '.') : NULL;
    char *end = NULL;
    const long decimals = point != NULL ? strtol(point + 1, &end, 10) : 0;
    return end == NULL || *end != 'f' ? 0 : pow(10, (double)-decimals) / field_scaled(field, 1);
}

void banded_tell(const struct banded_column *column, struct field *field)
{
    if (column->least_half > 0) {
        field->last_digit = fmax(pow(10, banded_exponent(column->least_half)), finest_of(field));
    }
}

struct energy {
    double kwh;
    const char *unit;
};

static struct energy energy_of(struct arena *arena, double kwh)
{
    struct sized sized = {.least = 0};
    sized_meet(&sized, kwh);
    return (struct energy){sized_unit(&sized), sized_head(arena, &sized, "kWh")};
}

const char *banded_energy(struct arena *arena, double kwh, double half)
{
    const struct energy in = energy_of(arena, kwh);
    const char *text = banded_text(arena, kwh / in.kwh, half / in.kwh);
    return text != NULL ? arena_printf(arena, "%s %s", text, in.unit) : NULL;
}

const char *banded_energy_short(struct arena *arena, double kwh)
{
    const struct energy in = energy_of(arena, kwh);
    return arena_printf(arena, "%s %s", number_short(arena, kwh / in.kwh), in.unit);
}

const char *banded_energy_range(struct arena *arena, double low, double high)
{
    const struct energy in = energy_of(arena, high);
    return arena_printf(arena, "%s %s", banded_range(arena, low / in.kwh, high / in.kwh), in.unit);
}

static const char *duration_in(double seconds, double *unit_s)
{
    *unit_s = seconds < 1 ? 1e-3 : 1;
    return seconds < 1 ? "ms" : "s";
}

const char *banded_duration(struct arena *arena, double seconds, double half)
{
    double unit_s;
    const char *unit = duration_in(seconds, &unit_s);
    const char *text = banded_text(arena, seconds / unit_s, half / unit_s);
    return text != NULL ? arena_printf(arena, "%s %s", text, unit) : NULL;
}

const char *banded_duration_range(struct arena *arena, double low, double high)
{
    double unit_s;
    const char *unit = duration_in(high, &unit_s);
    return arena_printf(arena, "%s %s", banded_range(arena, low / unit_s, high / unit_s), unit);
}

static double half_of(const struct run_range *range)
{
    return is_absent(range->p10) || is_absent(range->p90) ? ABSENT : (range->p90 - range->p10) / 2;
}

struct banded_halves banded_halves_of(const struct result *result)
{
    const struct band *band = result->band;
    const struct run_draws *draws = &result->run.draws;
    const bool has_step = band != NULL && result_has_step(result) && band->votes > 0;
    const bool has_run = band != NULL && result_has_run(result) && draws->are_asked &&
                         (band->votes > 0 || draws->count > 0);
    return (struct banded_halves){
        .days = has_run ? half_of(&draws->days) : ABSENT,
        .cost_usd = has_run ? half_of(&draws->cost_usd) : ABSENT,
        .energy_kwh = has_run ? half_of(&draws->energy_kwh) : ABSENT,
        .of_step = has_step ? (band->high - band->low) / 2 : ABSENT,
    };
}

const char *banded_usd(struct arena *arena, const struct result *result, double usd)
{
    const double of_cost = banded_halves_of(result).cost_usd / result->run.cost_usd;
    return banded_or(banded_text(arena, usd, of_cost * usd), number_grouped(arena, usd));
}
