/* Slurm's topology as a fabric.
 *
 * A tree whose leaves all have as many nodes and lie equally deep, at most two
 * levels below the root, is `kind: tree` (the last leaf, and the last pod, may
 * be smaller). All others are `kind: explicit`, with the nodes numbered in the
 * order of the leaves. A switch of Slurm may stand for a layer of real ones
 * (the spines), so the links between two switches have a count.
 */
#include "foreign/slurm/import_slurm.h"

#include "base/arena.h"
#include "foreign/slurm/hostlist.h"
#include "input/network/cluster_explicit.h"
#include "input/doc/name_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct tree_switch {
    const struct slurm_entry *entry; /* NULL: the root above blocks */
    const char *name;
    uint32_t parent; /* NAME_NONE: none; the same for the next three */
    uint32_t first_child;
    uint32_t last_child;
    uint32_t next_sibling;
    uint32_t child_count;
    uint32_t depth;    /* below the root */
    int64_t nodes;     /* of a leaf; 0: a switch of switches */
    int64_t node_base; /* number of its first node */
    int64_t uplinks;
    bool is_left_out; /* nothing joins it with the others */
};

struct tree {
    struct importer *importer;
    struct tree_switch *switches;
    uint32_t count;
    uint32_t root;
    struct name_table names;      /* of switches, by index */
    struct name_table node_names; /* of all nodes */
    int64_t left_out;             /* nodes that nothing joins */
    bool are_blocks;
    uint32_t *order; /* all switches, each after the one above it */
    uint32_t order_count;
    uint32_t *leaves; /* in the same order */
    uint32_t leaf_count;
    uint32_t *leaf_of_node; /* while reading: leaf of each node, by its name's index */
    size_t leaf_of_node_capacity;
    bool is_bad;
};

static void report(struct tree *tree, const struct place *place, const char *message,
                   const char *help)
{
    tree->is_bad = true;
    diag_add(tree->importer->diag, DIAG_INPUT, place, "%s", message);
    diag_help(tree->importer->diag, "%s", help);
}

/* ---- building ------------------------------------------------------------------ */

static struct tree_switch new_switch(const struct slurm_entry *entry, const char *name)
{
    return (struct tree_switch){
        .entry = entry,
        .name = name,
        .parent = NAME_NONE,
        .first_child = NAME_NONE,
        .last_child = NAME_NONE,
        .next_sibling = NAME_NONE,
    };
}

static void add_switches(struct tree *tree, const struct slurm_entries *entries)
{
    struct arena *arena = tree->importer->arena;
    tree->switches = arena_array(arena, (size_t)entries->count + 1, sizeof *tree->switches);
    for (uint32_t i = 0; i < entries->count; i++) {
        const struct slurm_entry *entry = &entries->items[i];
        bool is_new = false;
        const uint32_t index = name_table_add(&tree->names, entry->name, &is_new);
        if (!is_new) {
            report(tree, &entry->place,
                   arena_printf(arena, "'%s' stands already in line %" PRIu32, entry->name,
                                tree->switches[index].entry->place.line),
                   "each switch or block has one line");
            continue;
        }
        tree->switches[tree->count++] = new_switch(entry, entry->name);
    }
}

static void hang(struct tree *tree, uint32_t parent, uint32_t child)
{
    struct tree_switch *above = &tree->switches[parent];
    tree->switches[child].parent = parent;
    if (above->last_child == NAME_NONE) {
        above->first_child = child;
    } else {
        tree->switches[above->last_child].next_sibling = child;
    }
    above->last_child = child;
    above->child_count++;
}

static void add_children(struct tree *tree, uint32_t index)
{
    struct arena *arena = tree->importer->arena;
    const struct slurm_entry *entry = tree->switches[index].entry;
    struct hostlist list = {.count = 0};
    if (!hostlist_expand(arena, entry->switches, &entry->switches_place, &list,
                         tree->importer->diag)) {
        tree->is_bad = true;
        return;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        const uint32_t child = name_table_find(&tree->names, list.names[i]);
        if (child == NAME_NONE) {
            const char *nearest = diag_nearest(list.names[i], tree->names.names, tree->count);
            report(tree, &entry->switches_place,
                   arena_printf(arena, "there is no switch '%s'", list.names[i]),
                   nearest == NULL ? "each switch needs a line SwitchName=NAME of its own"
                                   : arena_printf(arena, "did you mean '%s'?", nearest));
        } else if (child == index) {
            report(tree, &entry->switches_place, "this switch is below itself",
                   "switches form a tree");
        } else if (tree->switches[child].parent != NAME_NONE) {
            const char *above = tree->switches[tree->switches[child].parent].name;
            report(tree, &entry->switches_place,
                   arena_printf(arena, "'%s' is below '%s' already", list.names[i], above),
                   "a switch has one switch above it; name the layer of spines as one switch");
        } else {
            hang(tree, index, child);
        }
    }
}

static void add_nodes(struct tree *tree, uint32_t index)
{
    struct arena *arena = tree->importer->arena;
    const struct slurm_entry *entry = tree->switches[index].entry;
    struct hostlist list = {.count = 0};
    if (!hostlist_expand(arena, entry->nodes, &entry->nodes_place, &list, tree->importer->diag)) {
        tree->is_bad = true;
        return;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        bool is_new = false;
        const uint32_t node = name_table_add(&tree->node_names, list.names[i], &is_new);
        if (!is_new) {
            report(tree, &entry->nodes_place,
                   arena_printf(arena, "node '%s' is on '%s' already", list.names[i],
                                tree->switches[tree->leaf_of_node[node]].name),
                   "a node is on one leaf");
            continue;
        }
        tree->leaf_of_node = arena_grow(arena, tree->leaf_of_node, &tree->leaf_of_node_capacity,
                                        (size_t)node + 1, sizeof *tree->leaf_of_node);
        tree->leaf_of_node[node] = index;
        tree->switches[index].nodes++;
    }
}

/* `scontrol show topology` repeats, at a switch of switches, the nodes below it. */
static void check_repeated(struct tree *tree, const struct slurm_entry *entry)
{
    struct hostlist list = {.count = 0};
    if (!hostlist_expand(tree->importer->arena, entry->nodes, &entry->nodes_place, &list,
                         tree->importer->diag)) {
        tree->is_bad = true;
        return;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        if (name_table_find(&tree->node_names, list.names[i]) == NAME_NONE) {
            report(tree, &entry->nodes_place,
                   arena_printf(tree->importer->arena,
                                "this switch has both nodes and switches, and '%s' is on no leaf",
                                list.names[i]),
                   "give it Nodes= or Switches=; nodes of the leaves below it may be repeated");
            return;
        }
    }
}

/* Nodes of leaves first: others repeat them. */
static void add_entries(struct tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct slurm_entry *entry = tree->switches[i].entry;
        if (entry->nodes == NULL && entry->switches == NULL) {
            report(tree, &entry->place, "nothing hangs on this switch",
                   "give it Nodes= or Switches=");
        } else if (entry->switches == NULL) {
            add_nodes(tree, i);
        } else {
            add_children(tree, i);
        }
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct slurm_entry *entry = tree->switches[i].entry;
        if (entry->nodes != NULL && entry->switches != NULL) {
            check_repeated(tree, entry);
        }
    }
}

/* Blocks have nothing above them: they get a switch. */
static void join_blocks(struct tree *tree)
{
    tree->root = tree->count > 1 ? tree->count : 0;
    if (tree->count == 1) {
        return;
    }
    tree->switches[tree->count] = new_switch(NULL, "above-the-blocks");
    for (uint32_t i = 0; i < tree->count; i++) {
        hang(tree, tree->count, i);
    }
    tree->count++;
}

/* Leaves that nothing joins with the tree: what Slurm's tools write of nodes without a fabric. */
static void leave_out(struct tree *tree, uint32_t index)
{
    struct tree_switch *one = &tree->switches[index];
    one->is_left_out = true;
    tree->left_out += one->nodes;
    diag_add(tree->importer->diag, DIAG_WARNING, &one->entry->place,
             "nothing joins '%s' with '%s': its %" PRId64 " nodes are left out", one->name,
             tree->switches[tree->root].name, one->nodes);
}

/* The one switch of switches at the top; of leaves alone the first. */
static void find_root(struct tree *tree)
{
    tree->root = NAME_NONE;
    for (uint32_t i = 0; i < tree->count; i++) {
        const bool is_top = tree->switches[i].parent == NAME_NONE;
        const bool is_first =
            tree->root == NAME_NONE || tree->switches[tree->root].child_count == 0;
        if (is_top &&
            (tree->root == NAME_NONE || (is_first && tree->switches[i].child_count > 0))) {
            tree->root = i;
        }
    }
    if (tree->root == NAME_NONE) {
        report(tree, &tree->switches[0].entry->place, "these switches are above each other",
               "one switch is at the top of the tree");
        return;
    }
    const bool has_tree = tree->switches[tree->root].child_count > 0;
    for (uint32_t i = 0; i < tree->count && !tree->is_bad; i++) {
        const struct tree_switch *one = &tree->switches[i];
        if (one->parent != NAME_NONE || i == tree->root) {
            continue;
        }
        if (has_tree && one->child_count == 0) {
            leave_out(tree, i);
            continue;
        }
        report(tree, &one->entry->place,
               arena_printf(tree->importer->arena, "nothing joins '%s' with '%s'", one->name,
                            tree->switches[tree->root].name),
               "a switch above both, SwitchName=spine Switches=..., does");
    }
}

/* The switch after `at` in the order of the tree; NAME_NONE at its end. */
static uint32_t next_switch(const struct tree *tree, uint32_t at)
{
    if (tree->switches[at].first_child != NAME_NONE) {
        return tree->switches[at].first_child;
    }
    while (at != tree->root && tree->switches[at].next_sibling == NAME_NONE) {
        at = tree->switches[at].parent;
    }
    return at == tree->root ? NAME_NONE : tree->switches[at].next_sibling;
}

/* Numbers nodes and notes depths; switches that are not reached go in a circle. */
static void walk(struct tree *tree)
{
    struct arena *arena = tree->importer->arena;
    bool *is_reached = arena_array(arena, tree->count, sizeof *is_reached);
    tree->order = arena_array(arena, tree->count, sizeof *tree->order);
    tree->leaves = arena_array(arena, tree->count, sizeof *tree->leaves);
    int64_t nodes = 0;
    for (uint32_t at = tree->root; at != NAME_NONE; at = next_switch(tree, at)) {
        struct tree_switch *one = &tree->switches[at];
        is_reached[at] = true;
        tree->order[tree->order_count++] = at;
        one->depth = at == tree->root ? 0 : tree->switches[one->parent].depth + 1;
        if (one->nodes > 0) {
            one->node_base = nodes;
            nodes += one->nodes;
            tree->leaves[tree->leaf_count++] = at;
        }
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        if (!is_reached[i] && !tree->switches[i].is_left_out) {
            report(tree, &tree->switches[i].entry->place,
                   arena_printf(arena, "the way up from '%s' goes in a circle",
                                tree->switches[i].name),
                   "switches form a tree");
            return;
        }
    }
}

/* By the first line that is no comment: a list, or a key with a colon. */
static bool begins_like_yaml(const char *text)
{
    text += strspn(text, " \t\r\n");
    while (*text == '#') {
        text += strcspn(text, "\n");
        text += strspn(text, " \t\r\n");
    }
    const size_t key = strcspn(text, " \t\r\n:=");
    return (*text != '\0' && strchr("-[{", *text) != NULL) || text[key] == ':';
}

static bool read_entries(const struct importer *importer, struct slurm_entries *entries)
{
    const char *text = importer->file.text;
    const bool is_json = text[strspn(text, " \t\r\n")] == '{';
    return is_json || slurm_tells_instances(text) ? slurm_read_instances(importer, entries)
           : begins_like_yaml(text)               ? slurm_read_yaml(importer, entries)
                                                  : slurm_read_conf(importer, entries);
}

static bool build(struct tree *tree)
{
    struct slurm_entries entries = {.count = 0};
    const struct importer *importer = tree->importer;
    if (!read_entries(importer, &entries)) {
        return false;
    }
    const struct place whole = {.file = importer->file.path};
    if (entries.count == 0) {
        report(tree, &whole, "there is no switch and no block in this file",
               "topology.conf has lines SwitchName=... or BlockName=...");
        return false;
    }
    name_table_init(&tree->names, importer->arena);
    name_table_init(&tree->node_names, importer->arena);
    tree->are_blocks = entries.are_blocks;
    add_switches(tree, &entries);
    if (!tree->is_bad) {
        add_entries(tree);
    }
    if (!tree->is_bad) {
        (entries.are_blocks ? join_blocks : find_root)(tree);
    }
    if (!tree->is_bad) {
        walk(tree);
    }
    return !tree->is_bad;
}

/* ---- the fabric ------------------------------------------------------------------- */

static const struct tree_switch *leaf_at(const struct tree *tree, uint32_t number)
{
    return &tree->switches[tree->leaves[number]];
}

/* All switches right above the leaves have as many, but for the last, which may have fewer. */
static bool has_regular_pods(const struct tree *tree)
{
    const uint32_t pods = tree->switches[tree->root].child_count;
    const uint32_t first = tree->switches[tree->root].first_child;
    const uint32_t last = tree->switches[tree->root].last_child;
    const uint32_t leaves = tree->switches[first].child_count;
    uint32_t at = first;
    for (uint32_t i = 0; i + 1 < pods; i++, at = tree->switches[at].next_sibling) {
        if (tree->switches[at].child_count != leaves) {
            return false;
        }
    }
    return tree->switches[last].child_count <= leaves;
}

static bool is_regular(const struct tree *tree)
{
    const struct tree_switch *first = leaf_at(tree, 0);
    for (uint32_t i = 1; i < tree->leaf_count; i++) {
        const struct tree_switch *leaf = leaf_at(tree, i);
        const bool is_last = i + 1 == tree->leaf_count;
        if (leaf->depth != first->depth || leaf->nodes > first->nodes ||
            (leaf->nodes < first->nodes && !is_last)) {
            return false;
        }
    }
    return first->depth <= 1 || (first->depth == 2 && has_regular_pods(tree));
}

static void print_regular(const void *context, FILE *out)
{
    const struct tree *tree = context;
    const struct importer *importer = tree->importer;
    const struct tree_switch *first = leaf_at(tree, 0);
    const double down = (double)(first->nodes * importer->nics);
    double ratio =
        importer->uplinks > 0 ? down / (double)importer->uplinks : importer->oversubscription;
    if (ratio < 1.0) { /* a single leaf, or more links up than down: nothing is lost */
        ratio = 1.0;
    }
    fprintf(out, "  kind: tree\n  nodes_per_leaf: %" PRId64 "\n  oversubscription: %.10g\n",
            first->nodes, ratio);
    if (first->depth == 2) {
        const uint32_t pod = tree->switches[tree->root].first_child;
        fprintf(out, "  leaves_per_pod: %" PRIu32 "\n  pod_oversubscription: %.10g\n",
                tree->switches[pod].child_count,
                importer->pod_oversubscription > 0.0 ? importer->pod_oversubscription : 1.0);
    }
}

/* From the leaves up: a leaf's by option, another's from those of its children. */
static void count_uplinks(struct tree *tree)
{
    const struct importer *importer = tree->importer;
    const double pod = importer->pod_oversubscription > 0.0 ? importer->pod_oversubscription : 1.0;
    for (uint32_t i = tree->order_count; i-- > 1;) {
        struct tree_switch *one = &tree->switches[tree->order[i]];
        if (one->nodes == 0) {
            one->uplinks = (int64_t)ceil((double)one->uplinks / pod);
        } else if (importer->uplinks > 0) {
            one->uplinks = importer->uplinks;
        } else {
            one->uplinks =
                (int64_t)ceil((double)(one->nodes * importer->nics) / importer->oversubscription);
        }
        tree->switches[one->parent].uplinks += one->uplinks;
    }
}

/* Names as they are written: what is not ASCII is '?', and two that are then the same get numbers.
 */
static const char **written_names(const struct tree *tree)
{
    struct arena *arena = tree->importer->arena;
    const char **names = arena_array(arena, tree->count, sizeof *names);
    struct name_table known;
    name_table_init(&known, arena);
    for (uint32_t i = 0; i < tree->count; i++) {
        const char *quoted = import_quote(arena, tree->switches[i].name);
        const char *name = quoted;
        bool is_new = false;
        for (uint32_t k = 2; name_table_add(&known, name, &is_new), !is_new; k++) {
            name = arena_printf(arena, "%.*s %" PRIu32 "'", (int)strlen(quoted) - 1, quoted, k);
        }
        names[i] = name;
    }
    return names;
}

/* More links than one may have cables are fewer, faster ones: the rate of all of them is kept. */
static void print_uplinks(const struct tree *tree, const struct tree_switch *one, FILE *out)
{
    const double rate = (double)one->uplinks * tree->importer->nic_bytes_per_s;
    const int64_t bundle = (one->uplinks + EXPLICIT_CABLES_MAX - 1) / EXPLICIT_CABLES_MAX;
    const int64_t cables = (one->uplinks + bundle - 1) / bundle;
    fprintf(out, "bandwidth: %.10g Gbps, count: %" PRId64 "}\n", rate / (double)cables * 8e-9,
            cables);
}

static void print_explicit(const void *context, FILE *out)
{
    const struct tree *tree = context;
    const char *const *names = written_names(tree);
    fputs("  kind: explicit\n  routing: adaptive\n  switches:\n", out);
    for (uint32_t i = 0; i < tree->order_count; i++) {
        const struct tree_switch *one = &tree->switches[tree->order[i]];
        fprintf(out, "  - {name: %s", names[tree->order[i]]);
        if (one->nodes == 1) {
            fprintf(out, ", nodes: %" PRId64, one->node_base);
        } else if (one->nodes > 1) {
            fprintf(out, ", nodes: %" PRId64 "-%" PRId64, one->node_base,
                    one->node_base + one->nodes - 1);
        }
        fputs("}\n", out);
    }
    fputs("  links:\n", out);
    for (uint32_t i = 1; i < tree->order_count; i++) {
        const struct tree_switch *one = &tree->switches[tree->order[i]];
        fprintf(out, "  - {from: %s, to: %s, ", names[tree->order[i]], names[one->parent]);
        print_uplinks(tree, one, out);
    }
}

/* ---- the command ---------------------------------------------------------------------- */

static bool check_options(const struct tree *tree)
{
    const struct importer *importer = tree->importer;
    bool is_good = true;
    if (importer->gpus_per_node == 0) {
        is_good = import_need(importer, "--gpus-per-node N", "Slurm's file does not say it");
    }
    if (importer->nics == 0) {
        is_good = import_need(importer, "--nics N", "Slurm's file does not say it");
    }
    if (importer->nic_bytes_per_s <= 0.0) {
        is_good = import_need(importer, "--nic-bandwidth RATE", "Slurm's file has no bandwidths");
    }
    const bool has_ratio = importer->oversubscription > 0.0;
    const bool has_uplinks = importer->uplinks > 0;
    if (tree->leaf_count > 1 && has_ratio == has_uplinks) {
        is_good = import_need(importer, "--uplinks N or --oversubscription RATIO",
                              has_ratio ? "one of the two says it all"
                                        : "Slurm's file has no bandwidths");
    }
    return is_good;
}

/* A tree that is not regular is written switch by switch. */
static bool check_explicit(struct tree *tree)
{
    if (tree->count <= EXPLICIT_SWITCHES_MAX && tree->node_names.count <= EXPLICIT_NODES_MAX) {
        return true;
    }
    const struct place whole = {.file = tree->importer->file.path};
    report(
        tree, &whole,
        arena_printf(tree->importer->arena,
                     "a tree that is not regular may have %d switches and %d nodes, this one "
                     "has %" PRIu32 " and %" PRIu32,
                     EXPLICIT_SWITCHES_MAX, EXPLICIT_NODES_MAX, tree->count,
                     tree->node_names.count),
        "regular: all leaves have as many nodes and lie equally deep; leave out what the jobs do "
        "not use");
    return false;
}

/* Where the GPU's racks are one NVLink domain, a block of topology/block is one: the smallest. */
static void choose_domain(const struct tree *tree, struct import_cluster *cluster)
{
    int64_t least = leaf_at(tree, 0)->nodes;
    int64_t most = least;
    for (uint32_t i = 1; i < tree->leaf_count; i++) {
        const int64_t nodes = leaf_at(tree, i)->nodes;
        least = nodes < least ? nodes : least;
        most = nodes > most ? nodes : most;
    }
    if (!tree->are_blocks || import_domain_of_like(tree->importer, cluster) <= 1) {
        return;
    }
    cluster->domain_nodes = least;
    cluster->scale_up_source =
        arena_printf(tree->importer->arena, "a block of %" PRId64 " nodes is a domain", least);
    if (least < most) {
        diag_add(tree->importer->diag, DIAG_WARNING, NULL,
                 "blocks have %" PRId64 " to %" PRId64 " nodes: an NVLink domain is taken to be of "
                 "the least",
                 least, most);
    }
}

bool import_slurm(struct importer *importer)
{
    struct tree *tree = arena_alloc(importer->arena, sizeof *tree);
    tree->importer = importer;
    struct import_cluster cluster = {.nodes = 0};
    if (!build(tree)) {
        return false;
    }
    const bool has_options = check_options(tree);
    if (!import_choose_gpu(importer, &(struct device_clues){.cpu = PLATFORM_X86}, &cluster) ||
        !has_options) {
        return false;
    }
    choose_domain(tree, &cluster);
    cluster.gpus_per_node = importer->gpus_per_node;
    cluster.nics = importer->nics;
    cluster.nic_bytes_per_s = importer->nic_bytes_per_s;
    cluster.nic_source = "by --nics and --nic-bandwidth";
    cluster.nodes = tree->node_names.count - tree->left_out;
    cluster.print_fabric = print_regular;
    cluster.fabric_context = tree;
    if (!is_regular(tree)) {
        if (!check_explicit(tree)) {
            return false;
        }
        count_uplinks(tree);
        cluster.print_fabric = print_explicit;
    }
    cluster.fabric_source = "switches as Slurm has them, links by options";
    const struct tree_switch *first = leaf_at(tree, 0);
    import_comment(importer, &cluster,
                   arena_printf(importer->arena,
                                "Nodes are numbered by leaf: 0 to %" PRId64 " are %s (%s).",
                                first->nodes - 1, first->entry->nodes, first->name));
    return import_cluster_print(importer, &cluster);
}
