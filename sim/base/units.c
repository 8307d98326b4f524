/* A quantity is a number and a unit; a unit is a prefix and a name, found in
 * two tables. A third table says for each dimension which units it takes and
 * what its messages propose.
 *
 * Powers of ten are added to the number's own exponent and the whole is read
 * at once, so "15.6T" is exactly 15600000000000 and "3.35 TB/s" is the
 * double nearest to 3.35e12: a product would be off by a rounding. (The
 * program never calls setlocale, so strtod reads a decimal point.)
 */
#include "base/units.h"

#include "base/decimal.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double VALUE_MAX = 1e30;

enum { MANTISSA_BYTES = 64, UNIT_BYTES = 32, EXPONENT_MAX = 9999 };

/* ---- tables ------------------------------------------------------------ */

/* What a unit measures. Bits and bytes are told apart, unlike in a dimension. */
enum quantity {
    QUANTITY_NUMBER,
    QUANTITY_PERCENT,
    QUANTITY_BITS,
    QUANTITY_BYTES,
    QUANTITY_BITS_PER_S,
    QUANTITY_BYTES_PER_S,
    QUANTITY_SECONDS,
    QUANTITY_FLOP_PER_S,
    QUANTITY_FLOP,
    QUANTITY_USD,
    QUANTITY_USD_PER_KWH,
    QUANTITY_USD_PER_MONTH,
    QUANTITY_KG_PER_KWH,
    QUANTITY_WATT,
    QUANTITY_HERTZ,
    QUANTITY_JOULE,
    QUANTITY_KG,
    QUANTITY_METRE
};

static const char *const QUANTITY_NOUNS[] = {
    [QUANTITY_NUMBER] = "a plain number",
    [QUANTITY_PERCENT] = "a percentage",
    [QUANTITY_BITS] = "a size in bits",
    [QUANTITY_BYTES] = "a size in bytes",
    [QUANTITY_BITS_PER_S] = "a bandwidth in bits",
    [QUANTITY_BYTES_PER_S] = "a bandwidth in bytes",
    [QUANTITY_SECONDS] = "a duration",
    [QUANTITY_FLOP_PER_S] = "a FLOP rate",
    [QUANTITY_FLOP] = "a FLOP count",
    [QUANTITY_USD] = "an amount of money",
    [QUANTITY_USD_PER_KWH] = "an energy price",
    [QUANTITY_USD_PER_MONTH] = "a price per month",
    [QUANTITY_KG_PER_KWH] = "an emission per energy",
    [QUANTITY_WATT] = "a power",
    [QUANTITY_HERTZ] = "a frequency",
    [QUANTITY_JOULE] = "an energy",
    [QUANTITY_KG] = "a mass",
    [QUANTITY_METRE] = "a length",
};

enum prefix_set { NO_PREFIX = 1, DECIMAL = 2, BINARY = 4, SMALL = 8 };

struct prefix_row {
    const char *name;
    enum prefix_set set;
    int exponent10;
    double factor;
};

static const struct prefix_row PREFIXES[] = {
    {"", NO_PREFIX, 0, 1.0},   {"k", DECIMAL, 3, 1.0},    {"M", DECIMAL, 6, 1.0},
    {"G", DECIMAL, 9, 1.0},    {"T", DECIMAL, 12, 1.0},   {"P", DECIMAL, 15, 1.0},
    {"E", DECIMAL, 18, 1.0},   {"Ki", BINARY, 0, 0x1p10}, {"Mi", BINARY, 0, 0x1p20},
    {"Gi", BINARY, 0, 0x1p30}, {"Ti", BINARY, 0, 0x1p40}, {"Pi", BINARY, 0, 0x1p50},
    {"n", SMALL, -9, 1.0},     {"u", SMALL, -6, 1.0},     {"\u00b5", SMALL, -6, 1.0},
    {"m", SMALL, -3, 1.0},
};

struct unit_row {
    const char *name;
    size_t length; /* of the name */
    enum quantity quantity;
    unsigned prefixes; /* sets allowed before the name; none is always allowed */
    int exponent10;
    double factor; /* one unit is factor * 10^exponent10 in SI and bytes */
};

#define UNIT(name_, ...)                     \
    {                                        \
        name_, sizeof name_ - 1, __VA_ARGS__ \
    }

static const struct unit_row UNITS[] = {
    UNIT("", QUANTITY_NUMBER, DECIMAL, 0, 1.0),
    UNIT("%", QUANTITY_PERCENT, 0, -2, 1.0),
    UNIT("b", QUANTITY_BITS, DECIMAL | BINARY, 0, 0.125),
    UNIT("bit", QUANTITY_BITS, DECIMAL | BINARY, 0, 0.125),
    UNIT("B", QUANTITY_BYTES, DECIMAL | BINARY, 0, 1.0),
    UNIT("bytes", QUANTITY_BYTES, 0, 0, 1.0),
    UNIT("B", QUANTITY_NUMBER, 0, 9, 1.0), /* "405B" parameters: only where a count is asked */
    UNIT("bps", QUANTITY_BITS_PER_S, DECIMAL | BINARY, 0, 0.125),
    UNIT("b/s", QUANTITY_BITS_PER_S, DECIMAL | BINARY, 0, 0.125),
    UNIT("bit/s", QUANTITY_BITS_PER_S, DECIMAL | BINARY, 0, 0.125),
    UNIT("B/s", QUANTITY_BYTES_PER_S, DECIMAL | BINARY, 0, 1.0),
    UNIT("s", QUANTITY_SECONDS, SMALL, 0, 1.0),
    UNIT("min", QUANTITY_SECONDS, 0, 0, 60.0),
    UNIT("h", QUANTITY_SECONDS, 0, 0, SECONDS_PER_HOUR),
    UNIT("d", QUANTITY_SECONDS, 0, 0, SECONDS_PER_DAY),
    UNIT("day", QUANTITY_SECONDS, 0, 0, SECONDS_PER_DAY),
    UNIT("days", QUANTITY_SECONDS, 0, 0, SECONDS_PER_DAY),
    UNIT("month", QUANTITY_SECONDS, 0, 0, 2628000.0), /* 730 h */
    UNIT("months", QUANTITY_SECONDS, 0, 0, 2628000.0),
    UNIT("year", QUANTITY_SECONDS, 0, 0, 31536000.0),
    UNIT("years", QUANTITY_SECONDS, 0, 0, 31536000.0),
    UNIT("FLOP/s", QUANTITY_FLOP_PER_S, DECIMAL, 0, 1.0),
    UNIT("FLOPS", QUANTITY_FLOP_PER_S, DECIMAL, 0, 1.0),
    UNIT("FLOP", QUANTITY_FLOP, DECIMAL, 0, 1.0),
    UNIT("USD", QUANTITY_USD, 0, 0, 1.0),
    UNIT(" USD", QUANTITY_USD, DECIMAL, 0, 1.0), /* "2M USD" */
    UNIT("$", QUANTITY_USD, 0, 0, 1.0),
    UNIT("USD/h", QUANTITY_USD, 0, 0, 1.0),
    UNIT("$/h", QUANTITY_USD, 0, 0, 1.0),
    UNIT("USD/kWh", QUANTITY_USD_PER_KWH, 0, 0, 1.0),
    UNIT("$/kWh", QUANTITY_USD_PER_KWH, 0, 0, 1.0),
    UNIT("USD/month", QUANTITY_USD_PER_MONTH, 0, 0, 1.0),
    UNIT("$/month", QUANTITY_USD_PER_MONTH, 0, 0, 1.0),
    UNIT("kg/kWh", QUANTITY_KG_PER_KWH, 0, 0, 1.0),
    UNIT("g/kWh", QUANTITY_KG_PER_KWH, 0, -3, 1.0),
    UNIT("W", QUANTITY_WATT, DECIMAL, 0, 1.0),
    UNIT("Hz", QUANTITY_HERTZ, DECIMAL, 0, 1.0),
    UNIT("J", QUANTITY_JOULE, DECIMAL, 0, 1.0),
    UNIT("Wh", QUANTITY_JOULE, DECIMAL, 0, 3600.0),
    UNIT("kg", QUANTITY_KG, 0, 0, 1.0),
    UNIT("t", QUANTITY_KG, 0, 3, 1.0),
    UNIT("m", QUANTITY_METRE, 0, 0, 1.0),
};

enum { PREFIX_COUNT = sizeof PREFIXES / sizeof *PREFIXES };
enum { UNIT_COUNT = sizeof UNITS / sizeof *UNITS };

struct dimension_row {
    const char *noun;
    unsigned accepts;  /* bits: 1 << enum quantity */
    const char *write; /* what to write instead of something wrong */
    const char *example;
    const char *gap;    /* units_format: between number and unit */
    const char *unit;   /* units_format: the unit's name */
    double unit_per_si; /* units_format: how many of it make one SI unit */
    int exponent10_min; /* units_format: smallest and largest prefix */
    int exponent10_max;
};

static const struct dimension_row DIMENSIONS[] = {
    [DIM_COUNT] = {"a plain number", 1u << QUANTITY_NUMBER, "'16384', '405B' or '15.6T'", "15.6T",
                   "", "", 1.0, 0, 18},
    [DIM_FRACTION] = {"a fraction", 1u << QUANTITY_NUMBER | 1u << QUANTITY_PERCENT,
                      "'0.85' or '85 %'", "0.85", " ", "%", 100.0, 0, 0},
    [DIM_BYTES] = {"a size", 1u << QUANTITY_BYTES, "'80 GB' (powers of 1000) or '80 GiB' (of 1024)",
                   "80 GiB", " ", "B", 1.0, 0, 18},
    [DIM_BYTES_PER_S] = {"a bandwidth in bytes", 1u << QUANTITY_BYTES_PER_S,
                         "'3.35 TB/s' or '50 GB/s'", "3.35 TB/s", " ", "B/s", 1.0, 0, 18},
    [DIM_LINK_BYTES_PER_S] = {"a bandwidth", 1u << QUANTITY_BITS_PER_S | 1u << QUANTITY_BYTES_PER_S,
                              "'400 Gbps' (bits) or '50 GB/s' (bytes)", "400 Gbps", " ", "bps", 8.0,
                              0, 18},
    [DIM_SECONDS] = {"a duration", 1u << QUANTITY_SECONDS,
                     "'1.5 us', '30 min' or '2 days' (ns, us, ms, s, min, h or d)", "1.5 us", " ",
                     "s", 1.0, -9, 0},
    [DIM_FLOP_PER_S] = {"a FLOP rate", 1u << QUANTITY_FLOP_PER_S, "'989.4 TFLOP/s'",
                        "989.4 TFLOP/s", " ", "FLOP/s", 1.0, 0, 18},
    [DIM_FLOP] = {"a FLOP count", 1u << QUANTITY_FLOP, "'3.8e25 FLOP'", "3.8e25 FLOP", " ", "FLOP",
                  1.0, 0, 18},
    [DIM_USD] = {"a price", 1u << QUANTITY_USD, "'2.00 USD'", "2.00 USD", " ", "USD", 1.0, 0, 0},
    [DIM_USD_PER_KWH] = {"an energy price", 1u << QUANTITY_USD_PER_KWH, "'0.08 USD/kWh'",
                         "0.08 USD/kWh", " ", "USD/kWh", 1.0, 0, 0},
    [DIM_USD_PER_MONTH] = {"a price per month", 1u << QUANTITY_USD_PER_MONTH, "'130 USD/month'",
                           "130 USD/month", " ", "USD/month", 1.0, 0, 0},
    [DIM_KG_PER_KWH] = {"an emission per energy", 1u << QUANTITY_KG_PER_KWH, "'0.4 kg/kWh'",
                        "0.4 kg/kWh", " ", "kg/kWh", 1.0, 0, 0},
    [DIM_WATT] = {"a power", 1u << QUANTITY_WATT, "'700 W' or '1.2 kW'", "700 W", " ", "W", 1.0, 0,
                  18},
    [DIM_HERTZ] = {"a frequency", 1u << QUANTITY_HERTZ, "'1.83 GHz'", "1.83 GHz", " ", "Hz", 1.0, 0,
                   18},
    [DIM_JOULE] = {"an energy", 1u << QUANTITY_JOULE, "'300 MWh'", "300 MWh", " ", "Wh",
                   1.0 / 3600.0, 0, 18},
    [DIM_KG] = {"a mass", 1u << QUANTITY_KG, "'20 t' or '500 kg'", "20 t", " ", "kg", 1.0, 0, 0},
    [DIM_METRE] = {"a length", 1u << QUANTITY_METRE, "'20 m'", "20 m", " ", "m", 1.0, 0, 0},
};

static const struct dimension_row *dimension_get(enum dimension dimension)
{
    sim_assert(dimension < DIM_LAST_);
    return &DIMENSIONS[dimension];
}

/* ---- scanning ---------------------------------------------------------- */

/* What the text says, before it is known whether that is wanted. */
struct reading {
    char mantissa[MANTISSA_BYTES]; /* sign, digits, point; no underscores */
    int exponent10;
    char unit[UNIT_BYTES];
    const struct unit_row *row; /* NULL: unknown unit */
    const struct prefix_row *prefix;
};

static bool is_digit(char c)
{
    return isdigit((unsigned char)c) != 0;
}

/* Copies digits, and underscores between digits without copying these, to the
 * end of the mantissa. Returns where they end, or NULL if there are none or
 * too many. */
static const char *scan_digits(const char *text, char *mantissa)
{
    size_t length = strlen(mantissa);
    if (!is_digit(*text)) {
        return NULL;
    }
    while (is_digit(*text) || (*text == '_' && is_digit(text[1]))) {
        if (*text != '_') {
            if (length + 2 > MANTISSA_BYTES) {
                return NULL;
            }
            mantissa[length++] = *text;
        }
        text++;
    }
    mantissa[length] = '\0';
    return text;
}

/* An exponent, if there is one: 'e' or 'E' before a sign and digits. An E
 * without digits is the prefix exa. */
static const char *scan_exponent(const char *text, int *exponent10)
{
    if (*text != 'e' && *text != 'E') {
        return text;
    }
    const char *at = text + 1;
    const bool is_negative = *at == '-';
    at += *at == '-' || *at == '+';
    if (!is_digit(*at)) {
        return text;
    }
    int exponent = 0;
    for (; is_digit(*at); at++) {
        exponent = 10 * exponent + (*at - '0');
        exponent = exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent;
    }
    *exponent10 = is_negative ? -exponent : exponent;
    return at;
}

/* [+-] digits [. digits] [e [+-] digits]; returns where it ends, or NULL. */
static const char *scan_number(const char *text, struct reading *reading)
{
    if (*text == '-' || *text == '+') {
        reading->mantissa[0] = *text++;
    }
    text = scan_digits(text, reading->mantissa);
    if (text != NULL && *text == '.') {
        const size_t length = strlen(reading->mantissa);
        if (length + 2 > MANTISSA_BYTES) {
            return NULL;
        }
        reading->mantissa[length] = '.';
        text = scan_digits(text + 1, reading->mantissa);
    }
    return text == NULL ? NULL : scan_exponent(text, &reading->exponent10);
}

static const struct prefix_row *find_prefix(const char *name, size_t length, unsigned sets)
{
    for (size_t i = 0; i < PREFIX_COUNT; i++) {
        const struct prefix_row *prefix = &PREFIXES[i];
        if ((sets & prefix->set) != 0 && strlen(prefix->name) == length &&
            memcmp(prefix->name, name, length) == 0) {
            return prefix;
        }
    }
    return NULL;
}

/* Fills in `row` and `prefix`. "B" alone fits two rows: billions where a
 * count is asked for, bytes else. */
static void find_unit(struct reading *reading, unsigned accepts)
{
    const size_t length = strlen(reading->unit);
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        const struct unit_row *row = &UNITS[i];
        const size_t name_length = row->length;
        if (name_length > length ||
            (name_length > 0 && row->name[name_length - 1] != reading->unit[length - 1]) ||
            memcmp(reading->unit + length - name_length, row->name, name_length) != 0) {
            continue;
        }
        const struct prefix_row *prefix =
            find_prefix(reading->unit, length - name_length, row->prefixes | NO_PREFIX);
        if (prefix == NULL) {
            continue;
        }
        if (reading->row == NULL || (accepts & 1u << row->quantity) != 0) {
            reading->row = row;
            reading->prefix = prefix;
        }
    }
}

/* False when the text does not begin with a number. "$2" reads as "2 $". */
static bool scan_quantity(const char *text, unsigned accepts, struct reading *reading)
{
    *reading = (struct reading){.exponent10 = 0};
    text += strspn(text, " ");
    const char *dollar = *text == '$' ? "$" : "";
    text = scan_number(text + strlen(dollar), reading);
    if (text == NULL) {
        return false;
    }
    text += strspn(text, " ");
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    if (length + strlen(dollar) < sizeof reading->unit) {
        const size_t dollars = strlen(dollar);
        memcpy(reading->unit, dollar, dollars);
        memcpy(reading->unit + dollars, text, length);
        reading->unit[dollars + length] = '\0';
        find_unit(reading, accepts);
    }
    return true;
}

/* In SI; infinite when the exponent is absurd. */
static double reading_value(const struct reading *reading)
{
    const int exponent10 =
        reading->exponent10 + reading->row->exponent10 + reading->prefix->exponent10;
    const char *mantissa = reading->mantissa;
    double number = 0;
    if (!decimal_read(mantissa, strlen(mantissa), exponent10, &number)) {
        char text[MANTISSA_BYTES + 16];
        snprintf(text, sizeof text, "%se%d", mantissa, exponent10);
        number = strtod(text, NULL);
    }
    return number * reading->prefix->factor * reading->row->factor;
}

/* ---- parsing ----------------------------------------------------------- */

/* Where a message goes; `text` is what the user wrote. */
struct complaint {
    const char *text;
    char *message;
    size_t message_bytes;
};

static bool complain(const struct complaint *complaint, const char *format, ...) PRINTF_LIKE(2, 3);

/* Writes "'TEXT' ..." and returns false. A long text is cut. */
static bool complain(const struct complaint *complaint, const char *format, ...)
{
    char rest[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rest, sizeof rest, format, arguments);
    va_end(arguments);
    snprintf(complaint->message, complaint->message_bytes, "'%.40s' %s", complaint->text, rest);
    return false;
}

/* "50.00 GB/s" -> "50 GB/s" */
static void drop_zeros(char *text)
{
    char *point = strchr(text, '.');
    if (point == NULL) {
        return;
    }
    char *end = point + 1 + strspn(point + 1, "0123456789");
    char *keep = end;
    while (keep[-1] == '0') {
        keep--;
    }
    keep -= keep[-1] == '.';
    memmove(keep, end, strlen(end) + 1);
}

/* Bits where bytes are meant are refused, as the factor of 8 would go unnoticed. */
static bool refuse_bits(const struct complaint *complaint, enum dimension dimension, double value)
{
    char converted[64];
    units_format(value, dimension, 6, converted, sizeof converted);
    drop_zeros(converted);
    if (dimension == DIM_BYTES) {
        return complain(complaint,
                        "is in bits (b) where bytes (B) are expected: write GB or GiB, not Gb; "
                        "if bits are meant, '%s'",
                        converted);
    }
    return complain(complaint, "is in bits where bytes are expected: write '%s'", converted);
}

/* Currencies that a price may come in, behind a prefix ("M EUR"), with what they are per. */
static bool is_other_money(const char *unit)
{
    static const char *const codes[] = {"EUR", "GBP", "CHF", "JPY", "CNY",    "RMB",    "INR",
                                        "KRW", "CAD", "AUD", "SEK", "\u20ac", "\u00a3", "\u00a5"};
    const char *blank = strchr(unit, ' ');
    unit = blank != NULL ? blank + 1 : unit;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const size_t length = strlen(codes[i]);
        if (strncmp(unit, codes[i], length) == 0 && (unit[length] == '\0' || unit[length] == '/')) {
            return true;
        }
    }
    return false;
}

static bool refuse_unit(const struct complaint *complaint, enum dimension dimension,
                        const struct reading *reading)
{
    const struct dimension_row *row = dimension_get(dimension);
    const enum quantity quantity = reading->row->quantity;
    const bool is_bits = (dimension == DIM_BYTES && quantity == QUANTITY_BITS) ||
                         (dimension == DIM_BYTES_PER_S && quantity == QUANTITY_BITS_PER_S);
    if (is_bits) {
        return refuse_bits(complaint, dimension, reading_value(reading));
    }
    if (quantity == QUANTITY_NUMBER) {
        snprintf(complaint->message, complaint->message_bytes, "%s needs a unit: write %s",
                 row->noun, row->write);
        return false;
    }
    return complain(complaint, "is %s where %s is expected: write %s", QUANTITY_NOUNS[quantity],
                    row->noun, row->write);
}

bool units_parse(const char *text, enum dimension dimension, double *value, char *message,
                 size_t message_bytes)
{
    const struct dimension_row *row = dimension_get(dimension);
    const struct complaint complaint = {text, message, message_bytes};
    struct reading reading;
    if (!scan_quantity(text, row->accepts, &reading)) {
        return complain(&complaint, "is not %s: write %s", row->noun, row->write);
    }
    if (reading.row == NULL && is_other_money(reading.unit)) {
        return complain(&complaint, "is in another currency: money is in USD, write %s",
                        row->write);
    }
    if (reading.row == NULL) {
        return complain(&complaint, "has an unknown unit: write %s", row->write);
    }
    if ((row->accepts & 1u << reading.row->quantity) == 0) {
        return refuse_unit(&complaint, dimension, &reading);
    }
    const bool is_multiple = reading.prefix->set != NO_PREFIX || reading.row->exponent10 > 0;
    if (dimension == DIM_FRACTION && is_multiple) {
        return complain(&complaint, "is not a fraction: write %s", row->write);
    }
    const double parsed = reading_value(&reading);
    if (!(fabs(parsed) <= VALUE_MAX)) {
        return complain(&complaint, "is beyond all measure: at most 1e30 is read");
    }
    *value = parsed;
    return true;
}

/* ---- formatting -------------------------------------------------------- */

static const char *decimal_prefix(int exponent10)
{
    const char *name = NULL;
    for (size_t i = 0; i < PREFIX_COUNT && name == NULL; i++) {
        if (PREFIXES[i].exponent10 == exponent10 && PREFIXES[i].set != BINARY) {
            name = PREFIXES[i].name;
        }
    }
    sim_assert(name != NULL);
    return name;
}

/* The largest multiple of three that is not above `exponent10`, within the
 * prefixes of the dimension. */
static int choose_prefix(const struct dimension_row *row, int exponent10)
{
    const int down = ((exponent10 % 3) + 3) % 3;
    const int chosen = exponent10 - down;
    if (chosen < row->exponent10_min) {
        return row->exponent10_min;
    }
    return chosen > row->exponent10_max ? row->exponent10_max : chosen;
}

/* The value is rounded to its digits first and scaled afterwards, so that
 * 999.96 with four digits becomes 1.000k and not 1000.0. */
const char *units_format(double value, enum dimension dimension, int digits, char *text,
                         size_t text_bytes)
{
    sim_assert(digits >= 1 && digits <= 17);
    const struct dimension_row *row = dimension_get(dimension);
    if (!isfinite(value)) {
        snprintf(text, text_bytes, "%g%s%s", value, row->gap, row->unit);
        return text;
    }
    char rounded[48];
    snprintf(rounded, sizeof rounded, "%.*e", digits - 1, value * row->unit_per_si);
    char *exponent_text = strchr(rounded, 'e');
    sim_assert(exponent_text != NULL);
    const int exponent10 = (int)strtol(exponent_text + 1, NULL, 10);
    const int prefix10 = choose_prefix(row, exponent10);
    *exponent_text = '\0';
    char scaled[64];
    snprintf(scaled, sizeof scaled, "%se%d", rounded, exponent10 - prefix10);
    const int decimals = digits - 1 - (exponent10 - prefix10);
    snprintf(text, text_bytes, "%.*f%s%s%s", decimals < 0 ? 0 : decimals, strtod(scaled, NULL),
             row->gap, decimal_prefix(prefix10), row->unit);
    return text;
}

/* Used up to and without `below_s`; the next row takes over from there. */
struct duration_row {
    double below_s;
    double unit_s;
    const char *unit;
};

static const struct duration_row DURATIONS[] = {
    {120.0, 1.0, "s"},
    {120.0 * 60.0, 60.0, "min"},
    {48.0 * SECONDS_PER_HOUR, SECONDS_PER_HOUR, "h"},
    {HUGE_VAL, SECONDS_PER_DAY, "days"},
};

const char *units_format_duration(double seconds, char *text, size_t text_bytes)
{
    if (fabs(seconds) < DURATIONS[0].below_s || !isfinite(seconds)) {
        return units_format(seconds, DIM_SECONDS, 3, text, text_bytes);
    }
    const struct duration_row *row = &DURATIONS[1];
    while (fabs(seconds) >= row->below_s) {
        row++;
    }
    const double amount = seconds / row->unit_s;
    const int decimals = fabs(amount) < 9.995 ? 2 : fabs(amount) < 99.95 ? 1 : 0;
    snprintf(text, text_bytes, "%.*f %s", decimals, amount, row->unit);
    return text;
}

const char *units_unit(enum dimension dimension, double *per_si)
{
    *per_si = dimension_get(dimension)->unit_per_si;
    return dimension_get(dimension)->unit;
}

const char *units_noun(enum dimension dimension)
{
    return dimension_get(dimension)->noun;
}

const char *units_example(enum dimension dimension)
{
    return dimension_get(dimension)->example;
}

/* ---- time ----------------------------------------------------------------------------------- */

double units_seconds(int64_t nanoseconds)
{
    return (double)nanoseconds / 1e9;
}

/* ---- differences and zeros ------------------------------------------------------------------ */

static const double SAME = 1e-9; /* of the larger */

double units_difference(double a, double b)
{
    return fabs(a - b) <= SAME * fmax(fabs(a), fabs(b)) ? 0 : a - b;
}

/* The length of a zero with its sign, "-0.00", that is a number by itself; 0: there is none. */
static size_t negative_zero_bytes(const char *text, const char *at)
{
    const bool begins = at == text || strchr(" \t\n(,;:", at[-1]) != NULL;
    if (!begins || at[0] != '-' || at[1] != '0') {
        return 0;
    }
    size_t bytes = 2;
    if (at[2] == '.') {
        const size_t zeros = strspn(at + 3, "0");
        bytes += zeros > 0 ? 1 + zeros : 0;
    }
    const char next = at[bytes];
    const bool goes_on =
        isalnum((unsigned char)next) || (next == '.' && isdigit((unsigned char)at[bytes + 1]));
    return goes_on ? 0 : bytes;
}

char *units_plain_zeros(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (negative_zero_bytes(text, at) == 0) {
            *to++ = *at;
        }
    }
    *to = '\0';
    return text;
}
