/* A table of what recipes of published runs set that their rows do not say. Of
 * the rows that fit a run the last one holds.
 */
#include "lab/published/published_recipes.h"

#include <string.h>

/* moe_flex_dispatcher_backend, moe_a2a_overlap and cuda_graph_impl of
 * scripts/performance/configs (until v0.5) and src/megatron/bridge/perf_recipes (v0.6) of
 * https://github.com/NVIDIA-NeMo/Megatron-Bridge at these tags. 25.09 has none in this form and is
 * taken as 25.11. */
static const struct published_recipe recipes[] = {
    {"Megatron-Bridge", "DeepSeek-V3", "", 25.09, 99, "", true, false, false},
    {"Megatron-Bridge", "DeepSeek-V3", "B200", 25.09, 25.11, "", false, false, false},
    {"Megatron-Bridge", "DeepSeek-V3", "H100", 25.09, 25.11, "", true, true, false},
    {"Megatron-Bridge", "DeepSeek-V3", "GB", 26.06, 99, "mxfp8", true, true, true},
    {"Megatron-Bridge", "Kimi K2", "GB", 26.02, 99, "", true, false, false},
    {"Megatron-Bridge", "Qwen3-235B", "H100", 25.09, 25.11, "", false, true, false},
    {"Megatron-Bridge", "Qwen3-235B", "B200", 25.09, 25.11, "", false, true, false},
    {"Megatron-Bridge", "Qwen3-235B", "GB", 26.06, 99, "mxfp8", true, true, true},
    {"Megatron-Bridge", "Qwen3-235B", "B", 26.06, 99, "mxfp8", true, true, true},
    {"Megatron-Bridge", "Qwen3-30B", "H100", 25.09, 25.11, "", false, true, false},
    {"Megatron-Bridge", "Qwen3-30B", "GB", 26.06, 99, "mxfp8", true, true, true},
    {"Megatron-Bridge", "Qwen3-30B", "B", 26.06, 99, "mxfp8", true, true, true},
    {"Megatron-Bridge", "gpt-oss-120b", "GB", 26.06, 99, "mxfp8", true, true, true},
};

static bool begins(const struct published_table *table, uint32_t row, const char *column,
                   const char *with)
{
    return strncmp(published_text(table, row, column), with, strlen(with)) == 0;
}

const struct published_recipe *published_recipe(const struct published_table *table, uint32_t row)
{
    const struct published_recipe *found = NULL;
    double release = 0.0;
    if (!published_number(table, row, "release", &release)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        const struct published_recipe *recipe = &recipes[i];
        const bool is_of_row = begins(table, row, "source", recipe->source) &&
                               begins(table, row, "model_name", recipe->model) &&
                               begins(table, row, "gpu", recipe->gpu) &&
                               begins(table, row, "fp8_recipe", recipe->precision);
        if (is_of_row && release > recipe->since - 0.005 && release < recipe->until + 0.005) {
            found = recipe;
        }
    }
    return found;
}
