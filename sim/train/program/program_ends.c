/* Emits what the first and last stage do besides layers. program_action calls
 * these functions for chunks that begin or end the model, and for no others.
 */
#include "train/program/program_ends.h"

#include "input/job/lora.h"
#include "input/job/parallel.h"
#include "plan/cost.h"
#include "plan/loss.h"
#include "train/program/program_block.h"
#include "train/program/program_layer.h"

bool ends_recomputes_all(const struct builder *builder, uint32_t index)
{
    const struct recompute *recompute = builder->job->recompute;
    return recompute->kind == RECOMPUTE_FULL &&
           (recompute->layers == 0 || (int64_t)index < recompute->layers);
}

/* ---- embedding --------------------------------------------------------------------------- */

void ends_embedding(struct builder *builder)
{
    const uint32_t kind = builder_last_kind(builder);
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_EMBEDDING);
    block_reduce(builder, kind);
    builder_need(builder, STREAM_TENSOR);
}

/* What was scattered forward is gathered backward. */
void ends_embedding_weights(struct builder *builder)
{
    const uint32_t kind = builder_last_kind(builder);
    if (builder->job->lora->rank == 0) {
        block_gather_plain(builder, kind);
        builder_need(builder, STREAM_TENSOR);
    }
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_EMBEDDING_BACKWARD);
}

/* ---- head ----------------------------------------------------------------------------------- */

/* Each rank's logits to all; backward each keeps its part of the gradient. */
static void gather_logits(struct builder *builder, uint32_t kind)
{
    const struct program_job *job = builder->job;
    const double vocab = (double)cost_padded_vocab(job->model, job->parallel->tp);
    builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_GATHER,
                       builder_tokens(builder, kind) * vocab * builder_element_bytes(builder));
    builder_need(builder, STREAM_TENSOR);
}

/* The maximum, the label's logit and the sum of exponentials over the vocabulary's shards, fp32 per
 * token, each by itself; fused kernels exchange what they found at once (TransformerEngine's
 * cross_entropy.py). */
static uint32_t loss_sums(enum loss_kind kind)
{
    return kind == LOSS_IN_PARTS || kind == LOSS_EAGER || kind == LOSS_EAGER_HALF ? 3 : 1;
}

/* ASSUMES: of chunks, too, at once. */
static void reduce_loss(struct builder *builder, uint32_t kind)
{
    const struct loss_way *loss = &builder->job->software->loss;
    if (loss->gathers_vocabulary && loss_writes_logits((enum loss_kind)loss->kind)) {
        gather_logits(builder, kind);
        return;
    }
    const uint32_t sums = loss_sums((enum loss_kind)loss->kind);
    for (uint32_t i = 0; i < sums; i++) {
        builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_REDUCE,
                           builder_tokens(builder, kind) * 4.0 * (3.0 / sums));
        builder_need(builder, STREAM_TENSOR);
    }
}

static void head(struct builder *builder, uint32_t kind)
{
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_HEAD_PRE);
    if (builder->job->model->is_headless) {
        return; /* the final norm alone */
    }
    block_gather_plain(builder, kind);
    builder_need(builder, STREAM_TENSOR);
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_HEAD);
    reduce_loss(builder, kind);
}

/* The first microbatches' weight gradients may wait until the last stage is idle. */
static bool defers_weights(const struct builder *builder)
{
    const struct parallel *parallel = builder->job->parallel;
    return parallel->pp > 1 && builder->job->model->mtp_layers == 0 &&
           builder->deferred_heads < parallel->deferred_heads;
}

/* The input that the weight gradient reads; frozen, there is none. */
static void gather_input(struct builder *builder, uint32_t kind)
{
    if (builder->job->lora->rank == 0 && !builder->job->software->keeps_gathered) {
        block_gather_plain(builder, kind);
    }
}

static void weight_gradient(struct builder *builder, uint32_t kind)
{
    gather_input(builder, kind);
    builder_need(builder, STREAM_TENSOR);
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_HEAD_WGRAD);
}

static void head_backward(struct builder *builder, uint32_t kind, bool leaves_weights)
{
    if (builder->job->model->is_headless) {
        builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_HEAD_PRE_BACKWARD);
        return;
    }
    const bool is_deferred = !leaves_weights && defers_weights(builder);
    const bool has_weights = !leaves_weights && !is_deferred;
    const bool overlaps = builder->job->software->overlaps_tp_backward;
    if (has_weights) {
        gather_input(builder, kind);
    }
    const uint32_t gathered = builder_emitted(builder, STREAM_TENSOR);
    if (!overlaps) {
        builder_need(builder, STREAM_TENSOR);
    }
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_HEAD_BACKWARD);
    block_reduce(builder, kind);
    builder_need_at(builder, STREAM_TENSOR,
                    overlaps ? gathered : builder_emitted(builder, STREAM_TENSOR));
    if (has_weights) {
        builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_HEAD_WGRAD);
    }
    builder->deferred_heads += is_deferred;
    builder_need(builder, STREAM_TENSOR);
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_HEAD_PRE_BACKWARD);
}

/* ---- multi-token prediction -------------------------------------------------------------- */

static void mtp_forward(struct builder *builder)
{
    const uint32_t kind = builder->job->model->mtp_kind;
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_MTP);
    layer_forward(builder, CAUSE_COMPUTE, kind);
    head(builder, kind);
}

static void mtp_backward(struct builder *builder, bool leaves_weights)
{
    const uint32_t kind = builder->job->model->mtp_kind;
    const struct layer_backward_options options = {ends_recomputes_all(builder, 0), leaves_weights};
    head_backward(builder, kind, leaves_weights);
    layer_backward(builder, kind, &options);
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_MTP_BACKWARD);
    if (!leaves_weights) {
        builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_MTP_WGRAD);
    }
}

static void mtp_weights(struct builder *builder)
{
    const uint32_t kind = builder->job->model->mtp_kind;
    weight_gradient(builder, kind);
    layer_weights(builder, kind);
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_MTP_WGRAD);
}

/* ---- after the last layer ------------------------------------------------------------------ */

void ends_head(struct builder *builder)
{
    head(builder, builder_last_kind(builder));
    for (int64_t i = 0; i < builder->job->model->mtp_layers; i++) {
        mtp_forward(builder);
    }
}

void ends_head_backward(struct builder *builder, bool leaves_weights)
{
    for (int64_t i = 0; i < builder->job->model->mtp_layers; i++) {
        mtp_backward(builder, leaves_weights);
    }
    head_backward(builder, builder_last_kind(builder), leaves_weights);
}

void ends_head_weights(struct builder *builder)
{
    for (int64_t i = 0; i < builder->job->model->mtp_layers; i++) {
        mtp_weights(builder);
    }
    if (!builder->job->model->is_headless) {
        weight_gradient(builder, builder_last_kind(builder));
    }
}

void ends_deferred_heads(struct builder *builder)
{
    for (int64_t i = 0; i < builder->deferred_heads; i++) {
        weight_gradient(builder, builder_last_kind(builder));
    }
    builder->deferred_heads = 0;
}
