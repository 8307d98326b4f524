/* Volumes are those of oracles of the literature: per layer with experts two all-to-alls forward
 * and two backward; those of a block are program_block's.
 *
 * ASSUMES: exchanges with experts overlap with nothing but the other half of a pair of actions.
 * ASSUMES: what a module that is recomputed as a whole communicates, it communicates again.
 */
#include "train/program/program_layer.h"

#include "input/job/parallel.h"
#include "train/program/program_attention.h"
#include "train/program/program_block.h"
#include "train/program/program_layers.h"

/* ---- experts ------------------------------------------------------------------------------ */

/* Copies of all tokens of a tensor-parallel group for their experts, in bytes of `element`. */
static double copies_bytes(const struct builder *builder, uint32_t kind, double element)
{
    const struct model *model = builder->job->model;
    return (double)model->experts_per_token * builder_activations(builder, kind) * element *
           builder->rows_sent;
}

/* The copies of a rank's own tokens go to their experts' ranks, or come back. With sequence
 * parallelism a rank's own are a t-th. */
static void exchange(struct builder *builder, uint32_t kind, double element_bytes)
{
    const struct parallel *parallel = builder->job->parallel;
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
    const struct parallel *parallel = builder->job->parallel;
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
    const bool is_sharded = builder->job->parallel->is_sequence_parallel;
    exchange(builder, kind, builder_sent_bytes(builder, kind, builder->dispatch_bytes));
    if (is_sharded) {
        share_experts(builder, kind, COLLECTIVE_ALL_GATHER);
    }
    builder_segment(builder, cause, kind, experts);
    if (weights != SEGMENT_COUNT_) {
        builder_segment(builder, cause, kind, weights);
    }
    share_experts(builder, kind, is_sharded ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE);
    exchange(builder, kind, builder_sent_bytes(builder, kind, builder->combine_bytes));
}

/* ---- MLP ---------------------------------------------------------------------------------- */

static const struct backward_block mlp_block = {SEGMENT_MLP_INNER_BACKWARD, SEGMENT_MLP_INNER_WGRAD,
                                                SEGMENT_MLP_DGRAD, SEGMENT_MLP_WGRAD};
static const struct backward_block shared_block = {SEGMENT_SHARED_INNER_BACKWARD,
                                                   SEGMENT_SHARED_INNER_WGRAD, SEGMENT_SHARED_DGRAD,
                                                   SEGMENT_SHARED_WGRAD};

static bool has_experts(const struct builder *builder, uint32_t kind)
{
    return builder->job->model->kinds[kind].has_experts;
}

static bool has_shared(const struct builder *builder)
{
    return builder->job->model->shared_experts > 0;
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
        block_forward(builder, cause, kind, SEGMENT_MLP);
    } else {
        forward_experts(builder, cause, kind);
        if (has_shared(builder)) {
            block_forward(builder, cause, kind, SEGMENT_SHARED);
        }
    }
    builder_segment(builder, cause, kind, SEGMENT_MLP_POST);
}

static bool recomputes(const struct builder *builder, enum recompute_module module)
{
    const struct recompute *recompute = builder->job->recompute;
    return recompute->kind == RECOMPUTE_SELECTIVE && (recompute->modules & (1u << module)) != 0;
}

/* Modules that are computed again as a whole. The experts' takes the shared ones along. */
static void recompute_mlp(struct builder *builder, uint32_t kind)
{
    if (!has_experts(builder, kind)) {
        if (recomputes(builder, RECOMPUTE_MLP)) {
            block_forward(builder, CAUSE_RECOMPUTE, kind, SEGMENT_MLP);
        }
        return;
    }
    const bool with_routed = recomputes(builder, RECOMPUTE_MOE);
    if (with_routed) {
        forward_experts(builder, CAUSE_RECOMPUTE, kind);
    }
    if (has_shared(builder) && (with_routed || recomputes(builder, RECOMPUTE_SHARED_EXPERTS))) {
        block_forward(builder, CAUSE_RECOMPUTE, kind, SEGMENT_SHARED);
    }
}

static void backward_experts(struct builder *builder, uint32_t kind, bool leaves_weights)
{
    if (has_shared(builder)) {
        block_backward(builder, kind, &shared_block, leaves_weights);
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
        block_backward(builder, kind, &mlp_block, leaves_weights);
    }
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_MLP_PRE_BACKWARD);
}

/* ---- a layer ------------------------------------------------------------------------------ */

enum pass { PASS_FORWARD, PASS_BACKWARD, PASS_WEIGHTS };

static const struct layer_kind *kind_of(const struct builder *builder, uint32_t kind)
{
    return &builder->job->model->kinds[kind];
}

static void forward(struct builder *builder, enum cause cause, uint32_t kind)
{
    if (layer_mixes(kind_of(builder, kind))) {
        attention_forward(builder, cause, kind);
    }
    if (layer_has_mlp(kind_of(builder, kind))) {
        forward_mlp(builder, cause, kind);
    }
}

void layer_forward(struct builder *builder, enum cause cause, uint32_t kind)
{
    if (!layers_begin(builder, layers_key(PASS_FORWARD, cause, kind, 0))) {
        forward(builder, cause, kind);
        layers_end(builder);
    }
}

static void backward(struct builder *builder, uint32_t kind,
                     const struct layer_backward_options *options)
{
    const bool mixes = layer_mixes(kind_of(builder, kind));
    const bool has_mlp = layer_has_mlp(kind_of(builder, kind));
    if (options->recomputes_all) {
        forward(builder, CAUSE_RECOMPUTE, kind);
    } else if (has_mlp) {
        recompute_mlp(builder, kind);
    }
    if (!mixes) {
        attention_recompute(builder, kind);
    }
    if (has_mlp) {
        backward_mlp(builder, kind, options->leaves_weights);
    }
    if (mixes) {
        attention_backward(builder, kind, options->leaves_weights);
    }
}

void layer_backward(struct builder *builder, uint32_t kind,
                    const struct layer_backward_options *options)
{
    const uint32_t number = (uint32_t)options->recomputes_all | (uint32_t)options->leaves_weights
                                                                    << 1;
    if (!layers_begin(builder, layers_key(PASS_BACKWARD, CAUSE_COMPUTE, kind, number))) {
        backward(builder, kind, options);
        layers_end(builder);
    }
}

static void weights_of_mlp(struct builder *builder, uint32_t kind)
{
    if (has_experts(builder, kind)) {
        if (has_shared(builder)) {
            block_weights(builder, kind, &shared_block);
        }
        builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_EXPERTS_WGRAD);
    } else {
        block_weights(builder, kind, &mlp_block);
    }
}

static void weights(struct builder *builder, uint32_t kind)
{
    if (layer_has_mlp(kind_of(builder, kind))) {
        weights_of_mlp(builder, kind);
    }
    if (layer_mixes(kind_of(builder, kind))) {
        attention_weights(builder, kind);
    }
}

void layer_weights(struct builder *builder, uint32_t kind)
{
    if (!layers_begin(builder, layers_key(PASS_WEIGHTS, CAUSE_COMPUTE, kind, 0))) {
        weights(builder, kind);
        layers_end(builder);
    }
}
