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
 *     attention: fa2                     # newest kernel, if the GPU has it: unfused fa1 fa2 fa3
 *                                        # cudnn
 *     gradients: {precision: fp32, accumulation: fused, source: ...}
 *                                        # reduced and accumulated in; the product of a weight's
 *                                        # gradient adds to it (fused, the default), or a kernel
 *                                        # of its own does afterwards (separate)
 *     overlap:                           # what runs beside compute
 *       tp_backward: true                # dgrad all-reduce / reduce-scatter beside the
 *                                        # weight-gradient GEMM
 *       tp_pieces: 4                     # a block of a layer is computed in so many pieces, whose
 *                                        # gathers and reduce-scatters (sequence parallelism) run
 *                                        # beside the pieces before and after: asynchronous tensor
 *                                        # parallelism, userbuffers; default 1, nothing of it
 *       dp_gradients: true               # buckets are reduced while the backward pass goes on
 *       dp_parameters: true              # gathered layer by layer during the next forward pass
 *       p2p: true                        # false: send and receive block the compute stream
 *                                        # together
 *     bucket: {size: 160 MB, source: ...}           # bytes of gradients per data-parallel bucket
 *     zero: {gradients: reduce-scatter, parameters: all-gather}   # stages 1 and 2, of a group that
 *                                        # is not cut by zero_group: or all-reduce; or broadcast,
 *                                        # of whole tensors by the rank that updates them
 *     fsdp: {prefetch: 1, gathers: layer}   # layers gathered ahead; what one gather is of:
 *                                        # layer (the default); tensor: each weight, bias and
 *                                        # norm of a layer on its own; matrix: each weight, and
 *                                        # biases and norms stay on every rank. Gradients are
 *                                        # reduced in the same pieces. Also per_call: 0.4 ms, what
 *                                        # the framework spends before each gather and reduction
 *                                        # of a layer (synchronising, copying, allocating), while
 *                                        # nothing is sent; per_rank: 3 us, the same for each rank
 *                                        # that takes part (a copy of each one's share where a
 *                                        # collective has a list of tensors); default 0. prefetch
 *                                        # 0: a layer is gathered when it is reached, beside no
 *                                        # compute
 *                                        # Besides: gather_passes: 2, reads and writes of what was
 *                                        # gathered (FSDP2 copies it out of one buffer), and
 *                                        # gradient_copies: 6 B, moved for a parameter before its
 *                                        # gradient is reduced (joined, converted, divided)
 *     interference: {nvlink: 0.10, network: 0.05, sms: 0, provenance: assumed, source: ...}
 *                                        # share of the compute rate that an overlapped
 *                                        # collective takes, of a group in one NVLink domain or
 *                                        # of others; SMs that are set aside for communication
 *                                        # all the time
 *                                        # and experts: 0.35, of an exchange with experts beside
 *                                        # compute; default as network
 *     communication: {nvlink: 0.9, network: 0.85, ...}   # bandwidth within a step over that of a
 *                                        # benchmark of collectives alone: of transfers inside an
 *                                        # NVLink domain, and between; experts: besides, of
 *                                        # all-to-alls where experts.exchange is tokens
 *     jitter: {spread: 1 %, ...}         # standard deviation of a GPU's own time of a step; all
 *                                        # wait for the slowest (train/jitter)
 *     fusion: {bias_activation: true, dropout_add: true, norm: true, softmax: true, source: ...}
 *                                        # and rotary: fused (the default): one kernel; eager:
 *                                        # two products, halves swapped, a sum; complex: fp32
 *                                        # complex numbers, which torch.compile does not fuse
 *                                        # and experts: one kernel for the products of all
 *                                        # experts of a GPU; without, one each; and loss:
 *                                        # cross-entropy on 16-bit logits in two reads
 *                                        # and a write, which leave the gradient in their place
 *     host: {per_kernel: 6 us, per_step: 20 ms, graphs: false, blocking: false, ...}
 *                                        # CPU time to launch a kernel; short kernels wait when
 *                                        # the host's lead is used up
 *                                        # (blocking: every kernel does, as the host waits for the
 *                                        # one before: CUDA_LAUNCH_BLOCKING=1)
 *                                        # (graphs: kernels of layers are launched as CUDA graphs
 *                                        # and do not)
 *                                        # and update: 25 GB/s, at which the CPU updates a
 *                                        # GPU's share of an offloaded optimizer, in bytes of
 *                                        # states read and written
 *     launch_queue: {launches: 1000, waits_for_p2p: true, source: ...}   # how far it may be ahead;
 *                                        # and that after sends and receives between stages it
 *                                        # waits until the GPU is idle
 *     fp8:                               # training in fp8, mxfp8 or nvfp4: the products of
 *                                        # linear layers; attention, router and logits stay 16-bit
 *       gemms: {forward: true, dgrad: true, wgrad: true}   # which of them (default: all)
 *       recipe: delayed                  # scale of a tensor in fp8: delayed (from steps before),
 *                                        # current (one more pass finds the largest value), or
 *                                        # blockwise; mxfp8 and nvfp4 bring their own
 *       weights: per-step                # converted per-microbatch (the default), per-step (and
 *                                        # kept beside the 16-bit ones), or stored (converted
 *                                        # only, no 16-bit ones; nvfp4 as per-step)
 *       fuses: {norm: true, activation: true}   # kernels that write their result converted
 *       keeps_inputs: true               # for the weight gradient, converted
 *       gathers_parameters: true         # ZeRO's and FSDP's gather of linear weights; only in
 *                                        # fp8, as scales of blocks belong to one direction
 *       gathers_activations: true        # sequence parallelism's in front of linear layers
 *                                        # (of inputs and of gradients)
 *       source: ...
 *     experts: {dispatch: fp8, combine: bf16, ...}  # of tokens when training in fp8, mxfp8 or
 *                                        # nvfp4; default bf16
 *                                        # exchange: copies (default): a token once for each of
 *                                        # its experts; tokens: once to each GPU and node that
 *                                        # has any of them (DeepEP, HybridEP)
 *                                        # launches: 40, kernels of a few us each that route and
 *                                        # sort a layer's tokens, beyond those that plan/cost
 *                                        # lists, forward and backward each; default 0
 *                                        # streams: 4, over which the products of experts are
 *                                        # dealt where each has a kernel of its own; default 4
 *                                        # per_tensor: 6 us, which the host takes, besides
 *                                        # host.per_kernel, to prepare one expert's product or
 *                                        # conversion (allocating, describing, choosing a kernel),
 *                                        # unless fusion.experts; default 0
 *                                        # synchronisation: 50 us, for which a layer's forward
 *                                        # stands while the host reads how many tokens each expert
 *                                        # has (dropless routing) and launches again; default 0
 *     gemm: {derate: 0.95, ...}          # in-training GEMM rate over the isolated benchmark
 *     memory_kernels: {derate: 0.8, ...} # likewise of kernels that stream memory: elementwise
 *                                        # ones, norms, the optimizer
 *     attention_kernels: {derate: 0.95, ...}   # of fused attention
 *     memory:                            # what is beside the tensors of plan/memory/memory
 *       overhead: 0 GB                   # a lump, besides the following
 *       context: 1 GB                    # CUDA context, kernels, libraries' workspaces
 *       communicator: 250 MB             # NCCL's buffers, of each group that a GPU is in
 *       fragmentation: 5 %               # the allocator reserves so much more than is allocated
 *       loss: 14 B                       # of each logit while the loss is computed: logits, their
 *                                        # fp32 copy, log-softmax, gradient; default: the first two
 *       backward_gradients: bf16         # what a backward pass writes before it is added to the
 *                                        # gradients, of all parameters; default none
 *       step_gradients: fp32             # copy of the gradients' shard that the update reads
 *       weights_beside_master: true      # false: zero 3 keeps only the master's shard
 *       keeps_every_second_product: false # recompute selective: of the outputs of products every
 *                                        # second is kept, and attention's; nothing else. The
 *                                        # others are computed again (kernels_recompute)
 *       expert_results: true             # kept for the gradient of the router's weights; false:
 *                                        # these are applied before the experts' second matrix
 *       activation_input: fp8            # what SwiGLU or GELU reads is kept so; or as-computed
 *       bucket_count: 0                  # buffers of the bucket's size that live through the step
 *
 * Only attention and gradients.precision are required. What is left out does
 * nothing: no overlap, no fusion, no interference, no host time, no derating. A profile
 * without `fp8` does not train in fewer than 16 bits.
 * (A bucket must have a size, and an offloaded optimizer a rate: their defaults are listed
 * among the assumptions.)
 */
#ifndef INPUT_SOFTWARE_H
#define INPUT_SOFTWARE_H

#include "input/gpu.h"

enum scaling_recipe { RECIPE_DELAYED, RECIPE_CURRENT, RECIPE_BLOCKWISE, RECIPE_COUNT_ };
extern const char *const scaling_recipe_names[RECIPE_COUNT_];

enum weight_conversion {
    WEIGHTS_EACH_MICROBATCH,
    WEIGHTS_EACH_STEP,
    WEIGHTS_STORED,
    WEIGHTS_COUNT_
};
extern const char *const weight_conversion_names[WEIGHTS_COUNT_];

enum exchange_format { EXCHANGE_BF16, EXCHANGE_FP8, EXCHANGE_COUNT_ };
extern const char *const exchange_format_names[EXCHANGE_COUNT_];

/* Key fusion.rotary: how queries and keys are turned. */
enum rotary_kind { ROTARY_FUSED, ROTARY_EAGER, ROTARY_COMPLEX, ROTARY_COUNT_ };
extern const char *const rotary_names[ROTARY_COUNT_];

/* How often a token is sent: for each of its experts, or for each GPU (and node) that has any. */
enum exchange_kind { EXCHANGE_COPIES, EXCHANGE_TOKENS, EXCHANGE_KIND_COUNT_ };
extern const char *const exchange_kind_names[EXCHANGE_KIND_COUNT_];

/* Key fsdp.gathers. */
/* How a microbatch's weight gradients are added to those before: by the product that computes them,
 * or by a kernel of its own. */
enum gradient_addition { ADDITION_FUSED, ADDITION_SEPARATE, ADDITION_COUNT_ };
extern const char *const gradient_addition_names[ADDITION_COUNT_];

/* How the ranks that share ZeRO's states get the sum of gradients, and the updated parameters. */
enum shard_reduction { REDUCE_SCATTERS, REDUCE_WHOLE, SHARD_REDUCTION_COUNT_ };
enum shard_gather { GATHER_ALL, GATHER_BROADCASTS, SHARD_GATHER_COUNT_ };
extern const char *const shard_reduction_names[SHARD_REDUCTION_COUNT_];
extern const char *const shard_gather_names[SHARD_GATHER_COUNT_];

enum gather_unit { GATHER_LAYER, GATHER_TENSOR, GATHER_MATRIX, GATHER_UNIT_COUNT_ };
extern const char *const gather_unit_names[GATHER_UNIT_COUNT_];

/* Key fp8. Nothing of it matters in 16 and 32 bits. */
struct low_precision {
    bool is_known; /* the profile has the section */
    bool in_forward, in_dgrad, in_wgrad;
    uint32_t recipe;  /* enum scaling_recipe */
    uint32_t weights; /* enum weight_conversion */
    bool fuses_norm;
    bool fuses_activation;
    bool keeps_inputs;
    bool gathers_parameters;
    bool gathers_activations;
};

struct software_memory {
    double overhead_bytes;
    double context_bytes;
    double communicator_bytes;
    double fragmentation;        /* 0..1 */
    double loss_bytes;           /* 0: the logits and an fp32 copy */
    uint32_t backward_gradients; /* enum precision; PRECISION_COUNT_: none */
    uint32_t step_gradients;     /* the same */
    bool has_weights_beside_master;
    bool keeps_every_second_product;
    bool keeps_expert_results;
    bool keeps_activation_input_fp8;
    int64_t bucket_count;
};

struct software {
    const char *name;
    const char *title;
    const char *framework;
    int64_t year;
    uint32_t attention;          /* enum attention_kind */
    uint32_t gradient_precision; /* enum precision: fp32, bf16 or fp16 */
    uint32_t gradient_addition;  /* enum gradient_addition */
    uint32_t zero_gradients;     /* enum shard_reduction: of zero 1, 2 */
    uint32_t zero_parameters;    /* enum shard_gather: of zero 1, 2 */
    bool overlaps_tp_backward;
    int64_t tp_pieces; /* >= 1 */
    bool overlaps_dp_gradients;
    bool overlaps_dp_parameters;
    bool overlaps_p2p;
    double bucket_bytes;
    int64_t fsdp_prefetch;
    int64_t fsdp_gather_passes;  /* reads and writes of a unit's gathered bytes */
    double fsdp_gradient_copies; /* bytes a parameter */
    uint32_t fsdp_gathers;       /* enum gather_unit */
    double fsdp_per_call_s;
    double fsdp_per_rank_s;
    double nvlink_interference; /* fraction of the compute rate, 0..0.9 */
    double network_interference;
    double expert_interference;
    double nvlink_bandwidth; /* 0..1: of what a benchmark reaches */
    double network_bandwidth;
    double exchange_bandwidth;
    double jitter_spread; /* of a GPU's busy time in a step; 0..1 */
    int64_t reserved_sms; /* fewer than the GPU has (the scenario checks) */
    bool fuses_bias_activation;
    bool fuses_dropout_add;
    bool fuses_norm;
    bool fuses_softmax;
    bool fuses_loss;
    uint32_t rotary; /* enum rotary_kind */
    bool fuses_experts;
    double host_per_kernel_s;
    bool is_blocking;   /* the host waits for each kernel */
    bool has_graphs;    /* host_per_kernel does not count inside layers */
    int64_t host_queue; /* launches that may be pending */
    bool waits_for_p2p; /* the host, for the GPU, unless an interleaved schedule overlaps them */
    double host_per_step_s;
    double host_update_bytes_per_s; /* of a GPU's share of optimizer states on the host */
    double gemm_derate;             /* 0..1 */
    double memory_derate;           /* 0..1 */
    double attention_derate;        /* 0..2 */
    struct low_precision low;
    uint32_t dispatch; /* enum exchange_format: of tokens to experts, in fewer than 16 bits */
    uint32_t combine;  /* and of their results back */
    uint32_t exchange; /* enum exchange_kind */
    int64_t expert_launches;
    int64_t expert_streams; /* >= 1 */
    double expert_synchronisation_s;
    double expert_tensor_s; /* of the host, for each expert's product or conversion */
    struct software_memory memory;
    struct place place;
};

/* It trains in this precision. */
bool software_has_precision(const struct software *software, enum precision precision);

/* The scale of a tensor is found by a pass of its own before converting. */
bool software_scales_first(const struct software *software, enum precision precision);

/* ---- bytes of one value when training in `precision` ----------------------------------------
 * Without low precision each of them is precision_bytes. */

/* An input of a linear layer, kept for its weight gradient. */
double software_kept_bytes(const struct software *software, enum precision precision);

/* A linear layer's weight that products read, with converted copies that stay over a step. */
double software_weight_bytes(const struct software *software, enum precision precision);

/* Sent for it: parameters gathered by ZeRO or FSDP; hidden states gathered by sequence
 * parallelism in front of a linear layer; tokens on their way to experts (with the scales of
 * blocks of 128) and back. The gradients of the last two go the other way in the same precision
 * as their own direction: to the experts as dispatched, from them as combined. */
double software_gather_bytes(const struct software *software, enum precision precision);
double software_activation_gather_bytes(const struct software *software, enum precision precision);
double software_dispatch_bytes(const struct software *software, enum precision precision);
double software_combine_bytes(const struct software *software, enum precision precision);

MUST_USE bool software_read(const struct doc_node *node, struct software *software,
                            struct assumptions *assumptions, struct diag *diag);

#endif
