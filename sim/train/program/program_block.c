/* Tensor parallelism: one gather and one reduction of the activations for each block and
 * microbatch, whole or in pieces.
 *
 * ASSUMES: a piece of a block (software.overlap.tp_pieces) takes its share of the whole's time:
 * smaller products are as fast. A piece's gather runs beside the whole block, not only beside the
 * product that it feeds.
 * ASSUMES: when weight gradients are computed apart, the gradients that a block gathered are kept
 * until then, and its inputs are gathered there, beside the second matrix's product.
 */
#include "train/program/program_block.h"

#include "input/job/parallel.h"
#include "plan/memory/memory_layer.h"

static void gather(struct builder *builder, uint32_t kind, double element_bytes)
{
    if (builder->job->parallel->is_sequence_parallel) {
        builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_GATHER,
                           builder_activations(builder, kind) * element_bytes);
    }
}

void block_gather(struct builder *builder, uint32_t kind)
{
    gather(builder, kind, builder_sent_bytes(builder, kind, builder->sequence_bytes));
}

void block_gather_plain(struct builder *builder, uint32_t kind)
{
    gather(builder, kind, builder_element_bytes(builder));
}

/* An input that the weight gradient reads: kept as it was gathered, unless the norm that made it is
 * computed again (selective recomputation that keeps products gathers there: program_attention). */
static bool has_input(const struct builder *builder)
{
    const struct software *software = builder->job->software;
    const uint32_t again = memory_recomputed_modules(builder->job->recompute,
                                                     (enum attention_kind)software->attention);
    return software->keeps_gathered &&
           (software->memory.keeps_every_second_product || (again & 1u << RECOMPUTE_NORM) == 0);
}

static void gather_again(struct builder *builder, uint32_t kind)
{
    if (!has_input(builder)) {
        block_gather(builder, kind);
    }
}

void block_reduce(struct builder *builder, uint32_t kind)
{
    const bool is_scattered = builder->job->parallel->is_sequence_parallel;
    builder_collective(builder, STREAM_TENSOR, &builder->context->tensor,
                       is_scattered ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE,
                       builder_activation_bytes(builder, kind));
}

static bool is_in_pieces(const struct builder *builder)
{
    return builder->job->software->tp_pieces > 1 && builder->job->parallel->is_sequence_parallel &&
           builder->context->tensor.ranks > 1;
}

/* A segment piece by piece: each waits for its piece of the gather, which runs beside those before
 * it, and its piece of the results is scattered beside those after it. */
static void work_in_pieces(struct builder *builder, const struct block_pieces *pieces)
{
    const uint32_t count = (uint32_t)builder->job->software->tp_pieces;
    const double values = builder_activations(builder, pieces->kind) / (double)count;
    const double each = builder_sent_bytes(builder, pieces->kind, builder->sequence_bytes);
    const uint32_t before = builder_emitted(builder, STREAM_TENSOR);
    for (uint32_t i = 0; pieces->gathers && i < count; i++) {
        builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_GATHER,
                           values * each);
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

void block_work(struct builder *builder, const struct block_pieces *pieces)
{
    if (is_in_pieces(builder)) {
        work_in_pieces(builder, pieces);
        return;
    }
    if (pieces->gathers) {
        block_gather(builder, pieces->kind);
        builder_need(builder, STREAM_TENSOR);
    }
    builder_segment(builder, pieces->cause, pieces->kind, pieces->segment);
    if (pieces->reduces) {
        block_reduce(builder, pieces->kind);
        builder_need(builder, STREAM_TENSOR);
    }
}

void block_forward(struct builder *builder, enum cause cause, uint32_t kind,
                   enum segment_kind block)
{
    const struct block_pieces pieces = {cause, kind, block, true, true};
    block_work(builder, &pieces);
}

void block_backward_first_matrix(struct builder *builder, uint32_t kind,
                                 const struct backward_block *block, bool leaves_weights)
{
    if (leaves_weights) {
        const struct block_pieces pieces = {CAUSE_COMPUTE, kind, block->dgrad, false, true};
        block_work(builder, &pieces);
        return;
    }
    const bool overlaps = builder->job->software->overlaps_tp_backward;
    gather_again(builder, kind);
    const uint32_t gathered = builder_emitted(builder, STREAM_TENSOR);
    if (!overlaps) {
        builder_need(builder, STREAM_TENSOR);
    }
    builder_segment(builder, CAUSE_COMPUTE, kind, block->dgrad);
    block_reduce(builder, kind);
    builder_need_at(builder, STREAM_TENSOR,
                    overlaps ? gathered : builder_emitted(builder, STREAM_TENSOR));
    builder_segment(builder, CAUSE_COMPUTE, kind, block->weights);
    builder_need(builder, STREAM_TENSOR);
}

void block_backward(struct builder *builder, uint32_t kind, const struct backward_block *block,
                    bool leaves_weights)
{
    const struct block_pieces pieces = {CAUSE_COMPUTE, kind, block->inner, true, false};
    block_work(builder, &pieces);
    if (!leaves_weights) {
        builder_segment(builder, CAUSE_COMPUTE, kind, block->inner_weights);
    }
    block_backward_first_matrix(builder, kind, block, leaves_weights);
}

void block_weights(struct builder *builder, uint32_t kind, const struct backward_block *block)
{
    gather_again(builder, kind);
    if (!builder->job->software->overlaps_tp_backward) {
        builder_need(builder, STREAM_TENSOR);
    }
    builder_segment(builder, CAUSE_COMPUTE, kind, block->inner_weights);
    builder_need(builder, STREAM_TENSOR);
    builder_segment(builder, CAUSE_COMPUTE, kind, block->weights);
}
