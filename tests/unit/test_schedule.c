/* Pipeline schedules: orders by hand, ways, many shapes, and what is not sound. Reference orders
 * and times are in closed_form/test_schedules. `test_schedule SEED` runs the random tests from one
 * seed.
 */
#include "input/job/parallel.h"
#include "plan/schedule/schedule.h"

#include "base/arena.h"
#include "base/rng.h"
#include "input/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

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

static const struct schedule_costs unit_costs = {1, 1, 1, 3, 0};

static uint32_t chunks_of(enum schedule_kind kind)
{
    const bool has_two = kind == SCHEDULE_INTERLEAVED || kind == SCHEDULE_ZB_V ||
                         kind == SCHEDULE_DUALPIPE || kind == SCHEDULE_DUALPIPEV;
    return has_two ? 2 : 1;
}

static const char *order_text(struct arena *arena, const struct schedule_order *order,
                              uint32_t chunks)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    assert_non_null(out);
    for (uint64_t i = 0; i < order->count; i++) {
        fprintf(out, "%s%s", i == 0 ? "" : " ",
                schedule_action_text(arena, &order->actions[i], chunks));
    }
    fclose(out);
    const char *kept = arena_strdup(arena, text);
    free(text);
    return kept;
}

/* Orders are fixed, so times are max-plus in costs: nothing gets earlier when a cost grows. */
static void times_never_fall_when_a_cost_grows(void **state)
{
    for (int kind = 0; kind < SCHEDULE_FILE; kind++) {
        const struct schedule_shape shape = {
            (enum schedule_kind)kind, 4, chunks_of((enum schedule_kind)kind), 16, NULL, 0, false};
        const struct schedule_order *orders = schedule_orders(arena_of(state), &shape);
        const struct schedule_costs base = {3, 4, 2, 8, 1};
        const double before = schedule_evaluate(arena_of(state), &shape, orders, &base).makespan;
        for (uint32_t which = 0; which < 5; which++) {
            struct schedule_costs grown = base;
            double *const costs[] = {&grown.forward, &grown.backward, &grown.weights, &grown.pair,
                                     &grown.latency};
            *costs[which] += 1;
            assert_true(schedule_evaluate(arena_of(state), &shape, orders, &grown).makespan >=
                        before);
        }
    }
}

/* ---- by hand ----------------------------------------------------------- */

static void orders_of_a_small_interleaved_pipeline_are_as_drawn(void **state)
{
    /* p = 2, v = 3, m = 2. Stage 0: warm-up 2*1 + 2*2 = 6 = all forwards.
     * Stage 1: warm-up 2*2 = 4, then two pairs, then four backwards. */
    static const char *const expected[] = {
        "F0.0 F1.0 F0.1 F1.1 F0.2 F1.2 BW0.2 BW1.2 BW0.1 BW1.1 BW0.0 BW1.0",
        "F0.0 F1.0 F0.1 F1.1 F0.2 BW0.2 F1.2 BW1.2 BW0.1 BW1.1 BW0.0 BW1.0",
    };
    const struct schedule_shape shape = {SCHEDULE_INTERLEAVED, 2, 3, 2, NULL, 0, false};
    for (uint32_t stage = 0; stage < 2; stage++) {
        const struct schedule_order order = schedule_order(arena_of(state), &shape, stage);
        assert_string_equal(order_text(arena_of(state), &order, 3), expected[stage]);
    }
}

/* p = 2, v = 2, m = 5 in groups of 3: the group of 0, 1, 2 passes chunk 0, then chunk 1, then the
 * 3 and 4 that are left do. Stage 0: warm-up 2*1 + 1*3 = 5; stage 1: 3. The k-th backward is the
 * k-th forward with the chunks mirrored. */
static void larger_groups_pass_a_chunk_before_the_next(void **state)
{
    static const char *const expected[] = {
        "F0.0 F1.0 F2.0 F0.1 F1.1 F2.1 BW0.1 F3.0 BW1.1 F4.0 BW2.1 F3.1 BW0.0 F4.1 BW1.0 "
        "BW2.0 BW3.1 BW4.1 BW3.0 BW4.0",
        "F0.0 F1.0 F2.0 F0.1 BW0.1 F1.1 BW1.1 F2.1 BW2.1 F3.0 BW0.0 F4.0 BW1.0 F3.1 BW2.0 "
        "F4.1 BW3.1 BW4.1 BW3.0 BW4.0",
    };
    const struct schedule_shape shape = {SCHEDULE_INTERLEAVED, 2, 2, 5, NULL, 3, false};
    for (uint32_t stage = 0; stage < 2; stage++) {
        const struct schedule_order order = schedule_order(arena_of(state), &shape, stage);
        assert_string_equal(order_text(arena_of(state), &order, 2), expected[stage]);
    }
}

/* Megatron-LM's condition: a group has p to m microbatches, the last none or at least p. */
static void a_group_fills_the_pipeline(void **state)
{
    (void)state;
    static const struct {
        uint32_t m, group;
        bool is_possible;
    } rows[] = {{12, 4, true},   {12, 0, true},  {14, 0, false},  {14, 4, false},
                {14, 5, true},   {14, 8, true},  {14, 11, false}, {14, 14, true},
                {14, 15, false}, {12, 3, false}, {3, 3, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct schedule_shape shape = {SCHEDULE_INTERLEAVED, 4,    2, rows[i].m, NULL,
                                             rows[i].group,        false};
        assert_int_equal(schedule_is_possible(&shape), rows[i].is_possible);
    }
}

/* A pipeline that wants groups as large as it is long gets what it had without the word. */
static void groups_of_pp_are_the_usual_ones(void **state)
{
    for (uint32_t p = 2; p <= 8; p++) {
        const struct schedule_shape plain = {SCHEDULE_INTERLEAVED, p, 3, 3 * p, NULL, 0, false};
        const struct schedule_shape said = {SCHEDULE_INTERLEAVED, p, 3, 3 * p, NULL, p, false};
        for (uint32_t stage = 0; stage < p; stage++) {
            const struct schedule_order a = schedule_order(arena_of(state), &plain, stage);
            const struct schedule_order b = schedule_order(arena_of(state), &said, stage);
            assert_string_equal(order_text(arena_of(state), &a, 3),
                                order_text(arena_of(state), &b, 3));
        }
    }
}

static void one_stage_has_no_bubble(void **state)
{
    /* p = 1: nothing to wait for; the work of three microbatches is 3 (F + B + W) = 9, of two
     * chunks 18, and all of it is done without a gap. */
    for (int kind = 0; kind < SCHEDULE_FILE; kind++) {
        const struct schedule_shape shape = {
            (enum schedule_kind)kind, 1, chunks_of((enum schedule_kind)kind), 3, NULL, 0, false};
        if (kind == SCHEDULE_DUALPIPE) {
            assert_false(schedule_is_possible(&shape)); /* needs two ends */
            continue;
        }
        const struct schedule_order *orders = schedule_orders(arena_of(state), &shape);
        assert_true(schedule_check(arena_of(state), &shape, orders, NULL));
        const struct schedule_times times =
            schedule_evaluate(arena_of(state), &shape, orders, &unit_costs);
        assert_close(times.makespan, 9 * shape.chunks, 1e-12);
        assert_close(times.span_bubble, 0, 1e-12);
    }
    const struct schedule_shape plain = {SCHEDULE_1F1B, 1, 1, 2, NULL, 0, false};
    const struct schedule_order order = schedule_order(arena_of(state), &plain, 0);
    assert_string_equal(order_text(arena_of(state), &order, 1), "F0 BW0 F1 BW1");
}

/* Stage 1 of 4: F0 F1 F2 BW0 F3 BW1 ... of 1F1B, each backward with the forward after it; the last
 * three backwards have none. No closed form is known of such orders. */
static void a_backward_is_paired_with_the_forward_after_it(void **state)
{
    const struct schedule_shape shape = {SCHEDULE_1F1B, 4, 1, 5, NULL, 0, true};
    const struct schedule_order order = schedule_order(arena_of(state), &shape, 1);
    assert_string_equal(order_text(arena_of(state), &order, 1),
                        "F0 F1 F2 F3+BW0 F4+BW1 BW2 BW3 BW4");
    assert_true(isnan(schedule_time_formula(&shape, &unit_costs)));
}

static void the_bubble_shrinks_by_the_number_of_chunks(void **state)
{
    (void)state;
    /* p = 4, m = 8, f = 1, b = 2 of a whole stage: 1F1B (8+3)*3 = 33. Two chunks
     * of half the work each: 2*8*1.5 + 3*1.5 = 28.5, bubble 4.5 instead of 9. */
    const struct schedule_shape plain = {SCHEDULE_1F1B, 4, 1, 8, NULL, 0, false};
    const struct schedule_shape interleaved = {SCHEDULE_INTERLEAVED, 4, 2, 8, NULL, 0, false};
    const struct schedule_costs halves = {0.5, 0.5, 0.5, 1.5, 0};
    assert_close(schedule_time_formula(&plain, &unit_costs), 33.0, 1e-12);
    assert_close(schedule_time_formula(&interleaved, &halves), 28.5, 1e-12);
    /* oracles.md 10: 57 and 213 in units of a chunk. */
    const struct schedule_shape deep = {SCHEDULE_INTERLEAVED, 8, 2, 32, NULL, 0, false};
    assert_close(schedule_time_formula(&interleaved, &unit_costs), 57.0, 1e-12);
    assert_close(schedule_time_formula(&deep, &unit_costs), 213.0, 1e-12);
}

/* Stage 1 of ZB-H1 with p = 2, m = 2: F0 B0 F1 B1 W0 W1. An activation of 10 until B only: 10 at
 * most; until W: 20. */
static void what_stays_until_the_weight_gradients_counts_until_then(void **state)
{
    const struct schedule_shape shape = {SCHEDULE_ZB_H1, 2, 1, 2, NULL, 0, false};
    const struct schedule_order order = schedule_order(arena_of(state), &shape, 1);
    assert_string_equal(order_text(arena_of(state), &order, 1), "F0 B0 F1 B1 W0 W1");
    const int64_t activation = 10;
    assert_int_equal(schedule_live(&shape, &order, &activation, false), 10);
    assert_int_equal(schedule_live(&shape, &order, &activation, true), 20);
}

/* ---- the way of a microbatch --------------------------------------------- */

/* input/layout says which piece a chunk is; a microbatch goes from each piece to the one after. */
static void a_microbatch_goes_through_the_pieces_in_order(void **state)
{
    (void)state;
    for (int kind = 0; kind < SCHEDULE_FILE; kind++) {
        const struct schedule_shape shape = {
            (enum schedule_kind)kind, 4, chunks_of((enum schedule_kind)kind), 8, NULL, 0, false};
        const struct parallel parallel = {
            .pp = 4, .virtual_stages = shape.chunks, .schedule = (uint32_t)kind};
        for (uint32_t i = 0; i < shape.stages * shape.chunks; i++) {
            const struct schedule_place place = {i / shape.chunks, i % shape.chunks};
            const int64_t piece = layout_piece(&parallel, place.stage, place.chunk);
            struct schedule_place to;
            if (schedule_next(&shape, place, &to)) {
                assert_int_equal(layout_piece(&parallel, to.stage, to.chunk), piece + 1);
                struct schedule_place back;
                assert_true(schedule_previous(&shape, to, &back));
                assert_int_equal(back.stage, place.stage);
                assert_int_equal(back.chunk, place.chunk);
            } else {
                assert_int_equal(piece, layout_pieces(&parallel) - 1);
            }
            assert_int_equal(schedule_previous(&shape, place, &to), piece > 0);
        }
    }
}

/* ---- many shapes ------------------------------------------------------- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Live chunks by closed form: gpipe m; 1f1b min(m, p-s); interleaved
 * min(m*v, 2(p-1-s) + (v-1)g + 1); zb-h1 p, zb-h2 2p-1, zb-v 2p until W; dualpipe p+1,
 * dualpipev 2p+1; -1 where there is none. */
static int64_t live_formula(const struct schedule_shape *shape, int64_t stage)
{
    const int64_t m = shape->microbatches;
    const int64_t p = shape->stages;
    const int64_t v = shape->chunks;
    const int64_t g = shape->group > 0 ? shape->group : p;
    switch (shape->kind) {
    case SCHEDULE_GPIPE:
        return m;
    case SCHEDULE_1F1B:
        return smaller(m, p - stage);
    case SCHEDULE_INTERLEAVED:
        return smaller(v * m, 2 * (p - 1 - stage) + (v - 1) * g + 1);
    case SCHEDULE_ZB_H1:
        return smaller(m, p);
    case SCHEDULE_ZB_H2:
        return smaller(m, 2 * p - 1);
    case SCHEDULE_ZB_V:
        return m >= 2 * p - 1 ? 2 * p : -1;
    case SCHEDULE_DUALPIPE:
        return p + 1;
    case SCHEDULE_DUALPIPEV:
        return 2 * p + 1;
    default:
        return -1;
    }
}

/* The peak of a stage's live chunks by the closed form, where there is one. */
static void check_live(struct arena *arena, const struct schedule_shape *shape)
{
    static const int64_t ones[] = {1, 1, 1, 1, 1, 1};
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        const struct schedule_order order = schedule_order(arena, shape, stage);
        const int64_t live = schedule_live(shape, &order, ones, true);
        const int64_t formula = live_formula(shape, stage);
        if (formula >= 0) {
            assert_int_equal(live, formula);
        } else {
            assert_int_equal(shape->kind, SCHEDULE_ZB_V);
            assert_true(shape->microbatches < 2 * shape->stages - 1);
            assert_true(live <= 2 * (int64_t)shape->stages);
        }
    }
}

static void check_time(struct arena *arena, const struct schedule_shape *shape,
                       const struct schedule_order *orders)
{
    const double formula = schedule_time_formula(shape, &unit_costs);
    const struct schedule_times times = schedule_evaluate(arena, shape, orders, &unit_costs);
    const bool is_span = shape->kind == SCHEDULE_ZB_H2 || shape->kind == SCHEDULE_ZB_V;
    if (!isnan(formula)) {
        assert_close(is_span ? times.span : times.makespan, formula, 1e-12);
    }
}

static void check_shape(const struct schedule_shape *shape)
{
    if (!schedule_is_possible(shape)) {
        return;
    }
    struct arena *arena = arena_new();
    const struct schedule_order *orders = schedule_orders(arena, shape);
    struct schedule_fault fault;
    if (!schedule_check(arena, shape, orders, &fault)) {
        fail_msg("kind %d p %u m %u stage %u: %s", (int)shape->kind, shape->stages,
                 shape->microbatches, fault.stage, fault.reason);
    }
    check_live(arena, shape);
    check_time(arena, shape, orders);
    arena_free(arena);
}

static void every_small_shape_is_sound_and_as_its_formulas_say(void **state)
{
    (void)state;
    for (uint32_t p = 1; p <= 9; p++) {
        for (uint32_t m = 1; m <= 3 * p + 2; m++) { /* p need not divide m */
            for (int kind = 0; kind < SCHEDULE_FILE; kind++) {
                const uint32_t chunks = chunks_of((enum schedule_kind)kind);
                check_shape(&(struct schedule_shape){(enum schedule_kind)kind, p, chunks, m, NULL,
                                                     0, false});
            }
        }
        for (uint32_t v = 1; v <= 5; v++) {
            check_shape(
                &(struct schedule_shape){SCHEDULE_INTERLEAVED, p, v, 5 * p, NULL, 0, false});
        }
    }
}

/* No deadlock, live chunks and makespan by their closed forms: the bubble does not depend on the
 * size of groups. How many there are: of p 2, v 2, m up to 4 these: 2/2, 3/3, 4/2, 4/4 (m/g). */
static void groups_of_any_size_are_sound_and_as_their_formulas_say(void **state)
{
    (void)state;
    uint32_t possible = 0;
    for (uint32_t p = 2; p <= 6; p++) {
        for (uint32_t m = 1; m <= 20; m++) {
            for (uint32_t group = 1; group <= m + 1; group++) {
                for (uint32_t v = 1; v <= 4; v++) {
                    const struct schedule_shape shape = {
                        SCHEDULE_INTERLEAVED, p, v, m, NULL, group, false};
                    possible += p == 2 && v == 2 && m <= 4 && schedule_is_possible(&shape);
                    check_shape(&shape);
                }
            }
        }
    }
    assert_int_equal(possible, 4);
}

/* A shape drawn from (seed, index), with its rules kept. */
static struct schedule_shape random_shape(uint64_t seed, uint64_t index)
{
    struct rng_key key = {.seed = seed, .stream = rng_stream("shape"), .step = index};
    struct schedule_shape shape = {.kind = (enum schedule_kind)rng_below(&key, SCHEDULE_FILE)};
    do {
        key.operation++;
        shape.stages = 1 + (uint32_t)rng_below(&key, 16);
        key.operation++;
        shape.microbatches = 1 + (uint32_t)rng_below(&key, 64);
        key.operation++;
        shape.group = shape.kind == SCHEDULE_INTERLEAVED ? (uint32_t)rng_below(&key, 64) : 0;
        key.operation++;
        shape.chunks = shape.kind == SCHEDULE_INTERLEAVED ? 1 + (uint32_t)rng_below(&key, 6)
                                                          : chunks_of(shape.kind);
    } while (!schedule_is_possible(&shape));
    return shape;
}

#define RANDOM_SHAPES 2000

static void random_shapes_are_sound_and_as_their_formulas_say(void **state)
{
    const uint64_t seed = ((struct fixture *)*state)->seed;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < RANDOM_SHAPES; i++) {
        const struct schedule_shape shape = random_shape(seed, i);
        check_shape(&shape);
    }
}

/* ---- what is not sound ------------------------------------------------- */

static struct schedule_action action_of(enum schedule_operation operation, uint32_t microbatch)
{
    return (struct schedule_action){.operation = (uint8_t)operation, .microbatch = microbatch};
}

/* p stages, one chunk, and orders written like "F0 BW0"; the fault's reason or NULL. */
static const char *fault_of(struct arena *arena, uint32_t stages, uint32_t microbatches,
                            const char *const *texts, struct schedule_fault *fault)
{
    const struct schedule_shape shape = {SCHEDULE_1F1B, stages, 1, microbatches, NULL, 0, false};
    struct schedule_order *orders = arena_array(arena, stages, sizeof *orders);
    for (uint32_t stage = 0; stage < stages; stage++) {
        struct schedule_action *actions = arena_array(arena, strlen(texts[stage]), sizeof *actions);
        uint64_t count = 0;
        for (const char *at = texts[stage]; *at != '\0'; at += strspn(at, " ")) {
            const enum schedule_operation operation = *at == 'F'   ? SCHEDULE_FORWARD
                                                      : *at == 'W' ? SCHEDULE_WEIGHTS
                                                      : strncmp(at, "BW", 2) == 0
                                                          ? SCHEDULE_BACKWARD
                                                          : SCHEDULE_BACKWARD_INPUT;
            char *end = NULL;
            actions[count++] =
                action_of(operation, (uint32_t)strtoul(at + strspn(at, "FBW"), &end, 10));
            at = end;
        }
        orders[stage] = (struct schedule_order){actions, count};
    }
    return schedule_check(arena, &shape, orders, fault) ? NULL : fault->reason;
}

static void two_orders_that_wait_for_each_other_are_a_deadlock(void **state)
{
    /* Stage 0 forwards microbatch 1 only after the backward of 0; stage 1 forwards 0 only after
     * 1, so that backward never comes. */
    static const char *const waiting[] = {"F0 BW0 F1 BW1", "F1 BW1 F0 BW0"};
    static const char *const agreeing[] = {"F0 BW0 F1 BW1", "F0 BW0 F1 BW1"};
    struct schedule_fault fault;
    assert_null(fault_of(arena_of(state), 2, 2, agreeing, &fault));
    assert_string_equal(fault_of(arena_of(state), 2, 2, waiting, &fault),
                        "deadlock: BW0 of stage 0 waits for B0 of stage 1, "
                        "F1 of stage 1 waits for F1 of stage 0");
    assert_int_equal(fault.stage, 0);
    assert_int_equal(fault.position, 1);
}

static void an_order_that_is_not_whole_is_refused_with_its_reason(void **state)
{
    static const struct {
        const char *order, *reason;
        uint64_t position;
    } cases[] = {
        {"BW0 F0 F1 BW1", "the backward of microbatch 0 comes before its forward", 0},
        {"F0 BW0 F0 BW0", "the forward of microbatch 0 comes twice", 2},
        {"F0 BW0 F2 BW2", "there is no forward of microbatch 2", 2},
        {"F0 BW0 F1", "the backward of microbatch 1 is missing", 3},
        {"F0 BW0", "the forward of microbatch 1 is missing", 2},
        {"F0 F1 B0 B1 W1", "the weight gradient of microbatch 0 is missing", 5},
        {"F0 F1 W0 B0 BW1", "the weight gradient of microbatch 0 comes before its backward", 2},
        {"F0 BW0 W0 F1 BW1", "the weight gradient of microbatch 0 comes twice", 2},
        {"F0 B0 BW0 F1 BW1", "the backward of microbatch 0 comes twice", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct schedule_fault fault;
        assert_string_equal(fault_of(arena_of(state), 1, 2, &cases[i].order, &fault),
                            cases[i].reason);
        assert_int_equal(fault.position, cases[i].position);
        assert_int_equal(fault.stage, 0);
    }
}

#define TEST(function) \
    cmocka_unit_test_prestate_setup_teardown(function, make_arena, end_arena, &fixture)

int main(int argc, char **argv)
{
    static struct fixture fixture;
    fixture.seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20240607;
    const struct CMUnitTest tests[] = {
        TEST(times_never_fall_when_a_cost_grows),
        TEST(orders_of_a_small_interleaved_pipeline_are_as_drawn),
        TEST(larger_groups_pass_a_chunk_before_the_next),
        TEST(a_group_fills_the_pipeline),
        TEST(groups_of_pp_are_the_usual_ones),
        TEST(groups_of_any_size_are_sound_and_as_their_formulas_say),
        TEST(one_stage_has_no_bubble),
        TEST(a_backward_is_paired_with_the_forward_after_it),
        TEST(the_bubble_shrinks_by_the_number_of_chunks),
        TEST(what_stays_until_the_weight_gradients_counts_until_then),
        TEST(a_microbatch_goes_through_the_pieces_in_order),
        TEST(every_small_shape_is_sound_and_as_its_formulas_say),
        TEST(random_shapes_are_sound_and_as_their_formulas_say),
        TEST(two_orders_that_wait_for_each_other_are_a_deadlock),
        TEST(an_order_that_is_not_whole_is_refused_with_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
