/* The goodput has one maximum: its logarithm is ln tau - ln(e^((tau+b)/M) - 1) and a constant,
 * whose derivative 1/tau - 1/(M (1 - e^(-(tau+b)/M))) falls from infinity and changes its sign
 * once. GSL's Brent search finds it between nothing and several times M. */
#include "run/history/interval.h"

#include "base/check.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_min.h>

#include <math.h>

/* 1 / E[e^(-R/M)]: how many attempts' worth of time a restart takes. */
static double attempts_of(const struct interval_case *of)
{
    return exp(of->restart_more_s / of->mtbf_s) / law_spared(&of->restart, 1.0 / of->mtbf_s);
}

double interval_goodput(const struct interval_case *of, double interval_s)
{
    const double m = of->mtbf_s;
    sim_assert(m > 0 && interval_s > 0);
    return interval_s * exp(-of->durable_s / m) /
           ((m + of->detection_s) * attempts_of(of) * expm1((interval_s + of->block_s) / m));
}

double interval_young_s(const struct interval_case *of)
{
    return sqrt(2.0 * of->block_s * of->mtbf_s);
}

double interval_daly_s(const struct interval_case *of)
{
    const double b = of->block_s;
    const double m = of->mtbf_s;
    const double x = b / (2.0 * m);
    return x < 1 ? sqrt(2.0 * b * m) * (1 + sqrt(x) / 3 + x / 9) - b : m;
}

/* -ln goodput but for what does not depend on the interval; finite where the goodput underflows:
 * ln(e^x - 1) = x + ln(1 - e^-x). */
static double loss(double log_interval, void *context)
{
    const struct interval_case *of = context;
    const double x = (exp(log_interval) + of->block_s) / of->mtbf_s;
    return x + log(-expm1(-x)) - log_interval;
}

double interval_best_s(const struct interval_case *of)
{
    enum { ROUNDS_MAX = 200 };
    sim_assert(of->block_s > 0);
    struct interval_case of_it = *of;
    gsl_function function = {loss, &of_it};
    const double guess = log(fmin(interval_young_s(of), of->mtbf_s));
    double low = guess - 8;
    double high = log(4.0 * (of->mtbf_s + of->block_s));
    gsl_min_fminimizer *search = gsl_min_fminimizer_alloc(gsl_min_fminimizer_brent);
    if (gsl_min_fminimizer_set(search, &function, guess, low, high) == GSL_SUCCESS) {
        for (int i = 0; i < ROUNDS_MAX && high - low > 1e-9; i++) {
            (void)gsl_min_fminimizer_iterate(search);
            low = gsl_min_fminimizer_x_lower(search);
            high = gsl_min_fminimizer_x_upper(search);
        }
    }
    const double best = exp(gsl_min_fminimizer_x_minimum(search));
    gsl_min_fminimizer_free(search);
    return best;
}
