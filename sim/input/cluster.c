/* Reads a cluster file section by section. Zero bandwidths are errors: a link
 * that does not exist is left out by the fabric, not set to nothing.
 */
#include "input/cluster.h"

#include "input/cluster_explicit.h"
#include "input/doc/section.h"

#include "base/arena.h"

#include <math.h>

static const char *const scale_up_names[] = {"nvswitch", "pcie"};

const char *const fabric_kind_names[FABRIC_KIND_COUNT_] = {
    [FABRIC_RAIL] = "rail",   [FABRIC_RAIL_ONLY] = "rail-only",
    [FABRIC_TREE] = "tree",   [FABRIC_DRAGONFLY] = "dragonfly",
    [FABRIC_TORUS] = "torus", [FABRIC_EXPLICIT] = "explicit",
};

static const char *const storage_network_names[] = {"own", "fabric"};
const char *const routing_names[2] = {[ROUTING_ADAPTIVE] = "adaptive", [ROUTING_ECMP] = "ecmp"};

/* ---- DEFAULTS of a cluster file ----------------------------------------------------- */
static const struct cluster cluster_defaults = {
    .domain_nodes = 1,
    .routing = ROUTING_ADAPTIVE,
    .ecmp_paths = 2,
    .has_pxn = true,
    .oversubscription = 1.0,
    .pod_oversubscription = 1.0,
    .global_oversubscription = 1.0,
    .dimensions = {1, 1, 1},
    .library_name = "nccl-2026",
};

enum {
    NODES_MAX = 1000 * 1000,
    GPUS_PER_NODE_MAX = 1024,
    ECMP_PATHS_MAX = 64,
    GRID_MAX = 1 << 17,  /* routers of a torus */
    PARALLEL_MAX = 4096, /* up-links of one switch */
};
static const double EFFICIENCY_MIN = 0.01; /* efficiencies lie in (0, 1] */
static const double LINK_MIN = 1e3;        /* bytes/s */
static const double LINK_MAX = 1e15;
static const double LATENCY_MAX = 10.0; /* s */
static const double RATIO_MAX = 1e4;

/* ---- inside a node ------------------------------------------------------------------ */

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
    doc_get_bool(&section, "multicast", &cluster->has_multicast);
    doc_get_count(&section, "domain_nodes", 1, NODES_MAX, &cluster->domain_nodes);
    if (cluster->scale_up_kind == SCALE_UP_PCIE && section.node != NULL &&
        (cluster->has_multicast || cluster->domain_nodes > 1)) {
        const char *key = cluster->has_multicast ? "multicast" : "domain_nodes";
        diag_add(map->diag, DIAG_INPUT, &doc_find(section.node, key)->place,
                 "'%s' is for scale_up kind nvswitch, not pcie", key);
        map->is_bad = true;
    }
    section_close(&section, map);
}

/* ---- NICs --------------------------------------------------------------------------- */

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

static bool is_set(const struct doc_node *node)
{
    return node->place.line == 0; /* files' lines count from 1 */
}

void cluster_settle_network(struct doc_node *cluster)
{
    const struct doc_node *whole = doc_find(cluster, "network");
    const struct doc_node *each = doc_find(cluster, "nics.bandwidth");
    if (whole == NULL || each == NULL || is_set(whole) == is_set(each)) {
        return;
    }
    struct doc_node *holder = is_set(whole) ? doc_find(cluster, "nics") : cluster;
    struct doc_node **link = doc_link(holder, is_set(whole) ? "bandwidth" : "network");
    *link = (*link)->next;
}

/* As much by each NIC as the node has, or the other way about. */
static void read_network(struct doc_map *map, struct doc_map *nics, struct cluster *cluster)
{
    const struct doc_node *whole = doc_take(map, "network");
    if (whole == NULL) {
        section_need_quantity(nics, "bandwidth", DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
                              &cluster->nic_bytes_per_s);
        cluster->network_bytes_per_s = (double)cluster->nics_per_node * cluster->nic_bytes_per_s;
        return;
    }
    if (doc_take(nics, "bandwidth") != NULL) {
        diag_add(map->diag, DIAG_INPUT, &whole->place,
                 "'network' and 'nics.bandwidth' both say how fast the NICs are");
        diag_help(map->diag, "keep one: network is of all NICs of a node together, "
                             "nics.bandwidth of one NIC");
        map->is_bad = true;
        return;
    }
    const double nic_count = fmax((double)cluster->nics_per_node, 1.0); /* 0: told already */
    doc_get_quantity(map, "network", DIM_LINK_BYTES_PER_S, LINK_MIN * nic_count, LINK_MAX,
                     &cluster->network_bytes_per_s);
    cluster->nic_bytes_per_s = cluster->network_bytes_per_s / nic_count;
}

static void read_nics(struct doc_map *map, struct cluster *cluster, struct assumptions *assumptions)
{
    struct doc_map section;
    section_need(&section, map, "nics", "cluster", assumptions);
    section_need_count(&section, "count", 1, GPUS_PER_NODE_MAX, &cluster->nics_per_node);
    read_network(map, &section, cluster);
    section_need_quantity(&section, "efficiency", DIM_FRACTION, EFFICIENCY_MIN, 1.0,
                          &cluster->nic_efficiency);
    section_need_quantity(&section, "latency", DIM_SECONDS, 0.0, LATENCY_MAX,
                          &cluster->nic_latency_s);
    doc_get_quantity(&section, "round_latency", DIM_SECONDS, 0.0, LATENCY_MAX,
                     &cluster->round_latency_s);
    section_close(&section, map);
    check_nic_count(map, cluster);
}

/* ---- fabric: which keys belong to which kind ---------------------------------------- */

#define KIND(name) (1u << FABRIC_##name)
#define LEAF_KINDS (KIND(RAIL) | KIND(RAIL_ONLY) | KIND(TREE) | KIND(DRAGONFLY))

struct kind_key {
    const char *key;
    uint32_t kinds;
    bool is_needed;
};

static const struct kind_key kind_keys[] = {
    {"nodes_per_leaf", LEAF_KINDS, true},
    {"oversubscription", LEAF_KINDS, false},
    {"uplink", LEAF_KINDS, false},
    {"leaves_per_pod", KIND(RAIL) | KIND(TREE), false},
    {"pod_oversubscription", KIND(RAIL) | KIND(TREE), false},
    {"leaves_per_group", KIND(DRAGONFLY), true},
    {"global_oversubscription", KIND(DRAGONFLY), false},
    {"dimensions", KIND(TORUS), true},
    {"link", KIND(TORUS), true},
    {"switches", KIND(EXPLICIT), true},
    {"links", KIND(EXPLICIT), false},
    {"routes", KIND(EXPLICIT), false},
};
enum { KIND_KEY_COUNT = sizeof kind_keys / sizeof *kind_keys };

/* "rail or tree" */
static const char *kinds_text(struct arena *arena, uint32_t kinds)
{
    const char *text = NULL;
    for (uint32_t kind = 0; kind < FABRIC_KIND_COUNT_; kind++) {
        if ((kinds >> kind & 1u) != 0) {
            const bool is_last = kinds >> kind == 1u;
            text = text == NULL ? fabric_kind_names[kind]
                                : arena_printf(arena, "%s%s%s", text, is_last ? " or " : ", ",
                                               fabric_kind_names[kind]);
        }
    }
    return text;
}

/* Keys of other kinds are errors; those of this one that must be there are missed. */
static void check_kind_keys(struct arena *arena, struct doc_map *section,
                            const struct cluster *cluster)
{
    for (uint32_t i = 0; i < KIND_KEY_COUNT; i++) {
        const struct kind_key *row = &kind_keys[i];
        if ((row->kinds >> cluster->fabric_kind & 1u) != 0) {
            if (row->is_needed) {
                doc_require(section, row->key);
            }
            continue;
        }
        if (section->node == NULL || doc_find(section->node, row->key) == NULL) {
            continue;
        }
        const struct doc_node *node = doc_take(section, row->key);
        diag_add(section->diag, DIAG_INPUT, &node->key_place, "'%s' is for fabric kind %s, not %s",
                 row->key, kinds_text(arena, row->kinds), fabric_kind_names[cluster->fabric_kind]);
        section->is_bad = true;
    }
}

/* ---- fabric: values ----------------------------------------------------------------- */

static bool is_one_of(const struct cluster *cluster, uint32_t kinds)
{
    return (kinds >> cluster->fabric_kind & 1u) != 0;
}

static void read_leaves(struct doc_map *section, struct cluster *cluster)
{
    doc_get_count(section, "nodes_per_leaf", 1, NODES_MAX, &cluster->nodes_per_leaf);
    doc_get_quantity(section, "oversubscription", DIM_COUNT, 1.0, RATIO_MAX,
                     &cluster->oversubscription);
    cluster->uplink_bytes_per_s = cluster->nic_bytes_per_s;
    doc_get_quantity(section, "uplink", DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
                     &cluster->uplink_bytes_per_s);
    if (cluster->fabric_kind == FABRIC_RAIL_ONLY && cluster->oversubscription > 1) {
        diag_add(section->diag, DIAG_INPUT, &doc_find(section->node, "oversubscription")->place,
                 "a rail-only fabric has no up-links that could be oversubscribed");
        section->is_bad = true;
    }
}

static void read_upper_levels(struct doc_map *section, struct cluster *cluster)
{
    if (is_one_of(cluster, KIND(RAIL) | KIND(TREE))) {
        doc_get_count(section, "leaves_per_pod", 1, NODES_MAX, &cluster->leaves_per_pod);
        doc_get_quantity(section, "pod_oversubscription", DIM_COUNT, 1.0, RATIO_MAX,
                         &cluster->pod_oversubscription);
    } else if (cluster->fabric_kind == FABRIC_DRAGONFLY) {
        doc_get_count(section, "leaves_per_group", 1, NODES_MAX, &cluster->leaves_per_group);
        doc_get_quantity(section, "global_oversubscription", DIM_COUNT, 1.0, RATIO_MAX,
                         &cluster->global_oversubscription);
    }
}

/* ECMP builds every link: a slow up-link below a wide leaf would make very many. */
static void check_uplinks(struct doc_map *section, const struct cluster *cluster)
{
    const bool is_rail = cluster->fabric_kind == FABRIC_RAIL;
    if (cluster->routing != ROUTING_ECMP || !(cluster->uplink_bytes_per_s > 0)) {
        return;
    }
    const double ports = (double)cluster->nodes_per_leaf * (double)cluster->nics_per_node;
    const double leaf =
        ports * cluster->nic_bytes_per_s / cluster->oversubscription /
        (is_rail ? fmin((double)cluster->nics_per_node, (double)cluster->gpus_per_node) : 1);
    if (leaf / cluster->uplink_bytes_per_s <= PARALLEL_MAX) {
        return;
    }
    const struct doc_node *node = doc_find(section->node, "uplink");
    node = node != NULL ? node : doc_find(section->node, "nodes_per_leaf");
    diag_add(section->diag, DIAG_INPUT, node != NULL ? &node->place : &section->node->place,
             "a leaf would have %.0f up-links, and ecmp takes at most %d",
             leaf / cluster->uplink_bytes_per_s, PARALLEL_MAX);
    diag_help(section->diag, "use a faster uplink, or routing adaptive");
    section->is_bad = true;
}

/* [4, 4, 8] */
static void read_dimensions(struct doc_map *section, struct cluster *cluster)
{
    const struct doc_node *list = doc_take(section, "dimensions");
    if (list == NULL) {
        return;
    }
    const uint32_t count = list->kind == DOC_SEQUENCE ? doc_child_count(list) : 0;
    if (count < 2 || count > TORUS_DIMENSIONS_MAX) {
        diag_add(section->diag, DIAG_INPUT, &list->place,
                 "'dimensions' must be two or three counts of nodes, such as [4, 4, 8]");
        section->is_bad = true;
        return;
    }
    int64_t routers = 1;
    const struct doc_node *item = list->child;
    for (uint32_t d = 0; d < count; d++, item = item->next) {
        if (!doc_node_count(item, 1, GRID_MAX, &cluster->dimensions[d], section->diag)) {
            section->is_bad = true;
        }
        routers *= cluster->dimensions[d];
    }
    if (routers > GRID_MAX) {
        diag_add(section->diag, DIAG_INPUT, &list->place,
                 "'dimensions' make %lld nodes; at most %d can be simulated", (long long)routers,
                 GRID_MAX);
        section->is_bad = true;
    }
}

static void read_routing(struct doc_map *section, struct cluster *cluster)
{
    section_need_quantity(section, "hop_latency", DIM_SECONDS, 0.0, LATENCY_MAX,
                          &cluster->hop_latency_s);
    doc_get_choice(section, "routing", routing_names, 2, &cluster->routing);
    doc_get_count(section, "ecmp_paths", 1, ECMP_PATHS_MAX, &cluster->ecmp_paths);
    doc_get_bool(section, "pxn", &cluster->has_pxn);
    doc_get_bool(section, "in_network_reduction", &cluster->has_in_network_reduction);
    const struct doc_node *pxn = doc_take(section, "pxn");
    if (cluster->fabric_kind == FABRIC_RAIL_ONLY && !cluster->has_pxn && pxn != NULL) {
        diag_add(section->diag, DIAG_INPUT, &pxn->place,
                 "without pxn there is no way between the rails of a rail-only fabric");
        diag_help(section->diag, "use pxn: true, or kind rail");
        section->is_bad = true;
    }
}

/* Its checks need the nodes and NICs, so they wait for these to be right. */
static void read_explicit(struct arena *arena, struct doc_map *section, const struct doc_map *map,
                          struct cluster *cluster)
{
    if (section->is_bad || map->is_bad) {
        doc_take(section, "links");
        doc_take(section, "routes");
        return;
    }
    cluster_explicit_read(arena, section, cluster);
}

static void read_fabric(struct arena *arena, struct doc_map *map, struct cluster *cluster,
                        struct assumptions *assumptions)
{
    struct doc_map section;
    section_need(&section, map, "fabric", "cluster", assumptions);
    const struct doc_node *node = section.node;
    cluster->fabric_place = node != NULL ? node->place : map->node->place;
    const bool is_known = section_need_choice(&section, "kind", fabric_kind_names,
                                              FABRIC_KIND_COUNT_, &cluster->fabric_kind);
    read_routing(&section, cluster);
    if (!is_known) { /* then nobody knows which of the other keys are right */
        for (uint32_t i = 0; i < KIND_KEY_COUNT; i++) {
            doc_take(&section, kind_keys[i].key);
        }
        section_close(&section, map);
        return;
    }
    check_kind_keys(arena, &section, cluster);
    if (is_one_of(cluster, LEAF_KINDS)) {
        read_leaves(&section, cluster);
        read_upper_levels(&section, cluster);
        if (!section.is_bad && !map->is_bad) {
            check_uplinks(&section, cluster);
        }
    } else if (cluster->fabric_kind == FABRIC_TORUS) {
        read_dimensions(&section, cluster);
        doc_get_quantity(&section, "link", DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
                         &cluster->torus_link_bytes_per_s);
    } else {
        read_explicit(arena, &section, map, cluster);
    }
    section_close(&section, map);
}

bool cluster_uses_pxn(const struct cluster *cluster)
{
    return cluster->fabric_kind == FABRIC_RAIL_ONLY ||
           (cluster->has_pxn && cluster->scale_up_kind == SCALE_UP_NVSWITCH);
}

int64_t cluster_nodes_max(const struct cluster *cluster)
{
    int64_t most = 0;
    if (cluster->fabric_kind == FABRIC_RAIL_ONLY) {
        most = cluster->nodes_per_leaf;
    } else if (cluster->fabric_kind == FABRIC_TORUS) {
        most = cluster->dimensions[0] * cluster->dimensions[1] * cluster->dimensions[2];
    }
    return most > 0 && (cluster->nodes_max == 0 || most < cluster->nodes_max) ? most
                                                                              : cluster->nodes_max;
}

/* ---- the rest ----------------------------------------------------------------------- */

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
    doc_get_choice(&storage, "network", storage_network_names, 2, &cluster->storage_network);
    section_close(&storage, map);
}

static void read_collectives(struct doc_map *map, struct cluster *cluster,
                             struct assumptions *assumptions)
{
    struct doc_map section;
    section_open(&section, map, "collectives", "cluster", assumptions);
    doc_get_text(&section, "library", &cluster->library_name);
    section_close(&section, map);
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
    doc_get_text(&map, "gpu", &cluster->gpu_name);
    section_need_count(&map, "gpus_per_node", 1, GPUS_PER_NODE_MAX, &cluster->gpus_per_node);
    doc_get_count(&map, "nodes", 1, NODES_MAX, &cluster->nodes_max);
    read_scale_up(&map, cluster, assumptions);
    read_nics(&map, cluster, assumptions);
    read_fabric(assumptions->arena, &map, cluster, assumptions);
    read_host_and_storage(&map, cluster, assumptions);
    read_collectives(&map, cluster, assumptions);
    return doc_finish(&map);
}
