/* What a profile says that its release has (section `has`), held against the runs that were made
 * with it: who ran a layout had what it asks for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/diag.h"
#include "measured/published/published_reading.h"
#include "measured/published/published_rows.h"
#include "input/features/features_used.h"
#include "input/scenario.h"

/* A table that says no more than `selective` means what its release does by that word, until 2024
 * the core of attention; ours are the modules that matter beside a fused core. */
static bool is_selective(const struct scenario *scenario)
{
    const char *word = doc_find_text(scenario->document, "recompute");
    return word != NULL && strcmp(word, "selective") == 0;
}

/* A GPU may have been met by a preview, or by old sources that were built anew: B200 in MLPerf
 * v4.1, H800 by Megatron-DeepSpeed. */
static uint32_t lacking_of(const struct scenario *scenario, struct feature lacking[FEATURES_MAX])
{
    const uint32_t all = features_lacking(scenario, lacking);
    uint32_t count = 0;
    for (uint32_t i = 0; i < all; i++) {
        const bool is_of_word = lacking[i].list == FEATURES_RECOMPUTE && is_selective(scenario);
        if (lacking[i].list != FEATURES_ARCHITECTURES && !is_of_word) {
            lacking[count++] = lacking[i];
        }
    }
    return count;
}

/* With the catalogue's rules. */
static const struct published_table *load(struct arena *arena, const char *path,
                                          const struct catalogue *catalogue)
{
    const struct published_table *read = published_load(arena, path, diag_new(arena));
    assert_non_null(read);
    struct published_table *table = arena_alloc(arena, sizeof *table);
    *table = *read;
    table->rules = published_rules_load(arena, catalogue, diag_new(arena));
    assert_non_null(table->rules);
    return table;
}

/* Counts rows that lack something, and prints it. */
static uint32_t lacking_in(const char *path, uint32_t *rows)
{
    struct arena *own = arena_new();
    struct doc_files *files = doc_files_new(own);
    const struct catalogue catalogue = {.directories = {"."}, .count = 1, .files = files};
    const struct published_base base = {&catalogue, NULL, 0};
    const struct published_table *table = load(own, path, &catalogue);
    uint32_t lacking_rows = 0;
    for (uint32_t row = 0; row < table->row_count; row++) {
        struct arena *arena = arena_new();
        struct published_scenario made;
        const struct scenario *scenario =
            published_resolve(arena, table, row, &base, &made, diag_new(arena));
        struct feature lacking[FEATURES_MAX];
        const uint32_t count = scenario != NULL ? lacking_of(scenario, lacking) : 0;
        *rows += scenario != NULL;
        if (count > 0) {
            print_message("%s: %s: %s has no %s\n", path, made.id, made.software,
                          features_words(arena, lacking, count));
            lacking_rows++;
        }
        arena_free(arena);
    }
    arena_free(own);
    return lacking_rows;
}

static void what_was_run_is_what_the_release_has(void **state)
{
    (void)state;
    uint32_t rows = 0;
    assert_int_equal(lacking_in("tests/published/runs.csv", &rows), 0);
    assert_true(rows > 700);
}

/* A profile of the catalogue is said to be measured if a row of a shipped table takes it. */
static void what_was_never_run_says_so(void **state)
{
    (void)state;
    static const char *const tables[] = {"tests/published/runs.csv", "tests/published/networks.csv",
                                         "tests/published/blind.csv", "tests/published/memory.csv"};
    struct arena *own = arena_new();
    const struct catalogue catalogue = {
        .directories = {"."}, .count = 1, .files = doc_files_new(own)};
    uint32_t count = 0;
    const char **names = catalogue_list(own, &catalogue, "models/software", &count);
    bool *is_met = arena_array(own, count, sizeof *is_met);
    memset(is_met, 0, count * sizeof *is_met);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        const struct published_table *table = load(own, tables[t], &catalogue);
        for (uint32_t row = 0; row < table->row_count; row++) {
            struct arena *arena = arena_new();
            const struct published_scenario made =
                published_scenario(arena, table, row, &catalogue);
            for (uint32_t i = 0; i < count; i++) {
                is_met[i] = is_met[i] || strcmp(names[i], made.software) == 0;
            }
            arena_free(arena);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct doc_node reference = {.kind = DOC_SCALAR, .text = names[i]};
        const struct doc_node *profile =
            catalogue_open(own, &catalogue, CATALOGUE_SOFTWARE, &reference, diag_new(own));
        assert_non_null(profile);
        const char *word = doc_find_text(profile, "measured");
        is_met[i] = is_met[i] || strcmp(names[i], "meta-llama3-2024") == 0; /* anchors.csv */
        if (is_met[i] != (word == NULL || strcmp(word, "true") == 0)) {
            fail_msg("%s: a row takes it: %d", names[i], is_met[i]);
        }
    }
    arena_free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_run_is_what_the_release_has),
                                       cmocka_unit_test(what_was_never_run_says_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
