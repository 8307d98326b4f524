/* Links are numbered kind by kind, so a link's kind and owner follow from its
 * number. Routes are built by adding usages into a scratch array with one cell
 * per link and collecting the cells that were touched.
 */
#include "hw/fabric.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/fluid.h"

#include <stdlib.h>

const char *const link_titles[LINK_KIND_COUNT_] = {
    [LINK_SCALE_UP_OUT] = "scale-up port out",
    [LINK_SCALE_UP_IN] = "scale-up port in",
    [LINK_HOST] = "host link",
    [LINK_NIC_OUT] = "NIC out",
    [LINK_NIC_IN] = "NIC in",
    [LINK_LEAF_UP] = "leaf up-link",
    [LINK_LEAF_DOWN] = "leaf down-link",
    [LINK_POD_UP] = "pod up-link",
    [LINK_POD_DOWN] = "pod down-link",
    [LINK_STORAGE_NODE] = "node's storage link",
    [LINK_STORAGE] = "file system",
};

/* ---- links ------------------------------------------------------------------ */

static uint32_t divide_up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

#define CAPACITY_MAX 4e18 /* fits int64; more is as good as no limit */

static int64_t whole(double bytes_per_s)
{
    sim_assert(bytes_per_s > 0);
    if (bytes_per_s > CAPACITY_MAX) {
        return (int64_t)CAPACITY_MAX;
    }
    return bytes_per_s < 1 ? 1 : (int64_t)(bytes_per_s + 0.5);
}

static void set_capacities(struct fabric *fabric, const struct gpu *gpu)
{
    const struct cluster *c = fabric->cluster;
    const double scale_up = c->scale_up_bytes_per_s * c->scale_up_efficiency;
    const double port =
        c->nic_bytes_per_s * c->nic_efficiency * (double)c->nics_per_node / fabric->ports_per_node;
    const double ports_on_leaf =
        (double)c->nodes_per_leaf * fabric->ports_per_node / fabric->leaves_per_group;
    const double leaf = port * ports_on_leaf / c->oversubscription;
    const double pod = leaf * fabric->leaves_per_group *
                       (double)(c->leaves_per_pod > 0 ? c->leaves_per_pod : 1) /
                       c->pod_oversubscription;
    const double capacities[LINK_KIND_COUNT_] = {
        [LINK_SCALE_UP_OUT] = scale_up,
        [LINK_SCALE_UP_IN] = scale_up,
        [LINK_HOST] = gpu->host_link_bytes_per_s,
        [LINK_NIC_OUT] = port,
        [LINK_NIC_IN] = port,
        [LINK_LEAF_UP] = leaf,
        [LINK_LEAF_DOWN] = leaf,
        [LINK_POD_UP] = pod,
        [LINK_POD_DOWN] = pod,
        [LINK_STORAGE_NODE] = c->storage_node_bytes_per_s,
        [LINK_STORAGE] = c->storage_write_bytes_per_s,
    };
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        fabric->capacity[kind] = whole(capacities[kind]);
    }
}

static void number_links(struct fabric *fabric)
{
    const uint32_t ports = fabric->nodes * fabric->ports_per_node;
    const uint32_t leaves = fabric->leaf_groups * fabric->leaves_per_group;
    const uint32_t counts[LINK_KIND_COUNT_] = {
        [LINK_SCALE_UP_OUT] = fabric->gpus,
        [LINK_SCALE_UP_IN] = fabric->gpus,
        [LINK_HOST] = fabric->gpus,
        [LINK_NIC_OUT] = ports,
        [LINK_NIC_IN] = ports,
        [LINK_LEAF_UP] = leaves,
        [LINK_LEAF_DOWN] = leaves,
        [LINK_POD_UP] = fabric->pods,
        [LINK_POD_DOWN] = fabric->pods,
        [LINK_STORAGE_NODE] = fabric->nodes,
        [LINK_STORAGE] = 1,
    };
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        fabric->first[kind + 1] = fabric->first[kind] + counts[kind];
    }
}

void fabric_init(struct fabric *fabric, struct arena *arena, const struct cluster *cluster,
                 const struct gpu *gpu, uint32_t gpus)
{
    const uint32_t per_node = (uint32_t)cluster->gpus_per_node;
    const uint32_t nics = (uint32_t)cluster->nics_per_node;
    *fabric = (struct fabric){.cluster = cluster, .arena = arena, .gpus = gpus};
    fabric->nodes = divide_up(gpus, per_node);
    fabric->ports_per_node = nics < per_node ? nics : per_node;
    fabric->leaves_per_group = cluster->fabric_kind == FABRIC_RAIL ? fabric->ports_per_node : 1;
    fabric->leaf_groups = divide_up(fabric->nodes, (uint32_t)cluster->nodes_per_leaf);
    fabric->pods = cluster->leaves_per_pod > 0
                       ? divide_up(fabric->leaf_groups, (uint32_t)cluster->leaves_per_pod)
                       : 1;
    number_links(fabric);
    set_capacities(fabric, gpu);
    fabric->scratch_usage =
        arena_array(arena, fabric_link_count(fabric), sizeof *fabric->scratch_usage);
}

uint32_t fabric_link_count(const struct fabric *fabric)
{
    return fabric->first[LINK_KIND_COUNT_];
}

enum link_kind fabric_link_kind(const struct fabric *fabric, uint32_t link)
{
    sim_assert(link < fabric_link_count(fabric));
    uint32_t kind = 0;
    while (link >= fabric->first[kind + 1]) {
        kind++;
    }
    return (enum link_kind)kind;
}

/* ---- places -------------------------------------------------------------------- */

static uint32_t node_of(const struct fabric *fabric, uint32_t rank)
{
    return rank / (uint32_t)fabric->cluster->gpus_per_node;
}

static uint32_t port_of(const struct fabric *fabric, uint32_t rank)
{
    const uint32_t per_node = (uint32_t)fabric->cluster->gpus_per_node;
    return rank % per_node * fabric->ports_per_node / per_node;
}

static uint32_t leaf_group_of(const struct fabric *fabric, uint32_t node)
{
    return node / (uint32_t)fabric->cluster->nodes_per_leaf;
}

static uint32_t leaf_of(const struct fabric *fabric, uint32_t node, uint32_t port)
{
    return leaf_group_of(fabric, node) * fabric->leaves_per_group + port % fabric->leaves_per_group;
}

static uint32_t pod_of(const struct fabric *fabric, uint32_t node)
{
    const int64_t leaves = fabric->cluster->leaves_per_pod;
    return leaves > 0 ? leaf_group_of(fabric, node) / (uint32_t)leaves : 0;
}

/* ---- routes ---------------------------------------------------------------------- */

/* A route under construction: the links touched so far. */
struct tracer {
    struct fabric *fabric;
    uint32_t *links;
    size_t count;
    size_t capacity;
    uint32_t hops_max;
};

static void touch(struct tracer *tracer, enum link_kind kind, uint32_t number, uint64_t usage)
{
    struct fabric *fabric = tracer->fabric;
    const uint32_t link = fabric->first[kind] + number;
    sim_assert(link < fabric->first[kind + 1]);
    if (fabric->scratch_usage[link] == 0) {
        tracer->links = arena_grow(fabric->arena, tracer->links, &tracer->capacity,
                                   tracer->count + 1, sizeof *tracer->links);
        tracer->links[tracer->count++] = link;
    }
    fabric->scratch_usage[link] += usage;
}

static void touch_leg_out(struct tracer *tracer, uint32_t node, uint32_t port, uint32_t to_node,
                          uint64_t usage)
{
    const struct fabric *fabric = tracer->fabric;
    touch(tracer, LINK_NIC_OUT, node * fabric->ports_per_node + port, usage);
    if (leaf_group_of(fabric, node) != leaf_group_of(fabric, to_node)) {
        touch(tracer, LINK_LEAF_UP, leaf_of(fabric, node, port), usage);
    }
    if (pod_of(fabric, node) != pod_of(fabric, to_node)) {
        touch(tracer, LINK_POD_UP, pod_of(fabric, node), usage);
    }
}

static void touch_leg_in(struct tracer *tracer, uint32_t node, uint32_t port, uint32_t from_node,
                         uint64_t usage)
{
    const struct fabric *fabric = tracer->fabric;
    touch(tracer, LINK_NIC_IN, node * fabric->ports_per_node + port, usage);
    if (leaf_group_of(fabric, node) != leaf_group_of(fabric, from_node)) {
        touch(tracer, LINK_LEAF_DOWN, leaf_of(fabric, node, port), usage);
    }
    if (pod_of(fabric, node) != pod_of(fabric, from_node)) {
        touch(tracer, LINK_POD_DOWN, pod_of(fabric, node), usage);
    }
}

/* Switches between two nodes: leaf; leaf-spine-leaf; and the core between pods. */
static uint32_t hops_between(const struct fabric *fabric, uint32_t a, uint32_t b)
{
    if (leaf_group_of(fabric, a) == leaf_group_of(fabric, b)) {
        return 1;
    }
    return pod_of(fabric, a) == pod_of(fabric, b) ? 3 : 5;
}

static int compare_links(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void finish_route(struct tracer *tracer, struct fabric_route *route)
{
    struct fabric *fabric = tracer->fabric;
    sim_assert(tracer->count > 0);
    qsort(tracer->links, tracer->count, sizeof *tracer->links, compare_links);
    route->crossings = arena_array(fabric->arena, tracer->count, sizeof *route->crossings);
    route->count = (uint32_t)tracer->count;
    route->hops_max = tracer->hops_max;
    route->cap_bytes_per_s = INT64_MAX;
    for (uint32_t i = 0; i < route->count; i++) {
        const uint32_t link = tracer->links[i];
        const uint64_t usage = fabric->scratch_usage[link];
        route->crossings[i] = (struct fabric_crossing){link, usage};
        fabric->scratch_usage[link] = 0;
        const double rate = (double)fabric->capacity[fabric_link_kind(fabric, link)] *
                            (double)FLUID_USAGE_ONE / (double)usage;
        if (rate < (double)route->cap_bytes_per_s) {
            route->cap_bytes_per_s = whole(rate);
        }
    }
}

/* The run of ranks [first, end) that share a node with ranks[first]. */
static uint32_t end_of_node(const struct fabric *fabric, const uint32_t *ranks, uint32_t count,
                            uint32_t first)
{
    uint32_t end = first + 1;
    while (end < count && node_of(fabric, ranks[end]) == node_of(fabric, ranks[first])) {
        end++;
    }
    return end;
}

/* Distinct NIC ports of ranks that share a node (ports rise with the rank). */
static uint32_t count_rails(const struct fabric *fabric, const uint32_t *ranks, uint32_t count)
{
    uint32_t rails = 1;
    for (uint32_t i = 1; i < count; i++) {
        rails += port_of(fabric, ranks[i]) != port_of(fabric, ranks[i - 1]);
    }
    return rails;
}

/* The ring leaves this node for `next` and comes in from `previous` over all its rails. */
static void touch_node_boundary(struct tracer *tracer, const uint32_t *ranks, uint32_t count,
                                uint32_t previous, uint32_t next)
{
    const struct fabric *fabric = tracer->fabric;
    const uint32_t node = node_of(fabric, ranks[0]);
    const uint64_t usage = FLUID_USAGE_ONE / count_rails(fabric, ranks, count);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && port_of(fabric, ranks[i]) == port_of(fabric, ranks[i - 1])) {
            continue;
        }
        touch_leg_out(tracer, node, port_of(fabric, ranks[i]), next, usage);
        touch_leg_in(tracer, node, port_of(fabric, ranks[i]), previous, usage);
    }
    const uint32_t hops = hops_between(fabric, node, next);
    tracer->hops_max = hops > tracer->hops_max ? hops : tracer->hops_max;
}

void fabric_ring(struct fabric *fabric, const uint32_t *ranks, uint32_t count,
                 struct fabric_route *route)
{
    sim_assert(count >= 2);
    struct tracer tracer = {.fabric = fabric};
    const uint32_t last_node = node_of(fabric, ranks[count - 1]);
    const bool crosses_nodes = node_of(fabric, ranks[0]) != last_node;
    uint32_t previous = last_node;
    route->nodes = 0;
    for (uint32_t first = 0, end; first < count; first = end) {
        end = end_of_node(fabric, ranks, count, first);
        const uint32_t next = node_of(fabric, ranks[end < count ? end : 0]);
        if (end - first > 1) {
            for (uint32_t i = first; i < end; i++) {
                touch(&tracer, LINK_SCALE_UP_OUT, ranks[i], FLUID_USAGE_ONE);
                touch(&tracer, LINK_SCALE_UP_IN, ranks[i], FLUID_USAGE_ONE);
            }
        }
        if (crosses_nodes) {
            touch_node_boundary(&tracer, ranks + first, end - first, previous, next);
        }
        previous = node_of(fabric, ranks[first]);
        route->nodes++;
    }
    finish_route(&tracer, route);
}

void fabric_pair(struct fabric *fabric, uint32_t from, uint32_t to, struct fabric_route *route)
{
    sim_assert(from != to);
    struct tracer tracer = {.fabric = fabric};
    const uint32_t a = node_of(fabric, from);
    const uint32_t b = node_of(fabric, to);
    route->nodes = a == b ? 1 : 2;
    if (a == b) {
        touch(&tracer, LINK_SCALE_UP_OUT, from, FLUID_USAGE_ONE);
        touch(&tracer, LINK_SCALE_UP_IN, to, FLUID_USAGE_ONE);
    } else {
        touch_leg_out(&tracer, a, port_of(fabric, from), b, FLUID_USAGE_ONE);
        touch_leg_in(&tracer, b, port_of(fabric, to), a, FLUID_USAGE_ONE);
        tracer.hops_max = hops_between(fabric, a, b);
    }
    finish_route(&tracer, route);
}

void fabric_to_storage(struct fabric *fabric, uint32_t rank, bool stops_at_host,
                       struct fabric_route *route)
{
    struct tracer tracer = {.fabric = fabric};
    route->nodes = 1;
    touch(&tracer, LINK_HOST, rank, FLUID_USAGE_ONE);
    if (!stops_at_host) {
        touch(&tracer, LINK_STORAGE_NODE, node_of(fabric, rank), FLUID_USAGE_ONE);
        touch(&tracer, LINK_STORAGE, 0, FLUID_USAGE_ONE);
    }
    finish_route(&tracer, route);
}

/* ---- latencies ---------------------------------------------------------------------- */

double fabric_intra_round_s(const struct fabric *fabric)
{
    return fabric->cluster->scale_up_latency_s;
}

double fabric_inter_round_s(const struct fabric *fabric, uint32_t hops)
{
    return fabric->cluster->nic_latency_s + hops * fabric->cluster->hop_latency_s;
}

double fabric_message_s(const struct fabric *fabric, const struct fabric_route *route)
{
    return route->nodes == 1 ? fabric_intra_round_s(fabric)
                             : fabric_inter_round_s(fabric, route->hops_max);
}
