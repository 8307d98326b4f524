/* Which layers lie where, and which schedules go with which layouts. tests/unit/test_scenario has
 * the near-even distribution itself. */
#include "base/arena.h"
#include "input/feasible.h"
#include "input/layout.h"
#include "input/scenario.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* 24 layers of 16 heads, 2,048 tokens; learned positions. */
static const char tiny_text[] = "model: tiny\n"
                                "cluster: eights\n"
                                "gpus: 16\n"
                                "batch: {global: 64}\n";

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

static struct scenario *resolve(struct arena *arena, const char *const *sets, uint32_t set_count)
{
    return fixture_scenario(arena, &(struct fixture_source){.text = tiny_text,
                                                            .directory = "tests/unit/data",
                                                            .sets = sets,
                                                            .set_count = set_count});
}

static void assert_layers(void **state, const char *parallel, int64_t model_layers,
                          const int64_t *expected, int64_t count)
{
    struct arena *arena = *state;
    const char *const sets[] = {arena_printf(arena, "parallel=%s", parallel),
                                arena_printf(arena, "model.layers=%d", (int)model_layers)};
    const struct scenario *scenario = resolve(arena, sets, 2);
    assert_int_equal(layout_pieces(&scenario->parallel), count);
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(scenario->parallel.layers_per_chunk[i], expected[i]);
    }
}
#define LAYERS(parallel, layers, ...)                                      \
    assert_layers(state, parallel, layers, (const int64_t[]){__VA_ARGS__}, \
                  (int64_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* 24 layers, embedding and loss are 26: ceil 26/4 = 7, two too many, which the inner stages give
 * up: 1+6, 6, 6, 6+1. 7 layers and the embedding are 8 on 4: 1+1, 2, 2, 2. 6 and the loss are 7
 * on 4: ceil 2, one too many, of the first: 1, 2, 2, 1+1. Both on one stage change nothing. */
static void slots_count_as_layers(void **state)
{
    LAYERS("{pp: 4, embedding_slot: true, loss_slot: true}", 24, 6, 6, 6, 6);
    LAYERS("{pp: 4, embedding_slot: true}", 7, 1, 2, 2, 2);
    LAYERS("{pp: 4, loss_slot: true}", 6, 1, 2, 2, 1);
    LAYERS("{pp: 1, embedding_slot: true, loss_slot: true}", 24, 24);
    LAYERS("{pp: 4, embedding_slot: false}", 10, 2, 3, 3, 2);
}

/* Megatron-LM's account_for_embedding and loss: 94 layers and two slots are 96 = 24 x 4. */
static void slots_make_an_uneven_model_even(void **state)
{
    LAYERS("{pp: 8, virtual_stages: 3, embedding_slot: true, loss_slot: true}", 94, 3, 4, 4, 4, 4,
           4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3);
}

/* 1 layer on the most stages that it may have: embedding, layer, loss. */
static void slots_never_take_a_layer_that_is_not_there(void **state)
{
    struct arena *arena = *state;
    for (int layers = 1; layers <= 12; layers++) {
        for (int pp = 1; pp <= layers + 2 && pp <= 8; pp *= 2) {
            const char *const sets[] = {
                arena_printf(arena, "parallel={pp: %d, embedding_slot: true, loss_slot: true}", pp),
                arena_printf(arena, "model.layers=%d", layers)};
            const struct parallel *parallel = &resolve(arena, sets, 2)->parallel;
            int64_t sum = 0;
            for (int i = 0; i < pp; i++) {
                assert_true(parallel->layers_per_chunk[i] >= 0);
                sum += parallel->layers_per_chunk[i];
            }
            assert_int_equal(sum, layers);
        }
    }
}

/* 24 - 3 - 5 = 16 over the two stages between; 24 - 3 = 21 over three; on two stages both say
 * all. */
static void ends_may_be_said_and_the_rest_is_spread(void **state)
{
    LAYERS("{pp: 4, first_stage_layers: 3, last_stage_layers: 5}", 24, 3, 8, 8, 5);
    LAYERS("{pp: 4, first_stage_layers: 3}", 24, 3, 7, 7, 7);
    LAYERS("{pp: 4, last_stage_layers: 1}", 24, 7, 8, 8, 1);
    LAYERS("{pp: 2, first_stage_layers: 10, last_stage_layers: 14}", 24, 10, 14);
    LAYERS("{pp: 1, first_stage_layers: 24}", 24, 24);
}

/* A stage's layers lie in its chunks: in a loop stage 0 has pieces 0 and 2 of four, in a vee 0 and
 * 3. With DualPipe pieces are as many as stages. */
static void stages_have_their_layers_where_the_schedule_puts_them(void **state)
{
    LAYERS("{pp: 2, virtual_stages: 2, layers_per_stage: [10, 14]}", 24, 5, 7, 5, 7);
    LAYERS("{pp: 2, schedule: zb-v, layers_per_stage: [10, 14]}", 24, 5, 7, 7, 5);
    LAYERS("{pp: 2, schedule: dualpipev, first_stage_layers: 10}", 24, 5, 7, 7, 5);
    LAYERS("{pp: 2, schedule: dualpipe, layers_per_stage: [10, 14]}", 24, 10, 14);
    LAYERS("{pp: 2, schedule: dualpipe, last_stage_layers: 10}", 24, 14, 10);
}

static void an_explicit_partition_wins(void **state)
{
    LAYERS("{pp: 2, layers_per_stage: [11, 13], first_stage_layers: 4, loss_slot: true}", 24, 11,
           13);
}

/* Of four stages: chunk 1 of stage 1 is piece 5 in a loop, 6 = 2 x 4 - 1 - 1 in a vee, and 2 =
 * 4 - 1 - 1 from the other end. */
static void a_chunk_is_a_piece(void **state)
{
    static const struct {
        const char *parallel;
        int64_t piece;
    } rows[] = {
        {"parallel={pp: 4, virtual_stages: 2}", 5},
        {"parallel={pp: 4, schedule: zb-v}", 6},
        {"parallel={pp: 4, schedule: dualpipev}", 6},
        {"parallel={pp: 4, schedule: dualpipe}", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct parallel *parallel = &resolve(*state, &rows[i].parallel, 1)->parallel;
        assert_int_equal(parallel->virtual_stages, 2);
        assert_int_equal(layout_piece(parallel, 1, 0), 1);
        assert_int_equal(layout_piece(parallel, 1, 1), rows[i].piece);
    }
}

/* 24 layers on 4 stages are 6 each; piece 2 begins with layer 12. */
static void pieces_are_in_model_order(void **state)
{
    const char *const sets[] = {"parallel.pp=4"};
    const struct parallel *parallel = &resolve(*state, sets, 1)->parallel;
    assert_int_equal(layout_first_layer(parallel, 0), 0);
    assert_int_equal(layout_first_layer(parallel, 2), 12);
}

/* 16 GPUs as tp 2, pp 2, dp 4: tp 4 and dp 2 would do, and dp 3 is not what is
 * left of 16. GPipe has one chunk a stage, and 3 does not divide cp x dp = 4. */
static void a_changed_layout_is_judged_without_messages(void **state)
{
    struct arena *arena = *state;
    const char *const sets[] = {"parallel={tp: 2, pp: 2, schedule: zb-v}"};
    const struct scenario *scenario = resolve(arena, sets, 1);
    assert_true(feasible_holds(scenario));
    struct scenario changed = *scenario;
    changed.parallel.tp = 4;
    changed.parallel.dp = 2;
    changed.parallel.zero_group = 0;
    assert_true(feasible_holds(&changed));
    changed.parallel.dp = 3;
    assert_false(feasible_holds(&changed));
    changed = *scenario;
    changed.parallel.schedule = SCHEDULE_GPIPE; /* which has one chunk a stage */
    assert_false(feasible_holds(&changed));
    changed.parallel.virtual_stages = 1;
    assert_true(feasible_holds(&changed));
    changed.parallel.zero_group = 3;
    assert_false(feasible_holds(&changed));
}

/* Four stages of a batch that every schedule can have: each is read by its name, is judged, and
 * begins with the first piece of the model, so each has its row in the tables of input/. The
 * names are in the order of the kinds. */
static void every_schedule_has_its_rows(void **state)
{
    struct arena *arena = *state;
    for (uint32_t kind = 0; kind < SCHEDULE_FILE; kind++) {
        const char *const sets[] = {
            arena_printf(arena, "parallel={pp: 4, schedule: %s%s}", schedule_names[kind],
                         kind == SCHEDULE_INTERLEAVED ? ", virtual_stages: 2" : ""),
            "batch.global=128"};
        const struct scenario *scenario = resolve(arena, sets, 2);
        assert_int_equal(scenario->parallel.schedule, kind);
        assert_true(feasible_holds(scenario));
        assert_int_equal(layout_piece(&scenario->parallel, 0, 0), 0);
    }
    assert_string_equal(schedule_names[SCHEDULE_FILE], "file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slots_count_as_layers, setup, teardown),
        cmocka_unit_test_setup_teardown(slots_make_an_uneven_model_even, setup, teardown),
        cmocka_unit_test_setup_teardown(slots_never_take_a_layer_that_is_not_there, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(ends_may_be_said_and_the_rest_is_spread, setup, teardown),
        cmocka_unit_test_setup_teardown(stages_have_their_layers_where_the_schedule_puts_them,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_explicit_partition_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(a_chunk_is_a_piece, setup, teardown),
        cmocka_unit_test_setup_teardown(pieces_are_in_model_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_changed_layout_is_judged_without_messages, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(every_schedule_has_its_rows, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
