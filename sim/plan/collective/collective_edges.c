/* Who sends which share to whom, in each phase of each algorithm. Visited in the order of
 * ranks, so a route traced from it is the same every time. */
#include "plan/collective/collective_rows.h"

#include "base/arena.h"

static void send(const struct collective_walk *walk, uint32_t from, uint32_t to, double share)
{
    walk->visitor->send(walk->visitor->context, walk->is_reversed ? to : from,
                        walk->is_reversed ? from : to, share);
}

/* Whose sends are asked for: below this one. */
static uint32_t senders_of(const struct collective_walk *walk)
{
    const uint32_t n = walk->group->ranks;
    const uint32_t senders = walk->visitor->senders;
    return senders == 0 || senders > n ? n : senders;
}

static bool is_rooted(const struct collective_walk *walk)
{
    return walk->operation == COLLECTIVE_BROADCAST || walk->operation == COLLECTIVE_REDUCE;
}

/* ---- rings --------------------------------------------------------------------------- */

/* The chain of a broadcast or reduce leaves out the edge back to the root. */
void ring_edges(const struct collective_walk *walk, uint32_t phase)
{
    sim_assert(phase == 0);
    const uint32_t n = walk->group->ranks;
    if (is_rooted(walk)) {
        for (uint32_t i = 0; i + 1 < n; i++) {
            send(walk, i, i + 1, 1);
        }
        return;
    }
    for (uint32_t i = 0; i < senders_of(walk); i++) {
        send(walk, i, (i + 1) % n, 1);
    }
}

/* Around the members of a node, or along them from the first to the last. */
static void send_around(const struct collective_walk *walk, uint32_t node, double share)
{
    const uint32_t first = walk->group->node_first[node];
    const uint32_t members = group_members(walk->group, node);
    for (uint32_t i = 0; i < members && members > 1; i++) {
        send(walk, first + i, first + (i + 1) % members, share);
    }
}

static void send_along(const struct collective_walk *walk, uint32_t node, double share)
{
    const uint32_t first = walk->group->node_first[node];
    for (uint32_t i = 0; i + 1 < group_members(walk->group, node); i++) {
        send(walk, first + i, first + i + 1, share);
    }
}

/* From each rail of one node to the same rail of the other; all of them together `share`. */
static void send_rails(const struct collective_walk *walk, uint32_t from, uint32_t to, double share)
{
    const struct collective_group *group = walk->group;
    const uint32_t rails = group_rails(group, from);
    for (uint32_t i = group->node_first[from]; i < group->node_first[from + 1]; i++) {
        if (group_is_rail_head(group, from, i)) {
            send(walk, i, group_peer(group, to, i), share / rails);
        }
    }
}

/* In a node of m ranks a ring takes m - 1 of the m steps around it; which it leaves out
 * differs from ring to ring. In the root's node of a broadcast all rings start at the root. */
void multi_rail_ring_edges(const struct collective_walk *walk, uint32_t phase)
{
    sim_assert(phase == 0);
    const struct collective_group *group = walk->group;
    for (uint32_t i = 0; i < group->nodes; i++) {
        const double m = (double)group_members(group, i);
        if (is_rooted(walk) && i == 0) {
            send_along(walk, i, 1);
        } else {
            send_around(walk, i, group->nodes > 1 ? (m - 1) / m : 1);
        }
        if (group->nodes > 1 && (i + 1 < group->nodes || !is_rooted(walk))) {
            send_rails(walk, i, (i + 1) % group->nodes, 1);
        }
    }
}

/* ---- trees --------------------------------------------------------------------------- */

/* The double tree over nodes first .. nodes - 1, each tree half of `share` to the child; back
 * up the same when `is_both_ways`. */
static void send_trees(const struct collective_walk *walk, uint32_t first, double share,
                       bool is_both_ways)
{
    const uint32_t count = walk->group->nodes - first;
    for (uint32_t tree = 0; tree < 2; tree++) {
        for (uint32_t place = 1; place < count; place++) {
            const uint32_t child = first + tree_node(count, tree, place);
            const uint32_t parent = first + tree_node(count, tree, tree_parent(count, place));
            send_rails(walk, parent, child, share / 2);
            if (is_both_ways) {
                send_rails(walk, child, parent, share / 2);
            }
        }
    }
}

/* Chains of the rails begin at different members, so of each step around a node all rails but
 * one take part. Shares are of 2 S: half of it up, half of it down. */
static void all_reduce_tree_edges(const struct collective_walk *walk)
{
    const struct collective_group *group = walk->group;
    struct collective_walk up = *walk;
    up.is_reversed = !walk->is_reversed;
    for (uint32_t i = 0; i < group->nodes; i++) {
        const double m = (double)group_members(group, i);
        send_around(&up, i, (m - 1) / m / 2);
        send_around(walk, i, (m - 1) / m / 2);
    }
    send_trees(walk, 0, 0.5, true);
}

void tree_edges(const struct collective_walk *walk, uint32_t phase)
{
    sim_assert(phase == 0);
    const struct collective_group *group = walk->group;
    if (walk->operation == COLLECTIVE_ALL_REDUCE) {
        all_reduce_tree_edges(walk);
        return;
    }
    send_along(walk, 0, 1);
    for (uint32_t i = 1; i < group->nodes; i++) {
        const double m = (double)group_members(group, i);
        send_around(walk, i, (m - 1) / m);
    }
    for (uint32_t tree = 0; tree < 2 && group->nodes > 1; tree++) {
        send_rails(walk, 0, 1 + tree_node(group->nodes - 1, tree, 0), 0.5);
    }
    if (group->nodes > 2) {
        send_trees(walk, 1, 1, false);
    }
}

/* ---- rounds -------------------------------------------------------------------------- */

void halving_doubling_edges(const struct collective_walk *walk, uint32_t phase)
{
    const uint32_t n = walk->group->ranks;
    const uint32_t distance = halving_doubling_distance(walk->operation, n, phase);
    for (uint32_t i = 0; i < n; i++) {
        send(walk, i, i ^ distance, 1);
    }
}

void pat_edges(const struct collective_walk *walk, uint32_t phase)
{
    const uint32_t n = walk->group->ranks;
    const uint32_t distance = pat_distance(walk->operation, n, phase);
    const uint64_t ahead = walk->operation == COLLECTIVE_ALL_GATHER ? distance : n - distance;
    for (uint32_t i = 0; i < senders_of(walk); i++) {
        send(walk, i, (uint32_t)((i + ahead) % n), 1);
    }
}

/* Member i of a node to member i of the next. */
static void send_to_next_nodes(const struct collective_walk *walk)
{
    const uint32_t n = walk->group->ranks;
    const uint32_t m = group_members(walk->group, 0);
    for (uint32_t i = 0; i < n; i++) {
        send(walk, i, (uint32_t)(((uint64_t)i + m) % n), 1);
    }
}

void hierarchical_edges(const struct collective_walk *walk, uint32_t phase)
{
    const uint32_t between = walk->operation == COLLECTIVE_ALL_GATHER ? 0 : 1;
    if (phase == between) {
        send_to_next_nodes(walk);
        return;
    }
    for (uint32_t i = 0; i < walk->group->nodes; i++) {
        send_around(walk, i, 1);
    }
}

/* ---- switches that reduce -------------------------------------------------------------- */

static void visit_ports(const struct collective_walk *walk, uint32_t node, double out, double in)
{
    for (uint32_t i = walk->group->node_first[node]; i < walk->group->node_first[node + 1]; i++) {
        walk->visitor->port(walk->visitor->context, i, out, in);
    }
}

void nvls_edges(const struct collective_walk *walk, uint32_t phase)
{
    sim_assert(phase == 0);
    const double part = 1.0 / (double)walk->group->ranks;
    switch (walk->operation) {
    case COLLECTIVE_ALL_GATHER:
        visit_ports(walk, 0, part, 1);
        break;
    case COLLECTIVE_REDUCE_SCATTER:
        visit_ports(walk, 0, 1, part);
        break;
    default:
        visit_ports(walk, 0, 1, 1); /* of S (1 + 1/N) */
    }
}

/* Reduced for the member that owns a part, and multicast back: of S. */
static void reduce_in_nodes(const struct collective_walk *walk)
{
    for (uint32_t i = 0; i < walk->group->nodes; i++) {
        const uint32_t m = group_members(walk->group, i);
        if (m > 1) {
            visit_ports(walk, i, 1 + 1.0 / m, 1 + 1.0 / m);
        }
    }
}

void nvls_tree_edges(const struct collective_walk *walk, uint32_t phase)
{
    sim_assert(phase == 0);
    reduce_in_nodes(walk);
    send_trees(walk, 0, 1, true);
}

/* Without multicast: each member sends each other its part, and gets it back reduced. */
static void exchange_in_nodes(const struct collective_walk *walk)
{
    const struct collective_group *group = walk->group;
    for (uint32_t node = 0; node < group->nodes; node++) {
        const double share = 2.0 / (double)group_members(group, node);
        for (uint32_t i = group->node_first[node]; i < group->node_first[node + 1]; i++) {
            for (uint32_t k = group->node_first[node]; k < group->node_first[node + 1]; k++) {
                if (i != k) {
                    send(walk, i, k, share);
                }
            }
        }
    }
}

/* A reduction per rail of the node that has the fewest. */
void sharp_edges(const struct collective_walk *walk, uint32_t phase)
{
    sim_assert(phase == 0);
    const struct collective_group *group = walk->group;
    if (group->has_multicast) {
        reduce_in_nodes(walk);
    } else {
        exchange_in_nodes(walk);
    }
    uint32_t least = 0;
    for (uint32_t i = 1; i < group->nodes; i++) {
        least = group_rails(group, i) < group_rails(group, least) ? i : least;
    }
    const uint32_t rails = group_rails(group, least);
    uint32_t *ranks = arena_array(walk->arena, group->nodes, sizeof *ranks);
    for (uint32_t rail = 0; rail < rails; rail++) {
        const uint32_t head = group_rail_rank(group, least, rail);
        for (uint32_t i = 0; i < group->nodes; i++) {
            ranks[i] = i == least ? head : group_peer(group, i, head);
        }
        walk->visitor->reduction(walk->visitor->context, ranks, group->nodes, 1.0 / rails);
    }
}

/* ---- direct ---------------------------------------------------------------------------- */

void send_edges(const struct collective_walk *walk, uint32_t phase)
{
    sim_assert(phase == 0);
    send(walk, 0, 1, 1);
}

void shift_edges(const struct collective_walk *walk, uint32_t phase)
{
    sim_assert(phase == 0);
    const uint32_t n = walk->group->ranks;
    for (uint32_t i = 0; i < n; i++) {
        send(walk, i, i + 1 < n ? i + 1 : 0, 1);
    }
}

/* Pairs grow as N^2. In large groups a rank sends what is for all members of another node to one
 * of them, another one for each distance between the nodes: so every port carries as
 * much, and rails meet as often (exactly if K is a multiple of the ranks on a node). */
#define ALL_PAIRS_MAX 2048

static void send_to_nodes(const struct collective_walk *walk, uint32_t rank)
{
    const struct collective_group *group = walk->group;
    const uint32_t m = group_members(group, 0);
    const uint32_t node = rank / m;
    const double share = 1.0 / (double)(group->ranks - 1);
    for (uint32_t i = 0; i < m; i++) {
        if (node * m + i != rank) {
            send(walk, rank, node * m + i, share);
        }
    }
    for (uint32_t i = 1; i < group->nodes; i++) {
        const uint32_t other = (node + i) % group->nodes;
        send(walk, rank, other * m + (rank + i) % m, share * m);
    }
}

/* What the ranks of other nodes send to `node`: each once to its peer there, a part of what it
 * has for all members; the peers hand on to each member all that is meant for it. `most` is what
 * a share of 1 stands for. */
static void send_once_to_node(const struct collective_walk *walk, uint32_t node, double most,
                              uint32_t *sources)
{
    const struct collective_group *group = walk->group;
    const uint32_t first = group->node_first[node];
    const uint32_t end = group->node_first[node + 1];
    double part = 0;
    for (uint32_t i = first; i < end; i++) {
        part += group_part(group, i);
        sources[i] = 0;
    }
    for (uint32_t i = 0; i < group->ranks; i++) {
        if (i < first || i >= end) {
            const uint32_t peer = group_peer(group, node, i);
            sources[peer]++;
            send(walk, i, peer, part * group->node_share / most);
        }
    }
    for (uint32_t i = first; i < end; i++) {
        for (uint32_t k = first; k < end; k++) {
            if (i != k && sources[i] > 0) {
                send(walk, i, k, sources[i] * group_part(group, k) / most);
            }
        }
    }
}

static void send_inside_node(const struct collective_walk *walk, uint32_t node, double most)
{
    const struct collective_group *group = walk->group;
    for (uint32_t i = group->node_first[node]; i < group->node_first[node + 1]; i++) {
        for (uint32_t k = group->node_first[node]; k < group->node_first[node + 1]; k++) {
            if (i != k) {
                send(walk, i, k, group_part(group, k) / most);
            }
        }
    }
}

static void all_to_all_by_nodes(const struct collective_walk *walk, double most)
{
    const struct collective_group *group = walk->group;
    uint32_t *sources = arena_array(walk->arena, group->ranks, sizeof *sources);
    for (uint32_t node = 0; node < group->nodes; node++) {
        send_inside_node(walk, node, most);
        send_once_to_node(walk, node, most, sources);
    }
}

void all_to_all_edges(const struct collective_walk *walk, uint32_t phase)
{
    sim_assert(phase == 0);
    const uint32_t n = walk->group->ranks;
    const bool is_aggregated =
        n > ALL_PAIRS_MAX && group_is_even(walk->group) && !(walk->group->hottest > 1);
    const double most = n > 1 ? 1 - group_part(walk->group, 1) : 1; /* that a rank sends */
    if (group_hands_on(walk->group)) {
        all_to_all_by_nodes(walk, most);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (is_aggregated) {
            send_to_nodes(walk, i);
            continue;
        }
        for (uint32_t k = 0; k < n; k++) {
            if (i != k && group_part(walk->group, k) > 0) {
                send(walk, i, k, group_part(walk->group, k) / most);
            }
        }
    }
}
