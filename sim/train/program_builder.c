/* Work of one cause accumulates in the compute task being filled until something has to wait
 * for it, or it has to wait for something, or the cause changes.
 */
#include "train/program_builder.h"

#include "base/arena.h"
#include "base/check.h"

uint32_t builder_emitted(const struct builder *builder, enum stream stream)
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

void builder_flush(struct builder *builder)
{
    if (!builder->has_work && builder->next.wait_count == 0) {
        return;
    }
    builder->next.kind = TASK_COMPUTE;
    append(builder, STREAM_COMPUTE, &builder->next);
    builder->next = (struct task){.cause = CAUSE_COMPUTE};
    builder->has_work = false;
}

void builder_work(struct builder *builder, enum cause cause, struct work work)
{
    if (work.busy_ns + work.launch_ns == 0) {
        return;
    }
    if (builder->has_work && builder->next.cause != cause) {
        builder_flush(builder);
    }
    if ((int64_t)builder->next.launch_ns + work.launch_ns > UINT32_MAX) {
        builder_flush(builder); /* over four seconds of gaps: a task of its own */
    }
    struct task *next = &builder->next;
    const int64_t launch_ns = (int64_t)next->launch_ns + work.launch_ns;
    sim_assert(launch_ns <= UINT32_MAX);
    next->cause = (uint8_t)cause;
    next->launch_ns = (uint32_t)launch_ns;
    next->work_ns += work.busy_ns + work.launch_ns;
    builder->has_work = true;
}

void builder_segment(struct builder *builder, enum cause cause, enum segment_kind kind)
{
    builder_work(builder, cause, builder->context->timing->segments[kind]);
}

void builder_need_at(struct builder *builder, enum stream stream, uint32_t ended)
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
            next->wait_ended[i] = ended;
            return;
        }
    }
    next->wait_stream[next->wait_count] = (uint8_t)stream;
    next->wait_ended[next->wait_count++] = ended;
}

void builder_need(struct builder *builder, enum stream stream)
{
    builder_need_at(builder, stream, builder_emitted(builder, stream));
}

void builder_emit(struct builder *builder, enum stream stream, enum task_kind kind,
                  uint32_t transfer)
{
    struct task task = {.kind = (uint8_t)kind, .transfer = transfer};
    if (kind != TASK_RECEIVE) {
        builder_flush(builder);
        if (builder_emitted(builder, STREAM_COMPUTE) > 0) {
            task.wait_count = 1;
            task.wait_stream[0] = STREAM_COMPUTE;
            task.wait_ended[0] = builder_emitted(builder, STREAM_COMPUTE);
        }
    }
    append(builder, stream, &task);
}

void builder_collective(struct builder *builder, enum stream stream,
                        const struct group_shape *group, enum collective_operation operation,
                        double bytes)
{
    if (group->ranks > 1) {
        const struct program_context *context = builder->context;
        builder_emit(builder, stream, TASK_COLLECTIVE,
                     transfer_collective(context->setting, context->transfers,
                                         &context->patterns[stream], context->job, stream, group,
                                         operation, bytes));
    }
}

uint32_t builder_plain(struct builder *builder, enum stream stream, uint32_t path, double bytes)
{
    const struct program_context *context = builder->context;
    return transfer_plain(context->arena, context->transfers, context->job, stream, path,
                          COLLECTIVE_SEND, bytes);
}

/* ---- shapes ---------------------------------------------------------------------- */

double builder_element_bytes(const struct builder *builder)
{
    return (double)precision_bytes((enum precision)builder->scenario->precision);
}

double builder_gradient_bytes(const struct builder *builder)
{
    return (double)precision_bytes((enum precision)builder->scenario->software.gradient_precision);
}

int64_t builder_tokens(const struct builder *builder)
{
    const struct batch *batch = &builder->scenario->batch;
    return batch->micro * batch->sequence_length / builder->scenario->parallel.cp;
}

double builder_activation_bytes(const struct builder *builder)
{
    return (double)(builder_tokens(builder) * builder->scenario->model.hidden) *
           builder_element_bytes(builder);
}

uint32_t builder_piece(const struct builder *builder, uint32_t chunk)
{
    return chunk * (uint32_t)builder->scenario->parallel.pp + builder->stage;
}

uint32_t builder_layers(const struct builder *builder, uint32_t chunk)
{
    return (uint32_t)builder->scenario->parallel.layers_per_chunk[builder_piece(builder, chunk)];
}
