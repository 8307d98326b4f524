/* Reading of CSV: RFC 4180, and what is done about lines that are not like that. */
#include "bands/published_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "support/temporary.h"

struct world {
    struct arena *arena;
    const char *directory;
    struct diag *diag;
};

static int set_up(void **state)
{
    static struct world world;
    world.arena = arena_new();
    world.directory = temporary_new(world.arena);
    world.diag = diag_new(world.arena);
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    temporary_remove(world->directory);
    arena_free(world->arena);
    return 0;
}

static const struct published_table *load(const struct world *world, const char *text)
{
    const char *path = arena_printf(world->arena, "%s/rows.csv", world->directory);
    temporary_write(path, text);
    return published_load(world->arena, path, world->diag);
}

static void quotes_commas_and_line_ends_of_either_kind_are_read(void **state)
{
    const struct published_table *table =
        load(*state, "\xef\xbb\xbf"
                     "a,b,c\r\n1,\"x, \"\"y\"\"\nz\",\r\n\r\n2,,3");
    assert_non_null(table);
    assert_int_equal(table->row_count, 2);
    assert_string_equal(published_text(table, 0, "a"), "1");
    assert_string_equal(published_text(table, 0, "b"), "x, \"y\"\nz");
    assert_string_equal(published_text(table, 0, "c"), "");
    double value = 0;
    assert_true(published_number(table, 1, "c", &value));
    assert_true(value > 2.5 && value < 3.5);
    assert_false(published_number(table, 1, "b", &value));
    assert_string_equal(published_text(table, 1, "no such column"), "");
}

static void a_place_is_that_of_the_field(void **state)
{
    const struct published_table *table = load(*state, "a,b\n\"1\n1\",two\n3,four\n");
    assert_non_null(table);
    const struct place first = published_place(table, 0, "b");
    assert_int_equal(first.line, 3); /* the field before it has a line's end in it */
    assert_int_equal(first.column, 4);
    const struct place second = published_place(table, 1, "b");
    assert_int_equal(second.line, 4);
    assert_int_equal(second.column, 3);
    assert_int_equal(published_place(table, 1, "").column, 1);
}

static void a_wrong_line_spoils_no_other(void **state)
{
    const struct published_table *table =
        load(*state, "a,b\n1\n2,2,2\n3,\"x\n4,\"y\"\n5,five\n6,\"six");
    assert_non_null(table);
    assert_int_equal(table->row_count, 6);
    static const bool is_good[] = {false, false, false, true, true, false};
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(table->problems[i].what == NULL, is_good[i]);
    }
    assert_string_equal(published_text(table, 3, "b"), "y");
    assert_string_equal(published_text(table, 4, "b"), "five");
    const struct place quote = published_place(table, 2, "");
    assert_int_equal(quote.line, 4);
    assert_int_equal(quote.column, 3);
    const struct place third_field = published_place(table, 1, "");
    assert_int_equal(third_field.line, 3);
    assert_int_equal(third_field.column, 5);
}

static void two_columns_of_one_name_are_an_error(void **state)
{
    struct world *world = *state;
    assert_null(load(world, "a,b,a\n1,2,3\n"));
    assert_string_equal(diag_first_error(world->diag), "there are two columns 'a'");
}

static void missing_columns_are_named(void **state)
{
    struct world *world = *state;
    static const char *const needed[] = {"a", "c", "d"};
    const struct published_table *table = load(world, "a,b\n1,2\n");
    assert_non_null(table);
    assert_true(published_has_columns(table, needed, 1, world->diag));
    assert_false(published_has_columns(table, needed, 3, world->diag));
    assert_string_equal(diag_first_error(world->diag), "columns are missing: 'c', 'd'");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(quotes_commas_and_line_ends_of_either_kind_are_read),
        TEST(a_place_is_that_of_the_field),
        TEST(a_wrong_line_spoils_no_other),
        TEST(two_columns_of_one_name_are_an_error),
        TEST(missing_columns_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
