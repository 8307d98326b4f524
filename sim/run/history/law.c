/* Each law is told by its mean, since that is what sources publish and what a sum of hours needs:
 *
 *     lognormal   exp(ln mean - shape^2/2 + shape z): the mean of exp(mu + s z) is exp(mu + s^2/2)
 *     Weibull     scale = mean / Gamma(1 + 1/shape)
 */
#include "run/history/law.h"

#include "base/check.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_sf_gamma.h>

#include <math.h>

/* Half of what an int64_t of nanoseconds holds, so that two add up. */
static const double LONGEST_S = 4.6e9;

/* As llround, which is a call of the C library and a tenth of a history. */
sim_time law_time(double duration_s)
{
    sim_assert(duration_s >= 0);
    const double ns = (duration_s < LONGEST_S ? duration_s : LONGEST_S) * 1e9;
    const sim_time whole = (sim_time)ns;
    return whole + (ns - (double)whole >= 0.5);
}

sim_time law_after(sim_time instant, sim_time duration)
{
    return instant < INT64_MAX - 1 - duration ? instant + duration : INT64_MAX - 1;
}

/* Not longer with so much probability. */
static double quantile_s(const struct law *law, double probability)
{
    switch (law->kind) {
    case LAW_FIXED:
        break;
    case LAW_EXPONENTIAL:
        return gsl_cdf_exponential_Pinv(probability, law->mean_s);
    case LAW_LOGNORMAL: {
        const double zeta = log(law->mean_s) - 0.5 * law->shape * law->shape;
        return gsl_cdf_lognormal_Pinv(probability, zeta, law->shape);
    }
    case LAW_WEIBULL: {
        const double scale = law->mean_s / gsl_sf_gamma(1.0 + 1.0 / law->shape);
        return gsl_cdf_weibull_Pinv(probability, scale, law->shape);
    }
    case LAW_COUNT_:
        sim_assert(false);
    }
    return law->mean_s;
}

sim_time law_draw(const struct law *law, const struct rng_key *key)
{
    if (law->mean_s <= 0) {
        return 0;
    }
    return law_time(law->kind == LAW_FIXED ? law->mean_s : quantile_s(law, rng_uniform(key)));
}

struct spared {
    const struct law *law;
    double rate_per_s;
};

static double spared_at(double probability, void *context)
{
    const struct spared *of = context;
    return exp(-of->rate_per_s * quantile_s(of->law, probability));
}

/* A smooth function that falls from 1 to 0 over the probabilities. */
static double integrate_spared(struct spared *of)
{
    enum { INTERVALS_MAX = 100 };
    gsl_function function = {spared_at, of};
    gsl_integration_cquad_workspace *work = gsl_integration_cquad_workspace_alloc(INTERVALS_MAX);
    double share = 0;
    (void)gsl_integration_cquad(&function, 1e-15, 1 - 1e-15, 1e-12, 1e-9, work, &share, NULL, NULL);
    gsl_integration_cquad_workspace_free(work);
    return share;
}

double law_spared(const struct law *law, double rate_per_s)
{
    struct spared of = {law, rate_per_s};
    if (law->mean_s <= 0) {
        return 1.0;
    }
    switch (law->kind) {
    case LAW_FIXED:
        return exp(-rate_per_s * law->mean_s);
    case LAW_EXPONENTIAL:
        return 1.0 / (1.0 + rate_per_s * law->mean_s);
    default:
        return integrate_spared(&of);
    }
}
