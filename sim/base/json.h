/* A small JSON writer: one document, well formed by construction.
 *
 * Commas and nesting are kept by the writer; strings are escaped; bytes that are
 * not UTF-8 become U+FFFD; a whole number is printed as one, another with the
 * fewest digits (at most 17) that read back. What does not exist is json_null;
 * NaN and infinity are a broken invariant.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct arena;

#define JSON_DEPTH_MAX 16
enum { JSON_NUMBER_BYTES = 32 };

struct json {
    FILE *out;
    uint32_t depth;
    bool has_item[JSON_DEPTH_MAX];
};

void json_begin(struct json *json, FILE *out);
void json_end(struct json *json); /* final newline; asserts that all is closed */

/* key NULL inside arrays */
void json_object_open(struct json *json, const char *key);
void json_object_close(struct json *json);
void json_array_open(struct json *json, const char *key);
void json_array_close(struct json *json);
void json_text(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, double value);
void json_null(struct json *json, const char *key);
void json_integer(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);

/* A number as JSON writes it, in `text`, which it returns. */
const char *json_number_text(double value, char text[JSON_NUMBER_BYTES]);

/* A text as JSON writes it, quotes included, for a place that wants one alone. */
const char *json_quoted(struct arena *arena, const char *value);

#endif
