/* A decimal is read as strtod reads it, to the bit, or not at all. */
#include "base/decimal.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What strtod makes of the same; its bits, for -0 is 0 otherwise. */
static void check_as_strtod(const char *text, int exponent10, double read)
{
    char whole[128];
    snprintf(whole, sizeof whole, "%se%d", text, exponent10);
    const double slow = strtod(whole, NULL);
    if (memcmp(&slow, &read, sizeof slow) != 0) {
        fail_msg("'%s' is %a, not %a", whole, slow, read);
    }
}

/* 2^53 = 9007199254740992 is the last integer up to which all are doubles: ...99 more digits than
 * it has would be rounded before they are scaled, 10^22 is the last power of ten that is one. */
static void the_plain_way_is_taken_where_it_is_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int exponent10;
        bool is_read;
    } cases[] = {
        {"0", 0, true},
        {"-0", 0, true},
        {"-0.0000", 3, true},
        {"0.9371", 0, true},
        {"+12.5", 9, true},
        {"3.35", 12, true},
        {".5", 0, true},
        {"5.", 0, true},
        {"000000000000000000000000000000.1", -9, true},
        {"9007199254740989", 0, true},
        {"900719925474098.9", 22, true},
        {"1", 22, true},
        {"1", -22, true},
        {"1", 23, false},
        {"1", -23, false},
        {"9007199254740993", 0, false},
        {"90071992547409930", 0, false},
        {"0.0000000000000000000000001", 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 7;
        const char *text = cases[i].text;
        const bool is_read = decimal_read(text, strlen(text), cases[i].exponent10, &value);
        assert_int_equal(is_read, cases[i].is_read);
        if (is_read) {
            check_as_strtod(text, cases[i].exponent10, value);
        } else {
            assert_true(value > 6.5 && value < 7.5);
        }
    }
}

static void what_is_no_such_number_is_left_to_others(void **state)
{
    (void)state;
    static const char *const texts[] = {"",   "-",  "+",   ".",   "-.",  "1e3", "1.2.3", "0x1",
                                        "1 ", " 1", "--1", "inf", "nan", "1_0", "1-",    "1,5"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double value = 0;
        assert_false(decimal_read(texts[i], strlen(texts[i]), 0, &value));
    }
}

/* Up to 16 digits with a point anywhere, times 10^-18 to 10^18: 100,000 of them. Most are read. */
static void random_numbers_are_those_of_strtod(void **state)
{
    (void)state;
    enum { NUMBERS = 100000, DIGITS_MOST = 16 };
    uint32_t read = 0;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        struct rng_key key = {.seed = 28, .stream = rng_stream("decimal"), .step = i};
        char text[DIGITS_MOST + 3] = "";
        const uint32_t digits = 1 + (uint32_t)rng_below(&key, DIGITS_MOST);
        key.operation = 1;
        const uint32_t point = (uint32_t)rng_below(&key, digits + 1);
        size_t length = 0;
        for (uint32_t k = 0; k < digits; k++) {
            key.operation = 2 + k;
            if (k == point) {
                text[length++] = '.';
            }
            text[length++] = (char)('0' + rng_below(&key, 10));
        }
        key.operation = 2 + digits;
        const int exponent10 = (int)rng_below(&key, 37) - 18;
        double value = 0;
        if (decimal_read(text, length, exponent10, &value)) {
            check_as_strtod(text, exponent10, value);
            read++;
        }
    }
    assert_true(read > NUMBERS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plain_way_is_taken_where_it_is_exact),
        cmocka_unit_test(what_is_no_such_number_is_left_to_others),
        cmocka_unit_test(random_numbers_are_those_of_strtod),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
