/* Measured products (tests/published/gemm.csv) against the GPU files of the catalogue and against
 * `stoker calibrate gemm`: what `fitted` in the files claims, and what a fit is worth on shapes
 * that it has not seen. Bounds are a little above what was measured. */
#include "measured/kernel_fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "support/assert_close.h"

static const struct catalogue here = {.directories = {"."}, .count = 1};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct gemm_rows load(struct arena *arena, const char *path)
{
    struct diag *diag = diag_new(arena);
    struct gemm_rows rows = {0};
    const bool is_read = gemm_rows_read(arena, path, &here, &rows, diag);
    diag_print(diag, stderr);
    assert_true(is_read);
    return rows;
}

static const struct gpu *gpu_of(const struct gemm_rows *rows, const char *name)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        if (strcmp(rows->rows[i].of.gpu_name, name) == 0) {
            return rows->rows[i].of.gpu;
        }
    }
    fail();
    return NULL;
}

/* Measured today: A100 PCIe 1.2 % and 8.3 %, H100 of 500 W 2.6 % and 6.7 %, and so on. Shapes alone
 * of fp8 would be met two points better: the energy of a FLOP is shared by GPUs of a chip, and
 * training steps have a say. */
static void gpu_files_reproduce_the_measured_products(void **state)
{
    (void)state;
    /* One B200 is slower and one B300 faster than power gives both; neither is fitted to. Nor is
     * the GB200's table in 4 bits, whose long products sustain 0.76 of the peak where its own in 8
     * bits do 0.58 and three tables of the B200 0.58 to 0.61. */
    static const struct {
        const char *gpu;
        enum precision section;
        uint32_t rows;
        double median, p90;
    } cases[] = {
        {"a100-pcie-80gb", PRECISION_BF16, 184, 0.014, 0.09},
        {"a100-sxm4-80gb", PRECISION_BF16, 9, 0.05, 0.175},
        {"b200-sxm", PRECISION_BF16, 515, 0.205, 0.295},
        {"h100-sxm5-80gb", PRECISION_BF16, 3, 0.06, 0.07},
        {"h100-sxm5-80gb", PRECISION_FP8, 12, 0.065, 0.12},
        {"h200-sxm-141gb", PRECISION_FP8, 10, 0.075, 0.18},
        {"h800-sxm5-80gb", PRECISION_FP8, 28, 0.035, 0.2},
        {"gb200-nvl72", PRECISION_FP8, 10, 0.08, 0.185},
        {"gb200-nvl72", PRECISION_NVFP4, 6, 0.27, 0.36},
        {"b300-sxm", PRECISION_BF16, 3, 0.25, 0.31},
        {"h100-96gb-hbm2e", PRECISION_BF16, 3, 0.035, 0.075},
        {"h100-96gb-hbm2e", PRECISION_FP8, 3, 0.045, 0.07},
    };
    struct arena *arena = arena_new();
    const struct gemm_rows rows = load(arena, "tests/published/gemm.csv");
    assert_int_equal(rows.count, 795);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct gpu *gpu = gpu_of(&rows, cases[i].gpu);
        const struct measured_section section =
            gemm_select(arena, &rows, cases[i].gpu, cases[i].section);
        const struct measured_errors errors =
            gemm_errors_of(arena, &section, gpu, gemm_warm_s(), -1);
        print_message("%s %s: median %.1f %%, p90 %.1f %%\n", cases[i].gpu,
                      precision_names[cases[i].section], 100.0 * errors.median, 100.0 * errors.p90);
        assert_int_equal(errors.count, cases[i].rows);
        assert_true(errors.median <= cases[i].median);
        assert_true(errors.p90 <= cases[i].p90);
    }
    arena_free(arena);
}

/* Forward, input gradient and weight gradient of the A100 each by themselves. */
static void every_layout_is_reproduced_as_well(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct gemm_rows rows = load(arena, "tests/published/gemm.csv");
    const struct gpu *gpu = gpu_of(&rows, "a100-pcie-80gb");
    const struct measured_section section =
        gemm_select(arena, &rows, "a100-pcie-80gb", PRECISION_BF16);
    for (int pass = GEMM_FORWARD; pass <= GEMM_WGRAD; pass++) {
        const struct measured_errors errors =
            gemm_errors_of(arena, &section, gpu, gemm_warm_s(), pass);
        print_message("layout %d: median %.1f %%, bias %+.1f %%\n", pass, 100.0 * errors.median,
                      100.0 * errors.bias);
        assert_true(errors.count >= 61);
        assert_true(errors.median <= 0.016);
        assert_true(fabs(errors.bias) <= 0.015);
    }
    arena_free(arena);
}

/* Fitted to every other product (three passes of a matrix stay together), scored on the rest. */
static double held_out_median(struct arena *arena, const struct gemm_rows *rows, const char *name)
{
    struct gemm_rows halves[2];
    for (uint32_t half = 0; half < 2; half++) {
        halves[half].rows = arena_array(arena, rows->count, sizeof *rows->rows);
        halves[half].count = 0;
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        struct gemm_rows *half = &halves[i / 3 % 2];
        if (strcmp(rows->rows[i].of.gpu_name, name) == 0) {
            half->rows[half->count++] = rows->rows[i];
        }
    }
    double sum = 0.0;
    for (uint32_t half = 0; half < 2; half++) {
        const struct gemm_fits fits = gemm_fit_all(arena, &halves[half]);
        const struct gemm_fit *fit = &fits.fits[0];
        const struct measured_section other =
            gemm_select(arena, &halves[1 - half], name, PRECISION_BF16);
        const struct measured_errors errors =
            gemm_errors_of(arena, &other, fit->after, fit->value[GEMM_WARM], -1);
        sum += errors.median / 2.0;
    }
    return sum;
}

/* Measured: 1.3 % on the A100, 5.3 % on the B200. */
static void shapes_that_a_fit_has_not_seen_are_predicted_as_well(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct gemm_rows rows = load(arena, "tests/published/gemm.csv");
    const double a100 = held_out_median(arena, &rows, "a100-pcie-80gb");
    const double b200 = held_out_median(arena, &rows, "b200-sxm");
    print_message("held out: A100 %.2f %%, B200 %.2f %%\n", 100.0 * a100, 100.0 * b200);
    assert_true(a100 <= 0.017);
    assert_true(b200 <= 0.06);
    arena_free(arena);
}

/* Times made with an invented GPU's constants give these constants back. */
static void a_fit_finds_the_constants_that_made_the_times(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct gemm_rows rows = load(arena, "tests/published/gemm.csv");
    struct gpu truth = *gpu_of(&rows, "a100-pcie-80gb");
    truth.gemm_efficiency = 0.74;
    truth.gemm_sustained = 0.68;
    truth.gemm_k_half = 250.0;
    truth.gemm_wgrad_loss = 0.10;
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows.count; i++) {
        struct gemm_row row = rows.rows[i];
        if (strcmp(row.of.gpu_name, "a100-pcie-80gb") == 0) {
            for (uint32_t again = 0; again < 50; again++) { /* warm depends on the time itself */
                row.measured_s = gemm_row_predict(&truth, &row, gemm_warm_s());
            }
            rows.rows[count++] = row;
        }
    }
    rows.count = count;
    const struct gemm_fits fits = gemm_fit_all(arena, &rows);
    assert_int_equal(fits.count, 1);
    assert_close(fits.fits[0].value[GEMM_EFFICIENCY], 0.74, 0.01);
    assert_close(fits.fits[0].value[GEMM_SUSTAINED], 0.68, 0.01);
    assert_close(fits.fits[0].value[GEMM_K_HALF], 250.0, 0.05);
    assert_close(fits.fits[0].value[GEMM_WGRAD_LOSS], 0.10, 0.05);
    assert_true(fits.fits[0].errors_after.p90 < 0.01);
    arena_free(arena);
}

/* SimuMax's grouped products (tests/published/gemm-grouped.csv) are one launch for each expert: on
 * the B200 a host that needs 9 us for each explains the smallest ones. As one launch, which is what
 * the model takes, the 36 input gradients come out 25 % or more too fast; DeepGEMM's, which are one
 * launch (test_gemm_rates), do not. This test says so until the launches are modelled. */
static void launches_for_each_expert_are_not_in_the_products(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct gemm_rows rows = load(arena, "tests/published/gemm-grouped.csv");
    const struct gpu *gpu = gpu_of(&rows, "b200-sxm");
    const double host_s = 9e-6;
    double joint = 0.0;
    double launched = 0.0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows.count; i++) {
        const struct gemm_row *row = &rows.rows[i];
        if (row->of.gpu != gpu || row->pass == GEMM_WGRAD) {
            continue;
        }
        const double time_s = gemm_row_predict(gpu, row, gemm_warm_s());
        joint += fabs(time_s / row->measured_s - 1.0);
        launched += fabs(fmax(time_s, host_s * (double)row->size.count) / row->measured_s - 1.0);
        count++;
    }
    print_message("grouped: %u, mean error %.1f %%, with launches %.1f %%\n", count,
                  100.0 * joint / count, 100.0 * launched / count);
    assert_int_equal(count, 72);
    assert_true(launched < 0.75 * joint);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_files_reproduce_the_measured_products),
        cmocka_unit_test(every_layout_is_reproduced_as_well),
        cmocka_unit_test(shapes_that_a_fit_has_not_seen_are_predicted_as_well),
        cmocka_unit_test(a_fit_finds_the_constants_that_made_the_times),
        cmocka_unit_test(launches_for_each_expert_are_not_in_the_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
