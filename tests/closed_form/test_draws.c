/* How far off a run may be, by hand. Quickstart on 64 H100, 2,097,152 tokens a step, steps of 10 s
 * as stated, 10,000 of them; how far off that is, is what a test says.
 */
#include "base/arena.h"
#include "input/scenario.h"
#include "run/history/repetitions.h"
#include "run/run.h"
#include "support/assert_close.h"
#include "support/fixture.h"
#include "support/money_of.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>

enum { SETS_MAX = 8 };

#define TOKENS "run.tokens=20971520000"
#define STEP "run.step_time=10 s"
#define NOTHING_WRITTEN "run.checkpoint=off"
/* A second of standstill about every 100 s, and nothing is lost. */
#define STOPS                                                                             \
    "run.failures={failures: stops, counts: hardware, classes: [{name: hiccup, of: job, " \
    "effect: stops, rate: {mttf: 100 s, components: 1}, repair: 1 s}]}"
/* A job that waits a day in the mean for its node, some eight times. */
#define WAITS                                                                           \
    "run.failures={failures: waits, counts: hardware, classes: [{name: node, of: job, " \
    "takes: node, rate: {mttf: 4 h, components: 1}, repair: {mean: 5 h, law: exponential}}]}"
#define ALONE "run.recovery={spares: 0, restart: 5 min, without_node: wait}"

static const double END = 1.2815515655446004; /* of a normal distribution's p90 */
static const double DAY = 86400;

static struct run_deviations as_told(void *context, const struct result *result)
{
    (void)result;
    return *(const struct run_deviations *)context;
}

static const struct result *predict_all(struct arena *arena, const char *const sets[SETS_MAX],
                                        double step, double rates, uint32_t jobs)
{
    struct run_deviations deviations = {.step = step, .rates = rates};
    const struct run_request request = {.folds = true,
                                        .build = "test",
                                        .jobs = jobs,
                                        .deviations_of = as_told,
                                        .deviations_context = &deviations};
    const struct scenario *scenario = fixture_file(arena, "scenarios/quickstart.yaml", sets);
    struct result *result = arena_alloc(arena, sizeof *result);
    run_predict(arena, scenario, &request, result);
    return result;
}

static const struct run_result *predict(struct arena *arena, const char *const sets[SETS_MAX],
                                        double step, double rates, uint32_t jobs)
{
    return &predict_all(arena, sets, step, rates, jobs)->run;
}

/* 5,000 s in the queue and 1,000 s of start-up stay what they are, whatever a step takes:
 * days = (6,000 s + first batch + 100,000 s * exp(+-1.2816 * 0.1)) / 86,400 s. The job holds its
 * nodes for all but the queue, and a GPU-hour has a price of its own. Steps draw what they draw in
 * a longer time, and the start what GPUs draw that wait. */
static void without_failures_a_band_is_that_of_the_step(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const sets[SETS_MAX] = {TOKENS,
                                        STEP,
                                        NOTHING_WRITTEN,
                                        "run.queue=5000 s",
                                        "run.startup=1000 s",
                                        "price={gpu_hour: 3 USD}"};
    const struct result *result = predict_all(arena, sets, 0.1, 0, 1);
    const struct run_result *run = &result->run;
    const double fixed_s = 6000 + run->first_batch_s;
    const double least_s = fixed_s + 100000 * exp(-0.1 * END);
    const double most_s = fixed_s + 100000 * exp(0.1 * END);
    assert_close(run->draws.days.p10, least_s / DAY, 1e-9);
    assert_close(run->draws.days.p90, most_s / DAY, 1e-9);
    assert_close(run->draws.cost_usd.p10, 3 * 64 * (least_s - 5000) / 3600, 1e-9);
    assert_close(run->draws.cost_usd.p90, 3 * 64 * (most_s - 5000) / 3600, 1e-9);
    const double steps_w = power_w(result->scenario, &result->step);
    const double start_ws = waiting_power_w(result->scenario) * (fixed_s - 5000);
    assert_close(run->draws.energy_kwh.p10, (steps_w * 1e5 * exp(-0.1 * END) + start_ws) / 3.6e6,
                 1e-9);
    assert_close(run->draws.energy_kwh.p90, (steps_w * 1e5 * exp(0.1 * END) + start_ws) / 3.6e6,
                 1e-9);
    assert_true(run->draws.count == 0 && run->draws.of_step > 0.999);
    arena_free(arena);
}

/* A step and rates that are known leave the histories, which are those of the run: their quantiles,
 * to the last digit. */
static void what_is_known_leaves_the_histories(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const sets[SETS_MAX] = {TOKENS, STEP, WAITS, ALONE};
    const struct run_result *run = predict(arena, sets, 0, 0, 1);
    double days[200];
    assert_int_equal(run->repetitions, 200);
    for (uint32_t i = 0; i < 200; i++) {
        days[i] = run->histories[i].wall_s / DAY;
    }
    gsl_sort(days, 1, 200);
    assert_close(run->draws.days.p10, gsl_stats_quantile_from_sorted_data(days, 1, 200, 0.1), 1e-9);
    assert_close(run->draws.days.p90, gsl_stats_quantile_from_sorted_data(days, 1, 200, 0.9), 1e-9);
    assert_true(run->draws.of_histories > 0.999);
    arena_free(arena);
}

/* Stops of a second once in 100 s of calendar time: a wall-clock W = S + W * g / 100, so that
 * W = S / (1 - g / 100), S = 100,000 s. Rates g = exp(+-1.2816 * 0.5) make that 100,530 s and
 * 101,935 s; 1,000 stops are drawn in a history, +- 32 s of them, which adds some 0.5 % of what
 * lies between. The share of the rates is (ln g)'s of all: 550 s of deviation against 32 s. */
static void rates_alone_are_a_closed_form(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const sets[SETS_MAX] = {TOKENS, STEP, NOTHING_WRITTEN, STOPS};
    const struct run_result *run = predict(arena, sets, 0, 0.5, 1);
    const double start_s = run->account_s[ACCOUNT_PLANNED];
    const double least_s = 1e5 / (1 - exp(-0.5 * END) / 100) - 1e5;
    const double most_s = 1e5 / (1 - exp(0.5 * END) / 100) - 1e5;
    assert_close(run->draws.days.p10 * DAY - 1e5 - start_s, least_s, 0.05);
    assert_close(run->draws.days.p90 * DAY - 1e5 - start_s, most_s, 0.05);
    assert_true(run->draws.of_rates > 0.95 && run->draws.of_histories < 0.05);
    assert_close(run->draws.of_rates + run->draws.of_step + run->draws.of_histories, 1, 1e-12);
    arena_free(arena);
}

/* A run of a second is in doubt for the same reason as one of a day: its step. */
static void what_a_short_run_hangs_on_is_told_too(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const sets[SETS_MAX] = {"run.tokens=20971520", "run.step_time=100 ms",
                                        NOTHING_WRITTEN, STOPS, "run.startup=0 s"};
    const struct run_result *run = predict(arena, sets, 0.1, 0, 1);
    assert_true(run->days * DAY < 10);
    assert_true(run->draws.count > 0);
    assert_true(run->draws.days.p90 > run->draws.days.p10);
    assert_close(run->draws.of_rates + run->draws.of_step + run->draws.of_histories, 1, 1e-12);
    arena_free(arena);
}

/* The same with rates that are known: steps that are longer meet as many more stops, and W grows as
 * S does. */
static void a_step_alone_is_a_closed_form(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const sets[SETS_MAX] = {TOKENS, STEP, NOTHING_WRITTEN, STOPS};
    const struct run_result *run = predict(arena, sets, 0.1, 0, 1);
    const double start_s = run->account_s[ACCOUNT_PLANNED];
    const double usual_s = 1e5 / (1 - 0.01);
    assert_close(run->draws.days.p10 * DAY - start_s, usual_s * exp(-0.1 * END), 2e-3);
    assert_close(run->draws.days.p90 * DAY - start_s, usual_s * exp(0.1 * END), 2e-3);
    assert_true(run->draws.of_step > 0.98);
    arena_free(arena);
}

/* Whatever gets less certain, the band does not get narrower. */
static void more_doubt_is_never_a_narrower_band(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const sets[SETS_MAX] = {TOKENS, STEP, WAITS, ALONE};
    static const double steps[] = {0, 0.15, 0.5};
    static const double rates[] = {0, 0.4, 0.8};
    double width[3][3];
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            const struct run_range days = predict(arena, sets, steps[i], rates[k], 1)->draws.days;
            width[i][k] = log(days.p90 / days.p10);
            assert_true(i == 0 || width[i][k] > width[i - 1][k]);
            assert_true(k == 0 || width[i][k] > width[i][k - 1]);
        }
    }
    arena_free(arena);
}

/* 10,000 stops in each of 200 draws are worth a second process; who walks a history makes no
 * difference. */
static void draws_are_the_same_by_many_processes(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const sets[SETS_MAX] = {
        TOKENS, STEP, NOTHING_WRITTEN,
        ("run.failures={failures: stops, counts: hardware, classes: [{name: hiccup, of: job, "
         "effect: stops, rate: {mttf: 10 s, components: 1}, repair: 0.1 s}]}")};
    const struct run_draws one = predict(arena, sets, 0.1, 0.5, 1)->draws;
    const struct run_draws two = predict(arena, sets, 0.1, 0.5, 2)->draws;
    assert_memory_equal(&one.days, &two.days, sizeof one.days);
    assert_memory_equal(&one.energy_kwh, &two.energy_kwh, sizeof one.energy_kwh);
    assert_memory_equal(&one.of_rates, &two.of_rates, sizeof one.of_rates);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_failures_a_band_is_that_of_the_step),
        cmocka_unit_test(what_is_known_leaves_the_histories),
        cmocka_unit_test(rates_alone_are_a_closed_form),
        cmocka_unit_test(what_a_short_run_hangs_on_is_told_too),
        cmocka_unit_test(a_step_alone_is_a_closed_form),
        cmocka_unit_test(more_doubt_is_never_a_narrower_band),
        cmocka_unit_test(draws_are_the_same_by_many_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
