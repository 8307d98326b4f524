/* Volumes are those of oracles of the literature: per block and microbatch one gather and one
 * reduction of the activations over tensor parallelism; per layer one gather of keys and
 * values over context parallelism (Llama 3, arXiv 2407.21783, section 3.3.2), again backward,
 * and one reduction of their gradients; per layer with experts two all-to-alls forward and
 * two backward.
 *
 * ASSUMES: exchanges with experts and gathers of keys and values overlap with nothing.
 */
#include "train/program_layer.h"

/* ---- tensor parallelism -------------------------------------------------------------- */

/* `copies` of the activations: each token's for its experts, or one. */
static void tensor_collective(struct builder *builder, enum collective_operation operation,
                              int64_t copies)
{
    builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, operation,
                       (double)copies * builder_activation_bytes(builder));
}

static void gather_tensor(struct builder *builder, int64_t copies)
{
    if (builder->scenario->parallel.is_sequence_parallel) {
        tensor_collective(builder, COLLECTIVE_ALL_GATHER, copies);
    }
}

static void reduce_tensor(struct builder *builder, int64_t copies)
{
    tensor_collective(builder,
                      builder->scenario->parallel.is_sequence_parallel ? COLLECTIVE_REDUCE_SCATTER
                                                                       : COLLECTIVE_ALL_REDUCE,
                      copies);
}

void layer_gather_sequence(struct builder *builder)
{
    gather_tensor(builder, 1);
}

void layer_reduce_tensor(struct builder *builder)
{
    reduce_tensor(builder, 1);
}

static void forward_block(struct builder *builder, enum cause cause, enum segment_kind block)
{
    layer_gather_sequence(builder);
    builder_need(builder, STREAM_TENSOR);
    builder_segment(builder, cause, block);
    layer_reduce_tensor(builder);
    builder_need(builder, STREAM_TENSOR);
}

/* The first matrix of a block: its input is gathered again beside the input
 * gradient (sequence parallelism), and the sum of input gradients runs beside the
 * weight gradient, if the software overlaps them. */
static void backward_first_matrix(struct builder *builder, enum segment_kind dgrad,
                                  enum segment_kind wgrad)
{
    const bool overlaps = builder->scenario->software.overlaps_tp_backward;
    layer_gather_sequence(builder);
    const uint32_t gathered = builder_emitted(builder, STREAM_TENSOR);
    if (!overlaps) {
        builder_need(builder, STREAM_TENSOR);
    }
    builder_segment(builder, CAUSE_COMPUTE, dgrad);
    layer_reduce_tensor(builder);
    builder_need_at(builder, STREAM_TENSOR,
                    overlaps ? gathered : builder_emitted(builder, STREAM_TENSOR));
    builder_segment(builder, CAUSE_COMPUTE, wgrad);
    builder_need(builder, STREAM_TENSOR);
}

static void backward_block(struct builder *builder, enum segment_kind inner,
                           enum segment_kind dgrad, enum segment_kind wgrad)
{
    layer_gather_sequence(builder);
    builder_need(builder, STREAM_TENSOR);
    builder_segment(builder, CAUSE_COMPUTE, inner);
    backward_first_matrix(builder, dgrad, wgrad);
}

/* ---- attention, context parallelism ---------------------------------------------------- */

/* Keys and values, or their gradients, of whole sequences: those of a tensor-parallel rank. */
static void context_collective(struct builder *builder, enum collective_operation operation)
{
    const struct scenario *scenario = builder->scenario;
    const struct model *model = &scenario->model;
    const int64_t tp = scenario->parallel.tp;
    const int64_t heads = model->kv_heads < tp ? 1 : model->kv_heads / tp;
    const double tokens = (double)scenario->batch.micro * (double)scenario->batch.sequence_length;
    builder_collective(builder, STREAM_CONTEXT, &builder->context->context, operation,
                       2.0 * tokens * (double)(heads * model->head_dim) *
                           builder_element_bytes(builder));
    builder_need(builder, STREAM_CONTEXT);
}

static bool is_context_parallel(const struct builder *builder)
{
    return builder->scenario->parallel.cp > 1;
}

static void forward_attention(struct builder *builder, enum cause cause)
{
    builder_segment(builder, cause, SEGMENT_ATTENTION_PRE);
    if (!is_context_parallel(builder)) {
        forward_block(builder, cause, SEGMENT_ATTENTION);
    } else {
        layer_gather_sequence(builder);
        builder_need(builder, STREAM_TENSOR);
        builder_segment(builder, cause, SEGMENT_ATTENTION_QKV);
        context_collective(builder, COLLECTIVE_ALL_GATHER);
        builder_segment(builder, cause, SEGMENT_ATTENTION_CORE);
        layer_reduce_tensor(builder);
        builder_need(builder, STREAM_TENSOR);
    }
    builder_segment(builder, cause, SEGMENT_ATTENTION_POST);
}

/* The keys and values are there again. */
static void backward_split_attention(struct builder *builder)
{
    layer_gather_sequence(builder);
    builder_need(builder, STREAM_TENSOR);
    builder_segment(builder, CAUSE_COMPUTE, SEGMENT_ATTENTION_CORE_BACKWARD);
    context_collective(builder, COLLECTIVE_REDUCE_SCATTER);
    builder_segment(builder, CAUSE_COMPUTE, SEGMENT_ATTENTION_QKV_BACKWARD);
    backward_first_matrix(builder, SEGMENT_ATTENTION_DGRAD, SEGMENT_ATTENTION_WGRAD);
}

static void backward_attention(struct builder *builder, bool has_experts)
{
    if (is_context_parallel(builder)) {
        context_collective(builder, COLLECTIVE_ALL_GATHER);
    }
    if (builder->scenario->recompute == RECOMPUTE_SELECTIVE) {
        builder_segment(builder, CAUSE_RECOMPUTE,
                        has_experts ? SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS
                                    : SEGMENT_SELECTIVE_RECOMPUTE);
    }
    builder_segment(builder, CAUSE_COMPUTE, SEGMENT_ATTENTION_POST_BACKWARD);
    if (is_context_parallel(builder)) {
        backward_split_attention(builder);
    } else {
        backward_block(builder, SEGMENT_ATTENTION_INNER_BACKWARD, SEGMENT_ATTENTION_DGRAD,
                       SEGMENT_ATTENTION_WGRAD);
    }
    builder_segment(builder, CAUSE_COMPUTE, SEGMENT_ATTENTION_PRE_BACKWARD);
}

/* ---- MLP and experts, expert parallelism ------------------------------------------------ */

/* The copies of a rank's own tokens go to their experts' ranks, or come back. With sequence
 * parallelism a rank's own are a t-th. */
static void exchange(struct builder *builder)
{
    const struct scenario *scenario = builder->scenario;
    const double parts =
        scenario->parallel.is_sequence_parallel ? (double)scenario->parallel.tp : 1.0;
    builder_collective(builder, STREAM_EXPERT, &builder->context->expert, COLLECTIVE_ALL_TO_ALL,
                       (double)scenario->model.experts_per_token *
                           builder_activation_bytes(builder) / parts);
    builder_need(builder, STREAM_EXPERT);
}

/* What arrives is gathered over tensor parallelism, because each rank has a t-th of an expert. */
static void through_experts(struct builder *builder, enum cause cause, enum segment_kind experts)
{
    const int64_t copies = builder->scenario->model.experts_per_token;
    exchange(builder);
    gather_tensor(builder, copies);
    builder_need(builder, STREAM_TENSOR);
    builder_segment(builder, cause, experts);
    reduce_tensor(builder, copies);
    builder_need(builder, STREAM_TENSOR);
    exchange(builder);
}

static void forward_mlp(struct builder *builder, enum cause cause, bool has_experts)
{
    builder_segment(builder, cause, SEGMENT_MLP_PRE);
    if (!has_experts) {
        forward_block(builder, cause, SEGMENT_MLP);
    } else {
        builder_segment(builder, cause, SEGMENT_ROUTER);
        through_experts(builder, cause, SEGMENT_EXPERTS);
        builder_segment(builder, cause, SEGMENT_EXPERTS_POST);
        if (builder->scenario->model.shared_experts > 0) {
            forward_block(builder, cause, SEGMENT_SHARED);
        }
    }
    builder_segment(builder, cause, SEGMENT_MLP_POST);
}

static void backward_experts(struct builder *builder)
{
    if (builder->scenario->model.shared_experts > 0) {
        backward_block(builder, SEGMENT_SHARED_INNER_BACKWARD, SEGMENT_SHARED_DGRAD,
                       SEGMENT_SHARED_WGRAD);
    }
    builder_segment(builder, CAUSE_COMPUTE, SEGMENT_EXPERTS_POST_BACKWARD);
    through_experts(builder, CAUSE_COMPUTE, SEGMENT_EXPERTS_BACKWARD);
    builder_segment(builder, CAUSE_COMPUTE, SEGMENT_ROUTER_BACKWARD);
}

static void backward_mlp(struct builder *builder, bool has_experts)
{
    builder_segment(builder, CAUSE_COMPUTE, SEGMENT_MLP_POST_BACKWARD);
    if (has_experts) {
        backward_experts(builder);
    } else {
        backward_block(builder, SEGMENT_MLP_INNER_BACKWARD, SEGMENT_MLP_DGRAD, SEGMENT_MLP_WGRAD);
    }
    builder_segment(builder, CAUSE_COMPUTE, SEGMENT_MLP_PRE_BACKWARD);
}

/* ---- a layer ------------------------------------------------------------------------------ */

void layer_forward(struct builder *builder, enum cause cause, bool has_experts)
{
    forward_attention(builder, cause);
    forward_mlp(builder, cause, has_experts);
}

void layer_backward(struct builder *builder, bool has_experts)
{
    if (builder->scenario->recompute == RECOMPUTE_FULL) {
        layer_forward(builder, CAUSE_RECOMPUTE, has_experts);
    }
    backward_mlp(builder, has_experts);
    backward_attention(builder, has_experts);
}
