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

static double tiles_of(const struct gemm_size *size, const struct tile *tile, struct ledger *ledger)
{
    return LEDGER_SUM(
        ledger, "tiles", "",
        (double)(ceil_divide(size->m, tile->m) * ceil_divide(size->n, tile->n) * size->count),
        LEDGER_TERM(size->m, "m"), LEDGER_TERM(tile->m, ""), LEDGER_TERM(size->n, "n"),
        LEDGER_TERM(tile->n, ""), LEDGER_TERM(size->count, "products"));
}

static double tile_share(const struct gpu *gpu, const struct tile *tile, struct ledger *ledger)
{
    const struct tile own = {gpu->gemm_tile_m, gpu->gemm_tile_n};
    return LEDGER_SUM(ledger, "the tile's share of the rate", "",
                      tile_slowness(gpu, &own) / tile_slowness(gpu, tile),
                      LEDGER_TERM(tile_slowness(gpu, &own), ""),
                      LEDGER_TERM(tile_slowness(gpu, tile), ""));
}

/* FLOP/s of an SM: at most `rate` of all, which is no tile's. */
static double sm_rate_of(const struct gpu *gpu, double rate, double efficiency, double relative,
                         struct ledger *ledger)
{
    return LEDGER_SUM(ledger, "rate of an SM", "FLOP/s",
                      rate / (double)gpu->sms * efficiency * relative, LEDGER_TERM(rate, "FLOP/s"),
                      LEDGER_TERM(gpu->sms, "SMs"), LEDGER_TERM(efficiency, "efficiency"),
                      LEDGER_TERM(relative, ""));
}

/* `size` in tiles of one shape. */
static struct gemm_tiling tile_with(const struct kernel_gpu *on, const struct gemm_size *size,
                                    const struct tile *tile, struct ledger *ledger)
{
    const struct gpu *gpu = on->gpu;
    const struct gemm_figures figures = gpu_gemm(gpu, on->precision);
    const int64_t sms = gpu->sms - on->reserved_sms;
    const double pass = on->pass == GEMM_WGRAD ? 1.0 - gpu->gemm_wgrad_loss : 1.0;
    const double peak = gemm_peak(on, size);
    const double rate = LEDGER_SUM(ledger, "rate", "FLOP/s", peak * on->gemm_derate * pass,
                                   LEDGER_TERM(peak, "FLOP/s"),
                                   LEDGER_TERM(on->gemm_derate, "derate"), LEDGER_TERM(pass, ""));
    const double relative = tile_share(gpu, tile, ledger);
    const double sm_rate = sm_rate_of(gpu, rate, figures.efficiency, relative, ledger);
    const double tile_flop =
        LEDGER_SUM(ledger, "a tile", "FLOP",
                   2.0 * (double)(tile->m * tile->n) * ((double)size->k + figures.k_half),
                   LEDGER_TERM(tile->m, ""), LEDGER_TERM(tile->n, ""), LEDGER_TERM(size->k, "k"),
                   LEDGER_TERM(figures.k_half, "lost"));
    const double tiles = tiles_of(size, tile, ledger);
    const int64_t waves = kernel_waves(size, tile->m, tile->n, sms);
    const double counted =
        LEDGER_SUM(ledger, "waves that count", "",
                   (double)waves - gpu->gemm_balance * ((double)waves - tiles / (double)sms),
                   LEDGER_TERM(waves, ""), LEDGER_TERM(gpu->gemm_balance, ""),
                   LEDGER_TERM(tiles, "tiles"), LEDGER_TERM(sms, "SMs"));
    const double tiles_s = LEDGER_SUM(ledger, "in tiles", "us", counted * tile_flop / sm_rate,
                                      LEDGER_TERM(counted, "waves"), LEDGER_TERM(tile_flop, "FLOP"),
                                      LEDGER_TERM(sm_rate, "FLOP/s"));
    const double flop = gemm_flop(size);
    const double sustained_s =
        LEDGER_SUM(ledger, "at the sustained rate", "us", flop / (rate * figures.sustained),
                   LEDGER_TERM(flop, "GFLOP"), LEDGER_TERM(rate, "FLOP/s"),
                   LEDGER_TERM(figures.sustained, "sustained"));
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
    struct gemm_tiling best = tile_with(on, size, &own, NULL);
    const struct gemm_tiling other = tile_with(on, size, &transposed, NULL);
    best = other.tiles_s < best.tiles_s ? other : best;
    for (size_t i = 0; i < SMALL_TILES; i++) {
        const struct gemm_tiling small = tile_with(on, size, &small_tiles[i], NULL);
        best = small.tiles_s < best.tiles_s ? small : best;
    }
    if (on->ledger != NULL) {
        gpu_power_limit(gpu, on->precision, on->ledger);
        tile_with(on, size, &(struct tile){best.tile_m, best.tile_n}, on->ledger);
    }
    return best;
}

static double stream_s(const struct kernel_gpu *on, double bytes)
{
    const struct gpu *gpu = on->gpu;
    sim_assert(bytes >= 0.0);
    sim_assert(gpu->memory_bandwidth_bytes_per_s > 0.0 && gpu->memory_kernel_efficiency > 0.0);
    return LEDGER_SUM(on->ledger, "memory", "us",
                      bytes / (gpu->memory_bandwidth_bytes_per_s * gpu->memory_kernel_efficiency),
                      LEDGER_TERM(bytes, "MB"),
                      LEDGER_TERM(gpu->memory_bandwidth_bytes_per_s, "B/s"),
                      LEDGER_TERM(gpu->memory_kernel_efficiency, ""));
}

static struct kernel_time with_launch(const struct kernel_gpu *on, double busy_s)
{
    return (struct kernel_time){busy_s, on->gpu->launch_s};
}

struct kernel_time kernel_gemm(const struct kernel_gpu *on, int64_t m, int64_t n, int64_t k,
                               int64_t count, double bytes)
{
    const struct gemm_size size = {m, n, k, count};
    const double compute_s = kernel_gemm_tiling(on, &size).compute_s;
    return with_launch(on, max_double(compute_s, stream_s(on, bytes)));
}

struct kernel_time kernel_memory(const struct kernel_gpu *on, double bytes)
{
    return with_launch(on, stream_s(on, bytes));
}

static double products_s(const struct kernel_gpu *on, const char *label,
                         const struct scan_size *size)
{
    const double peak = on->gpu->peak_flop_per_s[on->precision];
    sim_assert(size->compute_share > 0 && size->memory_share > 0);
    return LEDGER_SUM(on->ledger, label, "us", size->flop / (peak * size->compute_share),
                      LEDGER_TERM(size->flop, "GFLOP"), LEDGER_TERM(peak, "FLOP/s"),
                      LEDGER_TERM(size->compute_share, "of it"));
}

struct kernel_time kernel_scan(const struct kernel_gpu *on, const struct scan_size *size)
{
    const double stream = stream_s(on, size->bytes);
    const double products = products_s(on, "products of chunks", size);
    const double scan_s =
        LEDGER_SUM(on->ledger, "scan", "us", products + stream / size->memory_share,
                   LEDGER_TERM(products, "us"), LEDGER_TERM(stream, "us of memory"),
                   LEDGER_TERM(size->memory_share, "of its rate"));
    return with_launch(on, scan_s);
}

struct kernel_time kernel_sparse(const struct kernel_gpu *on, const struct scan_size *size)
{
    const double stream = stream_s(on, size->bytes);
    const double products = products_s(on, "products with chosen keys", size);
    const double gathered = LEDGER_SUM(on->ledger, "gathered", "us", stream / size->memory_share,
                                       LEDGER_TERM(stream, "us of memory"),
                                       LEDGER_TERM(size->memory_share, "of its rate"));
    return with_launch(on, max_double(products, gathered));
}
