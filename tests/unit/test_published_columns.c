/* What may stand in the columns of a table of runs. */
#include "measured/published/published_columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"

static const struct published_column *column_of(const char *name)
{
    uint32_t i = 0;
    while (i < published_known_count && strcmp(published_known[i].name, name) != 0) {
        i++;
    }
    assert_true(i < published_known_count);
    return &published_known[i];
}

static bool takes(struct arena *arena, const struct published_column *column, const char *text)
{
    const char *help = NULL;
    const char *why = published_field_check(arena, column, text, &help);
    assert_true(why == NULL || help != NULL);
    return why == NULL;
}

/* A blank is never wrong; beyond it each kind takes what it is called, and not what another is. */
static void every_column_takes_its_kind_and_nothing_else(void **state)
{
    (void)state;
    static const char *const good[COLUMN_KIND_COUNT_] = {[COLUMN_TEXT] = "any, thing",
                                                         [COLUMN_PROSE] = "Any. Thing!",
                                                         [COLUMN_TRUTH] = "Yes",
                                                         [COLUMN_COUNT] = "2021",
                                                         [COLUMN_NUMBER] = "1.5e3",
                                                         [COLUMN_WORD_OR_NO] = "No",
                                                         [COLUMN_SETS] = "seed=1; gpus=8;",
                                                         [COLUMN_MONTH] = "2025-06"};
    struct arena *arena = arena_new();
    for (uint32_t i = 0; i < published_known_count; i++) {
        const struct published_column *column = &published_known[i];
        const bool takes_all = column->kind == COLUMN_TEXT || column->kind == COLUMN_PROSE;
        const char *text = good[column->kind] != NULL ? good[column->kind] : column->words[0];
        assert_true(takes(arena, column, ""));
        assert_true(takes(arena, column, text));
        assert_int_equal(takes(arena, column, "0x10"), takes_all);
        assert_int_equal(takes(arena, column, "nan"), takes_all);
        assert_int_equal(takes(arena, column, " 1"), takes_all);
        for (uint32_t k = 0; k < i; k++) {
            assert_string_not_equal(published_known[k].name, column->name);
        }
    }
    arena_free(arena);
}

/* Whole numbers end at 10^9 (and begin where the table says); others at 10^9, and above 0. */
static void numbers_have_bounds(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_true(takes(arena, column_of("gpus"), "1000000000"));
    assert_false(takes(arena, column_of("gpus"), "1000000001"));
    assert_false(takes(arena, column_of("gpus"), "8.0"));
    assert_false(takes(arena, column_of("gpus"), "-8"));
    assert_true(takes(arena, column_of("zero_group"), "-1"));
    assert_false(takes(arena, column_of("zero_group"), "-2"));
    assert_false(takes(arena, column_of("measured_step_s"), "0"));
    assert_false(takes(arena, column_of("measured_step_s"), "inf"));
    arena_free(arena);
}

static void a_month_is_a_year_and_one_of_twelve(void **state)
{
    (void)state;
    static const char *const wrong[] = {"2025",  "2025-6",     "2025-13", "2025-00",
                                        "25-06", "2025-06-01", "2025/06"};
    struct arena *arena = arena_new();
    assert_true(takes(arena, column_of("published"), "2025-12"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(takes(arena, column_of("published"), wrong[i]));
    }
    arena_free(arena);
}

static void words_may_be_joined_where_several_are_meant(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_true(takes(arena, column_of("recompute_modules"), "mla_up_proj+mlp"));
    assert_false(takes(arena, column_of("recompute_modules"), "mla_up_proj+"));
    assert_false(takes(arena, column_of("recompute_modules"), "mla_up_proj mlp"));
    assert_false(takes(arena, column_of("moe_dispatcher"), "deepep+hybridep"));
    arena_free(arena);
}

/* Ours, and the whole table that it was cut from where that lies beside the checkout. */
static void every_column_and_word_that_was_published_is_known(void **state)
{
    (void)state;
    static const char *const paths[] = {"tests/published/runs.csv", "tests/published/blind.csv",
                                        "../shared/validation/published_runs.csv"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct arena *arena = arena_new();
        struct diag *diag = diag_new(arena);
        if (i < 2 || access(paths[i], R_OK) == 0) {
            const struct catalogue catalogue = {.directories = {"."}, .count = 1};
            assert_non_null(published_load_runs(arena, paths[i], &catalogue, diag));
        }
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_takes_its_kind_and_nothing_else),
        cmocka_unit_test(numbers_have_bounds),
        cmocka_unit_test(a_month_is_a_year_and_one_of_twelve),
        cmocka_unit_test(words_may_be_joined_where_several_are_meant),
        cmocka_unit_test(every_column_and_word_that_was_published_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
