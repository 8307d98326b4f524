/* Numbers in mixed radix. Every function walks the axes of an order from the fastest on and
 * takes digits off a number, or puts them together; a line takes the digits of its own axes from
 * the member's index and all others from the line's number. */
#include "plan/mesh.h"

#include "base/check.h"
#include "input/features/layout_words.h"

#include <string.h>

/* ---- axes ---------------------------------------------------------------------------- */

/* Whose numbering of a stage's places. */
enum folding { FOLD_DENSE, FOLD_EXPERT };

/* In each folding an axis that has no part in it is of size 1. */
static uint32_t axis_size(const struct mesh *mesh, enum folding folding, enum parallel_axis axis)
{
    const bool is_dense = folding == FOLD_DENSE;
    switch (axis) {
    case AXIS_TP:
        return is_dense ? mesh->tp : mesh->etp;
    case AXIS_CP:
        return is_dense ? mesh->cp : 1;
    case AXIS_EP:
        return is_dense ? 1 : mesh->ep;
    case AXIS_DP:
        return is_dense ? mesh->dp : mesh_stage_size(mesh) / (mesh->etp * mesh->ep);
    default:
        return 1; /* a stage is all of one pp */
    }
}

#define SET(axis) (1u << (axis))

static const struct line_row {
    enum folding folding;
    uint32_t axes; /* in which the members differ */
} lines[MESH_LINE_COUNT_] = {
    [MESH_TENSOR] = {FOLD_DENSE, SET(AXIS_TP)},
    [MESH_CONTEXT] = {FOLD_DENSE, SET(AXIS_CP)},
    [MESH_DATA] = {FOLD_DENSE, SET(AXIS_CP) | SET(AXIS_DP)},
    [MESH_EXPERT] = {FOLD_EXPERT, SET(AXIS_EP)},
    [MESH_EXPERT_TENSOR] = {FOLD_EXPERT, SET(AXIS_TP)},
    [MESH_EXPERT_DATA] = {FOLD_EXPERT, SET(AXIS_DP)},
};

/* ---- the mesh ------------------------------------------------------------------------ */

static bool is_permutation(const uint8_t *order)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        seen |= SET(order[i]);
    }
    return seen == SET(AXIS_COUNT_) - 1;
}

static void check_mesh(const struct mesh *mesh)
{
    sim_assert(mesh->tp >= 1 && mesh->cp >= 1 && mesh->dp >= 1 && mesh->pp >= 1);
    sim_assert(mesh->ep >= 1 && mesh->etp >= 1);
    sim_assert(mesh_stage_size(mesh) % (mesh->ep * mesh->etp) == 0);
    sim_assert(mesh->holders == 1 || (mesh->holders == 2 && mesh->pp % 2 == 0));
    sim_assert(mesh->shards >= 1 && mesh_holders(mesh, MESH_DATA) % mesh->shards == 0);
    sim_assert(is_permutation(mesh->order));
}

struct mesh mesh_of(const struct parallel *parallel)
{
    struct mesh mesh = {.tp = (uint32_t)parallel->tp,
                        .cp = (uint32_t)parallel->cp,
                        .dp = (uint32_t)parallel->dp,
                        .pp = (uint32_t)parallel->pp,
                        .ep = (uint32_t)parallel->ep,
                        .etp = (uint32_t)parallel->etp,
                        .holders = parallel->schedule == SCHEDULE_DUALPIPE ? 2 : 1};
    memcpy(mesh.order, parallel->order, sizeof mesh.order);
    const bool is_whole =
        parallel->zero == 0 || parallel->zero_group == parallel->cp * parallel->dp;
    mesh.shards = is_whole ? mesh_holders(&mesh, MESH_DATA) : (uint32_t)parallel->zero_group;
    check_mesh(&mesh);
    return mesh;
}

uint32_t mesh_plane_size(const struct mesh *mesh)
{
    return mesh->cp * mesh->dp;
}

uint32_t mesh_stage_size(const struct mesh *mesh)
{
    return mesh->tp * mesh_plane_size(mesh);
}

uint32_t mesh_size(const struct mesh *mesh)
{
    return mesh_stage_size(mesh) * mesh->pp;
}

/* ---- ranks --------------------------------------------------------------------------- */

/* Ranks between a rank and its like on the next stage. */
static uint32_t stage_stride(const struct mesh *mesh)
{
    uint32_t stride = 1;
    for (uint32_t i = 0; mesh->order[i] != AXIS_PP; i++) {
        stride *= axis_size(mesh, FOLD_DENSE, (enum parallel_axis)mesh->order[i]);
    }
    return stride;
}

uint32_t mesh_stage_rank(const struct mesh *mesh, uint32_t stage, uint32_t place)
{
    sim_assert(stage < mesh->pp);
    sim_assert(place < mesh_stage_size(mesh));
    const uint32_t stride = stage_stride(mesh);
    return place % stride + stride * (stage + mesh->pp * (place / stride));
}

uint32_t mesh_stage_of(const struct mesh *mesh, uint32_t rank)
{
    sim_assert(rank < mesh_size(mesh));
    return rank / stage_stride(mesh) % mesh->pp;
}

uint32_t mesh_stage_place(const struct mesh *mesh, uint32_t rank)
{
    sim_assert(rank < mesh_size(mesh));
    const uint32_t stride = stage_stride(mesh);
    return rank % stride + stride * (rank / stride / mesh->pp);
}

uint32_t mesh_rank(const struct mesh *mesh, const struct mesh_place *place)
{
    const uint32_t coordinates[AXIS_COUNT_] = {
        [AXIS_TP] = place->tp, [AXIS_CP] = place->cp, [AXIS_DP] = place->dp};
    uint32_t number = 0;
    uint32_t stride = 1;
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        const enum parallel_axis axis = (enum parallel_axis)mesh->order[i];
        const uint32_t size = axis_size(mesh, FOLD_DENSE, axis);
        sim_assert(coordinates[axis] < size);
        number += coordinates[axis] * stride;
        stride *= size;
    }
    return mesh_stage_rank(mesh, place->pp, number);
}

struct mesh_place mesh_place_of(const struct mesh *mesh, uint32_t rank)
{
    uint32_t coordinates[AXIS_COUNT_] = {0};
    uint32_t rest = mesh_stage_place(mesh, rank);
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        const enum parallel_axis axis = (enum parallel_axis)mesh->order[i];
        const uint32_t size = axis_size(mesh, FOLD_DENSE, axis);
        coordinates[axis] = rest % size;
        rest /= size;
    }
    return (struct mesh_place){.tp = coordinates[AXIS_TP],
                               .cp = coordinates[AXIS_CP],
                               .dp = coordinates[AXIS_DP],
                               .pp = mesh_stage_of(mesh, rank)};
}

/* ---- lines --------------------------------------------------------------------------- */

uint32_t mesh_line_size(const struct mesh *mesh, enum mesh_line line)
{
    sim_assert(line < MESH_LINE_COUNT_);
    uint32_t size = 1;
    for (uint32_t axis = 0; axis < AXIS_COUNT_; axis++) {
        if ((lines[line].axes & SET(axis)) != 0) {
            size *= axis_size(mesh, lines[line].folding, (enum parallel_axis)axis);
        }
    }
    return size;
}

uint32_t mesh_line_count(const struct mesh *mesh, enum mesh_line line)
{
    return mesh_stage_size(mesh) / mesh_line_size(mesh, line);
}

/* The place of member `index` of a line of a stage. */
static uint32_t line_place(const struct mesh *mesh, enum mesh_line line, uint32_t number,
                           uint32_t index)
{
    const struct line_row *row = &lines[line];
    uint32_t place = 0;
    uint32_t stride = 1;
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        const enum parallel_axis axis = (enum parallel_axis)mesh->order[i];
        const uint32_t size = axis_size(mesh, row->folding, axis);
        if (size == 1) {
            continue;
        }
        uint32_t *digits = (row->axes & SET(axis)) != 0 ? &index : &number;
        place += *digits % size * stride;
        *digits /= size;
        stride *= size;
    }
    return place;
}

uint32_t mesh_line_rank(const struct mesh *mesh, enum mesh_line line, uint32_t number,
                        uint32_t index)
{
    const uint32_t count = mesh_line_count(mesh, line);
    sim_assert(number < count * mesh->pp);
    return mesh_stage_rank(mesh, number / count, line_place(mesh, line, number % count, index));
}

/* A place is a sum over digits, those of the line's number and those of the member's index. The
 * latter are even steps unless a line has two axes with another one between them. */
void mesh_line_ranks(const struct mesh *mesh, enum mesh_line line, uint32_t number, uint32_t *ranks)
{
    const uint32_t count = mesh_line_count(mesh, line);
    const uint32_t size = mesh_line_size(mesh, line);
    sim_assert(number < count * mesh->pp);
    const uint32_t first = line_place(mesh, line, number % count, 0);
    const uint32_t step = size > 1 ? line_place(mesh, line, 0, 1) : 0;
    const bool is_even = line_place(mesh, line, 0, size - 1) == (size - 1) * step;
    const uint32_t stride = stage_stride(mesh);
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t place = first + (is_even ? i * step : line_place(mesh, line, 0, i));
        ranks[i] = place % stride + stride * (number / count + mesh->pp * (place / stride));
    }
}

/* The line's axes come first, and stages do not cut them. */
bool mesh_lines_are_blocks(const struct mesh *mesh, enum mesh_line line)
{
    bool is_past = false;
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        const enum parallel_axis axis = (enum parallel_axis)mesh->order[i];
        const bool is_own = (lines[line].axes & SET(axis)) != 0;
        if (axis_size(mesh, lines[line].folding, axis) > 1) {
            if (is_own && is_past) {
                return false;
            }
            is_past = is_past || !is_own;
        }
    }
    return mesh->pp == 1 || stage_stride(mesh) % mesh_line_size(mesh, line) == 0;
}

/* Equal sizes and equal steps between members make equal lines. */
bool mesh_experts_use_tensor_lines(const struct mesh *mesh)
{
    return mesh->etp == mesh->tp &&
           (mesh->tp == 1 ||
            line_place(mesh, MESH_TENSOR, 0, 1) == line_place(mesh, MESH_EXPERT_TENSOR, 0, 1));
}

/* ---- shards -------------------------------------------------------------------------- */

uint32_t mesh_holders(const struct mesh *mesh, enum mesh_line line)
{
    sim_assert(line == MESH_DATA || line == MESH_EXPERT_DATA);
    return mesh->holders * mesh_line_size(mesh, line);
}

uint32_t mesh_shards(const struct mesh *mesh, enum mesh_line line)
{
    if (line == MESH_DATA) {
        return mesh->shards;
    }
    const uint32_t copy = mesh->shards * mesh->tp; /* ranks that hold one copy of the rest */
    const uint32_t experts = mesh->ep * mesh->etp;
    return copy % experts == 0 ? copy / experts : 1;
}

uint32_t mesh_holder_groups(const struct mesh *mesh, enum mesh_line line)
{
    return mesh_line_count(mesh, line) * mesh->pp / mesh->holders;
}

uint32_t mesh_holder_rank(const struct mesh *mesh, enum mesh_line line, uint32_t number,
                          uint32_t index)
{
    sim_assert(number < mesh_holder_groups(mesh, line));
    sim_assert(index < mesh_holders(mesh, line));
    const uint32_t count = mesh_line_count(mesh, line);
    const uint32_t size = mesh_line_size(mesh, line);
    const uint32_t first = number / count;
    const uint32_t stage = index < size ? first : mesh->pp - 1 - first;
    return mesh_stage_rank(mesh, stage, line_place(mesh, line, number % count, index % size));
}
