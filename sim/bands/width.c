/* Newton's method on a convex cost of six unknowns: some eight sets of slopes over a thousand
 * votes, each of which is looked at once. A step is cut to STEP_MOST, for far below the solution
 * e / s grows as an exponential does, and a whole step would go beyond what a number can hold.
 */
#include "bands/width.h"

#include "base/arena.h"
#include "bands/quantile.h"

#include <gsl/gsl_linalg.h>
#include <math.h>
#include <string.h>

enum { ROUNDS_MAX = 60, UNKNOWNS = 1 + WIDTH_FEATURE_COUNT };

static const double STEP_MOST = 1.0;
static const double SETTLED = 1e-10;
static const double ERROR_LEAST = 1e-9; /* a band has a width */

/* Shorter steps are of small models: what a step takes besides its work counts. */
static const double USUAL_STEP_S = 4.0;
static const double DOUBLINGS_MOST = 5.0; /* of these two: beyond, nothing was measured */

static double of_experts(const struct band_traits *traits)
{
    return traits->is_mixture ? 1 : 0;
}

static double of_unsaid(const struct band_traits *traits)
{
    return traits->is_typed ? 1 : 0;
}

static double of_low(const struct band_traits *traits)
{
    return band_is_low(traits->precision) ? 1 : 0;
}

/* In doublings below what is usual, by threes. */
static double below(double usual, double own)
{
    return own > 0 ? fmin(DOUBLINGS_MOST, fmax(0, log2(usual / own))) / 3 : 0;
}

static double of_slow_network(const struct band_traits *traits)
{
    return below(WIDTH_USUAL_BYTES_PER_S, traits->network_bytes_per_s);
}

static double of_short_step(const struct band_traits *traits)
{
    return below(USUAL_STEP_S, traits->step_s);
}

const struct width_feature width_features[WIDTH_FEATURE_COUNT] = {
    {"experts", "a mixture of experts", of_experts},
    {"unsaid", "what was on is not said", of_unsaid},
    {"low_precision", "fewer than 16 bits", of_low},
    {"slow_network", "a network below 400 Gbps a node", of_slow_network},
    {"short_step", "a step below 4 s", of_short_step},
};

static void features_of(const struct band_traits *traits, double *features)
{
    features[0] = 1;
    for (uint32_t i = 0; i < WIDTH_FEATURE_COUNT; i++) {
        features[i + 1] = width_features[i].of(traits);
    }
}

static double sum_of(const struct band_width *width, const double *features)
{
    double sum = 0;
    for (uint32_t i = 0; i < UNKNOWNS; i++) {
        sum += width->coefficients[i] * features[i];
    }
    return sum;
}

double width_of(const struct band_width *width, const struct band_traits *traits)
{
    double features[UNKNOWNS];
    features_of(traits, features);
    return exp(sum_of(width, features));
}

const struct band_part *width_parts(struct arena *arena, const struct band_width *width,
                                    const struct band_traits *traits, uint32_t *count)
{
    struct band_part *parts = arena_array(arena, WIDTH_FEATURE_COUNT, sizeof *parts);
    *count = 0;
    for (uint32_t i = 0; i < WIDTH_FEATURE_COUNT; i++) {
        const struct width_feature *feature = &width_features[i];
        const double added = width->coefficients[i + 1] * feature->of(traits);
        if (added != 0) {
            parts[(*count)++] = (struct band_part){feature->name, feature->says, exp(added)};
        }
    }
    return parts;
}

/* Votes as the regression sees them. */
struct sample {
    double error; /* |ln(measured / predicted)| */
    double features[UNKNOWNS];
};

static struct sample *samples_of(struct arena *arena, const struct band_vote *votes, uint32_t count,
                                 uint32_t left_out)
{
    struct sample *samples = arena_array(arena, count + (size_t)1, sizeof *samples);
    for (uint32_t i = 0; i < count; i++) {
        samples[i].error = fmax(ERROR_LEAST, fabs(log(votes[i].ratio)));
        features_of(&votes[i].traits, samples[i].features);
        for (uint32_t k = 0; k < WIDTH_FEATURE_COUNT; k++) {
            samples[i].features[k + 1] *= (left_out & 1U << k) == 0 ? 1 : 0;
        }
    }
    return samples;
}

/* Slopes of the cost, and theirs. */
struct slopes {
    double first[UNKNOWNS], second[UNKNOWNS][UNKNOWNS];
};

static void add_sample(const struct band_width *width, const struct sample *sample,
                       struct slopes *slopes)
{
    const double times = sample->error / exp(sum_of(width, sample->features));
    for (uint32_t i = 0; i < UNKNOWNS; i++) {
        const double feature = sample->features[i];
        slopes->first[i] += (1 - times) * feature;
        for (uint32_t k = 0; feature != 0 && k < UNKNOWNS; k++) {
            slopes->second[i][k] += times * feature * sample->features[k];
        }
    }
}

static struct slopes slopes_of(const struct band_width *width, const struct sample *samples,
                               uint32_t count)
{
    struct slopes slopes = {0};
    for (uint32_t i = 0; i < count; i++) {
        add_sample(width, &samples[i], &slopes);
    }
    for (uint32_t i = 1; i < UNKNOWNS; i++) {
        slopes.first[i] += WIDTH_PRIOR * width->coefficients[i];
        slopes.second[i][i] += WIDTH_PRIOR;
    }
    return slopes;
}

/* One step of Newton's; the largest of its parts. */
static double improve(struct band_width *width, struct slopes *slopes)
{
    double step[UNKNOWNS], largest = 0;
    gsl_matrix_view second = gsl_matrix_view_array(&slopes->second[0][0], UNKNOWNS, UNKNOWNS);
    gsl_vector_const_view first = gsl_vector_const_view_array(slopes->first, UNKNOWNS);
    gsl_vector_view found = gsl_vector_view_array(step, UNKNOWNS);
    gsl_linalg_cholesky_decomp1(&second.matrix);
    gsl_linalg_cholesky_solve(&second.matrix, &first.vector, &found.vector);
    for (uint32_t i = 0; i < UNKNOWNS; i++) {
        width->coefficients[i] -= fmax(-STEP_MOST, fmin(STEP_MOST, step[i]));
        largest = fmax(largest, fabs(step[i]));
    }
    return largest;
}

/* Four fifths lie inside. */
static void move_to_share(struct arena *arena, struct band_width *width,
                          const struct sample *samples, uint32_t count)
{
    struct weighted *times = arena_array(arena, count + (size_t)1, sizeof *times);
    for (uint32_t i = 0; i < count; i++) {
        times[i] = (struct weighted){samples[i].error / exp(sum_of(width, samples[i].features)), 1};
    }
    width->coefficients[0] += log(quantile_weighted(times, count, BAND_SHARE));
}

static double mean_error(const struct sample *samples, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += samples[i].error;
    }
    return sum / count;
}

struct band_width width_fit(struct arena *arena, const struct band_vote *votes, uint32_t count,
                            uint32_t left_out)
{
    const struct sample *samples = samples_of(arena, votes, count, left_out);
    struct band_width width = {{log(count > 0 ? mean_error(samples, count) : ERROR_LEAST)}};
    for (uint32_t round = 0; count > 0 && round < ROUNDS_MAX; round++) {
        struct slopes slopes = slopes_of(&width, samples, count);
        if (improve(&width, &slopes) < SETTLED) {
            break;
        }
    }
    if (count > 0) {
        move_to_share(arena, &width, samples, count);
    }
    return width;
}
