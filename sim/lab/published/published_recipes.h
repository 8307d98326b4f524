/* What the launch scripts of a publisher switch on that its table of results has no column for.
 *
 * NVIDIA publishes the scripts beside the results, one version for each release of its container
 * (tags v0.2 to v0.6 of Megatron-Bridge are 25.11, 26.02, 26.04, 26.06 and 26.08). They say how
 * tokens travel to experts, whether this runs beside compute, and whether the whole step is one
 * CUDA graph. A row of the table here holds for a model on a kind of GPU from one release to
 * another; it is a setting of the run, like a layout, and none is fitted.
 */
#ifndef LAB_PUBLISHED_PUBLISHED_RECIPES_H
#define LAB_PUBLISHED_PUBLISHED_RECIPES_H

#include "lab/published/published_table.h"

struct published_recipe {
    const char *source, *model, *gpu; /* what the columns begin with; "": any */
    double since, until;              /* releases, 26.04 */
    const char *precision;            /* "mxfp8", "": any */
    bool sends_tokens; /* DeepEP or HybridEP; false: a plain all-to-all, one copy an expert */
    bool overlaps_experts;
    bool is_one_graph; /* and the experts' products with what is between them are fused */
};

/* NULL when nothing is known of the row's. */
const struct published_recipe *published_recipe(const struct published_table *table, uint32_t row);

#endif
