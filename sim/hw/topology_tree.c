/* Leaves, spines, and what joins pods: rail, rail-only, tree and dragonfly.
 *
 *              core 0   core 1  ...            dragonfly: no core; every pair of groups
 *             /      \ /      \                is joined, spine to spine
 *        spine 0    spine 1   |  spine 2 ...
 *        |  \   \  /   |      |
 *      leaf 0  leaf 1 ...     |  leaf 8 ...
 *      \__ leaf group _/
 *      \________ pod ________/ \__ pod ...
 *
 * A leaf has one up-link to each spine of its pod; spine s of each pod has one to
 * each of the cores number s. How many spines there are follows from the bandwidth: the
 * leaf's ports / oversubscription / the bandwidth of one up-link. Capacities are whole
 * shares, so that those of a leaf (of a pod) sum up to its part exactly.
 *
 * The down-side counts full leaf groups, also where the cluster's last one is not full.
 */
#include "hw/topology_build.h"

#include "base/arena.h"
#include "base/check.h"
#include "hw/fabric.h"

struct levels {
    uint32_t groups;           /* leaf groups */
    uint32_t leaves_per_group; /* one for each rail, or one */
    uint32_t groups_per_pod;
    uint32_t pods;
    uint32_t spines;         /* of each pod */
    double leaf_bytes_per_s; /* up from one leaf, achieved */
    double pod_bytes_per_s;  /* out of one pod */
    double uplink_bytes_per_s;
};

static struct levels measure(const struct topology_builder *builder)
{
    const struct cluster *c = builder->cluster;
    const bool is_rail = c->fabric_kind == FABRIC_RAIL || c->fabric_kind == FABRIC_RAIL_ONLY;
    const int64_t groups_per_pod =
        c->fabric_kind == FABRIC_DRAGONFLY ? c->leaves_per_group : c->leaves_per_pod;
    struct levels levels = {.leaves_per_group = is_rail ? builder->ports : 1};
    levels.groups = topology_divide_up(builder->nodes, (uint32_t)c->nodes_per_leaf);
    levels.groups_per_pod = groups_per_pod > 0 ? (uint32_t)groups_per_pod : levels.groups;
    levels.pods = topology_divide_up(levels.groups, levels.groups_per_pod);
    const double ports_on_leaf =
        (double)c->nodes_per_leaf * builder->ports / levels.leaves_per_group;
    levels.leaf_bytes_per_s = builder->port_bytes_per_s * ports_on_leaf / c->oversubscription;
    levels.pod_bytes_per_s =
        levels.leaf_bytes_per_s * levels.leaves_per_group * levels.groups_per_pod /
        (c->fabric_kind == FABRIC_DRAGONFLY ? c->global_oversubscription : c->pod_oversubscription);
    levels.uplink_bytes_per_s = c->uplink_bytes_per_s * c->nic_efficiency;
    levels.spines =
        builder->merges ? 1 : topology_parallel(levels.leaf_bytes_per_s, levels.uplink_bytes_per_s);
    return levels;
}

static uint32_t first_leaf(struct topology_builder *builder, const struct levels *levels)
{
    const uint32_t first = builder->topology->switch_count;
    for (uint32_t group = 0; group < levels->groups; group++) {
        for (uint32_t i = 0; i < levels->leaves_per_group; i++) {
            topology_add_switch(builder, 1, group / levels->groups_per_pod, NULL);
        }
    }
    for (uint32_t node = 0; node < builder->nodes; node++) {
        const uint32_t group = node / (uint32_t)builder->cluster->nodes_per_leaf;
        for (uint32_t port = 0; port < builder->ports; port++) {
            builder->topology->port_switch[(size_t)node * builder->ports + port] =
                first + group * levels->leaves_per_group + port % levels->leaves_per_group;
        }
    }
    return first;
}

/* The spines of all pods, with the leaves below them. */
static uint32_t first_spine(struct topology_builder *builder, const struct levels *levels,
                            uint32_t leaf_first)
{
    const uint32_t first = builder->topology->switch_count;
    for (uint32_t i = 0; i < levels->pods * levels->spines; i++) {
        topology_add_switch(builder, 2, i / levels->spines, NULL);
    }
    const int64_t up = topology_capacity(levels->leaf_bytes_per_s);
    for (uint32_t i = 0; i < levels->groups * levels->leaves_per_group; i++) {
        const uint32_t pod = i / levels->leaves_per_group / levels->groups_per_pod;
        for (uint32_t s = 0; s < levels->spines; s++) {
            const int64_t capacity = topology_share(up, levels->spines, s);
            topology_add_pair(builder, &(struct topology_pair){
                                           .from = leaf_first + i,
                                           .to = first + pod * levels->spines + s,
                                           .kind = LINK_LEAF_UP,
                                           .kind_back = LINK_LEAF_DOWN,
                                           .capacity = capacity,
                                           .capacity_back = capacity,
                                       });
        }
    }
    return first;
}

static void add_cores(struct topology_builder *builder, const struct levels *levels,
                      uint32_t spine_first)
{
    const uint32_t first = builder->topology->switch_count;
    const uint32_t cores = builder->merges
                               ? 1
                               : topology_parallel(levels->pod_bytes_per_s / levels->spines,
                                                   levels->uplink_bytes_per_s);
    const uint32_t links = levels->spines * cores; /* of each pod */
    const int64_t up = topology_capacity(levels->pod_bytes_per_s);
    for (uint32_t i = 0; i < links; i++) {
        topology_add_switch(builder, 3, 0, NULL);
    }
    for (uint32_t pod = 0; pod < levels->pods; pod++) {
        for (uint32_t i = 0; i < links; i++) {
            const int64_t capacity = topology_share(up, links, i);
            topology_add_pair(builder, &(struct topology_pair){
                                           .from = spine_first + pod * levels->spines + i / cores,
                                           .to = first + i,
                                           .kind = LINK_POD_UP,
                                           .kind_back = LINK_POD_DOWN,
                                           .capacity = capacity,
                                           .capacity_back = capacity,
                                       });
        }
    }
}

/* Number of `other` among the peers of `group`. */
static uint32_t peer(uint32_t group, uint32_t other)
{
    return other < group ? other : other - 1;
}

/* Every pair of groups, over as many links as the bandwidth asks for, dealt out to the spines in
 * turn. What leaves a group sums up exactly; the two ways of a link may so differ by a byte/s. */
static void join_groups(struct topology_builder *builder, const struct levels *levels,
                        uint32_t spine_first)
{
    const uint32_t peers = levels->pods - 1;
    const uint32_t each = builder->merges ? 1
                                          : topology_parallel(levels->pod_bytes_per_s / peers,
                                                              levels->uplink_bytes_per_s);
    const int64_t out = topology_capacity(levels->pod_bytes_per_s);
    for (uint32_t a = 0; a < levels->pods; a++) {
        for (uint32_t b = a + 1; b < levels->pods; b++) {
            for (uint32_t i = 0; i < each; i++) {
                const uint32_t from = peer(a, b) * each + i;
                const uint32_t to = peer(b, a) * each + i;
                topology_add_pair(
                    builder, &(struct topology_pair){
                                 .from = spine_first + a * levels->spines + from % levels->spines,
                                 .to = spine_first + b * levels->spines + to % levels->spines,
                                 .kind = LINK_GLOBAL,
                                 .kind_back = LINK_GLOBAL,
                                 .capacity = topology_share(out, peers * each, from),
                                 .capacity_back = topology_share(out, peers * each, to),
                             });
            }
        }
    }
}

void topology_build_tree(struct topology_builder *builder)
{
    const struct levels levels = measure(builder);
    const uint32_t leaf_first = first_leaf(builder, &levels);
    const uint32_t kind = builder->cluster->fabric_kind;
    if (kind == FABRIC_RAIL_ONLY || levels.groups * levels.leaves_per_group == 1) {
        return; /* nothing to join, or nothing that joins */
    }
    const uint32_t spine_first = first_spine(builder, &levels, leaf_first);
    if (kind == FABRIC_DRAGONFLY) {
        if (levels.pods > 1) {
            join_groups(builder, &levels, spine_first);
        }
        return;
    }
    builder->topology->shape = SHAPE_LEVELS;
    if (levels.pods > 1) {
        add_cores(builder, &levels, spine_first);
    }
}
