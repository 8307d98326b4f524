/* YAML in lines that have room. Each expected text was broken by hand, where YAML reads a blank
 * instead of the end of a line (YAML 1.2, 6.5 Line Folding; 7.4 Flow Collections).
 */
#include "report/yaml_page.h"

#include "base/arena.h"
#include "base/diag.h"
#include "input/doc/doc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

static const char *folded(struct arena *arena, const char *line, size_t width)
{
    char text[4096];
    FILE *file = tmpfile();
    assert_non_null(file);
    yaml_page_line(arena, line, width, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return arena_strdup(arena, text);
}

static void a_text_is_broken_at_its_blanks(void **state)
{
    /*                                                          12345678901234567890 */
    assert_string_equal(folded(*state, "source: \"one two three four\"", 20), "source: \"one two\n"
                                                                              "  three four\"\n");
    assert_string_equal(folded(*state, "  source: one two three", 20), "  source: one two\n"
                                                                       "    three\n");
    /* Of just the width it stays. */
    assert_string_equal(folded(*state, "source: \"one two 34\"", 20), "source: \"one two 34\"\n");
    assert_string_equal(folded(*state, "source: \"one two 34\"", 19), "source: \"one two\n"
                                                                      "  34\"\n");
    /* Two blanks would become one; behind a backslash it would be a letter of its own. */
    assert_string_equal(folded(*state, "source: \"one  two\"", 12), "source: \"one  two\"\n");
    assert_string_equal(folded(*state, "source: \"one\\ two\"", 12), "source: \"one\\ two\"\n");
}

static void keys_stay_on_their_line(void **state)
{
    /* "a b" before the colon is no value; nor is what is in quotes in a mapping before its own. */
    assert_string_equal(folded(*state, "a b c d: one two", 9), "a b c d: one\n  two\n");
    assert_string_equal(folded(*state, "set: {\"a b\": 1, \"c d\": 2}", 12), "set: {\"a b\": 1,\n"
                                                                             "  \"c d\": 2}\n");
    assert_string_equal(folded(*state, "- {n: one, of: \"two three\"}", 16), "- {n: one,\n"
                                                                             "    of: \"two\n"
                                                                             "    three\"}\n");
    /* A bracket in a text opens nothing, a colon in quotes is no key's. */
    assert_string_equal(folded(*state, "title: one [two three", 14), "title: one\n  [two three\n");
    assert_string_equal(folded(*state, "- \"one: two three\"", 12), "- \"one: two\n    three\"\n");
}

static void quotes_in_quotes_end_no_text(void **state)
{
    /* Two single ones are a letter, and so is one behind an odd number of backslashes: the "#" that
     * follows stands in the text. */
    assert_string_equal(folded(*state, "n: 'it''s b #c d'", 10), "n: 'it''s\n  b #c d'\n");
    assert_string_equal(folded(*state, "n: \"a\\\" b #c d\"", 12), "n: \"a\\\" b #c\n  d\"\n");
    assert_string_equal(folded(*state, "n: \"a\\\\\\\" b #c d\"", 14),
                        "n: \"a\\\\\\\" b #c\n  d\"\n");
    assert_string_equal(folded(*state, "n: \"abcd\\\\\" # e f", 20), "n: \"abcd\\\\\" # e f\n");
    assert_string_equal(folded(*state, "n: \"abcd\\\\\" # e f", 16), "n: \"abcd\\\\\"\n# e f\n");
}

/* NULL: it is no YAML. */
static const struct doc_node *parsed(struct arena *arena, const char *text)
{
    const char *whole = arena_printf(arena, "%s\n", text);
    return doc_parse(arena, "text", whole, strlen(whole), diag_new(arena));
}

/* What is read is the same, whatever is in it: lines of 2 to 9 of these, in each kind of value. */
static void any_line_is_read_as_before_it_was_folded(void **state)
{
    (void)state;
    static const char *const plain[] = {"a",   "bc#d", "e", "[f", "g:h",
                                        "i'j", "k\"l", "-", "#",  "m,"};
    static const char *const in_double[] = {"a",  "#",   "\\\"", "\\\\", "'",
                                            "[b", ", c", ": d",  "]",    "\\\\\\\"e"};
    static const char *const in_single[] = {"a",  "#",   "\"",  "\\",    "''",
                                            "[b", ", c", ": d", "it''s", "}"};
    static const char *const in_list[] = {
        "a b,",      "\"c #d\",", "'e''f g',", "{\"h i\": j},",          "k,",
        "[l m, n],", "o p,",      "\"q, r\",", "{s: t u, v: \"w  x\"},", "'y #z',"};
    static const struct {
        const char *before, *after;
        const char *const *words;
    } kinds[] = {{"k: ", "", plain},
                 {"k: \"", "\"", in_double},
                 {"\"k l\": '", "' # m n", in_single},
                 {"k: [", "z]", in_list}};
    enum { WORDS = 10, LINES = 4000 };
    uint32_t at = 1;
    int read = 0, broken = 0;
    for (int i = 0; i < LINES; i++) {
        struct arena *arena = arena_new();
        const size_t kind = (size_t)i % (sizeof kinds / sizeof *kinds);
        const char *line = kinds[kind].before;
        for (uint32_t left = 2 + (uint32_t)i % 8; left > 0; left--) {
            at = at * 1664525u + 1013904223u; /* Numerical Recipes' */
            line = arena_printf(arena, "%s%s%s", line, kinds[kind].words[(at >> 16) % WORDS],
                                left > 1 || kind == 3 ? " " : "");
        }
        line = arena_printf(arena, "%s%s", line, kinds[kind].after);
        const struct doc_node *before = parsed(arena, line);
        const char *text = folded(arena, line, 8 + (size_t)i % 23);
        const struct doc_node *after = parsed(arena, text);
        if (before != NULL) { /* else it was none */
            assert_non_null(after);
            assert_string_equal(doc_to_text(arena, after), doc_to_text(arena, before));
            read++;
            broken += strchr(text, '\n')[1] != '\0';
        }
        arena_free(arena);
    }
    assert_true(read > LINES / 2 && broken > LINES / 4);
}

static void comments_go_on_as_comments(void **state)
{
    assert_string_equal(folded(*state, "# one two three", 9), "# one two\n# three\n");
    assert_string_equal(folded(*state, "  # one two three", 11), "  # one two\n  # three\n");
    assert_string_equal(folded(*state, "tp: 2  # one two three", 16), "tp: 2  # one two\n"
                                                                      "       # three\n");
    /* Beside what has no room for it, below. */
    assert_string_equal(folded(*state, "tensor: 2  # one two", 16), "tensor: 2\n# one two\n");
    /* A "#" in quotes, or in a word, begins none. */
    assert_string_equal(folded(*state, "n: \"a #b c d\"", 9), "n: \"a #b\n  c d\"\n");
    /* Below the last column of a table. */
    assert_string_equal(folded(*state, "#  a   one two three", 16), "#  a   one two\n"
                                                                    "#      three\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_text_is_broken_at_its_blanks, begin, end),
        cmocka_unit_test_setup_teardown(keys_stay_on_their_line, begin, end),
        cmocka_unit_test_setup_teardown(quotes_in_quotes_end_no_text, begin, end),
        cmocka_unit_test_setup_teardown(any_line_is_read_as_before_it_was_folded, begin, end),
        cmocka_unit_test_setup_teardown(comments_go_on_as_comments, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
