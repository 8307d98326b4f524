#include "train/placement.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"

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

static uint32_t nodes_of_cluster(const struct scenario *scenario)
{
    int64_t needed = scenario->nodes;
    bool is_packed = scenario->placement == PLACEMENT_PACKED;
    for (uint32_t i = 0; i < scenario->neighbour_count; i++) {
        needed += scenario->neighbours[i]->nodes;
        is_packed = is_packed && scenario->neighbours[i]->placement == PLACEMENT_PACKED;
    }
    const int64_t all = scenario->cluster.nodes_max;
    sim_assert(all == 0 || needed <= all);
    return (uint32_t)(is_packed || all == 0 ? needed : all);
}

static const uint32_t *choose(struct arena *arena, const struct scenario *asked,
                              const struct scenario *job, uint32_t number, bool *is_taken,
                              uint32_t nodes)
{
    struct candidate *candidates = arena_array(arena, nodes, sizeof *candidates);
    uint32_t count = 0;
    for (uint32_t node = 0; node < nodes; node++) {
        if (!is_taken[node]) {
            candidates[count++] =
                (struct candidate){key_of(asked, job->placement, number, node), node};
        }
    }
    sim_assert(count >= job->nodes);
    qsort(candidates, count, sizeof *candidates, compare_candidates);
    const uint32_t per_node = (uint32_t)asked->cluster.gpus_per_node;
    uint32_t *gpu_of_rank = arena_array(arena, (size_t)job->gpus, sizeof *gpu_of_rank);
    for (uint32_t rank = 0; rank < job->gpus; rank++) {
        const uint32_t node = candidates[rank / per_node].node;
        gpu_of_rank[rank] = node * per_node + rank % per_node;
        is_taken[node] = true;
    }
    return gpu_of_rank;
}

void placement_choose(struct arena *arena, const struct scenario *scenario,
                      struct placement *placement)
{
    const uint32_t nodes = nodes_of_cluster(scenario);
    bool *is_taken = arena_array(arena, nodes, sizeof *is_taken);
    const uint32_t **gpu_of_rank =
        arena_array(arena, scenario->neighbour_count + 1u, sizeof *gpu_of_rank);
    gpu_of_rank[0] = choose(arena, scenario, scenario, 0, is_taken, nodes);
    for (uint32_t i = 0; i < scenario->neighbour_count; i++) {
        gpu_of_rank[i + 1] =
            choose(arena, scenario, scenario->neighbours[i], i + 1, is_taken, nodes);
    }
    placement->gpu_of_rank = gpu_of_rank;
    placement->gpus = nodes * (uint32_t)scenario->cluster.gpus_per_node;
    if (scenario->neighbour_count == 0 && scenario->placement == PLACEMENT_PACKED) {
        placement->gpus = (uint32_t)scenario->gpus; /* the last node may be partly used */
    }
}
