/* Prints a document's tree as JSON. It walks with a stack of what is still to
 * be done, which a document's depth (64 at most, input/doc/doc.h) bounds.
 */
#include "report/show/tree.h"

#include "base/arena.h"

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

void tree_json(const struct doc_node *root, const char *key, struct arena *arena, struct json *json)
{
    const struct doc_node *stack[TREE_DEPTH_MAX];
    int depth = 0;
    json_object_open(json, key);
    stack[depth++] = root->child;
    while (depth > 0) {
        const struct doc_node *node = stack[depth - 1];
        if (node == NULL) {
            json_object_close(json);
            depth--;
            continue;
        }
        stack[depth - 1] = node->next;
        if (has_members(node) && depth < JSON_TREE_DEPTH_MAX) {
            json_object_open(json, node->key);
            stack[depth++] = node->child;
        } else {
            const bool is_text = node->kind == DOC_SCALAR;
            json_text(json, node->key, is_text ? node->text : value_text(arena, node));
        }
    }
}
