/* How long a run takes, through the one way in (run_predict): sums by hand, and the law that each
 * duration of `run` is in the days. Quickstart: 64 H100 on 8 nodes, 2,097,152 tokens a step; steps
 * as measured (10 s), so that what is compared is the run's. */
#include "base/arena.h"
#include "input/scenario_keys.h"
#include "run/duration.h"
#include "run/goodput.h"
#include "run/run.h"
#include "support/assert_close.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SETS_MAX = 24 };

/* 20,000 steps of 10 s. */
#define TOKENS "run.tokens=41943040000"
#define STEP "run.step_time=10 s"
#define HOURLY "run.checkpoint={every: 360 steps, mode: blocking}"
#define CRASHES                                                                            \
    "run.failures={failures: inline, counts: interruptions, classes: [{name: a, of: gpu, " \
    "rate: {mttf: 640 h}, takes: process}]}"

static const struct run_result *predict(struct arena *arena, const char *const *sets)
{
    const struct scenario *scenario = fixture_file(arena, "scenarios/quickstart.yaml", sets);
    struct result *result = arena_alloc(arena, sizeof *result);
    run_predict(arena, scenario, &(struct run_request){.folds = true, .build = "test"}, result);
    return &result->run;
}

/* Two days in the queue, ten minutes of start, an hour of teardown: days are these and the time in
 * between, 173,400 + 3,000 s more than nothing of the kind; what is held and paid has no queue. All
 * of that with failures and without; each history has it. */
static void a_run_is_queue_start_steps_and_teardown(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const failures[] = {"run.failures=false", CRASHES};
    for (uint32_t i = 0; i < 2; i++) {
        const char *const bare[SETS_MAX] = {TOKENS, STEP, HOURLY, failures[i]};
        const char *const with[SETS_MAX] = {TOKENS,
                                            STEP,
                                            HOURLY,
                                            failures[i],
                                            "run.queue=2 days",
                                            "run.startup=10 min",
                                            "run.teardown=1 h"};
        const struct run_result *none = predict(arena, bare);
        const struct run_result *all = predict(arena, with);
        double sum_s = 0;
        for (uint32_t account = 0; account < ACCOUNT_COUNT_; account++) {
            sum_s += all->account_s[account];
        }
        assert_close(sum_s, all->days * 86400, 1e-9);
        assert_close(all->account_s[ACCOUNT_PLANNED], none->account_s[ACCOUNT_PLANNED] + 4200,
                     1e-9);
        assert_close(all->account_s[ACCOUNT_QUEUED], 172800, 0);
        assert_close(all->gpu_hours * 3600 / 64, all->days * 86400 - 172800, 1e-9);
        if (i == 0) {
            assert_close(all->days, none->days + (172800 + 4200) / 86400.0, 1e-12);
        } else { /* the start moves failures, which lie by the clock of the nodes */
            assert_close(all->days, none->days + (172800 + 4200) / 86400.0, 0.02);
            assert_close(all->days_spread.mean, all->days, 1e-9);
            assert_true(all->days_spread.p5 > 2 + none->days_spread.p5 - 0.5);
        }
    }
    arena_free(arena);
}

/* Two days of a queue, one planned, seven of steps: a step that takes 1.1 times as long makes it
 * 10.7 days, 1.07 times as many. Where there is no run all hangs on the step. */
static void what_no_step_has_a_part_in_stays(void **state)
{
    (void)state;
    const double account_s[ACCOUNT_COUNT_] = {
        [ACCOUNT_USEFUL] = 6, [ACCOUNT_LOST] = 1, [ACCOUNT_PLANNED] = 1, [ACCOUNT_QUEUED] = 2};
    const double none_s[ACCOUNT_COUNT_] = {0};
    assert_close(duration_share_of_steps(account_s), 0.7, 1e-12);
    assert_close(duration_factor(account_s, 1.1), 1.07, 1e-12);
    assert_close(duration_factor(none_s, 1.1), 1.1, 1e-12);
}

/* Of 100 s between nodes and their release, 60 productive, 10 waited for data, 5 for a slow GPU, 5
 * written, 4 lost, 1 until somebody knew, 6 without nodes, 4 of restarts, 5 planned; the 50 of the
 * queue are of none of it. So goodput is 0.60, ETTR 0.75, the nodes were there for 0.94 of it, of
 * which 75 / 94 are steps that count; at an MFU of 40 % that is a productivity of 0.75 x 0.4. */
static void shares_of_the_time_are_what_their_words_say(void **state)
{
    (void)state;
    struct run_result run = {.account_s = {[ACCOUNT_USEFUL] = 60,
                                           [ACCOUNT_DATA_STALL] = 10,
                                           [ACCOUNT_DEGRADED] = 5,
                                           [ACCOUNT_CHECKPOINT] = 5,
                                           [ACCOUNT_LOST] = 4,
                                           [ACCOUNT_DETECTION] = 1,
                                           [ACCOUNT_WAITING] = 6,
                                           [ACCOUNT_RECOVERY] = 4,
                                           [ACCOUNT_PLANNED] = 5,
                                           [ACCOUNT_QUEUED] = 50}};
    goodput_add_up(account_sum_s(run.account_s), 0.4, NULL, &run);
    assert_close(run.goodput, 0.60, 1e-12);
    assert_close(run.effective_training_time_ratio, 0.75, 1e-12);
    assert_close(run.scheduling_goodput, 0.94, 1e-12);
    assert_close(run.runtime_goodput, 75.0 / 94, 1e-12);
    assert_close(run.ml_productivity_goodput, 0.75 * 0.4, 1e-12);
    for (uint32_t i = 0; i < goodput_count; i++) {
        assert_ptr_equal(goodput_find(goodputs[i].key), &goodputs[i]);
        assert_ptr_equal(goodput_find(goodputs[i].name), &goodputs[i]);
        assert_true(goodput_value(&goodputs[i], &run) > 0);
    }
}

/* 20,000 steps of 10 s, 19 evaluations of 10 min (none after the last), an hour of start and one of
 * teardown: 200,000 / (200,000 + 11,400 + 7,200 + the first batch) is goodput and ETTR, as nothing
 * waits for data, and no node is missing. */
static void goodput_by_hand(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {TOKENS,
                                        STEP,
                                        "run.checkpoint=off",
                                        "run.startup=1 h",
                                        "run.teardown=1 h",
                                        "run.queue=30 days",
                                        "run.evaluation={every: 1000 steps, takes: 10 min}"};
    const struct run_result *run = predict(arena, sets);
    const double goodput = 2e5 / (2e5 + 11400 + 7200 + run->first_batch_s);
    assert_close(run->goodput, goodput, 1e-9);
    assert_close(run->effective_training_time_ratio, goodput, 1e-9);
    assert_close(run->scheduling_goodput, 1, 1e-12);
    assert_close(run->runtime_goodput, goodput, 1e-9);
    arena_free(arena);
}

/* A step that is stated as 10 s is one: causes of 64 GPUs add up to 640 s, tokens to 2,097,152 / 10
 * / 64 a second and GPU, MFU falls as the step grew. So is that of a stage. */
static void all_that_is_printed_is_of_the_stated_step(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const none[SETS_MAX] = {TOKENS};
    const char *const with[SETS_MAX] = {TOKENS, STEP};
    const char *const halves[SETS_MAX] = {
        TOKENS, STEP, "run.stages=[{tokens: 20971520000}, {tokens: 20971520000, step_time: 20 s}]"};
    const struct result *plain =
        fixture_predict(arena, fixture_file(arena, "scenarios/quickstart.yaml", none));
    const struct result *stated =
        fixture_predict(arena, fixture_file(arena, "scenarios/quickstart.yaml", with));
    const struct result *stages =
        fixture_predict(arena, fixture_file(arena, "scenarios/quickstart.yaml", halves));
    int64_t sum_ns = 0;
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        sum_ns += stated->step.gpu_ns[cause];
    }
    assert_int_equal(stated->step.step_ns, 10000000000);
    assert_int_equal(sum_ns, 640000000000);
    assert_int_equal(stated->step.simulated_ns, plain->step.step_ns);
    assert_close(stated->step.tokens_per_s_per_gpu, 2097152.0 / 10 / 64, 1e-9);
    assert_close(stated->step.mfu, plain->step.mfu * (double)plain->step.step_ns / 1e10, 1e-9);
    assert_int_equal(stages->run.stages[0].step->step_ns, 10000000000);
    assert_int_equal(stages->run.stages[1].step->step_ns, 20000000000);
    assert_close(2 * stages->run.stages[1].step->mfu, stages->run.stages[0].step->mfu, 1e-6);
    arena_free(arena);
}

/* ---- the law ------------------------------------------------------------------------------- */

/* Something of each kind fails: nodes that break, more than there are spares, none of which is hot;
 * processes that hang; GPUs that are slow; weights that are corrupted, and checked. */
#define MANY                                                                                       \
    "run.failures={failures: inline, counts: interruptions, classes: ["                            \
    "{name: breaks, of: node, rate: {mttf: 100 h}, takes: node, repair: 12 h, detected: crash}, "  \
    "{name: hangs, of: gpu, rate: {mttf: 1280 h}, takes: process, detected: hang}, "               \
    "{name: slows, of: gpu, rate: {mttf: 1280 h}, takes: gpu, effect: slows, speed: 70 %, "        \
    "repair: 6 h, detected: slow}, "                                                               \
    "{name: corrupts, of: gpu, rate: {mttf: 1280 h}, takes: process, effect: corrupts, detected: " \
    "corruption}]}"
#define RECOVERY                                                                             \
    "run.recovery={spares: 1, hot_spares: 0, wrong_diagnosis: 30 %, without_node: elastic, " \
    "check: {every: 2 h, takes: 1 min}}"

static const char *const usual[] = {TOKENS,
                                    STEP,
                                    HOURLY,
                                    "run.first_steps={count: 5, longer: 10 s}",
                                    "run.evaluation={every: 1000 steps, takes: 10 min}",
                                    "run.maintenance={every: 1 day, takes: 1 h}",
                                    "run.repetitions=16"};
enum { USUAL = sizeof usual / sizeof *usual };

/* Where two hours would be refused, or change nothing for another key's sake. */
static const struct case_of_key {
    const char *path, *value, *with;
} cases[] = {
    {"run.step_time", "11 s", NULL},
    {"run.maintenance.every", "10 h", NULL},
    {"run.recovery.start_per_gpu", "10 s", NULL},
    {"run.recovery.check.every", "10 h", NULL},
    {"run.recovery.detection.corruption", "2 h", "run.recovery.check=off"},
};

static double days_with(struct arena *arena, bool fails, const char *set, const char *with)
{
    const char *sets[SETS_MAX] = {NULL};
    uint32_t count = 0;
    for (; count < USUAL; count++) {
        sets[count] = usual[count];
    }
    if (fails) {
        sets[count++] = MANY;
        sets[count++] = RECOVERY;
    }
    if (with != NULL) {
        sets[count++] = with;
    }
    sets[count] = set;
    return predict(arena, sets)->days;
}

static bool moves(struct arena *arena, const char *path, bool fails)
{
    struct case_of_key of = {path, "2 h", NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        of = strcmp(cases[i].path, path) == 0 ? cases[i] : of;
    }
    const char *with = fails ? of.with : NULL;
    const double usually = days_with(arena, fails, NULL, with);
    return fabs(days_with(arena, fails, arena_printf(arena, "%s=%s", path, of.value), with) -
                usually) > 1e-6;
}

/* A key of what is done when something broke says so, in its own help or that of its section. */
static bool is_said_to_need_failures(const struct schema_row *row)
{
    bool is_said = false;
    for (uint32_t i = 0; i < scenario_schema.count; i++) {
        const struct schema_row *above = &scenario_schema.rows[i];
        const size_t length = strlen(above->path);
        const bool is_above = strncmp(above->path, row->path, length) == 0 &&
                              (row->path[length] == '.' || row->path[length] == '\0');
        is_said = is_said || (is_above && strstr(above->help, "something broke") != NULL);
    }
    return is_said;
}

/* Each key of `run` that is a duration makes the days others, with failures and without; but for
 * those of which the help says that they are of failures. */
static void each_duration_of_a_run_moves_its_days(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    uint32_t count = 0;
    for (uint32_t i = 0; i < scenario_schema.count; i++) {
        const struct schema_row *row = &scenario_schema.rows[i];
        if (row->dimension != DIM_SECONDS || strncmp(row->path, "run.", 4) != 0) {
            continue;
        }
        count++;
        if (!moves(arena, row->path, true)) {
            fail_msg("%s does not move the days of a run with failures", row->path);
        }
        if (!is_said_to_need_failures(row) && !moves(arena, row->path, false)) {
            fail_msg("%s does not move the days of a run without failures", row->path);
        }
        arena_reset(arena);
    }
    assert_int_equal(count, 22);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_queue_start_steps_and_teardown),
        cmocka_unit_test(what_no_step_has_a_part_in_stays),
        cmocka_unit_test(shares_of_the_time_are_what_their_words_say),
        cmocka_unit_test(goodput_by_hand),
        cmocka_unit_test(all_that_is_printed_is_of_the_stated_step),
        cmocka_unit_test(each_duration_of_a_run_moves_its_days),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
