/* Days of the Gregorian calendar: known ones, all of some centuries one after the other, what is no
 * day.
 */
#include "base/date.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

static int64_t day_of(const char *text)
{
    int64_t day = -1;
    assert_true(date_parse(text, &day));
    return day;
}

/* 30 years of 365 days with 7 leap days; leap years by the rule of 400. */
static void known_days(void **state)
{
    (void)state;
    assert_int_equal(day_of("1970-01-01"), 0);
    assert_int_equal(day_of("2000-01-01"), 30 * 365 + 7);
    assert_int_equal(day_of("2000-03-01") - day_of("2000-02-28"), 2);
    assert_int_equal(day_of("1900-03-01") - day_of("1900-02-28"), 1);
    assert_int_equal(day_of("2026-12-31") - day_of("2026-01-01"), 364);
}

/* Each day is the next one's before, with every month in its turn. */
static void all_days_of_centuries(void **state)
{
    (void)state;
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t day = day_of("1899-01-01");
    for (int year = 1899; year < 2105; year++) {
        for (int month = 1; month <= 12; month++) {
            const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
            const int length = lengths[month - 1] + (month == 2 && is_leap ? 1 : 0);
            const int64_t first = day;
            for (int of_month = 1; of_month <= length; of_month++, day++) {
                char text[DATE_BYTES];
                char wanted[64];
                snprintf(wanted, sizeof wanted, "%04d-%02d-%02d", year, month, of_month);
                assert_string_equal(date_text(day, text), wanted);
                assert_int_equal(day_of(wanted), day);
                assert_int_equal(date_month(day, 0), first);
                assert_int_equal(date_month(day, 1), first + length);
            }
        }
    }
}

static void months_go_over_years(void **state)
{
    (void)state;
    assert_int_equal(date_month(day_of("2026-11-30"), 3), day_of("2027-02-01"));
    assert_int_equal(date_month(day_of("2026-01-15"), -1), day_of("2025-12-01"));
    assert_int_equal(date_month(day_of("2026-01-15"), 120), day_of("2036-01-01"));
}

static void what_is_no_day(void **state)
{
    (void)state;
    static const char *const texts[] = {"",           "2026-9-1",   "2026-02-29", "2026-13-01",
                                        "2026-00-01", "2026-01-00", "2026-04-31", "26-01-01",
                                        "2026/01/01", "2026-01-1x", "0999-01-01", "2026-01-011"};
    int64_t day;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_false(date_parse(texts[i], &day));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_days),
        cmocka_unit_test(all_days_of_centuries),
        cmocka_unit_test(months_go_over_years),
        cmocka_unit_test(what_is_no_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
