/* What is alive on a stage over its actions: a part of plan/memory/memory. */
#ifndef PLAN_MEMORY_MEMORY_LIVE_H
#define PLAN_MEMORY_MEMORY_LIVE_H

#include "input/model.h"
#include "plan/memory/memory.h"

/* The sum is most at one action; of what it then consists. */
struct memory_peak {
    double layers_bytes; /* kept of layers */
    double embedding_bytes;
    double head_bytes;
    double loss_bytes;      /* logits, of all microbatches alive, and copies of them */
    double gradients_bytes; /* whole, not yet reduced (memory_frees_gradients) */
    double passed_bytes;    /* between stages (software.memory.stage_outputs) */
    double recomputed_bytes, working_bytes;
    double total_bytes;  /* of all these */
    int64_t layers_most; /* most layers in flight, at any time */
    uint32_t moment;     /* enum memory_moment */
    uint32_t microbatch, chunk;
};
/* Of the last stage what the head keeps is recorded. Nothing of it stays in `scratch` that is
 * needed. */
struct memory_peak memory_live_peak(struct arena *scratch, const struct memory_job *job,
                                    int64_t stage, struct ledger *ledger);

/* The same sum over the step: while each action of the stage's order runs, and after it. The
 * largest of all is the peak's. Memory is the arena's; as many as the order has. */
struct memory_alive {
    double during_bytes, after_bytes;
};
const struct memory_alive *memory_live_over_actions(struct arena *arena,
                                                    const struct memory_job *job, int64_t stage,
                                                    uint64_t *count);

/* Activations of a microbatch that one GPU of a stage keeps on the host. */
double memory_live_host_bytes(struct arena *scratch, const struct memory_job *job, int64_t stage);

#endif
