/* The slow obvious solver in integers: what des/fluid.h must give to the last
 * byte/s, whatever came before. All flows are filled together from nothing,
 * one level after the other; nothing is remembered. */
#ifndef TESTS_SUPPORT_EXACT_FILLING_H
#define TESTS_SUPPORT_EXACT_FILLING_H

#include "des/fluid.h"

struct exact_flow {
    const struct fluid_crossing *route;
    uint32_t route_count;
    uint32_t weight;
    int64_t cap_bytes_per_s;
};

#define EXACT_LINKS_MAX 1024
#define EXACT_FLOWS_MAX 512

struct exact_system {
    int64_t capacities[EXACT_LINKS_MAX]; /* bytes/s */
    struct exact_flow flows[EXACT_FLOWS_MAX];
    uint32_t link_count;
    uint32_t flow_count;
};

/* Fills rates_bytes_per_s[flow_count]. Capacities and caps up to 2^40 bytes/s;
 * the sum of usage * weight on a link up to 2^40. */
void exact_filling(const struct exact_system *system, int64_t *rates_bytes_per_s);

#endif
