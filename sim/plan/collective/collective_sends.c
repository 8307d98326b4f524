/* The slow form of algorithms in equal rounds: rings, halving-doubling, hierarchical, PAT,
 * direct. Reduce-scatters end with part i at rank i, all-gathers begin there, and an
 * all-reduce is one after the other. Those along trees and chains are in
 * collective_sends_tree.c.
 */
#include "plan/collective/collective_rows.h"

#include <stddef.h>

static bool is_all_reduce(const struct collective_ask *ask)
{
    return ask->operation == COLLECTIVE_ALL_REDUCE;
}

/* (a - b) modulo n, where b may exceed a but not by more than n. */
static uint32_t before(uint32_t a, uint32_t b, uint32_t n)
{
    return (uint32_t)(((uint64_t)a + n - b % n) % n);
}

/* The part that place `place` of a ring of n sends in a round: a reduce-scatter's (then
 * `is_reduce`) or all-gather's, or one after the other. */
static uint32_t ring_part(enum collective_operation operation, uint32_t n, uint32_t place,
                          uint32_t round, bool *is_reduce)
{
    *is_reduce = operation == COLLECTIVE_REDUCE_SCATTER ||
                 (operation == COLLECTIVE_ALL_REDUCE && round < n - 1);
    if (*is_reduce) {
        return before(place, round + 1, n);
    }
    return before(place, operation == COLLECTIVE_ALL_REDUCE ? round - (n - 1) : round, n);
}

static uint32_t ring_rounds(enum collective_operation operation, uint32_t n)
{
    return operation == COLLECTIVE_ALL_REDUCE ? 2 * (n - 1) : n - 1;
}

/* ---- ring ---------------------------------------------------------------------------- */

static bool ring_script(const struct collective_ask *ask, struct collective_script *script)
{
    const uint32_t n = ask->group->ranks;
    *script = (struct collective_script){ring_rounds(ask->operation, n), n, 1, 1};
    return true;
}

static uint32_t ring_sends(const struct collective_ask *ask, uint32_t rank, uint32_t round,
                           struct collective_send *sends)
{
    const uint32_t n = ask->group->ranks;
    bool is_reduce;
    const uint32_t part = ring_part(ask->operation, n, rank, round, &is_reduce);
    sends[0] = (struct collective_send){rank, rank + 1 < n ? rank + 1 : 0, part, 1, 1, is_reduce};
    return 1;
}

static uint32_t one_receive(const struct collective_ask *ask, uint32_t rank, uint32_t round)
{
    (void)ask;
    (void)rank;
    (void)round;
    return 1;
}

const struct collective_slow ring_slow = {
    .script = ring_script, .sends = ring_sends, .receives = one_receive};

/* ---- ring on several rails --------------------------------------------------------------
 *
 * Ring c goes up the members of an even node, c, c + 1 ... c - 1, and down those of an odd
 * one, c - 1, c - 2 ... c, so that it leaves a node on the rail on which it enters the next.
 * (An odd number of nodes closes with one step between rails.) Its places are numbered along it,
 * so those of a node are as contiguous as its ranks. Rank i's part of the buffer is cut
 * into one chunk per ring. */

static uint32_t rail_rank_at(const struct collective_group *group, uint32_t ring, uint32_t place)
{
    const uint32_t node = group_node_of(group, place);
    const uint32_t first = group->node_first[node];
    const uint32_t m = group_members(group, node);
    const uint32_t step = place - first;
    return first + (node % 2 == 0 ? (ring + step) % m : before(ring % m, step + 1, m));
}

static uint32_t rail_place_of(const struct collective_group *group, uint32_t ring, uint32_t rank)
{
    const uint32_t node = group_node_of(group, rank);
    const uint32_t first = group->node_first[node];
    const uint32_t m = group_members(group, node);
    const uint32_t index = rank - first;
    return first + (node % 2 == 0 ? before(index, ring, m) : before(ring % m, index + 1, m));
}

static bool rails_script(const struct collective_ask *ask, struct collective_script *script)
{
    const uint32_t n = ask->group->ranks;
    const uint32_t rings = group_members_max(ask->group);
    *script = (struct collective_script){ring_rounds(ask->operation, n), n * rings, rings, rings};
    return true;
}

static uint32_t rails_sends(const struct collective_ask *ask, uint32_t rank, uint32_t round,
                            struct collective_send *sends)
{
    const struct collective_group *group = ask->group;
    const uint32_t n = group->ranks;
    const uint32_t rings = group_members_max(group);
    for (uint32_t ring = 0; ring < rings; ring++) {
        const uint32_t place = rail_place_of(group, ring, rank);
        bool is_reduce;
        const uint32_t part = ring_part(ask->operation, n, place, round, &is_reduce);
        const uint32_t to = rail_rank_at(group, ring, (place + 1) % n);
        const uint32_t chunk = rail_rank_at(group, ring, part) * rings + ring;
        sends[ring] = (struct collective_send){rank, to, chunk, 1, 1, is_reduce};
    }
    return rings;
}

static uint32_t rails_receives(const struct collective_ask *ask, uint32_t rank, uint32_t round)
{
    (void)rank;
    (void)round;
    return group_members_max(ask->group);
}

const struct collective_slow multi_rail_ring_slow = {
    .script = rails_script, .sends = rails_sends, .receives = rails_receives};

/* ---- halving-doubling ---------------------------------------------------------------- */

static bool halving_doubling_script(const struct collective_ask *ask,
                                    struct collective_script *script)
{
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    const uint32_t rounds = halving_doubling_phases(ask->operation, ask->group, 0, phases, NULL);
    *script = (struct collective_script){rounds, ask->group->ranks, 1, 1};
    return rounds > 0;
}

/* Halving: of the aligned block that both work on, the partner's half. Doubling: one's own. */
static uint32_t halving_doubling_sends(const struct collective_ask *ask, uint32_t rank,
                                       uint32_t round, struct collective_send *sends)
{
    const uint32_t n = ask->group->ranks;
    const uint32_t distance = halving_doubling_distance(ask->operation, n, round);
    const uint32_t partner = rank ^ distance;
    const bool is_reduce = ask->operation == COLLECTIVE_REDUCE_SCATTER ||
                           (is_all_reduce(ask) && UINT64_C(1) << round < n);
    const uint32_t chunk = (is_reduce ? partner : rank) & ~(distance - 1);
    sends[0] = (struct collective_send){rank, partner, chunk, 1, distance, is_reduce};
    return 1;
}

const struct collective_slow halving_doubling_slow = {
    .script = halving_doubling_script, .sends = halving_doubling_sends, .receives = one_receive};

/* ---- pat ------------------------------------------------------------------------------ */

static bool pat_script(const struct collective_ask *ask, struct collective_script *script)
{
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    const uint32_t rounds = pat_phases(ask->operation, ask->group, 0, phases, NULL);
    *script = (struct collective_script){rounds, ask->group->ranks, 1, 1};
    return rounds > 0;
}

/* Rank i hands on parts i, i - 2d, i - 4d ... to i + d; to reduce, i + d hands them to i. */
static uint32_t pat_sends(const struct collective_ask *ask, uint32_t rank, uint32_t round,
                          struct collective_send *sends)
{
    const uint32_t n = ask->group->ranks;
    const uint32_t distance = pat_distance(ask->operation, n, round);
    const uint32_t parts = pat_parts(n, distance);
    const bool is_reduce = ask->operation == COLLECTIVE_REDUCE_SCATTER;
    const uint32_t lower = is_reduce ? before(rank, distance, n) : rank;
    const uint32_t other = is_reduce ? lower : (uint32_t)(((uint64_t)rank + distance) % n);
    const uint32_t chunk = before(lower, 2 * distance * (parts - 1), n);
    sends[0] = (struct collective_send){rank, other, chunk, 2 * distance, parts, is_reduce};
    return 1;
}

const struct collective_slow pat_slow = {
    .script = pat_script, .sends = pat_sends, .receives = one_receive};

/* ---- hierarchical ------------------------------------------------------------------------
 *
 * Chunk k m + i is the part of member i of node k; slice i, that member i of each node works
 * on, is every m-th chunk from i. */

static bool hierarchical_script(const struct collective_ask *ask, struct collective_script *script)
{
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    const uint32_t count = hierarchical_phases(ask->operation, ask->group, 0, phases, NULL);
    int64_t rounds = 0;
    for (uint32_t i = 0; i < count; i++) {
        rounds += phases[i].rounds_intra + phases[i].rounds_inter;
    }
    *script = (struct collective_script){(uint32_t)rounds, ask->group->ranks, 1, 1};
    return count > 0;
}

/* A round of the ring in each node, of an all-gather or a reduce-scatter. */
static struct collective_send inside(const struct collective_group *group,
                                     enum collective_operation operation, uint32_t rank,
                                     uint32_t round)
{
    const uint32_t m = group_members(group, 0);
    bool is_reduce;
    const uint32_t slice = ring_part(operation, m, rank % m, round, &is_reduce);
    const uint32_t to = rank - rank % m + (rank + 1) % m;
    return (struct collective_send){rank, to, slice, m, group->nodes, is_reduce};
}

static struct collective_send between(const struct collective_group *group,
                                      enum collective_operation operation, uint32_t rank,
                                      uint32_t round)
{
    const uint32_t m = group_members(group, 0);
    bool is_reduce;
    const uint32_t part = ring_part(operation, group->nodes, rank / m, round, &is_reduce);
    const uint32_t to = (uint32_t)(((uint64_t)rank + m) % group->ranks);
    return (struct collective_send){rank, to, part * m + rank % m, 1, 1, is_reduce};
}

static uint32_t hierarchical_sends(const struct collective_ask *ask, uint32_t rank, uint32_t round,
                                   struct collective_send *sends)
{
    const struct collective_group *group = ask->group;
    const uint32_t in_node = group_members(group, 0) - 1;
    const uint32_t across = ring_rounds(ask->operation, group->nodes);
    if (ask->operation == COLLECTIVE_ALL_GATHER) {
        sends[0] = round < across ? between(group, ask->operation, rank, round)
                                  : inside(group, ask->operation, rank, round - across);
    } else if (round < in_node) {
        sends[0] = inside(group, COLLECTIVE_REDUCE_SCATTER, rank, round);
    } else if (round < in_node + across) {
        sends[0] = between(group, ask->operation, rank, round - in_node);
    } else {
        sends[0] = inside(group, COLLECTIVE_ALL_GATHER, rank, round - in_node - across);
    }
    return 1;
}

const struct collective_slow hierarchical_slow = {
    .script = hierarchical_script, .sends = hierarchical_sends, .receives = one_receive};

/* ---- direct ------------------------------------------------------------------------------ */

static bool send_script(const struct collective_ask *ask, struct collective_script *script)
{
    *script = (struct collective_script){1, 1, 1, 1};
    return ask->group->ranks == 2;
}

static uint32_t send_sends(const struct collective_ask *ask, uint32_t rank, uint32_t round,
                           struct collective_send *sends)
{
    (void)ask;
    (void)round;
    sends[0] = (struct collective_send){0, 1, 0, 1, 1, false};
    return rank == 0 ? 1 : 0;
}

static uint32_t send_receives(const struct collective_ask *ask, uint32_t rank, uint32_t round)
{
    (void)ask;
    (void)round;
    return rank == 1 ? 1 : 0;
}

const struct collective_slow send_slow = {
    .script = send_script, .sends = send_sends, .receives = send_receives};

/* The chunk is the sender's whole buffer. */
static bool shift_script(const struct collective_ask *ask, struct collective_script *script)
{
    (void)ask;
    *script = (struct collective_script){1, 1, 1, 1};
    return true;
}

static uint32_t shift_sends(const struct collective_ask *ask, uint32_t rank, uint32_t round,
                            struct collective_send *sends)
{
    (void)round;
    const uint32_t n = ask->group->ranks;
    sends[0] = (struct collective_send){rank, rank + 1 < n ? rank + 1 : 0, 0, 1, 1, false};
    return 1;
}

const struct collective_slow shift_slow = {
    .script = shift_script, .sends = shift_sends, .receives = one_receive};

static bool all_to_all_script(const struct collective_ask *ask, struct collective_script *script)
{
    *script = (struct collective_script){1, ask->group->ranks, ask->group->ranks - 1, 1};
    return !(ask->group->hottest > 1) && !group_hands_on(ask->group); /* chunks are equal */
}

/* To the next rank first, and so on around, as a library orders its peers. */
static uint32_t all_to_all_sends(const struct collective_ask *ask, uint32_t rank, uint32_t round,
                                 struct collective_send *sends)
{
    (void)round;
    const uint32_t n = ask->group->ranks;
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t to = (uint32_t)(((uint64_t)rank + i) % n);
        sends[i - 1] = (struct collective_send){rank, to, to, 1, 1, false};
    }
    return n - 1;
}

static uint32_t all_to_all_receives(const struct collective_ask *ask, uint32_t rank, uint32_t round)
{
    (void)rank;
    (void)round;
    return ask->group->ranks - 1;
}

const struct collective_slow all_to_all_slow = {
    .script = all_to_all_script, .sends = all_to_all_sends, .receives = all_to_all_receives};
