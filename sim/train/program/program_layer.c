/* Volumes are those of oracles of the literature: per block and microbatch one gather and one
 * reduction of the activations over tensor parallelism; per layer with experts two all-to-alls
 * forward and two backward.
 *
 * ASSUMES: exchanges with experts overlap with nothing but the other half of a pair of actions.
 * ASSUMES: what a module that is recomputed as a whole communicates, it communicates again.
 * ASSUMES: a piece of a block (software.overlap.tp_pieces) takes its share of the whole's time:
 * smaller products are as fast. A piece's gather runs beside the whole block, not only beside the
 * product that it feeds.
 * ASSUMES: when weight gradients are computed apart, the gradients that a block gathered are kept
 * until then, and its inputs are gathered there, beside the second matrix's product.
 */
#include "train/program/program_layer.h"

#include "train/program/program_attention.h"

/* ---- tensor parallelism -------------------------------------------------------------- */

static void gather(struct builder *builder, uint32_t kind, double element_bytes)
{
    if (builder->scenario->parallel.is_sequence_parallel) {
        builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_GATHER,
                           builder_activations(builder, kind) * element_bytes);
    }
}

void layer_gather_sequence(struct builder *builder, uint32_t kind)
{
    gather(builder, kind, builder->sequence_bytes);
}

void layer_gather_plain(struct builder *builder, uint32_t kind)
{
    gather(builder, kind, builder_element_bytes(builder));
}

void layer_reduce_tensor(struct builder *builder, uint32_t kind)
{
    const bool is_scattered = builder->scenario->parallel.is_sequence_parallel;
    builder_collective(builder, STREAM_TENSOR, &builder->context->tensor,
                       is_scattered ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE,
                       builder_activation_bytes(builder, kind));
}

static bool is_in_pieces(const struct builder *builder)
{
    return builder->scenario->software.tp_pieces > 1 &&
           builder->scenario->parallel.is_sequence_parallel && builder->context->tensor.ranks > 1;
}

/* A segment piece by piece: each waits for its piece of the gather, which runs beside those before
 * it, and its piece of the results is scattered beside those after it. */
static void work_in_pieces(struct builder *builder, const struct layer_pieces *pieces)
{
    const uint32_t count = (uint32_t)builder->scenario->software.tp_pieces;
    const double values = builder_activations(builder, pieces->kind) / (double)count;
    const uint32_t before = builder_emitted(builder, STREAM_TENSOR);
    for (uint32_t i = 0; pieces->gathers && i < count; i++) {
        builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_GATHER,
                           values * builder->sequence_bytes);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (pieces->gathers) {
            builder_need_at(builder, STREAM_TENSOR, before + i + 1);
        }
        builder_segment_part(builder, pieces->cause, pieces->kind, pieces->segment,
                             (struct segment_part){i, count});
        if (pieces->reduces) {
            builder_collective(builder, STREAM_TENSOR, &builder->context->tensor,
                               COLLECTIVE_REDUCE_SCATTER, values * builder_element_bytes(builder));
        }
    }
    builder_need(builder, STREAM_TENSOR);
}

void layer_work_between(struct builder *builder, const struct layer_pieces *pieces)
{
    if (is_in_pieces(builder)) {
        work_in_pieces(builder, pieces);
        return;
    }
    if (pieces->gathers) {
        layer_gather_sequence(builder, pieces->kind);
        builder_need(builder, STREAM_TENSOR);
    }
    builder_segment(builder, pieces->cause, pieces->kind, pieces->segment);
    if (pieces->reduces) {
        layer_reduce_tensor(builder, pieces->kind);
        builder_need(builder, STREAM_TENSOR);
    }
}

void layer_forward_block(struct builder *builder, enum cause cause, uint32_t kind,
                         enum segment_kind block)
{
    const struct layer_pieces pieces = {cause, kind, block, true, true};
    layer_work_between(builder, &pieces);
}

void layer_backward_first_matrix(struct builder *builder, uint32_t kind,
                                 const struct backward_block *block, bool leaves_weights)
{
    if (leaves_weights) {
        const struct layer_pieces pieces = {CAUSE_COMPUTE, kind, block->dgrad, false, true};
        layer_work_between(builder, &pieces);
        return;
    }
    const bool overlaps = builder->scenario->software.overlaps_tp_backward;
    layer_gather_sequence(builder, kind);
    const uint32_t gathered = builder_emitted(builder, STREAM_TENSOR);
    if (!overlaps) {
        builder_need(builder, STREAM_TENSOR);
    }
    builder_segment(builder, CAUSE_COMPUTE, kind, block->dgrad);
    layer_reduce_tensor(builder, kind);
    builder_need_at(builder, STREAM_TENSOR,
                    overlaps ? gathered : builder_emitted(builder, STREAM_TENSOR));
    builder_segment(builder, CAUSE_COMPUTE, kind, block->weights);
    builder_need(builder, STREAM_TENSOR);
}

void layer_backward_block(struct builder *builder, uint32_t kind,
                          const struct backward_block *block, bool leaves_weights)
{
    const struct layer_pieces pieces = {CAUSE_COMPUTE, kind, block->inner, true, false};
    layer_work_between(builder, &pieces);
    if (!leaves_weights) {
        builder_segment(builder, CAUSE_COMPUTE, kind, block->inner_weights);
    }
    layer_backward_first_matrix(builder, kind, block, leaves_weights);
}

void layer_weights_block(struct builder *builder, uint32_t kind, const struct backward_block *block)
{
    layer_gather_sequence(builder, kind);
    if (!builder->scenario->software.overlaps_tp_backward) {
        builder_need(builder, STREAM_TENSOR);
    }
    builder_segment(builder, CAUSE_COMPUTE, kind, block->inner_weights);
    builder_need(builder, STREAM_TENSOR);
    builder_segment(builder, CAUSE_COMPUTE, kind, block->weights);
}

/* ---- experts ------------------------------------------------------------------------------ */

/* Copies of all tokens of a tensor-parallel group for their experts, in bytes of `element`. */
static double copies_bytes(const struct builder *builder, uint32_t kind, double element)
{
    const struct model *model = &builder->scenario->model;
    return (double)model->experts_per_token * builder_activations(builder, kind) * element *
           builder->rows_sent;
}

/* The copies of a rank's own tokens go to their experts' ranks, or come back. With sequence
 * parallelism a rank's own are a t-th. */
static void exchange(struct builder *builder, uint32_t kind, double element_bytes)
{
    const struct parallel *parallel = &builder->scenario->parallel;
    const double parts = parallel->is_sequence_parallel ? (double)parallel->tp : 1.0;
    builder_collective(builder, STREAM_EXPERT, &builder->context->expert, COLLECTIVE_ALL_TO_ALL,
                       copies_bytes(builder, kind, element_bytes) / parts);
    builder_need(builder, STREAM_EXPERT);
}

/* What the ranks that share an expert's matrices have together. */
static void share_experts(struct builder *builder, uint32_t kind,
                          enum collective_operation operation)
{
    const struct program_context *context = builder->context;
    const struct parallel *parallel = &builder->scenario->parallel;
    const double parts = parallel->is_sequence_parallel
                             ? (double)parallel->tp / (double)context->expert_tensor.ranks
                             : 1.0;
    builder_collective(builder, context->expert_tensor_stream, &context->expert_tensor, operation,
                       copies_bytes(builder, kind, builder_element_bytes(builder)) / parts);
    builder_need(builder, context->expert_tensor_stream);
}

/* What arrives is gathered over the ranks that share the expert's matrices. */
static void through_experts(struct builder *builder, enum cause cause, uint32_t kind,
                            enum segment_kind experts, enum segment_kind weights)
{
    const bool is_sharded = builder->scenario->parallel.is_sequence_parallel;
    exchange(builder, kind, builder->dispatch_bytes);
    if (is_sharded) {
        share_experts(builder, kind, COLLECTIVE_ALL_GATHER);
    }
    builder_segment(builder, cause, kind, experts);
    if (weights != SEGMENT_COUNT_) {
        builder_segment(builder, cause, kind, weights);
    }
    share_experts(builder, kind, is_sharded ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE);
    exchange(builder, kind, builder->combine_bytes);
}

/* ---- MLP ---------------------------------------------------------------------------------- */

static const struct backward_block mlp_block = {SEGMENT_MLP_INNER_BACKWARD, SEGMENT_MLP_INNER_WGRAD,
                                                SEGMENT_MLP_DGRAD, SEGMENT_MLP_WGRAD};
static const struct backward_block shared_block = {SEGMENT_SHARED_INNER_BACKWARD,
                                                   SEGMENT_SHARED_INNER_WGRAD, SEGMENT_SHARED_DGRAD,
                                                   SEGMENT_SHARED_WGRAD};

static bool has_experts(const struct builder *builder, uint32_t kind)
{
    return builder->scenario->model.kinds[kind].has_experts;
}

static bool has_shared(const struct builder *builder)
{
    return builder->scenario->model.shared_experts > 0;
}

static void forward_experts(struct builder *builder, enum cause cause, uint32_t kind)
{
    builder_segment(builder, cause, kind, SEGMENT_ROUTER);
    through_experts(builder, cause, kind, SEGMENT_EXPERTS, SEGMENT_COUNT_);
    builder_segment(builder, cause, kind, SEGMENT_EXPERTS_POST);
}

static void forward_mlp(struct builder *builder, enum cause cause, uint32_t kind)
{
    builder_segment(builder, cause, kind, SEGMENT_MLP_PRE);
    if (!has_experts(builder, kind)) {
        layer_forward_block(builder, cause, kind, SEGMENT_MLP);
    } else {
        forward_experts(builder, cause, kind);
        if (has_shared(builder)) {
            layer_forward_block(builder, cause, kind, SEGMENT_SHARED);
        }
    }
    builder_segment(builder, cause, kind, SEGMENT_MLP_POST);
}

static bool recomputes(const struct builder *builder, enum recompute_module module)
{
    const struct recompute *recompute = &builder->scenario->recompute;
    return recompute->kind == RECOMPUTE_SELECTIVE && (recompute->modules & (1u << module)) != 0;
}

/* Modules that are computed again as a whole. The experts' takes the shared ones along. */
static void recompute_mlp(struct builder *builder, uint32_t kind)
{
    if (!has_experts(builder, kind)) {
        if (recomputes(builder, RECOMPUTE_MLP)) {
            layer_forward_block(builder, CAUSE_RECOMPUTE, kind, SEGMENT_MLP);
        }
        return;
    }
    const bool with_routed = recomputes(builder, RECOMPUTE_MOE);
    if (with_routed) {
        forward_experts(builder, CAUSE_RECOMPUTE, kind);
    }
    if (has_shared(builder) && (with_routed || recomputes(builder, RECOMPUTE_SHARED_EXPERTS))) {
        layer_forward_block(builder, CAUSE_RECOMPUTE, kind, SEGMENT_SHARED);
    }
}

static void backward_experts(struct builder *builder, uint32_t kind, bool leaves_weights)
{
    if (has_shared(builder)) {
        layer_backward_block(builder, kind, &shared_block, leaves_weights);
    }
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_EXPERTS_POST_BACKWARD);
    through_experts(builder, CAUSE_COMPUTE, kind, SEGMENT_EXPERTS_BACKWARD,
                    leaves_weights ? SEGMENT_COUNT_ : SEGMENT_EXPERTS_WGRAD);
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_ROUTER_BACKWARD);
}

static void backward_mlp(struct builder *builder, uint32_t kind, bool leaves_weights)
{
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_MLP_POST_BACKWARD);
    if (has_experts(builder, kind)) {
        backward_experts(builder, kind, leaves_weights);
    } else {
        layer_backward_block(builder, kind, &mlp_block, leaves_weights);
    }
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_MLP_PRE_BACKWARD);
}

/* ---- a layer ------------------------------------------------------------------------------ */

void layer_forward(struct builder *builder, enum cause cause, uint32_t kind)
{
    attention_forward(builder, cause, kind);
    forward_mlp(builder, cause, kind);
}

void layer_backward(struct builder *builder, uint32_t kind,
                    const struct layer_backward_options *options)
{
    if (options->recomputes_all) {
        layer_forward(builder, CAUSE_RECOMPUTE, kind);
    } else {
        recompute_mlp(builder, kind);
    }
    backward_mlp(builder, kind, options->leaves_weights);
    attention_backward(builder, kind, options->leaves_weights);
}

void layer_weights(struct builder *builder, uint32_t kind)
{
    if (has_experts(builder, kind)) {
        if (has_shared(builder)) {
            layer_weights_block(builder, kind, &shared_block);
        }
        builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_EXPERTS_WGRAD);
    } else {
        layer_weights_block(builder, kind, &mlp_block);
    }
    attention_weights(builder, kind);
}
