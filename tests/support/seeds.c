#include "support/seeds.h"

#include "base/arena.h"
#include "support/share.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t seeds_next(struct seeds *seeds, uint64_t last)
{
    if (seeds->only != 0) {
        seeds->current = seeds->current == 0 ? seeds->only : 0;
    } else {
        seeds->current = seeds->current < share_of(last) ? seeds->current + 1 : 0;
    }
    return seeds->current;
}

void seeds_report(struct seeds *seeds)
{
    if (seeds->current != 0) {
        fprintf(stderr, "seed %" PRIu64 "\n", seeds->current);
    }
    seeds->current = 0;
}

uint64_t seeds_only(int count, char **arguments)
{
    return count > 1 ? strtoull(arguments[1], NULL, 10) : 0;
}

int seeded_begin(void **state)
{
    struct seeded *seeded = *state;
    seeded->arena = arena_new();
    return 0;
}

int seeded_end(void **state)
{
    struct seeded *seeded = *state;
    arena_free(seeded->arena);
    seeds_report(&seeded->seeds);
    return 0;
}
