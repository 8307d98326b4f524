/* A training step as programs: what each pipeline stage's GPUs do, in order.
 *
 * All GPUs of one pipeline stage run the same program; tensor and data
 * parallel peers differ only in the channels their streams are bound to
 * (train/system). A program is emitted from the schedule's actions; each action
 * walks its chunk's layers; each layer alternates kernels (train/timing) and
 * collectives (train/transfer).
 *
 * What waits for what:
 *  - a collective waits for the kernels before it; the kernels after it wait
 *    for it, unless it runs beside them (software.overlap.tp_backward);
 *  - a microbatch's forward waits for its activations, its backward for their gradients;
 *  - a bucket of gradients is reduced when the last microbatch's backward has
 *    produced it; without overlap all are reduced after the last backward;
 *  - FSDP gathers the layer `prefetch` ahead when the layer before the
 *    current one is done, forward and backward, and reduces each layer's gradients;
 *  - then gradient norm (everybody), optimizer, and the gather of sharded parameters,
 *    which the next step's first forward waits for layer by layer if it overlaps.
 */
#ifndef TRAIN_PROGRAM_H
#define TRAIN_PROGRAM_H

#include "train/streams.h"
#include "train/timing.h"
#include "train/transfer.h"

/* What a transfer is, for reports: the operation and its whole buffer. */
struct transfer_origin {
    enum collective_operation operation;
    double bytes;
};

/* Transfers shared by all programs of a step. */
struct transfer_table {
    struct engine_transfer *items;
    struct transfer_origin *origins; /* of each item */
    size_t count;
    size_t capacity;
    size_t origin_capacity;
};

struct program_context {
    struct arena *arena;
    const struct scenario *scenario;
    const struct timing *timing;
    const struct fabric *fabric;
    struct transfer_table *transfers;
    struct group_shape tensor; /* of this stage; ranks 1: none */
    struct group_shape data;
    struct group_shape embedding; /* first and last stage's pair; ranks 1: not tied */
    struct group_shape world;
    double checkpoint_bytes_per_rank; /* 0: this step writes none */
};

/* The program of pipeline stage `stage`. */
struct engine_program program_build(const struct program_context *context, uint32_t stage);

/* Parameters of one layer kept by one rank before sharding over data parallelism. */
double program_layer_parameters(const struct scenario *scenario);

/* Parameters that one rank of a stage updates. */
double program_owned_parameters(const struct scenario *scenario, uint32_t stage);

/* One pass over their gradients, for the norm. */
struct work program_norm_work(const struct scenario *scenario, uint32_t stage);

#endif
