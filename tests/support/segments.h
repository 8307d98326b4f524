/* What tests ask of a layer's segments. */
#ifndef TESTS_SUPPORT_SEGMENTS_H
#define TESTS_SUPPORT_SEGMENTS_H

#include "plan/cost.h"

struct segments_layout {
    enum precision precision;
    int64_t tp;
    bool is_sequence_parallel;
    int64_t micro, sequence_length;
    int64_t cp, ep;
};

/* Of the model's last layer; experts are cut by tp, tokens spread evenly over them, and selective
 * recompute is of the core if attention is not fused, else of norms and activation. */
struct cost_shape segments_shape(const struct model *model, const struct software *software,
                                 struct segments_layout layout);

/* FLOPs of several kinds of segments together. */
double segments_flop(const struct cost_shape *shape, const enum segment_kind *kinds, size_t count);

/* The kernel of that name; the test fails when there is none. */
const struct kernel *segment_find(const struct segment *segment, const char *name);

#endif
