#include "support/binary_heap.h"

#include "base/arena.h"

static bool comes_before(const struct heap_item *a, const struct heap_item *b)
{
    if (a->event.time != b->event.time) {
        return a->event.time < b->event.time;
    }
    return a->sequence < b->sequence;
}

static void swap(struct heap_item *a, struct heap_item *b)
{
    const struct heap_item kept = *a;
    *a = *b;
    *b = kept;
}

void binary_heap_push(struct binary_heap *heap, const struct event *event)
{
    heap->items =
        arena_grow(heap->arena, heap->items, &heap->capacity, heap->count + 1, sizeof *heap->items);
    size_t at = heap->count++;
    heap->items[at] = (struct heap_item){.event = *event, .sequence = heap->sequence_next++};
    while (at > 0 && comes_before(&heap->items[at], &heap->items[(at - 1) / 2])) {
        swap(&heap->items[at], &heap->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

bool binary_heap_pop(struct binary_heap *heap, struct event *event)
{
    if (heap->count == 0) {
        return false;
    }
    *event = heap->items[0].event;
    heap->items[0] = heap->items[--heap->count];
    for (size_t at = 0; 2 * at + 1 < heap->count;) {
        size_t child = 2 * at + 1;
        if (child + 1 < heap->count && comes_before(&heap->items[child + 1], &heap->items[child])) {
            child++;
        }
        if (!comes_before(&heap->items[child], &heap->items[at])) {
            break;
        }
        swap(&heap->items[child], &heap->items[at]);
        at = child;
    }
    return true;
}
