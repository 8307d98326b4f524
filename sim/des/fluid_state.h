/* The inside of des/fluid.h, shared by fluid*.c and included nowhere else.
 *
 * Memory. Each link has a segment of crossing numbers, one for each route
 * that was declared across it; each crossing knows its place there:
 *
 *     | flows of the region | other active flows | idle flows |
 *     first                 + region_count       + active_count
 *
 * A flow's crossings are contiguous, those of links that are not slack first.
 * The region is empty but while fluid_solve runs.
 *
 * A link may be owned: by flows that are alternatives of one another, and own all their links. One
 * of these that starts while nobody else is on its links runs apart: it is in no segment and
 * charged nowhere, until another flow comes to one of its links and calls it in.
 *
 * Flows hang together if one can get from one to the other by links that are not loose (below). As
 * long as those are few, their rates are worked out from nothing (fluid_group.c), and their links
 * know no more than who is on them; once they are many, the links are kept: what is left of each
 * and whom it binds is up to date, and only the region whose rates change is looked at
 * (fluid_solve.c). A link is kept until nobody is bound by it, or one flow is left there alone. Of
 * flows that hang together either all such links are kept or none is, after a solve.
 *
 * Of a flow that has a rate, each of its links that is kept is charged usage * charge, where
 * charge = floor(weight * level). The rate is the charge, but at least 1.
 *
 * A link is loose while what its active flows take at most, each by its cap and by what its links
 * have for it alone, is less than its capacity: it binds nobody, and is not kept. It gets
 * strict when a flow comes with which that does not hold, and loose again when it does and nobody
 * is bound by it any more: at the end of a solve at the latest. So which links are strict then
 * follows from which flows are active.
 */
#ifndef DES_FLUID_STATE_H
#define DES_FLUID_STATE_H

#include "des/fluid.h"
#include "base/wide.h"

#include <math.h>

#define NONE UINT32_MAX
#define BOUND_BY_CAP (UINT32_MAX - 1)

/* A rate per weight; denominator 0: infinite. */
struct level {
    uint128 numerator;
    uint64_t denominator;
    double key; /* the quotient, to 5 roundings: it nominates, the fraction decides */
};

struct crossing {
    uint64_t usage;
    link_id link;
    flow_id flow;
    uint32_t position; /* in the link's segment */
};

/* The first half is one cache line, which a join and a freezing need. */
struct link {
    uint128 left;       /* kept: capacity that is charged to no flow, in usage units */
    uint64_t load_left; /* while solving: weight * usage of the region's flows without a rate */
    uint64_t rough;     /* kept: usage of the flows that are charged less than weight * level */
    uint32_t first;     /* its segment */
    uint32_t declared_count;
    uint32_t active_count;
    uint32_t region_count;
    uint32_t bound_count; /* flows outside the region that are bound by this link */
    uint32_t owner;       /* NONE: nobody */
    bool is_slack;
    bool is_loose;      /* see above; not so: strict */
    bool is_kept;       /* see above; only if strict */
    bool is_dirty;      /* a flow came, if it is kept, or went since the last solve */
    bool is_gathered;   /* it is in region_links, or in group_links */
    bool is_touched;    /* while solving: the level of a flow on it is not what it was */
    bool is_checked;    /* while solving: no flow outside the region is due less than before */
    struct level level; /* at which it binds; infinite when it binds nobody */
    struct level tight; /* while solving: the same in this filling */
    uint128 wanted;     /* by its active flows, at most, in bytes/s, each rounded up */
};

enum flow_state { FLOW_IDLE, FLOW_ACTIVE, FLOW_ENDED };

struct flow {
    uint128 remaining; /* bytes * 1e9 at settled_at */
    int64_t rate;      /* bytes/s */
    int64_t rate_next; /* while solving */
    int64_t cap;       /* bytes/s */
    sim_time settled_at;
    uint32_t weight;
    uint32_t first_crossing;
    uint32_t contended; /* crossings of links that are not slack: the first ones */
    uint32_t bound;     /* the link that gives its level, BOUND_BY_CAP, NONE: no level yet, or its
                            * links are not kept */
    uint32_t bound_before; /* while solving: the same of the last solution */
    uint32_t owner;        /* it is one of that owner's; NONE: it does not own its links */
    uint8_t state;         /* enum flow_state */
    bool has_cap;          /* false when a link always binds before the cap */
    bool is_rough;         /* charged less than weight * level */
    bool is_starved;       /* charged 0, runs at 1 */
    bool is_frozen;        /* while solving: has its new rate */
    bool is_apart;         /* it runs, and its links do not know */
    bool is_gathered;      /* while solving: it is in group_flows */
};

/* Alternatives that own their links. */
struct owner {
    uint32_t others; /* crossings of its links by active flows that are not its own */
    flow_id apart;   /* of its own, the one that runs apart; NONE */
};

/* What the solver does not touch, and what was declared. */
struct flow_record {
    int64_t cap_max;
    int64_t cap_useless;    /* a cap of this or more never binds first */
    int64_t rate_alone;     /* what its contended links give to it alone, at least 1 */
    int64_t transfer_bytes; /* of the running transfer */
    uint64_t done_bytes;    /* of all ended transfers */
    uint32_t weight;
    uint32_t first_crossing;
    uint32_t route_count;
    uint32_t alternative;
};

/* which: a link, or link_count + flow for a flow's cap */
struct entry {
    double key; /* its level when it was entered, or when it fell since */
    uint32_t which;
};

struct due {
    sim_time time; /* SIM_TIME_MAX: beyond the end of time */
    flow_id flow;
};

struct fluid {
    struct arena *arena; /* borrowed, like the queue */
    struct event_queue *queue;
    uint32_t stamp_kind;
    bool is_sealed;
    fluid_rate_hook *on_rate; /* NULL: none */
    void *context;            /* its */

    int64_t *capacities; /* bytes/s, by link */
    struct link *links;  /* from fluid_seal on, like the flows */
    struct flow *flows;
    struct flow_record *records;
    struct crossing *crossings;
    size_t link_count, link_capacity;
    size_t flow_count, record_capacity;
    size_t crossing_count, crossing_capacity;
    uint32_t *segments; /* crossing numbers, by link */
    struct owner *owners;
    uint32_t owner_count;

    /* what changed since the last solve */
    link_id *dirty;
    uint32_t dirty_count;
    flow_id *started;
    uint32_t started_count;
    bool has_ended_apart; /* a flow did */

    /* the region: see fluid_solve.c */
    link_id *region_links;
    uint32_t region_link_count;
    flow_id *region_flows;
    uint32_t region_flow_count;

    /* groups of this instant, one after the other: see fluid_group.c */
    flow_id *group_flows;
    uint32_t group_flow_count;
    link_id *group_links;
    uint32_t group_link_count;
    flow_id *joining; /* are to join the region */
    uint32_t joining_count;

    /* one filling of the region: see fluid_fill.c */
    struct entry *heap;
    uint32_t *heap_places; /* by `which`: position + 1; 0: not in the heap */
    uint32_t heap_count;
    struct entry *tight; /* this round's */
    uint32_t tight_count;
    link_id *touched; /* links whose is_touched this filling has set */
    uint32_t touched_count;
    uint32_t unfrozen_count;
    struct level level; /* this round's, or of the last round between rounds */
    bool is_filling;
    bool is_fresh;  /* no flow has frozen or joined since the heap was built */
    bool is_spoilt; /* a flow joined that should have been there from the start */

    /* ends: see fluid_due.c */
    struct due *due;      /* 4-ary heap by (time, flow) */
    uint32_t *due_places; /* by flow: position + 1; 0: not in the heap */
    uint32_t due_count;
    sim_time posted_time; /* of the valid event; -1: there is none */
    uint32_t posted_version;
    flow_id *ended; /* in increasing number, not yet reported from ended_next on */
    uint32_t ended_count;
    uint32_t ended_next;

    struct fluid_statistics statistics;
};

static inline uint128 capacity_scaled(const struct fluid *fluid, link_id link)
{
    return (uint128)fluid->capacities[link] * FLUID_USAGE_ONE;
}

static inline struct level level_infinite(void)
{
    return (struct level){.numerator = 1, .key = HUGE_VAL};
}

static inline struct level level_new(uint128 numerator, uint64_t denominator)
{
    /* Faster than the conversion of 128 bits, with two roundings more. */
    const double value = (double)(uint64_t)(numerator >> 64) * 0x1p64 + (double)(uint64_t)numerator;
    return (struct level){numerator, denominator, value / (double)denominator};
}

struct product {
    uint128 high; /* bits 64 and up */
    uint64_t low;
};

static inline struct product multiply(uint128 a, uint64_t b)
{
    const uint128 low = (uint128)(uint64_t)a * b;
    const uint128 high = (a >> 64) * b + (low >> 64);
    return (struct product){.high = high, .low = (uint64_t)low};
}

/* -1, 0, 1 as level a is below, equal to, above b; exact. Infinite: 1 / 0. */
static inline int level_compare(const struct level *a, const struct level *b)
{
    const struct product left = multiply(a->numerator, b->denominator);
    const struct product right = multiply(b->numerator, a->denominator);
    if (left.high != right.high) {
        return left.high < right.high ? -1 : 1;
    }
    return (left.low > right.low) - (left.low < right.low);
}

static inline struct level fluid_cap_level(const struct flow *flow)
{
    return level_new((uint128)flow->cap, flow->weight);
}

/* What a flow of this weight gets at a level. */
struct share {
    uint32_t weight;
    uint64_t rate; /* rounded down */
    bool is_rough; /* something was lost by that */
};

static inline struct share share_at(const struct level *level, uint32_t weight)
{
    const uint128 product = level->numerator * weight;
    const uint64_t rate = product >> 64 == 0 ? (uint64_t)product / level->denominator /* faster */
                                             : (uint64_t)(product / level->denominator);
    return (struct share){weight, rate, (uint128)rate * level->denominator != product};
}

/* What its links are charged, per usage, for a flow that has a rate; else 0. */
static inline uint64_t fluid_charge(const struct flow *flow)
{
    return flow->is_starved ? 0 : (uint64_t)flow->rate;
}

/* Of a flow the crossings of links that can be tight, and where they end. */
static inline const struct crossing *fluid_crossings(const struct fluid *fluid,
                                                     const struct flow *flow)
{
    return &fluid->crossings[flow->first_crossing];
}

static inline const struct crossing *fluid_crossings_end(const struct fluid *fluid,
                                                         const struct flow *flow)
{
    return &fluid->crossings[flow->first_crossing + flow->contended];
}

static inline void fluid_tell_rate(const struct fluid *fluid, flow_id id)
{
    if (fluid->on_rate != NULL) {
        fluid->on_rate(fluid->context, id, fluid->flows[id].rate);
    }
}

static inline void fluid_segment_swap(struct fluid *fluid, uint32_t a, uint32_t b)
{
    if (a == b) { /* as where a flow comes back to a link on which it was the last one */
        return;
    }
    const uint32_t at_a = fluid->segments[a];
    const uint32_t at_b = fluid->segments[b];
    fluid->segments[a] = at_b;
    fluid->segments[b] = at_a;
    fluid->crossings[at_b].position = a;
    fluid->crossings[at_a].position = b;
}

/* The flow at place i of the link's segment. */
static inline flow_id fluid_flow_at(const struct fluid *fluid, const struct link *link, uint32_t i)
{
    return fluid->crossings[fluid->segments[link->first + i]].flow;
}

/* Levels whose keys differ by more than this factor are in the order of their
 * keys: a key has five roundings of 2^-53, two keys and this product eleven. */
#define FLUID_KEY_TOLERANCE (1.0 + 0x1p-49)

/* ---- fluid.c: links and their active flows ------------------------------- */

/* Puts a flow among the active ones of its links, of which those that are kept are dirty then. */
void fluid_join_links(struct fluid *fluid, flow_id id);

/* The same without more. */
void fluid_enter_links(struct fluid *fluid, flow_id id);

/* The link that binds a flow, if one does, has one less. */
static inline void fluid_unbind(struct fluid *fluid, const struct flow *flow)
{
    if (flow->bound < fluid->link_count) {
        fluid->links[flow->bound].bound_count--;
    }
}

/* Makes a link loose that binds nobody, if it may be. */
static inline void fluid_loosen(struct fluid *fluid, link_id id)
{
    struct link *link = &fluid->links[id];
    sim_assert(link->bound_count == 0);
    if (link->wanted < (uint128)(uint64_t)fluid->capacities[id]) {
        link->is_loose = true;
        link->is_kept = false;
        link->level = level_infinite();
    }
}

/* ---- fluid_apart.c: flows that nobody disturbs --------------------------- */

/* To be called when it is known which links are contended. */
void fluid_find_owners(struct fluid *fluid);

/* To one of that owner's links a flow comes that is not its own: who runs apart is called in. */
void fluid_come(struct fluid *fluid, uint32_t number);

/* Gives a flow that is alone on its links its rate; these need not know of it. */
void fluid_start_alone(struct fluid *fluid, flow_id id);

/* The same of a flow under way whom all others on its links have left: they are kept no more. */
void fluid_leave_alone(struct fluid *fluid, flow_id id);

/* Starts one that owns its links and has not joined them; false: others are there. */
bool fluid_start_apart(struct fluid *fluid, flow_id id);

/* ---- fluid_group.c: flows that hang together ------------------------------- */

/* Gives all who hang together with a flow their rates; or has them join the region, if they are
 * many or some of their links are kept already. Not those whom it has looked at in this instant. */
void fluid_solve_group(struct fluid *fluid, flow_id id);

/* They do: to be called when all groups were looked at. */
void fluid_join_many(struct fluid *fluid);

/* The instant is over. */
void fluid_forget_groups(struct fluid *fluid);

/* ---- fluid_solve.c --------------------------------------------------------- */

/* On its strict links: the loose ones bind nobody. */
bool fluid_is_alone(const struct fluid *fluid, const struct flow *flow);

/* A flow under way has that rate from now on. */
void fluid_change_rate(struct fluid *fluid, flow_id id, int64_t rate);

/* ---- fluid_due.c: when flows end ------------------------------------------ */

/* remaining -= rate * elapsed, exact */
void fluid_settle(struct flow *flow, sim_time now);

/* (Re-)enters the end of a flow that is settled now and has its rate. */
void fluid_due_set(struct fluid *fluid, flow_id flow);

/* Posts an event for the earliest end unless the valid one is for that time. */
void fluid_due_post(struct fluid *fluid);

/* Is this the valid event? Then none is posted any more. */
bool fluid_due_is_posted(struct fluid *fluid, const struct event *event);

/* Takes out the next flow that ends at this time; NONE if there is none. */
flow_id fluid_due_take(struct fluid *fluid, sim_time time);

/* ---- fluid_fill.c: rates of the region ------------------------------------ */

/* The state of a region's link before a filling. */
static inline void fluid_reset_link(struct link *link)
{
    link->tight = level_infinite();
    link->is_touched = link->is_dirty;
    link->is_checked = false;
}

/* Adds a link to region_links. */
static inline void fluid_gather_link(struct fluid *fluid, link_id id)
{
    struct link *link = &fluid->links[id];
    if (!link->is_gathered) {
        link->is_gathered = true;
        fluid_reset_link(link);
        fluid->region_links[fluid->region_link_count++] = id;
    }
}

/* Puts an active flow into the region and takes its rate away. */
void fluid_join(struct fluid *fluid, flow_id flow);

/* Puts all flows that are bound by the link, if any are, into the region. */
void fluid_join_all_bound(struct fluid *fluid, link_id link);
static inline void fluid_join_bound(struct fluid *fluid, link_id link)
{
    if (fluid->links[link].bound_count > 0) {
        fluid_join_all_bound(fluid, link);
    }
}

/* Puts flows outside into the region to whom the link, tight at `tight` in
 * this filling, may owe less than they have. True if there were any. */
bool fluid_join_wealthy(struct fluid *fluid, link_id link, const struct level *tight);

/* Progressive filling of the region, of whose flows none has a rate; others
 * may join. False when it has to be repeated from the start. */
bool fluid_fill(struct fluid *fluid);

#endif
