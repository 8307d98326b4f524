/* Megatron-LM's report_theoretical_memory, number for number: an oracle, and a figure that its
 * users know; not what a GPU holds.
 *
 * megatron/training/theoretical_memory_usage.py: the most loaded shard has its stage's layers,
 * and the embedding; 18 bytes a parameter, or 6 + 12 / dp with the distributed optimizer.
 * Activations are those of Korthikanti et al. 2022 with sequence parallelism and selective
 * recomputation. It leaves out biases, grouped queries and the third matrix of SwiGLU in
 * activations.
 */
#ifndef PLAN_MEMORY_MEMORY_MEGATRON_H
#define PLAN_MEMORY_MEMORY_MEGATRON_H

#include "input/scenario.h"

/* Parameters on the most loaded shard: dense ones, and routed experts. */
struct memory_megatron_parameters {
    double dense, experts;
};
struct memory_megatron_parameters memory_megatron_parameters(const struct scenario *scenario);

/* Weights, gradients and optimizer. */
double memory_megatron_states(const struct scenario *scenario);

/* Activations, with sequence parallelism and selective recomputation whatever the scenario says. */
double memory_megatron_activations(const struct scenario *scenario);

/* Both; 0 when its formulas do not describe the scenario (recomputation of whole layers, latent
 * attention, FSDP). */
double memory_megatron_bytes(const struct scenario *scenario);

#endif
