/* What tests ask of a layer's segments. */
#ifndef SUPPORT_SEGMENTS_H
#define SUPPORT_SEGMENTS_H

#include "plan/cost.h"

/* FLOPs of several kinds of segments together. */
double segments_flop(const struct cost_shape *shape, const enum segment_kind *kinds, size_t count);

/* The kernel of that name; the test fails when there is none. */
const struct kernel *segment_find(const struct segment *segment, const char *name);

#endif
