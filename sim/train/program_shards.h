/* Data parallelism of a program: gathers of sharded parameters, reductions of gradients.
 *
 * Two kinds of parameters, each with its own group and its own two streams: dense ones,
 * reduced over all ranks with the same tp and pp, and those of routed experts, reduced over the
 * ranks that hold the same experts. Without expert parallelism these are the same ranks, and
 * everything is dense.
 */
#ifndef TRAIN_PROGRAM_SHARDS_H
#define TRAIN_PROGRAM_SHARDS_H

#include "train/program_builder.h"

void shards_init(struct builder *builder);

/* ZeRO-1 and 2 with overlap: parameters are gathered in forward order, one bucket after
 * another, from the start of the step. */
bool shards_gather_ahead(const struct builder *builder);
void shards_begin(struct builder *builder);
/* Layer `index` of this stage waits for its bucket. */
void shards_need_layer(struct builder *builder, uint32_t index);

/* The layers of a chunk, in the order in which they are used. */
struct layer_walk {
    int64_t first;
    uint32_t count;
    bool is_backward;
    uint32_t fetched;                      /* layers whose gathers were emitted */
    uint32_t gathers_before[SHARD_COUNT_]; /* tasks of the streams before the walk */
    uint32_t gathers_used[SHARD_COUNT_];   /* of the layers used so far */
};

struct layer_walk layer_walk_begin(const struct builder *builder, uint32_t chunk, bool is_backward);
/* Whether the layer at `position` of the walk has experts. */
bool layer_walk_has_experts(const struct builder *builder, const struct layer_walk *walk,
                            uint32_t position);
/* FSDP: gathers what is due `prefetch` layers ahead, then waits for the layer at `position`.
 * To be called for each position in turn. */
void layer_walk_gather(struct builder *builder, struct layer_walk *walk, uint32_t position);

/* A layer's gradients are there; FSDP, or ZeRO-2 in each microbatch, or in the last one. */
void shards_layer_ready(struct builder *builder, bool has_experts, uint32_t microbatch);

/* What was not reduced beside the backward pass: all of it, or the last bucket. */
void shards_finish(struct builder *builder);

/* After the optimizer: ZeRO-1 and 2 without overlap gather what the others have updated. */
void shards_gather_updated(struct builder *builder);

/* FSDP: embedding, head and norms are one unit, gathered once. */
void shards_gather_edge(struct builder *builder);

#endif
