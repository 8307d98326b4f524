/* All nodes are sorted by a hash: the first ones broke. Each takes the first free place of its
 * domain that the job holds, or behind all jobs, a segment the first domain that has room for it.
 */
#include "train/placement_spares.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "input/failures/replaced_nodes.h"
#include "input/scenario.h"
#include "train/placement.h"
#include "train/placement_segment.h"

#include <stdlib.h>
#include <string.h>

/* ---- which break ----------------------------------------------------------------------------- */

struct victim {
    uint64_t key;
    int64_t node;
};

static int compare_victims(const void *left, const void *right)
{
    const struct victim *a = left;
    const struct victim *b = right;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

static const struct victim *draw_victims(struct arena *arena, const struct scenario *scenario)
{
    const size_t nodes = (size_t)scenario->nodes;
    struct victim *victims = arena_array(arena, nodes, sizeof *victims);
    struct rng_key key = {.seed = (uint64_t)scenario->seed, .stream = rng_stream("displaced")};
    for (size_t i = 0; i < nodes; i++) {
        key.rank = i;
        victims[i] = (struct victim){rng_bits(&key), (int64_t)i};
    }
    qsort(victims, nodes, sizeof *victims, compare_victims);
    return victims;
}

/* ---- where spares lie ------------------------------------------------------------------------ */

struct places {
    bool *is_taken;
    int64_t first, limit; /* spares lie from the one to the other, and then where jobs left room */
    int64_t domain_nodes;
    bool has_idle; /* the job holds some of what its segments leave */
    const uint32_t *gpu_of_rank;
    int64_t gpus_per_node;
};

/* The first node behind all of a job. */
static int64_t behind(const uint32_t *gpu_of_rank, const struct scenario *job)
{
    int64_t first = 0;
    for (int64_t rank = 0; rank < job->gpus; rank++) {
        const int64_t node = gpu_of_rank[rank] / job->cluster.gpus_per_node;
        first = node >= first ? node + 1 : first;
    }
    return first;
}

/* Nodes from the first on that spares may lie on: those behind all jobs that are asked for, with
 * room for a segment, and what is left of the last domain, as far as the job holds it. */
static int64_t places_behind(const struct placement *placement, int64_t known,
                             const struct placement_spares *spares, int64_t domain_nodes)
{
    const int64_t behind_all = spares->all - spares->idle;
    int64_t idle = spares->idle;
    for (int64_t node = 0; node < known; node++) {
        idle -= placement->is_taken[node] ? 0 : 1;
    }
    return (idle > 0 ? idle : 0) + (behind_all > 0 ? behind_all + domain_nodes : 0);
}

static struct places find_places(struct arena *arena, const struct scenario *scenario,
                                 const struct placement_spares *spares)
{
    const int64_t per_node = scenario->cluster.gpus_per_node;
    const int64_t domain_nodes = scenario->cluster.domain_nodes;
    const int64_t most = cluster_nodes_max(&scenario->cluster);
    const int64_t all = most > 0 ? most : SCENARIO_GPUS_MAX / per_node;
    struct placement placement;
    placement_choose(arena, scenario, &placement);
    const int64_t known = (placement.gpus + per_node - 1) / per_node;
    const int64_t wanted = known + places_behind(&placement, known, spares, domain_nodes);
    struct places places = {.limit = wanted < all ? wanted : all,
                            .domain_nodes = domain_nodes,
                            .has_idle = spares->idle > 0,
                            .gpu_of_rank = placement.gpu_of_rank[0],
                            .gpus_per_node = per_node};
    const int64_t size = places.limit > placement.nodes ? places.limit : placement.nodes;
    places.is_taken = arena_array(arena, (size_t)size, sizeof *places.is_taken);
    memcpy(places.is_taken, placement.is_taken, placement.nodes * sizeof *places.is_taken);
    for (uint32_t i = 0; i <= scenario->neighbour_count; i++) {
        const struct scenario *job = i == 0 ? scenario : scenario->neighbours[i - 1];
        const int64_t first = behind(placement.gpu_of_rank[i], job);
        places.first = first > places.first ? first : places.first;
    }
    return places;
}

/* Whether so many nodes from there on are free, and of one domain. */
static bool is_free(const struct places *places, int64_t at, int64_t count)
{
    if (at + count > places->limit ||
        at / places->domain_nodes != (at + count - 1) / places->domain_nodes) {
        return false;
    }
    int64_t free = 0;
    while (free < count && !places->is_taken[at + free]) {
        free++;
    }
    return free == count;
}

/* -1: there is no such place. */
static int64_t take_place(struct places *places, int64_t count)
{
    while (places->first < places->limit && places->is_taken[places->first]) {
        places->first++;
    }
    int64_t at = places->first;
    while (at < places->limit && !is_free(places, at, count)) {
        at++;
    }
    if (at == places->limit) {
        at = places->first - 1;
        while (at >= 0 && !is_free(places, at, count)) {
            at--;
        }
    }
    for (int64_t i = 0; at >= 0 && i < count; i++) {
        places->is_taken[at + i] = true;
    }
    return at;
}

/* Beside a node of the job, in its domain, where the job holds what is free there; -1: nowhere. */
static int64_t take_beside(struct places *places, int64_t node)
{
    const int64_t place = places->gpu_of_rank[node * places->gpus_per_node] / places->gpus_per_node;
    const int64_t begin = place / places->domain_nodes * places->domain_nodes;
    const int64_t end = begin + places->domain_nodes;
    for (int64_t at = begin; places->has_idle && at < end && at < places->limit; at++) {
        if (!places->is_taken[at]) {
            places->is_taken[at] = true;
            return at;
        }
    }
    return -1;
}

/* ---- who moves ------------------------------------------------------------------------------- */

/* A node that the scenario says is replaced moves once more. */
static void move(struct scenario *changed, int64_t stated, int64_t node, int64_t by)
{
    int64_t at = 0;
    while (at < stated && changed->replaced[at].node != node) {
        at++;
    }
    at = at == stated ? changed->replaced_count++ : at;
    changed->replaced[at] = (struct replaced_node){node, by};
}

/* Nodes of the job, the first of which moves there, the next to the next place. */
struct moving {
    int64_t first, count, by;
};

/* Alone into its own domain, else with its segment if that many more are to spare, else alone. */
static struct moving moving_of(struct places *places, int64_t node, int64_t segment, int64_t rest)
{
    const int64_t beside = take_beside(places, node);
    if (beside >= 0) {
        return (struct moving){node, 1, beside};
    }
    const int64_t together = rest >= segment - 1 ? take_place(places, segment) : -1;
    if (together >= 0) {
        return (struct moving){node / segment * segment, segment, together};
    }
    return (struct moving){node, 1, take_place(places, 1)};
}

void placement_displace(struct arena *arena, const struct scenario *scenario,
                        const struct placement_spares *spares, int64_t displaced,
                        struct scenario *changed)
{
    const struct mesh mesh = mesh_of(&scenario->parallel);
    const int64_t segment = placement_segment_nodes(&scenario->cluster, &mesh);
    const int64_t stated = scenario->replaced_count;
    const struct victim *victims = draw_victims(arena, scenario);
    struct places places = find_places(arena, scenario, spares);
    bool *has_moved = arena_array(arena, (size_t)scenario->nodes, sizeof *has_moved);
    int64_t rest = spares->all - displaced; /* spares that nobody broken needs */
    sim_assert(displaced <= scenario->nodes && rest >= 0);
    *changed = *scenario;
    changed->replaced =
        arena_array(arena, (size_t)(stated + scenario->nodes), sizeof *changed->replaced);
    for (int64_t i = 0; i < stated; i++) {
        changed->replaced[i] = scenario->replaced[i];
    }
    for (int64_t i = 0; i < displaced; i++) {
        if (has_moved[victims[i].node]) {
            continue;
        }
        const struct moving moving = moving_of(&places, victims[i].node, segment, rest);
        sim_assert(moving.by >= 0);
        rest -= moving.count - 1;
        for (int64_t k = 0; k < moving.count; k++) {
            move(changed, stated, moving.first + k, moving.by + k);
            has_moved[moving.first + k] = true;
        }
    }
}
