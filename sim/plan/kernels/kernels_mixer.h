/* The segments of a mixer that is a list of operators (input/mixer/mixer.h), for the kernels table.
 *
 * Each operator is lowered by its kind alone, to the same kernels that any attention or MLP
 * consists of: a projection is a weight matrix with its three products, conversions and adapters
 * (kernels_parts), a norm a norm, attention the software's core (kernels_attention). The list is
 * cut where the sequence is mixed:
 *
 *     forward   operators before     core             operators after
 *               (qkv segment)        (core segment)   (projection segment)
 *     backward  the same the other way round, input gradients; but those of the projections that
 *               read the layer's input are in dgrad, their weight gradients in wgrad with those of
 *               all before the core, and those of projections after it in inner wgrad
 *
 * so that tensor parallelism gathers before and reduces behind it as for attention, and context
 * parallelism exchanges around the core. Where several operators read the same tensor their
 * gradients are added up, and a projection that writes several has their gradients joined.
 *
 * Passes, in values read and written: convolution 2, backward 3; activation 2 and 3; gate 3 and 5;
 * join 2 and 2. An index, and attention that reads what it chose: kernels_index.h; projections that
 * it alone reads run over all tokens on every rank of tp and have no input gradients.
 *
 * A scan by chunks of C tokens, a head with keys of K and values of V, G heads of keys to H of
 * values on a rank; executed FLOP a token and head, forward, and values that its kernels read and
 * write:
 *
 *     state-space   2 C K G/H + 2 C V + 4 K V            2 K + 3 V + 2 K V / C
 *     linear        2 C K + 2 C V + 4 K V                3 K + 3 V + 2 K V / C
 *     delta         C (6 K + 4 V) + 6 K V + 2 C C / 3    7 K + 6 V + 2 K V / C + 6 C
 *
 * These counts are ours, nobody publishes them: products by chunks of the algorithms, state-space
 * after mamba-ssm's ssd_combined.py (chunk states, scores, their products), delta after
 * flash-linear-attention's chunk_gated_delta_rule: scores of keys, their inverse, what it makes of
 * keys and values, states, results. Backward has two products for each, and the states once more.
 * What software.scan_kernels says that kernels reach is what they reach of these counts.
 * Where a gate is as wide as keys, they are multiplied by it before every product: 4 K more values.
 *
 * ASSUMES: where tp gathers what whole tensors are made of, nothing is sent for them (as the
 * compressed tokens of latent attention).
 * ASSUMES: the few tokens that a convolution sees of the rank before are sent for free.
 */
#ifndef PLAN_KERNELS_KERNELS_MIXER_H
#define PLAN_KERNELS_KERNELS_MIXER_H

#include "plan/kernels/kernel_list.h"

void mixer_before(struct kernel_list *list);
void mixer_core(struct kernel_list *list);
void mixer_after(struct kernel_list *list);

void mixer_after_backward(struct kernel_list *list);
void mixer_after_wgrad(struct kernel_list *list);
void mixer_core_backward(struct kernel_list *list);
void mixer_before_backward(struct kernel_list *list);
void mixer_dgrad(struct kernel_list *list);
void mixer_wgrad(struct kernel_list *list);

/* What is added to the hidden state has a bias. */
bool mixer_has_output_bias(const struct mixer *mixer);

#endif
