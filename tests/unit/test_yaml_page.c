/* YAML in lines that have room. Each expected text was broken by hand, where YAML reads a blank
 * instead of the end of a line (YAML 1.2, 6.5 Line Folding; 7.4 Flow Collections).
 */
#include "report/yaml_page.h"

#include "base/arena.h"

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

static void comments_go_on_as_comments(void **state)
{
    assert_string_equal(folded(*state, "# one two three", 9), "# one two\n# three\n");
    assert_string_equal(folded(*state, "  # one two three", 11), "  # one two\n  # three\n");
    assert_string_equal(folded(*state, "tp: 2  # one two three", 16), "tp: 2  # one two\n"
                                                                      "       # three\n");
    /* Beside what has no room for it, below. */
    assert_string_equal(folded(*state, "tensor: 2  # one two", 16), "tensor: 2  \n# one two\n");
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
        cmocka_unit_test_setup_teardown(comments_go_on_as_comments, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
