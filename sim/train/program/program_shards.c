/* Everything that data parallelism adds to a program. Sizes of what is sent
 * are worked out once for each stage; gathers and reductions are then emitted
 * when program_action says that a layer is needed or ready.
 */
#include "train/program/program_shards.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/job/lora.h"
#include "input/job/optimizer.h"
#include "input/job/parallel.h"
#include "plan/memory/memory.h"
#include "train/program/program_live.h"
#include "train/program/program_zeropp.h"

#include <math.h>

/* Whether routed experts are reduced over other ranks than the rest. */
static bool has_expert_shards(const struct builder *builder)
{
    const struct parallel *parallel = builder->job->parallel;
    return builder->job->model->experts > 0 && (parallel->ep > 1 || parallel->etp != parallel->tp);
}

static bool is_on_two_stages(const struct builder *builder)
{
    return builder->job->parallel->schedule == SCHEDULE_DUALPIPE;
}

/* FSDP that gathers layer by layer. */
static bool is_fsdp(const struct builder *builder)
{
    return builder->job->parallel->zero == 3 && !is_on_two_stages(builder) &&
           builder->context->data.ranks > 1;
}

/* FSDP on two stages, which could not agree on an order: all is gathered at the start. */
static bool gathers_once(const struct builder *builder)
{
    return builder->job->parallel->zero == 3 && is_on_two_stages(builder);
}

static uint32_t chunks_of(const struct builder *builder)
{
    return (uint32_t)builder->job->parallel->virtual_stages;
}

/* The chunk that is `place`-th in the order of the model. */
static uint32_t chunk_in_model_order(const struct builder *builder, uint32_t place)
{
    return builder->chunks[place].in_order;
}

/* ---- sizes ------------------------------------------------------------------------------ */

static double edge_of(double stage, double layers)
{
    const double edge = stage - layers;
    return edge < 0.5 ? 0.0 : edge; /* less than a parameter is a rounding error */
}

/* What is not in layers is edge. */
static void find_edge(const struct builder *builder, struct shards *shards)
{
    uint32_t counts[LAYER_KINDS_MAX] = {0};
    for (uint32_t chunk = 0; chunk < chunks_of(builder); chunk++) {
        for (uint32_t i = 0; i < builder_layers(builder, chunk); i++) {
            counts[builder_kind(builder, chunk, i)]++;
        }
    }
    struct shard_size layers = {0, 0};
    for (uint32_t kind = 0; kind < LAYER_KINDS_MAX; kind++) {
        layers.all += (double)counts[kind] * shards->layer[kind].all;
        layers.trained += (double)counts[kind] * shards->layer[kind].trained;
    }
    shards->edge = (struct shard_size){edge_of(shards->stage.all, layers.all),
                                       edge_of(shards->stage.trained, layers.trained)};
}

/* Of a layer of a kind; experts are of the shards that hold them. */
static void count_tensors(struct builder *builder, uint32_t kind)
{
    const struct model *model = builder->job->model;
    const struct layer_kind *layer = &model->kinds[kind];
    const int64_t experts = builder->context->routing->local_experts;
    const struct layer_tensors all = cost_layer_tensors(model, layer, experts);
    const struct layer_tensors dense = cost_layer_tensors(model, layer, 0);
    const bool are_apart = has_expert_shards(builder);
    builder->shards[SHARD_DENSE].tensors[kind] = are_apart ? dense : all;
    builder->shards[SHARD_EXPERTS].tensors[kind] =
        (struct layer_tensors){all.matrices - dense.matrices, all.vectors - dense.vectors};
}

static void size_kind(struct builder *builder, uint32_t kind)
{
    const struct memory_split *split = &builder->job->memory.split;
    struct shards *dense = &builder->shards[SHARD_DENSE];
    struct shards *expert = &builder->shards[SHARD_EXPERTS];
    const struct layer_kind *layer = &builder->job->model->kinds[kind];
    const struct memory_layer_parameters all = memory_layer_parameters(split, layer);
    const struct memory_layer_parameters trained =
        builder->job->lora->rank > 0 ? memory_layer_lora(split, layer) : all;
    dense->layer[kind] = (struct shard_size){all.dense, trained.dense};
    if (has_expert_shards(builder)) {
        expert->layer[kind] = (struct shard_size){all.experts, trained.experts};
    } else {
        dense->layer[kind].all += all.experts;
        dense->layer[kind].trained += trained.experts;
    }
}

static void size_stage(struct builder *builder)
{
    const struct memory_split *split = &builder->job->memory.split;
    struct shards *dense = &builder->shards[SHARD_DENSE];
    struct shards *expert = &builder->shards[SHARD_EXPERTS];
    const struct memory_layer_parameters trained = memory_stage_trained(split, builder->stage);
    dense->stage = (struct shard_size){memory_stage_parameters(split, builder->stage),
                                       trained.dense + trained.experts};
    if (has_expert_shards(builder)) {
        expert->stage = (struct shard_size){memory_stage_expert_parameters(split, builder->stage),
                                            trained.experts};
        dense->stage.all -= expert->stage.all;
        dense->stage.trained = trained.dense;
    }
}

void shards_init(struct builder *builder)
{
    const struct program_context *context = builder->context;
    builder->shards[SHARD_DENSE] = (struct shards){.gather = STREAM_DATA_GATHER,
                                                   .reduce = STREAM_DATA_REDUCE,
                                                   .sum = STREAM_REPLICA_REDUCE,
                                                   .group = &context->data,
                                                   .replica = &context->replica};
    builder->shards[SHARD_EXPERTS] = (struct shards){.gather = STREAM_EXPERT_GATHER,
                                                     .reduce = STREAM_EXPERT_REDUCE,
                                                     .sum = STREAM_EXPERT_REPLICA,
                                                     .group = &context->expert_data,
                                                     .replica = &context->expert_replica};
    const struct model *model = builder->job->model;
    for (uint32_t kind = 0; kind < model->kind_count; kind++) {
        size_kind(builder, kind);
        count_tensors(builder, kind);
    }
    size_stage(builder);
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        find_edge(builder, &builder->shards[kind]);
        builder->shards[kind].layer_gathered =
            arena_array(context->arena, (size_t)model->layers + 1, sizeof(uint32_t));
    }
}

/* ---- collectives ------------------------------------------------------------------------ */

static double edge_bytes(const struct builder *builder, double parameters)
{
    return parameters * builder_element_bytes(builder);
}

/* Of the edge where it is quantised, too, and of layers. */
static double quantized_bytes(const struct builder *builder, double parameters)
{
    return parameters * builder->gather_bytes;
}

static double layer_bytes(const struct builder *builder, uint32_t kind, double parameters)
{
    return builder->job->parallel->has_quantized_weights
               ? quantized_bytes(builder, parameters)
               : parameters * builder_sent_bytes(builder, kind, builder->gather_bytes);
}

static double call_s(const struct builder *builder, uint32_t ranks)
{
    const struct software *software = builder->job->software;
    return software->fsdp_per_call_s + (double)ranks * software->fsdp_per_rank_s;
}

/* What FSDP sends for a layer of a kind: `bytes` in its tensors, or all in one.
 * LoRA's few matrices go together. */
static struct transfer_wish layer_wish(const struct builder *builder, const struct shards *shards,
                                       uint32_t kind, enum collective_operation operation,
                                       double bytes)
{
    const uint32_t unit = builder->job->software->fsdp_gathers;
    struct transfer_wish wish = {.operation = operation,
                                 .bytes = bytes,
                                 .per_call_s = call_s(builder, shards->group->ranks)};
    if (unit == GATHER_LAYER || builder->job->lora->rank > 0) {
        return wish;
    }
    wish.calls = (uint32_t)shards->tensors[kind].matrices;
    if (unit == GATHER_TENSOR) {
        const double element = bytes / shards->layer[kind].all;
        wish.small = (uint32_t)shards->tensors[kind].vectors;
        wish.small_bytes = (double)builder->job->model->kinds[kind].hidden * element;
        wish.bytes = bytes - (double)wish.small * wish.small_bytes;
        sim_assert(wish.bytes > 0);
    }
    return wish;
}

/* The host goes through the shares of a layer's matrices, rank by rank, and the GPU waits. */
static void visit_shares(struct builder *builder, const struct shards *shards, uint32_t kind,
                         uint32_t ranks)
{
    const double shares = (double)shards->tensors[kind].matrices * (double)ranks;
    const double host_s = shares * builder->job->software->fsdp_host_per_rank_s;
    if (host_s > 0 && ranks > 1) {
        builder_work(builder, CAUSE_LAUNCH, (struct work){.busy_ns = sim_time_from_s(host_s)});
    }
}

/* Bytes that kernels of FSDP's own move, before or after communication. */
static void move_bytes(struct builder *builder, double bytes)
{
    if (bytes > 0) {
        builder_work(builder, CAUSE_COMPUTE,
                     timing_memory_pass(&builder->context->timing->runner, bytes));
    }
}

static void copy_gathered(struct builder *builder, const struct shards *shards, double bytes)
{
    if (shards->group->ranks > 1) {
        move_bytes(builder, bytes * (double)builder->job->software->fsdp_gather_passes);
    }
}

static void copy_gradients(struct builder *builder, const struct shards *shards, double parameters)
{
    if (shards->group->ranks > 1) {
        move_bytes(builder, parameters * builder->job->software->fsdp_gradient_copies);
    }
}

/* On one communicator a collective waits for the one before it, whatever its stream. */
static struct task_wait queue_behind(const struct builder *builder, const struct shards *shards,
                                     enum stream stream)
{
    const bool waits =
        builder->job->software->fsdp_is_one_queue && shards->queue_end.stream != stream;
    return waits ? shards->queue_end : (struct task_wait){0, 0};
}

static void queue_up(struct builder *builder, struct shards *shards, enum stream stream)
{
    shards->queue_end = (struct task_wait){stream, builder_emitted(builder, stream)};
}

/* Over which ranks layers are gathered, and on which stream. */
struct gather_way {
    enum stream stream;
    const struct group_shape *group;
};

static struct gather_way way_of(const struct builder *builder, const struct shards *shards,
                                bool is_backward)
{
    return is_backward && builder->job->parallel->has_local_weights
               ? (struct gather_way){STREAM_LOCAL_GATHER, &builder->context->local}
               : (struct gather_way){shards->gather, shards->group};
}

static void gather_layer(struct builder *builder, struct shards *shards, uint32_t kind,
                         bool is_backward)
{
    const struct gather_way way = way_of(builder, shards, is_backward);
    const double bytes = layer_bytes(builder, kind, shards->layer[kind].all);
    if (bytes > 0) {
        struct transfer_wish wish = layer_wish(builder, shards, kind, COLLECTIVE_ALL_GATHER, bytes);
        wish.bytes *= is_backward ? 1.0 + live_again(builder->job, kind) : 1.0;
        wish.per_call_s = call_s(builder, way.group->ranks);
        builder_collective_wish(builder, way.stream, way.group, &wish,
                                queue_behind(builder, shards, way.stream));
        queue_up(builder, shards, way.stream);
    }
}

static void gather_bytes(struct builder *builder, const struct shards *shards, double bytes)
{
    if (bytes > 0) {
        builder_collective(builder, shards->gather, shards->group, COLLECTIVE_ALL_GATHER, bytes);
    }
}

/* One sum over the replicas of the shards that were reduced since the last one. */
static void sum_pending(struct builder *builder, struct shards *shards)
{
    const struct task_wait after = {shards->reduce, builder_emitted(builder, shards->reduce)};
    const struct transfer_wish wish = {.operation = COLLECTIVE_ALL_REDUCE,
                                       .bytes = shards->pending_sum_bytes};
    if (shards->pending_sum_bytes <= 0) {
        return;
    }
    builder_collective_wish(builder, shards->sum, shards->replica, &wish, after);
    if (builder->job->software->fsdp_queues_sums) {
        queue_up(builder, shards, shards->sum);
    }
    shards->pending_sum_bytes = 0;
}

/* The shards' sums over the replicas follow when these gradients are the last. */
static void sum_replicas(struct builder *builder, struct shards *shards, double bytes)
{
    const double bucket = builder->job->software->fsdp_sum_bucket_bytes;
    const double own = bytes / (double)shards->group->ranks;
    if (shards->pending_sum_bytes + own > bucket) {
        sum_pending(builder, shards);
    }
    shards->pending_sum_bytes += own;
    if (shards->pending_sum_bytes >= bucket) {
        sum_pending(builder, shards);
    }
}

/* FSDP and ZeRO 2 without a pipeline: each backward pass ends with its gradients in shards. */
static bool reduces_each(const struct builder *builder)
{
    return memory_shards_gradients(builder->job->parallel, builder->job->software) &&
           !is_on_two_stages(builder);
}

/* The replicas sum what was reduced: with the last microbatch, or with each. */
static bool sums_now(const struct builder *builder, uint32_t chunk)
{
    return builder_ends_gradients(builder, chunk) ||
           builder->job->software->fsdp_no_sync == NO_SYNC_NONE;
}

/* ZeRO 1 and 2 that sum all gradients on every rank and let each update its own parameters. Of a
 * group that is a part of the replicas the sum is as cheap in two steps. */
static bool reduces_whole(const struct builder *builder, const struct shards *shards)
{
    const struct optimizer *optimizer = builder->job->optimizer;
    const bool is_whole = builder->job->software->zero_gradients == REDUCE_WHOLE ||
                          (optimizer_has_matrices(optimizer) &&
                           optimizer->matrices.gradients == MATRIX_GRADIENTS_WHOLE);
    return is_whole && builder->job->parallel->zero < 3 && shards->replica->ranks == 1;
}

static void reduce_gradients(struct builder *builder, struct shards *shards, double bytes,
                             bool are_summed)
{
    if (bytes <= 0) {
        return;
    }
    const bool is_sharded = builder->job->parallel->zero > 0;
    const bool is_whole = !is_sharded || reduces_whole(builder, shards);
    builder_collective(builder, shards->reduce, shards->group,
                       is_whole ? COLLECTIVE_ALL_REDUCE : COLLECTIVE_REDUCE_SCATTER, bytes);
    if (is_sharded && are_summed) {
        sum_replicas(builder, shards, bytes);
    }
}

/* The layers collected so far, as one reduction, or as several of a bucket each. What the framework
 * spends for each matrix it spends all the same. */
static void reduce_bucket(struct builder *builder, struct shards *shards, bool are_summed)
{
    const struct software *software = builder->job->software;
    if (shards->pending_bytes <= 0) {
        return;
    }
    const double calls = ceil(shards->pending_bytes / software->bucket_bytes);
    const struct transfer_wish wish = {.operation = COLLECTIVE_REDUCE_SCATTER,
                                       .bytes = shards->pending_bytes,
                                       .per_call_s = shards->pending_s / calls,
                                       .calls = (uint32_t)calls};
    builder_collective_wish(builder, shards->reduce, shards->group, &wish,
                            queue_behind(builder, shards, shards->reduce));
    queue_up(builder, shards, shards->reduce);
    if (are_summed) {
        sum_replicas(builder, shards, shards->pending_bytes);
    }
    shards->pending_bytes = 0;
    shards->pending_s = 0;
}

static void collect_layer(struct builder *builder, struct shards *shards, uint32_t kind,
                          double bytes, bool are_summed)
{
    const struct software *software = builder->job->software;
    if (bytes <= 0) {
        return;
    }
    if (shards->pending_bytes + bytes > software->bucket_bytes) {
        reduce_bucket(builder, shards, are_summed);
    }
    const struct transfer_wish wish =
        layer_wish(builder, shards, kind, COLLECTIVE_REDUCE_SCATTER, bytes);
    shards->pending_bytes += bytes;
    shards->pending_s += wish.per_call_s * (double)(wish.calls + wish.small + (wish.calls == 0));
    if (shards->pending_bytes >= software->bucket_bytes) {
        reduce_bucket(builder, shards, are_summed);
    }
}

static void reduce_layer(struct builder *builder, struct shards *shards, uint32_t kind,
                         double bytes, bool are_summed)
{
    if (builder->job->software->fsdp_reduces_buckets) {
        collect_layer(builder, shards, kind, bytes, are_summed);
        return;
    }
    if (bytes <= 0) {
        return;
    }
    const struct transfer_wish wish =
        layer_wish(builder, shards, kind, COLLECTIVE_REDUCE_SCATTER, bytes);
    builder_collective_wish(builder, shards->reduce, shards->group, &wish,
                            queue_behind(builder, shards, shards->reduce));
    queue_up(builder, shards, shards->reduce);
    if (are_summed) {
        sum_replicas(builder, shards, bytes);
    }
}

/* ---- ZeRO 1 and 2: gathered at the start of the step, or after the optimizer ---------------- */

bool shards_gather_ahead(const struct builder *builder)
{
    const int64_t zero = builder->job->parallel->zero;
    const bool overlaps = optimizer_gathers_ahead(builder->job->optimizer, builder->job->software);
    const bool gathers = builder->job->software->zero_parameters == GATHER_ALL;
    const bool is_ahead =
        ((zero == 1 || zero == 2) && overlaps && gathers) || gathers_once(builder);
    return is_ahead && builder->context->data.ranks > 1;
}

/* Of what changes in a step; FSDP keeps only shards of anything. */
static double gathered_of(const struct builder *builder, const struct shard_size *size)
{
    return builder->job->parallel->zero == 3 ? size->all : size->trained;
}

/* Where the layer that is `number`-th of the stage in model order lies in its own. */
static uint32_t stage_index(const struct builder *builder, uint32_t number)
{
    for (uint32_t place = 0; place < chunks_of(builder); place++) {
        const uint32_t chunk = chunk_in_model_order(builder, place);
        if (number < builder_layers(builder, chunk)) {
            return builder->chunks[chunk].before + number;
        }
        number -= builder_layers(builder, chunk);
    }
    sim_assert(false);
    return 0;
}

/* The layers that `shards` has not yet noted, up to `number`, need what was emitted so far. */
static void note_gathered(const struct builder *builder, struct shards *shards, uint32_t *noted,
                          uint32_t number)
{
    for (; *noted < number; (*noted)++) {
        shards->layer_gathered[stage_index(builder, *noted)] =
            builder_emitted(builder, shards->gather);
    }
}

static void gather_ahead(struct builder *builder, struct shards *shards)
{
    const double bucket = builder->job->software->bucket_bytes / builder_gradient_bytes(builder);
    double pending = gathered_of(builder, &shards->edge);
    double bytes = edge_bytes(builder, pending);
    uint32_t noted = 0; /* layers, in the order of the model */
    uint32_t number = 0;
    for (uint32_t place = 0; place < chunks_of(builder); place++) {
        const uint32_t chunk = chunk_in_model_order(builder, place);
        for (uint32_t i = 0; i < builder_layers(builder, chunk); i++) {
            const uint32_t kind = builder_kind(builder, chunk, i);
            const double layer = gathered_of(builder, &shards->layer[kind]);
            pending += layer;
            bytes += layer_bytes(builder, kind, layer);
            number++;
            if (pending >= bucket) {
                gather_bytes(builder, shards, bytes);
                pending = 0;
                bytes = 0;
            }
            if (pending <= 0) {
                note_gathered(builder, shards, &noted, number);
            }
        }
    }
    gather_bytes(builder, shards, bytes);
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

void shards_need_key(const struct builder *builder, uint32_t first, uint32_t layers,
                     uint32_t *numbers)
{
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        const struct shards *shards = &builder->shards[kind];
        const uint32_t now = builder_emitted(builder, shards->gather);
        *numbers++ = now - builder->needed[shards->gather];
        for (uint32_t i = 0; i < layers; i++) {
            *numbers++ = now - shards->layer_gathered[first + i];
        }
    }
}

/* Of the layers of the stage; norms and biases, too. */
static uint32_t tensors_of_stage(const struct builder *builder, const struct shards *shards)
{
    uint64_t count = shards->edge.trained > 0;
    for (uint32_t chunk = 0; chunk < chunks_of(builder); chunk++) {
        for (uint32_t i = 0; i < builder_layers(builder, chunk); i++) {
            const struct layer_tensors *layer = &shards->tensors[builder_kind(builder, chunk, i)];
            count += (uint64_t)(layer->matrices + layer->vectors);
        }
    }
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* Whole tensors are dealt out to the ranks, and each rank sends all of its own to the others, in
 * one broadcast after the other. ASSUMES: all ranks own as much. */
static void broadcast_updated(struct builder *builder, const struct shards *shards, double bytes)
{
    const uint32_t tensors = tensors_of_stage(builder, shards);
    const uint32_t ranks = shards->group->ranks;
    const struct transfer_wish wish = {.operation = COLLECTIVE_BROADCAST,
                                       .bytes = bytes,
                                       .calls = tensors < ranks ? tensors : ranks};
    if (bytes > 0) {
        builder_collective_wish(builder, shards->gather, shards->group, &wish,
                                (struct task_wait){0, 0});
    }
}

/* What layers of the stage that are in 16 bits have beyond the bytes of the others. */
static double raised_bytes(const struct builder *builder, const struct shards *shards)
{
    double bytes = 0;
    for (uint32_t chunk = 0; chunk < chunks_of(builder); chunk++) {
        for (uint32_t i = 0; i < builder_layers(builder, chunk); i++) {
            const uint32_t kind = builder_kind(builder, chunk, i);
            const double layer = shards->layer[kind].trained;
            bytes += builder->job->model->kinds[kind].is_high
                         ? layer_bytes(builder, kind, layer) - quantized_bytes(builder, layer)
                         : 0.0;
        }
    }
    return bytes;
}

void shards_gather_updated(struct builder *builder)
{
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        const struct shards *shards = &builder->shards[kind];
        const double layers = shards->stage.trained - shards->edge.trained;
        const double bytes = quantized_bytes(builder, layers) + raised_bytes(builder, shards) +
                             edge_bytes(builder, shards->edge.trained);
        if (builder->job->software->zero_parameters == GATHER_BROADCASTS) {
            broadcast_updated(builder, shards, bytes);
        } else {
            gather_bytes(builder, shards, bytes);
        }
    }
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        builder_need(builder, builder->shards[kind].gather);
    }
}

/* ---- FSDP: layers are gathered `prefetch` ahead ------------------------------------------ */

/* Whether the chunk's parameters are not there, of an earlier action. */
static bool is_resharded(const struct builder *builder, uint32_t chunk, bool is_backward)
{
    const struct chunk_state *state = &builder->chunks[chunk];
    switch (builder->job->parallel->reshard) {
    case RESHARD_BACKWARD: /* kept while any microbatch is on its way */
        return !is_backward && state->forwards == state->input_grads;
    case RESHARD_STEP:
        return !is_backward && state->forwards == 0;
    default:
        return true;
    }
}

uint32_t layer_walk_index(const struct layer_walk *walk, uint32_t position)
{
    sim_assert(position < walk->count);
    return walk->is_backward ? walk->count - 1 - position : position;
}

static uint32_t kind_at(const struct builder *builder, const struct layer_walk *walk,
                        uint32_t position)
{
    return builder_kind(builder, walk->chunk, layer_walk_index(walk, position));
}

/* Parameters of the layers between two positions, gathered on one rank. */
static double walked_parameters(const struct builder *builder, const struct layer_walk *walk,
                                uint32_t from, uint32_t to)
{
    double parameters = 0;
    for (uint32_t position = from; position < to; position++) {
        const uint32_t layer = kind_at(builder, walk, position);
        for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
            parameters += builder->shards[kind].layer[layer].all;
        }
    }
    return parameters;
}

/* With a tied matrix, which embedding and head share, the edge is there all the time. */
static double live_edge(const struct builder *builder)
{
    return builder->job->model->has_tied_embeddings ? builder->shards[SHARD_DENSE].edge.all : 0.0;
}

/* Of the layers that the backward pass begins with, those that are left of the forward pass. */
static uint32_t kept_layers(const struct builder *builder, const struct layer_walk *walk)
{
    const struct chunk_state *state = &builder->chunks[walk->chunk];
    const double live = (double)builder->job->software->fsdp_live_parameters;
    const bool is_just_ahead = state->forwards == state->input_grads + 1;
    uint32_t kept = 0;
    if (!is_just_ahead || chunks_of(builder) > 1) {
        return 0;
    }
    while (kept < walk->count &&
           live_edge(builder) + walked_parameters(builder, walk, 0, kept + 1) <= live) {
        kept++;
    }
    return kept;
}

/* Whether the layer that is next is gathered while that at `position` is used. */
static bool may_fetch(const struct builder *builder, const struct layer_walk *walk,
                      uint32_t position)
{
    const struct software *software = builder->job->software;
    if (walk->fetched >= walk->count || walk->fetched <= position) {
        return walk->fetched < walk->count;
    }
    const double live = (double)software->fsdp_live_parameters;
    const bool has_room =
        live == 0 ||
        live_edge(builder) + walked_parameters(builder, walk, position, walk->fetched) < live;
    return has_room && (int64_t)(walk->fetched - position) <= software->fsdp_prefetch;
}

struct layer_walk layer_walk_begin(const struct builder *builder, uint32_t chunk, bool is_backward)
{
    struct layer_walk walk = {
        .chunk = chunk,
        .count = builder_layers(builder, chunk),
        .is_backward = is_backward,
        .gathers = is_fsdp(builder) && is_resharded(builder, chunk, is_backward),
    };
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        walk.gathers_before[kind] =
            builder_emitted(builder, way_of(builder, &builder->shards[kind], is_backward).stream);
    }
    if (is_backward && walk.gathers) {
        walk.kept = kept_layers(builder, &walk);
        walk.fetched = walk.kept;
    }
    return walk;
}

uint32_t layer_walk_key(const struct builder *builder, uint32_t chunk, bool is_backward)
{
    const struct chunk_state *state = &builder->chunks[chunk];
    const bool is_just_ahead = state->forwards == state->input_grads + 1;
    return is_fsdp(builder)
               ? (uint32_t)is_resharded(builder, chunk, is_backward) |
                     (uint32_t)is_just_ahead << 1 | (uint32_t)(state->forwards > 0) << 2
               : 0;
}

static void fetch_layer(struct builder *builder, struct layer_walk *walk)
{
    const uint32_t layer = kind_at(builder, walk, walk->fetched);
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        gather_layer(builder, &builder->shards[kind], layer, walk->is_backward);
    }
    walk->fetched++;
}

void layer_walk_gather(struct builder *builder, struct layer_walk *walk, uint32_t position)
{
    if (!walk->gathers) {
        return;
    }
    while (may_fetch(builder, walk, position)) {
        fetch_layer(builder, walk);
    }
    if (position < walk->kept) {
        return;
    }
    const uint32_t layer = kind_at(builder, walk, position);
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        const struct shards *shards = &builder->shards[kind];
        const struct gather_way way = way_of(builder, shards, walk->is_backward);
        walk->gathers_used[kind] += shards->layer[layer].all > 0 && way.group->ranks > 1;
        builder_need_at(builder, way.stream, walk->gathers_before[kind] + walk->gathers_used[kind]);
        visit_shares(builder, shards, layer, way.group->ranks);
        zeropp_unpack(builder, shards->layer[layer].all, way.group->ranks);
        copy_gathered(builder, shards, layer_bytes(builder, layer, shards->layer[layer].all));
    }
}

void shards_gather_edge(struct builder *builder)
{
    if (!is_fsdp(builder)) {
        return;
    }
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        const struct shards *shards = &builder->shards[kind];
        const double bytes = builder->job->parallel->has_quantized_weights
                                 ? quantized_bytes(builder, shards->edge.all)
                                 : edge_bytes(builder, shards->edge.all);
        gather_bytes(builder, shards, bytes);
        builder_need(builder, shards->gather);
        zeropp_unpack(builder, shards->edge.all, shards->group->ranks);
        copy_gathered(builder, shards, bytes);
    }
}

/* Whoever reshards after a backward pass gathers the edge for the next forward pass, too; in a
 * pipeline it stays (torch.distributed.pipelining reshards after the last). */
static bool gathers_edge_again(const struct builder *builder, uint32_t chunk)
{
    const struct parallel *parallel = builder->job->parallel;
    const struct chunk_state *state = &builder->chunks[chunk];
    return is_fsdp(builder) && parallel->pp == 1 && parallel->reshard != RESHARD_STEP &&
           state->forwards > 0 && state->forwards == state->input_grads;
}

void shards_need_edge(struct builder *builder, uint32_t chunk)
{
    if (gathers_edge_again(builder, chunk)) {
        shards_gather_edge(builder);
    }
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* Gradients are joined in a bucket, divided, and copied back where they came from. */
static void copy_bucket(struct builder *builder, const struct shards *shards, double parameters)
{
    if (shards->group->ranks > 1) {
        move_bytes(builder, parameters * builder->job->software->zero_bucket_copies);
    }
}

static void add_to_bucket(struct builder *builder, struct shards *shards, double parameters,
                          bool are_summed)
{
    const struct software *software = builder->job->software;
    copy_bucket(builder, shards, parameters);
    shards->pending_bytes += parameters * builder_gradient_bytes(builder);
    if (software->overlaps_dp_gradients && shards->pending_bytes >= software->bucket_bytes) {
        reduce_gradients(builder, shards, shards->pending_bytes, are_summed);
        shards->pending_bytes = 0;
    }
}

void shards_layer_ready(struct builder *builder, uint32_t chunk, uint32_t kind)
{
    if (is_on_two_stages(builder)) {
        return;
    }
    if (!builder_ends_gradients(builder, chunk) && !reduces_each(builder)) {
        return; /* summed whole until the last microbatch's are there */
    }
    const bool are_summed = sums_now(builder, chunk);
    for (uint32_t i = 0; i < SHARD_COUNT_; i++) {
        struct shards *shards = &builder->shards[i];
        const double bytes = shards->layer[kind].trained * builder_gradient_bytes(builder);
        if (zeropp_reduces(builder)) {
            zeropp_reduce(builder, shards->layer[kind].trained,
                          (uint32_t)shards->tensors[kind].matrices);
        } else if (is_fsdp(builder)) {
            visit_shares(builder, shards, kind, shards->group->ranks);
            copy_gradients(builder, shards, shards->layer[kind].trained);
            reduce_layer(builder, shards, kind, bytes, are_summed);
        } else {
            add_to_bucket(builder, shards, shards->layer[kind].trained, are_summed);
        }
    }
}

void shards_backward_end(struct builder *builder, uint32_t chunk)
{
    if (!is_fsdp(builder) || !builder->job->software->fsdp_reduces_buckets) {
        return;
    }
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        reduce_bucket(builder, &builder->shards[kind], sums_now(builder, chunk));
        builder_need(builder, builder->shards[kind].reduce);
    }
    zeropp_wait(builder);
}

/* The pieces that two stages hold, in the order of the model, one reduction each. */
static void reduce_pieces(struct builder *builder, struct shards *shards)
{
    for (uint32_t place = 0; place < chunks_of(builder); place++) {
        const uint32_t chunk = chunk_in_model_order(builder, place);
        double parameters = 0;
        for (uint32_t i = 0; i < builder_layers(builder, chunk); i++) {
            parameters += shards->layer[builder_kind(builder, chunk, i)].trained;
        }
        reduce_gradients(builder, shards, parameters * builder_gradient_bytes(builder), true);
    }
}

/* What is not in layers, with what is left of a bucket. */
static void reduce_edge(struct builder *builder, struct shards *shards, bool are_summed)
{
    if (zeropp_reduces(builder)) {
        zeropp_reduce(builder, shards->edge.trained, 1);
        return;
    }
    if (is_fsdp(builder)) {
        copy_gradients(builder, shards, shards->edge.trained);
    } else {
        copy_bucket(builder, shards, shards->edge.trained);
    }
    const double bytes = shards->edge.trained * builder_gradient_bytes(builder);
    reduce_gradients(builder, shards, shards->pending_bytes + bytes, are_summed);
    if (are_summed) {
        sum_pending(builder, shards);
    }
    shards->pending_bytes = 0;
}

/* Nothing follows before these gradients are there. */
static void wait_for_reduced(struct builder *builder)
{
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        builder_need(builder, builder->shards[kind].reduce);
        builder_need(builder, builder->shards[kind].sum);
    }
    zeropp_wait(builder);
}

void shards_edge_ready(struct builder *builder, uint32_t chunk)
{
    if (!reduces_each(builder) || builder_ends_gradients(builder, chunk)) {
        return;
    }
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        reduce_edge(builder, &builder->shards[kind], sums_now(builder, chunk));
    }
    wait_for_reduced(builder);
}

void shards_finish(struct builder *builder)
{
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        struct shards *shards = &builder->shards[kind];
        if (is_on_two_stages(builder) && !zeropp_reduces(builder)) {
            reduce_pieces(builder, shards);
        }
        reduce_edge(builder, shards, true);
    }
    wait_for_reduced(builder);
}
