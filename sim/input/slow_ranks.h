/* GPUs that are slower than the others, or whose links carry less: the list `slow` of a scenario.
 */
#ifndef INPUT_SLOW_RANKS_H
#define INPUT_SLOW_RANKS_H

#include "input/schema/schema.h"

/* What a GPU has as a share of the others', each 0 < share <= 1. */
struct slow_rank {
    int64_t rank;
    double speed;
    double nic;      /* bandwidth of its NIC port, both ways */
    double scale_up; /* of its scale-up port */
};

/* The keys of an entry; the object is a struct slow_rank. */
extern const struct schema slow_rank_keys;

/* Of the row `slow`; the object is a struct scenario, whose list is sorted by rank then. */
void slow_ranks_read(const struct schema_reader *reader, const struct schema_row *row);

#endif
