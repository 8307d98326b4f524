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

#include "plan/memory/memory_job.h"

/* Parameters on the most loaded shard: dense ones, and routed experts. */
struct memory_megatron_parameters {
    double dense, experts;
};
struct memory_megatron_parameters memory_megatron_parameters(const struct model *model,
                                                             const struct parallel *parallel);

/* Weights, gradients and optimizer. */
double memory_megatron_states(const struct model *model, const struct parallel *parallel);

/* Activations, with sequence parallelism and selective recomputation whatever the job's are. */
double memory_megatron_activations(const struct model *model, const struct parallel *parallel,
                                   const struct batch *batch);

/* Both; 0 when its formulas do not describe the job (recomputation of whole layers, latent
 * attention, FSDP). */
double memory_megatron_bytes(const struct memory_job *job);

#endif
