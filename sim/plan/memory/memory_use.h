/* What memory of a GPU and of its host is used for, and whether it is enough: the results of
 * plan/memory/memory, plain data. */
#ifndef PLAN_MEMORY_MEMORY_USE_H
#define PLAN_MEMORY_MEMORY_USE_H

#include <stdbool.h>
#include <stdint.h>

/* When a GPU is fullest. */
enum memory_moment {
    MEMORY_AT_FORWARD,
    MEMORY_AT_LOSS, /* a microbatch turns round: logits, their gradient */
    MEMORY_AT_BACKWARD,
    MEMORY_AT_WEIGHTS, /* weight gradients apart */
    MEMORY_MOMENT_COUNT_
};
extern const char *const memory_moment_names[MEMORY_MOMENT_COUNT_];

struct memory_use {
    double weights_bytes;
    double gradients_bytes;
    double optimizer_bytes;   /* master weights and moments */
    double activations_bytes; /* kept at the peak, all microbatches in flight, but for: */
    double logits_bytes;      /* what the loss keeps, and what it needs while it runs (plan/loss) */
    double temporary_bytes;   /* of the running action: recomputed, gradients, sends */
    double buffers_bytes;     /* gathered weights, buckets, copies of gradients */
    double overhead_bytes;    /* the sum of: */
    double context_bytes;
    double communication_bytes; /* NCCL's buffers */
    double fragmentation_bytes;
    double lump_bytes; /* software.memory.overhead */
    double total_bytes;
    double allocated_bytes; /* what the framework's allocator hands out: total less overhead */
    double host_bytes;      /* offloaded, in the host's memory */
    uint32_t moment;        /* enum memory_moment, of the peak */
    uint32_t microbatch, chunk;
};

struct memory_verdict {
    bool fits; /* the GPU and the host */
    bool fits_gpu;
    int64_t worst_stage;
    struct memory_use worst;
    double limit_bytes;
    double offloaded_bytes;  /* in the host's memory, of a node of the stage that offloads most */
    double loaders_bytes;    /* there, of workers and what they prefetch (plan/loading) */
    double staged_bytes;     /* there, of checkpoints (plan/checkpoint_roles) */
    double host_bytes;       /* the sum of all three */
    double host_limit_bytes; /* 0: not stated */
};

#endif
