/* The ends of the model in a program: embedding, head, loss, multi-token prediction; and what of
 * the model is computed again.
 *
 * Multi-token prediction follows the head, on its stage: each layer joins the last hidden states
 * with the next token's embedding, is a layer like the last, and has the head and a loss again
 * (DeepSeek-V3, arXiv 2412.19437, section 2.2).
 *
 * ASSUMES: the projection of multi-token prediction is on every tensor-parallel rank, for its own
 * tokens, and communicates nothing; nor does the look-up of the next tokens' embeddings.
 * ASSUMES: what deferred weight gradients of the head keep meanwhile (parallel.deferred_heads:
 * each microbatch's last hidden states and gradients of its logits) is not counted in the last
 * stage's memory, which so comes out too small.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_ENDS_H
#define TRAIN_PROGRAM_PROGRAM_ENDS_H

#include "train/program/program_builder.h"

void ends_embedding(struct builder *builder);
void ends_embedding_weights(struct builder *builder);

void ends_head(struct builder *builder);
void ends_head_backward(struct builder *builder, bool leaves_weights);
void ends_head_weights(struct builder *builder);
/* After the last backward pass: what parallel.deferred_heads put off. */
void ends_deferred_heads(struct builder *builder);

/* Whether layer `index` of a chunk is computed again as a whole. */
bool ends_recomputes_all(const struct builder *builder, uint32_t index);

#endif
