/* The rows of a regression come from the tuner itself: a price with one unknown set to 1 less
 * the price with all at 0. So whatever the tuner makes of an unknown (a plateau, two network
 * latencies for Simple) stands in the row, and the fit reproduces through the same tuner.
 */
#include "study/calibrate.h"

#include "base/arena.h"
#include "base/check.h"
#include "study/quantile.h"

#include <gsl/gsl_matrix.h>
#include <gsl/gsl_multifit.h>
#include <gsl/gsl_vector.h>
#include <math.h>
#include <string.h>

enum { CHOICES_MAX = 20, REFITS_MAX = UNKNOWN_COUNT_ };
static const double VAGUE = 0.3; /* standard error of a bandwidth over itself */
static const double RANK_TOLERANCE = 1e-10;
static const double EXACT_RESIDUAL = 1e-9; /* relative: nothing for robustness to do */
static const double SAME = 1e-9;           /* relative: values that are one value */
static const double ONE = 1.0;             /* of each unknown */

/* A measured point and the pair it counts for. */
struct sample {
    const struct curve *curve;
    const struct measured_point *point;
    struct collective_choice pair;
    struct collective_choice ran; /* the same before likeness */
    double column[UNKNOWN_COUNT_];
    double offset_s; /* the price with all unknowns at 0 */
};

struct fitting {
    struct arena *arena;
    struct library *library; /* as fitted so far */
    const struct library *original;
    struct library *scratch;
    struct sample *samples;
    uint32_t sample_count;
};

/* ---- unknowns in a library ---------------------------------------------------------- */

static double *unknown_of(struct library_cost *cost, enum calibration_unknown unknown)
{
    switch (unknown) {
    case UNKNOWN_BASE:
        return &cost->base_s;
    case UNKNOWN_NVLINK:
        return &cost->round_s[LIBRARY_NVLINK];
    case UNKNOWN_NETWORK:
        return &cost->round_s[LIBRARY_NETWORK];
    default:
        return &cost->efficiency[unknown - UNKNOWN_SLOWNESS];
    }
}

/* All algorithms that are like the pair's have its cost. */
static void put_cost(struct library *library, uint32_t architecture, struct collective_choice pair,
                     const struct library_cost *cost)
{
    for (uint32_t a = 0; a < LIBRARY_ALGORITHM_COUNT; a++) {
        if (library->shapes[a].like == pair.algorithm) {
            library->architectures[architecture].costs[a][pair.protocol] = *cost;
        }
    }
}

static struct library_cost cost_of(const struct library *library, uint32_t architecture,
                                   struct collective_choice pair)
{
    return library->architectures[architecture].costs[pair.algorithm][pair.protocol];
}

static double price_with(struct fitting *fitting, const struct sample *sample,
                         const struct library_cost *cost)
{
    double time_s = 0.0;
    put_cost(fitting->scratch, sample->curve->setting.architecture, sample->pair, cost);
    const bool is_offered =
        curve_price(sample->curve, fitting->scratch, sample->ran, sample->point->bytes, &time_s);
    sim_assert(is_offered);
    return time_s;
}

/* Everything that is to be fitted at 0: no launch, no rounds, infinite bandwidth. */
static struct library_cost bare_cost(const struct library_cost *cost)
{
    struct library_cost bare = *cost;
    bare.launch_s = 0.0;
    bare.base_s = 0.0;
    bare.round_s[LIBRARY_NVLINK] = 0.0;
    bare.round_s[LIBRARY_NETWORK] = 0.0;
    for (uint32_t i = 0; i < SPAN_COUNT_; i++) {
        bare.efficiency[i] = HUGE_VAL;
        bare.maximum_bytes_per_s[i] = HUGE_VAL;
        bare.channel_maximum_bytes_per_s[i] = HUGE_VAL;
    }
    return bare;
}

/* A round inside a node has a floor where several nodes take part (network_overhead): its
 * slope is taken above it. */
static void fill_columns(struct fitting *fitting, struct sample *sample)
{
    const struct library_cost cost =
        cost_of(fitting->original, sample->curve->setting.architecture, sample->pair);
    const struct library_cost bare = bare_cost(&cost);
    sample->offset_s = price_with(fitting, sample, &bare);
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        struct library_cost one = bare;
        *unknown_of(&one, (enum calibration_unknown)u) = ONE;
        sample->column[u] = price_with(fitting, sample, &one) - sample->offset_s;
        if (u == UNKNOWN_NVLINK && sample->curve->span != SPAN_ONE_NODE) {
            *unknown_of(&one, UNKNOWN_NVLINK) = 2.0 * ONE;
            sample->column[u] = price_with(fitting, sample, &one) - sample->offset_s;
            one.round_s[LIBRARY_NVLINK] = ONE;
            sample->column[u] -= price_with(fitting, sample, &one) - sample->offset_s;
        }
    }
    put_cost(fitting->scratch, sample->curve->setting.architecture, sample->pair, &cost);
}

/* ---- which unknowns the data can tell ----------------------------------------------- */

static bool is_member(const struct sample *sample, const struct calibration_group *group)
{
    return sample->curve->setting.architecture == group->architecture &&
           sample->pair.algorithm == group->pair.algorithm &&
           sample->pair.protocol == group->pair.protocol;
}

/* Whether a column is something other than a multiple of the base's: within `on_one_node`
 * curves only, if asked. */
static bool is_varied(const struct fitting *fitting, const struct calibration_group *group,
                      enum calibration_unknown unknown, bool on_one_node)
{
    double first = -1.0;
    for (uint32_t i = 0; i < fitting->sample_count; i++) {
        const struct sample *sample = &fitting->samples[i];
        const double column = sample->column[unknown];
        if (!is_member(sample, group) || (on_one_node && sample->curve->span != SPAN_ONE_NODE)) {
            continue;
        }
        const bool is_slowness = unknown >= UNKNOWN_SLOWNESS;
        if (is_slowness && !(column > 0.0)) {
            continue; /* of another span */
        }
        const double value = column / sample->column[UNKNOWN_BASE];
        if (first >= 0.0 && fabs(value - first) > SAME * fmax(value, first)) {
            return true;
        }
        first = value;
    }
    return false;
}

static void free_unknowns(const struct fitting *fitting, struct calibration_group *group)
{
    group->is_free[UNKNOWN_BASE] = true;
    group->is_free[UNKNOWN_NVLINK] = is_varied(fitting, group, UNKNOWN_NVLINK, true);
    group->is_free[UNKNOWN_NETWORK] = is_varied(fitting, group, UNKNOWN_NETWORK, false);
    for (uint32_t u = UNKNOWN_SLOWNESS; u < UNKNOWN_COUNT_; u++) {
        group->is_free[u] = is_varied(fitting, group, (enum calibration_unknown)u, false);
    }
}

/* ---- one regression ----------------------------------------------------------------- */

struct regression {
    gsl_matrix *rows;
    gsl_vector *ones; /* measured less what is fixed, over measured */
    gsl_vector *solution;
    gsl_matrix *covariance;
    uint32_t unknowns[UNKNOWN_COUNT_];
    uint32_t width;
};

static void regression_init(struct regression *regression, const struct calibration_group *group)
{
    *regression = (struct regression){.width = 0};
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        if (group->is_free[u]) {
            regression->unknowns[regression->width++] = u;
        }
    }
    regression->rows = gsl_matrix_alloc(group->points, regression->width);
    regression->ones = gsl_vector_alloc(group->points);
    regression->solution = gsl_vector_alloc(regression->width);
    regression->covariance = gsl_matrix_alloc(regression->width, regression->width);
}

static void regression_fini(struct regression *regression)
{
    gsl_matrix_free(regression->rows);
    gsl_vector_free(regression->ones);
    gsl_vector_free(regression->solution);
    gsl_matrix_free(regression->covariance);
}

static void fill_rows(struct regression *regression, const struct fitting *fitting,
                      const struct calibration_group *group)
{
    size_t row = 0;
    for (uint32_t i = 0; i < fitting->sample_count; i++) {
        const struct sample *sample = &fitting->samples[i];
        if (!is_member(sample, group)) {
            continue;
        }
        const double measured_s = sample->point->time_s;
        double fixed_s = sample->offset_s;
        for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
            fixed_s += group->is_free[u] ? 0.0 : group->value[u] * sample->column[u];
        }
        for (uint32_t k = 0; k < regression->width; k++) {
            gsl_matrix_set(regression->rows, row, k,
                           sample->column[regression->unknowns[k]] / measured_s);
        }
        gsl_vector_set(regression->ones, row, (measured_s - fixed_s) / measured_s);
        row++;
    }
    sim_assert(row == group->points);
}

/* Columns differ by many orders of magnitude (seconds, and bytes over bytes/s), so each is
 * brought to length 1 before rank is judged. */
static void scale_columns(gsl_matrix *rows, double *lengths)
{
    for (size_t k = 0; k < rows->size2; k++) {
        gsl_vector_view column = gsl_matrix_column(rows, k);
        double square = 0.0;
        for (size_t i = 0; i < rows->size1; i++) {
            const double value = gsl_vector_get(&column.vector, i);
            square += value * value;
        }
        lengths[k] = square > 0.0 ? sqrt(square) : 1.0;
        gsl_vector_scale(&column.vector, 1.0 / lengths[k]);
    }
}

/* Ordinary first: it tells the rank, and an exact fit leaves robustness no scale to judge by. */
static bool solve(struct regression *regression)
{
    double lengths[UNKNOWN_COUNT_];
    scale_columns(regression->rows, lengths);
    const size_t n = regression->rows->size1;
    const size_t width = regression->rows->size2;
    gsl_multifit_linear_workspace *linear = gsl_multifit_linear_alloc(n, width);
    double square = 0.0;
    size_t rank = 0;
    bool is_good = gsl_multifit_linear_tsvd(regression->rows, regression->ones, RANK_TOLERANCE,
                                            regression->solution, regression->covariance, &square,
                                            &rank, linear) == 0 &&
                   rank == width;
    gsl_multifit_linear_free(linear);
    if (is_good && sqrt(square / (double)n) > EXACT_RESIDUAL) {
        gsl_multifit_robust_workspace *robust =
            gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, n, width);
        gsl_multifit_robust_maxiter(1000, robust);
        gsl_vector *solution = gsl_vector_alloc(width);
        gsl_matrix *covariance = gsl_matrix_alloc(width, width);
        if (gsl_multifit_robust(regression->rows, regression->ones, solution, covariance, robust) ==
            0) {
            gsl_vector_memcpy(regression->solution, solution);
            gsl_matrix_memcpy(regression->covariance, covariance);
        }
        gsl_vector_free(solution);
        gsl_matrix_free(covariance);
        gsl_multifit_robust_free(robust);
    }
    for (size_t k = 0; k < width && is_good; k++) {
        gsl_vector_set(regression->solution, k,
                       gsl_vector_get(regression->solution, k) / lengths[k]);
        const double variance = gsl_matrix_get(regression->covariance, k, k);
        gsl_matrix_set(regression->covariance, k, k, variance / (lengths[k] * lengths[k]));
        is_good = isfinite(gsl_vector_get(regression->solution, k));
    }
    return is_good;
}

/* ---- one group ---------------------------------------------------------------------- */

/* What is not fitted keeps the library's value; a slowness is 1 / efficiency. */
static void start_values(const struct fitting *fitting, struct calibration_group *group)
{
    struct library_cost cost = cost_of(fitting->original, group->architecture, group->pair);
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        const double value = *unknown_of(&cost, (enum calibration_unknown)u);
        group->value[u] = u >= UNKNOWN_SLOWNESS ? 1.0 / value : value;
        group->error[u] = 0.0;
    }
}

/* Points at which latency is all say nothing about bandwidth. */
static bool is_vague(const struct regression *regression, uint32_t k)
{
    const double error = sqrt(gsl_matrix_get(regression->covariance, k, k));
    return regression->unknowns[k] >= UNKNOWN_SLOWNESS &&
           error > VAGUE * gsl_vector_get(regression->solution, k);
}

/* The unknown that came out below zero, or too vague, or UNKNOWN_COUNT_: none did. */
static uint32_t take_solution(const struct regression *regression, struct calibration_group *group)
{
    for (uint32_t k = 0; k < regression->width; k++) {
        if (gsl_vector_get(regression->solution, k) < 0.0 || is_vague(regression, k)) {
            return regression->unknowns[k];
        }
    }
    for (uint32_t k = 0; k < regression->width; k++) {
        const uint32_t u = regression->unknowns[k];
        group->value[u] = gsl_vector_get(regression->solution, k);
        group->error[u] = sqrt(gsl_matrix_get(regression->covariance, k, k));
    }
    return UNKNOWN_COUNT_;
}

static uint32_t free_count(const struct calibration_group *group)
{
    uint32_t count = 0;
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        count += group->is_free[u] ? 1 : 0;
    }
    return count;
}

static bool refuse(struct calibration_group *group, const char *reason)
{
    group->is_fitted = false;
    group->reason = reason;
    return false;
}

static bool fit_group(const struct fitting *fitting, struct calibration_group *group)
{
    start_values(fitting, group);
    free_unknowns(fitting, group);
    for (uint32_t attempt = 0; attempt < REFITS_MAX; attempt++) {
        const uint32_t width = free_count(group);
        if (width == 0) {
            return refuse(group, "no constant comes out positive");
        }
        if (group->points < width + 2) {
            return refuse(group, "too few points");
        }
        struct regression regression;
        regression_init(&regression, group);
        fill_rows(&regression, fitting, group);
        const bool is_solved = solve(&regression);
        const uint32_t negative = is_solved ? take_solution(&regression, group) : UNKNOWN_COUNT_;
        regression_fini(&regression);
        if (!is_solved) {
            return refuse(group, "its points do not tell latency from bandwidth");
        }
        if (negative == UNKNOWN_COUNT_) {
            group->is_fitted = true;
            return true;
        }
        group->is_free[negative] = false;
        if (negative == UNKNOWN_BASE) {
            group->value[UNKNOWN_BASE] = 0.0;
        }
    }
    return refuse(group, "no constant comes out positive");
}

/* The fitted constants into the library. */
static void apply_group(struct fitting *fitting, const struct calibration_group *group)
{
    struct library_cost cost = cost_of(fitting->original, group->architecture, group->pair);
    cost.launch_s = 0.0;
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        const bool is_slowness = u >= UNKNOWN_SLOWNESS;
        *unknown_of(&cost, (enum calibration_unknown)u) =
            is_slowness ? 1.0 / group->value[u] : group->value[u];
        if (is_slowness && group->is_free[u]) {
            cost.maximum_bytes_per_s[u - UNKNOWN_SLOWNESS] = HUGE_VAL;
            cost.channel_maximum_bytes_per_s[u - UNKNOWN_SLOWNESS] = HUGE_VAL;
        }
    }
    put_cost(fitting->library, group->architecture, group->pair, &cost);
}

/* ---- all groups --------------------------------------------------------------------- */

/* The pair of each sample: as measured, or by the library's choice. True when one changed. */
static bool assign(struct fitting *fitting)
{
    bool is_changed = false;
    for (uint32_t i = 0; i < fitting->sample_count; i++) {
        struct sample *sample = &fitting->samples[i];
        struct transfer_quote quote;
        curve_predict(sample->curve, fitting->library, sample->point->bytes, &quote);
        const uint32_t like = fitting->original->shapes[quote.algorithm].like;
        is_changed = is_changed || sample->pair.algorithm != like ||
                     sample->pair.protocol != (uint32_t)quote.protocol;
        sample->pair = (struct collective_choice){like, quote.protocol};
        sample->ran = (struct collective_choice){quote.algorithm, quote.protocol};
        fill_columns(fitting, sample);
    }
    return is_changed;
}

static struct calibration_group *group_of(struct calibration *calibration,
                                          const struct sample *sample)
{
    for (uint32_t i = 0; i < calibration->group_count; i++) {
        if (is_member(sample, &calibration->groups[i])) {
            return &calibration->groups[i];
        }
    }
    struct calibration_group *group = &calibration->groups[calibration->group_count++];
    *group = (struct calibration_group){.architecture = sample->curve->setting.architecture,
                                        .pair = sample->pair,
                                        .bytes_min = sample->point->bytes,
                                        .bytes_max = sample->point->bytes};
    return group;
}

static void make_groups(const struct fitting *fitting, struct calibration *calibration)
{
    calibration->group_count = 0;
    for (uint32_t i = 0; i < fitting->sample_count; i++) {
        struct calibration_group *group = group_of(calibration, &fitting->samples[i]);
        group->points++;
        group->bytes_min = fmin(group->bytes_min, fitting->samples[i].point->bytes);
        group->bytes_max = fmax(group->bytes_max, fitting->samples[i].point->bytes);
    }
}

/* How far each pair's own points are from its fit. */
static void measure_groups(const struct fitting *fitting, struct calibration *calibration)
{
    double *errors = arena_array(fitting->arena, fitting->sample_count, sizeof *errors);
    for (uint32_t g = 0; g < calibration->group_count; g++) {
        struct calibration_group *group = &calibration->groups[g];
        uint32_t count = 0;
        for (uint32_t i = 0; i < fitting->sample_count; i++) {
            const struct sample *sample = &fitting->samples[i];
            double time_s = 0.0;
            if (is_member(sample, group) &&
                curve_price(sample->curve, fitting->library, sample->ran, sample->point->bytes,
                            &time_s)) {
                errors[count++] = fabs(time_s / sample->point->time_s - 1.0);
            }
        }
        group->median = quantile_of(errors, count, 0.5);
        group->p90 = quantile_of(errors, count, 0.9);
    }
}

static uint32_t fit_groups(struct fitting *fitting, struct calibration *calibration)
{
    uint32_t fitted = 0;
    *fitting->library = *fitting->original;
    for (uint32_t g = 0; g < calibration->group_count; g++) {
        if (fit_group(fitting, &calibration->groups[g])) {
            apply_group(fitting, &calibration->groups[g]);
            fitted++;
        }
    }
    return fitted;
}

static void collect(struct fitting *fitting, const struct curve *curves, uint32_t count)
{
    size_t points = 1;
    for (uint32_t i = 0; i < count; i++) {
        points += curves[i].measurement->point_count;
    }
    fitting->samples = arena_array(fitting->arena, points, sizeof *fitting->samples);
    for (uint32_t i = 0; i < count; i++) {
        const struct measurement *measurement = curves[i].measurement;
        for (uint32_t k = 0; k < measurement->point_count && curves[i].skipped == NULL; k++) {
            fitting->samples[fitting->sample_count++] =
                (struct sample){.curve = &curves[i],
                                .point = &measurement->points[k],
                                .pair = COLLECTIVE_CHOICE_FREE};
        }
    }
}

/* What is known of sizes now is what was measured here. */
static void note_sizes(const struct calibration *calibration)
{
    for (uint32_t g = 0; g < calibration->group_count; g++) {
        const struct calibration_group *group = &calibration->groups[g];
        struct library_architecture *architecture =
            &calibration->library->architectures[group->architecture];
        double from = group->bytes_min;
        double to = group->bytes_max;
        for (uint32_t k = 0; k < calibration->group_count; k++) {
            const struct calibration_group *other = &calibration->groups[k];
            if (other->architecture == group->architecture) {
                from = fmin(from, other->bytes_min);
                to = fmax(to, other->bytes_max);
            }
        }
        architecture->fitted_from_bytes = from;
        architecture->fitted_to_bytes = to;
    }
}

static bool nothing_fitted(const struct calibration *calibration, struct diag *diag)
{
    if (calibration->group_count == 0) {
        diag_add(diag, DIAG_INPUT, NULL, "no measurement names a cluster");
        diag_help(diag, "say which: --cluster NAME");
        return false;
    }
    const struct calibration_group *group = &calibration->groups[0];
    for (uint32_t g = 1; g < calibration->group_count; g++) {
        group = calibration->groups[g].points > group->points ? &calibration->groups[g] : group;
    }
    diag_add(diag, DIAG_INPUT, NULL, "nothing can be fitted: %s %s has %u point%s, %s",
             library_algorithm_names[group->pair.algorithm],
             library_protocol_names[group->pair.protocol], group->points,
             group->points == 1 ? "" : "s", group->reason);
    diag_help(diag, "measure a pair of algorithm and protocol at four sizes or more, from "
                    "kilobytes to gigabytes");
    return false;
}

bool calibrate(struct arena *arena, const struct curve *curves, uint32_t count,
               const struct library *library, struct calibration *calibration, struct diag *diag)
{
    struct fitting fitting = {.arena = arena, .original = library};
    fitting.library = arena_alloc(arena, sizeof *fitting.library);
    fitting.scratch = arena_alloc(arena, sizeof *fitting.scratch);
    *fitting.library = *library;
    *fitting.scratch = *library;
    collect(&fitting, curves, count);
    *calibration = (struct calibration){.library = fitting.library};
    calibration->groups =
        arena_array(arena, fitting.sample_count + 1u, sizeof *calibration->groups);
    uint32_t fitted = 0;
    for (uint32_t i = 0; i < CHOICES_MAX && assign(&fitting); i++) {
        make_groups(&fitting, calibration);
        fitted = fit_groups(&fitting, calibration);
    }
    if (fitted == 0) {
        return nothing_fitted(calibration, diag);
    }
    note_sizes(calibration);
    measure_groups(&fitting, calibration);
    calibration->before = curves_errors_of(arena, curves, count, library, 0.0);
    calibration->after = curves_errors_of(arena, curves, count, calibration->library, 0.0);
    return true;
}
