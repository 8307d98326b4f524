/* Memory of one GPU: by kind, over the step, and whether it fits.
 *
 * States: bytes per parameter of the recipe (16-bit weights, gradients, fp32 master weights and
 * two moments: 18 in Megatron, 16 in the ZeRO paper), sharded by ZeRO stage over the ranks of
 * parallel.zero_group that hold the same parameters (Rajbhandari et al. 2020, arXiv 1910.02054,
 * section 5). Frozen weights (LoRA) have no gradient and no states. Gradients are sharded only
 * where each microbatch's are reduced (memory_shards_gradients): in a pipeline they stay whole,
 * whatever the stage.
 *
 * Activations: what a layer keeps is a table of tensors (memory_layer). Over the step they
 * come and go with the actions of the stage's order: a forward allocates, the backward of input
 * gradients frees, and what only weight gradients read goes with these. On top lies what the
 * running action needs: recomputed tensors, gradients of the running layer; and what the loss has
 * of logits and copies of them (plan/loss). The peak is the largest sum over all actions
 * (memory_live); the update, which has no activations, is not larger.
 *
 * Beside tensors: gathered parameters (FSDP) and buckets, NCCL's buffers of each group, the CUDA
 * context, and what the caching allocator reserves beyond what is allocated. These are
 * constants of the software profile, with their sources.
 *
 * Dense parameters are shared by cp * dp ranks, those of routed experts, of which a GPU has
 * one of ep parts and a share of etp, by tp * cp * dp / (ep * etp).
 *
 * ASSUMES: with DualPipe, where each piece is on two stages, each keeps its own states.
 * ASSUMES: of LoRA's dropout (lora.dropout) nothing is kept but its result, in the input's place;
 * the mask, a bit or a byte of each value, is left out.
 */
#ifndef PLAN_MEMORY_MEMORY_H
#define PLAN_MEMORY_MEMORY_H

#include "base/ledger.h"
#include "input/model.h"
#include "plan/memory/memory_job.h"
#include "plan/memory/memory_use.h"

#include <stddef.h>

/* What is kept of one parameter. */
struct memory_state {
    double weights, gradients, optimizer; /* bytes */
};

/* 2 + gradients + master + 2 moments with 16-bit weights; fp32 and tf32 have no master. */
struct memory_state memory_state_whole(enum precision precision, const struct optimizer *optimizer);

/* Bytes by which the optimizer's states of a stage's GPU, had it them alone, are less than so much
 * of every parameter that is trained: of matrices that have a rule of their own. */
struct memory_layer_parameters memory_stage_less(const struct memory_job *job, int64_t stage);

/* The same on each of `ranks`: ZeRO 1 shards the optimizer, 2 the gradients too, 3 everything. */
struct memory_state memory_state_sharded(const struct memory_state *whole, int64_t zero,
                                         int64_t ranks);

/* Whether the sum of gradients over microbatches is kept in shards: ZeRO 2 and 3, which then
 * reduce each microbatch's (DeepSpeed, stage_1_and_2.py, reduce_ready_partitions_and_remove_grads;
 * FSDP without no_sync). In a pipeline gradients are summed whole and reduced with the last
 * microbatch (PyTorch, pipelining/stage.py, backward_maybe_with_nosync; Megatron-LM, schedules.py,
 * enable_grad_sync for a chunk's last microbatch). ASSUMES: so with one microbatch, too. */
bool memory_shards_gradients(const struct parallel *parallel, const struct software *software);

/* Whether whole gradients of a piece of the model live only from its first backward pass to its
 * last, which reduces them to shards (software.memory.frees_gradients; PyTorch's FSDP, whose
 * unsharded_accumulated_grad is of a parameter, not of a buffer: _fsdp_param.py). */
bool memory_frees_gradients(const struct parallel *parallel, const struct software *software);

/* Use of a GPU of pipeline stage `stage` (0-based) when it is fullest. */
struct memory_use memory_of_stage(const struct memory_job *job, int64_t stage);
/* The same without activations: of no microbatch. */
struct memory_use memory_of_states(const struct memory_job *job, int64_t stage);
/* The same, recorded; `ledger` may be NULL. */
struct memory_use memory_count(const struct memory_job *job, int64_t stage, struct ledger *ledger);

/* Activation bytes that one layer and one microbatch keep on one GPU between forward and
 * backward, under the job's recomputation. Of the last layer of the decoder. */
double memory_layer_activation_bytes(const struct memory_job *job);

/* Of what the activations of a stage are the sum, and what comes on top. */
struct memory_activations {
    int64_t layers_in_flight; /* most at one time, over the microbatches that are */
    double layer_bytes;       /* memory_layer_activation_bytes */
    double kept_bytes;        /* of layers, at the peak */
    double embedding_bytes;   /* dropout masks */
    double head_bytes;        /* of the final norm */
    double loss_bytes;        /* no part of activations */
    double recomputed_bytes;  /* part of temporaries: of the one layer that goes backward */
    double working_bytes;     /* its gradients and gathered inputs */
};
struct memory_activations memory_activations_of_stage(const struct memory_job *job, int64_t stage);

/* A tensor that the backward pass of a layer needs:
 * count * element_bytes * width / parts bytes a token. */
struct memory_tensor {
    const char *what; /* static text */
    int64_t count;
    int64_t kept; /* of count; the rest is computed again */
    double element_bytes;
    double width;
    double parts; /* tp, or 1 */
    double bytes; /* of a microbatch */
    bool is_kept;
};

/* Those of a kind of layer; of one that is recomputed whole (`is_full`) none of them is kept (but
 * the layer's input). At most MEMORY_TENSORS_MAX; returns how many. */
#define MEMORY_TENSORS_MAX 128
uint32_t memory_layer_tensors(const struct memory_shape *shape, const struct layer_kind *kind,
                              bool is_full, struct memory_tensor *tensors);

/* Parameters of one GPU of a stage before sharding over data parallelism. */
double memory_stage_parameters(const struct memory_split *split, int64_t stage);
/* The same, recorded; `ledger` may be NULL. */
double memory_count_parameters(const struct memory_split *split, int64_t stage,
                               struct ledger *ledger);

/* Of these, of routed experts. */
double memory_stage_expert_parameters(const struct memory_split *split, int64_t stage);

/* Of the dense ones and of the experts', those that have a gradient: all, or LoRA's matrices,
 * which come on top of the frozen ones. */
struct memory_layer_parameters {
    double dense;
    double experts; /* 0: of a dense layer */
};
struct memory_layer_parameters memory_stage_trained(const struct memory_split *split,
                                                    int64_t stage);

/* Parameters of one layer on one GPU before sharding over data parallelism: those that every
 * expert rank holds, and those of its experts. */
struct memory_layer_parameters memory_layer_parameters(const struct memory_split *split,
                                                       const struct layer_kind *kind);

/* LoRA's own, of one layer on one GPU; 0 without. */
struct memory_layer_parameters memory_layer_lora(const struct memory_split *split,
                                                 const struct layer_kind *kind);

/* How many ranks hold the same parameter, under data parallelism: cp * dp of dense ones, of
 * experts tp * cp * dp / (ep * etp). */
int64_t memory_dense_ranks(const struct parallel *parallel);
int64_t memory_expert_ranks(const struct parallel *parallel);

/* Over how many of these the states are sharded (parallel.zero_group). */
int64_t memory_dense_shards(const struct parallel *parallel);
int64_t memory_expert_shards(const struct parallel *parallel);

/* Groups of more than one rank that a GPU communicates in; each has buffers. */
int64_t memory_communicators(const struct model *model, const struct parallel *parallel);

/* What a checkpoint has of a parameter: weights, master weights and moments once each; FSDP that
 * trains its master's shard (software.memory.weights_beside_master: false) has no other weights,
 * and none are saved of one that saves its master alone (checkpoint.weights_beside_master). */
struct memory_state memory_state_saved(const struct memory_job *job);
/* Bytes that all ranks together write into a checkpoint. */
double memory_checkpoint_bytes(const struct memory_job *job, struct ledger *ledger);

/* The stage that needs most, the first of equals. What is offloaded and who loads data must fit
 * the host, too. */
struct memory_verdict memory_check(const struct scenario *scenario);

/* Whether memory_check would find that it fits; looks at `stage` first, where it lacks most likely,
 * and at no other if that does not fit. */
bool memory_fits(const struct scenario *scenario, int64_t stage);

/* "stage 0 needs 92.1 GB of 80 GB, the largest part activations (61.2 GB); fits with
 * micro 1 or recompute full": what is largest, and the single changes (GPUs and global batch
 * kept) that would fit; or how much a host lacks for what is offloaded and who loads data.
 * Written to `text`; "" when the verdict is that it fits. */
void memory_explain(const struct scenario *scenario, const struct memory_verdict *verdict,
                    char *text, size_t text_bytes);

#endif
