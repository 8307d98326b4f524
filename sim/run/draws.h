/* How far the days, the money and the energy of a run may be off: one set of draws, of which all
 * that is printed is a quantile.
 *
 * Three things are not known: how long a step is, how often what fails, and which history the run
 * will have. Draw d of DRAWS_COUNT has one of each,
 *
 *     steps longer by     exp(sigma_step * z_d)
 *     failures oftener by exp(sigma_rates * y_d)
 *     history             number d, with the failures that it always meets (run/failure)
 *
 * and is walked as such (run/months): what longer steps meet of more failures, and what is in no
 * step, is in it. z and y are each the normal quantiles of (i + 1/2) / DRAWS_COUNT, i = 0, 1, ...,
 * in an order of their own, drawn by hashes of the seed (a Latin hypercube: McKay, Beckman, Conover
 * 1979). They are the same in all runs of a seed, so that two of them differ by what they are.
 *
 * Which of the three dominates: days, as normal quantiles of their ranks (so that a few runs that
 * never end say no more than that they are long), are fitted by a parabola in z and one in y, whose
 * parts (Hermite polynomials: uncorrelated) are variances; what is left is the histories'.
 *
 * Where nothing fails there is one way for a run to go, and days grow with the step: its p10 and
 * p90 are those of the step, put through run/duration, without a draw.
 *
 * ASSUMES: all steps of a run are off by one factor, and all rates of failures by one.
 * ASSUMES: of a run of stages money and energy are in proportion to the time that nodes are held.
 */
#ifndef RUN_DRAWS_H
#define RUN_DRAWS_H

#include "run/result.h"

#include <stdint.h>

struct arena;
struct months_walk;

enum { DRAWS_COUNT = 200 };

/* A draw that takes so many times as long as the mean of the run's histories is given up there:
 * what fails all the time costs the more to walk the longer it is, and p90 lies below in all but
 * such a run, of which it is said to be more. */
#define DRAWS_LONGEST 4

/* Of a normal distribution, one from each of as many strata, in that stream's order. */
void draws_normal(uint64_t seed, const char *stream, double z[DRAWS_COUNT]);

/* The same of any number of draws. */
void draws_normals(uint64_t seed, const char *stream, double *z, uint32_t count);

#define DRAWS_OF_STEP "draw of the step"
#define DRAWS_OF_RATES "draw of the rates"

/* Fills run.draws of a result that has a run. `walk` of its histories; NULL: nothing fails. */
void draws_add(struct arena *arena, const struct run_deviations *deviations,
               struct months_walk *walk, struct result *result);

#endif
