/* What lab/published/published_recipes knows of a run, by its release. */
#include "lab/published/published_recipes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const columns[] = {"source", "release", "model_name", "gpu", "fp8_recipe"};

static const struct published_recipe *recipe_of(const char *release, const char *gpu,
                                                const char *recipe)
{
    const char *const fields[] = {"Megatron-Bridge", release, "Qwen3-30B-A3B", gpu, recipe};
    const struct published_table table = {
        .path = "", .columns = columns, .column_count = 5, .fields = fields, .row_count = 1};
    return published_recipe(&table, 0);
}

/* One graph and overlap came with 26.06, for mxfp8; before, nothing is known beyond the columns. */
static void a_recipe_holds_from_its_release_on(void **state)
{
    (void)state;
    assert_null(recipe_of("26.04", "GB200", "mxfp8"));
    const struct published_recipe *recipe = recipe_of("26.06", "GB200", "mxfp8");
    assert_non_null(recipe);
    assert_true(recipe->is_one_graph && recipe->overlaps_experts && recipe->sends_tokens);
    assert_null(recipe_of("26.06", "H100-80GB-SXM", ""));
}

/* On H100 the releases of 2025 sent copies, beside compute. */
static void a_recipe_ends_with_its_last_release(void **state)
{
    (void)state;
    const struct published_recipe *recipe = recipe_of("25.11", "H100-80GB-SXM", "fp8-cs");
    assert_non_null(recipe);
    assert_true(recipe->overlaps_experts && !recipe->sends_tokens && !recipe->is_one_graph);
    assert_null(recipe_of("26.02", "H100-80GB-SXM", "fp8-cs"));
    assert_null(recipe_of("", "H100-80GB-SXM", "fp8-cs"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recipe_holds_from_its_release_on),
        cmocka_unit_test(a_recipe_ends_with_its_last_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
