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

#endif
