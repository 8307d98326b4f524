/* A fabric of its own for tests of routes, and what a route crosses on it.
 */
#ifndef TESTS_SUPPORT_FABRIC_RIG_H
#define TESTS_SUPPORT_FABRIC_RIG_H

#include "hw/fabric.h"

/* 8 GPUs a node, 8 NICs of 50 GB/s, 4 nodes a leaf group at 2:1, 2 groups a pod at 4:1;
 * efficiencies 1, so capacities are round. */
extern const struct cluster rig_rails;
extern const struct gpu rig_gpu; /* with host links of 25 GB/s */

struct rig {
    struct arena *arena; /* whoever made it frees it */
    struct fabric fabric;
    struct fabric_route route; /* of the last send or ring */
};

/* Of so many of these GPUs. */
void rig_init(struct rig *rig, const struct cluster *cluster, uint32_t gpus);

void rig_send(struct rig *rig, uint32_t from, uint32_t to, uint64_t usage);

/* Each rank to the next, the last to the first. */
void rig_ring(struct rig *rig, const uint32_t *ranks, uint32_t count);

/* Of the route, on link `number` of a kind; 0: it does not cross that. */
uint64_t rig_usage(const struct rig *rig, enum link_kind kind, uint32_t number);

/* Links of a kind that the route crosses, and the sum of its usages on them. */
uint32_t rig_crossings(const struct rig *rig, enum link_kind kind);
uint64_t rig_sum(const struct rig *rig, enum link_kind kind);

/* Of the first link of a kind; 0: there is none. */
int64_t rig_capacity(const struct rig *rig, enum link_kind kind);

#endif
