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
 *        of a house's defaults                                       study/house_file.c
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
 * Plain data, which scenario_load fills; parts have headers of their own (job/parallel.h ...), and
 * who needs one part includes that. The keys of the file, with what they mean, their bounds and
 * their defaults, are the table of input/scenario_keys.c:
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
#include "input/cluster.h"
#include "input/collectives.h"
#include "input/data/data_loading.h"
#include "input/failures/recovery.h"
#include "input/failures/replaced_nodes.h"
#include "input/features/layout_words.h"
#include "input/job/batch.h"
#include "input/job/checkpoint.h"
#include "input/job/lora.h"
#include "input/job/optimizer.h"
#include "input/job/parallel.h"
#include "input/job/price.h"
#include "input/job/token_routing.h"
#include "input/library.h"
#include "input/model.h"
#include "input/recipe.h"
#include "input/run/run_plan.h"
#include "input/slow_ranks.h"
#include "input/software.h"
#include "input/study/anchor.h"
#include "input/study/box.h"
#include "input/study/house.h"
#include "input/study/ideal.h"

/* What the job may draw; 0: not said. One of both. A GPU's share of the site's is what is left to
 * it when all compute: (site / pue - nodes * host power) / GPUs. */
struct power_cap {
    double gpu_w;
    double site_w; /* of all GPUs and nodes of the job, with the facility's part */
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
    struct house house;   /* likewise */
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
