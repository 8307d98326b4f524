/* The streams of a GPU in a training step, and what waiting on each is called.
 *
 * The order matters: of several things a GPU waited for that ended at one
 * instant, the lowest stream owns the wait (tp, cp, ep, pp, dp).
 */
#ifndef TRAIN_STREAMS_H
#define TRAIN_STREAMS_H

#include "des/engine.h"
#include "train/metrics.h"

struct software;

enum stream {
    STREAM_COMPUTE,
    STREAM_TENSOR,           /* collectives of the tensor-parallel group */
    STREAM_CONTEXT,          /* keys and values, over context parallelism */
    STREAM_EXPERT,           /* tokens to their experts and back: all-to-alls */
    STREAM_EXPERT_TENSOR,    /* collectives of the ranks that share an expert, when they are not
                              * the tensor-parallel group */
    STREAM_SEND_FORWARD,     /* to the next stage: activations; gradients of chunks that run
                              * the other way (zb-v, dualpipe) */
    STREAM_RECEIVE_FORWARD,  /* from the previous stage */
    STREAM_SEND_BACKWARD,    /* to the previous stage: gradients, and activations the other way */
    STREAM_RECEIVE_BACKWARD, /* from the next stage */
    STREAM_EMBEDDING,        /* tied embeddings: first and last stage sum their gradients */
    STREAM_DATA_GATHER,      /* parameters, all-gathered over data parallelism */
    STREAM_DATA_REDUCE,      /* gradients, reduced over data parallelism (of HSDP: the shard
                              * group) */
    STREAM_REPLICA_REDUCE,   /* HSDP: the shards' gradients, over the replicas of the group */
    STREAM_EXPERT_GATHER,    /* parameters of experts, over the ranks that hold the same ones */
    STREAM_EXPERT_REDUCE,    /* their gradients */
    STREAM_EXPERT_REPLICA,   /* HSDP: their shards' gradients, over the replicas */
    STREAM_LOCAL_GATHER,     /* ZeRO++: parameters, of the local group's copy */
    STREAM_LOCAL_REDUCE,     /* gradients, in the local group */
    STREAM_ACROSS_REDUCE,    /* what it has of them, between local groups */
    STREAM_SCALES,           /* largest values of fp8 tensors: all ranks of a stage */
    STREAM_WORLD,            /* gradient norm: everybody */
    STREAM_STORAGE,          /* checkpoint writes */
    STREAM_READ,             /* training data, from the file system */
    STREAM_OFFLOAD,          /* GPU to host: activations, gradients */
    STREAM_FETCH,            /* host to GPU */
    STREAM_COUNT_
};

/* What an exchange with experts takes of the rate of a GPU that has so many SMs, while it lasts. */
double streams_expert_share(const struct software *software, int64_t sms);

/* Fills system->streams, causes and their counts, of `pp` stages on GPUs of `sms` SMs. */
void streams_describe(const struct software *software, int64_t sms, int64_t pp,
                      struct engine_system *system);

/* For engine_channel.makes_late: that of a cause that is handed on. */
uint8_t streams_late(enum cause cause);

#endif
