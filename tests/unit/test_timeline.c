/* The pipeline as a picture: the same step as always, each action once, and its place in time. */
#include "train/timeline.h"

#include "base/arena.h"
#include "plan/schedule/schedule.h"
#include "support/fixture.h"
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

/* The wait for the slowest GPU is the path's last leg, where the run's was. */
static bool waits_elsewhere_than_in_row_0(const struct timeline *timeline)
{
    const struct timeline_leg *last = &timeline->path[timeline->leg_count - 1];
    assert_int_equal(last->cause, CAUSE_STRAGGLER_WAIT);
    assert_true(last->start == timeline->run_end && last->end == timeline->end);
    assert_int_equal(last->row, last[-1].row);
    return last->row != 0;
}

/* Where a task takes longer than its kernels: each is rounded by itself. */
static bool are_tasks_stretched(const struct scenario *scenario)
{
    return scenario->slow_count > 0 || scenario->software.scale_up_interference > 0 ||
           scenario->software.network_interference > 0;
}

/* Compute tasks that end with their action change nothing: the step ends at the same nanosecond;
 * on a slow GPU or beside transfers that slow kernels, within one for each bar. */
static void the_picture_is_of_the_step_that_is_predicted(void **state)
{
    (void)state;
    uint32_t pipelines = 0, elsewhere = 0;
    for (uint64_t i = 0; i < SCENARIOS; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = random_scenario(arena, 5, i);
        struct step_result result;
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
        struct timeline timeline;
        timeline_simulate(arena, scenario,
                          &(struct timeline_request){.folds = true, .step = &result}, &timeline);
        const sim_time rounding =
            are_tasks_stretched(scenario) ? (sim_time)count_bars(&timeline) : 0;
        assert_true(timeline.end >= result.step_ns - rounding);
        assert_true(timeline.end <= result.step_ns + rounding);
        assert_true(timeline.end == timeline.run_end + result.jitter_ns);
        pipelines += scenario->parallel.pp > 1;
        elsewhere += result.jitter_ns > 0 && waits_elsewhere_than_in_row_0(&timeline);
        arena_free(arena);
    }
    assert_true(pipelines > SCENARIOS / 4);
    print_message("the last leg is on another row than the first in %u of %u\n", elsewhere,
                  SCENARIOS);
    assert_true(elsewhere > 0);
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
        timeline_simulate(arena, scenario, &(struct timeline_request){.folds = true}, &timeline);
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

static void check_same_pieces(const struct timeline_row *row, const struct timeline_row *other)
{
    assert_int_equal(row->piece_count, other->piece_count);
    for (size_t i = 0; i < row->piece_count; i++) {
        assert_true(row->pieces[i].end == other->pieces[i].end);
        assert_int_equal(row->pieces[i].cause, other->pieces[i].cause);
    }
    assert_int_equal(row->transfer_count, other->transfer_count);
    for (size_t i = 0; i < row->transfer_count; i++) {
        assert_true(row->transfers[i].start == other->transfers[i].start);
        assert_true(row->transfers[i].end == other->transfers[i].end);
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
        timeline_simulate(arena, scenario, &(struct timeline_request){.folds = true}, &folded);
        timeline_simulate(arena, scenario, &(struct timeline_request){.folds = false}, &full);
        assert_true(folded.end == full.end);
        for (uint32_t stage = 0; stage < full.stages; stage++) {
            const struct timeline_row *row = &folded.rows[stage];
            assert_true(row->count == full.rows[stage].count);
            assert_memory_equal(row->bars, full.rows[stage].bars, row->count * sizeof *row->bars);
            check_same_pieces(row, &full.rows[stage]);
        }
        assert_int_equal(folded.row_count, full.row_count);
        assert_int_equal(folded.leg_count, full.leg_count);
        for (size_t leg = 0; leg < folded.leg_count; leg++) {
            assert_true(folded.path[leg].end == full.path[leg].end);
        }
        arena_free(arena);
    }
}

/* ---- pieces, transfers, the path ------------------------------------------------------------ */

static bool is_work(enum cause cause)
{
    return cause == CAUSE_COMPUTE || cause == CAUSE_RECOMPUTE || cause == CAUSE_OPTIMIZER ||
           cause == CAUSE_LAUNCH;
}

/* From 0 to the end without a gap; kernels lie in their bars. */
static void check_pieces(const struct timeline *timeline, const struct timeline_row *row)
{
    sim_time now = 0;
    for (size_t i = 0; i < row->piece_count; i++) {
        const struct timeline_piece *piece = &row->pieces[i];
        assert_true(piece->start == now && piece->end > now);
        assert_int_equal(piece->bar != TIMELINE_NO_BAR, is_work(piece->cause));
        if (is_work(piece->cause)) {
            assert_true(piece->start >= row->bars[piece->bar].start);
            assert_true(piece->end <= row->bars[piece->bar].end);
        }
        now = piece->end;
    }
    assert_true(now == timeline->end);
}

static int64_t waits_of_pieces(const struct timeline *timeline)
{
    int64_t sum = 0;
    for (uint32_t stage = 0; stage < timeline->stages; stage++) {
        const struct timeline_row *row = &timeline->rows[stage];
        for (size_t i = 0; i < row->piece_count; i++) {
            const struct timeline_piece *piece = &row->pieces[i];
            sum += is_work(piece->cause) ? 0 : piece->end - piece->start;
        }
    }
    return sum;
}

static int64_t waits_of_accounts(const struct step_result *step)
{
    int64_t sum = 0;
    for (uint32_t c = CAUSE_EXPOSED_TP; c < CAUSE_COUNT_; c++) {
        sum += step->gpu_ns[c];
    }
    return sum;
}

/* Where one GPU of each stage stands for all of it, its waits times their number are those of the
 * step's account, which comes from another run. */
static void every_moment_has_a_piece_and_waits_are_those_of_the_account(void **state)
{
    (void)state;
    uint32_t compared = 0;
    for (uint64_t i = 0; i < SCENARIOS; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = random_scenario(arena, 8, i);
        struct step_result step;
        struct timeline timeline;
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &step);
        timeline_simulate(arena, scenario, &(struct timeline_request){.folds = true, .step = &step},
                          &timeline);
        for (uint32_t row = 0; row < timeline.row_count; row++) {
            check_pieces(&timeline, &timeline.rows[row]);
        }
        if (step.engine.ranks_simulated == timeline.stages && scenario->slow_count == 0) {
            const int64_t each = step.engine.ranks / timeline.stages;
            assert_true(each * waits_of_pieces(&timeline) == waits_of_accounts(&step));
            compared++;
        }
        arena_free(arena);
    }
    assert_true(compared > SCENARIOS / 6);
}

static const struct scenario *pipeline_with(struct arena *arena, const char *one,
                                            const char *another)
{
    const char *const sets[] = {"parallel.pp=4", "parallel.tp=2", "batch.global=64", one, another};
    return fixture_scenario(arena, &(struct fixture_source){.path = "scenarios/quickstart.yaml",
                                                            .sets = sets,
                                                            .set_count = another != NULL ? 5
                                                                         : one != NULL   ? 4
                                                                                         : 3});
}

static const struct scenario *pipeline_of(struct arena *arena, const char *slow)
{
    return pipeline_with(arena, slow, NULL);
}

static uint32_t count_transfers(const struct timeline_row *row, enum cause cause)
{
    uint32_t count = 0;
    for (size_t i = 0; i < row->transfer_count; i++) {
        count += row->transfers[i].cause == cause;
    }
    return count;
}

/* The message that ends now, for which the row waited. */
static bool ends_a_message(const struct timeline_row *row, sim_time now)
{
    for (size_t i = 0; i < row->transfer_count; i++) {
        if (row->transfers[i].cause == CAUSE_EXPOSED_PP && row->transfers[i].end == now) {
            return true;
        }
    }
    return false;
}

/* Behind the first stage a stage waits first for others to compute, then for the message's way; it
 * begins when that has arrived. (Interleaved, so that messages are sent and received, and not
 * exchanged.) */
static void a_stage_begins_when_its_first_message_is_there(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct timeline timeline;
    timeline_simulate(
        arena, pipeline_with(arena, "parallel.schedule=interleaved", "parallel.virtual_stages=2"),
        &(struct timeline_request){.folds = true}, &timeline);
    for (uint32_t stage = 1; stage < 4; stage++) {
        const struct timeline_row *row = &timeline.rows[stage];
        assert_int_equal(row->pieces[0].cause, CAUSE_LAUNCH);
        assert_int_equal(row->pieces[1].cause, CAUSE_BUBBLE);
        assert_int_equal(row->pieces[2].cause, CAUSE_EXPOSED_PP);
        assert_int_equal(row->pieces[3].cause, CAUSE_COMPUTE);
        assert_int_equal(row->bars[1].kind, TIMELINE_ACTION);
        assert_true(row->pieces[3].start == row->bars[1].start);
        assert_true(ends_a_message(row, row->bars[1].start));
    }
    arena_free(arena);
}

/* 64 sequences over dp 64 / (2 x 4) = 8 replicas are 8 microbatches, so 8 activations and 8
 * gradients cross each of three boundaries. In 1F1B's steady part this software sends one and
 * receives the other in one exchange: 5 of them below stage 0, which warms up with 3 forwards, 6
 * and 7 below the next two. So boundaries have 16 - 5, 16 - 6 and 16 - 7 transfers, and a stage
 * those of its two. One takes its bytes over a NIC at least: 8,192 tokens x 4,096 x 2 bytes, halved
 * by sequence parallelism, at 50 GB/s 0.67 ms. Of tensor parallelism a layer's forward has two
 * gathers and two scatters, its backward the same and both gathers again: 8 layers x 8 microbatches
 * x 10, and more for the embedding and the head. */
static void messages_and_collectives_are_those_of_the_program(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct timeline timeline;
    timeline_simulate(arena, pipeline_of(arena, NULL), &(struct timeline_request){.folds = true},
                      &timeline);
    assert_int_equal(timeline.row_count, 4);
    static const uint32_t messages[] = {11, 11 + 10, 10 + 9, 9};
    for (uint32_t stage = 0; stage < 4; stage++) {
        const struct timeline_row *row = &timeline.rows[stage];
        assert_int_equal(count_transfers(row, CAUSE_EXPOSED_PP), messages[stage]);
        const uint32_t tensor = count_transfers(row, CAUSE_EXPOSED_TP);
        assert_true(stage == 0 || stage == 3 ? tensor > 8 * 8 * 10 : tensor == 8 * 8 * 10);
        for (size_t i = 0; i < row->transfer_count; i++) {
            const struct timeline_transfer *transfer = &row->transfers[i];
            assert_true(transfer->start >= 0 && transfer->end <= timeline.run_end);
            assert_true(transfer->cause != CAUSE_EXPOSED_PP ||
                        transfer->end - transfer->start >= sim_time_from_s(0.67e-3));
        }
    }
    arena_free(arena);
}

static void check_same_transfers(const struct timeline_row *row, const struct timeline_row *other,
                                 enum cause cause)
{
    size_t k = 0;
    assert_int_equal(count_transfers(row, cause), count_transfers(other, cause));
    for (size_t i = 0; i < row->transfer_count; i++) {
        if (row->transfers[i].cause != cause) {
            continue;
        }
        while (other->transfers[k].cause != cause) {
            k++;
        }
        assert_true(row->transfers[i].start == other->transfers[k].start);
        assert_true(row->transfers[i].end == other->transfers[k].end);
        k++;
    }
}

/* Rank 20 of 64 with tp 2, dp 8, pp 4 is in stage 1 (16 ranks each), replica (20 - 16) / 2 = 2. At
 * half its speed its kernels take twice as long as those of the stage, so the path is on it most of
 * the time; the stage's row is another GPU's. What of the path is on other stages is on those of
 * its replica, who have rows for it: ranks 4 or 5, 36 or 37, 52 or 53. In its group for data
 * parallelism the stage's GPU is there long before the slow one, and yet both have the same
 * transfers: these move from the last arrival on. */
static void a_slow_gpu_has_a_row_and_the_path_runs_over_it(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct timeline timeline;
    timeline_simulate(arena, pipeline_of(arena, "slow=[{rank: 20, speed: 0.5}]"),
                      &(struct timeline_request){.folds = true}, &timeline);
    assert_in_range(timeline.row_count, 6, 8);
    const struct timeline_row *slow = &timeline.rows[4];
    assert_int_equal(slow->stage, 1);
    assert_int_equal(slow->slow->rank, 20);
    assert_int_equal(slow->rank, -1);
    int64_t on_path[8] = {0};
    for (size_t i = 0; i < timeline.leg_count; i++) {
        on_path[timeline.path[i].row] += timeline.path[i].end - timeline.path[i].start;
    }
    assert_true(on_path[4] > timeline.end / 2);
    for (uint32_t i = 5; i < timeline.row_count; i++) {
        const struct timeline_row *row = &timeline.rows[i];
        assert_true(row->slow == NULL && row->stage != 1);
        assert_int_equal(row->rank / 16, row->stage);
        assert_int_equal(row->rank % 16 / 2, 2);
        assert_true(on_path[i] >= timeline.end / 50);
    }
    int64_t work[2] = {0, 0};
    for (uint32_t i = 0; i < 2; i++) {
        const struct timeline_row *row = &timeline.rows[i == 0 ? 1 : 4];
        assert_true(i == 1 || row->slow == NULL);
        for (size_t k = 0; k < row->piece_count; k++) {
            work[i] += row->pieces[k].cause == CAUSE_COMPUTE
                           ? row->pieces[k].end - row->pieces[k].start
                           : 0;
        }
    }
    check_same_transfers(&timeline.rows[1], slow, CAUSE_EXPOSED_DP);
    assert_true(work[1] > work[0] * 19 / 10 && work[1] < work[0] * 21 / 10);
    arena_free(arena);
}

/* Where all GPUs of stage 0 are slow its row is one of them; of more than eight that differ, each
 * in another stage or by its speed, eight have rows. Rank 0 at 90 % is slower than rank 1 at 95 %,
 * its partner: rows of their own, and of replicas that are alike one. */
static void slow_gpus_that_are_alike_share_a_row_and_only_the_slowest_have_one(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct timeline timeline;
    timeline_simulate(arena,
                      pipeline_of(arena, "slow=[{rank: 0, speed: 0.9}, {rank: 2, speed: 0.9}, "
                                         "{rank: 1, speed: 0.95}]"),
                      &(struct timeline_request){.folds = true}, &timeline);
    assert_int_equal(timeline.slow_left_out, 0);
    assert_true(timeline.row_count >= 6);
    assert_int_equal(timeline.rows[4].slow->rank, 0);
    timeline_simulate(
        arena,
        pipeline_of(arena, "slow=[{rank: 0, speed: 0.91}, {rank: 1, speed: 0.92}, "
                           "{rank: 17, speed: 0.93}, {rank: 18, speed: 0.94}, {rank: 33, speed: "
                           "0.95}, {rank: 34, speed: 0.96}, {rank: 49, speed: 0.97}, {rank: 50, "
                           "speed: 0.98}, {rank: 52, speed: 0.99}]"),
        &(struct timeline_request){.folds = true}, &timeline);
    assert_in_range(timeline.row_count, 12, 16);
    assert_true(timeline.rows[11].slow != NULL && timeline.rows[11].rank < 0);
    assert_true(timeline.row_count == 12 || timeline.rows[12].slow == NULL);
    assert_int_equal(timeline.slow_left_out, 1);
    for (uint32_t row = 0; row < timeline.row_count; row++) {
        assert_true(timeline.rows[row].slow == NULL || timeline.rows[row].slow->rank != 52);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_picture_is_of_the_step_that_is_predicted),
        cmocka_unit_test(each_action_has_its_bar_in_the_order_of_the_schedule),
        cmocka_unit_test(folding_changes_no_bar),
        cmocka_unit_test(every_moment_has_a_piece_and_waits_are_those_of_the_account),
        cmocka_unit_test(a_stage_begins_when_its_first_message_is_there),
        cmocka_unit_test(messages_and_collectives_are_those_of_the_program),
        cmocka_unit_test(a_slow_gpu_has_a_row_and_the_path_runs_over_it),
        cmocka_unit_test(slow_gpus_that_are_alike_share_a_row_and_only_the_slowest_have_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
