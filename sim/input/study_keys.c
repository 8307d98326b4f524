/* What a scenario file may say of studies; study/expand reads it. */
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
};
const struct schema study_schema = SCHEMA_OF("study", "", rows);
