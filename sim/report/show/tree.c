/* Prints a document's tree as JSON. It walks with a stack of what is still to
 * be done, which a document's depth (64 at most, input/doc/doc.h) bounds.
 */
#include "report/show/tree.h"

#include "base/arena.h"
#include "base/json.h"

enum { TREE_DEPTH_MAX = 66, JSON_TREE_DEPTH_MAX = JSON_DEPTH_MAX - 4 };

/* The node's value alone on one line. */
static const char *value_text(struct arena *arena, const struct doc_node *node)
{
    struct doc_node alone = *node;
    alone.key = NULL;
    alone.next = NULL;
    return doc_to_text(arena, &alone);
}

static bool has_members(const struct doc_node *node)
{
    return node->kind == DOC_MAPPING && node->child != NULL;
}

void tree_add(const struct doc_node *root, struct sheet *in)
{
    const struct doc_node *stack[TREE_DEPTH_MAX] = {root->child};
    struct sheet *objects[TREE_DEPTH_MAX] = {in};
    int depth = 1;
    while (depth > 0) {
        const struct doc_node *node = stack[depth - 1];
        struct sheet *object = objects[depth - 1];
        if (node == NULL) {
            depth--;
            continue;
        }
        stack[depth - 1] = node->next;
        if (has_members(node) && depth < JSON_TREE_DEPTH_MAX) {
            objects[depth] = sheet_object(object, node->key);
            stack[depth++] = node->child;
        } else {
            const bool is_text = node->kind == DOC_SCALAR;
            sheet_text(object, node->key,
                       is_text ? node->text : value_text(sheet_arena(object), node));
        }
    }
}
