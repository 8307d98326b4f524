/* The actions of a stage in order, and what comes before the first and after the last.
 *
 * program_builder writes tasks, program_layer what a layer does, program_shards what data
 * parallelism does.
 */
#include "train/program.h"

#include "plan/memory.h"
#include "plan/schedule.h"
#include "train/program_layer.h"
#include "train/program_shards.h"

/* ---- one action -------------------------------------------------------------------------- */

static bool is_first_piece(const struct builder *builder, uint32_t chunk)
{
    return builder_piece(builder, chunk) == 0;
}

static bool is_last_piece(const struct builder *builder, uint32_t chunk)
{
    const struct parallel *parallel = &builder->scenario->parallel;
    return builder_piece(builder, chunk) == (uint32_t)(parallel->pp * parallel->virtual_stages) - 1;
}

static uint32_t boundary_transfer(struct builder *builder)
{
    return builder_plain(builder, STREAM_SEND_FORWARD, 0,
                         builder_activation_bytes(builder) /
                             (double)builder->scenario->parallel.tp);
}

static void send_boundary(struct builder *builder, enum stream stream)
{
    builder_emit(builder, stream, TASK_SEND, boundary_transfer(builder));
    if (!builder->scenario->software.overlaps_p2p) {
        builder_need(builder, stream);
    }
}

/* Tensor-parallel ranks each receive a share; without sequence parallelism they
 * gather the whole over NVLink. */
static void receive_boundary(struct builder *builder, enum stream stream)
{
    builder_emit(builder, stream, TASK_RECEIVE, boundary_transfer(builder));
    builder_need(builder, stream);
    if (!builder->scenario->parallel.is_sequence_parallel) {
        builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_GATHER,
                           builder_activation_bytes(builder));
        builder_need(builder, STREAM_TENSOR);
    }
}

/* The loss needs the maximum and the sum over the vocabulary's shards: fp32, per token. */
static void reduce_loss(struct builder *builder)
{
    builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_REDUCE,
                       (double)builder_tokens(builder) * 4.0);
    builder_need(builder, STREAM_TENSOR);
}

static void forward_action(struct builder *builder, const struct schedule_action *action)
{
    struct layer_walk walk = layer_walk_begin(builder, action->chunk, false);
    if (is_first_piece(builder, action->chunk)) {
        builder_segment(builder, CAUSE_COMPUTE, SEGMENT_EMBEDDING);
        layer_reduce_tensor(builder);
        builder_need(builder, STREAM_TENSOR);
    } else {
        receive_boundary(builder, STREAM_RECEIVE_FORWARD);
    }
    uint32_t before = 0;
    for (uint32_t chunk = 0; chunk < action->chunk; chunk++) {
        before += builder_layers(builder, chunk);
    }
    for (uint32_t i = 0; i < walk.count; i++) {
        layer_walk_gather(builder, &walk, i);
        if (action->microbatch == 0 && shards_gather_ahead(builder)) {
            shards_need_layer(builder, before + i);
        }
        layer_forward(builder, CAUSE_COMPUTE, layer_walk_has_experts(builder, &walk, i));
    }
    if (is_last_piece(builder, action->chunk)) {
        builder_segment(builder, CAUSE_COMPUTE, SEGMENT_HEAD_PRE);
        layer_gather_sequence(builder);
        builder_need(builder, STREAM_TENSOR);
        builder_segment(builder, CAUSE_COMPUTE, SEGMENT_HEAD);
        reduce_loss(builder);
    } else {
        send_boundary(builder, STREAM_SEND_FORWARD);
    }
}

static void backward_head(struct builder *builder)
{
    builder_segment(builder, CAUSE_COMPUTE, SEGMENT_HEAD_BACKWARD);
    layer_reduce_tensor(builder);
    builder_need(builder, STREAM_TENSOR);
    builder_segment(builder, CAUSE_COMPUTE, SEGMENT_HEAD_PRE_BACKWARD);
}

static void backward_action(struct builder *builder, const struct schedule_action *action)
{
    struct layer_walk walk = layer_walk_begin(builder, action->chunk, true);
    if (is_last_piece(builder, action->chunk)) {
        backward_head(builder);
    } else {
        receive_boundary(builder, STREAM_RECEIVE_BACKWARD);
    }
    for (uint32_t i = 0; i < walk.count; i++) {
        const bool has_experts = layer_walk_has_experts(builder, &walk, i);
        layer_walk_gather(builder, &walk, i);
        layer_backward(builder, has_experts);
        shards_layer_ready(builder, has_experts, action->microbatch);
    }
    if (is_first_piece(builder, action->chunk)) {
        builder_segment(builder, CAUSE_COMPUTE, SEGMENT_EMBEDDING_BACKWARD);
    } else {
        send_boundary(builder, STREAM_SEND_BACKWARD);
    }
}

/* ---- the whole step ------------------------------------------------------------------- */

static void begin_step(struct builder *builder)
{
    const struct work host = {sim_time_from_s(builder->scenario->software.host_per_step_s), 0};
    if (shards_gather_ahead(builder)) {
        shards_begin(builder);
    }
    builder_work(builder, CAUSE_LAUNCH, host);
    shards_gather_edge(builder);
}

static void run_schedule(struct builder *builder)
{
    const struct scenario *scenario = builder->scenario;
    const struct schedule_shape shape = {
        .kind = (enum schedule_kind)scenario->parallel.schedule,
        .stages = (uint32_t)scenario->parallel.pp,
        .chunks = (uint32_t)scenario->parallel.virtual_stages,
        .microbatches = (uint32_t)scenario->batch.microbatches,
    };
    const struct schedule_action *actions =
        schedule_actions(builder->context->arena, &shape, builder->stage);
    const size_t count = (size_t)2 * shape.chunks * shape.microbatches;
    for (size_t i = 0; i < count; i++) {
        if (actions[i].is_backward) {
            backward_action(builder, &actions[i]);
        } else {
            forward_action(builder, &actions[i]);
        }
    }
}

static void finish_gradients(struct builder *builder)
{
    const struct scenario *scenario = builder->scenario;
    shards_finish(builder);
    const uint32_t last = (uint32_t)scenario->parallel.pp - 1;
    if (builder->stage == 0 || builder->stage == last) {
        const double vocab = (double)cost_padded_vocab(&scenario->model, scenario->parallel.tp);
        builder_collective(builder, STREAM_EMBEDDING, &builder->context->embedding,
                           COLLECTIVE_ALL_REDUCE,
                           vocab * (double)scenario->model.hidden / (double)scenario->parallel.tp *
                               builder_gradient_bytes(builder));
        builder_need(builder, STREAM_EMBEDDING);
    }
}

double program_owned_parameters(const struct scenario *scenario, uint32_t stage)
{
    const struct parallel *parallel = &scenario->parallel;
    const double all = memory_stage_parameters(scenario, stage);
    if (parallel->zero == 0) {
        return all;
    }
    const double experts = memory_stage_expert_parameters(scenario, stage);
    return (all - experts) / (double)memory_dense_ranks(parallel) +
           experts / (double)memory_expert_ranks(parallel);
}

struct work program_norm_work(const struct scenario *scenario, uint32_t stage)
{
    return timing_memory_pass(
        scenario,
        program_owned_parameters(scenario, stage) *
            (double)precision_bytes((enum precision)scenario->software.gradient_precision));
}

static void update_parameters(struct builder *builder)
{
    const struct scenario *scenario = builder->scenario;
    builder_work(builder, CAUSE_OPTIMIZER, program_norm_work(scenario, builder->stage));
    builder_collective(builder, STREAM_WORLD, &builder->context->world, COLLECTIVE_ALL_REDUCE, 4);
    builder_need(builder, STREAM_WORLD);
    builder_work(builder, CAUSE_OPTIMIZER,
                 timing_optimizer(scenario, program_owned_parameters(scenario, builder->stage)));
    const bool is_sharded = scenario->parallel.zero == 1 || scenario->parallel.zero == 2;
    if (is_sharded && !shards_gather_ahead(builder)) {
        shards_gather_updated(builder);
    }
}

/* What goes on beside the step from its beginning. */
static void begin_background(struct builder *builder)
{
    const struct program_context *context = builder->context;
    if (context->flush_bytes_per_rank > 0) {
        builder_emit(builder, STREAM_STORAGE, TASK_COLLECTIVE,
                     builder_plain(builder, STREAM_STORAGE, 1, context->flush_bytes_per_rank));
    }
    const struct scenario *scenario = builder->scenario;
    if (context->reads_over_fabric && builder->stage == 0) {
        const double bytes = (double)(scenario->batch.micro * scenario->batch.microbatches *
                                      scenario->batch.sequence_length) *
                             scenario->data.bytes_per_token /
                             (double)(scenario->parallel.tp * scenario->parallel.cp);
        builder_emit(builder, STREAM_READ, TASK_COLLECTIVE,
                     builder_plain(builder, STREAM_READ, 0, bytes));
    }
}

static void end_background(struct builder *builder)
{
    builder_need(builder, STREAM_STORAGE);
    builder_need(builder, STREAM_READ);
}

static void write_checkpoint(struct builder *builder)
{
    const double bytes = builder->context->checkpoint_bytes_per_rank;
    if (bytes > 0) {
        builder_emit(builder, STREAM_STORAGE, TASK_COLLECTIVE,
                     builder_plain(builder, STREAM_STORAGE, 0, bytes));
        builder_need(builder, STREAM_STORAGE);
    }
}

struct engine_program program_build(const struct program_context *context, uint32_t stage)
{
    const struct scenario *scenario = context->scenario;
    struct builder builder = {.context = context, .scenario = scenario, .stage = stage};
    builder.next.cause = CAUSE_COMPUTE;
    shards_init(&builder);
    begin_background(&builder);
    begin_step(&builder);
    run_schedule(&builder);
    finish_gradients(&builder);
    update_parameters(&builder);
    write_checkpoint(&builder);
    end_background(&builder);
    builder_flush(&builder);
    struct engine_program program = {.step_tasks = 0};
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        program.tasks[s] = builder.lists[s].tasks;
        program.counts[s] = (uint32_t)builder.lists[s].count;
    }
    return program;
}
