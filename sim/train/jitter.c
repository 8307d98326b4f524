/* The closed form of the header: the expected maximum of N normal variables,
 * by Blom's approximation of normal order statistics, with GSL's inverse
 * normal distribution.
 */
#include "train/jitter.h"

#include "base/check.h"
#include "des/event.h"
#include "input/gpu.h"
#include "input/software.h"

#include <gsl/gsl_cdf.h>

#include <math.h>

double jitter_spread_of(const struct gpu *gpu, const struct software *software)
{
    return hypot(gpu->speed_spread, software->jitter_spread);
}

double jitter_largest(int64_t n)
{
    sim_assert(n >= 1);
    if (n == 1) {
        return 0.0; /* the formula's quantile of a half, but for rounding */
    }
    return gsl_cdf_ugaussian_Pinv(((double)n - 0.375) / ((double)n + 0.25));
}

double jitter_busy_s(int64_t gpus, const int64_t gpu_ns[CAUSE_COUNT_])
{
    const int64_t busy_ns = gpu_ns[CAUSE_COMPUTE] + gpu_ns[CAUSE_RECOMPUTE] +
                            gpu_ns[CAUSE_OPTIMIZER] + gpu_ns[CAUSE_INTERFERENCE];
    return (double)busy_ns / (double)gpus / 1e9;
}

double jitter_meeting_s(const struct software *software, int64_t ranks)
{
    const double meeting_s = software->jitter_meeting_s;
    return meeting_s > 0.0 ? meeting_s * jitter_largest(ranks) : 0.0;
}

int64_t jitter_wait_ns(double spread, int64_t gpus, const int64_t gpu_ns[CAUSE_COUNT_],
                       struct ledger *ledger)
{
    const double busy_s = jitter_busy_s(gpus, gpu_ns);
    return sim_time_from_s(LEDGER_SUM(ledger, "the slowest GPU", "s",
                                      spread * busy_s * jitter_largest(gpus),
                                      LEDGER_TERM(spread, "spread"), LEDGER_TERM(busy_s, "s busy"),
                                      LEDGER_TERM(jitter_largest(gpus), "E of n")));
}
