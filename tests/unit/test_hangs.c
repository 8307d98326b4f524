/* What steps hang on, in words: rows whose paths are round numbers, texts by hand. */
#include "report/hangs.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

/* A path of compute, TP, DP, and waiting for slow GPUs, in seconds. */
static struct store_row row_of(const char *label, double compute_s, double tp_s, double dp_s,
                               double slow_s)
{
    struct store_row row = {.status = POINT_OK, .has_run = true, .memory_fits = true};
    snprintf(row.label, sizeof row.label, "%s", label);
    row.path_s[CAUSE_COMPUTE] = compute_s;
    row.path_s[CAUSE_EXPOSED_TP] = tp_s;
    row.path_s[CAUSE_EXPOSED_DP] = dp_s;
    row.path_s[CAUSE_STRAGGLER_WAIT] = slow_s;
    return row;
}

static const char *heads_of(struct arena *arena, const struct hangs *hangs)
{
    struct field fields[CAUSE_COUNT_];
    const char *text = "";
    const struct field *behind = hangs_heads(arena, hangs, fields);
    for (const struct field *field = fields; field < behind; field++) {
        text = arena_printf(arena, "%s%s%s", text, field->head,
                            field->is_for_programs ? " hidden; " : "; ");
    }
    return text;
}

/* 8 of 10 s are 80 %; 0.4 s are 4 %, below a twentieth, and not named. */
static void shares_are_of_the_whole_path(void **state)
{
    const struct store_row row = row_of("a", 8, 1.6, 0.4, 0);
    assert_string_equal(hangs_text(*state, &row), "compute 80 %, TP 16");
    assert_true(hangs_share(&row, CAUSE_EXPOSED_DP) * 100 > 3.99);
    assert_true(hangs_share(&row, CAUSE_EXPOSED_DP) * 100 < 4.01);
}

static void causes_have_the_names_of_the_accounts(void **state)
{
    assert_string_equal(hangs_name(*state, CAUSE_COMPUTE), "compute");
    assert_string_equal(hangs_name(*state, CAUSE_EXPOSED_EP), "EP");
    assert_string_equal(hangs_name(*state, CAUSE_EXPOSED_OFFLOAD), "offload");
    assert_string_equal(hangs_name(*state, CAUSE_STRAGGLER_WAIT), "straggler wait");
}

/* Three of four hang on compute, 50 to 80 %; one of these also on TP (30 % is above a quarter), and
 * the fourth on DP. */
static void most_are_told_together_and_others_by_name(void **state)
{
    const struct store_row rows[] = {row_of("a", 8, 1, 0.5, 0.5), row_of("b", 5, 3, 1, 1),
                                     row_of("c", 6, 2, 2, 0), row_of("d", 3, 1, 6, 0)};
    const struct hangs hangs = hangs_of(*state, rows, 4);
    assert_false(hangs.are_alike);
    assert_string_equal(
        hangs_sentence(*state, &hangs.of),
        "all hang on compute (50 to 80 % of the critical path), but d on DP (60 %); "
        "also b on TP (30 %)");
    assert_string_equal(heads_of(*state, &hangs), "compute %; TP %; DP %; straggler wait %; ");
}

/* Shares within 5 points of each other are columns for programs alone. */
static void what_is_alike_is_a_sentence(void **state)
{
    const struct store_row rows[] = {row_of("a", 80, 20, 0, 0), row_of("b", 84.9, 15.1, 0, 0)};
    const struct hangs alike = hangs_of(*state, rows, 2);
    assert_true(alike.are_alike);
    assert_string_equal(heads_of(*state, &alike), "compute % hidden; TP % hidden; ");
    const struct store_row apart[] = {rows[0], row_of("c", 85.1, 14.9, 0, 0)};
    assert_false(hangs_of(*state, apart, 2).are_alike);
}

/* A row that failed, and one whose path nobody recorded, hang on nothing that is known. */
static void rows_without_a_path_are_left_out(void **state)
{
    struct store_row rows[] = {row_of("failed", 1, 9, 0, 0), row_of("none", 0, 0, 0, 0),
                               row_of("one", 9, 1, 0, 0)};
    rows[0].status = POINT_FAILED;
    const struct hangs hangs = hangs_of(*state, rows, 3);
    assert_int_equal(hangs.of.count, 1);
    assert_string_equal(hangs_sentence(*state, &hangs.of),
                        "it hangs on compute (90 % of the critical path)");
    const struct hangs nothing = hangs_of(*state, rows, 2);
    assert_null(hangs_sentence(*state, &nothing.of));
    assert_int_equal(nothing.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shares_are_of_the_whole_path),
        TEST(causes_have_the_names_of_the_accounts),
        TEST(most_are_told_together_and_others_by_name),
        TEST(what_is_alike_is_a_sentence),
        TEST(rows_without_a_path_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
