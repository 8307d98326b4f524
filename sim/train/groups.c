#include "train/groups.h"

#include "base/check.h"

/* ---- tensor: the same sequences, layers split ---------------------------------------- */

static uint32_t tensor_count(const struct scenario *scenario, const struct mesh *mesh)
{
    (void)scenario;
    return mesh_plane_size(mesh) * mesh->pp;
}

static uint32_t tensor_size(const struct mesh *mesh)
{
    return mesh->tp;
}

static void tensor_members(const struct mesh *mesh, uint32_t number, uint32_t *ranks)
{
    const uint32_t plane = number % mesh_plane_size(mesh);
    mesh_tensor_group(mesh, plane % mesh->cp, plane / mesh->cp, number / mesh_plane_size(mesh),
                      ranks);
}

/* ---- context: parts of the same sequences -------------------------------------------- */

static uint32_t context_count(const struct scenario *scenario, const struct mesh *mesh)
{
    (void)scenario;
    return mesh->tp * mesh->dp * mesh->pp;
}

static uint32_t context_size(const struct mesh *mesh)
{
    return mesh->cp;
}

static void context_members(const struct mesh *mesh, uint32_t number, uint32_t *ranks)
{
    const uint32_t dp = number / mesh->tp % mesh->dp;
    mesh_context_group(mesh, number % mesh->tp, dp, number / (mesh->tp * mesh->dp), ranks);
}

/* ---- expert: tokens travel to their experts ------------------------------------------ */

static uint32_t expert_count(const struct scenario *scenario, const struct mesh *mesh)
{
    (void)scenario;
    return mesh->tp * (mesh_plane_size(mesh) / mesh->ep) * mesh->pp;
}

static uint32_t expert_size(const struct mesh *mesh)
{
    return mesh->ep;
}

static void expert_members(const struct mesh *mesh, uint32_t number, uint32_t *ranks)
{
    const uint32_t planes = mesh_plane_size(mesh) / mesh->ep;
    const uint32_t plane_first = number / mesh->tp % planes * mesh->ep;
    mesh_expert_group(mesh, number % mesh->tp, plane_first, number / (mesh->tp * planes), ranks);
}

/* ---- embedding: first and last stage keep tied embeddings ---------------------------- */

static uint32_t embedding_count(const struct scenario *scenario, const struct mesh *mesh)
{
    const bool is_shared = mesh->pp > 1 && scenario->model.has_tied_embeddings;
    return is_shared ? mesh->tp * mesh_plane_size(mesh) : 0;
}

static uint32_t embedding_size(const struct mesh *mesh)
{
    (void)mesh;
    return 2;
}

static void embedding_members(const struct mesh *mesh, uint32_t number, uint32_t *ranks)
{
    ranks[0] = number;
    ranks[1] = (mesh->pp - 1) * mesh->tp * mesh_plane_size(mesh) + number;
}

/* ---- data: the same dense parameters ------------------------------------------------- */

static uint32_t data_count(const struct scenario *scenario, const struct mesh *mesh)
{
    (void)scenario;
    return mesh->tp * mesh->pp;
}

static uint32_t data_size(const struct mesh *mesh)
{
    return mesh_plane_size(mesh);
}

static void data_members(const struct mesh *mesh, uint32_t number, uint32_t *ranks)
{
    mesh_data_group(mesh, number % mesh->tp, number / mesh->tp, ranks);
}

/* ---- expert data: the same experts --------------------------------------------------- */

static uint32_t expert_data_count(const struct scenario *scenario, const struct mesh *mesh)
{
    return scenario->model.experts > 0 ? mesh->tp * mesh->ep * mesh->pp : 0;
}

static uint32_t expert_data_size(const struct mesh *mesh)
{
    return mesh_plane_size(mesh) / mesh->ep;
}

static void expert_data_members(const struct mesh *mesh, uint32_t number, uint32_t *ranks)
{
    const uint32_t expert = number / mesh->tp % mesh->ep;
    mesh_expert_data_group(mesh, number % mesh->tp, expert, number / (mesh->tp * mesh->ep), ranks);
}

/* ---- world: everybody ---------------------------------------------------------------- */

static uint32_t world_count(const struct scenario *scenario, const struct mesh *mesh)
{
    (void)scenario;
    (void)mesh;
    return 1;
}

static uint32_t world_size(const struct mesh *mesh)
{
    return mesh_size(mesh);
}

static void world_members(const struct mesh *mesh, uint32_t number, uint32_t *ranks)
{
    sim_assert(number == 0);
    for (uint32_t i = 0; i < mesh_size(mesh); i++) {
        ranks[i] = i;
    }
}

/* ---- the table ----------------------------------------------------------------------- */

const struct group_row group_rows[GROUP_KIND_COUNT_] = {
    [GROUP_TENSOR] = {.name = "tensor",
                      .choice = COLLECTIVE_USER_TENSOR,
                      .count = tensor_count,
                      .size = tensor_size,
                      .members = tensor_members,
                      .streams = {STREAM_TENSOR},
                      .stream_count = 1},
    [GROUP_CONTEXT] = {.name = "context",
                       .choice = COLLECTIVE_USER_CONTEXT,
                       .count = context_count,
                       .size = context_size,
                       .members = context_members,
                       .streams = {STREAM_CONTEXT},
                       .stream_count = 1},
    [GROUP_EXPERT] = {.name = "expert",
                      .choice = COLLECTIVE_USER_EXPERT,
                      .count = expert_count,
                      .size = expert_size,
                      .members = expert_members,
                      .streams = {STREAM_EXPERT},
                      .stream_count = 1},
    [GROUP_EMBEDDING] = {.name = "embedding",
                         .choice = COLLECTIVE_USER_DATA,
                         .count = embedding_count,
                         .size = embedding_size,
                         .members = embedding_members,
                         .streams = {STREAM_EMBEDDING},
                         .stream_count = 1},
    [GROUP_DATA] = {.name = "data",
                    .choice = COLLECTIVE_USER_DATA,
                    .count = data_count,
                    .size = data_size,
                    .members = data_members,
                    .streams = {STREAM_DATA_GATHER, STREAM_DATA_REDUCE},
                    .stream_count = 2},
    [GROUP_EXPERT_DATA] = {.name = "expert data",
                           .choice = COLLECTIVE_USER_DATA,
                           .count = expert_data_count,
                           .size = expert_data_size,
                           .members = expert_data_members,
                           .streams = {STREAM_EXPERT_GATHER, STREAM_EXPERT_REDUCE},
                           .stream_count = 2},
    [GROUP_WORLD] = {.name = "world",
                     .choice = COLLECTIVE_USER_WORLD,
                     .count = world_count,
                     .size = world_size,
                     .members = world_members,
                     .streams = {STREAM_WORLD},
                     .stream_count = 1,
                     .is_latency_only = true},
};

uint32_t groups_count(enum group_kind kind, const struct scenario *scenario,
                      const struct mesh *mesh)
{
    const struct group_row *row = &group_rows[kind];
    return row->size(mesh) > 1 || kind == GROUP_WORLD ? row->count(scenario, mesh) : 0;
}
