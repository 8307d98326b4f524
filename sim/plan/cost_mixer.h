/* Parameters and FLOPs of a mixer that is a list of operators (input/mixer/mixer.h), part of cost.
 *
 *     operator     parameters                           forward FLOP a token
 *     projection   in x out, and its biases             2 in x out
 *     convolution  width a value, and its biases        2 width a value
 *     norm         a value of a head, or of all         none that is counted
 *     attention    none                                 plan/cost: as any attention
 *     join         none                                 none
 *     index        none                                 2 heads x dim a pair of query and key
 *     scan         head_parameters a head of values     a state's numbers x those of its rule
 *
 * The FLOPs of a scan are a count of ours, of its recurrence, which any way to compute it has at
 * least. A state of keys x values numbers a head of values costs, a number: fading 1, adding key x
 * value 2, reading with the query 2 (linear); as much again for what is added where the gate
 * multiplies it (state-space: 7); reading what is known under the key, taking that back, adding,
 * reading (delta: 4 products of 2). For the last two num_floating_point_operations of Megatron-LM
 * (training/training.py, mamba_layer_flops and gdn_layer_flops) has 7 and 8 a number, too;
 * convolutions it counts in delta layers alone.
 * An index scores every key before a token: half of the sequence in the mean, and keys chosen or
 * all of them again, twice, for the gradients of its queries and keys (sparse or dense loss);
 * projections that it alone reads have weight gradients and pass none on: 2 products of 3. So
 * counts Megatron-LM since pull requests 6753 and 7157; attention's own scores once more, which the
 * loss compares with, are recomputed and not among the model FLOPs.
 * What a kernel executes by chunks is more: plan/kernels/kernels_mixer.
 *
 * ASSUMES: groups of a norm over heads that tp cuts lie on one rank each.
 */
#ifndef PLAN_COST_MIXER_H
#define PLAN_COST_MIXER_H

#include "plan/cost.h"

/* All its matrices of projections, on all ranks together; and of those the detached ones. */
int64_t cost_mixer_weights(const struct mixer *mixer);
int64_t cost_mixer_detached_weights(const struct mixer *mixer);

/* Adds its parameters to `count`, recorded by operator. */
void cost_mixer_count(const struct model *model, const struct mixer *mixer, struct ledger *ledger,
                      struct layer_count *count);

struct layer_tensors cost_mixer_tensors(const struct model *model, const struct mixer *mixer);

/* Forward FLOPs of a token in scan and convolutions, of so many layers. */
double cost_mixer_scan_flop(const struct mixer *mixer, double layers, struct ledger *ledger);

/* FLOPs of a token in an index and the projections that it alone reads, of so many layers: forward,
 * and forward and backward together. `keys` that a query could see, and sees, in the mean. */
struct index_flop {
    double forward, train;
};
struct index_flop cost_mixer_index_flop(const struct mixer *mixer, double layers, double keys,
                                        double chosen, struct ledger *ledger);

#endif
