/* Each size of a curve gives one row, from just above the size before to just below the next; rows
 * of one pair that touch are joined.
 */
#include "measured/choices.h"

#include <math.h>

static const double NEXT_BYTES = 1.0;     /* sizes are whole bytes */
static const double LARGEST_BYTES = 1e18; /* of a library's file: no end */

static struct library_choice row_of(const struct curve *curve, struct collective_choice pair,
                                    double bytes)
{
    double from = 0.0;
    double to = HUGE_VAL;
    for (uint32_t i = 0; i < curve->measurement->point_count; i++) {
        const double other = curve->measurement->points[i].bytes;
        from = other < bytes ? fmax(from, other + NEXT_BYTES) : from;
        to = other > bytes ? fmin(to, other - NEXT_BYTES) : to;
    }
    return (struct library_choice){.operation = curve->operation,
                                   .algorithm = pair.algorithm,
                                   .protocol = pair.protocol,
                                   .nodes = curve->shape.nodes,
                                   .gpus = curve->shape.ranks,
                                   .from_bytes = from > 0.0 ? fmin(from, bytes) : bytes,
                                   .to_bytes = fmax(bytes, fmin(to, LARGEST_BYTES))};
}

static bool is_joined(struct library_choice *row, const struct library_choice *other)
{
    const bool is_alike = row->operation == other->operation &&
                          row->algorithm == other->algorithm && row->protocol == other->protocol &&
                          row->nodes == other->nodes && row->gpus == other->gpus;
    const bool is_touching = row->from_bytes <= other->to_bytes + NEXT_BYTES &&
                             other->from_bytes <= row->to_bytes + NEXT_BYTES;
    if (!is_alike || !is_touching) {
        return false;
    }
    row->from_bytes = fmin(row->from_bytes, other->from_bytes);
    row->to_bytes = fmax(row->to_bytes, other->to_bytes);
    return true;
}

bool choices_add(struct library *library, const struct curve *curve, struct collective_choice pair,
                 double bytes)
{
    struct library_architecture *architecture =
        &library->architectures[curve->setting.architecture];
    if (curve->forced.algorithm == ALGORITHM_SINGLE_RING) {
        pair.algorithm = ALGORITHM_SINGLE_RING;
    }
    const struct library_choice row = row_of(curve, pair, bytes);
    for (uint32_t i = 0; i < architecture->choice_count; i++) {
        if (is_joined(&architecture->choices[i], &row)) {
            return true;
        }
    }
    if (architecture->choice_count == LIBRARY_CHOICE_MAX) {
        return false;
    }
    architecture->choices[architecture->choice_count++] = row;
    return true;
}
