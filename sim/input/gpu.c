/* Reads a GPU's datasheet and micro-benchmarks, section by section. Bounds are
 * wide: they catch a wrong prefix, not a wrong digit.
 */
#include "input/gpu.h"

#include "input/doc/section.h"

#include "base/arena.h"

#include <string.h>

const char *const gpu_architecture_names[GPU_ARCHITECTURE_COUNT_] = {"volta", "ampere", "hopper",
                                                                     "blackwell"};
const char *const precision_names[PRECISION_COUNT_] = {"fp32", "tf32",  "fp16", "bf16",
                                                       "fp8",  "mxfp8", "nvfp4"};
const char *const attention_names[ATTENTION_COUNT_] = {"unfused", "fa1", "fa2", "fa3", "cudnn"};

/* ---- DEFAULTS of a GPU file; the power fractions become assumptions ---- */
static const struct gpu gpu_defaults = {
    .idle_power_fraction = 0.2,
    .busy_power_fraction = 0.85,
};

/* Efficiencies lie in (0, 1]; below this one the number was surely a slip. */
static const double EFFICIENCY_MIN = 0.01;
static const double FLOP_PER_S_MIN = 1e10;
static const double FLOP_PER_S_MAX = 1e20;
static const double LINK_MIN = 1e3; /* bytes/s */
static const double LINK_MAX = 1e15;

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

struct gemm_figures gpu_gemm(const struct gpu *gpu, enum precision precision)
{
    sim_assert(precision < PRECISION_COUNT_);
    const struct gemm_figures *own = &gpu->gemm_of[precision];
    const struct gemm_figures common = {gpu->gemm_efficiency, gpu->gemm_k_half,
                                        gpu->gemm_sustained};
    struct gemm_figures figures = own->efficiency > 0.0 ? *own : common;
    figures.sustained = figures.sustained > 0.0 ? figures.sustained : figures.efficiency;
    return figures;
}

bool gpu_has_attention(const struct gpu *gpu, uint32_t kind)
{
    sim_assert(kind < ATTENTION_COUNT_);
    return kind == ATTENTION_UNFUSED || gpu->attention[kind].forward.flop_per_s > 0.0;
}

static void read_peaks(struct doc_map *map, struct gpu *gpu, struct assumptions *assumptions)
{
    struct doc_map peak;
    section_need(&peak, map, "peak", "gpu", assumptions);
    for (uint32_t i = 0; i < PRECISION_COUNT_; i++) {
        doc_get_quantity(&peak, precision_names[i], DIM_FLOP_PER_S, FLOP_PER_S_MIN, FLOP_PER_S_MAX,
                         &gpu->peak_flop_per_s[i]);
    }
    section_close(&peak, map);
}

/* What is not multiplied in fewer than 16 bits is multiplied in bf16. */
static void check_low_peaks(struct doc_map *map, const struct gpu *gpu)
{
    bool is_low = false;
    for (uint32_t i = PRECISION_FP8; i < PRECISION_COUNT_; i++) {
        is_low = is_low || gpu_has_precision(gpu, (enum precision)i);
    }
    if (is_low && !gpu_has_precision(gpu, PRECISION_BF16)) {
        diag_add(map->diag, DIAG_INPUT, &map->node->place,
                 "gpu %s has a peak below 16 bits and none for bf16", gpu->name);
        diag_help(map->diag, "attention, router and logits multiply in bf16: add peak.bf16");
        map->is_bad = true;
    }
}

static void read_chip(struct doc_map *map, struct gpu *gpu)
{
    section_need_quantity(map, "memory", DIM_BYTES, 1e6, 1e15, &gpu->memory_bytes);
    section_need_quantity(map, "memory_bandwidth", DIM_BYTES_PER_S, LINK_MIN, LINK_MAX,
                          &gpu->memory_bandwidth_bytes_per_s);
    section_need_count(map, "sms", 1, 10000, &gpu->sms);
    section_need_quantity(map, "tdp", DIM_WATT, 1.0, 1e6, &gpu->tdp_w);
    section_need_quantity(map, "host_link", DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
                          &gpu->host_link_bytes_per_s);
}

/* A power fraction that the file leaves out is stoker's own assumption. */
static void read_power_fraction(struct doc_map *power, const char *key, double *fraction,
                                struct assumptions *assumptions)
{
    if (doc_take(power, key) != NULL) {
        doc_get_quantity(power, key, DIM_FRACTION, 0.0, 1.0, fraction);
        return;
    }
    const char *name = arena_printf(assumptions->arena, "gpu.power.%s", key);
    const char *value = arena_printf(assumptions->arena, "%g", *fraction);
    assumptions_add(assumptions,
                    &(struct assumption){.name = name, .value = value, .reason = DEFAULT_REASON});
}

static void read_money_and_power(struct doc_map *map, struct gpu *gpu,
                                 struct assumptions *assumptions)
{
    struct doc_map price;
    section_open(&price, map, "price", "gpu", assumptions);
    doc_get_quantity(&price, "gpu_hour", DIM_USD, 0.0, 1e6, &gpu->gpu_hour_usd);
    section_close(&price, map);

    struct doc_map power;
    section_open(&power, map, "power", "gpu", assumptions);
    read_power_fraction(&power, "idle_fraction", &gpu->idle_power_fraction, assumptions);
    read_power_fraction(&power, "busy_fraction", &gpu->busy_power_fraction, assumptions);
    section_close(&power, map);
}

static void read_platform(struct doc_map *map, struct gpu_platform *platform,
                          struct assumptions *assumptions)
{
    static const char *const cpus[PLATFORM_CPU_COUNT_] = {"x86", "arm"};
    struct doc_map section;
    section_open(&section, map, "platform", "gpu", assumptions);
    doc_get_count(&section, "compute_capability", 10, 10000, &platform->compute_capability);
    doc_get_choice(&section, "cpu", cpus, PLATFORM_CPU_COUNT_, &platform->cpu);
    doc_get_bool(&section, "typical", &platform->is_typical);
    doc_get_count(&section, "links", 0, 1000, &platform->links);
    doc_get_quantity(&section, "link_bandwidth", DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
                     &platform->link_bytes_per_s);
    doc_get_text(&section, "cluster", &platform->cluster);
    section_close(&section, map);
}

static void read_gemm(struct doc_map *map, struct gpu *gpu, struct assumptions *assumptions)
{
    struct doc_map section;
    section_need(&section, map, "gemm", "gpu", assumptions);
    section_need_count(&section, "tile_m", 1, 1024, &gpu->gemm_tile_m);
    section_need_count(&section, "tile_n", 1, 1024, &gpu->gemm_tile_n);
    section_need_quantity(&section, "efficiency", DIM_FRACTION, EFFICIENCY_MIN, 1.0,
                          &gpu->gemm_efficiency);
    section_need_quantity(&section, "k_half", DIM_COUNT, 0.0, 1e4, &gpu->gemm_k_half);
    doc_get_quantity(&section, "sustained", DIM_FRACTION, EFFICIENCY_MIN, 1.0,
                     &gpu->gemm_sustained);
    doc_get_quantity(&section, "tile_loss", DIM_COUNT, 0.0, 100.0, &gpu->gemm_tile_loss);
    doc_get_quantity(&section, "balance", DIM_FRACTION, 0.0, 1.0, &gpu->gemm_balance);
    doc_get_quantity(&section, "wgrad_loss", DIM_FRACTION, 0.0, 0.9, &gpu->gemm_wgrad_loss);
    section_close(&section, map);
}

static void read_kernels(struct doc_map *map, struct gpu *gpu, struct assumptions *assumptions)
{
    struct doc_map section;
    section_need(&section, map, "memory_kernels", "gpu", assumptions);
    section_need_quantity(&section, "efficiency", DIM_FRACTION, EFFICIENCY_MIN, 1.0,
                          &gpu->memory_kernel_efficiency);
    section_close(&section, map);

    section_need(&section, map, "launch", "gpu", assumptions);
    section_need_quantity(&section, "time", DIM_SECONDS, 0.0, 0.1, &gpu->launch_s);
    section_close(&section, map);

    read_gemm(map, gpu, assumptions);
}

/* Products of fewer than 16 bits lose more of their peak, so theirs has to be told. */
static void read_gemm_of_precisions(struct doc_map *map, struct gpu *gpu,
                                    struct assumptions *assumptions)
{
    for (uint32_t i = PRECISION_FP8; i < PRECISION_COUNT_; i++) {
        const char *key = arena_printf(assumptions->arena, "gemm_%s", precision_names[i]);
        if (gpu_has_precision(gpu, (enum precision)i)) {
            doc_require(map, key);
        }
        struct doc_map section;
        if (section_open(&section, map, key, "gpu", assumptions)) {
            struct gemm_figures *figures = &gpu->gemm_of[i];
            section_need_quantity(&section, "efficiency", DIM_FRACTION, EFFICIENCY_MIN, 1.0,
                                  &figures->efficiency);
            section_need_quantity(&section, "k_half", DIM_COUNT, 0.0, 1e4, &figures->k_half);
            doc_get_quantity(&section, "sustained", DIM_FRACTION, EFFICIENCY_MIN, 1.0,
                             &figures->sustained);
            section_close(&section, map);
        }
    }
}

/* Fused attention multiplies in 16 bits; it cannot be faster than these products. */
static double half_precision_peak(const struct gpu *gpu)
{
    const double fp16 = gpu->peak_flop_per_s[PRECISION_FP16];
    const double bf16 = gpu->peak_flop_per_s[PRECISION_BF16];
    const double peak = fp16 > bf16 ? fp16 : bf16;
    return peak > FLOP_PER_S_MIN ? peak : FLOP_PER_S_MAX;
}

/* What may be left out: nothing is lost, and backward as forward. */
static void read_attention_shape(struct doc_map *kind, struct attention_rate *rate)
{
    struct attention_pass_rate *forward = &rate->forward;
    struct attention_pass_rate *backward = &rate->backward;
    forward->wide = 1.0;
    rate->tile = 128;
    doc_get_quantity(kind, "wide", DIM_COUNT, 0.1, 4.0, &forward->wide);
    doc_get_quantity(kind, "tail", DIM_COUNT, 0.0, 10.0, &forward->tail);
    backward->half = forward->half;
    backward->wide = forward->wide;
    backward->tail = forward->tail;
    doc_get_quantity(kind, "length_half_backward", DIM_COUNT, 0.0, 1e6, &backward->half);
    doc_get_quantity(kind, "wide_backward", DIM_COUNT, 0.1, 4.0, &backward->wide);
    doc_get_quantity(kind, "tail_backward", DIM_COUNT, 0.0, 10.0, &backward->tail);
    doc_get_quantity(kind, "head_half", DIM_COUNT, 0.0, 1e4, &rate->head_half);
    doc_get_count(kind, "tile", 1, 4096, &rate->tile);
}

static void read_attention(struct doc_map *map, struct gpu *gpu, struct assumptions *assumptions)
{
    struct doc_map attention;
    section_open(&attention, map, "attention", "gpu", assumptions);
    const double peak = half_precision_peak(gpu);
    for (uint32_t i = ATTENTION_UNFUSED + 1; i < ATTENTION_COUNT_; i++) {
        struct attention_rate *rate = &gpu->attention[i];
        struct doc_map kind;
        section_open(&kind, &attention, attention_names[i], "gpu.attention", assumptions);
        section_need_quantity(&kind, "forward", DIM_FLOP_PER_S, FLOP_PER_S_MIN, peak,
                              &rate->forward.flop_per_s);
        section_need_quantity(&kind, "backward", DIM_FLOP_PER_S, FLOP_PER_S_MIN, peak,
                              &rate->backward.flop_per_s);
        section_need_quantity(&kind, "length_half", DIM_COUNT, 0.0, 1e6, &rate->forward.half);
        read_attention_shape(&kind, rate);
        section_close(&kind, &attention);
    }
    section_close(&attention, map);
}

bool gpu_read(const struct doc_node *node, struct gpu *gpu, struct assumptions *assumptions,
              struct diag *diag)
{
    *gpu = gpu_defaults;
    gpu->place = node->place;
    struct doc_map map;
    if (!doc_map_open(&map, node, diag)) {
        return false;
    }
    gpu->name = "inline";
    doc_get_text(&map, "gpu", &gpu->name);
    gpu->title = gpu->name;
    doc_get_text(&map, "title", &gpu->title);
    assumptions_take(assumptions, &map, "gpu");
    section_need_choice(&map, "architecture", gpu_architecture_names, GPU_ARCHITECTURE_COUNT_,
                        &gpu->architecture);
    read_peaks(&map, gpu, assumptions);
    check_low_peaks(&map, gpu);
    read_chip(&map, gpu);
    doc_get_bool(&map, "transposes_fp8", &gpu->transposes_fp8);
    read_platform(&map, &gpu->platform, assumptions);
    read_money_and_power(&map, gpu, assumptions);
    read_kernels(&map, gpu, assumptions);
    read_gemm_of_precisions(&map, gpu, assumptions);
    read_attention(&map, gpu, assumptions);
    return doc_finish(&map);
}
