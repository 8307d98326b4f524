/* A two-level fat tree for tests of fluid sharing: `leaves` switches with
 * `leaf_hosts` hosts each and leaf_hosts spines, one link each way between
 * each leaf and each spine (full bisection). The spine is the destination
 * modulo leaf_hosts. */
#ifndef TESTS_SUPPORT_FAT_TREE_H
#define TESTS_SUPPORT_FAT_TREE_H

#include "des/fluid.h"

/* More than any link. */
#define FAT_TREE_NO_CAP INT64_C(1000000000000000)

struct fat_tree {
    struct fluid *fluid;
    uint32_t leaves;
    uint32_t leaf_hosts;
};

/* Adds the links, 0 and up; all of one capacity. The fluid must have none. */
struct fat_tree fat_tree_add(struct fluid *fluid, uint32_t leaves, uint32_t leaf_hosts,
                             int64_t capacity_bytes_per_s);

#define FAT_TREE_ROUTE_MAX 4

/* The links from a host to another; returns their number, 2 or 4. */
uint32_t fat_tree_route(const struct fat_tree *tree, uint32_t from, uint32_t to,
                        link_id links[FAT_TREE_ROUTE_MAX]);

/* Weight 1, no cap, usage one. */
flow_id fat_tree_add_flow(const struct fat_tree *tree, uint32_t from, uint32_t to);

#endif
