/* Pipelines through the engine, against reference orders, closed forms and a slow twin. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/diag.h"
#include "input/doc/doc.h"
#include "support/fixture.h"
#include "support/pipeline.h"
#include "train/step.h"

static int64_t simulate(struct arena *arena, const struct schedule_shape *shape,
                        const struct pipeline_costs *costs, struct engine_outcome *outcome)
{
    const struct engine_system system = pipeline_system(arena, shape, costs);
    engine_run(arena, &system, NULL, outcome);
    return outcome->jobs[0].end;
}

static uint32_t chunks_of(enum schedule_kind kind)
{
    const bool has_two =
        kind == SCHEDULE_ZB_V || kind == SCHEDULE_DUALPIPE || kind == SCHEDULE_DUALPIPEV;
    return has_two ? 2 : 1;
}

/* (m + p - 1)(F + B) for GPipe and 1F1B; v m (f + b) + (p - 1)(f + b) interleaved:
 * for p = 4, m = 8, F = 1, B = 2: (8 + 3) * 3 = 33; interleaved v = 2: 16 * 3 + 3 * 3 = 57. */
static void every_schedule_has_its_closed_form_makespan(void **state)
{
    (void)state;
    const struct pipeline_costs costs = {1000, 1000, 1000, 0};
    const struct schedule_costs formula_costs = pipeline_schedule_costs(&costs);
    uint32_t cases = 0;
    for (uint32_t kind = 0; kind < SCHEDULE_FILE; kind++) {
        for (uint32_t p = 2; p <= 8; p++) {
            for (uint32_t m = p; m <= 4 * p; m += p) {
                struct arena *arena = arena_new();
                const uint32_t chunks =
                    kind == SCHEDULE_INTERLEAVED ? 2 + m % 3 : chunks_of((enum schedule_kind)kind);
                const struct schedule_shape shape = {
                    (enum schedule_kind)kind, p, chunks, m, NULL, 0, false};
                const bool is_of_spans = kind == SCHEDULE_ZB_H2 || kind == SCHEDULE_ZB_V;
                if (schedule_is_possible(&shape) && !is_of_spans) {
                    struct engine_outcome outcome;
                    const int64_t end = simulate(arena, &shape, &costs, &outcome);
                    assert_int_equal(end, (int64_t)schedule_time_formula(&shape, &formula_costs));
                    cases++;
                }
                arena_free(arena);
            }
        }
    }
    assert_int_equal(cases, 4 * 28 + 12 + 21); /* DualPipe: p 2 4 6 8, m 2p 3p 4p; V: all p */
}

static void the_numbers_of_the_oracle_come_out(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct engine_outcome outcome;
    const struct pipeline_costs costs = {1, 1, 1, 0};
    static const struct {
        enum schedule_kind kind;
        uint32_t chunks, p, m;
        int64_t makespan;
    } cases[] = {{SCHEDULE_1F1B, 1, 4, 8, 33},          {SCHEDULE_INTERLEAVED, 2, 4, 8, 57},
                 {SCHEDULE_INTERLEAVED, 2, 8, 32, 213}, {SCHEDULE_ZB_H1, 1, 4, 8, 27},
                 {SCHEDULE_ZB_H1, 1, 8, 32, 103},       {SCHEDULE_ZB_H2, 1, 4, 8, 27},
                 {SCHEDULE_ZB_H2, 1, 8, 32, 103},       {SCHEDULE_ZB_V, 2, 4, 8, 51},
                 {SCHEDULE_ZB_V, 2, 8, 32, 199},        {SCHEDULE_DUALPIPE, 2, 4, 8, 26},
                 {SCHEDULE_DUALPIPE, 2, 8, 32, 102},    {SCHEDULE_DUALPIPEV, 2, 4, 8, 54},
                 {SCHEDULE_DUALPIPEV, 2, 8, 32, 206}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct schedule_shape shape = {
            cases[i].kind, cases[i].p, cases[i].chunks, cases[i].m, NULL, 0, false};
        assert_int_equal(simulate(arena, &shape, &costs, &outcome), cases[i].makespan);
    }
    arena_free(arena);
}

/* Work is m (F + B) on every stage; the rest of the makespan is bubble. */
static void what_is_not_work_is_bubble(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct engine_outcome outcome;
    const struct pipeline_costs costs = {3, 4, 3, 0};
    const struct schedule_shape shape = {SCHEDULE_1F1B, 4, 1, 8, NULL, 0, false};
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
                const struct pipeline_costs costs = {1000, 1000, 1000, c};
                const struct schedule_shape shape = {SCHEDULE_1F1B, (uint32_t)p, 1,    (uint32_t)m,
                                                     NULL,          0,           false};
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
    const struct pipeline_costs costs = {1000, 1000, 1000, 500};
    const struct schedule_shape shape = {SCHEDULE_GPIPE, 4, 1, 8, NULL, 0, false};
    assert_int_equal(simulate(arena, &shape, &costs, &outcome), 33000 + 2 * 3 * 500);
    arena_free(arena);
}

/* Sites far apart, c of ten microbatches: messages follow one another on the way. GPipe sends all
 * forwards and waits once each way, (m + 1)(F + B) + 2 c for any m. 1F1B on two stages has two
 * microbatches out at once, of which the second is right behind the first: a round of two takes
 * 2 c + 2 (F + B), and (m + 1)(F + B) + m c in all. (One message at a time, c each: GPipe's last
 * forward would arrive m c after the first left.) */
static void messages_on_a_long_way_overlap(void **state)
{
    (void)state;
    const struct pipeline_costs costs = {1000, 1000, 1000, 30000};
    for (uint32_t m = 2; m <= 64; m *= 2) {
        struct arena *arena = arena_new();
        struct engine_outcome outcome;
        const struct schedule_shape gpipe = {SCHEDULE_GPIPE, 2, 1, m, NULL, 0, false};
        const struct schedule_shape one_f_one_b = {SCHEDULE_1F1B, 2, 1, m, NULL, 0, false};
        assert_int_equal(simulate(arena, &gpipe, &costs, &outcome), (m + 1) * 3000 + 2 * 30000);
        assert_int_equal(simulate(arena, &one_f_one_b, &costs, &outcome),
                         (m + 1) * 3000 + m * 30000);
        arena_free(arena);
    }
}

/* With latencies of nothing, of a fraction of a microbatch and of many. */
static void the_engine_equals_the_longest_path(void **state)
{
    (void)state;
    uint32_t cases = 0;
    for (uint32_t kind = 0; kind < SCHEDULE_FILE; kind++) {
        for (uint32_t p = 2; p <= 7; p++) {
            for (uint32_t i = 1; i <= 18; i++) {
                struct arena *arena = arena_new();
                struct engine_outcome outcome;
                const bool is_interleaved = kind == SCHEDULE_INTERLEAVED;
                const struct schedule_shape shape = {
                    (enum schedule_kind)kind,
                    p,
                    is_interleaved ? 1 + i % 4 : chunks_of((enum schedule_kind)kind),
                    is_interleaved ? p * (1 + i % 3) : i,
                    NULL,
                    0,
                    false};
                static const int64_t latencies_ns[] = {0, 2, 97, 3001};
                const struct pipeline_costs costs = {7 + 13 * i, 7 + 5 * i * p, 3 + i * (i % 5),
                                                     latencies_ns[i % 4]};
                if (schedule_is_possible(&shape)) {
                    const struct schedule_costs path_costs = pipeline_schedule_costs(&costs);
                    const struct schedule_times times = schedule_evaluate(
                        arena, &shape, schedule_orders(arena, &shape), &path_costs);
                    assert_int_equal(simulate(arena, &shape, &costs, &outcome),
                                     (int64_t)times.makespan);
                    cases++;
                }
                arena_free(arena);
            }
        }
    }
    assert_int_equal(cases, 6 * 108 + 18 +
                                60); /* DualPipe: 8 + 6 + 4 even m from 2p on; V: 15 13 11 9 7 5 */
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
        const struct schedule_shape shape = {kind,
                                             (uint32_t)number(item, "p"),
                                             (uint32_t)number(item, "chunks_per_device"),
                                             (uint32_t)number(item, "m"),
                                             NULL,
                                             0,
                                             false};
        const struct pipeline_costs costs = {1000, 1000, 1000, 0};
        struct engine_outcome outcome;
        const int64_t end = simulate(arena, &shape, &costs, &outcome);
        assert_int_equal(end, (int64_t)(number(item, "makespan") * 1000));
        cases++;
    }
    assert_true(cases >= 6);
    arena_free(arena);
}

static void the_reference_schedules_come_out_to_the_nanosecond(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum schedule_kind kind;
    } references[] = {{"gpipe", SCHEDULE_GPIPE},
                      {"1f1b", SCHEDULE_1F1B},
                      {"interleaved_v2", SCHEDULE_INTERLEAVED},
                      {"zb_h1", SCHEDULE_ZB_H1},
                      {"zb_h2", SCHEDULE_ZB_H2},
                      {"zb_v", SCHEDULE_ZB_V},
                      {"dualpipe", SCHEDULE_DUALPIPE},
                      {"dualpipev", SCHEDULE_DUALPIPEV}};
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "tests/closed_form/schedules/%s.json", references[i].name);
        check_reference_file(path, references[i].kind);
    }
}

/* Weight gradients that wait for a gap of the pipeline are the same products, those of the layer
 * and of the head that predict a token more, too: kernels take as long in all. */
static void weight_gradients_put_off_are_as_many(void **state)
{
    (void)state;
    static const char *const schedules[] = {"1f1b", "zb-h1"};
    int64_t compute_ns[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct arena *arena = arena_new();
        const char *sets[] = {"model.mtp_layers=1",
                              "gpus=4",
                              "parallel={tp: 1, pp: 4, zero: 0}",
                              arena_printf(arena, "parallel.schedule=%s", schedules[i]),
                              "batch={global: 8, micro: 1, sequence_length: 2048}",
                              "data=off",
                              NULL};
        const struct scenario *scenario = fixture_file(arena, "scenarios/quickstart.yaml", sets);
        struct step_result step;
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &step);
        compute_ns[i] = step.gpu_ns[CAUSE_COMPUTE];
        arena_free(arena);
    }
    assert_int_equal(compute_ns[1], compute_ns[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_has_its_closed_form_makespan),
        cmocka_unit_test(the_numbers_of_the_oracle_come_out),
        cmocka_unit_test(what_is_not_work_is_bubble),
        cmocka_unit_test(one_f_one_b_pays_latency_in_every_round),
        cmocka_unit_test(gpipe_pays_latency_once),
        cmocka_unit_test(messages_on_a_long_way_overlap),
        cmocka_unit_test(the_engine_equals_the_longest_path),
        cmocka_unit_test(the_reference_schedules_come_out_to_the_nanosecond),
        cmocka_unit_test(weight_gradients_put_off_are_as_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
