/* The table has a row for each number, and above it what the rows need: when it is a question, what
 * is assumed, which keys it is, how far it may be off. */
#include "study/why_rates.h"

#include "bands/band.h"
#include "base/arena.h"
#include "hw/kernel.h"
#include "input/cluster.h"
#include "input/software.h"

#include <math.h>

/* ---- when it is a question ------------------------------------------------------------------ */

static bool always(const struct why_machine *machine)
{
    (void)machine;
    return true;
}

static bool fuses_attention(const struct why_machine *machine)
{
    return machine->software->attention != ATTENTION_UNFUSED;
}

static bool has_neighbours(const struct why_machine *machine)
{
    return machine->gpus > 1 && machine->cluster->gpus_per_node > 1;
}

static bool crosses_nodes(const struct why_machine *machine)
{
    return machine->nodes > machine->cluster->domain_nodes;
}

static bool updates_on_host(const struct why_machine *machine)
{
    return machine->offloaded_optimizer > 0;
}

static bool offloads(const struct why_machine *machine)
{
    return machine->offloads;
}

static bool has_host_time(const struct why_machine *machine)
{
    return machine->software->host_per_kernel_s > 0;
}

static bool has_equal_gpus(const struct why_machine *machine)
{
    return machine->gpus > 1 && !(machine->slowest < 1);
}

static bool has_nvlink(const struct why_machine *machine)
{
    return has_neighbours(machine) && machine->cluster->scale_up_kind != SCALE_UP_PCIE &&
           machine->cluster->domain_nodes == 1;
}

static bool has_nics(const struct why_machine *machine)
{
    return crosses_nodes(machine) && machine->cluster->nics_per_node > 1;
}

/* ---- what is assumed ------------------------------------------------------------------------ */

static double product_flop_per_s(const struct why_machine *machine)
{
    enum { SIDE = 8192 };
    const struct kernel_gpu on = {.gpu = machine->gpu,
                                  .precision = (enum precision)machine->precision,
                                  .pass = GEMM_FORWARD,
                                  .gemm_derate = 1};
    const double side = SIDE;
    return 2 * side * side * side / kernel_gemm(&on, SIDE, SIDE, SIDE, 1, 0).busy_s;
}

static double attention_share(const struct why_machine *machine)
{
    return machine->software->attention_derate;
}

static double copy_bytes_per_s(const struct why_machine *machine)
{
    return machine->gpu->memory_kernel_efficiency * machine->gpu->memory_bandwidth_bytes_per_s;
}

static double launch_s(const struct why_machine *machine)
{
    return machine->software->host_per_kernel_s;
}

static double call_s(const struct why_machine *machine)
{
    return machine->software->host_per_product_s;
}

static double power_w(const struct why_machine *machine)
{
    const struct gpu *gpu = machine->gpu;
    return gpu->power_cap_w > 0 ? gpu->power_cap_w : gpu->tdp_w;
}

static double slowest_speed(const struct why_machine *machine)
{
    return machine->slowest;
}

static double scale_up_bytes_per_s(const struct why_machine *machine)
{
    return machine->cluster->scale_up_efficiency * machine->cluster->scale_up_bytes_per_s;
}

static double nic_bytes_per_s(const struct why_machine *machine)
{
    return machine->cluster->nic_efficiency * machine->cluster->nic_bytes_per_s;
}

static double update_bytes_per_s(const struct why_machine *machine)
{
    return machine->software->host_update_bytes_per_s;
}

static double host_link_bytes_per_s(const struct why_machine *machine)
{
    return machine->gpu->host_link_bytes_per_s;
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* A share of what a datasheet says is from 1 to 100 %. */
static bool put_share(struct arena *arena, const char *key, double share, const char **set)
{
    *set = arena_printf(arena, "%s=%.10g", key, share);
    return share >= 0.01 && share <= 1;
}

/* Products of the scenario's precision and, where that is lower, those that stay in 16 bits. */
static uint32_t set_products(struct arena *arena, const struct why_machine *machine, double times,
                             const char **sets)
{
    const enum precision precision = (enum precision)machine->precision;
    const bool has_own = machine->gpu->gemm_of[precision].efficiency > 0;
    uint32_t count = 0;
    bool is_good = true;
    for (uint32_t low = 0; low < (has_own ? 2u : 1u); low++) {
        const struct gemm_figures figures =
            gpu_gemm(machine->gpu, low == 1 ? precision : PRECISION_BF16);
        const char *section =
            low == 1 ? arena_printf(arena, "gpu.gemm_%s", precision_names[precision]) : "gpu.gemm";
        const char *tiles = arena_printf(arena, "%s.efficiency", section);
        const char *sustained = arena_printf(arena, "%s.sustained", section);
        is_good = put_share(arena, tiles, figures.efficiency * times, &sets[count++]) && is_good;
        is_good = put_share(arena, sustained, figures.sustained * times, &sets[count++]) && is_good;
    }
    return is_good ? count : 0;
}

static uint32_t set_attention(struct arena *arena, const struct why_machine *machine, double times,
                              const char **sets)
{
    const double share = machine->software->attention_derate * times;
    return put_share(arena, "software.attention_kernels.derate", share, &sets[0]) ? 1 : 0;
}

static uint32_t set_copy(struct arena *arena, const struct why_machine *machine, double times,
                         const char **sets)
{
    const double share = machine->gpu->memory_kernel_efficiency * times;
    return put_share(arena, "gpu.memory_kernels.efficiency", share, &sets[0]) ? 1 : 0;
}

static uint32_t set_launch(struct arena *arena, const struct why_machine *machine, double times,
                           const char **sets)
{
    const struct software *software = machine->software;
    sets[0] = arena_printf(arena, "software.host.per_kernel=%.10g us",
                           1e6 * software->host_per_kernel_s / times);
    sets[1] = arena_printf(arena, "software.host.per_product=%.10g us",
                           1e6 * software->host_per_product_s / times);
    return 2;
}

/* A module that the framework calls costs the host more than its launches: by so much as these
 * would be longer. */
static uint32_t set_calls(struct arena *arena, const struct why_machine *machine, double times,
                          const char **sets)
{
    const struct software *software = machine->software;
    const double more_s = software->host_per_kernel_s * (1 / times - 1);
    sets[0] = arena_printf(arena, "software.host.per_product=%.10g us",
                           1e6 * (software->host_per_product_s + more_s));
    return software->host_per_product_s + more_s >= 0 ? 1 : 0;
}

static uint32_t set_power(struct arena *arena, const struct why_machine *machine, double times,
                          const char **sets)
{
    sets[0] = arena_printf(arena, "power_cap.gpu=%.10g W", power_w(machine) * times);
    return times < 1 ? 1 : 0;
}

static uint32_t set_slowest(struct arena *arena, const struct why_machine *machine, double times,
                            const char **sets)
{
    (void)machine;
    sets[0] = arena_printf(arena, "slow=[{rank: 0, speed: %.10g}]", times);
    return times < 1 ? 1 : 0;
}

static uint32_t set_scale_up(struct arena *arena, const struct why_machine *machine, double times,
                             const char **sets)
{
    const double share = machine->cluster->scale_up_efficiency * times;
    return put_share(arena, "cluster.scale_up.efficiency", share, &sets[0]) ? 1 : 0;
}

static uint32_t set_nics(struct arena *arena, const struct why_machine *machine, double times,
                         const char **sets)
{
    const double share = machine->cluster->nic_efficiency * times;
    return put_share(arena, "cluster.nics.efficiency", share, &sets[0]) ? 1 : 0;
}

static uint32_t set_update(struct arena *arena, const struct why_machine *machine, double times,
                           const char **sets)
{
    sets[0] = arena_printf(arena, "software.host.update=%.10g GB/s",
                           1e-9 * machine->software->host_update_bytes_per_s * times);
    return 1;
}

static uint32_t set_host_link(struct arena *arena, const struct why_machine *machine, double times,
                              const char **sets)
{
    sets[0] = arena_printf(arena, "gpu.host_link=%.10g GB/s",
                           1e-9 * machine->gpu->host_link_bytes_per_s * times);
    return 1;
}

/* What the host's bridges pass, at the efficiency of the links that are there. */
static uint32_t set_pcie(struct arena *arena, const struct why_machine *machine, const char **sets)
{
    sets[0] = "cluster.scale_up.kind=pcie";
    sets[1] = arena_printf(arena, "cluster.scale_up.bandwidth=%.10g GB/s",
                           1e-9 * machine->gpu->host_link_bytes_per_s);
    sets[2] = "cluster.scale_up.multicast=false";
    return 3;
}

static uint32_t set_one_nic(struct arena *arena, const struct why_machine *machine,
                            const char **sets)
{
    const struct cluster *cluster = machine->cluster;
    const double share = cluster->nic_efficiency / (double)cluster->nics_per_node;
    return put_share(arena, "cluster.nics.efficiency", share, &sets[0]) ? 1 : 0;
}

/* ---- how far it may lie from what is assumed ------------------------------------------------ */

/* What nobody measured may be off by the range of assumptions. */
static double of_range(const struct limits *limits)
{
    return log1p(limits->range) / BAND_DEVIATIONS;
}

static double of_boxes(const struct limits *limits, enum box_rate rate)
{
    return limits->box_held[rate] > 0 ? limits->box_held[rate] : of_range(limits);
}

/* Of what public reports found off, their factor; bands/unproven has the rows. */
static double of_reports(const struct why_machine *machine, const struct limits *limits,
                         uint32_t row, double otherwise)
{
    const bool is_reported = (machine->unproven & 1u << row) != 0 && limits->reported[row] > 1;
    return is_reported ? log(limits->reported[row]) / BAND_DEVIATIONS : otherwise;
}

static double product_deviation(const struct why_machine *machine, const struct limits *limits)
{
    const double own = gpu_gemm(machine->gpu, (enum precision)machine->precision).box_spread;
    return own > 0 ? own : of_boxes(limits, BOX_GEMM);
}

static double attention_deviation(const struct why_machine *machine, const struct limits *limits)
{
    (void)machine;
    return of_boxes(limits, BOX_ATTENTION);
}

/* ASSUMES: where no boxes were compared, copies differ from one to another as products do. */
static double copy_deviation(const struct why_machine *machine, const struct limits *limits)
{
    (void)machine;
    return limits->box_held[BOX_MEMORY] > 0 ? limits->box_held[BOX_MEMORY]
                                            : of_boxes(limits, BOX_GEMM);
}

static double host_deviation(const struct why_machine *machine, const struct limits *limits)
{
    (void)machine;
    return limits->host_spread > 0 ? limits->host_spread : of_range(limits);
}

/* Of GPUs of one job. */
static double slowest_deviation(const struct why_machine *machine, const struct limits *limits)
{
    const double own = machine->gpu->speed_spread;
    return own > 0 ? own : of_boxes(limits, BOX_GEMM);
}

static double range_deviation(const struct why_machine *machine, const struct limits *limits)
{
    (void)machine;
    return of_range(limits);
}

static double scale_up_deviation(const struct why_machine *machine, const struct limits *limits)
{
    return of_reports(machine, limits, UNPROVEN_PCIE, of_boxes(limits, BOX_LINKS));
}

static double nic_deviation(const struct why_machine *machine, const struct limits *limits)
{
    return of_reports(machine, limits, UNPROVEN_SOCKETS, of_boxes(limits, BOX_LINKS));
}

static double update_deviation(const struct why_machine *machine, const struct limits *limits)
{
    return of_reports(machine, limits, UNPROVEN_HOST_OPTIMIZER, of_range(limits));
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct why_rate rates[] = {
    {"large products", "TFLOP/s, 8192 cubed", "gemm_large of stoker calibrate box --script", 1e-12,
     always, product_flop_per_s, set_products, product_deviation, true, true},
    {"attention's kernels", "of its benchmark", "attention of stoker calibrate box --script", 1,
     fuses_attention, attention_share, set_attention, attention_deviation, true, false},
    {"copies on the GPU", "GB/s", "copy of stoker calibrate box --script", 1e-9, always,
     copy_bytes_per_s, set_copy, copy_deviation, true, false},
    {"kernel launches", "us each", "a profile of the host: CPU time from launch to launch", 1e6,
     has_host_time, launch_s, set_launch, host_deviation, false, false},
    {"the host's calls of modules", "us each", "a profile of the host: CPU time of each module",
     1e6, has_host_time, call_s, set_calls, host_deviation, false, false},
    {"links in the node", "GB/s a GPU", "all_reduce_perf of nccl-tests on one node", 1e-9,
     has_neighbours, scale_up_bytes_per_s, set_scale_up, scale_up_deviation, true, false},
    {"network between nodes", "GB/s a NIC", "all_reduce_perf of nccl-tests on all nodes", 1e-9,
     crosses_nodes, nic_bytes_per_s, set_nics, nic_deviation, true, false},
    {"the optimizer on the host", "GB/s a GPU", "time of the optimizer's step, cores bound or not",
     1e-9, updates_on_host, update_bytes_per_s, set_update, update_deviation, false, false},
    {"link to the host", "GB/s", "bandwidthTest of the CUDA samples, pinned memory", 1e-9, offloads,
     host_link_bytes_per_s, set_host_link, range_deviation, false, false},
    {"power that a GPU may draw", "W", "nvidia-smi -q -d POWER,PERFORMANCE while it trains", 1,
     always, power_w, set_power, range_deviation, false, false},
    {"the slowest GPU", "of its speed", "step times and clocks of each rank", 1, has_equal_gpus,
     slowest_speed, set_slowest, slowest_deviation, false, false},
};

uint32_t why_rate_count(void)
{
    return sizeof rates / sizeof *rates;
}

const struct why_rate *why_rate_of(uint32_t number)
{
    return &rates[number];
}

static const struct why_state states[] = {
    {"PCIe between GPUs, not NVLink", "NCCL_DEBUG=INFO says P2P, NVLS or SHM of each channel",
     has_nvlink, set_pcie},
    {"one NIC's rate out of a node", "NCCL_DEBUG=INFO says NET/IB or NET/Socket, and which NICs",
     has_nics, set_one_nic},
};

uint32_t why_state_count(void)
{
    return sizeof states / sizeof *states;
}

const struct why_state *why_state_of(uint32_t number)
{
    return &states[number];
}
