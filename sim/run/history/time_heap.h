/* Instants that are still to come, the earliest first: repairs, ends, failures of what was
 * replaced. A binary heap; equal instants in any order, since nothing is told apart by them.
 */
#ifndef RUN_HISTORY_TIME_HEAP_H
#define RUN_HISTORY_TIME_HEAP_H

#include "des/event.h"

#include <stddef.h>

struct arena;

struct time_heap {
    sim_time *times;
    size_t count, capacity;
};

void time_heap_push(struct time_heap *heap, struct arena *arena, sim_time time);

/* INT64_MAX when it is empty. */
sim_time time_heap_first(const struct time_heap *heap);

void time_heap_pop(struct time_heap *heap);

/* How many are at that instant or before: O(these). */
size_t time_heap_until(const struct time_heap *heap, sim_time when);

#endif
