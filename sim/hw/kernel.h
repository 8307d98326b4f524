/* How long a kernel takes on a GPU.
 *
 *     time = max(FLOP / achieved rate, bytes / achieved bandwidth) + launch
 *
 * GEMM: the matrix is cut into tiles, one per SM at a time (a wave); the last
 * wave counts whole. An inner dimension k pays k_half more for filling and
 * draining the pipeline, so the rate is efficiency * k / (k + k_half). Of a few
 * tile shapes the fastest is taken, as a library's heuristic would. Efficiency and k_half
 * belong to the precision of the product (spec/gpu, gpu_gemm). The
 * software profile's derate multiplies the rate of GEMMs only. Batches of 16-bit
 * products whose n or k is not a multiple of 8 run at the fp32 peak
 * (kernel.c has the measurement behind this).
 * SMs that the software sets aside for communication run no tiles: waves are of those that
 * remain, and fused attention is slower by their share; memory-bound kernels do not miss them.
 * Fused attention: rate(length) = rate_max * length / (length + length_half).
 * Memory kernels: bytes over bandwidth * efficiency.
 *
 * `launch` is the GPU's own gap between dependent kernels; a host that cannot
 * launch fast enough is accounted for over a whole segment (train/timing).
 * Tiles and waves: NVIDIA, Matrix Multiplication Background User's Guide, sections 3-4.
 *
 * hw knows no plan: the caller passes plain numbers, not kernels of plan/cost.
 */
#ifndef HW_KERNEL_H
#define HW_KERNEL_H

#include "spec/gpu.h"

struct kernel_gpu {
    const struct gpu *gpu;
    enum precision precision; /* of the product at hand; the GPU has it (gpu_has_precision) */
    double gemm_derate;       /* of the software profile */
    int64_t reserved_sms;     /* that communication keeps to itself; fewer than the GPU has */
};

/* `count` products of m x k by k x n in one launch. */
struct gemm_size {
    int64_t m, n, k, count;
};

struct kernel_time {
    double busy_s;   /* the kernel works */
    double launch_s; /* gap before it, on the GPU */
};

/* Waves of tiles on `sms` processors: ceil(ceil(m/tile_m) * ceil(n/tile_n) * count / sms). */
int64_t kernel_waves(const struct gemm_size *size, int64_t tile_m, int64_t tile_n, int64_t sms);

/* The tiles that are fastest for a product, and its time if it is not bound by memory. */
struct gemm_tiling {
    int64_t tile_m, tile_n;
    double relative; /* this tile's rate against the GPU's own */
    int64_t waves;
    double peak_flop_per_s; /* of the units that it runs on */
    double compute_s;
};
struct gemm_tiling kernel_gemm_tiling(const struct kernel_gpu *on, const struct gemm_size *size);

/* `count` GEMMs m x k by k x n in one launch; `bytes` of memory traffic. */
struct kernel_time kernel_gemm(const struct kernel_gpu *on, int64_t m, int64_t n, int64_t k,
                               int64_t count, double bytes);

/* Achieved FLOP/s of that GEMM when it is not bound by memory. */
double kernel_gemm_rate(const struct kernel_gpu *on, int64_t m, int64_t n, int64_t k,
                        int64_t count);

/* The GPU must have this kernel (rates > 0); `flop` counts what is executed. */
struct kernel_time kernel_attention(const struct kernel_gpu *on, enum attention_kind kind,
                                    bool is_backward, int64_t length, double flop, double bytes);

struct kernel_time kernel_memory(const struct kernel_gpu *on, double bytes);

#endif
