/* What of a user's text is shown. */
#include "base/printable.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int set_up(void **state)
{
    *state = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    arena_free(*state);
    return 0;
}

/* Each mark, whatever its bytes, is one '?'; letters of any script stay. */
static void marks_that_move_text_are_question_marks(void **state)
{
    struct arena *arena = *state;
    static const char *const cases[][2] = {
        {"plain", "plain"},
        {"", ""},
        {"a\x1b[31mb\x07", "a?[31mb?"},
        {"\xc2\x9b"
         "2J",
         "?2J"},                                     /* U+009B, the one byte form of ESC [ */
        {"\xe2\x80\xaegnp.exe", "?gnp.exe"},         /* U+202E */
        {"\xe2\x81\xa6x\xe2\x81\xa9", "?x?"},        /* U+2066, U+2069 */
        {"\xd8\x9c\xe2\x80\x8f\xe2\x80\xa8", "???"}, /* U+061C, U+200F, U+2028 */
        {"\xff\xe2\x80", "???"},                     /* no UTF-8: each byte */
        {"\xc3\xa9\xe2\x80\x93\xf0\x9f\x9a\x80", "\xc3\xa9\xe2\x80\x93\xf0\x9f\x9a\x80"},
        {"a\nb\tc\r", "a?b?c?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(printable_line(arena, cases[i][0]), cases[i][1]);
    }
    assert_string_equal(printable_lines(arena, "a\nb\tc\r"), "a\nb\tc?");
}

static void a_code_point_is_of_all_its_bytes(void **state)
{
    (void)state;
    assert_int_equal(printable_width("\xe2\x80\xae"), 3);
    assert_int_equal(printable_code("\xe2\x80\xae", 3), 0x202e);
    assert_int_equal(printable_code("\xf0\x9f\x9a\x80", 4), 0x1f680);
    assert_int_equal(printable_width("\xed\xa0\x80"), 0); /* a surrogate */
}

/* Numbers, with what we put behind them, are not text, and a spreadsheet may count with them. */
static void formulas_are_what_a_spreadsheet_would_compute(void **state)
{
    (void)state;
    static const char *const formulas[] = {"=1+1",       "@SUM(1)", "+1+1",   "-2+3",
                                           "--",         "+cmd",    "\t=1",   "\r=1",
                                           "-1.85 % of", "-nan",    "-1 +- x"};
    static const char *const others[] = {
        "",    "400 Gbps",          "a=b",       "-1.85", "-",       "+3e9", "-1.85 %",
        "-.5", "-1.85 % +- 0.01 %", "-2 +- 0.5", "1+1",   "'=quoted"};
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        assert_true(printable_is_formula(formulas[i]));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(printable_is_formula(others[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(marks_that_move_text_are_question_marks, set_up, tear_down),
        cmocka_unit_test(a_code_point_is_of_all_its_bytes),
        cmocka_unit_test(formulas_are_what_a_spreadsheet_would_compute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
