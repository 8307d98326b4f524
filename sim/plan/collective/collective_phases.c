/* Bytes and rounds of each algorithm.
 *
 * In a pass each rank sends a share of the buffer: (N-1)/N where the buffer is scattered
 * over the ranks, all of it where every byte goes through every rank. All-reduce makes two
 * passes (reduce, then distribute), everything else one.
 *
 * ASSUMES: pipelined algorithms (rings of broadcast and reduce, trees, NVLS) cut the buffer
 * finely enough that filling the pipeline costs only the latency of its depth.
 */
#include "plan/collective/collective_rows.h"

#include "base/ledger.h"

static double passes_of(enum collective_operation operation)
{
    return operation == COLLECTIVE_ALL_REDUCE ? 2 : 1;
}

/* A record of what the busiest rank sends in a phase is headed so. */
static const char SENT[] = "a rank sends";

static double all_of(double bytes, struct ledger *ledger)
{
    return LEDGER_SUM(ledger, SENT, "MB", bytes, LEDGER_TERM(bytes, "MB"));
}

/* Rounds over a way that passes `steps` ranks and `boundaries` borders of nodes. */
static struct collective_phase phase_of(double bytes, double passes, uint32_t steps,
                                        uint32_t boundaries, struct ledger *ledger)
{
    sim_assert(boundaries <= steps);
    const int64_t times = (int64_t)passes;
    struct collective_phase phase = {.bytes = bytes};
    phase.rounds_intra =
        LEDGER_COUNT(steps > boundaries ? ledger : NULL, "rounds in nodes", "",
                     times * (steps - boundaries), LEDGER_TERM(times, "times"),
                     LEDGER_TERM(steps, "steps"), LEDGER_TERM(boundaries, "between nodes"));
    phase.rounds_inter =
        LEDGER_COUNT(boundaries > 0 ? ledger : NULL, "rounds between nodes", "", times * boundaries,
                     LEDGER_TERM(times, "times"), LEDGER_TERM(boundaries, "between nodes"));
    return phase;
}

/* 2(N-1)/N S of an all-reduce, (N-1)/N S of an all-gather or reduce-scatter; S of a broadcast
 * or reduce, which is a chain. Of N - 1 steps of a pass K - 1 cross nodes (NCCL:
 * ncclTopoTuneModel). With several rails the same. */
uint32_t ring_phases(enum collective_operation operation, const struct collective_group *group,
                     double bytes, struct collective_phase *phases, struct ledger *ledger)
{
    const uint32_t n = group->ranks;
    const bool is_chain = operation == COLLECTIVE_BROADCAST || operation == COLLECTIVE_REDUCE;
    const double passes = passes_of(operation);
    const double sent =
        is_chain ? all_of(bytes, ledger)
                 : LEDGER_SUM(ledger, SENT, "MB", passes * (double)(n - 1) / (double)n * bytes,
                              LEDGER_TERM(passes, "times"), LEDGER_TERM(n, "ranks"),
                              LEDGER_TERM(bytes, "MB"));
    phases[0] = phase_of(sent, passes, n - 1, group->nodes - 1, ledger);
    return 1;
}

/* All-reduce: S up and S down a chain in each node and the double tree over the nodes: where
 * a node is inside one tree and a leaf of the other, it sends half of S to its two children
 * and its two parents, 2 S. Broadcast: the root's node to both roots of a double tree over the
 * other nodes. Rounds between nodes are tree_depth; NCCL's tuner takes floor(log2 K), too. */
uint32_t tree_phases(enum collective_operation operation, const struct collective_group *group,
                     double bytes, struct collective_phase *phases, struct ledger *ledger)
{
    const uint32_t chain = group_members_max(group) - 1;
    if (operation == COLLECTIVE_ALL_REDUCE) {
        const uint32_t depth = tree_depth(group->nodes);
        const double sent = LEDGER_SUM(ledger, SENT, "MB", 2 * bytes, LEDGER_TERM(bytes, "MB"));
        phases[0] = phase_of(sent, 2, chain + depth, depth, ledger);
        return 1;
    }
    const uint32_t depth = group->nodes > 1 ? 1 + tree_depth(group->nodes - 1) : 0;
    const uint32_t root_chain = group_members(group, 0) - 1;
    const uint32_t chains = group->nodes > 1 ? root_chain + chain : chain;
    phases[0] = phase_of(all_of(bytes, ledger), 1, chains + depth, depth, ledger);
    return 1;
}

/* ---- halving and doubling -------------------------------------------------------- */

/* A reduce-scatter halves what a rank still works on, from the farthest partner to the
 * nearest, so that rank i ends with part i; an all-gather runs backwards. */
uint32_t halving_doubling_distance(enum collective_operation operation, uint32_t ranks,
                                   uint32_t phase)
{
    const uint32_t levels = floor_log2(ranks);
    if (operation == COLLECTIVE_ALL_GATHER) {
        return 1u << phase;
    }
    return phase < levels ? 1u << (levels - 1 - phase) : 1u << (phase - levels);
}

/* Partners i and i ^ distance stay in aligned blocks of twice the distance. */
static bool crosses_nodes(const struct collective_group *group, uint32_t distance)
{
    for (uint32_t i = 1; i < group->nodes; i++) {
        if (group->node_first[i] % (2 * distance) != 0) {
            return true;
        }
    }
    return false;
}

uint32_t halving_doubling_phases(enum collective_operation operation,
                                 const struct collective_group *group, double bytes,
                                 struct collective_phase *phases, struct ledger *ledger)
{
    const uint32_t n = group->ranks;
    if ((n & (n - 1)) != 0) {
        return 0;
    }
    const uint32_t count = (uint32_t)passes_of(operation) * floor_log2(n);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t distance = halving_doubling_distance(operation, n, i);
        const bool is_inter = crosses_nodes(group, distance);
        const double sent = LEDGER_SUM(ledger, SENT, "MB", bytes * (double)distance / (double)n,
                                       LEDGER_TERM(bytes, "MB"), LEDGER_TERM(distance, "apart"),
                                       LEDGER_TERM(n, "ranks"));
        phases[i] = phase_of(sent, 1, 1, is_inter ? 1 : 0, ledger);
    }
    return count;
}

/* The tree of rank i's part reaches rank i + o, highest bit of o first: over distance d go the
 * parts whose offset so far is a multiple of 2d and that do not pass the last rank. Farthest
 * first, one part; nearest last, half of the buffer. A reduce-scatter runs backwards. */
uint32_t pat_distance(enum collective_operation operation, uint32_t ranks, uint32_t phase)
{
    const uint32_t levels = floor_log2(ranks - 1) + 1;
    return 1u << (operation == COLLECTIVE_ALL_GATHER ? levels - 1 - phase : phase);
}

uint32_t pat_parts(uint32_t ranks, uint32_t distance)
{
    return (ranks - distance + 2 * distance - 1) / (2 * distance);
}

uint32_t pat_phases(enum collective_operation operation, const struct collective_group *group,
                    double bytes, struct collective_phase *phases, struct ledger *ledger)
{
    const uint32_t n = group->ranks;
    if (group->nodes != n) {
        return 0;
    }
    const uint32_t count = floor_log2(n - 1) + 1;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t parts = pat_parts(n, pat_distance(operation, n, i));
        const double sent = LEDGER_SUM(ledger, SENT, "MB", bytes * (double)parts / (double)n,
                                       LEDGER_TERM(bytes, "MB"), LEDGER_TERM(parts, "parts"),
                                       LEDGER_TERM(n, "ranks"));
        phases[i] = phase_of(sent, 1, 1, 1, ledger);
    }
    return count;
}

/* ---- two levels -------------------------------------------------------------------- */

static struct collective_phase inside_nodes(uint32_t members, double bytes, struct ledger *ledger)
{
    const double sent =
        LEDGER_SUM(ledger, SENT, "MB", bytes * (double)(members - 1) / (double)members,
                   LEDGER_TERM(bytes, "MB"), LEDGER_TERM(members, "ranks"));
    return phase_of(sent, 1, members - 1, 0, ledger);
}

static struct collective_phase between_nodes(enum collective_operation operation,
                                             const struct collective_group *group, double bytes,
                                             struct ledger *ledger)
{
    const double passes = passes_of(operation);
    const uint32_t k = group->nodes;
    const double sent =
        LEDGER_SUM(ledger, SENT, "MB", passes * bytes * (double)(k - 1) / (double)group->ranks,
                   LEDGER_TERM(passes, "times"), LEDGER_TERM(bytes, "MB"), LEDGER_TERM(k, "nodes"),
                   LEDGER_TERM(group->ranks, "ranks"));
    return phase_of(sent, passes, k - 1, k - 1, ledger);
}

/* m ranks on each of K nodes. Inside: (m-1)/m S; between: the ring of K ranks over a
 * part of S/m. */
uint32_t hierarchical_phases(enum collective_operation operation,
                             const struct collective_group *group, double bytes,
                             struct collective_phase *phases, struct ledger *ledger)
{
    const uint32_t k = group->nodes;
    const uint32_t m = group_members(group, 0);
    if (k == 1 || m == 1 || !group_is_even(group)) {
        return 0;
    }
    if (operation == COLLECTIVE_ALL_GATHER) {
        phases[0] = between_nodes(operation, group, bytes, ledger);
        phases[1] = inside_nodes(m, bytes, ledger);
        return 2;
    }
    phases[0] = inside_nodes(m, bytes, ledger);
    phases[1] = between_nodes(operation, group, bytes, ledger);
    if (operation != COLLECTIVE_ALL_REDUCE) {
        return 2;
    }
    phases[2] = inside_nodes(m, bytes, ledger);
    return 3;
}

/* The switch reads a part of S/N from all ranks at once for the rank that owns it (S out,
 * S/N in) and hands what a rank writes to all (S/N out, S in): S (1 + 1/N) both ways. One of
 * these for reduce-scatter, the other for all-gather: S. A rank's own part goes through the
 * switch as well. */
uint32_t nvls_phases(enum collective_operation operation, const struct collective_group *group,
                     double bytes, struct collective_phase *phases, struct ledger *ledger)
{
    if (group->nodes != 1 || !group->has_multicast) {
        return 0;
    }
    const double n = (double)group->ranks;
    const double sent = operation == COLLECTIVE_ALL_REDUCE
                            ? LEDGER_SUM(ledger, SENT, "MB", (1 + 1 / n) * bytes,
                                         LEDGER_TERM(n, "ranks"), LEDGER_TERM(bytes, "MB"))
                            : all_of(bytes, ledger);
    phases[0] = phase_of(sent, 1, 1, 0, ledger);
    return 1;
}

uint32_t nvls_tree_phases(enum collective_operation operation, const struct collective_group *group,
                          double bytes, struct collective_phase *phases, struct ledger *ledger)
{
    (void)operation;
    if (group->nodes == 1 || group->nodes == group->ranks || !group->has_multicast) {
        return 0;
    }
    const int64_t depth = (int64_t)tree_depth(group->nodes);
    phases[0] = (struct collective_phase){.bytes = all_of(bytes, ledger), .rounds_intra = 1};
    phases[0].rounds_inter =
        LEDGER_COUNT(ledger, "rounds between nodes", "", 2 * depth, LEDGER_TERM(depth, "levels"));
    return 1;
}

/* Up and down the switches of the network is two rounds. */
uint32_t sharp_phases(enum collective_operation operation, const struct collective_group *group,
                      double bytes, struct collective_phase *phases, struct ledger *ledger)
{
    (void)operation;
    if (group->nodes == 1 || !group->has_reduction) {
        return 0;
    }
    phases[0] =
        (struct collective_phase){all_of(bytes, ledger), group_members_max(group) > 1 ? 1 : 0, 2};
    return 1;
}

/* ---- direct -------------------------------------------------------------------------- */

uint32_t send_phases(enum collective_operation operation, const struct collective_group *group,
                     double bytes, struct collective_phase *phases, struct ledger *ledger)
{
    (void)operation;
    if (group->ranks != 2) {
        return 0;
    }
    phases[0] = phase_of(all_of(bytes, ledger), 1, 1, group->nodes - 1, ledger);
    return 1;
}

/* One step of a ring: each rank sends all it has to the next. */
uint32_t shift_phases(enum collective_operation operation, const struct collective_group *group,
                      double bytes, struct collective_phase *phases, struct ledger *ledger)
{
    (void)operation;
    phases[0] = phase_of(all_of(bytes, ledger), 1, 1, group->nodes > 1 ? 1 : 0, ledger);
    return 1;
}

double group_part(const struct collective_group *group, uint32_t to)
{
    const double n = (double)group->ranks;
    const double hottest = group->hottest > 1 ? group->hottest : 1;
    sim_assert(hottest <= n);
    return to == 0 ? hottest / n : (1 - hottest / n) / (n - 1);
}

bool group_hands_on(const struct collective_group *group)
{
    return group->nodes > 1 && group->nodes < group->ranks && group->node_share > 0 &&
           group->node_share < 1;
}

/* All pairs at once; a rank keeps its own part, so the busiest is one whose part is small. Where
 * rows are handed on, one round more inside the node. */
uint32_t all_to_all_phases(enum collective_operation operation,
                           const struct collective_group *group, double bytes,
                           struct collective_phase *phases, struct ledger *ledger)
{
    (void)operation;
    const double kept = group->ranks > 1 ? group_part(group, 1) : 1;
    const double sent = LEDGER_SUM(ledger, SENT, "MB", bytes * (1 - kept), LEDGER_TERM(bytes, "MB"),
                                   LEDGER_TERM(kept, "of it kept"));
    phases[0] = phase_of(sent, 1, 1, group->nodes > 1 ? 1 : 0, ledger);
    if (group_hands_on(group)) {
        const int64_t straight = phases[0].rounds_intra;
        phases[0].rounds_intra = LEDGER_COUNT(ledger, "and handed on", "", straight + 1,
                                              LEDGER_TERM(straight, "rounds in nodes"));
    }
    return 1;
}
