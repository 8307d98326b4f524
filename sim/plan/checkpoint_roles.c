/* Each rank is marked with the parts that it writes, holder group by holder group; roles are the
 * marks that occur on a stage.
 */
#include "plan/checkpoint_roles.h"

#include "base/arena.h"
#include "base/check.h"
#include "plan/memory/memory.h"
#include "plan/mesh.h"

#include <math.h>

/* Bits of a mark. */
enum part {
    PART_WEIGHTS,
    PART_STATES,
    PART_EXPERT_WEIGHTS,
    PART_EXPERT_STATES,
    PART_COUNT_,
};
enum { MARKS = 1 << PART_COUNT_ };

/* One of two: dense parameters and routed experts. */
struct held {
    enum mesh_line line;
    enum part weights, states;
    uint32_t shards;
};

/* Of `holders` ranks, how many write: one, the first copy of the shards, or all. */
static uint32_t writers_of(const struct memory_job *job, const struct held *held, uint32_t holders,
                           enum part part)
{
    const int64_t zero = job->split.parallel->zero;
    const bool is_sharded = part == held->states ? zero >= 1 : zero == 3;
    switch ((enum checkpoint_writers)job->software->checkpoint_writers) {
    case WRITERS_SHARED:
        return holders;
    case WRITERS_HOLDERS:
        return is_sharded ? held->shards : 1;
    default:
        return 1;
    }
}

static void mark_writers(const struct memory_job *job, const struct mesh *mesh,
                         const struct held *held, uint32_t *marks)
{
    const uint32_t holders = mesh_holders(mesh, held->line);
    const uint32_t weights = writers_of(job, held, holders, held->weights);
    const uint32_t states = writers_of(job, held, holders, held->states);
    const uint32_t groups = mesh_holder_groups(mesh, held->line);
    for (uint32_t group = 0; group < groups; group++) {
        for (uint32_t i = 0; i < holders && i < (weights > states ? weights : states); i++) {
            const uint32_t rank = mesh_holder_rank(mesh, held->line, group, i);
            marks[rank] |=
                (i < weights ? 1U << held->weights : 0) | (i < states ? 1U << held->states : 0);
        }
    }
}

/* What a rank of a stage writes of each part, if it does. */
struct stage_parts {
    double bytes[PART_COUNT_];
};

static struct stage_parts parts_of(const struct memory_job *job, const struct mesh *mesh,
                                   const struct held held[2], uint32_t stage)
{
    const struct memory_state whole = memory_state_saved(job);
    const struct memory_layer_parameters trained = memory_stage_trained(&job->split, stage);
    const double experts = memory_stage_expert_parameters(&job->split, stage);
    const double dense = memory_stage_parameters(&job->split, stage) - experts;
    const struct memory_layer_parameters less = memory_stage_less(job, stage);
    const double bytes[2][2] = {
        {dense * whole.weights, trained.dense * whole.optimizer - less.dense},
        {experts * whole.weights, trained.experts * whole.optimizer - less.experts}};
    struct stage_parts parts = {{0}};
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t holders = mesh_holders(mesh, held[i].line);
        parts.bytes[held[i].weights] =
            bytes[i][0] / writers_of(job, &held[i], holders, held[i].weights);
        parts.bytes[held[i].states] =
            bytes[i][1] / writers_of(job, &held[i], holders, held[i].states);
    }
    return parts;
}

static double bytes_of(const struct stage_parts *parts, uint32_t mark)
{
    double bytes = 0;
    for (uint32_t part = 0; part < PART_COUNT_; part++) {
        bytes += (mark >> part & 1U) != 0 ? parts->bytes[part] : 0;
    }
    return bytes;
}

/* Roles in their order, and each rank's. */
static void number_roles(struct arena *arena, const struct mesh *mesh, const uint32_t *marks,
                         struct checkpoint_roles *roles)
{
    const uint32_t ranks = mesh_size(mesh);
    const size_t most = (size_t)mesh->pp * MARKS;
    uint32_t *ranks_of = arena_array(arena, most, sizeof *ranks_of);
    uint32_t *number = arena_array(arena, most, sizeof *number);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        ranks_of[mesh_stage_of(mesh, rank) * MARKS + marks[rank]]++;
    }
    roles->items = arena_array(arena, most, sizeof *roles->items);
    for (uint32_t i = 0; i < most; i++) {
        if (ranks_of[i] > 0) {
            number[i] = roles->count;
            roles->items[roles->count++] =
                (struct checkpoint_role){i / MARKS, i % MARKS, ranks_of[i], 0};
        }
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        roles->of_rank[rank] = number[mesh_stage_of(mesh, rank) * MARKS + marks[rank]];
    }
}

struct checkpoint_roles checkpoint_roles_of(struct arena *arena, const struct memory_job *job)
{
    const struct mesh mesh = mesh_of(job->split.parallel);
    const struct held held[2] = {
        {MESH_DATA, PART_WEIGHTS, PART_STATES, mesh_shards(&mesh, MESH_DATA)},
        {MESH_EXPERT_DATA, PART_EXPERT_WEIGHTS, PART_EXPERT_STATES,
         mesh_shards(&mesh, MESH_EXPERT_DATA)},
    };
    uint32_t *marks = arena_array(arena, mesh_size(&mesh), sizeof *marks);
    mark_writers(job, &mesh, &held[0], marks);
    if (job->split.model->experts > 0) {
        mark_writers(job, &mesh, &held[1], marks);
    }
    struct checkpoint_roles roles = {
        .of_rank = arena_array(arena, mesh_size(&mesh), sizeof *roles.of_rank)};
    number_roles(arena, &mesh, marks, &roles);
    double all = 0;
    for (uint32_t i = 0; i < roles.count; i++) {
        struct checkpoint_role *role = &roles.items[i];
        const struct stage_parts parts = parts_of(job, &mesh, held, role->stage);
        role->share = bytes_of(&parts, role->parts);
        all += role->share * role->ranks;
    }
    sim_assert(all > 0);
    for (uint32_t i = 0; i < roles.count; i++) {
        roles.items[i].share /= all;
    }
    return roles;
}

bool checkpoint_roles_differ(const struct checkpoint_roles *roles)
{
    for (uint32_t i = 1; i < roles->count; i++) {
        if (roles->items[i].stage == roles->items[i - 1].stage) {
            return true;
        }
    }
    return false;
}

struct checkpoint_held checkpoint_held_of(const struct memory_job *job, uint32_t stage)
{
    const int64_t zero = job->split.parallel->zero;
    const struct mesh mesh = mesh_of(job->split.parallel);
    const struct memory_state whole = memory_state_saved(job);
    const struct memory_layer_parameters trained = memory_stage_trained(&job->split, stage);
    const double experts = memory_stage_expert_parameters(&job->split, stage);
    const double dense = memory_stage_parameters(&job->split, stage) - experts;
    const double shards = mesh_shards(&mesh, MESH_DATA);
    const double expert_shards = mesh_shards(&mesh, MESH_EXPERT_DATA);
    const double weights_over = zero == 3 ? shards : 1;
    const double states_over = zero >= 1 ? shards : 1;
    const double expert_weights_over = zero == 3 ? expert_shards : 1;
    const double expert_states_over = zero >= 1 ? expert_shards : 1;
    const struct memory_layer_parameters less = memory_stage_less(job, stage);
    return (struct checkpoint_held){
        .dense_bytes = dense / weights_over * whole.weights +
                       trained.dense / states_over * whole.optimizer - less.dense / states_over,
        .expert_bytes = experts / expert_weights_over * whole.weights +
                        trained.experts / expert_states_over * whole.optimizer -
                        less.experts / expert_states_over,
    };
}

double checkpoint_held_bytes(const struct memory_job *job, uint32_t stage)
{
    const struct checkpoint_held held = checkpoint_held_of(job, stage);
    return held.dense_bytes + held.expert_bytes;
}

/* ---- in a host's memory -------------------------------------------------------------------- */

/* Of one kind of parameters on a node: `all` ranks hold `bytes` each, `firsts` of these are first
 * among those with the same. */
static double node_writes(const struct memory_job *job, double bytes, bool is_sharded,
                          const double counts[4])
{
    const double all = counts[0], firsts = counts[1], holders = counts[2], shards = counts[3];
    switch ((enum checkpoint_writers)job->software->checkpoint_writers) {
    case WRITERS_SHARED:
        return bytes / holders * all;
    case WRITERS_HOLDERS:
        return is_sharded ? bytes / shards * all : bytes * firsts;
    default:
        return bytes * firsts;
    }
}

uint32_t checkpoint_copies(const struct checkpoint *plan)
{
    static const uint32_t kept[CHECKPOINT_TARGET_COUNT_] = {
        [CHECKPOINT_MEMORY] = 3, [CHECKPOINT_PEER] = 5};
    const uint32_t copies = kept[plan->peer_every > 0 ? CHECKPOINT_PEER : plan->target];
    return !plan->is_enabled ? 0 : copies > 0 ? copies : plan->mode == CHECKPOINT_ASYNC ? 1 : 0;
}

double checkpoint_staged_bytes(const struct memory_job *job, double gpus_per_node)
{
    const struct parallel *p = job->split.parallel;
    const struct memory_state whole = memory_state_saved(job);
    const double stages = ceil(gpus_per_node / (double)(p->tp * p->cp * p->dp)); /* on a node */
    const double dense_counts[4] = {gpus_per_node, fmin(gpus_per_node, (double)p->tp * stages),
                                    (double)memory_dense_ranks(p), (double)memory_dense_shards(p)};
    const double expert_counts[4] = {gpus_per_node, gpus_per_node, (double)memory_expert_ranks(p),
                                     (double)memory_expert_shards(p)};
    double most = 0;
    for (int64_t stage = 0; stage < p->pp; stage++) {
        const struct memory_layer_parameters trained = memory_stage_trained(&job->split, stage);
        const double experts = memory_stage_expert_parameters(&job->split, stage);
        const double dense = memory_stage_parameters(&job->split, stage) - experts;
        const struct memory_layer_parameters less = memory_stage_less(job, stage);
        const double dense_states = trained.dense * whole.optimizer - less.dense;
        const double expert_states = trained.experts * whole.optimizer - less.experts;
        const bool has_shards = p->zero >= 1;
        double bytes = node_writes(job, dense * whole.weights, p->zero == 3, dense_counts);
        bytes += node_writes(job, dense_states, has_shards, dense_counts);
        if (experts > 0) {
            bytes += node_writes(job, experts * whole.weights, p->zero == 3, expert_counts);
            bytes += node_writes(job, expert_states, has_shards, expert_counts);
        }
        most = fmax(most, bytes);
    }
    return most;
}
