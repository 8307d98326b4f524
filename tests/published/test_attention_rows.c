/* Measured rates of fused attention (attention.csv, with the source of each) against the GPU files
 * of the catalogue: what `fitted` in their sections `attention` claims. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "input/catalogue.h"
#include "measured/attention_fit.h"
#include "support/fixture.h"

#define ROWS "tests/published/attention.csv"

static const struct catalogue here = {.directories = {"."}, .count = 1};

struct bench {
    struct arena *arena;
    struct attention_rows rows;
};

static struct bench open_bench(void)
{
    struct bench bench = {.arena = arena_new()};
    struct diag *diag = diag_new(bench.arena);
    const bool is_read = attention_rows_read(bench.arena, ROWS, &here, &bench.rows, diag);
    diag_print(diag, stderr);
    assert_true(is_read);
    return bench;
}

/* Median and ninetieth percentile of the time's error; a little above what the files' notes say. */
static const struct {
    const char *gpu;
    enum attention_kind kind;
    uint32_t rows;
    double median, p90;
} claims[] = {
    {"a100-sxm4-80gb", ATTENTION_FA1, 24, 0.06, 0.10},
    {"a100-sxm4-80gb", ATTENTION_TRITON, 24, 0.035, 0.105},
    {"a100-sxm4-80gb", ATTENTION_FA2, 24, 0.015, 0.025},
    {"a100-pcie-80gb", ATTENTION_FA2, 24, 0.025, 0.05},
    {"h100-sxm5-80gb", ATTENTION_FA1, 6, 0.03, 0.11},
    {"h100-sxm5-80gb", ATTENTION_FA2, 66, 0.02, 0.05},
    {"h100-sxm5-80gb", ATTENTION_FA3, 42, 0.025, 0.06},
    {"h100-sxm5-80gb", ATTENTION_CUDNN, 42, 0.02, 0.04},
    {"b200-sxm", ATTENTION_FA2, 18, 0.03, 0.13},
    {"b200-sxm", ATTENTION_CUDNN, 38, 0.23, 0.41}, /* not fitted: the GB200's; see its note */
    {"h200-sxm-141gb", ATTENTION_CUDNN, 23, 0.025, 0.045},
    {"gb200-nvl72", ATTENTION_CUDNN, 65, 0.045, 0.085},
    {"gb300-nvl72", ATTENTION_CUDNN, 65, 0.03, 0.075},
    {"h200-sxm-141gb", ATTENTION_CUDNN_FP8, 20, 0.05, 0.13},
    {"b200-sxm", ATTENTION_CUDNN_FP8, 14, 0.02, 0.07},
    {"gb200-nvl72", ATTENTION_CUDNN_FP8, 48, 0.04, 0.11},
    {"gb300-nvl72", ATTENTION_CUDNN_FP8, 48, 0.045, 0.11},
};

static void gpu_files_reproduce_the_rates_they_are_fitted_to(void **state)
{
    (void)state;
    const struct bench bench = open_bench();
    uint32_t scored = 0;
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        const struct gpu gpu = fixture_gpu(bench.arena, claims[i].gpu);
        const struct measured_section section =
            attention_select(bench.arena, &bench.rows, claims[i].gpu, claims[i].kind);
        const struct measured_errors errors =
            attention_errors_of(bench.arena, &gpu, &gpu.attention[claims[i].kind], &section);
        printf("  %-16s %-6s %3u rows: median %4.1f %%, p90 %4.1f %%, worst %+5.1f %% (line %u)\n",
               claims[i].gpu, attention_names[claims[i].kind], errors.count, 100.0 * errors.median,
               100.0 * errors.p90, 100.0 * errors.worst, section.rows[errors.worst_at]->line);
        assert_int_equal(errors.count, claims[i].rows);
        assert_true(errors.median < claims[i].median);
        assert_true(errors.p90 < claims[i].p90);
        scored += errors.count;
    }
    assert_int_equal(scored, bench.rows.count);
    arena_free(bench.arena);
}

/* A fit that starts 40 % off comes back to the rates, and one that starts there stays. */
static void a_fit_finds_the_rates_again(void **state)
{
    (void)state;
    const struct bench bench = open_bench();
    struct diag *diag = diag_new(bench.arena);
    const struct gpu gpu = fixture_gpu(bench.arena, "h100-sxm5-80gb");
    const struct attention_rate *known = &gpu.attention[ATTENTION_FA2];
    struct attention_rate off = *known;
    off.forward.flop_per_s *= 0.6;
    off.backward.flop_per_s *= 0.6;
    struct attention_fit fit;
    const struct measured_section section =
        attention_select(bench.arena, &bench.rows, "h100-sxm5-80gb", ATTENTION_FA2);
    assert_true(attention_fit(bench.arena, &section, &gpu, &off, &fit, diag));
    assert_true(fit.before.median > 0.3);
    assert_true(fit.after.median < 0.02);
    const double found = fit.rate.forward.flop_per_s / known->forward.flop_per_s;
    assert_true(found > 0.97 && found < 1.03);
    assert_true(fit.is_told[ATTENTION_FORWARD]);
    assert_false(fit.is_told[ATTENTION_WIDE_BACKWARD]); /* no row has it */
    arena_free(bench.arena);
}

/* Of 24 rows of a GPU the figures of another answer less well: the rows tell GPUs apart. */
static void the_rates_of_another_gpu_do_not_fit(void **state)
{
    (void)state;
    const struct bench bench = open_bench();
    const struct gpu h100 = fixture_gpu(bench.arena, "h100-sxm5-80gb");
    const struct measured_section section =
        attention_select(bench.arena, &bench.rows, "a100-sxm4-80gb", ATTENTION_FA2);
    const struct measured_errors wrong =
        attention_errors_of(bench.arena, &h100, &h100.attention[ATTENTION_FA2], &section);
    assert_true(wrong.median > 0.3);
    arena_free(bench.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_files_reproduce_the_rates_they_are_fitted_to),
        cmocka_unit_test(a_fit_finds_the_rates_again),
        cmocka_unit_test(the_rates_of_another_gpu_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
