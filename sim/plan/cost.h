/* What a model costs: parameters, FLOPs, and the kernels of each part of a step.
 *
 * Pure functions of shapes. A transformer layer is cut into *segments* where
 * tensor-parallel communication cuts it; a segment is a list of kernels that
 * run back to back on one GPU. How long a kernel takes is hw/kernel's business;
 * the order of segments and what communicates between them is train/step's.
 *
 *   forward    PRE  |AG|  ATTENTION  |RS|  POST    PRE  |AG|  MLP  |RS|  POST
 *   backward   POST_BACKWARD |AG| INNER_BACKWARD  DGRAD |RS|  WGRAD  PRE_BACKWARD
 *
 * (AG/RS with sequence parallelism; without it the RS is an all-reduce and the
 * AG nothing.) A layer with experts has, instead of the MLP,
 *
 *   forward    PRE ROUTER |A2A| |AG| EXPERTS |RS| |A2A| EXPERTS_POST  [shared experts]  POST
 *   backward   POST_BACKWARD  [shared experts]  EXPERTS_POST_BACKWARD |A2A| |AG|
 *              EXPERTS_BACKWARD |RS| |A2A| ROUTER_BACKWARD PRE_BACKWARD
 *
 * where the all-to-alls are those of the expert-parallel group, and shared experts an MLP
 * with its own AG and RS. With context parallelism the attention is cut in two where the keys
 * and values of the other ranks are gathered (QKV |AG| CORE) and their gradients added up
 * (CORE_BACKWARD |RS| QKV_BACKWARD). INNER_BACKWARD of the MLP is the second matrix's two gradients
 * and the activation's; DGRAD and WGRAD are those of the first matrix (or of
 * QKV), kept apart because communication may run beside them.
 *
 * Symbols follow the literature: b microbatch, s sequence, h hidden, t tp.
 * A GEMM of m x k by k x n is 2mkn FLOP. Sources: Narayanan et al. 2021
 * (arXiv 2104.04473) appendix; Korthikanti et al. 2022 (arXiv 2205.05198)
 * section 4; causal attention convention as Megatron-LM's
 * num_floating_point_operations (core attention halved).
 *
 * cost.c holds parameters and FLOPs, kernels.c the segments.
 *
 * ASSUMES: tokens are spread evenly over the experts, none is dropped, and the experts' products
 * are one grouped GEMM, each expert's rows padded to a multiple of 8; the matrices of an expert
 * are cut by tp like an MLP's.
 * ASSUMES: causal attention is balanced over context parallelism (2 cp pieces, dealt in pairs).
 * ASSUMES: rotary embedding, residual additions and bias additions are
 * memory-bound kernels of their bytes; index arithmetic is free.
 */
#ifndef PLAN_COST_H
#define PLAN_COST_H

#include "spec/model.h"
#include "spec/software.h"

/* ---- parameters -------------------------------------------------------- */

struct parameter_count {
    int64_t embedding;    /* token and learned position tables */
    int64_t head;         /* output matrix; 0 when tied */
    int64_t layer;        /* one dense transformer layer, norms and biases included */
    int64_t layer_matrix; /* of which in weight matrices that tp shards */
    int64_t moe_layer;    /* one layer with experts, all of them; 0: there is none */
    int64_t moe_matrix;   /* of which in attention and shared experts, which tp shards */
    int64_t router;       /* of which in the router, that every rank holds */
    int64_t expert;       /* one routed expert */
    int64_t final_norm;   /* with BLOOM's embedding norm, if any */
    int64_t total;
    int64_t active; /* that a token meets: total without the experts that it is not sent to */
};

struct parameter_count cost_parameters(const struct model *model);

/* Parameters of a layer with experts but those of its routed experts. */
int64_t cost_moe_dense_parameters(const struct model *model, const struct parameter_count *count);

/* Vocabulary padded to a multiple of 128 * tp, as Megatron pads it. */
int64_t cost_padded_vocab(const struct model *model, int64_t tp);

/* ---- FLOPs -------------------------------------------------------------- */

/* Model FLOPs of one token, forward only, whole model, unpadded vocabulary. */
struct token_flop {
    double linear;      /* all layers' matrices; of experts those that a token is sent to */
    double core_full;   /* attention scores and values, full mask */
    double core_causal; /* half of it */
    double logits;
    double router; /* not among the model FLOPs: Megatron-LM and most papers leave it out */
};

struct token_flop cost_token_flop(const struct model *model, int64_t sequence_length);

/* Forward and backward (3x forward) with causal attention: the numerator of `mfu`. */
double cost_train_flop_causal(const struct token_flop *flop);
/* The same with full attention: the numerator of `mfu_full_attention`. */
double cost_train_flop_full(const struct token_flop *flop);

/* ---- kernels ------------------------------------------------------------ */

enum kernel_kind {
    KERNEL_GEMM,      /* m, n, k; `count` equal ones in one launch (batched) */
    KERNEL_ATTENTION, /* fused attention; flop counts what is executed */
    KERNEL_MEMORY,    /* streams `bytes` */
};

enum gemm_pass { GEMM_FORWARD, GEMM_DGRAD, GEMM_WGRAD };

struct kernel {
    const char *name; /* static text: "qkv", "softmax" */
    enum kernel_kind kind;
    enum gemm_pass pass;
    bool is_backward; /* attention: backward kernel */
    int64_t m, n, k;  /* GEMM */
    int64_t count;    /* GEMMs in the batch; launches for a memory kernel is always 1 */
    int64_t length;   /* attention: sequence length */
    double flop;      /* executed */
    double bytes;     /* memory traffic, read and written */
};

#define SEGMENT_KERNELS_MAX 24

struct segment {
    struct kernel kernels[SEGMENT_KERNELS_MAX];
    uint32_t count;
};

enum segment_kind {
    SEGMENT_ATTENTION_PRE,  /* norm */
    SEGMENT_ATTENTION,      /* qkv, rotary, core, projection */
    SEGMENT_ATTENTION_POST, /* bias, dropout, residual */
    SEGMENT_MLP_PRE,
    SEGMENT_MLP,
    SEGMENT_MLP_POST,
    SEGMENT_MLP_POST_BACKWARD,
    SEGMENT_MLP_INNER_BACKWARD,
    SEGMENT_MLP_DGRAD,
    SEGMENT_MLP_WGRAD,
    SEGMENT_MLP_PRE_BACKWARD,
    SEGMENT_ATTENTION_POST_BACKWARD,
    SEGMENT_ATTENTION_INNER_BACKWARD, /* projection's gradients, core backward, rotary */
    SEGMENT_ATTENTION_DGRAD,
    SEGMENT_ATTENTION_WGRAD,
    SEGMENT_ATTENTION_PRE_BACKWARD,
    SEGMENT_SELECTIVE_RECOMPUTE, /* unfused: scores, softmax, values; fused: norms, activation */
    SEGMENT_ATTENTION_QKV,       /* first part of SEGMENT_ATTENTION: qkv, rotary */
    SEGMENT_ATTENTION_CORE,      /* the rest: core, projection */
    SEGMENT_ATTENTION_CORE_BACKWARD, /* INNER_BACKWARD in two: projection's gradients, core */
    SEGMENT_ATTENTION_QKV_BACKWARD,  /* rotary, joining of the gradients of Q, K, V */
    SEGMENT_ROUTER,                  /* choice of experts, copies of tokens for them */
    SEGMENT_EXPERTS,
    SEGMENT_EXPERTS_POST, /* weighted sum of the experts' results */
    SEGMENT_EXPERTS_POST_BACKWARD,
    SEGMENT_EXPERTS_BACKWARD,
    SEGMENT_ROUTER_BACKWARD,
    SEGMENT_SHARED, /* the shared experts as one MLP; empty: there are none */
    SEGMENT_SHARED_INNER_BACKWARD,
    SEGMENT_SHARED_DGRAD,
    SEGMENT_SHARED_WGRAD,
    SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS, /* of a layer with experts */
    SEGMENT_EMBEDDING,
    SEGMENT_EMBEDDING_BACKWARD,
    SEGMENT_HEAD_PRE,      /* final norm */
    SEGMENT_HEAD,          /* logits and loss */
    SEGMENT_HEAD_BACKWARD, /* loss gradient, logits' dgrad and wgrad */
    SEGMENT_HEAD_PRE_BACKWARD,
    SEGMENT_COUNT_
};

/* What the kernels of a segment depend on. The scenario has checked that tp divides heads,
 * ffn_hidden and expert_hidden, cp sequence_length and ep experts; that tp divides kv_heads or
 * exceeds them, and, with sequence parallelism, divides micro * sequence_length / cp. */
struct cost_shape {
    const struct model *model;
    const struct software *software;
    enum precision precision;
    int64_t tp;
    bool is_sequence_parallel;
    int64_t micro;           /* sequences */
    int64_t sequence_length; /* tokens */
    int64_t cp;              /* ranks that share each sequence */
    int64_t ep;              /* ranks that share the experts of a layer */
};

/* Fills *segment. Backward segments hold backward kernels only. It may be empty (nothing
 * to recompute, no dropout or bias to undo, no experts). */
void cost_segment(const struct cost_shape *shape, enum segment_kind kind, struct segment *segment);

/* Optimizer update of `parameters` parameters kept on this rank, with fp32
 * master weights and two Adam moments (30 bytes a parameter moved for 16-bit
 * training, 28 for fp32), as fused multi-tensor kernels. */
void cost_optimizer(double parameters, enum precision precision, struct segment *segment);

/* FLOPs a segment executes, in GEMMs and attention. These are hardware FLOPs: unfused
 * attention executes the full mask, and the backward pass of fused attention 2.5 times
 * its forward. The numerator of `mfu` is cost_train_flop_causal, never a sum of these. */
double cost_segment_flop(const struct segment *segment);

#endif
