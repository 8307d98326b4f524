/* A cluster of a given size: its links as hw/fabric has them, and what half of it
 * can send to the other half.
 *
 * Bisection, one way: half the NICs of the smaller side, or, when the pod has
 * several leaf groups, half of their up-links if these are fewer. Between pods
 * it is half of the pods' up-links, if these are fewer still.
 */
#include "cli/show_figures.h"

#include "base/arena.h"
#include "cli/numbers.h"
#include "hw/fabric.h"

#include <inttypes.h>

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static uint32_t links_of(const struct fabric *fabric, enum link_kind kind)
{
    return fabric->first[kind + 1] - fabric->first[kind];
}

static double capacity_of(const struct fabric *fabric, enum link_kind kind)
{
    return (double)fabric->capacity[kind];
}

static bool is_pod_link(uint32_t kind)
{
    return kind == LINK_POD_UP || kind == LINK_POD_DOWN;
}

static void add_links(struct sheet *sheet, const struct fabric *fabric, bool has_host_link)
{
    struct arena *arena = sheet->arena;
    struct listing *table = sheet_table(sheet, "links");
    listing_column(table, "kind", "link, one way", false);
    listing_column(table, "count", "links", true);
    listing_column(table, "capacity_bytes_per_s", "achieved by each", true);
    listing_column(table, "total_bytes_per_s", "by all", true);
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        const uint32_t count = links_of(fabric, kind);
        const double capacity = capacity_of(fabric, kind);
        if ((is_pod_link(kind) && fabric->cluster->leaves_per_pod == 0) ||
            (kind == LINK_HOST && !has_host_link)) {
            continue;
        }
        listing_text(table, link_titles[kind]);
        listing_number(table, count, number_grouped(arena, count));
        listing_number(table, capacity, number_quantity(arena, capacity, DIM_BYTES_PER_S));
        listing_number(table, count * capacity,
                       number_quantity(arena, count * capacity, DIM_BYTES_PER_S));
    }
}

/* Of `nodes` nodes below one spine. */
static double bisection_of(const struct fabric *fabric, double nodes)
{
    const double nics = nodes * fabric->ports_per_node * capacity_of(fabric, LINK_NIC_OUT);
    const double groups = nodes / (double)fabric->cluster->nodes_per_leaf;
    const double leaves = groups * fabric->leaves_per_group * capacity_of(fabric, LINK_LEAF_UP);
    return groups > 1 ? smaller(nics, leaves) / 2 : nics / 2;
}

static void add_bisection(struct sheet *sheet, const struct fabric *fabric)
{
    const struct cluster *cluster = fabric->cluster;
    const double nodes = fabric->nodes;
    const double nodes_of_pod =
        cluster->leaves_per_pod > 0
            ? smaller(nodes, (double)(cluster->leaves_per_pod * cluster->nodes_per_leaf))
            : nodes;
    sheet_rate(sheet, "pod_bisection_bytes_per_s", bisection_of(fabric, nodes_of_pod));
    const double pods = fabric->pods * capacity_of(fabric, LINK_POD_UP) / 2;
    const double all = bisection_of(fabric, nodes);
    sheet_rate(sheet, "bisection_bytes_per_s", fabric->pods > 1 ? smaller(all, pods) : all);
}

static void add_network(struct sheet *sheet, const struct cluster *cluster)
{
    const double node = (double)cluster->nics_per_node * cluster->nic_bytes_per_s;
    const double gpu = node / (double)cluster->gpus_per_node;
    sheet_rate(sheet, "node_bytes_per_s", node);
    sheet_rate(sheet, "gpu_bytes_per_s", gpu);
    sheet_rate(sheet, "gpu_achieved_bytes_per_s", gpu * cluster->nic_efficiency);
    sheet_rate(sheet, "scale_up_bytes_per_s", cluster->scale_up_bytes_per_s);
    sheet_rate(sheet, "scale_up_achieved_bytes_per_s",
               cluster->scale_up_bytes_per_s * cluster->scale_up_efficiency);
}

void show_figures_cluster(struct sheet *sheet, const struct cluster *cluster, const struct gpu *gpu,
                          int64_t nodes)
{
    const struct gpu unknown = {.host_link_bytes_per_s = 1}; /* its link is left out */
    struct fabric fabric;
    sim_assert(nodes > 0 && nodes * cluster->gpus_per_node <= SCENARIO_GPUS_MAX);
    fabric_init(&fabric, sheet->arena, cluster, gpu != NULL ? gpu : &unknown,
                (uint32_t)(nodes * cluster->gpus_per_node));
    sheet_count(sheet, "nodes", nodes);
    sheet_count(sheet, "gpus", fabric.gpus);
    sheet_count(sheet, "leaf_switches", (int64_t)fabric.leaf_groups * fabric.leaves_per_group);
    sheet_count(sheet, "pods", fabric.pods);
    add_network(sheet, cluster);
    add_bisection(sheet, &fabric);
    add_links(sheet, &fabric, gpu != NULL);
}
