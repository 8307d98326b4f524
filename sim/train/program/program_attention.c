/* Attention's kernels and, with context parallelism, its communication. The
 * three ways are rows of a table of functions, forward and backward; without
 * context parallelism the kernels are emitted alone.
 */
#include "train/program/program_attention.h"

#include "input/job/lora.h"
#include "input/job/parallel.h"
#include "train/program/program_block.h"

#include <math.h>

static const struct backward_block attention_block = {
    SEGMENT_ATTENTION_INNER_BACKWARD, SEGMENT_ATTENTION_INNER_WGRAD, SEGMENT_ATTENTION_DGRAD,
    SEGMENT_ATTENTION_WGRAD};

static bool is_context_parallel(const struct builder *builder)
{
    return builder->job->parallel->cp > 1;
}

/* ---- volumes ------------------------------------------------------------------------- */

/* What is sent to the core, in the precision that it reads, or the gradient of that. Attention in
 * fp8 sends queries, keys and values as it has converted them, and gradients in 16 bits
 * (TransformerEngine's pytorch/attention/dot_product_attention/context_parallel.py; with delayed
 * scaling it sends some of them in fp8, which is left out). */
enum sent { SENT_INPUTS, SENT_GRADIENTS };

static double sent_bytes(const struct builder *builder, const struct layer_kind *layer,
                         enum sent sent)
{
    return sent == SENT_INPUTS && !layer->is_high && !layer->has_index
               ? software_attended_bytes(builder->job->software, builder->job->precision, false)
               : builder_element_bytes(builder);
}

/* Keys and values of a token that a tensor-parallel rank has, and an index's keys. */
static double kv_bytes_per_token(const struct builder *builder, const struct layer_kind *layer,
                                 enum sent sent)
{
    const int64_t tp = builder->job->parallel->tp;
    const int64_t heads = layer->kv_heads < tp ? 1 : layer->kv_heads / tp;
    const int64_t chooses =
        layer->has_index ? mixer_width(mixer_read(layer->mixer, layer->mixer->index, 1)) : 0;
    return (double)(heads * layer_kv_dim(layer) + chooses) * sent_bytes(builder, layer, sent);
}

/* Of latent attention it may be what they are made of; every tensor-parallel rank has all of it.
 * ASSUMES: where latents are gathered, nothing is computed more than where keys and values are. */
static double gathered_bytes_per_token(const struct builder *builder,
                                       const struct layer_kind *layer, enum sent sent)
{
    if (layer->latent.kv_rank > 0 && builder->job->software->context_gathered == GATHERED_LATENTS) {
        return (double)(layer->latent.kv_rank + layer->latent.rope_dim) *
               builder_element_bytes(builder);
    }
    return kv_bytes_per_token(builder, layer, sent);
}

static const struct layer_kind *layer_of(const struct builder *builder, uint32_t kind)
{
    return &builder->job->model->kinds[kind];
}

/* ---- all-gather -------------------------------------------------------------------------- */

/* Keys and values, or their gradients, of whole sequences. */
static void whole_sequences(struct builder *builder, uint32_t kind,
                            enum collective_operation operation)
{
    const double tokens = builder_tokens(builder, kind) * (double)builder->job->parallel->cp;
    const enum sent sent = operation == COLLECTIVE_ALL_GATHER ? SENT_INPUTS : SENT_GRADIENTS;
    builder_collective(builder, STREAM_CONTEXT, &builder->context->context, operation,
                       tokens * gathered_bytes_per_token(builder, layer_of(builder, kind), sent));
    builder_need(builder, STREAM_CONTEXT);
}

static void gathered_forward(struct builder *builder, enum cause cause, uint32_t kind)
{
    whole_sequences(builder, kind, COLLECTIVE_ALL_GATHER);
    builder_segment(builder, cause, kind, SEGMENT_ATTENTION_CORE);
}

static void gathered_backward(struct builder *builder, uint32_t kind)
{
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_ATTENTION_CORE_BACKWARD);
    whole_sequences(builder, kind, COLLECTIVE_REDUCE_SCATTER);
}

/* ---- ring -------------------------------------------------------------------------------- */

/* A rank's keys and values, or their gradients, one place on. */
static void shift(struct builder *builder, uint32_t kind, enum sent sent)
{
    builder_collective(builder, STREAM_CONTEXT, &builder->context->context, COLLECTIVE_SHIFT,
                       builder_tokens(builder, kind) *
                           kv_bytes_per_token(builder, layer_of(builder, kind), sent));
}

static void ring_forward(struct builder *builder, enum cause cause, uint32_t kind)
{
    const uint32_t parts = builder->context->context.ranks;
    for (uint32_t part = 0; part < parts; part++) {
        builder_need(builder, STREAM_CONTEXT);
        if (part + 1 < parts) {
            shift(builder, kind, SENT_INPUTS);
        }
        builder_segment_part(builder, cause, kind, SEGMENT_ATTENTION_CORE,
                             (struct segment_part){part, parts});
    }
}

/* Gradients follow the part that added to them; the next part needs its keys and values, not
 * yet the gradients, which it adds to when it ends. */
static void ring_backward(struct builder *builder, uint32_t kind)
{
    const uint32_t parts = builder->context->context.ranks;
    uint32_t arrived = builder_emitted(builder, STREAM_CONTEXT);
    for (uint32_t part = 0; part < parts; part++) {
        builder_need_at(builder, STREAM_CONTEXT, arrived);
        if (part + 1 < parts) {
            shift(builder, kind, SENT_INPUTS);
            arrived = builder_emitted(builder, STREAM_CONTEXT);
        }
        builder_segment_part(builder, CAUSE_COMPUTE, kind, SEGMENT_ATTENTION_CORE_BACKWARD,
                             (struct segment_part){part, parts});
        shift(builder, kind, SENT_GRADIENTS);
    }
    builder_need(builder, STREAM_CONTEXT);
}

/* ---- ulysses ----------------------------------------------------------------------------- */

/* Values of a token of what a scan reads, or writes; fewer heads than ranks are copied. */
static double scan_width(const struct builder *builder, const struct layer_kind *layer,
                         bool of_results)
{
    const struct parallel *parallel = builder->job->parallel;
    if (!layer_scans(layer)) {
        return 0;
    }
    const struct mixer_operator *op = layer->mixer->scan;
    const struct mixer_list *list = of_results ? &op->writes : &op->reads;
    double width = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct mixer_tensor *tensor = &layer->mixer->tensors[list->tensors[i]];
        const int64_t heads = mixer_share(tensor, parallel->tp) / tensor->dim;
        width += (double)((heads < parallel->cp ? parallel->cp : heads) * tensor->dim);
    }
    return width;
}

/* Queries, keys and values, or their gradients. */
static double heads_bytes(const struct builder *builder, uint32_t kind, enum sent sent)
{
    const struct parallel *parallel = builder->job->parallel;
    const struct layer_kind *layer = layer_of(builder, kind);
    const double of_scan = builder_tokens(builder, kind) * builder_element_bytes(builder) *
                           scan_width(builder, layer, false);
    if (!layer_attends(layer)) {
        return of_scan;
    }
    const double queries = (double)layer->heads / (double)parallel->tp;
    const double own = (double)layer->kv_heads / (double)parallel->tp;
    const double pairs = own < (double)parallel->cp ? (double)parallel->cp : own;
    return of_scan + builder_tokens(builder, kind) * sent_bytes(builder, layer, sent) *
                         (queries * (double)layer->head_dim + pairs * (double)layer_kv_dim(layer));
}

/* What the core makes, or its gradient. */
static double output_bytes(const struct builder *builder, uint32_t kind)
{
    const struct layer_kind *layer = layer_of(builder, kind);
    const double attended = layer_attends(layer) ? (double)(layer->heads * layer->value_dim) /
                                                       (double)builder->job->parallel->tp
                                                 : 0;
    return builder_tokens(builder, kind) * builder_element_bytes(builder) *
           (attended + scan_width(builder, layer, true));
}

static void redistribute(struct builder *builder, double bytes)
{
    builder_collective(builder, STREAM_CONTEXT, &builder->context->context, COLLECTIVE_ALL_TO_ALL,
                       bytes);
    builder_need(builder, STREAM_CONTEXT);
}

static void ulysses_forward(struct builder *builder, enum cause cause, uint32_t kind)
{
    redistribute(builder, heads_bytes(builder, kind, SENT_INPUTS));
    builder_segment(builder, cause, kind, SEGMENT_ATTENTION_CORE);
    redistribute(builder, output_bytes(builder, kind));
}

static void ulysses_backward(struct builder *builder, uint32_t kind)
{
    redistribute(builder, output_bytes(builder, kind));
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_ATTENTION_CORE_BACKWARD);
    redistribute(builder, heads_bytes(builder, kind, SENT_GRADIENTS));
}

/* ---- any --------------------------------------------------------------------------------- */

struct context_row {
    void (*before_backward)(struct builder *builder, uint32_t kind,
                            enum collective_operation operation); /* NULL: nothing */
    void (*forward)(struct builder *builder, enum cause cause, uint32_t kind);
    void (*backward)(struct builder *builder, uint32_t kind);
};

static const struct context_row context_rows[CONTEXT_COUNT_] = {
    [CONTEXT_ALL_GATHER] = {whole_sequences, gathered_forward, gathered_backward},
    [CONTEXT_RING] = {NULL, ring_forward, ring_backward},
    [CONTEXT_ULYSSES] = {NULL, ulysses_forward, ulysses_backward},
};

static const struct context_row *context_row(const struct builder *builder)
{
    return &context_rows[builder->job->parallel->context];
}

/* Fewer heads of keys and values than ranks, each of which projects a part of all. ASSUMES: weights
 * and products are those of ranks that have a copy of a head each. */
static bool gathers_heads(const struct builder *builder, uint32_t kind)
{
    const struct layer_kind *layer = layer_of(builder, kind);
    return layer_attends(layer) && builder->job->software->gathers_few_kv_heads &&
           layer->latent.kv_rank == 0 && layer->kv_heads < builder->job->parallel->tp;
}

/* Queries, keys and values of all heads, or their gradients. */
static void share_heads(struct builder *builder, uint32_t kind, enum collective_operation operation)
{
    const struct layer_kind *layer = layer_of(builder, kind);
    const int64_t width = layer->heads * layer->head_dim + layer->kv_heads * layer_kv_dim(layer);
    if (gathers_heads(builder, kind)) {
        builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, operation,
                           builder_tokens(builder, kind) * (double)width *
                               builder_element_bytes(builder));
        builder_need(builder, STREAM_TENSOR);
    }
}

static bool is_split(const struct builder *builder, uint32_t kind)
{
    return is_context_parallel(builder) || gathers_heads(builder, kind);
}

/* ---- states of scans --------------------------------------------------------------------- */

/* Each rank goes through its tokens from an empty state; what it ends with, and by how much the
 * states before fade on the way (of the delta rule a matrix of keys by keys), all others get, in
 * fp32, so that each has its own beginning (Sun et al., arXiv 2404.02882 and 2502.07563). Backward
 * the same of gradients. With Ulysses ranks have whole sequences of some heads, as of attention.
 * ASSUMES: adding what was before to the results is hidden in the kernels of the core. */
static double state_bytes_of(const struct builder *builder, const struct layer_kind *layer)
{
    const struct mixer *mixer = layer->mixer;
    const struct mixer_operator *op = mixer->scan;
    const struct mixer_tensor *value = mixer_read(mixer, op, 2);
    const int64_t keys = mixer_read(mixer, op, 1)->dim;
    const int64_t heads = mixer_share(value, builder->job->parallel->tp) / value->dim;
    const int64_t fades = op->rule == SCAN_DELTA ? keys * keys : 1;
    return (double)builder->job->batch->micro * (double)(heads * (keys * value->dim + fades)) * 4.0;
}

static void share_states(struct builder *builder, uint32_t kind)
{
    const struct layer_kind *layer = layer_of(builder, kind);
    if (layer_scans(layer) && is_context_parallel(builder) &&
        builder->job->parallel->context != CONTEXT_ULYSSES) {
        const double ranks = (double)builder->context->context.ranks;
        builder_collective(builder, STREAM_CONTEXT, &builder->context->context,
                           COLLECTIVE_ALL_GATHER, ranks * state_bytes_of(builder, layer));
        builder_need(builder, STREAM_CONTEXT);
    }
}

/* ---- what an index learns from --------------------------------------------------------------- */

/* Attention's probabilities, of the keys that its loss is over, are summed over the heads of all
 * tp ranks, in fp32 (Megatron-LM's compute_dsa_indexer_loss). ASSUMES: before it goes backward,
 * beside nothing. */
static void share_target(struct builder *builder, uint32_t kind)
{
    const struct layer_kind *layer = layer_of(builder, kind);
    if (!layer->has_index || builder->job->parallel->tp == 1 || builder->job->lora->rank > 0) {
        return;
    }
    const int64_t tokens = cost_tokens(layer, builder->job->batch->sequence_length);
    const bool is_dense = layer->mixer->index->loss == INDEX_LOSS_DENSE;
    const double keys =
        is_dense ? cost_seen_keys(layer, tokens) : (double)mixer_chosen(layer->mixer);
    builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_REDUCE,
                       builder_tokens(builder, kind) * fmin(keys, (double)tokens) * 4.0);
    builder_need(builder, STREAM_TENSOR);
}

static bool goes_round(const struct builder *builder, uint32_t kind)
{
    return is_context_parallel(builder) && (layer_attends(layer_of(builder, kind)) ||
                                            builder->job->parallel->context == CONTEXT_ULYSSES);
}

static void core_forward(struct builder *builder, enum cause cause, uint32_t kind)
{
    share_states(builder, kind);
    if (goes_round(builder, kind)) {
        context_row(builder)->forward(builder, cause, kind);
    } else {
        builder_segment(builder, cause, kind, SEGMENT_ATTENTION_CORE);
    }
}

static void core_backward(struct builder *builder, uint32_t kind)
{
    share_states(builder, kind);
    if (goes_round(builder, kind)) {
        context_row(builder)->backward(builder, kind);
    } else {
        builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_ATTENTION_CORE_BACKWARD);
    }
}

void attention_forward(struct builder *builder, enum cause cause, uint32_t kind)
{
    builder_segment(builder, cause, kind, SEGMENT_ATTENTION_PRE);
    if (!is_split(builder, kind)) {
        block_forward(builder, cause, kind, SEGMENT_ATTENTION);
    } else {
        const struct block_pieces before = {cause, kind, SEGMENT_ATTENTION_QKV, true, false};
        const struct block_pieces after = {cause, kind, SEGMENT_ATTENTION_PROJECTION, false, true};
        block_work(builder, &before);
        share_heads(builder, kind, COLLECTIVE_ALL_GATHER);
        core_forward(builder, cause, kind);
        block_work(builder, &after);
    }
    builder_segment(builder, cause, kind, SEGMENT_ATTENTION_POST);
}

static void backward_split(struct builder *builder, uint32_t kind, bool leaves_weights)
{
    const struct block_pieces pieces = {CAUSE_COMPUTE, kind, SEGMENT_ATTENTION_PROJECTION_BACKWARD,
                                        true, false};
    block_work(builder, &pieces);
    if (!leaves_weights) {
        builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_ATTENTION_INNER_WGRAD);
    }
    core_backward(builder, kind);
    share_heads(builder, kind, COLLECTIVE_REDUCE_SCATTER);
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_ATTENTION_QKV_BACKWARD);
    block_backward_first_matrix(builder, kind, &attention_block, leaves_weights);
}

/* Products that are computed again read inputs that sequence parallelism gathers again, those of
 * attention and of a dense layer's MLP. */
static void gather_again(struct builder *builder, uint32_t kind)
{
    const struct layer_kind *layer = layer_of(builder, kind);
    if (builder->job->software->memory.keeps_every_second_product) {
        if (layer_attends(layer)) {
            block_gather(builder, kind);
        }
        if (layer_is_dense(layer)) {
            block_gather(builder, kind);
        }
        builder_need(builder, STREAM_TENSOR);
    }
}

void attention_recompute(struct builder *builder, uint32_t kind)
{
    if (builder->job->recompute->kind == RECOMPUTE_SELECTIVE) {
        gather_again(builder, kind);
        builder_segment(builder, CAUSE_RECOMPUTE, kind,
                        layer_of(builder, kind)->has_experts ? SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS
                                                             : SEGMENT_SELECTIVE_RECOMPUTE);
    }
}

void attention_backward(struct builder *builder, uint32_t kind, bool leaves_weights)
{
    if (is_context_parallel(builder) && context_row(builder)->before_backward != NULL &&
        layer_attends(layer_of(builder, kind))) {
        context_row(builder)->before_backward(builder, kind, COLLECTIVE_ALL_GATHER);
    }
    attention_recompute(builder, kind);
    share_target(builder, kind);
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_ATTENTION_POST_BACKWARD);
    if (is_split(builder, kind)) {
        backward_split(builder, kind, leaves_weights);
    } else {
        block_backward(builder, kind, &attention_block, leaves_weights);
    }
    builder_segment(builder, CAUSE_COMPUTE, kind, SEGMENT_ATTENTION_PRE_BACKWARD);
}

void attention_weights(struct builder *builder, uint32_t kind)
{
    block_weights(builder, kind, &attention_block);
}
