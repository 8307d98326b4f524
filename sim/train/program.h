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
 *  - tokens go to their experts and back, and keys and values of other context-parallel ranks
 *    are gathered, between kernels: nothing runs beside them;
 *  - a microbatch's forward waits for its activations, its backward for their gradients;
 *  - a bucket of gradients is reduced when the last microbatch's backward has
 *    produced it; without overlap all are reduced after the last backward;
 *  - FSDP gathers the layer `prefetch` ahead when the layer before the
 *    current one is done, forward and backward, and reduces each layer's gradients;
 *  - data of the next step is read, and an earlier checkpoint flushed, beside everything else;
 *    the step ends no sooner;
 *  - then gradient norm (everybody), optimizer, and the gather of sharded parameters,
 *    which the next step's first forward waits for layer by layer if it overlaps.
 */
#ifndef TRAIN_PROGRAM_H
#define TRAIN_PROGRAM_H

#include "train/streams.h"
#include "train/timing.h"
#include "train/transfer.h"

struct program_context {
    struct arena *arena;
    const struct scenario *scenario;
    const struct timing *timing;
    const struct transfer_setting *setting;
    struct transfer_table *transfers;
    struct transfer_patterns *patterns; /* [STREAM_COUNT_] */
    uint32_t job;
    struct group_shape tensor;      /* of this stage; ranks 1: none */
    struct group_shape context;     /* cp ranks: parts of the same sequences */
    struct group_shape expert;      /* ep ranks: they exchange tokens */
    struct group_shape data;        /* cp * dp ranks: the same dense parameters */
    struct group_shape expert_data; /* cp * dp / ep ranks: the same routed experts */
    struct group_shape embedding;   /* first and last stage's pair; ranks 1: not tied */
    struct group_shape world;
    double checkpoint_bytes_per_rank; /* written at the end; 0: none */
    double flush_bytes_per_rank; /* of an earlier checkpoint, written beside the step; 0: none */
    bool reads_over_fabric;      /* its data crosses the NICs */
};

/* The program of pipeline stage `stage`. */
struct engine_program program_build(const struct program_context *context, uint32_t stage);

/* The same step `steps` times, each after the one before. */
struct engine_program program_repeat(struct arena *arena, const struct engine_program *once,
                                     uint32_t steps);

/* Parameters that one rank of a stage updates. */
double program_owned_parameters(const struct scenario *scenario, uint32_t stage);

/* One pass over their gradients, for the norm. */
struct work program_norm_work(const struct scenario *scenario, uint32_t stage);

#endif
