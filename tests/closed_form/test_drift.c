/* Steps that get longer with the time since the job started, against formulas.
 *
 * A usual step takes s, one at age a s (1 + r a). Then n steps take from age 0
 *
 *     t(n) = (exp(r s n) - 1) / r            of  dt/dn = s (1 + r t)
 *
 * and of a job that restarts at failures of rate L, losing nothing, ages are exponential: of its
 * time the share
 *
 *     E 1 / (1 + r A) = L/r exp(L/r) E1(L/r)
 *
 * is what usual steps would have taken (E1: the exponential integral). Here r is 1 / 1000 s.
 */
#include "run/history/history.h"

#include "base/arena.h"

#include <gsl/gsl_sf_expint.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/history_estimate.h"

enum { INTERVALS = 1000 };

/* Intervals of a part of 1 / r, and steps that take what they do in the middle of one. */
struct pace {
    double step_s, part;
    sim_time ages[INTERVALS];
};

static void pace_init(struct pace *pace, double step_s, double part)
{
    *pace = (struct pace){.step_s = step_s, .part = part};
    for (uint32_t i = 0; i < INTERVALS; i++) {
        pace->ages[i] = law_time((double)i * part * 1000);
    }
}

static struct history_step step_of(void *context, const struct history_regime *regime)
{
    const struct pace *pace = context;
    const double longer = regime->drift == 0 ? 0 : ((double)regime->drift - 0.5) * pace->part;
    assert_true(regime->drift < INTERVALS);
    return (struct history_step){law_time(pace->step_s * (1 + longer)), 0};
}

static sim_time end_of(const struct history_plan *plan)
{
    struct arena *arena = arena_new();
    struct history_outcome outcome;
    history_run(arena, plan, 1, 0, &outcome);
    assert_int_equal(outcome.steps, plan->steps);
    assert_int_equal(outcome.account_ns[ACCOUNT_USEFUL], plan->steps * law_time(0.01));
    arena_free(arena);
    return outcome.end;
}

/* 100,000 steps of 10 ms, by 1 / 1000 s: (exp(1) - 1) 1000 s. Maintenance that takes 10 s each 250
 * makes them fresh: in 240 s fit ln(1.24) / r s = 21511 steps, so that 4 stops of 10 s and the rest
 * of the steps, 13956, follow: 4 250 + (exp(0.13956) - 1) 1000 s. Starts for other reasons do so
 * unless steps drift on. */
static void steps_take_as_long_as_the_formula_says(void **state)
{
    (void)state;
    struct pace pace;
    pace_init(&pace, 0.01, 0.005);
    const struct history_stage stage = {.period = 100, .tiers = {{1, 0, 0, 0, {0}}}};
    struct history_plan plan = {
        .horizon = law_time(1e6),
        .steps = 100000,
        .step_of = step_of,
        .context = &pace,
        .stages = &stage,
        .stage_count = 1,
        .tier_count = 1,
        .drift_ages = pace.ages,
        .drift_count = INTERVALS,
    };
    assert_close((double)end_of(&plan) / 1e9, (exp(1) - 1) * 1000, 1e-5);
    plan.maintenance = (struct history_maintenance){
        .every = law_time(250), .first = law_time(240), .takes_ns = law_time(10), .saves = true};
    const double rest = 100000 - 4 * log(1.24) * 1e5;
    for (uint32_t i = 0; i < 2; i++) {
        plan.drifts_on = i > 0;
        assert_close((double)end_of(&plan) / 1e9, 1000 + (exp(rest * 1e-5) - 1) * 1000, 1e-4);
    }
    plan.maintenance.every = 0;
    const struct history_stage stages[] = {
        {.until = 50000, .period = 100, .tiers = {{1, 0, 0, 0, {0}}}},
        {.restarts = true, .period = 100, .tiers = {{1, 0, 0, 0, {0}}}},
    };
    plan.stages = stages;
    plan.stage_count = 2;
    assert_close((double)end_of(&plan) / 1e9, (exp(1) - 1) * 1000, 1e-5);
    plan.drifts_on = false;
    assert_close((double)end_of(&plan) / 1e9, 2 * (exp(0.5) - 1) * 1000, 1e-5);
}

/* The same of steps that get longer at the end of each interval: in the k-th is a job of the share
 * exp(-L b(k)) - exp(-L b(k + 1)) of its time. */
static double expected(const struct pace *pace, double ratio)
{
    double sum = 0;
    for (uint32_t i = 0; i + 1 < INTERVALS; i++) {
        const double begin = (double)i * pace->part;
        const double share = exp(-ratio * begin) - exp(-ratio * (begin + pace->part));
        sum += share / (1 + begin + pace->part / 2);
    }
    return sum;
}

static void restarts_make_steps_as_short_as_they_were(void **state)
{
    (void)state;
    for (double ratio = 0.5; ratio < 5; ratio *= 8) { /* L / r */
        struct pace pace;
        pace_init(&pace, 1e-3, 0.125);
        const struct failure_class class = {
            .name = "process",
            .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = ratio / 1000},
        };
        const struct history_stage stage = {.period = 1, .tiers = {{1, 0, 0, 0, {0}}}};
        const struct history_plan plan = {
            .classes = &class,
            .class_count = 1,
            .horizon = law_time(ESTIMATE_FAILURES / 64 / (ratio / 1000)),
            .step_of = step_of,
            .context = &pace,
            .stages = &stage,
            .stage_count = 1,
            .tier_count = 1,
            .drift_ages = pace.ages,
            .drift_count = INTERVALS,
        };
        const struct history_estimate found = history_estimate(&plan, 0);
        assert_estimates("drift", &found, expected(&pace, ratio));
        assert_close(expected(&pace, ratio), ratio * exp(ratio) * gsl_sf_expint_E1(ratio), 1e-2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_take_as_long_as_the_formula_says),
        cmocka_unit_test(restarts_make_steps_as_short_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
