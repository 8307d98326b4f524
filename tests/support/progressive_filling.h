/* The slow obvious solver, to hold des/fluid.h against: weighted max-min fair
 * rates in double precision, by raising all rates together until something
 * saturates. Static: one set of flows, one answer. */
#ifndef TESTS_SUPPORT_PROGRESSIVE_FILLING_H
#define TESTS_SUPPORT_PROGRESSIVE_FILLING_H

#include <stdint.h>

struct filling_link {
    double capacity_bytes_per_s;
};

struct filling_flow {
    const uint32_t *links;
    const double *usages; /* of each link, 1 = the flow's bytes cross it once */
    uint32_t link_count;
    double weight;
    double cap_bytes_per_s;
};

struct filling_system {
    const struct filling_link *links;
    const struct filling_flow *flows;
    uint32_t link_count;
    uint32_t flow_count;
};

/* Fills rates_bytes_per_s[flow_count]. O(rounds * (flows * route length)^2). */
void progressive_filling(const struct filling_system *system, double *rates_bytes_per_s);

/* What all flows together take of a link, bytes/s. */
double filling_link_load(const struct filling_system *system, const double *rates_bytes_per_s,
                         uint32_t link);

#endif
