/* The scores of measured/score, redone by hand. */
#include "measured/score.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/absent.h"
#include "base/arena.h"
#include "support/assert_close.h"

/* A row of which only the score's inputs matter. */
static struct validated_row row_of(uint32_t row, const char *source, const char *key, double error)
{
    return (struct validated_row){.row = row,
                                  .status = ROW_OK,
                                  .id = key,
                                  .config_key = key,
                                  .source = source,
                                  .framework = "megatron",
                                  .framework_year = "2024",
                                  .gpu = "A",
                                  .precision = "bf16",
                                  .gpus = 8,
                                  .suspect = "",
                                  .filled = "",
                                  .reason = "",
                                  .measured_s = 1.0,
                                  .predicted_s = 1.0 + error,
                                  .error = error,
                                  .gpu_s_per_token = 1.0,
                                  .model_flop_per_gpu = 1.0,
                                  .peak_flop_per_s = 1.0};
}

/* Votes: x/a = mean(10, 30) = 20 %, x/b = 40 %, y/a = 5 %: the same key in two sources is two
 * votes. Mean (20 + 40 + 5) / 3; macro ((20 + 40) / 2 + 5) / 2 = 17.5; median 20; p90 lies 0.9 * 2
 * = 1.8 steps into 5, 20, 40: 20 + 0.8 * 20 = 36. Bias: x/a mean(+10, -30) = -10, x/b +40, y/a -5:
 * +25 / 3. */
static void a_vote_is_the_mean_of_a_sources_rows_of_one_configuration(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct validated_row rows[] = {row_of(0, "x", "a", 0.10), row_of(1, "y", "a", -0.05),
                                         row_of(2, "x", "b", 0.40), row_of(3, "x", "a", -0.30)};
    const struct score score = score_rows(arena, rows, 4);
    assert_int_equal(score.rows, 4);
    assert_int_equal(score.votes, 3);
    assert_int_equal(score.sources, 2);
    assert_close(score.mean, 0.65 / 3.0, 1e-12);
    assert_close(score.macro, 0.175, 1e-12);
    assert_close(score.median, 0.20, 1e-12);
    assert_close(score.p90, 0.36, 1e-12);
    assert_close(score.bias, 0.25 / 3.0, 1e-12);
    arena_free(arena);
}

static void no_rows_score_nothing(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct score score = score_rows(arena, NULL, 0);
    assert_int_equal(score.votes, 0);
    assert_true(is_absent(score.mean) && is_absent(score.macro));
    arena_free(arena);
}

static void skipped_suspect_and_unmeasured_rows_are_not_scored(void **state)
{
    (void)state;
    struct validated_row row = row_of(0, "x", "a", 0.1);
    assert_true(score_is_scored(&row));
    row.suspect = "said so";
    assert_false(score_is_scored(&row));
    row.suspect = "";
    row.measured_s = 0;
    assert_false(score_is_scored(&row));
    row = row_of(0, "x", "a", 0.1);
    row.status = ROW_INFEASIBLE;
    assert_false(score_is_scored(&row));
}

/* Measured GPU-seconds per token 1, 2, 3, 4 and predicted 1, 3, 2, 4: ranks differ by 0, 1, 1,
 * 0, so Spearman's coefficient is 1 - 6 * 2 / (4 * 15) = 0.8. */
static void the_rank_is_spearmans_of_gpu_seconds_per_token(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const char *const keys[] = {"a", "b", "c", "d"};
    static const double predicted[] = {1, 3, 2, 4};
    struct validated_row rows[4];
    for (uint32_t i = 0; i < 4; i++) {
        rows[i] = row_of(i, "x", keys[i], predicted[i] / (i + 1.0) - 1.0);
        rows[i].gpu_s_per_token = i + 1.0;
    }
    uint32_t count = 0;
    const struct score_group *groups = score_groups(arena, rows, 4, SCORE_BY_SOURCE, &count);
    assert_int_equal(count, 1);
    assert_false(is_absent(groups[0].rank));
    assert_close(groups[0].rank, 0.8, 1e-12);
    const struct score_group *two = score_groups(arena, rows, 2, SCORE_BY_SOURCE, &count);
    assert_true(is_absent(two[0].rank)); /* two can only be right or wrong */
    arena_free(arena);
}

static void scales_go_from_small_to_large(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const int64_t gpus[] = {513, 64, 8, 512, 9, 65};
    struct validated_row rows[6];
    for (uint32_t i = 0; i < 6; i++) {
        rows[i] = row_of(i, "x", "a", 0.1);
        rows[i].gpus = gpus[i];
    }
    uint32_t count = 0;
    const struct score_group *groups = score_groups(arena, rows, 6, SCORE_BY_SCALE, &count);
    assert_int_equal(count, 4);
    assert_string_equal(groups[0].name, "1-8 GPUs");
    assert_string_equal(groups[1].name, "9-64 GPUs");
    assert_int_equal(groups[1].score.rows, 2);
    assert_int_equal(groups[2].score.rows, 2);
    assert_string_equal(groups[3].name, "513+ GPUs");
    arena_free(arena);
}

/* At the peak each row takes 1 s; measured are 2, 2.5 and 4 s of three votes. |x/2 - 1| + |x/2.5 -
 * 1| + |x/4 - 1| has slopes that change by 0.5, 0.4, 0.25: half of 1.15 is passed at 2.5, so x =
 * 2.5 and the mean is (0.25 + 0 + 0.375) / 3. The plain median is 2.5, too; with a second row of 2
 * s in a vote of its own it would be 2 to 2.5, and the weights 0.5 + 0.5 of 1.65 make it 2: (0 + 0
 * + 0.2 + 0.5) / 4. */
static void one_efficiency_minimises_the_mean_over_votes(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const char *const keys[] = {"a", "b", "c", "d"};
    static const double measured[] = {2.5, 4.0, 2.0, 2.0};
    struct validated_row rows[4];
    for (uint32_t i = 0; i < 4; i++) {
        rows[i] = row_of(i, "x", keys[i], 0);
        rows[i].measured_s = measured[i];
    }
    const struct baseline three = score_baseline(arena, rows, 3, BASELINE_ONE);
    assert_int_equal(three.constants, 1);
    assert_close(three.score.mean, 0.625 / 3.0, 1e-12);
    const struct baseline four = score_baseline(arena, rows, 4, BASELINE_ONE);
    assert_close(four.score.mean, 0.7 / 4.0, 1e-12);
    arena_free(arena);
}

/* Two GPUs, one of them with two frameworks: 1, 2 and 3 efficiencies. Rows 2, 4 (GPU A) and 8 (B):
 * with one per GPU A's slopes are 0.5 and 0.25, so x = 2 and 4 s is off by 50 %. */
static void baselines_share_an_efficiency_only_among_rows_that_are_alike(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct validated_row rows[] = {row_of(0, "x", "a", 0), row_of(1, "x", "b", 0),
                                   row_of(2, "x", "c", 0)};
    rows[0].measured_s = 2;
    rows[1].measured_s = 4;
    rows[1].framework = "torchtitan";
    rows[2].measured_s = 8;
    rows[2].gpu = "B";
    const struct baseline hardware = score_baseline(arena, rows, 3, BASELINE_HARDWARE);
    assert_int_equal(hardware.constants, 2);
    assert_close(hardware.score.mean, 0.5 / 3.0, 1e-12);
    assert_close(hardware.score.bias, -0.5 / 3.0, 1e-12);
    const struct baseline software = score_baseline(arena, rows, 3, BASELINE_SOFTWARE);
    assert_int_equal(software.constants, 3);
    assert_true(software.score.mean < 1e-12);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vote_is_the_mean_of_a_sources_rows_of_one_configuration),
        cmocka_unit_test(no_rows_score_nothing),
        cmocka_unit_test(skipped_suspect_and_unmeasured_rows_are_not_scored),
        cmocka_unit_test(the_rank_is_spearmans_of_gpu_seconds_per_token),
        cmocka_unit_test(scales_go_from_small_to_large),
        cmocka_unit_test(one_efficiency_minimises_the_mean_over_votes),
        cmocka_unit_test(baselines_share_an_efficiency_only_among_rows_that_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
