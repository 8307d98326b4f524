/* Reads a member where the field says that it lies. A kind of integer is one row of a switch;
 * all of them leave as int64_t, which holds what our structs hold. */
#include "base/field.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t integer_at(enum field_kind kind, const void *at)
{
    switch (kind) {
    case FIELD_INT64:
        return *(const int64_t *)at;
    case FIELD_UINT64:
        sim_assert(*(const uint64_t *)at <= INT64_MAX);
        return (int64_t) * (const uint64_t *)at;
    case FIELD_INT32:
        return *(const int32_t *)at;
    case FIELD_UINT32:
        return *(const uint32_t *)at;
    case FIELD_UINT16:
        return *(const uint16_t *)at;
    case FIELD_UINT8:
        return *(const uint8_t *)at;
    default:
        break;
    }
    sim_assert(false); /* the kinds that are no integers do not come here */
    return 0;
}

static struct field_value text_value(const struct field *field, const char *text)
{
    const bool exists = text != NULL && (text[0] != '\0' || !field->is_said);
    return (struct field_value){.kind = exists ? VALUE_TEXT : VALUE_NULL, .text = text};
}

static const char *name_of(const struct field *field, int64_t number)
{
    sim_assert(number >= 0 && number < field->name_count);
    sim_assert(field->names[number] != NULL); /* an enum has one more, and nobody named it */
    return field->names[number];
}

struct field_value field_value(const struct field *field, const void *record)
{
    const void *at = (const char *)record + field->offset;
    double real = 0;
    switch (field->kind) {
    case FIELD_TEXT:
        return text_value(field, *(const char *const *)at);
    case FIELD_CHARS:
        return text_value(field, at);
    case FIELD_BOOL:
        return field->names != NULL
                   ? text_value(field, name_of(field, *(const bool *)at))
                   : (struct field_value){VALUE_BOOL, .integer = *(const bool *)at};
    case FIELD_REAL:
        real = *(const double *)at;
        return (struct field_value){.kind = is_absent(real) ? VALUE_NULL : VALUE_REAL,
                                    .real = real};
    default:
        break;
    }
    const int64_t integer = integer_at(field->kind, at);
    return field->names != NULL ? text_value(field, name_of(field, integer))
                                : (struct field_value){.kind = VALUE_INTEGER, .integer = integer};
}

/* 1e-9 has no exact double, its inverse has. */
double field_scaled(const struct field *field, double number)
{
    const double scale = field->scale > 0 ? field->scale : 1;
    return scale < 1 ? number / round(1 / scale) : number * scale;
}

/* To the last digit that is told; the format says whether with a sign. */
static const char *shown_to_digit(const struct field *field, struct arena *arena, double number)
{
    const double unit = field_scaled(field, field->last_digit);
    const int exponent = (int)lround(log10(unit));
    const double power = pow(10, abs(exponent));
    const double shown = field_scaled(field, number);
    const double rounded =
        exponent < 0 ? round(shown * power) / power : round(shown / power) * power;
    const bool is_signed = field->format != NULL && strchr(field->format, '+') != NULL;
    return units_plain_zeros(
        arena_printf(arena, is_signed ? "%+.*f" : "%.*f", exponent < 0 ? -exponent : 0, rounded));
}

const char *field_shown(const struct field *field, struct arena *arena, double number)
{
    return field->show != NULL ? field->show(arena, number)
           : field->last_digit > 0
               ? shown_to_digit(field, arena, number)
               : field_number(arena, field->format != NULL ? field->format : "%.0f",
                              field_scaled(field, number));
}

const char *field_number(struct arena *arena, const char *format, double number)
{
    return units_plain_zeros(arena_printf(arena, format, number));
}
