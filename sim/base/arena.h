/* The room base: what every program needs, and nothing of training.
 *
 * Invariant: Nothing here has heard of a GPU. Memory ends with the arena that it is from, and
 * malloc stands in arena.c alone. A user's error is a message with its place and its remedy,
 * which the caller passes on; an error of ours ends the program at once. A random number is a
 * hash of what it is for, so nobody's draw moves another's.
 *
 * Lives here: memory, messages, units, random numbers, JSON, processes that work for us, files
 * that are whole or as they were, sums that are recorded to be printed.
 * May come in: nothing.
 *
 * Decided in one place each:
 *     units, and what a bare number means                                units.c
 *     what a message looks like, and the exit status                     diag.c
 *     what ends the program                                              check.h
 *     random numbers: a hash of seed, stream, rank, step and operation   rng.c
 *     a formula and its printed sum: the function that computes it, by   ledger.h
 *     what of a user's text reaches a terminal, or a spreadsheet's cell  printable.h
 *     how a file that we write is whole or as it was                     path.h
 *     which shard of N has a point, a row or a family of layouts         shard.h
 *     what names a build                                                 version.h
 */

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
