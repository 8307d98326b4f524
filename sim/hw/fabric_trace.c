/* Which links a transfer crosses. Usages are added into a scratch array with one cell per
 * link; the links touched are collected and at the end put in the order of their numbers.
 *
 * Splitting never loses a unit: the parts of n over k ways are n / k, and one more for the
 * first n % k, so what leaves a switch is what came in.
 */
#include "hw/fabric.h"

#include "hw/fabric_spread.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "des/fluid.h"

#include <stdlib.h>

/* ---- touching ----------------------------------------------------------------------- */

static void touch_link(struct fabric *fabric, uint32_t link, uint64_t usage)
{
    debug_assert(link < fabric->link_count);
    if (usage == 0) {
        return;
    }
    if (fabric->scratch_usage[link] == 0) {
        fabric->scratch_links[fabric->scratch_count++] = link;
    }
    fabric->scratch_usage[link] += usage;
}

static void touch(struct fabric *fabric, enum link_kind kind, uint32_t number, uint64_t usage)
{
    sim_assert(fabric->first[kind] + number < fabric->first[kind + 1]);
    touch_link(fabric, fabric->first[kind] + number, usage);
}

static void touch_between(struct fabric *fabric, uint32_t number, uint64_t usage)
{
    touch_link(fabric, fabric->first[LINK_SWITCH_FIRST_] + number, usage);
}

static void see_hops(struct fabric *fabric, uint32_t hops)
{
    fabric->hops_max = hops > fabric->hops_max ? hops : fabric->hops_max;
}

void fabric_trace_begin(struct fabric *fabric)
{
    sim_assert(fabric->scratch_count == 0);
    fabric->hops_max = 0;
    fabric->meshed = 2;
    fabric->is_direct = false;
}

void fabric_trace_direct(struct fabric *fabric)
{
    fabric->is_direct = true;
}

/* Of a port that carries `share` of its rate when bytes are staged. */
static uint64_t at_port(const struct fabric *fabric, uint64_t usage, double share)
{
    return fabric->is_direct ? (uint64_t)((double)usage * share + 0.5) : usage;
}

void fabric_trace_group(struct fabric *fabric, uint32_t count)
{
    sim_assert(count >= 1);
    fabric->meshed = count > 2 ? count : 2; /* one GPU alone may send through a relay beside it */
}

/* Of a GPU's links, where some of them lead out of the group: as if all carried more. */
static uint64_t in_mesh(const struct fabric *fabric, uint64_t usage)
{
    const struct cluster *cluster = fabric->cluster;
    const double reach = (double)(fabric->meshed - 1) * cluster->peer_bytes_per_s;
    const bool is_whole = reach <= 0 || reach >= cluster->scale_up_bytes_per_s;
    return is_whole ? usage
                    : (uint64_t)((double)usage * cluster->scale_up_bytes_per_s / reach + 0.5);
}

/* What arrives at a port, evenly over its links. */
static void touch_port_in(struct fabric *fabric, uint32_t port, uint64_t usage)
{
    const uint32_t lanes = fabric->lanes_in;
    usage = at_port(fabric, usage, fabric->lane_share);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        touch(fabric, LINK_NIC_IN, port * lanes + lane, usage / lanes + (lane < usage % lanes));
    }
}

/* ---- between switches: ECMP --------------------------------------------------------- */

/* A connection between two NIC ports of the cluster. */
struct connection {
    uint32_t from_port, to_port; /* node * ports + port */
    uint32_t path;
};

enum { ARRIVAL = INT32_MAX }; /* the hop at which a bonded port is picked */

static uint32_t pick(const struct fabric *fabric, const struct connection *connection, uint32_t hop,
                     uint32_t count)
{
    if (count == 1) {
        return 0;
    }
    const struct rng_key key = {
        .seed = fabric->ecmp_seed,
        .rank = connection->from_port,
        .step = connection->to_port,
        .operation = (uint64_t)connection->path << 32 | hop,
    };
    return (uint32_t)rng_below(&key, count);
}

/* The link that a connection takes out of `at`; without ECMP the first that is open. */
static uint32_t step(const struct fabric *fabric, const struct connection *connection, uint32_t at,
                     uint32_t to, uint32_t hop)
{
    const bool is_hashed = fabric->cluster->routing == ROUTING_ECMP;
    const uint32_t count = topology_next(&fabric->topology, at, to, fabric->scratch_next);
    sim_assert(count > 0);
    sim_assert(hop < fabric->topology.switch_count); /* else it goes in a loop */
    return fabric->scratch_next[is_hashed ? pick(fabric, connection, hop, count) : 0];
}

/* Each connection on its own way, to one of the links into the port. */
static void send_by_hash(struct fabric *fabric, struct connection connection, uint64_t usage)
{
    const struct topology *topology = &fabric->topology;
    const uint32_t paths = (uint32_t)fabric->cluster->ecmp_paths;
    const uint32_t to = topology->port_switch[connection.to_port];
    for (connection.path = 0; connection.path < paths; connection.path++) {
        const uint64_t part = usage / paths + (connection.path < usage % paths);
        uint32_t at = topology->port_switch[connection.from_port];
        uint32_t hop = 0;
        for (; at != to; hop++) {
            const uint32_t link = step(fabric, &connection, at, to, hop);
            touch_between(fabric, link, part);
            at = topology->links[link].to;
        }
        const uint32_t lane = pick(fabric, &connection, ARRIVAL, fabric->lanes_in);
        touch(fabric, LINK_NIC_IN, connection.to_port * fabric->lanes_in + lane,
              at_port(fabric, part, fabric->lane_share));
        see_hops(fabric, hop + 1);
    }
}

/* ---- between switches: adaptive ----------------------------------------------------- */

/* Finds what can be reached from `at` on ways to `to`, and over how many links each is. */
static void count_ways(struct fabric *fabric, uint32_t at, uint32_t to)
{
    const struct topology *topology = &fabric->topology;
    struct fabric_spread *spread = fabric->spread;
    uint32_t reached = 1;
    spread->queue[0] = at;
    for (uint32_t i = 0; i < reached; i++) {
        const uint32_t from = spread->queue[i];
        const uint32_t count =
            from == to ? 0 : topology_next(topology, from, to, fabric->scratch_next);
        sim_assert(from == to || count > 0);
        for (uint32_t k = 0; k < count; k++) {
            const uint32_t next = topology->links[fabric->scratch_next[k]].to;
            if (spread->ways_in[next]++ == 0) {
                sim_assert(next != at);
                spread->queue[reached++] = next;
            }
        }
    }
}

/* Splits what a switch holds over its next hops; appends those that then wait for nothing. */
static uint32_t pass_on(struct fabric *fabric, uint32_t from, uint32_t to, uint32_t waiting)
{
    const struct topology *topology = &fabric->topology;
    struct fabric_spread *spread = fabric->spread;
    const uint32_t count = topology_next(topology, from, to, fabric->scratch_next);
    const uint64_t usage = spread->usage[from];
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t link = fabric->scratch_next[k];
        const uint32_t next = topology->links[link].to;
        const uint64_t part = usage / count + (k < usage % count);
        touch_between(fabric, link, part);
        spread->usage[next] += part;
        if (spread->depth[next] < spread->depth[from] + 1) {
            spread->depth[next] = spread->depth[from] + 1;
        }
        if (--spread->ways_in[next] == 0) {
            spread->queue[waiting++] = next;
        }
    }
    spread->usage[from] = 0;
    spread->depth[from] = 0;
    return waiting;
}

/* From where the ways part: each switch after all that lead to it. `depth` switches lie
 * behind, `at` included. */
static void spread_from(struct fabric *fabric, uint32_t at, uint32_t to, uint64_t usage,
                        uint32_t depth)
{
    struct fabric_spread *spread = fabric->spread;
    count_ways(fabric, at, to);
    spread->usage[at] = usage;
    spread->depth[at] = depth;
    spread->queue[0] = at;
    uint32_t waiting = 1;
    for (uint32_t i = 0; spread->queue[i] != to; i++) {
        sim_assert(i < waiting);
        waiting = pass_on(fabric, spread->queue[i], to, waiting);
    }
    sim_assert(spread->usage[to] == usage);
    see_hops(fabric, spread->depth[to]);
    spread->usage[to] = 0;
    spread->depth[to] = 0;
}

/* Along the way that was found last. */
static void send_again(struct fabric *fabric, const struct fabric_way *way, uint64_t usage)
{
    for (uint32_t i = 0; i < way->count; i++) {
        touch_between(fabric, way->links[i], usage);
    }
    see_hops(fabric, way->count + 1);
}

/* From `at` on as far as the way does not part, which is noted; then over all ways. */
static void find_way(struct fabric *fabric, uint32_t at, uint32_t to, uint64_t usage)
{
    const struct topology *topology = &fabric->topology;
    struct fabric_way way = {.from = at, .to = to};
    uint32_t depth = 1;
    while (at != to) {
        const uint32_t count = topology_next(topology, at, to, fabric->scratch_next);
        sim_assert(count > 0);
        if (count > 1) {
            spread_from(fabric, at, to, usage, depth);
            return;
        }
        const uint32_t link = fabric->scratch_next[0];
        touch_between(fabric, link, usage);
        at = topology->links[link].to;
        if (depth <= FABRIC_WAY_LINKS) {
            way.links[depth - 1] = link;
        }
        depth++;
    }
    see_hops(fabric, depth);
    way.count = depth - 1;
    if (way.count <= FABRIC_WAY_LINKS) {
        fabric->spread->way = way;
    }
}

static void send_adaptively(struct fabric *fabric, uint32_t from, uint32_t to, uint64_t usage)
{
    const struct fabric_way *way = &fabric->spread->way;
    if (way->count > 0 && way->from == from && way->to == to) {
        send_again(fabric, way, usage);
    } else {
        find_way(fabric, from, to, usage);
    }
}

/* ---- sends -------------------------------------------------------------------------- */

/* Between ports of the cluster (node * ports + port). */
static void send_by_ports(struct fabric *fabric, uint32_t from_port, uint32_t to_port,
                          uint64_t usage)
{
    const uint32_t from = fabric->topology.port_switch[from_port];
    const uint32_t to = fabric->topology.port_switch[to_port];
    touch(fabric, LINK_NIC_OUT, from_port, at_port(fabric, usage, fabric->network_share));
    if (from != to && fabric->cluster->routing == ROUTING_ECMP) {
        send_by_hash(fabric, (struct connection){from_port, to_port, 0}, usage);
        return;
    }
    touch_port_in(fabric, to_port, usage);
    if (from == to) {
        see_hops(fabric, 1);
    } else {
        send_adaptively(fabric, from, to, usage);
    }
}

static uint32_t port_number(const struct fabric *fabric, uint32_t gpu)
{
    return fabric_node_of(fabric, gpu) * fabric->ports_per_node + fabric_port_of(fabric, gpu);
}

/* The GPU of the sender's node through which a message for `to` leaves: with PXN the one
 * whose port is on the same switch as the destination's port would be, else the sender. */
static uint32_t relay_of(const struct fabric *fabric, uint32_t from, uint32_t to)
{
    const struct cluster *cluster = fabric->cluster;
    const uint32_t node_first = fabric_node_of(fabric, from) * fabric->ports_per_node;
    const uint32_t *port_switch = fabric->topology.port_switch + node_first;
    const uint32_t own = fabric_port_of(fabric, from);
    const uint32_t wanted = fabric_port_of(fabric, to);
    if (port_switch[own] == port_switch[wanted] || !cluster_uses_pxn(cluster)) {
        return from;
    }
    const uint32_t per_node = (uint32_t)cluster->gpus_per_node;
    const uint32_t sharing = per_node / fabric->ports_per_node;
    const uint32_t relay =
        from / per_node * per_node + wanted * sharing + from % per_node % sharing;
    return relay < fabric->gpus ? relay : from;
}

void fabric_trace_send(struct fabric *fabric, uint32_t from, uint32_t to, uint64_t usage)
{
    sim_assert(from != to);
    sim_assert(from < fabric->gpus);
    sim_assert(to < fabric->gpus);
    if (fabric_domain_of(fabric, from) == fabric_domain_of(fabric, to)) {
        touch(fabric, LINK_SCALE_UP_OUT, from, in_mesh(fabric, usage));
        touch(fabric, LINK_SCALE_UP_IN, to, in_mesh(fabric, usage));
        return;
    }
    const uint32_t relay = relay_of(fabric, from, to);
    if (relay != from) {
        touch(fabric, LINK_SCALE_UP_OUT, from, in_mesh(fabric, usage));
        touch(fabric, LINK_SCALE_UP_IN, relay, in_mesh(fabric, usage));
    }
    send_by_ports(fabric, port_number(fabric, relay), port_number(fabric, to), usage);
}

void fabric_trace_scale_up(struct fabric *fabric, uint32_t gpu, uint64_t out, uint64_t in)
{
    touch(fabric, LINK_SCALE_UP_OUT, gpu, out);
    touch(fabric, LINK_SCALE_UP_IN, gpu, in);
}

/* Up or down between a leaf and what hangs above it, over all its links of that kind alike. */
static void touch_leaf(struct fabric *fabric, uint32_t leaf, bool is_up)
{
    const struct topology *topology = &fabric->topology;
    const uint32_t first = topology->out_first[leaf];
    const uint32_t end = topology->out_first[leaf + 1];
    uint32_t count = 0;
    for (uint32_t i = first; i < end; i++) {
        count += topology->links[topology->out_links[i]].kind == LINK_LEAF_UP;
    }
    uint64_t left = FLUID_USAGE_ONE;
    for (uint32_t i = first; i < end; i++) {
        const uint32_t link = topology->out_links[i];
        if (topology->links[link].kind == LINK_LEAF_UP) {
            const uint32_t way = is_up ? link : link ^ 1u; /* links are made in pairs */
            touch_between(fabric, way, left / count);
            left -= left / count--;
        }
    }
}

/* Of the time of a file system's servers, in bytes of its faster way. Rounded down, so that it
 * never binds who is alone. */
static uint64_t server_time(const struct fabric *fabric, enum link_kind kind)
{
    const double faster = (double)fabric->capacity[LINK_STORAGE_BOTH];
    return (uint64_t)((double)FLUID_USAGE_ONE * faster / (double)fabric->capacity[kind]);
}

/* Between the host's memory, or its drives, and the file system. */
static void trace_system(struct fabric *fabric, uint32_t gpu, bool is_read)
{
    touch(fabric, LINK_STORAGE_NODE, fabric_node_of(fabric, gpu), FLUID_USAGE_ONE);
    const enum link_kind system = is_read ? LINK_STORAGE_READ : LINK_STORAGE;
    touch(fabric, system, 0, FLUID_USAGE_ONE);
    touch(fabric, LINK_STORAGE_BOTH, 0, server_time(fabric, system));
    if (fabric->cluster->storage_network == STORAGE_ON_FABRIC) {
        const uint32_t port = port_number(fabric, gpu);
        if (is_read) {
            touch_port_in(fabric, port, FLUID_USAGE_ONE);
        } else {
            touch(fabric, LINK_NIC_OUT, port, FLUID_USAGE_ONE);
        }
        touch_leaf(fabric, fabric->topology.port_switch[port], !is_read);
    }
}

/* What each way crosses. */
static const struct {
    bool leaves_gpu, writes_drives, reads_drives, uses_system, to_peer, is_read;
} storage_ways[] = {
    [STORAGE_COPY] = {.leaves_gpu = true},
    [STORAGE_OFFLOAD] = {.leaves_gpu = true},
    [STORAGE_WRITE] = {.leaves_gpu = true, .uses_system = true},
    [STORAGE_FLUSH] = {.uses_system = true},
    [STORAGE_READ] = {.uses_system = true, .is_read = true},
    [STORAGE_WRITE_LOCAL] = {.leaves_gpu = true, .writes_drives = true},
    [STORAGE_FLUSH_LOCAL] = {.writes_drives = true},
    [STORAGE_READ_LOCAL] = {.reads_drives = true},
    [STORAGE_DRAIN] = {.reads_drives = true, .uses_system = true},
    [STORAGE_WRITE_PEER] = {.leaves_gpu = true, .to_peer = true},
    [STORAGE_FLUSH_PEER] = {.to_peer = true},
    [STORAGE_READ_PEER] = {.to_peer = true, .is_read = true},
};

uint32_t fabric_peer_of(const struct fabric *fabric, uint32_t gpu)
{
    const uint32_t per_node = (uint32_t)fabric->cluster->gpus_per_node;
    const uint32_t node = fabric_node_of(fabric, gpu);
    const uint32_t below = (uint32_t)fabric->cluster->nodes_per_leaf;
    const uint32_t first = below > 0 ? node / below * below : 0;
    const uint32_t left = fabric->nodes - first;
    const uint32_t count = below > 0 && below < left ? below : left;
    sim_assert(fabric->nodes > 1);
    const uint32_t peer =
        count > 1 ? first + (node - first + 1) % count : (node + 1) % fabric->nodes;
    return peer * per_node + gpu % per_node;
}

/* To the peer's memory and back; the only node of a cluster has no peer, and crosses nothing. */
static void trace_peer(struct fabric *fabric, uint32_t gpu, bool is_read)
{
    if (fabric->nodes == 1) {
        return;
    }
    const uint32_t own = port_number(fabric, gpu);
    const uint32_t theirs = port_number(fabric, fabric_peer_of(fabric, gpu));
    send_by_ports(fabric, is_read ? theirs : own, is_read ? own : theirs, FLUID_USAGE_ONE);
}

bool fabric_storage_uses_nics(const struct cluster *cluster, enum storage_way way)
{
    return storage_ways[way].to_peer ||
           (storage_ways[way].uses_system && cluster->storage_network == STORAGE_ON_FABRIC);
}

void fabric_trace_storage(struct fabric *fabric, uint32_t gpu, enum storage_way way)
{
    const uint32_t node = fabric_node_of(fabric, gpu);
    if (storage_ways[way].leaves_gpu) {
        touch(fabric, LINK_HOST, gpu, FLUID_USAGE_ONE);
    }
    if (storage_ways[way].writes_drives) {
        touch(fabric, LINK_LOCAL, node, FLUID_USAGE_ONE);
    }
    if (storage_ways[way].reads_drives) {
        touch(fabric, LINK_LOCAL_READ, node, FLUID_USAGE_ONE);
    }
    if (storage_ways[way].uses_system) {
        trace_system(fabric, gpu, storage_ways[way].is_read);
    }
    if (storage_ways[way].to_peer) {
        trace_peer(fabric, gpu, storage_ways[way].is_read);
    }
}

/* ---- reduction in the network ------------------------------------------------------- */

/* Joins a leaf to the tree that grows around `root`: along its way to the root until the
 * way meets the tree, whose switches have a depth. Where several ways are open all leaves of a root
 * take the same one, by its hash, so that they meet early and trees of different roots part. */
static void join_tree(struct fabric *fabric, uint32_t leaf, uint32_t root, uint64_t usage)
{
    const struct topology *topology = &fabric->topology;
    struct fabric_spread *spread = fabric->spread;
    const struct connection tree = {.from_port = root, .to_port = root};
    uint32_t at = leaf;
    uint32_t hop = 0;
    while (spread->depth[at] == 0) {
        const uint32_t count = topology_next(topology, at, root, fabric->scratch_next);
        sim_assert(count > 0);
        const uint32_t link = fabric->scratch_next[pick(fabric, &tree, hop, count)];
        touch_between(fabric, link, usage);
        touch_between(fabric, link ^ 1u, usage);
        spread->depth[at] = 1;
        spread->queue[spread->waiting++] = at;
        at = topology->links[link].to;
        hop++;
    }
}

void fabric_trace_reduction(struct fabric *fabric, const uint32_t *gpus, uint32_t count,
                            uint64_t usage)
{
    struct fabric_spread *spread = fabric->spread;
    sim_assert(count > 0);
    const uint32_t root = fabric->topology.port_switch[port_number(fabric, gpus[0])];
    uint32_t last_port = UINT32_MAX;
    spread->waiting = 0;
    spread->depth[root] = 1;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t port = port_number(fabric, gpus[i]);
        if (port == last_port) {
            continue; /* neighbours that share a NIC */
        }
        const uint32_t leaf = fabric->topology.port_switch[port];
        touch(fabric, LINK_NIC_OUT, port, usage);
        touch_port_in(fabric, port, usage);
        see_hops(fabric, topology_distance(&fabric->topology, leaf, root) + 1u);
        join_tree(fabric, leaf, root, usage);
        last_port = port;
    }
    spread->depth[root] = 0;
    for (uint32_t i = 0; i < spread->waiting; i++) {
        spread->depth[spread->queue[i]] = 0;
    }
}

/* ---- the finished route ------------------------------------------------------------- */

static int compare_links(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Sorting many links costs more than looking at all there are. */
enum { SCAN_FACTOR = 32 };

/* Of a send there are a few, nearly in order. */
enum { FEW_LINKS = 12 };

static void insert_links(struct fabric *fabric)
{
    for (uint32_t i = 1; i < fabric->scratch_count; i++) {
        const uint32_t link = fabric->scratch_links[i];
        uint32_t at = i;
        while (at > 0 && fabric->scratch_links[at - 1] > link) {
            fabric->scratch_links[at] = fabric->scratch_links[at - 1];
            at--;
        }
        fabric->scratch_links[at] = link;
    }
}

static void order_links(struct fabric *fabric)
{
    if (fabric->scratch_count <= FEW_LINKS) {
        insert_links(fabric);
        return;
    }
    if ((uint64_t)fabric->scratch_count * SCAN_FACTOR < fabric->link_count) {
        qsort(fabric->scratch_links, fabric->scratch_count, sizeof *fabric->scratch_links,
              compare_links);
        return;
    }
    uint32_t count = 0;
    for (uint32_t link = 0; link < fabric->link_count; link++) {
        if (fabric->scratch_usage[link] > 0) {
            fabric->scratch_links[count++] = link;
        }
    }
    sim_assert(count == fabric->scratch_count);
}

void fabric_trace_again(struct fabric *fabric, const struct fabric_crossing *crossings,
                        uint32_t count, uint32_t hops_max)
{
    sim_assert(fabric->scratch_count == 0);
    for (uint32_t i = 0; i < count; i++) {
        fabric->scratch_links[i] = crossings[i].link;
        fabric->scratch_usage[crossings[i].link] = crossings[i].usage;
    }
    fabric->scratch_count = count;
    fabric->hops_max = hops_max;
}

/* Bytes/s of a transfer that has the link for itself. */
static double rate_on(const struct fabric *fabric, uint32_t link, uint64_t usage)
{
    return (double)fabric_usual_capacity(fabric, link) * (double)FLUID_USAGE_ONE / (double)usage;
}

void fabric_trace_end(struct fabric *fabric, struct fabric_route *route)
{
    order_links(fabric);
    *route = (struct fabric_route){
        .count = fabric->scratch_count, .hops_max = fabric->hops_max, .cap_bytes_per_s = INT64_MAX};
    route->crossings = arena_array(fabric->arena, route->count, sizeof *route->crossings);
    double least = 0;
    for (uint32_t i = 0; i < route->count; i++) {
        const uint32_t link = fabric->scratch_links[i];
        const uint64_t usage = fabric->scratch_usage[link];
        const double rate = rate_on(fabric, link, usage);
        route->crossings[i] = (struct fabric_crossing){link, usage};
        fabric->scratch_usage[link] = 0;
        if (i == 0 || rate < least) {
            least = rate;
            route->bottleneck = link;
        }
    }
    if (route->count > 0) {
        route->cap_bytes_per_s = topology_capacity(least);
    }
    fabric->scratch_count = 0;
}

/* ---- describing --------------------------------------------------------------------- */

struct path {
    uint32_t *links;
    uint32_t count, max;
};

static void path_add(struct path *path, uint32_t link)
{
    if (path->count < path->max) {
        path->links[path->count++] = link;
    }
}

uint32_t fabric_path(const struct fabric *fabric, uint32_t from, uint32_t to, uint32_t *links,
                     uint32_t max)
{
    struct path path = {.links = links, .max = max};
    const bool is_near = fabric_domain_of(fabric, from) == fabric_domain_of(fabric, to);
    const uint32_t relay = is_near ? to : relay_of(fabric, from, to);
    if (relay != from) {
        path_add(&path, fabric->first[LINK_SCALE_UP_OUT] + from);
        path_add(&path, fabric->first[LINK_SCALE_UP_IN] + relay);
    }
    if (is_near) {
        return path.count;
    }
    const struct connection connection = {.from_port = port_number(fabric, relay),
                                          .to_port = port_number(fabric, to)};
    path_add(&path, fabric->first[LINK_NIC_OUT] + connection.from_port);
    const struct topology *topology = &fabric->topology;
    const uint32_t end = topology->port_switch[connection.to_port];
    uint32_t at = topology->port_switch[connection.from_port];
    for (uint32_t hop = 0; at != end; hop++) {
        const uint32_t link = step(fabric, &connection, at, end, hop);
        path_add(&path, fabric->first[LINK_SWITCH_FIRST_] + link);
        at = topology->links[link].to;
    }
    const bool is_hashed = topology->port_switch[connection.from_port] != end;
    const uint32_t lane = is_hashed ? pick(fabric, &connection, ARRIVAL, fabric->lanes_in) : 0;
    path_add(&path, fabric->first[LINK_NIC_IN] + connection.to_port * fabric->lanes_in + lane);
    return path.count;
}

/* All flows at one rate, which is what the fullest link allows: max-min fair rates have the
 * same smallest one. In fabrics of equal nodes it is the rate of all. */
double fabric_bisection(struct fabric *fabric)
{
    const uint32_t half = fabric->nodes / 2;
    const uint32_t flows = half * fabric->ports_per_node;
    if (flows == 0) {
        return 0;
    }
    fabric_trace_begin(fabric);
    for (uint32_t port = 0; port < flows; port++) {
        send_by_ports(fabric, port, port + flows, FLUID_USAGE_ONE);
    }
    double least =
        rate_on(fabric, fabric->scratch_links[0], fabric->scratch_usage[fabric->scratch_links[0]]);
    for (uint32_t i = 0; i < fabric->scratch_count; i++) {
        const uint32_t link = fabric->scratch_links[i];
        const double rate = rate_on(fabric, link, fabric->scratch_usage[link]);
        least = rate < least ? rate : least;
        fabric->scratch_usage[link] = 0;
    }
    fabric->scratch_count = 0;
    return least * flows;
}
