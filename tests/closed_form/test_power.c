/* What a site draws over a step, against the accounts of the same step and sums by hand. */
#include "run/power_trace.h"

#include "base/arena.h"
#include "input/network/site_power.h"
#include "input/scenario.h"
#include "run/money.h"
#include "train/step.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/fixture.h"

enum { SETS_MAX = 6 };

static struct scenario *quickstart(struct arena *arena, const char *const sets[SETS_MAX])
{
    return fixture_file(arena, "scenarios/quickstart.yaml", sets);
}

/* Of 8 GPUs of 700 W all work: 1.25 x (8 x 560 + 2,000) = 8,100 W; none: 1.25 x (8 x 140 + 2,000) =
 * 3,900 W; two of them a quarter of the way. */
static void a_site_draws_what_its_gpus_do(void **state)
{
    (void)state;
    const struct scenario scenario = {
        .gpus = 8,
        .nodes = 1,
        .gpu = {.tdp_w = 700, .busy_power_fraction = 0.8, .idle_power_fraction = 0.2},
        .cluster = {.host_power_w = 2000, .nodes_per_leaf = 1, .oversubscription = 1},
        .price = {.pue = 1.25}};
    assert_close(power_trace_site_w(&scenario, 8), 8100, 1e-12);
    assert_close(power_trace_site_w(&scenario, 0), 3900, 1e-12);
    assert_close(power_trace_site_w(&scenario, 2), 3900 + 4200 / 4.0, 1e-12);
}

/* Of whole bins, from each to the next. */
static void assert_steepest(const struct power_trace *trace)
{
    double rise_w = 0;
    double fall_w = 0;
    for (uint32_t bin = 0; bin + 1 < trace->whole; bin++) {
        const double more_w = trace->power_w[bin + 1] - trace->power_w[bin];
        rise_w = more_w > rise_w ? more_w : rise_w;
        fall_w = -more_w > fall_w ? -more_w : fall_w;
    }
    assert_close(trace->rise_w, rise_w, 1e-12);
    assert_close(trace->fall_w, fall_w, 1e-12);
}

/* Kernels work as long as the step's accounts say, folded or not, and the mean of the bins, each
 * by its width, is the mean of the step. Power lies between all wait and all work, and reaches
 * neither beyond; from one bin to the next no more than from the least to the most. Where all GPUs
 * begin to compute after 1 ms, the steepest rise is that to the second bin. */
static void a_trace_holds_the_work_of_the_accounts(void **state)
{
    static const char *const sets[][SETS_MAX] = {
        {"data=off"},
        {"data=off", "parallel.pp=4", "parallel.tp=1"},
        {"data=off", "parallel.zero=3"},
        {"data=off", "software.host.per_step=1 ms", "gpus=8", "parallel.tp=8", "batch.global=1"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const struct scenario *scenario = quickstart(*state, sets[i]);
        struct step_result step;
        step_simulate(*state, scenario, &(struct step_request){.folds = true}, &step);
        const double worked_ns =
            (double)(step.gpu_ns[CAUSE_COMPUTE] + step.gpu_ns[CAUSE_RECOMPUTE] +
                     step.gpu_ns[CAUSE_OPTIMIZER] + step.gpu_ns[CAUSE_INTERFERENCE]);
        struct power_trace folded, whole;
        power_trace_simulate(*state, scenario, true, &step, &folded);
        power_trace_simulate(*state, scenario, false, &step, &whole);
        assert_true(step.jitter_ns > 0);
        assert_int_equal(folded.end, step.step_ns);
        assert_close(folded.mean_w, power_trace_site_w(scenario, worked_ns / (double)step.step_ns),
                     1e-3);
        const double gpus = (double)scenario->gpus;
        assert_close(folded.working * gpus * (double)folded.end, worked_ns, 1.5e-3);
        assert_int_equal(folded.end, whole.end);
        assert_int_equal(folded.count, whole.count);
        assert_int_equal(folded.bin_ns, 1000000);
        assert_int_equal(folded.count, (folded.end + 999999) / 1000000);
        double sum = 0;
        for (uint32_t bin = 0; bin < folded.count; bin++) {
            assert_close(folded.power_w[bin], whole.power_w[bin], 1e-9);
            const int64_t left = folded.end - bin * folded.bin_ns;
            sum += folded.power_w[bin] * (double)(left < folded.bin_ns ? left : folded.bin_ns);
        }
        assert_close(sum / (double)folded.end, folded.mean_w, 1e-9);
        assert_true(folded.least_w >= power_trace_site_w(scenario, 0) * (1 - 1e-12));
        assert_true(folded.most_w <= power_trace_site_w(scenario, gpus) * (1 + 1e-12));
        assert_true(folded.least_w < folded.mean_w && folded.mean_w < folded.most_w);
        assert_true(folded.rise_w > 0 && folded.rise_w <= folded.most_w - folded.least_w);
        assert_steepest(&folded);
    }
}

/* Bins of 1 ms with 3, 4, 8, 5, 1 kW, then 3 again, of the next step. From one to the next at most
 * 4 (4 to 8, 5 to 1); within 2 ms 7 (8 to 1); within 3 ms no more, and within a whole step neither.
 * Of less than a bin there is nothing; a last bin that is not whole is none. */
static void ramps_go_over_the_end_of_a_step(void **state)
{
    (void)state;
    double power_w[] = {3000, 4000, 8000, 5000, 1000};
    double rest_w[] = {1000, 1000, 5000, 5000};
    const struct power_trace trace = {
        .bin_ns = 1000000, .count = 5, .whole = 5, .power_w = power_w};
    const struct power_trace rest = {.bin_ns = 1000000, .count = 4, .whole = 4, .power_w = rest_w};
    const struct power_trace part = {.bin_ns = 1000000, .count = 5, .whole = 4, .power_w = power_w};
    const double expected_w[] = {0, 4000, 7000, 7000, 7000, 7000};
    for (int64_t ms = 0; ms < 6; ms++) {
        assert_close(power_trace_ramp_w(&trace, ms * 1000000), expected_w[ms], 1e-12);
    }
    assert_close(power_trace_ramp_w(&part, 2000000), 5000, 1e-12); /* 3 to 8, two bins apart */
    assert_close(power_trace_ramp_w(&rest, 1000000), 4000, 1e-12);
    rest_w[1] = 3000; /* 1, 3, 5, 5: rises of 2, and 4 where the next step begins */
    assert_close(power_trace_ramp_w(&rest, 1000000), 4000, 1e-12);
}

/* At a thousandth of its compute a step is hundreds of times longer: bins double until they fit,
 * and hold the same work. */
static void a_long_step_has_wider_bins(void **state)
{
    static const char *const sets[SETS_MAX] = {"data=off", "gpu.peak.bf16=5 TFLOP/s"};
    const struct scenario *scenario = quickstart(*state, sets);
    struct step_result step;
    step_simulate(*state, scenario, &(struct step_request){.folds = true}, &step);
    struct power_trace trace;
    power_trace_simulate(*state, scenario, true, &step, &trace);
    assert_true(trace.end > INT64_C(2) * POWER_TRACE_BINS_MAX * 1000000);
    assert_true(trace.bin_ns > 1000000 && trace.bin_ns % 1000000 == 0);
    assert_true(trace.count <= 2 * POWER_TRACE_BINS_MAX && trace.count > POWER_TRACE_BINS_MAX / 2);
    const double worked_ns =
        (double)(step.gpu_ns[CAUSE_COMPUTE] + step.gpu_ns[CAUSE_RECOMPUTE] +
                 step.gpu_ns[CAUSE_OPTIMIZER] + step.gpu_ns[CAUSE_INTERFERENCE]);
    assert_close(trace.working * (double)scenario->gpus * (double)trace.end, worked_ns, 1e-3);
}

/* Quickstart: 64 H100 of 700 W, a quarter of it idle, 8 nodes. A cap of 0.8 of what the site draws
 * where all compute at 700 W is the same as one of what that leaves to a GPU, worked out here, and
 * what the site draws when all of them compute; no bin of the step is above it. A large product
 * takes ((700 - idle) / (cap - idle)) ^ 0.55 as long, so that the step is longer by no more than
 * that, and by most of it, as most of it is products and attention. */
static void a_step_under_a_cap_of_power_is_as_much_longer(void **state)
{
    static const char *const none[SETS_MAX] = {"data=off"};
    const struct scenario *scenario = quickstart(*state, none);
    const struct gpu *gpu = &scenario->gpu;
    const double gpus = (double)scenario->gpus;
    const double beside_w = site_power_of(&scenario->cluster, scenario->nodes, NULL).beside_gpus_w;
    const double site_w = 0.8 * scenario->price.pue * (gpus * gpu->tdp_w + beside_w);
    const double gpu_w = (site_w / scenario->price.pue - beside_w) / gpus;
    const double idle_w = gpu->tdp_w * gpu->idle_power_fraction;
    const double longer = pow((gpu->tdp_w - idle_w) / (gpu_w - idle_w), gpu->power_exponent);
    const char *const by_site[SETS_MAX] = {"data=off",
                                           arena_printf(*state, "power_cap.site=%.17g W", site_w)};
    const char *const by_gpu[SETS_MAX] = {"data=off",
                                          arena_printf(*state, "power_cap.gpu=%.17g W", gpu_w)};
    const struct scenario *capped = quickstart(*state, by_site);
    assert_close(capped->gpu.power_cap_w, gpu_w, 1e-12);
    assert_close(power_trace_site_w(capped, gpus), site_w, 1e-12);
    struct step_result free_step, site_step, gpu_step;
    step_simulate(*state, scenario, &(struct step_request){.folds = true}, &free_step);
    step_simulate(*state, capped, &(struct step_request){.folds = true}, &site_step);
    step_simulate(*state, quickstart(*state, by_gpu), &(struct step_request){.folds = true},
                  &gpu_step);
    assert_close((double)site_step.step_ns, (double)gpu_step.step_ns, 1e-9);
    const double ratio = (double)site_step.step_ns / (double)free_step.step_ns;
    assert_true(longer > 1.1);
    assert_true(ratio <= longer * (1 + 1e-9) && ratio - 1 > 0.6 * (longer - 1));
    struct power_trace trace;
    power_trace_simulate(*state, capped, true, &site_step, &trace);
    assert_close(trace.cap_w, site_w, 1e-12);
    assert_true(trace.most_w <= site_w * (1 + 1e-12));
}

/* 700 W is what an H100 may draw anyhow. */
static void a_cap_above_tdp_changes_nothing(void **state)
{
    static const char *const none[SETS_MAX] = {"data=off"};
    static const char *const high[SETS_MAX] = {"data=off", "power_cap.gpu=700 W"};
    struct step_result free_step, capped_step;
    step_simulate(*state, quickstart(*state, none), &(struct step_request){.folds = true},
                  &free_step);
    step_simulate(*state, quickstart(*state, high), &(struct step_request){.folds = true},
                  &capped_step);
    assert_int_equal(free_step.step_ns, capped_step.step_ns);
}

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_site_draws_what_its_gpus_do),
        TEST(a_trace_holds_the_work_of_the_accounts),
        cmocka_unit_test(ramps_go_over_the_end_of_a_step),
        TEST(a_long_step_has_wider_bins),
        TEST(a_step_under_a_cap_of_power_is_as_much_longer),
        TEST(a_cap_above_tdp_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
