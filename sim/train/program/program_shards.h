/* Data parallelism of a program: gathers of sharded parameters, reductions of gradients.
 *
 * Two kinds of parameters, each with its own group and its own streams: dense ones, reduced
 * over all ranks that hold the same, and those of routed experts, reduced over the ranks that
 * hold the same experts. Where these are the same ranks, everything is dense.
 *
 * Gradients are reduced with the last microbatch of their chunk. Without a pipeline ZeRO 2 and
 * FSDP, which sum them in shards, reduce each microbatch's (memory_shards_gradients), embedding and
 * head included, and go on when they are there; unless software.fsdp.no_sync is all.
 *
 * Sharded within a part of these ranks (HSDP), gradients are reduce-scattered there and the
 * shard is then all-reduced over the replicas, each time, or for the last microbatch only
 * (software.fsdp.no_sync: replicas). XLA joins these sums
 * (software.fsdp.sum_bucket), so that the last one follows the backward pass, and runs one
 * collective at a time (queue_sums): while it sums over slow links, no layer is gathered.
 *
 * With DualPipe a piece of the model lies on two stages with different orders. What they reduce
 * or gather together is emitted in the order of the model, gathers before the first action (of
 * FSDP too, once a step), reductions after the last.
 *
 * With software.fsdp.gathers tensor or matrix, FSDP gathers and reduces each tensor of a layer by
 * itself: all of a layer are simulated as one transfer that has the latency of each, and the
 * small ones' whole time.
 *
 * DeepSpeed bounds what is gathered (software.fsdp.live_parameters): layers are gathered ahead as
 * long as there is room, and the last ones of a forward pass stay for its backward pass. Its
 * gathers and reductions go through one communicator (one_queue), gradients of layers are reduced
 * in buckets whose last one ends the backward pass (reduce_buckets), and the host goes through the
 * shares of every rank (host_per_rank) while it may not run ahead: it waits for the gather before
 * last.
 *
 * ASSUMES: layers are gathered ahead, kept and counted as a whole, though DeepSpeed does so matrix
 * by matrix: where two layers do not fit, none is gathered ahead.
 * ASSUMES: a matrix that embedding and head share stays gathered over a microbatch; others' share
 * of the edge does not count as live.
 * ASSUMES: matrices of a layer are of one size, biases and norms as long as the hidden state, and
 * all tensors of a layer are gathered before it begins.
 * ASSUMES: in a pipeline FSDP reduces a layer when its last gradients are there; PyTorch begins
 * when those of the whole chunk are.
 * ASSUMES: embedding, head, norms and layers of multi-token prediction are one unit, reduced
 * at the end of a backward pass; FSDP gathers it before a forward pass and keeps it until then.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_SHARDS_H
#define TRAIN_PROGRAM_PROGRAM_SHARDS_H

#include "train/program/program_builder.h"

void shards_init(struct builder *builder);

/* ZeRO-1 and 2 with overlap: parameters are gathered in forward order, one bucket after
 * another, from the start of the step. */
bool shards_gather_ahead(const struct builder *builder);
void shards_begin(struct builder *builder);
/* Layer `index` of this stage waits for its bucket. */
void shards_need_layer(struct builder *builder, uint32_t index);
/* What `layers` layers from `first` on, waiting for their buckets, depend on, into so many numbers:
 * counts of tasks back from now. */
#define SHARDS_NEED_NUMBERS(layers) (((layers) + 1) * SHARD_COUNT_)
void shards_need_key(const struct builder *builder, uint32_t first, uint32_t layers,
                     uint32_t *numbers);

/* The layers of a chunk, in the order in which they are used. */
struct layer_walk {
    uint32_t chunk;
    uint32_t count;
    bool is_backward;
    bool gathers;                          /* FSDP, and not kept from before */
    uint32_t kept;                         /* the first of them, there from the forward pass */
    uint32_t fetched;                      /* kept, or their gathers were emitted */
    uint32_t gathers_before[SHARD_COUNT_]; /* tasks of the streams before the walk */
    uint32_t gathers_used[SHARD_COUNT_];   /* of the layers used so far */
};

/* Before the action is counted in the chunk's state. */
struct layer_walk layer_walk_begin(const struct builder *builder, uint32_t chunk, bool is_backward);
/* Which layer of the chunk is at `position` of the walk. */
uint32_t layer_walk_index(const struct layer_walk *walk, uint32_t position);
/* FSDP: gathers what is due `prefetch` layers ahead, then waits for the layer at `position`.
 * To be called for each position in turn. */
void layer_walk_gather(struct builder *builder, struct layer_walk *walk, uint32_t position);

/* What of the chunk's state a walk depends on. */
uint32_t layer_walk_key(const struct builder *builder, uint32_t chunk, bool is_backward);

/* Gradients of a layer of that kind are there: reduced if they are the chunk's last, or if each
 * microbatch's are. */
void shards_layer_ready(struct builder *builder, uint32_t chunk, uint32_t kind);

/* A backward pass through a chunk is over: with software.fsdp.reduce_buckets what was collected is
 * reduced, and waited for. */
void shards_backward_end(struct builder *builder, uint32_t chunk);

/* What was not reduced beside the backward pass: all of it, or the last bucket. */
void shards_finish(struct builder *builder);

/* After the optimizer: ZeRO-1 and 2 without overlap gather what the others have updated. */
void shards_gather_updated(struct builder *builder);

/* FSDP: embedding, head and norms are one unit, gathered at the start of a step, and again for each
 * forward pass after a backward pass that gave it back. */
void shards_gather_edge(struct builder *builder);
void shards_need_edge(struct builder *builder, uint32_t chunk);

/* The last gradients of a backward pass through a chunk are there, those of the edge: where each
 * pass's are reduced (not those of the step's last, which shards_finish reduces), the pass ends
 * with it. */
void shards_edge_ready(struct builder *builder, uint32_t chunk);

#endif
