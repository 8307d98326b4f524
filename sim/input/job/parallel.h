/* How a job is laid over its GPUs, and what it computes again: `parallel`, `recompute` and
 * `placement` of a scenario. feasible.h says what must divide, layout.h which stage has which
 * layers. */
#ifndef INPUT_JOB_PARALLEL_H
#define INPUT_JOB_PARALLEL_H

#include "input/doc/doc.h"

#include <stdbool.h>
#include <stdint.h>

struct schedule_file;

#define SCENARIO_GPUS_MAX 1000000

enum recompute_kind { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL, RECOMPUTE_COUNT_ };
extern const char *const recompute_names[RECOMPUTE_COUNT_];

struct recompute {
    uint32_t kind;    /* enum recompute_kind; SELECTIVE: `modules` say what */
    uint32_t modules; /* bits 1 << enum recompute_module; of SELECTIVE without a list: the core
                       * of unfused attention, norms and activation beside a fused one */
    int64_t layers;   /* FULL: the first so many of each chunk, block-wise; 0: all */
};

/* FSDP (zero 3): until when gathered parameters are kept. */
enum reshard_kind {
    RESHARD_FORWARD,  /* after-forward: gathered again for the backward pass */
    RESHARD_BACKWARD, /* after-backward: kept from forward to backward of a microbatch */
    RESHARD_STEP,     /* after-step: gathered once a step */
    RESHARD_COUNT_
};
extern const char *const reshard_names[RESHARD_COUNT_];

/* Dimensions of the mesh, for `order`. */
enum parallel_axis { AXIS_TP, AXIS_CP, AXIS_EP, AXIS_DP, AXIS_PP, AXIS_COUNT_ };
extern const char *const parallel_axis_names[AXIS_COUNT_];

enum placement_kind { PLACEMENT_PACKED, PLACEMENT_SPREAD, PLACEMENT_RANDOM, PLACEMENT_COUNT_ };
extern const char *const placement_names[PLACEMENT_COUNT_];

struct parallel {
    int64_t tp, cp, pp, dp;     /* tp * cp * pp * dp == gpus */
    int64_t ep;                 /* ep * etp divides tp * cp * dp; ep divides the experts */
    int64_t etp;                /* ranks that share each expert's matrices; default tp */
    int64_t zero;               /* 0: all-reduce; 1: sharded optimizer; 2; 3: FSDP */
    int64_t zero_group;         /* ranks over which states are sharded, of the cp * dp that hold the
                             * same; divides them; default all. Less: HSDP */
    bool has_quantized_weights; /* ZeRO++, zero 3 only: gathered in int8 */
    bool has_local_weights;     /* a second copy of the weights in each local group */
    bool has_quantized_gradients; /* reduced in int4, in two steps: locally, then across */
    int64_t zero_local_group;   /* ranks of those groups: consecutive ones, which divide dp; default
                             * a node's. Without the last two: 0 */
    uint32_t reshard;           /* enum reshard_kind; zero 3 only */
    int64_t deferred_heads;     /* microbatches whose head's weight gradient comes last */
    uint32_t context;           /* enum context_kind; cp > 1 only */
    uint8_t order[AXIS_COUNT_]; /* enum parallel_axis, the fastest first */
    uint32_t schedule;          /* enum schedule_kind */
    const struct schedule_file *schedule_file; /* of SCHEDULE_FILE; else NULL */
    int64_t virtual_stages;   /* chunks per stage: interleaved >= 2; zb-v, dualpipe, dualpipev 2 */
    int64_t microbatch_group; /* interleaved: microbatches that pass a chunk before the next one's
                               * turn; default pp. Else 0 */
    int64_t first_stage_layers; /* 0 where it is not written, or is 0 */
    int64_t last_stage_layers;
    bool has_embedding_slot; /* the embedding counts as a layer when layers are spread */
    bool has_loss_slot;
    bool is_sequence_parallel;
    bool overlaps_experts; /* the exchange of one microbatch beside the compute of another:
                             * forwards are paired with backwards (1f1b, interleaved) */
    /* layout_pieces() counts, in model order; which chunk of which stage holds a piece says
     * layout_piece (input/layout.h) */
    int64_t *layers_per_chunk;
    struct place place;
};

#endif
