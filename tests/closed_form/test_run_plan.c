/* What is planned of a run, through the one way in (run_predict): stages, evaluation, maintenance,
 * queue and first steps against sums by hand, and laws that hold for any run. Quickstart: 64 H100
 * on 8 nodes, 256 x 8,192 = 2,097,152 tokens a step; steps as measured (10 s), so that what is
 * compared is the run's. */
#include "base/arena.h"
#include "input/scenario.h"
#include "run/run.h"
#include "support/assert_close.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

enum { SETS_MAX = 8 };

/* 100,000 steps of 10 s, checkpoints that block every 360 of them. */
#define TOKENS "run.tokens=209715200000"
#define HALVES "tokens: 104857600000"
#define STEP "run.step_time=10 s"
#define HOURLY "run.checkpoint={every: 360 steps, mode: blocking}"
#define RESTART "run.recovery={restart: 10 min}"
#define FAILING                                                                       \
    "run.failures={failures: inline, counts: interruptions, classes: [{name: a, of: " \
    "gpu, rate: {mttf: 3200 h}, takes: process}]}"

static const double STEPS = 100000;

static const struct run_result *predict(struct arena *arena, const char *path,
                                        const char *const *sets)
{
    const struct scenario *scenario = fixture_file(arena, path, sets);
    struct result *result = arena_alloc(arena, sizeof *result);
    run_predict(arena, scenario, &(struct run_request){.folds = true, .build = "test"}, result);
    return &result->run;
}

static const struct run_result *quickstart(struct arena *arena, const char *const sets[SETS_MAX])
{
    return predict(arena, "scenarios/quickstart.yaml", sets);
}

static void assert_adds_up(const struct run_result *run)
{
    double sum_s = 0;
    for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
        sum_s += run->account_s[i];
    }
    assert_close(sum_s, run->days * 86400, 1e-9);
    for (uint32_t i = 0; i < ACCOUNT_QUEUED && run->stage_count > 0; i++) {
        double stages_s = 0;
        for (uint32_t stage = 0; stage < run->stage_count; stage++) {
            stages_s += run->stages[stage].account_s[i];
        }
        assert_true(fabs(stages_s - run->account_s[i]) <= 1e-6 + 1e-9 * stages_s);
    }
}

static void assert_same_run(const struct run_result *a, const struct run_result *b)
{
    for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
        assert_true(a->account_s[i] == b->account_s[i]);
    }
    assert_true(a->days == b->days && a->goodput == b->goodput);
    assert_true(a->cost_usd == b->cost_usd && a->energy_kwh == b->energy_kwh);
    assert_true(a->interruptions == b->interruptions);
    assert_true(a->days_spread.p95 == b->days_spread.p95);
    assert_int_equal(a->steps, b->steps);
    assert_int_equal(a->checkpoints, b->checkpoints);
    assert_int_equal(a->repetitions, b->repetitions);
}

/* 252M tokens of 1,024 x 4,096 are 60.1 steps, 2.87T - 252M of 1,024 x 8,192 are 342,100.6, and
 * 15.6T - 2.87T of 16 Mi are 758,767.6: each rounded up, 1,100,930 (one batch: 929,833). Of the
 * last, 800G are of 128 x 131,072 (47,683.7 steps), the others of 2,048 x 8,192 (711,083.4).
 * The first two stages have 8,192 GPUs, so their hours cost half as many GPU-hours. */
static void llama_3_405b_has_1100930_steps(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {
        "run.failures=false",
        "run.stages=[{tokens: 252M, set: {gpus: 8192, batch.global: 1024, "
        "batch.sequence_length: 4096}}, {tokens: 2869748M, set: {gpus: 8192, batch.global: 1024}}, "
        "{tokens: 11.93T}, {tokens: 800G, set: {batch.global: 128, batch.sequence_length: 131072, "
        "parallel.cp: 16, parallel.dp: 8}}]"};
    const struct run_result *run = predict(arena, "scenarios/llama3-405b-16k.yaml", sets);
    const int64_t steps[] = {61, 342101, 711084, 47684};
    const double gpus[] = {8192, 8192, 16384, 16384};
    double gpu_hours = 0;
    double steps_s = 0;
    assert_int_equal(run->stage_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(run->stages[i].steps, steps[i]);
        assert_close(run->stages[i].gpu_hours, run->stages[i].days * 24 * gpus[i], 1e-12);
        gpu_hours += run->stages[i].days * 24 * gpus[i];
        steps_s += (double)steps[i] * run->stages[i].step_s;
    }
    assert_int_equal(run->steps, 1100930);
    assert_close(run->gpu_hours, gpu_hours, 1e-12);
    assert_close(run->account_s[ACCOUNT_USEFUL], steps_s, 1e-9);
    assert_adds_up(run);
    arena_free(arena);
}

/* With and without failures: the same to the last bit. */
static void one_stage_is_none(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const failures[] = {"run.failures=false", FAILING};
    for (uint32_t i = 0; i < 2; i++) {
        const char *const none[SETS_MAX] = {TOKENS, HOURLY, failures[i]};
        const char *const one[SETS_MAX] = {TOKENS, HOURLY, failures[i],
                                           "run.stages=[{tokens: 209715200000}]"};
        assert_same_run(quickstart(arena, none), quickstart(arena, one));
    }
    arena_free(arena);
}

/* A change in place is no change; one that takes 10 min makes the run so much longer. One with a
 * restart costs the restart as stated, and the checkpoint before it: 50,000 steps are 138 periods
 * and 320 steps, behind which it is written, so that the periods after it end elsewhere: of the
 * other 50,000 there are 138 again, and of 100,000 there were 277. */
static void two_equal_stages_are_one_and_the_change(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const failures[] = {"run.failures=false", FAILING};
    for (uint32_t i = 0; i < 2; i++) {
        const char *const one[SETS_MAX] = {TOKENS, STEP, HOURLY, failures[i]};
        const char *const two[SETS_MAX] = {TOKENS, STEP, HOURLY, failures[i],
                                           "run.stages=[{" HALVES "}, {" HALVES "}]"};
        const struct run_result *whole = quickstart(arena, one);
        const struct run_result *halves = quickstart(arena, two);
        assert_int_equal(halves->stage_count, 2);
        assert_close(halves->days, whole->days, 1e-9);
        assert_close(halves->cost_usd, whole->cost_usd, 1e-9);
        assert_close(halves->energy_kwh, whole->energy_kwh, 1e-9);
        assert_true(halves->interruptions == whole->interruptions);
        assert_adds_up(halves);
    }
    const char *const in_place[SETS_MAX] = {
        TOKENS, STEP, HOURLY, "run.stages=[{" HALVES "}, {" HALVES ", change: 10 min}]"};
    const char *const anew[SETS_MAX] = {TOKENS, STEP, HOURLY, RESTART,
                                        "run.stages=[{" HALVES "}, {" HALVES
                                        ", restart: true, change: 2 min}]"};
    const char *const one[SETS_MAX] = {TOKENS, STEP, HOURLY};
    const struct run_result *whole = quickstart(arena, one);
    const struct run_result *changed = quickstart(arena, in_place);
    const struct run_result *restarted = quickstart(arena, anew);
    const double written_s = restarted->account_s[ACCOUNT_CHECKPOINT];
    assert_close(changed->days, whole->days + 600 / 86400.0, 1e-9);
    assert_close(changed->account_s[ACCOUNT_PLANNED], 600 + whole->account_s[ACCOUNT_PLANNED],
                 1e-9);
    assert_int_equal(whole->checkpoints, 277);
    assert_int_equal(restarted->checkpoints, 138 + 1 + 138);
    assert_close(written_s, 277 * whole->checkpoint_s, 1e-6);
    assert_close(restarted->account_s[ACCOUNT_PLANNED], 720 + whole->account_s[ACCOUNT_PLANNED],
                 1e-9);
    assert_adds_up(restarted);
    arena_free(arena);
}

/* After every 1,000th step but the last: 99 times 5 min. */
static void evaluations_pause_between_steps(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {TOKENS, STEP, HOURLY,
                                        "run.evaluation={every: 1000 steps, takes: 5 min}"};
    const struct run_result *run = quickstart(arena, sets);
    assert_close(run->account_s[ACCOUNT_PLANNED], 99 * 300 + run->first_batch_s, 1e-9);
    assert_close(run->account_s[ACCOUNT_USEFUL] + run->account_s[ACCOUNT_DATA_STALL], 10 * STEPS,
                 1e-9);
    assert_close(run->account_s[ACCOUNT_CHECKPOINT], 277 * run->checkpoint_s, 1e-6);
    assert_adds_up(run);
    arena_free(arena);
}

/* A window a day, 2 h and a restart of 10 min. Work is 10^6 s and what 277 checkpoints block; a
 * window takes c = 7,800 s, its own checkpoint and at most the step under way, whose time counts as
 * work. So the n-th begins before the end as long as n 86,400 < work + (n - 1) c: n = 12, wherever
 * between 7,800 and 7,900 c is (12 x 86,400 = 1,036,800 < 10^6 + 11 x 7,800 = 1,085,800, and
 * 13 x 86,400 = 1,123,200 > 10^6 + 12 x 7,900 + 277 b for any b below 100 s). */
static void maintenance_stops_the_job_by_the_calendar(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {TOKENS, STEP, HOURLY, RESTART,
                                        "run.maintenance={every: 1 day, takes: 2 h}"};
    const struct run_result *run = quickstart(arena, sets);
    assert_close(run->account_s[ACCOUNT_PLANNED], 12 * 7800 + run->first_batch_s, 1e-9);
    assert_true(run->account_s[ACCOUNT_LOST] == 0);
    assert_close(run->account_s[ACCOUNT_CHECKPOINT], (double)run->checkpoints * run->checkpoint_s,
                 1e-6);
    assert_adds_up(run);
    arena_free(arena);
}

/* The same, but what is not written is lost: of each window less than a period of 3,600 s and a
 * step, and never nothing (a period with its write does not divide a day). First after 6 h: one
 * window more, 6 h + 12 x 86,400 = 1,058,400 < 10^6 + 12 x 7,800. */
static void without_a_checkpoint_before_it_the_steps_are_lost(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {
        TOKENS, STEP, HOURLY, RESTART,
        "run.maintenance={every: 1 day, takes: 2 h, at: 6 h, checkpoint: false}"};
    const struct run_result *run = quickstart(arena, sets);
    const double windows = round((run->account_s[ACCOUNT_PLANNED] - run->first_batch_s) / 7800);
    assert_true(windows >= 13);
    assert_close(run->account_s[ACCOUNT_PLANNED], windows * 7800 + run->first_batch_s, 1e-9);
    assert_true(run->account_s[ACCOUNT_LOST] > 0);
    assert_true(run->account_s[ACCOUNT_LOST] < windows * 3610);
    assert_close(run->account_s[ACCOUNT_USEFUL] + run->account_s[ACCOUNT_DATA_STALL], 10 * STEPS,
                 1e-9);
    assert_adds_up(run);
    arena_free(arena);
}

/* Two days later, for the same GPU-hours and the same goodput of the hours it has them. */
static void a_queue_is_waited_in_and_not_paid(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const failures[] = {"run.failures=false", FAILING};
    for (uint32_t i = 0; i < 2; i++) {
        const char *const none[SETS_MAX] = {TOKENS, HOURLY, failures[i]};
        const char *const queued[SETS_MAX] = {TOKENS, HOURLY, failures[i], "run.queue=2 days"};
        const struct run_result *at_once = quickstart(arena, none);
        const struct run_result *late = quickstart(arena, queued);
        assert_close(late->days, at_once->days + 2, 1e-12);
        assert_true(late->gpu_hours == at_once->gpu_hours && late->cost_usd == at_once->cost_usd);
        assert_true(late->energy_kwh == at_once->energy_kwh);
        assert_true(late->goodput == at_once->goodput);
        assert_true(late->account_s[ACCOUNT_QUEUED] == 172800);
        assert_true(i == 0 || fabs(late->days_spread.p95 - at_once->days_spread.p95 - 2) < 1e-9);
        assert_adds_up(late);
    }
    arena_free(arena);
}

/* Five steps of 40 s more: 200 s at the start, and after each restart as if run.recovery.warm_up
 * said so; where that says something, or a restart is stated whole, at the start alone. */
static void first_steps_are_longer_after_each_start(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const first = "run.first_steps={count: 5, longer: 40 s}";
    const char *const none[SETS_MAX] = {TOKENS, HOURLY};
    const char *const some[SETS_MAX] = {TOKENS, HOURLY, first};
    const char *const warm[SETS_MAX] = {TOKENS, HOURLY, FAILING, "run.recovery={warm_up: 200 s}",
                                        "run.startup=200 s"};
    const char *const cold[SETS_MAX] = {TOKENS, HOURLY, FAILING, first};
    const char *const whole[SETS_MAX] = {TOKENS, HOURLY, FAILING, RESTART, first};
    const char *const stated[SETS_MAX] = {TOKENS, HOURLY, FAILING, RESTART, "run.startup=200 s"};
    assert_close(quickstart(arena, some)->days, quickstart(arena, none)->days + 200 / 86400.0,
                 1e-12);
    assert_same_run(quickstart(arena, cold), quickstart(arena, warm));
    assert_same_run(quickstart(arena, whole), quickstart(arena, stated));
    /* another batch is compiled anew: 200 s more, of a stage that sets nothing none */
    const char *const same[SETS_MAX] = {TOKENS, STEP, HOURLY, first,
                                        "run.stages=[{" HALVES "}, {" HALVES "}]"};
    const char *const other[SETS_MAX] = {TOKENS, STEP, HOURLY, first,
                                         "run.stages=[{" HALVES "}, {" HALVES
                                         ", set: {data.prefetch: 2}}]"};
    assert_close(quickstart(arena, other)->account_s[ACCOUNT_PLANNED],
                 quickstart(arena, same)->account_s[ACCOUNT_PLANNED] + 200, 1e-9);
    arena_free(arena);
}

/* A failure for each 3,200 GPU-hours: the first half on 32 GPUs (200,000 steps' worth of time at
 * 20 s), the second on 64. Where nothing is detected and a restart takes no time, the number is
 * GPU-hours / 3,200, of which the first half has as many as the second. Of 200 histories of some
 * 11 failures the mean has a deviation of sqrt(11 / 200): 4 of them. */
static void a_stage_meets_the_failures_of_its_own_gpus(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {
        TOKENS, "run.checkpoint={every: 1 steps, mode: blocking}", FAILING,
        "run.recovery={restart: 1 s, detection: {crash: 0 s}, spares: 0}",
        "run.stages=[{" HALVES ", step_time: 20 s, set: {gpus: 32}}, {" HALVES
        ", step_time: 10 s}]"};
    const struct run_result *run = quickstart(arena, sets);
    const double expected = run->gpu_hours / 3200;
    assert_close(run->stages[0].gpu_hours, run->stages[1].gpu_hours, 0.01);
    assert_true(fabs(run->interruptions - expected) < 4 * sqrt(expected / 200));
    /* a GPU-hour costs 2.50 USD (models/gpus/h100-sxm5-80gb.yaml), whichever stage it is of */
    assert_close(run->cost_usd, 2.5 * run->gpu_hours, 1e-9);
    assert_adds_up(run);
    arena_free(arena);
}

/* From 32 GPUs to 64 the job starts anew, in 10 min that nobody has to ask for; and the MFU of both
 * is their mean by GPU-hours: 32 x 16 of the first half for 64 x 10 of the second, whose GPUs take
 * 640 GPU-seconds for what the first's do in 512. */
static void other_gpus_take_a_restart(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {TOKENS, HOURLY, RESTART,
                                        "run.stages=[{" HALVES ", step_time: 16 s, set: {gpus: 32, "
                                        "batch.micro: 2}}, {" HALVES ", step_time: 10 s}]"};
    const struct run_result *run = quickstart(arena, sets);
    const double mfu[] = {run->stages[0].step->mfu, run->stages[1].step->mfu};
    const double useful_s = run->account_s[ACCOUNT_USEFUL];
    assert_close(useful_s, 50000 * 16 + 50000 * 10, 1e-6);
    assert_close(run->account_s[ACCOUNT_PLANNED], 600 + run->first_batch_s, 1e-9);
    assert_close(run->ml_productivity_goodput,
                 run->runtime_goodput * (512 * mfu[0] + 640 * mfu[1]) / 1152, 1e-6);
    assert_close(mfu[0] / mfu[1], 640.0 / 512, 1e-6);
    assert_adds_up(run);
    arena_free(arena);
}

/* A stage's sequences of 131,072 tokens are too long for its GPUs: there is no run, and it is told
 * which stage. */
static void a_stage_that_does_not_fit_ends_the_run(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {
        "run.stages=[{tokens: 500B}, {tokens: 500B, set: {batch.global: 32, "
        "batch.sequence_length: 131072}}]"};
    const struct run_result *run = quickstart(arena, sets);
    assert_int_equal(run->stage_unfit, 2);
    assert_int_equal(run->stage_count, 0);
    arena_free(arena);
}

/* Each stage is the scenario with its keys: their steps are those of scenarios that say the same,
 * and energy, emissions and dollars those of the parts together. */
static void a_stage_is_the_scenario_with_its_keys(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const both[SETS_MAX] = {
        "run.stages=[{tokens: 500B, set: {batch: {global: 512, sequence_length: 4096}}}, "
        "{tokens: 500B}]",
        "run.checkpoint=off"};
    const char *const first[SETS_MAX] = {"batch.global=512", "batch.sequence_length=4096",
                                         "run.tokens=500B", "run.checkpoint=off"};
    const char *const second[SETS_MAX] = {"run.tokens=500B", "run.checkpoint=off"};
    const struct run_result *run = quickstart(arena, both);
    const struct run_result *short_ones = quickstart(arena, first);
    const struct run_result *long_ones = quickstart(arena, second);
    assert_int_equal(run->steps, short_ones->steps + long_ones->steps);
    assert_close(run->days, short_ones->days + long_ones->days, 1e-6);
    assert_close(run->energy_kwh, short_ones->energy_kwh + long_ones->energy_kwh, 1e-6);
    assert_close(run->cost_usd, short_ones->cost_usd + long_ones->cost_usd, 1e-6);
    for (uint32_t i = 0; i < COMPONENT_COUNT_; i++) {
        assert_close(run->component_kwh[i],
                     short_ones->component_kwh[i] + long_ones->component_kwh[i], 1e-6);
    }
    assert_close(run->stages[0].step_s * (double)run->stages[0].steps / 86400, short_ones->days,
                 1e-5);
    /* the MFU of all is the mean by time, as all have the same GPUs; nothing fails */
    const double mfu =
        (short_ones->days * run->stages[0].step->mfu + long_ones->days * run->stages[1].step->mfu) /
        run->days;
    assert_close(run->ml_productivity_goodput, run->runtime_goodput * mfu, 1e-6);
    assert_adds_up(run);
    arena_free(arena);
}

#define TEST(function) cmocka_unit_test(function)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(llama_3_405b_has_1100930_steps),
        TEST(one_stage_is_none),
        TEST(two_equal_stages_are_one_and_the_change),
        TEST(evaluations_pause_between_steps),
        TEST(maintenance_stops_the_job_by_the_calendar),
        TEST(without_a_checkpoint_before_it_the_steps_are_lost),
        TEST(a_queue_is_waited_in_and_not_paid),
        TEST(first_steps_are_longer_after_each_start),
        TEST(a_stage_meets_the_failures_of_its_own_gpus),
        TEST(other_gpus_take_a_restart),
        TEST(a_stage_that_does_not_fit_ends_the_run),
        TEST(a_stage_is_the_scenario_with_its_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
