/* Reads a GPU's datasheet and micro-benchmarks, section by section. Bounds are
 * wide: they catch a wrong prefix, not a wrong digit.
 */
#include "input/gpu.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/ledger.h"

#include <math.h>
#include <string.h>

const char *const gpu_architecture_names[GPU_ARCHITECTURE_COUNT_] = {"volta", "ampere", "hopper",
                                                                     "blackwell"};
const char *const precision_names[PRECISION_COUNT_] = {"fp32", "tf32",  "fp16", "bf16",
                                                       "fp8",  "mxfp8", "nvfp4"};
const char *const attention_names[ATTENTION_COUNT_] = {"unfused", "fa1",   "triton",   "fa2",
                                                       "fa3",     "cudnn", "cudnn_fp8"};

int64_t precision_bytes(enum precision precision)
{
    sim_assert(precision < PRECISION_COUNT_);
    return precision == PRECISION_FP32 || precision == PRECISION_TF32 ? 4 : 2;
}

double precision_operand_bytes(enum precision precision)
{
    switch (precision) {
    case PRECISION_FP8:
        return 1.0;
    case PRECISION_MXFP8:
        return 1.0 + 1.0 / 32;
    case PRECISION_NVFP4:
        return 0.5 + 1.0 / 16;
    default:
        return (double)precision_bytes(precision);
    }
}

bool precision_is_low(enum precision precision)
{
    return precision >= PRECISION_FP8;
}

enum precision precision_outside(enum precision precision)
{
    return precision_is_low(precision) ? PRECISION_BF16 : precision;
}

bool gpu_has_precision(const struct gpu *gpu, enum precision precision)
{
    sim_assert(precision < PRECISION_COUNT_);
    return gpu->peak_flop_per_s[precision] > 0.0;
}

/* Of products in 16 bits. */
static double half_peak(const struct gpu *gpu)
{
    return fmax(gpu->peak_flop_per_s[PRECISION_FP16], gpu->peak_flop_per_s[PRECISION_BF16]);
}

/* Section gemm, whose FLOPs of a joule are of 16 bits: those of more are as dear as they are slow,
 * so that the power limit leaves the same share of their peak. */
static struct gemm_figures common_figures(const struct gpu *gpu, enum precision precision)
{
    const double half = half_peak(gpu);
    const bool is_wide = precision == PRECISION_FP32 || precision == PRECISION_TF32;
    const double cost = is_wide && half > 0.0 ? gpu->peak_flop_per_s[precision] / half : 1.0;
    return (struct gemm_figures){gpu->gemm_efficiency, gpu->gemm_k_half, gpu->gemm_sustained,
                                 gpu->gemm_flop_per_joule * cost, gpu->gemm_box_spread};
}

static struct gemm_figures told_figures(const struct gpu *gpu, enum precision precision)
{
    sim_assert(precision < PRECISION_COUNT_);
    const struct gemm_figures *own = &gpu->gemm_of[precision];
    return own->efficiency > 0.0 ? *own : common_figures(gpu, precision);
}

/* fp8's units multiply mxfp8, too, taking the scales of blocks with the operands: where its section
 * tells no limit of its own, it is fp8's, less what the scales cost. */
static bool is_limited_as_fp8(const struct gpu *gpu, enum precision precision)
{
    const struct gemm_figures figures = told_figures(gpu, precision);
    return precision == PRECISION_MXFP8 && gpu->gemm_of[PRECISION_FP8].efficiency > 0.0 &&
           figures.sustained <= 0.0 && figures.flop_per_joule <= 0.0;
}

double gpu_busy_fraction(const struct gpu *gpu)
{
    return gpu->power_cap_w > 0.0 ? fmin(gpu->busy_power_fraction, gpu->power_cap_w / gpu->tdp_w)
                                  : gpu->busy_power_fraction;
}

double gpu_cap_share(const struct gpu *gpu, struct ledger *ledger)
{
    if (gpu->power_cap_w <= 0.0) {
        return 1.0;
    }
    const double idle_w = gpu->tdp_w * gpu->idle_power_fraction;
    sim_assert(idle_w < gpu->power_cap_w && gpu->power_cap_w < gpu->tdp_w);
    return LEDGER_SUM(ledger, "rate under the power cap", "",
                      pow((gpu->power_cap_w - idle_w) / (gpu->tdp_w - idle_w), gpu->power_exponent),
                      LEDGER_TERM(gpu->power_cap_w, "W"), LEDGER_TERM(idle_w, "W"),
                      LEDGER_TERM(gpu->tdp_w, "W"), LEDGER_TERM(gpu->power_exponent, ""));
}

static double power_left_w(const struct gpu *gpu, struct ledger *ledger)
{
    if (gpu->power_cap_w > 0.0) {
        return LEDGER_SUM(ledger, "power left to products", "W",
                          gpu->power_cap_w - gpu->tdp_w * gpu->idle_power_fraction,
                          LEDGER_TERM(gpu->power_cap_w, "the cap"), LEDGER_TERM(gpu->tdp_w, "W"),
                          LEDGER_TERM(gpu->idle_power_fraction, "idle"));
    }
    return LEDGER_SUM(ledger, "power left to products", "W",
                      gpu->tdp_w * (1.0 - gpu->idle_power_fraction), LEDGER_TERM(gpu->tdp_w, "W"),
                      LEDGER_TERM(gpu->idle_power_fraction, "idle"));
}

/* The law of clocks alone; 0: a limit is stated, or nothing tells one. */
static double limit_by_power(const struct gpu *gpu, enum precision precision, struct ledger *ledger)
{
    const struct gemm_figures figures = told_figures(gpu, precision);
    const double peak = gpu->peak_flop_per_s[precision];
    if (figures.sustained > 0.0 || figures.flop_per_joule <= 0.0 || peak <= 0.0) {
        return 0.0;
    }
    const double left = power_left_w(gpu, ledger);
    const double share =
        LEDGER_SUM(ledger, "of what the peak would draw", "", left * figures.flop_per_joule / peak,
                   LEDGER_TERM(left, "W"), LEDGER_TERM(figures.flop_per_joule, "FLOP/J"),
                   LEDGER_TERM(peak, "FLOP/s"));
    return LEDGER_SUM(ledger, "sustained", "", fmin(pow(share, gpu->power_exponent), 1.0),
                      LEDGER_TERM(share, ""), LEDGER_TERM(gpu->power_exponent, ""));
}

/* By power, or as stated, or no lower than tiles are. */
static double limit_of(const struct gpu *gpu, enum precision precision, struct ledger *ledger)
{
    const struct gemm_figures figures = told_figures(gpu, precision);
    const double limit = limit_by_power(gpu, precision, ledger);
    const double told = figures.sustained > 0.0 ? figures.sustained : figures.efficiency;
    return limit > 0.0 ? limit : told * gpu_cap_share(gpu, ledger);
}

double gpu_power_limit(const struct gpu *gpu, enum precision precision, struct ledger *ledger)
{
    if (!is_limited_as_fp8(gpu, precision)) {
        return limit_by_power(gpu, precision, ledger);
    }
    const double limit = limit_of(gpu, PRECISION_FP8, ledger);
    return LEDGER_SUM(ledger, "sustained in mxfp8", "", limit * gpu->mxfp8_of_fp8,
                      LEDGER_TERM(limit, "in fp8"), LEDGER_TERM(gpu->mxfp8_of_fp8, "of it"));
}

struct gemm_figures gpu_gemm(const struct gpu *gpu, enum precision precision)
{
    struct gemm_figures figures = told_figures(gpu, precision);
    figures.sustained = is_limited_as_fp8(gpu, precision) ? gpu_power_limit(gpu, precision, NULL)
                                                          : limit_of(gpu, precision, NULL);
    return figures;
}

bool gpu_has_attention(const struct gpu *gpu, uint32_t kind)
{
    sim_assert(kind < ATTENTION_COUNT_);
    return kind == ATTENTION_UNFUSED || gpu->attention[kind].forward.flop_per_s > 0.0;
}

/* ---- keys: bounds are wide, they catch a wrong prefix, not a wrong digit ---- */

#define EFFICIENCY_MIN 0.01 /* efficiencies lie in (0, 1]; below this one it was surely a slip */
#define FLOP_PER_S_MIN 1e10
#define FLOP_PER_S_MAX 1e20
#define FLOP_PER_JOULE_MIN 1e8 /* a V100 multiplies 4e11 in fp16 */
#define FLOP_PER_JOULE_MAX 1e16
#define LINK_MIN 1e3 /* bytes/s */
#define LINK_MAX 1e15

/* MFU is of the peak in the precision of training. What of a step is not multiplied in that is
 * multiplied in more bits, so no peak of these is higher. */
static bool check_order(const struct schema_reader *reader)
{
    const struct gpu *gpu = reader->object;
    bool is_good = true;
    for (uint32_t low = PRECISION_FP8; low < PRECISION_COUNT_; low++) {
        for (uint32_t high = PRECISION_FP16; high < low; high++) {
            const double times = precision_operand_bytes((enum precision)high) /
                                 precision_operand_bytes((enum precision)low);
            const bool has_more_bits = times > 1.5; /* fp8 and mxfp8 differ by scales alone */
            if (has_more_bits && gpu_has_precision(gpu, (enum precision)low) &&
                gpu->peak_flop_per_s[high] > gpu->peak_flop_per_s[low]) {
                diag_add(reader->map->diag, DIAG_INPUT, &gpu->place,
                         "gpu %s has a higher peak in %s than in %s", gpu->name,
                         precision_names[high], precision_names[low]);
                diag_help(reader->map->diag, "leave peak.%s out where it is of no use",
                          precision_names[low]);
                is_good = false;
            }
        }
    }
    return is_good;
}

/* What is not multiplied in fewer than 16 bits is multiplied in bf16. */
static bool check_low_peaks(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct gpu *gpu = reader->object;
    bool is_low = false;
    for (uint32_t i = PRECISION_FP8; i < PRECISION_COUNT_; i++) {
        is_low = is_low || gpu_has_precision(gpu, (enum precision)i);
    }
    if (!is_low || gpu_has_precision(gpu, PRECISION_BF16)) {
        return check_order(reader);
    }
    diag_add(reader->map->diag, DIAG_INPUT, &gpu->place,
             "gpu %s has a peak below 16 bits and none for bf16", gpu->name);
    diag_help(reader->map->diag, "attention, router and logits multiply in bf16: add %s.bf16",
              row->path);
    return false;
}

/* The lower one, of two that a training may be in. */
static double lower_peak(const struct gpu *gpu, enum precision a, enum precision b)
{
    const double of_a = gpu->peak_flop_per_s[a];
    const double of_b = gpu->peak_flop_per_s[b];
    return of_a > 0.0 && of_b > 0.0 ? fmin(of_a, of_b) : fmax(of_a, of_b);
}

double gpu_attention_peak(const struct gpu *gpu, uint32_t kind)
{
    return kind == ATTENTION_CUDNN_FP8 ? lower_peak(gpu, PRECISION_FP8, PRECISION_MXFP8)
                                       : lower_peak(gpu, PRECISION_FP16, PRECISION_BF16);
}

/* Attention cannot be faster than the products that it is made of. Who sets another peak of one
 * 16-bit format alone has told no rates for it: hw/attention holds them to that peak. */
static void read_rate_below_peak(const struct schema_reader *reader, const struct schema_row *row,
                                 enum attention_kind kind)
{
    struct schema_row bounded = *row;
    const struct gpu *gpu = reader->object;
    const double peak =
        kind == ATTENTION_CUDNN_FP8 ? gpu->peak_flop_per_s[PRECISION_FP8] : half_peak(gpu);
    bounded.most = peak > FLOP_PER_S_MIN ? peak : FLOP_PER_S_MAX;
    schema_read_key(reader, &bounded);
}

static void read_attention_rate(const struct schema_reader *reader, const struct schema_row *row)
{
    read_rate_below_peak(reader, row, ATTENTION_CUDNN);
}

static void read_fp8_attention_rate(const struct schema_reader *reader,
                                    const struct schema_row *row)
{
    read_rate_below_peak(reader, row, ATTENTION_CUDNN_FP8);
}

#define HAS_PRECISION(name_, precision_)              \
    static bool name_(const void *object)             \
    {                                                 \
        return gpu_has_precision(object, precision_); \
    }
#define HAS_ATTENTION(name_, kind_)              \
    static bool name_(const void *object)        \
    {                                            \
        return gpu_has_attention(object, kind_); \
    }
HAS_PRECISION(has_fp8, PRECISION_FP8)
HAS_PRECISION(has_mxfp8, PRECISION_MXFP8)
HAS_PRECISION(has_nvfp4, PRECISION_NVFP4)
HAS_ATTENTION(has_fa1, ATTENTION_FA1)
HAS_ATTENTION(has_triton, ATTENTION_TRITON)
HAS_ATTENTION(has_fa2, ATTENTION_FA2)
HAS_ATTENTION(has_fa3, ATTENTION_FA3)
HAS_ATTENTION(has_cudnn, ATTENTION_CUDNN)
HAS_ATTENTION(has_cudnn_fp8, ATTENTION_CUDNN_FP8)

static const char *const cpu_names[PLATFORM_CPU_COUNT_] = {"x86", "arm"};

#define SCHEMA_OBJECT struct gpu
#include "input/schema/rows.h"

#define PEAK(name_, precision_)                                                              \
    {                                                                                        \
        QUANTITY("peak." name_, peak_flop_per_s[precision_], DIM_FLOP_PER_S, FLOP_PER_S_MIN, \
                 FLOP_PER_S_MAX, "Of products in " name_ ", without sparsity."),             \
            .is_optional = true, .note = "this GPU does not multiply in it"                  \
    }

/* How near to the peak of one precision products come. */
#define GEMM(section_, efficiency_, k_half_, sustained_, flop_per_joule_, box_spread_)            \
    {QUANTITY(section_ ".efficiency", efficiency_, DIM_FRACTION, EFFICIENCY_MIN, 1.0,             \
              "What tiles of a large product reach of the peak before the power limit acts."),    \
     .is_required = true},                                                                        \
        {QUANTITY(section_ ".k_half", k_half_, DIM_COUNT, 0.0, 1e4,                               \
                  "The inner dimension at which half of that is lost to prologue and epilogue."), \
         .is_required = true},                                                                    \
        {QUANTITY(section_ ".sustained", sustained_, DIM_FRACTION, EFFICIENCY_MIN, 1.0,           \
                  "What any product keeps of the peak under the power limit."),                   \
         .is_optional = true,                                                                     \
         .note = "what flop_per_joule leaves; without that the limit never acts"},                \
        {QUANTITY(section_ ".flop_per_joule", flop_per_joule_, DIM_FLOP, FLOP_PER_JOULE_MIN,      \
                  FLOP_PER_JOULE_MAX,                                                             \
                  "Products' FLOPs that a joule pays at the clock of the peak: with tdp and "     \
                  "power they say `sustained` where it is not told."),                            \
         .is_optional = true, .note = "not told"},                                                \
    {                                                                                             \
        QUANTITY(section_ ".box_spread", box_spread_, DIM_FRACTION, 0.0, 1.0,                     \
                 "Standard deviation of what products sustain, from one box of this GPU to "      \
                 "another; the band of predictions holds it."),                                   \
            .is_optional = true, .note = "not told"                                               \
    }

/* Products of fewer than 16 bits lose more of their peak, so theirs has to be told. */
#define LOW_GEMM(name_, precision_, applies_)                                                    \
    {SECTION("gemm_" name_, "Products in " name_ ", where peak has it; formulas in hw/kernel."), \
     .is_required = true, .applies = (applies_), .note = "this GPU does not multiply in it"},    \
        GEMM("gemm_" name_, gemm_of[precision_].efficiency, gemm_of[precision_].k_half,          \
             gemm_of[precision_].sustained, gemm_of[precision_].flop_per_joule,                  \
             gemm_of[precision_].box_spread)

#define ATTENTION(name_, kind_, applies_, bits_, read_)                                            \
    {SECTION("attention." name_, "Rates of " name_ " with long sequences and many heads of 128."), \
     .applies = (applies_), .note = "this GPU has no such kernel"},                                \
        {QUANTITY("attention." name_ ".forward", attention[kind_].forward.flop_per_s,              \
                  DIM_FLOP_PER_S, FLOP_PER_S_MIN, FLOP_PER_S_MAX,                                  \
                  "Forward, at most the peak of " bits_ " products."),                             \
         .is_required = true, .read = (read_)},                                                    \
        {QUANTITY("attention." name_ ".backward", attention[kind_].backward.flop_per_s,            \
                  DIM_FLOP_PER_S, FLOP_PER_S_MIN, FLOP_PER_S_MAX,                                  \
                  "Backward, at most the peak of " bits_ " products."),                            \
         .is_required = true, .read = (read_)},                                                    \
        {QUANTITY("attention." name_ ".length_half", attention[kind_].forward.half, DIM_COUNT,     \
                  0.0, 1e6,                                                                        \
                  "Keys at which half the rate is lost to a tile's start and end, forward."),      \
         .is_required = true},                                                                     \
        {QUANTITY("attention." name_ ".wide", attention[kind_].forward.wide, DIM_COUNT, 0.1, 4.0,  \
                  "Forward rate of heads above 128 over what head_half gives."),                   \
         .standard = "1"},                                                                         \
        {QUANTITY("attention." name_ ".tail", attention[kind_].forward.tail, DIM_COUNT, 0.0, 10.0, \
                  "Share of the longest tile's time that is waited for the last tiles, forward."), \
         .standard = "0"},                                                                         \
        {QUANTITY("attention." name_ ".length_half_backward", attention[kind_].backward.half,      \
                  DIM_COUNT, 0.0, 1e6, "As length_half, backward."),                               \
         AS(double, attention[kind_].forward.half), .note = "as forward"},                         \
        {QUANTITY("attention." name_ ".wide_backward", attention[kind_].backward.wide, DIM_COUNT,  \
                  0.1, 4.0, "As wide, backward."),                                                 \
         AS(double, attention[kind_].forward.wide), .note = "as forward"},                         \
        {QUANTITY("attention." name_ ".tail_backward", attention[kind_].backward.tail, DIM_COUNT,  \
                  0.0, 10.0, "As tail, backward."),                                                \
         AS(double, attention[kind_].forward.tail), .note = "as forward"},                         \
        {QUANTITY("attention." name_ ".head_half", attention[kind_].head_half, DIM_COUNT, 0.0,     \
                  1e4, "Dimension of a head at which half the rate is lost to exponentials."),     \
         .standard = "0"},                                                                         \
        {QUANTITY("attention." name_ ".window_end", attention[kind_].window_end, DIM_COUNT, 0.0,   \
                  100.0,                                                                           \
                  "What the far end of a window costs, in what a mask's diagonal does: half a "    \
                  "tile of keys."),                                                                \
         .standard = "1"},                                                                         \
    {                                                                                              \
        COUNT("attention." name_ ".tile", attention[kind_].tile, 1, 4096, "Queries of a tile."),   \
            .standard = "128"                                                                      \
    }

static const struct schema_row rows[] = {
    {TEXT("gpu", name, "Its name, which is that of its file, too.")},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},
    {TEXT("announced", announced,
          "When its vendor announced it, of what nobody has measured yet: 2026-01. Bands are those "
          "of such a kind."),
     .is_optional = true, .note = "it is there, and measured"},
    {COUNT("year", year, 0, 2100, "Since when it is there."), .is_optional = true, .standard = "0",
     .note = "not stated"},
    {CHOICE("architecture", architecture, gpu_architecture_names, GPU_ARCHITECTURE_COUNT_,
            "What collective libraries tell apart."),
     .is_required = true},

    {SECTION("peak", "Dense peaks of its matrix products, by precision."), .is_required = true,
     .check = check_low_peaks},
    PEAK("fp32", PRECISION_FP32),
    PEAK("tf32", PRECISION_TF32),
    PEAK("fp16", PRECISION_FP16),
    PEAK("bf16", PRECISION_BF16),
    PEAK("fp8", PRECISION_FP8),
    PEAK("mxfp8", PRECISION_MXFP8),
    PEAK("nvfp4", PRECISION_NVFP4),

    {QUANTITY("memory", memory_bytes, DIM_BYTES, 1e6, 1e15, "Memory that a program can use."),
     .is_required = true, .axis = {"GPU memory, GB", 1e-9, false}},
    {QUANTITY("memory_bandwidth", memory_bandwidth_bytes_per_s, DIM_BYTES_PER_S, LINK_MIN, LINK_MAX,
              "Bandwidth of that memory, as the datasheet says."),
     .is_required = true, .axis = {"GPU memory bandwidth, TB/s", 1e-12, false}},
    {COUNT("sms", sms, 1, 10000, "Streaming multiprocessors, which take one tile at a time each."),
     .is_required = true},
    {QUANTITY("tdp", tdp_w, DIM_WATT, 1.0, 1e6, "Thermal design power."), .is_required = true},
    {QUANTITY("speed_spread", speed_spread, DIM_FRACTION, 0.0, 1.0,
              "Standard deviation of the time that GPUs of the same kind take for the same work, "
              "each always as long: chips, cooling, placement; beside software.jitter, which is "
              "chance. All wait for the slowest."),
     .standard = "0"},
    {QUANTITY("host_link", host_link_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
              "Link to the host (PCIe, NVLink-C2C), one way."),
     .is_required = true},
    {BOOL("transposes_fp8", transposes_fp8,
          "Products read fp8 operands either way round, so that one converted copy is enough."),
     .standard = "false"},

    {SECTION("platform", "Where it is met; importers know it by this, nothing is simulated.")},
    {COUNT("platform.compute_capability", platform.compute_capability, 10, 10000,
           "CUDA's, times ten: 90 for sm_90.")},
    {CHOICE("platform.cpu", platform.cpu, cpu_names, PLATFORM_CPU_COUNT_, "The CPU beside it."),
     .standard = "x86"},
    {BOOL("platform.typical", platform.is_typical,
          "It is meant where only compute capability and CPU are known."),
     .standard = "false"},
    {COUNT("platform.links", platform.links, 0, 1000, "Its NVLinks.")},
    {QUANTITY("platform.link_bandwidth", platform.link_bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN,
              LINK_MAX, "Bandwidth of one NVLink, one way.")},
    {TEXT("platform.cluster", platform.cluster,
          "The cluster of the catalogue that its nodes are like.")},
    {TEXT("platform.pci", platform.pci,
          "Its PCI ids, vendor:device as lspci -n has them, blanks between.")},
    {TEXT("platform.device", platform.device,
          "Words that its device's name has, of nvidia-smi or CUDA: \"A100 PCIe\".")},

    {SECTION("price", "What it costs where a scenario does not say."),
     .moves = SCHEMA_MOVES_NO_STEP},
    {QUANTITY("price.gpu_hour", gpu_hour_usd, DIM_USD, 0.0, 1e6, "Rent of it for an hour."),
     .is_optional = true, .note = "not priced"},

    {SECTION("purchase", "What it is bought for where a scenario does not say."),
     .moves = SCHEMA_MOVES_NO_STEP},
    {QUANTITY("purchase.price", purchase_usd, DIM_USD, 0.0, 1e9,
              "Price of it with its share of a node: CPUs, memory, NICs, disks."),
     .is_optional = true, .note = "not told"},
    {QUANTITY("purchase.nic", purchase_nic_bytes_per_s, DIM_LINK_BYTES_PER_S, 1e3, 1e15,
              "Rate of the NIC that the price has for each GPU."),
     .is_optional = true, .note = "NICs are not in the price"},

    {SECTION("power", "What it draws.")},
    {QUANTITY("power.idle_fraction", idle_power_fraction, DIM_FRACTION, 0.0, 1.0,
              "Share of tdp that it draws while it waits, and that products do not get."),
     .standard = "0.2", .is_assumed = true},
    {QUANTITY("power.busy_fraction", busy_power_fraction, DIM_FRACTION, 0.0, 1.0,
              "Share of tdp that it draws while it computes."),
     .standard = "0.85", .is_assumed = true},
    {QUANTITY("power.exponent", power_exponent, DIM_COUNT, 0.1, 1.0,
              "The rate of products goes as this power of what is left to them; used with "
              "flop_per_joule, and under a scenario's power_cap."),
     .standard = "0.55"},

    {SECTION("memory_kernels", "Kernels that stream memory."), .is_required = true},
    {QUANTITY("memory_kernels.efficiency", memory_kernel_efficiency, DIM_FRACTION, EFFICIENCY_MIN,
              1.0, "What they reach of memory_bandwidth."),
     .is_required = true},
    {SECTION("launch", "The GPU's side of launching a kernel."), .is_required = true},
    {QUANTITY("launch.time", launch_s, DIM_SECONDS, 0.0, 0.1, "The gap between dependent kernels."),
     .is_required = true},
    {QUANTITY("launch.in_graph", launch_in_graph_s, DIM_SECONDS, 0.0, 0.1,
              "The same where they are replayed from a CUDA graph (software.host.graphs)."),
     AS(double, launch_s), .note = "as time"},

    {SECTION("gemm",
             "Matrix products, as `stoker calibrate gemm` fits them; formulas in hw/kernel."),
     .is_required = true},
    {COUNT("gemm.tile_m", gemm_tile_m, 1, 1024, "Rows of the tile that large products use."),
     .is_required = true},
    {COUNT("gemm.tile_n", gemm_tile_n, 1, 1024, "Columns of that tile."), .is_required = true},
    GEMM("gemm", gemm_efficiency, gemm_k_half, gemm_sustained, gemm_flop_per_joule,
         gemm_box_spread),
    {QUANTITY("gemm.tile_loss", gemm_tile_loss, DIM_COUNT, 0.0, 100.0,
              "How much smaller tiles lose to operand traffic."),
     .standard = "0"},
    {QUANTITY("gemm.balance", gemm_balance, DIM_FRACTION, 0.0, 1.0,
              "Share of what the last wave leaves idle that libraries win back."),
     .standard = "0"},
    {QUANTITY("gemm.wgrad_loss", gemm_wgrad_loss, DIM_FRACTION, 0.0, 0.9,
              "What weight gradients lose of their rate to adding up in 32 bits."),
     .standard = "0"},
    LOW_GEMM("fp8", PRECISION_FP8, has_fp8),
    LOW_GEMM("mxfp8", PRECISION_MXFP8, has_mxfp8),
    {QUANTITY("gemm_mxfp8.of_fp8", mxfp8_of_fp8, DIM_FRACTION, 0.1, 1.0,
              "What products sustain of what they do in fp8, where neither sustained nor "
              "flop_per_joule is told."),
     .standard = "1"},
    LOW_GEMM("nvfp4", PRECISION_NVFP4, has_nvfp4),

    {SECTION("attention",
             "Kernels of fused attention, as `stoker calibrate attention` fits them.")},
    ATTENTION("fa1", ATTENTION_FA1, has_fa1, "16-bit", read_attention_rate),
    ATTENTION("triton", ATTENTION_TRITON, has_triton, "16-bit", read_attention_rate),
    ATTENTION("fa2", ATTENTION_FA2, has_fa2, "16-bit", read_attention_rate),
    ATTENTION("fa3", ATTENTION_FA3, has_fa3, "16-bit", read_attention_rate),
    ATTENTION("cudnn", ATTENTION_CUDNN, has_cudnn, "16-bit", read_attention_rate),
    ATTENTION("cudnn_fp8", ATTENTION_CUDNN_FP8, has_cudnn_fp8, "fp8", read_fp8_attention_rate),
};
const struct schema gpu_schema = SCHEMA_OF("gpu", "gpu.", rows);

bool gpu_read(const struct doc_node *node, struct gpu *gpu, struct assumptions *assumptions,
              struct diag *diag)
{
    *gpu = (struct gpu){
        .name = "inline", .place = node->place, .gpu_hour_usd = ABSENT, .purchase_usd = ABSENT};
    return schema_read_document(&gpu_schema, node, gpu, assumptions, diag);
}

static bool read_object(const struct doc_node *node, void *object, struct assumptions *assumptions,
                        struct diag *diag)
{
    return gpu_read(node, object, assumptions, diag);
}
const struct doc_reader gpu_reader = {sizeof(struct gpu), read_object};
