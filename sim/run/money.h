/* What a run costs: power, energy, emissions, money. Which GPUs are paid and powered, and which
 * spares are beside them, run/holding decides; all here counts idle GPUs but for what papers have.
 *
 *     power in steps  = pue * (GPUs * TDP * (busy * u + idle * (1 - u)) + beside GPUs
 *                              + idle nodes and GPUs + hot spares)
 *     power, waiting  = the same with u = 0
 *     energy          = power in steps * time in steps + power, waiting * all other time
 *     carbon          = energy * price.carbon
 *
 * Under a cap (power_cap) `busy` is at most the cap's share of TDP; what it costs in time is in the
 * step (gpu_cap_share, gpu_power_limit).
 *
 * A hot spare and an idle node draw what a node of the job does that waits, a cold spare nothing.
 * Beside GPUs draw the rest of the nodes, NICs, switches and storage (input/network/site_power).
 * u is the share of the step in which kernels run. Other time is that of the accounts (run/history)
 * in which nobody computes: checkpoints, detection, waiting, recovery, start.
 *
 *     cost = GPU-hours that are paid * price of one + spares
 *            (+ energy * price.electricity where given, or price.own.electricity of owned GPUs)
 *
 *     terms     GPU-hours paid               price of one
 *     rent      those of the run             price.gpu_hour
 *     reserved  of the term, if longer       price.gpu_hour * (1 - price.reserved_discount)
 *     spot      those of the run             price.spot_gpu_hour
 *     own       those of the run             what owning comes to:
 *
 *     capital = (GPU's * (1 + storage) + its network's) * (1 + spares)
 *     its network's = GPU's * price.own.network, where that is said, or else the bill of its parts
 *                     (input/network/network_bill) for a GPU * (1 - price.network.discount)
 *     hosting = price.own.hosting a GPU * (1 + spares)
 *     owning  = (capital * (1 - residual) / life + hosting) / utilisation
 *               + electricity of the hours without work, over those with
 *
 * With price.own.interest, r a year and i = (1 + r)^(1/12) - 1 a month, capital * (1 - residual) /
 * life is the annuity of the n months of its life instead, which pays it off with what is still
 * owed and sells what is left at the end (at r = 0 the two are the same):
 *
 *     annuity = capital * (1 - residual * (1 + i)^-n) * i / (1 - (1 + i)^-n)    a month
 *
 *     spares = hot * price.spares + cold * price.cold_spares, as nodes of the job, for all the run,
 *              of those beside idle nodes, which are among the GPUs that are paid
 *
 * whatever the job itself holds meanwhile: fewer GPUs in a stage, or none of those that were
 * taken away. Of an owner's spares price.own.spares are bought anyhow: only spares beyond these
 * cost more, each what owning comes to without a share of others.
 *
 * Storage that has a price comes on top, for checkpoints alone:
 *
 *     rented = kept * bytes of one / cluster.storage.usable * price.storage_gb_month * months
 *     moved  = checkpoints that go to the shared storage * bytes of one * price.moved_tb
 *
 * and buying breaks even with renting after
 *
 *     months = capital / (rent * 730 h * utilisation - (kW * pue * price * 730 h + hosting))
 *
 * or never, where the bracket is not positive. With interest what is saved pays it first, so that n
 * months pay for a capital of bracket * (1 - (1 + i)^-n) / i:
 *
 *     months = -ln(1 - capital * i / bracket) / ln(1 + i)
 *
 * or never, where interest alone eats the bracket. There is no cost where a GPU-hour has no price.
 *
 * ASSUMES: the storage that checkpoints ask for in the end is rented for the whole run; of data, of
 * checkpoints that are written again after a failure and of what restarts read nothing is paid.
 * ASSUMES: a spare that works in the place of a broken node costs and draws what that one saves.
 * ASSUMES: an owned GPU without work draws what one does that waits.
 * ASSUMES: only capital costs interest; what a run pays later is worth as much as what it pays now.
 * ASSUMES: what degraded steps take longer is spent waiting.
 * ASSUMES: nodes that were taken away draw what those do that wait for others: told is too much.
 * ASSUMES: what takes the place of a node that was taken away is paid as that was.
 * ASSUMES: while it is evaluated a model draws what a job that waits does: told is too little.
 */
#ifndef RUN_MONEY_H
#define RUN_MONEY_H

#include "base/ledger.h"
#include "run/holding.h"
#include "run/result.h"

/* Share of the step in which kernels run, mean of all GPUs. */
double money_working_share(const struct scenario *scenario, const struct step_result *step,
                           struct ledger *ledger);

/* Mean power of the whole facility's part in a step, by the formula above. */
double money_power_w(const struct holding *holding, const struct step_result *step,
                     struct ledger *ledger);

/* The site's power while the job waits and nobody computes. */
double money_waiting_power_w(const struct holding *holding, struct ledger *ledger);

/* What the site draws for the job: the mean of a step, and the most, where kernels run in all GPUs
 * at once. No millisecond of run/power_trace is above that: of seven scenarios the most was up to
 * 2.7 % below, where launches leave gaps. Of a run of stages, of that which draws most. */
void money_add_power(struct result *result);

/* So long, of which steps take `steps_s`, stalls for data included. */
double money_energy_kwh(const struct holding *holding, const struct step_result *step,
                        double wall_s, double steps_s, struct ledger *ledger);

/* Rent or buy. Power is of a GPU with its share of the node, without the facility's. */
struct money_choice {
    double capital_usd, rent_usd_per_hour, utilisation, power_kw, pue, usd_per_kwh;
    double hosting_usd_per_month;
    double interest; /* a year */
};

/* ABSENT: never. */
double money_break_even_months(const struct money_choice *choice, struct ledger *ledger);

/* What buying a GPU takes, all shares included. */
double money_capital_usd(const struct scenario *scenario, struct ledger *ledger);

/* An hour in which an owned GPU works, without that hour's own electricity. */
double money_owned_hour_usd(const struct holding *holding, struct ledger *ledger);

/* Storage of the run's checkpoints by the formula above; ABSENT: it has no price. */
double money_storage_usd(const struct scenario *scenario, double wall_s,
                         const struct run_result *run, struct ledger *ledger);

/* Whether a run has a cost: its GPU-hours have a price on these terms. */
bool money_is_priced(const struct scenario *scenario);

/* Nodes that stand ready for so long, without their electricity: a part of the next. */
double money_spares_usd(const struct holding *holding, double wall_s, struct ledger *ledger);

/* What is paid for. */
struct money_use {
    double wall_s; /* spares are held */
    /* As long as all GPUs that are paid would be held for the job's GPU-hours; wall_s where all
     * always are. */
    double held_s;
    double energy_kwh;
};

/* ABSENT without a price. Grows with each. */
double money_cost_usd(const struct holding *holding, const struct money_use *use,
                      struct ledger *ledger);

struct repetition;

struct money_sum {
    double energy_kwh, cost_usd; /* ABSENT without a price */
};

/* What one history of a run without stages comes to, but for what is paid beside hours and energy
 * (storage). */
struct money_sum money_of_history(const struct holding *holding, const struct step_result *step,
                                  const struct repetition *one);

/* Energy, emissions and cost of a run whose accounts and GPU-hours are known. */
void money_add_up(const struct holding *holding, const struct step_result *step, double wall_s,
                  struct ledger *ledger, struct run_result *run);

#endif
