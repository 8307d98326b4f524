/* Work of one cause accumulates in the compute task being filled until something has to wait
 * for it, or it has to wait for something, or the cause changes.
 */
#include "train/program/program_builder.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/job/optimizer.h"
#include "input/job/parallel.h"
#include "input/layout.h"
#include "train/jitter.h"

uint32_t builder_emitted(const struct builder *builder, enum stream stream)
{
    return lanes_record(&builder->lanes)
               ? lanes_emitted(&builder->lanes, stream)
               : builder->firsts[stream] + (uint32_t)builder->lists[stream].count;
}

struct task *builder_append_room(struct builder *builder, enum stream stream, uint32_t count)
{
    struct task_list *list = &builder->lists[stream];
    if (list->count + count > list->capacity) {
        list->tasks = arena_grow(builder->context->arena, list->tasks, &list->capacity,
                                 list->count + count, sizeof *list->tasks);
    }
    list->count += count;
    return list->tasks + (list->count - count);
}

static void append(struct builder *builder, enum stream stream, const struct task *task)
{
    *builder_append_room(builder, stream, 1) = *task;
}

/* Of the compute task just appended, if that is wanted. */
static void note_amount(struct builder *builder, struct work_amount amount)
{
    struct amount_list *list = &builder->amounts;
    if (builder->context->counts_work) {
        list->items = arena_grow(builder->context->arena, list->items, &list->capacity,
                                 list->count + 1, sizeof *list->items);
        list->items[list->count++] = amount;
    }
}

void builder_flush(struct builder *builder)
{
    sim_assert(!lanes_record(&builder->lanes));
    if (!builder->has_work && builder->next.wait_count == 0) {
        return;
    }
    builder->next.kind = TASK_COMPUTE;
    while (builder->next.work_ns > ENGINE_WORK_NS_MAX) {
        struct task part = builder->next;
        part.work_ns = ENGINE_WORK_NS_MAX;
        append(builder, STREAM_COMPUTE, &part);
        note_amount(builder, (struct work_amount){.flop = 0});
        builder->next = (struct task){.kind = TASK_COMPUTE,
                                      .cause = part.cause,
                                      .work_ns = builder->next.work_ns - ENGINE_WORK_NS_MAX};
    }
    append(builder, STREAM_COMPUTE, &builder->next);
    note_amount(builder, builder->next_amount);
    builder->next = (struct task){.cause = CAUSE_COMPUTE};
    builder->next_amount = (struct work_amount){.flop = 0};
    builder->has_work = false;
}

/* ---- what is done with an operation ---------------------------------------------------- */

static void add_work(struct builder *builder, uint8_t cause, const struct work *work)
{
    const int64_t wait_ns = launch_history_wait(&builder->launches, &work->burst);
    const int64_t gaps_ns = work->launch_ns + wait_ns;
    builder->host_wait_ns += wait_ns;
    if (work->drains) {
        launch_history_drain(&builder->launches);
    }
    if (work->busy_ns + gaps_ns == 0) {
        return;
    }
    if (builder->has_work && builder->next.cause != cause) {
        builder_flush(builder);
    }
    if ((int64_t)builder->next.launch_ns + gaps_ns > UINT32_MAX) {
        builder_flush(builder); /* over four seconds of gaps: a task of its own */
    }
    struct task *next = &builder->next;
    const int64_t launch_ns = (int64_t)next->launch_ns + gaps_ns;
    sim_assert(launch_ns <= UINT32_MAX);
    next->cause = cause;
    next->launch_ns = (uint32_t)launch_ns;
    next->work_ns += work->busy_ns + gaps_ns;
    builder->next_amount.flop += work->amount.flop;
    builder->next_amount.bytes += work->amount.bytes;
    builder->next_amount.segments |= work->amount.segments;
    builder->has_work = true;
}

static void add_wait(struct builder *builder, uint8_t stream, uint32_t ended)
{
    if (ended <= builder->needed[stream]) {
        return;
    }
    builder->needed[stream] = ended;
    if (builder->has_work || builder->next.wait_count == ENGINE_WAITS_MAX) {
        builder_flush(builder);
    }
    struct task *next = &builder->next;
    for (uint32_t i = 0; i < next->wait_count; i++) {
        if (next->wait_stream[i] == stream) {
            next->wait_ended[i] = (int32_t)ended;
            return;
        }
    }
    next->wait_stream[next->wait_count] = stream;
    next->wait_ended[next->wait_count++] = (int32_t)ended;
}

static void add_task(struct builder *builder, enum stream stream, enum task_kind kind,
                     uint32_t transfer, struct task_wait after)
{
    struct task task = {.kind = (uint8_t)kind, .transfer = transfer};
    if (task.kind != TASK_RECEIVE) {
        builder_flush(builder);
        if (builder_emitted(builder, STREAM_COMPUTE) > 0) {
            task.wait_stream[task.wait_count] = STREAM_COMPUTE;
            task.wait_ended[task.wait_count++] = (int32_t)builder_emitted(builder, STREAM_COMPUTE);
        }
    }
    if (after.ended > 0) {
        task.wait_stream[task.wait_count] = (uint8_t)after.stream;
        task.wait_ended[task.wait_count++] = (int32_t)after.ended;
    }
    append(builder, stream, &task);
}

static void perform(struct builder *builder, const struct lane_op *op)
{
    switch ((enum lane_op_kind)op->kind) {
    case LANE_WORK:
        add_work(builder, op->cause, &op->work);
        break;
    case LANE_NEED:
        add_wait(builder, op->stream, op->ended);
        break;
    case LANE_EMIT:
        add_task(builder, (enum stream)op->stream, (enum task_kind)op->task_kind, op->transfer,
                 op->after);
        break;
    }
}

void builder_begin_half(struct builder *builder, uint32_t number)
{
    uint32_t emitted[STREAM_COUNT_];
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        emitted[s] = builder->firsts[s] + (uint32_t)builder->lists[s].count;
    }
    lanes_begin(&builder->lanes, number, emitted, builder->needed);
}

void builder_end_halves(struct builder *builder)
{
    struct lane_op op;
    lanes_end(&builder->lanes);
    while (lanes_next(&builder->lanes, &op)) {
        perform(builder, &op);
        if (op.kind == LANE_EMIT) {
            lanes_place(&builder->lanes, (enum stream)op.stream,
                        builder_emitted(builder, (enum stream)op.stream));
        }
    }
}

/* ---- blocks --------------------------------------------------------------------------------- */

const struct engine_block *builder_end_block(struct builder *builder)
{
    struct engine_block *block = arena_alloc(builder->context->arena, sizeof *block);
    size_t count = 0;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        count += builder->lists[s].count;
    }
    struct task *tasks = arena_room(builder->context->arena, count, sizeof *tasks);
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        struct task_list *list = &builder->lists[s];
        block->tasks[s] = tasks;
        block->counts[s] = (uint32_t)list->count;
        for (size_t i = 0; i < list->count; i++) {
            *tasks++ = builder_count_from(builder->firsts, list->tasks[i]);
        }
        list->count = 0;
    }
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        builder->firsts[s] += block->counts[s];
    }
    return block;
}

struct builder_next builder_note_next(const struct builder *builder)
{
    const struct task *next = &builder->next;
    struct builder_next noted = {.work_ns = next->work_ns,
                                 .launch_ns = next->launch_ns,
                                 .cause = next->cause,
                                 .has_work = builder->has_work,
                                 .wait_count = next->wait_count};
    for (uint32_t i = 0; i < next->wait_count; i++) {
        const enum stream stream = (enum stream)next->wait_stream[i];
        noted.wait_stream[i] = stream;
        noted.wait_ended[i] = next->wait_ended[i] - (int32_t)builder_emitted(builder, stream);
    }
    return noted;
}

void builder_restore_next(struct builder *builder, const struct builder_next *next)
{
    builder->has_work = next->has_work != 0;
    builder->next = (struct task){.cause = (uint8_t)next->cause,
                                  .wait_count = (uint8_t)next->wait_count,
                                  .launch_ns = next->launch_ns,
                                  .work_ns = next->work_ns};
    for (uint32_t i = 0; i < next->wait_count; i++) {
        const enum stream stream = (enum stream)next->wait_stream[i];
        builder->next.wait_stream[i] = (uint8_t)stream;
        builder->next.wait_ended[i] =
            (int32_t)builder_emitted(builder, stream) + next->wait_ended[i];
    }
}

enum builder_before builder_before_of(uint32_t emitted, uint32_t needed)
{
    if (emitted == 0) {
        return BEFORE_NONE;
    }
    return emitted == needed ? BEFORE_NEEDED : BEFORE_LEFT;
}

enum builder_before builder_before(const struct builder *builder, enum stream stream)
{
    return builder_before_of(builder_emitted(builder, stream), builder->needed[stream]);
}

/* What is asked of tasks before the block, or the layer, is what these depend on. Who waits for
 * nothing else waits for compute, if there was any: {0, 0} asks for that. */
static void ask(struct builder *builder, uint32_t stream, uint32_t ended)
{
    if (ended <= builder->firsts[stream]) {
        builder->asked |= 1U << stream;
    }
    if (builder->layer_firsts != NULL && ended <= builder->layer_firsts[stream]) {
        builder->layer_asked |= 1U << stream;
    }
}

/* ---- operations ------------------------------------------------------------------------ */

void builder_work(struct builder *builder, enum cause cause, struct work work)
{
    if (lanes_record(&builder->lanes)) {
        lanes_note(&builder->lanes,
                   &(struct lane_op){.kind = LANE_WORK, .cause = (uint8_t)cause, .work = work});
    } else {
        add_work(builder, (uint8_t)cause, &work);
    }
}

void builder_segment(struct builder *builder, enum cause cause, uint32_t kind,
                     enum segment_kind segment)
{
    builder_work(builder, cause, timing_work(builder->context->timing, kind, segment));
}

void builder_segment_part(struct builder *builder, enum cause cause, uint32_t kind,
                          enum segment_kind segment, struct segment_part part)
{
    sim_assert(part.number < part.count);
    const struct work whole = timing_work(builder->context->timing, kind, segment);
    const int64_t i = part.number;
    const int64_t n = part.count;
    builder_work(builder, cause,
                 (struct work){.busy_ns = whole.busy_ns * (i + 1) / n - whole.busy_ns * i / n,
                               .launch_ns = whole.launch_ns * (i + 1) / n - whole.launch_ns * i / n,
                               .burst = launch_burst_part(&whole.burst, i, n),
                               .drains = whole.drains && i + 1 == n,
                               .amount = {whole.amount.flop / (double)n,
                                          whole.amount.bytes / (double)n, whole.amount.segments}});
}

void builder_need_at(struct builder *builder, enum stream stream, uint32_t ended)
{
    ask(builder, stream, ended);
    if (lanes_record(&builder->lanes)) {
        lanes_note(&builder->lanes,
                   &(struct lane_op){.kind = LANE_NEED, .stream = (uint8_t)stream, .ended = ended});
    } else {
        add_wait(builder, (uint8_t)stream, ended);
    }
}

void builder_need(struct builder *builder, enum stream stream)
{
    builder_need_at(builder, stream, builder_emitted(builder, stream));
}

static void emit(struct builder *builder, enum stream stream, enum task_kind kind,
                 uint32_t transfer, struct task_wait after)
{
    ask(builder, after.stream, after.ended);
    if (lanes_record(&builder->lanes)) {
        lanes_note(&builder->lanes, &(struct lane_op){.kind = LANE_EMIT,
                                                      .stream = (uint8_t)stream,
                                                      .task_kind = (uint8_t)kind,
                                                      .transfer = transfer,
                                                      .after = after});
    } else {
        add_task(builder, stream, kind, transfer, after);
    }
}

void builder_emit(struct builder *builder, enum stream stream, enum task_kind kind,
                  uint32_t transfer)
{
    emit(builder, stream, kind, transfer, (struct task_wait){0, 0});
}

void builder_emit_after(struct builder *builder, enum stream stream, uint32_t transfer,
                        struct task_wait after)
{
    emit(builder, stream, TASK_COLLECTIVE, transfer, after);
}

/* Replicas come to what they do together one after the other, and all go on as late as the last. */
static void meet(struct builder *builder, enum stream stream, uint32_t ranks)
{
    const bool is_of_replicas = stream >= STREAM_DATA_GATHER && stream <= STREAM_ACROSS_REDUCE;
    const double late_s =
        is_of_replicas ? jitter_meeting_s(builder->job->software, (int64_t)ranks) : 0.0;
    if (late_s > 0) {
        builder_work(builder, CAUSE_STRAGGLER_WAIT,
                     (struct work){.busy_ns = sim_time_from_s(late_s)});
    }
}

void builder_collective_wish(struct builder *builder, enum stream stream,
                             const struct group_shape *group, const struct transfer_wish *wish,
                             struct task_wait after)
{
    if (group->ranks > 1) {
        const struct program_context *context = builder->context;
        meet(builder, stream, group->ranks);
        builder_emit_after(builder, stream,
                           transfer_collective(context->setting, context->transfers,
                                               &context->patterns[stream], context->job_number,
                                               stream, group, wish),
                           after);
    }
}

void builder_collective(struct builder *builder, enum stream stream,
                        const struct group_shape *group, enum collective_operation operation,
                        double bytes)
{
    const struct transfer_wish wish = {.operation = operation, .bytes = bytes};
    builder_collective_wish(builder, stream, group, &wish, (struct task_wait){0, 0});
}

uint32_t builder_plain(struct builder *builder, enum stream stream, uint32_t path, double bytes)
{
    const struct program_context *context = builder->context;
    return transfer_plain(context->arena, context->transfers, context->job_number, stream, path,
                          COLLECTIVE_SEND, bytes);
}

void builder_move(struct builder *builder, enum stream stream, uint32_t path, double bytes)
{
    builder_emit(builder, stream, TASK_COLLECTIVE, builder_plain(builder, stream, path, bytes));
}

/* ---- shapes ---------------------------------------------------------------------- */

double builder_element_bytes(const struct builder *builder)
{
    return (double)precision_bytes(builder->job->precision);
}

double builder_sent_bytes(const struct builder *builder, uint32_t kind, double low_bytes)
{
    return builder->job->model->kinds[kind].is_high ? builder_element_bytes(builder) : low_bytes;
}

double builder_gradient_bytes(const struct builder *builder)
{
    return state_bytes((enum state_format)builder->job->optimizer->gradients);
}

double builder_tokens(const struct builder *builder, uint32_t kind)
{
    sim_assert(kind < builder->job->model->kind_count);
    const int64_t own = builder->job->model->kinds[kind].tokens;
    const int64_t tokens = own > 0 ? own : builder->job->batch->sequence_length;
    return (double)(builder->job->batch->micro * tokens) / (double)builder->job->parallel->cp;
}

double builder_activations(const struct builder *builder, uint32_t kind)
{
    return builder_tokens(builder, kind) * (double)builder->job->model->kinds[kind].hidden;
}

double builder_activation_bytes(const struct builder *builder, uint32_t kind)
{
    return builder_activations(builder, kind) * builder_element_bytes(builder);
}

uint32_t builder_piece(const struct builder *builder, uint32_t chunk)
{
    return builder->chunks[chunk].piece;
}

uint32_t builder_layers(const struct builder *builder, uint32_t chunk)
{
    return (uint32_t)builder->job->parallel->layers_per_chunk[builder_piece(builder, chunk)];
}

uint32_t builder_kind(const struct builder *builder, uint32_t chunk, uint32_t index)
{
    sim_assert(index < builder_layers(builder, chunk));
    return model_kind(builder->job->model, builder->chunks[chunk].first_layer + index);
}

uint32_t builder_last_kind(const struct builder *builder)
{
    const struct model *model = builder->job->model;
    return model_kind(model, model->layers - 1);
}

bool builder_is_first(const struct builder *builder, uint32_t chunk)
{
    return builder_piece(builder, chunk) == 0;
}

bool builder_is_last(const struct builder *builder, uint32_t chunk)
{
    return builder_piece(builder, chunk) + 1 == (uint32_t)layout_pieces(builder->job->parallel);
}

bool builder_ends_gradients(const struct builder *builder, uint32_t chunk)
{
    const struct chunk_state *state = &builder->chunks[chunk];
    return state->weight_grads == state->microbatches;
}
