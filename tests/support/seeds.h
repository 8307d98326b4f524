/* The seeds of a random test: 1, 2, ... or the one that was asked for. A test
 * that fails leaves its loop, so that seeds_report, called at its end, can
 * print the seed that failed.
 *
 *     for (uint64_t seed; (seed = seeds_next(seeds, 100)) != 0;) { ... }
 *
 * Each random test has a struct seeded as its cmocka state, with these as its
 * setup and teardown; main puts the program's argument into seeds.only.
 */
#ifndef TESTS_SUPPORT_SEEDS_H
#define TESTS_SUPPORT_SEEDS_H

#include <stdint.h>

struct arena;

struct seeds {
    uint64_t only;    /* the one to run; 0 = all */
    uint64_t current; /* 0 = outside a loop */
};

/* The next seed up to `last`, or to the share of them that is asked for (share.h); 0 at the end. */
uint64_t seeds_next(struct seeds *seeds, uint64_t last);

/* Prints the seed at which the loop was left, if it was; ready for another loop. */
void seeds_report(struct seeds *seeds);

/* The one seed that the command line asks for, 0 if none. */
uint64_t seeds_only(int count, char **arguments);

struct seeded {
    struct seeds seeds;
    struct arena *arena; /* of one test */
};

int seeded_begin(void **state);
int seeded_end(void **state);

#endif
