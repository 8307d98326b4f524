/* Kernel times: a tile-and-wave model for GEMMs, two-parameter curves for the rest.
 *
 * GEMM. A product of m x n is cut into ceil(m/Tm) * ceil(n/Tn) tiles, one per
 * SM at a time. A wave of tiles takes
 *
 *     Tm * Tn * 2 * (k + k_half) / (peak / SMs * efficiency * derate * relative)
 *
 * and waves = ceil(tiles / SMs), so the tail wave and the edge of the matrix
 * cost what full ones do. Large tiles reuse operands best but waste most at
 * the edge; the fastest of a few shapes is taken, as a library's heuristic
 * would. The result is never below bytes / achieved bandwidth.
 *
 * Not modelled: split-k and stream-k (tall products with few tiles come out too slow)
 * and epilogues that are not hidden (products with small k and fp32
 * output come out too fast).
 *
 * Reference: NVIDIA, Matrix Multiplication Background User's Guide,
 * "Tile quantization" and "Wave quantization". Cost O(1).
 */
#include "hw/kernel.h"

#include "base/check.h"

struct tile {
    int64_t m, n;
    double relative; /* rate against the GPU's best tile, when both fill the SMs */
};

/* Beside the GPU's own tile and its transpose. ASSUMES: a smaller tile loses
 * this much to operand traffic; 256x128 moves 12 bytes a kFLOP from shared memory,
 * 128x128 16, 64x128 24, 64x64 32. */
static const struct tile small_tiles[] = {
    {128, 128, 0.90},
    {128, 64, 0.70},
    {64, 128, 0.70},
    {64, 64, 0.55},
};

#define SMALL_TILES (sizeof small_tiles / sizeof small_tiles[0])

static int64_t ceil_divide(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static double max_double(double a, double b)
{
    return a > b ? a : b;
}

int64_t kernel_waves(const struct gemm_size *size, int64_t tile_m, int64_t tile_n, int64_t sms)
{
    sim_assert(tile_m > 0 && tile_n > 0 && sms > 0);
    const int64_t tiles = ceil_divide(size->m, tile_m) * ceil_divide(size->n, tile_n) * size->count;
    return ceil_divide(tiles, sms);
}

/* A batch of products whose rows are not multiples of 16 bytes misses the tensor
 * cores. BigScience measured it (chronicles of tr11-176B, A100, heads of 108, 150 and
 * 225 against 144 to 224): steps grew by 30-42 %. The fp32 peak in the formula below gives
 * that extra time within 15 %, with nothing fitted. Single products do not show
 * it (Azure A100: 1024x2145x1024 is as fast as 1024^3). Operands of 8 and 4 bits are
 * padded when they are converted. */
static bool misses_tensor_cores(const struct kernel_gpu *on, const struct gemm_size *size)
{
    const bool is_16_bit = on->precision == PRECISION_FP16 || on->precision == PRECISION_BF16;
    return size->count > 1 && is_16_bit && (size->n % 8 != 0 || size->k % 8 != 0);
}

static double gemm_peak(const struct kernel_gpu *on, const struct gemm_size *size)
{
    const double peak = on->gpu->peak_flop_per_s[on->precision];
    const double fallback = on->gpu->peak_flop_per_s[PRECISION_FP32];
    return misses_tensor_cores(on, size) && fallback > 0.0 ? fallback : peak;
}

/* `size` in tiles of one shape. */
static struct gemm_tiling tile_with(const struct kernel_gpu *on, const struct gemm_size *size,
                                    const struct tile *tile)
{
    const struct gpu *gpu = on->gpu;
    const struct gemm_figures figures = gpu_gemm(gpu, on->precision);
    const double peak = gemm_peak(on, size);
    const double sm_rate =
        peak / (double)gpu->sms * figures.efficiency * on->gemm_derate * tile->relative;
    const double tile_flop = 2.0 * (double)(tile->m * tile->n) * ((double)size->k + figures.k_half);
    const int64_t waves = kernel_waves(size, tile->m, tile->n, gpu->sms - on->reserved_sms);
    return (struct gemm_tiling){
        .tile_m = tile->m,
        .tile_n = tile->n,
        .relative = tile->relative,
        .waves = waves,
        .peak_flop_per_s = peak,
        .compute_s = (double)waves * tile_flop / sm_rate,
    };
}

struct gemm_tiling kernel_gemm_tiling(const struct kernel_gpu *on, const struct gemm_size *size)
{
    const struct gpu *gpu = on->gpu;
    sim_assert(size->m > 0 && size->n > 0);
    sim_assert(size->k > 0 && size->count > 0);
    sim_assert(gpu_has_precision(gpu, on->precision));
    sim_assert(gpu->gemm_efficiency > 0.0 && gpu->gemm_efficiency <= 1.0);
    sim_assert(on->gemm_derate > 0.0 && on->gemm_derate <= 1.0);
    sim_assert(on->reserved_sms >= 0 && on->reserved_sms < gpu->sms);
    const struct tile own = {gpu->gemm_tile_m, gpu->gemm_tile_n, 1.0};
    const struct tile transposed = {gpu->gemm_tile_n, gpu->gemm_tile_m, 1.0};
    struct gemm_tiling best = tile_with(on, size, &own);
    const struct gemm_tiling other = tile_with(on, size, &transposed);
    best = other.compute_s < best.compute_s ? other : best;
    for (size_t i = 0; i < SMALL_TILES; i++) {
        const struct gemm_tiling small = tile_with(on, size, &small_tiles[i]);
        best = small.compute_s < best.compute_s ? small : best;
    }
    return best;
}

static double stream_s(const struct gpu *gpu, double bytes)
{
    sim_assert(bytes >= 0.0);
    sim_assert(gpu->memory_bandwidth_bytes_per_s > 0.0 && gpu->memory_kernel_efficiency > 0.0);
    return bytes / (gpu->memory_bandwidth_bytes_per_s * gpu->memory_kernel_efficiency);
}

static struct kernel_time with_launch(const struct kernel_gpu *on, double busy_s)
{
    return (struct kernel_time){busy_s, on->gpu->launch_s};
}

struct kernel_time kernel_gemm(const struct kernel_gpu *on, int64_t m, int64_t n, int64_t k,
                               int64_t count, double bytes)
{
    const struct gemm_size size = {m, n, k, count};
    return with_launch(
        on, max_double(kernel_gemm_tiling(on, &size).compute_s, stream_s(on->gpu, bytes)));
}

double kernel_gemm_rate(const struct kernel_gpu *on, int64_t m, int64_t n, int64_t k, int64_t count)
{
    const struct gemm_size size = {m, n, k, count};
    const double flop = 2.0 * (double)m * (double)n * (double)k * (double)count;
    const double rate = flop / kernel_gemm_tiling(on, &size).compute_s;
    sim_assert(rate > 0.0);
    sim_assert(rate <= on->gpu->peak_flop_per_s[on->precision] * (1.0 + 1e-12));
    return rate;
}

struct kernel_time kernel_attention(const struct kernel_gpu *on, enum attention_kind kind,
                                    bool is_backward, int64_t length, double flop, double bytes)
{
    sim_assert(kind != ATTENTION_UNFUSED && kind < ATTENTION_COUNT_);
    sim_assert(length > 0 && flop > 0.0);
    const struct attention_rate *rate = &on->gpu->attention[kind];
    const double rate_max = is_backward ? rate->backward_flop_per_s : rate->forward_flop_per_s;
    sim_assert(rate_max > 0.0 && rate->length_half >= 0.0);
    const double remaining = 1.0 - (double)on->reserved_sms / (double)on->gpu->sms;
    const double achieved =
        rate_max * remaining * (double)length / ((double)length + rate->length_half);
    return with_launch(on, max_double(flop / achieved, stream_s(on->gpu, bytes)));
}

struct kernel_time kernel_memory(const struct kernel_gpu *on, double bytes)
{
    return with_launch(on, stream_s(on->gpu, bytes));
}
