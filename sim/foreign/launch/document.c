/* A tree of YAML, JSON or TOML as settings, level by level: nothing calls itself. */
#include "foreign/launch/launch.h"

#include "base/arena.h"

#include <string.h>

enum { DEPTH_MAX = 64 };

void document_tell(struct told *told, const struct doc_node *root, const char *prefix)
{
    struct arena *arena = told->importer->arena;
    struct {
        const struct doc_node *next;
        const char *prefix;
    } levels[DEPTH_MAX] = {{root->child, prefix}};
    uint32_t depth = 1;
    while (depth > 0) {
        const struct doc_node *node = levels[depth - 1].next;
        if (node == NULL) {
            depth--;
            continue;
        }
        levels[depth - 1].next = node->next;
        const char *name = arena_printf(arena, "%s%s", levels[depth - 1].prefix, node->key);
        const bool is_open = doc_is(node, "auto");
        if (node->kind == DOC_MAPPING && depth < DEPTH_MAX) {
            levels[depth].next = node->child;
            levels[depth++].prefix = arena_printf(arena, "%s.", name);
        } else if ((node->kind == DOC_SCALAR && !is_open) || node->kind == DOC_SEQUENCE) {
            told_set(told, &(struct told_setting){.name = name,
                                                  .value = node->kind == DOC_SCALAR
                                                               ? node->text
                                                               : doc_to_text(arena, node),
                                                  .place = node->place});
        }
    }
}
