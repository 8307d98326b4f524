/* Nodes that break and come back, against formulas: repairs in stages, repairs that were none, a
 * few bad components, few hands, the wrong node taken out, spares that have to be started.
 */
#include "run/history/history.h"

#include <gsl/gsl_cdf.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "support/assert_close.h"
#include "support/history_estimate.h"

#define DAY_S 86400.0

/* A reboot of 10 min helps 4 of 10, a swap of a day 8 of 10 of the others, the vendor takes 20
 * days: 600 + .6 (86400 + .2 x 1728000) s = 259,800 s in the mean, whatever the laws. Half of the
 * mean of 4e5 exponential draws is the vendor's, so that its error is about 3 in 1,000. 4 of 10
 * repairs are fixed ten minutes, to the nanosecond. */
static void stages_of_a_repair_add_up(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct repair_stage stages[] = {{{LAW_FIXED, 600, 0}, 0.4},
                                          {{LAW_LOGNORMAL, DAY_S, 1}, 0.8},
                                          {{LAW_EXPONENTIAL, 20 * DAY_S, 0}, 1}};
    const struct failure_class class = {.name = "node",
                                        .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1},
                                        .nodes = 1,
                                        .stages = stages,
                                        .stage_count = 3};
    struct failure_times times;
    failure_times_begin(&times, arena, &class, (struct rng_key){.seed = 42}, INT64_MAX / 4);
    enum { DRAWS = 400000 };
    double sum_s = 0;
    uint32_t rebooted = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        const sim_time takes = failure_repair(&times, i, 0);
        sum_s += sim_time_to_s(takes);
        rebooted += takes == law_time(600);
    }
    assert_close(failure_repair_mean_s(&class), 259800, 1e-12);
    assert_close(sum_s / DRAWS, 259800, 0.015);
    assert_true(fabs(rebooted - 0.4 * DRAWS) < 4 * sqrt(0.24 * DRAWS));
    arena_free(arena);
}

/* Failures of a class alone, in so many repetitions, each as long as the horizon. */
static double count_failures(const struct failure_class *class, double horizon_s,
                             uint32_t repetitions)
{
    double count = 0;
    for (uint32_t i = 0; i < repetitions; i++) {
        struct arena *arena = arena_new();
        struct failure_times times;
        failure_times_begin(&times, arena, class, (struct rng_key){.seed = 42, .rank = i},
                            law_time(horizon_s));
        while (times.next <= law_time(horizon_s)) {
            count += 1;
            sim_time after;
            if (failure_fails_again(&times, times.ordinal, &after)) {
                failure_times_again(&times, arena, times.next + after, times.ordinal);
            }
            failure_times_advance(&times, arena);
        }
        arena_free(arena);
    }
    return count;
}

/* Of those that break a share q breaks again, and of these again: 1 / (1 - q) times as many, but
 * for the end of the time. 100 x 1,000 s at one a second, q = 0.3 after a second: 142,857 failures,
 * less the one or so a repetition that would have come after its end; +- 4 x 540, since a chain's
 * length has the variance q / (1 - q)^2 and the number of chains that of a Poisson law. */
static void what_was_not_mended_fails_again(void **state)
{
    (void)state;
    const struct failure_class class = {.name = "node",
                                        .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1},
                                        .nodes = 1,
                                        .returns_bad = 0.3,
                                        .fails_again = {LAW_EXPONENTIAL, 1, 0}};
    const double found = count_failures(&class, 1000, 100);
    assert_true(fabs(found - 1e5 / 0.7) < 4 * 540 + 100);
    const struct failure_class mended = {.name = "node", .clock = class.clock, .nodes = 1};
    assert_true(fabs(count_failures(&mended, 1000, 100) - 1e5) < 4 * 316);
}

/* It comes beside those of the clock, and moves none of them. */
static void what_fails_again_moves_no_other_failure(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct failure_class class = {.name = "node",
                                        .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1}};
    struct failure_times with, without;
    const struct rng_key key = {.seed = 42};
    failure_times_begin(&with, arena, &class, key, INT64_MAX / 4);
    failure_times_begin(&without, arena, &class, key, INT64_MAX / 4);
    for (uint32_t i = 0; i < 1000; i++) {
        const sim_time again = with.next + 500000000;
        const bool is_first = i % 3 == 0;
        if (is_first) {
            failure_times_again(&with, arena, again, with.ordinal);
        }
        assert_int_equal(with.next, without.next);
        assert_int_equal(with.ordinal, without.ordinal);
        failure_times_advance(&with, arena);
        failure_times_advance(&without, arena);
        while (with.next != without.next) {
            assert_true(with.ordinal != without.ordinal);
            failure_times_advance(&with, arena);
        }
    }
    arena_free(arena);
}

/* Against a plain list, searched from end to end: of 2,000 that fail again, put there in any order
 * while others are taken and the job rests, the earliest is always next, with its own number. */
static void the_earliest_that_fails_again_is_next(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    struct arena *arena = arena_new();
    const struct failure_class class = {
        .name = "node", .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1e-12}, .rests = true};
    struct failure_times times;
    failure_times_begin(&times, arena, &class, (struct rng_key){.seed = 42}, law_time(1e9));
    sim_time when[COUNT]; /* by number; INT64_MAX: it is behind us */
    uint64_t left = 0;
    for (uint64_t i = 0; i < COUNT || left > 0; i++) {
        const struct rng_key key = {.seed = 7, .step = i};
        const sim_time rests = (sim_time)rng_below(&key, 50);
        failure_times_rest(&times, rests);
        for (uint64_t k = 0; k < COUNT && k < i; k++) {
            when[k] += when[k] == INT64_MAX ? 0 : rests;
        }
        if (i < COUNT) {
            when[i] = 1000 + (sim_time)rng_below(&key, 100000);
            failure_times_again(&times, arena, when[i], i);
            left++;
        }
        if (i >= COUNT || i % 3 == 0) {
            uint64_t first = 0;
            for (uint64_t k = 1; k < COUNT && k <= i; k++) {
                first = when[k] < when[first] ? k : first;
            }
            assert_int_equal(times.next, when[first]);
            assert_int_equal(times.ordinal & 0xffffffff, first);
            failure_times_advance(&times, arena);
            when[first] = INT64_MAX;
            left--;
        }
    }
    arena_free(arena);
}

/* 1,000 components, of which 10 fail 50 times as often: the mean of all is the rate, so an ordinary
 * one has r = 1000 L / (990 + 500), a bad one 50 r. Until its third failure; then it is ordinary.
 * Of one bad one in a time T
 *
 *     sum over k = 1..3 of P(the k-th is before T) + r (T - E[time of the third, T at most])
 *
 * failures, the k-th being a Gamma of shape k and mean k / (50 r), and E[min(G3, T)] =
 * 3 / (50 r) P(G4 < T) + T P(G3 > T). Never retired, all have the rate. */
static void a_bad_component_fails_often_until_it_is_retired(void **state)
{
    (void)state;
    const double rate_per_s = 0.02;
    const double horizon_s = 4000;
    struct failure_class class = {.name = "node",
                                  .clock = {.kind = CLOCK_CONSTANT,
                                            .rate_per_s = rate_per_s,
                                            .components = 1000,
                                            .bad_count = 10,
                                            .bad_times = 50}};
    enum { REPETITIONS = 2000 };
    const double all = count_failures(&class, horizon_s, REPETITIONS);
    const double expected = rate_per_s * horizon_s * REPETITIONS;
    assert_true(fabs(all - expected) < 4 * sqrt(expected));
    const double ordinary = rate_per_s / (990 + 500);
    const double bad = 50 * ordinary;
    double of_bad = 0;
    for (uint32_t k = 1; k <= 3; k++) {
        of_bad += gsl_cdf_gamma_P(horizon_s, k, 1 / bad);
    }
    const double third_s = 3 / bad * gsl_cdf_gamma_P(horizon_s, 4, 1 / bad) +
                           horizon_s * gsl_cdf_gamma_Q(horizon_s, 3, 1 / bad);
    of_bad += ordinary * (horizon_s - third_s);
    class.clock.bad_retired_after = 3;
    const double found = count_failures(&class, horizon_s, REPETITIONS);
    const double retired = REPETITIONS * (990 * ordinary * horizon_s + 10 * of_bad);
    assert_true(fabs(found - retired) < 4 * sqrt(retired));
    assert_true(all - found > 20 * sqrt(retired));
}

/* ---- hands ------------------------------------------------------------------------------------
 */

static struct history_step with_replicas(void *context, const struct history_regime *regime)
{
    const sim_time replicas = *(const sim_time *)context;
    const sim_time step_ns = 50000000;
    return (struct history_step){step_ns * replicas / (replicas - (sim_time)regime->missing), 0};
}

/* Nodes break at a rate L always (an elastic job) and c hands repair them in times that are
 * exponential of mean r: M/M/c. Of load a = L r there are in repair, or wait for it,
 *
 *     a + C a / (c - a),   C = B / (1 - a / c (1 - B)),   B = Erlang's loss of c places
 *
 * nodes, and a job of 256 replicas of one node each without spares misses as many. With hands
 * enough it would be a. */
static void nodes_wait_for_hands_as_erlang_says(void **state)
{
    (void)state;
    const double load = 10;
    const uint32_t hands = 12;
    const double repair_s = 1000;
    sim_time replicas = 256;
    double loss = 1;
    for (uint32_t i = 1; i <= hands; i++) {
        loss = load * loss / (i + load * loss);
    }
    const double waits = loss / (1 - load / hands * (1 - loss));
    const double away = load + waits * load / (hands - load);
    const struct failure_class class = {
        .name = "node",
        .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = load / repair_s},
        .nodes = 1,
        .repair = {LAW_EXPONENTIAL, repair_s, 0},
    };
    const struct history_stage stage = {
        .period = 1, .tiers = {{1, 0, 0, 0, {0}}}, .replicas = 256, .nodes_of_replica = 1};
    const struct history_plan plan = {
        .classes = &class,
        .class_count = 1,
        .horizon = law_time(40 * repair_s + ESTIMATE_FAILURES / 64 / (load / repair_s)),
        .stages = &stage,
        .stage_count = 1,
        .step_of = with_replicas,
        .context = &replicas,
        .tier_count = 1,
        .is_elastic = true,
        .hands = hands,
    };
    const struct history_estimate found = history_estimate(&plan, law_time(40 * repair_s));
    assert_true(away > 1.2 * load);
    assert_estimates("hands", &found, 1 - away / 256);
}

/* ---- restarts ---------------------------------------------------------------------------------
 */

static struct history_step always(void *context, const struct history_regime *regime)
{
    (void)context;
    (void)regime;
    return (struct history_step){1000000000, 0};
}

/* Of a job that steps of a second make, a checkpoint each 600 of them, which costs nothing. */
static struct history_plan plan_of(const struct failure_class *class,
                                   const struct history_stage *stage, double horizon_s)
{
    return (struct history_plan){
        .classes = class,
        .class_count = 1,
        .horizon = law_time(horizon_s),
        .stages = stage,
        .stage_count = 1,
        .step_of = always,
        .tier_count = 1,
        .spares = 1000,
        .hot_spares = UINT32_MAX,
    };
}

static const struct history_stage plain_stage = {.period = 600, .tiers = {{1, 0, 0, 1, {0}}}};

/* Failures that come only while the job runs, of mean time M: D until it is seen, R to start. With
 * probability p another node is taken out, the job starts in vain and is seen to fail as before; so
 * there are 1 / (1 - p) attempts, and
 *
 *     goodput = tau / (e^(tau / M) - 1) / (M + (D + R) / (1 - p))
 *
 * where a step of 1 s is 1/600 of tau. */
static void each_wrong_diagnosis_is_another_restart(void **state)
{
    (void)state;
    const double mtbf_s = 3600;
    const double detection_s = 120;
    const double restart_s = 300;
    const struct failure_class class = {
        .name = "node",
        .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1 / mtbf_s},
        .rests = true,
        .nodes = 1,
        .level = 1,
        .detection = {LAW_FIXED, detection_s, 0},
        .restart = {LAW_EXPONENTIAL, restart_s, 0},
    };
    for (uint32_t i = 0; i < 2; i++) {
        const double wrong = i == 0 ? 0.25 : 0.6;
        struct history_plan plan =
            plan_of(&class, &plain_stage, ESTIMATE_FAILURES / 64 * (mtbf_s + 1050));
        plan.wrong_diagnosis = wrong;
        const double exact =
            600 / (exp(600 / mtbf_s) - 1) / (mtbf_s + (detection_s + restart_s) / (1 - wrong));
        const struct history_estimate found = history_estimate(&plan, 0);
        assert_estimates("wrong diagnosis", &found, exact);
    }
}

/* A failure takes two nodes. With two hot spares or more a restart is its own 300 s, with one, or
 * none, it is 600 s longer; the spares' number changes nothing while there are enough. */
static void a_cold_spare_has_to_start_first(void **state)
{
    (void)state;
    const struct failure_class class = {
        .name = "node",
        .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1e-5},
        .rests = true,
        .nodes = 2,
        .level = 1,
        .restart = {LAW_FIXED, 300, 0},
        .repair = {LAW_FIXED, 100, 0},
    };
    const struct {
        uint32_t spares, hot;
        double restart_s;
    } cases[] = {{4, 4, 300}, {4, 2, 300}, {4, 1, 900}, {4, 0, 900}, {2, 4, 300}};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *arena = arena_new();
        struct history_plan plan = plan_of(&class, &plain_stage, 1e8);
        plan.spares = cases[i].spares;
        plan.hot_spares = cases[i].hot;
        plan.cold_start = (struct law){LAW_FIXED, 600, 0};
        struct history_outcome outcome;
        history_run(arena, &plan, 42, 0, &outcome);
        assert_true(outcome.interruptions[0] > 500);
        assert_close(sim_time_to_s(outcome.account_ns[ACCOUNT_RECOVERY]),
                     cases[i].restart_s * (double)outcome.interruptions[0], 1e-9);
        assert_int_equal(outcome.account_ns[ACCOUNT_WAITING], 0);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_of_a_repair_add_up),
        cmocka_unit_test(what_was_not_mended_fails_again),
        cmocka_unit_test(what_fails_again_moves_no_other_failure),
        cmocka_unit_test(the_earliest_that_fails_again_is_next),
        cmocka_unit_test(a_bad_component_fails_often_until_it_is_retired),
        cmocka_unit_test(nodes_wait_for_hands_as_erlang_says),
        cmocka_unit_test(each_wrong_diagnosis_is_another_restart),
        cmocka_unit_test(a_cold_spare_has_to_start_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
