/* The joint fit: its linear algebra by sums done by hand, votes and scores, Gauss-Newton on a
 * formula in place of the simulator, and values put into files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "input/catalogue.h"
#include "input/doc/doc.h"
#include "lab/fit/fit.h"
#include "lab/fit/fit_predictions.h"
#include "lab/fit/fit_priors.h"
#include "lab/fit/fit_write.h"
#include "support/assert_close.h"
#include "support/temporary.h"

static const double WIDE = 1e6; /* a prior that says nothing, a bound that does not bind */
static const double FAR = 1e6;  /* linear_from: all residuals count squared */
static const double ONES[] = {1, 1, 1, 1, 1, 1};

/* One constant with slope 1 in every row: a residual is residual + x. */
static struct fit_system one_constant(const double *residual, uint32_t rows, const double *spread)
{
    static const double at[] = {0};
    static const double low[] = {-1e6};
    static const double high[] = {1e6};
    return (struct fit_system){.rows = rows,
                               .constants = 1,
                               .residual = residual,
                               .slope = ONES,
                               .at = at,
                               .weight = ONES,
                               .spread = spread,
                               .low = low,
                               .high = high,
                               .noise = 0.1,
                               .linear_from = FAR};
}

static double solved(const struct fit_system *system)
{
    struct arena *arena = arena_new();
    double x = 0;
    fit_solve(arena, system, &x);
    arena_free(arena);
    return x;
}

/* ---- linear algebra --------------------------------------------------------------------- */

/* Residuals -0.1 and -0.3: x = 0.2 makes them 0.1 and -0.1. */
static void two_rows_and_one_constant_meet_in_the_middle(void **state)
{
    (void)state;
    static const double residual[] = {-0.1, -0.3};
    const struct fit_system system = one_constant(residual, 2, &WIDE);
    assert_close(solved(&system), 0.2, 1e-9);
}

/* One row of -0.2, noise 0.1, prior 0.1 wide: both pull the same, so x = 0.1. With a prior of
 * 0.05, 1/0.05^2 = 400 against 100: x = 0.2 * 100 / 500 = 0.04. */
static void a_prior_pulls_as_much_as_a_row_of_its_width(void **state)
{
    (void)state;
    static const double residual[] = {-0.2};
    static const double same[] = {0.1};
    static const double half[] = {0.05};
    struct fit_system system = one_constant(residual, 1, same);
    assert_close(solved(&system), 0.1, 1e-9);
    system.spread = half;
    assert_close(solved(&system), 0.04, 1e-9);
}

/* Rows that differ by 1000 in size: squares give the mean, here (0.01 + 0.02 + 6) / 3 = 2.01;
 * with absolute errors beyond 0.001 the one in the middle wins, 0.02, whatever the third is. */
static void beyond_linear_from_the_median_wins(void **state)
{
    (void)state;
    static const double residual[] = {-0.01, -0.02, -6.0};
    struct fit_system system = one_constant(residual, 3, &WIDE);
    assert_close(solved(&system), 2.01, 1e-9);
    system.linear_from = 0.001;
    assert_close(solved(&system), 0.02, 0.01);
}

/* The middle, 0.2, lies beyond the bound. */
static void a_constant_stays_within_its_bounds(void **state)
{
    (void)state;
    static const double residual[] = {-0.1, -0.3};
    static const double high[] = {0.15};
    struct fit_system system = one_constant(residual, 2, &WIDE);
    system.high = high;
    assert_close(solved(&system), 0.15, 1e-12);
}

/* Rows a + b = 0.3 and b = 0.2, with b kept below 0.1: a takes what b cannot. Squares:
 * b = 0.1, then a = 0.2. */
static void others_are_fitted_again_when_one_is_on_its_bound(void **state)
{
    (void)state;
    static const double residual[] = {-0.3, -0.2};
    static const double slope[] = {1, 1, 0, 1};
    static const double at[] = {0, 0};
    static const double low[] = {-1e6, -1e6};
    static const double high[] = {1e6, 0.1};
    static const double spread[] = {1e6, 1e6};
    struct fit_system system = one_constant(residual, 2, spread);
    system.constants = 2;
    system.slope = slope;
    system.at = at;
    system.low = low;
    system.high = high;
    struct arena *arena = arena_new();
    double x[2];
    fit_solve(arena, &system, x);
    assert_close(x[1], 0.1, 1e-12);
    assert_close(x[0], 0.2, 1e-6);
    arena_free(arena);
}

/* Four rows of slope 1 that scatter by 0.1: 0.1 / sqrt(4) = 0.05. A prior of the same width
 * makes it 0.05 / sqrt(2). */
static void a_standard_error_falls_with_the_root_of_the_rows(void **state)
{
    (void)state;
    static const double residual[] = {0.1, -0.1, 0.1, -0.1};
    static const double same[] = {0.05};
    struct fit_system system = one_constant(residual, 4, &WIDE);
    struct arena *arena = arena_new();
    double variance;
    fit_covariance(arena, &system, &variance);
    assert_close(sqrt(variance), 0.05, 1e-9);
    system.spread = same;
    fit_covariance(arena, &system, &variance);
    assert_close(sqrt(variance), 0.05 / sqrt(2.0), 1e-9);
    arena_free(arena);
}

/* ---- votes ------------------------------------------------------------------------------ */

static const struct vote_names names[] = {
    {"A", "x"}, {"A", "x"}, {"A", "y"}, {"A", "z"}, {"B", "x"},
};
enum { NAMES = sizeof names / sizeof *names };

/* The two rows of (A, x) share one vote; 3 votes of A, 1 of B. Balance 1: each source has 2 of
 * the 4, so a vote of A 2/3 and that of B 2. */
static void repeats_of_a_configuration_share_one_vote(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct votes votes = votes_of(arena, names, NAMES);
    double weight[NAMES];
    assert_int_equal(votes.vote_count, 4);
    assert_int_equal(votes.config_count, 3);
    votes_weights(&votes, NULL, 0.0, weight);
    assert_close(weight[0] + weight[1], 1.0, 1e-12);
    assert_close(weight[4], 1.0, 1e-12);
    votes_weights(&votes, NULL, 1.0, weight);
    assert_close(weight[0], 1.0 / 3.0, 1e-12);
    assert_close(weight[2], 2.0 / 3.0, 1e-12);
    assert_close(weight[4], 2.0, 1e-12);
    arena_free(arena);
}

/* Votes 0.2 (of 0.1 and -0.3), 0.4, 0.0 of A and 0.6 of B: mean 0.3; macro (0.2 + 0.6) / 2;
 * bias (-0.1 + 0.4 + 0 - 0.6) / 4; median of 0, 0.2, 0.4, 0.6. */
static void the_score_is_of_votes_and_of_sources(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct votes votes = votes_of(arena, names, NAMES);
    static const double error[] = {0.1, -0.3, 0.4, 0.0, -0.6};
    const struct score score = votes_score(arena, &votes, NULL, error);
    assert_close(score.mean, 0.3, 1e-12);
    assert_close(score.macro, 0.4, 1e-12);
    assert_close(score.bias, -0.075, 1e-12);
    assert_close(score.median, 0.3, 1e-12);
    arena_free(arena);
}

/* Both votes of configuration x, of two sources, go to the same half. */
static void a_half_never_splits_a_configuration(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct votes votes = votes_of(arena, names, NAMES);
    bool is_ever_in = false;
    bool is_ever_out = false;
    for (uint32_t repeat = 0; repeat < 20; repeat++) {
        bool is_in[4];
        votes_half(arena, &votes, 1, repeat, is_in);
        assert_int_equal(is_in[votes.vote[0]], is_in[votes.vote[4]]);
        assert_int_equal(is_in[0] + is_in[1] + is_in[2], 1); /* of 3 configurations */
        is_ever_in = is_ever_in || is_in[0];
        is_ever_out = is_ever_out || !is_in[0];
    }
    assert_true(is_ever_in && is_ever_out);
    arena_free(arena);
}

/* ---- the joint fit, on a formula -------------------------------------------------------- */

static const char plan_text[] =
    "fit: {balance: 0, noise: 5 %, linear_from: 3 %}\n"
    "constants:\n"
    "  - {name: rate, files: [here], key: software.gemm.derate, prior: 0.9, spread: 50 %,\n"
    "     min: 0.1, max: 1, neutral: 1, effect: rate, source: a test}\n"
    "  - {name: host, files: [here], key: software.host.per_kernel, prior: 5 us, spread: 200 %,\n"
    "     min: 0.1 us, max: 50 us, neutral: 0 us, effect: host, source: a test}\n";

static const struct fit_plan *plan_of(struct arena *arena, const char *directory, const char *text,
                                      struct diag *diag)
{
    const char *path = arena_printf(arena, "%s/constants.yaml", directory);
    temporary_write(path, text);
    return fit_plan_load(arena, path, diag);
}

/* A step is work / rate + kernels * host: rows of 1 s of work and 0 to 0.5 s of 10 us kernels. */
enum { ROWS = 6 };
static bool predict_formula(void *context, const double *values, const uint32_t *rows,
                            uint32_t count, double *predicted_s)
{
    (void)context;
    for (uint32_t i = 0; i < count; i++) {
        predicted_s[i] = 1.0 / values[0] + 1e4 * rows[i] * values[1] * 1e-6;
    }
    return true;
}

static struct fit_problem formula_problem(struct arena *arena, const struct fit_plan *plan,
                                          double *measured_s)
{
    struct vote_names *rows = arena_array(arena, ROWS, sizeof *rows);
    bool *is_used = arena_array(arena, 2 * (size_t)ROWS, sizeof *is_used);
    const double truth[] = {0.8, 10.0};
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = (struct vote_names){"made", arena_printf(arena, "%u", i)};
        is_used[2 * i] = is_used[2 * i + 1] = true;
        predict_formula(NULL, truth, &i, 1, &measured_s[i]);
    }
    return (struct fit_problem){.plan = plan,
                                .votes = votes_of(arena, rows, ROWS),
                                .measured_s = measured_s,
                                .is_used = is_used,
                                .predict = predict_formula};
}

/* Rate 0.8 and 10 us made the rows; priors 0.9 and 5 us are wide, and pull by less than 2 %.
 * Without the host no rate fits rows of 1.25, 1.35 ... 1.75 s: one of 1.5 s is off by 10.2 % on
 * average, the least there is; slopes kept from the full model make it a little more. */
static void the_fit_finds_the_constants_that_made_the_rows(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    const char *directory = temporary_new(arena);
    const struct fit_plan *plan = plan_of(arena, directory, plan_text, diag);
    temporary_remove(directory);
    assert_non_null(plan);
    double measured_s[ROWS];
    const struct fit_problem problem = formula_problem(arena, plan, measured_s);
    const struct fit *fit = fit_run(arena, &problem, 3, diag);
    assert_non_null(fit);
    assert_close(fit->value[0], 0.8, 0.02);
    assert_close(fit->value[1], 10.0, 0.05);
    const struct fit_folds whole = {.fits = 4};
    const struct fit_without *ablation = fit_ablate(arena, fit, &whole);
    assert_non_null(ablation);
    assert_true(ablation[1].is_removable);
    assert_in_range((uint64_t)(1000.0 * ablation[1].fitted.mean), 100, 125);
    arena_free(arena);
}

/* ---- parts of the model removed --------------------------------------------------------- */

#define REMOVED "ablations:\n  - {name: host, set: ['a.host=0'], idle: [host], source: a test}\n"

/* Without the host every row takes the time of its work; row 0 has no kernels and takes none. */
static bool remove_host(void *context, uint32_t removal, const double *values, double *predicted_s,
                        uint32_t *refused)
{
    (void)context;
    assert_int_equal(removal, 0);
    for (uint32_t i = 1; i < ROWS; i++) {
        predicted_s[i] = 1.0 / values[0];
    }
    *refused = 1;
    return true;
}

/* Before: rows of 1.25, 1.35 ... 1.75 s are predicted to take 1.25 s, off by 15.9 % on average (0,
 * 7.4, 13.8, 19.4, 24.2, 28.6); fitted again the rate can be no better than 10.2 %. The host's own
 * constant, idle, must not help: it would bring all errors to 0. */
static void a_part_removed_is_not_made_up_for_by_its_own_constants(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    const char *directory = temporary_new(arena);
    const struct fit_plan *plan =
        plan_of(arena, directory, arena_printf(arena, "%s%s", plan_text, REMOVED), diag);
    temporary_remove(directory);
    assert_non_null(plan);
    assert_int_equal(plan->removal_count, 1);
    assert_false(plan->removals[0].is_idle[0]);
    assert_true(plan->removals[0].is_idle[1]);
    double measured_s[ROWS];
    struct fit_problem problem = formula_problem(arena, plan, measured_s);
    problem.remove = remove_host;
    const struct fit *fit = fit_run(arena, &problem, 3, diag);
    assert_non_null(fit);
    const struct fit_folds whole = {.fits = 4};
    const struct fit_without *part = fit_remove_parts(arena, fit, &whole);
    assert_non_null(part);
    assert_int_equal(part->moved, ROWS - 1);
    assert_int_equal(part->refused, 1);
    assert_in_range((uint64_t)(1000.0 * part->before.mean), 150, 165);
    assert_in_range((uint64_t)(1000.0 * part->fitted.mean), 100, 125);
    arena_free(arena);
}

/* One source, so without it the priors predict: 1/0.9 + 0.05 i against 1.25 + 0.1 i, off by
 * -11.1 % (row 0) to -22.2 % (row 5). Halves of rows are better predicted by the other half. */
static void a_row_is_predicted_by_what_was_fitted_without_it(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    const char *directory = temporary_new(arena);
    const struct fit_plan *plan = plan_of(arena, directory, plan_text, diag);
    temporary_remove(directory);
    assert_non_null(plan);
    double measured_s[ROWS];
    const struct fit_problem problem = formula_problem(arena, plan, measured_s);
    const struct fit *fit = fit_run(arena, &problem, 3, diag);
    assert_non_null(fit);
    double error[ROWS];
    fit_leave_out(arena, fit, error);
    fit_errors_of(error, ROWS, error);
    assert_close(error[0], -0.111, 0.1);
    assert_close(error[ROWS - 1], -0.222, 0.2);
    const struct fit_system system = fit_system_of(arena, fit, NULL);
    const struct fit_folds folds = fit_cross_validate(arena, &system, &problem, 4);
    for (uint32_t i = 0; i < ROWS; i++) {
        assert_true(fabs(folds.error[i]) < 0.5 * fabs(error[i]));
    }
    arena_free(arena);
}

/* Row 5 took 1.06 times what the formula says, and each row is a configuration. Fitted to all, the
 * constants give way to it; the half without it knows nothing of that, so its prediction is nearer
 * the formula's. A prediction is the geometric mean of the repeats', and errors are of those. */
static void predictions_are_of_the_half_that_did_not_see_the_row(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    const char *directory = temporary_new(arena);
    const struct fit_plan *plan = plan_of(arena, directory, plan_text, diag);
    temporary_remove(directory);
    double measured_s[ROWS];
    const struct fit_problem problem = formula_problem(arena, plan, measured_s);
    const double true_s = measured_s[ROWS - 1];
    measured_s[ROWS - 1] *= 1.06;
    const struct fit *fit = fit_run(arena, &problem, 3, diag);
    assert_non_null(fit);
    const struct fit_system system = fit_system_of(arena, fit, NULL);
    const struct fit_folds folds = fit_cross_validate(arena, &system, &problem, 3);
    double left_out[ROWS];
    fit_leave_out(arena, fit, left_out);
    const struct fit_predictions made = fit_predictions_of(arena, fit, &folds, left_out);
    assert_close(made.fitted_s[0], measured_s[0] * exp(fit->residual[0]), 1e-12);
    assert_close(made.left_out_s[0], measured_s[0] * exp(left_out[0]), 1e-12);
    double product = 1;
    for (uint32_t repeat = 0; repeat < 3; repeat++) {
        const double one_s = measured_s[0] * exp(folds.residual[repeat * ROWS]);
        product *= one_s;
    }
    assert_close(made.out_of_fold_s[0], cbrt(product), 1e-12);
    const double fitted_s = made.fitted_s[ROWS - 1];
    assert_true(fitted_s > 1.005 * true_s);
    assert_true(made.out_of_fold_s[ROWS - 1] < true_s + 0.5 * (fitted_s - true_s));
    /* 6 votes of one row each. */
    const struct score score = fit_predictions_score(arena, &problem, NULL, measured_s);
    assert_int_equal(score.votes, ROWS);
    assert_close(score.mean + 1, 1, 1e-12);
    const struct fit_repeats repeats = fit_repeats_score(arena, &problem, &folds, NULL);
    assert_close(repeats.mean.mean, folds.other.mean, 1e-9); /* halves are of three rows each */
    arena_free(arena);
}

/* ---- bad constants ---------------------------------------------------------------------- */

static const char *complaint(struct arena *arena, const char *text)
{
    struct diag *diag = diag_new(arena);
    const char *directory = temporary_new(arena);
    const struct fit_plan *plan = plan_of(arena, directory, text, diag);
    temporary_remove(directory);
    assert_null(plan);
    assert_int_equal(diag_exit_status(diag), 3);
    return diag_first_error(diag);
}

#define CONSTANT(NAME, PRIOR, MIN, MAX)                                    \
    "  - {name: " NAME ", files: [here], key: software.a.b, prior: " PRIOR \
    ", spread: 5 %, min: " MIN ", max: " MAX ", effect: e, source: s}\n"

static void wrong_constants_are_told(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_string_equal(complaint(arena, "constants:\n" CONSTANT("a", "5 us", "1 ms", "9 us")),
                        "'min' must be in the unit of 'prior'");
    assert_string_equal(complaint(arena, "constants:\n" CONSTANT("a", "5", "6", "9")),
                        "'prior' must lie between 'min' and 'max', and these above 0");
    assert_string_equal(complaint(arena, "constants:\n" CONSTANT("a", "nan", "6", "9")),
                        "'prior' must be a number, with its unit if it has one");
    assert_string_equal(
        complaint(arena, "constants:\n" CONSTANT("a", "5", "1", "9") CONSTANT("b", "5", "1", "9")),
        "'software.a.b' of here is fitted by 'a' already");
    assert_string_equal(complaint(arena, "constants: []\n"),
                        "'constants' must be a list of 1 to 70 mappings");
    assert_string_equal(
        complaint(arena,
                  "constants:\n" CONSTANT("a", "5", "1",
                                          "9") "ablations:\n"
                                               "  - {name: n, set: [a=1], idle: [f], source: s}\n"),
        "no constant has the effect 'f'");
    assert_string_equal(
        complaint(arena, "constants:\n" CONSTANT("a", "5", "1",
                                                 "9") "ablations:\n"
                                                      "  - {name: n, set: [a], source: s}\n"),
        "'a' is not KEY=VALUE");
    assert_string_equal(
        complaint(arena, "constants:\n" CONSTANT("a", "5", "1",
                                                 "9") "ablations:\n"
                                                      "  - {name: n, set: a=1, source: s}\n"),
        "'set' must be a list of 1 to 64 texts");
    arena_free(arena);
}

/* ---- writing ---------------------------------------------------------------------------- */

static const char profile_text[] = "software: here\n"
                                   "host:          # of a kernel\n"
                                   "  per_kernel: 6 us   # kept\n"
                                   "  provenance: assumed\n"
                                   "gemm: {derate: 0.95, provenance: assumed}\n";

static const struct fit_change *written(struct arena *arena, const char *directory,
                                        const char *constants, double *values, uint32_t *count)
{
    struct diag *diag = diag_new(arena);
    struct catalogue catalogue = {.directories = {directory}, .count = 1};
    struct fit_changes changes = {.items = NULL};
    const struct fit_plan *plan = plan_of(arena, directory, constants, diag);
    assert_non_null(plan);
    const struct fit_problem problem = {.plan = plan};
    struct fit fit = {.problem = &problem, .value = values};
    fit.is_told = arena_array(arena, plan->count, sizeof *fit.is_told);
    for (uint32_t k = 0; k < plan->count; k++) {
        fit.is_told[k] = true;
    }
    assert_true(fit_write(arena, &catalogue, &fit, &changes, diag));
    *count = changes.count;
    return changes.items;
}

static const char *profile_in(struct arena *arena, const char *directory)
{
    const char *models = arena_printf(arena, "%s/models", directory);
    const char *software = arena_printf(arena, "%s/software", models);
    assert_int_equal(mkdir(models, 0700), 0);
    assert_int_equal(mkdir(software, 0700), 0);
    const char *path = arena_printf(arena, "%s/here.yaml", software);
    temporary_write(path, profile_text);
    return path;
}

static void only_numbers_and_their_provenance_are_written(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *directory = temporary_new(arena);
    const char *path = profile_in(arena, directory);
    static double values[] = {0.873, 4.25};
    uint32_t count;
    const struct fit_change *changes = written(arena, directory, plan_text, values, &count);
    assert_int_equal(count, 2);
    assert_string_equal(changes[1].before, "6 us");
    assert_string_equal(changes[1].after, "4.25 us");
    assert_string_equal(temporary_read(arena, path), "software: here\n"
                                                     "host:          # of a kernel\n"
                                                     "  per_kernel: 4.25 us   # kept\n"
                                                     "  provenance: fitted\n"
                                                     "gemm: {derate: 0.873, provenance: fitted}\n");
    written(arena, directory, plan_text, values, &count);
    assert_int_equal(count, 0); /* again: nothing is left to change */
    temporary_remove(directory);
    arena_free(arena);
}

static void keys_that_a_file_lacks_are_added(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *directory = temporary_new(arena);
    const char *path = profile_in(arena, directory);
    static const char constants[] =
        "constants:\n"
        "  - {name: step, files: [here], key: software.host.per_step, prior: 15 ms, spread: 50 %,\n"
        "     min: 1 ms, max: 90 ms, effect: e, source: s}\n"
        "  - {name: flow, files: [here], key: software.gemm.new, prior: 1, spread: 50 %,\n"
        "     min: 0.1, max: 9, effect: e, source: s}\n"
        "  - {name: jitter, files: [here], key: software.jitter.spread, prior: 1 %, spread: 50 %,\n"
        "     min: 0.1 %, max: 9 %, effect: e, source: nobody's}\n";
    static double values[] = {20, 2, 1.25};
    uint32_t count;
    const struct fit_change *changes = written(arena, directory, constants, values, &count);
    assert_int_equal(count, 3);
    assert_null(changes[2].before);
    assert_string_equal(temporary_read(arena, path), "software: here\n"
                                                     "host:          # of a kernel\n"
                                                     "  per_step: 20 ms\n"
                                                     "  per_kernel: 6 us   # kept\n"
                                                     "  provenance: fitted\n"
                                                     "gemm: {new: 2, derate: 0.95, provenance: "
                                                     "fitted}\n"
                                                     "jitter:\n"
                                                     "  spread: 1.25 %\n"
                                                     "  provenance: fitted\n"
                                                     "  source: 'fitted to whole steps (stoker-lab "
                                                     "calibrate steps); prior: nobody''s'\n");
    temporary_remove(directory);
    arena_free(arena);
}

/* ---- what it starts from ------------------------------------------------------------------- */

static const struct fit_plan *plan_at(struct arena *arena, const char *directory,
                                      const char *constants, struct diag *diag)
{
    const struct catalogue catalogue = {.directories = {directory}, .count = 1};
    const struct fit_plan *plan = plan_of(arena, directory, constants, diag);
    assert_non_null(plan);
    return fit_plan_at_catalogue(arena, plan, &catalogue, diag);
}

/* The file says 0.95 and 6 us where the plan has 0.9 and 5 us; a key that it lacks keeps the plan's
 * prior, and a bound of 0.94 gives way to 0.95. */
static void the_catalogue_s_values_are_priors(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    const char *directory = temporary_new(arena);
    profile_in(arena, directory);
    const struct fit_plan *plan = plan_at(arena, directory, plan_text, diag);
    assert_non_null(plan);
    assert_close(plan->constants[0].prior, 0.95, 1e-12);
    assert_close(plan->constants[1].prior, 6.0, 1e-12);
    plan = plan_at(
        arena, directory,
        "constants:\n"
        "  - {name: low, files: [here], key: software.gemm.derate, prior: 0.9, spread: 5 %,\n"
        "     min: 0.5, max: 0.94, effect: e, source: s}\n"
        "  - {name: new, files: [here], key: software.gemm.new, prior: 7, spread: 5 %,\n"
        "     min: 1, max: 9, effect: e, source: s}\n",
        diag);
    assert_non_null(plan);
    assert_close(plan->constants[0].max, 0.95, 1e-12);
    assert_close(plan->constants[1].prior, 7.0, 1e-12);
    assert_null(plan_at(arena, directory,
                        "constants:\n"
                        "  - {name: a, files: [here], key: software.host.per_kernel, prior: 5 ms,\n"
                        "     spread: 5 %, min: 1 ms, max: 9 ms, effect: e, source: s}\n",
                        diag));
    assert_string_equal(diag_first_error(diag), "'a' is not in the unit of the list of constants");
    temporary_remove(directory);
    arena_free(arena);
}

/* Of two constants of two effects the second is left: number 0 of the only effect, and what the
 * removal leaves idle (the host's constant) goes with it. */
static void a_narrow_plan_counts_anew(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    const char *directory = temporary_new(arena);
    const struct fit_plan *plan =
        plan_of(arena, directory, arena_printf(arena, "%s%s", plan_text, REMOVED), diag);
    temporary_remove(directory);
    assert_non_null(plan);
    static const bool is_kept[] = {false, true};
    const struct fit_plan *narrow = fit_plan_narrow(arena, plan, is_kept);
    assert_int_equal(narrow->count, 1);
    assert_string_equal(narrow->constants[0].name, "host");
    assert_int_equal(narrow->constants[0].effect, 0);
    assert_int_equal(narrow->effect_count, 1);
    assert_string_equal(narrow->effects[0], "host");
    assert_int_equal(narrow->removal_count, 1);
    assert_true(narrow->removals[0].is_idle[0]);
    assert_int_equal(plan->count, 2);
    arena_free(arena);
}

/* One row, met exactly: its scatter of 0 would say that a constant is known to a thousandth. With
 * the noise of 0.1 and no prior to speak of it is known to 0.1. */
static void one_row_knows_no_more_than_its_noise(void **state)
{
    (void)state;
    static const double residual[] = {0.0};
    const struct fit_system system = one_constant(residual, 1, &WIDE);
    struct arena *arena = arena_new();
    double error;
    fit_covariance(arena, &system, &error);
    error = sqrt(error);
    assert_close(error, 0.1, 1e-9);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_rows_and_one_constant_meet_in_the_middle),
        cmocka_unit_test(a_prior_pulls_as_much_as_a_row_of_its_width),
        cmocka_unit_test(beyond_linear_from_the_median_wins),
        cmocka_unit_test(a_constant_stays_within_its_bounds),
        cmocka_unit_test(others_are_fitted_again_when_one_is_on_its_bound),
        cmocka_unit_test(a_standard_error_falls_with_the_root_of_the_rows),
        cmocka_unit_test(repeats_of_a_configuration_share_one_vote),
        cmocka_unit_test(the_score_is_of_votes_and_of_sources),
        cmocka_unit_test(a_half_never_splits_a_configuration),
        cmocka_unit_test(the_fit_finds_the_constants_that_made_the_rows),
        cmocka_unit_test(a_part_removed_is_not_made_up_for_by_its_own_constants),
        cmocka_unit_test(a_row_is_predicted_by_what_was_fitted_without_it),
        cmocka_unit_test(predictions_are_of_the_half_that_did_not_see_the_row),
        cmocka_unit_test(wrong_constants_are_told),
        cmocka_unit_test(only_numbers_and_their_provenance_are_written),
        cmocka_unit_test(keys_that_a_file_lacks_are_added),
        cmocka_unit_test(the_catalogue_s_values_are_priors),
        cmocka_unit_test(a_narrow_plan_counts_anew),
        cmocka_unit_test(one_row_knows_no_more_than_its_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
