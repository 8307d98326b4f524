/* Numbers for whoever makes things up, the same for the same key: a family of scenarios has a seed,
 * and each of them a number.
 */
#ifndef TESTS_SUPPORT_DICE_H
#define TESTS_SUPPORT_DICE_H

#include "base/rng.h"

struct family {
    uint64_t seed;
    uint64_t first;
    uint64_t count;
};

struct dice {
    struct rng_key key;
};

/* Below `bound`. */
static inline uint64_t roll(struct dice *dice, uint64_t bound)
{
    dice->key.operation++;
    return rng_below(&dice->key, bound);
}

#endif
