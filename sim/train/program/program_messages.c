/* The order in which a stage receives is found by walking through the orders
 * of both neighbours at set-up. From then on a receive is a number in a list,
 * and an action asks for the one that it needs: those before it are posted with it.
 */
#include "train/program/program_messages.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/layout.h"
#include "train/groups.h"
#include "train/program/program_calls.h"
#include "train/program/program_written.h"

struct message {
    uint8_t stream;  /* 0: comes from a chunk of the same stage */
    uint32_t number; /* tasks of the stream that must have ended */
};

/* What comes on a stream. */
struct inbox {
    uint32_t *transfers; /* in order; with room for all that a stage receives */
    size_t count;
    size_t posted;
};

struct messages {
    struct schedule_shape shape;
    struct inbox forward, backward; /* STREAM_RECEIVE_FORWARD and _BACKWARD */
    struct message *activations;    /* [chunk * microbatches + microbatch] */
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

static bool goes_to_next(const struct parallel *parallel, uint32_t from, uint32_t to,
                         bool is_forward)
{
    return groups_goes_ahead((enum schedule_kind)parallel->schedule, (uint32_t)parallel->pp, from,
                             to, is_forward);
}

/* Of all tensor-parallel ranks together. */
static double boundary_bytes(const struct builder *builder, uint32_t stage, uint32_t chunk,
                             bool is_forward)
{
    const struct parallel *parallel = builder->job->parallel;
    const int64_t piece = layout_piece(parallel, stage, chunk);
    const int64_t after = builder->first_layers[is_forward ? piece + 1 : piece];
    const uint32_t kind =
        after > 0 ? model_kind(builder->job->model, after - 1) : builder_last_kind(builder);
    return builder_activation_bytes(builder, kind);
}

/* Of a tensor-parallel rank: the tokens that it holds, its share of what all hold, or all. */
static double shared(const struct builder *builder, double whole_bytes, bool is_forward)
{
    const struct parallel *parallel = builder->job->parallel;
    const bool is_share =
        parallel->is_sequence_parallel || software_scatters(builder->job->software, is_forward);
    return whole_bytes / (is_share ? (double)parallel->tp : 1.0);
}

/* Both ways over the border that a message of this place crosses. */
static struct call_bytes call_bytes_of(const struct builder *builder, struct schedule_place from,
                                       bool is_forward)
{
    const double whole_bytes = boundary_bytes(builder, from.stage, from.chunk, is_forward);
    return (struct call_bytes){.ahead = shared(builder, whole_bytes, true),
                               .back = shared(builder, whole_bytes, false)};
}

static uint32_t boundary_transfer(struct builder *builder, uint32_t stage, uint32_t chunk,
                                  bool is_forward)
{
    const double whole_bytes = boundary_bytes(builder, stage, chunk, is_forward);
    return builder_plain(builder, STREAM_SEND_FORWARD, 0, shared(builder, whole_bytes, is_forward));
}

/* ---- receives ------------------------------------------------------------------------- */

static struct message *message_of(const struct messages *messages, uint32_t chunk,
                                  uint32_t microbatch, bool is_forward)
{
    const size_t index = (size_t)chunk * messages->shape.microbatches + microbatch;
    return is_forward ? &messages->activations[index] : &messages->gradients[index];
}

static struct inbox *inbox_of(struct messages *messages, uint32_t stream)
{
    return stream == STREAM_RECEIVE_FORWARD ? &messages->forward : &messages->backward;
}

/* Where messages of a neighbour's chunk go, one way. */
struct border {
    bool is_known;
    bool comes_here;
    uint8_t stream; /* on which they come */
    uint32_t chunk; /* for which */
    uint32_t transfer;
};

/* What comes of a neighbour's chunks, by chunk and direction. */
struct neighbour {
    uint32_t stage;
    struct border *borders;
};

static struct border border_of(struct builder *builder, struct schedule_place from, bool is_forward)
{
    struct schedule_place to = {0, 0};
    if (!destination(&builder->messages->shape, from, is_forward, &to) ||
        to.stage != builder->stage) {
        return (struct border){.is_known = true};
    }
    const bool is_ahead = goes_to_next(builder->job->parallel, from.stage, to.stage, is_forward);
    return (struct border){
        .is_known = true,
        .comes_here = true,
        .stream = is_ahead ? STREAM_RECEIVE_FORWARD : STREAM_RECEIVE_BACKWARD,
        .chunk = to.chunk,
        .transfer = boundary_transfer(builder, from.stage, from.chunk, is_forward),
    };
}

/* A neighbour's action ended with this message: to this stage, or not. Each border is looked at
 * with its first message, since transfers have numbers by who asks first. */
static void take_message(struct builder *builder, const struct neighbour *neighbour, uint32_t chunk,
                         uint32_t microbatch, bool is_forward)
{
    struct messages *messages = builder->messages;
    struct border *border = &neighbour->borders[2 * chunk + is_forward];
    if (!border->is_known) {
        *border = border_of(builder, (struct schedule_place){neighbour->stage, chunk}, is_forward);
    }
    if (!border->comes_here) {
        return;
    }
    struct inbox *inbox = inbox_of(messages, border->stream);
    inbox->transfers[inbox->count++] = border->transfer;
    *message_of(messages, border->chunk, microbatch, is_forward) =
        (struct message){border->stream, (uint32_t)inbox->count};
}

static void take_messages_of(struct builder *builder, uint32_t stage)
{
    struct arena *arena = builder->context->arena;
    const struct schedule_shape *shape = &builder->messages->shape;
    const struct schedule_order order = written_order(builder->context, stage);
    struct neighbour neighbour = {.stage = stage};
    neighbour.borders = arena_array(arena, (size_t)shape->chunks * 2, sizeof *neighbour.borders);
    for (uint64_t i = 0; i < order.count; i++) {
        const struct schedule_action *action = &order.actions[i];
        switch (action->operation) {
        case SCHEDULE_FORWARD:
            take_message(builder, &neighbour, action->chunk, action->microbatch, true);
            break;
        case SCHEDULE_BACKWARD:
        case SCHEDULE_BACKWARD_INPUT:
            take_message(builder, &neighbour, action->chunk, action->microbatch, false);
            break;
        case SCHEDULE_PAIR:
            take_message(builder, &neighbour, action->chunk, action->microbatch, true);
            take_message(builder, &neighbour, action->backward_chunk, action->backward_microbatch,
                         false);
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
        .forward.transfers = arena_room(arena, 2 * count, sizeof(uint32_t)),
        .backward.transfers = arena_room(arena, 2 * count, sizeof(uint32_t)),
    };
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
        launch_history_drain(&builder->launches);
    }
}

static void post(struct builder *builder, uint32_t stream, size_t number)
{
    struct inbox *inbox = inbox_of(builder->messages, stream);
    while (inbox->posted < number) {
        builder_emit(builder, (enum stream)stream, TASK_RECEIVE, inbox->transfers[inbox->posted++]);
    }
}

void messages_finish(struct builder *builder)
{
    post(builder, STREAM_RECEIVE_FORWARD, builder->messages->forward.count);
    post(builder, STREAM_RECEIVE_BACKWARD, builder->messages->backward.count);
}

/* What tensor-parallel ranks received a share of and need whole they gather over scale-up links. */
void messages_receive(struct builder *builder, uint32_t chunk, uint32_t microbatch, bool is_forward)
{
    const struct message *message = message_of(builder->messages, chunk, microbatch, is_forward);
    const struct schedule_place here = {builder->stage, chunk};
    struct schedule_place sender = {0, 0};
    const bool is_sent = destination(&builder->messages->shape, here, !is_forward, &sender);
    if (builder->messages->meet && is_sent) {
        const struct call_bytes bytes = call_bytes_of(builder, sender, is_forward);
        if (calls_before(builder, microbatch, is_forward, &bytes)) {
            synchronise(builder);
        }
    } else if (message->number == 0) {
        return; /* the chunk before is on this stage */
    } else {
        post(builder, message->stream, message->number);
        if (!builder->job->software->waits_for_no_stage) {
            builder_need_at(builder, (enum stream)message->stream, message->number);
        }
        synchronise(builder);
    }
    if (!builder->job->parallel->is_sequence_parallel &&
        software_scatters(builder->job->software, is_forward)) {
        sim_assert(is_sent);
        builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_GATHER,
                           boundary_bytes(builder, sender.stage, sender.chunk, is_forward));
        builder_need(builder, STREAM_TENSOR);
    }
}

/* The stream on which a chunk's messages go to another stage; 0: they go nowhere, or stay here. */
static uint32_t sending_stream(const struct builder *builder, uint32_t chunk, bool is_forward)
{
    const struct schedule_place place = {builder->stage, chunk};
    struct schedule_place to = {0, 0};
    if (!destination(&builder->messages->shape, place, is_forward, &to) ||
        to.stage == builder->stage) {
        return 0;
    }
    return goes_to_next(builder->job->parallel, builder->stage, to.stage, is_forward)
               ? STREAM_SEND_FORWARD
               : STREAM_SEND_BACKWARD;
}

void messages_send(struct builder *builder, uint32_t chunk, uint32_t microbatch, bool is_forward)
{
    const struct schedule_place place = {builder->stage, chunk};
    const enum stream stream = (enum stream)sending_stream(builder, chunk, is_forward);
    if (stream == 0) {
        return;
    }
    if (builder->messages->meet) {
        const struct call_bytes bytes = call_bytes_of(builder, place, is_forward);
        calls_after(builder, microbatch, is_forward, &bytes);
        synchronise(builder);
        return;
    }
    builder_emit(builder, stream, TASK_SEND,
                 boundary_transfer(builder, builder->stage, chunk, is_forward));
    if (!builder->job->software->overlaps_p2p) {
        builder_need(builder, stream);
    }
    synchronise(builder);
}

/* ---- what they depend on ------------------------------------------------------------------ */

struct messages_ends messages_ends(const struct builder *builder, uint32_t chunk, bool is_forward)
{
    const struct schedule_place here = {builder->stage, chunk};
    struct schedule_place sender = {0, 0};
    struct messages_ends ends = {.stream = sending_stream(builder, chunk, is_forward)};
    ends.comes = destination(&builder->messages->shape, here, !is_forward, &sender);
    if (ends.comes) {
        ends.bytes_in = boundary_bytes(builder, sender.stage, sender.chunk, is_forward);
    }
    if (ends.stream != 0) {
        ends.bytes_out = boundary_bytes(builder, here.stage, here.chunk, is_forward);
    }
    return ends;
}

bool messages_key(const struct builder *builder, uint32_t chunk, uint32_t microbatch,
                  bool is_forward, const struct messages_key *with, struct messages_key *key)
{
    struct messages *messages = builder->messages;
    if (messages->meet) {
        key->calls = calls_key(builder, microbatch, is_forward);
        return true;
    }
    const struct message *message = message_of(messages, chunk, microbatch, is_forward);
    if (message->number == 0) {
        return true;
    }
    const struct inbox *inbox = inbox_of(messages, message->stream);
    const bool is_second = with != NULL && with->stream == message->stream;
    const size_t posted = inbox->posted + (is_second ? with->posted : 0);
    key->stream = message->stream;
    key->number = (int32_t)((int64_t)message->number - (int64_t)inbox->posted);
    key->posted = message->number > posted ? message->number - (uint32_t)posted : 0;
    for (uint32_t i = 0; i < key->posted && i < MESSAGES_POSTED_MAX; i++) {
        key->transfers[i] = inbox->transfers[posted + i];
    }
    return key->posted <= MESSAGES_POSTED_MAX;
}

void messages_pass(struct builder *builder, const struct messages_key *key)
{
    if (key->stream != 0) {
        inbox_of(builder->messages, key->stream)->posted += key->posted;
    }
}
