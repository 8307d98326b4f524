/* Pipeline schedules: order, live activations, soundness, closed forms.
 *
 * The reference orders lie in tests/closed_form/schedules/ (their README's
 * terms: unit costs F = 1, BW = 2, sends free). Tests run in the root of the
 * repository. `test_schedule SEED` runs the random tests from one seed.
 */
#include "plan/schedule.h"

#include "base/arena.h"
#include "base/rng.h"
#include "spec/doc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"

struct fixture {
    struct arena *arena;
    uint64_t seed;
};

static int make_arena(void **state)
{
    ((struct fixture *)*state)->arena = arena_new();
    return 0;
}

static int end_arena(void **state)
{
    arena_free(((struct fixture *)*state)->arena);
    return 0;
}

static struct arena *arena_of(void **state)
{
    return ((struct fixture *)*state)->arena;
}

/* ---- reference files --------------------------------------------------- */

static const struct doc_node *field(const struct doc_node *node, const char *key)
{
    const struct doc_node *found = doc_find(node, key);
    assert_non_null(found);
    return found;
}

static uint32_t number_of(const struct doc_node *node)
{
    return (uint32_t)strtoul(node->text, NULL, 10);
}

typedef void case_checker(struct arena *arena, const struct doc_node *node,
                          const struct schedule_shape *shape);

static void for_each_case(struct arena *arena, enum schedule_kind kind, case_checker *check)
{
    static const char *const paths[SCHEDULE_COUNT_] = {
        [SCHEDULE_GPIPE] = "tests/closed_form/schedules/gpipe.json",
        [SCHEDULE_1F1B] = "tests/closed_form/schedules/1f1b.json",
        [SCHEDULE_INTERLEAVED] = "tests/closed_form/schedules/interleaved_v2.json",
    };
    struct diag *diag = diag_new(arena);
    const struct doc_node *root = doc_load(arena, paths[kind], diag);
    if (root == NULL) {
        diag_print(diag, stderr);
        fail();
    }
    uint32_t count = 0;
    for (const struct doc_node *node = field(root, "cases")->child; node; node = node->next) {
        const struct schedule_shape shape = {
            .kind = kind,
            .stages = number_of(field(node, "p")),
            .chunks = number_of(field(node, "chunks_per_device")),
            .microbatches = number_of(field(node, "m")),
        };
        check(arena, node, &shape);
        count++;
    }
    assert_int_equal(count, 9); /* p in {2, 4, 8}, m in {p, 2p, 4p} */
}

static void for_all_references(struct arena *arena, case_checker *check)
{
    for (int kind = 0; kind < SCHEDULE_COUNT_; kind++) {
        for_each_case(arena, (enum schedule_kind)kind, check);
    }
}

/* "F3", "BW3", "F3.1": moves *text behind one action and the blank after it. */
static struct schedule_action read_action(const char **text)
{
    struct schedule_action action = {.is_backward = **text == 'B'};
    const char *at = *text + (action.is_backward ? strlen("BW") : strlen("F"));
    char *end = NULL;
    action.microbatch = (uint32_t)strtoul(at, &end, 10);
    if (*end == '.') {
        action.chunk = (uint16_t)strtoul(end + 1, &end, 10);
    }
    *text = *end == ' ' ? end + 1 : end;
    return action;
}

static void check_order(struct arena *arena, const struct doc_node *node,
                        const struct schedule_shape *shape)
{
    uint32_t stage = 0;
    for (const struct doc_node *order = field(node, "order")->child; order; order = order->next) {
        const struct schedule_action *actions = schedule_actions(arena, shape, stage);
        const char *text = order->text;
        uint32_t count = 0;
        for (; *text != '\0'; count++) {
            const struct schedule_action expected = read_action(&text);
            assert_int_equal(actions[count].is_backward, expected.is_backward);
            assert_int_equal(actions[count].chunk, expected.chunk);
            assert_int_equal(actions[count].microbatch, expected.microbatch);
        }
        assert_int_equal(count, 2 * shape->chunks * shape->microbatches);
        stage++;
    }
    assert_int_equal(stage, shape->stages);
}

static void the_orders_equal_the_reference_action_by_action(void **state)
{
    for_all_references(arena_of(state), check_order);
}

static void check_peak(struct arena *arena, const struct doc_node *node,
                       const struct schedule_shape *shape)
{
    uint32_t stage = 0;
    for (const struct doc_node *peak = field(node, "peak_chunk_act_until_B")->child; peak;
         peak = peak->next) {
        assert_int_equal(schedule_live_chunks(arena, shape, stage), number_of(peak));
        assert_int_equal(schedule_live_chunks_formula(shape, stage), number_of(peak));
        stage++;
    }
    assert_int_equal(stage, shape->stages);
}

static void peaks_of_live_chunks_equal_the_reference(void **state)
{
    for_all_references(arena_of(state), check_peak);
}

static void check_makespan(struct arena *arena, const struct doc_node *node,
                           const struct schedule_shape *shape)
{
    (void)arena;
    const double expected = strtod(field(node, "makespan")->text, NULL);
    assert_close(schedule_makespan_formula(shape, 1.0, 2.0), expected, 1e-12);
}

static void makespans_equal_the_reference(void **state)
{
    for_all_references(arena_of(state), check_makespan);
}

/* ---- by hand ----------------------------------------------------------- */

static void orders_of_a_small_interleaved_pipeline_are_as_drawn(void **state)
{
    /* p = 2, v = 3, m = 2. Stage 0: warm-up 2*1 + 2*2 = 6 = all forwards.
     * Stage 1: warm-up 2*2 = 4, then two pairs, then four backwards.
     * Written as F/B, microbatch, chunk. */
    static const char *const expected[] = {
        "F0.0 F1.0 F0.1 F1.1 F0.2 F1.2 BW0.2 BW1.2 BW0.1 BW1.1 BW0.0 BW1.0",
        "F0.0 F1.0 F0.1 F1.1 F0.2 BW0.2 F1.2 BW1.2 BW0.1 BW1.1 BW0.0 BW1.0",
    };
    const struct schedule_shape shape = {SCHEDULE_INTERLEAVED, 2, 3, 2};
    for (uint32_t stage = 0; stage < 2; stage++) {
        const struct schedule_action *actions = schedule_actions(arena_of(state), &shape, stage);
        const char *text = expected[stage];
        for (uint32_t i = 0; i < 12; i++) {
            const struct schedule_action action = read_action(&text);
            assert_int_equal(actions[i].is_backward, action.is_backward);
            assert_int_equal(actions[i].chunk, action.chunk);
            assert_int_equal(actions[i].microbatch, action.microbatch);
        }
    }
}

static void one_stage_alternates_forward_and_backward(void **state)
{
    const struct schedule_shape shape = {SCHEDULE_1F1B, 1, 1, 5};
    const struct schedule_action *actions = schedule_actions(arena_of(state), &shape, 0);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(actions[i].is_backward, i % 2);
        assert_int_equal(actions[i].microbatch, i / 2);
    }
    assert_int_equal(schedule_live_chunks(arena_of(state), &shape, 0), 1);
    assert_true(schedule_is_sound(arena_of(state), &shape));
}

static void the_bubble_shrinks_by_the_number_of_chunks(void **state)
{
    (void)state;
    /* p = 4, m = 8, f = 1, b = 2 of a whole stage: 1F1B (8+3)*3 = 33. Two chunks
     * of half the work each: 2*8*1.5 + 3*1.5 = 28.5, bubble 4.5 instead of 9. */
    const struct schedule_shape plain = {SCHEDULE_1F1B, 4, 1, 8};
    const struct schedule_shape interleaved = {SCHEDULE_INTERLEAVED, 4, 2, 8};
    assert_close(schedule_makespan_formula(&plain, 1, 2), 33.0, 1e-12);
    assert_close(schedule_makespan_formula(&interleaved, 0.5, 1), 28.5, 1e-12);
    /* oracles.md 10: 57 and 213 in units of a chunk. */
    const struct schedule_shape deep = {SCHEDULE_INTERLEAVED, 8, 2, 32};
    assert_close(schedule_makespan_formula(&interleaved, 1, 2), 57.0, 1e-12);
    assert_close(schedule_makespan_formula(&deep, 1, 2), 213.0, 1e-12);
}

/* ---- many shapes ------------------------------------------------------- */

/* oracles.md 2.3, written out apart from the module. */
static uint32_t live_by_oracle(const struct schedule_shape *shape, uint32_t stage)
{
    const uint32_t p = shape->stages;
    const uint32_t all = shape->microbatches * shape->chunks;
    uint32_t live = all;
    if (shape->kind == SCHEDULE_1F1B) {
        live = p - stage;
    } else if (shape->kind == SCHEDULE_INTERLEAVED) {
        live = 2 * (p - 1 - stage) + (shape->chunks - 1) * p + 1;
    }
    return live < all ? live : all;
}

static void check_live(struct arena *arena, const struct schedule_shape *shape)
{
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        const uint32_t expected = live_by_oracle(shape, stage);
        assert_int_equal(schedule_live_chunks(arena, shape, stage), expected);
        assert_int_equal(schedule_live_chunks_formula(shape, stage), expected);
    }
}

static void live_chunks_equal_the_formula_for_every_shape(void **state)
{
    for (uint32_t p = 1; p <= 9; p++) {
        for (uint32_t m = 1; m <= 3 * p + 2; m++) { /* p need not divide m */
            check_live(arena_of(state), &(struct schedule_shape){SCHEDULE_GPIPE, p, 1, m});
            check_live(arena_of(state), &(struct schedule_shape){SCHEDULE_1F1B, p, 1, m});
        }
        for (uint32_t v = 1; v <= 5; v++) {
            for (uint32_t groups = 1; groups <= 5; groups++) {
                check_live(arena_of(state),
                           &(struct schedule_shape){SCHEDULE_INTERLEAVED, p, v, groups * p});
            }
        }
    }
}

/* A shape drawn from (seed, index), with its rules kept. */
static struct schedule_shape random_shape(uint64_t seed, uint64_t index)
{
    struct rng_key key = {.seed = seed, .stream = rng_stream("shape"), .step = index};
    struct schedule_shape shape = {.kind = (enum schedule_kind)rng_below(&key, SCHEDULE_COUNT_)};
    key.operation = 1;
    shape.stages = 1 + (uint32_t)rng_below(&key, 12);
    key.operation = 2;
    const bool is_interleaved = shape.kind == SCHEDULE_INTERLEAVED;
    shape.chunks = is_interleaved ? 1 + (uint32_t)rng_below(&key, 6) : 1;
    key.operation = 3;
    shape.microbatches = is_interleaved ? shape.stages * (1 + (uint32_t)rng_below(&key, 6))
                                        : 1 + (uint32_t)rng_below(&key, 50);
    return shape;
}

#define RANDOM_SHAPES 300

static void random_shapes_are_sound(void **state)
{
    const uint64_t seed = ((struct fixture *)*state)->seed;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < RANDOM_SHAPES; i++) {
        const struct schedule_shape shape = random_shape(seed, i);
        assert_true(schedule_is_sound(arena_of(state), &shape));
    }
}

static void an_action_by_position_is_that_of_the_order(void **state)
{
    const uint64_t seed = ((struct fixture *)*state)->seed;
    for (uint64_t i = 0; i < RANDOM_SHAPES; i++) {
        const struct schedule_shape shape = random_shape(seed, i);
        const uint32_t stage = shape.stages / 2;
        const struct schedule_action *actions = schedule_actions(arena_of(state), &shape, stage);
        const uint64_t count = 2 * (uint64_t)shape.chunks * shape.microbatches;
        for (uint64_t k = 0; k < count; k++) {
            const struct schedule_action action = schedule_action_at(&shape, stage, k);
            assert_int_equal(action.is_backward, actions[k].is_backward);
            assert_int_equal(action.chunk, actions[k].chunk);
            assert_int_equal(action.microbatch, actions[k].microbatch);
        }
    }
}

/* The slow twins of the two weighted counts: over the whole order. */
static int64_t slow_live(struct arena *arena, const struct schedule_shape *shape, uint32_t stage,
                         const int64_t *weight_of_chunk)
{
    const struct schedule_action *actions = schedule_actions(arena, shape, stage);
    const uint64_t count = 2 * (uint64_t)shape->chunks * shape->microbatches;
    int64_t live = 0;
    int64_t most = 0;
    for (uint64_t i = 0; i < count; i++) {
        const int64_t weight = weight_of_chunk[actions[i].chunk];
        live += actions[i].is_backward ? -weight : weight;
        most = live > most ? live : most;
    }
    return most;
}

static void check_weighted(struct arena *arena, const struct schedule_shape *shape,
                           const int64_t *layers)
{
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        int64_t weights[8] = {0};
        for (uint32_t chunk = 0; chunk < shape->chunks; chunk++) {
            weights[chunk] = layers[chunk * shape->stages + stage];
        }
        assert_true(schedule_live_layers(shape, stage, layers) ==
                    slow_live(arena, shape, stage, weights));
        for (uint32_t chunk = 0; chunk < shape->chunks; chunk++) {
            int64_t only_one[8] = {0};
            only_one[chunk] = 1;
            assert_true(schedule_live_microbatches(shape, stage, chunk) ==
                        slow_live(arena, shape, stage, only_one));
        }
    }
}

static void weighted_counts_equal_those_over_the_whole_order(void **state)
{
    const uint64_t seed = ((struct fixture *)*state)->seed;
    for (uint64_t i = 0; i < RANDOM_SHAPES; i++) {
        const struct schedule_shape shape = random_shape(seed, i);
        int64_t layers[12 * 8] = {0};
        for (uint32_t piece = 0; piece < shape.stages * shape.chunks; piece++) {
            const struct rng_key key = {
                .seed = seed, .stream = rng_stream("layers"), .rank = piece, .step = i};
            layers[piece] = (int64_t)rng_below(&key, 5); /* a chunk may have none */
        }
        check_weighted(arena_of(state), &shape, layers);
    }
}

/* ---- what is not sound ------------------------------------------------- */

static void two_orders_that_wait_for_each_other_are_not_sound(void **state)
{
    /* p = 2, m = 2. Stage 0 forwards microbatch 1 only after the backward of 0;
     * stage 1 forwards 0 only after 1, so that backward never comes. */
    static const struct schedule_action first[] = {
        {false, 0, 0}, {true, 0, 0}, {false, 0, 1}, {true, 0, 1}};
    static const struct schedule_action second[] = {
        {false, 0, 1}, {true, 0, 1}, {false, 0, 0}, {true, 0, 0}};
    const struct schedule_shape shape = {SCHEDULE_1F1B, 2, 1, 2};
    const struct schedule_action *const waiting[] = {first, second};
    const struct schedule_action *const agreeing[] = {first, first};
    assert_false(schedule_orders_are_sound(arena_of(state), &shape, waiting));
    assert_true(schedule_orders_are_sound(arena_of(state), &shape, agreeing));
}

static void an_incomplete_order_is_not_sound(void **state)
{
    static const struct schedule_action backward_first[] = {
        {true, 0, 0}, {false, 0, 0}, {false, 0, 1}, {true, 0, 1}};
    static const struct schedule_action twice[] = {
        {false, 0, 0}, {true, 0, 0}, {false, 0, 0}, {true, 0, 0}};
    static const struct schedule_action unknown[] = {
        {false, 0, 0}, {true, 0, 0}, {false, 0, 2}, {true, 0, 2}};
    static const struct schedule_action wrong_chunk[] = {
        {false, 0, 0}, {true, 0, 0}, {false, 1, 1}, {true, 1, 1}};
    static const struct schedule_action *const orders[] = {backward_first, twice, unknown,
                                                           wrong_chunk};
    const struct schedule_shape shape = {SCHEDULE_GPIPE, 1, 1, 2};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        assert_false(schedule_orders_are_sound(arena_of(state), &shape, &orders[i]));
    }
}

#define TEST(function) \
    cmocka_unit_test_prestate_setup_teardown(function, make_arena, end_arena, &fixture)

int main(int argc, char **argv)
{
    static struct fixture fixture;
    fixture.seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20240607;
    const struct CMUnitTest tests[] = {
        TEST(the_orders_equal_the_reference_action_by_action),
        TEST(peaks_of_live_chunks_equal_the_reference),
        TEST(makespans_equal_the_reference),
        TEST(orders_of_a_small_interleaved_pipeline_are_as_drawn),
        TEST(one_stage_alternates_forward_and_backward),
        TEST(the_bubble_shrinks_by_the_number_of_chunks),
        TEST(live_chunks_equal_the_formula_for_every_shape),
        TEST(random_shapes_are_sound),
        TEST(an_action_by_position_is_that_of_the_order),
        TEST(weighted_counts_equal_those_over_the_whole_order),
        TEST(two_orders_that_wait_for_each_other_are_not_sound),
        TEST(an_incomplete_order_is_not_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
