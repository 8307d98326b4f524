/* The unknowns of a GPU's products stand in one table, with start, prior and
 * bounds. Each precision is solved by GSL's nonlinear least squares, again and
 * again with weights from the last residuals until the weights settle.
 */
#include "measured/kernel_fit.h"

#include "base/arena.h"
#include "base/check.h"
#include "measured/fit_limit.h"

#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS_MAX = 100, ROUNDS = 6 };
static const double ROW_SPREAD = 0.05; /* relative error that a row is believed with */
static const double TOLD = 0.7;        /* standard error over the prior's width, below which */
static const double WARM_S = 200e-6;
static const double UNTOLD_LIMIT = 0.93; /* sustained over efficiency, where the file says none */

const char *const gemm_unknown_names[GEMM_UNKNOWN_COUNT_] = {
    "efficiency", "sustained", "k_half", "tile_loss", "balance", "wgrad_loss", "warm"};

/* Where an unknown starts that the GPU's file says nothing of, how far it may go from its start
 * (one standard deviation, of its logarithm or of itself), and its bounds. */
static const struct unknown {
    bool is_log, is_shape; /* shape: not of each precision */
    double start, width, least, most;
} unknowns[GEMM_UNKNOWN_COUNT_] = {
    [GEMM_EFFICIENCY] = {true, false, 0.8, 0.1, 0.01, 1.0},
    [GEMM_SUSTAINED] = {true, false, 0.75, 0.3, 0.01, 1.0},
    [GEMM_K_HALF] = {true, false, 200.0, 0.7, 1.0, 1e4},
    [GEMM_TILE_LOSS] = {true, true, 1.0, 0.5, 0.01, 100.0},
    [GEMM_BALANCE] = {false, true, 0.45, 0.2, 0.0, 1.0},
    [GEMM_WGRAD_LOSS] = {false, true, 0.05, 0.05, 0.0, 0.9},
    [GEMM_WARM] = {true, false, 200e-6, 1.0, 1e-6, 1.0},
};

double gemm_warm_s(void)
{
    return WARM_S;
}

/* ---- predicting ----------------------------------------------------------------------- */

double gemm_row_predict(const struct gpu *gpu, const struct gemm_row *row, double warm_s)
{
    const struct kernel_gpu on = {
        .gpu = gpu, .precision = row->precision, .pass = row->pass, .gemm_derate = 1.0};
    const struct gemm_tiling tiling = kernel_gemm_tiling(&on, &row->size);
    const struct kernel_time memory = kernel_memory(&on, row->bytes);
    const double cold_s = fmax(tiling.tiles_s, memory.busy_s);
    const double acted = row->measured_s / (row->measured_s + warm_s);
    return cold_s + acted * fmax(tiling.sustained_s - cold_s, 0.0) + memory.launch_s;
}

struct measured_section gemm_select(struct arena *arena, const struct gemm_rows *rows,
                                    const char *gpu_name, enum precision section)
{
    const struct measured_list list = {rows->rows, sizeof *rows->rows, rows->count};
    return measured_select(arena, list, gpu_name, section);
}

double gemm_row_error(const struct gpu *gpu, const struct measured *row, double warm_s)
{
    const struct gemm_row *product = (const void *)row;
    return gemm_row_predict(gpu, product, warm_s) / product->measured_s - 1.0;
}

struct measured_errors gemm_errors_of(struct arena *arena, const struct measured_section *section,
                                      const struct gpu *gpu, double warm_s, int layout)
{
    double *errors = arena_array(arena, (size_t)section->count + 1, sizeof *errors);
    uint32_t count = 0;
    for (uint32_t i = 0; i < section->count; i++) {
        const struct gemm_row *row = (const void *)section->rows[i];
        if (layout < 0 || (int)row->pass == layout) {
            errors[count++] = gemm_row_error(gpu, section->rows[i], warm_s);
        }
    }
    return measured_errors_of(arena, errors, count);
}

/* ---- unknowns ------------------------------------------------------------------------- */

struct problem {
    struct measured_section rows;
    struct gpu gpu; /* a copy to try figures on */
    enum precision section;
    uint32_t free[GEMM_UNKNOWN_COUNT_]; /* which are unknown */
    uint32_t free_count;
    double start[GEMM_UNKNOWN_COUNT_]; /* values, of all */
};

static double start_of(const struct gpu *gpu, enum precision section, uint32_t unknown)
{
    const struct gemm_figures figures = gpu_gemm(gpu, section);
    const double values[GEMM_UNKNOWN_COUNT_] = {
        figures.efficiency,
        figures.sustained,
        figures.k_half,
        gpu->gemm_tile_loss,
        gpu->gemm_balance,
        gpu->gemm_wgrad_loss,
        0.0,
    };
    const struct gemm_figures *own = &gpu->gemm_of[section];
    const double sustained = own->efficiency > 0.0 ? own->sustained : gpu->gemm_sustained;
    if (unknown == GEMM_SUSTAINED && sustained <= 0.0) {
        return UNTOLD_LIMIT * figures.efficiency; /* below it, or no row could tell */
    }
    const double value = values[unknown];
    return value >= unknowns[unknown].least && value > 0.0 ? value : unknowns[unknown].start;
}

static double to_axis(uint32_t unknown, double value)
{
    return unknowns[unknown].is_log ? log(value) : value;
}

static double from_axis(uint32_t unknown, double x)
{
    const double value = unknowns[unknown].is_log ? exp(x) : x;
    return fmin(fmax(value, unknowns[unknown].least), unknowns[unknown].most);
}

static void set_figures(struct gpu *gpu, enum precision section, const double *values)
{
    const struct gemm_figures figures = {.efficiency = values[GEMM_EFFICIENCY],
                                         .k_half = values[GEMM_K_HALF],
                                         .sustained = values[GEMM_SUSTAINED]};
    if (precision_is_low(section)) {
        gpu->gemm_of[section] = figures;
        return;
    }
    gpu->gemm_efficiency = figures.efficiency;
    gpu->gemm_k_half = figures.k_half;
    gpu->gemm_sustained = figures.sustained;
    gpu->gemm_tile_loss = values[GEMM_TILE_LOSS];
    gpu->gemm_balance = values[GEMM_BALANCE];
    gpu->gemm_wgrad_loss = values[GEMM_WGRAD_LOSS];
}

static void values_at(const struct problem *problem, const gsl_vector *x, double *values)
{
    memcpy(values, problem->start, sizeof problem->start);
    for (uint32_t i = 0; i < problem->free_count; i++) {
        values[problem->free[i]] = from_axis(problem->free[i], gsl_vector_get(x, i));
    }
}

/* Errors of rows, then of unknowns against their priors. */
static int residuals(const gsl_vector *x, void *data, gsl_vector *out)
{
    struct problem *problem = data;
    double values[GEMM_UNKNOWN_COUNT_];
    values_at(problem, x, values);
    set_figures(&problem->gpu, problem->section, values);
    for (uint32_t i = 0; i < problem->rows.count; i++) {
        const struct gemm_row *row = (const void *)problem->rows.rows[i];
        const double time_s = gemm_row_predict(&problem->gpu, row, values[GEMM_WARM]);
        gsl_vector_set(out, i, log(time_s / row->measured_s) / ROW_SPREAD);
    }
    for (uint32_t i = 0; i < problem->free_count; i++) {
        const uint32_t unknown = problem->free[i];
        const double start = to_axis(unknown, problem->start[unknown]);
        gsl_vector_set(out, problem->rows.count + i,
                       (gsl_vector_get(x, i) - start) / unknowns[unknown].width);
    }
    return GSL_SUCCESS;
}

/* ---- fitting -------------------------------------------------------------------------- */

static void weigh(const gsl_vector *x, struct problem *problem, gsl_vector *weights)
{
    gsl_vector *errors = gsl_vector_alloc(weights->size);
    residuals(x, problem, errors);
    for (size_t i = 0; i < weights->size; i++) {
        const double error = gsl_vector_get(errors, i) / 2.0;
        gsl_vector_set(weights, i, i < problem->rows.count ? 1.0 / sqrt(1.0 + error * error) : 1.0);
    }
    gsl_vector_free(errors);
}

static void take_errors(const struct problem *problem, gsl_multifit_nlinear_workspace *solver,
                        struct gemm_fit *fit)
{
    gsl_matrix *covariance = gsl_matrix_alloc(problem->free_count, problem->free_count);
    gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(solver), 0.0, covariance);
    for (uint32_t i = 0; i < problem->free_count; i++) {
        const uint32_t unknown = problem->free[i];
        const double spread = sqrt(gsl_matrix_get(covariance, i, i));
        fit->is_told[unknown] = spread < TOLD * unknowns[unknown].width;
        fit->error[unknown] = unknowns[unknown].is_log ? spread * fit->value[unknown] : spread;
    }
    gsl_matrix_free(covariance);
}

static void solve(struct problem *problem, struct gemm_fit *fit)
{
    const size_t rows = problem->rows.count + problem->free_count;
    const size_t columns = problem->free_count;
    const gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_workspace *solver =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters, rows, columns);
    gsl_multifit_nlinear_fdf system = {.f = residuals, .n = rows, .p = columns, .params = problem};
    gsl_vector *x = gsl_vector_alloc(columns);
    gsl_vector *weights = gsl_vector_alloc(rows);
    for (uint32_t i = 0; i < columns; i++) {
        gsl_vector_set(x, i, to_axis(problem->free[i], problem->start[problem->free[i]]));
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        int reason = 0;
        weigh(x, problem, weights);
        gsl_multifit_nlinear_winit(x, weights, &system, solver);
        gsl_multifit_nlinear_driver(ITERATIONS_MAX, 1e-8, 1e-8, 0.0, NULL, NULL, &reason, solver);
        gsl_vector_memcpy(x, gsl_multifit_nlinear_position(solver));
    }
    values_at(problem, x, fit->value);
    take_errors(problem, solver, fit);
    gsl_vector_free(weights);
    gsl_vector_free(x);
    gsl_multifit_nlinear_free(solver);
}

static void fit_section(struct arena *arena, struct gemm_fit *fit)
{
    struct problem problem = {.rows = fit->rows, .gpu = *fit->before, .section = fit->precision};
    for (uint32_t i = 0; i < GEMM_UNKNOWN_COUNT_; i++) {
        problem.start[i] = start_of(fit->before, fit->precision, i);
        if (!unknowns[i].is_shape || !precision_is_low(fit->precision)) {
            problem.free[problem.free_count++] = i;
        }
    }
    solve(&problem, fit);
    struct gpu *after = arena_alloc(arena, sizeof *after);
    *after = *fit->before;
    set_figures(after, fit->precision, fit->value);
    fit->after = after;
    fit->errors_before = gemm_errors_of(arena, &fit->rows, fit->before, WARM_S, -1);
    fit->errors_after = gemm_errors_of(arena, &fit->rows, after, fit->value[GEMM_WARM], -1);
    fit->is_met = fit->errors_after.median <= FIT_MEDIAN_MAX;
}

static struct gemm_fit *find(const struct gemm_fits *fits, const char *gpu_name,
                             enum precision section)
{
    for (uint32_t i = 0; i < fits->count; i++) {
        if (strcmp(fits->fits[i].gpu_name, gpu_name) == 0 && fits->fits[i].precision == section) {
            return &fits->fits[i];
        }
    }
    return NULL;
}

struct gemm_fits gemm_fit_all(struct arena *arena, const struct gemm_rows *rows)
{
    struct gemm_fits fits = {.fits = arena_array(arena, rows->count + 1, sizeof *fits.fits)};
    for (uint32_t is_low = 0; is_low < 2; is_low++) {
        for (uint32_t i = 0; i < rows->count; i++) {
            const struct measured *row = &rows->rows[i].of;
            const enum precision section = row->section;
            if (precision_is_low(section) != (is_low == 1) ||
                find(&fits, row->gpu_name, section) != NULL) {
                continue;
            }
            const struct gemm_fit *wide = find(&fits, row->gpu_name, PRECISION_BF16);
            struct gemm_fit *fit = &fits.fits[fits.count++];
            *fit = (struct gemm_fit){
                .gpu_name = row->gpu_name,
                .rows = gemm_select(arena, rows, row->gpu_name, section),
                .before = wide != NULL && wide->is_met ? wide->after : row->gpu,
                .precision = section,
            };
            fit_section(arena, fit);
        }
    }
    return fits;
}
