/* Kernel times: a tile-and-wave model for GEMMs, two-parameter curves for the rest.
 *
 * GEMM. A product of m x n is cut into ceil(m/Tm) * ceil(n/Tn) tiles, one per
 * SM at a time. A wave of tiles takes
 *
 *     Tm * Tn * 2 * (k + k_half) / (peak / SMs * efficiency * derate * relative * pass)
 *
 * There are ceil(tiles / SMs) waves, of which ceil(tiles / SMs) - balance * (ceil(tiles / SMs) -
 * tiles / SMs) count: tile edges cost what full tiles do, and so does a share of the last
 * wave's idle SMs. Large tiles reuse operands best but waste most at the edge; the fastest
 * of a few shapes is taken. A tile moves operands in proportion to x = 1/Tm + 1/Tn for each
 * FLOP, so beside the GPU's own tile (x0) its rate is
 *
 *     relative = (1 + tile_loss * 128 x0) / (1 + tile_loss * 128 x)
 *
 * The result is never below FLOP / (peak * sustained * derate * pass), nor below bytes /
 * achieved bandwidth.
 *
 * Not modelled: epilogues that are not hidden (products with small k and fp32 output come out
 * too fast), and that a GPU which waits much in between keeps its clock up longer.
 *
 * Reference: NVIDIA, Matrix Multiplication Background User's Guide,
 * "Tile quantization" and "Wave quantization". Cost O(1).
 */
#include "hw/kernel.h"

#include "base/check.h"

struct tile {
    int64_t m, n;
};

/* Beside the GPU's own tile and its transpose. */
static const struct tile small_tiles[] = {{128, 128}, {128, 64}, {64, 128}, {64, 64}};

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
 * padded when they are converted. A weight gradient's operands have rows of m and n, so its k,
 * the rows of an expert, may be odd (SimuMax, grouped products on B200). */
static bool misses_tensor_cores(const struct kernel_gpu *on, const struct gemm_size *size)
{
    const bool is_16_bit = on->precision == PRECISION_FP16 || on->precision == PRECISION_BF16;
    const int64_t row = on->pass == GEMM_WGRAD ? size->m : size->k; /* of the first operand */
    return size->count > 1 && is_16_bit && (size->n % 8 != 0 || row % 8 != 0);
}

static double gemm_flop(const struct gemm_size *size)
{
    return 2.0 * (double)size->m * (double)size->n * (double)size->k * (double)size->count;
}

static double gemm_peak(const struct kernel_gpu *on, const struct gemm_size *size)
{
    const double peak = on->gpu->peak_flop_per_s[on->precision];
    const double fallback = on->gpu->peak_flop_per_s[PRECISION_FP32];
    return misses_tensor_cores(on, size) && fallback > 0.0 ? fallback : peak;
}

static double tile_slowness(const struct gpu *gpu, const struct tile *tile)
{
    return 1.0 + gpu->gemm_tile_loss * 128.0 * (1.0 / (double)tile->m + 1.0 / (double)tile->n);
}

static double tiles_of(const struct gemm_size *size, const struct tile *tile)
{
    return (double)(ceil_divide(size->m, tile->m) * ceil_divide(size->n, tile->n) * size->count);
}

/* `size` in tiles of one shape. */
static struct gemm_tiling tile_with(const struct kernel_gpu *on, const struct gemm_size *size,
                                    const struct tile *tile)
{
    const struct gpu *gpu = on->gpu;
    const struct gemm_figures figures = gpu_gemm(gpu, on->precision);
    const struct tile own = {gpu->gemm_tile_m, gpu->gemm_tile_n};
    const int64_t sms = gpu->sms - on->reserved_sms;
    const double pass = on->pass == GEMM_WGRAD ? 1.0 - gpu->gemm_wgrad_loss : 1.0;
    const double relative = tile_slowness(gpu, &own) / tile_slowness(gpu, tile);
    const double peak = gemm_peak(on, size);
    const double rate = peak * on->gemm_derate * pass;
    const double sm_rate = rate / (double)gpu->sms * figures.efficiency * relative;
    const double tile_flop = 2.0 * (double)(tile->m * tile->n) * ((double)size->k + figures.k_half);
    const int64_t waves = kernel_waves(size, tile->m, tile->n, sms);
    const double idle = (double)waves - tiles_of(size, tile) / (double)sms;
    const double counted = (double)waves - gpu->gemm_balance * idle;
    const double tiles_s = counted * tile_flop / sm_rate;
    const double sustained_s = gemm_flop(size) / (rate * figures.sustained);
    return (struct gemm_tiling){
        .tile_m = tile->m,
        .tile_n = tile->n,
        .relative = relative,
        .waves = waves,
        .counted_waves = counted,
        .peak_flop_per_s = peak,
        .pass_share = pass,
        .tiles_s = tiles_s,
        .sustained_s = sustained_s,
        .compute_s = max_double(tiles_s, sustained_s),
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
    const struct tile own = {gpu->gemm_tile_m, gpu->gemm_tile_n};
    const struct tile transposed = {gpu->gemm_tile_n, gpu->gemm_tile_m};
    struct gemm_tiling best = tile_with(on, size, &own);
    const struct gemm_tiling other = tile_with(on, size, &transposed);
    best = other.tiles_s < best.tiles_s ? other : best;
    for (size_t i = 0; i < SMALL_TILES; i++) {
        const struct gemm_tiling small = tile_with(on, size, &small_tiles[i]);
        best = small.tiles_s < best.tiles_s ? small : best;
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
    const double rate = gemm_flop(&size) / kernel_gemm_tiling(on, &size).compute_s;
    sim_assert(rate > 0.0);
    sim_assert(rate <= on->gpu->peak_flop_per_s[on->precision] * (1.0 + 1e-12));
    return rate;
}

struct kernel_time kernel_memory(const struct kernel_gpu *on, double bytes)
{
    return with_launch(on, stream_s(on->gpu, bytes));
}
