/* The slow obvious event queue, to hold des/event.h against: a binary heap of
 * (time, sequence number), so that ties come out in posting order. */
#ifndef TESTS_SUPPORT_BINARY_HEAP_H
#define TESTS_SUPPORT_BINARY_HEAP_H

#include "des/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

struct heap_item {
    struct event event;
    uint64_t sequence;
};

/* Zero-initialise but for the arena. */
struct binary_heap {
    struct arena *arena; /* borrowed */
    struct heap_item *items;
    size_t count;
    size_t capacity;
    uint64_t sequence_next;
};

void binary_heap_push(struct binary_heap *heap, const struct event *event);
bool binary_heap_pop(struct binary_heap *heap, struct event *event);

#endif
