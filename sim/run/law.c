/* Each law is told by its mean, since that is what sources publish and what a sum of hours needs:
 *
 *     lognormal   exp(ln mean - shape^2/2 + shape z): the mean of exp(mu + s z) is exp(mu + s^2/2)
 *     Weibull     scale = mean / Gamma(1 + 1/shape)
 */
#include "run/law.h"

#include "base/check.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>

#include <math.h>

/* Half of what an int64_t of nanoseconds holds, so that two add up. */
static const double LONGEST_S = 4.6e9;

sim_time law_time(double duration_s)
{
    sim_assert(duration_s >= 0);
    return (sim_time)llround(fmin(duration_s, LONGEST_S) * 1e9);
}

sim_time law_draw(const struct law *law, const struct rng_key *key)
{
    if (law->mean_s <= 0) {
        return 0;
    }
    switch (law->kind) {
    case LAW_FIXED:
        break;
    case LAW_EXPONENTIAL:
        return law_time(gsl_cdf_exponential_Pinv(rng_uniform(key), law->mean_s));
    case LAW_LOGNORMAL: {
        const double zeta = log(law->mean_s) - 0.5 * law->shape * law->shape;
        return law_time(gsl_cdf_lognormal_Pinv(rng_uniform(key), zeta, law->shape));
    }
    case LAW_WEIBULL: {
        const double scale = law->mean_s / gsl_sf_gamma(1.0 + 1.0 / law->shape);
        return law_time(gsl_cdf_weibull_Pinv(rng_uniform(key), scale, law->shape));
    }
    case LAW_COUNT_:
        sim_assert(false);
    }
    return law_time(law->mean_s);
}
