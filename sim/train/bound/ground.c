/* Outlines of systems (train/system) without programs; one more for each other number of shares. */
#include "train/bound/ground.h"

#include "base/arena.h"
#include "input/layout.h"
#include "input/scenario.h"
#include "plan/mesh.h"
#include "train/bound/bound.h"
#include "train/placement.h"

void ground_reduce(struct arena *arena, const struct scenario *scenario, struct scenario *reduced)
{
    *reduced = *scenario;
    struct parallel *parallel = &reduced->parallel;
    parallel->schedule = SCHEDULE_1F1B;
    parallel->schedule_file = NULL;
    parallel->virtual_stages = 1;
    parallel->microbatch_group = 0;
    parallel->overlaps_experts = false;
    parallel->layers_per_chunk =
        layout_distribute(arena, scenario->model.layers, scenario->parallel.pp);
    reduced->batch.microbatches = 1;
    reduced->batch.global = parallel->dp * scenario->batch.micro;
    reduced->recompute = (struct recompute){.kind = RECOMPUTE_NONE};
    reduced->offload.activation_layers = 0;
    reduced->neighbour_count = 0;
}

static void outline_init(struct arena *arena, const struct scenario *scenario,
                         struct outline *outline)
{
    outline->reduced = arena_alloc(arena, sizeof *outline->reduced);
    ground_reduce(arena, scenario, outline->reduced);
    struct placement placement;
    placement_choose(arena, outline->reduced, &placement);
    const struct step_job job = {outline->reduced, placement.gpu_of_rank[0], 1};
    outline->system = system_outline(arena, &job, placement.gpus);
}

static uint32_t shard_count(const struct scenario *reduced)
{
    return mesh_of(&reduced->parallel).shards;
}

static struct exchange *exchange_new(struct arena *arena, struct outline *outline)
{
    static const enum group_kind groups[HELD_COUNT_] = {
        [HELD_DENSE] = GROUP_DATA, [HELD_EXPERTS] = GROUP_EXPERT_DATA};
    static const enum collective_operation operations[HELD_EXCHANGES] = {
        [HELD_GATHER] = COLLECTIVE_ALL_GATHER,
        [HELD_REDUCE] = COLLECTIVE_REDUCE_SCATTER,
        [HELD_ALL_REDUCE] = COLLECTIVE_ALL_REDUCE};
    struct exchange *exchange = arena_alloc(arena, sizeof *exchange);
    struct alone *alone = alone_of_groups(arena, outline->system, outline->reduced);
    *exchange = (struct exchange){
        .shards = shard_count(outline->reduced),
        .alone = alone,
    };
    for (uint32_t i = 0; i < HELD_COUNT_; i++) {
        exchange->nic_byte_ns[i] = alone_nic_byte_ns(alone, groups[i]);
        for (uint32_t k = 0; k < HELD_EXCHANGES; k++) {
            exchange->byte_ns[i][k] = alone_byte_ns(alone, groups[i], operations[k]);
        }
    }
    return exchange;
}

struct bound_ground *bound_ground_new(struct arena *arena, const struct scenario *scenario)
{
    struct bound_ground *ground = arena_alloc(arena, sizeof *ground);
    *ground = (struct bound_ground){.arena = arena};
    outline_init(arena, scenario, &ground->outline);
    return ground;
}

struct exchange *ground_exchange_of(struct bound_ground *ground, const struct scenario *scenario)
{
    struct parallel changed = ground->outline.reduced->parallel;
    changed.zero = scenario->parallel.zero;
    changed.zero_group = scenario->parallel.zero_group;
    const uint32_t shards = mesh_of(&changed).shards;
    struct exchange *exchange = ground->exchanges;
    while (exchange != NULL && exchange->shards != shards) {
        exchange = exchange->next;
    }
    if (exchange == NULL) {
        struct outline *outline = &ground->outline;
        if (shard_count(outline->reduced) != shards) {
            struct outline *other = arena_alloc(ground->arena, sizeof *other);
            outline_init(ground->arena, scenario, other);
            outline = other;
        }
        exchange = exchange_new(ground->arena, outline);
        exchange->next = ground->exchanges;
        ground->exchanges = exchange;
    }
    return exchange;
}

const struct shares *ground_shares_of(struct bound_ground *ground, struct exchange *exchange,
                                      double gathered_bytes, double reduced_bytes)
{
    const struct shares *known = exchange->shares;
    if (known != NULL && known->gathered_bytes >= gathered_bytes &&
        known->gathered_bytes <= gathered_bytes && known->reduced_bytes >= reduced_bytes &&
        known->reduced_bytes <= reduced_bytes) {
        return known;
    }
    exchange->shares = arena_alloc(ground->arena, sizeof *exchange->shares);
    *exchange->shares = (struct shares){
        gathered_bytes, reduced_bytes,
        alone_share_of(exchange->alone, GROUP_DATA, COLLECTIVE_ALL_GATHER, gathered_bytes),
        alone_share_of(exchange->alone, GROUP_DATA, COLLECTIVE_REDUCE_SCATTER, reduced_bytes)};
    return exchange->shares;
}
