/* Williams 1964, Algorithm 232: children of i are 2i + 1 and 2i + 2. */
#include "run/history/again_heap.h"

#include "base/arena.h"
#include "base/check.h"

static bool is_before(const struct failure_again *a, const struct failure_again *b)
{
    return a->when < b->when || (a->when == b->when && a->ordinal < b->ordinal);
}

void again_heap_push(struct again_heap *heap, struct arena *arena, const struct failure_again *item)
{
    heap->items =
        arena_grow(arena, heap->items, &heap->capacity, heap->count + 1, sizeof *heap->items);
    size_t at = heap->count++;
    while (at > 0 && is_before(item, &heap->items[(at - 1) / 2])) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = *item;
}

const struct failure_again *again_heap_first(const struct again_heap *heap)
{
    return heap->count > 0 ? &heap->items[0] : NULL;
}

void again_heap_pop(struct again_heap *heap)
{
    sim_assert(heap->count > 0);
    const struct failure_again last = heap->items[--heap->count];
    size_t at = 0;
    for (size_t child = 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && is_before(&heap->items[child + 1], &heap->items[child])) {
            child++;
        }
        if (!is_before(&heap->items[child], &last)) {
            break;
        }
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
}
