/* Each claim of tests/published/rules.yaml is about a run that the shipped tables hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "measured/published/published_reading.h"

static const char *const paths[] = {"tests/published/runs.csv", "tests/published/networks.csv",
                                    "tests/published/blind.csv", "tests/published/memory.csv"};

/* Entries of this repository's own words and files may be for users' runs alone. */
static bool is_claim(const struct published_rule *rule)
{
    static const char *const ours[] = {"tests/", "topologies/", "models/"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strncmp(rule->source, ours[i], strlen(ours[i])) == 0) {
            return false;
        }
    }
    return true;
}

/* Marks the entries that fit a row of the table. */
static void mark(const struct published_rules *rules, const struct published_table *table,
                 bool *blanks, bool *all)
{
    for (uint32_t row = 0; row < table->row_count; row++) {
        struct arena *arena = arena_new();
        const struct published_reading *reading = published_read(arena, table, row, rules);
        for (uint32_t i = 0; i < rules->blank_count; i++) {
            blanks[i] = blanks[i] || reading->blank_fits[i];
        }
        for (uint32_t i = 0; i < rules->rule_count; i++) {
            all[i] = all[i] || reading->rule_fits[i];
        }
        arena_free(arena);
    }
}

static uint32_t idle_of(const struct published_rule *rules, const bool *fits, uint32_t count)
{
    uint32_t idle = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (is_claim(&rules[i]) && !fits[i]) {
            print_message("%s:%u: error: this entry fits no row of the shipped tables\n",
                          rules[i].place.file, rules[i].place.line);
            idle++;
        }
    }
    return idle;
}

static void every_claim_is_about_a_row(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    const struct published_rules *rules = published_rules_load(arena, &catalogue, diag);
    assert_non_null(rules);
    assert_true(rules->rule_count > 80 && rules->blank_count > 20);
    bool *blanks = arena_array(arena, rules->blank_count, sizeof *blanks);
    bool *all = arena_array(arena, rules->rule_count, sizeof *all);
    for (size_t t = 0; t < sizeof paths / sizeof *paths; t++) {
        const struct published_table *table = published_load(arena, paths[t], diag);
        assert_non_null(table);
        mark(rules, table, blanks, all);
    }
    assert_int_equal(idle_of(rules->blanks, blanks, rules->blank_count) +
                         idle_of(rules->rules, all, rules->rule_count),
                     0);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_claim_is_about_a_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
