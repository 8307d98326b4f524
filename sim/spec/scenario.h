/* A scenario: everything one prediction depends on, resolved and checked.
 *
 * scenario_resolve reads a scenario document, the catalogue files it names, and the
 * command line's --set assignments, in this order:
 *   1. the scenario file; --set without a dot in the path (model=..., gpus=...)
 *   2. models/llms/MODEL.yaml, topologies/CLUSTER.yaml, models/software/SOFTWARE.yaml,
 *      each found by name in the catalogue directories or by path
 *   3. --set with a dot (cluster.nics.bandwidth=..., batch.micro=...)
 *   4. models/gpus/GPU.yaml and models/libraries/LIBRARY.yaml as the cluster names them;
 *      --set gpu.x=..., --set library.x=...
 * The merged tree is the resolved document: same text, same prediction. It
 * has the keys of the scenario with model, cluster, software and gpu as whole
 * mappings; its canonical text is hashed into the run key.
 *
 * Checks that need only the scenario are made here (counts, sizes that must
 * divide, with the nearest choices that do): a plan never meets an impossible
 * size. Impossible sizes are DIAG_INFEASIBLE, malformed values DIAG_INPUT.
 *
 * model, cluster, software and gpu are names of catalogue files, paths (they
 * hold a '/' or end in .yaml; looked for beside the scenario file, then in the
 * current directory) or mappings written in place. A resolved document can be
 * resolved again and gives itself.
 *
 * The file's keys, with defaults (see spec/scenario.c, the one place for them):
 *
 *     scenario: Llama-3 405B on 16,384 H100     # title
 *     model: llama3-405b
 *     cluster: h100-roce-24k
 *     gpu: h100-sxm5-80gb                        # default: the cluster's
 *     gpus: 16384
 *     software: megatron-2024
 *     precision: bf16                            # fp32 | tf32 | fp16 | bf16
 *     parallel: {tp: 8, cp: 1, pp: 16, dp: auto, ep: 1, zero: 1, schedule: interleaved,
 *                virtual_stages: 8, sequence_parallel: true, layers_per_stage: [..]}
 *                                                # cp: ranks that share a sequence; ep: ranks
 *                                                # of the cp x dp plane that share experts
 *     batch: {global: 2048, micro: 1, sequence_length: 8192}   # global counts sequences
 *                                                # or global_tokens: 16M
 *     recompute: none                            # none | selective | full; selective: the
 *                                                # core of unfused attention, norms and
 *                                                # activation beside a fused one
 *     run: {tokens: 15.6T, checkpoint: {every: 30 min, mode: blocking}}
 *                                                # every: or "500 steps"; checkpoint: off
 *     data: {workers_per_gpu: 2, prefetch: 2, time_per_sample: 2 ms, bytes_per_token: 4 B}
 *                                                # or off, the default
 *     price: {gpu_hour: 2.00 USD, pue: 1.1}     # electricity: 0.08 USD/kWh where it is paid apart
 *     slow: [{rank: 4711, speed: 0.9}]
 *     library: nccl-2026                         # default: the cluster's
 *     collectives: {data: {algorithm: multi-rail-ring, protocol: Simple}}   # spec/collectives.h
 *     placement: packed                          # packed | spread | random (train/placement.h)
 *     jobs: [{scenario: other.yaml, placement: spread}]
 *                                                # others on the same fabric, beside this one
 *     seed: 42
 *     sweep: {...}  variants: [...]              # read by study/, ignored here
 */
#ifndef SPEC_SCENARIO_H
#define SPEC_SCENARIO_H

#include "spec/catalogue.h"
#include "spec/cluster.h"
#include "spec/collectives.h"
#include "spec/library.h"
#include "spec/model.h"
#include "spec/software.h"

#define SCENARIO_GPUS_MAX 1000000
#define SCENARIO_LIBRARY_DEFAULT "nccl-2026"

enum schedule_kind { SCHEDULE_GPIPE, SCHEDULE_1F1B, SCHEDULE_INTERLEAVED, SCHEDULE_COUNT_ };
extern const char *const schedule_names[SCHEDULE_COUNT_];

enum recompute_kind { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL, RECOMPUTE_COUNT_ };
extern const char *const recompute_names[RECOMPUTE_COUNT_];

enum placement_kind { PLACEMENT_PACKED, PLACEMENT_SPREAD, PLACEMENT_RANDOM, PLACEMENT_COUNT_ };
extern const char *const placement_names[PLACEMENT_COUNT_];

enum checkpoint_mode { CHECKPOINT_BLOCKING, CHECKPOINT_ASYNC };

struct parallel {
    int64_t tp, cp, pp, dp; /* tp * cp * pp * dp == gpus */
    int64_t ep;             /* divides cp * dp and the experts */
    int64_t zero;           /* 0: all-reduce; 1: sharded optimizer; 2; 3: FSDP */
    uint32_t schedule;      /* enum schedule_kind */
    int64_t virtual_stages; /* chunks per stage; 1 unless interleaved */
    bool is_sequence_parallel;
    /* pp * virtual_stages counts, in model order: chunk c of stage s is [c * pp + s] */
    int64_t *layers_per_chunk;
    struct place place;
};

struct batch {
    int64_t global;          /* sequences per step */
    int64_t micro;           /* sequences per microbatch */
    int64_t sequence_length; /* tokens */
    int64_t microbatches;    /* per pipeline and step: global / (dp * micro) */
    struct place place;
};

struct checkpoint {
    bool is_enabled;
    double every_s;      /* 0 when given in steps */
    int64_t every_steps; /* 0 when given as a duration */
    uint32_t mode;       /* enum checkpoint_mode */
};

struct data_loading {
    bool is_enabled;
    int64_t workers_per_gpu;
    int64_t prefetch;         /* batches ahead per worker */
    double time_per_sample_s; /* one worker, one sequence */
    double bytes_per_token;   /* read from storage */
};

struct price {
    double gpu_hour_usd;
    double electricity_usd_per_kwh;
    double pue; /* facility power over IT power */
};

struct slow_rank {
    int64_t rank;
    double speed; /* 0 < speed <= 1 */
};

struct scenario {
    const char *title;
    const char *file;
    struct model model;
    struct cluster cluster;
    struct gpu gpu;
    struct software software;
    int64_t gpus;
    int64_t nodes;
    uint32_t precision; /* enum precision */
    struct parallel parallel;
    struct batch batch;
    uint32_t recompute; /* enum recompute_kind */
    double run_tokens;  /* 0: no run asked for, only the step */
    struct checkpoint checkpoint;
    struct data_loading data;
    struct price price;
    struct slow_rank *slow; /* by rank, each once */
    int64_t slow_count;
    struct library library;
    struct collective_choice collectives[COLLECTIVE_USER_COUNT_];
    uint32_t placement;           /* enum placement_kind */
    struct scenario **neighbours; /* jobs on the same fabric; their cluster is this one's */
    uint32_t neighbour_count;
    int64_t seed;
    struct assumptions assumptions;
    const struct doc_node *document; /* resolved */
    const char *resolved_text;       /* canonical; without sweep, variants, note */
};

/* The document of a scenario before it is resolved (a sweep sets keys in copies). */
MUST_USE struct doc_node *scenario_load_document(struct arena *arena, const char *path,
                                                 struct diag *diag);

/* Resolves a document: see above. `sets` are "path=value" texts. NULL on
 * error; what lies in `arena` then may be dropped. */
MUST_USE struct scenario *scenario_resolve(struct arena *arena, const struct doc_node *document,
                                           const struct catalogue *catalogue,
                                           const char *const *sets, uint32_t set_count,
                                           struct diag *diag);

#endif
