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
 *     interference: {nvlink: 0.10, network: 0.05, provenance: assumed, source: ...}
 *                                        # share of the compute rate that an overlapped
 *                                        # collective takes
 *     fusion: {bias_activation: true, dropout_add: true, norm: true, softmax: true, source: ...}
 *     host: {per_kernel: 6 us, per_step: 20 ms, ...}
 *                                        # CPU time to launch a kernel; a short kernel waits
 *     gemm: {derate: 0.95, ...}          # in-training GEMM rate over the isolated benchmark
 *     memory: {overhead: 3 GB, ...}      # context, NCCL buffers, fragmentation
 *
 * Only attention and gradients.precision are required. What is left out does
 * nothing: no overlap, no fusion, no interference, no host time, no derating.
 * (A bucket must have a size: its default is listed among the assumptions.)
 */
#ifndef SPEC_SOFTWARE_H
#define SPEC_SOFTWARE_H

#include "spec/gpu.h"

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
    bool fuses_bias_activation;
    bool fuses_dropout_add;
    bool fuses_norm;
    bool fuses_softmax;
    double host_per_kernel_s;
    double host_per_step_s;
    double gemm_derate; /* 0..1 */
    double memory_overhead_bytes;
    struct place place;
};

MUST_USE bool software_read(const struct doc_node *node, struct software *software,
                            struct assumptions *assumptions, struct diag *diag);

#endif
