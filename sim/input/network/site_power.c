/* Each kind of fabric is one row: how many ports of switches a NIC needs.
 */
#include "input/network/site_power.h"

#include "base/ledger.h"
#include "input/scenario.h"

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* ---- ports for each NIC, of a cluster with so many nodes --------------------------------- */

static double ports_of_rail_only(const struct cluster *cluster, int64_t nodes)
{
    (void)cluster;
    (void)nodes;
    return 1.0;
}

/* As hw/topology_tree draws it: a rail has a leaf for each GPU's NIC, the others one. */
static bool has_spines(const struct cluster *cluster, int64_t nodes)
{
    const bool has_rails = cluster->fabric_kind == FABRIC_RAIL && cluster->nics_per_node > 1 &&
                           cluster->gpus_per_node > 1;
    return has_rails || nodes > cluster->nodes_per_leaf;
}

static double ports_of_levels(const struct cluster *cluster, int64_t nodes)
{
    if (!has_spines(cluster, nodes)) {
        return 1.0;
    }
    const double up = 1 / cluster->oversubscription;
    const int64_t leaves = divide_up(nodes, cluster->nodes_per_leaf);
    const bool has_cores = cluster->leaves_per_pod > 0 && leaves > cluster->leaves_per_pod;
    return 1 + 2 * up + (has_cores ? 2 * up / cluster->pod_oversubscription : 0);
}

static double ports_of_dragonfly(const struct cluster *cluster, int64_t nodes)
{
    if (!has_spines(cluster, nodes)) {
        return 1.0;
    }
    const double up = 1 / cluster->oversubscription;
    const int64_t leaves = divide_up(nodes, cluster->nodes_per_leaf);
    const bool has_groups = leaves > cluster->leaves_per_group;
    return 1 + 2 * up + (has_groups ? up / cluster->global_oversubscription : 0);
}

static double ports_of_torus(const struct cluster *cluster, int64_t nodes)
{
    double links = 0; /* of a node */
    for (uint32_t d = 0; d < TORUS_DIMENSIONS_MAX; d++) {
        links += cluster->dimensions[d] > 2 ? 2.0 : cluster->dimensions[d] == 2 ? 1.0 : 0.0;
    }
    (void)nodes;
    return 1 + links * cluster->torus_link_bytes_per_s /
                   (cluster->nic_bytes_per_s * (double)cluster->nics_per_node);
}

static double ports_of_explicit(const struct cluster *cluster, int64_t nodes)
{
    double ends_bytes_per_s = 0;
    int64_t hanging = 1; /* nodes */
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        const struct cluster_link *link = &cluster->links[i];
        ends_bytes_per_s += 2 * link->bytes_per_s * (double)link->count;
    }
    for (uint32_t i = 0; i < cluster->port_count; i++) {
        hanging = most(hanging, cluster->ports[i].node_last + 1);
    }
    (void)nodes;
    return 1 + ends_bytes_per_s /
                   (cluster->nic_bytes_per_s * (double)cluster->nics_per_node * (double)hanging);
}

static double (*const ports_of[FABRIC_KIND_COUNT_])(const struct cluster *cluster,
                                                    int64_t nodes) = {
    [FABRIC_RAIL] = ports_of_levels, [FABRIC_RAIL_ONLY] = ports_of_rail_only,
    [FABRIC_TREE] = ports_of_levels, [FABRIC_DRAGONFLY] = ports_of_dragonfly,
    [FABRIC_TORUS] = ports_of_torus, [FABRIC_EXPLICIT] = ports_of_explicit,
};

double site_ports_per_nic(const struct cluster *cluster, int64_t nodes)
{
    return ports_of[cluster->fabric_kind](cluster, most(nodes, cluster->nodes_max));
}

/* ---- power ------------------------------------------------------------------------------- */

static double nics_w(const struct cluster *cluster, double nics, struct ledger *ledger)
{
    const double nic_w = cluster->nic_power_w;
    const double optics_w = cluster->optics_power_w;
    return LEDGER_SUM(ledger, "NICs with optics", "kW", nics * (nic_w + optics_w),
                      LEDGER_TERM(nics, "NICs"), LEDGER_TERM(nic_w, "W"),
                      LEDGER_TERM(optics_w, "W"));
}

static double switches_w(const struct cluster *cluster, double nics, int64_t nodes,
                         struct ledger *ledger)
{
    const double each = site_ports_per_nic(cluster, nodes);
    const double port_w = cluster->port_power_w;
    const double optics_w = cluster->optics_power_w;
    return LEDGER_SUM(ledger, "switches with optics", "kW", nics * each * (port_w + optics_w),
                      LEDGER_TERM(nics, "NICs"), LEDGER_TERM(each, "ports"),
                      LEDGER_TERM(port_w, "W"), LEDGER_TERM(optics_w, "W"));
}

static double storage_w(const struct cluster *cluster, double nodes, double all,
                        struct ledger *ledger)
{
    const double whole_w = cluster->storage_power_w;
    const double each_w = cluster->storage_power_each_w;
    return whole_w > 0 ? LEDGER_SUM(ledger, "storage", "kW", whole_w * nodes / all,
                                    LEDGER_TERM(whole_w, "W"), LEDGER_TERM(nodes, "nodes"),
                                    LEDGER_TERM(all, "nodes of the cluster"))
                       : LEDGER_SUM(ledger, "storage", "kW", nodes * each_w,
                                    LEDGER_TERM(nodes, "nodes"), LEDGER_TERM(each_w, "W"));
}

struct site_power site_power_of(const struct cluster *cluster, int64_t nodes, struct ledger *ledger)
{
    const int64_t all = most(nodes, cluster->nodes_max);
    const double count = (double)nodes;
    const double nics = count * (double)cluster->nics_per_node;
    const double host_w = cluster->host_power_w;
    struct site_power power = {
        .hosts_w = LEDGER_SUM(ledger, "the rest of the nodes", "kW", count * host_w,
                              LEDGER_TERM(count, "nodes"), LEDGER_TERM(host_w, "W")),
        .nics_w = nics_w(cluster, nics, ledger),
        .switches_w = switches_w(cluster, nics, nodes, ledger),
        .storage_w = storage_w(cluster, count, (double)all, ledger),
    };
    power.beside_gpus_w =
        LEDGER_SUM(ledger, "beside the GPUs", "kW",
                   power.hosts_w + power.nics_w + power.switches_w + power.storage_w,
                   LEDGER_TERM(power.hosts_w, "W"), LEDGER_TERM(power.nics_w, "W"),
                   LEDGER_TERM(power.switches_w, "W"), LEDGER_TERM(power.storage_w, "W"));
    return power;
}

double site_power_w(const struct scenario *scenario, double gpus_w)
{
    const struct site_power power = site_power_of(&scenario->cluster, scenario->nodes, NULL);
    return scenario->price.pue * (gpus_w + power.beside_gpus_w);
}
