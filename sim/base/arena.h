/* Arenas: memory with a named lifetime.
 *
 * Everything the program allocates belongs to one of a few lifetimes (a
 * scenario, a step, a run); each has an arena, and ending the arena frees all
 * of it. malloc and free appear in arena.c and nowhere else. Running out of
 * memory ends the program with a message and exit status 1, so no function
 * here can fail.
 *
 *     struct arena *arena = arena_new();
 *     double *loads = arena_array(arena, count, sizeof *loads);
 *     ...
 *     arena_free(arena);
 *
 * Memory is zeroed, but for arena_room's, and aligned for any type. Nothing is freed singly. In a
 * build with the address sanitizer a touch beyond a piece, of a piece after a reset, or of an
 * array's contents before it grew, ends the program.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/check.h"

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena); /* NULL is allowed */

/* `size_bytes` zeroed bytes; size 0 gives a valid pointer that must not be read. */
void *arena_alloc(struct arena *arena, size_t size_bytes);

/* `count` elements of `element_bytes`, zeroed; an overflow of the product ends the program. */
void *arena_array(struct arena *arena, size_t count, size_t element_bytes);

/* The same, not zeroed: for elements that are all written before they are read. In a build with the
 * address sanitizer they hold rubbish, so that who reads one before does not get zero by luck. */
void *arena_room(struct arena *arena, size_t count, size_t element_bytes);

/* A growing array: returns room for at least `count_needed` elements, moving
 * the old contents if they do not fit. `*capacity` is updated. Of a small array the old copies stay
 * allocated until the arena ends, so growth doubles; of a large one only the newest. */
void *arena_grow(struct arena *arena, void *old, size_t *capacity, size_t count_needed,
                 size_t element_bytes);

/* What running out of memory does, for a library that reports it: a message, exit status 1. */
_Noreturn void arena_out_of_memory(void);

char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(struct arena *arena, const char *format, va_list arguments);

/* Forgets everything allocated so far but keeps the memory for reuse: for an
 * arena that serves the same work again and again (the points of a sweep). Large grown arrays go:
 * they are rare there. */
void arena_reset(struct arena *arena);

/* Bytes handed out so far and not given back, for the `engine` part of a result. */
size_t arena_used_bytes(const struct arena *arena);

#endif
