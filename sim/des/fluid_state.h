/* The inside of des/fluid.h, shared by fluid.c and fluid_fill.c and included
 * nowhere else.
 *
 * Memory. Each link has a segment of crossing numbers, one for each route
 * that was declared across it, with those of active flows in front; each
 * crossing knows its place there. A flow's crossings are contiguous, those of
 * links that are not slack first.
 */
#ifndef DES_FLUID_STATE_H
#define DES_FLUID_STATE_H

#include "des/fluid.h"

__extension__ typedef unsigned __int128 uint128;

struct crossing {
    uint64_t usage;
    link_id link;
    flow_id flow;
    uint32_t position; /* in the link's segment */
};

struct link {
    uint128 left;          /* while solving: capacity not yet given away, in usage units */
    uint64_t load_left;    /* while solving: weight * usage of flows not yet frozen */
    uint64_t load_entered; /* while solving: load_left when its key was taken */
    uint64_t load;         /* weight * usage of active flows */
    int64_t capacity;      /* bytes/s */
    uint32_t first;        /* its segment */
    uint32_t active_count;
    uint32_t declared_count;
    bool is_slack;
    bool is_dirty;
    bool is_gathered;
};

enum flow_state { FLOW_IDLE, FLOW_ACTIVE, FLOW_ENDED };

struct flow {
    uint128 remaining; /* bytes * 1e9 at settled_at */
    int64_t rate;      /* bytes/s */
    int64_t cap;       /* bytes/s */
    sim_time settled_at;
    uint32_t weight;
    uint32_t first_crossing;
    uint32_t contended; /* crossings of links that are not slack: the first ones */
    flow_id component;  /* NONE until solved */
    flow_id next;       /* in its component's list */
    uint8_t state;      /* enum flow_state */
    bool is_gathered;
    bool is_frozen; /* while solving */
    bool has_cap;   /* false when a link always binds before the cap */
};

/* What the solver does not touch. */
struct flow_record {
    int64_t cap_max;
    int64_t cap_useless;    /* a cap of this or more never binds first */
    int64_t transfer_bytes; /* of the running transfer */
    uint64_t done_bytes;    /* of all ended transfers */
    uint32_t route_count;
};

struct component {
    sim_time completion; /* of its pending event; -1 if it has none */
    uint32_t version;    /* 24 bits */
    flow_id head;
};

struct level {
    uint128 numerator;
    uint64_t denominator;
};

/* which: a link, or link_count + flow for a flow's cap */
struct entry {
    double key; /* its level when it was entered, to 3 roundings */
    uint32_t which;
};

struct fluid {
    struct arena *arena; /* borrowed, like the queue */
    struct event_queue *queue;
    uint32_t stamp_kind;
    bool is_sealed;

    struct link *links;
    struct flow *flows;
    struct flow_record *records;
    struct crossing *crossings;
    size_t link_count, link_capacity;
    size_t flow_count, flow_capacity, record_capacity;
    size_t crossing_count, crossing_capacity;

    uint32_t *segments;           /* crossing numbers, by link */
    struct component *components; /* by the flow that names it */

    link_id *dirty;
    uint32_t dirty_count;
    link_id *region_links; /* the component being solved */
    uint32_t region_link_count;
    flow_id *region_flows;
    uint32_t region_flow_count;
    struct entry *heap;
    uint32_t heap_count;
    struct entry *tight; /* this round's */
    uint32_t tight_count;
    struct level level; /* this round's */

    flow_id *ended; /* in increasing number, not yet reported from ended_next on */
    uint32_t ended_count;
    uint32_t ended_next;

    struct fluid_statistics statistics;
};

static inline uint128 capacity_scaled(const struct link *link)
{
    return (uint128)link->capacity * FLUID_USAGE_ONE;
}

/* Progressive filling of the region: gives a rate to each of region_flows,
 * which are all active flows on region_links. Uses, of each link, `left` and
 * `load_left`, and of each flow `is_frozen`, set before by the caller. */
void fluid_fill(struct fluid *fluid);

#endif
