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
 *     gradients: {precision: fp32, source: ...}     # reduced and accumulated in
 *     overlap:                           # what runs beside compute
 *       tp_backward: true                # dgrad all-reduce / reduce-scatter beside the
 *                                        # weight-gradient GEMM
 *       dp_gradients: true               # buckets are reduced while the backward pass goes on
 *       dp_parameters: true              # gathered layer by layer during the next forward pass
 *       p2p: true                        # false: send and receive block the compute stream
 *                                        # together
 *     bucket: {size: 160 MB, source: ...}           # bytes of gradients per data-parallel bucket
 *     fsdp: {prefetch: 1}                # layers gathered ahead
 *     interference: {nvlink: 0.10, network: 0.05, sms: 0, provenance: assumed, source: ...}
 *                                        # share of the compute rate that an overlapped
 *                                        # collective takes; SMs that are set aside for
 *                                        # communication all the time
 *     fusion: {bias_activation: true, dropout_add: true, norm: true, softmax: true, source: ...}
 *     host: {per_kernel: 6 us, per_step: 20 ms, ...}
 *                                        # CPU time to launch a kernel; a short kernel waits
 *                                        # and update: 25 GB/s, at which the CPU updates a
 *                                        # GPU's share of an offloaded optimizer, in bytes of
 *                                        # states read and written
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
 *     gemm: {derate: 0.95, ...}          # in-training GEMM rate over the isolated benchmark
 *     memory:                            # what is beside the tensors of plan/memory
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
 *                                        # second is kept, and attention's; nothing else
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
#ifndef SPEC_SOFTWARE_H
#define SPEC_SOFTWARE_H

#include "spec/gpu.h"

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

/* How often a token is sent: for each of its experts, or for each GPU (and node) that has any. */
enum exchange_kind { EXCHANGE_COPIES, EXCHANGE_TOKENS, EXCHANGE_KIND_COUNT_ };
extern const char *const exchange_kind_names[EXCHANGE_KIND_COUNT_];

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
    bool overlaps_tp_backward;
    bool overlaps_dp_gradients;
    bool overlaps_dp_parameters;
    bool overlaps_p2p;
    double bucket_bytes;
    int64_t fsdp_prefetch;
    double nvlink_interference; /* fraction of the compute rate, 0..0.9 */
    double network_interference;
    int64_t reserved_sms; /* fewer than the GPU has (the scenario checks) */
    bool fuses_bias_activation;
    bool fuses_dropout_add;
    bool fuses_norm;
    bool fuses_softmax;
    double host_per_kernel_s;
    double host_per_step_s;
    double host_update_bytes_per_s; /* of a GPU's share of optimizer states on the host */
    double gemm_derate;             /* 0..1 */
    struct low_precision low;
    uint32_t dispatch; /* enum exchange_format: of tokens to experts, in fewer than 16 bits */
    uint32_t combine;  /* and of their results back */
    uint32_t exchange; /* enum exchange_kind */
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
