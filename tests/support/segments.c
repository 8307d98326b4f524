#include "support/segments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
