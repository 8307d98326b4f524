/* Nodes are chosen job by job. Free nodes are listed as candidates with a
 * sorting key that the policy gives (packed, spread, random), sorted, and
 * taken from the front; what idles and which groups are parted is counted
 * afterwards.
 */
#include "train/placement.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "input/failures/replaced_nodes.h"
#include "input/scenario.h"
#include "train/placement_segment.h"

#include <stdlib.h>

struct candidate {
    uint64_t key;
    uint32_t node;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

/* Nodes that a job needs when its segments leave nodes of each domain idle: whole domains. */
static int64_t nodes_needed(const struct cluster *cluster, const struct parallel *parallel,
                            int64_t nodes)
{
    const struct mesh mesh = mesh_of(parallel);
    const int64_t segment = placement_segment_nodes(cluster, &mesh);
    const int64_t usable = cluster->domain_nodes / segment * segment;
    const int64_t domains = (nodes + usable - 1) / usable;
    return usable == cluster->domain_nodes ? nodes : domains * cluster->domain_nodes;
}

/* Nodes to choose among. With idle ones, no more than the cluster has and can be simulated. */
static uint32_t nodes_of_cluster(const struct scenario *scenario)
{
    const struct cluster *cluster = &scenario->cluster;
    int64_t least = scenario->nodes + scenario->replaced_count;
    int64_t needed =
        nodes_needed(cluster, &scenario->parallel, scenario->nodes) + scenario->replaced_count;
    bool is_packed = scenario->placement == PLACEMENT_PACKED;
    for (uint32_t i = 0; i < scenario->neighbour_count; i++) {
        least += scenario->neighbours[i]->nodes;
        needed += nodes_needed(cluster, &scenario->neighbours[i]->parallel,
                               scenario->neighbours[i]->nodes);
        is_packed = is_packed && scenario->neighbours[i]->placement == PLACEMENT_PACKED;
    }
    const int64_t all = cluster_nodes_max(cluster);
    sim_assert(all == 0 || least <= all);
    if (!is_packed && cluster->nodes_max > 0) {
        return (uint32_t)cluster->nodes_max;
    }
    const int64_t simulated = SCENARIO_GPUS_MAX / cluster->gpus_per_node;
    const int64_t most = all > 0 && all < simulated ? all : simulated;
    return (uint32_t)(needed <= most ? needed : least > most ? least : most);
}

/* The same, with those that have the place of a node of the job: they may lie behind all. */
static uint32_t nodes_with_replaced(const struct scenario *scenario)
{
    uint32_t nodes = nodes_of_cluster(scenario);
    for (int64_t i = 0; i < scenario->replaced_count; i++) {
        const uint32_t by = (uint32_t)scenario->replaced[i].by;
        nodes = by >= nodes ? by + 1 : nodes;
    }
    return nodes;
}

/* ---- one job ---------------------------------------------------------------------- */

/* The cluster is that of all jobs; from `number` on it is one job's. */
struct choice {
    const struct cluster *cluster;
    uint64_t seed;
    uint32_t nodes; /* of the cluster */
    bool *is_taken; /* per node */
    uint32_t number;
    uint32_t kind; /* enum placement_kind */
    struct mesh mesh;
    uint32_t segment; /* nodes that come together */
};

static uint64_t key_of(const struct choice *choice, uint32_t node)
{
    const uint64_t words[] = {choice->seed, choice->number, node};
    const int64_t nodes_per_leaf = choice->cluster->nodes_per_leaf;
    const uint64_t per_leaf = nodes_per_leaf > 0 ? (uint64_t)nodes_per_leaf : 1;
    switch (choice->kind) {
    case PLACEMENT_SPREAD:
        return (node % per_leaf) * UINT32_MAX + node / per_leaf;
    case PLACEMENT_RANDOM:
        return rng_hash_bytes(words, sizeof words, 0x706c616365ull);
    default:
        return node;
    }
}

/* Free nodes of each domain in whole segments of `segment`, which share the key of their first. */
static uint32_t list_candidates(const struct choice *choice, uint32_t segment,
                                struct candidate *candidates)
{
    const uint32_t domain_nodes = (uint32_t)choice->cluster->domain_nodes;
    uint32_t count = 0;
    uint64_t key = 0;
    for (uint32_t node = 0; node < choice->nodes; node++) {
        if (node % domain_nodes == 0) {
            count -= count % segment; /* what is left of the domain before */
        }
        if (!choice->is_taken[node]) {
            if (count % segment == 0) {
                key = key_of(choice, node);
            }
            candidates[count++] = (struct candidate){key, node};
        }
    }
    return count - count % segment;
}

/* That the job needs. */
static uint32_t nodes_of(const struct choice *choice)
{
    const uint32_t per_node = (uint32_t)choice->cluster->gpus_per_node;
    return (mesh_size(&choice->mesh) + per_node - 1) / per_node;
}

static uint32_t *choose(struct arena *arena, const struct choice *choice)
{
    const uint32_t gpus = mesh_size(&choice->mesh);
    struct candidate *candidates = arena_array(arena, choice->nodes, sizeof *candidates);
    uint32_t count = list_candidates(choice, choice->segment, candidates);
    if (count < nodes_of(choice)) {
        count = list_candidates(choice, 1, candidates);
    }
    sim_assert(count >= nodes_of(choice));
    if (choice->kind != PLACEMENT_PACKED) { /* else they are listed in order of their keys */
        qsort(candidates, count, sizeof *candidates, compare_candidates);
    }
    const uint32_t per_node = (uint32_t)choice->cluster->gpus_per_node;
    uint32_t *gpu_of_rank = arena_array(arena, gpus, sizeof *gpu_of_rank);
    for (uint32_t rank = 0; rank < gpus; rank++) {
        const uint32_t node = candidates[rank / per_node].node;
        gpu_of_rank[rank] = node * per_node + rank % per_node;
        choice->is_taken[node] = true;
    }
    return gpu_of_rank;
}

/* Nobody else gets those that have the place of another. */
static void reserve_replacing(const struct scenario *scenario, bool *is_taken)
{
    for (int64_t i = 0; i < scenario->replaced_count; i++) {
        is_taken[scenario->replaced[i].by] = true;
    }
}

/* Where its nodes were, nobody is. A job that was made smaller may lack some of them. */
static void replace_nodes(const struct scenario *scenario, uint32_t *gpu_of_rank)
{
    const uint32_t per_node = (uint32_t)scenario->cluster.gpus_per_node;
    for (int64_t i = 0; i < scenario->replaced_count; i++) {
        const struct replaced_node *replaced = &scenario->replaced[i];
        const uint32_t first = (uint32_t)replaced->node * per_node;
        for (uint32_t k = 0; k < per_node && first + k < scenario->gpus; k++) {
            gpu_of_rank[first + k] = (uint32_t)replaced->by * per_node + k;
        }
    }
}

/* ---- what became of it --------------------------------------------------------------- */

/* Lines of the kind of which not all ranks are in one domain. */
static int64_t count_straddling(struct arena *arena, const struct mesh *mesh, enum mesh_line line,
                                const uint32_t *gpu_of_rank, uint32_t domain)
{
    const uint32_t size = mesh_line_size(mesh, line);
    const uint32_t count = mesh_line_count(mesh, line) * mesh->pp;
    uint32_t *ranks = arena_array(arena, size, sizeof *ranks);
    int64_t straddling = 0;
    for (uint32_t number = 0; number < count; number++) {
        mesh_line_ranks(mesh, line, number, ranks);
        bool is_inside = true;
        for (uint32_t i = 1; i < size; i++) {
            is_inside =
                is_inside && gpu_of_rank[ranks[i]] / domain == gpu_of_rank[ranks[0]] / domain;
        }
        straddling += is_inside ? 0 : 1;
    }
    return straddling;
}

/* Whether rank r is GPU r: then a block lies where its ranks' numbers say. */
static bool is_in_order(const uint32_t *gpu_of_rank, uint32_t ranks)
{
    uint32_t rank = 0;
    while (rank < ranks && gpu_of_rank[rank] == rank) {
        rank++;
    }
    return rank == ranks;
}

/* Of the kinds whose blocks a domain could hold. */
static void note_straddling(struct arena *arena, const struct mesh *mesh,
                            const uint32_t *gpu_of_rank, struct placement_use *use)
{
    const bool is_ordered = is_in_order(gpu_of_rank, mesh_size(mesh));
    for (uint32_t i = 0; i < PLACEMENT_LINE_COUNT; i++) {
        const enum mesh_line line = placement_lines[i].line;
        const int64_t size = mesh_line_size(mesh, line);
        const int64_t block = size > 1 ? placement_block(mesh, line) : INT64_MAX;
        if (block > use->domain_gpus || (is_ordered && use->domain_gpus % block == 0)) {
            continue; /* all of them straddle, or none */
        }
        const int64_t straddling =
            count_straddling(arena, mesh, line, gpu_of_rank, (uint32_t)use->domain_gpus);
        if (straddling > 0 && size > use->straddling_gpus) {
            use->straddling_gpus = size;
            use->straddling = straddling;
            use->straddler = placement_lines[i].name;
        }
    }
}

/* Of each domain, as the job chose them: whoever stands for a broken node leaves its domain the
 * job's. */
static const int64_t *nodes_by_domain(struct arena *arena, const struct choice *choice,
                                      const uint32_t *gpu_of_rank)
{
    const uint32_t domain_nodes = (uint32_t)choice->cluster->domain_nodes;
    const uint32_t per_node = (uint32_t)choice->cluster->gpus_per_node;
    int64_t *own = arena_array(arena, choice->nodes / domain_nodes + 1u, sizeof *own);
    for (uint32_t rank = 0; rank < mesh_size(&choice->mesh); rank += per_node) {
        own[gpu_of_rank[rank] / per_node / domain_nodes]++;
    }
    return own;
}

/* Nodes that nobody has, in domains of which the job has `usable` nodes. */
static int64_t count_idle(const struct choice *choice, const int64_t *own, int64_t usable)
{
    const uint32_t domain_nodes = (uint32_t)choice->cluster->domain_nodes;
    int64_t idle = 0;
    for (uint32_t node = 0; node < choice->nodes; node++) {
        idle += !choice->is_taken[node] && own[node / domain_nodes] == usable ? 1 : 0;
    }
    return idle;
}

/* After: all jobs have chosen. `own` are the job's nodes by domain, before some were replaced. */
static void note_use(struct arena *arena, const struct choice *choice, const uint32_t *gpu_of_rank,
                     const int64_t *own, struct placement_use *use)
{
    const struct cluster *cluster = choice->cluster;
    const int64_t per_node = cluster->gpus_per_node;
    const int64_t segment = choice->segment;
    const int64_t usable = cluster->domain_nodes / segment * segment;
    *use =
        (struct placement_use){.domain_gpus = per_node * cluster->domain_nodes,
                               .segment_gpus = per_node * segment,
                               .used_gpus = per_node * usable,
                               .idle_gpus = per_node * nodes_of(choice) - mesh_size(&choice->mesh),
                               .straddler = ""};
    note_straddling(arena, &choice->mesh, gpu_of_rank, use);
    if (usable < cluster->domain_nodes && nodes_of(choice) > cluster->domain_nodes) {
        use->idle_gpus += per_node * count_idle(choice, own, usable);
    }
}

/* ---- all jobs ------------------------------------------------------------------------ */

/* A fabric ends with the last node that somebody has where all are packed; a job alone may use
 * part of it. */
static uint32_t gpus_of_packed(const struct choice *first, uint32_t per_node)
{
    uint32_t nodes = first->nodes;
    while (nodes > 1 && !first->is_taken[nodes - 1]) {
        nodes--;
    }
    const uint32_t own = mesh_size(&first->mesh);
    return nodes == 1 && own < per_node ? own : nodes * per_node;
}

/* Of job `number`; what all jobs share is `shared`'s. */
static struct choice choice_of(const struct choice *shared, uint32_t number,
                               const struct scenario *job)
{
    struct choice choice = *shared;
    choice.number = number;
    choice.kind = job->placement;
    choice.mesh = mesh_of(&job->parallel);
    choice.segment = placement_segment_nodes(choice.cluster, &choice.mesh);
    return choice;
}

void placement_choose(struct arena *arena, const struct scenario *scenario,
                      struct placement *placement)
{
    const uint32_t jobs = scenario->neighbour_count + 1u;
    const uint32_t nodes = nodes_with_replaced(scenario);
    const uint32_t per_node = (uint32_t)scenario->cluster.gpus_per_node;
    const struct choice shared = {.cluster = &scenario->cluster,
                                  .seed = (uint64_t)scenario->seed,
                                  .nodes = nodes,
                                  .is_taken = arena_array(arena, nodes, sizeof(bool))};
    const struct choice first = choice_of(&shared, 0, scenario);
    const uint32_t **gpu_of_rank = arena_array(arena, jobs, sizeof *gpu_of_rank);
    bool is_packed = scenario->placement == PLACEMENT_PACKED;
    reserve_replacing(scenario, shared.is_taken);
    uint32_t *own = choose(arena, &first);
    const int64_t *own_nodes = nodes_by_domain(arena, &first, own);
    replace_nodes(scenario, own);
    gpu_of_rank[0] = own;
    for (uint32_t i = 1; i < jobs; i++) {
        const struct choice choice = choice_of(&shared, i, scenario->neighbours[i - 1]);
        gpu_of_rank[i] = choose(arena, &choice);
        is_packed = is_packed && choice.kind == PLACEMENT_PACKED;
    }
    placement->nodes = nodes;
    placement->is_taken = shared.is_taken;
    placement->gpu_of_rank = gpu_of_rank;
    placement->gpus = is_packed ? gpus_of_packed(&first, per_node) : nodes * per_node;
    note_use(arena, &first, gpu_of_rank[0], own_nodes, &placement->use);
}
