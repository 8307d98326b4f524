/* What a scenario file may say of studies; study/expand and study/search/search_space read it. */
#include "input/study_keys.h"

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

    {SECTION("search",
             "Which layouts `stoker search` looks through: for each key a list of values, "
             "a range as 1..8, or `all`, which also holds where nothing is said, but for "
             "offload.")},
    {SECTION("search.parallel", "How model and batch may be cut over the GPUs.")},
    {ONLY_NODE("search.parallel.tp", "GPUs that share each layer's matrices.")},
    {ONLY_NODE("search.parallel.cp", "GPUs that share each sequence.")},
    {ONLY_NODE("search.parallel.ep", "GPUs that share the experts of a layer.")},
    {ONLY_NODE("search.parallel.pp", "Stages of the pipeline.")},
    {ONLY_NODE("search.parallel.virtual_stages",
               "Chunks of the model on each stage, of schedule interleaved.")},
    {ONLY_NODE("search.parallel.schedule", "The order of microbatches, by name.")},
    {ONLY_NODE("search.parallel.zero", "What replicas share out: 0 to 3.")},
    {ONLY_NODE("search.parallel.sequence_parallel",
               "Whether norms and dropout are cut along the sequence.")},
    {SECTION("search.batch", "How a step's sequences may be cut.")},
    {ONLY_NODE("search.batch.micro", "Sequences of a microbatch.")},
    {ONLY_NODE("search.recompute",
               "What is computed again, as `recompute` takes it: [none, full, {layers: 1..8}, "
               "{modules: [norm]}].")},
    {SECTION("search.offload", "What may go to the host's memory; else what the scenario says.")},
    {ONLY_NODE("search.offload.optimizer", "Share of the optimizer's states.")},
    {ONLY_NODE("search.offload.activation_layers", "Layers of each stage.")},
};
const struct schema study_schema = SCHEMA_OF("study", "", rows);
