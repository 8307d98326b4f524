/* Sums of money and power of a job whose placement leaves nothing idle but the rest of its nodes.
 */
#ifndef TESTS_SUPPORT_MONEY_OF_H
#define TESTS_SUPPORT_MONEY_OF_H

#include "run/money.h"

static inline double power_w(const struct scenario *scenario, const struct step_result *step)
{
    const struct holding holding = holding_of(scenario, NULL);
    return money_power_w(&holding, step, NULL);
}

static inline double waiting_power_w(const struct scenario *scenario)
{
    const struct holding holding = holding_of(scenario, NULL);
    return money_waiting_power_w(&holding, NULL);
}

static inline double owned_hour_usd(const struct scenario *scenario)
{
    const struct holding holding = holding_of(scenario, NULL);
    return money_owned_hour_usd(&holding, NULL);
}

static inline double cost_usd(const struct scenario *scenario, struct money_use use)
{
    const struct holding holding = holding_of(scenario, NULL);
    return money_cost_usd(&holding, &use, NULL);
}

static inline void add_money(const struct scenario *scenario, const struct step_result *step,
                             double wall_s, struct run_result *run)
{
    const struct holding holding = holding_of(scenario, NULL);
    money_add_up(&holding, step, wall_s, NULL, run);
}

static inline double spares_usd(const struct scenario *scenario, double wall_s)
{
    const struct holding holding = holding_of(scenario, NULL);
    return money_spares_usd(&holding, wall_s, NULL);
}

#endif
