/* A hash table of names by open addressing with linear probing; it doubles
 * before it is half full.
 */
#include "input/doc/name_table.h"

#include "base/arena.h"
#include "base/rng.h"

#include <string.h>

enum { SLOTS_MIN = 64 };

void name_table_init(struct name_table *table, struct arena *arena)
{
    *table = (struct name_table){.arena = arena, .slot_count = SLOTS_MIN};
    table->slots = arena_array(arena, table->slot_count, sizeof *table->slots);
}

/* The slot that holds `name`, or the free one where it belongs. */
static size_t find_slot(const struct name_table *table, const char *name)
{
    const size_t mask = table->slot_count - 1;
    size_t slot = rng_hash_bytes(name, strlen(name), 0) & mask;
    while (table->slots[slot] != 0 && strcmp(table->names[table->slots[slot] - 1], name) != 0) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static void grow(struct name_table *table)
{
    table->slot_count *= 2;
    table->slots = arena_array(table->arena, table->slot_count, sizeof *table->slots);
    for (uint32_t i = 0; i < table->count; i++) {
        table->slots[find_slot(table, table->names[i])] = i + 1;
    }
}

uint32_t name_table_add(struct name_table *table, const char *name, bool *is_new)
{
    size_t slot = find_slot(table, name);
    *is_new = table->slots[slot] == 0;
    if (!*is_new) {
        return table->slots[slot] - 1;
    }
    if (2 * ((size_t)table->count + 1) > table->slot_count) {
        grow(table);
        slot = find_slot(table, name);
    }
    table->names = arena_grow(table->arena, table->names, &table->capacity,
                              (size_t)table->count + 1, sizeof *table->names);
    table->names[table->count] = arena_strdup(table->arena, name);
    table->slots[slot] = ++table->count;
    return table->count - 1;
}

uint32_t name_table_index(struct name_table *table, const char *name)
{
    bool is_new = false;
    return name_table_add(table, name, &is_new);
}

uint32_t name_table_find(const struct name_table *table, const char *name)
{
    const uint32_t entry = table->slots[find_slot(table, name)];
    return entry == 0 ? NAME_NONE : entry - 1;
}
