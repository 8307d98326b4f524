/* Lines, shards and replicas are the mesh's (plan/mesh); a row of the table says which of them a
 * kind of group is.
 */
#include "train/groups.h"

#include "base/check.h"
#include "input/collectives.h"
#include "input/features/layout_words.h"
#include "input/layout.h"

const struct group_row group_rows[GROUP_KIND_COUNT_] = {
    [GROUP_TENSOR] = {.name = "tensor",
                      .choice = COLLECTIVE_USER_TENSOR,
                      .members = GROUP_OF_LINE,
                      .line = MESH_TENSOR,
                      .streams = {STREAM_TENSOR},
                      .stream_count = 1},
    [GROUP_CONTEXT] = {.name = "context",
                       .choice = COLLECTIVE_USER_CONTEXT,
                       .members = GROUP_OF_LINE,
                       .line = MESH_CONTEXT,
                       .streams = {STREAM_CONTEXT},
                       .stream_count = 1},
    [GROUP_EXPERT] = {.name = "expert",
                      .choice = COLLECTIVE_USER_EXPERT,
                      .members = GROUP_OF_LINE,
                      .line = MESH_EXPERT,
                      .streams = {STREAM_EXPERT},
                      .stream_count = 1},
    [GROUP_EXPERT_TENSOR] = {.name = "expert tensor",
                             .choice = COLLECTIVE_USER_TENSOR,
                             .members = GROUP_OF_LINE,
                             .line = MESH_EXPERT_TENSOR,
                             .streams = {STREAM_EXPERT_TENSOR},
                             .stream_count = 1},
    [GROUP_EMBEDDING] = {.name = "embedding",
                         .choice = COLLECTIVE_USER_DATA,
                         .members = GROUP_OF_ENDS,
                         .streams = {STREAM_EMBEDDING},
                         .stream_count = 1},
    [GROUP_DATA] = {.name = "data",
                    .choice = COLLECTIVE_USER_DATA,
                    .members = GROUP_OF_SHARDS,
                    .line = MESH_DATA,
                    .streams = {STREAM_DATA_GATHER, STREAM_DATA_REDUCE},
                    .stream_count = 2},
    [GROUP_REPLICA] = {.name = "replica",
                       .choice = COLLECTIVE_USER_DATA,
                       .members = GROUP_OF_REPLICAS,
                       .line = MESH_DATA,
                       .streams = {STREAM_REPLICA_REDUCE},
                       .stream_count = 1},
    [GROUP_EXPERT_DATA] = {.name = "expert data",
                           .choice = COLLECTIVE_USER_DATA,
                           .members = GROUP_OF_SHARDS,
                           .line = MESH_EXPERT_DATA,
                           .streams = {STREAM_EXPERT_GATHER, STREAM_EXPERT_REDUCE},
                           .stream_count = 2},
    [GROUP_EXPERT_REPLICA] = {.name = "expert replica",
                              .choice = COLLECTIVE_USER_DATA,
                              .members = GROUP_OF_REPLICAS,
                              .line = MESH_EXPERT_DATA,
                              .streams = {STREAM_EXPERT_REPLICA},
                              .stream_count = 1},
    [GROUP_LOCAL] = {.name = "local",
                     .choice = COLLECTIVE_USER_DATA,
                     .members = GROUP_OF_NEIGHBOURS,
                     .streams = {STREAM_LOCAL_GATHER, STREAM_LOCAL_REDUCE},
                     .stream_count = 2},
    [GROUP_ACROSS] = {.name = "across",
                      .choice = COLLECTIVE_USER_DATA,
                      .members = GROUP_OF_PLACES,
                      .streams = {STREAM_ACROSS_REDUCE},
                      .stream_count = 1},
    [GROUP_SCALES] = {.name = "scales",
                      .choice = COLLECTIVE_USER_WORLD,
                      .members = GROUP_OF_STAGE,
                      .streams = {STREAM_SCALES},
                      .stream_count = 1,
                      .is_latency_only = true},
    [GROUP_WORLD] = {.name = "world",
                     .choice = COLLECTIVE_USER_WORLD,
                     .members = GROUP_OF_ALL,
                     .streams = {STREAM_WORLD},
                     .stream_count = 1,
                     .is_latency_only = true},
};

/* ---- a job's groups ------------------------------------------------------------------- */

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

struct group_layout group_layout_of(const struct mesh *mesh, const struct parallel *parallel,
                                    const struct model *model)
{
    const uint32_t first = stage_of_piece(parallel, 0);
    const uint32_t last = stage_of_piece(parallel, layout_pieces(parallel) - 1);
    return (struct group_layout){
        .mesh = mesh,
        .has_experts = model->experts > 0,
        .local_ranks = (uint32_t)parallel->zero_local_group,
        .first_stage = first,
        .last_stage = last,
        .sums_embeddings = (model->has_tied_embeddings || model->mtp_layers > 0) &&
                           parallel->schedule != SCHEDULE_DUALPIPE && first != last,
    };
}

/* Copies of the parameters among those that hold them. */
static uint32_t copies_of(const struct mesh *mesh, enum mesh_line line)
{
    return mesh_holders(mesh, line) / mesh_shards(mesh, line);
}

/* Whether the model, beside the layout, makes groups of the kind. */
static bool has_kind(const struct group_layout *layout, enum group_kind kind)
{
    switch (kind) {
    case GROUP_EMBEDDING:
        return layout->sums_embeddings;
    case GROUP_EXPERT_TENSOR:
        return layout->has_experts && !mesh_experts_use_tensor_lines(layout->mesh);
    case GROUP_EXPERT_DATA:
    case GROUP_EXPERT_REPLICA:
        return layout->has_experts;
    case GROUP_LOCAL:
    case GROUP_ACROSS:
        return layout->local_ranks > 0;
    case GROUP_SCALES:
        return layout->reduces_scales;
    default:
        return true;
    }
}

uint32_t groups_size(const struct group_layout *layout, enum group_kind kind)
{
    const struct group_row *row = &group_rows[kind];
    switch (row->members) {
    case GROUP_OF_LINE:
        return mesh_line_size(layout->mesh, row->line);
    case GROUP_OF_SHARDS:
        return mesh_shards(layout->mesh, row->line);
    case GROUP_OF_REPLICAS:
        return copies_of(layout->mesh, row->line);
    case GROUP_OF_NEIGHBOURS:
        return layout->local_ranks > 0 ? layout->local_ranks : 1;
    case GROUP_OF_PLACES:
        return layout->local_ranks > 0 ? mesh_size(layout->mesh) / layout->local_ranks : 1;
    case GROUP_OF_ENDS:
        return 2;
    case GROUP_OF_STAGE:
        return mesh_stage_size(layout->mesh);
    case GROUP_OF_ALL:
        break;
    }
    return mesh_size(layout->mesh);
}

uint32_t groups_count(const struct group_layout *layout, enum group_kind kind)
{
    const struct group_row *row = &group_rows[kind];
    const struct mesh *mesh = layout->mesh;
    const bool is_lone = groups_size(layout, kind) == 1 && kind != GROUP_WORLD;
    if (is_lone || !has_kind(layout, kind)) {
        return 0;
    }
    switch (row->members) {
    case GROUP_OF_LINE:
        return mesh_line_count(mesh, row->line) * mesh->pp;
    case GROUP_OF_SHARDS:
        return mesh_holder_groups(mesh, row->line) * copies_of(mesh, row->line);
    case GROUP_OF_REPLICAS:
        return mesh_holder_groups(mesh, row->line) * mesh_shards(mesh, row->line);
    case GROUP_OF_NEIGHBOURS:
    case GROUP_OF_PLACES:
        return mesh_size(mesh) / groups_size(layout, kind);
    case GROUP_OF_ENDS:
        return mesh_stage_size(mesh);
    case GROUP_OF_STAGE:
        return mesh->pp;
    case GROUP_OF_ALL:
        break;
    }
    return 1;
}

static uint32_t member(const struct group_layout *layout, const struct group_row *row,
                       uint32_t number, uint32_t i)
{
    const struct mesh *mesh = layout->mesh;
    if (row->members == GROUP_OF_ENDS) {
        return mesh_stage_rank(mesh, i == 0 ? layout->first_stage : layout->last_stage, number);
    }
    if (row->members == GROUP_OF_ALL) {
        return i;
    }
    if (row->members == GROUP_OF_STAGE) {
        return mesh_stage_rank(mesh, number, i);
    }
    if (row->members == GROUP_OF_NEIGHBOURS) {
        return number * layout->local_ranks + i;
    }
    if (row->members == GROUP_OF_PLACES) {
        return number + i * layout->local_ranks;
    }
    const uint32_t shards = mesh_shards(mesh, row->line);
    const uint32_t copies = copies_of(mesh, row->line);
    return row->members == GROUP_OF_SHARDS
               ? mesh_holder_rank(mesh, row->line, number / copies, number % copies * shards + i)
               : mesh_holder_rank(mesh, row->line, number / shards, number % shards + i * shards);
}

uint32_t groups_first(const struct group_layout *layout, enum group_kind kind, uint32_t number)
{
    const struct group_row *row = &group_rows[kind];
    return row->members == GROUP_OF_LINE ? mesh_line_rank(layout->mesh, row->line, number, 0)
                                         : member(layout, row, number, 0);
}

void groups_members(const struct group_layout *layout, enum group_kind kind, uint32_t number,
                    uint32_t *ranks)
{
    const struct group_row *row = &group_rows[kind];
    sim_assert(number < groups_count(layout, kind));
    const bool is_whole_line = row->members == GROUP_OF_SHARDS && layout->mesh->holders == 1 &&
                               copies_of(layout->mesh, row->line) == 1;
    if (row->members == GROUP_OF_LINE || is_whole_line) {
        mesh_line_ranks(layout->mesh, row->line, number, ranks);
        return;
    }
    const uint32_t size = groups_size(layout, kind);
    for (uint32_t i = 0; i < size; i++) {
        ranks[i] = member(layout, row, number, i);
    }
}

/* First ranks of a stage's lines rise with their numbers: both are put together of the same digits
 * in one order. */
uint32_t groups_seek(const struct group_layout *layout, enum group_kind kind, uint32_t number,
                     uint32_t rank)
{
    const struct group_row *row = &group_rows[kind];
    if (row->members != GROUP_OF_LINE) {
        return number + 1;
    }
    const uint32_t count = mesh_line_count(layout->mesh, row->line);
    uint32_t below = number;
    uint32_t end = number - number % count + count; /* at least `rank`, or the next stage's */
    for (uint32_t step = 1; below + step < end; step *= 2) {
        if (groups_first(layout, kind, below + step) >= rank) {
            end = below + step;
            break;
        }
        below += step;
    }
    while (end - below > 1) {
        const uint32_t middle = below + (end - below) / 2;
        if (groups_first(layout, kind, middle) >= rank) {
            end = middle;
        } else {
            below = middle;
        }
    }
    return end;
}

/* ---- between stages -------------------------------------------------------------------- */

static bool is_next(enum schedule_kind schedule, uint32_t stages, uint32_t from, uint32_t to)
{
    sim_assert(from < stages && to < stages && from != to);
    const bool wraps = stages > 2 || schedule == SCHEDULE_INTERLEAVED;
    return to == from + 1 || (wraps && from == stages - 1 && to == 0);
}

bool groups_is_next_stage(const struct parallel *parallel, uint32_t from, uint32_t to)
{
    return is_next((enum schedule_kind)parallel->schedule, (uint32_t)parallel->pp, from, to);
}

/* Gradients take the other way of the activations that they answer. */
bool groups_goes_ahead(enum schedule_kind schedule, uint32_t stages, uint32_t from, uint32_t to,
                       bool is_forward)
{
    return is_forward ? is_next(schedule, stages, from, to) : !is_next(schedule, stages, to, from);
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
