/* The JSON writer: form, escapes, numbers. Expected documents are written out. */
#include "base/json.h"

#include "base/arena.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What `write` puts into a document, as text. */
static const char *document_of(void (*write)(struct json *json), char *text, size_t text_bytes)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    struct json json;
    json_begin(&json, file);
    write(&json);
    json_end(&json);
    rewind(file);
    const size_t length = fread(text, 1, text_bytes - 1, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

static void write_nested(struct json *json)
{
    json_object_open(json, NULL);
    json_text(json, "name", "a");
    json_array_open(json, "rows");
    json_integer(json, NULL, 1);
    json_object_open(json, NULL);
    json_bool(json, "fits", true);
    json_object_close(json);
    json_array_close(json);
    json_object_open(json, "empty");
    json_object_close(json);
    json_array_open(json, "none");
    json_array_close(json);
    json_object_close(json);
}

static void commas_and_nesting_are_kept_by_the_writer(void **state)
{
    (void)state;
    char text[512];
    assert_string_equal(document_of(write_nested, text, sizeof text), "{\n"
                                                                      "  \"name\": \"a\",\n"
                                                                      "  \"rows\": [\n"
                                                                      "    1,\n"
                                                                      "    {\n"
                                                                      "      \"fits\": true\n"
                                                                      "    }\n"
                                                                      "  ],\n"
                                                                      "  \"empty\": {},\n"
                                                                      "  \"none\": []\n"
                                                                      "}\n");
}

static void write_escapes(struct json *json)
{
    json_text(json, NULL, "q\" b\\ n\n t\t bell\a del\x7f é");
}

static void strings_are_escaped(void **state)
{
    /* RFC 8259 section 7: quote, backslash and what is below U+0020 must be
     * escaped; we escape DEL too. Other characters stand as they are. */
    (void)state;
    char text[256];
    assert_string_equal(document_of(write_escapes, text, sizeof text),
                        "\"q\\\" b\\\\ n\\n t\\t bell\\u0007 del\\u007f é\"\n");
}

static void write_bad_utf8(struct json *json)
{
    json_array_open(json, NULL);
    json_text(json, NULL,
              "a\xff"
              "b");                            /* never in UTF-8 */
    json_text(json, NULL, "\xc0\xaf");         /* overlong '/' */
    json_text(json, NULL, "\xed\xa0\x80");     /* a surrogate */
    json_text(json, NULL, "\xe2\x82");         /* cut short */
    json_text(json, NULL, "\xf0\x9f\x98\x80"); /* well formed: U+1F600 */
    json_array_close(json);
}

static void bytes_that_are_no_utf8_become_replacement_characters(void **state)
{
    /* One U+FFFD (EF BF BD) for each byte that starts no character. */
    (void)state;
    char text[256];
    assert_string_equal(document_of(write_bad_utf8, text, sizeof text),
                        "[\n  \"a\xef\xbf\xbd"
                        "b\",\n"
                        "  \"\xef\xbf\xbd\xef\xbf\xbd\",\n"
                        "  \"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\n"
                        "  \"\xef\xbf\xbd\xef\xbf\xbd\",\n"
                        "  \"\xf0\x9f\x98\x80\"\n]\n");
}

static void write_numbers(struct json *json)
{
    json_array_open(json, NULL);
    json_number(json, NULL, 0.1);
    json_number(json, NULL, 400);
    json_number(json, NULL, 1.0 / 3);
    json_number(json, NULL, 15.6e12);
    json_number(json, NULL, 6.912345678);
    json_number(json, NULL, 9.95);
    json_integer(json, NULL, INT64_MIN);
    json_integer(json, NULL, INT64_MAX);
    json_array_close(json);
}

static void numbers_have_the_fewest_digits_that_read_back(void **state)
{
    /* 0.1 needs 1 digit though it is not exact; 1/3 needs 16 (17 would be
     * 0.33333333333333331); 9.95 needs 3, but with 16 it is 9.949999999999999, which also reads
     * back; a whole number below 1e15 has no exponent; integers never pass through a double. */
    (void)state;
    char text[512];
    assert_string_equal(
        document_of(write_numbers, text, sizeof text),
        "[\n  0.1,\n  400,\n  0.3333333333333333,\n  15600000000000,\n  6.912345678,\n"
        "  9.95,\n  -9223372036854775808,\n  9223372036854775807\n]\n");
}

static void write_extremes(struct json *json)
{
    json_array_open(json, NULL);
    json_number(json, NULL, DBL_MAX);
    json_number(json, NULL, DBL_MIN);
    json_number(json, NULL, 5e-324);
    json_number(json, NULL, -0.0);
    json_number(json, NULL, 0.1 + 0.2);
    json_number(json, NULL, 1e23);
    json_number(json, NULL, 123456789012345678.0);
    json_array_close(json);
}

/* But for -0, which is written as 0. */
static void every_double_reads_back_as_itself(void **state)
{
    (void)state;
    const double expected[] = {
        DBL_MAX, DBL_MIN, 5e-324, 0.0, 0.1 + 0.2, 1e23, 123456789012345678.0};
    char text[512];
    const char *rest = document_of(write_extremes, text, sizeof text) + 1;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char *end = NULL;
        const double back = strtod(rest, &end);
        assert_memory_equal(&back, &expected[i], sizeof back);
        rest = end + 1; /* the comma */
    }
}

static void a_text_can_be_quoted_alone(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_string_equal(json_quoted(arena, "50 \"Gbps\"\n"), "\"50 \\\"Gbps\\\"\\n\"");
    assert_string_equal(json_quoted(arena, ""), "\"\"");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_nesting_are_kept_by_the_writer),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(bytes_that_are_no_utf8_become_replacement_characters),
        cmocka_unit_test(numbers_have_the_fewest_digits_that_read_back),
        cmocka_unit_test(every_double_reads_back_as_itself),
        cmocka_unit_test(a_text_can_be_quoted_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
