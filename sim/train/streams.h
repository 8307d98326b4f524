/* The streams of a GPU in a training step, and what waiting on each is called.
 *
 * The order matters: of several things a GPU waited for that ended at one
 * instant, the lowest stream owns the wait (tp, cp, ep, pp, dp).
 */
#ifndef TRAIN_STREAMS_H
#define TRAIN_STREAMS_H

#include "des/engine.h"
#include "spec/scenario.h"

enum stream {
    STREAM_COMPUTE,
    STREAM_TENSOR,           /* collectives of the tensor-parallel group */
    STREAM_CONTEXT,          /* keys and values, over context parallelism */
    STREAM_EXPERT,           /* tokens to their experts and back: all-to-alls */
    STREAM_SEND_FORWARD,     /* activations to the next stage */
    STREAM_RECEIVE_FORWARD,  /* activations from the previous stage */
    STREAM_SEND_BACKWARD,    /* gradients to the previous stage */
    STREAM_RECEIVE_BACKWARD, /* gradients from the next stage */
    STREAM_EMBEDDING,        /* tied embeddings: first and last stage sum their gradients */
    STREAM_DATA_GATHER,      /* parameters, all-gathered over data parallelism */
    STREAM_DATA_REDUCE,      /* gradients, reduced over data parallelism */
    STREAM_EXPERT_GATHER,    /* parameters of experts, over the ranks that hold the same ones */
    STREAM_EXPERT_REDUCE,    /* their gradients */
    STREAM_WORLD,            /* gradient norm: everybody */
    STREAM_STORAGE,          /* checkpoint writes */
    STREAM_READ,             /* training data, from the file system */
    STREAM_COUNT_
};

/* Fills system->streams, causes and their counts for a scenario. */
void streams_describe(const struct scenario *scenario, struct engine_system *system);

#endif
