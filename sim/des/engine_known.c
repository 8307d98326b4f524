/* A list of systems' programs, those found last in front: a study comes back to what it has seen
 * lately. Tables of stretches differ by the streams whose collectives can be parts of them.
 */
#include "des/engine_known.h"

#include "base/arena.h"
#include "des/engine_stretch_state.h"

#include <string.h>

struct engine_known {
    struct arena *own;
    struct arena *arena; /* of what is known */
    size_t bytes_max;
    struct known_programs *first;
    struct memo_count count;
};

struct engine_known *engine_known_new(size_t bytes_max)
{
    struct arena *own = arena_new();
    struct engine_known *known = arena_alloc(own, sizeof *known);
    *known = (struct engine_known){.own = own, .arena = arena_new(), .bytes_max = bytes_max};
    return known;
}

void engine_known_free(struct engine_known *known)
{
    if (known != NULL) {
        arena_free(known->arena);
        arena_free(known->own);
    }
}

void engine_known_trim(struct engine_known *known)
{
    if (arena_used_bytes(known->arena) > known->bytes_max) {
        arena_reset(known->arena);
        known->first = NULL;
    }
}

struct memo_count engine_known_count(const struct engine_known *known)
{
    return known->count;
}

/* ---- programs ------------------------------------------------------------------------------- */

static bool are_numbered(const struct engine_system *system)
{
    for (uint32_t p = 0; p < system->program_count; p++) {
        if (system->programs[p].known_as == 0) {
            return false;
        }
    }
    return true;
}

static bool is_of(const struct known_programs *programs, const struct engine_system *system,
                  uint32_t streams)
{
    bool is_same = programs->streams == streams && programs->count == system->program_count;
    for (uint32_t p = 0; is_same && p < programs->count; p++) {
        is_same = programs->numbers[p] == system->programs[p].known_as;
    }
    return is_same;
}

static struct known_programs *add_programs(struct arena *arena, const struct engine_system *system,
                                           uint32_t streams)
{
    struct known_programs *programs = arena_alloc(arena, sizeof *programs);
    uint64_t *numbers = arena_array(arena, system->program_count, sizeof *numbers);
    for (uint32_t p = 0; p < system->program_count; p++) {
        numbers[p] = system->programs[p].known_as;
    }
    *programs = (struct known_programs){
        .arena = arena, .streams = streams, .count = system->program_count, .numbers = numbers};
    return programs;
}

struct known_programs *engine_known_find(struct arena *arena, const struct engine_system *system,
                                         uint32_t streams)
{
    struct engine_known *known = system->known;
    if (known == NULL || !are_numbered(system)) {
        return add_programs(arena, system, streams);
    }
    struct known_programs **link = &known->first;
    while (*link != NULL && !is_of(*link, system, streams)) {
        link = &(*link)->next;
    }
    struct known_programs *found = *link;
    known->count.found += found != NULL ? 1 : 0;
    known->count.missed += found != NULL ? 0 : 1;
    if (found != NULL) {
        *link = found->next;
    } else {
        found = add_programs(known->arena, system, streams);
    }
    found->next = known->first;
    known->first = found;
    return found;
}

/* ---- tables --------------------------------------------------------------------------------- */

struct known_table *engine_known_table(struct known_programs *programs, uint32_t parts,
                                       uint32_t block_count)
{
    struct known_table *table = programs->tables;
    while (table != NULL && table->parts != parts) {
        table = table->next;
    }
    if (table == NULL) {
        table = arena_alloc(programs->arena, sizeof *table);
        *table = (struct known_table){
            .arena = programs->arena,
            .parts = parts,
            .blocks = arena_array(programs->arena, block_count, sizeof *table->blocks),
            .next = programs->tables};
        programs->tables = table;
    }
    return table;
}
