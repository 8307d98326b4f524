/* Links are numbered kind by kind, so a link's kind and owner follow from its number; the
 * links between switches come last and are the topology's.
 */
#include "hw/fabric.h"

#include "hw/fabric_spread.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"

#include <math.h>

const char *const link_titles[LINK_KIND_COUNT_] = {
    [LINK_SCALE_UP_OUT] = "scale-up port out",
    [LINK_SCALE_UP_IN] = "scale-up port in",
    [LINK_HOST] = "host link",
    [LINK_NIC_OUT] = "NIC out",
    [LINK_NIC_IN] = "NIC in",
    [LINK_STORAGE_NODE] = "node's storage link",
    [LINK_LOCAL] = "node's drives",
    [LINK_LOCAL_READ] = "node's drives, reading",
    [LINK_STORAGE] = "file system",
    [LINK_STORAGE_READ] = "file system, reading",
    [LINK_STORAGE_BOTH] = "file system, both ways",
    [LINK_LEAF_UP] = "leaf up-link",
    [LINK_LEAF_DOWN] = "leaf down-link",
    [LINK_POD_UP] = "pod up-link",
    [LINK_POD_DOWN] = "pod down-link",
    [LINK_GLOBAL] = "global link",
    [LINK_TORUS] = "torus link",
    [LINK_TRUNK] = "trunk",
};

/* ---- links -------------------------------------------------------------------------- */

static double scale_up_rate(const struct cluster *c, struct ledger *ledger)
{
    return LEDGER_SUM(ledger, "scale-up, of a GPU each way", "B/s",
                      c->scale_up_bytes_per_s * c->scale_up_efficiency,
                      LEDGER_TERM(c->scale_up_bytes_per_s, "B/s"),
                      LEDGER_TERM(c->scale_up_efficiency, ""));
}

/* Where the host's cores copy the data (TCP), all of them together bound all ports together. */
static double port_rate(const struct cluster *c, uint32_t ports, struct ledger *ledger)
{
    const double port_bytes_per_s =
        LEDGER_SUM(ledger, "a NIC port, each way", "B/s",
                   c->nic_bytes_per_s * c->nic_efficiency * (double)c->nics_per_node / ports,
                   LEDGER_TERM(c->nic_bytes_per_s, "B/s"), LEDGER_TERM(c->nic_efficiency, ""),
                   LEDGER_TERM(c->nics_per_node, "NICs"), LEDGER_TERM(ports, "ports"));
    if (!(c->core_bytes_per_s > 0.0)) {
        return port_bytes_per_s;
    }
    const double cores_bytes_per_s =
        LEDGER_SUM(ledger, "what the host's cores move of it", "B/s",
                   c->core_bytes_per_s * (double)c->host_cores / ports,
                   LEDGER_TERM(c->core_bytes_per_s, "B/s"), LEDGER_TERM(c->host_cores, "cores"),
                   LEDGER_TERM(ports, "ports"));
    return fmin(port_bytes_per_s, cores_bytes_per_s);
}

static double shared(double bytes_per_s, double share, struct ledger *ledger)
{
    return LEDGER_SUM(ledger, "for a step", "B/s", bytes_per_s * share,
                      LEDGER_TERM(bytes_per_s, "B/s"), LEDGER_TERM(share, ""));
}

/* GPUs of a port stage side by side. */
static double staged(const struct fabric *fabric, double port, double staging,
                     struct ledger *ledger)
{
    const double sharing = (double)fabric->cluster->gpus_per_node / fabric->ports_per_node;
    if (staging <= 0) {
        return port;
    }
    return LEDGER_SUM(ledger, "for a step", "B/s", 1 / (1 / port + 1 / (staging * sharing)),
                      LEDGER_TERM(port, "B/s"), LEDGER_TERM(staging, "B/s"),
                      LEDGER_TERM(sharing, "GPUs"));
}

void fabric_record(const struct fabric *fabric, struct fabric_losses losses, struct ledger *ledger)
{
    shared(scale_up_rate(fabric->cluster, ledger), losses.scale_up, ledger);
    staged(fabric, port_rate(fabric->cluster, fabric->ports_per_node, ledger),
           losses.staging_bytes_per_s, ledger);
}

static void set_capacities(struct fabric *fabric, const struct gpu *gpu)
{
    const struct cluster *c = fabric->cluster;
    const double scale_up = scale_up_rate(c, NULL);
    const double port = port_rate(c, fabric->ports_per_node, NULL);
    const double capacities[LINK_SWITCH_FIRST_] = {
        [LINK_SCALE_UP_OUT] = scale_up,
        [LINK_SCALE_UP_IN] = scale_up,
        [LINK_HOST] = gpu->host_link_bytes_per_s,
        [LINK_NIC_OUT] = port,
        [LINK_NIC_IN] = port / fabric->lanes_in,
        [LINK_STORAGE_NODE] = c->storage_node_bytes_per_s,
        [LINK_LOCAL] = c->local_write_bytes_per_s,
        [LINK_LOCAL_READ] = c->local_read_bytes_per_s,
        [LINK_STORAGE] = c->storage_write_bytes_per_s,
        [LINK_STORAGE_READ] = c->storage_read_bytes_per_s,
        [LINK_STORAGE_BOTH] = fmax(c->storage_write_bytes_per_s, c->storage_read_bytes_per_s),
    };
    for (uint32_t kind = 0; kind < LINK_SWITCH_FIRST_; kind++) { /* no link: no capacity */
        fabric->capacity[kind] = capacities[kind] > 0 ? topology_capacity(capacities[kind]) : 0;
    }
}

static void number_links(struct fabric *fabric)
{
    const uint32_t ports = fabric->nodes * fabric->ports_per_node;
    const uint32_t counts[LINK_SWITCH_FIRST_] = {
        [LINK_SCALE_UP_OUT] = fabric->gpus,
        [LINK_SCALE_UP_IN] = fabric->gpus,
        [LINK_HOST] = fabric->gpus,
        [LINK_NIC_OUT] = ports,
        [LINK_NIC_IN] = ports * fabric->lanes_in,
        [LINK_STORAGE_NODE] = fabric->nodes,
        [LINK_LOCAL] = cluster_has_drives(fabric->cluster) ? fabric->nodes : 0,
        [LINK_LOCAL_READ] = cluster_has_drives(fabric->cluster) ? fabric->nodes : 0,
        [LINK_STORAGE] = 1,
        [LINK_STORAGE_READ] = 1,
        [LINK_STORAGE_BOTH] = 1,
    };
    for (uint32_t kind = 0; kind < LINK_SWITCH_FIRST_; kind++) {
        fabric->first[kind + 1] = fabric->first[kind] + counts[kind];
    }
    fabric->link_count = fabric->first[LINK_SWITCH_FIRST_] + fabric->topology.link_count;
}

static void prepare_scratch(struct fabric *fabric)
{
    struct arena *arena = fabric->arena;
    const uint32_t switches = fabric->topology.switch_count;
    struct fabric_spread *spread = arena_alloc(arena, sizeof *spread);
    spread->usage = arena_array(arena, switches, sizeof *spread->usage);
    spread->ways_in = arena_array(arena, switches, sizeof *spread->ways_in);
    spread->depth = arena_array(arena, switches, sizeof *spread->depth);
    spread->queue = arena_room(arena, switches, sizeof *spread->queue);
    fabric->spread = spread;
    fabric->scratch_usage = arena_array(arena, fabric->link_count, sizeof *fabric->scratch_usage);
    fabric->scratch_links = arena_room(arena, fabric->link_count, sizeof *fabric->scratch_links);
    fabric->scratch_next =
        arena_room(arena, fabric->topology.degree_max, sizeof *fabric->scratch_next);
}

static uint32_t lanes_in(const struct cluster *cluster)
{
    const bool is_hashed = cluster->routing == ROUTING_ECMP && cluster->bonded_ports > 1;
    return is_hashed ? (uint32_t)cluster->bonded_ports : 1;
}

void fabric_init(struct fabric *fabric, struct arena *arena, const struct cluster *cluster,
                 const struct gpu *gpu, uint32_t gpus, uint64_t seed)
{
    const uint32_t per_node = (uint32_t)cluster->gpus_per_node;
    const uint32_t nics = (uint32_t)cluster->nics_per_node;
    const uint32_t domain_nodes = (uint32_t)cluster->domain_nodes;
    sim_assert(gpus > 0);
    sim_assert(domain_nodes > 0);
    *fabric = (struct fabric){.cluster = cluster,
                              .arena = arena,
                              .gpus = gpus,
                              .scale_up_share = 1,
                              .network_share = 1,
                              .lane_share = 1};
    fabric->nodes = (gpus + per_node - 1) / per_node;
    fabric->domains = (fabric->nodes + domain_nodes - 1) / domain_nodes;
    fabric->ports_per_node = nics < per_node ? nics : per_node;
    fabric->lanes_in = lanes_in(cluster);
    fabric->ecmp_seed = rng_mix(seed ^ rng_stream("ecmp"));
    topology_build(&fabric->topology, arena, cluster, fabric->nodes, fabric->ports_per_node);
    number_links(fabric);
    set_capacities(fabric, gpu);
    prepare_scratch(fabric);
}

enum link_kind fabric_link_kind(const struct fabric *fabric, uint32_t link)
{
    sim_assert(link < fabric->link_count);
    if (link >= fabric->first[LINK_SWITCH_FIRST_]) {
        return (enum link_kind)fabric->topology.links[link - fabric->first[LINK_SWITCH_FIRST_]]
            .kind;
    }
    uint32_t kind = 0;
    while (link >= fabric->first[kind + 1]) {
        kind++;
    }
    return (enum link_kind)kind;
}

void fabric_count_links(const struct fabric *fabric, uint32_t counts[LINK_KIND_COUNT_])
{
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        counts[kind] =
            kind < LINK_SWITCH_FIRST_ ? fabric->first[kind + 1] - fabric->first[kind] : 0;
    }
    for (uint32_t i = 0; i < fabric->topology.link_count; i++) {
        counts[fabric->topology.links[i].kind]++;
    }
}

static int64_t derated(int64_t capacity, double share)
{
    return topology_capacity((double)capacity * share);
}

void fabric_derate(struct fabric *fabric, struct fabric_losses losses)
{
    sim_assert(losses.scale_up > 0.0 && losses.scale_up <= 1.0);
    sim_assert(losses.staging_bytes_per_s >= 0.0);
    const double port = port_rate(fabric->cluster, fabric->ports_per_node, NULL);
    const double staging = losses.staging_bytes_per_s;
    const double lane = port / fabric->lanes_in;
    fabric->scale_up_share = losses.scale_up;
    fabric->network_share = staged(fabric, port, staging, NULL) / port;
    fabric->lane_share = staged(fabric, lane, staging, NULL) / lane;
    const struct {
        enum link_kind kind;
        double share;
    } links[] = {
        {LINK_SCALE_UP_OUT, losses.scale_up},
        {LINK_SCALE_UP_IN, losses.scale_up},
        {LINK_NIC_OUT, fabric->network_share},
        {LINK_NIC_IN, fabric->lane_share},
    };
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        int64_t *capacity = &fabric->capacity[links[i].kind];
        *capacity = derated(*capacity, links[i].share);
    }
}

static void weaken(struct fabric *fabric, enum link_kind kind, uint32_t number, double left)
{
    int64_t *weak = &fabric->weak[fabric->first[kind] + number];
    const int64_t capacity = derated(fabric->capacity[kind], left);
    *weak = *weak == 0 || capacity < *weak ? capacity : *weak;
}

void fabric_weaken(struct fabric *fabric, uint32_t gpu, struct fabric_weakness left)
{
    sim_assert(left.nic > 0.0 && left.nic <= 1.0);
    sim_assert(left.scale_up > 0.0 && left.scale_up <= 1.0);
    if (left.nic >= 1.0 && left.scale_up >= 1.0) {
        return;
    }
    if (fabric->weak == NULL) {
        fabric->weak = arena_array(fabric->arena, fabric->link_count, sizeof *fabric->weak);
    }
    const uint32_t port =
        fabric_node_of(fabric, gpu) * fabric->ports_per_node + fabric_port_of(fabric, gpu);
    weaken(fabric, LINK_SCALE_UP_OUT, gpu, left.scale_up);
    weaken(fabric, LINK_SCALE_UP_IN, gpu, left.scale_up);
    weaken(fabric, LINK_NIC_OUT, port, left.nic);
    for (uint32_t lane = 0; lane < fabric->lanes_in; lane++) {
        weaken(fabric, LINK_NIC_IN, port * fabric->lanes_in + lane, left.nic);
    }
}

int64_t fabric_usual_capacity(const struct fabric *fabric, uint32_t link)
{
    sim_assert(link < fabric->link_count);
    return link >= fabric->first[LINK_SWITCH_FIRST_]
               ? fabric->topology.links[link - fabric->first[LINK_SWITCH_FIRST_]].capacity
               : fabric->capacity[fabric_link_kind(fabric, link)];
}

int64_t fabric_link_capacity(const struct fabric *fabric, uint32_t link)
{
    const bool is_weak = fabric->weak != NULL && fabric->weak[link] > 0;
    return is_weak ? fabric->weak[link] : fabric_usual_capacity(fabric, link);
}

/* ---- places ------------------------------------------------------------------------- */

uint32_t fabric_node_of(const struct fabric *fabric, uint32_t gpu)
{
    debug_assert(gpu < fabric->gpus);
    return gpu / (uint32_t)fabric->cluster->gpus_per_node;
}

uint32_t fabric_domain_of(const struct fabric *fabric, uint32_t gpu)
{
    return fabric_node_of(fabric, gpu) / (uint32_t)fabric->cluster->domain_nodes;
}

uint32_t fabric_port_of(const struct fabric *fabric, uint32_t gpu)
{
    const uint32_t per_node = (uint32_t)fabric->cluster->gpus_per_node;
    return gpu % per_node * fabric->ports_per_node / per_node;
}

/* ---- names -------------------------------------------------------------------------- */

const char *fabric_switch_name(struct arena *arena, const struct fabric *fabric, uint32_t number)
{
    static const char *const levels[] = {"switch", "leaf", "spine", "core"};
    sim_assert(number < fabric->topology.switch_count);
    const struct topology_switch *place = &fabric->topology.switches[number];
    if (place->name != NULL) {
        return place->name;
    }
    const char *what = fabric->topology.shape == SHAPE_GRID ? "router" : levels[place->level];
    return arena_printf(arena, "%s %lu", what, (unsigned long)place->number);
}

static const char *switch_link_name(struct arena *arena, const struct fabric *fabric,
                                    uint32_t number)
{
    const struct topology_link *link = &fabric->topology.links[number];
    return arena_printf(arena, "%s -> %s", fabric_switch_name(arena, fabric, link->from),
                        fabric_switch_name(arena, fabric, link->to));
}

const char *fabric_link_name(struct arena *arena, const struct fabric *fabric, uint32_t link)
{
    const enum link_kind kind = fabric_link_kind(fabric, link);
    if (kind >= LINK_SWITCH_FIRST_) {
        return switch_link_name(arena, fabric, link - fabric->first[LINK_SWITCH_FIRST_]);
    }
    const unsigned long number = link - fabric->first[kind];
    const unsigned long ports = fabric->ports_per_node;
    const unsigned long lanes = fabric->lanes_in;
    switch (kind) {
    case LINK_NIC_OUT:
        return arena_printf(arena, "%s, node %lu port %lu", link_titles[kind], number / ports,
                            number % ports);
    case LINK_NIC_IN:
        return arena_printf(
            arena, lanes > 1 ? "%s, node %lu port %lu.%lu" : "%s, node %lu port %lu",
            link_titles[kind], number / lanes / ports, number / lanes % ports, number % lanes);
    case LINK_STORAGE_NODE:
    case LINK_LOCAL:
    case LINK_LOCAL_READ:
        return arena_printf(arena, "%s, node %lu", link_titles[kind], number);
    case LINK_STORAGE:
    case LINK_STORAGE_READ:
    case LINK_STORAGE_BOTH:
        return link_titles[kind];
    default:
        return arena_printf(arena, "%s, GPU %lu", link_titles[kind], number);
    }
}

/* ---- latencies ---------------------------------------------------------------------- */

double fabric_between_s(const struct fabric *fabric, uint32_t hops, struct ledger *ledger)
{
    const struct cluster *cluster = fabric->cluster;
    return LEDGER_SUM(hops > 0 ? ledger : NULL, "a message between nodes", "us",
                      cluster->nic_latency_s + hops * cluster->hop_latency_s,
                      LEDGER_TERM(cluster->nic_latency_s, "us"), LEDGER_TERM(hops, "switches"),
                      LEDGER_TERM(cluster->hop_latency_s, "us"));
}

double fabric_message_s(const struct fabric *fabric, const struct fabric_route *route,
                        struct ledger *ledger)
{
    const double software_s = fabric->cluster->round_latency_s;
    const double scale_up_s = fabric->cluster->scale_up_latency_s;
    if (route->hops_max == 0) {
        return LEDGER_SUM(ledger, "latency", "us", scale_up_s,
                          LEDGER_TERM(scale_up_s, "us in a node"));
    }
    const double between_s = fabric_between_s(fabric, route->hops_max, ledger);
    return LEDGER_SUM(ledger, "latency", "us", between_s + software_s, LEDGER_TERM(between_s, "us"),
                      LEDGER_TERM(software_s, "us of software"));
}
