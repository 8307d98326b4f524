/* Both scenarios are taken apart into leaves. A leaf whose path ends, in the other, at a word above
 * it differs there: `recompute: none` against recompute.layers. A scenario has some 600 leaves, so
 * each is looked up by its path.
 */
#include "study/diff/diff_inputs.h"

#include "base/arena.h"
#include "input/catalogue.h"
#include "input/doc/leaves.h"

#include <inttypes.h>
#include <string.h>

const char *const diff_kind_names[DIFF_KINDS_] = {"scenario", "part", "constant"};

static bool is_below(const char *path, const char *key)
{
    const size_t length = strlen(key);
    return strncmp(path, key, length) == 0 && (path[length] == '\0' || path[length] == '.');
}

/* ---- keys --------------------------------------------------------------------------------- */

struct key_list {
    struct arena *arena;
    const struct doc_node *documents[2];
    struct diff_key *items;
    size_t count, capacity;
};

/* Values of a file of their own are one. */
static bool is_whole(const void *context, const char *path)
{
    (void)context;
    return strcmp(path, "run.failures") == 0 || strcmp(path, "run.spot") == 0 ||
           strcmp(path, "anchor") == 0;
}

/* What nothing is predicted by. */
static bool is_idle(const char *path)
{
    static const char *const words[] = {"source", "provenance", "title", "note", "assumed"};
    static const char *const sections[] = {"scenario",     "defaults",     "recipe",  "box.box",
                                           "software.has", "gpu.platform", "gpu.year"};
    const char *dot = strrchr(path, '.');
    const char *last = dot != NULL ? dot + 1 : path;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(last, words[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (is_below(path, sections[i])) {
            return true;
        }
    }
    return false;
}

/* The part of the catalogue that a path is in, or stands for; NULL: none. */
static const char *part_of(const char *path)
{
    static const enum catalogue_kind kinds[] = {
        CATALOGUE_MODEL, CATALOGUE_CLUSTER, CATALOGUE_SOFTWARE, CATALOGUE_GPU, CATALOGUE_LIBRARY};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (is_below(path, catalogue_keys[kinds[i]])) {
            return catalogue_keys[kinds[i]];
        }
    }
    return NULL;
}

static const char *part_name(struct arena *arena, const struct doc_node *document, const char *part)
{
    return doc_find_text(document, arena_printf(arena, "%s.%s", part, part));
}

static bool is_another_part(const struct key_list *list, const char *part)
{
    const char *a = part_name(list->arena, list->documents[0], part);
    const char *b = part_name(list->arena, list->documents[1], part);
    return a == NULL || b == NULL || strcmp(a, b) != 0;
}

/* The path, or the one above it at which a document ends. */
static const char *path_in(struct arena *arena, const struct doc_node *document, const char *path)
{
    for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        const char *above = arena_strndup(arena, path, (size_t)(dot - path));
        const struct doc_node *node = doc_find(document, above);
        if (node != NULL && node->kind != DOC_MAPPING) {
            return above;
        }
    }
    return path;
}

static bool has_key(const struct key_list *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* A leaf of one of the two, where the other has something else. */
static void take(struct key_list *list, const char *leaf, const struct doc_node *other)
{
    const char *part = part_of(leaf);
    const bool is_part = part != NULL && is_another_part(list, part);
    const char *path = is_part ? part : path_in(list->arena, other, leaf);
    const struct doc_node *a = doc_find(list->documents[0], path);
    const struct doc_node *b = doc_find(list->documents[1], path);
    if (is_idle(path) || (a != NULL && b != NULL && doc_is_same(a, b)) || has_key(list, path)) {
        return;
    }
    list->items =
        arena_grow(list->arena, list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] = (struct diff_key){
        .path = path,
        .values = {a, b},
        .kind = is_part        ? DIFF_PART
                : part != NULL ? DIFF_CONSTANT
                               : DIFF_SCENARIO,
    };
}

static void take_leaves(struct key_list *list, uint32_t side)
{
    const struct doc_leaves leaves =
        doc_leaves_of(list->arena, list->documents[side], is_whole, NULL);
    for (size_t i = 0; i < leaves.count; i++) {
        take(list, leaves.items[i].path, list->documents[1 - side]);
    }
}

/* ---- inputs ------------------------------------------------------------------------------- */

/* What is one question, however many keys it has. */
static const char *group_of(const char *path)
{
    static const struct {
        const char *key, *group;
    } groups[] = {
        {"parallel", "layout"},         {"batch.micro", "layout"},   {"recompute", "recompute"},
        {"cluster.network", "network"}, {"cluster.nics", "network"},
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (is_below(path, groups[i].key)) {
            return groups[i].group;
        }
    }
    return path;
}

/* The first two words, or the first. */
static const char *section_of(struct arena *arena, const char *path, uint32_t words)
{
    const char *end = path;
    for (uint32_t i = 0; i < words && end != NULL; i++) {
        end = strchr(i == 0 ? end : end + 1, '.');
    }
    return end == NULL ? path : arena_strndup(arena, path, (size_t)(end - path));
}

static uint32_t count_groups(const struct key_list *list)
{
    uint32_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool is_new = true;
        for (size_t k = 0; k < i; k++) {
            is_new = is_new && strcmp(list->items[k].group, list->items[i].group) != 0;
        }
        count += is_new;
    }
    return count;
}

/* By key, where these are few enough; else constants by section, then by part, then all keys so. */
static void group(struct key_list *list)
{
    for (uint32_t coarse = 0; coarse < 4; coarse++) {
        for (size_t i = 0; i < list->count; i++) {
            struct diff_key *key = &list->items[i];
            const uint32_t words = coarse == 1 ? 2 : 1;
            const bool is_coarse = coarse > (key->kind == DIFF_CONSTANT ? 0 : 2);
            key->group =
                is_coarse ? section_of(list->arena, key->path, words) : group_of(key->path);
        }
        if (count_groups(list) <= DIFF_INPUTS_MAX) {
            return;
        }
    }
}

/* A value on a line, as it is written; a file of its own by its name. */
static const char *value_text(struct arena *arena, const struct diff_key *key, uint32_t side)
{
    const struct doc_node *node = key->values[side];
    if (node == NULL) {
        return "-";
    }
    const char *dot = strrchr(key->path, '.');
    const char *name =
        node->kind == DOC_MAPPING ? doc_find_text(node, dot != NULL ? dot + 1 : key->path) : NULL;
    struct doc_node alone = *node;
    alone.key = NULL;
    alone.next = NULL;
    return name != NULL ? name : doc_to_text(arena, &alone);
}

/* "tp 2, pp 4" of several keys. */
static const char *values_text(struct arena *arena, const struct diff_input *input, uint32_t side)
{
    if (input->key_count == 1) {
        return value_text(arena, input->keys[0], side);
    }
    const char *text = "";
    for (uint32_t i = 0; i < input->key_count; i++) {
        const char *dot = strrchr(input->keys[i]->path, '.');
        text = arena_printf(arena, "%s%s%s %s", text, i > 0 ? ", " : "",
                            dot != NULL ? dot + 1 : input->keys[i]->path,
                            value_text(arena, input->keys[i], side));
    }
    return text;
}

static struct diff_input input_of(const struct key_list *list, const char *group)
{
    const struct diff_key **keys = arena_array(list->arena, list->count + 1, sizeof *keys);
    struct diff_input input = {.name = group, .keys = keys};
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].group, group) == 0) {
            keys[input.key_count++] = &list->items[i];
        }
    }
    input.kind = keys[0]->kind;
    input.name = input.key_count == 1
                     ? keys[0]->path
                     : arena_printf(list->arena, "%s (%" PRIu32 " keys)", group, input.key_count);
    for (uint32_t side = 0; side < 2; side++) {
        input.values[side] = values_text(list->arena, &input, side);
    }
    return input;
}

struct diff_inputs diff_inputs_of(struct arena *arena, const struct doc_node *a,
                                  const struct doc_node *b)
{
    struct key_list list = {.arena = arena, .documents = {a, b}};
    take_leaves(&list, 0);
    take_leaves(&list, 1);
    group(&list);
    struct diff_input *items = arena_array(arena, DIFF_INPUTS_MAX, sizeof *items);
    struct diff_inputs inputs = {.items = items, .keys = list.items};
    inputs.key_count = (uint32_t)list.count;
    for (size_t i = 0; i < list.count; i++) {
        bool is_new = true;
        for (size_t k = 0; k < i; k++) {
            is_new = is_new && strcmp(list.items[k].group, list.items[i].group) != 0;
        }
        inputs.constants += list.items[i].kind == DIFF_CONSTANT;
        if (is_new && inputs.count < DIFF_INPUTS_MAX) {
            items[inputs.count++] = input_of(&list, list.items[i].group);
        }
    }
    return inputs;
}

/* ---- mixtures ----------------------------------------------------------------------------- */

static void drop(struct doc_node *root, struct arena *arena, const char *path)
{
    const char *dot = strrchr(path, '.');
    struct doc_node *mapping =
        dot == NULL ? root : doc_find(root, arena_strndup(arena, path, (size_t)(dot - path)));
    if (mapping != NULL && mapping->kind == DOC_MAPPING) {
        doc_drop(mapping, dot != NULL ? dot + 1 : path);
    }
}

/* A copy, so that what is dropped and put is its own. */
struct doc_node *diff_mix(struct arena *arena, const struct doc_node *a,
                          const struct diff_inputs *inputs, uint32_t of_b)
{
    struct doc_node *root = doc_copy(arena, a);
    struct diag *unheard = diag_new(arena);
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct diff_input *input = &inputs->items[i];
        for (uint32_t k = 0; k < ((of_b >> i & 1u) != 0 ? input->key_count : 0); k++) {
            const struct diff_key *key = input->keys[k];
            drop(root, arena, key->path);
            if (key->values[1] != NULL) {
                const bool is_put =
                    doc_put(arena, root, key->path, doc_copy(arena, key->values[1]), unheard);
                sim_assert(is_put);
            }
        }
    }
    return root;
}
