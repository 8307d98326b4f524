/* Groups of ranks for the tests of collectives, and what their edges load: a small
 * account of bytes per pair, per scale-up port and per NIC, without a fabric. */
#ifndef TESTS_SUPPORT_COLLECTIVE_CASE_H
#define TESTS_SUPPORT_COLLECTIVE_CASE_H

#include "plan/collective/collective.h"

#define CASE_NODES_MAX 256

struct collective_case {
    const char *name;
    uint32_t nodes;
    uint32_t per_node; /* 0: 8, 8, 4 ... the last node half as many as the others */
};

/* 1x2, 1x8, 2x8, 4x8, 8x1, 16x1, 3x5, 8+8+4 */
extern const struct collective_case collective_cases[];
extern const uint32_t collective_case_count;

/* `per_node` ranks on each of `nodes` nodes, a rail for each; switches reduce. */
struct collective_group collective_group_of(struct arena *arena, uint32_t nodes, uint32_t per_node);
struct collective_group collective_case_group(struct arena *arena,
                                              const struct collective_case *which);

uint32_t collective_node_of(const struct collective_group *group, uint32_t rank);

/* Bytes of one phase, or of several summed up. */
struct collective_loads {
    const struct collective_group *group;
    double scale;  /* bytes of a share of 1 */
    double *pairs; /* [from * ranks + to], or NULL: not wanted (large groups) */
    double *out;   /* [ranks] scale-up port */
    double *in;
    double *nic_out; /* [ranks]: of the NIC, at the first rank that uses it */
    double *nic_in;
    double network; /* reduced by the network's switches, bytes sent to them */
};

struct collective_loads collective_loads_new(struct arena *arena,
                                             const struct collective_group *group);
void collective_loads_add(struct arena *arena, struct collective_loads *loads,
                          enum collective_operation operation, enum collective_algorithm algorithm,
                          uint32_t phase, double bytes);
double collective_loads_total(const struct collective_loads *loads); /* over pairs of ranks */

/* The closed form from phases and edges: each phase takes its rounds and the time of its
 * busiest port. */
struct collective_levels {
    double alpha_intra_s, alpha_inter_s;
    double scale_up_bytes_per_s, nic_bytes_per_s;
};
double collective_case_time_s(struct arena *arena, enum collective_operation operation,
                              enum collective_algorithm algorithm,
                              const struct collective_group *group, double bytes,
                              const struct collective_levels *levels);

/* Closed-form time with one latency and one bandwidth per level (oracles: Thakur et al.):
 * sum over phases of rounds * alpha + bytes / bandwidth. */
double collective_time_s(const struct collective_phase *list, uint32_t count, double alpha_intra_s,
                         double alpha_inter_s, double bandwidth_bytes_per_s);

#endif
