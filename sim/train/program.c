/* A builder holds the task lists and the compute work not yet written as a
 * task: work of one cause accumulates until something has to wait for it, or it
 * has to wait for something, or the cause changes.
 */
#include "train/program.h"

#include "base/arena.h"
#include "base/check.h"
#include "plan/schedule.h"
#include "train/metrics.h"

struct task_list {
    struct task *tasks;
    size_t count;
    size_t capacity;
};

struct builder {
    const struct program_context *context;
    const struct scenario *scenario;
    uint32_t stage;
    struct task_list lists[STREAM_COUNT_];
    struct task next; /* the compute task being filled: cause, work, waits */
    bool has_work;
    uint32_t needed[STREAM_COUNT_]; /* what compute has waited for already */
    double reduce_pending_bytes;    /* gradients produced, not yet in a bucket's reduction */
    uint32_t *layer_gathered;       /* zero 1, 2 with overlap: gathers needed before each layer */
};

/* ---- emitting tasks ------------------------------------------------------------ */

static uint32_t emitted(const struct builder *builder, enum stream stream)
{
    return (uint32_t)builder->lists[stream].count;
}

static void append(struct builder *builder, enum stream stream, const struct task *task)
{
    struct task_list *list = &builder->lists[stream];
    list->tasks = arena_grow(builder->context->arena, list->tasks, &list->capacity, list->count + 1,
                             sizeof *list->tasks);
    list->tasks[list->count++] = *task;
}

/* Writes the compute task being filled, if there is anything in it. */
static void flush(struct builder *builder)
{
    if (!builder->has_work && builder->next.wait_count == 0) {
        return;
    }
    builder->next.kind = TASK_COMPUTE;
    append(builder, STREAM_COMPUTE, &builder->next);
    builder->next = (struct task){.cause = CAUSE_COMPUTE};
    builder->has_work = false;
}

static void add_work(struct builder *builder, enum cause cause, struct work work)
{
    if (work.busy_ns + work.launch_ns == 0) {
        return;
    }
    if (builder->has_work && builder->next.cause != cause) {
        flush(builder);
    }
    if ((int64_t)builder->next.launch_ns + work.launch_ns > UINT32_MAX) {
        flush(builder); /* over four seconds of gaps: a task of its own */
    }
    struct task *next = &builder->next;
    const int64_t launch_ns = (int64_t)next->launch_ns + work.launch_ns;
    sim_assert(launch_ns <= UINT32_MAX);
    next->cause = (uint8_t)cause;
    next->launch_ns = (uint32_t)launch_ns;
    next->work_ns += work.busy_ns + work.launch_ns;
    builder->has_work = true;
}

static void add_segment(struct builder *builder, enum cause cause, enum segment_kind kind)
{
    add_work(builder, cause, builder->context->timing->segments[kind]);
}

/* What comes next on the compute stream waits until `ended` tasks of a stream have ended. */
static void need_at(struct builder *builder, enum stream stream, uint32_t ended)
{
    if (ended <= builder->needed[stream]) {
        return;
    }
    builder->needed[stream] = ended;
    if (builder->has_work || builder->next.wait_count == ENGINE_WAITS_MAX) {
        flush(builder);
    }
    struct task *next = &builder->next;
    for (uint32_t i = 0; i < next->wait_count; i++) {
        if (next->wait_stream[i] == stream) {
            next->wait_ended[i] = ended;
            return;
        }
    }
    next->wait_stream[next->wait_count] = (uint8_t)stream;
    next->wait_ended[next->wait_count++] = ended;
}

static void need(struct builder *builder, enum stream stream)
{
    need_at(builder, stream, emitted(builder, stream));
}

static uint32_t transfer_number(struct builder *builder, struct engine_transfer transfer,
                                struct transfer_origin origin)
{
    struct arena *arena = builder->context->arena;
    struct transfer_table *table = builder->context->transfers;
    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i].bytes == transfer.bytes &&
            table->items[i].latency_ns == transfer.latency_ns &&
            table->origins[i].operation == origin.operation &&
            (int64_t)table->origins[i].bytes == (int64_t)origin.bytes) {
            return (uint32_t)i;
        }
    }
    table->items =
        arena_grow(arena, table->items, &table->capacity, table->count + 1, sizeof *table->items);
    table->origins = arena_grow(arena, table->origins, &table->origin_capacity, table->count + 1,
                                sizeof *table->origins);
    table->items[table->count] = transfer;
    table->origins[table->count] = origin;
    return (uint32_t)table->count++;
}

/* A communication task. It waits for all compute emitted so far; receives are posted early. */
static void emit(struct builder *builder, enum stream stream, enum task_kind kind,
                 uint32_t transfer)
{
    struct task task = {.kind = (uint8_t)kind, .transfer = transfer};
    if (kind != TASK_RECEIVE) {
        flush(builder);
        if (emitted(builder, STREAM_COMPUTE) > 0) {
            task.wait_count = 1;
            task.wait_stream[0] = STREAM_COMPUTE;
            task.wait_ended[0] = emitted(builder, STREAM_COMPUTE);
        }
    }
    append(builder, stream, &task);
}

static void emit_collective(struct builder *builder, enum stream stream,
                            const struct group_shape *group, enum collective_operation operation,
                            double bytes)
{
    if (group->ranks > 1) {
        const struct engine_transfer transfer =
            transfer_of_collective(builder->context->fabric, group, operation, bytes);
        const struct transfer_origin origin = {operation, bytes};
        emit(builder, stream, TASK_COLLECTIVE, transfer_number(builder, transfer, origin));
    }
}

/* ---- shapes ---------------------------------------------------------------------- */

static double element_bytes(const struct scenario *scenario)
{
    return (double)precision_bytes((enum precision)scenario->precision);
}

static double gradient_bytes(const struct scenario *scenario)
{
    return (double)precision_bytes((enum precision)scenario->software.gradient_precision);
}

/* One microbatch's activations between layers, whole (not sharded by tp). */
static double activation_bytes(const struct scenario *scenario)
{
    return (double)(scenario->batch.micro * scenario->batch.sequence_length *
                    scenario->model.hidden) *
           element_bytes(scenario);
}

double program_layer_parameters(const struct scenario *scenario)
{
    const struct parameter_count count = cost_parameters(&scenario->model);
    return (double)count.layer_matrix / (double)scenario->parallel.tp +
           (double)(count.layer - count.layer_matrix);
}

static uint32_t piece_of(const struct builder *builder, uint32_t chunk)
{
    return chunk * (uint32_t)builder->scenario->parallel.pp + builder->stage;
}

static bool is_first_piece(const struct builder *builder, uint32_t chunk)
{
    return piece_of(builder, chunk) == 0;
}

static bool is_last_piece(const struct builder *builder, uint32_t chunk)
{
    const struct parallel *parallel = &builder->scenario->parallel;
    return piece_of(builder, chunk) == (uint32_t)(parallel->pp * parallel->virtual_stages) - 1;
}

static uint32_t layers_of(const struct builder *builder, uint32_t chunk)
{
    return (uint32_t)builder->scenario->parallel.layers_per_chunk[piece_of(builder, chunk)];
}

/* Parameters of embedding, head and final norm on this stage's rank. */
static double edge_parameters(const struct builder *builder)
{
    const uint32_t last = (uint32_t)builder->scenario->parallel.virtual_stages - 1;
    double layers = 0;
    for (uint32_t chunk = 0; chunk <= last; chunk++) {
        layers += layers_of(builder, chunk);
    }
    return memory_stage_parameters(builder->scenario, builder->stage) -
           layers * program_layer_parameters(builder->scenario);
}

static bool is_fsdp(const struct builder *builder)
{
    return builder->scenario->parallel.zero == 3 && builder->context->data.ranks > 1;
}

/* ---- tensor parallelism -------------------------------------------------------------- */

static void tensor_collective(struct builder *builder, enum collective_operation operation)
{
    emit_collective(builder, STREAM_TENSOR, &builder->context->tensor, operation,
                    activation_bytes(builder->scenario));
}

/* Before a block: with sequence parallelism the sharded activations are gathered. */
static void gather_sequence(struct builder *builder)
{
    if (builder->scenario->parallel.is_sequence_parallel) {
        tensor_collective(builder, COLLECTIVE_ALL_GATHER);
    }
}

/* After a block: its partial sums are added up. */
static void reduce_tensor(struct builder *builder)
{
    tensor_collective(builder, builder->scenario->parallel.is_sequence_parallel
                                   ? COLLECTIVE_REDUCE_SCATTER
                                   : COLLECTIVE_ALL_REDUCE);
}

static void forward_block(struct builder *builder, enum cause cause, enum segment_kind before,
                          enum segment_kind block, enum segment_kind after)
{
    add_segment(builder, cause, before);
    gather_sequence(builder);
    need(builder, STREAM_TENSOR);
    add_segment(builder, cause, block);
    reduce_tensor(builder);
    need(builder, STREAM_TENSOR);
    add_segment(builder, cause, after);
}

static void forward_layer(struct builder *builder, enum cause cause)
{
    forward_block(builder, cause, SEGMENT_ATTENTION_PRE, SEGMENT_ATTENTION, SEGMENT_ATTENTION_POST);
    forward_block(builder, cause, SEGMENT_MLP_PRE, SEGMENT_MLP, SEGMENT_MLP_POST);
}

/* The first matrix of a block: its input is gathered again beside the input
 * gradient (sequence parallelism), and the sum of input gradients runs beside the
 * weight gradient, if the software overlaps them. */
static void backward_first_matrix(struct builder *builder, enum segment_kind dgrad,
                                  enum segment_kind wgrad)
{
    const bool overlaps = builder->scenario->software.overlaps_tp_backward;
    gather_sequence(builder);
    const uint32_t gathered = emitted(builder, STREAM_TENSOR);
    if (!overlaps) {
        need(builder, STREAM_TENSOR);
    }
    add_segment(builder, CAUSE_COMPUTE, dgrad);
    reduce_tensor(builder);
    need_at(builder, STREAM_TENSOR, overlaps ? gathered : emitted(builder, STREAM_TENSOR));
    add_segment(builder, CAUSE_COMPUTE, wgrad);
    need(builder, STREAM_TENSOR);
}

static void backward_block(struct builder *builder, enum segment_kind after,
                           enum segment_kind inner, enum segment_kind dgrad,
                           enum segment_kind wgrad, enum segment_kind before)
{
    add_segment(builder, CAUSE_COMPUTE, after);
    gather_sequence(builder);
    need(builder, STREAM_TENSOR);
    add_segment(builder, CAUSE_COMPUTE, inner);
    backward_first_matrix(builder, dgrad, wgrad);
    add_segment(builder, CAUSE_COMPUTE, before);
}

static void backward_layer(struct builder *builder)
{
    if (builder->scenario->recompute == RECOMPUTE_FULL) {
        forward_layer(builder, CAUSE_RECOMPUTE);
    }
    backward_block(builder, SEGMENT_MLP_POST_BACKWARD, SEGMENT_MLP_INNER_BACKWARD,
                   SEGMENT_MLP_DGRAD, SEGMENT_MLP_WGRAD, SEGMENT_MLP_PRE_BACKWARD);
    if (builder->scenario->recompute == RECOMPUTE_SELECTIVE) {
        add_segment(builder, CAUSE_RECOMPUTE, SEGMENT_SELECTIVE_RECOMPUTE);
    }
    backward_block(builder, SEGMENT_ATTENTION_POST_BACKWARD, SEGMENT_ATTENTION_INNER_BACKWARD,
                   SEGMENT_ATTENTION_DGRAD, SEGMENT_ATTENTION_WGRAD,
                   SEGMENT_ATTENTION_PRE_BACKWARD);
}

/* ---- data parallelism ------------------------------------------------------------------ */

static void gather_parameters(struct builder *builder, double parameters)
{
    emit_collective(builder, STREAM_DATA_GATHER, &builder->context->data, COLLECTIVE_ALL_GATHER,
                    parameters * element_bytes(builder->scenario));
}

static void reduce_gradients(struct builder *builder, double bytes)
{
    emit_collective(builder, STREAM_DATA_REDUCE, &builder->context->data,
                    builder->scenario->parallel.zero == 0 ? COLLECTIVE_ALL_REDUCE
                                                          : COLLECTIVE_REDUCE_SCATTER,
                    bytes);
}

/* Gradients of `parameters` parameters are ready in the last microbatch. */
static void gradients_ready(struct builder *builder, double parameters, bool is_last)
{
    builder->reduce_pending_bytes += parameters * gradient_bytes(builder->scenario);
    const bool is_full =
        builder->reduce_pending_bytes >= builder->scenario->software.bucket_bytes || is_last;
    if (builder->scenario->software.overlaps_dp_gradients && is_full) {
        reduce_gradients(builder, builder->reduce_pending_bytes);
        builder->reduce_pending_bytes = 0;
    }
}

/* ZeRO-1 and 2 with overlap: gathers in forward order, one bucket after another,
 * from the start of the step; notes how many each layer has to wait for. */
static void gather_ahead(struct builder *builder)
{
    const struct scenario *scenario = builder->scenario;
    const double layer = program_layer_parameters(scenario);
    const double bucket = scenario->software.bucket_bytes / gradient_bytes(scenario);
    double pending = edge_parameters(builder);
    uint32_t number = 0;
    uint32_t first_of_bucket = 0;
    for (uint32_t chunk = 0; chunk < scenario->parallel.virtual_stages; chunk++) {
        for (uint32_t i = 0; i < layers_of(builder, chunk); i++) {
            pending += layer;
            number++;
            if (pending >= bucket) {
                gather_parameters(builder, pending);
                pending = 0;
            }
            for (; first_of_bucket < number && pending == 0; first_of_bucket++) {
                builder->layer_gathered[first_of_bucket] = emitted(builder, STREAM_DATA_GATHER);
            }
        }
    }
    if (pending > 0) {
        gather_parameters(builder, pending);
    }
    for (; first_of_bucket < number; first_of_bucket++) {
        builder->layer_gathered[first_of_bucket] = emitted(builder, STREAM_DATA_GATHER);
    }
}

static bool gathers_ahead(const struct builder *builder)
{
    const int64_t zero = builder->scenario->parallel.zero;
    return (zero == 1 || zero == 2) && builder->scenario->software.overlaps_dp_parameters &&
           builder->context->data.ranks > 1;
}

/* ---- FSDP: layers are gathered `prefetch` ahead ------------------------------------------ */

/* Before layer `position` (of `count`, in the order they are used): gathers what
 * is due, then waits for this layer's own. */
static void fsdp_gather_for(struct builder *builder, uint32_t position, uint32_t count,
                            uint32_t first_gather)
{
    if (!is_fsdp(builder)) {
        return;
    }
    const uint32_t ahead = (uint32_t)builder->scenario->software.fsdp_prefetch;
    const uint32_t due = position + ahead + 1 < count ? position + ahead + 1 : count;
    while (emitted(builder, STREAM_DATA_GATHER) - first_gather < due) {
        gather_parameters(builder, program_layer_parameters(builder->scenario));
    }
    need_at(builder, STREAM_DATA_GATHER, first_gather + position + 1);
}

/* ---- one action ---------------------------------------------------------------------------- */

/* `bytes` that are not part of a collective, and whose latency is their channel's. */
static uint32_t plain_transfer(struct builder *builder, double bytes)
{
    const struct transfer_origin origin = {COLLECTIVE_SEND, bytes};
    return transfer_number(builder, (struct engine_transfer){0, (int64_t)(bytes + 0.5)}, origin);
}

static uint32_t boundary_transfer(struct builder *builder)
{
    return plain_transfer(builder, activation_bytes(builder->scenario) /
                                       (double)builder->scenario->parallel.tp);
}

static void send_boundary(struct builder *builder, enum stream stream)
{
    emit(builder, stream, TASK_SEND, boundary_transfer(builder));
    if (!builder->scenario->software.overlaps_p2p) {
        need(builder, stream);
    }
}

/* Tensor-parallel ranks each receive a share; without sequence parallelism they
 * gather the whole over NVLink. */
static void receive_boundary(struct builder *builder, enum stream stream)
{
    emit(builder, stream, TASK_RECEIVE, boundary_transfer(builder));
    need(builder, stream);
    if (!builder->scenario->parallel.is_sequence_parallel) {
        tensor_collective(builder, COLLECTIVE_ALL_GATHER);
        need(builder, STREAM_TENSOR);
    }
}

/* The loss needs the maximum and the sum over the vocabulary's shards: fp32, per token. */
static void reduce_loss(struct builder *builder)
{
    const struct batch *batch = &builder->scenario->batch;
    emit_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_REDUCE,
                    (double)(batch->micro * batch->sequence_length) * 4.0);
    need(builder, STREAM_TENSOR);
}

static void forward_action(struct builder *builder, const struct schedule_action *action)
{
    const uint32_t layers = layers_of(builder, action->chunk);
    const uint32_t first_gather = emitted(builder, STREAM_DATA_GATHER);
    if (is_first_piece(builder, action->chunk)) {
        add_segment(builder, CAUSE_COMPUTE, SEGMENT_EMBEDDING);
        reduce_tensor(builder);
        need(builder, STREAM_TENSOR);
    } else {
        receive_boundary(builder, STREAM_RECEIVE_FORWARD);
    }
    uint32_t before = 0;
    for (uint32_t chunk = 0; chunk < action->chunk; chunk++) {
        before += layers_of(builder, chunk);
    }
    for (uint32_t i = 0; i < layers; i++) {
        fsdp_gather_for(builder, i, layers, first_gather);
        if (action->microbatch == 0 && gathers_ahead(builder)) {
            need_at(builder, STREAM_DATA_GATHER, builder->layer_gathered[before + i]);
        }
        forward_layer(builder, CAUSE_COMPUTE);
    }
    if (is_last_piece(builder, action->chunk)) {
        add_segment(builder, CAUSE_COMPUTE, SEGMENT_HEAD_PRE);
        gather_sequence(builder);
        need(builder, STREAM_TENSOR);
        add_segment(builder, CAUSE_COMPUTE, SEGMENT_HEAD);
        reduce_loss(builder);
    } else {
        send_boundary(builder, STREAM_SEND_FORWARD);
    }
}

static void backward_head(struct builder *builder)
{
    add_segment(builder, CAUSE_COMPUTE, SEGMENT_HEAD_BACKWARD);
    reduce_tensor(builder);
    need(builder, STREAM_TENSOR);
    add_segment(builder, CAUSE_COMPUTE, SEGMENT_HEAD_PRE_BACKWARD);
}

static bool reduces_in(const struct builder *builder, uint32_t microbatch)
{
    const bool each_time = builder->scenario->parallel.zero >= 2;
    return each_time || microbatch + 1 == builder->scenario->batch.microbatches;
}

static void backward_action(struct builder *builder, const struct schedule_action *action)
{
    const uint32_t layers = layers_of(builder, action->chunk);
    const uint32_t first_gather = emitted(builder, STREAM_DATA_GATHER);
    if (is_last_piece(builder, action->chunk)) {
        backward_head(builder);
    } else {
        receive_boundary(builder, STREAM_RECEIVE_BACKWARD);
    }
    for (uint32_t i = 0; i < layers; i++) {
        fsdp_gather_for(builder, i, layers, first_gather);
        backward_layer(builder);
        if (is_fsdp(builder)) {
            reduce_gradients(builder, program_layer_parameters(builder->scenario) *
                                          gradient_bytes(builder->scenario));
        } else if (reduces_in(builder, action->microbatch)) {
            gradients_ready(builder, program_layer_parameters(builder->scenario), false);
        }
    }
    if (is_first_piece(builder, action->chunk)) {
        add_segment(builder, CAUSE_COMPUTE, SEGMENT_EMBEDDING_BACKWARD);
    } else {
        send_boundary(builder, STREAM_SEND_BACKWARD);
    }
}

/* ---- the whole step ------------------------------------------------------------------- */

static void begin_step(struct builder *builder)
{
    const struct work host = {sim_time_from_s(builder->scenario->software.host_per_step_s), 0};
    if (gathers_ahead(builder)) {
        gather_ahead(builder);
    }
    add_work(builder, CAUSE_LAUNCH, host);
    if (is_fsdp(builder)) { /* embedding, head and norm are one unit, gathered once */
        gather_parameters(builder, edge_parameters(builder));
        need(builder, STREAM_DATA_GATHER);
    }
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

/* What was not reduced beside the backward pass: all of it, or the last bucket. */
static void finish_gradients(struct builder *builder)
{
    const struct scenario *scenario = builder->scenario;
    const double edge_bytes = edge_parameters(builder) * gradient_bytes(scenario);
    const double pending = builder->reduce_pending_bytes + edge_bytes;
    if (pending > 0) {
        reduce_gradients(builder, pending);
        builder->reduce_pending_bytes = 0;
    }
    need(builder, STREAM_DATA_REDUCE);
    const uint32_t last = (uint32_t)scenario->parallel.pp - 1;
    if (builder->stage == 0 || builder->stage == last) {
        const double vocab = (double)cost_padded_vocab(&scenario->model, scenario->parallel.tp);
        emit_collective(builder, STREAM_EMBEDDING, &builder->context->embedding,
                        COLLECTIVE_ALL_REDUCE,
                        vocab * (double)scenario->model.hidden / (double)scenario->parallel.tp *
                            gradient_bytes(scenario));
        need(builder, STREAM_EMBEDDING);
    }
}

double program_owned_parameters(const struct scenario *scenario, uint32_t stage)
{
    const double parameters = memory_stage_parameters(scenario, stage);
    return scenario->parallel.zero >= 1 ? parameters / (double)scenario->parallel.dp : parameters;
}

struct work program_norm_work(const struct scenario *scenario, uint32_t stage)
{
    return timing_memory_pass(scenario,
                              program_owned_parameters(scenario, stage) * gradient_bytes(scenario));
}

static void update_parameters(struct builder *builder)
{
    const struct scenario *scenario = builder->scenario;
    add_work(builder, CAUSE_OPTIMIZER, program_norm_work(scenario, builder->stage));
    emit_collective(builder, STREAM_WORLD, &builder->context->world, COLLECTIVE_ALL_REDUCE, 4);
    need(builder, STREAM_WORLD);
    add_work(builder, CAUSE_OPTIMIZER,
             timing_optimizer(scenario, program_owned_parameters(scenario, builder->stage)));
    const bool is_sharded = scenario->parallel.zero == 1 || scenario->parallel.zero == 2;
    if (is_sharded && !gathers_ahead(builder)) {
        gather_parameters(builder, memory_stage_parameters(scenario, builder->stage));
        need(builder, STREAM_DATA_GATHER);
    }
}

static void write_checkpoint(struct builder *builder)
{
    const double bytes = builder->context->checkpoint_bytes_per_rank;
    if (bytes > 0) {
        emit(builder, STREAM_STORAGE, TASK_COLLECTIVE, plain_transfer(builder, bytes));
        need(builder, STREAM_STORAGE);
    }
}

struct engine_program program_build(const struct program_context *context, uint32_t stage)
{
    const struct scenario *scenario = context->scenario;
    struct builder builder = {.context = context, .scenario = scenario, .stage = stage};
    builder.next.cause = CAUSE_COMPUTE;
    builder.layer_gathered = arena_array(context->arena, (size_t)scenario->model.layers + 1,
                                         sizeof *builder.layer_gathered);
    begin_step(&builder);
    run_schedule(&builder);
    finish_gradients(&builder);
    update_parameters(&builder);
    write_checkpoint(&builder);
    flush(&builder);
    struct engine_program program = {{NULL}, {0}};
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        program.tasks[s] = builder.lists[s].tasks;
        program.counts[s] = (uint32_t)builder.lists[s].count;
    }
    return program;
}
