#include "support/segments.h"

#include "input/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct cost_shape segments_shape(const struct model *model, const struct software *software,
                                 struct segments_layout layout)
{
    const uint32_t beside_fused = 1u << RECOMPUTE_NORM | 1u << RECOMPUTE_ACTIVATION;
    const bool is_fused = software->attention != ATTENTION_UNFUSED;
    return (struct cost_shape){
        .model = model,
        .layer = model_layer(model, model->layers - 1),
        .software = software,
        .precision = layout.precision,
        .tp = layout.tp,
        .is_sequence_parallel = layout.is_sequence_parallel,
        .micro = layout.micro,
        .sequence_length = layout.sequence_length,
        .cp = layout.cp,
        .ep = layout.ep,
        .etp = layout.tp,
        .expert_rows = 1.0,
        .local_experts = model->experts / layout.ep,
        .recompute_modules = is_fused ? beside_fused : 1u << RECOMPUTE_CORE_ATTENTION,
    };
}

double segments_flop(const struct cost_shape *shape, const enum segment_kind *kinds, size_t count)
{
    double flop = 0.0;
    for (size_t i = 0; i < count; i++) {
        struct segment segment;
        cost_segment(shape, kinds[i], &segment);
        flop += cost_segment_flop(&segment);
    }
    return flop;
}

const struct kernel *segment_find(const struct segment *segment, const char *name)
{
    for (uint32_t i = 0; i < segment->count; i++) {
        if (strcmp(segment->kernels[i].name, name) == 0) {
            return &segment->kernels[i];
        }
    }
    fail_msg("no kernel %s", name);
    return NULL;
}
