/* The builders of the kinds add to growing arrays; links are then sorted by their
 * first switch (a counting sort), which keeps the order of adding.
 */
#include "hw/topology.h"

#include "hw/topology_build.h"

#include "base/arena.h"
#include "base/check.h"

#include <math.h>
#include <string.h>

#define CAPACITY_MAX 4e18 /* fits int64; more is as good as no limit */

enum { NEAR_BYTES = 32 << 20, NEAR_SLOTS_MIN = 16 }; /* memory for distances */

int64_t topology_capacity(double bytes_per_s)
{
    sim_assert(bytes_per_s > 0);
    if (bytes_per_s > CAPACITY_MAX) {
        return (int64_t)CAPACITY_MAX;
    }
    return bytes_per_s < 1 ? 1 : (int64_t)(bytes_per_s + 0.5);
}

int64_t topology_share(int64_t total, uint32_t count, uint32_t index)
{
    sim_assert(total >= 1);
    sim_assert(index < count);
    const int64_t share = total / count + (index < total % count);
    return share > 0 ? share : 1;
}

uint32_t topology_parallel(double capacity, double each)
{
    sim_assert(each > 0);
    const double count = round(capacity / each);
    return count < 1 ? 1 : (uint32_t)count;
}

/* ---- building ----------------------------------------------------------------------- */

uint32_t topology_add_switch(struct topology_builder *builder, uint8_t level, uint32_t pod,
                             const char *name)
{
    struct topology *topology = builder->topology;
    sim_assert(level >= 1);
    sim_assert(level <= TOPOLOGY_LEVELS);
    topology->switches = arena_grow(topology->arena, topology->switches, &builder->switch_capacity,
                                    (size_t)topology->switch_count + 1, sizeof *topology->switches);
    topology->switches[topology->switch_count] = (struct topology_switch){
        .name = name, .level = level, .number = builder->level_counts[level]++, .pod = pod};
    return topology->switch_count++;
}

void topology_add_pair(struct topology_builder *builder, const struct topology_pair *pair)
{
    struct topology *topology = builder->topology;
    sim_assert(pair->from != pair->to);
    sim_assert(pair->capacity >= 1);
    sim_assert(pair->capacity_back >= 1);
    topology->links = arena_grow(topology->arena, topology->links, &builder->link_capacity,
                                 (size_t)topology->link_count + 2, sizeof *topology->links);
    topology->links[topology->link_count++] =
        (struct topology_link){pair->from, pair->to, pair->kind, pair->capacity};
    topology->links[topology->link_count++] =
        (struct topology_link){pair->to, pair->from, pair->kind_back, pair->capacity_back};
}

static void sort_links(struct topology *topology)
{
    const uint32_t switches = topology->switch_count;
    topology->out_first = arena_array(topology->arena, (size_t)switches + 2, sizeof(uint32_t));
    topology->out_links = arena_array(topology->arena, topology->link_count, sizeof(uint32_t));
    uint32_t *first = topology->out_first;
    for (uint32_t i = 0; i < topology->link_count; i++) {
        first[topology->links[i].from + 2]++;
    }
    for (uint32_t s = 0; s < switches; s++) {
        const uint32_t degree = first[s + 2];
        topology->degree_max = degree > topology->degree_max ? degree : topology->degree_max;
        first[s + 2] += first[s + 1];
    }
    for (uint32_t i = 0; i < topology->link_count; i++) {
        topology->out_links[first[topology->links[i].from + 1]++] = i;
    }
    sim_assert(first[switches] == topology->link_count);
}

static void prepare_near(struct topology *topology)
{
    const uint32_t switches = topology->switch_count;
    struct topology_near *near = arena_alloc(topology->arena, sizeof *near);
    near->slots = NEAR_BYTES / (switches * (uint32_t)sizeof(uint16_t) + 1);
    near->slots = near->slots < NEAR_SLOTS_MIN ? NEAR_SLOTS_MIN : near->slots;
    near->slots = near->slots > switches ? switches : near->slots;
    near->destinations = arena_array(topology->arena, near->slots, sizeof *near->destinations);
    near->distances = arena_array(topology->arena, near->slots, sizeof *near->distances);
    near->queue = arena_array(topology->arena, switches, sizeof *near->queue);
    memset(near->destinations, 0xff, near->slots * sizeof *near->destinations);
    topology->near = near;
}

typedef void build_function(struct topology_builder *builder);

static build_function *const kinds[FABRIC_KIND_COUNT_] = {
    [FABRIC_RAIL] = topology_build_tree,   [FABRIC_RAIL_ONLY] = topology_build_tree,
    [FABRIC_TREE] = topology_build_tree,   [FABRIC_DRAGONFLY] = topology_build_tree,
    [FABRIC_TORUS] = topology_build_torus, [FABRIC_EXPLICIT] = topology_build_explicit,
};

void topology_build(struct topology *topology, struct arena *arena, const struct cluster *cluster,
                    uint32_t nodes, uint32_t ports)
{
    sim_assert(nodes > 0);
    sim_assert(ports > 0);
    sim_assert(cluster->fabric_kind < FABRIC_KIND_COUNT_);
    *topology = (struct topology){.arena = arena};
    topology->port_switch = arena_array(arena, (size_t)nodes * ports, sizeof(uint32_t));
    struct topology_builder builder = {
        .topology = topology,
        .cluster = cluster,
        .nodes = nodes,
        .ports = ports,
        .port_bytes_per_s = cluster->nic_bytes_per_s * cluster->nic_efficiency *
                            (double)cluster->nics_per_node / ports,
        .merges = cluster->routing == ROUTING_ADAPTIVE,
    };
    kinds[cluster->fabric_kind](&builder);
    sim_assert(topology->switch_count > 0);
    for (size_t i = 0; i < (size_t)nodes * ports; i++) {
        sim_assert(topology->port_switch[i] < topology->switch_count);
    }
    sort_links(topology);
    prepare_near(topology);
}

/* ---- distances ---------------------------------------------------------------------- */

/* Along a ring of `size`, the shorter way round. */
static uint32_t around(uint32_t a, uint32_t b, uint32_t size)
{
    const uint32_t way = a > b ? a - b : b - a;
    return way < size - way ? way : size - way;
}

static uint16_t grid_distance(const struct topology *topology, uint32_t from, uint32_t to)
{
    uint32_t distance = 0;
    for (uint32_t d = 0; d < TORUS_DIMENSIONS_MAX; d++) {
        const uint32_t size = topology->grid[d];
        distance += around(from % size, to % size, size);
        from /= size;
        to /= size;
    }
    sim_assert(distance < TOPOLOGY_FAR);
    return (uint16_t)distance;
}

/* To a leaf. Every spine joins all leaves of its pod, every core all pods. */
static uint16_t level_distance(const struct topology_switch *from, const struct topology_switch *to)
{
    switch (from->level) {
    case 1:
        return from->pod == to->pod ? 2 : 4;
    case 2:
        return from->pod == to->pod ? 1 : 3;
    default:
        return 2;
    }
}

/* Backwards from the destination, which is the same as forwards: links come in pairs. Stops
 * when every switch was seen, long before every link. */
static void search_from(const struct topology *topology, uint32_t to, uint16_t *distances)
{
    uint32_t *queue = topology->near->queue;
    uint32_t seen = 1;
    memset(distances, 0xff, topology->switch_count * sizeof *distances);
    distances[to] = 0;
    queue[0] = to;
    for (uint32_t i = 0; i < seen && seen < topology->switch_count; i++) {
        const uint32_t at = queue[i];
        sim_assert(distances[at] < TOPOLOGY_FAR - 1);
        for (uint32_t k = topology->out_first[at]; k < topology->out_first[at + 1]; k++) {
            const uint32_t next = topology->links[topology->out_links[k]].to;
            if (distances[next] == TOPOLOGY_FAR) {
                distances[next] = (uint16_t)(distances[at] + 1);
                queue[seen++] = next;
            }
        }
    }
}

static const uint16_t *distances_to(const struct topology *topology, uint32_t to)
{
    struct topology_near *near = topology->near;
    const uint32_t slot = to % near->slots;
    if (near->destinations[slot] != to) {
        if (near->distances[slot] == NULL) {
            near->distances[slot] =
                arena_array(topology->arena, topology->switch_count, sizeof(uint16_t));
        }
        search_from(topology, to, near->distances[slot]);
        near->destinations[slot] = to;
    }
    return near->distances[slot];
}

uint16_t topology_distance(const struct topology *topology, uint32_t from, uint32_t to)
{
    sim_assert(from < topology->switch_count);
    sim_assert(to < topology->switch_count);
    if (from == to) {
        return 0;
    }
    if (topology->shape == SHAPE_GRID) {
        return grid_distance(topology, from, to);
    }
    const struct topology_switch *end = &topology->switches[to];
    if (topology->shape == SHAPE_LEVELS && end->level == 1) {
        return level_distance(&topology->switches[from], end);
    }
    return distances_to(topology, to)[from];
}

/* ---- next hops ---------------------------------------------------------------------- */

/* All parallel links; from the side that has fewer links. */
static uint32_t links_between(const struct topology *topology, uint32_t at, uint32_t to,
                              uint32_t *links)
{
    const uint32_t *first = topology->out_first;
    const bool is_backwards = first[to + 1] - first[to] < first[at + 1] - first[at];
    const uint32_t near_end = is_backwards ? to : at;
    const uint32_t far_end = is_backwards ? at : to;
    uint32_t count = 0;
    for (uint32_t k = first[near_end]; k < first[near_end + 1]; k++) {
        const uint32_t link = topology->out_links[k];
        if (topology->links[link].to == far_end) {
            links[count++] = is_backwards ? link ^ 1u : link;
        }
    }
    return count;
}

/* In a tree, towards a leaf that is not next to `at`: up from leaves and spines, from a core down
 * to the leaf's pod. What is wanted of the far end follows from that, */
static uint32_t far_end_key(const struct topology *topology, uint32_t place, bool is_up)
{
    const uint32_t link = topology->out_links[place];
    const struct topology_switch *far_end = &topology->switches[topology->links[link].to];
    return is_up ? far_end->level : far_end->pod;
}

/* and it rises along a switch's links: those down come first, and those of a core go from pod to
 * pod (hw/topology_tree). */
static uint32_t levels_next(const struct topology *topology, uint32_t at, uint32_t to,
                            uint32_t *links)
{
    const uint32_t level = topology->switches[at].level;
    const bool is_up = level < 3;
    const uint32_t wanted = is_up ? level + 1u : topology->switches[to].pod;
    const uint32_t end = topology->out_first[at + 1];
    uint32_t first = topology->out_first[at];
    for (uint32_t beyond = end; first < beyond;) {
        const uint32_t middle = first + (beyond - first) / 2;
        if (far_end_key(topology, middle, is_up) < wanted) {
            first = middle + 1;
        } else {
            beyond = middle;
        }
    }
    uint32_t count = 0;
    for (uint32_t k = first; k < end && far_end_key(topology, k, is_up) == wanted; k++) {
        links[count++] = topology->out_links[k];
    }
    return count;
}

uint32_t topology_next(const struct topology *topology, uint32_t at, uint32_t to, uint32_t *links)
{
    sim_assert(at != to);
    if (topology->forced != NULL) {
        const int32_t via = topology->forced[(size_t)at * topology->switch_count + to];
        if (via >= 0) {
            return links_between(topology, at, (uint32_t)via, links);
        }
    }
    const uint16_t distance = topology_distance(topology, at, to);
    if (distance == TOPOLOGY_FAR) {
        return 0;
    }
    if (distance == 1) {
        return links_between(topology, at, to, links);
    }
    if (topology->shape == SHAPE_LEVELS && topology->switches[to].level == 1) {
        return levels_next(topology, at, to, links);
    }
    uint32_t count = 0;
    for (uint32_t k = topology->out_first[at]; k < topology->out_first[at + 1]; k++) {
        const uint32_t link = topology->out_links[k];
        if (topology_distance(topology, topology->links[link].to, to) + 1 == distance) {
            links[count++] = link;
        }
    }
    return count;
}
