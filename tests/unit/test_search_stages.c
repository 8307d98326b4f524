/* Stages with the same work, the loss included. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/diag.h"
#include "input/features/layout_words.h"
#include "input/scenario_load.h"
#include "study/search/search_stages.h"

static const struct catalogue here = {.directories = {"."}, .count = 1};

static const struct scenario *scenario_of(struct arena *arena, const char *software)
{
    const char *text = arena_printf(arena,
                                    "model: llama3-8b\ncluster: h100-3200\ngpus: 64\n"
                                    "software: %s\n"
                                    "batch: {global: 256, sequence_length: 8192}\n",
                                    software);
    struct diag *diag = diag_new(arena);
    const struct doc_node *document = doc_parse(arena, "llama", text, strlen(text), diag);
    const struct scenario *scenario = scenario_resolve(arena, document, &here, NULL, 0, diag);
    assert_non_null(scenario);
    return scenario;
}

/* A layer of Llama-3 8B has 218.1 M parameters in matrices and, at 8,192 tokens, 4096 x 8192
 * causal products of scores and values: 2 x 218.1 + 2 x 33.6 = 503 MFLOP a token; the head 2 x 4096
 * x 128,256 = 1,051, 2.09 layers. Of 34.09 the busiest of four has at least 8.5, so 9 layers, and
 * with 9 there is room for a last stage of 6: 8.09. The first then has 8. */
static void the_last_stage_of_four_has_room_for_the_loss(void **state)
{
    struct arena *arena = *state;
    struct search_stages *stages = search_stages_new(arena, scenario_of(arena, "megatron-2025"));
    struct relayout layout = {.pp = 4, .virtual_stages = 1, .schedule = SCHEDULE_1F1B};
    assert_true(search_stages_balance(stages, &layout));
    assert_int_equal(layout.ends[0], 8);
    assert_int_equal(layout.ends[1], 6);
    assert_string_equal(search_stages_text(arena, &layout), "[8, 9, 9, 6]");
    /* of two stages: 17 and 15 + 2.09 = 17.09 */
    layout = (struct relayout){.pp = 2, .virtual_stages = 1, .schedule = SCHEDULE_1F1B};
    assert_true(search_stages_balance(stages, &layout));
    assert_string_equal(search_stages_text(arena, &layout), "[17, 15]");
}

/* Of one stage there is nothing to balance, and where stages hold pieces of both ends nothing is
 * done; 32 stages have a layer each. */
static void what_cannot_be_better_stays(void **state)
{
    struct arena *arena = *state;
    struct search_stages *stages = search_stages_new(arena, scenario_of(arena, "megatron-2025"));
    const struct relayout layouts[] = {
        {.pp = 1, .virtual_stages = 1, .schedule = SCHEDULE_1F1B},
        {.pp = 4, .virtual_stages = 2, .schedule = SCHEDULE_ZB_V},
        {.pp = 4, .virtual_stages = 2, .schedule = SCHEDULE_DUALPIPE},
        {.pp = 32, .virtual_stages = 1, .schedule = SCHEDULE_1F1B},
        {.pp = 32, .virtual_stages = 2, .schedule = SCHEDULE_INTERLEAVED},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct relayout layout = layouts[i];
        assert_false(search_stages_balance(stages, &layout));
        assert_memory_equal(&layout, &layouts[i], sizeof layout);
    }
}

/* Core 0.5 to 0.10 knows the layers of the first stage and the last, of whole stages alone; the
 * releases before it nothing. Chunks are halves of stages: ends are even, 8 and 6, and the 18
 * layers between them lie over four chunks. */
static void only_what_the_release_has_is_found(void **state)
{
    struct arena *arena = *state;
    struct relayout layout = {.pp = 4, .virtual_stages = 2, .schedule = SCHEDULE_INTERLEAVED};
    struct search_stages *stages = search_stages_new(arena, scenario_of(arena, "megatron-2024"));
    assert_false(search_stages_balance(stages, &layout));
    stages = search_stages_new(arena, scenario_of(arena, "megatron-2025"));
    assert_true(search_stages_balance(stages, &layout));
    assert_string_equal(search_stages_text(arena, &layout), "[4, 4, 5, 3, 4, 5, 4, 3]");
    stages = search_stages_new(arena, scenario_of(arena, "megatron-2023"));
    layout = (struct relayout){.pp = 4, .virtual_stages = 1, .schedule = SCHEDULE_1F1B};
    assert_false(search_stages_balance(stages, &layout));
}

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_stage_of_four_has_room_for_the_loss, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_better_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(only_what_the_release_has_is_found, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
