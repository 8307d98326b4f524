/* Thousands, one after the other, from the least. */
#include "report/printers/sized.h"

#include "base/absent.h"
#include "base/arena.h"

#include <math.h>
#include <string.h>

static const double WHOLE = 9999.5; /* from here on the largest has five digits */

struct step {
    double unit;
    const char *prefix, *energy; /* of a unit; in its place, where that is kWh */
};

static const struct step *step_of(const struct sized *sized)
{
    static const struct step steps[] = {
        {1, "", "kWh"}, {1e3, "k ", "MWh"}, {1e6, "M ", "GWh"}, {1e9, "G ", "TWh"}};
    size_t i = 0;
    while (i + 1 < sizeof steps / sizeof *steps &&
           (sized->least >= 0.9995 * steps[i + 1].unit || sized->most >= WHOLE * steps[i].unit)) {
        i++;
    }
    return &steps[i];
}

void sized_meet(struct sized *sized, double number)
{
    const double size = is_absent(number) ? 0 : fabs(number);
    if (size > 0) {
        sized->least = sized->least > 0 ? fmin(sized->least, size) : size;
        sized->most = fmax(sized->most, size);
    }
}

double sized_unit(const struct sized *sized)
{
    return step_of(sized)->unit;
}

const char *sized_head(struct arena *arena, const struct sized *sized, const char *unit)
{
    const struct step *step = step_of(sized);
    return strcmp(unit, "kWh") == 0 ? step->energy
                                    : arena_printf(arena, "%s%s", step->prefix, unit);
}

/* Three digits of the smallest, but no more than three behind the point. */
static int decimals_of(const struct sized *sized)
{
    const double least = sized->least / sized_unit(sized);
    return !(least > 0) || least >= 99.95 ? 0 : least >= 9.995 ? 1 : least >= 0.9995 ? 2 : 3;
}

struct field sized_field(struct arena *arena, const struct sized *sized, const struct field *field)
{
    const bool is_signed = field->format != NULL && strchr(field->format, '+') != NULL;
    struct field resolved = *field;
    resolved.is_sized = false;
    resolved.is_unit = true;
    resolved.head = sized_head(arena, sized, field->head);
    resolved.format = arena_printf(arena, is_signed ? "%%+.%df" : "%%.%df", decimals_of(sized));
    resolved.scale = 1 / sized_unit(sized);
    const double finest = sized_unit(sized) * pow(10, -decimals_of(sized));
    resolved.last_digit = field->last_digit > 0 ? fmax(field->last_digit, finest) : 0;
    return resolved;
}
