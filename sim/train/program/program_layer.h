/* A layer's part of a program: kernels, and the collectives of tensor, context and
 * expert parallelism between them. The order of segments is plan/cost's.
 *
 * `kind` is the layer's (index into model.kinds).
 */
#ifndef TRAIN_PROGRAM_PROGRAM_LAYER_H
#define TRAIN_PROGRAM_PROGRAM_LAYER_H

#include "train/program/program_builder.h"

struct layer_backward_options {
    bool recomputes_all; /* the whole layer forward again */
    bool leaves_weights; /* input gradients only: layer_weights follows some time */
};

void layer_forward(struct builder *builder, enum cause cause, uint32_t kind);

/* With what has to be computed again before it. */
void layer_backward(struct builder *builder, uint32_t kind,
                    const struct layer_backward_options *options);

/* Weight gradients alone. */
void layer_weights(struct builder *builder, uint32_t kind);

/* ---- for the parts of a layer, and embedding and head --------------------------------- */

/* Before a block: with sequence parallelism the sharded activations are gathered. */
void layer_gather_sequence(struct builder *builder, uint32_t kind);
/* The same before the head, whose product is never of low precision. */
void layer_gather_plain(struct builder *builder, uint32_t kind);

/* After a block: its partial sums are added up. */
void layer_reduce_tensor(struct builder *builder, uint32_t kind);

/* A segment between its gather (`gathers`, with sequence parallelism) and the sum of its results
 * (`reduces`): one after the other, or piece by piece (software.overlap.tp_pieces). */
struct layer_pieces {
    enum cause cause;
    uint32_t kind;
    enum segment_kind segment;
    bool gathers, reduces;
};
void layer_work_between(struct builder *builder, const struct layer_pieces *pieces);

/* One block forward, its collectives around it. */
void layer_forward_block(struct builder *builder, enum cause cause, uint32_t kind,
                         enum segment_kind block);

/* The segments of a block's backward pass. `inner` and `inner_weights`: the second matrix's. */
struct backward_block {
    enum segment_kind inner, inner_weights, dgrad, weights;
};
void layer_backward_block(struct builder *builder, uint32_t kind,
                          const struct backward_block *block, bool leaves_weights);
/* The first matrix of a block: its input is gathered again beside the input gradient (sequence
 * parallelism), and the sum of input gradients runs beside the weight gradient, if the software
 * overlaps them. */
void layer_backward_first_matrix(struct builder *builder, uint32_t kind,
                                 const struct backward_block *block, bool leaves_weights);
void layer_weights_block(struct builder *builder, uint32_t kind,
                         const struct backward_block *block);

#endif
