/* A list of blocks; allocation moves an offset in the current one.
 *
 * Blocks before `current` are full, those after it are empty: left over from
 * the time before a reset. New blocks double the memory held, up to a cap, so
 * their number stays small. A fresh block comes from calloc, whose pages cost
 * nothing until they are touched; only a block that was used before is
 * cleared by hand, piece by piece as it is handed out again.
 *
 * A growing array that has become large has a block of its own, which goes when the array has moved
 * on to a larger one: of all its copies only the newest stays.
 *
 * For the address sanitizer everything in a block is poison but the pieces that were handed out;
 * before each lies a gap (base/poison.h), after the last one the rest of the block.
 */
#include "base/arena.h"

#include "base/poison.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t BLOCK_BYTES_MIN = (size_t)8 << 10;
static const size_t BLOCK_BYTES_MAX = (size_t)4 << 20;
static const size_t GROW_COUNT_MIN = 8;
static const size_t GROW_APART_BYTES = (size_t)1 << 20; /* from here on in a block of its own */

enum { SHORT_TEXT_BYTES = 256, RUBBISH = 0xa5 };

struct block {
    struct block *next;
    size_t size_bytes; /* of `memory` */
    size_t used_bytes;
    bool is_recycled; /* may hold old contents: clear what is handed out */
    max_align_t memory[];
};

struct arena {
    struct block *first;
    struct block *current; /* NULL as long as there is no block */
    struct block *apart;   /* each holds one grown array */
    size_t held_bytes;     /* sum over the blocks */
    size_t used_bytes;     /* asked for since the last reset */
};

static _Noreturn void out_of_memory(size_t size_bytes)
{
    fprintf(stderr, "stoker: out of memory (%zu bytes were asked for)\n", size_bytes);
    exit(1);
}

void arena_out_of_memory(void)
{
    fputs("stoker: out of memory\n", stderr);
    exit(1);
}

struct arena *arena_new(void)
{
    struct arena *arena = calloc(1, sizeof *arena);
    if (arena == NULL) {
        out_of_memory(sizeof *arena);
    }
    return arena;
}

static void free_blocks(struct block *first)
{
    while (first != NULL) {
        struct block *next = first->next;
        free(first);
        first = next;
    }
}

void arena_free(struct arena *arena)
{
    if (arena == NULL) {
        return;
    }
    free_blocks(arena->first);
    free_blocks(arena->apart);
    free(arena);
}

static size_t block_room(const struct block *block)
{
    return block->size_bytes - block->used_bytes;
}

static struct block *block_new(struct arena *arena, size_t size_bytes)
{
    size_t block_bytes = arena->held_bytes;
    block_bytes = block_bytes < BLOCK_BYTES_MIN ? BLOCK_BYTES_MIN : block_bytes;
    block_bytes = block_bytes > BLOCK_BYTES_MAX ? BLOCK_BYTES_MAX : block_bytes;
    block_bytes = block_bytes < size_bytes ? size_bytes : block_bytes;
    struct block *block = calloc(1, sizeof *block + block_bytes);
    if (block == NULL) {
        out_of_memory(size_bytes);
    }
    block->size_bytes = block_bytes;
    poison(block->memory, block_bytes);
    arena->held_bytes += block_bytes;
    return block;
}

/* Unlinks the first empty block that is large enough, or returns NULL. */
static struct block *take_empty_block(struct arena *arena, size_t size_bytes)
{
    if (arena->current == NULL) {
        return NULL;
    }
    for (struct block **link = &arena->current->next; *link != NULL; link = &(*link)->next) {
        struct block *block = *link;
        sim_assert(block->used_bytes == 0);
        if (block->size_bytes >= size_bytes) {
            *link = block->next;
            return block;
        }
    }
    return NULL;
}

/* Makes a block with room for `size_bytes` the current one. */
static void open_block(struct arena *arena, size_t size_bytes)
{
    struct block *block = take_empty_block(arena, size_bytes);
    if (block == NULL) {
        block = block_new(arena, size_bytes);
    }
    struct block **link = arena->current == NULL ? &arena->first : &arena->current->next;
    block->next = *link;
    *link = block;
    arena->current = block;
}

/* Zero from `filled_bytes` on; what comes before is the caller's to fill. */
static void *take(struct arena *arena, size_t size_bytes, size_t filled_bytes)
{
    const size_t alignment = sizeof(max_align_t);
    if (size_bytes > SIZE_MAX / 2) {
        out_of_memory(size_bytes);
    }
    const size_t rounded_bytes = (size_bytes + alignment - 1) / alignment * alignment;
    const size_t taken_bytes = POISON_GAP_BYTES + rounded_bytes;
    if (arena->current == NULL || block_room(arena->current) < taken_bytes) {
        open_block(arena, taken_bytes);
    }
    struct block *block = arena->current;
    sim_assert(block_room(block) >= taken_bytes);
    char *memory = (char *)block->memory + block->used_bytes + POISON_GAP_BYTES;
    block->used_bytes += taken_bytes;
    arena->used_bytes += size_bytes;
    unpoison(memory, size_bytes);
    if (block->is_recycled) {
        memset(memory + filled_bytes, 0, size_bytes - filled_bytes);
    }
    return memory;
}

void *arena_alloc(struct arena *arena, size_t size_bytes)
{
    return take(arena, size_bytes, 0);
}

static size_t product(size_t count, size_t element_bytes)
{
    if (element_bytes != 0 && count > SIZE_MAX / element_bytes) {
        out_of_memory(SIZE_MAX);
    }
    return count * element_bytes;
}

void *arena_array(struct arena *arena, size_t count, size_t element_bytes)
{
    return take(arena, product(count, element_bytes), 0);
}

void *arena_room(struct arena *arena, size_t count, size_t element_bytes)
{
    const size_t size_bytes = product(count, element_bytes);
    void *memory = take(arena, size_bytes, size_bytes);
    if (POISON_IS_ON) {
        memset(memory, RUBBISH, size_bytes);
    }
    return memory;
}

/* Zeroed, in a block of its own. */
static void *take_apart(struct arena *arena, size_t size_bytes)
{
    if (size_bytes > SIZE_MAX / 2) {
        out_of_memory(size_bytes);
    }
    const size_t block_bytes = POISON_GAP_BYTES + size_bytes;
    struct block *block = calloc(1, sizeof *block + block_bytes);
    if (block == NULL) {
        out_of_memory(size_bytes);
    }
    block->size_bytes = block_bytes;
    block->next = arena->apart;
    arena->apart = block;
    arena->used_bytes += size_bytes;
    poison(block->memory, POISON_GAP_BYTES);
    return (char *)block->memory + POISON_GAP_BYTES;
}

/* Frees the block of an array that has moved on, if it had one. */
static void give_back(struct arena *arena, const void *array)
{
    for (struct block **link = &arena->apart; *link != NULL; link = &(*link)->next) {
        struct block *block = *link;
        if ((char *)block->memory + POISON_GAP_BYTES == (const char *)array) {
            *link = block->next;
            arena->used_bytes -= block->size_bytes - POISON_GAP_BYTES;
            free(block);
            return;
        }
    }
}

void *arena_grow(struct arena *arena, void *old, size_t *capacity, size_t count_needed,
                 size_t element_bytes)
{
    sim_assert(old != NULL || *capacity == 0);
    if (count_needed <= *capacity) {
        return old;
    }
    size_t count = *capacity > SIZE_MAX / 2 ? count_needed : 2 * *capacity;
    count = count < GROW_COUNT_MIN ? GROW_COUNT_MIN : count;
    count = count < count_needed ? count_needed : count;
    const size_t old_bytes = *capacity * element_bytes;
    const size_t bytes = product(count, element_bytes);
    void *grown =
        bytes >= GROW_APART_BYTES ? take_apart(arena, bytes) : take(arena, bytes, old_bytes);
    if (*capacity > 0) {
        memcpy(grown, old, old_bytes);
        poison(old, old_bytes); /* a stale copy from now on */
    }
    if (old_bytes >= GROW_APART_BYTES) {
        give_back(arena, old);
    }
    *capacity = count;
    return grown;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    const size_t copied = strnlen(text, length);
    char *copy = arena_alloc(arena, copied + 1);
    memcpy(copy, text, copied);
    return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}

/* Most texts are short, and formatting costs more than copying: only a long one is formatted
 * twice. */
char *arena_vprintf(struct arena *arena, const char *format, va_list arguments)
{
    char short_text[SHORT_TEXT_BYTES];
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(short_text, sizeof short_text, format, arguments);
    sim_assert(length >= 0);
    const size_t text_bytes = (size_t)length + 1;
    char *text = arena_alloc(arena, text_bytes);
    if (text_bytes <= sizeof short_text) {
        memcpy(text, short_text, text_bytes);
    } else {
        vsnprintf(text, text_bytes, format, again);
    }
    va_end(again);
    return text;
}

void arena_reset(struct arena *arena)
{
    for (struct block *block = arena->first; block != NULL; block = block->next) {
        block->is_recycled = block->is_recycled || block->used_bytes > 0;
        block->used_bytes = 0;
        poison(block->memory, block->size_bytes);
    }
    free_blocks(arena->apart);
    arena->apart = NULL;
    arena->current = arena->first;
    arena->used_bytes = 0;
}

size_t arena_used_bytes(const struct arena *arena)
{
    return arena->used_bytes;
}
