/* The loaders of a job beside its steps: a system (train/system) with its DataLoader workers.
 *
 *     rank 0 of a replica ──take──┐
 *     its tp and cp peers ──take──┤                 (first pipeline stage, STREAM_READ)
 *     loader                ──────┘  deliver 0, 1, 2, ...     in order
 *       worker 0:  batch 0, W, 2W ...      first byte, read, work
 *       worker 1:  batch 1, W+1 ...
 *
 * Each rank that loads (plan/loading) has a *loader*, an actor with a stream for each worker and
 * one that delivers. A batch is a flow from the file system over the links that hw/fabric traces
 * for its rank, which the engine shares by max-min with checkpoints and, where storage has no
 * network of its own, with collectives; then it is work on the node's cores, a link that all
 * workers of the node share with its main processes. The rules are those of hw/dataloader, whose
 * options these are. Before a microbatch enters the model, the ranks that work on it and the
 * loader meet: whoever comes first waits, the ranks for their data (data stall), the loader
 * because its queue is full. Other stages wait for what they miss: that is a data stall, too
 * (des/engine_late.c).
 *
 * Loaders and main processes are a job of their own, the last one. Loaders go on reading ahead
 * after the last step; main processes never end, so the engine's time is longer than the job's.
 *
 * ASSUMES: a batch is handed to tensor- and context-parallel peers in no time.
 * ASSUMES: of DualPipe both ends load what enters there.
 */
#ifndef TRAIN_LOADING_LOADERS_H
#define TRAIN_LOADING_LOADERS_H

#include "hw/dataloader.h"
#include "train/streams.h"
#include "train/system.h"

/* A worker has a stream of its actor, where those that compute and deliver have one, too. */
enum { LOADERS_WORKERS_MAX = STREAM_COUNT_ - 2 };

struct loaders_options {
    const struct dataloader_options *of; /* of one loader; numbers per node are not looked at */
    bool starts_full;                    /* the queue, when the first step begins */
    sim_time longest_ns;                 /* the job's steps take no longer: main processes do */
};

/* `system` was built whole (step_options.folds false) with step_options.takes_batches and without
 * neighbours. Its arrays are copied, memory is the arena's. */
struct engine_system loaders_beside(struct arena *arena, const struct step_system *system,
                                    const struct loaders_options *options);

#endif
