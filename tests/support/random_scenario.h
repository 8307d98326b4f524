/* Random valid scenarios, written as a user would write them.
 *
 * Sizes are round on purpose (equal durations, equal bytes): real, odd ones hide
 * the faults that folding could have. Up to 256 GPUs; all kinds of groups and rank orders, dense
 * models and mixtures of experts (folded, uneven, with copies, node-limited), every schedule but
 * files, ZeRO stages within groups, context parallelism of all types, fp8, recomputed modules,
 * offload, LoRA, slow GPUs, uneven stages, oversubscribed leaves, shared NICs, checkpoints.
 * tests/fuzz/test_folding counts that all of it is drawn.
 */
#ifndef TESTS_SUPPORT_RANDOM_SCENARIO_H
#define TESTS_SUPPORT_RANDOM_SCENARIO_H

#include "input/scenario.h"

/* Scenario number `number` of the family `seed`; always the same for the same two. */
struct scenario *random_scenario(struct arena *arena, uint64_t seed, uint64_t number);

/* Its YAML text, to show when a test fails. */
char *random_scenario_text(struct arena *arena, uint64_t seed, uint64_t number);

/* The same with more replicas, up to 512 GPUs, with up to 12 times as many microbatches, and on
 * leaves in pods or with ECMP's hash; without slow GPUs in one of two. */
char *random_scenario_larger_text(struct arena *arena, uint64_t seed, uint64_t number);

/* Of eight of the family the one with the fewest GPUs times microbatches. */
char *random_scenario_smaller_text(struct arena *arena, uint64_t seed, uint64_t number);

#endif
