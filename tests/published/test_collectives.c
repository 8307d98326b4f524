/* The price of collectives against measured curves: 43 that constants were fitted to (fewer
 * than 30, each of a GPU architecture and a kind of link), and single points that none was.
 * Prints the error of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <gsl/gsl_errno.h>

#include "base/arena.h"
#include "hw/fabric.h"
#include "measured/calibrate.h"
#include "bands/quantile.h"
#include "support/collective_law.h"

#define FITTED "tests/published/collectives.yaml"
#define HELD_OUT "tests/published/collectives-held-out.yaml"

enum { CURVES_MAX = 100 };
static const double MIB_64 = 67108864.0;
static const struct catalogue here = {.directories = {"."}, .count = 1};

struct bench {
    struct arena *arena;
    struct library *library;
    struct measurement_list list;
    struct curve *curves;
};

static struct bench open_bench(const char *path)
{
    struct bench bench = {.arena = arena_new()};
    struct diag *diag = diag_new(bench.arena);
    struct assumptions assumptions;
    assumptions_init(&assumptions, bench.arena);
    bench.library = arena_alloc(bench.arena, sizeof *bench.library);
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = "nccl-2026"};
    const struct doc_node *node = library_open(bench.arena, &here, &reference, diag);
    const bool is_read = node != NULL && library_read(node, bench.library, &assumptions, diag) &&
                         measurement_read_file(bench.arena, path, &bench.list, diag);
    const struct curves_setting setting = {bench.arena, &here, bench.library, NULL};
    bench.curves = is_read ? curves_open(&setting, &bench.list, diag) : NULL;
    diag_print(diag, stderr);
    assert_non_null(bench.curves);
    assert_true(bench.list.count <= CURVES_MAX);
    return bench;
}

/* Prints each curve; the median over curves of their median errors. */
static double median_of_curves(const struct bench *bench, double bytes_min, uint32_t *scored)
{
    double medians[CURVES_MAX];
    *scored = 0;
    for (uint32_t i = 0; i < bench->list.count; i++) {
        if (bench->curves[i].skipped != NULL) {
            printf("  %-28s skipped: %s\n", bench->list.items[i].id, bench->curves[i].skipped);
            continue;
        }
        const struct curve_errors errors =
            curve_errors_of(bench->arena, &bench->curves[i], bench->library, bytes_min);
        if (errors.count == 0) {
            continue;
        }
        printf("  %-28s %2u points, median error %5.1f %%, worst %+6.0f %%\n",
               bench->list.items[i].id, errors.count, 100.0 * errors.median, 100.0 * errors.worst);
        medians[(*scored)++] = errors.median;
    }
    const double median = quantile_of(medians, *scored, 0.5);
    const struct curve_errors all =
        curves_errors_of(bench->arena, bench->curves, bench->list.count, bench->library, bytes_min);
    printf("  from %.0f B: %u curves, median %.1f %%; %u points, median %.1f %%, p90 %.1f %%\n",
           bytes_min, *scored, 100.0 * median, all.count, 100.0 * all.median, 100.0 * all.p90);
    return median;
}

static void the_curves_are_met_within_15_percent_and_large_buffers_within_8(void **state)
{
    /* Targets: 15 % over all sizes, 8 % from 64 MiB. Reached in November 2026: 5.1 and 2.6 %;
     * the bounds asserted lie a little above, so that a loss shows. NCCL's own constants
     * without the fitted ones give 20.1 and 9.1 %. One curve says no hardware. */
    (void)state;
    const struct bench bench = open_bench(FITTED);
    uint32_t scored = 0;
    assert_true(median_of_curves(&bench, 0.0, &scored) < 0.06);
    assert_int_equal(bench.list.count, 43);
    assert_int_equal(scored, 42);
    assert_true(median_of_curves(&bench, MIB_64, &scored) < 0.035);
    arena_free(bench.arena);
}

static void no_curve_is_off_by_a_third_from_64_mib_on(void **state)
{
    /* The worst is 1,440 GB200 over twenty racks, 28 %, whose algorithm is not known. */
    (void)state;
    const struct bench bench = open_bench(FITTED);
    for (uint32_t i = 0; i < bench.list.count; i++) {
        if (bench.curves[i].skipped == NULL) {
            const struct curve_errors errors =
                curve_errors_of(bench.arena, &bench.curves[i], bench.library, MIB_64);
            assert_true(errors.median < 0.33);
        }
    }
    arena_free(bench.arena);
}

static void points_that_nothing_was_fitted_to_are_met_within_8_percent(void **state)
{
    /* Single points, 64 MiB to 16 GiB: NVLS by number of GPUs, rings, two to four nodes. */
    (void)state;
    const struct bench bench = open_bench(HELD_OUT);
    uint32_t scored = 0;
    assert_true(median_of_curves(&bench, 0.0, &scored) < 0.08);
    arena_free(bench.arena);
}

static void the_library_takes_nvls_where_it_was_seen_to(void **state)
{
    /* H200: ring with 4 GPUs of a node, NVLS with 5 and more; an all-gather and a
     * reduce-scatter of 16 GiB by ring (ml-engineering, network). */
    (void)state;
    static const struct {
        const char *id;
        enum collective_algorithm algorithm;
    } seen[] = {{"h200-4-of-8", ALGORITHM_RING},       {"h200-5-of-8", ALGORITHM_NVLS},
                {"h200-8-of-8", ALGORITHM_NVLS},       {"b200-4-of-8", ALGORITHM_RING},
                {"b200-6-of-8", ALGORITHM_NVLS},       {"b200-8-of-8", ALGORITHM_NVLS},
                {"h200-8-all-gather", ALGORITHM_RING}, {"h200-8-reduce-scatter", ALGORITHM_RING}};
    const struct bench bench = open_bench(HELD_OUT);
    uint32_t found = 0;
    for (uint32_t i = 0; i < bench.list.count; i++) {
        for (size_t k = 0; k < sizeof seen / sizeof *seen; k++) {
            if (strcmp(bench.list.items[i].id, seen[k].id) == 0) {
                struct transfer_quote quote;
                curve_predict(&bench.curves[i], bench.library, bench.list.items[i].points[0].bytes,
                              &quote);
                assert_int_equal(quote.algorithm, seen[k].algorithm);
                found++;
            }
        }
    }
    assert_int_equal(found, sizeof seen / sizeof *seen);
    arena_free(bench.arena);
}

static void a_library_fitted_to_the_curves_keeps_the_law_of_bandwidth(void **state)
{
    /* Two nodes of H100 reach more than a ring over their NICs can carry (they ran something else,
     * which the curves do not say): taken as a ring of 1.35 times its links, 16 GiB took 82 ms with
     * 300 Gbps NICs and 90 ms with 400. */
    (void)state;
    static const struct {
        const char *cluster;
        uint32_t gpus;
    } where[] = {{"h100-3200", 8},       {"h100-3200", 16}, {"h100-3200", 64},
                 {"a100-80gb-1600", 16}, {"b200-3200", 32}, {"gb200-nvl72", 144}};
    gsl_set_error_handler_off();
    const struct bench bench = open_bench(FITTED);
    struct diag *diag = diag_new(bench.arena);
    struct calibration calibration;
    assert_true(
        calibrate(bench.arena, bench.curves, bench.list.count, bench.library, &calibration, diag));
    for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
        struct measurement_list list = {0};
        struct measurement *measurement = measurement_add(bench.arena, &list);
        *measurement = (struct measurement){.id = where[i].cluster,
                                            .operation = "all-reduce",
                                            .cluster = where[i].cluster,
                                            .gpus = 2,
                                            .nodes = 1};
        const struct curves_setting setting = {bench.arena, &here, calibration.library, NULL};
        const struct curve *curve = curves_open(&setting, &list, diag);
        assert_non_null(curve);
        const struct gpu gpu = {.architecture = curve->setting.architecture,
                                .host_link_bytes_per_s = 64e9};
        const struct collective_law law = {where[i].cluster,
                                           curve->setting.fabric->cluster,
                                           &gpu,
                                           calibration.library,
                                           where[i].gpus,
                                           1};
        assert_int_equal(collective_law_check(&law).broken, 0);
    }
    arena_free(bench.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_curves_are_met_within_15_percent_and_large_buffers_within_8),
        cmocka_unit_test(no_curve_is_off_by_a_third_from_64_mib_on),
        cmocka_unit_test(points_that_nothing_was_fitted_to_are_met_within_8_percent),
        cmocka_unit_test(the_library_takes_nvls_where_it_was_seen_to),
        cmocka_unit_test(a_library_fitted_to_the_curves_keeps_the_law_of_bandwidth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
