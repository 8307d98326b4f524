#include "train/program_shards.h"

#include "base/arena.h"
#include "base/check.h"
#include "plan/memory.h"
#include "spec/layout.h"

static bool is_fsdp(const struct builder *builder)
{
    return builder->scenario->parallel.zero == 3 && builder->context->data.ranks > 1;
}

/* Whether routed experts are reduced over fewer ranks than the rest. */
static bool has_expert_shards(const struct builder *builder)
{
    return builder->scenario->model.experts > 0 && builder->scenario->parallel.ep > 1;
}

static uint32_t chunks_of(const struct builder *builder)
{
    return (uint32_t)builder->scenario->parallel.virtual_stages;
}

/* What is not in layers is edge. */
static void find_edge(const struct builder *builder, struct shards *shards)
{
    const struct parallel *parallel = &builder->scenario->parallel;
    int64_t all = 0;
    int64_t with_experts = 0;
    for (uint32_t chunk = 0; chunk < chunks_of(builder); chunk++) {
        const uint32_t count = builder_layers(builder, chunk);
        const int64_t first = layout_first_layer(parallel, builder_piece(builder, chunk));
        all += count;
        with_experts += model_expert_layers(&builder->scenario->model, first, count);
    }
    const double layers =
        (double)(all - with_experts) * shards->layer[0] + (double)with_experts * shards->layer[1];
    const double edge = shards->stage - layers;
    shards->edge = edge < 0.5 ? 0.0 : edge; /* less than a parameter is a rounding error */
}

void shards_init(struct builder *builder)
{
    const struct scenario *scenario = builder->scenario;
    const struct memory_layer_parameters plain = memory_layer_parameters(scenario, false);
    struct memory_layer_parameters experts = {0, 0};
    if (scenario->model.experts > 0) {
        experts = memory_layer_parameters(scenario, true);
    }
    struct shards *dense = &builder->shards[SHARD_DENSE];
    struct shards *expert = &builder->shards[SHARD_EXPERTS];
    *dense = (struct shards){.gather = STREAM_DATA_GATHER,
                             .reduce = STREAM_DATA_REDUCE,
                             .group = &builder->context->data,
                             .layer = {plain.dense, experts.dense + experts.experts}};
    *expert = (struct shards){.gather = STREAM_EXPERT_GATHER,
                              .reduce = STREAM_EXPERT_REDUCE,
                              .group = &builder->context->expert_data};
    dense->stage = memory_stage_parameters(scenario, builder->stage);
    if (has_expert_shards(builder)) {
        expert->stage = memory_stage_expert_parameters(scenario, builder->stage);
        expert->layer[1] = experts.experts;
        dense->layer[1] = experts.dense;
        dense->stage -= expert->stage;
    }
    find_edge(builder, dense);
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        builder->shards[kind].layer_gathered = arena_array(
            builder->context->arena, (size_t)scenario->model.layers + 1, sizeof(uint32_t));
    }
}

/* ---- collectives ------------------------------------------------------------------------ */

static void gather_parameters(struct builder *builder, const struct shards *shards,
                              double parameters)
{
    if (parameters > 0) {
        builder_collective(builder, shards->gather, shards->group, COLLECTIVE_ALL_GATHER,
                           parameters * builder_element_bytes(builder));
    }
}

static void reduce_gradients(struct builder *builder, const struct shards *shards, double bytes)
{
    if (bytes > 0) {
        builder_collective(builder, shards->reduce, shards->group,
                           builder->scenario->parallel.zero == 0 ? COLLECTIVE_ALL_REDUCE
                                                                 : COLLECTIVE_REDUCE_SCATTER,
                           bytes);
    }
}

/* ---- ZeRO 1 and 2: gathered at the start of the step, or after the optimizer ---------------- */

bool shards_gather_ahead(const struct builder *builder)
{
    const int64_t zero = builder->scenario->parallel.zero;
    return (zero == 1 || zero == 2) && builder->scenario->software.overlaps_dp_parameters &&
           builder->context->data.ranks > 1;
}

/* The layers that `shards` has not yet noted, up to `number`, need what was emitted so far. */
static void note_gathered(const struct builder *builder, struct shards *shards, uint32_t *noted,
                          uint32_t number)
{
    for (; *noted < number; (*noted)++) {
        shards->layer_gathered[*noted] = builder_emitted(builder, shards->gather);
    }
}

static void gather_ahead(struct builder *builder, struct shards *shards)
{
    const struct scenario *scenario = builder->scenario;
    const double bucket = scenario->software.bucket_bytes / builder_gradient_bytes(builder);
    double pending = shards->edge;
    uint32_t number = 0;
    uint32_t noted = 0;
    for (uint32_t chunk = 0; chunk < chunks_of(builder); chunk++) {
        const int64_t first =
            layout_first_layer(&scenario->parallel, builder_piece(builder, chunk));
        for (uint32_t i = 0; i < builder_layers(builder, chunk); i++) {
            pending += shards->layer[model_has_experts(&scenario->model, first + i)];
            number++;
            if (pending >= bucket) {
                gather_parameters(builder, shards, pending);
                pending = 0;
            }
            if (pending <= 0) {
                note_gathered(builder, shards, &noted, number);
            }
        }
    }
    gather_parameters(builder, shards, pending);
    note_gathered(builder, shards, &noted, number);
}

void shards_begin(struct builder *builder)
{
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        gather_ahead(builder, &builder->shards[kind]);
    }
}

void shards_need_layer(struct builder *builder, uint32_t index)
{
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        const struct shards *shards = &builder->shards[kind];
        builder_need_at(builder, shards->gather, shards->layer_gathered[index]);
    }
}

void shards_gather_updated(struct builder *builder)
{
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        const struct shards *shards = &builder->shards[kind];
        gather_parameters(builder, shards, shards->stage);
    }
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        builder_need(builder, builder->shards[kind].gather);
    }
}

/* ---- FSDP: layers are gathered `prefetch` ahead ------------------------------------------ */

struct layer_walk layer_walk_begin(const struct builder *builder, uint32_t chunk, bool is_backward)
{
    struct layer_walk walk = {
        .first = layout_first_layer(&builder->scenario->parallel, builder_piece(builder, chunk)),
        .count = builder_layers(builder, chunk),
        .is_backward = is_backward,
    };
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        walk.gathers_before[kind] = builder_emitted(builder, builder->shards[kind].gather);
    }
    return walk;
}

bool layer_walk_has_experts(const struct builder *builder, const struct layer_walk *walk,
                            uint32_t position)
{
    sim_assert(position < walk->count);
    const uint32_t offset = walk->is_backward ? walk->count - 1 - position : position;
    return model_has_experts(&builder->scenario->model, walk->first + offset);
}

static void fetch_layer(struct builder *builder, struct layer_walk *walk)
{
    const bool has_experts = layer_walk_has_experts(builder, walk, walk->fetched);
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        const struct shards *shards = &builder->shards[kind];
        gather_parameters(builder, shards, shards->layer[has_experts]);
    }
    walk->fetched++;
}

void layer_walk_gather(struct builder *builder, struct layer_walk *walk, uint32_t position)
{
    if (!is_fsdp(builder)) {
        return;
    }
    const uint32_t ahead = (uint32_t)builder->scenario->software.fsdp_prefetch;
    const uint32_t due = position + ahead + 1 < walk->count ? position + ahead + 1 : walk->count;
    while (walk->fetched < due) {
        fetch_layer(builder, walk);
    }
    const bool has_experts = layer_walk_has_experts(builder, walk, position);
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        const struct shards *shards = &builder->shards[kind];
        walk->gathers_used[kind] += shards->layer[has_experts] > 0 && shards->group->ranks > 1;
        builder_need_at(builder, shards->gather,
                        walk->gathers_before[kind] + walk->gathers_used[kind]);
    }
}

void shards_gather_edge(struct builder *builder)
{
    if (is_fsdp(builder)) {
        gather_parameters(builder, &builder->shards[SHARD_DENSE],
                          builder->shards[SHARD_DENSE].edge);
        builder_need(builder, STREAM_DATA_GATHER);
    }
}

/* ---- gradients ------------------------------------------------------------------------------ */

static bool reduces_in(const struct builder *builder, uint32_t microbatch)
{
    const bool each_time = builder->scenario->parallel.zero >= 2;
    return each_time || microbatch + 1 == builder->scenario->batch.microbatches;
}

static void add_to_bucket(struct builder *builder, struct shards *shards, double bytes)
{
    const struct software *software = &builder->scenario->software;
    shards->pending_bytes += bytes;
    if (software->overlaps_dp_gradients && shards->pending_bytes >= software->bucket_bytes) {
        reduce_gradients(builder, shards, shards->pending_bytes);
        shards->pending_bytes = 0;
    }
}

void shards_layer_ready(struct builder *builder, bool has_experts, uint32_t microbatch)
{
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        struct shards *shards = &builder->shards[kind];
        const double bytes = shards->layer[has_experts] * builder_gradient_bytes(builder);
        if (is_fsdp(builder)) {
            reduce_gradients(builder, shards, bytes);
        } else if (reduces_in(builder, microbatch)) {
            add_to_bucket(builder, shards, bytes);
        }
    }
}

void shards_finish(struct builder *builder)
{
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        struct shards *shards = &builder->shards[kind];
        const double edge_bytes = shards->edge * builder_gradient_bytes(builder);
        reduce_gradients(builder, shards, shards->pending_bytes + edge_bytes);
        shards->pending_bytes = 0;
    }
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        builder_need(builder, builder->shards[kind].reduce);
    }
}
