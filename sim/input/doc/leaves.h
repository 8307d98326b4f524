/* The leaves of a mapping: what is written at the end of each path, whether that is dotted
 * (parallel.pp: 16) or nested (parallel: {pp: 16}), in the order of the file.
 *
 * A mapping without keys is a leaf, and so is one that a caller wants whole.
 */
#ifndef INPUT_DOC_LEAVES_H
#define INPUT_DOC_LEAVES_H

#include "input/doc/doc.h"

#include <stddef.h>

struct doc_leaf {
    const char *path;
    const struct doc_node *node; /* borrowed */
};

struct doc_leaves {
    struct doc_leaf *items;
    size_t count, capacity;
};

/* Whether a mapping at this path is a value. NULL in its place: none is. */
typedef bool doc_is_whole(const void *context, const char *path);

/* All memory is the arena's. */
struct doc_leaves doc_leaves_of(struct arena *arena, const struct doc_node *mapping,
                                doc_is_whole *is_whole, const void *context);

#endif
