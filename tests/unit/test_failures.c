/* What breaks: rates in the units of their sources, laws, and the files of the catalogue. */
#include "base/arena.h"
#include "input/scenario_load.h"
#include "support/assert_close.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static const struct catalogue here = {.directories = {"."}, .count = 1};

#define DAY_S 86400.0

static const struct scenario *with(struct arena *arena, const char *run)
{
    const char *const sets[] = {arena_printf(arena, "run={tokens: 1T, %s}", run)};
    const struct fixture_source source = {
        .text = "model: llama2-7b\ncluster: h100-3200\ngpus: 512\nbatch: {global: 512}\n",
        .sets = sets,
        .set_count = 1};
    return fixture_scenario(arena, &source);
}

static struct failure_kind kind_of(struct arena *arena, const char *of, const char *rate)
{
    const struct scenario *scenario =
        with(arena, arena_printf(arena,
                                 "failures: {failures: inline, counts: hardware, classes: "
                                 "[{name: a, of: %s, rate: {%s}}]}",
                                 of, rate));
    assert_int_equal(scenario->failures.kind_count, 1);
    return scenario->failures.kinds[0];
}

/* 148 of 16,384 GPUs in 54 days: 148 / (16384 x 54 x 86400 s) = 1.936e-9 a second and GPU; on 2,048
 * nodes of 8 eight times that. 3.79 per 1000 node-days: 4.387e-8 a second and node. */
static void a_rate_is_one_components(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct {
        const char *of, *rate;
        double per_s;
    } rows[] = {
        {"gpu", "count: 148, gpus: 16384, days: 54", 148.0 / 16384 / 54 / DAY_S},
        {"node", "count: 148, gpus: 16384, gpus_per_node: 8, days: 54", 148.0 / 2048 / 54 / DAY_S},
        {"nic", "count: 7, components: 16384, days: 54", 7.0 / 16384 / 54 / DAY_S},
        {"job", "count: 7, gpus: 16384, days: 54", 7.0 / 54 / DAY_S},
        {"node", "per_1000_node_days: 3.79", 3.79 / 1000 / DAY_S},
        {"gpu", "per_1000_node_days: 3.79, gpus_per_node: 8", 3.79 / 8000 / DAY_S},
        {"gpu", "mttf: 50700 h", 1.0 / 50700 / 3600},
        {"gpu", "mttf: 7.9 h, gpus: 1024", 1.0 / 7.9 / 3600 / 1024},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_close(kind_of(arena, rows[i].of, rows[i].rate).rate_per_s, rows[i].per_s, 1e-12);
    }
    arena_free(arena);
}

/* Faults per second of a component, those that come again included, of the classes whose names
 * begin with one of some letters: of a repair of which a share p did not help come 1 / (1 - p). */
static double faults_per_s(const struct scenario *scenario, const char *letters)
{
    double sum_per_s = 0;
    for (uint32_t i = 0; i < scenario->failures.kind_count; i++) {
        const struct failure_kind *kind = &scenario->failures.kinds[i];
        if (strchr(letters, kind->name[0]) != NULL) {
            sum_per_s += kind->rate_per_s / (1 - kind->returns_bad);
        }
    }
    return sum_per_s;
}

/* One trace, told twice: with the faults that repairs did not mend apart there are as many. By
 * hand, of GPUs: 125.3 / (1 - 0.207) = 158.0 in 348 days of 400 nodes. */
static void a_trace_has_as_many_faults_with_relapses_as_without(void **state)
{
    (void)state;
    static const char *const letters[] = {"g", "n", "f", "p", "uo"};
    struct arena *arena = arena_new();
    const struct scenario *whole = with(arena, "failures: infinitehbd-2023");
    const struct scenario *apart = with(arena, "failures: infinitehbd-2023-relapses");
    assert_close(faults_per_s(apart, "g"), 158 / (400 * 348 * DAY_S), 1e-3);
    assert_close(faults_per_s(apart, "gnfpuocmb"), faults_per_s(whole, "gnfpuocmb"), 2e-3);
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        assert_close(faults_per_s(apart, letters[i]), faults_per_s(whole, letters[i]), 5e-3);
    }
    assert_close(apart->failures.kinds[0].fails_again.mean_s, 8.07 * DAY_S, 1e-12);
    arena_free(arena);
}

/* Mean 5.5 and median 0.85 days: the mean of exp(mu + s z) is its median times exp(s^2 / 2), so
 * s = sqrt(2 ln(5.5 / 0.85)) = 1.932494. */
static void a_median_stands_for_a_shape(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        with(arena, "failures: infinitehbd-2023, recovery: {restart: {mean: 2 min, law: "
                    "exponential}, detection: {hang: 30 min}}");
    const struct failure_kind *other = &scenario->failures.kinds[scenario->failures.kind_count - 1];
    assert_string_equal(other->name, "other");
    assert_int_equal(other->repair.kind, LAW_LOGNORMAL);
    assert_close(other->repair.mean_s, 5.5 * DAY_S, 1e-12);
    assert_close(other->repair.shape, 1.932494, 1e-6);
    assert_int_equal(scenario->recovery.restart.kind, LAW_EXPONENTIAL);
    assert_close(scenario->recovery.restart.mean_s, 120.0, 1e-12);
    assert_close(scenario->recovery.detection[DETECTED_HANG].mean_s, 1800.0, 1e-12);
    assert_close(scenario->recovery.detection[DETECTED_CRASH].mean_s, 60.0, 1e-12);
    arena_free(arena);
}

/* The table's causes add up to its 419 interruptions of 54 days, whatever they grow with. */
static void causes_of_llama3_add_up(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const double components[FAILURE_COMPONENT_COUNT_] = {
        [FAILURE_OF_GPU] = 16384, [FAILURE_OF_NODE] = 2048, [FAILURE_OF_NIC] = 16384};
    const struct scenario *scenario = with(arena, "failures: true");
    double sum = 0;
    for (uint32_t i = 0; i < scenario->failures.kind_count; i++) {
        const struct failure_kind *kind = &scenario->failures.kinds[i];
        sum += kind->rate_per_s * components[kind->of] * 54 * DAY_S;
    }
    assert_string_equal(scenario->failures.name, FAILURES_DEFAULT);
    assert_close(sum, 419.0, 1e-9);
    arena_free(arena);
}

/* 64 nodes: 5 % are 3.2, so 4. */
static void spares_are_a_share_or_a_number(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_int_equal(with(arena, "failures: true")->recovery.spares, 4);
    assert_int_equal(with(arena, "failures: true, recovery: {spares: 0}")->recovery.spares, 0);
    assert_int_equal(with(arena, "failures: true, recovery: {spares: 10 %}")->recovery.spares, 7);
    arena_free(arena);
}

/* Where the catalogue is read by name, every file of it is sound, and its keys are. */
static void every_file_can_be_read(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    uint32_t count = 0;
    const char **names =
        catalogue_list(arena, &here, catalogue_folders[CATALOGUE_FAILURES], &count);
    assert_true(count >= 5);
    for (uint32_t i = 0; i < count; i++) {
        const struct scenario *scenario =
            with(arena, arena_printf(arena, "failures: %s", names[i]));
        assert_string_equal(scenario->failures.name, names[i]);
        for (uint32_t k = 0; k < scenario->failures.kind_count; k++) {
            assert_true(scenario->failures.kinds[k].rate_per_s > 0);
        }
    }
    assert_null(schema_fault(arena, &failures_schema));
    assert_null(schema_fault(arena, &failure_kind_keys));
    assert_null(schema_fault(arena, &law_keys));
    arena_free(arena);
}

/* The same of nodes on spot; by hand: 330 in 17.8 days of 4 are 82.5 / 17.8 a node and day, 1,200
 * in 1,000 days 1.2. What recovers from them is read where no failure is. */
static void nodes_on_spot_can_be_read(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    uint32_t count = 0;
    const char **names = catalogue_list(arena, &here, catalogue_folders[CATALOGUE_SPOT], &count);
    assert_true(count >= 4);
    for (uint32_t i = 0; i < count; i++) {
        const struct spot_plan *spot =
            &with(arena, arena_printf(arena, "spot: %s", names[i]))->spot;
        assert_string_equal(spot->name, names[i]);
        assert_true(spot->rate_per_s > 0 && spot->notice_s >= 30 && spot->back.mean_s > 0);
        assert_true(spot->together >= 1 && !spot->back_together);
    }
    const struct scenario *counted = with(
        arena, "spot: {notice: 0 s, rate: {count: 330, components: 4, days: 17.8}, back: 1 h}");
    const struct scenario *often =
        with(arena, "spot: {notice: 0 s, rate: {per_1000_node_days: 1200}, together: 2.5, back: "
                    "1 h, back_together: true}, recovery: {spares: 2, on_notice: nothing}");
    assert_close(counted->spot.rate_per_s * DAY_S, 82.5 / 17.8, 1e-12);
    assert_close(often->spot.rate_per_s * DAY_S, 1.2, 1e-12);
    assert_true(often->spot.together == 2.5 && often->spot.back_together);
    assert_int_equal(often->recovery.on_notice, NOTICE_NOTHING);
    assert_int_equal(often->recovery.spares, 2);
    assert_null(with(arena, "spot: false")->spot.name);
    assert_null(schema_fault(arena, &spot_schema));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_is_one_components),
        cmocka_unit_test(a_median_stands_for_a_shape),
        cmocka_unit_test(a_trace_has_as_many_faults_with_relapses_as_without),
        cmocka_unit_test(causes_of_llama3_add_up),
        cmocka_unit_test(spares_are_a_share_or_a_number),
        cmocka_unit_test(every_file_can_be_read),
        cmocka_unit_test(nodes_on_spot_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
