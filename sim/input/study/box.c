/* What it sets is taken apart into leaves, and each is put under its path, file by file, as those
 * files are put into the scenario.
 */
#include "input/study/box.h"

#include "input/doc/leaves.h"

#include "base/arena.h"

#include <string.h>

#define SCHEMA_OBJECT struct box
#include "input/schema/rows.h"

const char *const box_rate_names[BOX_RATE_COUNT_] = {"gemm", "attention", "memory", "links"};

#define LEFT(name_, rate_, help_)                                                 \
    {                                                                             \
        QUANTITY("measured." name_, left[rate_], DIM_FRACTION, 1e-6, 1.0, help_), \
            .is_optional = true,                                                  \
            .note = "not measured: boxes of its kind differ by what "             \
                    "their file says"                                             \
    }

static const struct schema_row rows[] = {
    {TEXT("box", name, "What it is called.")},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},
    {TEXT("gpu", gpu, "The GPU that it has, of the catalogue: a box of another is refused."),
     .is_required = true, .example = "gpu: b200-sxm"},
    {TEXT("cluster", cluster, "The cluster that it is of, where keys of cluster are set."),
     .is_optional = true, .note = "it sets no key of one"},
    {SECTION("measured", "How well its rates are known: standard deviations of what is left."),
     .moves = SCHEMA_MOVES_NO_STEP},
    LEFT("gemm", BOX_GEMM, "Of matrix products."),
    LEFT("attention", BOX_ATTENTION, "Of fused attention."),
    LEFT("memory", BOX_MEMORY, "Of kernels that stream memory."),
    LEFT("links", BOX_LINKS, "Of links between GPUs."),
    {ONLY_NODE("set", "Keys of gpu, cluster and software, as --set has them."), .note = "none"},
    {ONLY_NODE("anchor", "A measured step of it, as the scenario's anchor."), .note = "none"},
};
const struct schema box_keys = SCHEMA_OF("box", "box.", rows);

bool box_read(const struct doc_node *node, struct box *box, struct assumptions *assumptions,
              struct diag *diag)
{
    *box = (struct box){.name = "inline"};
    return schema_read_document(&box_keys, node, box, assumptions, diag);
}

/* ---- opening ------------------------------------------------------------------------------ */

static struct doc_leaves leaves_of(struct arena *arena, const struct doc_node *box)
{
    const struct doc_node *set = doc_find(box, "set");
    return set != NULL && set->kind == DOC_MAPPING ? doc_leaves_of(arena, set, NULL, NULL)
                                                   : (struct doc_leaves){.count = 0};
}

static bool is_in(const char *path, const char *file)
{
    const size_t length = strlen(file);
    return strncmp(path, file, length) == 0 && path[length] == '.';
}

static bool check_set(struct arena *arena, const struct doc_node *box, struct diag *diag)
{
    const struct doc_node *set = doc_find(box, "set");
    const struct doc_leaves leaves = leaves_of(arena, box);
    bool is_good = true;
    if (set != NULL && set->kind != DOC_MAPPING) {
        diag_add(diag, DIAG_INPUT, &set->place, "set holds keys and their values");
        diag_help(diag, "write it like set: {gpu.gemm.sustained: 0.49}");
        return false;
    }
    for (size_t i = 0; i < leaves.count; i++) {
        const struct doc_leaf *leaf = &leaves.items[i];
        const bool is_cluster = is_in(leaf->path, "cluster");
        if (!is_cluster && !is_in(leaf->path, "gpu") && !is_in(leaf->path, "software")) {
            diag_add(diag, DIAG_INPUT, &leaf->node->key_place, "a box cannot set '%s'", leaf->path);
            diag_help(diag, "it says what a machine is like: keys of gpu, cluster and software");
            is_good = false;
        } else if (is_cluster && doc_find(box, "cluster") == NULL) {
            diag_add(diag, DIAG_INPUT, &leaf->node->key_place,
                     "a key of a cluster, and the box does not say of which");
            diag_help(diag, "add a line like cluster: b200-3200");
            is_good = false;
        }
    }
    return is_good;
}

/* Beside the file that names it, or as it is. */
static struct doc_node *load(struct arena *arena, const struct catalogue *catalogue,
                             const struct doc_node *reference, struct diag *diag)
{
    if (reference->kind != DOC_SCALAR) {
        return doc_copy(arena, reference);
    }
    const char *path = catalogue_path_beside(arena, catalogue, &reference->place, reference->text);
    if (!doc_files_exist(catalogue->files, path)) {
        diag_add(diag, DIAG_INPUT, &reference->place, "there is no file '%.60s'", reference->text);
        diag_help(diag,
                  "a box is looked for beside this file, then in the current directory; "
                  "stoker calibrate box FILE -o %.60s writes one",
                  reference->text);
        return NULL;
    }
    return doc_files_load(catalogue->files, arena, path, diag);
}

struct doc_node *box_open(struct arena *arena, const struct catalogue *catalogue,
                          const struct doc_node *reference, struct diag *diag)
{
    struct assumptions unused;
    struct box box;
    assumptions_init(&unused, arena);
    struct doc_node *node = load(arena, catalogue, reference, diag);
    return node != NULL && box_read(node, &box, &unused, diag) && check_set(arena, node, diag)
               ? node
               : NULL;
}

/* ---- applying ----------------------------------------------------------------------------- */

/* Whether the file in the scenario is the one that the box was measured on. */
static bool is_its_own(const struct doc_node *box, const char *file, const struct doc_node *root,
                       struct diag *diag)
{
    const struct doc_node *own = doc_find(box, file);
    const char *named = own != NULL && own->kind == DOC_SCALAR ? own->text : NULL;
    const struct doc_node *part = doc_find(root, file);
    const char *there = part != NULL ? doc_find_text(part, file) : NULL;
    if (named == NULL || there == NULL || strcmp(named, there) == 0) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &own->place, "a box of %.60s, in a scenario of %.60s", named, there);
    diag_help(diag,
              "leave out box, or name this %s; where variants or a sweep name others, let "
              "those with this one set box, too",
              file);
    return false;
}

bool box_apply(struct arena *arena, const struct doc_node *box, const char *file,
               struct doc_node *root, struct diag *diag)
{
    const struct doc_leaves leaves = leaves_of(arena, box);
    if (!is_its_own(box, file, root, diag)) {
        return false;
    }
    bool is_good = true;
    for (size_t i = 0; i < leaves.count; i++) {
        const struct doc_leaf *leaf = &leaves.items[i];
        if (is_in(leaf->path, file)) {
            is_good = doc_put(arena, root, leaf->path, leaf->node, diag) && is_good;
        }
    }
    return is_good;
}

struct doc_node *box_applied(struct arena *arena, const struct doc_node *box)
{
    struct doc_node *copy = arena_alloc(arena, sizeof *copy);
    *copy = *box;
    doc_own_children(arena, copy);
    doc_drop(copy, "set");
    doc_drop(copy, "anchor");
    return copy;
}
