/* Shapes of groups, and the double binary tree.
 *
 * The tree is that of NCCL (src/graph/trees.cc): a place p > 0 of height h, its lowest bit set
 * 2^h, hangs below p with that bit cleared and the next one set, if that place exists, else
 * below p with the bit cleared.
 *
 *     0 ------------- 8            16 places; 8 hangs below 0
 *            4                12
 *        2       6       10        14
 *      1   3   5   7   9   11   13   15
 *
 * Sanders, Speck, Traeff 2009: with a second tree whose leaves are inside this one, and half
 * of the buffer down each, every node receives the whole buffer once and sends it at most once.
 */
#include "plan/collective/collective_rows.h"

uint32_t group_members_max(const struct collective_group *group)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < group->nodes; i++) {
        const uint32_t members = group_members(group, i);
        most = members > most ? members : most;
    }
    return most;
}

bool group_is_even(const struct collective_group *group)
{
    for (uint32_t i = 1; i < group->nodes; i++) {
        if (group_members(group, i) != group_members(group, 0)) {
            return false;
        }
    }
    return true;
}

bool group_is_rail_head(const struct collective_group *group, uint32_t node, uint32_t rank)
{
    return rank == group->node_first[node] || group->rails[rank] != group->rails[rank - 1];
}

uint32_t group_rails(const struct collective_group *group, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t i = group->node_first[node]; i < group->node_first[node + 1]; i++) {
        count += group_is_rail_head(group, node, i);
    }
    sim_assert(count >= 1);
    return count;
}

uint32_t group_rail_rank(const struct collective_group *group, uint32_t node, uint32_t j)
{
    uint32_t rank = group->node_first[node];
    while (j > 0) {
        rank++;
        sim_assert(rank < group->node_first[node + 1]);
        j -= group_is_rail_head(group, node, rank);
    }
    return rank;
}

uint32_t group_peer(const struct collective_group *group, uint32_t node, uint32_t rank)
{
    const uint32_t first = group->node_first[node];
    const uint32_t members = group_members(group, node);
    const uint32_t index = rank - group->node_first[group_node_of(group, rank)];
    const uint32_t same = first + index % members; /* nearly always it */
    if (group->rails[same] == group->rails[rank] && group_is_rail_head(group, node, same)) {
        return same;
    }
    for (uint32_t i = first; i < first + members; i++) {
        if (group->rails[i] == group->rails[rank]) {
            return i;
        }
    }
    return same;
}

uint32_t group_node_of(const struct collective_group *group, uint32_t rank)
{
    uint32_t low = 0;
    uint32_t high = group->nodes; /* node_first[low] <= rank < node_first[high] */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (group->node_first[middle] <= rank) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t floor_log2(uint32_t n)
{
    uint32_t log = 0;
    while (n >> (log + 1) != 0) {
        log++;
    }
    return log;
}

uint32_t tree_parent(uint32_t count, uint32_t place)
{
    sim_assert(place < count && count <= UINT32_MAX / 4);
    if (place == 0) {
        return TREE_NONE;
    }
    const uint32_t bit = place & (~place + 1);
    const uint32_t below = place ^ bit;
    const uint32_t above = below | bit << 1;
    return above < count ? above : below;
}

uint32_t tree_node(uint32_t count, uint32_t tree, uint32_t place)
{
    if (tree == 0) {
        return place;
    }
    return count % 2 == 0 ? count - 1 - place : (place + 1) % count;
}

uint32_t tree_place(uint32_t count, uint32_t tree, uint32_t node)
{
    if (tree == 0) {
        return node;
    }
    return count % 2 == 0 ? count - 1 - node : (node + count - 1) % count;
}

uint32_t tree_depth(uint32_t count)
{
    return floor_log2(count);
}

uint32_t collective_most_on_node(const struct collective_group *group)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < group->nodes; i++) {
        const uint32_t count = group->node_first[i + 1] - group->node_first[i];
        most = count > most ? count : most;
    }
    return most;
}
