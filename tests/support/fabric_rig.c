/* Traces are made as the program makes them: begun, sent, ended. */
#include "support/fabric_rig.h"

#include "base/arena.h"
#include "des/fluid.h"

const struct cluster rig_rails = {
    .gpus_per_node = 8,
    .scale_up_kind = SCALE_UP_NVSWITCH,
    .scale_up_bytes_per_s = 400e9,
    .scale_up_efficiency = 1,
    .scale_up_latency_s = 1e-6,
    .domain_nodes = 1,
    .nics_per_node = 8,
    .nic_bytes_per_s = 50e9,
    .nic_efficiency = 1,
    .nic_latency_s = 5e-6,
    .fabric_kind = FABRIC_RAIL,
    .routing = ROUTING_ADAPTIVE,
    .ecmp_paths = 1,
    .has_pxn = true,
    .nodes_per_leaf = 4,
    .oversubscription = 2,
    .uplink_bytes_per_s = 50e9,
    .leaves_per_pod = 2,
    .pod_oversubscription = 4,
    .leaves_per_group = 2,
    .global_oversubscription = 1,
    .dimensions = {4, 4, 4},
    .torus_link_bytes_per_s = 50e9,
    .hop_latency_s = 1e-6,
    .storage_write_bytes_per_s = 100e9,
    .storage_read_bytes_per_s = 100e9,
    .storage_node_bytes_per_s = 10e9,
};
const struct gpu rig_gpu = {.host_link_bytes_per_s = 25e9};

void rig_init(struct rig *rig, const struct cluster *cluster, uint32_t gpus)
{
    rig->arena = arena_new();
    fabric_init(&rig->fabric, rig->arena, cluster, &rig_gpu, gpus, 1);
}

void rig_send(struct rig *rig, uint32_t from, uint32_t to, uint64_t usage)
{
    fabric_trace_begin(&rig->fabric);
    fabric_trace_send(&rig->fabric, from, to, usage);
    fabric_trace_end(&rig->fabric, &rig->route);
}

void rig_ring(struct rig *rig, const uint32_t *ranks, uint32_t count)
{
    fabric_trace_begin(&rig->fabric);
    for (uint32_t i = 0; i < count; i++) {
        fabric_trace_send(&rig->fabric, ranks[i], ranks[(i + 1) % count], FLUID_USAGE_ONE);
    }
    fabric_trace_end(&rig->fabric, &rig->route);
}

uint64_t rig_usage(const struct rig *rig, enum link_kind kind, uint32_t number)
{
    for (uint32_t i = 0; i < rig->route.count; i++) {
        if (rig->route.crossings[i].link == rig->fabric.first[kind] + number) {
            return rig->route.crossings[i].usage;
        }
    }
    return 0;
}

uint32_t rig_crossings(const struct rig *rig, enum link_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rig->route.count; i++) {
        count += fabric_link_kind(&rig->fabric, rig->route.crossings[i].link) == kind;
    }
    return count;
}

uint64_t rig_sum(const struct rig *rig, enum link_kind kind)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < rig->route.count; i++) {
        sum += fabric_link_kind(&rig->fabric, rig->route.crossings[i].link) == kind
                   ? rig->route.crossings[i].usage
                   : 0;
    }
    return sum;
}

int64_t rig_capacity(const struct rig *rig, enum link_kind kind)
{
    for (uint32_t i = 0; i < rig->fabric.link_count; i++) {
        if (fabric_link_kind(&rig->fabric, i) == kind) {
            return fabric_link_capacity(&rig->fabric, i);
        }
    }
    return 0;
}
