/* What the segments of attention, of MLP and experts, and of the rest have in common: norms, and
 * the products of a weight that may be frozen.
 *
 * LoRA (arXiv 2106.09685): beside a frozen weight W of out x in lie A of r x in and B of out x r.
 * Forward adds B (A X); backward adds A' (B' dY) to the input's gradient; weight gradients are
 * those of A and B, and no others. Of a matrix whose rows tensor parallelism cuts, B is cut and
 * A on every rank; of one whose columns are, the other way round.
 *
 * ASSUMES: the second small product adds to what the big one wrote, which it reads and writes.
 */
#ifndef PLAN_KERNELS_KERNELS_PARTS_H
#define PLAN_KERNELS_KERNELS_PARTS_H

#include "plan/kernels/kernel_list.h"
#include "input/scenario.h"

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

/* Products of adapters alone; `count` of them in one launch (those of experts). */
struct adapter_size {
    int64_t rows, out, in, count;
};
void parts_adapter(struct kernel_list *list, struct adapter_size size, enum gemm_pass pass);

/* A norm of so many values. */
void parts_norm(struct kernel_list *list, double values);
void parts_norm_backward(struct kernel_list *list, double values);

#endif
