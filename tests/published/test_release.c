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

/* Counts rows that lack something, and prints it. */
static uint32_t lacking_in(const char *path, uint32_t *rows)
{
    struct arena *own = arena_new();
    struct doc_files *files = doc_files_new(own);
    const struct catalogue catalogue = {{"."}, 1, files};
    const struct published_base base = {&catalogue, NULL, 0};
    const struct published_table *read = published_load(own, path, diag_new(own));
    assert_non_null(read);
    struct published_table *table = arena_alloc(own, sizeof *table);
    *table = *read;
    table->rules = published_rules_load(own, &catalogue, diag_new(own));
    assert_non_null(table->rules);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_run_is_what_the_release_has)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
