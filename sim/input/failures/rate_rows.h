/* The rows of a rate, for schemas that have one: RATE_ROWS(member, help of `components`), with
 * SCHEMA_OBJECT as in rows.h and the member a struct written_rate. Nobody else includes it.
 */
#ifndef INPUT_FAILURES_RATE_ROWS_H
#define INPUT_FAILURES_RATE_ROWS_H

#include "input/failures/rate.h"
#include "input/schema/rows.h"

#define RATE_NUMBER(path_, member_, dimension_, least_, most_, help_)                        \
    {                                                                                        \
        QUANTITY(path_, member_, dimension_, least_, most_, help_), .is_optional = true,     \
                                                                    .note = "said otherwise" \
    }
#define RATE_COUNT(path_, member_, most_, help_)                                              \
    {                                                                                         \
        COUNT(path_, member_, 1, most_, help_), .is_optional = true, .note = "said otherwise" \
    }

#define RATE_ROWS(member_, components_help_)                                                     \
    {SECTION_AT("rate", member_.place, "How often it fails, in the unit of the source."),        \
     .is_required = true},                                                                       \
        RATE_NUMBER("rate.count", member_.count, DIM_COUNT, 1e-9, 1e12,                          \
                    "Failures that were counted."),                                              \
        RATE_NUMBER("rate.days", member_.days, DIM_COUNT, 1e-6, 1e6, "In so many days."),        \
        RATE_COUNT("rate.gpus", member_.gpus, 1000000000, "On so many GPUs."),                   \
        RATE_COUNT("rate.gpus_per_node", member_.gpus_per_node, 1024,                            \
                   "With so many GPUs in a node."),                                              \
        RATE_COUNT("rate.components", member_.components, 1000000000, components_help_),         \
        RATE_NUMBER("rate.per_1000_node_days", member_.per_1000_node_days, DIM_COUNT, 1e-9, 1e9, \
                    "Failures of a thousand nodes in a day."),                                   \
        RATE_NUMBER("rate.mttf", member_.mttf_s, DIM_SECONDS, 1e-3, 1e15,                        \
                    "Mean time to failure: of one component, or of gpus or components together.")

#endif
