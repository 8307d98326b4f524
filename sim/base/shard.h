/* Shards: the parts of a list of pieces that several machines share, none of them knowing of the
 * others.
 *
 * A shard takes every count-th piece, and not a stretch of them: pieces that are next to each other
 * often cost alike. From one round to the next the shards move on by one, so that where a list
 * repeats itself with the count of shards as its period no shard gets all that is dear:
 *
 *     piece        0 1 2 3 | 4 5 6 7 | 8 9 10 11
 *     shard of 4   1 2 3 4 | 2 3 4 1 | 3 4  1  2
 *
 * Which shard has a piece follows from its number alone, so shards that are run again take the same
 * ones.
 */
#ifndef BASE_SHARD_H
#define BASE_SHARD_H

#include <stdbool.h>
#include <stdint.h>

struct shard {
    uint32_t number; /* from 1 */
    uint32_t count;  /* 0: nothing is shared, all pieces are wanted */
};

static inline bool shard_has(struct shard shard, uint32_t piece)
{
    return shard.count == 0 || (piece + piece / shard.count) % shard.count == shard.number - 1;
}

#endif
