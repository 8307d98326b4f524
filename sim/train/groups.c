/* The members of each kind of group are lines of the mesh (plan/mesh) along
 * some of its axes. Three small functions for each kind (how many groups, how
 * large, who is in one) stand in the table at the end.
 */
#include "train/groups.h"

#include "base/check.h"
#include "input/layout.h"

/* ---- lines of the mesh ----------------------------------------------------------------- */

static uint32_t all_lines(const struct mesh *mesh, enum mesh_line line)
{
    return mesh_line_count(mesh, line) * mesh->pp;
}

/* tensor: the same sequences, layers split */

static uint32_t tensor_count(const struct scenario *scenario, const struct mesh *mesh)
{
    (void)scenario;
    return all_lines(mesh, MESH_TENSOR);
}

static uint32_t tensor_size(const struct mesh *mesh)
{
    return mesh_line_size(mesh, MESH_TENSOR);
}

static void tensor_members(const struct scenario *scenario, const struct mesh *mesh,
                           uint32_t number, uint32_t *ranks)
{
    (void)scenario;
    mesh_line_ranks(mesh, MESH_TENSOR, number, ranks);
}

/* context: parts of the same sequences */

static uint32_t context_count(const struct scenario *scenario, const struct mesh *mesh)
{
    (void)scenario;
    return all_lines(mesh, MESH_CONTEXT);
}

static uint32_t context_size(const struct mesh *mesh)
{
    return mesh_line_size(mesh, MESH_CONTEXT);
}

static void context_members(const struct scenario *scenario, const struct mesh *mesh,
                            uint32_t number, uint32_t *ranks)
{
    (void)scenario;
    mesh_line_ranks(mesh, MESH_CONTEXT, number, ranks);
}

/* expert: tokens travel to their experts */

static uint32_t expert_count(const struct scenario *scenario, const struct mesh *mesh)
{
    (void)scenario;
    return all_lines(mesh, MESH_EXPERT);
}

static uint32_t expert_size(const struct mesh *mesh)
{
    return mesh_line_size(mesh, MESH_EXPERT);
}

static void expert_members(const struct scenario *scenario, const struct mesh *mesh,
                           uint32_t number, uint32_t *ranks)
{
    (void)scenario;
    mesh_line_ranks(mesh, MESH_EXPERT, number, ranks);
}

/* expert tensor: parts of the same expert */

static uint32_t expert_tensor_count(const struct scenario *scenario, const struct mesh *mesh)
{
    const bool are_others = scenario->model.experts > 0 && !mesh_experts_use_tensor_lines(mesh);
    return are_others ? all_lines(mesh, MESH_EXPERT_TENSOR) : 0;
}

static uint32_t expert_tensor_size(const struct mesh *mesh)
{
    return mesh_line_size(mesh, MESH_EXPERT_TENSOR);
}

static void expert_tensor_members(const struct scenario *scenario, const struct mesh *mesh,
                                  uint32_t number, uint32_t *ranks)
{
    (void)scenario;
    mesh_line_ranks(mesh, MESH_EXPERT_TENSOR, number, ranks);
}

/* ---- embedding: two stages keep tied embeddings ---------------------------------------- */

/* The first stage that holds a piece; every piece lies on one. */
static uint32_t stage_of_piece(const struct parallel *parallel, int64_t piece)
{
    int64_t stage = 0;
    int64_t chunk = 0;
    while (layout_piece(parallel, stage, chunk) != piece) {
        chunk = (chunk + 1) % parallel->virtual_stages;
        stage += chunk == 0;
        sim_assert(stage < parallel->pp);
    }
    return (uint32_t)stage;
}

bool groups_embedding_stages(const struct scenario *scenario, uint32_t *first, uint32_t *last)
{
    const struct parallel *parallel = &scenario->parallel;
    *first = stage_of_piece(parallel, 0);
    *last = stage_of_piece(parallel, layout_pieces(parallel) - 1);
    return scenario->model.has_tied_embeddings && parallel->schedule != SCHEDULE_DUALPIPE &&
           *first != *last;
}

static uint32_t embedding_count(const struct scenario *scenario, const struct mesh *mesh)
{
    uint32_t first;
    uint32_t last;
    return groups_embedding_stages(scenario, &first, &last) ? mesh_stage_size(mesh) : 0;
}

static uint32_t embedding_size(const struct mesh *mesh)
{
    (void)mesh;
    return 2;
}

static void embedding_members(const struct scenario *scenario, const struct mesh *mesh,
                              uint32_t number, uint32_t *ranks)
{
    uint32_t first;
    uint32_t last;
    const bool is_shared = groups_embedding_stages(scenario, &first, &last);
    sim_assert(is_shared);
    ranks[0] = mesh_stage_rank(mesh, first, number);
    ranks[1] = mesh_stage_rank(mesh, last, number);
}

/* ---- data: the same parameters --------------------------------------------------------- */

/* Copies of the parameters among those that hold them. */
static uint32_t copies_of(const struct mesh *mesh, enum mesh_line line)
{
    return mesh_holders(mesh, line) / mesh_shards(mesh, line);
}

/* Those that hold one copy. */
static void shard_members(const struct mesh *mesh, enum mesh_line line, uint32_t number,
                          uint32_t *ranks)
{
    const uint32_t copies = copies_of(mesh, line);
    const uint32_t shards = mesh_shards(mesh, line);
    for (uint32_t i = 0; i < shards; i++) {
        ranks[i] = mesh_holder_rank(mesh, line, number / copies, number % copies * shards + i);
    }
}

/* Those that hold the same shard. */
static void replica_members(const struct mesh *mesh, enum mesh_line line, uint32_t number,
                            uint32_t *ranks)
{
    const uint32_t shards = mesh_shards(mesh, line);
    for (uint32_t i = 0; i < copies_of(mesh, line); i++) {
        ranks[i] = mesh_holder_rank(mesh, line, number / shards, number % shards + i * shards);
    }
}

static uint32_t data_count(const struct scenario *scenario, const struct mesh *mesh)
{
    (void)scenario;
    return mesh_holder_groups(mesh, MESH_DATA) * copies_of(mesh, MESH_DATA);
}

static uint32_t data_size(const struct mesh *mesh)
{
    return mesh_shards(mesh, MESH_DATA);
}

static void data_members(const struct scenario *scenario, const struct mesh *mesh, uint32_t number,
                         uint32_t *ranks)
{
    (void)scenario;
    shard_members(mesh, MESH_DATA, number, ranks);
}

static uint32_t replica_count(const struct scenario *scenario, const struct mesh *mesh)
{
    (void)scenario;
    return mesh_holder_groups(mesh, MESH_DATA) * mesh_shards(mesh, MESH_DATA);
}

static uint32_t replica_size(const struct mesh *mesh)
{
    return copies_of(mesh, MESH_DATA);
}

static void data_replica_members(const struct scenario *scenario, const struct mesh *mesh,
                                 uint32_t number, uint32_t *ranks)
{
    (void)scenario;
    replica_members(mesh, MESH_DATA, number, ranks);
}

static uint32_t expert_data_count(const struct scenario *scenario, const struct mesh *mesh)
{
    const uint32_t groups = mesh_holder_groups(mesh, MESH_EXPERT_DATA);
    return scenario->model.experts > 0 ? groups * copies_of(mesh, MESH_EXPERT_DATA) : 0;
}

static uint32_t expert_data_size(const struct mesh *mesh)
{
    return mesh_shards(mesh, MESH_EXPERT_DATA);
}

static void expert_data_members(const struct scenario *scenario, const struct mesh *mesh,
                                uint32_t number, uint32_t *ranks)
{
    (void)scenario;
    shard_members(mesh, MESH_EXPERT_DATA, number, ranks);
}

static uint32_t expert_replica_count(const struct scenario *scenario, const struct mesh *mesh)
{
    const uint32_t groups = mesh_holder_groups(mesh, MESH_EXPERT_DATA);
    return scenario->model.experts > 0 ? groups * mesh_shards(mesh, MESH_EXPERT_DATA) : 0;
}

static uint32_t expert_replica_size(const struct mesh *mesh)
{
    return copies_of(mesh, MESH_EXPERT_DATA);
}

static void expert_replica_members(const struct scenario *scenario, const struct mesh *mesh,
                                   uint32_t number, uint32_t *ranks)
{
    (void)scenario;
    replica_members(mesh, MESH_EXPERT_DATA, number, ranks);
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

static void world_members(const struct scenario *scenario, const struct mesh *mesh, uint32_t number,
                          uint32_t *ranks)
{
    (void)scenario;
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
    [GROUP_EXPERT_TENSOR] = {.name = "expert tensor",
                             .choice = COLLECTIVE_USER_TENSOR,
                             .count = expert_tensor_count,
                             .size = expert_tensor_size,
                             .members = expert_tensor_members,
                             .streams = {STREAM_EXPERT_TENSOR},
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
    [GROUP_REPLICA] = {.name = "replica",
                       .choice = COLLECTIVE_USER_DATA,
                       .count = replica_count,
                       .size = replica_size,
                       .members = data_replica_members,
                       .streams = {STREAM_REPLICA_REDUCE},
                       .stream_count = 1},
    [GROUP_EXPERT_DATA] = {.name = "expert data",
                           .choice = COLLECTIVE_USER_DATA,
                           .count = expert_data_count,
                           .size = expert_data_size,
                           .members = expert_data_members,
                           .streams = {STREAM_EXPERT_GATHER, STREAM_EXPERT_REDUCE},
                           .stream_count = 2},
    [GROUP_EXPERT_REPLICA] = {.name = "expert replica",
                              .choice = COLLECTIVE_USER_DATA,
                              .count = expert_replica_count,
                              .size = expert_replica_size,
                              .members = expert_replica_members,
                              .streams = {STREAM_EXPERT_REPLICA},
                              .stream_count = 1},
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

/* ---- between stages -------------------------------------------------------------------- */

bool groups_is_next_stage(const struct parallel *parallel, uint32_t from, uint32_t to)
{
    const uint32_t last = (uint32_t)parallel->pp - 1;
    sim_assert(from <= last && to <= last && from != to);
    const bool wraps = last > 1 || parallel->schedule == SCHEDULE_INTERLEAVED;
    return to == from + 1 || (wraps && from == last && to == 0);
}

bool groups_have_boundary(const struct parallel *parallel, uint32_t stage)
{
    const uint32_t next = (stage + 1) % (uint32_t)parallel->pp;
    if (parallel->pp == 1 || !groups_is_next_stage(parallel, stage, next)) {
        return false;
    }
    if (next > stage) {
        return true;
    }
    /* Around: consecutive pieces on the last stage and the first, either way. */
    for (int64_t i = 0; i < parallel->virtual_stages; i++) {
        for (int64_t k = 0; k < parallel->virtual_stages; k++) {
            const int64_t from = layout_piece(parallel, (int64_t)stage, i);
            const int64_t to = layout_piece(parallel, 0, k);
            if (from - to == 1 || to - from == 1) {
                return true;
            }
        }
    }
    return false;
}
