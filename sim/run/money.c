/* Sums of a run, each recorded for `explain` where it is worked out.
 */
#include "run/money.h"

#include "base/absent.h"
#include "base/check.h"
#include "base/units.h"
#include "input/job/price.h"
#include "input/network/site_power.h"
#include "input/scenario.h"
#include "run/checkpoint.h"
#include "run/history/repetitions.h"
#include "run/power_trace.h"

#include <math.h>
#include <string.h>

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

/* ---- power ---------------------------------------------------------------------- */

/* As so many nodes of the job that wait, with their part of switches and storage. */
static double waiting_nodes_w(const struct holding *holding, double nodes, const char *label,
                              const char *word, struct ledger *ledger)
{
    const struct scenario *scenario = holding->scenario;
    const struct gpu *gpu = &scenario->gpu;
    if (!(nodes > 0)) {
        return 0;
    }
    const double gpus = (double)scenario->cluster.gpus_per_node;
    const double gpu_w = gpu->tdp_w * gpu->idle_power_fraction;
    const double all = (double)scenario->nodes;
    const double beside_w = site_power_of(&scenario->cluster, scenario->nodes, NULL).beside_gpus_w;
    return LEDGER_SUM(ledger, label, "kW", nodes * (gpus * gpu_w + beside_w / all),
                      LEDGER_TERM(nodes, word), LEDGER_TERM(gpus, "GPUs"), LEDGER_TERM(gpu_w, "W"),
                      LEDGER_TERM(beside_w, "W"), LEDGER_TERM(all, "nodes"));
}

static double hot_spares_w(const struct holding *holding, struct ledger *ledger)
{
    return waiting_nodes_w(holding, (double)holding->rented_hot, "hot spares", "spares", ledger);
}

/* On nodes of the job; all others are on idle nodes. */
static double idle_beside_gpus(const struct holding *holding)
{
    const double per_node = (double)holding->scenario->cluster.gpus_per_node;
    return holding->idle_gpus - (double)holding->idle_nodes * per_node;
}

static double idle_w(const struct holding *holding, struct ledger *ledger)
{
    const struct gpu *gpu = &holding->scenario->gpu;
    const double gpus = idle_beside_gpus(holding);
    const double nodes_w =
        waiting_nodes_w(holding, (double)holding->idle_nodes, "idle nodes", "idle", ledger);
    const double gpu_w = gpu->tdp_w * gpu->idle_power_fraction;
    return gpus > 0 ? LEDGER_SUM(ledger, "idle GPUs", "kW", gpus * gpu_w + nodes_w,
                                 LEDGER_TERM(gpus, "GPUs"), LEDGER_TERM(gpu_w, "W"),
                                 LEDGER_TERM(nodes_w, "W"))
                    : nodes_w;
}

static double facility_power_w(const struct holding *holding, double gpu_w, const char *label,
                               struct ledger *ledger)
{
    const struct scenario *scenario = holding->scenario;
    const double gpus = (double)scenario->gpus;
    const double pue = scenario->price.pue;
    const double beside_w = site_power_of(&scenario->cluster, scenario->nodes, NULL).beside_gpus_w;
    const double ready_w = hot_spares_w(holding, NULL) + idle_w(holding, NULL);
    return LEDGER_SUM(ledger, label, "kW", pue * (gpus * gpu_w + beside_w + ready_w),
                      LEDGER_TERM(pue, "pue"), LEDGER_TERM(gpus, "GPUs"), LEDGER_TERM(gpu_w, "W"),
                      LEDGER_TERM(beside_w, "W"), LEDGER_TERM(ready_w, "W"));
}

double money_power_w(const struct holding *holding, const struct step_result *step,
                     struct ledger *ledger)
{
    const struct gpu *gpu = &holding->scenario->gpu;
    const double u = money_working_share(holding->scenario, step, ledger);
    const double gpu_w =
        LEDGER_SUM(ledger, "a GPU", "W",
                   gpu->tdp_w * (gpu_busy_fraction(gpu) * u + gpu->idle_power_fraction * (1 - u)),
                   LEDGER_TERM(gpu->tdp_w, "W"), LEDGER_TERM(gpu_busy_fraction(gpu), ""),
                   LEDGER_TERM(gpu->idle_power_fraction, ""), LEDGER_NAME(u, "u"));
    return facility_power_w(holding, gpu_w, "power", ledger);
}

double money_waiting_power_w(const struct holding *holding, struct ledger *ledger)
{
    const struct gpu *gpu = &holding->scenario->gpu;
    const double gpu_w =
        LEDGER_SUM(ledger, "a GPU that waits", "W", gpu->tdp_w * gpu->idle_power_fraction,
                   LEDGER_TERM(gpu->tdp_w, "W"), LEDGER_TERM(gpu->idle_power_fraction, ""));
    return facility_power_w(holding, gpu_w, "power, waiting", ledger);
}

/* Kernels in all GPUs of the job, beside those that wait. */
static double peak_w(const struct holding *holding)
{
    const struct scenario *scenario = holding->scenario;
    return power_trace_site_w(scenario, (double)scenario->gpus) +
           scenario->price.pue * (hot_spares_w(holding, NULL) + idle_w(holding, NULL));
}

void money_add_power(struct result *result)
{
    const struct run_result *run = &result->run;
    const struct scenario *scenario = result->scenario;
    result->power_w = ABSENT;
    result->power_peak_w = ABSENT;
    if (!result_has_step(result)) {
        return;
    }
    const struct holding holding = holding_of_run(scenario, &result->step, run);
    result->power_w = money_power_w(&holding, &result->step, NULL);
    result->power_peak_w = peak_w(&holding);
    for (uint32_t i = 0; i < run->stage_count; i++) {
        const struct run_stage_use *stage = &run->stages[i];
        const struct holding own = holding_of_stage(stage, &holding);
        result->power_w = fmax(result->power_w, money_power_w(&own, stage->step, NULL));
        result->power_peak_w = fmax(result->power_peak_w, peak_w(&own));
    }
}

/* ---- energy --------------------------------------------------------------------- */

static double kwh(double power_w, double time_s)
{
    return power_w / 1000.0 * time_s / SECONDS_PER_HOUR;
}

/* Steps whose GPUs work, with what these wait for data. */
static double time_in_steps_s(const struct run_result *run)
{
    return run->account_s[ACCOUNT_USEFUL] + run->account_s[ACCOUNT_DATA_STALL] +
           run->account_s[ACCOUNT_LOST];
}

/* What each component draws while kernels run for the share `u` of the time. What is idle draws as
 * what waits. */
static void draw(const struct holding *holding, double u, double power_w[COMPONENT_COUNT_])
{
    const struct scenario *scenario = holding->scenario;
    const struct gpu *gpu = &scenario->gpu;
    const double gpus_w = (double)scenario->gpus * gpu->tdp_w;
    const double idle_gpus_w = holding->idle_gpus * gpu->tdp_w;
    const double nodes = 1 + (double)holding->idle_nodes / (double)scenario->nodes;
    const struct site_power beside = site_power_of(&scenario->cluster, scenario->nodes, NULL);
    power_w[COMPONENT_GPU_WORKING] = gpus_w * gpu_busy_fraction(gpu) * u;
    power_w[COMPONENT_GPU_WAITING] = gpu->idle_power_fraction * (gpus_w * (1 - u) + idle_gpus_w);
    power_w[COMPONENT_HOST] = beside.hosts_w * nodes;
    power_w[COMPONENT_NIC] = beside.nics_w * nodes;
    power_w[COMPONENT_SWITCH] = beside.switches_w * nodes;
    power_w[COMPONENT_STORAGE] = beside.storage_w * nodes;
    power_w[COMPONENT_SPARE] = hot_spares_w(holding, NULL);
    double machines_w = 0;
    for (uint32_t i = 0; i < COMPONENT_FACILITY; i++) {
        machines_w += power_w[i];
    }
    power_w[COMPONENT_FACILITY] = (scenario->price.pue - 1) * machines_w;
}

/* Of an account, with the sum of its components; the run's components have it, too. */
static void add_draw(const double power_w[COMPONENT_COUNT_], struct run_account *account,
                     struct run_result *run)
{
    for (uint32_t i = 0; i < COMPONENT_COUNT_; i++) {
        account->component_kwh[i] = kwh(power_w[i], account->time_s);
        account->energy_kwh += account->component_kwh[i];
        run->component_kwh[i] += account->component_kwh[i];
    }
}

/* By account and component: a step's stall is spent waiting, so that kernels run for more of the
 * rest of it. */
static void split_energy(const struct holding *holding, const struct step_result *step,
                         struct run_result *run)
{
    const double *s = run->account_s;
    const double steps_s = s[ACCOUNT_USEFUL] + s[ACCOUNT_LOST];
    const double u = money_working_share(holding->scenario, step, NULL);
    const double u_of_steps = steps_s > 0 ? u * (1 + s[ACCOUNT_DATA_STALL] / steps_s) : u;
    double working_w[COMPONENT_COUNT_], waiting_w[COMPONENT_COUNT_];
    draw(holding, u_of_steps, working_w);
    draw(holding, 0, waiting_w);
    static const double nothing_w[COMPONENT_COUNT_] = {0};
    double sum_kwh = 0;
    run->account_count = 0;
    for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
        const bool works = i == ACCOUNT_USEFUL || i == ACCOUNT_LOST;
        if (s[i] > 0) {
            struct run_account *account = &run->accounts[run->account_count++];
            *account = (struct run_account){.name = account_names[i], .time_s = s[i]};
            add_draw(i == ACCOUNT_QUEUED ? nothing_w : works ? working_w : waiting_w, account, run);
            sum_kwh += account->energy_kwh;
        }
    }
    sim_assert(fabs(sum_kwh - run->energy_kwh) <= 1e-9 * run->energy_kwh);
}

/* As papers tell it: neither what the GPUs draw, nor anything beside them. */
static void add_rated(const struct scenario *scenario, struct ledger *ledger,
                      struct run_result *run)
{
    const double tdp_w = scenario->gpu.tdp_w;
    const double hours =
        run->idle_gpu_hours > 0
            ? LEDGER_SUM(ledger, "GPU-hours of those that work", "h",
                         run->gpu_hours - run->idle_gpu_hours, LEDGER_TERM(run->gpu_hours, "h"),
                         LEDGER_TERM(run->idle_gpu_hours, "idle"))
            : run->gpu_hours;
    run->rated_kwh = LEDGER_SUM(ledger, "as papers have it", "kWh", hours * tdp_w / 1000,
                                LEDGER_TERM(hours, "GPU-hours"), LEDGER_TERM(tdp_w, "W"));
    ledger_remark(ledger, "the GPUs' TDP, all the time, and nothing else");
}

static void add_carbon(const struct scenario *scenario, struct ledger *ledger,
                       struct run_result *run)
{
    const double carbon_kg_per_kwh = scenario->price.carbon_kg_per_kwh;
    run->carbon_kg = ABSENT;
    run->rated_carbon_kg = ABSENT;
    if (is_absent(carbon_kg_per_kwh)) {
        return;
    }
    run->carbon_kg =
        LEDGER_SUM(ledger, "emissions", "kg", run->energy_kwh * carbon_kg_per_kwh,
                   LEDGER_TERM(run->energy_kwh, "kWh"), LEDGER_TERM(carbon_kg_per_kwh, "kg"));
    run->rated_carbon_kg = LEDGER_SUM(
        ledger, "emissions as papers have them", "kg", run->rated_kwh * carbon_kg_per_kwh,
        LEDGER_TERM(run->rated_kwh, "kWh"), LEDGER_TERM(carbon_kg_per_kwh, "kg"));
}

double money_energy_kwh(const struct holding *holding, const struct step_result *step,
                        double wall_s, double steps_s, struct ledger *ledger)
{
    if (ledger != NULL) { /* the sums behind the next two */
        site_power_of(&holding->scenario->cluster, holding->scenario->nodes, ledger);
        hot_spares_w(holding, ledger);
        idle_w(holding, ledger);
    }
    const double step_w = money_power_w(holding, step, ledger);
    const double waiting_w = money_waiting_power_w(holding, ledger);
    return LEDGER_SUM(
        ledger, "energy", "kWh",
        (step_w * steps_s + waiting_w * (wall_s - steps_s)) / 1000.0 / SECONDS_PER_HOUR,
        LEDGER_TERM(step_w, "W"), LEDGER_TERM(steps_s, "seconds"), LEDGER_TERM(waiting_w, "W"),
        LEDGER_TERM(wall_s, "seconds"), LEDGER_TERM(SECONDS_PER_HOUR, "s"));
}

static void add_energy_of(const struct holding *holding, const struct step_result *step,
                          double wall_s, struct ledger *ledger, struct run_result *run)
{
    run->energy_kwh = money_energy_kwh(holding, step, wall_s, time_in_steps_s(run), ledger);
    memset(run->component_kwh, 0, sizeof run->component_kwh);
    split_energy(holding, step, run);
}

/* Of a stage, to what others had on it. */
static void add_account(const struct run_account *part, struct run_result *run)
{
    uint32_t at = 0;
    while (at < run->account_count && run->accounts[at].name != part->name) {
        at++;
    }
    if (at == run->account_count) {
        run->accounts[run->account_count++] =
            (struct run_account){.name = part->name, .time_s = part->time_s};
    }
    struct run_account *sum = &run->accounts[at];
    sum->energy_kwh += part->energy_kwh;
    for (uint32_t i = 0; i < COMPONENT_COUNT_; i++) {
        sum->component_kwh[i] += part->component_kwh[i];
        run->component_kwh[i] += part->component_kwh[i];
    }
}

/* Each stage with its own GPUs, step and time; accounts as the run has them. */
static void add_energy_of_stages(const struct holding *of_run, struct ledger *ledger,
                                 struct run_result *run)
{
    struct run_result sum = {.account_count = 0};
    for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) { /* in their order */
        if (run->account_s[i] > 0) {
            sum.accounts[sum.account_count++] =
                (struct run_account){.name = account_names[i], .time_s = run->account_s[i]};
        }
    }
    for (uint32_t i = 0; i < run->stage_count; i++) {
        const struct run_stage_use *stage = &run->stages[i];
        struct run_result part = {.account_count = 0};
        const struct holding holding = holding_of_stage(stage, of_run);
        memcpy(part.account_s, stage->account_s, sizeof part.account_s);
        add_energy_of(&holding, stage->step, account_sum_s(stage->account_s), ledger, &part);
        ledger_remark(ledger, stage->name);
        for (uint32_t k = 0; k < part.account_count; k++) {
            add_account(&part.accounts[k], &sum);
        }
        sum.energy_kwh += part.energy_kwh;
    }
    run->energy_kwh = sum.energy_kwh;
    run->account_count = sum.account_count;
    memcpy(run->accounts, sum.accounts, sizeof run->accounts);
    memcpy(run->component_kwh, sum.component_kwh, sizeof run->component_kwh);
    ledger_say(ledger, "energy", "kWh", run->energy_kwh, "of all stages");
}

static void add_energy(const struct holding *holding, const struct step_result *step, double wall_s,
                       struct ledger *ledger, struct run_result *run)
{
    if (run->stage_count > 0) {
        add_energy_of_stages(holding, ledger, run);
    } else {
        add_energy_of(holding, step, wall_s, ledger, run);
    }
    add_rated(holding->scenario, ledger, run);
    add_carbon(holding->scenario, ledger, run);
}

/* ---- owning --------------------------------------------------------------------- */

/* A year of these makes the interest of a year. */
static double monthly_interest(double interest)
{
    return expm1(log1p(interest) / 12);
}

/* Below it nobody sees it, and the formulas divide by next to nothing. */
static bool costs_interest(double monthly)
{
    return monthly > 1e-12;
}

/* Until what is saved has paid the capital with its interest. */
static double months_with_interest(double capital_usd, double saved_usd, double monthly,
                                   struct ledger *ledger)
{
    if (!(saved_usd > capital_usd * monthly)) {
        ledger_remark(ledger, "no more than the interest: buying never breaks even");
        return ABSENT;
    }
    return LEDGER_SUM(ledger, "breaks even after", "months",
                      -log1p(-capital_usd * monthly / saved_usd) / log1p(monthly),
                      LEDGER_TERM(capital_usd, "USD"), LEDGER_TERM(monthly, "interest a month"),
                      LEDGER_TERM(saved_usd, "USD saved a month"));
}

double money_break_even_months(const struct money_choice *choice, struct ledger *ledger)
{
    const double rent_usd =
        LEDGER_SUM(ledger, "rent of a month", "USD",
                   choice->rent_usd_per_hour * HOURS_PER_MONTH * choice->utilisation,
                   LEDGER_TERM(choice->rent_usd_per_hour, "USD"), LEDGER_TERM(HOURS_PER_MONTH, "h"),
                   LEDGER_TERM(choice->utilisation, ""));
    const double running_usd =
        LEDGER_SUM(ledger, "running it for a month", "USD",
                   choice->power_kw * choice->pue * choice->usd_per_kwh * HOURS_PER_MONTH +
                       choice->hosting_usd_per_month,
                   LEDGER_TERM(choice->power_kw, "kilowatts"), LEDGER_TERM(choice->pue, "pue"),
                   LEDGER_TERM(choice->usd_per_kwh, "USD"), LEDGER_TERM(HOURS_PER_MONTH, "h"),
                   LEDGER_TERM(choice->hosting_usd_per_month, "USD"));
    if (!(rent_usd > running_usd)) {
        ledger_remark(ledger, "no less than the rent: buying never breaks even");
        return ABSENT;
    }
    const double capital_usd = choice->capital_usd;
    const double monthly = monthly_interest(choice->interest);
    if (costs_interest(monthly)) {
        return months_with_interest(capital_usd, rent_usd - running_usd, monthly, ledger);
    }
    return LEDGER_SUM(ledger, "breaks even after", "months", capital_usd / (rent_usd - running_usd),
                      LEDGER_TERM(capital_usd, "USD"), LEDGER_TERM(rent_usd, "USD"),
                      LEDGER_TERM(running_usd, "USD"));
}

/* With so many spares beside it, as a share of it. */
static double capital_usd(const struct scenario *scenario, double spares, struct ledger *ledger)
{
    const struct ownership *own = &scenario->price.own;
    const double per_node = (double)scenario->cluster.gpus_per_node;
    const double gpu_usd =
        own->node_usd > 0
            ? LEDGER_SUM(ledger, "a GPU with its share of a node", "USD", own->node_usd / per_node,
                         LEDGER_TERM(own->node_usd, "USD"), LEDGER_TERM(per_node, "GPUs"))
            : own->gpu_usd;
    const double network_usd = scenario->price.network_gpu_usd;
    if (fabs(network_usd) > 0) {
        return LEDGER_SUM(ledger, "capital for a GPU, its network part by part", "USD",
                          (gpu_usd * (1 + own->storage) + network_usd) * (1 + spares),
                          LEDGER_TERM(gpu_usd, "USD"), LEDGER_TERM(own->storage, ""),
                          LEDGER_TERM(network_usd, "USD"), LEDGER_TERM(spares, ""));
    }
    return LEDGER_SUM(ledger, "capital for a GPU", "USD",
                      gpu_usd * (1 + own->network + own->storage) * (1 + spares),
                      LEDGER_TERM(gpu_usd, "USD"), LEDGER_TERM(own->network, ""),
                      LEDGER_TERM(own->storage, ""), LEDGER_TERM(spares, ""));
}

double money_capital_usd(const struct scenario *scenario, struct ledger *ledger)
{
    return capital_usd(scenario, scenario->price.own.spares, ledger);
}

/* Of a GPU that is paid with its share of the node, whole facility: of the job's nodes, as an idle
 * node is like them. */
static double waiting_gpu_kw(const struct holding *holding)
{
    const struct scenario *scenario = holding->scenario;
    const double gpu_w = scenario->gpu.tdp_w * scenario->gpu.idle_power_fraction;
    const double gpus = holding->node_gpus * (double)scenario->nodes;
    return site_power_w(scenario, gpus * gpu_w) / 1000 / gpus;
}

static double hosting_usd_per_month(const struct ownership *own, double spares)
{
    return own->hosting_usd_per_month * (1 + spares);
}

/* What the capital costs in an hour of its life, whether it works or not. */
static double capital_hour_usd(const struct ownership *own, double bought_usd,
                               struct ledger *ledger)
{
    const double life_h = own->life_s / SECONDS_PER_HOUR;
    const double monthly = monthly_interest(own->interest);
    const double residual = own->residual;
    if (!costs_interest(monthly)) {
        const double kept = 1 - residual;
        return LEDGER_SUM(ledger, "capital of an hour", "USD", bought_usd * kept / life_h,
                          LEDGER_TERM(bought_usd, "USD"), LEDGER_TERM(kept, ""),
                          LEDGER_TERM(life_h, "h"));
    }
    const double months = life_h / HOURS_PER_MONTH;
    const double paid = LEDGER_SUM(ledger, "paid off of what is lent at first", "",
                                   -expm1(-months * log1p(monthly)), LEDGER_TERM(months, "months"),
                                   LEDGER_TERM(monthly, "interest a month"));
    return LEDGER_SUM(ledger, "capital of an hour, with interest", "USD",
                      bought_usd * (1 - residual * (1 - paid)) * monthly / paid / HOURS_PER_MONTH,
                      LEDGER_TERM(bought_usd, "USD"), LEDGER_TERM(residual, ""),
                      LEDGER_TERM(paid, ""), LEDGER_TERM(monthly, ""),
                      LEDGER_TERM(HOURS_PER_MONTH, "h"));
}

static double owned_hour_usd(const struct holding *holding, double spares, struct ledger *ledger)
{
    const struct scenario *scenario = holding->scenario;
    const struct ownership *own = &scenario->price.own;
    const double bought_usd = capital_usd(scenario, spares, ledger);
    const double hosting_usd = hosting_usd_per_month(own, spares);
    const double tied_usd = capital_hour_usd(own, bought_usd, ledger);
    const double held_usd =
        LEDGER_SUM(ledger, "holding it for an hour", "USD",
                   tied_usd + hosting_usd / HOURS_PER_MONTH, LEDGER_TERM(tied_usd, "USD"),
                   LEDGER_TERM(hosting_usd, "USD"), LEDGER_TERM(HOURS_PER_MONTH, "h"));
    const double idle_usd = LEDGER_SUM(ledger, "an hour without work", "USD",
                                       waiting_gpu_kw(holding) * own->electricity_usd_per_kwh,
                                       LEDGER_TERM(waiting_gpu_kw(holding), "kilowatts"),
                                       LEDGER_TERM(own->electricity_usd_per_kwh, "USD"));
    return LEDGER_SUM(ledger, "owning, for an hour of work", "USD",
                      (held_usd + idle_usd * (1 - own->utilisation)) / own->utilisation,
                      LEDGER_TERM(held_usd, "USD"), LEDGER_TERM(idle_usd, "USD"),
                      LEDGER_TERM(own->utilisation, ""));
}

double money_owned_hour_usd(const struct holding *holding, struct ledger *ledger)
{
    return owned_hour_usd(holding, holding->scenario->price.own.spares, ledger);
}

/* Of a GPU that is used for its share of time: by what it draws in this run, and waiting. */
static double break_even_months(const struct holding *holding, double wall_s, struct ledger *ledger,
                                const struct run_result *run)
{
    const struct scenario *scenario = holding->scenario;
    const struct price *price = &scenario->price;
    const double hours = wall_s / SECONDS_PER_HOUR;
    const double without_kwh = run->energy_kwh / price->pue - run->component_kwh[COMPONENT_SPARE];
    const double run_kw = without_kwh / hours / holding->gpus;
    const double waiting_kw = waiting_gpu_kw(holding) / price->pue;
    const double u = price->own.utilisation;
    const struct money_choice choice = {
        .capital_usd = money_capital_usd(scenario, NULL),
        .rent_usd_per_hour = price->gpu_hour_usd,
        .utilisation = u,
        .power_kw = u * run_kw + (1 - u) * waiting_kw,
        .pue = price->pue,
        .usd_per_kwh = price->own.electricity_usd_per_kwh,
        .hosting_usd_per_month = hosting_usd_per_month(&price->own, price->own.spares),
        .interest = price->own.interest,
    };
    return money_break_even_months(&choice, ledger);
}

static void add_ownership(const struct holding *holding, double wall_s, struct ledger *ledger,
                          struct run_result *run)
{
    const struct price *price = &holding->scenario->price;
    run->owned_gpu_hour_usd = ABSENT;
    run->break_even_months = ABSENT;
    if (!price->own.is_told) {
        return;
    }
    const double held_usd = money_owned_hour_usd(holding, ledger);
    run->owned_gpu_hour_usd =
        LEDGER_SUM(ledger, "with the electricity of the run", "USD",
                   held_usd + run->energy_kwh * price->own.electricity_usd_per_kwh / run->gpu_hours,
                   LEDGER_TERM(held_usd, "USD"), LEDGER_TERM(run->energy_kwh, "kWh"),
                   LEDGER_TERM(price->own.electricity_usd_per_kwh, "USD"),
                   LEDGER_TERM(run->gpu_hours, "GPU-hours"));
    if (!is_absent(price->gpu_hour_usd)) {
        run->break_even_months = break_even_months(holding, wall_s, ledger, run);
    }
}

/* ---- cost ----------------------------------------------------------------------- */

bool money_is_priced(const struct scenario *scenario)
{
    const struct price *price = &scenario->price;
    const bool is_rented = price->terms == TERMS_RENT || price->terms == TERMS_RESERVED;
    return !is_rented || !is_absent(price->gpu_hour_usd);
}

/* Of an hour that is paid, on the terms. */
static double hour_usd(const struct holding *holding, struct ledger *ledger)
{
    const struct price *price = &holding->scenario->price;
    switch ((enum price_terms)price->terms) {
    case TERMS_RESERVED:
        return LEDGER_SUM(ledger, "a reserved GPU-hour", "USD",
                          price->gpu_hour_usd * (1 - price->reserved_discount),
                          LEDGER_TERM(price->gpu_hour_usd, "USD"),
                          LEDGER_TERM(price->reserved_discount, ""));
    case TERMS_SPOT:
        return price->spot_gpu_hour_usd;
    case TERMS_OWN:
        return money_owned_hour_usd(holding, NULL);
    case TERMS_RENT:
    case TERMS_COUNT_:
        break;
    }
    return price->gpu_hour_usd;
}

/* Spares that are paid apart, as so many nodes that work: those beside idle nodes. An owner has
 * some already, which are the hot ones first. */
static double paid_spares(const struct holding *holding)
{
    const struct scenario *scenario = holding->scenario;
    const struct price *price = &scenario->price;
    const double hot = (double)holding->rented_hot;
    const double cold = (double)holding->rented_cold;
    const double owned =
        price->terms == TERMS_OWN ? price->own.spares * (double)scenario->nodes : 0;
    const double more_hot = fmax(hot - owned, 0);
    const double more_cold = fmax(cold - fmax(owned - hot, 0), 0);
    return more_hot * price->spares + more_cold * price->cold_spares;
}

/* Of a GPU of these. What an owner has bought beyond the job's is not bought once more beyond them.
 */
static double spare_hour_usd(const struct holding *holding, struct ledger *ledger)
{
    const struct price *price = &holding->scenario->price;
    if (price->terms != TERMS_OWN || price->own.spares <= 0) {
        return hour_usd(holding, NULL);
    }
    const double usd = owned_hour_usd(holding, 0, ledger);
    ledger_remark(ledger, "a spare, which has none beside it");
    return usd;
}

static double paid_s(const struct scenario *scenario, double wall_s)
{
    const struct price *price = &scenario->price;
    return price->terms == TERMS_RESERVED ? fmax(wall_s, price->reserved_term_s) : wall_s;
}

double money_spares_usd(const struct holding *holding, double wall_s, struct ledger *ledger)
{
    const struct scenario *scenario = holding->scenario;
    const double spares = paid_spares(holding);
    if (!money_is_priced(scenario)) {
        return ABSENT;
    }
    if (!(spares > 0)) {
        return 0;
    }
    const double hours = paid_s(scenario, wall_s) / SECONDS_PER_HOUR;
    const double gpus = (double)scenario->cluster.gpus_per_node;
    const double usd = spare_hour_usd(holding, ledger);
    return LEDGER_SUM(ledger, "spares", "USD", spares * gpus * hours * usd,
                      LEDGER_TERM(spares, "nodes"), LEDGER_TERM(gpus, "GPUs"),
                      LEDGER_TERM(hours, "h"), LEDGER_TERM(usd, "USD"));
}

double money_cost_usd(const struct holding *holding, const struct money_use *use,
                      struct ledger *ledger)
{
    const struct scenario *scenario = holding->scenario;
    const struct price *price = &scenario->price;
    const double energy_kwh = use->energy_kwh;
    if (!money_is_priced(scenario)) {
        ledger_remark(ledger, "no cost: neither the scenario nor the GPU has a price");
        return ABSENT;
    }
    const double usd_per_kwh = price->terms == TERMS_OWN ? price->own.electricity_usd_per_kwh
                                                         : price->electricity_usd_per_kwh;
    const double seconds = paid_s(scenario, use->held_s);
    const double paid_hours = seconds / SECONDS_PER_HOUR * holding->gpus;
    const double gpu_hour_usd = hour_usd(holding, ledger);
    if (seconds > use->held_s) {
        ledger_say(ledger, "GPU-hours of the term", "h", paid_hours, "more than the run takes");
    }
    const double spares_usd = money_spares_usd(holding, use->wall_s, ledger);
    return LEDGER_SUM(ledger, "cost", "USD",
                      paid_hours * gpu_hour_usd + spares_usd + energy_kwh * usd_per_kwh,
                      LEDGER_TERM(paid_hours, "GPU-hours"), LEDGER_TERM(gpu_hour_usd, "USD"),
                      LEDGER_TERM(spares_usd, "USD"), LEDGER_TERM(energy_kwh, "kWh"),
                      LEDGER_TERM(usd_per_kwh, "USD"));
}

/* What checkpoints ask for, rented for the run. */
static double rented_usd(const struct scenario *scenario, double wall_s,
                         const struct run_result *run, struct ledger *ledger)
{
    const double kept = (double)checkpoint_kept(&scenario->checkpoint, run->checkpoints);
    const double each_gb = run->checkpoint_bytes / 1e9;
    const double usable = scenario->cluster.storage_usable;
    const double asked_gb =
        LEDGER_SUM(ledger, "storage that checkpoints ask for", "gigabytes", kept * each_gb / usable,
                   LEDGER_TERM(kept, "kept"), LEDGER_TERM(each_gb, "gigabytes"),
                   LEDGER_TERM(usable, "usable"));
    const double months = wall_s / SECONDS_PER_HOUR / HOURS_PER_MONTH;
    const double usd = scenario->price.storage_usd_per_gb_month;
    return LEDGER_SUM(ledger, "its rent", "USD", asked_gb * usd * months,
                      LEDGER_TERM(asked_gb, "gigabytes"), LEDGER_TERM(usd, "USD"),
                      LEDGER_TERM(months, "months"));
}

static double moved_usd(const struct scenario *scenario, const struct run_result *run,
                        struct ledger *ledger)
{
    const double moved = (double)checkpoint_moved(&scenario->checkpoint, run->checkpoints);
    const double each_tb = run->checkpoint_bytes / 1e12;
    const double usd = scenario->price.moved_usd_per_tb;
    return LEDGER_SUM(ledger, "checkpoints moved there", "USD", moved * each_tb * usd,
                      LEDGER_TERM(moved, ""), LEDGER_TERM(each_tb, "terabytes"),
                      LEDGER_TERM(usd, "USD"));
}

double money_storage_usd(const struct scenario *scenario, double wall_s,
                         const struct run_result *run, struct ledger *ledger)
{
    const struct price *price = &scenario->price;
    double usd = ABSENT;
    if (price->storage_usd_per_gb_month > 0) {
        usd = rented_usd(scenario, wall_s, run, ledger);
    }
    if (price->moved_usd_per_tb > 0) {
        const double moved = moved_usd(scenario, run, ledger);
        usd = is_absent(usd) ? moved : usd + moved;
    }
    return usd;
}

static double with_storage_usd(double cost_usd, double storage_usd, struct ledger *ledger)
{
    if (is_absent(cost_usd) || is_absent(storage_usd)) {
        return cost_usd;
    }
    return LEDGER_SUM(ledger, "cost, with storage", "USD", cost_usd + storage_usd,
                      LEDGER_TERM(cost_usd, "USD"), LEDGER_TERM(storage_usd, "USD"));
}

/* As long as all GPUs that are paid would be held for the GPU-hours of the run's stages, or where
 * some are taken away. */
static double held_s(const struct holding *holding, double wall_s, const struct run_result *run)
{
    const bool are_less = run->stage_count > 0 || run->unheld_gpu_hours > 0;
    return are_less ? run->gpu_hours * SECONDS_PER_HOUR / holding->gpus : wall_s;
}

struct money_sum money_of_history(const struct holding *holding, const struct step_result *step,
                                  const struct repetition *one)
{
    const double unheld_s = one->unheld_s * holding->node_gpus / holding->gpus;
    const double energy_kwh = money_energy_kwh(holding, step, one->wall_s, one->steps_s, NULL);
    const struct money_use use = {
        .wall_s = one->wall_s, .held_s = one->wall_s - unheld_s, .energy_kwh = energy_kwh};
    return (struct money_sum){energy_kwh, money_cost_usd(holding, &use, NULL)};
}

void money_add_up(const struct holding *holding, const struct step_result *step, double wall_s,
                  struct ledger *ledger, struct run_result *run)
{
    const struct scenario *scenario = holding->scenario;
    const double held = held_s(holding, wall_s, run);
    add_energy(holding, step, wall_s, ledger, run);
    add_ownership(holding, held, ledger, run);
    run->storage_usd = money_storage_usd(scenario, wall_s, run, ledger);
    run->spares_usd = money_spares_usd(holding, wall_s, NULL);
    const struct money_use use = {.wall_s = wall_s, .held_s = held, .energy_kwh = run->energy_kwh};
    run->cost_usd =
        with_storage_usd(money_cost_usd(holding, &use, ledger), run->storage_usd, ledger);
}
