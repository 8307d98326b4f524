/* A cluster of a given size: its links as hw/fabric has them, how far its nodes are apart,
 * sample routes, and what half of it can send to the other half.
 *
 * Bisections are those of adaptive routing, which no hash can beat; with ECMP the rate that
 * the collisions of this seed leave stands beside it.
 */
#include "input/job/parallel.h"
#include "report/show/show_figures.h"

#include "base/arena.h"
#include "base/check.h"
#include "report/numbers.h"
#include "hw/fabric.h"

#include <inttypes.h>

enum {
    HOPS_MAX = 64,     /* rows of the table of distances; farther pairs count there */
    SOURCES_MAX = 128, /* nodes whose distances are looked at, evenly spaced */
    WALKS_MAX = 8,     /* the same where each way must be walked */
    ROUTES_MAX = 6,    /* sample routes */
    ROUTE_LINKS_MAX = 64,
    SHOW_SEED = 1, /* a scenario's default */
};

/* ---- links -------------------------------------------------------------------------- */

struct kind_sum {
    uint32_t count;
    int64_t least, most;
    double total;
};

static const char *capacity_text(struct arena *arena, const struct kind_sum *sum)
{
    const char *least = number_quantity(arena, (double)sum->least, DIM_BYTES_PER_S);
    return sum->most - sum->least <= 1 /* shares of a sum */
               ? least
               : arena_printf(arena, "%s to %s", least,
                              number_quantity(arena, (double)sum->most, DIM_BYTES_PER_S));
}

static void add_links(struct show_sheet *sheet, const struct fabric *fabric, bool has_host_link)
{
    struct arena *arena = sheet->arena;
    struct kind_sum sums[LINK_KIND_COUNT_] = {{0}};
    for (uint32_t link = 0; link < fabric->link_count; link++) {
        struct kind_sum *sum = &sums[fabric_link_kind(fabric, link)];
        const int64_t capacity = fabric_link_capacity(fabric, link);
        sum->least = sum->count == 0 || capacity < sum->least ? capacity : sum->least;
        sum->most = capacity > sum->most ? capacity : sum->most;
        sum->total += (double)capacity;
        sum->count++;
    }
    static const struct field fields[] = {
        {"kind", FIELD_LEFT("link, one way")},
        {"count", FIELD_COUNT("links")},
        {"capacity_bytes_per_s", FIELD_COUNT("achieved by each")},
        {"total_bytes_per_s", FIELD_COUNT("by all")},
    };
    struct sheet *table = show_sheet_table(sheet, "links", FIELD_LIST(fields));
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        const struct kind_sum *sum = &sums[kind];
        if (sum->count == 0 || (kind == LINK_HOST && !has_host_link)) {
            continue;
        }
        sheet_text(table, NULL, link_titles[kind]);
        sheet_number_as(table, NULL, sum->count, number_grouped(arena, sum->count));
        sheet_number_as(table, NULL, (double)sum->least, capacity_text(arena, sum));
        sheet_number_as(table, NULL, sum->total,
                        number_quantity(arena, sum->total, DIM_BYTES_PER_S));
    }
}

/* ---- how far ------------------------------------------------------------------------ */

/* Switches between the first ports of two nodes; 0 in one scale-up domain. */
static uint32_t hops_between(const struct fabric *fabric, uint32_t from, uint32_t to)
{
    const uint32_t per_node = (uint32_t)fabric->cluster->gpus_per_node;
    const struct topology *topology = &fabric->topology;
    if (fabric_domain_of(fabric, from * per_node) == fabric_domain_of(fabric, to * per_node)) {
        return 0;
    }
    if (topology->forced != NULL) {
        uint32_t links[ROUTE_LINKS_MAX];
        const uint32_t count =
            fabric_path(fabric, from * per_node, to * per_node, links, ROUTE_LINKS_MAX);
        uint32_t hops = 1;
        for (uint32_t i = 0; i < count; i++) {
            hops += links[i] >= fabric->first[LINK_SWITCH_FIRST_];
        }
        return hops;
    }
    return topology_distance(topology, topology->port_switch[(size_t)from * fabric->ports_per_node],
                             topology->port_switch[(size_t)to * fabric->ports_per_node]) +
           1u;
}

static void add_hops(struct show_sheet *sheet, const struct fabric *fabric)
{
    uint64_t pairs[HOPS_MAX + 1] = {0};
    uint64_t all = 0;
    const bool walks = fabric->topology.forced != NULL;
    const uint32_t step = fabric->nodes / (walks ? WALKS_MAX : SOURCES_MAX) + 1;
    for (uint32_t from = 0; from < fabric->nodes; from += step) {
        for (uint32_t to = 0; to < fabric->nodes; to++) {
            if (from != to) {
                const uint32_t hops = hops_between(fabric, from, to);
                pairs[hops < HOPS_MAX ? hops : HOPS_MAX]++;
                all++;
            }
        }
    }
    static const struct field fields[] = {
        {"switches", FIELD_LEFT("switches between two nodes")},
        {"share", FIELD_COUNT("of all pairs")},
    };
    struct sheet *table = show_sheet_table(sheet, "hops", FIELD_LIST(fields));
    for (uint32_t hops = 0; hops <= HOPS_MAX; hops++) {
        if (pairs[hops] > 0) {
            const double share = (double)pairs[hops] / (double)all;
            sheet_text(table, NULL,
                       hops == 0 ? "NVLink only"
                                 : arena_printf(sheet->arena, "%" PRIu32 "%s", hops,
                                                hops == HOPS_MAX ? " or more" : ""));
            sheet_number_as(table, NULL, share, arena_printf(sheet->arena, "%.2f %%", 100 * share));
        }
    }
}

/* ---- sample routes ------------------------------------------------------------------ */

/* "NVLink to GPU 5, node 0 port 5 -> leaf 5 -> spine 0 -> leaf 13 -> node 4 port 5" */
static const char *route_text(struct arena *arena, const struct fabric *fabric, uint32_t from,
                              uint32_t to)
{
    uint32_t links[ROUTE_LINKS_MAX];
    const uint32_t count = fabric_path(fabric, from, to, links, ROUTE_LINKS_MAX);
    const uint32_t first = fabric->first[LINK_SWITCH_FIRST_];
    const char *text = "";
    for (uint32_t i = 0; i < count; i++) {
        const enum link_kind kind = fabric_link_kind(fabric, links[i]);
        const unsigned long number = kind < LINK_SWITCH_FIRST_ ? links[i] - fabric->first[kind] : 0;
        const unsigned long ports = fabric->ports_per_node;
        if (kind == LINK_SCALE_UP_IN) {
            text = arena_printf(arena, "%sNVLink to GPU %lu%s", text, number,
                                i + 1 < count ? ", " : "");
        } else if (kind == LINK_NIC_OUT) {
            const uint32_t at = fabric->topology.port_switch[number];
            text = arena_printf(arena, "%snode %lu port %lu -> %s", text, number / ports,
                                number % ports, fabric_switch_name(arena, fabric, at));
        } else if (kind == LINK_NIC_IN) {
            const unsigned long port = number / fabric->lanes_in;
            text = arena_printf(arena, "%s -> node %lu port %lu", text, port / ports, port % ports);
        } else if (kind >= LINK_SWITCH_FIRST_) {
            const uint32_t to_switch = fabric->topology.links[links[i] - first].to;
            text =
                arena_printf(arena, "%s -> %s", text, fabric_switch_name(arena, fabric, to_switch));
        }
    }
    return text;
}

static void add_route(struct sheet *table, const struct fabric *fabric, uint32_t from, uint32_t to)
{
    sheet_integer(table, NULL, from);
    sheet_integer(table, NULL, to);
    sheet_text(table, NULL, route_text(sheet_arena(table), fabric, from, to));
}

/* From GPU 0: to its neighbour's other rail, and to the first node at each distance. */
static void add_routes(struct show_sheet *sheet, const struct fabric *fabric)
{
    const uint32_t per_node = (uint32_t)fabric->cluster->gpus_per_node;
    static const struct field fields[] = {
        {"from", FIELD_COUNT("from GPU")},
        {"to", FIELD_COUNT("to GPU")},
        {"route", FIELD_LEFT("by")},
    };
    struct sheet *table = show_sheet_table(sheet, "routes", FIELD_LIST(fields));
    bool seen[HOPS_MAX + 1] = {false};
    uint32_t rows = 0;
    for (uint32_t node = 1; node < fabric->nodes && rows < ROUTES_MAX; node++) {
        const uint32_t hops = hops_between(fabric, 0, node);
        const uint32_t row = hops < HOPS_MAX ? hops : HOPS_MAX;
        if (seen[row]) {
            continue;
        }
        seen[row] = true;
        add_route(table, fabric, 0, node * per_node);
        const uint32_t other = node * per_node + per_node - 1;
        if (rows == 0 && per_node > 1 && other < fabric->gpus) {
            add_route(table, fabric, 0, other);
        }
        rows++;
    }
}

/* ---- bisection ---------------------------------------------------------------------- */

static double bisection_of(struct show_sheet *sheet, const struct cluster *cluster,
                           enum routing_kind routing, int64_t nodes)
{
    static const struct gpu no_gpu = {.host_link_bytes_per_s = 1};
    struct cluster copy = *cluster;
    struct fabric fabric;
    copy.routing = routing;
    fabric_init(&fabric, sheet->arena, &copy, &no_gpu, (uint32_t)(nodes * cluster->gpus_per_node),
                SHOW_SEED);
    return fabric_bisection(&fabric);
}

/* Nodes of a pod, or of a dragonfly group; of the whole when there is no third level. */
static int64_t nodes_of_pod(const struct cluster *cluster, int64_t nodes)
{
    const int64_t leaves = cluster->fabric_kind == FABRIC_DRAGONFLY ? cluster->leaves_per_group
                                                                    : cluster->leaves_per_pod;
    const int64_t of_pod = leaves * cluster->nodes_per_leaf;
    return of_pod > 0 && of_pod < nodes ? of_pod : nodes;
}

static void add_bisection(struct show_sheet *sheet, const struct cluster *cluster, int64_t nodes)
{
    show_sheet_rate(sheet, "pod_bisection_bytes_per_s",
                    bisection_of(sheet, cluster, ROUTING_ADAPTIVE, nodes_of_pod(cluster, nodes)));
    show_sheet_rate(sheet, "bisection_bytes_per_s",
                    bisection_of(sheet, cluster, ROUTING_ADAPTIVE, nodes));
    if (cluster->routing == ROUTING_ECMP) {
        show_sheet_rate(sheet, "bisection_with_collisions_bytes_per_s",
                        bisection_of(sheet, cluster, ROUTING_ECMP, nodes));
    }
}

/* ---- all of it ---------------------------------------------------------------------- */

static void add_switches(struct show_sheet *sheet, const struct topology *topology)
{
    uint32_t levels[4] = {0};
    uint32_t pods = 1;
    for (uint32_t i = 0; i < topology->switch_count; i++) {
        const struct topology_switch *own = &topology->switches[i];
        sim_assert(own->level < 4);
        levels[own->level]++;
        pods = own->pod + 1 > pods ? own->pod + 1 : pods;
    }
    show_sheet_count(sheet, "leaf_switches", levels[1]);
    show_sheet_count(sheet, "spine_switches", levels[2]);
    show_sheet_count(sheet, "core_switches", levels[3]);
    show_sheet_count(sheet, "pods", pods);
}

/* "8 x ndr, each 400 Gbps" */
static const char *nics_text(struct arena *arena, const struct cluster *cluster)
{
    const bool has_kind = cluster->nic_kind[0] != '\0';
    return arena_printf(arena, "%" PRId64 " x %s, each %s", cluster->nics_per_node,
                        has_kind ? cluster->nic_kind : "no kind of topologies/nics",
                        number_gbps(arena, cluster->nic_bytes_per_s));
}

static void add_network(struct show_sheet *sheet, const struct cluster *cluster)
{
    const double node = (double)cluster->nics_per_node * cluster->nic_bytes_per_s;
    const double gpu = node / (double)cluster->gpus_per_node;
    show_sheet_text(sheet, "nics", nics_text(sheet->arena, cluster));
    show_sheet_rate(sheet, "node_bytes_per_s", node);
    show_sheet_rate(sheet, "gpu_bytes_per_s", gpu);
    show_sheet_rate(sheet, "gpu_achieved_bytes_per_s", gpu * cluster->nic_efficiency);
    show_sheet_rate(sheet, "scale_up_bytes_per_s", cluster->scale_up_bytes_per_s);
    show_sheet_rate(sheet, "scale_up_achieved_bytes_per_s",
                    cluster->scale_up_bytes_per_s * cluster->scale_up_efficiency);
}

void show_figures_cluster(struct show_sheet *sheet, const struct cluster *cluster,
                          const struct gpu *gpu, int64_t nodes)
{
    const struct gpu unknown = {.host_link_bytes_per_s = 1}; /* its link is left out */
    struct fabric fabric;
    sim_assert(nodes > 0);
    sim_assert(nodes * cluster->gpus_per_node <= SCENARIO_GPUS_MAX);
    struct cluster *provided = arena_alloc(sheet->arena, sizeof *provided);
    *provided = *cluster;
    cluster_provision(provided, nodes);
    fabric_init(&fabric, sheet->arena, provided, gpu != NULL ? gpu : &unknown,
                (uint32_t)(nodes * cluster->gpus_per_node), SHOW_SEED);
    show_sheet_count(sheet, "nodes", nodes);
    show_sheet_count(sheet, "gpus", fabric.gpus);
    show_sheet_count(sheet, "nvlink_domains", fabric.domains);
    add_switches(sheet, &fabric.topology);
    add_network(sheet, cluster);
    add_bisection(sheet, cluster, nodes);
    add_links(sheet, &fabric, gpu != NULL);
    if (nodes > 1) {
        add_hops(sheet, &fabric);
        add_routes(sheet, &fabric);
    }
}
