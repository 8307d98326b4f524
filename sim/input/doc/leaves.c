/* Mappings are walked with a stack in place of recursion. */
#include "input/doc/leaves.h"

#include "base/arena.h"

/* A mapping whose children are being visited. */
struct open_mapping {
    const struct doc_node *next;
    const char *prefix; /* "" or "parallel." */
};

struct doc_leaves doc_leaves_of(struct arena *arena, const struct doc_node *mapping,
                                doc_is_whole *is_whole, const void *context)
{
    struct doc_leaves leaves = {NULL, 0, 0};
    struct open_mapping *stack = NULL;
    size_t capacity = 0;
    size_t depth = 0;
    stack = arena_grow(arena, stack, &capacity, 1, sizeof *stack);
    stack[depth++] = (struct open_mapping){mapping->child, ""};
    while (depth > 0) {
        const struct open_mapping at = stack[depth - 1];
        if (at.next == NULL) {
            depth--;
            continue;
        }
        stack[depth - 1].next = at.next->next;
        const char *path = arena_printf(arena, "%s%s", at.prefix, at.next->key);
        if (at.next->kind == DOC_MAPPING && at.next->child != NULL &&
            !(is_whole != NULL && is_whole(context, path))) {
            stack = arena_grow(arena, stack, &capacity, depth + 1, sizeof *stack);
            stack[depth++] =
                (struct open_mapping){at.next->child, arena_printf(arena, "%s.", path)};
            continue;
        }
        leaves.items = arena_grow(arena, leaves.items, &leaves.capacity, leaves.count + 1,
                                  sizeof *leaves.items);
        leaves.items[leaves.count++] = (struct doc_leaf){path, at.next};
    }
    return leaves;
}
