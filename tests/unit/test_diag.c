/* Messages: their form to the letter, the exit status, the nearest word. */
#include "base/diag.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct arena *arena;
    struct diag *diag;
};

static int make_fixture(void **state)
{
    struct arena *arena = arena_new();
    struct fixture *fixture = arena_alloc(arena, sizeof *fixture);
    fixture->arena = arena;
    fixture->diag = diag_new(arena);
    *state = fixture;
    return 0;
}

static int end_fixture(void **state)
{
    arena_free(((struct fixture *)*state)->arena);
    return 0;
}

/* What diag_print writes, up to 64 KiB. */
static const char *printed(const struct fixture *fixture)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    diag_print(fixture->diag, file);
    rewind(file);
    char *text = arena_alloc(fixture->arena, 65536);
    const size_t length = fread(text, 1, 65535, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

static struct place place_of(const char *source_text, uint32_t line, uint32_t column)
{
    return (struct place){"moe.yaml", source_text, line, column, 0};
}

static void a_new_diag_is_empty_and_good(void **state)
{
    const struct fixture *fixture = *state;
    assert_false(diag_has_error(fixture->diag));
    assert_int_equal(diag_error_count(fixture->diag), 0);
    assert_int_equal(diag_exit_status(fixture->diag), 0);
    assert_null(diag_first_error(fixture->diag));
}

static void a_message_shows_the_line_a_caret_and_help(void **state)
{
    const struct fixture *fixture = *state;
    const struct place place = place_of("model: x\nparallel: {tp: 6}\n", 2, 12);
    assert_false(
        diag_add(fixture->diag, DIAG_INPUT, &place, "tp %d does not divide %d heads", 6, 64));
    diag_help(fixture->diag, "tp may be %s", "1, 2 or 4");
    assert_string_equal(printed(fixture), "moe.yaml:2:12: error: tp 6 does not divide 64 heads\n"
                                          "    2 | parallel: {tp: 6}\n"
                                          "      |            ^\n"
                                          "   = help: tp may be 1, 2 or 4\n");
}

static void a_message_without_place_or_line_is_short(void **state)
{
    const struct fixture *fixture = *state;
    const struct place whole = {.file = "gone.yaml"};
    const struct place nowhere = {.file = NULL};
    diag_add(fixture->diag, DIAG_INPUT, &whole, "no such file");
    diag_add(fixture->diag, DIAG_USAGE, &nowhere, "no command");
    diag_add(fixture->diag, DIAG_WARNING, NULL, "slow");
    diag_add(fixture->diag, DIAG_NOTE, NULL, "fyi");
    assert_string_equal(printed(fixture), "gone.yaml: error: no such file\n"
                                          "error: no command\n"
                                          "warning: slow\n"
                                          "note: fyi\n");
}

static void tabs_crlf_and_utf8_keep_the_caret_below_its_character(void **state)
{
    const struct fixture *fixture = *state;
    /* A tab (1 byte, 1 column), "é" (2 bytes, 1 column), then x at byte 4. */
    const struct place place = place_of("\t\xc3\xa9x\r\n", 1, 4);
    diag_add(fixture->diag, DIAG_INPUT, &place, "bad");
    assert_string_equal(printed(fixture), "moe.yaml:1:4: error: bad\n"
                                          "    1 |  \xc3\xa9x\n"
                                          "      |   ^\n");
}

static void control_characters_and_broken_utf8_become_question_marks(void **state)
{
    const struct fixture *fixture = *state;
    /* ESC, DEL, U+009B (a control sequence of 8-bit terminals), a lone 0xff,
     * an overlong '/', a surrogate. */
    const struct place place = place_of("a\x1b[31m\x7f\xc2\x9b\xff", 1, 1);
    diag_add(fixture->diag, DIAG_INPUT, &place, "[%s]", "\x1b\n\xc0\xaf\xed\xa0\x80");
    diag_help(fixture->diag, "not\x07");
    /* One '?' for each of the seven bytes of the message. */
    assert_string_equal(printed(fixture), "moe.yaml:1:1: error: [???????]\n"
                                          "    1 | a?[31m???\n"
                                          "      | ^\n"
                                          "   = help: not?\n");
    assert_string_equal(diag_first_error(fixture->diag), "[???????]");
}

static void a_long_line_is_cut_around_the_caret(void **state)
{
    const struct fixture *fixture = *state;
    char line[1001];
    memset(line, 'a', 1000);
    line[500] = 'X';
    line[1000] = '\0';
    const struct place place = place_of(line, 1, 501);
    diag_add(fixture->diag, DIAG_INPUT, &place, "bad");
    /* 60 bytes before the caret, 100 in all, "..." on both sides. The caret
     * stands below X: both are at 8 + 3 + 60 = column 71 of their lines. */
    const char *quote = strchr(printed(fixture), '\n') + 1;
    assert_int_equal(strcspn(quote, "\n"), 8 + 3 + 100 + 3);
    assert_int_equal(quote[71], 'X');
    const char *caret = strchr(quote, '\n') + 1;
    assert_int_equal(strcspn(caret, "^"), 71);
}

static void a_long_line_of_continuation_bytes_is_cut_too(void **state)
{
    const struct fixture *fixture = *state;
    char line[1001];
    memset(line, 0x80, 1000);
    line[1000] = '\0';
    const struct place place = place_of(line, 1, 501);
    diag_add(fixture->diag, DIAG_INPUT, &place, "bad");
    assert_non_null(strstr(printed(fixture), "^"));
}

static void a_place_beyond_the_text_quotes_nothing_or_the_lines_end(void **state)
{
    const struct fixture *fixture = *state;
    const struct place beyond = place_of("a: 1\n", 9, 1);
    const struct place after = place_of("a: 1\n", 1, 99);
    diag_add(fixture->diag, DIAG_INPUT, &beyond, "bad");
    diag_add(fixture->diag, DIAG_INPUT, &after, "bad");
    assert_string_equal(printed(fixture), "moe.yaml:9:1: error: bad\n"
                                          "moe.yaml:1:99: error: bad\n"
                                          "    1 | a: 1\n"
                                          "      |     ^\n");
}

static void the_worst_kind_decides_the_exit_status(void **state)
{
    struct fixture *fixture = *state;
    /* In this order each is worse than those before. */
    const enum diag_kind kinds[] = {DIAG_NOTE,  DIAG_WARNING,    DIAG_FAILURE,
                                    DIAG_USAGE, DIAG_INFEASIBLE, DIAG_INPUT};
    const int statuses[] = {0, 0, 1, 2, 4, 3};
    for (size_t i = 0; i < 6; i++) {
        diag_add(fixture->diag, kinds[i], NULL, "kind %zu", i);
        diag_add(fixture->diag, DIAG_NOTE, NULL, "a milder one changes nothing");
        assert_int_equal(diag_exit_status(fixture->diag), statuses[i]);
    }
    assert_int_equal(diag_error_count(fixture->diag), 4);
    assert_string_equal(diag_first_error(fixture->diag), "kind 2");
}

static void after_twenty_errors_the_rest_is_counted(void **state)
{
    const struct fixture *fixture = *state;
    for (int i = 1; i <= 23; i++) {
        diag_add(fixture->diag, DIAG_INPUT, NULL, "number %d", i);
    }
    const char *text = printed(fixture);
    assert_non_null(strstr(text, "error: number 20\n... and 3 more errors\n"));
    assert_null(strstr(text, "number 21"));
    assert_int_equal(diag_error_count(fixture->diag), 23);
}

static void help_may_have_several_lines(void **state)
{
    const struct fixture *fixture = *state;
    diag_add(fixture->diag, DIAG_INPUT, NULL, "bad");
    diag_help(fixture->diag, "one");
    diag_help(fixture->diag, "two");
    assert_string_equal(printed(fixture), "error: bad\n   = help: one\n   = help: two\n");
}

static const char *nearest(const char *word)
{
    static const char *const candidates[] = {"bandwidth", "latency", "layers", "tp",
                                             "pp",        "note",    "nodes"};
    return diag_nearest(word, candidates, sizeof candidates / sizeof *candidates);
}

/* "Does not divide" is the plan's fault; a bad disk or a misspelt key says nothing about it. */
static void only_infeasible_messages_are_a_verdict(void **state)
{
    const struct fixture *fixture = *state;
    struct diag *diag = fixture->diag;
    assert_false(diag_is_verdict(diag));
    diag_add(diag, DIAG_WARNING, NULL, "a warning is none");
    assert_false(diag_is_verdict(diag));
    diag_add(diag, DIAG_INFEASIBLE, NULL, "tp 3 does not divide 8 heads");
    assert_true(diag_is_verdict(diag));
    static const enum diag_kind others[] = {DIAG_FAILURE, DIAG_USAGE, DIAG_INPUT};
    for (uint32_t i = 0; i < 3; i++) {
        struct diag *both = diag_new(fixture->arena);
        diag_add(both, DIAG_INFEASIBLE, NULL, "tp 3 does not divide 8 heads");
        diag_add(both, others[i], NULL, "another");
        assert_false(diag_is_verdict(both));
        assert_true(diag_has(both, others[i]));
    }
    assert_false(diag_has(diag, DIAG_FAILURE));
}

static void messages_of_a_kind_are_taken_from_another_diag(void **state)
{
    const struct fixture *fixture = *state;
    struct arena *arena = arena_new();
    struct diag *from = diag_new(arena);
    const struct place place = {arena_strdup(arena, "a.yaml"), "tp: 3", 1, 5, 0};
    diag_add(from, DIAG_INPUT, &place, "not this one");
    diag_add(from, DIAG_FAILURE, &place, "cannot be read");
    diag_help(from, "mend the disk");
    diag_add_from(fixture->diag, from, DIAG_FAILURE);
    arena_free(arena);
    assert_string_equal(printed(fixture), "a.yaml:1:5: error: cannot be read\n"
                                          "   = help: mend the disk\n");
    assert_int_equal(diag_exit_status(fixture->diag), 1);
}

static void the_nearest_word_is_found_by_edits(void **state)
{
    (void)state;
    assert_string_equal(nearest("bandwith"), "bandwidth");  /* one letter left out */
    assert_string_equal(nearest("Bandwidth"), "bandwidth"); /* case does not count */
    assert_string_equal(nearest("bnadwidht"), "bandwidth"); /* two swaps: 2 <= 9 / 3 */
    assert_string_equal(nearest("layer"), "layers");
    assert_string_equal(nearest("pt"), "tp"); /* one swap; to "pp" it is one, too: first wins */
    assert_string_equal(nearest("node"), "nodes"); /* as near as "note", and begins so */
}

static void words_too_far_away_have_no_nearest(void **state)
{
    (void)state;
    assert_null(nearest("xyzxyzxyz"));
    assert_null(nearest("latte")); /* three edits to "latency", 5 / 3 = 1 allowed */
    char word[200];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_null(nearest(word));
    assert_null(diag_nearest("tp", NULL, 0));
}

/* Two errors and a note: the worst decides, and nothing is kept to print. */
static void a_deaf_diag_counts_and_keeps_no_text(void **state)
{
    struct fixture *fixture = *state;
    fixture->diag = diag_new_deaf(fixture->arena);
    diag_add(fixture->diag, DIAG_NOTE, NULL, "a note");
    diag_add(fixture->diag, DIAG_INFEASIBLE, NULL, "tp %d", 6);
    diag_help(fixture->diag, "tp may be %d", 8);
    diag_add(fixture->diag, DIAG_INFEASIBLE, NULL, "pp %d", 6);
    assert_true(diag_is_deaf(fixture->diag));
    assert_int_equal(diag_error_count(fixture->diag), 2);
    assert_int_equal(diag_exit_status(fixture->diag), 4);
    assert_null(diag_first_error(fixture->diag));
}

int main(void)
{
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, make_fixture, end_fixture)
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(a_new_diag_is_empty_and_good),
        WITH_FIXTURE(a_message_shows_the_line_a_caret_and_help),
        WITH_FIXTURE(a_message_without_place_or_line_is_short),
        WITH_FIXTURE(tabs_crlf_and_utf8_keep_the_caret_below_its_character),
        WITH_FIXTURE(control_characters_and_broken_utf8_become_question_marks),
        WITH_FIXTURE(a_long_line_is_cut_around_the_caret),
        WITH_FIXTURE(a_long_line_of_continuation_bytes_is_cut_too),
        WITH_FIXTURE(a_place_beyond_the_text_quotes_nothing_or_the_lines_end),
        WITH_FIXTURE(the_worst_kind_decides_the_exit_status),
        WITH_FIXTURE(after_twenty_errors_the_rest_is_counted),
        WITH_FIXTURE(help_may_have_several_lines),
        WITH_FIXTURE(only_infeasible_messages_are_a_verdict),
        WITH_FIXTURE(messages_of_a_kind_are_taken_from_another_diag),
        cmocka_unit_test(the_nearest_word_is_found_by_edits),
        cmocka_unit_test(words_too_far_away_have_no_nearest),
        cmocka_unit_test_setup_teardown(a_deaf_diag_counts_and_keeps_no_text, make_fixture,
                                        end_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
