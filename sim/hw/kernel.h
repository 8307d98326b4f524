/* How long a kernel takes on a GPU.
 *
 *     time = max(FLOP / achieved rate, bytes / achieved bandwidth) + launch
 *
 * GEMM: the matrix is cut into tiles, one per SM at a time (a wave). Of what the last wave
 * leaves idle the GPU's `balance` is won back, by splitting k and by dealing out parts of tiles
 * (stream-k). An inner dimension k pays k_half more for filling and draining the pipeline, so
 * the rate is efficiency * k / (k + k_half). Of a few tile shapes the fastest is taken, as a
 * library's heuristic would. All of it holds until the power limit acts: a training step
 * multiplies for hours, so no product is faster than `sustained` of the peak, which is stated or
 * what the power leaves (gpu_power_limit). Weight gradients
 * are slower by wgrad_loss. Efficiency, sustained and k_half belong to the precision of
 * the product (input/gpu, gpu_gemm). The software profile's derate multiplies the rate
 * of GEMMs only: the GPU's figures are those of products by themselves. Batches of 16-bit
 * products whose n or k is not a multiple of 8 run at the fp32 peak
 * (kernel.c has the measurement behind this).
 * SMs that the software sets aside for communication run no tiles: waves are of those that
 * remain, and fused attention is slower by their share; memory-bound kernels do not miss them.
 * Fused attention: hw/attention.
 * Memory kernels: bytes over bandwidth * efficiency.
 * Sparse kernels: the longer of FLOP and bytes, at the shares that they reach of either.
 * Scans: bytes and FLOP one after the other, since some of their kernels wait for memory and others
 * multiply; the shares of bandwidth and peak that they reach are the software's.
 *
 * `launch` is the GPU's own gap between dependent kernels; a host that cannot
 * launch fast enough is accounted for over a whole segment (train/timing).
 * ASSUMES: beside a GPU's own tile and its transpose libraries have kernels for 128x128, 128x64,
 * 64x128 and 64x64 (cuBLAS and CUTLASS have these and more), on every GPU and in every precision.
 * ASSUMES: rows of 8 values (16 bytes) are what tensor cores want, on every GPU.
 * Tiles and waves: NVIDIA, Matrix Multiplication Background User's Guide, sections 3-4.
 *
 * hw knows no plan: the caller passes plain numbers, not kernels of plan/cost.
 */
#ifndef HW_KERNEL_H
#define HW_KERNEL_H

#include "base/ledger.h"
#include "input/gpu.h"

struct kernel_gpu {
    const struct gpu *gpu;
    enum precision precision; /* of the product at hand; the GPU has it (gpu_has_precision) */
    enum gemm_pass pass;      /* of the product at hand */
    double gemm_derate;       /* of the software profile */
    int64_t reserved_sms;     /* that communication keeps to itself; fewer than the GPU has */
    struct ledger *ledger;    /* of the kernel at hand; NULL: nobody asks for a record */
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
    double counted_waves;   /* less what is won back of the last one */
    double peak_flop_per_s; /* of the units that it runs on */
    double pass_share;      /* 1, or what wgrad_loss leaves */
    double tiles_s;         /* counted waves of tiles */
    double sustained_s;     /* at the rate that the power limit leaves */
    double compute_s;       /* the longer of both */
};
struct gemm_tiling kernel_gemm_tiling(const struct kernel_gpu *on, const struct gemm_size *size);

/* `count` GEMMs m x k by k x n in one launch; `bytes` of memory traffic. */
struct kernel_time kernel_gemm(const struct kernel_gpu *on, int64_t m, int64_t n, int64_t k,
                               int64_t count, double bytes);

struct kernel_time kernel_memory(const struct kernel_gpu *on, double bytes);

/* Of a scan, or of attention to chosen keys. */
struct scan_size {
    double flop, bytes;
    double compute_share, memory_share; /* of the peak; of what other memory kernels reach */
};
struct kernel_time kernel_scan(const struct kernel_gpu *on, const struct scan_size *size);
/* The same shares, FLOP beside bytes: the longer of both. */
struct kernel_time kernel_sparse(const struct kernel_gpu *on, const struct scan_size *size);

#endif
