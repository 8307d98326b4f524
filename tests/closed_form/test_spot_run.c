/* Nodes on spot through the one way in (run_predict): keys, accounts, hours that are held, money.
 * Quickstart: 64 H100 on 8 nodes, 256 x 8,192 = 2,097,152 tokens a step; steps as measured (10 s),
 * 10,000 of them. */
#include "base/absent.h"
#include "base/arena.h"
#include "input/scenario.h"
#include "run/failing.h"
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

#define TOKENS "run.tokens=20971520000"
#define STEP "run.step_time=10 s"
#define HOURLY "run.checkpoint={every: 360 steps, mode: async}"
#define ALONE "run.recovery={spares: 0, restart: 5 min}"
#define PRICED "price={terms: spot, spot_gpu_hour: 1 USD, gpu_hour: 3 USD}"
/* A node is held for 50 h, another is there after one. */
#define SPOT(notice) "run.spot={notice: " notice ", rate: {mttf: 50 h}, back: 1 h}"

static const double STEPS_S = 100000;

static const struct run_result *predict(struct arena *arena, const char *const sets[SETS_MAX])
{
    const struct scenario *scenario = fixture_file(arena, "scenarios/quickstart.yaml", sets);
    struct result *result = arena_alloc(arena, sizeof *result);
    run_predict(arena, scenario, &(struct run_request){.folds = true, .build = "test"}, result);
    return &result->run;
}

/* 8 nodes, 1.5 of them at once in the mean, of which 5 % a day are taken: once in 1.5 / 8 / 5 % =
 * 3.75 days. */
static void a_class_of_failures_takes_nodes(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const sets[SETS_MAX] = {
        TOKENS, "run.failures=true",
        ("run.spot={notice: 30 s, rate: {count: 5, components: 100, days: 1}, together: 1.5, back: "
         "{mean: 2 h, law: exponential}, back_together: true}")};
    const struct scenario *scenario = fixture_file(arena, "scenarios/quickstart.yaml", sets);
    uint32_t count;
    const struct failure_class *classes = failing_classes(arena, scenario, &count);
    const struct failure_class *spot = &classes[count - 1];
    assert_int_equal(count, scenario->failures.kind_count + 1);
    assert_string_equal(spot->name, "spot");
    assert_close(1 / spot->clock.rate_per_s, 3.75 * 86400, 1e-12);
    assert_true(spot->clock.components == 8 && spot->together == 1.5);
    assert_int_equal(spot->notice_ns, 30000000000);
    assert_true(spot->takes_away && spot->are_repaired_as_one && spot->detection.mean_s == 0);
    assert_close(spot->repair.mean_s, 7200, 1e-12);
    arena_free(arena);
}

/* With two minutes all is saved and nothing lost; with a second the steps since the last checkpoint
 * are, and so they are where nobody tries. */
static void notice_saves_what_was_done(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const long_sets[SETS_MAX] = {TOKENS, STEP, HOURLY, ALONE, SPOT("2 min")};
    const char *const short_sets[SETS_MAX] = {TOKENS, STEP, HOURLY, ALONE, SPOT("1 s")};
    const char *const idle_sets[SETS_MAX] = {
        TOKENS, STEP, HOURLY, "run.recovery={spares: 0, restart: 5 min, on_notice: nothing}",
        SPOT("2 min")};
    const struct run_result *saved = predict(arena, long_sets);
    const struct run_result *lost = predict(arena, short_sets);
    const struct run_result *idle = predict(arena, idle_sets);
    assert_true(saved->notice_safe_s < 100 && saved->notice_safe_s > 1);
    assert_true(saved->account_s[ACCOUNT_LOST] == 0);
    assert_close(saved->notices_saved, saved->interruptions, 1e-12);
    assert_close(saved->mtbf_s, 50 * 3600.0 / 8, 1e-12);
    assert_true(is_absent(saved->rollback_mtbf_s) && is_absent(saved->checkpoint_young_s));
    assert_true(saved->account_s[ACCOUNT_CHECKPOINT] > saved->interruptions);
    /* half an interval each, and what is written is not safe at once */
    const double each_s = lost->account_s[ACCOUNT_LOST] / lost->interruptions;
    assert_true(each_s > 1400 && each_s < 2100);
    assert_close(lost->rollback_mtbf_s, 50 * 3600.0 / 8, 1e-12);
    assert_true(idle->account_s[ACCOUNT_LOST] > lost->account_s[ACCOUNT_LOST] * 0.9);
    assert_true(saved->days < lost->days && saved->days < idle->days);
    arena_free(arena);
}

/* Eight nodes, each there for 50 of 51 h: while one is away the other seven are held, and it is not
 * paid for. In waiting, a standstill of 1 h or less after each taking, 8 GPUs are not held. */
static void what_is_taken_is_not_paid(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const sets[SETS_MAX] = {TOKENS, STEP, HOURLY, ALONE, SPOT("2 min"), PRICED};
    const char *const demand[SETS_MAX] = {TOKENS, STEP, HOURLY, "price={gpu_hour: 3 USD}"};
    const struct run_result *spot = predict(arena, sets);
    const struct run_result *rent = predict(arena, demand);
    const double wall_h = spot->days * 24;
    assert_close(spot->gpu_hours, 64 * wall_h - spot->unheld_gpu_hours, 1e-9);
    assert_close(spot->cost_usd, spot->gpu_hours, 1e-9);
    assert_close(rent->cost_usd, 3 * rent->gpu_hours, 1e-9);
    assert_true(rent->unheld_gpu_hours == 0);
    /* each of 8 is away for 1/51 of the time, in a standstill: within 4 errors of 200 histories */
    const double away = spot->unheld_gpu_hours / 64 / wall_h;
    assert_true(fabs(away - 1 / 51.0) < 0.12 / 51);
    assert_true(spot->account_s[ACCOUNT_WAITING] / 3600 >= spot->unheld_gpu_hours / 64);
    /* one more or less away than a job that waits: at most 8 GPUs a time for most of it */
    assert_close(spot->account_s[ACCOUNT_WAITING] / 3600 * 8, spot->unheld_gpu_hours, 0.2);
    arena_free(arena);
}

/* Two that take the place of those that are away: hardly ever anything is waited for, and what is
 * held is all. Two nodes more are paid for the whole run. */
static void spares_and_fewer_replicas_help(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const none[SETS_MAX] = {TOKENS, STEP, HOURLY, ALONE, SPOT("2 min")};
    const char *const two[SETS_MAX] = {
        TOKENS, STEP, HOURLY, "run.recovery={spares: 2, restart: 5 min}", SPOT("2 min"), PRICED};
    const char *const fewer[SETS_MAX] = {
        TOKENS, STEP, HOURLY, "run.recovery={spares: 0, restart: 5 min, without_node: elastic}",
        SPOT("2 min")};
    const struct run_result *waits = predict(arena, none);
    const struct run_result *spares = predict(arena, two);
    const struct run_result *elastic = predict(arena, fewer);
    assert_true(spares->account_s[ACCOUNT_WAITING] < 0.01 * waits->account_s[ACCOUNT_WAITING]);
    assert_true(elastic->account_s[ACCOUNT_WAITING] < 0.01 * waits->account_s[ACCOUNT_WAITING]);
    assert_true(elastic->account_s[ACCOUNT_DEGRADED] > 0);
    assert_true(elastic->unheld_gpu_hours > 0.5 * waits->unheld_gpu_hours);
    assert_true(spares->unheld_gpu_hours < 0.05 * waits->unheld_gpu_hours);
    assert_true(spares->days < waits->days && elastic->days < waits->days);
    assert_true(spares->unheld_gpu_hours > 0);
    assert_close(spares->spares_usd, 16 * spares->days * 24, 1e-9);
    assert_close(spares->cost_usd, spares->gpu_hours + 16 * spares->days * 24, 1e-9);
    assert_close(elastic->account_s[ACCOUNT_USEFUL] + elastic->account_s[ACCOUNT_DATA_STALL],
                 STEPS_S, 1e-9);
    arena_free(arena);
}

/* Hours of stages sum to those of the run; of the smaller one fewer nodes are taken. */
static void stages_hold_their_own(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const sets[SETS_MAX] = {
        TOKENS, HOURLY,
        ALONE,  SPOT("2 min"),
        PRICED, "run.stages=[{tokens: 10485760000, set: {gpus: 32}}, {tokens: 10485760000}]"};
    const struct run_result *run = predict(arena, sets);
    assert_int_equal(run->stage_count, 2);
    double held_h = 0;
    double unheld_h = 0;
    for (uint32_t i = 0; i < 2; i++) {
        held_h += run->stages[i].gpu_hours;
        unheld_h += run->stages[i].unheld_gpu_hours;
        const double gpus = i == 0 ? 32 : 64;
        assert_close(run->stages[i].gpu_hours + run->stages[i].unheld_gpu_hours,
                     run->stages[i].days * 24 * gpus, 1e-9);
    }
    assert_true(unheld_h > 0);
    assert_close(unheld_h, run->unheld_gpu_hours, 1e-9);
    assert_close(held_h, run->gpu_hours, 1e-9);
    assert_close(run->cost_usd, run->gpu_hours, 1e-9);
    arena_free(arena);
}

/* A quarter of the run's 8 nodes are spares, 2 and not 1 also in the stage of 4, and paid for the
 * whole run. */
static void spares_are_the_runs_in_each_stage(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const sets[SETS_MAX] = {
        TOKENS,
        HOURLY,
        "run.recovery={spares: 25 %, restart: 5 min}",
        SPOT("2 min"),
        PRICED,
        "run.stages=[{tokens: 10485760000, set: {gpus: 32}}, {tokens: 10485760000}]"};
    const struct run_result *run = predict(arena, sets);
    assert_int_equal(run->stages[0].scenario->nodes, 4);
    assert_int_equal(run->stages[0].scenario->recovery.spares, 2);
    assert_int_equal(run->stages[1].scenario->recovery.spares, 2);
    assert_close(run->spares_usd, 2 * 8 * run->days * 24, 1e-9);
    assert_close(run->cost_usd, run->gpu_hours + run->spares_usd, 1e-9);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_of_failures_takes_nodes),
        cmocka_unit_test(notice_saves_what_was_done),
        cmocka_unit_test(what_is_taken_is_not_paid),
        cmocka_unit_test(spares_and_fewer_replicas_help),
        cmocka_unit_test(stages_hold_their_own),
        cmocka_unit_test(spares_are_the_runs_in_each_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
