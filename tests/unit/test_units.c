/* Units: every unit's value, each refusal to the letter, and back to text. */
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/assert_close.h"

struct good_row {
    const char *text;
    enum dimension dimension;
    double value;
};

/* Powers of ten are exact (the literal at the right is the nearest double);
 * 400 Gbps = 400e9 / 8 = 50e9 B/s; 80 GiB = 80 * 1024^3; 1.5 h = 5400 s. */
static const struct good_row GOOD[] = {
    {"16384", DIM_COUNT, 16384.0},
    {"16_384", DIM_COUNT, 16384.0},
    {"1k", DIM_COUNT, 1000.0},
    {"1.5M", DIM_COUNT, 1.5e6},
    {"1.1T", DIM_COUNT, 1.1e12},
    {"15.6T", DIM_COUNT, 15.6e12},
    {"405B", DIM_COUNT, 405e9},  /* billions in a count, */
    {"405 B", DIM_BYTES, 405.0}, /* bytes in a size */
    {"1e3", DIM_COUNT, 1000.0},
    {"2E", DIM_COUNT, 2e18},
    {"2E3", DIM_COUNT, 2000.0},
    {"-5", DIM_COUNT, -5.0},
    {"0.85", DIM_FRACTION, 0.85},
    {"85 %", DIM_FRACTION, 0.85},
    {"85%", DIM_FRACTION, 0.85},
    {"80 GiB", DIM_BYTES, 80.0 * 1024 * 1024 * 1024},
    {"80GB", DIM_BYTES, 80e9},
    {"2 MB", DIM_BYTES, 2e6},
    {"512 bytes", DIM_BYTES, 512.0},
    {"3 PiB", DIM_BYTES, 3.0 * 0x1p50},
    {"1 EB", DIM_BYTES, 1e18},
    {"3.35 TB/s", DIM_BYTES_PER_S, 3.35e12},
    {"900 GB/s", DIM_BYTES_PER_S, 900e9},
    {"400 Gbps", DIM_LINK_BYTES_PER_S, 50e9},
    {"400 Gb/s", DIM_LINK_BYTES_PER_S, 50e9},
    {"400 Gbit/s", DIM_LINK_BYTES_PER_S, 50e9},
    {"50 GB/s", DIM_LINK_BYTES_PER_S, 50e9},
    {"1.5 us", DIM_SECONDS, 1.5e-6},
    {"1.5 \xc2\xb5s", DIM_SECONDS, 1.5e-6},
    {"20 ns", DIM_SECONDS, 20e-9},
    {"3 ms", DIM_SECONDS, 3e-3},
    {"12s", DIM_SECONDS, 12.0},
    {"30 min", DIM_SECONDS, 1800.0},
    {"1.5 h", DIM_SECONDS, 5400.0},
    {"2 d", DIM_SECONDS, 172800.0},
    {"54 days", DIM_SECONDS, 54.0 * 86400.0},
    {"1 day", DIM_SECONDS, 86400.0},
    {"989.4 TFLOP/s", DIM_FLOP_PER_S, 989.4e12},
    {"312 TFLOPS", DIM_FLOP_PER_S, 312e12},
    {"3.8e25 FLOP", DIM_FLOP, 3.8e25},
    {"2.00 USD", DIM_USD, 2.0},
    {"2.00 USD/h", DIM_USD, 2.0},
    {"$2.50", DIM_USD, 2.5},
    {"2.5 $", DIM_USD, 2.5},
    {"0.08 USD/kWh", DIM_USD_PER_KWH, 0.08},
    {"$0.08/kWh", DIM_USD_PER_KWH, 0.08},
    {"130 USD/month", DIM_USD_PER_MONTH, 130.0},
    {"$130/month", DIM_USD_PER_MONTH, 130.0},
    {"0.414 kg/kWh", DIM_KG_PER_KWH, 0.414},
    {"414 g/kWh", DIM_KG_PER_KWH, 0.414},
    {"1 month", DIM_SECONDS, 730.0 * 3600.0},
    {"18 months", DIM_SECONDS, 18.0 * 730.0 * 3600.0},
    {"1 year", DIM_SECONDS, 365.0 * 86400.0},
    {"5 years", DIM_SECONDS, 12.0 * 5.0 * 730.0 * 3600.0},
    {"700 W", DIM_WATT, 700.0},
    {"1.2 kW", DIM_WATT, 1200.0},
    {"20 MW", DIM_WATT, 20e6},
    {"1.83 GHz", DIM_HERTZ, 1.83e9},
    {"300 MWh", DIM_JOULE, 1.08e12},
    {"37 kWh", DIM_JOULE, 1.332e8},
    {"5 kJ", DIM_JOULE, 5e3},
    {"500 kg", DIM_KG, 500.0},
    {"20 t", DIM_KG, 20e3},
    {"2M USD", DIM_USD, 2e6},
    {"1.5k USD", DIM_USD, 1500.0},
    {"  7 W  ", DIM_WATT, 7.0},
    {"1e30", DIM_COUNT, 1e30},
};

static void each_unit_gives_its_value_exactly(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        double value = -1.0;
        char message[256] = "";
        if (!units_parse(GOOD[i].text, GOOD[i].dimension, &value, message, sizeof message)) {
            fail_msg("%s: %s", GOOD[i].text, message);
        }
        assert_close(value, GOOD[i].value, 0.0);
    }
}

struct bad_row {
    const char *text;
    enum dimension dimension;
    const char *message;
};

static const struct bad_row BAD[] = {
    {"400", DIM_LINK_BYTES_PER_S,
     "a bandwidth needs a unit: write '400 Gbps' (bits) or '50 GB/s' (bytes)"},
    {"400 G", DIM_LINK_BYTES_PER_S,
     "a bandwidth needs a unit: write '400 Gbps' (bits) or '50 GB/s' (bytes)"},
    {"80", DIM_BYTES, "a size needs a unit: write '80 GB' (powers of 1000) or '80 GiB' (of 1024)"},
    {"0", DIM_SECONDS,
     "a duration needs a unit: write '1.5 us', '30 min' or '2 days' (ns, us, ms, s, min, h or d)"},
    /* 80e9 / 8 = 10e9 */
    {"80 Gb", DIM_BYTES,
     "'80 Gb' is in bits (b) where bytes (B) are expected: write GB or GiB, not Gb; "
     "if bits are meant, '10 GB'"},
    /* 400e9 / 8 = 50e9 */
    {"400 Gbps", DIM_BYTES_PER_S,
     "'400 Gbps' is in bits where bytes are expected: write '50 GB/s'"},
    {"400 Gb", DIM_LINK_BYTES_PER_S,
     "'400 Gb' is a size in bits where a bandwidth is expected: "
     "write '400 Gbps' (bits) or '50 GB/s' (bytes)"},
    {"5 GB", DIM_COUNT,
     "'5 GB' is a size in bytes where a plain number is expected: "
     "write '16384', '405B' or '15.6T'"},
    {"5 kWh", DIM_WATT,
     "'5 kWh' is an energy where a power is expected: write '700 W' or '1.2 kW'"},
    {"5 %", DIM_COUNT,
     "'5 %' is a percentage where a plain number is expected: write '16384', '405B' or '15.6T'"},
    {"64 KB", DIM_BYTES,
     "'64 KB' has an unknown unit: write '80 GB' (powers of 1000) or '80 GiB' (of 1024)"},
    {"400 gbps", DIM_LINK_BYTES_PER_S,
     "'400 gbps' has an unknown unit: write '400 Gbps' (bits) or '50 GB/s' (bytes)"},
    {"400 Gbps per node, one way, more or less", DIM_LINK_BYTES_PER_S,
     "'400 Gbps per node, one way, more or less' has an unknown unit: "
     "write '400 Gbps' (bits) or '50 GB/s' (bytes)"},
    {"2.10 EUR", DIM_USD, "'2.10 EUR' is in another currency: money is in USD, write '2.00 USD'"},
    {"0.2 EUR/kWh", DIM_USD_PER_KWH,
     "'0.2 EUR/kWh' is in another currency: money is in USD, write '0.08 USD/kWh'"},
    {"130 USD", DIM_USD_PER_MONTH,
     "'130 USD' is an amount of money where a price per month is expected: write '130 USD/month'"},
    {"2 USD/month", DIM_USD,
     "'2 USD/month' is a price per month where a price is expected: write '2.00 USD'"},
    {"0.4", DIM_KG_PER_KWH, "an emission per energy needs a unit: write '0.4 kg/kWh'"},
    {"300", DIM_JOULE, "an energy needs a unit: write '300 MWh'"},
    {"20 t", DIM_JOULE, "'20 t' is a mass where an energy is expected: write '300 MWh'"},
    {"20 kWh", DIM_KG, "'20 kWh' is an energy where a mass is expected: write '20 t' or '500 kg'"},
    {"fast", DIM_HERTZ, "'fast' is not a frequency: write '1.83 GHz'"},
    {"", DIM_HERTZ, "'' is not a frequency: write '1.83 GHz'"},
    {"0.5B", DIM_FRACTION, "'0.5B' is not a fraction: write '0.85' or '85 %'"},
    {"5B", DIM_WATT,
     "'5B' is a size in bytes where a power is expected: write '700 W' or '1.2 kW'"},
    {"5k", DIM_FRACTION, "'5k' is not a fraction: write '0.85' or '85 %'"},
    {"1e31", DIM_COUNT, "'1e31' is beyond all measure: at most 1e30 is read"},
    {"-1e99999999999", DIM_COUNT, "'-1e99999999999' is beyond all measure: at most 1e30 is read"},
};

static void each_refusal_says_what_would_be_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        double value = 42.0;
        char message[256] = "";
        assert_false(units_parse(BAD[i].text, BAD[i].dimension, &value, message, sizeof message));
        assert_string_equal(message, BAD[i].message);
        assert_close(value, 42.0, 0.0);
    }
}

static void what_is_no_decimal_number_is_refused(void **state)
{
    (void)state;
    const char *const texts[] = {"nan",   "inf", "-inf", "0x10", ".5",      "5.",
                                 "1__0",  "_1",  "1_",   "+",    "-",       "1,5",
                                 "1.2.3", "- 5", "e5",   "1 e5", "Infinity"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double value = 0.0;
        char message[256];
        if (units_parse(texts[i], DIM_COUNT, &value, message, sizeof message)) {
            fail_msg("'%s' was read as %g", texts[i], value);
        }
    }
}

static void a_very_long_number_is_refused(void **state)
{
    (void)state;
    char text[1001];
    for (size_t i = 0; i < 1000; i++) {
        text[i] = '1';
    }
    text[1000] = '\0';
    double value = 0.0;
    char message[256];
    assert_false(units_parse(text, DIM_COUNT, &value, message, sizeof message));
    text[60] = '.';
    assert_false(units_parse(text, DIM_COUNT, &value, message, sizeof message));
}

static void a_small_message_buffer_is_respected(void **state)
{
    (void)state;
    char message[8] = "";
    double value = 0.0;
    assert_false(units_parse("fast", DIM_WATT, &value, message, sizeof message));
    assert_string_equal(message, "'fast' ");
}

struct format_row {
    double value;
    enum dimension dimension;
    int digits;
    const char *text;
};

static const struct format_row FORMATS[] = {
    {3.35e12, DIM_BYTES_PER_S, 3, "3.35 TB/s"},
    {50e9, DIM_LINK_BYTES_PER_S, 3, "400 Gbps"}, /* 50e9 * 8 */
    {80e9, DIM_BYTES, 3, "80.0 GB"},
    {0.0, DIM_BYTES, 3, "0.00 B"},
    {999.96, DIM_COUNT, 4, "1.000k"}, /* rounded before it is scaled */
    {15.6e12, DIM_COUNT, 3, "15.6T"},
    {0.85, DIM_FRACTION, 3, "85.0 %"},
    {1.5e-6, DIM_SECONDS, 2, "1.5 us"},
    {1.5e-12, DIM_SECONDS, 2, "0.0015 ns"},
    {5400.0, DIM_SECONDS, 3, "5400 s"},
    {989.4e12, DIM_FLOP_PER_S, 4, "989.4 TFLOP/s"},
    {3.8e25, DIM_FLOP, 2, "38000000 EFLOP"},
    {2.0, DIM_USD, 3, "2.00 USD"},
    {0.08, DIM_USD_PER_KWH, 2, "0.080 USD/kWh"},
    {-1200.0, DIM_WATT, 2, "-1.2 kW"},
    {1.83e9, DIM_HERTZ, 3, "1.83 GHz"},
};

static void quantities_are_written_with_their_digits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
        char text[64];
        const struct format_row *row = &FORMATS[i];
        assert_string_equal(
            units_format(row->value, row->dimension, row->digits, text, sizeof text), row->text);
    }
}

static void what_is_written_reads_back_in_every_dimension(void **state)
{
    (void)state;
    for (int i = 0; i < DIM_LAST_; i++) {
        const enum dimension dimension = (enum dimension)i;
        for (double value = 1.2345678e-9; value < 1e20; value *= 7.3) {
            char text[64];
            char message[256] = "";
            double again = -1.0;
            units_format(value, dimension, 9, text, sizeof text);
            if (!units_parse(text, dimension, &again, message, sizeof message)) {
                fail_msg("%s: %s", text, message);
            }
            assert_close(again, value, 1e-8);
        }
    }
}

static void every_example_can_be_read(void **state)
{
    (void)state;
    for (int i = 0; i < DIM_LAST_; i++) {
        char message[256];
        double value = 0.0;
        const enum dimension dimension = (enum dimension)i;
        assert_true(
            units_parse(units_example(dimension), dimension, &value, message, sizeof message));
    }
}

struct duration_case {
    double seconds;
    const char *text;
};

static void durations_are_written_as_people_say_them(void **state)
{
    (void)state;
    /* 54.3 days = 4691520 s; 2.5 h = 9000 s; 150 s = 2.5 min. */
    static const struct duration_case cases[] = {
        {850e-9, "850 ns"},       {3.25e-3, "3.25 ms"}, {12.0, "12.0 s"},
        {75.0, "75.0 s"},         {150.0, "2.50 min"},  {9000.0, "2.50 h"},
        {4691520.0, "54.3 days"}, {0.0, "0.00 s"},      {86400.0 * 400.0, "400 days"},
        {0.99996, "1.00 s"},      {-12.0, "-12.0 s"},   {36.0 * 3600.0, "36.0 h"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        assert_string_equal(units_format_duration(cases[i].seconds, text, sizeof text),
                            cases[i].text);
    }
}

/* What is printed as zero has no sign, what is more than that keeps it; words and keys are left. */
static void a_zero_has_no_sign(void **state)
{
    (void)state;
    const struct {
        const char *text, *plain;
    } cases[] = {
        {"-0.0 t CO2", "0.0 t CO2"},
        {"-0", "0"},
        {"saves -0.00 %", "saves 0.00 %"},
        {"-0.01", "-0.01"},
        {"-0.001 days", "-0.001 days"},
        {"(-0.0, -0)", "(0.0, 0)"},
        {"1e-05", "1e-05"},
        {"a-0", "a-0"},
        {"--set x=-0", "--set x=-0"},
        {"-00:30", "-00:30"},
        {"-0x1", "-0x1"},
        {"to -0.", "to 0."},
        {"-", "-"},
        {"-0.5 -0.0", "-0.5 0.0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        snprintf(text, sizeof text, "%s", cases[i].text);
        assert_string_equal(units_plain_zeros(text), cases[i].plain);
    }
}

/* A nanosecond of a second is the last that a step knows; twice that is a difference. */
static void what_is_the_same_but_for_rounding_differs_by_nothing(void **state)
{
    (void)state;
    assert_true(units_difference(21.1 + 3.17e-12, 21.1) == 0);
    assert_false(signbit(units_difference(0.0, -0.0)));
    assert_false(signbit(units_difference(-0.0, 0.0)));
    assert_true(fabs(units_difference(1, 1 - 2e-9) - 2e-9) < 1e-15);
    assert_true(units_difference(-5, -7) == 2);
    assert_true(isnan(units_difference((double)NAN, 1)));
}

/* The double nearest to n / 1e9, which is what reading its digits gives; 836,662,442 times the
 * double that is called 1e-9 gives the next one. */
static void nanoseconds_are_the_nearest_seconds(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 1000; i++) {
        const int64_t nanoseconds = 836662442 + i * 7919;
        char digits[32];
        snprintf(digits, sizeof digits, "%" PRId64 "e-9", nanoseconds);
        const double seconds = units_seconds(nanoseconds);
        assert_memory_equal(&seconds, &(double){strtod(digits, NULL)}, sizeof seconds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zero_has_no_sign),
        cmocka_unit_test(what_is_the_same_but_for_rounding_differs_by_nothing),
        cmocka_unit_test(each_unit_gives_its_value_exactly),
        cmocka_unit_test(each_refusal_says_what_would_be_right),
        cmocka_unit_test(what_is_no_decimal_number_is_refused),
        cmocka_unit_test(a_very_long_number_is_refused),
        cmocka_unit_test(a_small_message_buffer_is_respected),
        cmocka_unit_test(quantities_are_written_with_their_digits),
        cmocka_unit_test(what_is_written_reads_back_in_every_dimension),
        cmocka_unit_test(every_example_can_be_read),
        cmocka_unit_test(nanoseconds_are_the_nearest_seconds),
        cmocka_unit_test(durations_are_written_as_people_say_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
