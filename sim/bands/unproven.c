/* A row for each way, and the scenarios that have it. */
#include "bands/unproven.h"

#include "input/scenario.h"

const char unproven_verdict[] = "not validated";

static bool has_host_optimizer(const struct scenario *scenario)
{
    return scenario->offload.optimizer > 0;
}

static bool has_pcie(const struct scenario *scenario)
{
    return scenario->cluster.scale_up_kind == SCALE_UP_PCIE && scenario->gpus > scenario->nodes;
}

static bool has_sockets(const struct scenario *scenario)
{
    return scenario->nodes > 1 && scenario->cluster.core_bytes_per_s > 0;
}

static bool is_date(const char *announced)
{
    return announced != NULL && announced[0] != '\0';
}

static bool is_announced(const struct scenario *scenario)
{
    return is_date(scenario->gpu.announced) ||
           (scenario->nodes > 1 && is_date(scenario->cluster.nic_announced));
}

const struct unproven unproven[UNPROVEN_COUNT] = {
    [UNPROVEN_HOST_OPTIMIZER] = {"reported_host_optimizer", "the optimizer on the host",
                                 has_host_optimizer},
    [UNPROVEN_PCIE] = {"reported_pcie", "GPUs that meet over PCIe", has_pcie},
    [UNPROVEN_SOCKETS] = {"reported_sockets",
                          "sockets between nodes, for which the host's cores copy", has_sockets},
    [UNPROVEN_ANNOUNCED] = {"reported_announced", "parts that are announced, not measured",
                            is_announced},
};

uint32_t unproven_of(const struct scenario *scenario)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < UNPROVEN_COUNT && !scenario->anchor.is_given; i++) {
        found |= unproven[i].is_had(scenario) ? 1U << i : 0;
    }
    return found;
}
