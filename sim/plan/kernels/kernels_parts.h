/* What the segments of attention, of MLP and experts, and of the rest have in common: norms, and
 * the products of a weight that may be frozen.
 *
 * LoRA (arXiv 2106.09685): beside a frozen weight W of out x in lie A of r x in and B of out x r.
 * Forward adds B (A X); backward adds A' (B' dY) to the input's gradient; weight gradients are
 * those of A and B, and no others. Of a matrix whose rows tensor parallelism cuts, B is cut and
 * A on every rank; of one whose columns are, the other way round.
 *
 * Adapters that PyTorch runs op by op (NeMo's ParallelLinearAdapter and LoRALinear) drop out what
 * they read, multiply their result by alpha/r and add it to the frozen product's, each a pass; and
 * backward the same the other way round. Fused (TransformerEngine's ops of 2.7 and later), alpha/r
 * is a factor of B's product, which adds to what the big one wrote and reads it for that; backward
 * one product adds to what the other wrote. What an adapter reads, too, is written in 16 bits:
 * no kernel before writes it converted alone.
 *
 * ASSUMES: where tensor parallelism cuts a sequence, an adapter drops, scales and adds its own
 * part of it (NeMo's a2a_experimental).
 */
#ifndef PLAN_KERNELS_KERNELS_PARTS_H
#define PLAN_KERNELS_KERNELS_PARTS_H

#include "input/job/lora.h"
#include "plan/kernels/kernel_list.h"

struct scenario;

double parts_values(int64_t rows, int64_t width);

/* Values of a hidden state where sequence parallelism splits it. */
double parts_hidden_outside(const struct kernel_list *list);

/* No weight of the model is trained, only adapters. */
bool parts_is_frozen(const struct kernel_list *list);
bool parts_has_adapter(const struct kernel_list *list, enum lora_target target);

/* The products of a weight on list->rows rows, with those of its adapter. */
void parts_forward(struct kernel_list *list, struct weight_matrix weight, enum lora_target target);
void parts_dgrad(struct kernel_list *list, struct weight_matrix weight, enum lora_target target);
void parts_wgrad(struct kernel_list *list, struct weight_matrix weight, enum lora_target target);

/* The same weight; what an adapter reads beside it comes from no kernel that converts. */
struct weight_matrix parts_beside_adapter(const struct kernel_list *list,
                                          struct weight_matrix weight, enum lora_target target);

/* Adapters alone; `count` of them in one launch (those of experts). */
struct adapter_size {
    int64_t rows, out, in, count;
    double inputs, results; /* values that passes go through */
};
void parts_adapter(struct kernel_list *list, struct adapter_size size, enum gemm_pass pass);

/* A norm of so many values. */
void parts_norm(struct kernel_list *list, double values);
void parts_norm_backward(struct kernel_list *list, double values);

#endif
