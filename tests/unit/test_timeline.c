/* The pipeline as a picture: the same step as always, each action once, and its place in time. */
#include "train/timeline.h"

#include "base/arena.h"
#include "plan/schedule/schedule.h"
#include "support/random_scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SCENARIOS = 60 };

static size_t count_bars(const struct timeline *timeline)
{
    size_t bars = 0;
    for (uint32_t stage = 0; stage < timeline->stages; stage++) {
        bars += timeline->rows[stage].count;
    }
    return bars;
}

/* Compute tasks that end with their action change nothing: the step ends at the same nanosecond;
 * on a slow GPU, where each task is stretched and rounded by itself, within one for each bar. */
static void the_picture_is_of_the_step_that_is_predicted(void **state)
{
    (void)state;
    uint32_t pipelines = 0;
    for (uint64_t i = 0; i < SCENARIOS; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = random_scenario(arena, 5, i);
        struct step_result result;
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
        struct timeline timeline;
        timeline_simulate(arena, scenario, true, &timeline);
        const sim_time rounding = scenario->slow_count == 0 ? 0 : (sim_time)count_bars(&timeline);
        const sim_time drawn_ns = result.step_ns - result.jitter_ns;
        assert_true(timeline.end >= drawn_ns - rounding);
        assert_true(timeline.end <= drawn_ns + rounding);
        pipelines += scenario->parallel.pp > 1;
        arena_free(arena);
    }
    assert_true(pipelines > SCENARIOS / 4);
}

static void check_row(const struct timeline *timeline, const struct timeline_row *row,
                      const struct schedule_order *order)
{
    uint64_t actions = 0;
    sim_time now = 0;
    for (size_t i = 0; i < row->count; i++) {
        const struct timeline_bar *bar = &row->bars[i];
        assert_true(bar->start >= now && bar->end > bar->start);
        assert_true(bar->recompute_ns >= 0 && bar->recompute_ns <= bar->end - bar->start);
        now = bar->end;
        if (bar->kind == TIMELINE_ACTION) {
            assert_true(actions < order->count);
            assert_memory_equal(&bar->action, &order->actions[actions], sizeof bar->action);
            actions++;
        }
    }
    assert_true(actions == order->count);
    assert_true(now <= timeline->end);
}

/* A stage computes one thing at a time, and its actions in the order of its program. */
static void each_action_has_its_bar_in_the_order_of_the_schedule(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SCENARIOS; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = random_scenario(arena, 6, i);
        struct timeline timeline;
        timeline_simulate(arena, scenario, true, &timeline);
        assert_int_equal(timeline.stages, scenario->parallel.pp);
        const struct schedule_shape shape =
            schedule_shape_of(&scenario->parallel, &scenario->batch);
        for (uint32_t stage = 0; stage < timeline.stages; stage++) {
            const struct schedule_order order = schedule_order(arena, &shape, stage);
            check_row(&timeline, &timeline.rows[stage], &order);
        }
        arena_free(arena);
    }
}

static void folding_changes_no_bar(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = random_scenario(arena, 7, i);
        struct timeline folded;
        struct timeline full;
        timeline_simulate(arena, scenario, true, &folded);
        timeline_simulate(arena, scenario, false, &full);
        assert_true(folded.end == full.end);
        for (uint32_t stage = 0; stage < full.stages; stage++) {
            const struct timeline_row *row = &folded.rows[stage];
            assert_true(row->count == full.rows[stage].count);
            assert_memory_equal(row->bars, full.rows[stage].bars, row->count * sizeof *row->bars);
        }
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_picture_is_of_the_step_that_is_predicted),
        cmocka_unit_test(each_action_has_its_bar_in_the_order_of_the_schedule),
        cmocka_unit_test(folding_changes_no_bar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
