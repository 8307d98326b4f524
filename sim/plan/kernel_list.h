/* Building the list of kernels of one segment.
 *
 * plan/kernels says which kernels a segment has; this module turns shapes into
 * FLOPs and bytes and appends to the list. Three ways to append: passes
 * (elementwise kernels, counted in bytes per value), products (GEMMs, single or
 * batched), and the three products that belong to a weight matrix:
 *
 *     forward  Y[m,out] = X[m,in] W'     m = tokens of the microbatch
 *     dgrad    dX[m,in] = dY[m,out] W
 *     wgrad    dW[out,in] += dY'[out,m] X[m,in]
 *
 * wgrad adds into the main gradient, which it reads and writes in the software's
 * gradient precision (Megatron-LM's gradient accumulation fusion). FLOP of a
 * product: 2mnk. Bytes: each operand once.
 *
 *     struct kernel_list list;
 *     kernel_list_init(&list, shape, segment);
 *     kernel_list_pass(&list, values, (struct pass){"norm", 2, 0});
 */
#ifndef PLAN_KERNEL_LIST_H
#define PLAN_KERNEL_LIST_H

#include "plan/cost.h"

/* What one rank of the tensor-parallel group holds. */
struct shard {
    int64_t heads;
    int64_t kv_heads;        /* copied when there are fewer than ranks, as Megatron does */
    int64_t attention_width; /* heads * head_dim */
    int64_t qkv_width;       /* (heads + 2 * kv_heads) * head_dim */
    int64_t vocab;           /* padded */
};

/* The MLP that is worked on: of a dense layer, the experts that a rank holds, or the shared
 * ones together. */
struct mlp_part {
    int64_t tokens; /* that go through it on one rank */
    int64_t width;  /* f/t */
};

struct kernel_list {
    const struct cost_shape *shape; /* borrowed */
    struct segment *segment;        /* borrowed; appended to */
    struct shard shard;
    double element_bytes;   /* e: of one value in the training precision */
    double gradient_bytes;  /* of one element of a weight's main gradient */
    int64_t length;         /* of a sequence: a cp-th of it */
    int64_t tokens;         /* of the microbatch: micro * length */
    int64_t tokens_outside; /* in norms, dropout, residual: a t-th with sequence parallelism */
    struct mlp_part mlp;    /* of a dense layer, at first */
};

/* An elementwise kernel moves values * (elements * e + bytes). */
struct pass {
    const char *name;
    double elements; /* reads and writes in the training precision */
    double bytes;    /* and besides: fp32 values, masks */
};

struct product {
    int64_t m, n, k, count;
};

/* The part of a weight matrix that one rank holds, and what its products are called. */
struct weight_matrix {
    int64_t out, in;
    const char *forward, *dgrad, *wgrad;
};

/* Empties *segment. */
void kernel_list_init(struct kernel_list *list, const struct cost_shape *shape,
                      struct segment *segment);

void kernel_list_pass(struct kernel_list *list, double values, struct pass pass);
/* `passes` ends with a NULL name. */
void kernel_list_passes(struct kernel_list *list, double values, const struct pass *passes);

struct kernel *kernel_list_add(struct kernel_list *list, const char *name, enum kernel_kind kind);
struct kernel *kernel_list_product(struct kernel_list *list, const char *name, enum gemm_pass pass,
                                   struct product size);

void kernel_list_forward(struct kernel_list *list, struct weight_matrix weight);
void kernel_list_dgrad(struct kernel_list *list, struct weight_matrix weight);
void kernel_list_wgrad(struct kernel_list *list, struct weight_matrix weight);

#endif
