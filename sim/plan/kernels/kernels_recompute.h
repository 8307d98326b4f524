/* What selective recomputation computes again in a layer, for the table of plan/kernels/kernels.
 *
 * The modules that the scenario names (input/scenario) and, with software.memory's
 * keeps_every_second_product, products: PyTorch's selective activation checkpointing per operation
 * keeps the outputs of attention and of every second matrix product (torchtitan's
 * parallelize_llama.py: aten.mm in the list, counted in the order of a layer's forward pass).
 * Of queries, keys, values, projection, gate, up, down the first, third, fifth and seventh are
 * computed again; the last is not, since nothing in the backward pass reads it. Products in fewer
 * than 16 bits are another operation (aten._scaled_mm), which is not in the list: all are computed
 * again but the last.
 *
 * ASSUMES: products of experts, of latent attention and of mixers without attention, or with an
 * index, are kept.
 */
#ifndef PLAN_KERNELS_KERNELS_RECOMPUTE_H
#define PLAN_KERNELS_KERNELS_RECOMPUTE_H

#include "plan/kernels/kernel_list.h"

void recompute_dense(struct kernel_list *list);
void recompute_experts(struct kernel_list *list);

#endif
