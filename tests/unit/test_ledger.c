/* A record of a formula: its value, its text taken apart, and nothing where nobody asks. */
#include "base/ledger.h"

#include "base/arena.h"
#include "support/assert_close.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECONDS_PER_HOUR 3600.0

struct shape {
    int64_t heads, heads_kv;
};

/* The tokens of a line with blanks between: a term as its value, or its name. */
static void assert_line(const struct ledger *ledger, uint32_t index, const char *expected)
{
    char text[256] = "";
    size_t length = 0;
    const struct ledger_line *line = ledger_line(ledger, index);
    for (uint32_t i = 0; i < line->token_count; i++) {
        const struct ledger_token *token = &line->tokens[i];
        const size_t room = sizeof text - length;
        const int added =
            token->term == NULL || token->term->name != NULL
                ? snprintf(text + length, room, "%s ",
                           token->term == NULL ? token->text : token->term->name)
                : snprintf(text + length, room, "%g%s ", token->term->value, token->term->unit);
        assert_in_range(added, 1, room - 1);
        length += (size_t)added;
    }
    assert_string_equal(text, expected);
}

/* 2 x (32 + 2 x 8) = 96, whether it is recorded or not. */
static void a_formula_is_computed_with_a_ledger_and_without(void **state)
{
    const struct shape shape = {32, 8};
    struct ledger *ledgers[] = {NULL, ledger_new(*state)};
    for (size_t i = 0; i < 2; i++) {
        const int64_t count =
            LEDGER_COUNT(ledgers[i], "rows", "", 2 * (shape.heads + 2 * shape.heads_kv),
                         LEDGER_TERM(shape.heads, " heads"), LEDGER_TERM(shape.heads_kv, ""));
        assert_int_equal(count, 96);
    }
    assert_int_equal(ledger_line_count(ledgers[1]), 1);
    assert_line(ledgers[1], 0, "2 * ( 32 heads + 2 * 8 ) ");
    assert_close(ledger_line(ledgers[1], 0)->value, 96, 0);
}

/* "heads" begins "heads_kv", "n" stands in "nodes", and (1 - u) may be one term or three tokens. */
static void terms_are_whole_and_the_longest_is_taken(void **state)
{
    struct ledger *ledger = ledger_new(*state);
    const struct shape shape = {32, 8};
    const struct shape *at = &shape;
    const double n = 3, nodes = 5, u = 0.25;
    LEDGER_SUM(ledger, "a", "", (double)at->heads_kv * n / nodes, LEDGER_TERM(at->heads_kv, ""),
               LEDGER_TERM(n, ""), LEDGER_TERM(nodes, ""));
    assert_line(ledger, 0, "8 * 3 / 5 ");
    LEDGER_SUM(ledger, "b", "", n * (1 - u), LEDGER_TERM(n, ""), LEDGER_NAME(u, "share"));
    assert_line(ledger, 1, "3 * ( 1 - share ) ");
    LEDGER_SUM(ledger, "c", "", n * (1 - u), LEDGER_TERM(n, ""), LEDGER_TERM((1 - u), ""));
    assert_line(ledger, 2, "3 * 0.75 ");
    LEDGER_SUM(ledger, "d", "", ceil(fmin(nodes, n)), LEDGER_TERM(n, ""), LEDGER_TERM(nodes, ""));
    assert_line(ledger, 3, "ceil ( fmin ( 5 , 3 ) ) ");
}

/* A macro's name is what the source says, its value what it stands for. */
static void constants_keep_their_value(void **state)
{
    struct ledger *ledger = ledger_new(*state);
    const double wall_s = 7200;
    const double hours = LEDGER_SUM(ledger, "hours", "h", wall_s / SECONDS_PER_HOUR,
                                    LEDGER_TERM(wall_s, "s"), LEDGER_TERM(SECONDS_PER_HOUR, "s"));
    assert_close(hours, 2, 0);
    assert_line(ledger, 0, "7200s / 3600s ");
}

static void words_stand_where_no_formula_does(void **state)
{
    struct ledger *ledger = ledger_new(*state);
    ledger_say(ledger, "the step", "s", 1.5, "simulated");
    ledger_remark(ledger, ledger_text(ledger, "by %s", "hand"));
    assert_int_equal(ledger_line(ledger, 0)->token_count, 0);
    assert_string_equal(ledger_line(ledger, 0)->words, "by hand");
    ledger_say(NULL, "the step", "s", 1.5, "simulated");
    ledger_remark(NULL, "not kept");
    assert_string_equal(ledger_text(NULL, "%d", 1), "");
}

static int make_arena(void **state)
{
    *state = arena_new();
    return 0;
}

static int free_arena(void **state)
{
    arena_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_formula_is_computed_with_a_ledger_and_without),
        cmocka_unit_test(terms_are_whole_and_the_longest_is_taken),
        cmocka_unit_test(constants_keep_their_value),
        cmocka_unit_test(words_stand_where_no_formula_does),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
