/* A house's defaults: what all its scenarios have in common, in one file that they inherit: prices,
 * fabric, failures, storage, the margin of memory.
 *
 *     defaults: our-house               # its name; without it, that of the file
 *     source: contract of March 2026    # provenance: assumed puts all of it among assumptions
 *     price: {gpu_hour: 2.10 USD, electricity: 0.09 USD/kWh}
 *     run: {failures: ./ours.yaml, checkpoint: {every: 30 min}}
 *     cluster.network: 400 Gbps         # keys of cluster, gpu, software and library, too
 *     for:                              # with this GPU or cluster alone, over what stands above
 *       b200-sxm: {price.gpu_hour: 3.40 USD}
 *
 * A scenario names it (`defaults: house.yaml`); for those that do not, the environment does
 * (STOKER_DEFAULTS), which `defaults: none` refuses, and which means nothing to a resolved
 * document: that has all that holds in it. A path is looked for beside the file that names it.
 *
 * It goes before the files of the catalogue that the scenario names (cluster, GPU, software,
 * library) and behind all else: the scenario's own keys, its recipe, its box and --set. A key is
 * stated as for a recipe (input/study/stated). `run.failures: true` and `run.spot: true` mean the
 * house's, where it has such. Of two keys that exclude each other (price.own.gpu and .node,
 * power_cap.gpu and .site) the house's gives way to the scenario's.
 *
 * Any key of a scenario may stand there but those that make the job (model, GPUs, layout, batch,
 * precision ...) or the study (sweep, variants ...). Nodes that it puts have the places of its
 * file, so that what is wrong with them is told there.
 *
 * Resolved, only what it is called is left of it and, under `gives`, the keys that hold by it with
 * their values: what it set has been set.
 */
#ifndef INPUT_STUDY_HOUSE_H
#define INPUT_STUDY_HOUSE_H

#include "input/schema/schema.h"

/* The word for no house; and the key, of a resolved one, of what it gives. */
#define HOUSE_NONE "none"
#define HOUSE_GIVES "gives"

struct house_value {
    const char *key;    /* its whole path */
    const char *value;  /* as written, on a line */
    struct place place; /* in the house's file; of a stored scenario in that */
};

struct house {
    const char *name; /* NULL: none */
    const char *title;
    struct house_value *values; /* that hold by it */
    uint32_t value_count;
};

/* Its own keys; the object is a struct house. */
extern const struct schema house_keys;

/* Of what house_applied gave (input/study/house_file), or HOUSE_NONE. */
MUST_USE bool house_read(const struct doc_node *node, struct house *house,
                         struct assumptions *assumptions, struct diag *diag);

/* Whether one of the values that hold is below this key. */
bool house_says(const struct house *house, const char *key);

#endif
