/* What EC2 tells of where instances are, as switches of a tree: the network nodes on the way to an
 * instance, the topmost first.
 *
 *     {"Instances": [{"InstanceId": "i-1", "NetworkNodes": ["nn-1", "nn-2", "nn-4"], ...}, ...]}
 *
 * `aws ec2 describe-instance-topology`, and describe-capacity-reservation-topology likewise. Where
 * ways begin at several nodes, one above them all joins them.
 */
#include "foreign/slurm/import_slurm.h"

#include "base/arena.h"
#include "input/doc/doc.h"
#include "input/doc/name_table.h"

#include <string.h>

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

struct ways {
    const struct importer *importer;
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

static void read_instance(struct ways *ways, const struct doc_node *item)
{
    struct arena *arena = ways->importer->arena;
    const char *id = doc_find_text(item, "InstanceId");
    id = id != NULL ? id : doc_find_text(item, "CapacityReservationId");
    const struct doc_node *way = doc_find(item, "NetworkNodes");
    if (id == NULL || way == NULL || way->kind != DOC_SEQUENCE || way->child == NULL) {
        report(ways, item, "this instance has no InstanceId, or no NetworkNodes",
               "aws ec2 describe-instance-topology writes both");
        return;
    }
    const char *above = NULL;
    struct node *node = NULL;
    for (const struct doc_node *at = way->child; at != NULL; above = at->text, at = at->next) {
        node = node_of(ways, at);
        if (node == NULL) {
            return;
        }
        if (above != NULL && !node->has_above) {
            node->has_above = true;
            add_name(arena, &ways->nodes[name_table_find(&ways->names, above)].below, at->text);
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

bool slurm_read_instances(const struct importer *importer, struct slurm_entries *entries)
{
    const struct text_file *file = &importer->file;
    struct ways ways = {.importer = importer};
    name_table_init(&ways.names, importer->arena);
    const struct doc_node *root =
        doc_parse(importer->arena, file->path, file->text, file->length, importer->diag);
    if (root == NULL) {
        return false;
    }
    const struct doc_node *items = doc_find(root, "Instances");
    items = items != NULL ? items : doc_find(root, "CapacityReservations");
    if (items == NULL || items->kind != DOC_SEQUENCE || items->child == NULL) {
        report(&ways, root, "there are no Instances in this file",
               "aws ec2 describe-instance-topology writes {\"Instances\": [{...}, ...]}");
        return false;
    }
    for (const struct doc_node *item = items->child; item != NULL; item = item->next) {
        read_instance(&ways, item);
    }
    if (!ways.is_bad) {
        add_entries(&ways, entries);
    }
    return !ways.is_bad;
}
