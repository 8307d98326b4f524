/* Text on a page: lines that are broken, columns that give way, what is said once. Each expected
 * text was laid out by hand.
 */
#include "report/page.h"

#include "base/arena.h"
#include "report/sheet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
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

static const char *printed(struct sheet *sheet, size_t width)
{
    char text[4096];
    FILE *file = tmpfile();
    assert_non_null(file);
    sheet_fit(sheet, width);
    sheet_print(sheet, false, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return arena_strdup(sheet_arena(sheet), text);
}

static void lines_are_broken_at_blanks_and_hang_below_their_indent(void **state)
{
    struct sheet *sheet = sheet_new(*state, NULL);
    sheet_say(sheet, "said in ");
    sheet_say(sheet, "two pieces, and longer\n");
    sheet_say(sheet, "    an item that is longer, too\n");
    sheet_say(sheet, "short\n\n");
    /*                                   12345678901234567890 */
    assert_string_equal(printed(sheet, 20), "said in two pieces,\nand longer\n"
                                            "    an item that is\n      longer, too\n"
                                            "short\n\n");
    /* Without a page the lines are as they were said. */
    assert_string_equal(printed(sheet, 0), "said in two pieces, and longer\n"
                                           "    an item that is longer, too\nshort\n\n");
}

/* A sentence that was broken by hand behind "hand" goes on with its next line, as far in; a new
 * one does not. Where it has room it stays as it is. */
static void what_was_broken_by_hand_is_put_together(void **state)
{
    struct sheet *sheet = sheet_new(*state, NULL);
    sheet_say(sheet,
              "  A sentence that somebody has broken for a page of a hundred columns, by hand\n"
              "  and that goes on.\n  Another.\n");
    assert_string_equal(printed(sheet, 60),
                        "  A sentence that somebody has broken for a page of a\n"
                        "  hundred columns, by hand and that goes on.\n"
                        "  Another.\n");
    struct sheet *notes = sheet_new(*state, NULL);
    sheet_say(notes,
              "a note at the edge that has no end and is longer than the page by some words\n"
              "another note\n");
    assert_string_equal(printed(notes, 70),
                        "a note at the edge that has no end and is longer than the page by some\n"
                        "words\nanother note\n");
    assert_string_equal(printed(sheet, 90), "  A sentence that somebody has broken for a page of a "
                                            "hundred columns, by hand\n  and that goes on.\n"
                                            "  Another.\n");
}

/* A number stays with its unit: "9.53" would have room before "s,". */
static void a_number_and_its_unit_are_one_word(void **state)
{
    struct sheet *sheet = sheet_new(*state, NULL);
    sheet_say(sheet, "step 7.81 to 9.53 s, of 7.31 k USD\n");
    assert_string_equal(printed(sheet, 18), "step 7.81 to\n9.53 s, of\n7.31 k USD\n");
}

/* A line of just the width stays; one character less breaks it. A word that is longer than the
 * page stays whole, and per cents stay with their number. */
static void a_word_is_never_broken(void **state)
{
    struct sheet *sheet = sheet_new(*state, NULL);
    sheet_say(sheet, "exactly 16 wide.\n");
    assert_string_equal(printed(sheet, 16), "exactly 16 wide.\n");
    assert_string_equal(printed(sheet, 15), "exactly 16\nwide.\n");
    struct sheet *word = sheet_new(*state, NULL);
    sheet_say(word, "see /a/path/that/is/long for it\n");
    assert_string_equal(printed(word, 12), "see\n/a/path/that/is/long\nfor it\n");
    struct sheet *share = sheet_new(*state, NULL);
    sheet_say(share, "a share of 9 %% of it\n");
    assert_string_equal(printed(share, 13), "a share of\n9 % of it\n");
    struct sheet *wide = sheet_new(*state, NULL);
    sheet_say(wide, "größe größe größe\n"); /* 17 characters, 23 bytes */
    assert_string_equal(printed(wide, 17), "größe größe größe\n");
}

static const struct field columns[] = {
    {"name", FIELD_LEFT("name")},
    {"gpus", FIELD_COUNT("GPUs"), .is_common = true},
    {"step", FIELD_RIGHT("step s", "%.1f", 1), .is_common = true},
    {"mfu", FIELD_RIGHT("MFU %", "%.0f", 1), .gives_way = 2},
    {"days", FIELD_RIGHT("days", "%.0f", 1), .gives_way = 1},
    {"share", FIELD_RIGHT("share %", "%.0f", 1), .is_for_programs = true},
    {"note", FIELD_LEFT("note")},
};

static struct sheet *table_of(struct sheet *sheet)
{
    struct sheet *table = sheet_table(sheet, "rows", FIELD_LIST(columns));
    static const char *const names[] = {"one", "two"};
    for (uint32_t i = 0; i < 2; i++) {
        sheet_text(table, NULL, names[i]);
        sheet_integer(table, NULL, 8);
        sheet_number(table, NULL, 5.5);
        sheet_number(table, NULL, 40 + i);
        sheet_number(table, NULL, 100 + i);
        sheet_number(table, NULL, 7);
        sheet_text(table, NULL, i == 0 ? "" : "a remark that is long");
    }
    return table;
}

static void what_all_rows_say_is_said_once(void **state)
{
    struct sheet *sheet = sheet_new(*state, NULL);
    (void)table_of(sheet);
    assert_string_equal(printed(sheet, 80), "name  MFU %  days  note\n"
                                            "one      40   100\n"
                                            "two      41   101  a remark that is long\n"
                                            "the same in all: GPUs 8, step 5.5 s\n");
}

/* 80 characters have room for all; below 40 the last column is broken, and where it has less than
 * it needs MFU goes first, then days. Those that never give way stay, however narrow the page. */
static void columns_give_way_in_their_order_and_are_named(void **state)
{
    struct sheet *sheet = sheet_new(*state, NULL);
    (void)table_of(sheet);
    assert_string_equal(printed(sheet, 39), "name  days  note\n"
                                            "one    100\n"
                                            "two    101  a remark that is long\n"
                                            "the same in all: GPUs 8, step 5.5 s\n"
                                            "not shown at 39 columns (--wide): MFU %\n");
    const char *narrow = printed(sheet, 26);
    assert_non_null(strstr(narrow, "two   a remark that is\n      long\n"));
    assert_non_null(strstr(narrow, "MFU %, days"));
}

/* Without ranks the rightmost goes first; the first two stay, whatever the width. */
static void columns_without_a_rank_give_way_from_the_right(void **state)
{
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("a name")},
        {NULL, FIELD_COUNT("first")},
        {NULL, FIELD_COUNT("second")},
        {NULL, FIELD_COUNT("third")},
    };
    struct sheet *sheet = sheet_new(*state, NULL);
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_text(table, NULL, "one");
    for (uint32_t i = 1; i < 4; i++) {
        sheet_integer(table, NULL, i);
    }
    assert_string_equal(printed(sheet, 28), "a name  first  second  third\n"
                                            "one         1       2      3\n");
    assert_string_equal(printed(sheet, 27), "a name  first  second\none         1       2\n"
                                            "not shown at 27 columns\n(--wide): third\n");
    assert_non_null(strstr(printed(sheet, 5), "a name  first\none         1\n"));
}

/* What says that it may be broken is, wherever it stands; what is beside it stays in line one. */
static void a_text_between_columns_is_broken_before_one_gives_way(void **state)
{
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("a name")},
        {NULL, FIELD_LEFT("sum"), .is_broken = true},
        {NULL, FIELD_COUNT("value")},
        {NULL, FIELD_LEFT("unit")},
    };
    struct sheet *sheet = sheet_new(*state, NULL);
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_text(table, NULL, "one");
    sheet_text(table, NULL, "two times three hundred and fifty four");
    sheet_integer(table, NULL, 708);
    sheet_text(table, NULL, "GB");
    /*                                   12345678901234567890123456789012345678901234567 */
    assert_string_equal(printed(sheet, 47), "a name  sum                         value  unit\n"
                                            "one     two times three hundred       708  GB\n"
                                            "        and fifty four\n");
    /* One character less than its least has room, and the last gives way. */
    assert_string_equal(printed(sheet, 46), "a name  sum                              value\n"
                                            "one     two times three hundred and        708\n"
                                            "        fifty four\n"
                                            "not shown at 46 columns (--wide): unit\n");
}

static void a_file_has_all_columns(void **state)
{
    struct sheet *sheet = sheet_new(*state, NULL);
    const struct sheet *table = table_of(sheet);
    char text[512];
    FILE *file = tmpfile();
    assert_non_null(file);
    sheet_print_table(table, SHEET_AS_CSV, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, "name,gpus,step,mfu,days,share,note\r\n"
                              "one,8,5.5,40,100,7,\r\n"
                              "two,8,5.5,41,101,7,a remark that is long\r\n");
    /* As it is without a page: all but what is for programs alone. */
    assert_non_null(strstr(printed(sheet, 0), "name  GPUs  step s  MFU %  days  note\n"));
}

/* A single row says nothing that all say; "-" and "" of all rows are not worth a word. */
static void one_row_keeps_its_columns_and_nothing_is_not_said(void **state)
{
    static const struct field fields[] = {
        {"name", FIELD_LEFT("name")},
        {"gpus", FIELD_COUNT("GPUs"), .is_common = true},
        {"none", FIELD_RIGHT("none", "%.0f", 1), .is_common = true},
    };
    struct sheet *one = sheet_new(*state, NULL);
    struct sheet *table = sheet_table(one, NULL, FIELD_LIST(fields));
    sheet_text(table, NULL, "a");
    sheet_integer(table, NULL, 8);
    sheet_text(table, NULL, NULL);
    assert_string_equal(printed(one, 80), "name  GPUs  none\na        8     -\n");
    sheet_text(table, NULL, "b");
    sheet_integer(table, NULL, 9);
    sheet_text(table, NULL, NULL);
    assert_string_equal(printed(one, 80), "name  GPUs\na        8\nb        9\n");
}

static void a_page_is_as_wide_as_its_columns_say_within_bounds(void **state)
{
    (void)state;
    FILE *file = tmpfile(); /* no terminal */
    assert_non_null(file);
    static const struct {
        const char *columns;
        size_t width;
    } cases[] = {{"80", 80},
                 {"300", 300},
                 {"7", PAGE_WIDTH_MIN},
                 {"1", PAGE_WIDTH_MIN},
                 {"x", 100},
                 {"-3", 100},
                 {"0", 100},
                 {"", 100},
                 {"80x", 100}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("COLUMNS", cases[i].columns, 1);
        assert_int_equal(page_width(file), cases[i].width);
    }
    unsetenv("COLUMNS");
    assert_int_equal(page_width(file), PAGE_WIDTH_USUAL);
    fclose(file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_are_broken_at_blanks_and_hang_below_their_indent),
        TEST(what_was_broken_by_hand_is_put_together),
        TEST(a_number_and_its_unit_are_one_word),
        TEST(a_word_is_never_broken),
        TEST(what_all_rows_say_is_said_once),
        TEST(columns_give_way_in_their_order_and_are_named),
        TEST(columns_without_a_rank_give_way_from_the_right),
        TEST(a_text_between_columns_is_broken_before_one_gives_way),
        TEST(a_file_has_all_columns),
        TEST(one_row_keeps_its_columns_and_nothing_is_not_said),
        TEST(a_page_is_as_wide_as_its_columns_say_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
