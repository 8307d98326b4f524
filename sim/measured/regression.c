/* Solves a linear regression twice. Ordinary least squares come first: they tell the rank, and an
 * exact fit leaves robustness no scale to judge by.
 */
#include "measured/regression.h"

#include "base/arena.h"

#include <gsl/gsl_matrix.h>
#include <gsl/gsl_multifit.h>
#include <gsl/gsl_vector.h>
#include <math.h>

static const double RANK_TOLERANCE = 1e-10;
static const double EXACT_RESIDUAL = 1e-9; /* relative: nothing for robustness to do */

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

/* Leaves solution and covariance as they are where it finds none. */
static void solve_robustly(const gsl_matrix *rows, const gsl_vector *right, gsl_vector *solution,
                           gsl_matrix *covariance)
{
    gsl_multifit_robust_workspace *robust =
        gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, rows->size1, rows->size2);
    gsl_multifit_robust_maxiter(1000, robust);
    gsl_vector *better = gsl_vector_alloc(rows->size2);
    gsl_matrix *spread = gsl_matrix_alloc(rows->size2, rows->size2);
    if (gsl_multifit_robust(rows, right, better, spread, robust) == 0) {
        gsl_vector_memcpy(solution, better);
        gsl_matrix_memcpy(covariance, spread);
    }
    gsl_vector_free(better);
    gsl_matrix_free(spread);
    gsl_multifit_robust_free(robust);
}

bool regression_solve(struct arena *arena, double *rows, const double *right, size_t n,
                      size_t width, double *solution, double *error)
{
    double *lengths = arena_array(arena, width, sizeof *lengths);
    double *squares = arena_array(arena, width * width, sizeof *squares);
    gsl_matrix_view matrix = gsl_matrix_view_array(rows, n, width);
    gsl_vector_const_view ones = gsl_vector_const_view_array(right, n);
    gsl_vector_view found = gsl_vector_view_array(solution, width);
    gsl_matrix_view covariance = gsl_matrix_view_array(squares, width, width);
    gsl_multifit_linear_workspace *linear = gsl_multifit_linear_alloc(n, width);
    double square = 0.0;
    size_t rank = 0;
    scale_columns(&matrix.matrix, lengths);
    bool is_good =
        gsl_multifit_linear_tsvd(&matrix.matrix, &ones.vector, RANK_TOLERANCE, &found.vector,
                                 &covariance.matrix, &square, &rank, linear) == 0 &&
        rank == width;
    gsl_multifit_linear_free(linear);
    if (is_good && sqrt(square / (double)n) > EXACT_RESIDUAL) {
        solve_robustly(&matrix.matrix, &ones.vector, &found.vector, &covariance.matrix);
    }
    for (size_t k = 0; k < width && is_good; k++) {
        solution[k] /= lengths[k];
        error[k] = sqrt(squares[k * width + k] / (lengths[k] * lengths[k]));
        is_good = isfinite(solution[k]);
    }
    return is_good;
}
