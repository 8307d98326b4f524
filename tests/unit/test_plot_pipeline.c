/* What a drawing of a pipeline shows: all of a row's time and nothing twice, whatever is gathered;
 * and the part of a step that is magnified. */
#include "report/picture/plot_pipeline_columns.h"
#include "report/picture/plot_pipeline_view.h"

#include "base/arena.h"
#include "support/assert_close.h"
#include "support/fixture.h"
#include "support/random_scenario.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SCENARIOS = 30 };

static void simulate(struct arena *arena, const struct scenario *scenario,
                     struct timeline *timeline)
{
    timeline_simulate(arena, scenario, &(struct timeline_request){.folds = true}, timeline);
}

static struct timeline pipeline_of(struct arena *arena, const char *schedule, const char *batch)
{
    const char *const sets[] = {"parallel.pp=4", "parallel.tp=2", schedule, batch};
    struct timeline timeline;
    simulate(arena,
             fixture_scenario(arena, &(struct fixture_source){.path = "scenarios/quickstart.yaml",
                                                              .sets = sets,
                                                              .set_count = 4}),
             &timeline);
    return timeline;
}

static double area_of(const struct pipeline_box *box)
{
    return (double)(box->end - box->start) * (box->high - box->low);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static uint32_t work_part_of(const struct timeline_row *row, const struct timeline_piece *piece)
{
    static const uint32_t of_operation[] = {
        [SCHEDULE_FORWARD] = PART_FORWARD,      [SCHEDULE_BACKWARD] = PART_BACKWARD,
        [SCHEDULE_BACKWARD_INPUT] = PART_INPUT, [SCHEDULE_WEIGHTS] = PART_WEIGHTS,
        [SCHEDULE_PAIR] = PART_BACKWARD,
    };
    const struct timeline_bar *bar = &row->bars[piece->bar];
    return bar->kind == TIMELINE_OPTIMIZER   ? PART_OPTIMIZER
           : bar->kind == TIMELINE_OTHER     ? PART_HOST
           : piece->cause == CAUSE_RECOMPUTE ? PART_RECOMPUTE
                                             : of_operation[bar->action.operation];
}

/* Of each part, what of the pieces lies in the view; of a pair half is a forward. */
static void expect_sums(const struct timeline_row *row, const struct pipeline_view *view,
                        double sums[PART_COUNT_])
{
    for (size_t i = 0; i < row->piece_count; i++) {
        const struct timeline_piece *piece = &row->pieces[i];
        const sim_time from = piece->start > view->from ? piece->start : view->from;
        const sim_time to = piece->end < view->to ? piece->end : view->to;
        if (to <= from) {
            continue;
        }
        if (piece->bar == TIMELINE_NO_BAR) {
            sums[pipeline_part_of_cause(piece->cause)] += (double)(to - from);
            continue;
        }
        const uint32_t part = work_part_of(row, piece);
        const bool is_pair = row->bars[piece->bar].action.operation == SCHEDULE_PAIR;
        const bool is_halved = is_pair && part == PART_BACKWARD;
        sums[PART_FORWARD] += is_halved ? (double)(to - from) / 2 : 0;
        sums[part] += (double)(to - from) / (is_halved ? 2 : 1);
    }
}

static void check_row(struct arena *arena, const struct timeline *timeline, uint32_t row,
                      const struct pipeline_view *view)
{
    struct pipeline_boxes boxes = {.items = NULL};
    double expected[PART_COUNT_] = {0};
    double sums[PART_COUNT_] = {0};
    pipeline_columns(arena, timeline, row, view, &boxes);
    expect_sums(&timeline->rows[row], view, expected);
    for (size_t i = 0; i < boxes.count; i++) {
        const struct pipeline_box *box = &boxes.items[i];
        assert_true(box->start >= view->from && box->end <= view->to && box->end > box->start);
        assert_true(box->low >= 0 && box->high > box->low && box->high <= 1);
        sums[box->part] += area_of(box);
    }
    for (uint32_t part = 0; part < PART_COUNT_; part++) {
        assert_true(fabs(sums[part] - expected[part]) <= 1e-9 * (double)timeline->end + 64);
    }
}

/* However fine a view is, the area of each part is its time. (A pair's halves are whole
 * nanoseconds: one for each piece at most.) */
static void areas_are_times_in_every_view(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SCENARIOS; i++) {
        struct arena *arena = arena_new();
        struct timeline timeline;
        simulate(arena, random_scenario(arena, 9, i), &timeline);
        const sim_time end = timeline.end;
        const struct pipeline_view views[] = {
            {.to = end, .pixels = 1e9, .piece_pixels = 2.5},
            {.to = end, .pixels = 800, .piece_pixels = 2.5},
            {.to = end, .pixels = 800, .gathers = true, .bar_pixels = 6, .piece_pixels = 2.5},
            {.to = end, .pixels = 800, .gathers = true, .bar_pixels = 90, .piece_pixels = 9},
            {.from = end / 3, .to = end / 2, .pixels = 800, .piece_pixels = 2.5},
        };
        for (uint32_t row = 0; row < timeline.row_count; row++) {
            for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
                check_row(arena, &timeline, row, &views[v]);
            }
        }
        arena_free(arena);
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

static size_t count_columns(const struct pipeline_boxes *boxes, double *widest_px, double per_ns)
{
    size_t count = 0;
    *widest_px = 0;
    for (size_t i = 0; i < boxes->count; i++) {
        count += boxes->items[i].low <= 0;
        *widest_px =
            fmax(*widest_px, (double)(boxes->items[i].end - boxes->items[i].start) * per_ns);
    }
    return count;
}

/* 64 microbatches on 4 stages in 300 pixels: stage 3 has 128 actions of some 2 pixels. Gathered to
 * so many pixels at least, whole cycles each look like the next, so all of the steady part is one
 * box a part; each microbatch alone would be more than 128 columns. */
static void a_steady_state_is_one_column(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct timeline timeline =
        pipeline_of(arena, "parallel.schedule=1f1b", "batch.global=512");
    struct pipeline_boxes boxes = {.items = NULL};
    double widest_px = 0;
    const double per_ns = 300 / (double)timeline.end;
    struct pipeline_view view = {.to = timeline.end, .pixels = 300, .piece_pixels = 2.5};
    pipeline_columns(arena, &timeline, 3, &view, &boxes);
    assert_true(count_columns(&boxes, &widest_px, per_ns) >= 128);
    view.gathers = true;
    for (view.bar_pixels = 5; view.bar_pixels < 17; view.bar_pixels += 1) {
        boxes.count = 0;
        pipeline_columns(arena, &timeline, 3, &view, &boxes);
        assert_true(count_columns(&boxes, &widest_px, per_ns) < 12);
        assert_true(widest_px > 200);
    }
    arena_free(arena);
}

/* Of three lanes, in ns of full height, from the middle of a transfer on, of which half counts. */
static void measure_lanes(struct arena *arena, const struct timeline *timeline,
                          struct pipeline_view view, double areas[3])
{
    static const enum cause lanes[] = {CAUSE_EXPOSED_TP, CAUSE_EXPOSED_PP, CAUSE_EXPOSED_DP};
    struct pipeline_boxes boxes = {.items = NULL};
    const struct timeline_row *row = &timeline->rows[1];
    size_t first = 0;
    while (row->transfers[first].cause != CAUSE_EXPOSED_TP) {
        first++;
    }
    view.from = (row->transfers[first].start + row->transfers[first].end) / 2;
    view.to = timeline->end;
    view.lanes = lanes;
    view.lane_count = 3;
    pipeline_columns(arena, timeline, 1, &view, &boxes);
    for (size_t i = 0; i < boxes.count; i++) {
        if (boxes.items[i].lane > 0) {
            areas[boxes.items[i].lane - 1] += area_of(&boxes.items[i]);
        }
    }
}

/* A lane whose transfers cannot be told apart has as much area as they have time, in columns of any
 * width. */
static void lanes_have_the_area_of_their_transfers(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct timeline timeline =
        pipeline_of(arena, "parallel.schedule=1f1b", "batch.global=64");
    double exact[3] = {0};
    measure_lanes(arena, &timeline, (struct pipeline_view){.pixels = 1e9, .lane_pixels = 2.5},
                  exact);
    for (double bar_pixels = 10; bar_pixels < 200; bar_pixels *= 1.3) {
        double areas[3] = {0};
        measure_lanes(
            arena, &timeline,
            (struct pipeline_view){
                .pixels = 400, .gathers = true, .bar_pixels = bar_pixels, .lane_pixels = 100},
            areas);
        for (uint32_t lane = 0; lane < 3; lane++) {
            assert_true(exact[lane] > 0);
            assert_close(areas[lane], exact[lane], 1e-9);
        }
    }
    arena_free(arena);
}

/* ---- the path, and what is magnified --------------------------------------------------------- */

static void runs_follow_one_another(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SCENARIOS; i++) {
        struct arena *arena = arena_new();
        struct timeline timeline;
        simulate(arena, random_scenario(arena, 10, i), &timeline);
        size_t count = 0;
        const struct pipeline_run *runs = pipeline_runs(arena, &timeline, &count);
        sim_time now = 0;
        for (size_t k = 0; k < count; k++) {
            assert_true(runs[k].start == now && runs[k].end > now);
            assert_true(k == 0 || runs[k].row != runs[k - 1].row || runs[k].to != runs[k - 1].to);
            assert_true(runs[k].row == runs[k].to || k + 1 == count ||
                        runs[k + 1].row == runs[k].to);
            now = runs[k].end;
        }
        assert_true(now == timeline.end);
        arena_free(arena);
    }
}

/* 8 microbatches: the path goes down with the first and up with the last, three messages each. */
static void messages_take_the_path_from_stage_to_stage(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct timeline timeline =
        pipeline_of(arena, "parallel.schedule=1f1b", "batch.global=64");
    size_t count = 0;
    const struct pipeline_run *runs = pipeline_runs(arena, &timeline, &count);
    static const uint32_t to[] = {1, 2, 3, 2, 1, 0};
    uint32_t messages = 0;
    for (size_t k = 0; k < count; k++) {
        if (runs[k].row != runs[k].to) {
            assert_true(messages < 6);
            assert_int_equal(runs[k].to, to[messages]);
            messages++;
        }
    }
    assert_int_equal(messages, 6);
    arena_free(arena);
}

static size_t actions_within(const struct timeline_row *row, const struct pipeline_window *window)
{
    size_t count = 0;
    for (size_t i = 0; i < row->count; i++) {
        count += row->bars[i].start >= window->from && row->bars[i].start < window->to;
    }
    return count;
}

/* 32 microbatches: all four stages are in their steady state in the middle, F B F B; so two cycles
 * of one of them are magnified, and the last stage, which never waits there, does four actions. */
static void whole_cycles_of_a_steady_state_are_magnified(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct timeline timeline =
        pipeline_of(arena, "parallel.schedule=1f1b", "batch.global=256");
    const struct pipeline_window window = pipeline_window_of(&timeline);
    assert_true(window.is_cycle);
    assert_true(window.from > timeline.end / 4 && window.to < timeline.end * 3 / 4);
    for (uint32_t stage = 0; stage < 4; stage++) {
        const size_t actions = actions_within(&timeline.rows[stage], &window);
        assert_true(actions >= 3 && actions <= 5);
    }
    arena_free(arena);
}

/* One microbatch: no cycle, and a window all the same. */
static void without_a_cycle_the_middle_is_magnified(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct timeline timeline = pipeline_of(arena, "parallel.schedule=1f1b", "batch.global=8");
    const struct pipeline_window window = pipeline_window_of(&timeline);
    assert_false(window.is_cycle);
    assert_true(window.from >= 0 && window.to > window.from && window.to <= timeline.end);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(areas_are_times_in_every_view),
        cmocka_unit_test(a_steady_state_is_one_column),
        cmocka_unit_test(lanes_have_the_area_of_their_transfers),
        cmocka_unit_test(runs_follow_one_another),
        cmocka_unit_test(messages_take_the_path_from_stage_to_stage),
        cmocka_unit_test(whole_cycles_of_a_steady_state_are_magnified),
        cmocka_unit_test(without_a_cycle_the_middle_is_magnified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
