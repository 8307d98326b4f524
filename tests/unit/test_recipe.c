/* Recipes: what goes before what, and that a resolved scenario holds what its recipe set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "input/recipe.h"
#include "input/scenario_load.h"
#include "support/assert_close.h"
#include "support/fixture.h"

static const struct catalogue here = {.directories = {"."}, .count = 1};

#define BASE                                           \
    "model: llama2-7b\ncluster: h100-3200\ngpus: 64\n" \
    "batch: {global: 64, micro: 1}\nparallel: {tp: 4}\n"

static const struct scenario *with(struct arena *arena, const char *more, const char *first,
                                   const char *second)
{
    const char *const sets[] = {first, second};
    const struct fixture_source source = {.text = arena_printf(arena, "%s%s", BASE, more),
                                          .sets = sets,
                                          .set_count = first == NULL    ? 0
                                                       : second == NULL ? 1
                                                                        : 2};
    return fixture_scenario(arena, &source);
}

#define RECIPE(set_) "recipe: {recipe: made-up, source: made up, set: " set_ "}\n"

static void a_recipe_goes_before_profile_and_defaults(void **state)
{
    /* megatron-2024 accumulates gradients in fp32 and does not cut blocks into pieces. */
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *plain = with(arena, "", NULL, NULL);
    assert_int_equal(plain->software.tp_pieces, 1);
    assert_int_equal(plain->software.gradient_precision, PRECISION_FP32);
    assert_null(plain->recipe.name);
    const struct scenario *scenario =
        with(arena,
             RECIPE("{software.overlap.tp_pieces: 4, software: {gradients: {precision: bf16}}, "
                    "parallel.sequence_parallel: true, recompute: full, model: {dropout: true}}"),
             NULL, NULL);
    assert_int_equal(scenario->software.tp_pieces, 4);
    assert_int_equal(scenario->software.gradient_precision, PRECISION_BF16);
    assert_true(scenario->software.overlaps_dp_gradients); /* the profile's other keys are left */
    assert_true(scenario->parallel.is_sequence_parallel);
    assert_int_equal(scenario->recompute.kind, RECOMPUTE_FULL);
    assert_true(scenario->model.has_dropout);
    assert_int_equal(scenario->parallel.tp, 4);
    assert_string_equal(scenario->recipe.name, "made-up");
    arena_free(arena);
}

static void what_the_scenario_states_holds(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    /* the key itself; a word above it; a mapping beside it */
    const struct scenario *scenario =
        with(arena,
             RECIPE("{precision: fp16, recompute: {modules: [norm]}, parallel: {zero: "
                    "2, cp: 2}}") "precision: bf16\nrecompute: none\n",
             NULL, NULL);
    assert_int_equal(scenario->precision, PRECISION_BF16);
    assert_int_equal(scenario->recompute.kind, RECOMPUTE_NONE);
    assert_int_equal(scenario->parallel.zero, 2);
    assert_int_equal(scenario->parallel.cp, 2);
    /* --set, with and without a dot */
    scenario = with(arena, RECIPE("{precision: fp16, parallel.zero: 2}"), "precision=bf16",
                    "parallel.zero=1");
    assert_int_equal(scenario->precision, PRECISION_BF16);
    assert_int_equal(scenario->parallel.zero, 1);
    arena_free(arena);
}

static void one_recipe_extends_another(void **state)
{
    /* The base says 2 pieces and full recomputation; what extends it says 8. */
    (void)state;
    struct arena *arena = arena_new();
    const char *text = RECIPE("{software.overlap.tp_pieces: 8}, extends: {recipe: base, source: "
                              "made up, set: {software.overlap.tp_pieces: 2, recompute: full}}");
    const struct scenario *scenario = with(arena, text, NULL, NULL);
    assert_int_equal(scenario->software.tp_pieces, 8);
    assert_int_equal(scenario->recompute.kind, RECOMPUTE_FULL);
    assert_string_equal(scenario->recipe.name, "made-up");
    arena_free(arena);
}

static void a_resolved_scenario_gives_itself(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        with(arena,
             RECIPE("{software.overlap.tp_pieces: 8}, extends: {recipe: base, source: made up, "
                    "set: {recompute: full, software: {host.blocking: true}}}"),
             NULL, NULL);
    assert_true(scenario->software.is_blocking);
    struct diag *diag = diag_new(arena);
    const struct scenario *again =
        scenario_resolve(arena, scenario->document, &here, NULL, 0, diag);
    assert_non_null(again);
    assert_string_equal(again->resolved_text, scenario->resolved_text);
    /* and another profile gets what it set */
    const char *const sets[] = {"software=megatron-2026"};
    again = scenario_resolve(arena, scenario->document, &here, sets, 1, diag);
    assert_non_null(again);
    assert_string_equal(again->software.name, "megatron-2026");
    assert_int_equal(again->software.tp_pieces, 8);
    assert_true(again->software.is_blocking);
    arena_free(arena);
}

static void what_a_recipe_assumes_is_among_the_assumptions(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        with(arena, RECIPE("{software.jitter.spread: 2 %}, provenance: assumed"), NULL, NULL);
    assert_close(scenario->software.jitter_spread, 0.02, 1e-12);
    bool is_listed = false;
    for (size_t i = 0; i < scenario->assumptions.count; i++) {
        const struct assumption *assumption = &scenario->assumptions.items[i];
        is_listed = is_listed || (strcmp(assumption->name, "software.jitter.spread") == 0 &&
                                  strcmp(assumption->reason, "made up") == 0);
    }
    assert_true(is_listed);
    arena_free(arena);
}

static void every_recipe_of_the_catalogue_opens(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_null(schema_fault(arena, &recipe_schema));
    uint32_t count = 0;
    const char **names = catalogue_list(arena, &here, catalogue_folders[CATALOGUE_RECIPE], &count);
    assert_true(count >= 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct doc_node reference = {.kind = DOC_SCALAR, .text = names[i]};
        struct diag *diag = diag_new(arena);
        const struct doc_node *recipe = recipe_open(arena, &here, &reference, diag);
        assert_non_null(recipe);
        assert_true(doc_child_count(doc_find(recipe, "set")) > 0);
        assert_null(doc_find(recipe, "extends"));
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recipe_goes_before_profile_and_defaults),
        cmocka_unit_test(what_the_scenario_states_holds),
        cmocka_unit_test(one_recipe_extends_another),
        cmocka_unit_test(a_resolved_scenario_gives_itself),
        cmocka_unit_test(what_a_recipe_assumes_is_among_the_assumptions),
        cmocka_unit_test(every_recipe_of_the_catalogue_opens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
