/* The small problem inside a fit: a linear model of all rows, robust, with priors and bounds.
 *
 * x is ln(value / prior) of each constant, r is ln(predicted / measured) of each row, both
 * dimensionless. Near `at` a row's residual is residual + slope (x - at). What is made least:
 *
 *     sum over rows of weight * rho(r) + sum over constants of (x / spread)^2
 *     rho(r) = 2 (c / noise)^2 (sqrt(1 + (r / c)^2) - 1),   c = linear_from
 *
 * rho is (r / noise)^2 near 0 and grows as |r| beyond c, since a score counts absolute errors.
 * Solved by least squares whose weights follow the residuals (Holland and Welsch 1977); a
 * constant that leaves its bounds is put on the bound and the rest solved again.
 */
#ifndef LAB_FIT_FIT_SOLVE_H
#define LAB_FIT_FIT_SOLVE_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

struct fit_system {
    uint32_t rows, constants;
    const double *residual;            /* [rows], at `at` */
    const double *slope;               /* [rows * constants] */
    const double *at;                  /* [constants] */
    const double *weight;              /* [rows]; 0: the row says nothing */
    const bool *is_fixed;              /* [constants] stays at `at`; NULL: none is */
    const double *spread, *low, *high; /* [constants] of x */
    double noise, linear_from;
};

/* The objective of given residuals, which need not be those of the linear model. */
double fit_objective(const struct fit_system *system, const double *residual, const double *x);

/* Residuals of the linear model at x. */
void fit_linear(const struct fit_system *system, const double *x, double *residual);

/* The x with the least objective of the linear model. */
void fit_solve(struct arena *arena, const struct fit_system *system, double *x);

/* The covariance [constants * constants] of x at `at`: of the normal law with rows' noise as wide
 * as their residuals are (not less than `noise` with so many constants as rows), times the
 * priors. */
void fit_covariance(struct arena *arena, const struct fit_system *system, double *covariance);

#endif
