/* Williams 1964, Algorithm 232: children of i are 2i + 1 and 2i + 2. */
#include "run/history/time_heap.h"

#include "base/arena.h"
#include "base/check.h"

#include <stdbool.h>

void time_heap_push(struct time_heap *heap, struct arena *arena, sim_time time)
{
    heap->times =
        arena_grow(arena, heap->times, &heap->capacity, heap->count + 1, sizeof *heap->times);
    size_t at = heap->count++;
    while (at > 0 && heap->times[(at - 1) / 2] > time) {
        heap->times[at] = heap->times[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->times[at] = time;
}

sim_time time_heap_first(const struct time_heap *heap)
{
    return heap->count > 0 ? heap->times[0] : INT64_MAX;
}

/* The last stays behind the others, where a child without a sibling is compared with it: so which
 * child is smaller is no branch, which would be mispredicted half of the time. */
void time_heap_pop(struct time_heap *heap)
{
    sim_assert(heap->count > 0);
    const sim_time last = heap->times[--heap->count];
    const size_t count = heap->count;
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += heap->times[child + 1] < heap->times[child];
        if (heap->times[child] >= last) {
            break;
        }
        heap->times[at] = heap->times[child];
        at = child;
    }
    heap->times[at] = last;
}

/* The next in the order of a walk, parents first, that is not below it, places counted from 1
 * (children of i are 2i and 2i + 1). 0: it is the last. */
static size_t past(size_t place)
{
    while (place % 2 == 1) {
        place /= 2;
    }
    return place > 0 ? place + 1 : 0;
}

/* None is earlier than the one above it. */
size_t time_heap_until(const struct time_heap *heap, sim_time when)
{
    size_t found = 0;
    for (size_t place = 1; place > 0;) {
        const bool is_until = place <= heap->count && heap->times[place - 1] <= when;
        found += is_until;
        place = is_until ? 2 * place : past(place);
    }
    return found;
}
