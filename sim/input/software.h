/* A software profile: what one framework of one year does with the hardware.
 *
 * Read from models/software/NAME.yaml, e.g. megatron-2024. It says which
 * kernels are fused, what overlaps with what, how gradients travel. No
 * constant in it belongs to one model or one published run.
 *
 *     software: megatron-2024
 *     title: Megatron-LM core 0.6 to 0.10
 *     framework: Megatron-LM
 *     year: 2024
 *     source: https://...
 *     attention: fa2                     # newest kernel, if the GPU has it
 *     gradients: {precision: fp32, accumulation: fused, source: ...}
 *     overlap: {tp_backward: true, dp_gradients: true, dp_parameters: true, p2p: true}
 *     bucket: {size: 160 MB, source: ...}
 *     interference: {nvlink: 0.10, network: 0.05, sms: 0, provenance: assumed, source: ...}
 *     fp8: {recipe: delayed, weights: per-step, fuses: {norm: true, activation: true},
 *           attention: true, source: ...}
 *
 * What each key means, its bounds and what holds without it: the table in software.c.
 * A profile that is `like:` another says only what it has otherwise (input/catalogue).
 * Only attention and gradients.precision are required. What is left out does
 * nothing: no overlap, no fusion, no interference, no host time, no derating. A profile
 * without `fp8` does not train in fewer than 16 bits.
 * (A bucket must have a size, and an offloaded optimizer a rate: their defaults are listed
 * among the assumptions.)
 */
#ifndef INPUT_SOFTWARE_H
#define INPUT_SOFTWARE_H

#include "input/doc/doc_files.h"
#include "input/features/features.h"
#include "input/gpu.h"
#include "input/schema/schema.h"

enum scaling_recipe {
    RECIPE_DELAYED,
    RECIPE_CURRENT,
    RECIPE_BLOCKWISE,
    RECIPE_ROWWISE,
    RECIPE_COUNT_
};
extern const char *const scaling_recipe_names[RECIPE_COUNT_];

/* Who writes which part of a checkpoint (plan/checkpoint_roles). */
enum checkpoint_writers { WRITERS_FIRST, WRITERS_HOLDERS, WRITERS_SHARED, WRITERS_COUNT_ };
/* When an asynchronous checkpoint is copied to the host's memory: while training waits, or beside
 * the step that follows, which waits before it changes the parameters. */
enum checkpoint_copy { COPY_AT_ONCE, COPY_BESIDE, COPY_COUNT_ };

/* Ranks that agree on the largest values of delayed scaling. */
enum amax_group { AMAX_OWN, AMAX_TENSOR, AMAX_ALL, AMAX_COUNT_ };

enum weight_conversion {
    WEIGHTS_EACH_MICROBATCH,
    WEIGHTS_EACH_STEP,
    WEIGHTS_STORED,
    WEIGHTS_COUNT_
};

enum exchange_format { EXCHANGE_BF16, EXCHANGE_FP8, EXCHANGE_COUNT_ };

/* Key loss.kind: how cross-entropy is computed. Its kernels: plan/kernels/kernels_head; what it
 * holds in memory: plan/loss. */
enum loss_kind {
    LOSS_IN_PARTS,   /* a kernel for each operation, in fp32 and in place: Megatron-LM's */
    LOSS_EAGER,      /* PyTorch's cross_entropy of logits that were made fp32 */
    LOSS_EAGER_HALF, /* the same of logits as they are */
    LOSS_FUSED,      /* one kernel, which leaves the logits' gradient in their place */
    LOSS_RECOMPUTED, /* the backward pass writes the gradient, from the logits, beside them */
    LOSS_IN_PLACE,   /* the same, over them */
    LOSS_CHUNKED,    /* of some tokens after the others, logits again in the backward pass */
    LOSS_LINEAR,     /* the same, with both gradients at once in the forward pass */
    LOSS_CUT,        /* within the products: logits are never written */
    LOSS_COUNT_
};
extern const char *const loss_kind_names[LOSS_COUNT_];

/* Section loss of a profile, and of a scenario, which stands above it. */
struct loss_way {
    uint32_t kind;           /* enum loss_kind */
    int64_t chunk;           /* tokens of a chunk; 0: as the kind has it */
    bool gathers_vocabulary; /* every rank of tp has all logits of its tokens */
    bool has_fp32_logits;    /* returned by the model, of the eager kind; no others stay */
    bool fuses_fp32; /* of the eager kind: nothing in fp32 is written, as a compiler may have it */
};

/* Key fusion.update: Adam's as one kernel over all tensors, or one for each operation of the
 * formula. */
enum update_kind { UPDATE_FUSED, UPDATE_FOREACH, UPDATE_KIND_COUNT_ };

/* Key fusion.rotary: how queries and keys are turned. */
enum rotary_kind { ROTARY_FUSED, ROTARY_EAGER, ROTARY_COMPLEX, ROTARY_MATRIX, ROTARY_COUNT_ };

/* Key embedding: rows of the table are read, or a product with one 1 in each row fetches them. */
enum embedding_kind { EMBEDDING_LOOKUP, EMBEDDING_ONE_HOT, EMBEDDING_KIND_COUNT_ };

/* How often a token is sent: for each of its experts, or for each GPU (and node) that has any. */
enum exchange_kind { EXCHANGE_COPIES, EXCHANGE_TOKENS, EXCHANGE_KIND_COUNT_ };

/* Key p2p.calls: how stages of 1F1B send and receive (train/program/program_calls.h). */
enum stage_calls {
    STAGE_CALLS_APART,
    STAGE_CALLS_TOGETHER,
    STAGE_CALLS_IN_TURN,
    STAGE_CALLS_COUNT_
};

/* Keys context.type and parallel.cp_type: how ranks that share a sequence exchange keys and values
 * (train/program/program_attention.h). */
enum context_kind { CONTEXT_ALL_GATHER, CONTEXT_RING, CONTEXT_ULYSSES, CONTEXT_COUNT_ };
extern const char *const context_names[CONTEXT_COUNT_]; /* all-gather, ring, ulysses */

/* Key context.gathers: what context parallelism's all-gather moves of latent attention. */
enum context_gathered { GATHERED_HEADS, GATHERED_LATENTS, CONTEXT_GATHERED_COUNT_ };

/* Key fsdp.no_sync: what of FSDP and zero 2 waits for the last microbatch's backward pass. */
enum no_sync { NO_SYNC_NONE, NO_SYNC_REPLICAS, NO_SYNC_ALL, NO_SYNC_COUNT_ };

/* Key p2p.scatter_gather: without sequence parallelism, what of a stage's messages ranks of tensor
 * parallelism send a share of, which receivers gather. */
enum scatter_gather {
    SCATTER_GATHER_NONE,
    SCATTER_GATHER_ACTIVATIONS,
    SCATTER_GATHER_BOTH,
    SCATTER_GATHER_COUNT_
};

/* Key fsdp.gathers. */
/* How a microbatch's weight gradients are added to those before: by the product that computes them,
 * or by a kernel of its own. */
enum gradient_addition { ADDITION_FUSED, ADDITION_SEPARATE, ADDITION_COUNT_ };

/* How the ranks that share ZeRO's states get the sum of gradients, and the updated parameters. */
enum shard_reduction { REDUCE_SCATTERS, REDUCE_WHOLE, SHARD_REDUCTION_COUNT_ };
enum shard_gather { GATHER_ALL, GATHER_BROADCASTS, SHARD_GATHER_COUNT_ };

enum gather_unit { GATHER_LAYER, GATHER_TENSOR, GATHER_MATRIX, GATHER_UNIT_COUNT_ };

/* Key fp8. Nothing of it matters in 16 and 32 bits. */
struct low_precision {
    bool is_known; /* the profile has the section */
    bool in_forward, in_dgrad, in_wgrad;
    uint32_t recipe;       /* enum scaling_recipe */
    uint32_t weights;      /* enum weight_conversion */
    uint32_t amax;         /* enum amax_group */
    bool keeps_transposes; /* of weights, where products need them */
    bool fuses_norm;
    bool fuses_norm_blocks; /* and mxfp8, where fuses_norm */
    bool fuses_activation;
    bool keeps_inputs;
    bool gathers_parameters;
    bool gathers_activations;
    double column_rate;    /* 0..1: of kernels that turn a tensor, RECIPE_ROWWISE */
    double block_rate;     /* 0..1: of kernels that convert by blocks, mxfp8 and nvfp4 */
    bool transforms;       /* nvfp4: what weight gradients read, by Hadamard matrices */
    bool attends;          /* fused attention's products, forward */
    bool attends_backward; /* and then backward */
    bool skips_window;     /* of attention: what it hides, backward */
    int64_t first_layers, last_layers; /* of the decoder, that stay in 16 bits */
    bool projects_head;                /* the logits' products are a linear layer's */
    bool stores_frozen; /* weights that are not trained are kept as they are multiplied */
};

/* Key host.graphs: what is captured as CUDA graphs, which the host launches whole. */
enum graph_part {
    GRAPH_NONE,
    GRAPH_ATTENTION, /* with its norm */
    GRAPH_MLP,       /* dense, with its norm; of experts only what all tokens pass */
    GRAPH_ROUTER,    /* and the tokens' copies for experts: all but the exchange */
    GRAPH_EXPERTS,
    GRAPH_LAYERS,    /* all of these */
    GRAPH_ITERATION, /* and embedding, head, loss: forward and backward of all microbatches */
    GRAPH_PART_COUNT_
};
extern const char *const graph_part_names[GRAPH_PART_COUNT_];

/* Key memory.activation_input. */
enum kept_input { KEPT_AS_COMPUTED, KEPT_IN_FP8, KEPT_INPUT_COUNT_ };

struct software_memory {
    double overhead_bytes;
    double context_bytes;
    double communicator_bytes;
    double fragmentation;        /* 0..1 */
    uint32_t backward_gradients; /* enum precision; PRECISION_COUNT_: none */
    uint32_t step_gradients;     /* the same */
    bool has_weights_beside_master;
    bool keeps_every_second_product;
    bool keeps_unread_product; /* where it keeps every second: also the MLP's last, if it is one */
    bool keeps_stage_outputs;  /* and has buffers for all that a stage receives in a step */
    bool frees_gradients;      /* whole ones, summed in a pipeline, once they are reduced */
    bool is_loss_apart;        /* on top of what a layer needed in its forward pass */
    bool repeats_kv;           /* for all heads of queries */
    bool keeps_qkv;            /* where a layer is computed again whole */
    bool keeps_expert_results;
    uint32_t activation_input; /* enum kept_input */
    int64_t bucket_count;
};

struct software {
    const char *name;
    const char *title;
    const char *framework;
    int64_t year;
    bool is_measured;    /* some run that was published, or more */
    const char *release; /* NULL or "": not stated */
    struct feature_set has;
    uint32_t attention;          /* enum attention_kind */
    uint32_t gradient_precision; /* enum precision: fp32, bf16 or fp16 */
    uint32_t gradient_addition;  /* enum gradient_addition */
    uint32_t zero_gradients;     /* enum shard_reduction: of zero 1, 2 */
    uint32_t zero_parameters;    /* enum shard_gather: of zero 1, 2 */
    double zero_bucket_copies;   /* bytes a parameter */
    double zero_update_copies;   /* bytes a parameter that the rank owns */
    bool keeps_gathered;       /* inputs that sequence parallelism gathered, for weight gradients */
    bool gathers_few_kv_heads; /* fewer than tp: queries, keys and values of all */
    bool overlaps_tp_backward;
    int64_t tp_pieces; /* >= 1 */
    bool overlaps_dp_gradients;
    bool overlaps_dp_parameters;
    bool overlaps_p2p;
    uint32_t stage_calls;      /* enum stage_calls */
    uint32_t scatter_gather;   /* enum scatter_gather */
    uint32_t context;          /* enum context_kind, unless a scenario says parallel.cp_type */
    uint32_t context_gathered; /* enum context_gathered */
    double bucket_bytes;
    int64_t fsdp_prefetch;
    int64_t fsdp_live_parameters; /* gathered at once; 0: no limit, and none outlive their use */
    int64_t fsdp_reuse_distance;  /* parameters used in between; 0: any */
    uint32_t fsdp_no_sync;        /* enum no_sync */
    bool fsdp_is_one_queue;
    bool fsdp_queues_sums;        /* over replicas: in that queue, too */
    double fsdp_sum_bucket_bytes; /* of a shard, joined for a sum over replicas; 0: not joined */
    bool fsdp_reduces_buckets;
    bool fsdp_keeps_root;        /* gathered: embedding, norm and head, over forward and backward */
    int64_t fsdp_gather_passes;  /* reads and writes of a unit's gathered bytes */
    double fsdp_gradient_copies; /* bytes a parameter */
    uint32_t fsdp_gathers;       /* enum gather_unit */
    double fsdp_per_call_s;
    double fsdp_per_rank_s;
    double fsdp_host_per_rank_s;
    int64_t fsdp_quantized_block; /* values that share a scale, of 4 bytes */
    double scale_up_interference; /* fraction of the compute rate, 0..0.9 */
    double network_interference;
    double expert_interference; /* unless expert_sms */
    int64_t expert_sms;         /* that an exchange with experts takes of a GPU's; 0: not stated */
    double scale_up_bandwidth;  /* 0..1: of what a benchmark reaches */
    double staging_bytes_per_s; /* of a GPU, in series with its NIC; 0: no limit */
    double exchange_bandwidth;  /* 0..1: of what the links carry, where tokens are exchanged */
    double exchange_network;    /* the same between scale-up domains */
    double exchange_start_s;    /* of each such exchange, before its first byte */
    double exchange_rank_s;     /* and for each rank that takes part */
    double jitter_spread;       /* of a GPU's busy time in a step; 0..1 */
    double jitter_meeting_s;    /* of when GPUs come to an operation of all replicas */
    int64_t reserved_sms;       /* fewer than the GPU has (the scenario checks) */
    bool fuses_bias_activation;
    bool fuses_qkv_bias;
    bool fuses_dropout_add;
    bool fuses_norm;
    bool casts_norm; /* its input to fp32, by a pass of its own */
    bool fuses_softmax;
    struct loss_way loss;   /* the scenario's, once that is read */
    uint32_t losses;        /* bits 1 << enum loss_kind: what a scenario may choose besides */
    int64_t metric_losses;  /* cross-entropies beside the loss, forward only */
    uint32_t embedding;     /* enum embedding_kind */
    uint32_t rotary;        /* enum rotary_kind */
    uint32_t scaled_rotary; /* the same, where a model scales cosines and sines */
    bool fuses_clamp;       /* where fuses_bias_activation */
    bool fuses_adapter;
    bool fuses_experts;
    bool fuses_expert_activation; /* where fuses_experts */
    uint32_t update;              /* enum update_kind */
    double host_per_kernel_s;
    double host_per_product_s; /* besides, of a product that is not of experts */
    bool is_blocking;          /* the host waits for each kernel */
    uint32_t graphs;           /* bits 1 << enum graph_part: what is captured */
    int64_t host_queue;        /* launches that may be pending */
    bool waits_for_p2p; /* the host, for the GPU, unless an interleaved schedule overlaps them */
    bool waits_for_no_stage; /* no key of a profile: the scenario's ideal.pipeline */
    double host_per_step_s;
    double host_per_replay_s;       /* in its place where the iteration is captured */
    double host_update_bytes_per_s; /* of a GPU's share of optimizer states on the host */
    double gemm_derate;             /* 0..1 */
    double memory_derate;           /* 0..1 */
    double strided_share;           /* 0..1, of it: operands not in one piece */
    double attention_derate;        /* 0..1 */
    struct {
        double compute_share, memory_share, wide_derate; /* 0..1 */
    } scan;
    struct {
        double forward_share, backward_share, index_share, memory_share; /* 0..1 */
    } sparse;
    struct low_precision low;
    uint32_t dispatch; /* enum exchange_format: of tokens to experts, in fewer than 16 bits */
    uint32_t combine;  /* and of their results back */
    uint32_t exchange; /* enum exchange_kind */
    bool pads_to_capacity;
    int64_t expert_launches;
    int64_t expert_streams; /* >= 1 */
    double expert_synchronisation_s;
    double expert_tensor_s; /* of the host, for each expert's product or conversion */
    struct software_memory memory;
    uint32_t checkpoint_writers;                /* enum checkpoint_writers */
    uint32_t checkpoint_copy;                   /* enum checkpoint_copy */
    double checkpoint_serialise_bytes_per_s;    /* of a rank; 0: no limit */
    double checkpoint_staging_bytes_per_s;      /* of a GPU to its host's memory; 0: no limit */
    double checkpoint_node_staging_bytes_per_s; /* of all GPUs of a node; 0: no limit */
    double checkpoint_coordinate_s;             /* for each rank of the job */
    bool checkpoint_has_weights; /* zero 3: of what it computes with, beside their master */
    struct place place;
};

/* "megatron-2024 (Core 0.5 to 0.10)"; without a release its name. */
const char *software_with_release(struct arena *arena, const struct software *software);

/* It trains in this precision. */
bool software_has_precision(const struct software *software, enum precision precision);

/* During which the GPU waits for the host before a step, whatever is captured. */
double software_host_step_s(const struct software *software);

/* A part of a step is in a graph, by itself or with all around it. */
bool software_captures(const struct software *software, enum graph_part part);
/* Whether CUDA graphs capture any part of a step. */
bool software_captures_any(const struct software *software);

/* Ranks of a tensor-parallel group each send a share of what goes to the next stage
 * (`is_forward`) or back, and those that receive gather it. */
bool software_scatters(const struct software *software, bool is_forward);

/* The scale of a tensor is found by a pass of its own before converting. */
bool software_scales_first(const struct software *software, enum precision precision);

/* It is scaled row by row, and column by column for products that read columns. */
bool software_scales_rows(const struct software *software, enum precision precision);

/* Who agrees on scales after each pass of a microbatch: nobody, but for delayed scaling. */
enum amax_group software_amax_group(const struct software *software, enum precision precision);

/* The core of fused attention multiplies in fp8, when training in `precision`. */
bool software_attends_low(const struct software *software, enum precision precision,
                          bool is_backward);

/* One scale for a whole tensor in fp8, so that its transpose is the same values. */
bool software_scales_tensors(const struct software *software, enum precision precision);

/* ---- bytes of one value when training in `precision` ----------------------------------------
 * Without low precision each of them is precision_bytes. */

/* What the core of attention reads: queries, keys and values, as sent by context parallelism
 * (forward), and as kept for the backward pass. */
double software_attended_bytes(const struct software *software, enum precision precision,
                               bool is_backward);

/* An input of a linear layer, kept for its weight gradient. */
double software_kept_bytes(const struct software *software, enum precision precision);

/* A model's clamp of gate and up is done by kernels of its own, whose result is kept. */
bool software_clamps_apart(const struct software *software);

/* A linear layer's weight that products read, with converted copies that stay over a step: two, or
 * with one scale for a tensor in fp8 one where the GPU reads it either way round (gpu.h,
 * transposes_fp8) or it is transposed at each use. */
double software_weight_bytes(const struct software *software, enum precision precision,
                             bool transposes_fp8);

/* Its converted copies alone; in 16 bits and more itself. */
double software_converted_bytes(const struct software *software, enum precision precision,
                                bool transposes_fp8);

/* Sent for it: parameters gathered by ZeRO or FSDP; hidden states gathered by sequence
 * parallelism in front of a linear layer; tokens on their way to experts (with the scales of
 * blocks of 128) and back. The gradients of the last two go the other way in the same precision
 * as their own direction: to the experts as dispatched, from them as combined. */
double software_gather_bytes(const struct software *software, enum precision precision);
double software_activation_gather_bytes(const struct software *software, enum precision precision);
double software_dispatch_bytes(const struct software *software, enum precision precision);
double software_combine_bytes(const struct software *software, enum precision precision);

/* Its keys; its object is a struct software. */
extern const struct schema software_schema;

MUST_USE bool software_read(const struct doc_node *node, struct software *software,
                            struct assumptions *assumptions, struct diag *diag);

/* The same, for files that are kept. */
extern const struct doc_reader software_reader;

#endif
