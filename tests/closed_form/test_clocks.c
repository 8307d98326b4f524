/* Laws of durations and clocks of failures, against what can be said of them in closed form. */
#include "base/arena.h"
#include "run/history/failure.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"

/* A law is told by its mean, whatever its shape. Of 100,000 draws the mean lies within 4 standard
 * errors, standard deviation / 316 each:
 *
 *     exponential   deviation = mean
 *     lognormal     mean * sqrt(exp(shape^2) - 1)
 *     Weibull       mean * sqrt(Gamma(1 + 2/shape) / Gamma(1 + 1/shape)^2 - 1)
 *
 * A scale in the place of the mean of Weibull's would be 27 % off at shape 0.7, 11 % at 2. */
static void the_mean_of_a_law_is_the_one_that_is_said(void **state)
{
    (void)state;
    enum { DRAWS = 100000 };
    const double mean_s = 5.5 * 86400;
    const struct {
        struct law law;
        double deviation; /* over the mean */
    } rows[] = {
        {{LAW_FIXED, mean_s, 0}, 0},
        {{LAW_EXPONENTIAL, mean_s, 0}, 1},
        {{LAW_LOGNORMAL, mean_s, 1}, sqrt(exp(1) - 1)},
        {{LAW_WEIBULL, mean_s, 0.7}, sqrt(tgamma(1 + 2 / 0.7) / pow(tgamma(1 + 1 / 0.7), 2) - 1)},
        {{LAW_WEIBULL, mean_s, 2}, sqrt(tgamma(2) / pow(tgamma(1.5), 2) - 1)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double sum_s = 0;
        double squares = 0;
        for (uint64_t draw = 0; draw < DRAWS; draw++) {
            const struct rng_key key = {.seed = 42, .stream = i, .step = draw};
            const double drawn_s = sim_time_to_s(law_draw(&rows[i].law, &key));
            sum_s += drawn_s / DRAWS;
            squares += drawn_s * drawn_s / DRAWS;
        }
        assert_close(sum_s, mean_s, 4 * rows[i].deviation / sqrt(DRAWS) + 1e-9);
        const double deviation = sqrt(fmax(squares / (sum_s * sum_s) - 1, 0));
        assert_true(fabs(deviation - rows[i].deviation) < 0.1 * rows[i].deviation + 1e-4);
    }
}

/* E[e^(-T/M)] of a restart of 30 min where something fails every hour, s = 1/2 in the mean:
 *
 *     fixed         e^-s
 *     exponential   1 / (1 + s), and Weibull of shape 1 is the same, by the integral
 *     Weibull, 2    1 - sqrt(pi) x e^(x^2) erfc(x), x = s / (2 Gamma(3/2))  (Rayleigh)
 *     lognormal     the mean of 400,000 draws, within 4 standard errors (each below 0.5 / 632)
 */
static void a_time_without_a_failure_is_as_likely_as_its_law_says(void **state)
{
    (void)state;
    enum { DRAWS = 400000 };
    const double mean_s = 1800;
    const double rate_per_s = 1.0 / 3600;
    const double x = 0.5 / (2 * tgamma(1.5));
    const struct {
        struct law law;
        double exact;
    } rows[] = {
        {{LAW_FIXED, mean_s, 0}, exp(-0.5)},
        {{LAW_EXPONENTIAL, mean_s, 0}, 1 / 1.5},
        {{LAW_WEIBULL, mean_s, 1}, 1 / 1.5},
        {{LAW_WEIBULL, mean_s, 2}, 1 - sqrt(acos(-1)) * x * exp(x * x) * erfc(x)},
        {{LAW_WEIBULL, 0, 2}, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_close(law_spared(&rows[i].law, rate_per_s), rows[i].exact, 1e-8);
    }
    const struct law lognormal = {LAW_LOGNORMAL, mean_s, 1.9};
    double sum = 0;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        const struct rng_key key = {.seed = 42, .step = draw};
        sum += exp(-rate_per_s * sim_time_to_s(law_draw(&lognormal, &key))) / DRAWS;
    }
    assert_true(fabs(law_spared(&lognormal, rate_per_s) - sum) < 4 * 0.5 / sqrt(DRAWS));
}

/* Some 145 years are never reached; two of them add up. */
static void what_lasts_too_long_lasts_as_long_as_can_be_told(void **state)
{
    (void)state;
    assert_int_equal(law_time(4.5e9), INT64_C(4500000000000000000));
    assert_int_equal(law_time(1e15), INT64_C(4600000000000000000));
    assert_true(law_time(HUGE_VAL) <= INT64_MAX / 2);
}

/* Failures of what is repaired as old as it was, shape 2: with H the sum of exponentials until the
 * n-th, new ones fail at t with (t / scale)^2 = H / components, those of an age a at u with
 * ((u + a) / scale)^2 - (a / scale)^2 the same, so (u + a)^2 = a^2 + t^2. */
static void what_is_old_fails_as_if_its_age_had_passed(void **state)
{
    (void)state;
    enum { INSTANTS = 200 };
    const double age_s = 5e6;
    struct failure_class classes[2];
    struct failure_times times[2];
    struct arena *arena = arena_new();
    for (uint32_t i = 0; i < 2; i++) {
        classes[i] =
            (struct failure_class){.name = "fan",
                                   .clock = {CLOCK_REPAIRED, .components = 50, .scale_s = 4e6,
                                             .shape = 2, .age_s = i * age_s}};
        failure_times_begin(&times[i], arena, &classes[i], (struct rng_key){.seed = 42},
                            law_time(1e9));
    }
    for (uint32_t i = 0; i < INSTANTS; i++) {
        const double new_s = sim_time_to_s(times[0].next);
        assert_close(sim_time_to_s(times[1].next), hypot(age_s, new_s) - age_s, 1e-6);
        failure_times_advance(&times[0], arena);
        failure_times_advance(&times[1], arena);
    }
    arena_free(arena);
}

/* One component that fails 1,000 times as often, once a millisecond, is replaced by one like
 * others, once a second, when it failed so often: in ten seconds n + 10 failures in the mean,
 * each of the ten with a deviation of its root. 400 histories. */
static void what_failed_so_often_is_as_the_others_then(void **state)
{
    (void)state;
    enum { HISTORIES = 400 };
    for (uint32_t retired_after = 1; retired_after <= 3; retired_after++) {
        const struct failure_class class = {
            .name = "bad",
            .clock = {.kind = CLOCK_CONSTANT,
                      .rate_per_s = 1000,
                      .components = 1,
                      .bad_count = 1,
                      .bad_times = 1000,
                      .bad_retired_after = retired_after},
            .effect = FAILURE_KILLS,
        };
        double mean = 0;
        for (uint32_t i = 0; i < HISTORIES; i++) {
            struct arena *arena = arena_new();
            struct failure_times times;
            failure_times_begin(&times, arena, &class, (struct rng_key){.seed = 42, .rank = i},
                                law_time(10));
            for (; times.next != INT64_MAX; failure_times_advance(&times, arena)) {
                mean += 1.0 / HISTORIES;
            }
            arena_free(arena);
        }
        assert_true(fabs(mean - retired_after - 10) < 4 * sqrt(10.0 / HISTORIES));
    }
}

/* What makes a job fail begins anew with each start: a Weibull clock of scale a and shape k lasts
 * a Gamma(1 + 1/k) in the mean, with a variance of a^2 (Gamma(1 + 2/k) - Gamma(1 + 1/k)^2). Of
 * 20,000 starts the mean lies within four standard errors. */
static void a_clock_of_the_job_begins_anew_with_each_start(void **state)
{
    (void)state;
    enum { STARTS = 20000 };
    static const double shapes[] = {0.5, 1, 2};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct arena *arena = arena_new();
        const double shape = shapes[i];
        const struct failure_class class = {
            .name = "young jobs",
            .clock = {.kind = CLOCK_OF_JOB, .scale_s = 1000, .shape = shape},
            .effect = FAILURE_KILLS,
        };
        struct failure_times times;
        failure_times_begin(&times, arena, &class, (struct rng_key){.seed = 42}, law_time(1e9));
        double sum_s = 0;
        for (uint32_t start = 1; start <= STARTS; start++) {
            const sim_time now = law_time(1000.0 * start);
            failure_times_renew(&times, now);
            sum_s += sim_time_to_s(times.next - now) / STARTS;
        }
        const double mean = tgamma(1 + 1 / shape);
        const double deviation = sqrt(tgamma(1 + 2 / shape) - mean * mean);
        assert_close(sum_s, 1000 * mean, 4 * deviation / mean / sqrt(STARTS));
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_of_a_law_is_the_one_that_is_said),
        cmocka_unit_test(a_time_without_a_failure_is_as_likely_as_its_law_says),
        cmocka_unit_test(what_lasts_too_long_lasts_as_long_as_can_be_told),
        cmocka_unit_test(what_failed_so_often_is_as_the_others_then),
        cmocka_unit_test(a_clock_of_the_job_begins_anew_with_each_start),
        cmocka_unit_test(what_is_old_fails_as_if_its_age_had_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
