/* The room input: from what people write to structs that can be relied on.
 *
 * Invariant: What comes out of here is whole: each value has its unit and bounds, a place
 * (file:line:col) to complain of and a provenance, and all sizes divide. What can still be wrong
 * with a scenario is that it does not fit into memory; anything else is a bug of ours. A key is
 * one row of a schema, and has no default, sentence or bound beside it.
 *
 * Lives here: trees with places (doc), rows of keys (schema), models, GPUs, clusters, software,
 * libraries, recipes, the scenario, other people's formats as text (formats).
 * May come in: base.
 *
 * Decided in one place each:
 *     which keys there are, with unit, bounds, default and sentence  scenario_keys.c
 *        and of other files: their readers, by rows as               schema/rows.h
 *     which value holds, of file, catalogue, recipe and --set        resolve.c
 *        of a recipe                                                 recipe.c
 *     what a file held, and whether there was one, for all points    doc/doc_files.c
 *     what must divide, and what would                               feasible.c
 *     what a layout is that no file says                             relayout.c
 *     which keys of a layout may be `auto`                           study/auto_keys.c
 *     whether a title still names what there is                      study/title.h
 *     what an ideal resource is                                      study/ideal.c
 *     what a run has of stages, pauses and maintenance               run/run_plan.c
 *     when nodes on spot go, and what a job does before              failures/spot.c
 *     what power leaves of a GPU's peak                              gpu.c
 *     what a site draws beside its GPUs                              network/site_power.c
 */

/* A scenario: everything one prediction depends on, resolved and checked.
 *
 * Plain data and the words of its choices; scenario_load fills it. The keys of the file, with
 * what they mean, their bounds and their defaults, are the table of input/scenario_keys.c:
 *
 *     scenario: Llama-3 405B on 16,384 H100
 *     model: llama3-405b
 *     cluster: h100-roce-24k
 *     gpus: 16384
 *     parallel: {tp: 8, pp: 16, schedule: interleaved, virtual_stages: 8}
 *     batch: {global: 2048, micro: 1, sequence_length: 8192}
 *     run: {tokens: 15.6T, checkpoint: {every: 30 min}}
 *     sweep: {...}  variants: [...]              # read by study/, ignored here
 */
#ifndef INPUT_SCENARIO_H
#define INPUT_SCENARIO_H

#include "input/catalogue.h"
#include "input/study/box.h"
#include "input/cluster.h"
#include "input/collectives.h"
#include "input/features/layout_words.h"
#include "input/library.h"
#include "input/model.h"
#include "input/recipe.h"
#include "input/run/run_plan.h"
#include "input/failures/recovery.h"
#include "input/failures/replaced_nodes.h"
#include "input/software.h"
#include "input/study/anchor.h"
#include "input/study/ideal.h"

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

enum checkpoint_mode { CHECKPOINT_BLOCKING, CHECKPOINT_ASYNC, CHECKPOINT_MODE_COUNT_ };
/* Where a checkpoint is written first (hw/checkpoint_place). */
enum checkpoint_target {
    CHECKPOINT_SHARED,
    CHECKPOINT_LOCAL,
    CHECKPOINT_MEMORY,
    CHECKPOINT_PEER,
    CHECKPOINT_TARGET_COUNT_
};
extern const char *const checkpoint_mode_names[CHECKPOINT_MODE_COUNT_];
extern const char *const checkpoint_target_names[CHECKPOINT_TARGET_COUNT_];

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

/* Documents may be packed into sequences, each attending within itself. The document of a token
 * taken at random is longer than their mean, since long ones have more tokens:
 *
 *     sum L^2 / sum L = document_length * (1 + document_spread^2), at most the sequence
 *
 * and a causal mask leaves half of that many keys, whatever the lengths: sum L^2 / 2 over sum L.
 * ASSUMES: packed documents weigh on attention by these two moments alone: tiles that a document's
 * end cuts, ranks with longer ones and windows that reach beyond short ones are left out, and
 * unfused attention multiplies the whole sequence. */
struct batch {
    int64_t global;          /* sequences per step */
    int64_t micro;           /* sequences per microbatch */
    int64_t sequence_length; /* tokens */
    int64_t document_length; /* mean of those packed into a sequence; 0: each is one document */
    double document_spread;  /* of their lengths: standard deviation over mean */
    int64_t microbatches;    /* per pipeline and step: global / (dp * micro) */
    struct place place;
};

/* What is kept of a parameter, and what the optimizer does. */
enum state_format {
    STATE_NONE,
    STATE_FP32,
    STATE_BF16,
    STATE_FP16,
    STATE_FP8,
    STATE_INT8,
    STATE_COUNT_
};
extern const char *const state_names[STATE_COUNT_];
/* Bytes of a value; int8 has one fp32 scale for each block of 2048 (bitsandbytes). */
double state_bytes(enum state_format format);

/* How many moments it keeps of a parameter: two, one (momentum), none. */
enum optimizer_rule { OPTIMIZER_ADAM, OPTIMIZER_MOMENTUM, OPTIMIZER_SGD, OPTIMIZER_RULE_COUNT_ };
extern const char *const optimizer_rule_names[OPTIMIZER_RULE_COUNT_];

struct optimizer {
    uint32_t gradients; /* enum state_format: accumulated and reduced in; default: the software's */
    uint32_t master;    /* enum state_format; default fp32; none with fp32 training */
    uint32_t moments;   /* enum state_format, of each; default fp32 */
    bool clips;         /* gradient norm over all ranks, then scaling */
    uint32_t rule;      /* enum optimizer_rule; default adam */
};

/* Of all moments of a parameter together. */
double optimizer_moment_bytes(const struct optimizer *optimizer);

struct offload {
    double optimizer;          /* share of the optimizer's states, and its update, on the host */
    int64_t activation_layers; /* of each stage, whose activations go to the host and back */
};

/* How tokens spread over experts. */
enum token_routing { ROUTING_EVEN, ROUTING_LOGNORMAL, ROUTING_COUNT_ };
extern const char *const token_routing_names[ROUTING_COUNT_];

struct routing {
    uint32_t kind;             /* enum token_routing, of the experts' popularity */
    double spread;             /* lognormal: its sigma */
    double capacity_factor;    /* 0: dropless; else rows of each expert are cut and padded to this
                             * multiple of the mean */
    int64_t redundant_experts; /* copies of the busiest, as EPLB places them; ep divides the sum */
};

/* Matrices beside which LoRA puts its two small ones; all others are frozen too. */
enum lora_target { LORA_QKV, LORA_PROJECTION, LORA_FC1, LORA_FC2, LORA_TARGET_COUNT_ };
extern const char *const lora_target_names[LORA_TARGET_COUNT_];

struct lora {
    bool is_enabled;
    int64_t rank;     /* 0: every weight is trained */
    uint32_t targets; /* bits 1 << enum lora_target */
    double dropout;   /* 0..1: of what an adapter reads */
};

struct checkpoint {
    bool is_enabled;
    double every_s;      /* 0 when given in steps */
    int64_t every_steps; /* 0 when given as a duration */
    uint32_t mode;       /* enum checkpoint_mode */
    uint32_t target;     /* enum checkpoint_target */
    int64_t keep;        /* on the shared storage; 0: all of the run */
    int64_t peer_every;  /* of those in hosts' memory goes on to a peer's, too; 0: none */
    int64_t drain_every; /* of those that lie elsewhere goes on to the file system; 0: each, of
                          * those that went to peers */
};

enum data_source { DATA_SHARED, DATA_LOCAL, DATA_SOURCE_COUNT_ };
enum data_law { DATA_EQUAL, DATA_LOGNORMAL, DATA_EXPONENTIAL, DATA_LAW_COUNT_ };

struct data_loading {
    bool is_enabled;
    int64_t workers_per_gpu;
    int64_t prefetch;               /* batches ahead per worker */
    double time_per_sample_s;       /* one worker, one sequence */
    double bytes_per_token;         /* read from storage */
    double memory_per_worker_bytes; /* of the host, without its queue */
    uint32_t source;                /* enum data_source */
    double requests;                /* to the storage, for a sequence */
    uint32_t law;                   /* enum data_law: of samples' sizes */
    double spread;                  /* lognormal: standard deviation of the logarithm */
    int64_t samples_per_sequence;   /* packed into one; 1: each is padded */
    double tokens;                  /* of the data set; 0: none is read twice */
    double page_cache_bytes;        /* of a node: what was read there, and stays */
    bool keeps_workers;             /* from epoch to epoch */
    double worker_start_s;
    int64_t shuffle_buffer; /* sequences of each worker */
};

/* How the GPUs of a run are paid, and what its energy costs and emits; run/money says what that
 * comes to. All terms may be written down together, so that a study compares them by `terms`
 * alone. Money is in USD: another currency is refused, a rate of exchange would be a guess. */
enum price_terms { TERMS_RENT, TERMS_RESERVED, TERMS_SPOT, TERMS_OWN, TERMS_COUNT_ };
extern const char *const price_terms_names[TERMS_COUNT_];

/* Whose the GPUs are that the job's placement leaves idle (run/holding). */
enum price_idle { IDLE_PAID, IDLE_NOT, IDLE_COUNT_ };
extern const char *const price_idle_names[IDLE_COUNT_];

/* Of one GPU that is bought: its share of the node included. */
struct ownership {
    bool is_told;
    double gpu_usd;  /* 0 or ABSENT: told by the node */
    double node_usd; /* 0: told by the GPU */
    double life_s;
    double residual;              /* 0..1, of the capital: what it is sold for in the end */
    double interest;              /* a year, of the capital that is still tied up */
    double hosting_usd_per_month; /* of a GPU: space, hands, cooling plant; no electricity */
    double electricity_usd_per_kwh;
    double network, storage; /* more capital, as shares of the GPU's */
    double spares;           /* more GPUs than are used, as a share of these */
    double utilisation;      /* 0..1, of its life: in which it works for somebody */
};

struct price {
    double gpu_hour_usd;      /* of rent; ABSENT: neither the scenario nor the GPU has a price */
    uint32_t terms;           /* enum price_terms */
    double reserved_discount; /* 0..1, of the rent */
    double reserved_term_s;   /* that is paid at least */
    double spot_gpu_hour_usd;
    uint32_t idle;              /* enum price_idle */
    double spares, cold_spares; /* of a spare node's hour, as a share of one that works */
    struct ownership own;
    double electricity_usd_per_kwh;
    double storage_usd_per_gb_month; /* of the shared storage that checkpoints ask for */
    double moved_usd_per_tb;         /* of checkpoints, to the shared storage */
    double pue;                      /* facility power over IT power */
    double carbon_kg_per_kwh;        /* ABSENT: nobody said */
};

/* What the job may draw; 0: not said. One of both. A GPU's share of the site's is what is left to
 * it when all compute: (site / pue - nodes * host power) / GPUs. */
struct power_cap {
    double gpu_w;
    double site_w; /* of all GPUs and nodes of the job, with the facility's part */
};

/* What a GPU has as a share of the others', each 0 < share <= 1. */
struct slow_rank {
    int64_t rank;
    double speed;
    double nic;      /* bandwidth of its NIC port, both ways */
    double scale_up; /* of its scale-up port */
};

struct scenario {
    const char *title;
    const char *file;
    struct model model;
    struct cluster cluster;
    struct gpu gpu;
    struct software software;
    struct recipe recipe; /* what it says is in the document already */
    struct box box;       /* likewise; without a name: none */
    bool says_features; /* a recipe, or keys of software: what was on, beyond the profile's name */
    int64_t gpus;
    int64_t nodes;
    uint32_t precision; /* enum precision */
    struct parallel parallel;
    struct batch batch;
    struct recompute recompute;
    struct optimizer optimizer;
    struct offload offload;
    struct loss_way loss;
    struct routing routing;
    struct lora lora;
    double run_tokens; /* 0: no run asked for, only the step */
    double startup_s;  /* of the job, before its first step */
    double teardown_s; /* after its last */
    struct run_plan plan;
    struct checkpoint checkpoint;
    double step_time_s; /* of a measured step, in the place of ours; 0: none */
    struct failures failures;
    struct spot_plan spot;
    struct recovery recovery;
    struct repetition_plan repetitions;
    struct data_loading data;
    struct price price;
    double memory_margin;       /* of a GPU's memory: what a layout that is chosen leaves free */
    struct power_cap power_cap; /* in effect: gpu.power_cap_w */
    struct slow_rank *slow;     /* by rank, each once */
    int64_t slow_count;
    struct anchor anchor;
    struct ideal ideal; /* in effect: all of the above and below has been changed by it */
    struct library library;
    struct collective_choice collectives[COLLECTIVE_USER_COUNT_];
    uint32_t placement;             /* enum placement_kind */
    struct replaced_node *replaced; /* none twice */
    int64_t replaced_count;
    struct scenario **neighbours; /* jobs on the same fabric; their cluster is this one's */
    uint32_t neighbour_count;
    int64_t seed;
    struct assumptions assumptions;
    const struct doc_node *document; /* resolved */
    const char *resolved_text;       /* canonical; without sweep, variants, note */
};

#endif
