/* A layer's part of a program: kernels, and the collectives of tensor, context and
 * expert parallelism between them. The order of segments is plan/cost's.
 */
#ifndef TRAIN_PROGRAM_LAYER_H
#define TRAIN_PROGRAM_LAYER_H

#include "train/program_builder.h"

void layer_forward(struct builder *builder, enum cause cause, bool has_experts);

/* With what has to be computed again before it. */
void layer_backward(struct builder *builder, bool has_experts);

/* Before a block: with sequence parallelism the sharded activations are gathered. */
void layer_gather_sequence(struct builder *builder);

/* After a block: its partial sums are added up. */
void layer_reduce_tensor(struct builder *builder);

#endif
