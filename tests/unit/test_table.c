/* Text tables, compared letter by letter. */
#include "report/table.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_prints(const struct table *table, const char *expected)
{
    char text[1024];
    FILE *file = tmpfile();
    assert_non_null(file);
    table_print(table, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static void columns_are_as_wide_as_their_widest_cell_and_two_blanks_apart(void **state)
{
    struct table *table = table_new(*state);
    table_column(table, "GPU", TABLE_LEFT);
    table_column(table, "MFU %", TABLE_RIGHT);
    table_cell(table, "h100");
    table_cell(table, "%.1f", 41.3);
    table_cell(table, "a100-80gb");
    table_cell(table, "%.1f", 7.0);
    assert_prints(table, "GPU        MFU %\n"
                         "h100        41.3\n"
                         "a100-80gb    7.0\n");
}

static void widths_count_characters_not_bytes(void **state)
{
    /* "µs" has two characters and three bytes. */
    struct table *table = table_new(*state);
    table_column(table, "t", TABLE_RIGHT);
    table_column(table, "unit", TABLE_LEFT);
    table_column(table, "x", TABLE_LEFT);
    table_cell(table, "1");
    table_cell(table, "µs");
    table_cell(table, "a");
    table_cell(table, "10");
    table_cell(table, "ms");
    table_cell(table, "b");
    assert_prints(table, " t  unit  x\n"
                         " 1  µs    a\n"
                         "10  ms    b\n");
}

static void a_short_row_is_filled_and_no_line_ends_in_blanks(void **state)
{
    struct table *table = table_new(*state);
    table_column(table, "a", TABLE_LEFT);
    table_column(table, "b", TABLE_LEFT);
    table_cell(table, "long cell");
    table_row_end(table);
    table_row_end(table); /* a whole row stays one row */
    table_cell(table, "1");
    table_cell(table, "2");
    table_cell(table, "3"); /* the last row is padded when printing */
    assert_prints(table, "a          b\n"
                         "long cell\n"
                         "1          2\n"
                         "3\n");
}

static void a_table_without_heads_prints_no_head_line(void **state)
{
    struct table *table = table_new(*state);
    table_column(table, "", TABLE_RIGHT);
    table_column(table, "", TABLE_LEFT);
    table_cell(table, "6.91 s");
    table_cell(table, "step");
    assert_prints(table, "6.91 s  step\n");
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
    struct table *table = table_new(*state);
    table_column(table, "", TABLE_LEFT);
    table_cell(table, "%s", "red \x1b[31m\n");
    assert_prints(table, "red ?[31m?\n");
}

static int make_arena(void **state)
{
    *state = arena_new();
    return 0;
}

static int end_arena(void **state)
{
    arena_free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_arena, end_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(columns_are_as_wide_as_their_widest_cell_and_two_blanks_apart),
        TEST(widths_count_characters_not_bytes),
        TEST(a_short_row_is_filled_and_no_line_ends_in_blanks),
        TEST(a_table_without_heads_prints_no_head_line),
        TEST(control_characters_do_not_reach_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
