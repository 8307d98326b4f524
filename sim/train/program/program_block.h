/* A block of a layer in a program, attention or MLP: its kernels, and the collectives of tensor
 * parallelism around them. Embedding and head use the same collectives.
 *
 * `kind` is the layer's (index into model.kinds).
 */
#ifndef TRAIN_PROGRAM_PROGRAM_BLOCK_H
#define TRAIN_PROGRAM_PROGRAM_BLOCK_H

#include "train/program/program_builder.h"

/* Before a block: with sequence parallelism the sharded activations are gathered. */
void block_gather(struct builder *builder, uint32_t kind);
/* The same before the head, whose product is never of low precision. */
void block_gather_plain(struct builder *builder, uint32_t kind);

/* After a block: its partial sums are added up. */
void block_reduce(struct builder *builder, uint32_t kind);

/* A segment between its gather (`gathers`, with sequence parallelism) and the sum of its results
 * (`reduces`): one after the other, or piece by piece (software.overlap.tp_pieces). */
struct block_pieces {
    enum cause cause;
    uint32_t kind;
    enum segment_kind segment;
    bool gathers, reduces;
};
void block_work(struct builder *builder, const struct block_pieces *pieces);

/* One block forward, its collectives around it. */
void block_forward(struct builder *builder, enum cause cause, uint32_t kind,
                   enum segment_kind block);

/* The segments of a block's backward pass. `inner` and `inner_weights`: the second matrix's. */
struct backward_block {
    enum segment_kind inner, inner_weights, dgrad, weights;
};
void block_backward(struct builder *builder, uint32_t kind, const struct backward_block *block,
                    bool leaves_weights);
/* The first matrix of a block: its input is gathered again beside the input gradient (sequence
 * parallelism), and the sum of input gradients runs beside the weight gradient, if the software
 * overlaps them. */
void block_backward_first_matrix(struct builder *builder, uint32_t kind,
                                 const struct backward_block *block, bool leaves_weights);
void block_weights(struct builder *builder, uint32_t kind, const struct backward_block *block);

#endif
