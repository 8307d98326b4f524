/* Nodes are chosen job by job. Free nodes are listed as candidates with a
 * sorting key that the policy gives (packed, spread, random), sorted, and
 * taken from the front; what idles and which groups are parted is counted
 * afterwards.
 */
#include "train/placement.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
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

static uint64_t key_of(const struct scenario *asked, uint32_t kind, uint32_t job, uint32_t node)
{
    const uint64_t words[] = {(uint64_t)asked->seed, job, node};
    const uint64_t per_leaf =
        asked->cluster.nodes_per_leaf > 0 ? (uint64_t)asked->cluster.nodes_per_leaf : 1;
    switch (kind) {
    case PLACEMENT_SPREAD:
        return (node % per_leaf) * UINT32_MAX + node / per_leaf;
    case PLACEMENT_RANDOM:
        return rng_hash_bytes(words, sizeof words, 0x706c616365ull);
    default:
        return node;
    }
}

/* Nodes that a job needs when its segments leave nodes of each domain idle: whole domains. */
static int64_t nodes_needed(const struct scenario *job, int64_t domain_nodes)
{
    const int64_t segment = placement_segment_nodes(job);
    const int64_t usable = domain_nodes / segment * segment;
    return usable == domain_nodes ? job->nodes : (job->nodes + usable - 1) / usable * domain_nodes;
}

/* Nodes to choose among. With idle ones, no more than the cluster has and can be simulated. */
static uint32_t nodes_of_cluster(const struct scenario *scenario)
{
    const struct cluster *cluster = &scenario->cluster;
    int64_t least = scenario->nodes;
    int64_t needed = nodes_needed(scenario, cluster->domain_nodes);
    bool is_packed = scenario->placement == PLACEMENT_PACKED;
    for (uint32_t i = 0; i < scenario->neighbour_count; i++) {
        least += scenario->neighbours[i]->nodes;
        needed += nodes_needed(scenario->neighbours[i], cluster->domain_nodes);
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

/* ---- one job ---------------------------------------------------------------------- */

struct choice {
    const struct scenario *asked; /* whose cluster and seed hold for all jobs */
    const struct scenario *job;
    uint32_t number; /* of the job */
    uint32_t nodes;  /* of the cluster */
    bool *is_taken;  /* per node */
};

/* Free nodes of each domain in whole segments of `segment`, which share the key of their first. */
static uint32_t list_candidates(const struct choice *choice, uint32_t segment,
                                struct candidate *candidates)
{
    const uint32_t domain_nodes = (uint32_t)choice->asked->cluster.domain_nodes;
    uint32_t count = 0;
    uint64_t key = 0;
    for (uint32_t node = 0; node < choice->nodes; node++) {
        if (node % domain_nodes == 0) {
            count -= count % segment; /* what is left of the domain before */
        }
        if (!choice->is_taken[node]) {
            if (count % segment == 0) {
                key = key_of(choice->asked, choice->job->placement, choice->number, node);
            }
            candidates[count++] = (struct candidate){key, node};
        }
    }
    return count - count % segment;
}

static const uint32_t *choose(struct arena *arena, const struct choice *choice)
{
    const struct scenario *job = choice->job;
    struct candidate *candidates = arena_array(arena, choice->nodes, sizeof *candidates);
    uint32_t count = list_candidates(choice, placement_segment_nodes(job), candidates);
    if (count < job->nodes) {
        count = list_candidates(choice, 1, candidates);
    }
    sim_assert(count >= job->nodes);
    qsort(candidates, count, sizeof *candidates, compare_candidates);
    const uint32_t per_node = (uint32_t)choice->asked->cluster.gpus_per_node;
    uint32_t *gpu_of_rank = arena_array(arena, (size_t)job->gpus, sizeof *gpu_of_rank);
    for (uint32_t rank = 0; rank < job->gpus; rank++) {
        const uint32_t node = candidates[rank / per_node].node;
        gpu_of_rank[rank] = node * per_node + rank % per_node;
        choice->is_taken[node] = true;
    }
    return gpu_of_rank;
}

/* ---- what became of it --------------------------------------------------------------- */

/* Lines of the kind of which not all ranks are in one domain. */
static int64_t count_straddling(struct arena *arena, const struct mesh *mesh, enum mesh_line line,
                                const uint32_t *gpu_of_rank, uint32_t domain)
{
    const uint32_t size = mesh_line_size(mesh, line);
    uint32_t *ranks = arena_array(arena, size, sizeof *ranks);
    int64_t straddling = 0;
    for (uint32_t number = 0; number < mesh_line_count(mesh, line) * mesh->pp; number++) {
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

/* Of the kinds whose blocks a domain could hold. */
static void note_straddling(struct arena *arena, const struct scenario *scenario,
                            const uint32_t *gpu_of_rank, struct placement_use *use)
{
    const struct mesh mesh = mesh_of(&scenario->parallel);
    for (uint32_t i = 0; i < PLACEMENT_LINE_COUNT; i++) {
        const enum mesh_line line = placement_lines[i].line;
        const int64_t size = mesh_line_size(&mesh, line);
        if (size == 1 || placement_block(&mesh, line) > use->domain_gpus) {
            continue;
        }
        const int64_t straddling =
            count_straddling(arena, &mesh, line, gpu_of_rank, (uint32_t)use->domain_gpus);
        if (straddling > 0 && size > use->straddling_gpus) {
            use->straddling_gpus = size;
            use->straddling = straddling;
            use->straddler = placement_lines[i].name;
        }
    }
}

/* Nodes that nobody has, in domains of which the job has `usable` nodes. */
static int64_t count_idle(struct arena *arena, const struct choice *choice,
                          const uint32_t *gpu_of_rank, int64_t usable)
{
    const uint32_t domain_nodes = (uint32_t)choice->asked->cluster.domain_nodes;
    const uint32_t per_node = (uint32_t)choice->asked->cluster.gpus_per_node;
    int64_t *own = arena_array(arena, choice->nodes / domain_nodes + 1u, sizeof *own);
    for (uint32_t rank = 0; rank < choice->job->gpus; rank += per_node) {
        own[gpu_of_rank[rank] / per_node / domain_nodes]++;
    }
    int64_t idle = 0;
    for (uint32_t node = 0; node < choice->nodes; node++) {
        idle += !choice->is_taken[node] && own[node / domain_nodes] == usable ? 1 : 0;
    }
    return idle;
}

/* After: all jobs have chosen. */
static void note_use(struct arena *arena, const struct choice *choice, const uint32_t *gpu_of_rank,
                     struct placement_use *use)
{
    const struct cluster *cluster = &choice->asked->cluster;
    const int64_t per_node = cluster->gpus_per_node;
    const int64_t segment = placement_segment_nodes(choice->job);
    const int64_t usable = cluster->domain_nodes / segment * segment;
    *use = (struct placement_use){.domain_gpus = per_node * cluster->domain_nodes,
                                  .segment_gpus = per_node * segment,
                                  .used_gpus = per_node * usable,
                                  .straddler = ""};
    note_straddling(arena, choice->job, gpu_of_rank, use);
    if (usable < cluster->domain_nodes && choice->job->nodes > cluster->domain_nodes) {
        use->idle_gpus = per_node * count_idle(arena, choice, gpu_of_rank, usable);
    }
}

/* ---- all jobs ------------------------------------------------------------------------ */

/* A fabric ends with the last node that somebody has where all are packed; a job alone may use
 * part of it. */
static uint32_t gpus_of_packed(const struct scenario *scenario, const bool *is_taken,
                               uint32_t nodes)
{
    while (nodes > 1 && !is_taken[nodes - 1]) {
        nodes--;
    }
    const uint32_t gpus = nodes * (uint32_t)scenario->cluster.gpus_per_node;
    return scenario->gpus < gpus && nodes == 1 ? (uint32_t)scenario->gpus : gpus;
}

void placement_choose(struct arena *arena, const struct scenario *scenario,
                      struct placement *placement)
{
    const uint32_t jobs = scenario->neighbour_count + 1u;
    const uint32_t nodes = nodes_of_cluster(scenario);
    struct choice choice = {.asked = scenario, .job = scenario, .nodes = nodes};
    choice.is_taken = arena_array(arena, nodes, sizeof *choice.is_taken);
    const uint32_t **gpu_of_rank = arena_array(arena, jobs, sizeof *gpu_of_rank);
    bool is_packed = true;
    for (uint32_t i = 0; i < jobs; i++) {
        choice.job = i == 0 ? scenario : scenario->neighbours[i - 1];
        choice.number = i;
        gpu_of_rank[i] = choose(arena, &choice);
        is_packed = is_packed && choice.job->placement == PLACEMENT_PACKED;
    }
    placement->gpu_of_rank = gpu_of_rank;
    placement->gpus = is_packed ? gpus_of_packed(scenario, choice.is_taken, nodes)
                                : nodes * (uint32_t)scenario->cluster.gpus_per_node;
    choice.job = scenario;
    note_use(arena, &choice, gpu_of_rank[0], &placement->use);
}
