/* A cluster file: the table of its keys, and what those of a fabric must be to each other. Zero
 * bandwidths are errors: a link that does not exist is left out by the fabric, not set to nothing.
 */
#include "input/cluster.h"

#include "input/network/cluster_explicit.h"
#include "input/library.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

static const char *const scale_up_names[] = {"nvswitch", "pcie", "nvlink-mesh"};

const char *const fabric_kind_names[FABRIC_KIND_COUNT_] = {
    [FABRIC_RAIL] = "rail",   [FABRIC_RAIL_ONLY] = "rail-only",
    [FABRIC_TREE] = "tree",   [FABRIC_DRAGONFLY] = "dragonfly",
    [FABRIC_TORUS] = "torus", [FABRIC_EXPLICIT] = "explicit",
};

static const char *const storage_kind_names[] = {"file-system", "object-store"};
static const char *const storage_network_names[] = {"own", "fabric"};
const char *const routing_names[2] = {[ROUTING_ADAPTIVE] = "adaptive", [ROUTING_ECMP] = "ecmp"};

enum {
    NODES_MAX = 1000 * 1000,
    GPUS_PER_NODE_MAX = 1024,
    ECMP_PATHS_MAX = 64,
    BONDED_PORTS_MAX = 16,
    GRID_MAX = 1 << 17,  /* routers of a torus */
    PARALLEL_MAX = 4096, /* up-links of one switch */
    MESSAGE_MAX = 128,   /* bytes */
};
#define EFFICIENCY_MIN 0.01 /* efficiencies lie in (0, 1] */
#define LINK_MIN 1e3        /* bytes/s */
#define LINK_MAX 1e15
#define LATENCY_MAX 1.0 /* s */
#define RATIO_MAX 1e4

/* ---- inside a node ------------------------------------------------------------------ */

/* Links between pairs of GPUs are a part of a GPU's links. */
static bool check_peer(const struct schema_reader *reader, const struct cluster *cluster)
{
    const struct doc_node *node = reader->map->node;
    const bool has_pairs = cluster->peer_bytes_per_s > 0;
    if (cluster->scale_up_kind == SCALE_UP_MESH && !has_pairs) {
        diag_add(reader->map->diag, DIAG_INPUT, &doc_find(node, "kind")->place,
                 "kind nvlink-mesh needs a 'peer_bandwidth'");
        diag_help(reader->map->diag, "it is that of the links between two GPUs, like 25 GB/s");
        return false;
    }
    if (has_pairs && cluster->peer_bytes_per_s > cluster->scale_up_bytes_per_s) {
        diag_add(reader->map->diag, DIAG_INPUT, &doc_find(node, "peer_bandwidth")->place,
                 "'peer_bandwidth' of %g GB/s is more than the 'bandwidth' of %g GB/s, "
                 "which is that of all of a GPU's links",
                 cluster->peer_bytes_per_s / 1e9, cluster->scale_up_bytes_per_s / 1e9);
        diag_help(reader->map->diag, "where a switch joins the GPUs, leave peer_bandwidth out");
        return false;
    }
    return true;
}

/* What needs a switch, and what a switch makes needless. */
static bool check_scale_up(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct cluster *cluster = reader->object;
    const bool is_switch = cluster->scale_up_kind == SCALE_UP_NVSWITCH;
    const bool is_mesh = cluster->scale_up_kind == SCALE_UP_MESH;
    const struct {
        const char *key, *of;
        bool is_wrong;
    } keys[] = {
        {"multicast", scale_up_names[SCALE_UP_NVSWITCH], cluster->has_multicast && !is_switch},
        {"domain_nodes", scale_up_names[SCALE_UP_NVSWITCH],
         cluster->domain_nodes > 1 && !is_switch},
        {"peer_bandwidth", scale_up_names[SCALE_UP_MESH],
         cluster->peer_bytes_per_s > 0 && !is_mesh},
    };
    (void)row;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i].is_wrong) {
            diag_add(reader->map->diag, DIAG_INPUT,
                     &doc_find(reader->map->node, keys[i].key)->place,
                     "'%s' is for scale_up kind %s, not %s", keys[i].key, keys[i].of,
                     scale_up_names[cluster->scale_up_kind]);
            diag_help(reader->map->diag, "write kind: %s, or leave it out", keys[i].of);
            return false;
        }
    }
    return check_peer(reader, cluster);
}

/* ---- NICs --------------------------------------------------------------------------- */

/* Longer than a message takes round the Earth is a unit that is off. */
static void read_latency(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct doc_node *node =
        reader->map->node != NULL ? doc_find(reader->map->node, schema_key(row)) : NULL;
    double latency_s = 0.0;
    char message[MESSAGE_MAX];
    if (!schema_read_key(reader, row) && node != NULL && node->kind == DOC_SCALAR &&
        units_parse(node->text, DIM_SECONDS, &latency_s, message, sizeof message) &&
        latency_s > row->most) {
        diag_help(reader->map->diag,
                  "light goes round the Earth in 0.13 s: write it as 10 us, or 10 ms");
    }
}

/* What a kind of NIC would have said, too. */
static void read_of_nic(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *section = reader->map;
    if (section->node == NULL) {
        return; /* told already */
    }
    if (!doc_require(section, schema_key(row))) {
        diag_help(section->diag, "or name a kind of NIC, such as kind: ndr (stoker list nics)");
        section->is_bad = true;
    } else if (row->dimension == DIM_SECONDS) {
        read_latency(reader, row);
    } else {
        schema_read_key(reader, row);
    }
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

/* The section nics has been read, but for a bandwidth that it leaves to `network`. */
static void settle_nic(struct doc_map *map, struct cluster *cluster)
{
    struct doc_map nics = {.node = doc_find(map->node, "nics"), .diag = map->diag};
    const bool is_missed = nics.node != NULL && nics.node->kind == DOC_MAPPING;
    if (is_missed && !doc_require(&nics, "bandwidth")) {
        diag_help(map->diag, "or name a kind of NIC, such as kind: ndr (stoker list nics)");
        map->is_bad = true;
    }
    cluster->network_bytes_per_s = (double)cluster->nics_per_node * cluster->nic_bytes_per_s;
}

/* As much by each NIC as the node has, or the other way about. */
static void read_network(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    struct cluster *cluster = reader->object;
    const struct doc_node *whole = doc_take(map, schema_key(row));
    if (whole == NULL) {
        settle_nic(map, cluster);
    } else if (doc_find(map->node, "nics.bandwidth") != NULL) {
        diag_add(map->diag, DIAG_INPUT, &whole->place,
                 "'network' and 'nics.bandwidth' both say how fast the NICs are");
        diag_help(map->diag, "keep one: network is of all NICs of a node together, "
                             "nics.bandwidth of one NIC");
        map->is_bad = true;
    } else {
        const double nic_count = fmax((double)cluster->nics_per_node, 1.0); /* 0: told already */
        doc_get_quantity(map, schema_key(row), DIM_LINK_BYTES_PER_S, LINK_MIN * nic_count, LINK_MAX,
                         &cluster->network_bytes_per_s);
        cluster->nic_bytes_per_s = cluster->network_bytes_per_s / nic_count;
    }
    check_nic_count(map, cluster);
}

static const char *text_of_none(struct arena *arena, const void *object)
{
    (void)arena;
    (void)object;
    return NULL;
}

/* ---- fabric: which keys belong to which kind ---------------------------------------- */

#define KIND(name) (1u << FABRIC_##name)

static bool is_one_of(const struct cluster *cluster, uint32_t kinds)
{
    return (kinds >> cluster->fabric_kind & 1u) != 0;
}

static bool has_leaves(const void *cluster)
{
    return is_one_of(cluster, KIND(RAIL) | KIND(RAIL_ONLY) | KIND(TREE) | KIND(DRAGONFLY));
}

static bool has_pods(const void *cluster)
{
    return is_one_of(cluster, KIND(RAIL) | KIND(TREE));
}

static bool has_groups(const void *cluster)
{
    return is_one_of(cluster, KIND(DRAGONFLY));
}

static bool is_torus(const void *cluster)
{
    return is_one_of(cluster, KIND(TORUS));
}

static bool is_explicit(const void *cluster)
{
    return is_one_of(cluster, KIND(EXPLICIT));
}

/* "rail or tree": the kinds of fabric that have this key. */
static const char *kinds_text(struct arena *arena, const struct schema_row *row)
{
    const char *text = NULL;
    const char *last = NULL;
    for (uint32_t kind = 0; kind < FABRIC_KIND_COUNT_; kind++) {
        const struct cluster like = {.fabric_kind = kind};
        if (row->applies(&like)) {
            text = last == NULL   ? text
                   : text == NULL ? last
                                  : arena_printf(arena, "%s, %s", text, last);
            last = fabric_kind_names[kind];
        }
    }
    return text == NULL ? last : arena_printf(arena, "%s or %s", text, last);
}

/* True when this kind of fabric has no such key and it is written, which is an error, and when the
 * kind is not known: then nobody knows which keys are right. */
static bool is_misplaced(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct cluster *cluster = reader->object;
    struct doc_map *section = reader->map;
    if (cluster->fabric_kind == FABRIC_KIND_COUNT_) {
        doc_take(section, schema_key(row));
        return true;
    }
    if (row->applies(cluster) || doc_find(section->node, schema_key(row)) == NULL) {
        return false;
    }
    const struct doc_node *node = doc_take(section, schema_key(row));
    diag_add(section->diag, DIAG_INPUT, &node->key_place, "'%s' is for fabric kind %s, not %s",
             schema_key(row), kinds_text(reader->assumptions->arena, row),
             fabric_kind_names[cluster->fabric_kind]);
    section->is_bad = true;
    return true;
}

/* A key of another kind gets its default and is not asked for, so that no message offers it. */
static void read_of_kind(const struct schema_reader *reader, const struct schema_row *row)
{
    struct schema_reader own = *reader;
    struct doc_map nothing = {.diag = reader->map->diag};
    if (is_misplaced(reader, row)) {
        return;
    }
    own.map = row->applies(reader->object) ? reader->map : &nothing;
    schema_read_key(&own, row);
}

/* A list; NULL when there is none. */
static const struct doc_node *take_list(const struct schema_reader *reader,
                                        const struct schema_row *row)
{
    if (is_misplaced(reader, row) || !row->applies(reader->object)) {
        return NULL;
    }
    return row->is_required && !schema_require(reader, row)
               ? NULL
               : doc_take(reader->map, schema_key(row));
}

static bool has_nics(const struct cluster *cluster)
{
    return cluster->nics_per_node > 0 && cluster->gpus_per_node > 0 &&
           cluster->nic_bytes_per_s > 0.0;
}

/* What hangs on switches are NICs: without them, which was told, lists mean nothing. */
static void read_list(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct doc_node *list = take_list(reader, row);
    if (list != NULL && has_nics(reader->object)) {
        cluster_explicit_read(reader, row, list);
    }
}

/* ---- fabric: values that must fit each other ---------------------------------------- */

/* [4, 4, 8] */
static void read_dimensions(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *section = reader->map;
    struct cluster *cluster = reader->object;
    const struct doc_node *list = take_list(reader, row);
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

static void check_rail_only(struct doc_map *section, const struct cluster *cluster)
{
    const struct doc_node *pxn = doc_find(section->node, "pxn");
    if (!cluster->has_pxn && pxn != NULL) {
        diag_add(section->diag, DIAG_INPUT, &pxn->place,
                 "without pxn there is no way between the rails of a rail-only fabric");
        diag_help(section->diag, "use pxn: true, or kind rail");
        section->is_bad = true;
    }
    if (cluster->oversubscription > 1) {
        diag_add(section->diag, DIAG_INPUT, &doc_find(section->node, "oversubscription")->place,
                 "a rail-only fabric has no up-links that could be oversubscribed");
        section->is_bad = true;
    }
}

static bool check_fabric(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *section = reader->map;
    struct cluster *cluster = reader->object;
    (void)row;
    if (section->node == NULL) {
        return true;
    }
    if (cluster->fabric_kind == FABRIC_RAIL_ONLY) {
        check_rail_only(section, cluster);
    } else if (has_leaves(cluster) && has_nics(cluster)) {
        check_uplinks(section, cluster);
    } else if (is_explicit(cluster) && has_nics(cluster)) {
        cluster_ways_check(reader->assumptions->arena, section, cluster);
    }
    if (cluster->bonded_ports > 1 && cluster->routing == ROUTING_ADAPTIVE) {
        assumptions_drop(reader->assumptions, "cluster.nics.bonded_ports");
        assumptions_add(reader->assumptions,
                        &(struct assumption){.name = "cluster.nics.bonded_ports",
                                             .value = "one link",
                                             .reason = "adaptive routing spreads evenly over a "
                                                       "NIC's ports, so that none collide"});
    }
    return !section->is_bad;
}

bool cluster_uses_pxn(const struct cluster *cluster)
{
    return cluster->fabric_kind == FABRIC_RAIL_ONLY ||
           (cluster->has_pxn && cluster->scale_up_kind == SCALE_UP_NVSWITCH);
}

void cluster_provision(struct cluster *cluster, int64_t nodes)
{
    const double all = (double)(nodes > cluster->nodes_max ? nodes : cluster->nodes_max);
    const double write = cluster->storage_write_stated_bytes_per_s;
    const double read = cluster->storage_read_stated_bytes_per_s;
    cluster->storage_write_bytes_per_s =
        write > 0 ? write : all * cluster->storage_write_each_bytes_per_s;
    cluster->storage_read_bytes_per_s =
        read > 0 ? read : all * cluster->storage_read_each_bytes_per_s;
}

bool cluster_has_drives(const struct cluster *cluster)
{
    return cluster->local_write_bytes_per_s > 0;
}

void cluster_figures(const struct cluster *cluster, struct cluster *figures)
{
    memcpy(figures, cluster, sizeof *figures);
    figures->name = NULL;
    figures->title = NULL;
    figures->gpu_name = NULL;
    figures->nic_kind = NULL;
    figures->nic_announced = NULL;
    figures->library_name = NULL;
    figures->switches = NULL;
    figures->ports = NULL;
    figures->links = NULL;
    figures->routes = NULL;
    memset(&figures->place, 0, sizeof figures->place);
    memset(&figures->fabric_place, 0, sizeof figures->fabric_place);
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

/* ---- the table ---------------------------------------------------------------------- */

#define SCHEMA_OBJECT struct cluster
#include "input/schema/rows.h"

/* ---- storage ---- */

/* Of all nodes, or of each. */
static void read_rate(const struct schema_reader *reader, const struct schema_row *row, double each)
{
    schema_read_key(reader, row);
    if (!(each > 0)) {
        (void)schema_require(reader, row);
    }
}

static void read_write(const struct schema_reader *reader, const struct schema_row *row)
{
    read_rate(reader, row, ((struct cluster *)reader->object)->storage_write_each_bytes_per_s);
}

static void read_read(const struct schema_reader *reader, const struct schema_row *row)
{
    read_rate(reader, row, ((struct cluster *)reader->object)->storage_read_each_bytes_per_s);
}

/* An object store is bought by its requests. */
static void read_requests(const struct schema_reader *reader, const struct schema_row *row)
{
    schema_read_key(reader, row);
    const struct cluster *cluster = reader->object;
    if (cluster->storage_kind == STORAGE_OBJECTS && !(cluster->storage_requests_per_s > 0)) {
        (void)schema_require(reader, row);
    }
}

static const struct schema_row rows[] = {
    {TEXT("cluster", name, "Its name, which is that of its file, too.")},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},
    {TEXT("gpu", gpu_name, "The GPU of its nodes, from models/gpus/.")},
    {COUNT("gpus_per_node", gpus_per_node, 1, GPUS_PER_NODE_MAX, "GPUs of a node."),
     .is_required = true, .axis = {"GPUs per node", 1, true}},
    {COUNT("nodes", nodes_max, 1, NODES_MAX, "Nodes that it has; a scenario can use no more."),
     .is_optional = true, .note = "as many as a scenario asks for"},

    {SECTION("scale_up", "The links between GPUs of a node or rack, per GPU and one way."),
     .is_required = true, .check = check_scale_up},
    {CHOICE("scale_up.kind", scale_up_kind, scale_up_names, SCALE_UP_COUNT_,
            "A switch of NVLink, PCIe, or NVLink between pairs of GPUs without a switch."),
     .is_required = true},
    {QUANTITY("scale_up.bandwidth", scale_up_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
              "Of a GPU's links together, one way."),
     .is_required = true, .axis = {"scale-up bandwidth, GB/s per GPU, one way", 1e-9, true}},
    {QUANTITY("scale_up.efficiency", scale_up_efficiency, DIM_FRACTION, EFFICIENCY_MIN, 1.0,
              "What large messages reach of the bandwidth."),
     .is_required = true},
    {QUANTITY("scale_up.latency", scale_up_latency_s, DIM_SECONDS, 0.0, LATENCY_MAX,
              "Latency of one message."),
     .is_required = true, .axis = {"scale-up latency, µs", 1e6, true}},
    {QUANTITY(
         "scale_up.peer_bandwidth", peer_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
         "Of the links to one other GPU, one way, where no switch joins them: n GPUs of a group "
         "use those to n - 1 others."),
     .is_optional = true, .note = "bandwidth: a switch gives all of it to any GPU"},
    {BOOL("scale_up.multicast", has_multicast, "The switch reduces and multicasts (NVLS)."),
     .standard = "false"},
    {COUNT("scale_up.domain_nodes", domain_nodes, 1, NODES_MAX,
           "Nodes whose GPUs these links join, as the 18 of an NVL72."),
     .standard = "1"},

    {SECTION("nics", "The network cards of a node."), .is_required = true},
    {COUNT("nics.count", nics_per_node, 1, GPUS_PER_NODE_MAX,
           "NICs of a node: a divisor or a multiple of gpus_per_node."),
     .is_required = true, .axis = {"NICs per node", 1, true}},
    {TEXT(
         "nics.kind", nic_kind,
         "What they are, of topologies/nics/: hdr, ndr, roce, efa, ... (stoker list nics). It says "
         "what is not said here."),
     .is_optional = true, .note = "no kind: all is said here"},
    {TEXT(
         "nics.announced", nic_announced,
         "When their vendor announced them, of what nobody has measured yet; as nics.kind has it."),
     .is_optional = true, .note = "they are there, and measured"},
    {QUANTITY("nics.bandwidth", nic_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
              "Of one NIC, one way."),
     .note = "a NIC's is network / nics.count", .text = text_of_none,
     .axis = {"network bandwidth, Gbps per NIC", 8e-9, true}},
    {QUANTITY("nics.efficiency", nic_efficiency, DIM_FRACTION, EFFICIENCY_MIN, 1.0,
              "What large messages reach of the bandwidth."),
     .note = "as nics.kind has it; without a kind it must be given", .read = read_of_nic},
    {COUNT("nics.bonded_ports", bonded_ports, 1, BONDED_PORTS_MAX,
           "Ports of a NIC that are one address, each on a leaf of its own: between leaves ECMP "
           "picks "
           "the port by which a connection arrives (dual ToR without separate planes)."),
     .standard = "1"},
    {COUNT("nics.planes", nic_planes, 1, BONDED_PORTS_MAX,
           "Networks of their own over which the lanes of a NIC are spread (dual plane: 2): each "
           "has its leaves, spines and cores. It is in the network's bill; a step has all of a "
           "NIC as one."),
     .standard = "1"},
    {QUANTITY(
         "nics.latency", nic_latency_s, DIM_SECONDS, 0.0, LATENCY_MAX,
         "Of one message between nodes, one way: both NICs, their software and the cable. Each "
         "send and each round of a collective has it."),
     .note = "as nics.kind has it; without a kind it must be given", .read = read_of_nic,
     .axis = {"network latency, µs", 1e6, true}},
    {QUANTITY("nics.round_latency", round_latency_s, DIM_SECONDS, 0.0, LATENCY_MAX,
              "What the collective library's software for this network adds to a message over "
              "InfiniBand's (EFA, TCP); twice with the protocol Simple."),
     .standard = "0 s", .read = read_latency},
    {QUANTITY("nics.power", nic_power_w, DIM_WATT, 0.0, 1e12,
              "What one NIC draws, without the optics in it; it is no part of host.power."),
     .standard = "0 W", .note = "as nics.kind has it, in proportion to the bandwidth; 0 W without",
     .moves = SCHEMA_MOVES_NO_STEP},
    {QUANTITY("nics.optics_power", optics_power_w, DIM_WATT, 0.0, 1e12,
              "What the optics at one end of a NIC's link draw, and of a link between switches for "
              "each NIC's rate; 0 W for copper."),
     .standard = "0 W", .note = "as nics.kind has it, in proportion to the bandwidth; 0 W without",
     .moves = SCHEMA_MOVES_NO_STEP},
    {QUANTITY("nics.port_power", port_power_w, DIM_WATT, 0.0, 1e12,
              "What a switch draws for each port that takes such a NIC, without optics."),
     .standard = "0 W", .note = "as nics.kind has it, in proportion to the bandwidth; 0 W without",
     .moves = SCHEMA_MOVES_NO_STEP},
    {QUANTITY("nics.core_bandwidth", core_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
              "What one of host.cores moves, in and out, where they touch the data (TCP): all of "
              "them bound what the NICs reach together."),
     .is_optional = true, .note = "cores do not touch the data"},
    {CUSTOM("network", read_network,
            "In place of nics.bandwidth: of all NICs of a node together, one way."),
     .note = "a node's is nics.count x nics.bandwidth; or write it in its place",
     .axis = {"network bandwidth, Gbps per node", 8e-9, true}},

    {SECTION_AT("fabric", fabric_place, "The switches between nodes; hw/topology draws them."),
     .is_required = true, .check = check_fabric},
    {CHOICE("fabric.kind", fabric_kind, fabric_kind_names, FABRIC_KIND_COUNT_,
            "How switches are joined."),
     .is_required = true},
    {QUANTITY("fabric.hop_latency", hop_latency_s, DIM_SECONDS, 0.0, LATENCY_MAX,
              "Latency of one switch."),
     .is_required = true, .read = read_latency},
    {CHOICE("fabric.routing", routing, routing_names, 2,
            "Traffic spreads over all shortest ways (adaptive), or each connection takes one by "
            "chance (ecmp)."),
     .standard = "adaptive"},
    {COUNT("fabric.ecmp_paths", ecmp_paths, 1, ECMP_PATHS_MAX,
           "Connections that share a transfer, each with a way of its own."),
     .standard = "2"},
    {BOOL("fabric.pxn", has_pxn, "Traffic goes by NVLink to the GPU on the right rail first."),
     .standard = "true"},
    {BOOL("fabric.in_network_reduction", has_in_network_reduction, "Switches reduce (SHARP)."),
     .standard = "false"},
    {COUNT("fabric.nodes_per_leaf", nodes_per_leaf, 1, NODES_MAX, "Nodes of a leaf group."),
     .is_required = true, .read = read_of_kind, .applies = has_leaves},
    {QUANTITY("fabric.oversubscription", oversubscription, DIM_COUNT, 1.0, RATIO_MAX,
              "A leaf's bandwidth down over that up."),
     .standard = "1", .read = read_of_kind, .applies = has_leaves,
     .axis = {"oversubscription of the leaves", 1, true}},
    {QUANTITY("fabric.uplink", uplink_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
              "Bandwidth of one up-link, one way."),
     AS(double, nic_bytes_per_s), .note = "a NIC's", .read = read_of_kind, .applies = has_leaves},
    {COUNT("fabric.leaves_per_pod", leaves_per_pod, 1, NODES_MAX,
           "Leaf groups of a pod, where there is a third level."),
     .is_optional = true, .note = "no third level", .read = read_of_kind, .applies = has_pods},
    {QUANTITY("fabric.pod_oversubscription", pod_oversubscription, DIM_COUNT, 1.0, RATIO_MAX,
              "A pod's bandwidth down over that to the core."),
     .standard = "1", .read = read_of_kind, .applies = has_pods,
     .axis = {"oversubscription of the pods", 1, true}},
    {COUNT("fabric.leaves_per_group", leaves_per_group, 1, NODES_MAX,
           "Leaf groups of a dragonfly's group."),
     .is_required = true, .read = read_of_kind, .applies = has_groups},
    {QUANTITY("fabric.global_oversubscription", global_oversubscription, DIM_COUNT, 1.0, RATIO_MAX,
              "A group's bandwidth inside over that of its global links."),
     .standard = "1", .read = read_of_kind, .applies = has_groups},
    {CUSTOM("fabric.dimensions", read_dimensions,
            "Nodes of a torus along its two or three dimensions: [4, 4, 8]."),
     .is_required = true, .applies = is_torus},
    {QUANTITY("fabric.link", torus_link_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
              "Bandwidth between neighbours of a torus, one way."),
     .is_required = true, .read = read_of_kind, .applies = is_torus},
    {CUSTOM("fabric.switches", read_list,
            "Switches and what hangs on them: {name: leaf0, nodes: 0-15} with all NICs, or "
            "{name: rail3, nodes: 0-31, nics: 3} with one of each."),
     .is_required = true, .applies = is_explicit, .inner = &explicit_lists[EXPLICIT_SWITCHES]},
    {CUSTOM("fabric.links", read_list,
            "Links between switches: {from: leaf0, to: spine0, bandwidth: 400 Gbps, count: 8}."),
     .standard = "[]", .applies = is_explicit, .inner = &explicit_lists[EXPLICIT_LINKS]},
    {CUSTOM("fabric.routes", read_list,
            "What overrules the shortest way: {at: leaf0, to: leaf3, via: spine1}."),
     .standard = "[]", .applies = is_explicit, .inner = &explicit_lists[EXPLICIT_ROUTES]},

    {SECTION("host", "What a node has beside its GPUs."), .is_required = true,
     .moves = SCHEMA_MOVES_NO_STEP},
    {COUNT("host.cores", host_cores, 1, 1000000, "Cores of its CPUs."), .is_required = true},
    {QUANTITY("host.memory", host_memory_bytes, DIM_BYTES, 1e6, 1e18, "Memory of its CPUs."),
     .is_required = true},
    {QUANTITY("host.power", host_power_w, DIM_WATT, 0.0, 1e7,
              "What a node draws without its GPUs and NICs."),
     .is_required = true},

    {SECTION("power_domain", "What one breaker or power shelf feeds.")},
    {COUNT("power_domain.nodes", power_domain_nodes, 1, NODES_MAX,
           "Nodes that lose power together; failures of power domains ask for it."),
     .is_optional = true, .note = "not said"},

    {SECTION("storage", "Where data and checkpoints lie."), .is_required = true,
     .moves = SCHEMA_MOVES_MONTHS},
    {QUANTITY(
         "storage.write_per_node", storage_write_each_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN,
         LINK_MAX,
         "Write bandwidth that the storage has for each node of the cluster: it grows with it."),
     .is_optional = true, .note = "storage.write is of all"},
    {QUANTITY("storage.read_per_node", storage_read_each_bytes_per_s, DIM_LINK_BYTES_PER_S,
              LINK_MIN, LINK_MAX, "The same, reading."),
     .is_optional = true, .note = "storage.read is of all"},
    {QUANTITY("storage.write", storage_write_stated_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN,
              LINK_MAX, "Write bandwidth of all nodes together, however many there are."),
     .is_optional = true, .note = "storage.write_per_node of each node", .read = read_write,
     .axis = {"storage, GB/s written", 1e-9, true}},
    {QUANTITY("storage.read", storage_read_stated_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN,
              LINK_MAX, "Read bandwidth of all nodes together, however many there are."),
     .is_optional = true, .note = "storage.read_per_node of each node", .read = read_read,
     .axis = {"storage, GB/s read", 1e-9, true}},
    {QUANTITY("storage.per_node", storage_node_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN,
              LINK_MAX, "Bandwidth of one node to the storage."),
     .is_required = true},
    {CHOICE("storage.kind", storage_kind, storage_kind_names, 2,
            "A parallel file system, or an object store, which answers so many requests a second."),
     .standard = "file-system"},
    {QUANTITY("storage.requests", storage_requests_per_s, DIM_COUNT, 1e-3, 1e12,
              "Files that all nodes together can open in a second, or objects that they can get."),
     .is_optional = true, .note = "as many as they like", .read = read_requests},
    {QUANTITY("storage.per_stream", storage_stream_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN,
              LINK_MAX, "Bandwidth that one reader gets, a worker with one file or object."),
     .is_optional = true, .note = "what its node gets"},
    {QUANTITY("storage.first_byte", storage_first_byte_s, DIM_SECONDS, 0.0, 1e3,
              "From asking for a file or object to its first byte."),
     .standard = "0 s"},
    {QUANTITY("storage.local_write", local_write_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN,
              LINK_MAX, "Write bandwidth of a node's own drives."),
     .is_optional = true, .note = "nodes have no drives for checkpoints"},
    {QUANTITY("storage.local_read", local_read_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN,
              LINK_MAX, "Read bandwidth of a node's own drives."),
     AS(double, local_write_bytes_per_s), .is_optional = true, .note = "as storage.local_write"},
    {QUANTITY("storage.capacity", storage_capacity_bytes, DIM_BYTES, 1e6, 1e21,
              "What the shared storage holds when it is full."),
     .is_optional = true, .note = "it holds whatever is written"},
    {QUANTITY("storage.usable", storage_usable, DIM_FRACTION, 0.01, 1.0,
              "How full it may become: parallel file systems slow down beyond."),
     .standard = "80 %",
     .source = "https://github.com/stas00/ml-engineering, storage: 100 TB of files ask for 125 TB"},
    {QUANTITY("storage.power", storage_power_w, DIM_WATT, 0.0, 1e12,
              "What all of it draws; a job has the share of its nodes in the cluster's `nodes`."),
     .is_optional = true, .note = "storage.power_per_node of each node"},
    {QUANTITY("storage.power_per_node", storage_power_each_w, DIM_WATT, 0.0, 1e6,
              "What the storage draws for each node of the cluster: it grows with it."),
     .standard = "0 W"},
    {CHOICE("storage.network", storage_network, storage_network_names, 2,
            "Its traffic has a network of its own, or crosses the NICs and switches that "
            "collectives use (fabric)."),
     .standard = "own"},

    {SECTION("collectives", "How its nodes communicate.")},
    {TEXT("collectives.library", library_name, "The collective library, of models/libraries/."),
     .standard = LIBRARY_DEFAULT},
};
const struct schema cluster_schema = SCHEMA_OF("cluster", "cluster.", rows);

bool cluster_read(const struct doc_node *node, struct cluster *cluster,
                  struct assumptions *assumptions, struct diag *diag)
{
    *cluster = (struct cluster){.name = "inline",
                                .fabric_kind = FABRIC_KIND_COUNT_,
                                .dimensions = {1, 1, 1},
                                .library_name = "",
                                .nic_kind = "",
                                .place = node->place};
    const bool is_good = schema_read_document(&cluster_schema, node, cluster, assumptions, diag);
    cluster_provision(cluster, 1);
    return is_good;
}

static bool read_object(const struct doc_node *node, void *object, struct assumptions *assumptions,
                        struct diag *diag)
{
    return cluster_read(node, object, assumptions, diag);
}
const struct doc_reader cluster_reader = {sizeof(struct cluster), read_object};
