/* Cross-validation, sources left out, effects removed: fits of the linear model, from the priors.
 *
 * Rows' residuals are those simulated at the fitted values and move along the slopes taken there;
 * for an effect removed they are simulated with its constants at their neutral values, which are
 * too far for slopes, and the other constants' slopes are kept.
 */
#include "lab/fit/fit.h"

#include "base/absent.h"
#include "base/arena.h"

#include <math.h>
#include <string.h>

static const uint64_t SEED = 2026;
enum { CHORDS = 2 };

/* ---- one refit -------------------------------------------------------------------------- */

static void weigh(struct arena *arena, struct fit_system *system, const struct fit_problem *problem,
                  const bool *is_in)
{
    double *weight = arena_array(arena, system->rows, sizeof *weight);
    votes_weights(&problem->votes, is_in, problem->plan->balance, weight);
    system->weight = weight;
}

const double *fit_refit(struct arena *arena, const struct fit_system *system,
                        const struct fit_problem *problem, const bool *is_in)
{
    struct fit_system part = *system;
    weigh(arena, &part, problem, is_in);
    double *x = arena_array(arena, part.constants, sizeof *x);
    double *residual = arena_array(arena, part.rows, sizeof *residual);
    fit_solve(arena, &part, x);
    fit_linear(&part, x, residual);
    return residual;
}

static const double *errors_of(struct arena *arena, const double *residual, uint32_t rows)
{
    double *error = arena_array(arena, rows, sizeof *error);
    fit_errors_of(residual, rows, error);
    return error;
}

/* Their errors. */
static const double *refit(struct arena *arena, const struct fit_system *system,
                           const struct fit_problem *problem, const bool *is_in)
{
    return errors_of(arena, fit_refit(arena, system, problem, is_in), system->rows);
}

static bool *other_votes(struct arena *arena, const struct votes *votes, const bool *is_in)
{
    bool *is_out = arena_array(arena, votes->vote_count, sizeof *is_out);
    for (uint32_t v = 0; v < votes->vote_count; v++) {
        is_out[v] = !is_in[v];
    }
    return is_out;
}

/* ---- cross-validation ------------------------------------------------------------------- */

struct fit_spread fit_spread_of(const double *values, uint32_t count)
{
    struct fit_spread spread = {0, 0};
    for (uint32_t i = 0; i < count; i++) {
        spread.mean += values[i] / count;
    }
    for (uint32_t i = 0; i < count && count > 1; i++) {
        const double off = values[i] - spread.mean;
        spread.deviation += off * off / (count - 1);
    }
    spread.deviation = sqrt(spread.deviation);
    return spread;
}

enum fold_figure { FOLD_FITTED, FOLD_OTHER, FOLD_GAP, FOLD_MACRO, FOLD_BIAS, FOLD_COUNT_ };

struct fit_folds fit_cross_validate(struct arena *arena, const struct fit_system *system,
                                    const struct fit_problem *problem, uint32_t repeats)
{
    const struct votes *votes = &problem->votes;
    const uint32_t fits = 2 * repeats;
    if (votes->config_count < FIT_FOLD_CONFIGS_MIN) {
        const struct fit_spread none = {ABSENT, ABSENT};
        return (struct fit_folds){0, none, none, none, none, none, NULL, NULL};
    }
    double *figures[FOLD_COUNT_];
    for (uint32_t i = 0; i < FOLD_COUNT_; i++) {
        figures[i] = arena_array(arena, fits, sizeof *figures[i]);
    }
    double *row_error = arena_array(arena, votes->row_count, sizeof *row_error);
    double *row_residual =
        arena_array(arena, (size_t)repeats * votes->row_count, sizeof *row_residual);
    bool *first = arena_array(arena, votes->vote_count, sizeof *first);
    for (uint32_t i = 0; i < fits; i++) {
        votes_half(arena, votes, SEED, i / 2, first);
        const bool *second = other_votes(arena, votes, first);
        const bool *is_in = i % 2 == 0 ? first : second;
        const bool *is_out = i % 2 == 0 ? second : first;
        const double *residual = fit_refit(arena, system, problem, is_in);
        const double *error = errors_of(arena, residual, votes->row_count);
        const struct score fitted = votes_score(arena, votes, is_in, error);
        const struct score other = votes_score(arena, votes, is_out, error);
        figures[FOLD_FITTED][i] = fitted.mean;
        figures[FOLD_OTHER][i] = other.mean;
        figures[FOLD_GAP][i] = other.mean - fitted.mean;
        figures[FOLD_MACRO][i] = other.macro;
        figures[FOLD_BIAS][i] = other.bias;
        for (uint32_t row = 0; row < votes->row_count; row++) {
            if (is_out[votes->vote[row]]) {
                row_error[row] += error[row] / repeats;
                row_residual[(size_t)(i / 2) * votes->row_count + row] = residual[row];
            }
        }
    }
    return (struct fit_folds){
        .fits = fits,
        .fitted = fit_spread_of(figures[FOLD_FITTED], fits),
        .other = fit_spread_of(figures[FOLD_OTHER], fits),
        .gap = fit_spread_of(figures[FOLD_GAP], fits),
        .macro = fit_spread_of(figures[FOLD_MACRO], fits),
        .bias = fit_spread_of(figures[FOLD_BIAS], fits),
        .error = row_error,
        .residual = row_residual,
    };
}

static void values_of(const struct fit_plan *plan, const double *x, double *values)
{
    for (uint32_t k = 0; k < plan->count; k++) {
        values[k] = plan->constants[k].prior * exp(x[k]);
    }
}

/* Chords keep the slopes and take the residuals anew, so what they settle on is the simulator's
 * own optimum but for the change of slopes on the way. */
bool fit_check_fold(struct arena *arena, const struct fit *fit, struct fit_fold_check *check)
{
    const struct fit_problem *problem = fit->problem;
    const struct votes *votes = &problem->votes;
    const uint32_t n = problem->plan->count;
    bool *is_in = arena_array(arena, votes->vote_count, sizeof *is_in);
    votes_half(arena, votes, SEED, 0, is_in);
    const bool *is_out = other_votes(arena, votes, is_in);
    struct fit_system system = fit_system_of(arena, fit, is_in);
    double *residual = arena_array(arena, system.rows, sizeof *residual);
    double *x = arena_array(arena, n, sizeof *x);
    double *values = arena_array(arena, n, sizeof *values);
    const double *linear = refit(arena, &system, problem, is_in);
    check->linear = votes_score(arena, votes, is_out, linear).mean;
    memcpy(residual, fit->prior_residual, system.rows * sizeof *residual);
    system.residual = residual;
    system.at = x;
    for (uint32_t chord = 0; chord < CHORDS; chord++) {
        double *next = arena_array(arena, n, sizeof *next);
        fit_solve(arena, &system, next);
        memcpy(x, next, n * sizeof *x);
        values_of(problem->plan, x, values);
        if (!fit_simulate(arena, problem, values, residual)) {
            return false;
        }
    }
    fit_errors_of(residual, system.rows, residual);
    check->simulated = votes_score(arena, votes, is_out, residual).mean;
    return true;
}

/* ---- sources left out ------------------------------------------------------------------- */

const struct fit_left_out *fit_leave_out(struct arena *arena, const struct fit *fit,
                                         double *residual)
{
    const struct votes *votes = &fit->problem->votes;
    const struct fit_system system = fit_system_of(arena, fit, NULL);
    double *fitted = arena_array(arena, system.rows, sizeof *fitted);
    fit_errors_of(fit->residual, system.rows, fitted);
    struct fit_left_out *list = arena_array(arena, votes->source_count, sizeof *list);
    for (uint32_t s = 0; s < votes->source_count; s++) {
        bool *is_of = arena_array(arena, votes->vote_count, sizeof *is_of);
        for (uint32_t v = 0; v < votes->vote_count; v++) {
            is_of[v] = votes->source[v] == s;
        }
        const bool *is_in = other_votes(arena, votes, is_of);
        const double *of_others = fit_refit(arena, &system, fit->problem, is_in);
        const double *error = errors_of(arena, of_others, system.rows);
        list[s] = (struct fit_left_out){
            .name = votes->source_names[s],
            .within = votes_score(arena, votes, is_of, fitted),
            .without = votes_score(arena, votes, is_of, error),
        };
        for (uint32_t row = 0; row < system.rows; row++) {
            residual[row] = is_of[votes->vote[row]] ? of_others[row] : residual[row];
        }
    }
    return list;
}

/* ---- effects and parts of the model removed ------------------------------------------------- */

static bool is_moved(const struct fit *fit, const double *residual, uint32_t row)
{
    return fabs(residual[row] - fit->residual[row]) > 1e-9;
}

/* What is idle moves no row, or none of those that the removal moved. */
static struct fit_system system_without(struct arena *arena, const struct fit *fit,
                                        const bool *is_idle, bool only_moved,
                                        const double *residual)
{
    struct fit_system system = fit_system_of(arena, fit, NULL);
    const size_t size = (size_t)system.rows * system.constants;
    double *slope = arena_array(arena, size, sizeof *slope);
    for (size_t i = 0; i < size; i++) {
        const bool is_gone =
            is_idle[i % system.constants] &&
            (!only_moved || is_moved(fit, residual, (uint32_t)(i / system.constants)));
        slope[i] = is_gone ? 0 : fit->slope[i];
    }
    system.slope = slope;
    system.residual = residual;
    return system;
}

static void fit_again(struct arena *arena, const struct fit_system *system, const struct fit *fit,
                      const struct fit_folds *whole, struct fit_without *without)
{
    const struct fit_problem *problem = fit->problem;
    const double *error = refit(arena, system, problem, NULL);
    without->fitted = votes_score(arena, &problem->votes, NULL, error);
    without->folds = fit_cross_validate(arena, system, problem, whole->fits / 2);
    without->worth = without->folds.other.mean - whole->other.mean;
}

/* Without one effect: which constants are gone, what the values are. */
static bool remove_effect(const struct fit *fit, uint32_t effect, bool *is_gone, double *values,
                          uint32_t *count)
{
    const struct fit_plan *plan = fit->problem->plan;
    bool is_removable = true;
    memcpy(values, fit->value, plan->count * sizeof *values);
    for (uint32_t k = 0; k < plan->count; k++) {
        is_gone[k] = plan->constants[k].effect == effect;
        if (is_gone[k]) {
            values[k] = plan->constants[k].neutral;
            is_removable = is_removable && plan->constants[k].has_neutral;
            ++*count;
        }
    }
    return is_removable;
}

/* Residuals at these values, of rows that use one of the constants; of others as fitted. */
static bool simulate_users(struct arena *arena, const struct fit *fit, const bool *is_gone,
                           const double *values, double *residual)
{
    const struct fit_problem *problem = fit->problem;
    const uint32_t n = problem->plan->count;
    uint32_t *rows = arena_array(arena, problem->votes.row_count, sizeof *rows);
    double *moved = arena_array(arena, problem->votes.row_count, sizeof *moved);
    uint32_t count = 0;
    for (uint32_t row = 0; row < problem->votes.row_count; row++) {
        bool is_any = false;
        for (uint32_t k = 0; k < n; k++) {
            is_any = is_any || (is_gone[k] && problem->is_used[row * (size_t)n + k]);
        }
        residual[row] = fit->residual[row];
        rows[count] = row;
        count += is_any ? 1 : 0;
    }
    if (count > 0 && !fit_simulate_rows(problem, values, rows, count, moved)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        residual[rows[i]] = moved[i];
    }
    return true;
}

const struct fit_without *fit_ablate(struct arena *arena, const struct fit *fit,
                                     const struct fit_folds *whole)
{
    const struct fit_problem *problem = fit->problem;
    const struct fit_plan *plan = problem->plan;
    struct fit_without *list = arena_array(arena, plan->effect_count, sizeof *list);
    for (uint32_t e = 0; e < plan->effect_count; e++) {
        struct fit_without *without = &list[e];
        bool *is_gone = arena_array(arena, plan->count, sizeof *is_gone);
        double *values = arena_array(arena, plan->count, sizeof *values);
        double *residual = arena_array(arena, problem->votes.row_count, sizeof *residual);
        without->name = plan->effects[e];
        without->is_removable = remove_effect(fit, e, is_gone, values, &without->constants);
        if (!without->is_removable) {
            continue;
        }
        if (!simulate_users(arena, fit, is_gone, values, residual)) {
            return NULL;
        }
        struct fit_system system = system_without(arena, fit, is_gone, false, residual);
        system.is_fixed = is_gone; /* and costs no prior */
        fit_again(arena, &system, fit, whole, without);
    }
    return list;
}

/* Residuals without a part. */
static bool remove_part(const struct fit *fit, uint32_t number, struct fit_without *without,
                        double *residual)
{
    const struct fit_problem *problem = fit->problem;
    const uint32_t rows = problem->votes.row_count;
    for (uint32_t row = 0; row < rows; row++) {
        residual[row] = problem->measured_s[row] * exp(fit->residual[row]);
    }
    if (!problem->remove(problem->context, number, fit->value, residual, &without->refused)) {
        return false;
    }
    for (uint32_t row = 0; row < rows; row++) {
        residual[row] = log(residual[row] / problem->measured_s[row]);
        without->moved += is_moved(fit, residual, row) ? 1 : 0;
    }
    return true;
}

const struct fit_without *fit_remove_parts(struct arena *arena, const struct fit *fit,
                                           const struct fit_folds *whole)
{
    const struct fit_problem *problem = fit->problem;
    const struct fit_plan *plan = problem->plan;
    struct fit_without *list = arena_array(arena, plan->removal_count, sizeof *list);
    for (uint32_t i = 0; i < plan->removal_count; i++) {
        struct fit_without *without = &list[i];
        const struct fit_removal *removal = &plan->removals[i];
        double *residual = arena_array(arena, problem->votes.row_count, sizeof *residual);
        without->name = removal->name;
        without->is_removable = true;
        if (!remove_part(fit, i, without, residual)) {
            return NULL;
        }
        without->before = fit_score(arena, &problem->votes, residual);
        const struct fit_system system =
            system_without(arena, fit, removal->is_idle, true, residual);
        fit_again(arena, &system, fit, whole, without);
    }
    return list;
}
