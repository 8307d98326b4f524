/* Sums of a run, each recorded for `explain` where it is worked out.
 */
#include "run/money.h"

#include "base/absent.h"

#define SECONDS_PER_HOUR 3600.0

double money_working_share(const struct scenario *scenario, const struct step_result *step,
                           struct ledger *ledger)
{
    const int64_t *ns = step->gpu_ns;
    const double gpus = (double)scenario->gpus;
    return LEDGER_SUM(
        ledger, "u, kernels at work", "%",
        (double)(ns[CAUSE_COMPUTE] + ns[CAUSE_RECOMPUTE] + ns[CAUSE_OPTIMIZER] +
                 ns[CAUSE_INTERFERENCE]) /
            ((double)step->step_ns * gpus),
        LEDGER_TERM(ns[CAUSE_COMPUTE], "GPU-ns"), LEDGER_TERM(ns[CAUSE_RECOMPUTE], "GPU-ns"),
        LEDGER_TERM(ns[CAUSE_OPTIMIZER], "GPU-ns"), LEDGER_TERM(ns[CAUSE_INTERFERENCE], "GPU-ns"),
        LEDGER_TERM(step->step_ns, "ns"), LEDGER_TERM(gpus, "GPUs"));
}

double money_power_w(const struct scenario *scenario, const struct step_result *step,
                     struct ledger *ledger)
{
    const double gpus = (double)scenario->gpus;
    const double nodes = (double)scenario->nodes;
    const struct gpu *gpu = &scenario->gpu;
    const double u = money_working_share(scenario, step, ledger);
    const double gpu_w =
        LEDGER_SUM(ledger, "a GPU", "W",
                   gpu->tdp_w * (gpu->busy_power_fraction * u + gpu->idle_power_fraction * (1 - u)),
                   LEDGER_TERM(gpu->tdp_w, "W"), LEDGER_TERM(gpu->busy_power_fraction, ""),
                   LEDGER_TERM(gpu->idle_power_fraction, ""), LEDGER_NAME(u, "u"));
    return LEDGER_SUM(ledger, "power", "kW",
                      scenario->price.pue * (gpus * gpu_w + nodes * scenario->cluster.host_power_w),
                      LEDGER_TERM(scenario->price.pue, "pue"), LEDGER_TERM(gpus, "GPUs"),
                      LEDGER_TERM(gpu_w, "W"), LEDGER_TERM(nodes, "nodes"),
                      LEDGER_TERM(scenario->cluster.host_power_w, "W"));
}

void money_add_up(const struct scenario *scenario, const struct step_result *step, double wall_s,
                  struct ledger *ledger, struct run_result *run)
{
    const struct price *price = &scenario->price;
    const double power_w = money_power_w(scenario, step, ledger);
    run->energy_kwh =
        LEDGER_SUM(ledger, "energy", "kWh", power_w / 1000.0 * wall_s / SECONDS_PER_HOUR,
                   LEDGER_TERM(power_w, "W"), LEDGER_TERM(wall_s, "seconds"),
                   LEDGER_TERM(SECONDS_PER_HOUR, "s"));
    if (is_absent(price->gpu_hour_usd)) {
        run->cost_usd = ABSENT;
        ledger_remark(ledger, "no cost: neither the scenario nor the GPU has a price");
        return;
    }
    run->cost_usd = LEDGER_SUM(
        ledger, "cost", "USD",
        run->gpu_hours * price->gpu_hour_usd + run->energy_kwh * price->electricity_usd_per_kwh,
        LEDGER_TERM(run->gpu_hours, "GPU-hours"), LEDGER_TERM(price->gpu_hour_usd, "USD"),
        LEDGER_TERM(run->energy_kwh, "kWh"), LEDGER_TERM(price->electricity_usd_per_kwh, "USD"));
}
