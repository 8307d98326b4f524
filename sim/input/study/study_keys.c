/* What a scenario file may say of studies; study/expand, study/search/search_space and
 * study/policy/policy_space read it. */
#include "input/study/study_keys.h"

#include "base/arena.h"
#include "base/diag.h"

#include <string.h>

#define SCHEMA_OBJECT struct study_variant
#include "input/schema/rows.h"

static const struct schema_row variant_rows[] = {
    {TEXT("name", name, "What reports and plots call it."), .is_required = true},
    {NODE("set", set, "Its values of keys: {parallel.pp: 16, gpus: 1024}."),
     .note = "the scenario as it is"},
};
const struct schema study_variant_keys = SCHEMA_OF("variants", "variants.", variant_rows);

static const struct schema_row rows[] = {
    {ONLY_NODE("sweep", "Values of keys, each combination of which is a point of `stoker sweep`: "
                        "{batch.micro: [1, 2], parallel.pp: [4, 8]}.")},
    {ONLY_NODE("variants", "Scenarios beside each other, for `stoker compare`: "
                           "[{name: H200, set: {gpu: h200-sxm-141gb}}]."),
     .inner = &study_variant_keys},
    {ONLY_NODE("require", "What a point of `stoker sweep` or `stoker compare` must meet, by the "
                          "names of `stoker list metrics`: [days <= 60, cost_usd <= 2M USD, "
                          "gpus <= 512].")},

    {SECTION("search",
             "Which layouts `stoker search` looks through: for each key a list of values, "
             "a range as 1..8, or `all`, which also holds where nothing is said, but for those "
             "that stay as they are (cp_type to order, offload); or, of a layout that "
             "stays, which policies of the run.")},
    {SECTION("search.parallel", "How model and batch may be cut over the GPUs.")},
    {ONLY_NODE("search.parallel.tp", "GPUs that share each layer's matrices.")},
    {ONLY_NODE("search.parallel.cp", "GPUs that share each sequence.")},
    {ONLY_NODE("search.parallel.ep", "GPUs that share the experts of a layer.")},
    {ONLY_NODE("search.parallel.etp", "GPUs that share each expert; tp: as tp. Else tp and 1.")},
    {ONLY_NODE("search.parallel.pp", "Stages of the pipeline.")},
    {ONLY_NODE("search.parallel.virtual_stages",
               "Chunks of the model on each stage, of schedule interleaved.")},
    {ONLY_NODE("search.parallel.schedule", "The order of microbatches, by name.")},
    {ONLY_NODE("search.parallel.zero", "What replicas share out: 0 to 3.")},
    {ONLY_NODE("search.parallel.sequence_parallel",
               "Whether norms and dropout are cut along the sequence.")},
    {ONLY_NODE("search.parallel.cp_type", "How keys and values are exchanged; else as it is.")},
    {ONLY_NODE("search.parallel.layers_per_stage",
               "Layers of stages, even or balanced: the first and the last have so many that all "
               "have the same work, the loss included; else as it is.")},
    {ONLY_NODE("search.parallel.zero_group", "GPUs over which states are shared; else as it is.")},
    {ONLY_NODE("search.parallel.microbatch_group",
               "Microbatches that pass a chunk before the next has its turn; else as it is.")},
    {ONLY_NODE("search.parallel.reshard",
               "Until when FSDP keeps gathered weights; else as it is.")},
    {ONLY_NODE("search.parallel.overlap_experts",
               "Whether exchanges run beside another microbatch; else as it is.")},
    {ONLY_NODE("search.parallel.order",
               "Which ranks are neighbours: a list of orders, or all; else as it is.")},
    {SECTION("search.batch", "How a step's sequences may be cut.")},
    {ONLY_NODE("search.batch.micro", "Sequences of a microbatch.")},
    {ONLY_NODE("search.recompute",
               "What is computed again, as `recompute` takes it: [none, full, {layers: 1..8}, "
               "{modules: [norm]}].")},
    {SECTION("search.offload", "What may go to the host's memory; else what the scenario says.")},
    {ONLY_NODE("search.offload.optimizer", "Share of the optimizer's states.")},
    {ONLY_NODE("search.offload.activation_layers", "Layers of each stage.")},
    {SECTION("search.run", "Policies of a run with failures: all combinations of what is written, "
                           "tried with the same failures; keys that are not named stay.")},
    {SECTION("search.run.checkpoint", "How checkpoints may be written.")},
    {ONLY_NODE("search.run.checkpoint.every",
               "Between two: a list, or a range as 1 min..60 min, in which the best is found.")},
    {ONLY_NODE("search.run.checkpoint.mode", "Whether training waits: a list, or all.")},
    {ONLY_NODE("search.run.checkpoint.to", "Where they are written: a list, or all.")},
    {ONLY_NODE("search.run.checkpoint.drain_every",
               "How many on nodes' drives for one on the shared storage.")},
    {SECTION("search.run.recovery", "How the run may come back.")},
    {ONLY_NODE("search.run.recovery.spares", "Nodes that stand ready: numbers or shares.")},
    {ONLY_NODE("search.run.recovery.without_node",
               "Waiting or going on with less while spares lack: a list, or all.")},
    {ONLY_NODE("search.run.recovery.batch", "The batch of fewer replicas: a list, or all.")},
};
const struct schema study_schema = SCHEMA_OF("study", "", rows);

/* ---- search ---------------------------------------------------------------------------------- */

enum { PREFIX_LENGTH = sizeof "search." - 1, AXES_MAX = sizeof rows / sizeof *rows };

struct axes {
    const char *paths[AXES_MAX];
    uint32_t count;
};

static struct axes search_axes(void)
{
    struct axes axes = {.count = 0};
    for (uint32_t i = 0; i < AXES_MAX; i++) {
        if (rows[i].kind == SCHEMA_NODE && strncmp(rows[i].path, "search.", PREFIX_LENGTH) == 0) {
            axes.paths[axes.count++] = rows[i].path + PREFIX_LENGTH;
        }
    }
    return axes;
}

/* What may be computed again is a mapping of its own. */
static bool is_whole(const void *context, const char *path)
{
    (void)context;
    return strcmp(path, "recompute") == 0;
}

struct doc_leaves study_search_leaves(struct arena *arena, const struct doc_node *search)
{
    return doc_leaves_of(arena, search, is_whole, NULL);
}

static bool check_axis(struct arena *arena, const struct axes *axes, const struct doc_leaf *leaf,
                       struct diag *diag)
{
    const char *path = leaf->path;
    const char *list = "the axes are";
    for (uint32_t i = 0; i < axes->count; i++) {
        if (strcmp(axes->paths[i], path) == 0) {
            return true;
        }
        list = arena_printf(arena, "%s%s %s", list, i > 0 ? "," : "", axes->paths[i]);
    }
    diag_add(diag, DIAG_INPUT, &leaf->node->key_place, "'%s' is no axis of a search", path);
    diag_help_nearest(diag, diag_nearest(path, axes->paths, axes->count), list);
    return false;
}

bool study_check_search(struct arena *arena, const struct doc_node *search, struct diag *diag)
{
    const struct axes axes = search_axes();
    bool is_good = true;
    if (search == NULL || search->kind == DOC_NULL) {
        return true;
    }
    if (search->kind != DOC_MAPPING) {
        diag_add(diag, DIAG_INPUT, &search->place, "search needs keys with values");
        diag_help(diag, "write it like search: {batch.micro: [1, 2, 4]}");
        return false;
    }
    const struct doc_leaves leaves = study_search_leaves(arena, search);
    for (size_t i = 0; i < leaves.count; i++) {
        is_good = check_axis(arena, &axes, &leaves.items[i], diag) && is_good;
    }
    return is_good;
}
