/* The loop of the joint fit: take slopes by simulation, make chord steps with
 * them until they gain nothing, take slopes again, and stop when a round does
 * not pay. Rows are simulated by a function of struct fit_problem, so that
 * tests can fit a problem of their own.
 */
#include "lab/fit/fit.h"

#include "base/arena.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double MOVE = 0.05; /* of ln(value), for slopes */
static const double SLOPE_MIN = 1e-6;
static const double GAIN = 0.002; /* share of the objective that a further chord must bring */
enum { CHORDS_MAX = 3, HALVINGS_MAX = 4, DIGITS = 3 };

struct runner {
    struct arena *arena;
    struct fit *fit;
    struct fit_system system; /* residual and slope are the fit's own */
};

static void say(const struct runner *runner, const char *what, double number)
{
    const struct fit_problem *problem = runner->fit->problem;
    if (problem->progress != NULL) {
        problem->progress(problem->context, arena_printf(runner->arena, "%s %.4g", what, number));
    }
}

/* ---- predictions ------------------------------------------------------------------------ */

static void values_at(const struct fit_plan *plan, const double *x, double *values)
{
    for (uint32_t k = 0; k < plan->count; k++) {
        values[k] = plan->constants[k].prior * exp(x[k]);
    }
}

bool fit_simulate_rows(const struct fit_problem *problem, const double *values,
                       const uint32_t *rows, uint32_t count, double *residual)
{
    if (!problem->predict(problem->context, values, rows, count, residual)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        residual[i] = log(residual[i] / problem->measured_s[rows[i]]);
    }
    return true;
}

bool fit_simulate(struct arena *arena, const struct fit_problem *problem, const double *values,
                  double *residual)
{
    const uint32_t count = problem->votes.row_count;
    uint32_t *rows = arena_array(arena, count, sizeof *rows);
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = i;
    }
    return fit_simulate_rows(problem, values, rows, count, residual);
}

static bool simulate_at(struct runner *runner, const double *x, double *residual)
{
    const struct fit_problem *problem = runner->fit->problem;
    double *values = arena_array(runner->arena, problem->plan->count, sizeof *values);
    values_at(problem->plan, x, values);
    runner->fit->predictions += problem->votes.row_count;
    return fit_simulate(runner->arena, problem, values, residual);
}

static bool take_slope(struct runner *runner, uint32_t constant)
{
    struct fit *fit = runner->fit;
    const struct fit_plan *plan = fit->problem->plan;
    const uint32_t all = fit->problem->votes.row_count;
    uint32_t *rows = arena_array(runner->arena, all, sizeof *rows);
    double *moved = arena_array(runner->arena, all, sizeof *moved);
    double *values = arena_array(runner->arena, plan->count, sizeof *values);
    uint32_t count = 0;
    for (uint32_t i = 0; i < all; i++) {
        if (fit->problem->is_used[(size_t)i * plan->count + constant]) {
            rows[count++] = i;
        }
    }
    const bool has_room = fit->x[constant] + MOVE <= runner->system.high[constant];
    const double move = has_room ? MOVE : -MOVE;
    values_at(plan, fit->x, values);
    values[constant] *= exp(move);
    fit->predictions += count;
    if (count > 0 && !fit_simulate_rows(fit->problem, values, rows, count, moved)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        fit->slope[(size_t)rows[i] * plan->count + constant] =
            (moved[i] - fit->residual[rows[i]]) / move;
    }
    return true;
}

static bool take_slopes(struct runner *runner)
{
    for (uint32_t k = 0; k < runner->fit->problem->plan->count; k++) {
        if (!take_slope(runner, k)) {
            return false;
        }
    }
    say(runner, "slopes taken; rows simulated so far:", runner->fit->predictions);
    return true;
}

/* ---- steps ------------------------------------------------------------------------------ */

static double objective(const struct runner *runner, const double *residual, const double *x)
{
    return fit_objective(&runner->system, residual, x);
}

/* One step with the slopes at hand. *gain: by what share the objective fell; 0: not at all. */
static bool make_chord(struct runner *runner, double *gain)
{
    struct fit *fit = runner->fit;
    const uint32_t n = runner->system.constants;
    const uint32_t rows = runner->system.rows;
    double *target = arena_array(runner->arena, n, sizeof *target);
    double *residual = arena_array(runner->arena, rows, sizeof *residual);
    const double before = objective(runner, fit->residual, fit->x);
    *gain = 0;
    fit_solve(runner->arena, &runner->system, target);
    for (uint32_t halving = 0; halving <= HALVINGS_MAX; halving++) {
        if (!simulate_at(runner, target, residual)) {
            return false;
        }
        const double after = objective(runner, residual, target);
        say(runner, "objective", after);
        if (after < before) {
            memcpy(fit->x, target, n * sizeof *target);
            memcpy(fit->residual, residual, rows * sizeof *residual);
            *gain = (before - after) / before;
            return true;
        }
        for (uint32_t k = 0; k < n; k++) {
            target[k] = 0.5 * (target[k] + fit->x[k]);
        }
    }
    return true;
}

static bool make_round(struct runner *runner)
{
    double gain = 1;
    if (!take_slopes(runner)) {
        return false;
    }
    for (uint32_t chord = 0; chord < CHORDS_MAX && gain > GAIN; chord++) {
        if (!make_chord(runner, &gain)) {
            return false;
        }
    }
    return true;
}

/* Constants that no slope moves, as the rows that use a GPU's file do not use all of it. */
static void note_told(struct fit *fit)
{
    const uint32_t count = fit->problem->plan->count;
    for (uint32_t k = 0; k < count; k++) {
        fit->is_told[k] = false;
        for (uint32_t row = 0; row < fit->problem->votes.row_count && !fit->is_told[k]; row++) {
            fit->is_told[k] = fabs(fit->slope[(size_t)row * count + k]) > SLOPE_MIN;
        }
    }
}

/* As it will be written, within its bounds; what no row tells stays to the last digit. */
static void round_values(struct runner *runner)
{
    struct fit *fit = runner->fit;
    values_at(fit->problem->plan, fit->x, fit->value);
    note_told(fit);
    for (uint32_t k = 0; k < runner->system.constants; k++) {
        const struct fit_constant *constant = &fit->problem->plan->constants[k];
        if (!fit->is_told[k]) {
            fit->value[k] = constant->prior;
            fit->x[k] = 0;
            continue;
        }
        const double size = floor(log10(fit->value[k]));
        const double unit = pow(10.0, size - DIGITS + 1);
        const double rounded = unit * round(fit->value[k] / unit);
        fit->value[k] = fmin(fmax(rounded, constant->min), constant->max);
        fit->x[k] = log(fit->value[k] / constant->prior);
    }
}

/* ---- the whole -------------------------------------------------------------------------- */

static struct fit *fit_new(struct arena *arena, const struct fit_problem *problem)
{
    const size_t rows = problem->votes.row_count;
    const size_t constants = problem->plan->count;
    struct fit *fit = arena_alloc(arena, sizeof *fit);
    fit->problem = problem;
    fit->x = arena_array(arena, constants, sizeof(double));
    fit->value = arena_array(arena, constants, sizeof(double));
    fit->error = arena_array(arena, constants, sizeof(double));
    fit->covariance = arena_array(arena, constants * constants, sizeof(double));
    fit->residual = arena_array(arena, rows, sizeof(double));
    fit->prior_residual = arena_array(arena, rows, sizeof(double));
    fit->slope = arena_array(arena, rows * constants, sizeof(double));
    fit->is_told = arena_array(arena, constants, sizeof(bool));
    return fit;
}

struct fit_system fit_system_of(struct arena *arena, const struct fit *fit, const bool *is_in)
{
    const struct fit_plan *plan = fit->problem->plan;
    double *weight = arena_array(arena, fit->problem->votes.row_count, sizeof *weight);
    double *spread = arena_array(arena, plan->count, sizeof *spread);
    double *low = arena_array(arena, plan->count, sizeof *low);
    double *high = arena_array(arena, plan->count, sizeof *high);
    for (uint32_t k = 0; k < plan->count; k++) {
        const struct fit_constant *constant = &plan->constants[k];
        spread[k] = constant->spread;
        low[k] = log(constant->min / constant->prior);
        high[k] = log(constant->max / constant->prior);
    }
    votes_weights(&fit->problem->votes, is_in, plan->balance, weight);
    return (struct fit_system){
        .rows = fit->problem->votes.row_count,
        .constants = plan->count,
        .residual = fit->residual,
        .slope = fit->slope,
        .at = fit->x,
        .weight = weight,
        .spread = spread,
        .low = low,
        .high = high,
        .noise = plan->noise,
        .linear_from = plan->linear_from,
    };
}

uint32_t fit_votes_moved(struct arena *arena, const struct fit *fit, uint32_t constant)
{
    const struct votes *votes = &fit->problem->votes;
    bool *is_moved = arena_array(arena, votes->vote_count, sizeof *is_moved);
    uint32_t count = 0;
    for (uint32_t row = 0; row < votes->row_count; row++) {
        const double slope = fit->slope[(size_t)row * fit->problem->plan->count + constant];
        if (fabs(expm1(log(1.1) * slope)) >= FIT_MOVED_MIN && !is_moved[votes->vote[row]]) {
            is_moved[votes->vote[row]] = true;
            count++;
        }
    }
    return count;
}

enum fit_bound fit_bound_of(const struct fit *fit, uint32_t constant)
{
    const struct fit_constant *of = &fit->problem->plan->constants[constant];
    const double value = fit->value[constant];
    return value <= of->min * 1.001 ? FIT_AT_MIN : value >= of->max * 0.999 ? FIT_AT_MAX : FIT_FREE;
}

void fit_errors_of(const double *residual, uint32_t count, double *error)
{
    for (uint32_t i = 0; i < count; i++) {
        error[i] = expm1(residual[i]);
    }
}

struct score fit_score(struct arena *arena, const struct votes *votes, const double *residual)
{
    double *error = arena_array(arena, votes->row_count, sizeof *error);
    fit_errors_of(residual, votes->row_count, error);
    return votes_score(arena, votes, NULL, error);
}

struct fit *fit_run(struct arena *arena, const struct fit_problem *problem, uint32_t rounds,
                    struct diag *diag)
{
    struct fit *fit = fit_new(arena, problem);
    struct runner runner = {arena, fit, fit_system_of(arena, fit, NULL)};
    if (problem->votes.row_count == 0) {
        diag_add(diag, DIAG_INPUT, NULL, "there is no row to fit to");
        return NULL;
    }
    if (!simulate_at(&runner, fit->x, fit->residual)) {
        return NULL;
    }
    memcpy(fit->prior_residual, fit->residual, runner.system.rows * sizeof *fit->residual);
    say(&runner, "objective at the priors", objective(&runner, fit->residual, fit->x));
    for (uint32_t round = 0; round < rounds; round++) {
        if (!make_round(&runner)) {
            return NULL;
        }
    }
    round_values(&runner);
    if (!simulate_at(&runner, fit->x, fit->residual) || !take_slopes(&runner)) {
        return NULL;
    }
    note_told(fit);
    fit_covariance(arena, &runner.system, fit->covariance);
    for (uint32_t k = 0; k < runner.system.constants; k++) {
        fit->error[k] = sqrt(fit->covariance[(size_t)k * runner.system.constants + k]);
    }
    return fit;
}
