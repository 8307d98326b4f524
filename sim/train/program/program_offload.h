/* What a program keeps in the host's memory: activations of a stage's first layers, and a share
 * of the optimizer.
 *
 * Activations go out (STREAM_OFFLOAD) after the forward of their layer and come back
 * (STREAM_FETCH) one layer ahead of its backward. The optimizer's share: its gradients go out,
 * the CPU updates, its parameters come back.
 *
 *     channel of STREAM_OFFLOAD   path 0: the host link; path 1: the CPU's updates, at so many
 *                                 bytes of states a second (train/system)
 *     channel of STREAM_FETCH     path 0: the host link, the other way
 *
 * ASSUMES: the memory that activations leave is free as soon as they are sent; no forward waits.
 * ASSUMES: the CPU updates a GPU's share by itself, at a rate of bytes of states, read and
 * written: gradient, master weight and both moments.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_OFFLOAD_H
#define TRAIN_PROGRAM_PROGRAM_OFFLOAD_H

#include "train/program/program_builder.h"

enum offload_path { OFFLOAD_PATH_LINK, OFFLOAD_PATH_CPU };

void offload_init(struct builder *builder);

/* A layer and microbatch whose activations may lie on the host. */
struct offload_place {
    uint32_t chunk;
    uint32_t layer; /* of the chunk */
    uint32_t kind;
    uint32_t microbatch;
    bool is_full; /* it is computed again: only its input is kept */
};

/* How many layers of a chunk have their activations on the host: the first ones. */
uint32_t offload_layers(const struct builder *builder, uint32_t chunk);

/* The forward of a microbatch through a chunk begins: its activations go out after what has been
 * emitted. And how many tasks of STREAM_OFFLOAD that was. */
void offload_begin(struct builder *builder, uint32_t chunk, uint32_t microbatch);
uint32_t offload_begun(const struct builder *builder, uint32_t chunk, uint32_t microbatch);

/* Each does nothing for a layer whose activations stay on the GPU. */
void offload_activations(struct builder *builder, const struct offload_place *place);
void offload_fetch(struct builder *builder, const struct offload_place *place);
void offload_need(struct builder *builder, const struct offload_place *place);

/* The host's share of the update of a rank's `parameters`; the next task waits for it. */
void offload_update(struct builder *builder, double parameters);

#endif
