/* A row for each way, and the scenarios that have it. */
#include "bands/unproven.h"

#include "base/absent.h"
#include "base/arena.h"
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

static bool has_scans(const struct scenario *scenario)
{
    return model_has(&scenario->model, layer_scans);
}

static bool has_index(const struct scenario *scenario)
{
    return model_has(&scenario->model, layer_chooses);
}

const struct unproven unproven[UNPROVEN_COUNT] = {
    [UNPROVEN_HOST_OPTIMIZER] = {"reported_host_optimizer", "the optimizer on the host",
                                 has_host_optimizer},
    [UNPROVEN_PCIE] = {"reported_pcie", "GPUs that meet over PCIe", has_pcie},
    [UNPROVEN_SOCKETS] = {"reported_sockets",
                          "sockets between nodes, for which the host's cores copy", has_sockets},
    [UNPROVEN_ANNOUNCED] = {"reported_announced", "parts that are announced, not measured",
                            is_announced},
    [UNPROVEN_SCANS] = {"reported_scans", "layers with scans, of which kernels alone were compared",
                        has_scans},
    [UNPROVEN_SPARSE] = {"reported_sparse",
                         "attention to keys that an index chose, of which kernels alone were "
                         "compared",
                         has_index},
};

uint32_t unproven_of(const struct scenario *scenario)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < UNPROVEN_COUNT && !scenario->anchor.is_given; i++) {
        found |= unproven[i].is_had(scenario) ? 1U << i : 0;
    }
    return found;
}

/* ---- what is left out -------------------------------------------------------------------- */

static bool is_any(const struct scenario *scenario)
{
    (void)scenario;
    return true;
}

static bool has_no_run(const struct scenario *scenario)
{
    return !(scenario->run_tokens > 0);
}

static bool nothing_fails(const struct scenario *scenario)
{
    return scenario->run_tokens > 0 && !recovery_has_failures(scenario);
}

static bool has_no_checkpoints(const struct scenario *scenario)
{
    return scenario->run_tokens > 0 && !scenario->checkpoint.is_enabled;
}

static bool has_rent(const struct scenario *scenario)
{
    return scenario->run_tokens > 0 && !is_absent(scenario->price.gpu_hour_usd) &&
           !scenario->price.own.is_told;
}

static bool is_alone(const struct scenario *scenario)
{
    return scenario->nodes > 1 && scenario->neighbour_count == 0;
}

static bool has_several_nodes(const struct scenario *scenario)
{
    return scenario->nodes > 1;
}

static bool has_a_mixture(const struct scenario *scenario)
{
    return scenario->model.experts > 0;
}

static bool has_tensor_parallel(const struct scenario *scenario)
{
    return scenario->parallel.tp > 1;
}

static const struct {
    bool (*holds)(const struct scenario *scenario);
    const char *says;
} left_out[] = {
    {has_no_run, "Days, money and energy: no run is asked for (run.tokens)."},
    {nothing_fails, "Failures and restarts: days are those of a run in which nothing fails "
                    "(run.failures)."},
    {has_no_checkpoints, "Checkpoints: none are written (run.checkpoint)."},
    {has_rent, "What a network costs: rent is for a GPU-hour, whatever its network (price.own has "
               "parts)."},
    {is_alone, "Other jobs on the same fabric (jobs)."},
    {has_several_nodes, "Packet loss and congestion control: links are shared fairly and lose "
                        "nothing."},
    {has_a_mixture, "Experts of one group that have more tokens than others: all of its ranks take "
                    "the time of the busiest."},
    {has_tensor_parallel, "The hand-over of batches to tensor parallel peers."},
    {is_any, "Noise of single kernels: one expected maximum over all GPUs ends each step."},
    {is_any, "How well the model learns: as many tokens are trained, whatever batch, precision or "
             "layout."},
};

const char *const *unproven_left_out(struct arena *arena, const struct scenario *scenario,
                                     uint32_t *count)
{
    const char **found = arena_array(arena, sizeof left_out / sizeof *left_out, sizeof *found);
    *count = 0;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        if (left_out[i].holds(scenario)) {
            found[(*count)++] = left_out[i].says;
        }
    }
    return found;
}
