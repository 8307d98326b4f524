/* Walks the layers of a chunk for one action of the schedule. Receives come
 * first and sends last; between them each layer is gathered, computed,
 * offloaded or fetched by the files that know how.
 */
#include "train/program/program_action.h"

#include "train/program/program_ends.h"
#include "train/program/program_layer.h"
#include "train/program/program_messages.h"
#include "train/program/program_offload.h"
#include "train/program/program_shards.h"

/* A microbatch on a chunk. */
struct part {
    uint32_t chunk;
    uint32_t microbatch;
};

static struct offload_place offload_place_of(const struct builder *builder, struct part part,
                                             uint32_t layer)
{
    return (struct offload_place){
        .chunk = part.chunk,
        .layer = layer,
        .kind = builder_kind(builder, part.chunk, layer),
        .microbatch = part.microbatch,
        .is_full = ends_recomputes_all(builder, layer),
    };
}

/* Delayed scaling: after a chunk's pass all ranks that hold it agree on the largest values that it
 * has seen, two of a product forward (input, weights) and one backward, before anything follows
 * (TransformerEngine, reduce_and_update_fp8_tensors of pytorch/quantization.py). A layer has four
 * products; the kernels that gather the values are left out. */
static void reduce_scales(struct builder *builder, uint32_t chunk, int64_t values_of_product)
{
    enum { PRODUCTS = 4, FP32_BYTES = 4 };
    const enum amax_group group =
        software_amax_group(builder->job->software, builder->job->precision);
    const double bytes = (double)(values_of_product * PRODUCTS * FP32_BYTES) *
                         (double)builder_layers(builder, chunk);
    switch (group) {
    case AMAX_ALL:
        builder_collective(builder, STREAM_SCALES, &builder->context->scales, COLLECTIVE_ALL_REDUCE,
                           bytes);
        builder_need(builder, STREAM_SCALES);
        return;
    case AMAX_TENSOR:
        builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_REDUCE,
                           bytes);
        builder_need(builder, STREAM_TENSOR);
        return;
    case AMAX_OWN:
    case AMAX_COUNT_:
        return;
    }
}

/* The loader hands over what is worked on next. */
static void take_batch(struct builder *builder)
{
    if (builder->context->takes_batches) {
        builder_move(builder, STREAM_READ, 0, 0);
        builder_need(builder, STREAM_READ);
    }
}

static void forward(struct builder *builder, struct part part)
{
    struct chunk_state *state = &builder->chunks[part.chunk];
    shards_need_edge(builder, part.chunk); /* no layer's: the walk counts what comes after it */
    struct layer_walk walk = layer_walk_begin(builder, part.chunk, false);
    const bool waits_for_bucket = state->forwards == 0 && shards_gather_ahead(builder);
    state->forwards++;
    offload_begin(builder, part.chunk, part.microbatch);
    if (builder_is_first(builder, part.chunk)) {
        take_batch(builder);
        ends_embedding(builder);
    }
    for (uint32_t i = 0; i < walk.count; i++) {
        layer_walk_gather(builder, &walk, i);
        if (waits_for_bucket) {
            shards_need_layer(builder, state->before + i);
        }
        layer_forward(builder, CAUSE_COMPUTE, builder_kind(builder, part.chunk, i));
        const struct offload_place place = offload_place_of(builder, part, i);
        offload_activations(builder, &place);
    }
    if (builder_is_last(builder, part.chunk)) {
        ends_head(builder);
    }
    reduce_scales(builder, part.chunk, 2);
}

/* Activations come back a layer ahead. */
static void fetch(struct builder *builder, struct part part, const struct layer_walk *walk,
                  uint32_t position)
{
    const uint32_t due = position + 2 < walk->count ? position + 2 : walk->count;
    for (uint32_t i = position == 0 ? 0 : position + 1; i < due; i++) {
        const struct offload_place place =
            offload_place_of(builder, part, layer_walk_index(walk, i));
        offload_fetch(builder, &place);
    }
    const struct offload_place place =
        offload_place_of(builder, part, layer_walk_index(walk, position));
    offload_need(builder, &place);
}

static void backward(struct builder *builder, struct part part, bool leaves_weights)
{
    struct chunk_state *state = &builder->chunks[part.chunk];
    struct layer_walk walk = layer_walk_begin(builder, part.chunk, true);
    state->input_grads++;
    state->weight_grads += !leaves_weights;
    if (builder_is_last(builder, part.chunk)) {
        ends_head_backward(builder, leaves_weights);
    }
    for (uint32_t i = 0; i < walk.count; i++) {
        const uint32_t layer = layer_walk_index(&walk, i);
        const uint32_t kind = builder_kind(builder, part.chunk, layer);
        const struct layer_backward_options options = {ends_recomputes_all(builder, layer),
                                                       leaves_weights};
        layer_walk_gather(builder, &walk, i);
        fetch(builder, part, &walk, i);
        layer_backward(builder, kind, &options);
        if (!leaves_weights) {
            shards_layer_ready(builder, part.chunk, kind);
        }
    }
    if (!leaves_weights) {
        shards_backward_end(builder, part.chunk);
    }
    if (builder_is_first(builder, part.chunk) && !leaves_weights) {
        ends_embedding_weights(builder);
    }
    if (!leaves_weights) {
        shards_edge_ready(builder, part.chunk);
    }
    reduce_scales(builder, part.chunk, 1);
}

static void weights(struct builder *builder, struct part part)
{
    builder->chunks[part.chunk].weight_grads++;
    if (builder_is_last(builder, part.chunk)) {
        ends_head_weights(builder);
    }
    for (uint32_t i = builder_layers(builder, part.chunk); i > 0; i--) {
        const uint32_t kind = builder_kind(builder, part.chunk, i - 1);
        layer_weights(builder, kind);
        shards_layer_ready(builder, part.chunk, kind);
    }
    shards_backward_end(builder, part.chunk);
    if (builder_is_first(builder, part.chunk)) {
        ends_embedding_weights(builder);
    }
    shards_edge_ready(builder, part.chunk);
}

static void pair(struct builder *builder, struct part ahead, struct part back)
{
    messages_receive(builder, ahead.chunk, ahead.microbatch, true);
    messages_receive(builder, back.chunk, back.microbatch, false);
    builder_begin_half(builder, 0);
    forward(builder, ahead);
    builder_begin_half(builder, 1);
    backward(builder, back, false);
    builder_end_halves(builder);
    messages_send(builder, ahead.chunk, ahead.microbatch, true);
    messages_send(builder, back.chunk, back.microbatch, false);
}

void action_emit(struct builder *builder, const struct schedule_action *action)
{
    const struct part part = {action->chunk, action->microbatch};
    switch ((enum schedule_operation)action->operation) {
    case SCHEDULE_FORWARD:
        messages_receive(builder, part.chunk, part.microbatch, true);
        forward(builder, part);
        messages_send(builder, part.chunk, part.microbatch, true);
        break;
    case SCHEDULE_BACKWARD:
    case SCHEDULE_BACKWARD_INPUT:
        messages_receive(builder, part.chunk, part.microbatch, false);
        backward(builder, part, action->operation == SCHEDULE_BACKWARD_INPUT);
        messages_send(builder, part.chunk, part.microbatch, false);
        break;
    case SCHEDULE_WEIGHTS:
        weights(builder, part);
        break;
    case SCHEDULE_PAIR:
        pair(builder, part, (struct part){action->backward_chunk, action->backward_microbatch});
        break;
    }
}
