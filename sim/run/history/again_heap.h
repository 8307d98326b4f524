/* Components that were repaired in vain, by when they fail again, the earliest first; of those that
 * fail together the one with the lower number. A binary heap, as time_heap is one of instants.
 */
#ifndef RUN_HISTORY_AGAIN_HEAP_H
#define RUN_HISTORY_AGAIN_HEAP_H

#include "des/event.h"

#include <stddef.h>

struct arena;

struct failure_again {
    sim_time when;
    uint64_t ordinal; /* of the failure: its number of before, and how often it failed again */
};

struct again_heap {
    struct failure_again *items;
    size_t count, capacity;
};

void again_heap_push(struct again_heap *heap, struct arena *arena,
                     const struct failure_again *item);

/* NULL when it is empty; until the next push or pop. */
const struct failure_again *again_heap_first(const struct again_heap *heap);

/* Takes the earliest away; the heap must not be empty. */
void again_heap_pop(struct again_heap *heap);

#endif
