/* The order in which a stage receives is found by walking through the orders
 * of both neighbours at set-up. From then on a receive is a number in a list,
 * and an action asks for the one that it needs.
 */
#include "train/program/program_messages.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/layout.h"
#include "train/groups.h"
#include "train/program/program_calls.h"

struct message {
    uint8_t stream;  /* 0: comes from a chunk of the same stage */
    uint32_t number; /* tasks of the stream that must have ended */
};

struct messages {
    struct schedule_shape shape;
    struct message *activations; /* [chunk * microbatches + microbatch] */
    struct message *gradients;
    bool meet; /* stages do: train/program/program_calls */
};

/* ---- who sends what ------------------------------------------------------------------ */

/* Where a message of a place goes; false: nowhere. */
static bool destination(const struct schedule_shape *shape, struct schedule_place from,
                        bool is_forward, struct schedule_place *to)
{
    return is_forward ? schedule_next(shape, from, to) : schedule_previous(shape, from, to);
}

/* Gradients take the other way of the activations that they answer. */
static bool goes_to_next(const struct parallel *parallel, uint32_t from, uint32_t to,
                         bool is_forward)
{
    return is_forward ? groups_is_next_stage(parallel, from, to)
                      : !groups_is_next_stage(parallel, to, from);
}

/* Of all tensor-parallel ranks together. */
static double boundary_bytes(const struct builder *builder, uint32_t stage, uint32_t chunk,
                             bool is_forward)
{
    const struct parallel *parallel = builder->job->parallel;
    const int64_t piece = layout_piece(parallel, stage, chunk);
    const int64_t after = layout_first_layer(parallel, is_forward ? piece + 1 : piece);
    const uint32_t kind =
        after > 0 ? model_kind(builder->job->model, after - 1) : builder_last_kind(builder);
    return builder_activation_bytes(builder, kind);
}

/* A tensor-parallel rank's share. */
static double share_of(const struct builder *builder, struct schedule_place from, bool is_forward)
{
    return boundary_bytes(builder, from.stage, from.chunk, is_forward) /
           (double)builder->job->parallel->tp;
}

static uint32_t boundary_transfer(struct builder *builder, uint32_t stage, uint32_t chunk,
                                  bool is_forward)
{
    const struct schedule_place from = {stage, chunk};
    return builder_plain(builder, STREAM_SEND_FORWARD, 0, share_of(builder, from, is_forward));
}

/* ---- receives ------------------------------------------------------------------------- */

static struct message *message_of(const struct messages *messages, uint32_t chunk,
                                  uint32_t microbatch, bool is_forward)
{
    const size_t index = (size_t)chunk * messages->shape.microbatches + microbatch;
    return is_forward ? &messages->activations[index] : &messages->gradients[index];
}

/* A neighbour's action ended with this message: to this stage, or not. */
static void take_message(struct builder *builder, struct schedule_place from, uint32_t microbatch,
                         bool is_forward)
{
    struct messages *messages = builder->messages;
    const struct parallel *parallel = builder->job->parallel;
    struct schedule_place to = {0, 0};
    if (!destination(&messages->shape, from, is_forward, &to) || to.stage != builder->stage) {
        return;
    }
    const enum stream stream = goes_to_next(parallel, from.stage, to.stage, is_forward)
                                   ? STREAM_RECEIVE_FORWARD
                                   : STREAM_RECEIVE_BACKWARD;
    builder_emit(builder, stream, TASK_RECEIVE,
                 boundary_transfer(builder, from.stage, from.chunk, is_forward));
    *message_of(messages, to.chunk, microbatch, is_forward) =
        (struct message){(uint8_t)stream, builder_emitted(builder, stream)};
}

static void take_messages_of(struct builder *builder, uint32_t neighbour)
{
    const struct schedule_order order =
        schedule_order(builder->context->arena, &builder->messages->shape, neighbour);
    for (uint64_t i = 0; i < order.count; i++) {
        const struct schedule_action *action = &order.actions[i];
        const struct schedule_place place = {neighbour, action->chunk};
        const struct schedule_place other = {neighbour, action->backward_chunk};
        switch (action->operation) {
        case SCHEDULE_FORWARD:
            take_message(builder, place, action->microbatch, true);
            break;
        case SCHEDULE_BACKWARD:
        case SCHEDULE_BACKWARD_INPUT:
            take_message(builder, place, action->microbatch, false);
            break;
        case SCHEDULE_PAIR:
            take_message(builder, place, action->microbatch, true);
            take_message(builder, other, action->backward_microbatch, false);
            break;
        default:
            break;
        }
    }
}

void messages_init(struct builder *builder)
{
    const struct schedule_shape shape =
        schedule_shape_of(builder->job->parallel, builder->job->batch);
    struct arena *arena = builder->context->arena;
    struct messages *messages = arena_alloc(arena, sizeof *messages);
    const size_t count = (size_t)shape.chunks * shape.microbatches;
    *messages = (struct messages){
        .shape = shape,
        .activations = arena_array(arena, count, sizeof *messages->activations),
        .gradients = arena_array(arena, count, sizeof *messages->gradients),
    };
    for (size_t i = 0; i < count; i++) {
        messages->activations[i] = (struct message){0, 0};
        messages->gradients[i] = (struct message){0, 0};
    }
    builder->messages = messages;
    messages->meet = calls_are_made(builder->job->parallel, builder->job->software);
    if (shape.stages > 1 && !messages->meet) {
        const uint32_t next = (builder->stage + 1) % shape.stages;
        const uint32_t previous = (builder->stage + shape.stages - 1) % shape.stages;
        take_messages_of(builder, next);
        if (previous != next) {
            take_messages_of(builder, previous);
        }
    }
}

/* ---- in an action ------------------------------------------------------------------------ */

/* Megatron-LM waits for the GPU after a batch of sends and receives (p2p_communication.py,
 * batch_p2p_sync); only the interleaved schedule can overlap them. */
static void synchronise(struct builder *builder)
{
    const bool overlaps = builder->job->software->overlaps_p2p &&
                          builder->job->parallel->schedule == SCHEDULE_INTERLEAVED;
    if (builder->job->software->waits_for_p2p && !overlaps) {
        launch_queue_drain(&builder->launches);
    }
}

/* Tensor-parallel ranks each receive a share; without sequence parallelism they
 * gather the whole over scale-up links. */
void messages_receive(struct builder *builder, uint32_t chunk, uint32_t microbatch, bool is_forward)
{
    const struct message *message = message_of(builder->messages, chunk, microbatch, is_forward);
    const struct schedule_place here = {builder->stage, chunk};
    struct schedule_place sender = {0, 0};
    const bool is_sent = destination(&builder->messages->shape, here, !is_forward, &sender);
    if (builder->messages->meet && is_sent) {
        if (calls_before(builder, microbatch, is_forward, share_of(builder, sender, is_forward))) {
            synchronise(builder);
        }
    } else if (message->number == 0) {
        return; /* the chunk before is on this stage */
    } else {
        builder_need_at(builder, (enum stream)message->stream, message->number);
        synchronise(builder);
    }
    if (!builder->job->parallel->is_sequence_parallel) {
        sim_assert(is_sent);
        builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_GATHER,
                           boundary_bytes(builder, sender.stage, sender.chunk, is_forward));
        builder_need(builder, STREAM_TENSOR);
    }
}

void messages_send(struct builder *builder, uint32_t chunk, uint32_t microbatch, bool is_forward)
{
    const struct schedule_place place = {builder->stage, chunk};
    struct schedule_place to = {0, 0};
    if (!destination(&builder->messages->shape, place, is_forward, &to) ||
        to.stage == builder->stage) {
        return;
    }
    if (builder->messages->meet) {
        calls_after(builder, microbatch, is_forward, share_of(builder, place, is_forward));
        synchronise(builder);
        return;
    }
    const enum stream stream =
        goes_to_next(builder->job->parallel, builder->stage, to.stage, is_forward)
            ? STREAM_SEND_FORWARD
            : STREAM_SEND_BACKWARD;
    builder_emit(builder, stream, TASK_SEND,
                 boundary_transfer(builder, builder->stage, chunk, is_forward));
    if (!builder->job->software->overlaps_p2p) {
        builder_need(builder, stream);
    }
    synchronise(builder);
}
