/* A mapping that is assumed hands this on to the mappings inside it that say
 * nothing themselves. Those are kept in a list and visited in order, so there
 * is no recursion on a file's depth; the document bounds their number.
 */
#include "input/doc/provenance.h"

#include "base/absent.h"
#include "base/arena.h"

#include <string.h>

static const char *const provenance_names[] = {"datasheet", "measured", "fitted", "assumed"};
enum { PROVENANCE_ASSUMED = 3, PROVENANCE_COUNT = 4 };

#define NO_SOURCE "no source is given"

/* A mapping whose scalars are all assumed. */
struct assumed_mapping {
    const struct doc_node *node;
    const char *name;
    const char *reason;
};

struct assumed_list {
    struct arena *arena;
    struct assumed_mapping *items;
    size_t count;
    size_t capacity;
};

void assumptions_init(struct assumptions *assumptions, struct arena *arena)
{
    *assumptions = (struct assumptions){.arena = arena};
}

void assumptions_add(struct assumptions *assumptions, const struct assumption *assumption)
{
    sim_assert(assumption->name != NULL);
    sim_assert(assumption->value != NULL && assumption->reason != NULL);
    /* A scan is fine: a scenario leans on some dozens of assumptions. */
    for (size_t i = 0; i < assumptions->count; i++) {
        if (strcmp(assumptions->items[i].name, assumption->name) == 0) {
            return;
        }
    }
    assumptions->items = arena_grow(assumptions->arena, assumptions->items, &assumptions->capacity,
                                    assumptions->count + 1, sizeof *assumptions->items);
    assumptions->items[assumptions->count] = *assumption;
    assumptions->items[assumptions->count++].moves = ABSENT;
}

void assumptions_drop(struct assumptions *assumptions, const char *name)
{
    const size_t length = strlen(name);
    size_t kept = 0;
    for (size_t i = 0; i < assumptions->count; i++) {
        const char *other = assumptions->items[i].name;
        const bool is_inside =
            strncmp(other, name, length) == 0 && (other[length] == '\0' || other[length] == '.');
        if (!is_inside) {
            assumptions->items[kept++] = assumptions->items[i];
        }
    }
    assumptions->count = kept;
}

/* The text under `source`, or the first of several; NULL when there is none. */
static const char *source_of(const struct doc_node *mapping)
{
    const struct doc_node *source = doc_find(mapping, "source");
    if (source != NULL && source->kind == DOC_SEQUENCE) {
        source = source->child;
    }
    return source != NULL && source->kind == DOC_SCALAR ? source->text : NULL;
}

/* What describes the constants is not itself one of them. */
static bool is_description(const char *key)
{
    static const char *const keys[] = {"source", "title", "note", "provenance", "assumed"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void list_push(struct assumed_list *list, const struct doc_node *node, const char *name,
                      const char *reason)
{
    list->items =
        arena_grow(list->arena, list->items, &list->capacity, list->count + 1, sizeof *list->items);
    const char *own = source_of(node);
    list->items[list->count++] = (struct assumed_mapping){node, name, own != NULL ? own : reason};
}

/* Somebody put another value in its place, whose reasons are none of the mapping's. */
static bool is_of(const struct doc_node *mapping, const struct doc_node *child)
{
    const char *file = mapping->place.file;
    return file == NULL || child->place.file == NULL || strcmp(file, child->place.file) == 0;
}

static void record(struct assumptions *assumptions, const struct doc_node *child,
                   const char *prefix, const char *reason)
{
    const char *name = arena_printf(assumptions->arena, "%s.%s", prefix, child->key);
    assumptions_add(assumptions, &(struct assumption){.name = name,
                                                      .value = child->text,
                                                      .reason = reason,
                                                      .place = child->place});
}

/* Records the scalars of one mapping and queues the mappings in it. The key
 * that names the file's thing (`gpu: NAME` in a gpu) is not a constant. */
static void record_mapping(struct assumptions *assumptions, struct assumed_list *list,
                           const struct assumed_mapping *mapping)
{
    for (const struct doc_node *child = mapping->node->child; child; child = child->next) {
        if (is_description(child->key) || strcmp(child->key, mapping->name) == 0 ||
            !is_of(mapping->node, child)) {
            continue;
        }
        if (child->kind == DOC_SCALAR) {
            record(assumptions, child, mapping->name, mapping->reason);
        } else if (child->kind == DOC_MAPPING && doc_find(child, "provenance") == NULL) {
            const char *name = arena_printf(list->arena, "%s.%s", mapping->name, child->key);
            list_push(list, child, name, mapping->reason);
        }
    }
}

/* The constants that a mapping of another provenance says are assumed. */
static void record_listed(struct assumptions *assumptions, struct doc_map *map, const char *prefix)
{
    const struct doc_node *list = doc_take_list(map, "assumed", "keys", "[power]");
    const char *own = list != NULL ? source_of(map->node) : NULL;
    const char *reason = own != NULL ? own : NO_SOURCE;
    for (const struct doc_node *entry = list != NULL ? list->child : NULL; entry != NULL;
         entry = entry->next) {
        const bool is_key = entry->kind == DOC_SCALAR && strchr(entry->text, '.') == NULL;
        const struct doc_node *child = is_key ? doc_find(map->node, entry->text) : NULL;
        if (child == NULL || child->kind != DOC_SCALAR || is_description(child->key)) {
            diag_add(map->diag, DIAG_INPUT, &entry->place, "'%s' is no constant beside 'assumed'",
                     entry->kind == DOC_SCALAR ? entry->text : "this");
            diag_help(map->diag, "it lists keys of the same mapping, as in [power]");
            map->is_bad = true;
            continue;
        }
        if (is_of(map->node, child)) {
            record(assumptions, child, prefix, reason);
        }
    }
}

/* What another file, which assumes it, put into a mapping. */
static void record_foreign(struct assumptions *assumptions, const struct doc_node *node,
                           const char *prefix)
{
    for (const struct doc_node *child = node->child; child != NULL; child = child->next) {
        if (child->assumed != NULL) {
            record(assumptions, child, prefix, child->assumed);
        }
    }
}

void assumptions_take(struct assumptions *assumptions, struct doc_map *map, const char *prefix)
{
    uint32_t provenance = 0;
    doc_take(map, "source");
    doc_take(map, "note");
    doc_get_choice(map, "provenance", provenance_names, PROVENANCE_COUNT, &provenance);
    if (map->node != NULL) {
        record_foreign(assumptions, map->node, prefix);
        record_listed(assumptions, map, prefix);
    }
    if (provenance != PROVENANCE_ASSUMED || map->node == NULL) {
        return;
    }
    struct assumed_list list = {.arena = assumptions->arena};
    list_push(&list, map->node, prefix, NO_SOURCE);
    for (size_t i = 0; i < list.count; i++) {
        const struct assumed_mapping mapping = list.items[i]; /* the list may move */
        record_mapping(assumptions, &list, &mapping);
    }
}
