/* An order of strata is that of hashes: another one for each stream. */
#include "run/draws.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/units.h"
#include "input/scenario.h"
#include "run/duration.h"
#include "run/history/repetitions.h"
#include "run/money.h"
#include "run/months.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_multifit.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include <math.h>

/* ---- what is drawn -------------------------------------------------------------------------- */

void draws_normals(uint64_t seed, const char *stream, double *z, uint32_t count)
{
    struct arena *scratch = arena_new();
    double *keys = arena_array(scratch, count + (size_t)1, sizeof *keys);
    size_t *order = arena_array(scratch, count + (size_t)1, sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        const struct rng_key key = {.seed = seed, .stream = rng_stream(stream), .step = i};
        keys[i] = rng_uniform(&key);
    }
    gsl_sort_index(order, keys, 1, count);
    for (uint32_t i = 0; i < count; i++) {
        z[order[i]] = gsl_cdf_ugaussian_Pinv((i + 0.5) / count);
    }
    arena_free(scratch);
}

void draws_normal(uint64_t seed, const char *stream, double z[DRAWS_COUNT])
{
    draws_normals(seed, stream, z, DRAWS_COUNT);
}

struct design {
    double step[DRAWS_COUNT], rates[DRAWS_COUNT];
};

/* ---- what a draw comes to -------------------------------------------------------------------- */

/* Figures of all draws. */
struct figures {
    double days[DRAWS_COUNT], cost_usd[DRAWS_COUNT], energy_kwh[DRAWS_COUNT];
    double goodput[DRAWS_COUNT];
};

/* The run's own accounts, as if they were one history. */
static struct repetition mean_of(const struct holding *holding, const struct run_result *run)
{
    const double *s = run->account_s;
    const double gpus = holding->node_gpus;
    return (struct repetition){
        .wall_s = account_sum_s(s),
        .steps_s = s[ACCOUNT_USEFUL] + s[ACCOUNT_DATA_STALL] + s[ACCOUNT_LOST],
        .unheld_s = gpus > 0 ? run->unheld_gpu_hours * SECONDS_PER_HOUR / gpus : 0,
        .goodput = run->goodput,
    };
}

/* What is paid beside hours and energy is the same in all of them, and a run of stages has no one
 * power. */
static struct money_sum sum_of(const struct result *result, const struct repetition *one)
{
    const struct run_result *run = &result->run;
    const struct holding holding = holding_of_run(result->scenario, &result->step, run);
    const struct repetition mean = mean_of(&holding, run);
    if (run->stage_count > 0) {
        const double times = one->wall_s / mean.wall_s;
        return (struct money_sum){times * run->energy_kwh, times * run->cost_usd};
    }
    const struct money_sum mine = money_of_history(&holding, &result->step, one);
    const struct money_sum of_mean = money_of_history(&holding, &result->step, &mean);
    return (struct money_sum){run->energy_kwh + mine.energy_kwh - of_mean.energy_kwh,
                              run->cost_usd + mine.cost_usd - of_mean.cost_usd};
}

static void take(const struct result *result, const struct repetition *one, uint32_t number,
                 struct figures *figures)
{
    const struct money_sum sum = sum_of(result, one);
    figures->days[number] = duration_days(result->scenario, one->wall_s);
    figures->cost_usd[number] = sum.cost_usd;
    figures->energy_kwh[number] = sum.energy_kwh;
    figures->goodput[number] = one->goodput;
}

/* Sorts the values. */
static struct run_range range_of(double values[DRAWS_COUNT])
{
    gsl_sort(values, 1, DRAWS_COUNT);
    return (struct run_range){gsl_stats_quantile_from_sorted_data(values, 1, DRAWS_COUNT, 0.1),
                              gsl_stats_quantile_from_sorted_data(values, 1, DRAWS_COUNT, 0.9)};
}

/* ---- which dominates ------------------------------------------------------------------------- */

/* Days that differ by a smaller part are the same. */
static const double ALIKE = 1e-9;

enum { TERM_ONE, TERM_STEP, TERM_STEP_2, TERM_RATES, TERM_RATES_2, TERM_COUNT };

static void fit(const gsl_matrix *terms, const gsl_vector *scores, gsl_vector *found, double *rest)
{
    gsl_matrix *covariance = gsl_matrix_alloc(TERM_COUNT, TERM_COUNT);
    gsl_multifit_linear_workspace *work = gsl_multifit_linear_alloc(DRAWS_COUNT, TERM_COUNT);
    const int status = gsl_multifit_linear(terms, scores, found, covariance, rest, work);
    sim_assert(status == 0);
    gsl_multifit_linear_free(work);
    gsl_matrix_free(covariance);
}

static double squares(const gsl_vector *found, size_t first)
{
    const double line = gsl_vector_get(found, first);
    const double parabola = gsl_vector_get(found, first + 1);
    return line * line + parabola * parabola;
}

/* The normal quantile of each one's rank. */
static gsl_vector *scores_of(const double days[DRAWS_COUNT])
{
    size_t order[DRAWS_COUNT];
    gsl_vector *scores = gsl_vector_alloc(DRAWS_COUNT);
    gsl_sort_index(order, days, 1, DRAWS_COUNT);
    for (uint32_t i = 0; i < DRAWS_COUNT; i++) {
        gsl_vector_set(scores, order[i], gsl_cdf_ugaussian_Pinv((i + 0.5) / DRAWS_COUNT));
    }
    return scores;
}

static gsl_matrix *terms_of(const struct design *design)
{
    gsl_matrix *terms = gsl_matrix_alloc(DRAWS_COUNT, TERM_COUNT);
    for (uint32_t i = 0; i < DRAWS_COUNT; i++) {
        const double z = design->step[i];
        const double y = design->rates[i];
        const double row[TERM_COUNT] = {1, z, (z * z - 1) / sqrt(2.0), y, (y * y - 1) / sqrt(2.0)};
        for (size_t k = 0; k < TERM_COUNT; k++) {
            gsl_matrix_set(terms, i, k, row[k]);
        }
    }
    return terms;
}

static void share_out(const struct design *design, const double days[DRAWS_COUNT],
                      struct run_draws *draws)
{
    double least, most;
    gsl_stats_minmax(&least, &most, days, 1, DRAWS_COUNT);
    if (most - least <= ALIKE * most) {
        return;
    }
    gsl_matrix *terms = terms_of(design);
    gsl_vector *scores = scores_of(days);
    gsl_vector *found = gsl_vector_alloc(TERM_COUNT);
    double rest = 0;
    fit(terms, scores, found, &rest);
    const double of_step = draws->of.step > 0 ? squares(found, TERM_STEP) : 0;
    const double of_rates = draws->of.rates > 0 ? squares(found, TERM_RATES) : 0;
    const double of_histories = rest / (DRAWS_COUNT - TERM_COUNT);
    const double all = of_step + of_rates + of_histories;
    draws->of_step = of_step / all;
    draws->of_rates = of_rates / all;
    draws->of_histories = of_histories / all;
    gsl_vector_free(found);
    gsl_vector_free(scores);
    gsl_matrix_free(terms);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Nothing fails: the run with all steps as much longer. */
static struct repetition longer(const struct result *result, double factor)
{
    const struct run_result *run = &result->run;
    const struct holding holding = holding_of_run(result->scenario, &result->step, run);
    struct repetition one = mean_of(&holding, run);
    const double useful = run->goodput * one.wall_s;
    const double days = run->days * duration_factor(run->account_s, factor);
    one.wall_s = days * SECONDS_PER_DAY - run->account_s[ACCOUNT_QUEUED];
    one.steps_s *= factor;
    one.goodput = useful * factor / one.wall_s;
    return one;
}

/* By the share of draws that lie inside, the two ends of the band of the step. */
static void add_ends(struct result *result)
{
    struct run_draws *draws = &result->run.draws;
    const double end = gsl_cdf_ugaussian_Pinv(0.9) * draws->of.step;
    const struct repetition short_one = longer(result, exp(-end));
    const struct repetition long_one = longer(result, exp(end));
    const struct money_sum least = sum_of(result, &short_one);
    const struct money_sum most = sum_of(result, &long_one);
    draws->days = (struct run_range){duration_days(result->scenario, short_one.wall_s),
                                     duration_days(result->scenario, long_one.wall_s)};
    draws->cost_usd = (struct run_range){least.cost_usd, most.cost_usd};
    draws->energy_kwh = (struct run_range){least.energy_kwh, most.energy_kwh};
    draws->goodput = (struct run_range){fmin(short_one.goodput, long_one.goodput),
                                        fmax(short_one.goodput, long_one.goodput)};
    draws->of_step = draws->of.step > 0 ? 1 : 0;
}

void draws_add(struct arena *arena, const struct run_deviations *deviations,
               struct months_walk *walk, struct result *result)
{
    struct run_result *run = &result->run;
    struct run_draws *draws = &run->draws;
    sim_assert(result_has_run(result));
    *draws = (struct run_draws){.are_asked = true, .of = *deviations};
    if (walk == NULL) {
        add_ends(result);
        return;
    }
    struct arena *scratch = arena_new();
    struct design *design = arena_alloc(scratch, sizeof *design);
    struct figures *figures = arena_alloc(scratch, sizeof *figures);
    struct months_factors *factors = arena_array(scratch, DRAWS_COUNT, sizeof *factors);
    const uint64_t seed = (uint64_t)result->scenario->seed;
    draws_normal(seed, DRAWS_OF_STEP, design->step);
    draws_normal(seed, DRAWS_OF_RATES, design->rates);
    for (uint32_t i = 0; i < DRAWS_COUNT; i++) {
        factors[i] = (struct months_factors){exp(draws->of.step * design->step[i]),
                                             exp(draws->of.rates * design->rates[i])};
    }
    struct repetitions all;
    const double longest_s = DRAWS_LONGEST * account_sum_s(run->account_s);
    months_draw(arena, walk, factors, DRAWS_COUNT, longest_s, &all);
    for (uint32_t i = 0; i < DRAWS_COUNT; i++) {
        take(result, &all.each[i], i, figures);
    }
    draws->count = DRAWS_COUNT;
    draws->unfinished = (double)all.unfinished / DRAWS_COUNT;
    share_out(design, figures->days, draws);
    draws->days = range_of(figures->days);
    draws->cost_usd =
        is_absent(run->cost_usd) ? (struct run_range){ABSENT, ABSENT} : range_of(figures->cost_usd);
    draws->energy_kwh = range_of(figures->energy_kwh);
    draws->goodput = range_of(figures->goodput);
    arena_free(scratch);
}
