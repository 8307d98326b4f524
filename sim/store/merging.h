/* Several results files into one (store_merge), and what that changed: what it held before and
 * holds now, and which of the studies of the files lack points, as where a shard is missing.
 */
#ifndef STORE_MERGING_H
#define STORE_MERGING_H

#include "store/store.h"

/* What a results file holds. */
struct store_content {
    const struct store_build *builds;
    const struct store_study_row *studies;
    uint32_t build_count, study_count;
    int64_t runs;
};

/* A study that was merged, without all its points. */
struct store_incomplete {
    const struct store_study_row *study;
    const char *key, *title, *build;
    int64_t point_count, missing, failed;
    const char *numbers; /* of the missing and the failed: "3, 7 to 9", from 0 */
    /* Another incomplete one of the same title: shards that were meant to be of one study; NULL. */
    const struct store_study_row *namesake;
};

/* The arena's. */
struct merging {
    struct store_content before, after;
    const struct store_incomplete *incomplete;
    uint32_t incomplete_count;
};

/* False with messages: then nothing was merged. `diag` is that of all these stores. */
MUST_USE bool merging_run(struct arena *arena, struct store *store, struct store *const *from,
                          uint32_t from_count, struct merging *merging, struct diag *diag);

#endif
