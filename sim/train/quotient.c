/* Ranks are GPUs here, so a turn of ranks is one of GPUs. The outer turn moves the digit of the
 * data-parallel axis, which must be the slowest of a stage: then what lies below it moves in whole
 * blocks. By how many replicas at least, follows from how experts and shards are laid over them.
 */
#include "train/quotient.h"

#include "base/check.h"

/* ---- what a turn would tear apart ------------------------------------------------------- */

static bool fills_in_order(const uint32_t *gpu_of_rank, uint32_t ranks)
{
    uint32_t rank = 0;
    while (gpu_of_rank != NULL && rank < ranks && gpu_of_rank[rank] == rank) {
        rank++;
    }
    return gpu_of_rank == NULL || rank == ranks;
}

static bool is_regular(const struct fabric *fabric, const struct scenario *scenario,
                       const struct group_layout *layout, const uint32_t *gpu_of_rank)
{
    const uint32_t ranks = mesh_size(layout->mesh);
    return scenario->slow_count == 0 && scenario->neighbour_count == 0 &&
           layout->mesh->holders == 1 && layout->local_ranks == 0 && fabric->gpus == ranks &&
           fills_in_order(gpu_of_rank, ranks);
}

/* ---- outer ------------------------------------------------------------------------------ */

/* Of the stage's axes the data-parallel one is the slowest. */
static bool has_slow_replicas(const struct mesh *mesh)
{
    bool is_past = false;
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        if (is_past && mesh->order[i] != AXIS_PP) {
            return false;
        }
        is_past = is_past || mesh->order[i] == AXIS_DP;
    }
    return true;
}

/* Ranks from a replica to the next. */
static uint32_t replica_stride(const struct mesh *mesh)
{
    const struct mesh_place next = {.dp = 1};
    return mesh->dp > 1 ? mesh_rank(mesh, &next) : mesh_size(mesh);
}

/* Whether experts' groups and shards come onto others of their kind after `replicas` replicas. */
static bool keeps_groups(const struct group_layout *layout, uint32_t replicas)
{
    const struct mesh *mesh = layout->mesh;
    const uint32_t holders = mesh_holders(mesh, MESH_DATA);
    const uint32_t shards = mesh_shards(mesh, MESH_DATA);
    if (shards != holders && mesh->cp * replicas % shards != 0) {
        return false;
    }
    if (!layout->has_experts) {
        return true;
    }
    const uint32_t places = mesh->tp * mesh->cp * replicas;
    const uint32_t block = mesh->ep * mesh->etp;
    const uint32_t expert_shards = mesh_shards(mesh, MESH_EXPERT_DATA);
    return places % block == 0 && (expert_shards == mesh_holders(mesh, MESH_EXPERT_DATA) ||
                                   places / block % expert_shards == 0);
}

static void add_outer(const struct fabric *fabric, const struct group_layout *layout,
                      struct fabric_turns *turns)
{
    const struct mesh *mesh = layout->mesh;
    if (mesh->dp == 1 || !has_slow_replicas(mesh)) {
        return;
    }
    uint32_t replicas = 1;
    while (replicas < mesh->dp && (mesh->dp % replicas != 0 || !keeps_groups(layout, replicas))) {
        replicas++;
    }
    const uint32_t stride = replica_stride(mesh);
    const uint32_t around = stride * mesh->dp;
    const uint32_t by = fabric_turns_outer(fabric, around, stride * replicas);
    if (by < around) {
        turns->outer_by = by;
        turns->outer_around = around;
    }
}

/* ---- inner ------------------------------------------------------------------------------ */

/* Experts lie across tensor groups in ways of their own. */
static void add_inner(const struct fabric *fabric, const struct group_layout *layout,
                      struct fabric_turns *turns)
{
    const struct mesh *mesh = layout->mesh;
    const uint32_t per_node = (uint32_t)fabric->cluster->gpus_per_node;
    if (mesh->tp == 1 || mesh->order[0] != AXIS_TP || per_node % mesh->tp != 0 ||
        layout->has_experts) {
        return;
    }
    const uint32_t by = fabric_turns_inner(fabric, mesh->tp);
    if (by < mesh->tp) {
        turns->inner_by = by;
        turns->inner_around = mesh->tp;
    }
}

struct fabric_turns quotient_turns(const struct fabric *fabric, const struct scenario *scenario,
                                   const struct group_layout *layout, const uint32_t *gpu_of_rank)
{
    struct fabric_turns turns = fabric_turns_none(fabric);
    if (is_regular(fabric, scenario, layout, gpu_of_rank)) {
        add_outer(fabric, layout, &turns);
        add_inner(fabric, layout, &turns);
    }
    return turns;
}
