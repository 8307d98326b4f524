/* Sheets: one tree, printed as text and as JSON, compared letter by letter. */
#include "report/sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/printers/sized.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum colour { RED, GREEN };
static const char *const colour_names[] = {"red", "green"};

struct gpu_like {
    const char *name;
    char key[4];
    double memory_bytes;
    int64_t heads;
    uint32_t colour;
    uint8_t small;
    bool fits;
    double days;
};

static const struct gpu_like two[] = {
    {"h100", "abc", 80e9, INT64_C(9007199254740993), GREEN, 7, true, ABSENT},
    {"", "", ABSENT, -3, RED, 0, false, ABSENT},
};

static void read_all(FILE *file, char *text, size_t size)
{
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

/* Ends the file. */
static void assert_has(FILE *file, const char *expected)
{
    char text[4096];
    read_all(file, text, sizeof text);
    assert_string_equal(text, expected);
}

static FILE *new_file(void)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    return file;
}

static void assert_prints(const struct sheet *sheet, bool is_json, const char *expected)
{
    FILE *file = new_file();
    sheet_print(sheet, is_json, file);
    assert_has(file, expected);
}

static void values_are_in_json_and_what_is_said_is_in_the_text(void **state)
{
    struct sheet *sheet = sheet_new(*state, "stoker.test/1");
    sheet_text(sheet, "name", "a \"b\"");
    sheet_say(sheet, "said %d\n", 1);
    sheet_text(sheet, "reason", NULL);
    struct sheet *nest = sheet_object(sheet, "nest");
    sheet_number(nest, "days", ABSENT);
    sheet_bool(nest, "fits", false);
    sheet_say(nest, "and in a nest\n");
    const char *const words[] = {"x", "y"};
    sheet_texts(sheet, "words", words, 2);
    sheet_array(sheet, "none");
    assert_prints(sheet, true,
                  "{\n  \"schema\": \"stoker.test/1\",\n  \"name\": \"a \\\"b\\\"\",\n"
                  "  \"reason\": null,\n  \"nest\": {\n    \"days\": null,\n    \"fits\": false\n"
                  "  },\n  \"words\": [\n    \"x\",\n    \"y\"\n  ],\n  \"none\": []\n}\n");
    assert_prints(sheet, false, "said 1\nand in a nest\n");
}

static void a_table_of_structs_has_columns_by_head_and_members_by_key(void **state)
{
    /* 80e9 x 1e-9 = 80.0; the large count keeps its last digit in JSON. */
    static const struct field fields[] = {
        {"name", FIELD_AT(struct gpu_like, name), FIELD_LEFT("GPU")},
        {"key", FIELD_AT(struct gpu_like, key), .is_said = true},
        {"memory.bytes", FIELD_AT(struct gpu_like, memory_bytes), FIELD_RIGHT("GB", "%.1f", 1e-9)},
        {"memory.fits", FIELD_AT(struct gpu_like, fits)},
        {"heads", FIELD_AT(struct gpu_like, heads)},
        {"colour", FIELD_AT(struct gpu_like, colour), FIELD_NAMES(colour_names), FIELD_LEFT("is")},
        {NULL, FIELD_AT(struct gpu_like, small), FIELD_RIGHT("x 100", NULL, 100)},
        {"days", FIELD_AT(struct gpu_like, days), FIELD_RIGHT(NULL, "%.1f", 1)},
    };
    struct sheet *sheet = sheet_new(*state, NULL);
    struct sheet *table = sheet_table(sheet, "gpus", fields, sizeof fields / sizeof *fields);
    sheet_rows(table, two, 2, sizeof *two);
    assert_prints(sheet, true,
                  "{\n  \"gpus\": [\n    {\n      \"name\": \"h100\",\n      \"key\": \"abc\",\n"
                  "      \"memory\": {\n        \"bytes\": 80000000000,\n        \"fits\": true\n"
                  "      },\n      \"heads\": 9007199254740993,\n      \"colour\": \"green\",\n"
                  "      \"days\": null\n    },\n"
                  "    {\n      \"name\": \"\",\n      \"key\": null,\n"
                  "      \"memory\": {\n        \"bytes\": null,\n        \"fits\": false\n"
                  "      },\n      \"heads\": -3,\n      \"colour\": \"red\",\n"
                  "      \"days\": null\n    }\n  ]\n}\n");
    assert_prints(sheet, false,
                  "GPU     GB  is     x 100\n"
                  "h100  80.0  green    700\n"
                  "         -  red        0\n");
}

static void assert_csv(const struct sheet *table, const char *expected)
{
    FILE *file = new_file();
    sheet_print_table(table, SHEET_AS_CSV, file);
    assert_has(file, expected);
}

static void csv_has_numbers_in_full_and_the_text_what_is_shown_of_them(void **state)
{
    /* Thirds have 16 and 17 digits that read back (C17 5.2.4.2.2); what has no name is in its
     * head's unit: 1/3 x 100; of a range each end is a column. "-" and nothing are
     * empty, "=a" is no formula. */
    static const struct field fields[] = {
        {"name", FIELD_LEFT("of")},
        {"bytes", FIELD_RIGHT("GB", "%.1f", 1e-9)},
        {NULL, FIELD_RIGHT("share %", "%.0f", 100)},
        {NULL, FIELD_RIGHT("MFU %", "%.0f", 100), .csv = "mfu"},
        {NULL, FIELD_RANGE("band", "speed_up"), .is_right = true},
        {NULL, FIELD_SIZED("USD"), .csv = "cost_usd"},
        {"fits", FIELD_LEFT("fits")},
        {.key = "only_json"},
    };
    struct sheet *sheet = sheet_new(*state, NULL);
    struct sheet *table = sheet_table(sheet, NULL, fields, sizeof fields / sizeof *fields);
    sheet_row_caption(table, 0, "free");
    sheet_text_as(table, NULL, "=a, whole", "=a");
    sheet_number_as(table, NULL, 80e9, "80 GB");
    sheet_number(table, NULL, 1 / 3.0);
    sheet_number(table, NULL, 1 / 3.0);
    sheet_range(table, 0.5, 1 / 0.3, "0.50 to 3.33");
    sheet_number(table, NULL, 7310.5);
    sheet_bool(table, NULL, true);
    sheet_integer(table, NULL, 1);
    sheet_text(table, NULL, "-");
    sheet_null_as(table, NULL, "none");
    sheet_number(table, NULL, ABSENT);
    sheet_number(table, NULL, -2);
    sheet_range(table, ABSENT, 1, "nothing");
    sheet_number(table, NULL, 950000);
    sheet_bool(table, NULL, false);
    sheet_nothing(table);
    assert_csv(table, "name,bytes,share %,mfu,speed_up_low,speed_up_high,cost_usd,fits\r\n"
                      "\"'=a, whole\",80000000000,33.33333333333333,0.3333333333333333,0.5,"
                      "3.3333333333333335,7310.5,true\r\n"
                      ",,,-2,,,950000,false\r\n");
    assert_prints(sheet, false,
                  "of       GB  share %  MFU %          band   k USD  fits\n"
                  "free\n"
                  "=a    80 GB       33     33  0.50 to 3.33    7.31  yes\n"
                  "-      none        -   -200             -  950.00  no\n");
}

static void a_column_has_one_unit_by_its_size(void **state)
{
    /* The smallest in three digits; the largest in at most four before its point. */
    static const struct {
        double least, most;
        const char *head, *shown_least, *shown_most;
    } cases[] = {
        {7310, 7310, "k USD", "7.31", "7.31"},         {54.93e6, 60.11e6, "M USD", "54.9", "60.1"},
        {999.5, 1200, "k USD", "1.00", "1.20"},    /* of USD it were 1000 */
        {999.4, 1200, "USD", "999", "1200"},       /* of k USD two digits */
        {950e3, 9.9994e6, "k USD", "950", "9999"}, /* of M USD two */
        {950e3, 9.9996e6, "M USD", "0.950", "10.000"}, {7310, 73e6, "M USD", "0.007", "73.000"},
        {0.5, 12, "USD", "0.500", "12.000"},           {0, 0, "USD", "0", "0"},
        {-2.5e9, -2.5e9, "G USD", "-2.50", "-2.50"},
    };
    static const struct field usd = {FIELD_SIZED("USD")};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sized sized = {.least = 0};
        sized_meet(&sized, ABSENT);
        sized_meet(&sized, cases[i].most);
        sized_meet(&sized, 0);
        sized_meet(&sized, cases[i].least);
        const struct field field = sized_field(*state, &sized, &usd);
        assert_string_equal(field.head, cases[i].head);
        assert_string_equal(field_shown(&field, *state, cases[i].least), cases[i].shown_least);
        assert_string_equal(field_shown(&field, *state, cases[i].most), cases[i].shown_most);
    }
    const struct sized mega = {3580, 3629};
    assert_string_equal(sized_head(*state, &mega, "kWh"), "MWh");
    const struct field sign = {FIELD_SIZED("USD"), .format = "%+g"};
    const struct field field = sized_field(*state, &mega, &sign);
    assert_string_equal(field_shown(&field, *state, 3580), "+3.58");
}

static void add_twice(struct sheet *in, const char *key, const void *record)
{
    const struct gpu_like *gpu = record;
    sheet_number(in, key, 2 * (double)gpu->small);
}

static void members_of_a_struct_are_members_of_an_object(void **state)
{
    static const struct field fields[] = {
        {"colour", FIELD_AT(struct gpu_like, colour)},
        {"sums.twice", .add = add_twice},
        {"sums.heads", FIELD_AT(struct gpu_like, heads)},
    };
    struct sheet *sheet = sheet_new(*state, NULL);
    sheet_members(sheet, fields, 3, &two[1]);
    assert_prints(sheet, true,
                  "{\n  \"colour\": 0,\n  \"sums\": {\n    \"twice\": 0,\n    \"heads\": -3\n"
                  "  }\n}\n");
}

static void cells_may_be_added_one_by_one(void **state)
{
    static const struct field fields[] = {
        {"name", FIELD_LEFT("name")},
        {"bytes", FIELD_RIGHT("MB", "%.0f", 1e-6)},
        {"end", FIELD_LEFT("end")},
    };
    struct sheet *sheet = sheet_new(*state, NULL);
    struct sheet *table = sheet_table(sheet, "rows", fields, 3);
    sheet_say(table, "a%d", 1);
    sheet_number(table, NULL, 3e6);
    sheet_null_as(table, NULL, "none");
    sheet_text(table, NULL, "b");
    sheet_number_as(table, NULL, 5e9, "5 GB");
    sheet_nothing(table);
    assert_prints(sheet, false, "name    MB  end\na1       3  none\nb     5 GB\n");
    assert_prints(sheet, true,
                  "{\n  \"rows\": [\n    {\n      \"name\": \"a1\",\n      \"bytes\": 3000000,\n"
                  "      \"end\": null\n    },\n    {\n      \"name\": \"b\",\n"
                  "      \"bytes\": 5000000000\n    }\n  ]\n}\n");
}

static void a_table_without_key_is_text_and_one_with_caption_needs_rows(void **state)
{
    static const struct field fields[] = {{NULL, FIELD_RIGHT("", NULL, 1)}, {NULL, FIELD_LEFT("")}};
    struct sheet *sheet = sheet_new(*state, "s/1");
    struct sheet *table = sheet_table(sheet, NULL, fields, 2);
    sheet_caption(table, "\nof all\n");
    struct sheet *empty = sheet_table(sheet, NULL, fields, 2);
    sheet_caption(empty, "never\n");
    sheet_say(table, "%.1f %%", 41.3);
    sheet_say(table, "MFU");
    assert_prints(sheet, true, "{\n  \"schema\": \"s/1\"\n}\n");
    assert_prints(sheet, false, "\nof all\n41.3 %  MFU\n");
}

static void a_list_is_in_json_alone_and_a_column_may_have_something_before_each_cell(void **state)
{
    static const struct field fields[] = {
        {"name", FIELD_AT(struct gpu_like, name), FIELD_LEFT("  GPU"), .before = "  "},
        {"heads", FIELD_AT(struct gpu_like, heads), FIELD_COUNT(""), .before = "= "},
    };
    struct sheet *sheet = sheet_new(*state, NULL);
    sheet_list(sheet, "list", FIELD_LIST(fields), two, 2, sizeof *two);
    sheet_list(sheet, "none", FIELD_LIST(fields), NULL, 0, sizeof *two);
    sheet_row(sheet_table(sheet, NULL, FIELD_LIST(fields)), &two[1]);
    assert_prints(sheet, true,
                  "{\n  \"list\": [\n    {\n      \"name\": \"h100\",\n"
                  "      \"heads\": 9007199254740993\n    },\n    {\n      \"name\": \"\",\n"
                  "      \"heads\": -3\n    }\n  ],\n  \"none\": []\n}\n");
    assert_prints(sheet, false, "  GPU\n       = -3\n");
}

/* 69 blanks fill the cell up to 70 letters, and two lie between the columns. */
static void a_column_may_be_wider_than_any_screen(void **state)
{
    char wide[71];
    memset(wide, 'x', sizeof wide - 1);
    wide[70] = '\0';
    struct sheet *sheet = sheet_new(*state, NULL);
    const struct field fields[] = {{NULL, FIELD_LEFT("")}, {NULL, FIELD_COUNT("")}};
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_say(table, "%s", wide);
    sheet_say(table, "1");
    sheet_say(table, "y");
    sheet_say(table, "2");
    char text[256];
    FILE *file = tmpfile();
    assert_non_null(file);
    sheet_print(sheet, false, file);
    read_all(file, text, sizeof text);
    const char *second = strchr(text, '\n') + 1;
    assert_int_equal(strspn(second + 1, " "), 71);
    assert_string_equal(second + 72, "2\n");
}

/* Two columns, the second to the right; cells are added one by one. */
static struct sheet *table_of(struct sheet *sheet, const char *left, const char *right)
{
    const struct field fields[] = {{NULL, FIELD_LEFT(left)}, {NULL, FIELD_COUNT(right)}};
    return sheet_table(sheet, NULL, FIELD_LIST(fields));
}

static void columns_are_as_wide_as_their_widest_cell_and_two_blanks_apart(void **state)
{
    struct sheet *sheet = sheet_new(*state, NULL);
    struct sheet *table = table_of(sheet, "GPU", "MFU %");
    sheet_say(table, "h100");
    sheet_say(table, "%.1f", 41.3);
    sheet_say(table, "a100-80gb");
    sheet_say(table, "%.1f", 7.0);
    assert_prints(sheet, false,
                  "GPU        MFU %\n"
                  "h100        41.3\n"
                  "a100-80gb    7.0\n");
}

static void widths_count_characters_not_bytes(void **state)
{
    /* "µs" has two characters and three bytes. */
    struct sheet *sheet = sheet_new(*state, NULL);
    struct sheet *table = table_of(sheet, "u", "x");
    sheet_say(table, "µs");
    sheet_say(table, "a");
    sheet_say(table, "ms");
    sheet_say(table, "bc");
    assert_prints(sheet, false,
                  "u    x\n"
                  "µs   a\n"
                  "ms  bc\n");
}

static void a_short_row_is_filled_and_no_line_ends_in_blanks(void **state)
{
    struct sheet *sheet = sheet_new(*state, NULL);
    struct sheet *table = table_of(sheet, "a", "b");
    sheet_say(table, "long cell");
    sheet_nothing(table);
    sheet_say(table, "1");
    sheet_say(table, "2");
    sheet_say(table, "3"); /* the last row is padded when printing */
    assert_prints(sheet, false,
                  "a          b\n"
                  "long cell\n"
                  "1          2\n"
                  "3\n");
}

static void a_table_without_heads_prints_no_head_line(void **state)
{
    struct sheet *sheet = sheet_new(*state, NULL);
    struct sheet *table = table_of(sheet, "", "");
    sheet_say(table, "step");
    sheet_say(table, "6.91 s");
    assert_prints(sheet, false, "step  6.91 s\n");
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
    struct sheet *sheet = sheet_new(*state, NULL);
    sheet_say(table_of(sheet, "", ""), "red \x1b[31m\n");
    assert_prints(sheet, false, "red ?[31m?\n");
}

/* ---- texts made when they are printed ---- */

struct counted {
    const char *text;
    uint32_t *times;
};

static const char *make_counted(struct arena *arena, const void *record)
{
    const struct counted *counted = record;
    ++*counted->times;
    return arena_printf(arena, "%s!", counted->text);
}

/* The sum is JSON's alone, the words are the text's: who prints one does not make the other. */
static void a_text_is_made_by_the_printer_that_shows_it_and_no_other(void **state)
{
    uint32_t sums = 0;
    uint32_t words = 0;
    const struct counted sum = {"1+1", &sums};
    const struct counted word = {"two", &words};
    static const struct field fields[] = {
        {.key = "sum"}, {NULL, FIELD_LEFT("")}, {"value", FIELD_COUNT("")}};
    struct sheet *sheet = sheet_new(*state, NULL);
    struct sheet *table = sheet_table(sheet, "sums", FIELD_LIST(fields));
    sheet_text_of(table, NULL, make_counted, &sum);
    sheet_text_of(table, NULL, make_counted, &word);
    sheet_number_of(table, NULL, 2, make_counted, &word);
    assert_prints(
        sheet, true,
        "{\n  \"sums\": [\n    {\n      \"sum\": \"1+1!\",\n      \"value\": 2\n    }\n  ]\n}\n");
    assert_int_equal(sums, 1);
    assert_int_equal(words, 0);
    assert_prints(sheet, false, "two!  two!\n");
    assert_int_equal(sums, 1);
    assert_int_equal(words, 2);
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

/* A kind of kernel more than its table had names for was printed as whatever lay behind its end. */
static void a_number_without_a_name_ends_the_program(void **state)
{
    (void)state;
    static const struct field colour = {"colour", FIELD_AT(struct gpu_like, colour),
                                        FIELD_NAMES(colour_names)};
    const struct gpu_like blue = {.colour = GREEN + 1};
    assert_string_equal(field_value(&colour, &two[0]).text, "green");
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        signal(SIGABRT, SIG_DFL); /* cmocka's would fail the child's test */
        (void)field_value(&colour, &blue);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_without_a_name_ends_the_program),
        TEST(values_are_in_json_and_what_is_said_is_in_the_text),
        TEST(csv_has_numbers_in_full_and_the_text_what_is_shown_of_them),
        TEST(a_column_has_one_unit_by_its_size),
        TEST(a_table_of_structs_has_columns_by_head_and_members_by_key),
        TEST(members_of_a_struct_are_members_of_an_object),
        TEST(cells_may_be_added_one_by_one),
        TEST(a_table_without_key_is_text_and_one_with_caption_needs_rows),
        TEST(a_list_is_in_json_alone_and_a_column_may_have_something_before_each_cell),
        TEST(columns_are_as_wide_as_their_widest_cell_and_two_blanks_apart),
        TEST(widths_count_characters_not_bytes),
        TEST(a_column_may_be_wider_than_any_screen),
        TEST(a_short_row_is_filled_and_no_line_ends_in_blanks),
        TEST(a_table_without_heads_prints_no_head_line),
        TEST(control_characters_do_not_reach_the_terminal),
        TEST(a_text_is_made_by_the_printer_that_shows_it_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
