/* The phases of a group's collectives often cross the same links: of ten of a PAT all-gather among
 * 1,024 ranks five do so in the same way. Lists are compared crossing by crossing; those that
 * differ do so early.
 */
#include "train/system/system_routes.h"

#include "base/arena.h"

#include <stdlib.h>

static int compare_crossings(const void *left, const void *right)
{
    const struct fabric_crossing *a = left;
    const struct fabric_crossing *b = right;
    return (a->link > b->link) - (a->link < b->link);
}

struct fabric_route routes_part(struct arena *arena, const struct fabric_turns *turns,
                                const struct fabric_route *route, uint32_t turned)
{
    struct fabric_route parted = *route;
    parted.count = 0;
    for (uint32_t i = 0; i < route->count; i++) {
        parted.count += fabric_turns_parts(turns, route->crossings[i].link, turned);
    }
    if (parted.count == route->count) {
        return parted;
    }
    parted.crossings = arena_array(arena, parted.count, sizeof *parted.crossings);
    struct fabric_crossing *next = parted.crossings;
    for (uint32_t i = 0; i < route->count; i++) {
        const struct fabric_crossing *crossing = &route->crossings[i];
        const uint32_t parts = fabric_turns_parts(turns, crossing->link, turned);
        for (uint32_t k = 0; k < parts; k++) {
            *next++ = (struct fabric_crossing){fabric_turns_part(turns, crossing->link, turned, k),
                                               crossing->usage};
        }
    }
    qsort(parted.crossings, parted.count, sizeof *parted.crossings, compare_crossings);
    return parted;
}

static bool is_same_crossing(const struct added_paths *added, size_t a, size_t b)
{
    const struct engine_crossing *left = &added->crossings[a];
    const struct engine_crossing *right = &added->crossings[b];
    if (left->link != right->link || left->usage != right->usage) {
        return false;
    }
    const struct fold_crossing *orbits = added->orbits;
    return orbits == NULL || (orbits[a].each == orbits[b].each &&
                              orbits[a].links == orbits[b].links && orbits[a].via == orbits[b].via);
}

uint32_t routes_find(const struct added_paths *added, uint32_t list_first, uint32_t list_count)
{
    for (size_t i = added->first; i < added->count; i++) {
        const struct engine_path *earlier = &added->paths[i];
        uint32_t same = 0;
        while (earlier->crossing_count == list_count && same < list_count &&
               is_same_crossing(added, (size_t)earlier->crossing_first + same,
                                (size_t)list_first + same)) {
            same++;
        }
        if (earlier->crossing_count == list_count && same == list_count) {
            return earlier->crossing_first;
        }
    }
    return list_first;
}
