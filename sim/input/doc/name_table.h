/* Names in the order in which they came, each with its index: a hash table.
 *
 * For files that name many hosts, nodes or switches; a scan would take a
 * second at ten thousand of them.
 */
#ifndef INPUT_DOC_NAME_TABLE_H
#define INPUT_DOC_NAME_TABLE_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

#define NAME_NONE UINT32_MAX

struct name_table {
    struct arena *arena;
    const char **names; /* by index; the arena's */
    uint32_t count;
    size_t capacity;
    uint32_t *slots; /* index + 1, or 0: free; at most half of them used */
    size_t slot_count;
};

void name_table_init(struct name_table *table, struct arena *arena);

/* The index of `name`, which is copied if it is new; *is_new says which. */
uint32_t name_table_add(struct name_table *table, const char *name, bool *is_new);

/* The index of a name, which is added if it is new. */
uint32_t name_table_index(struct name_table *table, const char *name);

/* NAME_NONE when it is absent. */
uint32_t name_table_find(const struct name_table *table, const char *name);

#endif
