/* Pipelines through the engine, against reference orders, closed forms and a slow twin. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/diag.h"
#include "spec/doc.h"
#include "support/pipeline.h"

static int64_t simulate(struct arena *arena, const struct schedule_shape *shape,
                        const struct pipeline_costs *costs, struct engine_outcome *outcome)
{
    const struct engine_system system = pipeline_system(arena, shape, costs);
    engine_run(arena, &system, NULL, outcome);
    return outcome->jobs[0].end;
}

/* (m + p - 1)(F + B) for GPipe and 1F1B; v m (f + b) + (p - 1)(f + b) interleaved:
 * for p = 4, m = 8, F = 1, B = 2: (8 + 3) * 3 = 33; interleaved v = 2: 16 * 3 + 3 * 3 = 57. */
static void every_schedule_has_its_closed_form_makespan(void **state)
{
    (void)state;
    const struct pipeline_costs costs = {1000, 2000, 0};
    for (uint32_t kind = 0; kind < SCHEDULE_COUNT_; kind++) {
        for (uint32_t p = 2; p <= 8; p++) {
            for (uint32_t m = p; m <= 4 * p; m += p) {
                struct arena *arena = arena_new();
                const uint32_t chunks = kind == SCHEDULE_INTERLEAVED ? 2 + m % 3 : 1;
                const struct schedule_shape shape = {(enum schedule_kind)kind, p, chunks, m};
                struct engine_outcome outcome;
                const int64_t end = simulate(arena, &shape, &costs, &outcome);
                assert_int_equal(end, (int64_t)schedule_makespan_formula(&shape, 1000, 2000));
                arena_free(arena);
            }
        }
    }
}

static void the_numbers_of_the_oracle_come_out(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct engine_outcome outcome;
    const struct pipeline_costs costs = {1, 2, 0};
    const struct schedule_shape plain = {SCHEDULE_1F1B, 4, 1, 8};
    const struct schedule_shape interleaved = {SCHEDULE_INTERLEAVED, 4, 2, 8};
    const struct schedule_shape deep = {SCHEDULE_INTERLEAVED, 8, 2, 32};
    assert_int_equal(simulate(arena, &plain, &costs, &outcome), 33);
    assert_int_equal(simulate(arena, &interleaved, &costs, &outcome), 57);
    assert_int_equal(simulate(arena, &deep, &costs, &outcome), 213);
    arena_free(arena);
}

/* Work is m (F + B) on every stage; the rest of the makespan is bubble. */
static void what_is_not_work_is_bubble(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct engine_outcome outcome;
    const struct pipeline_costs costs = {3, 7, 0};
    const struct schedule_shape shape = {SCHEDULE_1F1B, 4, 1, 8};
    const int64_t end = simulate(arena, &shape, &costs, &outcome);
    for (uint32_t stage = 0; stage < 4; stage++) {
        assert_int_equal(outcome.actor_causes[stage][PIPELINE_CAUSE_WORK], 80);
        assert_int_equal(outcome.actor_causes[stage][PIPELINE_CAUSE_BUBBLE], end - 80);
        assert_int_equal(outcome.actor_causes[stage][PIPELINE_CAUSE_EXPOSED], 0);
    }
    arena_free(arena);
}

/* 1F1B with a pure latency c on each message, p dividing m:
 * T = (m + p - 1)(F + B) + c (2 (p-1) m / p + 2 (p - 2)); exact for c up to 2/3 of F + B. */
static void one_f_one_b_pays_latency_in_every_round(void **state)
{
    (void)state;
    const uint32_t stages[] = {2, 3, 4, 6, 8};
    for (uint32_t i = 0; i < 5; i++) {
        const int64_t p = stages[i];
        for (int64_t m = p; m <= 8 * p; m += p) {
            for (int64_t c = 0; c <= 1800; c += 600) {
                struct arena *arena = arena_new();
                struct engine_outcome outcome;
                const struct pipeline_costs costs = {1000, 2000, c};
                const struct schedule_shape shape = {SCHEDULE_1F1B, (uint32_t)p, 1, (uint32_t)m};
                const int64_t expected =
                    (m + p - 1) * 3000 + c * (2 * (p - 1) * m / p + 2 * (p - 2));
                assert_int_equal(simulate(arena, &shape, &costs, &outcome), expected);
                arena_free(arena);
            }
        }
    }
}

/* GPipe pays it once each way: + 2 (p - 1) c. */
static void gpipe_pays_latency_once(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct engine_outcome outcome;
    const struct pipeline_costs costs = {1000, 2000, 500};
    const struct schedule_shape shape = {SCHEDULE_GPIPE, 4, 1, 8};
    assert_int_equal(simulate(arena, &shape, &costs, &outcome), 33000 + 2 * 3 * 500);
    arena_free(arena);
}

static void the_engine_equals_the_longest_path(void **state)
{
    (void)state;
    uint32_t cases = 0;
    for (uint32_t kind = 0; kind < SCHEDULE_COUNT_; kind++) {
        for (uint32_t p = 2; p <= 7; p++) {
            for (uint32_t i = 1; i <= 9; i++) {
                struct arena *arena = arena_new();
                struct engine_outcome outcome;
                const bool is_interleaved = kind == SCHEDULE_INTERLEAVED;
                const struct schedule_shape shape = {(enum schedule_kind)kind, p,
                                                     is_interleaved ? 1 + i % 4 : 1,
                                                     is_interleaved ? p * (1 + i % 3) : i};
                const struct pipeline_costs costs = {7 + 13 * i, 11 + 5 * i * p, (i % 4) * 9};
                assert_int_equal(simulate(arena, &shape, &costs, &outcome),
                                 pipeline_longest_path(arena, &shape, &costs));
                cases++;
                arena_free(arena);
            }
        }
    }
    assert_int_equal(cases, 162);
}

static double number(const struct doc_node *node, const char *path)
{
    struct doc_node *found = doc_find(node, path);
    assert_non_null(found);
    double value = 0;
    char message[128];
    assert_true(units_parse(found->text, DIM_COUNT, &value, message, sizeof message));
    return value;
}

static void check_reference_file(const char *path, enum schedule_kind kind)
{
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    struct doc_node *root = doc_load(arena, path, diag);
    assert_non_null(root);
    uint32_t cases = 0;
    for (struct doc_node *item = doc_find(root, "cases")->child; item != NULL; item = item->next) {
        const struct schedule_shape shape = {kind, (uint32_t)number(item, "p"),
                                             (uint32_t)number(item, "chunks_per_device"),
                                             (uint32_t)number(item, "m")};
        const struct pipeline_costs costs = {1000, 2000, 0};
        struct engine_outcome outcome;
        const int64_t end = simulate(arena, &shape, &costs, &outcome);
        assert_int_equal(end, (int64_t)(number(item, "makespan") * 1000));
        cases++;
    }
    assert_true(cases >= 9);
    arena_free(arena);
}

static void the_reference_schedules_come_out_to_the_nanosecond(void **state)
{
    (void)state;
    check_reference_file("tests/closed_form/schedules/gpipe.json", SCHEDULE_GPIPE);
    check_reference_file("tests/closed_form/schedules/1f1b.json", SCHEDULE_1F1B);
    check_reference_file("tests/closed_form/schedules/interleaved_v2.json", SCHEDULE_INTERLEAVED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_has_its_closed_form_makespan),
        cmocka_unit_test(the_numbers_of_the_oracle_come_out),
        cmocka_unit_test(what_is_not_work_is_bubble),
        cmocka_unit_test(one_f_one_b_pays_latency_in_every_round),
        cmocka_unit_test(gpipe_pays_latency_once),
        cmocka_unit_test(the_engine_equals_the_longest_path),
        cmocka_unit_test(the_reference_schedules_come_out_to_the_nanosecond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
