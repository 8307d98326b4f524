/* Which ranks communicate: the groups of a layout, kind by kind.
 *
 * One table; a row is how many groups of a kind there are, how large they are, who is in one,
 * and on which streams their collectives run. The scenario's `collectives` names the kinds.
 */
#ifndef TRAIN_GROUPS_H
#define TRAIN_GROUPS_H

#include "plan/mesh.h"
#include "spec/scenario.h"
#include "train/streams.h"

enum group_kind {
    GROUP_TENSOR,
    GROUP_CONTEXT,
    GROUP_EXPERT,
    GROUP_EMBEDDING,
    GROUP_DATA,
    GROUP_EXPERT_DATA,
    GROUP_WORLD,
    GROUP_KIND_COUNT_
};

#define GROUP_STREAMS_MAX 2

struct group_row {
    const char *name;
    uint32_t choice; /* enum collective_user: whose forced algorithm holds */
    uint32_t (*count)(const struct scenario *scenario, const struct mesh *mesh);
    uint32_t (*size)(const struct mesh *mesh);
    void (*members)(const struct mesh *mesh, uint32_t number, uint32_t *ranks);
    enum stream streams[GROUP_STREAMS_MAX];
    uint32_t stream_count;
    bool is_latency_only; /* a few bytes: nothing but latency */
};

extern const struct group_row group_rows[GROUP_KIND_COUNT_];

/* Groups of the kind; 0 when they would have one member. */
uint32_t groups_count(enum group_kind kind, const struct scenario *scenario,
                      const struct mesh *mesh);

#endif
