/* What a run costs: power, energy, money.
 *
 *     energy = wall-clock * pue * (GPUs * TDP * (busy * u + idle * (1 - u)) + nodes * host power)
 *     cost   = GPU-hours * price.gpu_hour (+ energy * price.electricity where given);
 *              there is none where a GPU-hour has no price
 *
 * u is the share of the step in which kernels run.
 */
#ifndef RUN_MONEY_H
#define RUN_MONEY_H

#include "base/ledger.h"
#include "run/result.h"

/* Share of the step in which kernels run, mean of all GPUs. */
double money_working_share(const struct scenario *scenario, const struct step_result *step,
                           struct ledger *ledger);

/* Mean power of the whole facility's part, by the formula above. */
double money_power_w(const struct scenario *scenario, const struct step_result *step,
                     struct ledger *ledger);

/* Energy and cost of a run that lasts wall_s and whose GPU-hours are known. */
void money_add_up(const struct scenario *scenario, const struct step_result *step, double wall_s,
                  struct ledger *ledger, struct run_result *run);

#endif
