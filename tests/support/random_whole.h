/* Random scenarios with all that a scenario has beside its step: months with failures, stages,
 * pauses and checkpoints, data that is read, prices, caps of power, slow GPUs.
 *
 * Half of them are random_scenario's, half of what the catalogue has. They are valid but for rules
 * among keys: most go through.
 */
#ifndef TESTS_SUPPORT_RANDOM_WHOLE_H
#define TESTS_SUPPORT_RANDOM_WHOLE_H

#include "base/rng.h"

#include <stdio.h>

struct arena;

/* Its YAML: number dice->rank of the seed. What is drawn comes from `dice`, which moves on. */
void random_whole_scenario(FILE *out, struct arena *arena, struct rng_key *dice);

/* The same with few GPUs, microbatches and tokens, for who needs very many. */
void random_whole_small_scenario(FILE *out, struct arena *arena, struct rng_key *dice);

#endif
