/* The tables of columns and axes; masks are made of their words when they are asked for. */
#include "bands/axes.h"

#include "base/check.h"

#include <string.h>

#define LENGTH(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

const char *const axis_columns[] = {
    /* the work */
    "model_name", "layers", "hidden", "heads", "vocab", "experts", "seq_len",
    /* what may be chosen */
    "precision", "fp8_recipe", "tp", "sequence_parallel", "pp", "pp_schedule", "virtual_pp", "cp",
    "ep", "zero_stage", "zero_group", "async_tp", "torch_compile", "overlapped_optimizer",
    "cuda_graph", "moe_dispatcher", "token_drop", "flash_attention", "cpu_offload",
    "offload_layers", "micro_batch", "micro_num", "global_batch_sequences", "recompute",
    "full_recompute_layers", "optimizer", "gpus", "gpus_per_node", "inter_node_gbps_per_node",
    "gpu", "framework", "framework_year", "release",
    /* what follows */
    "dp"};
const uint32_t axis_column_count = LENGTH(axis_columns);
_Static_assert(LENGTH(axis_columns) < AXIS_COLUMNS_MAX, "a set of them, and one more, is 64 bits");

#define LAYOUT "tp sequence_parallel pp pp_schedule virtual_pp cp ep zero_stage zero_group"
#define FOLLOWS_ALWAYS "dp"

static const struct axis_row {
    const char *name, *defining, *follows;
    enum axis_condition condition;
    bool is_apart;
} axis_rows[] = {
    {"gpu kind", "gpu",
     "gpus_per_node inter_node_gbps_per_node gpus global_batch_sequences micro_batch fp8_recipe "
     "recompute full_recompute_layers cuda_graph moe_dispatcher cpu_offload offload_layers " LAYOUT,
     AXIS_LIKE_SIZES, false},
    {"precision", "precision", "fp8_recipe micro_batch", AXIS_ANY, false},
    {"fp8 recipe", "fp8_recipe", "micro_batch " LAYOUT, AXIS_ANY, false},
    {"scale, weak", "gpus", "global_batch_sequences zero_group", AXIS_LIKE_BATCHES, false},
    {"scale, strong", "gpus", "zero_group", AXIS_ANY, false},
    {"micro-batch", "micro_batch", "micro_num", AXIS_ANY, false},
    {"global batch", "global_batch_sequences", "micro_num", AXIS_ANY, false},
    {"recompute", "recompute full_recompute_layers", "", AXIS_ANY, false},
    {"layout", LAYOUT, "", AXIS_ANY, false},
    {"layout + micro-batch", LAYOUT, "micro_batch micro_num recompute", AXIS_ANY, true},
    {"sequence length", "seq_len", "global_batch_sequences micro_batch cp recompute", AXIS_ANY,
     false},
    {"zero, sharding", "zero_stage zero_group", "", AXIS_ANY, false},
    {"feature",
     "async_tp torch_compile overlapped_optimizer cuda_graph moe_dispatcher token_drop "
     "flash_attention cpu_offload offload_layers",
     "", AXIS_ANY, false},
    {"network", "inter_node_gbps_per_node", "", AXIS_ANY, false},
    {"nodes", "gpus_per_node", "inter_node_gbps_per_node", AXIS_ANY, true},
    {"release", "release", "framework_year cuda_graph moe_dispatcher recompute", AXIS_ANY, true},
};
const uint32_t axis_count = LENGTH(axis_rows);

uint32_t axis_column_find(const char *name)
{
    for (uint32_t i = 0; i < axis_column_count; i++) {
        if (strcmp(axis_columns[i], name) == 0) {
            return i;
        }
    }
    return AXIS_COLUMNS_MAX;
}

/* The columns named in a text, between spaces. */
static uint64_t mask_of(const char *names)
{
    uint64_t mask = 0;
    while (*names != '\0') {
        const size_t length = strcspn(names, " ");
        char name[64] = "";
        sim_assert(length < sizeof name);
        memcpy(name, names, length);
        const uint32_t column = axis_column_find(name);
        sim_assert(column < axis_column_count);
        mask |= UINT64_C(1) << column;
        names += length + strspn(names + length, " ");
    }
    return mask;
}

struct axis axis_get(uint32_t number)
{
    sim_assert(number < axis_count);
    const struct axis_row *row = &axis_rows[number];
    return (struct axis){.name = row->name,
                         .defining = mask_of(row->defining),
                         .follows = mask_of(row->follows) | mask_of(FOLLOWS_ALWAYS),
                         .condition = row->condition,
                         .is_apart = row->is_apart};
}

const char *axis_name(uint32_t number)
{
    sim_assert(number < axis_count);
    return axis_rows[number].name;
}

bool axis_is_apart(uint32_t number)
{
    sim_assert(number < axis_count);
    return axis_rows[number].is_apart;
}
