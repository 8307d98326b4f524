/* A row has few constants (those of its own files), so the normal equations are summed from the
 * slopes that are not 0: some 500 rows of 10 constants cost 50,000 products, the factoring of
 * 80 by 80 170,000. The priors make them positive definite, whatever the rows say.
 */
#include "lab/fit/fit_solve.h"

#include "base/arena.h"

#include <gsl/gsl_linalg.h>
#include <gsl/gsl_matrix.h>
#include <gsl/gsl_vector.h>

#include <math.h>
#include <string.h>

static const uint32_t ROUNDS_MAX = 200;
static const double STILL = 1e-7; /* change of x, in logarithms */

struct solver {
    const struct fit_system *system;
    gsl_matrix *normal, *factor; /* [constants][constants] */
    gsl_vector *right, *reduced, *solution;
    double *weight; /* [rows], robust */
    uint32_t *used; /* [constants] scratch: of one row */
    bool *is_held;  /* [constants] on its bound, or fixed */
    double *held_at;
};

static struct solver solver_new(struct arena *arena, const struct fit_system *system)
{
    const uint32_t n = system->constants;
    return (struct solver){
        .system = system,
        .normal = gsl_matrix_alloc(n, n),
        .factor = gsl_matrix_alloc(n, n),
        .right = gsl_vector_alloc(n),
        .reduced = gsl_vector_alloc(n),
        .solution = gsl_vector_alloc(n),
        .weight = arena_array(arena, system->rows, sizeof(double)),
        .used = arena_array(arena, n, sizeof(uint32_t)),
        .is_held = arena_array(arena, n, sizeof(bool)),
        .held_at = arena_array(arena, n, sizeof(double)),
    };
}

static void solver_free(struct solver *solver)
{
    gsl_matrix_free(solver->normal);
    gsl_matrix_free(solver->factor);
    gsl_vector_free(solver->right);
    gsl_vector_free(solver->reduced);
    gsl_vector_free(solver->solution);
}

static const double *slopes_of(const struct fit_system *system, uint32_t row)
{
    return &system->slope[(size_t)row * system->constants];
}

/* ---- residuals and objective ------------------------------------------------------------ */

static double robust_root(const struct fit_system *system, double residual)
{
    const double share = residual / system->linear_from;
    return sqrt(1.0 + share * share);
}

double fit_objective(const struct fit_system *system, const double *residual, const double *x)
{
    const double share = system->linear_from / system->noise;
    double sum = 0;
    for (uint32_t i = 0; i < system->rows; i++) {
        if (system->weight[i] > 0) {
            sum +=
                system->weight[i] * 2.0 * share * share * (robust_root(system, residual[i]) - 1.0);
        }
    }
    for (uint32_t k = 0; k < system->constants; k++) {
        sum += (x[k] / system->spread[k]) * (x[k] / system->spread[k]);
    }
    return sum;
}

void fit_linear(const struct fit_system *system, const double *x, double *residual)
{
    for (uint32_t i = 0; i < system->rows; i++) {
        const double *slope = slopes_of(system, i);
        double sum = system->residual[i];
        for (uint32_t k = 0; k < system->constants; k++) {
            sum += slope[k] * (x[k] - system->at[k]);
        }
        residual[i] = sum;
    }
}

/* ---- normal equations ------------------------------------------------------------------- */

static void add_row(struct solver *solver, uint32_t row, double weight)
{
    const struct fit_system *system = solver->system;
    const double *slope = slopes_of(system, row);
    double constant = system->residual[row]; /* the residual at x = 0 */
    uint32_t count = 0;
    for (uint32_t k = 0; k < system->constants; k++) {
        if (fabs(slope[k]) > 0) {
            solver->used[count++] = k;
            constant -= slope[k] * system->at[k];
        }
    }
    for (uint32_t a = 0; a < count; a++) {
        const uint32_t k = solver->used[a];
        *gsl_vector_ptr(solver->right, k) -= weight * slope[k] * constant;
        for (uint32_t b = 0; b < count; b++) {
            const uint32_t l = solver->used[b];
            *gsl_matrix_ptr(solver->normal, k, l) += weight * slope[k] * slope[l];
        }
    }
}

/* Weights are per squared residual, 1 / noise^2 included. */
static void fill_normal(struct solver *solver, const double *weight)
{
    const struct fit_system *system = solver->system;
    gsl_matrix_set_zero(solver->normal);
    gsl_vector_set_zero(solver->right);
    for (uint32_t i = 0; i < system->rows; i++) {
        if (weight[i] > 0) {
            add_row(solver, i, weight[i]);
        }
    }
    for (uint32_t k = 0; k < system->constants; k++) {
        *gsl_matrix_ptr(solver->normal, k, k) += 1.0 / (system->spread[k] * system->spread[k]);
    }
}

/* Takes what is held out of the equations: it becomes a known term of the others. */
static void reduce(struct solver *solver)
{
    const uint32_t n = solver->system->constants;
    gsl_matrix_memcpy(solver->factor, solver->normal);
    gsl_vector_memcpy(solver->reduced, solver->right);
    for (uint32_t k = 0; k < n; k++) {
        if (!solver->is_held[k]) {
            continue;
        }
        for (uint32_t l = 0; l < n; l++) {
            *gsl_vector_ptr(solver->reduced, l) -=
                gsl_matrix_get(solver->normal, l, k) * solver->held_at[k];
            gsl_matrix_set(solver->factor, k, l, 0);
            gsl_matrix_set(solver->factor, l, k, 0);
        }
        gsl_matrix_set(solver->factor, k, k, 1);
    }
    for (uint32_t k = 0; k < n; k++) {
        if (solver->is_held[k]) {
            gsl_vector_set(solver->reduced, k, solver->held_at[k]);
        }
    }
}

/* Holds each that left its bounds; false when none did. */
static bool hold_outliers(struct solver *solver)
{
    const struct fit_system *system = solver->system;
    bool is_any = false;
    for (uint32_t k = 0; k < system->constants; k++) {
        const double x = gsl_vector_get(solver->solution, k);
        if (!solver->is_held[k] && (x < system->low[k] || x > system->high[k])) {
            solver->is_held[k] = true;
            solver->held_at[k] = x < system->low[k] ? system->low[k] : system->high[k];
            is_any = true;
        }
    }
    return is_any;
}

/* Ends: each round but the last holds one more. */
static void solve_bounded(struct solver *solver)
{
    const struct fit_system *system = solver->system;
    for (uint32_t k = 0; k < system->constants; k++) {
        solver->is_held[k] = system->is_fixed != NULL && system->is_fixed[k];
        solver->held_at[k] = system->at[k];
    }
    do {
        reduce(solver);
        const int factored = gsl_linalg_cholesky_decomp1(solver->factor);
        sim_assert(factored == 0);
        gsl_linalg_cholesky_solve(solver->factor, solver->reduced, solver->solution);
    } while (hold_outliers(solver));
}

/* ---- the solution ----------------------------------------------------------------------- */

static void weigh(struct solver *solver, const double *residual)
{
    const struct fit_system *system = solver->system;
    for (uint32_t i = 0; i < system->rows; i++) {
        solver->weight[i] =
            system->weight[i] / (system->noise * system->noise * robust_root(system, residual[i]));
    }
}

void fit_solve(struct arena *arena, const struct fit_system *system, double *x)
{
    struct solver solver = solver_new(arena, system);
    double *residual = arena_array(arena, system->rows, sizeof *residual);
    memcpy(x, system->at, system->constants * sizeof *x);
    double change = 1;
    for (uint32_t round = 0; round < ROUNDS_MAX && change > STILL; round++) {
        fit_linear(system, x, residual);
        weigh(&solver, residual);
        fill_normal(&solver, solver.weight);
        solve_bounded(&solver);
        change = 0;
        for (uint32_t k = 0; k < system->constants; k++) {
            const double next = gsl_vector_get(solver.solution, k);
            change = fmax(change, fabs(next - x[k]));
            x[k] = next;
        }
    }
    solver_free(&solver);
}

/* Mean square of the residuals, by weight. */
static double scatter(const struct fit_system *system)
{
    double sum = 0;
    double weights = 0;
    for (uint32_t i = 0; i < system->rows; i++) {
        sum += system->weight[i] * system->residual[i] * system->residual[i];
        weights += system->weight[i];
    }
    return weights > 0 ? sum / weights : 0;
}

/* Rows that are no more than the constants can be met whatever they say: then their scatter tells
 * nothing, and their noise is the plan's. No row is better than a thousandth. */
static double variance_of(const struct fit_system *system)
{
    uint32_t rows = 0;
    for (uint32_t i = 0; i < system->rows; i++) {
        rows += system->weight[i] > 0 ? 1 : 0;
    }
    const double least = rows > system->constants ? 1e-6 : system->noise * system->noise;
    return fmax(scatter(system), least);
}

void fit_covariance(struct arena *arena, const struct fit_system *system, double *covariance)
{
    struct solver solver = solver_new(arena, system);
    const double variance = variance_of(system);
    for (uint32_t i = 0; i < system->rows; i++) {
        solver.weight[i] = system->weight[i] / variance;
    }
    fill_normal(&solver, solver.weight);
    const int factored = gsl_linalg_cholesky_decomp1(solver.normal);
    sim_assert(factored == 0);
    gsl_linalg_cholesky_invert(solver.normal);
    for (uint32_t k = 0; k < system->constants; k++) {
        for (uint32_t l = 0; l < system->constants; l++) {
            covariance[(size_t)k * system->constants + l] = gsl_matrix_get(solver.normal, k, l);
        }
    }
    solver_free(&solver);
}
