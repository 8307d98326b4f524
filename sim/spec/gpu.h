/* A GPU as a datasheet and a few micro-benchmarks describe it.
 *
 * Read from models/gpus/NAME.yaml. Peaks are dense (no 2:4 sparsity). The
 * achieved rates are what measured kernels reach on this GPU, independent of
 * any model or framework:
 *
 *     gpu: a100-sxm4-80gb
 *     title: NVIDIA A100 SXM4 80 GB
 *     architecture: ampere               # volta | ampere | hopper | blackwell
 *     source: https://...
 *     peak: {fp32: 19.5 TFLOP/s, tf32: 156 TFLOP/s, fp16: 312 TFLOP/s, bf16: 312 TFLOP/s}
 *     memory: 80 GB
 *     memory_bandwidth: 2.039 TB/s
 *     sms: 108
 *     tdp: 400 W
 *     host_link: 31 GB/s                 # PCIe, one way
 *     price: {gpu_hour: 1.50 USD, provenance: assumed, source: ...}
 *     power: {idle_fraction: 0.2, busy_fraction: 0.85, provenance: assumed, source: ...}
 *     memory_kernels: {efficiency: 0.82, provenance: measured, source: ...}
 *     launch: {time: 4 us, provenance: measured, source: ...}
 *                                        # gap between dependent kernels, GPU side
 *     gemm: {tile_m: 256, tile_n: 128, efficiency: 0.82, k_half: 180,
 *            provenance: fitted, source: ...}
 *     attention:                         # achieved rates for long sequences, FLOPs as executed
 *       fa2: {forward: 220 TFLOP/s, backward: 180 TFLOP/s, length_half: 500,
 *             provenance: fitted, source: ...}
 *
 * Only title, price, power and attention may be left out (no price is 0; the
 * power fractions then are assumptions of the result). A kind of attention
 * that is left out does not exist on this GPU.
 *
 * gemm.efficiency is the fraction of the dense peak that a large,
 * well-shaped product sustains; k_half is the inner dimension at which half
 * of it is lost to prologue and epilogue (hw/kernel has the formula). Products of 8 and 4
 * bits lose more; where `peak` names fp8, mxfp8 or nvfp4 there is a section for it:
 *
 *     gemm_fp8: {efficiency: 0.72, k_half: 500, provenance: fitted, source: ...}
 */
#ifndef SPEC_GPU_H
#define SPEC_GPU_H

#include "spec/doc.h"
#include "spec/provenance.h"

/* What products multiply in. */
enum precision {
    PRECISION_FP32,
    PRECISION_TF32,
    PRECISION_FP16,
    PRECISION_BF16,
    PRECISION_FP8,   /* one scale a tensor or a block of it */
    PRECISION_MXFP8, /* one scale for each 32 values */
    PRECISION_NVFP4, /* one fp8 scale for each 16 values, one fp32 scale a tensor */
    PRECISION_COUNT_
};

/* What collective libraries tell apart (spec/library). */
enum gpu_architecture { GPU_VOLTA, GPU_AMPERE, GPU_HOPPER, GPU_BLACKWELL, GPU_ARCHITECTURE_COUNT_ };

extern const char *const gpu_architecture_names[GPU_ARCHITECTURE_COUNT_];

extern const char *const precision_names[PRECISION_COUNT_];

/* Bytes of one element of a tensor kept between products (tf32 is stored as fp32; what fp8,
 * mxfp8 and nvfp4 multiply is kept in bf16 and converted before). */
int64_t precision_bytes(enum precision precision);

/* Bytes of one operand's element in the product, scales included: fp8 1, mxfp8 1 + 1/32,
 * nvfp4 1/2 + 1/16; else precision_bytes. */
double precision_operand_bytes(enum precision precision);

/* Fewer than 16 bits: fp8, mxfp8, nvfp4. */
bool precision_is_low(enum precision precision);

/* Precision of everything that is not a linear layer's product (attention, logits). */
enum precision precision_outside(enum precision precision);

/* In order of age. */
enum attention_kind {
    ATTENTION_UNFUSED,
    ATTENTION_FA1,
    ATTENTION_FA2,
    ATTENTION_FA3,
    ATTENTION_CUDNN,
    ATTENTION_COUNT_
};

extern const char *const attention_names[ATTENTION_COUNT_];

struct attention_rate {
    double forward_flop_per_s; /* 0: this GPU has no such kernel */
    double backward_flop_per_s;
    double length_half; /* sequence length at which half the rate is reached */
};

/* How near to the peak products come; see above. */
struct gemm_figures {
    double efficiency;
    double k_half;
};

struct gpu {
    const char *name;
    const char *title;
    uint32_t architecture;                    /* enum gpu_architecture */
    double peak_flop_per_s[PRECISION_COUNT_]; /* dense; 0 = not supported */
    double memory_bytes;
    double memory_bandwidth_bytes_per_s;
    int64_t sms;
    double tdp_w;
    double idle_power_fraction; /* of tdp, when waiting */
    double busy_power_fraction; /* of tdp, when computing */
    double host_link_bytes_per_s;
    double gpu_hour_usd;
    double memory_kernel_efficiency; /* of memory bandwidth, streaming kernels */
    double launch_s;
    int64_t gemm_tile_m, gemm_tile_n;
    double gemm_efficiency;
    double gemm_k_half;
    struct gemm_figures gemm_of[PRECISION_COUNT_];     /* efficiency 0: as above */
    struct attention_rate attention[ATTENTION_COUNT_]; /* [ATTENTION_UNFUSED] unused */
    struct place place;
};

/* It multiplies in this precision. */
bool gpu_has_precision(const struct gpu *gpu, enum precision precision);

/* Of products in this precision. */
struct gemm_figures gpu_gemm(const struct gpu *gpu, enum precision precision);

/* The rate of this attention kind is known; unfused attention is plain GEMMs, so always. */
bool gpu_has_attention(const struct gpu *gpu, uint32_t kind);

MUST_USE bool gpu_read(const struct doc_node *node, struct gpu *gpu,
                       struct assumptions *assumptions, struct diag *diag);

#endif
