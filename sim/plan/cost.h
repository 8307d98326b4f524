/* The room plan: what is to be done: FLOPs, bytes, orders, who talks to whom.
 *
 * Invariant: Pure functions of shapes and layouts, and of the rates that a caller gives. Nothing
 * is simulated, no file of a GPU or a fabric is asked how fast it is (hw), and what follows from
 * the same arguments is the same anywhere.
 *
 * Lives here: parameters, FLOPs and kernels of a layer, the rank mesh, routing of tokens,
 * schedules of pipelines, collectives, memory, which ranks can be told apart.
 * May come in: base, input.
 *
 * Decided in one place each:
 *     FLOPs and parameters                                        cost.c
 *     which kernels a layer has                                   kernels/kernels.c
 *     which rank stands where                                     mesh.h
 *     the order of forwards and backwards: the rows of            schedule/schedule.c
 *     what a collective sends over which links: the rows of       collective/collective.c
 *     which algorithm and protocol is taken                       collective/tuner.c
 *     what memory holds, and when                                 memory/memory.c
 *     which rank writes what of a checkpoint                      checkpoint_roles.c
 *     who holds copies of a lost GPU's states                     state_copies.c
 *     how many more tokens the busiest rank has                   routing.c
 *     what the loss over the vocabulary holds, and how it is cut  loss.h
 *     which ranks can be told apart: partition refinement         symmetry.c
 */

/* What a model costs: parameters, FLOPs, and the kernels of each part of a step.
 *
 * Pure functions of shapes. A transformer layer is cut into *segments* where
 * tensor-parallel communication cuts it; a segment is a list of kernels that
 * run back to back on one GPU. How long a kernel takes is hw/kernel's business;
 * the order of segments and what communicates between them is train/step's.
 *
 *   forward    PRE  |AG|  ATTENTION  |RS|  POST    PRE  |AG|  MLP  |RS|  POST
 *   backward   POST_BACKWARD |AG| INNER_BACKWARD  INNER_WGRAD  DGRAD |RS|  WGRAD  PRE_BACKWARD
 *
 * (AG/RS with sequence parallelism; without it the RS is an all-reduce and the
 * AG nothing.) A layer with experts has, instead of the MLP,
 *
 *   forward    PRE ROUTER |A2A| |AG| EXPERTS |RS| |A2A| EXPERTS_POST  [shared experts]  POST
 *   backward   POST_BACKWARD  [shared experts]  EXPERTS_POST_BACKWARD |A2A| |AG|
 *              EXPERTS_BACKWARD |RS| |A2A| EXPERTS_WGRAD  ROUTER_BACKWARD PRE_BACKWARD
 *
 * where the all-to-alls are those of the expert-parallel group, and shared experts an MLP
 * with its own AG and RS. With context parallelism the attention is cut where the keys and
 * values of the other ranks are gathered, in pieces or at once (QKV |AG| CORE  PROJECTION) and
 * their gradients added up (PROJECTION_BACKWARD  CORE_BACKWARD |RS| QKV_BACKWARD).
 * INNER_BACKWARD of the MLP is the second matrix's input gradient and the activation's; DGRAD
 * and WGRAD are those of the first matrix (or of QKV). Weight gradients (all segments
 * ..._WGRAD) stand apart because communication may run beside them and schedules put them off;
 * the router's, which is small, does not. Of frozen weights (LoRA) there are none.
 *
 * Symbols follow the literature: b microbatch, s sequence, h hidden, t tp.
 * A GEMM of m x k by k x n is 2mkn FLOP. Sources: Narayanan et al. 2021
 * (arXiv 2104.04473) appendix; Korthikanti et al. 2022 (arXiv 2205.05198)
 * section 4; causal attention convention as Megatron-LM's
 * num_floating_point_operations (core attention halved).
 *
 * cost.c holds parameters and FLOPs, cost_mixer.c those of mixers that are lists of operators;
 * kernels.c, kernels_attention.c, kernels_mixer.c and kernels_mlp.c the segments. A layer may have
 * one of the two branches alone; then the other's segments are empty.
 *
 * ASSUMES: the experts' products are one grouped GEMM, in which all experts of a rank have equally
 * many rows, padded to what the product wants; how many more the busiest rank has than the mean
 * says plan/routing.
 * ASSUMES: a layer of MTP has, besides a layer's own, norms and one projection whose columns tp
 * cuts; the embedding of the next token is there already.
 * ASSUMES: causal attention is balanced over context parallelism (2 cp pieces, dealt in pairs).
 * ASSUMES: rotary embedding, residual additions and bias additions are
 * memory-bound kernels of their bytes; index arithmetic is free.
 */
#ifndef PLAN_COST_H
#define PLAN_COST_H

#include "base/ledger.h"
#include "input/model.h"
#include "input/software.h"

/* ---- parameters -------------------------------------------------------- */

struct optimizer;

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
    int64_t blocks;       /* all layers of blocks */
    int64_t total;        /* without MTP, as models are named by */
    int64_t active;       /* that a token meets: total without the experts that it is not sent to */
    int64_t mtp; /* besides: of multi-token prediction, but the shared embedding and head */
};

struct parameter_count cost_parameters(const struct model *model);
/* The same, recorded; `ledger` may be NULL. */
struct parameter_count cost_count_parameters(const struct model *model, struct ledger *ledger);

/* Parameters of one layer of a kind, on all ranks together. */
struct layer_count {
    int64_t split;      /* in matrices that tp cuts, and their biases: attention, MLP, shared
                         * experts, the projection of MTP */
    int64_t replicated; /* on every tp rank: norms, biases of row-parallel matrices, router,
                         * down-projections of latent attention */
    int64_t expert;     /* one routed expert; 0: none */
    int64_t total;      /* split + replicated + experts * expert */
    int64_t active;     /* that a token meets */
};
struct layer_count cost_layer(const struct model *model, const struct layer_kind *kind);

/* Vectors of a norm: its weights, and biases. */
int64_t cost_norm_vectors(const struct model *model);

/* The weight matrices of a layer, and its other tensors (biases, norms, sinks), as checkpoints
 * store them: queries, keys and values in one, gate and up in one; every expert's own are
 * counted once for each of `experts`. */
struct layer_tensors {
    int64_t matrices, vectors;
};
struct layer_tensors cost_layer_tensors(const struct model *model, const struct layer_kind *kind,
                                        int64_t experts);

/* Forward FLOPs of one token in one layer, by module; see oracles of the literature. */
struct layer_flop {
    double attention_linear; /* QKV and projection, or latent attention's five matrices */
    double latent_up;        /* of which those that "mla-up" computes again */
    double core_full;        /* no mask: all keys of the window, or of the sequence */
    double core_causal;      /* the mask considered: see cost_mean_keys */
    double mlp;              /* of a dense layer */
    double experts;          /* those that a token is sent to */
    double shared;
    double router;
    double mtp;         /* 2h x h projection of an mtp layer */
    double scan;        /* and convolutions, of a mixer of operators */
    double index;       /* scores of an index, and projections that it alone reads */
    double index_train; /* the same forward and backward: not three times */
};
struct layer_flop cost_layer_flop(const struct model *model, const struct layer_kind *kind,
                                  int64_t sequence_length);

/* The same of one token in all layers; where a block has tokens of its own, per token of the
 * sequence. */
struct layer_flop cost_module_flop(const struct model *model, int64_t sequence_length);

/* Tokens of each sequence in a layer; and keys that a query sees, mean of all queries: half of the
 * tokens by convention when causal, exact with a window. */
int64_t cost_tokens(const struct layer_kind *kind, int64_t sequence_length);
/* How far attention reaches within so many tokens: their document, or all of them. */
int64_t cost_reach(const struct layer_kind *kind, int64_t tokens);
double cost_mean_keys(const struct layer_kind *kind, int64_t tokens);
/* The same if no window and no index hid any. */
double cost_seen_keys(const struct layer_kind *kind, int64_t tokens);

/* The papers' own numerators, FLOPs per token and training step. */
enum flop_convention {
    FLOP_CAUSAL,   /* ours: 3x forward products, causal attention halved */
    FLOP_MEGATRON, /* Megatron-LM's num_floating_point_operations: the same on the padded
                    * vocabulary, with the norms of latent attention and of MTP */
    FLOP_PALM,     /* 6N + 12 L H Q T (arXiv 2204.02311, appendix B) */
    FLOP_6ND,      /* 6N, active parameters */
    FLOP_CONVENTION_COUNT_
};
extern const char
    *const flop_convention_names[FLOP_CONVENTION_COUNT_]; /* causal megatron palm 6nd */
double cost_train_flop(const struct model *model, int64_t sequence_length, int64_t tp,
                       enum flop_convention convention);

/* Vocabulary padded to a multiple of 128 * tp, as Megatron pads it. */
int64_t cost_padded_vocab(const struct model *model, int64_t tp);

/* ---- FLOPs -------------------------------------------------------------- */

/* Model FLOPs of one token, forward only, whole model, unpadded vocabulary. */
struct token_flop {
    double linear;      /* all layers' matrices; of experts those that a token is sent to */
    double core_full;   /* attention scores and values, full mask; and scans */
    double core_causal; /* half of it, but for windows and layers that are not causal */
    double logits;      /* with MTP once more for each of its layers */
    double router;      /* not among the model FLOPs: Megatron-LM and most papers leave it out */
    double index, index_train; /* as of a layer; besides the others */
};

struct token_flop cost_token_flop(const struct model *model, int64_t sequence_length);
/* The same, recorded; `ledger` may be NULL. */
struct token_flop cost_count_flop(const struct model *model, int64_t sequence_length,
                                  struct ledger *ledger);

/* Forward and backward (3x forward) with causal attention: the numerator of `mfu`. */
double cost_train_flop_causal(const struct token_flop *flop);
/* The same with full attention: the numerator of `mfu_full_attention`. */
double cost_train_flop_full(const struct token_flop *flop);

/* What LoRA leaves out of either: the weight gradients of frozen matrices. Its adapters' own
 * products are not among the model FLOPs. */
double cost_frozen_flop(const struct token_flop *flop);

/* Both numerators, recorded; of LoRA without the gradients of frozen weights. */
struct train_flop {
    double causal, full;
};
struct train_flop cost_count_train_flop(const struct token_flop *flop, bool is_frozen,
                                        struct ledger *ledger);

/* ---- kernels ------------------------------------------------------------ */

/* X(kind, its name): a row each, after which switches without it do not compile (train/timing).
 *
 *     gemm       m, n, k; `count` equal ones in one launch (batched)
 *     attention  fused attention; flop counts what is executed
 *     scan       a state that goes along the sequence, by chunks of tokens (kernels_mixer.h)
 *     sparse     keys of each query gathered by their places, or scored for that (kernels_index.h)
 *     memory     streams `bytes`
 */
#define KERNEL_KINDS(X)       \
    X(GEMM, "gemm")           \
    X(ATTENTION, "attention") \
    X(MEMORY, "memory")       \
    X(SCAN, "scan")           \
    X(SPARSE, "sparse")
#define KERNEL_KIND(kind, name) KERNEL_##kind,
enum kernel_kind { KERNEL_KINDS(KERNEL_KIND) KERNEL_KIND_COUNT_ };
#undef KERNEL_KIND

extern const char *const kernel_kind_names[KERNEL_KIND_COUNT_];

struct kernel {
    const char *name; /* static text: "qkv", "softmax" */
    enum kernel_kind kind;
    enum gemm_pass pass;
    bool is_backward;         /* attention, scan: backward kernel */
    int64_t m, n, k;          /* GEMM; attention: queries, and dimension of values and of keys; scan
                               * likewise, of all tokens */
    int64_t count;            /* GEMMs in the batch; attention: heads of all sequences; scan: heads;
                               * memory: 1 */
    enum scan_rule rule;      /* scan */
    bool is_wide;             /* scan: a gate for each value of its keys */
    bool is_index;            /* sparse: scores of an index, not attention */
    int64_t length;           /* attention: keys that a query sees at most; scan: of a chunk */
    int64_t sequence;         /* attention: keys there are, of which a window hides some */
    double mean_keys;         /* attention: that it sees */
    int64_t edges;            /* attention, of its mask: 1 causal, and 1 a window's far end */
    enum precision precision; /* GEMM: of the product; set by kernel_list */
    int64_t launches;         /* that the host makes for it: more than one where software has a
                               * product or conversion for each expert */
    int64_t repeats;          /* of chunks, one after the other; 0: it runs once */
    int64_t tensors;          /* of experts, which the host prepares one by one; 0: none */
    bool is_strided;          /* memory: by the tensor library itself, operands not in one piece */
    double flop;              /* executed */
    double bytes;             /* memory traffic, read and written */
};

#define SEGMENT_KERNELS_MAX 80

struct segment {
    struct kernel kernels[SEGMENT_KERNELS_MAX]; /* the first `count`; the others are not set */
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
    SEGMENT_ATTENTION_INNER_BACKWARD, /* projection's input gradient, core's, rotary's */
    SEGMENT_ATTENTION_DGRAD,
    SEGMENT_ATTENTION_WGRAD,
    SEGMENT_ATTENTION_PRE_BACKWARD,
    SEGMENT_SELECTIVE_RECOMPUTE,     /* what of a layer recompute_modules say, in part */
    SEGMENT_ATTENTION_QKV,           /* first part of SEGMENT_ATTENTION: qkv, rotary */
    SEGMENT_ATTENTION_CORE,          /* the second; the third is SEGMENT_ATTENTION_PROJECTION */
    SEGMENT_ATTENTION_CORE_BACKWARD, /* the core's part of INNER_BACKWARD */
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
    SEGMENT_HEAD_BACKWARD, /* loss gradient, logits' dgrad */
    SEGMENT_HEAD_WGRAD,
    SEGMENT_HEAD_PRE_BACKWARD,
    /* Weight gradients apart from what the stage before waits for. */
    SEGMENT_MLP_INNER_WGRAD,       /* of fc2 */
    SEGMENT_ATTENTION_INNER_WGRAD, /* of the projection */
    SEGMENT_EXPERTS_WGRAD,         /* of both matrices of the experts */
    SEGMENT_SHARED_INNER_WGRAD,
    /* Parts of attention, for context parallelism. */
    SEGMENT_ATTENTION_PROJECTION,          /* forward */
    SEGMENT_ATTENTION_PROJECTION_BACKWARD, /* its input gradient */
    /* Multi-token prediction: norms, joining, projection. */
    SEGMENT_MTP,
    SEGMENT_MTP_BACKWARD,
    SEGMENT_MTP_WGRAD,
    SEGMENT_COUNT_
};

/* What the kernels of a segment depend on. The scenario has checked that tp divides heads,
 * ffn_hidden and expert_hidden, cp sequence_length and ep experts; that tp divides kv_heads or
 * exceeds them, and, with sequence parallelism, divides micro * sequence_length / cp. */
struct cost_shape {
    const struct model *model;
    const struct layer_kind *layer; /* of segments outside layers: any */
    const struct software *software;
    enum precision precision;
    int64_t tp;
    bool is_sequence_parallel;
    int64_t micro;              /* sequences */
    int64_t sequence_length;    /* tokens */
    int64_t cp;                 /* ranks that share each sequence */
    int64_t ep;                 /* ranks that share the experts of a layer */
    int64_t etp;                /* ranks that share the matrices of each */
    double expert_rows;         /* rows of a rank's experts over the mean (plan/routing): >= 1 when
                              * one is hotter than the others; below 1 when a capacity cuts them */
    int64_t local_experts;      /* on a rank, copies included */
    uint32_t recompute_modules; /* bits 1 << enum recompute_module (input/scenario.h) that
                                 * SEGMENT_SELECTIVE_RECOMPUTE computes again: core-attention,
                                 * norm, activation, mla-up; whole modules are the program's */
    bool is_ulysses;            /* context parallelism by heads: the core sees whole sequences and a
                              * cp-th of the heads */
    int64_t lora_rank;          /* 0: all weights are trained */
    uint32_t lora_targets;      /* bits 1 << enum lora_target */
    bool lora_drops;            /* adapters' inputs pass a dropout */
    double gradient_bytes;      /* of a weight's main gradient; 0: the software's precision */
    bool transposes_fp8;        /* the GPU's products read fp8 operands either way round */
};

/* Fills *segment. Backward segments hold backward kernels only. It may be empty (nothing
 * to recompute, no dropout or bias to undo, no experts). */
void cost_segment(const struct cost_shape *shape, enum segment_kind kind, struct segment *segment);

/* The update of `parameters` parameters kept on this rank, as fused multi-tensor kernels: reads the
 * gradient, reads and writes master weight and moments (two of Adam's) in the optimizer's formats,
 * and writes the copy that products read (30 bytes a parameter with Adam's fp32 states and 16-bit
 * weights, 28 in fp32 training). Without a master the weights themselves are updated. As torch's
 * foreach it is one kernel for each operation: 80 bytes with fp32 states, and the copy. */
void cost_optimizer(double parameters, const struct optimizer *optimizer, enum precision precision,
                    enum update_kind update, struct segment *segment);

/* FLOPs a segment executes, in GEMMs and attention. These are hardware FLOPs: unfused
 * attention executes the full mask, and the backward pass of fused attention 2.5 times
 * its forward. The numerator of `mfu` is cost_train_flop_causal, never a sum of these. */
double cost_segment_flop(const struct segment *segment);

#endif
