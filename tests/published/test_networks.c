/* The runs of networks.csv, in which the network is slow or varies, predicted with the catalogue as
 * it stands: by source, and the ratio of two networks on the same work.
 *
 * The bounds lie a little above what was measured when they were set. They catch a model that has
 * become worse; they are not what is wanted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "measured/published/published_columns.h"
#include "measured/ratios.h"
#include "measured/score.h"

#define ROWS_MAX 200

struct runs {
    struct arena *arena;
    const struct published_table *table;
    struct validated_row scored[ROWS_MAX];
    uint32_t count, suspect_count;
};

static int predict_all(void **state)
{
    struct arena *arena = arena_new();
    struct runs *runs = arena_alloc(arena, sizeof *runs);
    *runs = (struct runs){.arena = arena};
    static const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    runs->table =
        published_load_runs(arena, "tests/published/networks.csv", &catalogue, diag_new(arena));
    if (runs->table == NULL || runs->table->row_count > ROWS_MAX) {
        return -1;
    }
    const struct validate_request request = {.catalogue = &catalogue};
    const struct validated_row *rows = validate_rows(arena, runs->table, &request);
    for (uint32_t i = 0; i < runs->table->row_count; i++) {
        runs->suspect_count += rows[i].suspect[0] != '\0' ? 1 : 0;
        if (score_is_scored(&rows[i])) {
            runs->scored[runs->count++] = rows[i];
        }
    }
    *state = runs;
    return 0;
}

static int free_all(void **state)
{
    struct runs *runs = *state;
    arena_free(runs->arena);
    return 0;
}

/* 110 rows, of which 40 are suspect: 26 with delays or several sites, 8 with nodes of two kinds, 6
 * that contradict their neighbours. None is skipped. */
static void every_row_is_predicted(void **state)
{
    const struct runs *runs = *state;
    assert_int_equal(runs->table->row_count, 110);
    assert_int_equal(runs->suspect_count, 40);
    assert_int_equal(runs->count, 70);
}

static void each_source_is_met_as_well_as_it_was(void **state)
{
    static const struct {
        const char *source;
        double mean_most;
    } bounds[] = {
        {"DT-FM DeepSpeed PP", 0.13}, {"DT-FM Megatron", 0.19}, {"DT-FM ZeRO-3", 0.13},
        {"IBM FSDP", 0.025},          {"ZeRO++ blog", 0.09},
    };
    const struct runs *runs = *state;
    uint32_t count = 0;
    const struct score_group *groups =
        score_groups(runs->arena, runs->scored, runs->count, SCORE_BY_SOURCE, &count);
    assert_int_equal(count, sizeof bounds / sizeof *bounds);
    for (uint32_t i = 0; i < count; i++) {
        printf("  %s: %u votes, mean %.1f %%, bias %+.1f %%\n", groups[i].name,
               groups[i].score.votes, 100 * groups[i].score.mean, 100 * groups[i].score.bias);
        assert_string_equal(groups[i].name, bounds[i].source);
        assert_true(groups[i].score.mean <= bounds[i].mean_most);
    }
}

/* Rows of IBM that were compiled; the rest were not. */
static bool is_compiled(const struct runs *runs, const struct validated_row *row)
{
    return published_truth(runs->table, row->row, "torch_compile") == PUBLISHED_TRUE;
}

static void fsdp_is_within_eight_per_cent_and_compiled_within_four(void **state)
{
    const struct runs *runs = *state;
    uint32_t count = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct validated_row *row = &runs->scored[i];
        if (strcmp(row->source, "IBM FSDP") == 0) {
            assert_true(fabs(row->error) <= (is_compiled(runs, row) ? 0.04 : 0.08));
            assert_string_equal(row->software, is_compiled(runs, row) ? "fms-fsdp-compiled-2024"
                                                                      : "fms-fsdp-2024");
            count++;
        }
    }
    assert_int_equal(count, 12);
}

/* "for H100s ... there is a 10% gap due to network peeking out" (pytorch.org/blog/
 * maximizing-training): nothing is fitted to it, and it is meant to be 6 to 14 %. Of the rows with
 * two sequences a GPU the step at infinite bandwidth was 6.4 to 9.3 % shorter when this was set.
 * With one sequence each gather has half the compute to hide behind, with 6 or 8 three or four
 * times as much. */
static void nearly_a_tenth_of_the_step_is_the_networks(void **state)
{
    const struct runs *runs = *state;
    static const struct published_override fast[] = {{NULL, "cluster.network=720000 Gbps"},
                                                     {NULL, "cluster.scale_up.bandwidth=90 TB/s"}};
    static const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    uint32_t wanted[ROWS_MAX];
    const struct validated_row *slow[ROWS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct validated_row *row = &runs->scored[i];
        double micro = 0;
        if (strcmp(row->source, "IBM FSDP") == 0 &&
            published_number(runs->table, row->row, "micro_batch", &micro) && micro > 1.5 &&
            micro < 2.5) {
            slow[count] = row;
            wanted[count++] = row->row;
        }
    }
    assert_int_equal(count, 9);
    const struct validate_request request = {.catalogue = &catalogue,
                                             .overrides = fast,
                                             .override_count = 2,
                                             .rows = wanted,
                                             .row_count = count};
    const struct validated_row *rows = validate_rows(runs->arena, runs->table, &request);
    for (uint32_t i = 0; i < count; i++) {
        const double share = 1.0 - rows[i].predicted_s / slow[i]->predicted_s;
        printf("  %s: %.1f %% of the step\n", rows[i].id, 100 * share);
        assert_int_equal(rows[i].refused, 0);
        assert_true(share >= 0.06 && share <= 0.14);
    }
}

/* ZeRO++'s bars: 18B at 2K tokens with four networks (6 pairs), at 1K with two, 91B at 1K and at 2K
 * with two (3 pairs). DT-FM varied the network on equal nodes only in rows that are suspect. */
static void the_ratio_of_two_networks_is_met_as_well_as_it_was(void **state)
{
    const struct runs *runs = *state;
    uint32_t count = 0;
    const struct ratio *ratios =
        ratios_of(runs->arena, runs->scored, runs->count, "inter_node_gbps_per_node", &count);
    const struct ratio_score score = ratios_score(ratios, count);
    printf("  %u pairs: mean %.1f %%, slope %.2f\n", score.pairs, 100 * score.mean, score.slope);
    assert_int_equal(score.pairs, 9);
    assert_true(score.right_sign >= 1.0);
    assert_true(score.mean <= 0.12);
    assert_true(score.slope >= 0.85 && score.slope <= 1.15);
}

/* Half of the last digit of what a row's source printed, as a share of it: ZeRO++'s bars are
 * labelled with whole TFLOP/s, and the steps are worked out from them. */
static double rounding_of(const struct runs *runs, uint32_t row)
{
    double tflops = 0;
    const char *printed = published_text(runs->table, row, "measured_tflops_per_gpu");
    const bool is_whole = strchr(printed, '.') == NULL;
    return published_number(runs->table, row, "measured_tflops_per_gpu", &tflops) && is_whole
               ? 0.5 / tflops
               : 0.0;
}

/* Bars of 14 and 25 TFLOP/s are 13.5 to 14.5 and 24.5 to 25.5: a ratio of 0.529 to 0.592. */
static bool is_met(const struct runs *runs, const struct ratio *ratio)
{
    const double first = rounding_of(runs, ratio->first->row);
    const double second = rounding_of(runs, ratio->second->row);
    const double least = ratio->measured * (1 - first) / (1 + second);
    const double most = ratio->measured * (1 + first) / (1 - second);
    return fabs(ratio->error) <= 0.10 || (ratio->predicted >= least && ratio->predicted <= most);
}

static void pairs_of_networks_are_met_within_ten_per_cent_or_their_rounding(void **state)
{
    const struct runs *runs = *state;
    uint32_t count = 0;
    uint32_t met = 0;
    const struct ratio *ratios =
        ratios_of(runs->arena, runs->scored, runs->count, "inter_node_gbps_per_node", &count);
    for (uint32_t i = 0; i < count; i++) {
        const bool is_good = is_met(runs, &ratios[i]);
        met += is_good ? 1 : 0;
        printf("  %s over %s: %.3f measured, %.3f predicted%s\n", ratios[i].second->id,
               ratios[i].first->id, ratios[i].measured, ratios[i].predicted,
               is_good ? ", met" : "");
    }
    printf("  %u of %u pairs are met\n", met, count);
    assert_true(met >= 3);
}

/* ---- cross-validation by series --------------------------------------------------------- */

/* The one constant that was fitted to slow networks is DeepSpeed's host_per_rank, to ZeRO++'s two
 * models. Each of them is predicted here with what the other one asks for. Nothing was fitted to
 * DT-FM's series, which stand as they are. */
enum { FITTED_SERIES = 2, GRID_US = 4, GRID_US_MAX = 24 };
static const char *const fitted_series[FITTED_SERIES] = {"zeropp-z3-18b", "zeropp-z3-91b"};

static bool is_of(const struct validated_row *row, const char *series)
{
    return strncmp(row->id, series, strlen(series)) == 0;
}

/* The rows of a series with so many microseconds a rank; how many. */
static uint32_t predict_series(const struct runs *runs, const char *series, uint32_t us,
                               const struct validated_row **rows)
{
    static const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    char assignment[64];
    uint32_t wanted[ROWS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        if (is_of(&runs->scored[i], series)) {
            wanted[count++] = runs->scored[i].row;
        }
    }
    (void)snprintf(assignment, sizeof assignment, "software.fsdp.host_per_rank=%u us", us);
    const struct published_override override = {NULL, assignment};
    const struct validate_request request = {.catalogue = &catalogue,
                                             .overrides = &override,
                                             .override_count = 1,
                                             .rows = wanted,
                                             .row_count = count};
    *rows = validate_rows(runs->arena, runs->table, &request);
    return count;
}

/* What a series asks for, of 0, 4, 8 .. 24 us. */
static uint32_t fit_series(const struct runs *runs, const char *series)
{
    uint32_t best = 0;
    double least = HUGE_VAL;
    for (uint32_t us = 0; us <= GRID_US_MAX; us += GRID_US) {
        const struct validated_row *rows = NULL;
        const uint32_t count = predict_series(runs, series, us, &rows);
        const double mean = score_rows(runs->arena, rows, count).mean;
        if (mean < least) {
            least = mean;
            best = us;
        }
    }
    return best;
}

/* Deep pipelines over TCP, Megatron's and DeepSpeed's, whose repeats differ by 20 to 44 %. */
static bool is_deep_pipeline(const struct runs *runs, const struct validated_row *row)
{
    double pp = 0;
    double tp = 0;
    return published_number(runs->table, row->row, "pp", &pp) &&
           published_number(runs->table, row->row, "tp", &tp) && pp >= 8 && tp <= 1;
}

static void slow_networks_by_series_are_within_twelve_per_cent(void **state)
{
    const struct runs *runs = *state;
    struct validated_row slow[ROWS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct validated_row *row = &runs->scored[i];
        if (!is_deep_pipeline(runs, row) && strcmp(row->source, "IBM FSDP") != 0 &&
            strcmp(row->source, "ZeRO++ blog") != 0) {
            slow[count++] = *row;
        }
    }
    for (uint32_t i = 0; i < FITTED_SERIES; i++) {
        const struct validated_row *rows = NULL;
        const uint32_t us = fit_series(runs, fitted_series[FITTED_SERIES - 1 - i]);
        const uint32_t left = predict_series(runs, fitted_series[i], us, &rows);
        const struct score score = score_rows(runs->arena, rows, left);
        printf("  %s: the other asks for %u us, mean %.1f %%\n", fitted_series[i], us,
               100 * score.mean);
        for (uint32_t k = 0; k < left; k++) {
            slow[count++] = rows[k];
        }
    }
    const struct score score = score_rows(runs->arena, slow, count);
    printf("  slow networks: %u votes, mean %.1f %%\n", score.votes, 100 * score.mean);
    assert_int_equal(score.votes, 42);
    assert_true(score.mean <= 0.12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_predicted),
        cmocka_unit_test(each_source_is_met_as_well_as_it_was),
        cmocka_unit_test(fsdp_is_within_eight_per_cent_and_compiled_within_four),
        cmocka_unit_test(nearly_a_tenth_of_the_step_is_the_networks),
        cmocka_unit_test(the_ratio_of_two_networks_is_met_as_well_as_it_was),
        cmocka_unit_test(pairs_of_networks_are_met_within_ten_per_cent_or_their_rounding),
        cmocka_unit_test(slow_networks_by_series_are_within_twelve_per_cent),
    };
    return cmocka_run_group_tests_name("networks", tests, predict_all, free_all);
}
