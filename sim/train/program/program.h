/* A training step as programs: what each pipeline stage's GPUs do, in order.
 *
 * All GPUs of one pipeline stage run the same program; tensor and data
 * parallel peers differ only in the channels their streams are bound to
 * (train/system). A program is emitted from the schedule's actions; each action
 * walks its chunk's layers; each layer alternates kernels (train/timing) and
 * collectives (train/transfer).
 *
 * A backward may be cut in two: input gradients, for which the stage before waits, and weight
 * gradients, which run when the schedule says. A forward may be paired with a backward: each
 * computes while the other exchanges tokens with experts (train/program/program_lanes).
 *
 * What waits for what:
 *  - a collective waits for the kernels before it; the kernels after it wait
 *    for it, unless it runs beside them (software.overlap.tp_backward);
 *  - tokens go to their experts and back, and keys and values of other context-parallel ranks
 *    are gathered, between kernels: nothing runs beside them but the other half of a pair;
 *    with ring attention keys and values move on beside the part of the core before;
 *  - a microbatch's forward waits for its activations, its backward for their gradients;
 *    messages between two stages are in order, so a stage takes them in the order in which
 *    its neighbour's schedule sends them;
 *  - a bucket of gradients is reduced when the last microbatch's weight gradients have
 *    produced it; without overlap, and with dualpipe, whose pieces lie on two stages with
 *    different orders, all are reduced after the last one, in the order of the model;
 *  - FSDP gathers the layer `prefetch` ahead when the layer before the
 *    current one is done, forward and backward, and reduces each layer's gradients, in a
 *    pipeline those of the last microbatch only;
 *  - data of the next step is read, and an earlier checkpoint flushed, beside everything else;
 *    the step ends no sooner; where one is copied to the host beside it (software.checkpoint.copy)
 *    parameters do not change before; where loaders are simulated (train/loading) each
 *    microbatch that enters the model waits for its batch;
 *  - then gradient norm (everybody), optimizer, and the gather of sharded parameters,
 *    which the next step's first forward waits for layer by layer if it overlaps;
 *  - a kernel waits for its launch: the host is ahead by what train/launch_queue says, from the
 *    step's beginning on; where it waits for the GPU (software.launch_queue, the router of
 *    experts), it begins anew;
 *  - activations that are kept on the host go out after their layer's forward and come back
 *    one layer ahead of its backward; the host's share of the optimizer gets its gradients
 *    after the norm, and parameters come back when it is done;
 *  - with delayed scaling (software.fp8.amax) ranks agree on the largest values after each pass of
 *    a chunk, before anything follows.
 *
 * ASSUMES: a layer has four products whose scales are agreed on, one with experts, too; kernels
 * that gather their largest values cost nothing.
 * ASSUMES: context parallelism sends gradients of attention in fp8 in 16 bits, whatever the recipe;
 * with delayed scaling TransformerEngine sends some of them in fp8.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_H
#define TRAIN_PROGRAM_PROGRAM_H

#include "plan/memory/memory_job.h"
#include "plan/routing.h"
#include "plan/schedule/schedule.h"
#include "train/streams.h"
#include "train/timing.h"
#include "train/transfer.h"

/* Which of a stage's actions each compute task belongs to, for pictures of the pipeline. */
#define PROGRAM_NO_ACTION UINT32_MAX
struct program_actions {
    struct schedule_order order; /* as it was emitted (schedule_order) */
    const uint32_t *action_of;   /* [task_count], of a step: index into order, or NO_ACTION */
    uint32_t task_count;
    const struct work_amount *amounts; /* [task_count]; NULL: not counted */
};

/* Of a job what its programs are written from; how long kernels and messages take is the context's.
 * What it points to is borrowed. */
struct program_job {
    const struct model *model;
    const struct parallel *parallel;
    const struct batch *batch;
    const struct recompute *recompute;
    const struct optimizer *optimizer;
    const struct offload *offload;
    const struct lora *lora;
    const struct software *software;
    enum precision precision;
    struct memory_job memory; /* what ranks hold of parameters and keep of layers */
};
struct program_job program_job_of(const struct scenario *scenario);

struct program_context {
    struct arena *arena;
    struct program_written *written; /* of the job: train/program/program_written. NULL: each action
                                      * is emitted, to the same tasks; slow, for tests */
    const struct program_job *job;
    const struct timing *timing;
    const struct routing_load *routing;
    const struct transfer_setting *setting;
    struct transfer_table *transfers;
    struct transfer_patterns *patterns; /* [STREAM_COUNT_] */
    uint32_t job_number;
    struct group_shape tensor;        /* of this stage; ranks 1: none */
    struct group_shape context;       /* cp ranks: parts of the same sequences */
    struct group_shape expert;        /* ep ranks: they exchange tokens */
    struct group_shape expert_tensor; /* etp ranks: they share each expert's matrices; ranks 1:
                                       * nothing to gather or reduce */
    enum stream expert_tensor_stream; /* of its collectives: STREAM_TENSOR when these are the
                                       * tensor group, else STREAM_EXPERT_TENSOR */
    /* Over which dense parameters are sharded (mesh.shards ranks; all that hold them unless
     * HSDP; of DualPipe two stages' ranks): STREAM_DATA_GATHER and _REDUCE. Then, HSDP, the
     * ranks that hold the same shard: an all-reduce of it on STREAM_REPLICA_REDUCE. Without
     * sharding (zero 0) `data` are all and there are no replicas. */
    struct group_shape data;
    struct group_shape replica; /* ranks 1: none */
    /* The same of routed experts: STREAM_EXPERT_GATHER, _REDUCE, STREAM_EXPERT_REPLICA. */
    struct group_shape expert_data;
    struct group_shape expert_replica;
    /* ZeRO++: STREAM_LOCAL_GATHER and _REDUCE, STREAM_ACROSS_REDUCE. */
    struct group_shape local;
    struct group_shape across;
    struct group_shape embedding; /* ranks 1: not tied, or one stage (DualPipe: each) has both
                                   * ends of the model; see group_layout */
    struct group_shape scales; /* ranks 1: each has its own, or those of tensor parallelism agree */
    struct group_shape world;
    double checkpoint_bytes_per_rank;       /* written at the end; 0: none */
    bool is_copied_beside;                  /* no, from the beginning on, until parameters change */
    double flush_bytes_per_rank;            /* of an earlier checkpoint, beside the step; 0: none */
    double drain_bytes_per_rank;            /* of one before that, after the flush */
    const struct data_loading *fabric_data; /* read over the NICs; NULL: none is */
    int64_t wait_ns;                        /* of all at the end of the step, as stragglers' wait */
    bool takes_batches; /* a microbatch enters when its data is there: it meets its loader */
    /* [pp], filled by program_build; compute tasks then end with their action, which changes
     * their number and nothing else. NULL: not wanted. */
    struct program_actions *actions;
    bool counts_work;      /* actions get the amounts of tasks, too; not where actions are written
                            * once, whose copies nobody counts */
    int64_t *host_wait_ns; /* [pp], filled by program_build: what a GPU waits for launches in a
                            * step. NULL: not wanted */
};

/* The same step `steps` times, each after the one before. */
struct engine_program program_repeat(struct arena *arena, const struct engine_program *once,
                                     uint32_t steps);

/* Parameters that one rank of a stage owns the states of; and those that its GPU updates (the
 * host may update a share). */
double program_owned_parameters(const struct memory_split *split, uint32_t stage);
double program_updated_parameters(const struct memory_job *job, uint32_t stage);

/* One pass over the gradients of what a rank owns, for the norm; nothing where none is taken. */
struct work program_norm_work(const struct timing_runner *runner, const struct optimizer *optimizer,
                              double owned_parameters);

#endif
