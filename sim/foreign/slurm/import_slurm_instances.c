/* What clouds and Kubernetes tell of where instances are, as switches of a tree: the network nodes
 * on the way to an instance, the topmost first.
 *
 *     {"Instances": [{"InstanceId": "i-1", "NetworkNodes": ["nn-1", "nn-2", "nn-4"], ...}, ...]}
 *
 * is EC2's (`aws ec2 describe-instance-topology`, describe-capacity-reservation-topology); others
 * name each step of the way by a key of its own: a row of the table. Their names are of a step
 * below the one before ("0001" of two blocks are two), so a node's is the way to it. Where ways
 * begin at several nodes, one above them all joins them. Nodes of Kubernetes without any of the
 * labels are left out aloud.
 *
 * Shapes as documented in November 2026: Google's instances.resourceStatus.physicalHostTopology
 * (compute v1), Oracle's ComputeHostSummary and ComputeBareMetalHostSummary (core services), labels
 * of https://github.com/NVIDIA/topograph v0.1 to v1.1, of EKS and of GKE.
 */
#include "foreign/slurm/import_slurm.h"

#include "base/arena.h"
#include "input/doc/doc.h"
#include "input/doc/name_table.h"

#include <inttypes.h>
#include <string.h>

enum { WAY_MAX = 8 };

/* Names with commas between. */
struct names {
    char *text; /* NULL: none */
    size_t capacity, length;
};

struct node {
    struct place place;
    struct names instances, below;
    bool has_above;
};

struct cloud;

struct ways {
    const struct importer *importer;
    const struct cloud *cloud;
    uint32_t left_out;       /* instances without a way */
    struct name_table names; /* of nodes, by their index */
    struct node *nodes;
    size_t capacity;
    bool is_bad;
};

static void report(struct ways *ways, const struct doc_node *at, const char *message,
                   const char *help)
{
    diag_add(ways->importer->diag, DIAG_INPUT, &at->place, "%s", message);
    diag_help(ways->importer->diag, "%s", help);
    ways->is_bad = true;
}

static void add_name(struct arena *arena, struct names *names, const char *name)
{
    const size_t more = strlen(name) + 1;
    names->text = arena_grow(arena, names->text, &names->capacity, names->length + more + 1, 1);
    if (names->length > 0) {
        names->text[names->length++] = ',';
    }
    memcpy(names->text + names->length, name, more);
    names->length += more - 1;
}

/* Of a name in a list of the file; NULL with a message. */
static struct node *node_of(struct ways *ways, const struct doc_node *item)
{
    if (item->kind != DOC_SCALAR || item->text[0] == '\0' || strpbrk(item->text, "[],") != NULL) {
        report(ways, item, "this is no name of a network node", "like nn-0123456789abcdef0");
        return NULL;
    }
    bool is_new = false;
    const uint32_t index = name_table_add(&ways->names, item->text, &is_new);
    ways->nodes = arena_grow(ways->importer->arena, ways->nodes, &ways->capacity, (size_t)index + 1,
                             sizeof *ways->nodes);
    if (is_new) {
        ways->nodes[index] = (struct node){.place = item->place};
    }
    return &ways->nodes[index];
}

/* Whose file it is. Paths are of a mapping; a key is looked for in it as it is, dots and all. */
struct cloud {
    const char *mark;     /* that the file has */
    const char *lists[2]; /* "" is the document itself */
    const char *ids[2];
    const char *list;          /* that holds the way; NULL: the levels do */
    const char *levels;        /* a mapping's path, "" the item itself, */
    const char *keys[WAY_MAX]; /* and its keys, the topmost first */
    bool may_lack;             /* the way: it is left out then */
    const char *fault, *help;
};

#define NODES_OF_KUBERNETES(mark, ...)                                                             \
    {                                                                                              \
        mark, {"items"}, {"metadata.name"}, NULL, "metadata.labels", {__VA_ARGS__}, true,          \
            "this node has no metadata.name",                                                      \
            "kubectl get nodes -o json writes {\"items\": [{\"metadata\": {\"name\": ...}}, ...]}" \
    }

static const struct cloud clouds[] = {
    {"\"NetworkNodes\"",
     {"Instances", "CapacityReservations"},
     {"InstanceId", "CapacityReservationId"},
     "NetworkNodes",
     NULL,
     {NULL},
     false,
     "this instance has no InstanceId, or no NetworkNodes",
     "aws ec2 describe-instance-topology writes both"},
    {"physicalHostTopology",
     {"", "items"},
     {"name"},
     NULL,
     "resourceStatus.physicalHostTopology",
     {"cluster", "block", "subblock"},
     false,
     "this instance has no name, or no resourceStatus.physicalHostTopology",
     "gcloud compute instances list --format=json writes both for machines that have one"},
    {"network-block-id",
     {"data.items", "data"},
     {"id"},
     NULL,
     "",
     {"hpc-island-id", "network-block-id", "local-block-id"},
     false,
     "this host has no id, or no network-block-id",
     "oci compute compute-host list writes both"},
    {"compute-network-block-id",
     {"data.items", "data"},
     {"id"},
     NULL,
     "",
     {"compute-hpc-island-id", "compute-network-block-id", "compute-local-block-id"},
     false,
     "this host has no id, or no compute-network-block-id",
     "oci compute capacity-topology lists both"},
    NODES_OF_KUBERNETES("fabric.topograph.run/tier-0", "fabric.topograph.run/tier-3",
                        "fabric.topograph.run/tier-2", "fabric.topograph.run/tier-1",
                        "fabric.topograph.run/tier-0"),
    NODES_OF_KUBERNETES("network.topology.nvidia.com/leaf", "network.topology.nvidia.com/core",
                        "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"),
    NODES_OF_KUBERNETES("network.topology.nvidia.com/block",
                        "network.topology.nvidia.com/datacenter",
                        "network.topology.nvidia.com/spine", "network.topology.nvidia.com/block"),
    NODES_OF_KUBERNETES(
        "topology.k8s.aws/network-node-layer-", "topology.k8s.aws/network-node-layer-1",
        "topology.k8s.aws/network-node-layer-2", "topology.k8s.aws/network-node-layer-3",
        "topology.k8s.aws/network-node-layer-4"),
    NODES_OF_KUBERNETES("cloud.google.com/gce-topology-block",
                        "cloud.google.com/gce-topology-block",
                        "cloud.google.com/gce-topology-subblock"),
};

/* The last whose mark is there: one that another's holds stands before it. NULL: none's is. */
static const struct cloud *cloud_of(const char *text)
{
    const struct cloud *found = NULL;
    for (size_t i = 0; i < sizeof clouds / sizeof *clouds; i++) {
        const bool is_it = strstr(text, clouds[i].mark) != NULL;
        const bool is_clearer = found == NULL || strstr(clouds[i].mark, found->mark) != NULL;
        found = is_it && is_clearer ? &clouds[i] : found;
    }
    return found;
}

bool slurm_tells_instances(const char *text)
{
    return cloud_of(text) != NULL;
}

/* ---- the way to an instance ----------------------------------------------------------------- */

struct way {
    struct doc_node steps[WAY_MAX]; /* a text and its place each, the topmost first */
    uint32_t count;
};

static const struct doc_node *at_path(const struct doc_node *node, const char *path)
{
    return path[0] == '\0' ? node : doc_find(node, path);
}

static void add_step(struct arena *arena, struct way *way, const struct doc_node *at, bool is_below)
{
    struct doc_node *step = &way->steps[way->count];
    *step = *at;
    if (is_below && way->count > 0 && at->kind == DOC_SCALAR) {
        step->text = arena_printf(arena, "%s/%s", way->steps[way->count - 1].text, at->text);
    }
    way->count++;
}

static struct way way_of(const struct ways *ways, const struct doc_node *item)
{
    struct arena *arena = ways->importer->arena;
    const struct cloud *cloud = ways->cloud;
    struct way way = {.count = 0};
    const struct doc_node *list = cloud->list != NULL ? doc_find(item, cloud->list) : NULL;
    const struct doc_node *levels = cloud->list == NULL ? at_path(item, cloud->levels) : NULL;
    const bool is_list = list != NULL && list->kind == DOC_SEQUENCE;
    for (const struct doc_node *at = is_list ? list->child : NULL;
         at != NULL && way.count < WAY_MAX; at = at->next) {
        add_step(arena, &way, at, false);
    }
    for (uint32_t i = 0; levels != NULL && i < WAY_MAX && cloud->keys[i] != NULL; i++) {
        const struct doc_node *at = levels->kind == DOC_MAPPING ? levels->child : NULL;
        while (at != NULL && strcmp(at->key, cloud->keys[i]) != 0) {
            at = at->next;
        }
        if (at != NULL && at->kind != DOC_NULL) {
            add_step(arena, &way, at, true);
        }
    }
    return way;
}

static const char *id_of(const struct ways *ways, const struct doc_node *item)
{
    const char *const *ids = ways->cloud->ids;
    const char *id = doc_find_text(item, ids[0]);
    return id == NULL && ids[1] != NULL ? doc_find_text(item, ids[1]) : id;
}

static void read_instance(struct ways *ways, const struct doc_node *item)
{
    struct arena *arena = ways->importer->arena;
    const char *id = item->kind == DOC_MAPPING ? id_of(ways, item) : NULL;
    const struct way way = id != NULL ? way_of(ways, item) : (struct way){.count = 0};
    if (id != NULL && way.count == 0 && ways->cloud->may_lack) {
        ways->left_out++;
        return;
    }
    if (id == NULL || id[0] == '\0' || strpbrk(id, "[],") != NULL || way.count == 0) {
        report(ways, item, ways->cloud->fault, ways->cloud->help);
        return;
    }
    const char *above = NULL;
    struct node *node = NULL;
    for (uint32_t i = 0; i < way.count; above = way.steps[i++].text) {
        node = node_of(ways, &way.steps[i]);
        if (node == NULL) {
            return;
        }
        if (above != NULL && !node->has_above) {
            node->has_above = true;
            add_name(arena, &ways->nodes[name_table_find(&ways->names, above)].below,
                     way.steps[i].text);
        }
    }
    add_name(arena, &node->instances, id);
}

static void add_entry(const struct importer *importer, struct slurm_entries *entries,
                      const struct slurm_entry *entry)
{
    entries->items = arena_grow(importer->arena, entries->items, &entries->capacity,
                                (size_t)entries->count + 1, sizeof *entries->items);
    entries->items[entries->count++] = *entry;
}

static void add_entries(const struct ways *ways, struct slurm_entries *entries)
{
    struct arena *arena = ways->importer->arena;
    struct names tops = {NULL, 0, 0};
    uint32_t top_count = 0;
    for (uint32_t i = 0; i < ways->names.count; i++) {
        const struct node *node = &ways->nodes[i];
        add_entry(ways->importer, entries,
                  &(struct slurm_entry){.name = ways->names.names[i],
                                        .place = node->place,
                                        .nodes = node->instances.text,
                                        .nodes_place = node->place,
                                        .switches = node->below.text,
                                        .switches_place = node->place});
        if (!node->has_above) {
            add_name(arena, &tops, ways->names.names[i]);
            top_count++;
        }
    }
    if (top_count > 1) {
        const struct place place = ways->nodes[0].place;
        add_entry(ways->importer, entries,
                  &(struct slurm_entry){.name = "above all",
                                        .place = place,
                                        .switches = tops.text,
                                        .switches_place = place});
    }
}

/* NULL: it has none. */
static const struct doc_node *list_of(const struct ways *ways, const struct doc_node *root)
{
    for (size_t i = 0; i < 2 && ways->cloud->lists[i] != NULL; i++) {
        const struct doc_node *items = at_path(root, ways->cloud->lists[i]);
        if (items != NULL && items->kind == DOC_SEQUENCE && items->child != NULL) {
            return items;
        }
    }
    return NULL;
}

bool slurm_read_instances(const struct importer *importer, struct slurm_entries *entries)
{
    const struct text_file *file = &importer->file;
    const struct cloud *cloud = cloud_of(file->text);
    struct ways ways = {.importer = importer, .cloud = cloud != NULL ? cloud : &clouds[0]};
    name_table_init(&ways.names, importer->arena);
    const struct doc_node *root =
        doc_parse(importer->arena, file->path, file->text, file->length, importer->diag);
    if (root == NULL) {
        return false;
    }
    const struct doc_node *items = list_of(&ways, root);
    if (items == NULL) {
        report(&ways, root, "there are no instances in this file", ways.cloud->help);
        return false;
    }
    for (const struct doc_node *item = items->child; item != NULL; item = item->next) {
        read_instance(&ways, item);
    }
    if (!ways.is_bad && ways.names.count == 0) {
        report(&ways, items, ways.cloud->fault, ways.cloud->help);
    }
    if (!ways.is_bad && ways.left_out > 0) {
        diag_add(importer->diag, DIAG_NOTE, NULL,
                 "left out: nodes that tell no way to them, %" PRIu32, ways.left_out);
    }
    if (!ways.is_bad) {
        add_entries(&ways, entries);
    }
    return !ways.is_bad;
}
