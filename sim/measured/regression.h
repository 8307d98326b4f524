/* A linear regression in which outliers count less (Tukey's biweight, gsl_multifit_robust). */
#ifndef MEASURED_REGRESSION_H
#define MEASURED_REGRESSION_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>

struct arena;

/* Finds `solution` [width] with rows [n * width] times it nearest to `right` [n], and the standard
 * error of each. Rows are overwritten. False when they do not tell all of it. */
MUST_USE bool regression_solve(struct arena *arena, double *rows, const double *right, size_t n,
                               size_t width, double *solution, double *error);

#endif
