/* A path is walked word by word, for keys of the document are words: a scenario that was read has
 * no dots in them.
 */
#include "input/study/stated.h"

#include "base/arena.h"

#include <string.h>

/* Files that a name at the top stands for. */
static bool is_file(const char *path)
{
    static const char *const files[] = {"model.", "cluster.", "software.", "gpu.", "library."};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strncmp(path, files[i], strlen(files[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool stated_below(const char *path, const char *key)
{
    const size_t length = strlen(key);
    return strncmp(path, key, length) == 0 && (path[length] == '\0' || path[length] == '.');
}

bool stated_in(const struct doc_node *own, const char *path)
{
    const struct doc_node *node = own;
    bool is_top = true;
    while (*path != '\0') {
        const size_t length = strcspn(path, ".");
        const struct doc_node *child = node->child;
        while (child != NULL &&
               !(strncmp(child->key, path, length) == 0 && child->key[length] == '\0')) {
            child = child->next;
        }
        if (child == NULL) {
            return false;
        }
        if (child->kind != DOC_MAPPING) {
            return !(is_top && is_file(path));
        }
        is_top = false;
        node = child;
        path += length + (path[length] == '.' ? 1 : 0);
    }
    return true;
}

/* The child of a mapping on the way to a value: a mapping, made if there is none. */
static struct doc_node *descend(struct arena *arena, struct doc_node *mapping, const char *key,
                                const struct doc_node *value)
{
    doc_own_children(arena, mapping);
    struct doc_node **link = doc_link(mapping, key);
    if (*link == NULL || (*link)->kind != DOC_MAPPING) {
        struct doc_node *made = arena_alloc(arena, sizeof *made);
        *made = (struct doc_node){.kind = DOC_MAPPING,
                                  .key = key,
                                  .place = value->key_place,
                                  .key_place = value->key_place,
                                  .next = *link != NULL ? (*link)->next : NULL};
        *link = made;
    }
    return *link;
}

void stated_put(struct arena *arena, struct doc_node *root, const struct doc_node *value)
{
    struct doc_node *mapping = root;
    const char *path = value->key;
    for (size_t length = strcspn(path, "."); path[length] == '.'; length = strcspn(path, ".")) {
        mapping = descend(arena, mapping, arena_strndup(arena, path, length), value);
        path += length + 1;
    }
    doc_own_children(arena, mapping);
    struct doc_node **link = doc_link(mapping, path);
    struct doc_node *copy = doc_copy(arena, value);
    copy->key = path;
    copy->next = *link != NULL ? (*link)->next : NULL;
    *link = copy;
}
