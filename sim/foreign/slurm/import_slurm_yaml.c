/* topology.yaml: a list of topologies, each a tree, blocks, or flat.
 *
 *     - topology: default
 *       cluster_default: true
 *       tree:
 *         switches:
 *         - {switch: spine, children: "leaf[1-2]"}
 *         - {switch: leaf1, nodes: "n[1-32]"}
 *     - topology: racks
 *       block: {block_sizes: [18], blocks: [{block: b1, nodes: "n[1-18]"}]}
 */
#include "foreign/slurm/import_slurm.h"

#include "base/arena.h"
#include "input/doc/doc.h"

#include <string.h>
#include <strings.h>

static bool report(const struct importer *importer, const struct doc_node *at, const char *message,
                   const char *help)
{
    diag_add(importer->diag, DIAG_INPUT, &at->place, "%s", message);
    diag_help(importer->diag, "%s", help);
    return false;
}

/* --topology, or the first that is the cluster's default, or the first. */
static const struct doc_node *choose(const struct importer *importer, const struct doc_node *root)
{
    const struct doc_node *chosen = NULL;
    for (const struct doc_node *item = root->child; item != NULL; item = item->next) {
        const char *name = doc_find_text(item, "topology");
        const char *is_default = doc_find_text(item, "cluster_default");
        if (importer->topology != NULL) {
            if (name != NULL && strcmp(name, importer->topology) == 0) {
                return item;
            }
        } else if (is_default != NULL && strcasecmp(is_default, "true") == 0) {
            return item;
        } else if (chosen == NULL) {
            chosen = item;
        }
    }
    if (chosen == NULL) {
        const char *name = importer->topology != NULL ? importer->topology : "";
        report(importer, root,
               arena_printf(importer->arena, "there is no topology '%s' in this file", name),
               "each item begins with '- topology: NAME'");
    }
    return chosen;
}

static bool read_item(const struct importer *importer, const struct doc_node *item,
                      struct slurm_entries *entries)
{
    const char *word = entries->are_blocks ? "block" : "switch";
    const char *name = doc_find_text(item, word);
    if (name == NULL || name[0] == '\0') {
        return report(importer, item, arena_printf(importer->arena, "this %s has no name", word),
                      arena_printf(importer->arena, "write '%s: NAME'", word));
    }
    struct slurm_entry entry = {
        .name = name,
        .place = doc_find(item, word)->place,
        .nodes = doc_find_text(item, "nodes"),
        .switches = entries->are_blocks ? NULL : doc_find_text(item, "children"),
    };
    if (entry.nodes != NULL) {
        const struct doc_node *node = doc_find(item, "nodes");
        entry.nodes_place = node->place;
        entry.nodes_place.column += node->is_quoted;
    }
    if (entry.switches != NULL) {
        const struct doc_node *node = doc_find(item, "children");
        entry.switches_place = node->place;
        entry.switches_place.column += node->is_quoted;
    }
    entries->items = arena_grow(importer->arena, entries->items, &entries->capacity,
                                (size_t)entries->count + 1, sizeof *entries->items);
    entries->items[entries->count++] = entry;
    return true;
}

bool slurm_read_yaml(const struct importer *importer, struct slurm_entries *entries)
{
    const struct text_file *file = &importer->file;
    const struct doc_node *root =
        doc_parse(importer->arena, file->path, file->text, file->length, importer->diag);
    if (root == NULL) {
        return false;
    }
    if (root->kind != DOC_SEQUENCE || root->child == NULL) {
        return report(importer, root, "this is neither topology.conf nor topology.yaml of Slurm",
                      "topology.conf has lines SwitchName=... or BlockName=..., topology.yaml is a "
                      "list of '- topology: NAME'");
    }
    const struct doc_node *chosen = choose(importer, root);
    if (chosen == NULL) {
        return false;
    }
    const struct doc_node *switches = doc_find(chosen, "tree.switches");
    const struct doc_node *blocks = doc_find(chosen, "block.blocks");
    const struct doc_node *items = switches != NULL ? switches : blocks;
    entries->are_blocks = switches == NULL;
    if (items == NULL || items->kind != DOC_SEQUENCE || items->child == NULL) {
        return report(importer, items != NULL ? items : chosen,
                      "this topology has no switches and no blocks",
                      "a flat one says nothing about the fabric; --topology NAME takes another");
    }
    bool is_good = true;
    for (const struct doc_node *item = items->child; item != NULL; item = item->next) {
        is_good = read_item(importer, item, entries) && is_good;
    }
    return is_good;
}
