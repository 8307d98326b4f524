/* A GPU as a datasheet and a few micro-benchmarks describe it.
 *
 * Read from models/gpus/NAME.yaml. Peaks are dense (no 2:4 sparsity). The
 * achieved rates are what measured kernels reach on this GPU, independent of
 * any model or framework:
 *
 *     gpu: a100-sxm4-80gb
 *     title: NVIDIA A100 SXM4 80 GB
 *     architecture: ampere
 *     source: https://...
 *     peak: {fp32: 19.5 TFLOP/s, tf32: 156 TFLOP/s, fp16: 312 TFLOP/s, bf16: 312 TFLOP/s}
 *     memory: 80 GB
 *     memory_bandwidth: 2.039 TB/s
 *     sms: 108
 *     tdp: 400 W
 *     host_link: 31 GB/s
 *     platform: {compute_capability: 80, cpu: x86, links: 12, link_bandwidth: 25 GB/s, source: ...}
 *     memory_kernels: {efficiency: 0.82, provenance: measured, source: ...}
 *     launch: {time: 4 us, provenance: measured, source: ...}
 *     gemm: {tile_m: 256, tile_n: 128, efficiency: 0.86, sustained: 0.81, k_half: 130,
 *            tile_loss: 1, balance: 0.45, wgrad_loss: 0.05, provenance: fitted, source: ...}
 *     attention:
 *       fa2: {forward: 220 TFLOP/s, backward: 180 TFLOP/s, length_half: 120, ..., source: ...}
 *
 * What each key means, its bounds and what holds without it: the table in gpu.c. A kind of
 * attention that is left out does not exist on this GPU; nor does a precision that `peak` leaves
 * out, and fp8, mxfp8 and nvfp4 need a section gemm_fp8, ... of their own. hw/kernel and
 * hw/attention have the formulas; `stoker calibrate` fits their figures to measured shapes.
 */
#ifndef INPUT_GPU_H
#define INPUT_GPU_H

#include "input/doc/doc_files.h"
#include "input/schema/schema.h"

struct ledger;

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

/* What collective libraries tell apart (input/library). */
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

/* In order of age; then those that multiply in fp8, which software asks for by fp8.attention. */
enum attention_kind {
    ATTENTION_UNFUSED,
    ATTENTION_FA1,
    ATTENTION_TRITON, /* FlashAttention 1 as Triton compiles it */
    ATTENTION_FA2,
    ATTENTION_FA3,
    ATTENTION_CUDNN,
    ATTENTION_CUDNN_FP8,
    ATTENTION_COUNT_
};

extern const char *const attention_names[ATTENTION_COUNT_];

/* Of one pass of a kernel of fused attention. */
struct attention_pass_rate {
    double flop_per_s; /* heads of 128; 0: this GPU has no such kernel */
    double half;       /* keys at which half the rate is reached */
    double wide;       /* heads above 128: their rate over what head_half gives */
    double tail;       /* of the longest tile's time */
};

struct attention_rate {
    struct attention_pass_rate forward, backward;
    double head_half;  /* dimension of a head at which half the rate is reached */
    double window_end; /* of a window's far end: in halves of a tile, as the diagonal costs one */
    int64_t tile;      /* queries */
};

enum platform_cpu { PLATFORM_X86, PLATFORM_ARM, PLATFORM_CPU_COUNT_ };

/* Where it is met. Nothing of it is simulated: importers know a GPU by it. */
struct gpu_platform {
    int64_t compute_capability; /* 90; 0: not told */
    uint32_t cpu;               /* enum platform_cpu */
    bool is_typical;            /* of the GPUs with these two */
    int64_t links;              /* NVLinks */
    double link_bytes_per_s;    /* of one, one way; 0: not told */
    const char *cluster;        /* of the catalogue, its nodes are like; NULL: not told */
    const char *pci;            /* "10de:31c2 10de:31c3": vendor and device; NULL: not told */
    const char *device;         /* "A100 PCIe": words of the device's name; NULL: not told */
};

/* How near to the peak products come; see above. */
struct gemm_figures {
    double efficiency;
    double k_half;
    double sustained;      /* 0: by flop_per_joule, of mxfp8 by fp8's, or as efficiency */
    double flop_per_joule; /* at the peak's clock; 0: not told */
    double box_spread;     /* of the limit's logarithm, from box to box; 0: not told */
};

/* Y = X W, dX = dY W', dW = X' dY: what a product computes. */
enum gemm_pass { GEMM_FORWARD, GEMM_DGRAD, GEMM_WGRAD };

struct gpu {
    const char *name;
    const char *title;
    const char *announced; /* when, of what nobody has measured: "2026-01"; NULL, "": it is there */
    int64_t year;          /* since when it is there; 0: not stated */
    uint32_t architecture; /* enum gpu_architecture */
    double peak_flop_per_s[PRECISION_COUNT_]; /* dense; 0 = not supported */
    double memory_bytes;
    double memory_bandwidth_bytes_per_s;
    int64_t sms;
    double tdp_w;
    double speed_spread;        /* 0..1: of a GPU's time, for good; train/jitter */
    double idle_power_fraction; /* of tdp, when waiting */
    double busy_power_fraction; /* of tdp, when computing */
    double power_exponent; /* products' rate over the power left to them; see gpu_power_limit */
    double power_cap_w;    /* of a scenario's power_cap; 0: none below tdp */
    double host_link_bytes_per_s;
    double gpu_hour_usd;             /* ABSENT: not priced */
    double purchase_usd;             /* with its share of a node; ABSENT: not told */
    double purchase_nic_bytes_per_s; /* of a NIC for each GPU that is in it; 0: none is */
    double memory_kernel_efficiency; /* of memory bandwidth, streaming kernels */
    double launch_s;
    double launch_in_graph_s; /* where a CUDA graph is replayed */
    int64_t gemm_tile_m, gemm_tile_n;
    double gemm_efficiency;
    double gemm_k_half;
    double gemm_sustained; /* 0: by gemm_flop_per_joule, or as gemm_efficiency */
    double gemm_flop_per_joule;
    double gemm_box_spread;
    double gemm_tile_loss; /* 0: small tiles lose nothing */
    double gemm_balance;   /* 0..1, of what the last wave leaves idle */
    bool transposes_fp8;   /* products read fp8 operands either way round: one copy is enough */
    struct gpu_platform platform;
    double gemm_wgrad_loss;                        /* 0..1, of weight gradients' rate */
    struct gemm_figures gemm_of[PRECISION_COUNT_]; /* efficiency 0: as above */
    double mxfp8_of_fp8; /* 0..1, of fp8's limit where mxfp8 has none of its own */
    struct attention_rate attention[ATTENTION_COUNT_]; /* [ATTENTION_UNFUSED] unused */
    struct place place;
};

/* It multiplies in this precision. */
bool gpu_has_precision(const struct gpu *gpu, enum precision precision);

/* Of products in this precision; sustained is there. */
struct gemm_figures gpu_gemm(const struct gpu *gpu, enum precision precision);

/* One law of clocks: what the power leaves of the peak, where the file says the FLOPs of a joule
 * and not `sustained`; 0 elsewhere. A rate R = s peak takes clocks and voltages that make a FLOP
 * s ^ (1 / x - 1) times as dear as at the peak's clock, and tdp less what is drawn without
 * computing pays for it:
 *
 *     tdp * (1 - idle) = s * peak / flop_per_joule * s ^ (1 / x - 1)
 *     s = (tdp * (1 - idle) * flop_per_joule / peak) ^ x, at most 1
 *
 * x, power.exponent, would be 1/3 if voltage rose with the clock and 1 if it did not: power goes as
 * clock * voltage^2. Products in mxfp8 whose section tells neither sustain gemm_mxfp8.of_fp8 of
 * what those in fp8 do.
 * ASSUMES: memory, links and leakage take idle_fraction of tdp whatever is computed, products of
 * all shapes switch as much for a FLOP, and those of more than 16 bits keep the share of their peak
 * that 16 bits keep: they are as dear as they are slow.
 *
 * A cap on power takes the place of tdp in what is left. */
double gpu_power_limit(const struct gpu *gpu, enum precision precision, struct ledger *ledger);

/* What a cap leaves of rates that are told without one, by the same law: ((cap - idle) / (tdp -
 * idle)) ^ x, where idle is what is drawn without computing; 1 without a cap.
 * ASSUMES: fused attention and products whose limit is told, not worked out, slow down by it, as if
 * they drew all of tdp; kernels that stream memory, copies and launches do not, as memory and links
 * keep their clocks. Rates of small products, which draw less, fall only to what the cap leaves. */
double gpu_cap_share(const struct gpu *gpu, struct ledger *ledger);

/* Of tdp, what it draws while it computes: power.busy_fraction, or the cap. */
double gpu_busy_fraction(const struct gpu *gpu);

/* The rate of this attention kind is known; unfused attention is plain GEMMs, so always. */
bool gpu_has_attention(const struct gpu *gpu, uint32_t kind);

/* Of the products that fused attention of this kind is made of; the lower one, where the formats
 * that a training may be in differ; 0: not told. */
double gpu_attention_peak(const struct gpu *gpu, uint32_t kind);

/* Its keys; its object is a struct gpu. */
extern const struct schema gpu_schema;

MUST_USE bool gpu_read(const struct doc_node *node, struct gpu *gpu,
                       struct assumptions *assumptions, struct diag *diag);

/* The same, for files that are kept. */
extern const struct doc_reader gpu_reader;

#endif
