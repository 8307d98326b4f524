/* Schedules that are data: what a file says comes out, and each mistake has its message. */
#include "input/job/parallel.h"
#include "input/schedule_file.h"

#include "base/arena.h"
#include "plan/schedule/schedule.h"
#include "input/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"

struct outcome {
    const struct schedule_file *file;
    const char *messages; /* as printed */
};

static struct outcome read_text(struct arena *arena, const char *text)
{
    struct diag *diag = diag_new(arena);
    const struct doc_node *root = doc_parse(arena, "s.yaml", text, strlen(text), diag);
    struct outcome outcome = {root == NULL ? NULL : schedule_file_read(arena, root, diag), ""};
    assert_int_equal(outcome.file == NULL, diag_has_error(diag));
    char *printed = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&printed, &size_bytes);
    assert_non_null(out);
    diag_print(diag, out);
    fclose(out);
    outcome.messages = arena_strdup(arena, printed);
    free(printed);
    return outcome;
}

static struct schedule_shape shape_of(const struct schedule_file *file)
{
    return (struct schedule_shape){
        SCHEDULE_FILE, file->stages, file->chunks, file->microbatches, file, 0, false};
}

static const struct schedule_costs unit_costs = {1, 1, 1, 3, 0};

/* ---- what a file says ----------------------------------------------------- */

/* 1F1B on two stages: (m + p - 1)(F + B + W) = 3 * 3 = 9; live 2 and 1. */
static void a_file_is_a_schedule_like_any_other(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct outcome outcome = read_text(arena, "schedule: small\n"
                                                    "source: https://example.org\n"
                                                    "stages: 2\n"
                                                    "microbatches: 2\n"
                                                    "orders:\n"
                                                    "  - F0 F1 BW0 BW1\n"
                                                    "  - F0 BW0 F1 BW1\n");
    assert_string_equal(outcome.messages, "");
    assert_string_equal(outcome.file->name, "small");
    const struct schedule_shape shape = shape_of(outcome.file);
    const struct schedule_order *orders = schedule_orders(arena, &shape);
    assert_true(schedule_check(arena, &shape, orders, NULL));
    assert_close(schedule_evaluate(arena, &shape, orders, &unit_costs).makespan, 9, 1e-12);
    const int64_t one = 1;
    assert_int_equal(schedule_live(&shape, &orders[0], &one, true), 2);
    assert_int_equal(schedule_live(&shape, &orders[1], &one, true), 1);
    arena_free(arena);
}

/* A vee, and a pair; text over several lines, quoted and as a block. */
static void pieces_pairs_and_long_texts_are_read(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct outcome outcome = read_text(arena, "schedule: vee\n"
                                                    "stages: 2\n"
                                                    "chunks: 2\n"
                                                    "microbatches: 2\n"
                                                    "pieces: [[0, 3], [1, 2]]\n"
                                                    "orders:\n"
                                                    "  - F0.0 F1.0 F0.1\n"
                                                    "    F1.1+BW0.1 BW1.1 BW0 B1 W1.0\n"
                                                    "  - |\n"
                                                    "    F0.0 F0.1 F1.0\n"
                                                    "    F1.1 BW0.1 BW0.0 BW1.1 BW1.0\n");
    assert_string_equal(outcome.messages, "");
    const struct schedule_shape shape = shape_of(outcome.file);
    const struct schedule_action pair = outcome.file->orders[0].actions[3];
    assert_int_equal(pair.operation, SCHEDULE_PAIR);
    assert_int_equal(pair.chunk, 1);
    assert_int_equal(pair.microbatch, 1);
    assert_int_equal(pair.backward_chunk, 1);
    assert_int_equal(pair.backward_microbatch, 0);
    struct schedule_place next;
    assert_true(schedule_next(&shape, (struct schedule_place){1, 0}, &next));
    assert_int_equal(next.stage, 1);
    assert_int_equal(next.chunk, 1);
    assert_false(schedule_next(&shape, (struct schedule_place){0, 1}, &next));
    const struct parallel parallel = {
        .pp = 2, .virtual_stages = 2, .schedule = SCHEDULE_FILE, .schedule_file = outcome.file};
    assert_int_equal(schedule_file_piece(&parallel, 0, 1), 3);
    assert_int_equal(layout_piece(&parallel, 1, 1), 2);
    arena_free(arena);
}

/* Every generated order (but DualPipe's, whose pieces lie on two stages) as a file is itself. */
static void generated_orders_go_through_a_file_unchanged(void **state)
{
    (void)state;
    for (int kind = 0; kind < SCHEDULE_FILE; kind++) {
        struct arena *arena = arena_new();
        const bool has_one =
            kind < SCHEDULE_INTERLEAVED || kind == SCHEDULE_ZB_H1 || kind == SCHEDULE_ZB_H2;
        const struct schedule_shape shape = {
            (enum schedule_kind)kind, 3, has_one ? 1 : 2, 9, NULL, 0, false};
        if (!schedule_is_possible(&shape)) {
            arena_free(arena);
            continue;
        }
        const struct parallel parallel = {
            .pp = 3, .virtual_stages = shape.chunks, .schedule = (uint32_t)kind};
        const struct schedule_order *orders = schedule_orders(arena, &shape);
        const char *pieces = "";
        const char *texts = "";
        for (uint32_t stage = 0; stage < 3; stage++) {
            const char *separator = stage == 0 ? "" : ", ";
            pieces = shape.chunks == 1 ? arena_printf(arena, "%s%s[%u]", pieces, separator, stage)
                                       : arena_printf(arena, "%s%s[%d, %d]", pieces, separator,
                                                      (int)layout_piece(&parallel, stage, 0),
                                                      (int)layout_piece(&parallel, stage, 1));
            texts = arena_printf(arena, "%s  - ", texts);
            for (uint64_t i = 0; i < orders[stage].count; i++) {
                texts = arena_printf(
                    arena, "%s%s ", texts,
                    schedule_action_text(arena, &orders[stage].actions[i], shape.chunks));
            }
            texts = arena_printf(arena, "%s\n", texts);
        }
        const struct outcome outcome =
            read_text(arena, arena_printf(arena,
                                          "stages: 3\nchunks: %u\nmicrobatches: 9\npieces: [%s]\n"
                                          "orders:\n%s",
                                          shape.chunks, pieces, texts));
        assert_string_equal(outcome.messages, "");
        const struct schedule_shape read = shape_of(outcome.file);
        for (uint32_t stage = 0; stage < 3; stage++) {
            const struct schedule_order order = schedule_order(arena, &read, stage);
            assert_int_equal(order.count, orders[stage].count);
            for (uint32_t i = 0; i < order.count; i++) { /* one by one: nobody sets their padding */
                const struct schedule_action *is = &order.actions[i];
                const struct schedule_action *was = &orders[stage].actions[i];
                assert_int_equal(is->operation, was->operation);
                assert_int_equal(is->chunk, was->chunk);
                assert_int_equal(is->microbatch, was->microbatch);
                assert_int_equal(is->backward_chunk, was->backward_chunk);
                assert_int_equal(is->backward_microbatch, was->backward_microbatch);
            }
        }
        arena_free(arena);
    }
}

/* Breadth-first, 4 stages of 2 chunks, 8 microbatches: (v m + p - 1)(f + b) = 19 * 3 = 57, as
 * interleaved; but all 16 forwards of a stage are alive at once. */
static void breadth_first_is_as_long_as_interleaved(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct schedule_file *file =
        schedule_file_load(arena, "scenarios/schedules/breadth-first.yaml", diag_new(arena));
    assert_non_null(file);
    assert_string_equal(file->name, "breadth-first");
    const struct schedule_shape shape = shape_of(file);
    const struct schedule_order *orders = schedule_orders(arena, &shape);
    assert_close(schedule_evaluate(arena, &shape, orders, &unit_costs).makespan, 57, 1e-12);
    static const int64_t ones[] = {1, 1};
    for (uint32_t stage = 0; stage < 4; stage++) {
        assert_int_equal(schedule_live(&shape, &orders[stage], ones, false), 16);
    }
    arena_free(arena);
}

/* ---- what is wrong with it --------------------------------------------------- */

#define HEAD "stages: 2\nmicrobatches: 2\norders:\n"

static const struct {
    const char *text;
    const char *messages;
} wrong[] = {
    {HEAD "  - F0 F1 BW0 X1\n  - F0 BW0 F1 BW1\n",
     "s.yaml:4:15: error: 'X1' is no action\n"
     "    4 |   - F0 F1 BW0 X1\n"
     "      |               ^\n"
     "   = help: F3: forward of microbatch 3; B3: input gradients; W3: weight gradients; "
     "BW3: both; F5+BW2: beside each other; F3.1: of chunk 1\n"},
    {HEAD "  - F0 F1 BW0 BW2\n  - F0 BW0 F1.1 BW1\n",
     "s.yaml:4:15: error: no microbatch 2: the schedule has 2\n"
     "    4 |   - F0 F1 BW0 BW2\n"
     "      |               ^\n"
     "   = help: microbatch may be 0 to 1\n"
     "s.yaml:5:12: error: no chunk 1: the schedule has 1\n"
     "    5 |   - F0 BW0 F1.1 BW1\n"
     "      |            ^\n"
     "   = help: the only chunk is 0\n"},
    {HEAD "  - F0 F1 BW0 BW1\n  - F0 BW0 F1 F1 BW1\n",
     "s.yaml:5:15: error: stage 1: the forward of microbatch 1 comes twice\n"
     "    5 |   - F0 BW0 F1 F1 BW1\n"
     "      |               ^\n"
     "   = help: F, and either BW or both B and W, once for each microbatch and chunk\n"},
    {HEAD "  - F0 F1 BW0 B1\n  - F0 BW0 F1 BW1\n",
     "s.yaml:4:5: error: stage 0: the weight gradient of microbatch 1 is missing\n"
     "    4 |   - F0 F1 BW0 B1\n"
     "      |     ^\n"
     "   = help: F, and either BW or both B and W, once for each microbatch and chunk\n"},
    {HEAD "  - F0 F1 BW0 BW1\n  - F0 BW0\n    BW1 F1\n",
     "s.yaml:6:5: error: stage 1: the backward of microbatch 1 comes before its forward\n"
     "    6 |     BW1 F1\n"
     "      |     ^\n"
     "   = help: put it behind the forward of microbatch 1\n"},
    {HEAD "  - F0 BW0 F1 BW1\n  - \"F1 BW1 F0 BW0\"\n",
     "s.yaml:4:8: error: stage 0: deadlock: BW0 of stage 0 waits for B0 of stage 1, "
     "F1 of stage 1 waits for F1 of stage 0\n"
     "    4 |   - F0 BW0 F1 BW1\n"
     "      |        ^\n"
     "   = help: let one of these stages do first what the others wait for\n"},
    {HEAD "  - F0+BW0 F1 BW1\n  - F0 BW0 F1 BW1\n",
     "s.yaml:4:5: error: stage 0: the backward of microbatch 0 comes before its forward\n"
     "    4 |   - F0+BW0 F1 BW1\n"
     "      |     ^\n"
     "   = help: put it behind the forward of microbatch 0\n"},
    {HEAD "  - F0 F1 BW0 BW1\n", "s.yaml:4:3: error: orders has 1 entries for 2 stages\n"
                                 "    4 |   - F0 F1 BW0 BW1\n"
                                 "      |   ^\n"
                                 "   = help: write 2 entries, one for each stage\n"},
    {"stages: 4\nmicrobatches: 1\npieces: [[0], [2], [1], [3]]\norders: [F0 BW0, F0 BW0, F0 BW0, "
     "F0 "
     "BW0]\n",
     "s.yaml:3:9: error: piece 0 lies on stage 0, but piece 1 on stage 2\n"
     "    3 | pieces: [[0], [2], [1], [3]]\n"
     "      |         ^\n"
     "   = help: put consecutive pieces on one stage or on neighbouring ones (the first and the "
     "last are neighbours)\n"},
};

static void each_mistake_is_told_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct arena *arena = arena_new();
        const struct outcome outcome = read_text(arena, wrong[i].text);
        assert_null(outcome.file);
        assert_string_equal(outcome.messages, wrong[i].messages);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_a_schedule_like_any_other),
        cmocka_unit_test(pieces_pairs_and_long_texts_are_read),
        cmocka_unit_test(generated_orders_go_through_a_file_unchanged),
        cmocka_unit_test(breadth_first_is_as_long_as_interleaved),
        cmocka_unit_test(each_mistake_is_told_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
