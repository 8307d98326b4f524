/* The checkpoints of a walk: all that each tier holds, from the oldest to the newest. */
#include "support/slow_walker.h"

#include "base/arena.h"

void walker_keep(struct walker *w, uint32_t tier, struct copy copy)
{
    struct kept_copies *kept = &w->kept[tier];
    kept->items =
        arena_grow(w->arena, kept->items, &kept->capacity, kept->count + 1, sizeof *kept->items);
    kept->items[kept->count++] = copy;
}

void walker_throw_away(struct walker *w, uint32_t tier)
{
    w->kept[tier].count = 0;
}

struct copy walker_newest(const struct walker *w, uint32_t tier)
{
    const struct kept_copies *kept = &w->kept[tier];
    return kept->count > 0 ? kept->items[kept->count - 1] : (struct copy){0, 0, 0};
}

void walker_throw_away_bad(struct walker *w, uint32_t tier)
{
    while (walker_newest(w, tier).steps > w->checked) {
        w->kept[tier].count--;
    }
}
