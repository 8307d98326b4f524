/* Rates of frozen flows are >= 0, of free ones -1. Each round finds the
 * lowest level at which a link is full or a cap is met and freezes the flows
 * there; a level within 1e-12 of the lowest counts as equal, which only saves
 * rounds. At least one flow freezes per round. */
#include "support/progressive_filling.h"

#include <math.h>

#define FREE (-1.0)
#define EQUAL 1e-12

static double usage_of(const struct filling_flow *flow, uint32_t link)
{
    for (uint32_t i = 0; i < flow->link_count; i++) {
        if (flow->links[i] == link) {
            return flow->usages[i];
        }
    }
    return 0.0;
}

/* The level at which the link is full; infinite if no free flow crosses it. */
static double link_level(const struct filling_system *system, const double *rates, uint32_t link)
{
    double left = system->links[link].capacity_bytes_per_s;
    double load = 0.0;
    for (uint32_t i = 0; i < system->flow_count; i++) {
        const double usage = usage_of(&system->flows[i], link);
        if (rates[i] < 0.0) {
            load += usage * system->flows[i].weight;
        } else {
            left -= usage * rates[i];
        }
    }
    return load > 0.0 ? fmax(left, 0.0) / load : HUGE_VAL;
}

static double flow_level(const struct filling_system *system, const double *rates, uint32_t i)
{
    const struct filling_flow *flow = &system->flows[i];
    double level = flow->cap_bytes_per_s / flow->weight;
    for (uint32_t j = 0; j < flow->link_count; j++) {
        level = fmin(level, link_level(system, rates, flow->links[j]));
    }
    return level;
}

/* Freezes the flows of the lowest level; false when none is free. */
static int fill_round(const struct filling_system *system, double *rates)
{
    double lowest = HUGE_VAL;
    for (uint32_t i = 0; i < system->flow_count; i++) {
        if (rates[i] < 0.0) {
            lowest = fmin(lowest, flow_level(system, rates, i));
        }
    }
    if (isinf(lowest)) {
        return 0;
    }
    for (uint32_t i = 0; i < system->flow_count; i++) {
        /* Freezing one flow at the level leaves the levels of the others. */
        if (rates[i] < 0.0 && flow_level(system, rates, i) <= lowest * (1.0 + EQUAL)) {
            rates[i] = lowest * system->flows[i].weight;
        }
    }
    return 1;
}

void progressive_filling(const struct filling_system *system, double *rates_bytes_per_s)
{
    for (uint32_t i = 0; i < system->flow_count; i++) {
        rates_bytes_per_s[i] = FREE;
    }
    while (fill_round(system, rates_bytes_per_s)) {
    }
}

double filling_link_load(const struct filling_system *system, const double *rates_bytes_per_s,
                         uint32_t link)
{
    double load = 0.0;
    for (uint32_t i = 0; i < system->flow_count; i++) {
        load += usage_of(&system->flows[i], link) * rates_bytes_per_s[i];
    }
    return load;
}
