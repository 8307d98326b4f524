/* The slow form of pipelined algorithms: trees and chains.
 *
 * The buffer is cut over channels, and each channel's part into pieces. A channel is a tree
 * over all ranks: one member of each node, its head, hangs below a head of another node, and
 * the other members are a chain below the head of their node, cyclic in the node's order. Heads
 * rotate with the channel, so that all rails carry the same. For broadcast and reduce rank 0
 * is the root, its node one chain from it, and its heads those who speak to other nodes.
 *
 * Every rank has a height, less than its parent's. Piece p goes from a rank of height h to its
 * parent in round p + h, and from there back in round p + 2H - 1 - h, where H is the root's
 * height; a broadcast begins at the root, H rounds earlier. So each edge carries one piece
 * a round once the pipeline is full.
 *
 *   form        what heads hang on               height of a head over its chain
 *   plain ring  the rank before, one channel     (a chain without nodes)
 *   rails       the head in the node before      nodes behind it
 *   trees       parent in the double tree        lowest bit set of its place
 */
#include "plan/collective/collective_rows.h"

#include <stddef.h>

struct forest {
    const struct collective_group *group;
    enum collective_form form;
    uint32_t channels; /* those of tree 0, then those of tree 1 */
    uint32_t heads;    /* channels of one tree */
    uint32_t pieces;
    uint32_t chain; /* longest chain below a head */
    uint32_t root_height;
    bool has_root_node; /* rank 0 is the root, and the tree over nodes leaves out node 0 */
};

#define CHILDREN_MAX 40

/* ---- nodes ------------------------------------------------------------------------------ */

static uint32_t first_node(const struct forest *forest)
{
    return forest->has_root_node ? 1 : 0;
}

static uint32_t tree_nodes(const struct forest *forest)
{
    return forest->group->nodes - first_node(forest);
}

static uint32_t place_of(const struct forest *forest, uint32_t channel, uint32_t node)
{
    return tree_place(tree_nodes(forest), channel / forest->heads, node - first_node(forest));
}

static uint32_t node_at(const struct forest *forest, uint32_t channel, uint32_t place)
{
    return first_node(forest) + tree_node(tree_nodes(forest), channel / forest->heads, place);
}

static uint32_t head_of(const struct forest *forest, uint32_t channel, uint32_t node)
{
    return forest->group->node_first[node] +
           channel % forest->heads % group_members(forest->group, node);
}

/* Steps along the chain from its node's head. */
static uint32_t chain_place(const struct forest *forest, uint32_t channel, uint32_t node,
                            uint32_t rank)
{
    const uint32_t m = group_members(forest->group, node);
    const uint32_t head = head_of(forest, channel, node);
    return rank >= head ? rank - head : rank + m - head;
}

/* Height of a place: over a leaf; of the root, over all. */
static uint32_t tree_height(uint32_t count, uint32_t place)
{
    uint32_t height = 0;
    if (place == 0) {
        while (UINT64_C(1) << height < count) {
            height++;
        }
        return height;
    }
    while ((place >> height & 1) == 0) {
        height++;
    }
    return height;
}

static uint32_t head_height(const struct forest *forest, uint32_t channel, uint32_t node)
{
    if (forest->form == FORM_RAILS) {
        return forest->chain + forest->group->nodes - 1 - node;
    }
    return forest->chain + tree_height(tree_nodes(forest), place_of(forest, channel, node));
}

/* ---- ranks ------------------------------------------------------------------------------ */

static bool is_in_root_node(const struct forest *forest, uint32_t rank)
{
    return forest->has_root_node && rank < forest->group->node_first[1];
}

static uint32_t height_of(const struct forest *forest, uint32_t channel, uint32_t rank)
{
    if (forest->form == FORM_CHAIN) {
        return forest->group->ranks - 1 - rank;
    }
    if (is_in_root_node(forest, rank)) {
        return forest->root_height - rank;
    }
    const uint32_t node = group_node_of(forest->group, rank);
    const uint32_t step = chain_place(forest, channel, node, rank);
    return step == 0 ? head_height(forest, channel, node) : forest->chain - step;
}

/* The head above the head of a node. */
static uint32_t head_parent(const struct forest *forest, uint32_t channel, uint32_t node)
{
    if (forest->form == FORM_RAILS) {
        return head_of(forest, channel, node - 1);
    }
    const uint32_t place = place_of(forest, channel, node);
    const uint32_t above = tree_parent(tree_nodes(forest), place);
    if (above != TREE_NONE) {
        return head_of(forest, channel, node_at(forest, channel, above));
    }
    return forest->has_root_node ? head_of(forest, channel, 0) : TREE_NONE;
}

static uint32_t parent_of(const struct forest *forest, uint32_t channel, uint32_t rank)
{
    if (forest->form == FORM_CHAIN || is_in_root_node(forest, rank)) {
        return rank == 0 ? TREE_NONE : rank - 1;
    }
    const uint32_t node = group_node_of(forest->group, rank);
    if (chain_place(forest, channel, node, rank) == 0) {
        return head_parent(forest, channel, node);
    }
    const uint32_t first = forest->group->node_first[node];
    return rank > first ? rank - 1 : first + group_members(forest->group, node) - 1;
}

/* Nodes whose heads hang below the head of `node`; their number. */
static uint32_t nodes_below(const struct forest *forest, uint32_t channel, uint32_t node,
                            uint32_t *nodes)
{
    if (forest->form == FORM_RAILS) {
        nodes[0] = node + 1;
        return node + 1 < forest->group->nodes ? 1 : 0;
    }
    const uint32_t count = tree_nodes(forest);
    if (node < first_node(forest)) {
        nodes[0] = count > 0 ? node_at(forest, channel, 0) : 0;
        return count > 0 ? 1 : 0;
    }
    const uint32_t place = place_of(forest, channel, node);
    uint32_t found = 0;
    for (uint32_t i = 0; i < tree_height(count, place); i++) {
        const uint32_t left = place - (1u << i);
        const uint32_t right = place + (1u << i);
        if (place != 0 && tree_parent(count, left) == place) {
            nodes[found++] = node_at(forest, channel, left);
        }
        if (right < count && tree_parent(count, right) == place) {
            nodes[found++] = node_at(forest, channel, right);
        }
    }
    return found;
}

/* Ranks below a rank; their number. */
static uint32_t children_of(const struct forest *forest, uint32_t channel, uint32_t rank,
                            uint32_t children[CHILDREN_MAX])
{
    const struct collective_group *group = forest->group;
    uint32_t count = 0;
    if (forest->form == FORM_CHAIN) {
        children[0] = rank + 1;
        return rank + 1 < group->ranks ? 1 : 0;
    }
    const uint32_t node = group_node_of(group, rank);
    const uint32_t first = group->node_first[node];
    const uint32_t m = group_members(group, node);
    const uint32_t step =
        is_in_root_node(forest, rank) ? rank : chain_place(forest, channel, node, rank);
    if (step + 1 < m) {
        children[count++] = first + (rank - first + 1) % m;
    }
    if (rank == head_of(forest, channel, node)) {
        uint32_t nodes[CHILDREN_MAX];
        const uint32_t below = nodes_below(forest, channel, node, nodes);
        for (uint32_t i = 0; i < below; i++) {
            children[count++] = head_of(forest, channel, nodes[i]);
        }
    }
    sim_assert(count <= CHILDREN_MAX);
    return count;
}

/* ---- the forest -------------------------------------------------------------------------- */

static struct forest forest_of(const struct collective_ask *ask)
{
    const enum collective_form form = ask->form;
    const struct collective_group *group = ask->group;
    struct forest forest = {.group = group, .form = form, .pieces = ask->pieces, .channels = 1};
    forest.heads = form == FORM_CHAIN ? 1 : group_members_max(group);
    forest.channels = form == FORM_TREES ? 2 * forest.heads : forest.heads;
    if (form == FORM_CHAIN) {
        forest.root_height = group->ranks - 1;
        return forest;
    }
    forest.has_root_node = ask->operation != COLLECTIVE_ALL_REDUCE;
    forest.chain = group_members_max(group) - 1;
    if (!forest.has_root_node) {
        forest.root_height = forest.chain + tree_height(group->nodes, 0);
        return forest;
    }
    const uint32_t root_chain = group_members(group, 0) - 1;
    if (group->nodes == 1) {
        forest.root_height = root_chain;
        return forest;
    }
    const uint32_t over = form == FORM_RAILS ? group->nodes - 2 : tree_height(group->nodes - 1, 0);
    forest.root_height = forest.chain + over + 1 + root_chain;
    return forest;
}

static bool goes_up(const struct collective_ask *ask)
{
    return ask->operation != COLLECTIVE_BROADCAST;
}

static bool goes_down(const struct collective_ask *ask)
{
    return ask->operation != COLLECTIVE_REDUCE;
}

/* The round in which piece 0 comes down to a rank. */
static uint32_t down_round(const struct collective_ask *ask, const struct forest *forest,
                           uint32_t height)
{
    return (goes_up(ask) ? 2 : 1) * forest->root_height - 1 - height;
}

/* The piece that an edge whose first one goes in `first_round` carries; false: none. */
static bool piece_of(const struct forest *forest, uint32_t round, uint32_t first_round,
                     uint32_t *piece)
{
    *piece = round - first_round;
    return round >= first_round && *piece < forest->pieces;
}

static bool forest_script(const struct collective_ask *ask, struct collective_script *script)
{
    const struct forest forest = forest_of(ask);
    script->rounds =
        (goes_up(ask) && goes_down(ask) ? 2 : 1) * forest.root_height - 1 + forest.pieces;
    script->chunks = forest.channels * forest.pieces;
    script->sends_max = forest.channels * 5;
    return true;
}

static uint32_t forest_sends(const struct collective_ask *ask, uint32_t rank, uint32_t round,
                             struct collective_send *sends)
{
    const struct forest forest = forest_of(ask);
    uint32_t count = 0;
    uint32_t piece;
    for (uint32_t channel = 0; channel < forest.channels; channel++) {
        const uint32_t part = channel * forest.pieces;
        const uint32_t parent = parent_of(&forest, channel, rank);
        if (goes_up(ask) && parent != TREE_NONE &&
            piece_of(&forest, round, height_of(&forest, channel, rank), &piece)) {
            sends[count++] = (struct collective_send){rank, parent, part + piece, 1, 1, true};
        }
        uint32_t children[CHILDREN_MAX];
        const uint32_t below = goes_down(ask) ? children_of(&forest, channel, rank, children) : 0;
        for (uint32_t i = 0; i < below; i++) {
            const uint32_t height = height_of(&forest, channel, children[i]);
            if (piece_of(&forest, round, down_round(ask, &forest, height), &piece)) {
                sends[count++] =
                    (struct collective_send){rank, children[i], part + piece, 1, 1, false};
            }
        }
    }
    return count;
}

static uint32_t forest_receives(const struct collective_ask *ask, uint32_t rank, uint32_t round)
{
    const struct forest forest = forest_of(ask);
    uint32_t count = 0;
    uint32_t piece;
    for (uint32_t channel = 0; channel < forest.channels; channel++) {
        const uint32_t height = height_of(&forest, channel, rank);
        if (goes_down(ask) && parent_of(&forest, channel, rank) != TREE_NONE) {
            count += piece_of(&forest, round, down_round(ask, &forest, height), &piece);
        }
        uint32_t children[CHILDREN_MAX];
        const uint32_t below = goes_up(ask) ? children_of(&forest, channel, rank, children) : 0;
        for (uint32_t i = 0; i < below; i++) {
            count += piece_of(&forest, round, height_of(&forest, channel, children[i]), &piece);
        }
    }
    return count;
}

/* ---- rows ---------------------------------------------------------------------------------- */

const struct collective_slow chain_slow = {.script = forest_script,
                                           .sends = forest_sends,
                                           .receives = forest_receives,
                                           .form = FORM_CHAIN};
const struct collective_slow rail_chains_slow = {.script = forest_script,
                                                 .sends = forest_sends,
                                                 .receives = forest_receives,
                                                 .form = FORM_RAILS};
const struct collective_slow trees_slow = {.script = forest_script,
                                           .sends = forest_sends,
                                           .receives = forest_receives,
                                           .form = FORM_TREES};
