/* A run's months from the least step, as run/run adds them up, with nothing between steps. */
#include "study/search/search_by.h"

#include "base/units.h"
#include "input/network/site_power.h"
#include "input/scenario.h"
#include "input/study/anchor.h"
#include "run/duration.h"
#include "run/money.h"
#include "run/run.h"
#include "train/bound/bound.h"

#include <math.h>

const char *const search_by_names[SEARCH_BY_COUNT_] = {"step", "days", "cost", "energy"};
const char *const search_by_metrics[SEARCH_BY_COUNT_] = {"step_s", "days", "cost_usd",
                                                         "energy_kwh"};
const char *const search_by_units[SEARCH_BY_COUNT_] = {"s", "days", "USD", "kWh"};

double search_least_value(enum search_by by, const struct scenario *base, const struct bound *bound)
{
    const double factor = anchor_factor(&base->anchor);
    /* Rounded as units_seconds rounds the step's, so that no bound is more than its step. */
    const double step_s = floor((double)bound->step_ns * factor) / 1e9;
    if (by == SEARCH_BY_STEP) {
        return step_s;
    }
    const int64_t tokens = base->batch.global * base->batch.sequence_length;
    const double steps = (double)run_steps(base->run_tokens, tokens, NULL);
    const double wall_s = duration_least_s(base, steps * step_s);
    if (by == SEARCH_BY_DAYS) {
        return duration_days(base, wall_s) * (1.0 - 1e-12);
    }
    const struct gpu *gpu = &base->gpu;
    const double gpus = (double)base->gpus;
    const double idle = fmin(gpu->idle_power_fraction, gpu_busy_fraction(gpu));
    const double more = gpu_busy_fraction(gpu) - idle;
    const double gpu_j =
        gpu->tdp_w * (idle * wall_s + more * steps * bound->work_ns * factor * 1e-9);
    const double energy_kwh =
        site_power_w(base, gpus * gpu_j / wall_s) * wall_s / 1000.0 / SECONDS_PER_HOUR;
    const bool is_by_energy = by == SEARCH_BY_ENERGY;
    const struct money_use use = {.wall_s = wall_s, .held_s = wall_s, .energy_kwh = energy_kwh};
    const struct holding least = holding_of(base, NULL);
    return (is_by_energy ? energy_kwh : money_cost_usd(&least, &use, NULL)) * (1.0 - 1e-12);
}
