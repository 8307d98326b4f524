/* What a step's record does not keep: which cause each wait was booked on, and how much the links
 * carried when.
 *
 *     struct step_seen seen;
 *     struct engine_options hooks = step_seen_hooks(arena, watch, &seen);
 *     watch_record(arena, watch, record, &hooks);
 *     step_seen_end(&seen, record, end);
 *
 * Waits are those of stream 0 of each actor of the folded system, in order of time; with its
 * kernels they follow one another from 0 to the end without a gap (asserted), as the accounts have
 * them.
 *
 * Of links it is the mean of all of a kind, bin by bin: bytes of each transfer lie where its flows'
 * rates put them. What nobody can slow down has no rates of its own, and its bytes lie evenly from
 * when it begins to move to when they have left. All bins of a kind add up to what crosses its
 * links in the step (train/loads).
 *
 * ASSUMES: those lie evenly over their latencies, too.
 */
#ifndef TRAIN_TRACE_STEP_SEEN_H
#define TRAIN_TRACE_STEP_SEEN_H

#include "hw/fabric.h"
#include "train/watch.h"

struct engine_record;

struct seen_wait {
    sim_time start, end;
    enum cause cause;
};

struct seen_waits {
    struct seen_wait *items;
    size_t count, capacity;
    sim_time until; /* of what was seen of the actor's stream 0 */
};

enum { SEEN_BINS_MAX = 4096 };

/* The mean link of each kind. */
struct seen_links {
    sim_time bin_ns;
    uint32_t bins;
    double *bytes[LINK_KIND_COUNT_];   /* [bins] that cross it meanwhile; NULL: nothing ever does */
    uint32_t counts[LINK_KIND_COUNT_]; /* of links */
    double capacity_bytes_per_s[LINK_KIND_COUNT_]; /* mean of them */
};

struct step_seen {
    struct arena *arena;
    const struct watch *watch;
    struct seen_waits *waits; /* [class] */
    struct seen_links links;
    struct seen_channel *channels; /* of the folded system */
    double *crossed;               /* [path of it][kind]: links of the kind that a byte crosses */
    struct seen_plain *plain;      /* transfers of which no rate was told */
    size_t plain_count, plain_capacity;
};

/* Of a watch that is folded (watch_fold). Memory is the arena's. */
struct engine_options step_seen_hooks(struct arena *arena, const struct watch *watch,
                                      struct step_seen *seen);

/* After the run, which ended then: fills seen->links. */
void step_seen_end(struct step_seen *seen, struct engine_record *record, sim_time end);

#endif
