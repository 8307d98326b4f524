/* Building the list of kernels of one segment.
 *
 * plan/kernels/kernels says which kernels a segment has; this module turns shapes into
 * FLOPs and bytes and appends to the list. Three ways to append: passes
 * (elementwise kernels, counted in bytes per value), products (GEMMs, single or
 * batched), and the three products that belong to a weight matrix:
 *
 *     forward  Y[m,out] = X[m,in] W'     m = tokens of the microbatch
 *     dgrad    dX[m,in] = dY[m,out] W
 *     wgrad    dW[out,in] += dY'[out,m] X[m,in]
 *
 * wgrad adds into the main gradient, which it reads and writes in the software's
 * gradient precision (Megatron-LM's gradient accumulation fusion); or it writes a gradient of its
 * own, and a pass adds that to the main one (software.gradients.accumulation: separate). FLOP of a
 * product: 2mnk. Bytes: each operand once.
 *
 * Training in fp8, mxfp8 or nvfp4: the products with weights run in that precision, as far as
 * the software says (software.fp8.gemms); products of activations, the router's and, between
 * kernel_list_outside(list, true) and (list, false), those named then (the logits', unless
 * software.fp8.head) stay in 16 bits. An operand is converted once for all products that read it,
 * by a pass that reads 16 bits and writes a copy for each, one of them transposed: X in front of
 * the forward product (copies for forward and wgrad), dY in front of dgrad (dgrad and wgrad), W
 * for forward and dgrad, every microbatch unless the software keeps or gathers W converted. For
 * scales of blocks belong to one direction, and Hopper's tensor cores multiply fp8 along rows only;
 * of fp8 with a scale for each tensor a GPU that transposes while it reads (gpu.transposes_fp8)
 * gets one copy. A scale of the tensor's own values (recipe current, nvfp4) needs a pass before
 * that finds the largest.
 *
 * Attention in fp8 (software.fp8.attention) converts Q, K and V in front of its forward kernel and
 * dO in front of the backward one: kernels_attention.c.
 *
 * Scales of rows (recipe rowwise) belong to one direction, so each product's operand is converted
 * by itself, and backward products are multiplied by their scales afterwards (torchao). What
 * sequence parallelism gathers converted is converted before, each rank its part.
 *
 * ASSUMES: converting weights once a step is free (four to six bytes a parameter).
 * ASSUMES: nvfp4's Hadamard transform is done within the conversion of its direction, and
 * stochastic rounding costs nothing beside it.
 *
 *     struct kernel_list list;
 *     kernel_list_init(&list, shape, segment);
 *     kernel_list_pass(&list, values, (struct pass){"norm", 2, 0});
 */
#ifndef PLAN_KERNELS_KERNEL_LIST_H
#define PLAN_KERNELS_KERNEL_LIST_H

#include "plan/cost.h"

/* What one rank of the tensor-parallel group holds of a layer. */
struct shard {
    int64_t heads;
    int64_t kv_heads;        /* copied when there are fewer than ranks, as Megatron does */
    int64_t attention_width; /* of what the projection reads: heads * value_dim */
    int64_t qkv_width;       /* (heads + 2 * kv_heads) * head_dim; not of latent attention */
    int64_t vocab;           /* padded */
};

/* Queries and keys of each sequence that meet in the core of attention, and in how many heads.
 * With Ulysses a rank has whole sequences of some heads, else a part of the queries. */
struct core_part {
    int64_t queries, keys;
    int64_t heads, kv_heads;
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
    int64_t hidden;         /* of the layer */
    int64_t sequence;       /* tokens of a sequence in the layer */
    int64_t length;         /* of a sequence: a cp-th of it */
    int64_t tokens;         /* of the microbatch: micro * length */
    int64_t tokens_outside; /* in norms, dropout, residual: a t-th with sequence parallelism */
    int64_t rows;           /* of products with a weight; tokens, at first */
    struct core_part core;
    struct mlp_part mlp; /* of a dense layer, at first */
    bool is_outside;     /* linear products stay in 16 bits */
    int64_t tensors;     /* that an operand consists of: 1, or one of each expert */
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

/* The kernel that wrote an operand; some software converts it in there. */
enum operand_source { OPERAND_FROM_OTHERS, OPERAND_FROM_NORM, OPERAND_FROM_ACTIVATION };

enum operand { OPERAND_INPUT, OPERAND_WEIGHTS, OPERAND_GRADIENT, OPERAND_COUNT_ };

/* The part of a weight matrix that one rank holds, and what its products are called. */
struct weight_matrix {
    int64_t out, in;
    const char *forward, *dgrad, *wgrad;
    enum operand_source input;    /* what X comes from */
    enum operand_source gradient; /* what dY comes from */
    /* Of which with sequence parallelism each rank has a part, and gathers the rest. */
    bool gathers_input, gathers_gradient;
    int64_t count; /* equal ones, each of its own values (a head's); 0: it is alone */
};

/* Empties *segment. */
void kernel_list_init(struct kernel_list *list, const struct cost_shape *shape,
                      struct segment *segment);

void kernel_list_pass(struct kernel_list *list, double values, struct pass pass);
/* `passes` ends with a NULL name. */
void kernel_list_passes(struct kernel_list *list, double values, const struct pass *passes);
/* The same by eager kernels over halves of rows, values broadcast along them, or two types. */
void kernel_list_strided(struct kernel_list *list, double values, const struct pass *passes);

struct kernel *kernel_list_add(struct kernel_list *list, const char *name, enum kernel_kind kind);
struct kernel *kernel_list_last(const struct kernel_list *list); /* there is one */
/* Of activations only, or of the router: never in fewer than 16 bits. */
struct kernel *kernel_list_product(struct kernel_list *list, const char *name, enum gemm_pass pass,
                                   struct product size);

/* With a weight, in the training precision; converts nothing. */
struct kernel *kernel_list_linear(struct kernel_list *list, const char *name, enum gemm_pass pass,
                                  struct product size);

/* From here on linear products stay in 16 bits, or no longer. */
void kernel_list_outside(struct kernel_list *list, bool is_outside);

/* Of a linear product here and now: its precision, and bytes of an operand's value. */
enum precision kernel_list_precision(const struct kernel_list *list, enum gemm_pass pass);
double kernel_list_operand_bytes(const struct kernel_list *list, enum gemm_pass pass);

/* What a kernel writes of a value that the next products read: where it writes it converted, the
 * copies of it that these want. Norms are not asked: theirs count 16 bits. */
double kernel_list_handed_bytes(const struct kernel_list *list, enum operand operand,
                                enum operand_source source);

/* Rows of a grouped product are padded to a multiple of this: 16 bytes of an operand (8 values
 * of 16 bits, 16 of fp8), or a block of one scale (mxfp8, nvfp4). */
int64_t kernel_list_rows_multiple(const struct kernel_list *list);

/* Converts an operand of so many values for all products that read it, if any is in fewer than
 * 16 bits; in 16 bits it adds nothing. forward and dgrad below do it themselves. Launches are
 * those of TransformerEngine 2.5 to 2.12 (pytorch/csrc/quantizer.cpp, extensions/cast.cpp): of
 * each tensor, but that of delayed scaling converts all tensors of an operand at once; a scale
 * of the values themselves is zeroed, found and inverted by three kernels (nvfp4: two); scales of
 * blocks of 32 and 16 are laid out anew for each product, of all tensors at once. */
void kernel_list_convert(struct kernel_list *list, enum operand operand, double values,
                         enum operand_source source);

/* What a core of attention in fp8 reads: one copy, with one scale (mxfp8: two copies, as of linear
 * layers). */
struct core_conversion {
    const char *scale, *convert; /* names of the passes */
};
void kernel_list_convert_core(struct kernel_list *list, struct core_conversion names,
                              double values);

/* The same of weights, unless the software keeps or gathers them converted. */
void kernel_list_convert_weights(struct kernel_list *list, double values);

/* The three products of a weight with the conversions that they need. */
void kernel_list_forward(struct kernel_list *list, struct weight_matrix weight);
void kernel_list_dgrad(struct kernel_list *list, struct weight_matrix weight);
void kernel_list_wgrad(struct kernel_list *list, struct weight_matrix weight);

/* Adds what `product`, a wgrad of so many values, computes to the main gradient. */
void kernel_list_accumulate(struct kernel_list *list, struct kernel *product, double values);

#endif
