/* Digits that a band allows. A fifth of the half, and the power of ten nearest to it in logarithms
 * (they meet at 10^0.5 = 3.162): halves of 0.5 x 10^0.5 x 10 = 15.8 and 158.1 are where one digit
 * less is told.
 */
#include "report/banded.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/field.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int begin(void **state)
{
    *state = arena_new();
    return 0;
}

static int end(void **state)
{
    arena_free(*state);
    return 0;
}

static void the_last_digit_is_nearest_to_a_fifth_of_the_half(void **state)
{
    (void)state;
    assert_int_equal(banded_exponent(5), 0);    /* a fifth is 1 */
    assert_int_equal(banded_exponent(15.8), 0); /* 3.16 */
    assert_int_equal(banded_exponent(15.9), 1); /* 3.18 */
    assert_int_equal(banded_exponent(50), 1);
    assert_int_equal(banded_exponent(1.59), 0);
    assert_int_equal(banded_exponent(1.58), -1);
    /* What is left out is half a unit: at most 10^0.5 / 10 of the half, 0.316. */
    for (double half = 0.01; half < 1000; half *= 1.07) {
        const double unit = pow(10, banded_exponent(half));
        assert_true(0.5 * unit <= 0.3163 * half && 0.5 * unit >= 0.0316 * half);
    }
}

/* 66.7 days of 59.2 to 75.8, 478 of 57 around, a step of 3.818 s within 10 %. */
static void a_figure_has_the_digits_of_its_band(void **state)
{
    assert_string_equal(banded_text(*state, 66.7, 8.3), "67");
    assert_string_equal(banded_text(*state, 478, 57), "480");
    assert_string_equal(banded_text(*state, 3.818, 0.38), "3.8");
    assert_string_equal(banded_text(*state, 8582, 857), "8,600");
    assert_string_equal(banded_text(*state, 0.08092, 0.0081), "0.081");
    /* From 10,000 on in thousands, and the suffix is that of what is shown. */
    assert_string_equal(banded_text(*state, 80919, 8084), "81 k");
    assert_string_equal(banded_text(*state, 9997, 40), "10.00 k");
    assert_string_equal(banded_text(*state, 65830841, 8e6), "66 M");
    assert_string_equal(banded_text(*state, 1980000, 237000), "2.0 M");
    /* A band of a per mille keeps its digits, one wider than the value leaves one. */
    assert_string_equal(banded_text(*state, 66.73, 0.07), "66.73");
    assert_string_equal(banded_text(*state, 66.73, 100), "70");
    /* Without a band nothing is known of digits. */
    assert_null(banded_text(*state, 66.73, ABSENT));
    assert_null(banded_text(*state, 66.73, 0));
    /* What sums are rounded by is none: not "66.7300000000000040". */
    assert_null(banded_text(*state, 66.73, 66.73 * 0.9e-6));
    assert_string_equal(banded_text(*state, 66.73, 66.73 * 1.1e-6), "66.73000");
    assert_null(banded_text(*state, -66.73, 66.73 * 0.9e-6));
}

/* 481 k within 99 k; a text keeps its unit, and a zero that it dropped comes back. */
static void a_text_of_a_figure_is_told_to_its_band(void **state)
{
    assert_string_equal(banded_shown(*state, "481 k", 481e3, 99e3), "480 k");
    /* Of the value: 604.6 is 600, though 605 is 610. */
    assert_string_equal(banded_shown(*state, "605 k", 604.6e3, 99e3), "600 k");
    assert_string_equal(banded_shown(*state, "19.6 days", 19.6 * 86400, 4 * 86400), "20 days");
    assert_string_equal(banded_shown(*state, "3.79e25 FLOP", 3.79e25, 0.8e25), "3.8e25 FLOP");
    assert_string_equal(banded_shown(*state, "1,024", 1024, 170), "1,000");
    assert_string_equal(banded_shown(*state, "1.1 USD", 1.1, 0.11), "1.10 USD");
    assert_string_equal(banded_shown(*state, "481 k", 481e3, 1e3), "481 k"); /* it has no more */
    assert_string_equal(banded_shown(*state, "481 k", 481e3, ABSENT), "481 k");
    assert_string_equal(banded_shown(*state, "0 B", 0, 3), "0 B");
}

/* Halves of 0.8 and 2.7 days: a tenth for all. What no band was met of is as its format says, and
 * no band makes more digits than that. */
static void a_column_is_told_to_its_narrowest_band(void **state)
{
    struct banded_column column = {0};
    struct field days = {NULL, FIELD_RIGHT("days", "%.2f", 1)};
    banded_meet(&column, 23, ABSENT);
    banded_tell(&column, &days);
    assert_string_equal(field_shown(&days, *state, 23.126), "23.13");
    banded_meet(&column, 27.48, 2.7);
    banded_meet(&column, 16.43, 0.8);
    banded_meet(&column, 16.43, 0);
    banded_tell(&column, &days);
    assert_string_equal(field_shown(&days, *state, 23.126), "23.1");
    assert_string_equal(field_shown(&days, *state, -0.04), "0.0");
    struct field mfu = {NULL, FIELD_RIGHT("MFU %", "%+.1f", 100)};
    banded_tell(&(struct banded_column){0.018}, &mfu);
    assert_string_equal(field_shown(&mfu, *state, 0.4646), "+46");
    banded_tell(&(struct banded_column){0.4}, &mfu);
    assert_string_equal(field_shown(&mfu, *state, 0.4646), "+50");
    banded_tell(&(struct banded_column){0.0001}, &mfu);
    assert_string_equal(field_shown(&mfu, *state, 0.46464), "+46.5");
}

static void both_ends_of_a_range_are_told_alike(void **state)
{
    assert_string_equal(banded_range(*state, 59.2, 75.8), "59 to 76");
    assert_string_equal(banded_range(*state, 900000, 1240000), "0.9 to 1.2 M");
    assert_string_equal(banded_range(*state, 9400, 11400), "9.4 to 11.4 k");
    assert_string_equal(banded_range(*state, 1.732, 1.732), "1.73");
    assert_string_equal(banded_range(*state, 11400, 11400), "11,400");
    assert_string_equal(banded_range(*state, 1.732, nextafter(1.732, 2)), "1.73");
    assert_string_equal(banded_range(*state, 0, 0), "0");
    assert_string_equal(banded_duration_range(*state, 6.46, 6.46), "6.46 s");
    assert_string_equal(banded_energy_range(*state, 35784, 43684), "36 to 44 MWh");
    assert_string_equal(banded_energy(*state, 28331511, 3.5e6), "28 GWh");
    assert_string_equal(banded_energy(*state, 500, 60), "500 kWh");
    assert_string_equal(banded_duration_range(*state, 3.46, 4.22), "3.5 to 4.2 s");
    assert_string_equal(banded_duration(*state, 0.7321, 0.08), "730 ms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_digit_is_nearest_to_a_fifth_of_the_half, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_figure_has_the_digits_of_its_band, begin, end),
        cmocka_unit_test_setup_teardown(a_text_of_a_figure_is_told_to_its_band, begin, end),
        cmocka_unit_test_setup_teardown(a_column_is_told_to_its_narrowest_band, begin, end),
        cmocka_unit_test_setup_teardown(both_ends_of_a_range_are_told_alike, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
