/* The writer keeps a depth and, for each open object or array, whether it has
 * an item already; commas, line breaks and indentation follow from these two.
 * Escaping goes character by character and decodes UTF-8 on the way, so that a
 * document is valid JSON whatever bytes a file name or a title has.
 */
#include "base/json.h"

#include "base/arena.h"
#include "base/printable.h"
#include "base/units.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_begin(struct json *json, FILE *out)
{
    *json = (struct json){.out = out};
}

void json_end(struct json *json)
{
    sim_assert(json->depth == 0);
    sim_assert(json->has_item[0]);
    fputc('\n', json->out);
}

/* The escaped form of the first character at `text`, written to `out` (at most 6 bytes and a
 * NUL). Returns the bytes read. A byte that is no UTF-8 (a path may hold one) becomes U+FFFD. What
 * must not reach a terminal as it is has at most three bytes. */
static size_t escape(const char *text, char out[8])
{
    const char letter = text[0];
    const size_t bytes = printable_width(text);
    if (bytes == 0) {
        snprintf(out, 8, "\xef\xbf\xbd");
    } else if (letter == '"' || letter == '\\') {
        snprintf(out, 8, "\\%c", letter);
    } else if (letter == '\n' || letter == '\t') {
        snprintf(out, 8, "\\%c", letter == '\n' ? 'n' : 't');
    } else if (!printable_is(text, bytes)) {
        snprintf(out, 8, "\\u%04x", (unsigned)printable_code(text, bytes) & 0xffffu);
    } else {
        snprintf(out, 8, "%.*s", (int)bytes, text);
    }
    return bytes == 0 ? 1 : bytes;
}

static void print_string(FILE *out, const char *value)
{
    char escaped[8];
    fputc('"', out);
    while (*value != '\0') {
        value += escape(value, escaped);
        fputs(escaped, out);
    }
    fputc('"', out);
}

const char *json_quoted(struct arena *arena, const char *value)
{
    char *quoted = arena_alloc(arena, 6 * strlen(value) + sizeof "\"\"" + 2);
    char *end = quoted;
    *end++ = '"';
    while (*value != '\0') {
        value += escape(value, end);
        end += strlen(end);
    }
    *end = '"';
    return quoted;
}

static void start_line(struct json *json)
{
    fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
}

static void start_item(struct json *json, const char *key)
{
    if (json->depth == 0) {
        sim_assert(!json->has_item[0]); /* one document has one root */
    } else {
        fputs(json->has_item[json->depth] ? "," : "", json->out);
        start_line(json);
    }
    json->has_item[json->depth] = true;
    if (key != NULL) {
        print_string(json->out, key);
        fputs(": ", json->out);
    }
}

static void open_nest(struct json *json, const char *key, char bracket)
{
    start_item(json, key);
    fputc(bracket, json->out);
    sim_assert(json->depth + 1 < JSON_DEPTH_MAX);
    json->depth++;
    json->has_item[json->depth] = false;
}

static void close_nest(struct json *json, char bracket)
{
    sim_assert(json->depth > 0);
    const bool has_item = json->has_item[json->depth];
    json->depth--;
    if (has_item) {
        start_line(json);
    }
    fputc(bracket, json->out);
}

void json_object_open(struct json *json, const char *key)
{
    open_nest(json, key, '{');
}

void json_object_close(struct json *json)
{
    close_nest(json, '}');
}

void json_array_open(struct json *json, const char *key)
{
    open_nest(json, key, '[');
}

void json_array_close(struct json *json)
{
    close_nest(json, ']');
}

void json_text(struct json *json, const char *key, const char *value)
{
    start_item(json, key);
    print_string(json->out, value);
}

/* A whole number is printed as one, another with the fewest digits that read back as the same
 * double; 17 always do. A decimal of at most 15 digits is the one that %.15g makes of its double
 * (DBL_DIG, C17 5.2.4.2.2), so no fewer need be tried; but of denormal ones. */
const char *json_number_text(double value, char text[JSON_NUMBER_BYTES])
{
    sim_assert(isfinite(value));
    const bool is_whole = fabs(value) < 1e15 && fabs(value - round(value)) <= 0;
    if (is_whole) {
        snprintf(text, JSON_NUMBER_BYTES, "%.0f", value);
        units_plain_zeros(text);
    }
    const int least = fabs(value) < DBL_MIN ? 1 : DBL_DIG;
    for (int digits = least; !is_whole && digits <= DBL_DECIMAL_DIG; digits++) {
        snprintf(text, JSON_NUMBER_BYTES, "%.*g", digits, value);
        const double back = strtod(text, NULL);
        if (!(back < value) && !(back > value)) {
            break;
        }
    }
    return text;
}

void json_number(struct json *json, const char *key, double value)
{
    char text[JSON_NUMBER_BYTES];
    start_item(json, key);
    fputs(json_number_text(value, text), json->out);
}

void json_null(struct json *json, const char *key)
{
    start_item(json, key);
    fputs("null", json->out);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
    start_item(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void json_bool(struct json *json, const char *key, bool value)
{
    start_item(json, key);
    fputs(value ? "true" : "false", json->out);
}
