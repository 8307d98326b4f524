/* Quantities as text with four significant digits and the unit that suits
 * their size. Trailing zeros after the point are dropped.
 */
#include "report/numbers.h"

#include "base/arena.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *number_quantity(struct arena *arena, double value, enum dimension dimension)
{
    char text[64];
    units_format(value, dimension, 4, text, sizeof text);
    const size_t digits = strspn(text, "-0123456789.");
    const char *unit = arena_strdup(arena, text + digits);
    size_t kept = digits;
    if (memchr(text, '.', digits) != NULL) {
        while (text[kept - 1] == '0') {
            kept--;
        }
        kept -= text[kept - 1] == '.';
    }
    return arena_printf(arena, "%.*s%s", (int)kept, text, unit);
}

const char *number_gbps(struct arena *arena, double bytes_per_s)
{
    return arena_printf(arena, "%.6g Gbps", bytes_per_s * 8e-9);
}

const char *number_billions(struct arena *arena, double count)
{
    return arena_printf(arena, "%.1f B", count / 1e9);
}

const char *number_grouped(struct arena *arena, double value)
{
    char digits[64];
    snprintf(digits, sizeof digits, "%.0f", value);
    const int length = (int)strlen(units_plain_zeros(digits));
    char *text = arena_alloc(arena, 2 * sizeof digits);
    char *end = text;
    for (int i = 0; i < length && i < (int)sizeof digits - 1; i++) {
        const int behind = length - i;
        if (i > 0 && behind % 3 == 0 && digits[i - 1] != '-') {
            *end++ = ',';
        }
        *end++ = digits[i];
    }
    return text;
}

const char *number_short(struct arena *arena, double value)
{
    static const struct {
        double unit;
        const char *suffix;
    } steps[] = {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (value >= 0.9995 * steps[i].unit) {
            const double shown = value / steps[i].unit;
            const int decimals = shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0;
            return arena_printf(arena, "%.*f%s", decimals, shown, steps[i].suffix);
        }
    }
    return arena_printf(arena, "%.*f", value < 99.95 ? 1 : 0, value);
}

const char *number_duration(struct arena *arena, double seconds)
{
    char text[32];
    units_format_duration(seconds, text, sizeof text);
    return arena_strdup(arena, text);
}
