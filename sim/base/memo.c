/* An open hash table, at most half full, of entries in an arena; the hash is rng_hash_bytes of the
 * key, and tells nothing but where to look.
 */
#include "base/memo.h"

#include "base/arena.h"
#include "base/rng.h"

#include <stdbool.h>
#include <string.h>

enum { SLOTS_MIN = 64 };

struct entry {
    uint64_t hash;
    const void *key; /* NULL: the slot is free */
    size_t key_bytes;
    const void *value;
};

struct memo {
    struct arena *own;   /* of the memo itself */
    struct arena *arena; /* of what it holds */
    size_t bytes_max, bytes;
    struct entry *slots;
    size_t slot_count, count; /* slot_count is a power of two */
    struct memo_count *counts;
};

static void begin(struct memo *memo)
{
    memo->bytes = 0;
    memo->count = 0;
    memo->slot_count = SLOTS_MIN;
    memo->slots = arena_array(memo->arena, memo->slot_count, sizeof *memo->slots);
}

struct memo *memo_new(size_t bytes_max)
{
    struct arena *own = arena_new();
    struct memo *memo = arena_alloc(own, sizeof *memo);
    *memo = (struct memo){.own = own, .arena = arena_new(), .bytes_max = bytes_max};
    memo->counts = arena_alloc(own, sizeof *memo->counts);
    begin(memo);
    return memo;
}

void memo_free(struct memo *memo)
{
    if (memo != NULL) {
        arena_free(memo->arena);
        arena_free(memo->own);
    }
}

/* The key's slot, or the free one where it would be. */
static struct entry *slot_of(const struct memo *memo, uint64_t hash, const void *key,
                             size_t key_bytes)
{
    size_t at = (size_t)hash & (memo->slot_count - 1);
    while (memo->slots[at].key != NULL &&
           (memo->slots[at].hash != hash || memo->slots[at].key_bytes != key_bytes ||
            memcmp(memo->slots[at].key, key, key_bytes) != 0)) {
        at = (at + 1) & (memo->slot_count - 1);
    }
    return &memo->slots[at];
}

const void *memo_find(const struct memo *memo, const void *key, size_t key_bytes)
{
    const struct entry *entry = slot_of(memo, rng_hash_bytes(key, key_bytes, 0), key, key_bytes);
    const bool is_known = entry->key != NULL;
    memo->counts->found += is_known ? 1 : 0;
    memo->counts->missed += is_known ? 0 : 1;
    return is_known ? entry->value : NULL;
}

static void double_slots(struct memo *memo)
{
    const struct entry *old = memo->slots;
    const size_t old_count = memo->slot_count;
    memo->slot_count *= 2;
    memo->slots = arena_array(memo->arena, memo->slot_count, sizeof *memo->slots);
    for (size_t i = 0; i < old_count; i++) {
        if (old[i].key != NULL) {
            *slot_of(memo, old[i].hash, old[i].key, old[i].key_bytes) = old[i];
        }
    }
}

static const void *copy_of(struct arena *arena, const void *bytes, size_t size_bytes)
{
    void *copy = arena_alloc(arena, size_bytes);
    memcpy(copy, bytes, size_bytes);
    return copy;
}

void memo_add(struct memo *memo, const void *key, size_t key_bytes, const void *value,
              size_t value_bytes)
{
    if (memo->bytes + key_bytes + value_bytes > memo->bytes_max) {
        arena_reset(memo->arena);
        begin(memo);
    } else if (2 * memo->count >= memo->slot_count) {
        double_slots(memo);
    }
    const uint64_t hash = rng_hash_bytes(key, key_bytes, 0);
    struct entry *entry = slot_of(memo, hash, key, key_bytes);
    sim_assert(entry->key == NULL);
    *entry = (struct entry){.hash = hash,
                            .key = copy_of(memo->arena, key, key_bytes),
                            .key_bytes = key_bytes,
                            .value = copy_of(memo->arena, value, value_bytes)};
    memo->bytes += key_bytes + value_bytes;
    memo->count++;
}

struct memo_count memo_count(const struct memo *memo)
{
    return *memo->counts;
}
