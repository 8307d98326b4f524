/* Pipeline schedules against reference orders, times, peaks and closed forms.
 *
 * The reference orders lie in tests/closed_form/schedules/ (unit costs F = B = W = 1, a pair 3,
 * sends free; *_split: the same orders with B and W apart and adjacent). Tests run in the root of
 * the repository.
 */
#include "plan/schedule/schedule.h"

#include "base/arena.h"
#include "input/doc/doc.h"

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

#define FOLDER "tests/closed_form/schedules/"

static int make_arena(void **state)
{
    *state = arena_new();
    return 0;
}

static int end_arena(void **state)
{
    arena_free(*state);
    return 0;
}

/* ---- reference files --------------------------------------------------- */

static const struct reference {
    const char *name;
    enum schedule_kind kind;
    bool is_split; /* each BW of the order as B W */
    uint32_t cases;
} references[] = {
    {"gpipe", SCHEDULE_GPIPE, false, 9},
    {"gpipe_split", SCHEDULE_GPIPE, true, 9},
    {"1f1b", SCHEDULE_1F1B, false, 9},
    {"1f1b_split", SCHEDULE_1F1B, true, 9},
    {"interleaved_v2", SCHEDULE_INTERLEAVED, false, 9},
    {"interleaved_v2_split", SCHEDULE_INTERLEAVED, true, 9},
    {"zb_h1", SCHEDULE_ZB_H1, false, 9},
    {"zb_h2", SCHEDULE_ZB_H2, false, 9},
    {"zb_v", SCHEDULE_ZB_V, false, 9},
    {"dualpipe", SCHEDULE_DUALPIPE, false, 6},
    {"dualpipev", SCHEDULE_DUALPIPEV, false, 6},
};
#define REFERENCE_COUNT (sizeof references / sizeof references[0])

static const struct schedule_costs unit_costs = {1, 1, 1, 3, 0};

static uint32_t chunks_of(enum schedule_kind kind)
{
    const bool has_two = kind == SCHEDULE_INTERLEAVED || kind == SCHEDULE_ZB_V ||
                         kind == SCHEDULE_DUALPIPE || kind == SCHEDULE_DUALPIPEV;
    return has_two ? 2 : 1;
}

/* Each BW as a B and a W behind it. */
static struct schedule_order split_order(struct arena *arena, struct schedule_order whole)
{
    struct schedule_action *actions = arena_array(arena, 2 * whole.count, sizeof *actions);
    uint64_t count = 0;
    for (uint64_t i = 0; i < whole.count; i++) {
        actions[count] = whole.actions[i];
        if (whole.actions[i].operation == SCHEDULE_BACKWARD) {
            actions[count++].operation = SCHEDULE_BACKWARD_INPUT;
            actions[count] = whole.actions[i];
            actions[count].operation = SCHEDULE_WEIGHTS;
        }
        count++;
    }
    return (struct schedule_order){actions, count};
}

static const struct schedule_order *orders_of(struct arena *arena,
                                              const struct schedule_shape *shape, bool is_split)
{
    const struct schedule_order *whole = schedule_orders(arena, shape);
    struct schedule_order *orders = arena_array(arena, shape->stages, sizeof *orders);
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        orders[stage] = is_split ? split_order(arena, whole[stage]) : whole[stage];
    }
    return orders;
}

static const struct doc_node *field(const struct doc_node *node, const char *key)
{
    const struct doc_node *found = doc_find(node, key);
    assert_non_null(found);
    return found;
}

static double number_of(const struct doc_node *node)
{
    return strtod(node->text, NULL);
}

struct reference_case {
    struct arena *arena;
    const struct doc_node *node;
    struct schedule_shape shape;
    const struct schedule_order *orders;
    bool is_split;
};

typedef void case_checker(const struct reference_case *this);

static void for_each_case(struct arena *arena, const struct reference *reference,
                          case_checker *check)
{
    struct diag *diag = diag_new(arena);
    const char *path = arena_printf(arena, FOLDER "%s.json", reference->name);
    const struct doc_node *root = doc_load(arena, path, diag);
    if (root == NULL) {
        diag_print(diag, stderr);
        fail();
    }
    uint32_t count = 0;
    for (const struct doc_node *node = field(root, "cases")->child; node; node = node->next) {
        struct reference_case this = {
            .arena = arena, .node = node, .is_split = reference->is_split};
        this.shape = (struct schedule_shape){
            .kind = reference->kind,
            .stages = (uint32_t)number_of(field(node, "p")),
            .chunks = (uint32_t)number_of(field(node, "chunks_per_device")),
            .microbatches = (uint32_t)number_of(field(node, "m")),
        };
        assert_int_equal(this.shape.chunks, chunks_of(reference->kind));
        this.orders = orders_of(arena, &this.shape, reference->is_split);
        check(&this);
        count++;
    }
    assert_int_equal(count, reference->cases);
}

static void for_all_references(struct arena *arena, case_checker *check)
{
    for (size_t i = 0; i < REFERENCE_COUNT; i++) {
        for_each_case(arena, &references[i], check);
    }
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

static void check_order(const struct reference_case *this)
{
    uint32_t stage = 0;
    for (const struct doc_node *order = field(this->node, "order")->child; order;
         order = order->next) {
        assert_string_equal(order_text(this->arena, &this->orders[stage], this->shape.chunks),
                            order->text);
        stage++;
    }
    assert_int_equal(stage, this->shape.stages);
}

static void the_orders_equal_the_reference_action_by_action(void **state)
{
    for_all_references(*state, check_order);
}

static void check_peaks(const struct reference_case *this, const char *key, bool until_weights)
{
    static const int64_t ones[] = {1, 1};
    uint32_t stage = 0;
    for (const struct doc_node *peak = field(this->node, key)->child; peak; peak = peak->next) {
        const int64_t live = schedule_live(&this->shape, &this->orders[stage], ones, until_weights);
        assert_int_equal(live, (int64_t)number_of(peak));
        stage++;
    }
    assert_int_equal(stage, this->shape.stages);
}

static void check_both_peaks(const struct reference_case *this)
{
    check_peaks(this, "peak_chunk_act_until_B", false);
    check_peaks(this, "peak_chunk_act_until_W", true);
}

static void peaks_of_live_chunks_equal_the_reference(void **state)
{
    for_all_references(*state, check_both_peaks);
}

static double largest(const struct doc_node *list)
{
    double most = -1;
    for (const struct doc_node *item = list->child; item; item = item->next) {
        most = fmax(most, number_of(item));
    }
    return most;
}

static void check_times(const struct reference_case *this)
{
    const struct schedule_times times =
        schedule_evaluate(this->arena, &this->shape, this->orders, &unit_costs);
    assert_close(times.makespan, number_of(field(this->node, "makespan")), 1e-12);
    assert_close(times.idle, largest(field(this->node, "idle_per_device")), 1e-12);
    assert_close(times.span, number_of(field(this->node, "max_span")), 1e-12);
    assert_close(times.span_bubble, largest(field(this->node, "bubble_in_span")), 1e-12);
}

static void times_equal_the_reference(void **state)
{
    for_all_references(*state, check_times);
}

/* The form is of the order with whole backwards: for *_split the file has another. */
static void check_closed_form(const struct reference_case *this)
{
    const struct doc_node *expected = doc_find(this->node, "closed_form_value");
    const double formula = schedule_time_formula(&this->shape, &unit_costs);
    if (this->is_split) {
        return;
    }
    if (expected == NULL || expected->kind == DOC_NULL) {
        assert_true(isnan(formula));
        return;
    }
    assert_close(formula, number_of(expected), 1e-12);
}

static void closed_forms_equal_the_reference(void **state)
{
    for_all_references(*state, check_closed_form);
}

/* ---- other costs --------------------------------------------------------- */

struct variant {
    char name[64];
    uint32_t p, m;
    double forward, backward, weights, latency, work, makespan, span;
};

static bool read_variant(FILE *in, struct variant *variant)
{
    char line[256];
    if (fgets(line, sizeof line, in) == NULL) {
        return false;
    }
    double values[9];
    char *at = strchr(line, ',');
    assert_non_null(at);
    *variant = (struct variant){.p = 0};
    memcpy(variant->name, line, (size_t)(at - line));
    for (size_t i = 0; i < 9; i++) {
        values[i] = strtod(at + 1, &at);
    }
    variant->p = (uint32_t)values[0];
    variant->m = (uint32_t)values[1];
    variant->forward = values[2];
    variant->backward = values[3];
    variant->weights = values[4];
    variant->latency = values[5];
    variant->work = values[6];
    variant->makespan = values[7];
    variant->span = values[8];
    return true;
}

static void check_variant(struct arena *arena, const struct variant *variant)
{
    const struct reference *reference = references;
    while (strcmp(reference->name, variant->name) != 0) {
        reference++;
        assert_true(reference < references + REFERENCE_COUNT);
    }
    const struct schedule_shape shape = {
        .kind = reference->kind,
        .stages = variant->p,
        .chunks = chunks_of(reference->kind),
        .microbatches = variant->m,
    };
    const struct schedule_costs costs = {variant->forward, variant->backward, variant->weights,
                                         variant->forward + variant->backward + variant->weights,
                                         variant->latency};
    const struct schedule_times times =
        schedule_evaluate(arena, &shape, orders_of(arena, &shape, reference->is_split), &costs);
    assert_close(times.makespan, variant->makespan, 1e-12);
    assert_close(times.makespan - times.idle, variant->work, 1e-12);
    assert_close(times.span, variant->span, 1e-12);
}

static void every_variant_of_costs_and_latency_comes_out(void **state)
{
    FILE *in = fopen(FOLDER "variants.csv", "r");
    assert_non_null(in);
    char header[256];
    assert_non_null(fgets(header, sizeof header, in));
    struct variant variant;
    uint32_t count = 0;
    for (; read_variant(in, &variant); count++) {
        check_variant(*state, &variant);
    }
    fclose(in);
    assert_int_equal(count, 348);
}

/* 1F1B with pure latency c, p | m: (m+p-1)(F+B) + c (2(p-1)m/p + 2(p-2)); shared/oracles.md 10. */
static double latency_formula(const struct schedule_shape *shape,
                              const struct schedule_costs *costs)
{
    const double p = shape->stages;
    const double m = shape->microbatches;
    const double messages = p == 1 ? 0 : 2 * (p - 1) * m / p + 2 * (p - 2);
    return (m + p - 1) * (costs->forward + costs->backward + costs->weights) +
           costs->latency * messages;
}

/* T = (m+p-1)(F+B) + c (2(p-1)m/p + 2(p-2)): for p = 4, m = 8, F + B = 3, c = 1: 33 + 12 + 4. */
static void one_f_one_b_with_latency_has_its_closed_form(void **state)
{
    static const uint32_t stages[] = {2, 3, 4, 6, 8};
    static const double backwards[] = {1, 2, 3};
    for (uint32_t i = 0; i < 5; i++) {
        for (uint32_t groups = 1; groups <= 8; groups++) {
            for (uint32_t k = 0; k < 12; k++) {
                const double work = 1 + backwards[k % 3];
                const struct schedule_costs costs = {.forward = 1,
                                                     .backward = backwards[k % 3] - 0.5,
                                                     .weights = 0.5,
                                                     .latency = work * (k / 3) * 2 / 9};
                const struct schedule_shape shape = {.kind = SCHEDULE_1F1B,
                                                     .stages = stages[i],
                                                     .chunks = 1,
                                                     .microbatches = groups * stages[i]};
                const struct schedule_times times =
                    schedule_evaluate(*state, &shape, schedule_orders(*state, &shape), &costs);
                assert_close(times.makespan, latency_formula(&shape, &costs), 1e-12);
            }
        }
    }
    const struct schedule_shape shape = {SCHEDULE_1F1B, 4, 1, 8, NULL, 0, false};
    assert_close(latency_formula(&shape, &(struct schedule_costs){1, 1, 1, 3, 1}), 49, 1e-12);
}

/* oracles.md 10: F = 10, B = 12, W = 8. The forms of H1 and H2 stay exact (bubbles 42 and 18 at
 * p = 4); DualPipe's is of B = W: it says 26 at p = 4, m = 16, and 24 comes out; V: 78 and 72. */
static void closed_forms_belong_to_their_costs(void **state)
{
    const struct schedule_costs costs = {10, 12, 8, 30, 0};
    static const struct {
        enum schedule_kind kind;
        double work, by_formula, found;
        bool is_span;
    } cases[] = {{SCHEDULE_ZB_H1, 480, 42, 42, false},
                 {SCHEDULE_ZB_H2, 480, 18, 18, true},
                 {SCHEDULE_DUALPIPE, 480, 26, 24, false},
                 {SCHEDULE_DUALPIPEV, 960, 78, 72, false}};
    for (size_t i = 0; i < 4; i++) {
        const struct schedule_shape shape = {
            cases[i].kind, 4, chunks_of(cases[i].kind), 16, NULL, 0, false};
        const struct schedule_times times =
            schedule_evaluate(*state, &shape, schedule_orders(*state, &shape), &costs);
        assert_close(schedule_time_formula(&shape, &costs), cases[i].work + cases[i].by_formula,
                     1e-12);
        assert_close(cases[i].is_span ? times.span_bubble : times.idle, cases[i].found, 1e-12);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_arena, end_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_orders_equal_the_reference_action_by_action),
        TEST(peaks_of_live_chunks_equal_the_reference),
        TEST(times_equal_the_reference),
        TEST(closed_forms_equal_the_reference),
        TEST(every_variant_of_costs_and_latency_comes_out),
        TEST(one_f_one_b_with_latency_has_its_closed_form),
        TEST(closed_forms_belong_to_their_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
