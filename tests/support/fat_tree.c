/* Links, in this order: out of each host, into each host, up from each leaf to
 * each spine, down from each spine to each leaf. */
#include "support/fat_tree.h"

struct fat_tree fat_tree_add(struct fluid *fluid, uint32_t leaves, uint32_t leaf_hosts,
                             int64_t capacity_bytes_per_s)
{
    for (uint32_t i = 0; i < 4 * leaves * leaf_hosts; i++) {
        const link_id link = fluid_add_link(fluid, capacity_bytes_per_s);
        sim_assert(link == i);
    }
    return (struct fat_tree){.fluid = fluid, .leaves = leaves, .leaf_hosts = leaf_hosts};
}

uint32_t fat_tree_route(const struct fat_tree *tree, uint32_t from, uint32_t to,
                        link_id links[FAT_TREE_ROUTE_MAX])
{
    const uint32_t hosts = tree->leaves * tree->leaf_hosts;
    const uint32_t leaf_from = from / tree->leaf_hosts;
    const uint32_t leaf_to = to / tree->leaf_hosts;
    const uint32_t spine = to % tree->leaf_hosts;
    uint32_t count = 0;
    links[count++] = from;
    if (leaf_from != leaf_to) {
        links[count++] = 2 * hosts + leaf_from * tree->leaf_hosts + spine;
        links[count++] = 3 * hosts + leaf_to * tree->leaf_hosts + spine;
    }
    links[count++] = hosts + to;
    return count;
}

flow_id fat_tree_add_flow(const struct fat_tree *tree, uint32_t from, uint32_t to)
{
    link_id links[FAT_TREE_ROUTE_MAX];
    struct fluid_crossing route[FAT_TREE_ROUTE_MAX];
    const uint32_t count = fat_tree_route(tree, from, to, links);
    for (uint32_t i = 0; i < count; i++) {
        route[i] = (struct fluid_crossing){links[i], FLUID_USAGE_ONE};
    }
    return fluid_add_flow(tree->fluid,
                          &(struct fluid_flow_options){.route = route,
                                                       .route_count = count,
                                                       .weight = 1,
                                                       .cap_bytes_per_s_max = FAT_TREE_NO_CAP});
}
