/* Routes as train/system enters them: in parts, where the fabric's symmetries (hw/fabric_turn) tell
 * apart what they cross, and each list of crossings once.
 */
#ifndef TRAIN_SYSTEM_SYSTEM_ROUTES_H
#define TRAIN_SYSTEM_SYSTEM_ROUTES_H

#include "hw/fabric.h"
#include "hw/fabric_turn.h"
#include "train/fold.h"

/* The first links of all orbits that a route crosses, in rising order: kinds part some. What is
 * parted is the arena's, else it is the route's. */
struct fabric_route routes_part(struct arena *arena, const struct fabric_turns *turns,
                                const struct fabric_route *route, uint32_t turned);

/* Paths that were added, and their crossings. */
struct added_paths {
    const struct engine_path *paths;
    size_t first, count; /* those from `first` on are looked at */
    const struct engine_crossing *crossings;
    const struct fold_crossing *orbits; /* per crossing; NULL: nothing turns */
};

/* Where the same crossings begin as those of a list: of an earlier path, or else the list's own. */
uint32_t routes_find(const struct added_paths *added, uint32_t list_first, uint32_t list_count);

#endif
