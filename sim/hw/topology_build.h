/* Inside the topologies: what the builders of the kinds share. */
#ifndef HW_TOPOLOGY_BUILD_H
#define HW_TOPOLOGY_BUILD_H

#include "hw/topology.h"

#include <stddef.h>

#define TOPOLOGY_LEVELS 3

struct topology_builder {
    struct topology *topology;
    const struct cluster *cluster;
    uint32_t nodes, ports;
    double port_bytes_per_s; /* of one NIC port, achieved */
    bool merges;
    size_t switch_capacity, link_capacity; /* of the arrays */
    uint32_t level_counts[TOPOLOGY_LEVELS + 1];
};

uint32_t topology_add_switch(struct topology_builder *builder, uint8_t level, uint32_t pod,
                             const char *name);

/* A link and the way back, which may be of other kinds and capacities. */
struct topology_pair {
    uint32_t from, to;
    uint32_t kind, kind_back; /* enum link_kind */
    int64_t capacity, capacity_back;
};
void topology_add_pair(struct topology_builder *builder, const struct topology_pair *pair);

/* Share `index` of `total` cut into `count` whole parts, whose sum is `total` (but at least 1). */
int64_t topology_share(int64_t total, uint32_t count, uint32_t index);

/* Parallel links of `capacity` in all, each about `each`: at least 1. */
uint32_t topology_parallel(double capacity, double each);

static inline uint32_t topology_divide_up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

/* ---- the kinds ---- */

void topology_build_tree(struct topology_builder *builder); /* rail, rail-only, tree, dragonfly */
void topology_build_torus(struct topology_builder *builder);
void topology_build_explicit(struct topology_builder *builder);

#endif
