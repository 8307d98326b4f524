/* Reads a cluster, section by section. Zero bandwidths are errors: a link
 * that does not exist is left out by the fabric, not set to nothing.
 */
#include "spec/cluster.h"

#include "spec/section.h"

static const char *const scale_up_names[] = {"nvswitch", "pcie"};
static const char *const fabric_names[] = {"rail", "tree"};

/* ---- DEFAULTS of a cluster file ---- */
static const struct cluster cluster_defaults = {
    .oversubscription = 1.0,
    .pod_oversubscription = 1.0,
};

enum { NODES_MAX = 1000 * 1000, GPUS_PER_NODE_MAX = 1024 };
static const double EFFICIENCY_MIN = 0.01; /* efficiencies lie in (0, 1] */
static const double LINK_MIN = 1e3;        /* bytes/s */
static const double LINK_MAX = 1e15;
static const double LATENCY_MAX = 10.0; /* s */
static const double RATIO_MAX = 1e4;

static void read_scale_up(struct doc_map *map, struct cluster *cluster,
                          struct assumptions *assumptions)
{
    struct doc_map section;
    section_need(&section, map, "scale_up", "cluster", assumptions);
    section_need_choice(&section, "kind", scale_up_names, 2, &cluster->scale_up_kind);
    section_need_quantity(&section, "bandwidth", DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
                          &cluster->scale_up_bytes_per_s);
    section_need_quantity(&section, "efficiency", DIM_FRACTION, EFFICIENCY_MIN, 1.0,
                          &cluster->scale_up_efficiency);
    section_need_quantity(&section, "latency", DIM_SECONDS, 0.0, LATENCY_MAX,
                          &cluster->scale_up_latency_s);
    section_close(&section, map);
}

/* GPUs share NICs evenly, or NICs GPUs. */
static void check_nic_count(struct doc_map *map, const struct cluster *cluster)
{
    const int64_t nics = cluster->nics_per_node;
    const int64_t gpus = cluster->gpus_per_node;
    const struct doc_node *node = doc_find(map->node, "nics.count");
    if (nics == 0 || gpus == 0 || gpus % nics == 0 || nics % gpus == 0) {
        return;
    }
    diag_add(map->diag, DIAG_INPUT, node != NULL ? &node->place : &map->node->place,
             "%lld nics cannot be shared evenly by %lld gpus of a node", (long long)nics,
             (long long)gpus);
    diag_help(map->diag, "count must divide gpus_per_node or be a multiple of it");
    map->is_bad = true;
}

static void read_nics(struct doc_map *map, struct cluster *cluster, struct assumptions *assumptions)
{
    struct doc_map section;
    section_need(&section, map, "nics", "cluster", assumptions);
    section_need_count(&section, "count", 1, GPUS_PER_NODE_MAX, &cluster->nics_per_node);
    section_need_quantity(&section, "bandwidth", DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
                          &cluster->nic_bytes_per_s);
    section_need_quantity(&section, "efficiency", DIM_FRACTION, EFFICIENCY_MIN, 1.0,
                          &cluster->nic_efficiency);
    section_need_quantity(&section, "latency", DIM_SECONDS, 0.0, LATENCY_MAX,
                          &cluster->nic_latency_s);
    section_close(&section, map);
    check_nic_count(map, cluster);
}

static void read_fabric(struct doc_map *map, struct cluster *cluster,
                        struct assumptions *assumptions)
{
    struct doc_map section;
    section_need(&section, map, "fabric", "cluster", assumptions);
    section_need_choice(&section, "kind", fabric_names, 2, &cluster->fabric_kind);
    section_need_count(&section, "nodes_per_leaf", 1, NODES_MAX, &cluster->nodes_per_leaf);
    doc_get_quantity(&section, "oversubscription", DIM_COUNT, 1.0, RATIO_MAX,
                     &cluster->oversubscription);
    doc_get_count(&section, "leaves_per_pod", 1, NODES_MAX, &cluster->leaves_per_pod);
    doc_get_quantity(&section, "pod_oversubscription", DIM_COUNT, 1.0, RATIO_MAX,
                     &cluster->pod_oversubscription);
    section_need_quantity(&section, "hop_latency", DIM_SECONDS, 0.0, LATENCY_MAX,
                          &cluster->hop_latency_s);
    section_close(&section, map);
}

static void read_host_and_storage(struct doc_map *map, struct cluster *cluster,
                                  struct assumptions *assumptions)
{
    struct doc_map host;
    section_need(&host, map, "host", "cluster", assumptions);
    section_need_count(&host, "cores", 1, 1000000, &cluster->host_cores);
    section_need_quantity(&host, "memory", DIM_BYTES, 1e6, 1e18, &cluster->host_memory_bytes);
    section_need_quantity(&host, "power", DIM_WATT, 0.0, 1e7, &cluster->host_power_w);
    section_close(&host, map);

    struct doc_map storage;
    section_need(&storage, map, "storage", "cluster", assumptions);
    section_need_quantity(&storage, "write", DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
                          &cluster->storage_write_bytes_per_s);
    section_need_quantity(&storage, "read", DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
                          &cluster->storage_read_bytes_per_s);
    section_need_quantity(&storage, "per_node", DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
                          &cluster->storage_node_bytes_per_s);
    section_close(&storage, map);
}

bool cluster_read(const struct doc_node *node, struct cluster *cluster,
                  struct assumptions *assumptions, struct diag *diag)
{
    *cluster = cluster_defaults;
    cluster->place = node->place;
    struct doc_map map;
    if (!doc_map_open(&map, node, diag)) {
        return false;
    }
    cluster->name = "inline";
    doc_get_text(&map, "cluster", &cluster->name);
    cluster->title = cluster->name;
    doc_get_text(&map, "title", &cluster->title);
    assumptions_take(assumptions, &map, "cluster");
    if (doc_get_text(&map, "gpu", &cluster->gpu_name)) {
        cluster->gpu_place = doc_find(node, "gpu")->place;
    }
    section_need_count(&map, "gpus_per_node", 1, GPUS_PER_NODE_MAX, &cluster->gpus_per_node);
    doc_get_count(&map, "nodes", 1, NODES_MAX, &cluster->nodes_max);
    read_scale_up(&map, cluster, assumptions);
    read_nics(&map, cluster, assumptions);
    read_fabric(&map, cluster, assumptions);
    read_host_and_storage(&map, cluster, assumptions);
    struct doc_map collectives;
    section_open(&collectives, &map, "collectives", "cluster", assumptions);
    doc_get_quantity(&collectives, "launch", DIM_SECONDS, 0.0, LATENCY_MAX,
                     &cluster->collective_launch_s);
    section_close(&collectives, &map);
    return doc_finish(&map);
}
