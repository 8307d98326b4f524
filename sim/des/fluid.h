/* Fluid sharing: flows that share links at weighted max-min fair rates.
 *
 * A flow crosses links; while it runs at rate r (bytes/s), it takes
 * usage * r of each of them, where usage is a fixed-point number
 * (FLUID_USAGE_ONE = the flow's bytes cross the link once). A collective is
 * one coupled flow with a usage on every link that it touches. Rates are
 * max-min fair on rate/weight, and no flow exceeds its cap. A flow's route is
 * declared once and started many times, one transfer at a time.
 *
 * Everything inside is an integer: capacity, cap and rate in bytes/s, what
 * remains in bytes * 1e9 (128 bits). Shares are rounded down, completions up.
 * All links (and caps) that are equally tight are frozen in one round, so
 * the rates depend neither on the order of flows nor on how many identical
 * ones there are: k flows with usage u equal one with usage k*u on the
 * same link. Folding (plan/symmetry) rests on this.
 *
 * The instant rule: starts and ends at one time only mark what changed;
 * fluid_solve, called once when the instant has no more events, computes new
 * rates. Where few flows hang together by links that they can fill, all of these get theirs anew.
 * Where many do, it looks only at the region whose rates may change: the flows that
 * started, those that were held back by a link that a flow came to or left, and whomever
 * these affect in turn. The result is that of solving everything, to the last
 * byte/s, whatever came before (fluid_solve.c says why). One event is pending for
 * the earliest end of all.
 *
 * Links that can never be tight (capacity at least the sum of usage * cap of
 * everything declared across them) are left out for good by fluid_seal; a
 * flow whose links are all slack runs at its cap and needs no solving. A link
 * that those which are under way cannot fill is left out until one comes with
 * which they can.
 *
 * Cost of a solve: O(F * (R + log F)) with F flows in the region and R links on a
 * route, times the fillings that it takes (about one; more where shares are
 * so small that rounding to whole bytes/s decides); and O(log N) for each
 * rate that changes, of N active flows. A link that is full and whose level
 * falls is searched for flows that have more than it can still give, O(flows on
 * it). A link that binds all N flows changes all their rates: then F = N.
 *
 * Reference: Bertsekas, Gallager, Data Networks, 2nd ed., section 6.5.2
 * (max-min fair flow control).
 */
#ifndef DES_FLUID_H
#define DES_FLUID_H

#include "des/event.h"

struct fluid;

typedef uint32_t link_id;
typedef uint32_t flow_id;

#define FLUID_USAGE_ONE 16777216u

struct fluid_crossing {
    link_id link;
    uint64_t usage; /* fixed point, > 0; may exceed one (several of its bytes cross) */
};

struct fluid_flow_options {
    const struct fluid_crossing *route; /* copied; each link at most once */
    uint32_t route_count;               /* may be 0: only the cap binds */
    uint32_t weight;                    /* >= 1 */
    int64_t cap_bytes_per_s_max;        /* >= 1; the largest cap it will ever be started with */
    uint32_t alternative; /* flows of one number, declared one after another, never run at once;
                           * 0: no such promise */
};

struct fluid *fluid_new(struct arena *arena, struct event_queue *queue, uint32_t stamp_kind);

/* Makes room for so many links, flows and, over all flows, crossings. May be left out: then arrays
 * grow, to twice of what they need. */
struct fluid_sizes {
    size_t links, flows, crossings;
};
void fluid_reserve(struct fluid *fluid, const struct fluid_sizes *sizes);

/* capacity_bytes_per_s >= 1 */
link_id fluid_add_link(struct fluid *fluid, int64_t capacity_bytes_per_s);
flow_id fluid_add_flow(struct fluid *fluid, const struct fluid_flow_options *options);

/* From now on told of each rate that a flow gets, and of its end: rate 0. */
typedef void fluid_rate_hook(void *context, flow_id flow, int64_t bytes_per_s);
void fluid_watch(struct fluid *fluid, fluid_rate_hook *on_rate, void *context);

/* No more links or flows after this; finds the slack links. */
void fluid_seal(struct fluid *fluid);

/* Starts a transfer now. bytes >= 0; 0 bytes completes at this instant. The
 * flow must be idle. cap <= the declared maximum. */
void fluid_start(struct fluid *fluid, flow_id flow, int64_t bytes, int64_t cap_bytes_per_s);

/* Handles an event of this fluid: false when stale or nothing (more) ended;
 * else true and the flow that ended, call again until false. Flows that end
 * at one time come out in increasing number. */
bool fluid_complete(struct fluid *fluid, const struct event *event, flow_id *flow);

/* Deferred work of the instant: new rates, and the event of the next end.
 * Cheap when nothing changed. */
void fluid_solve(struct fluid *fluid);

bool fluid_is_active(const struct fluid *fluid, flow_id flow);
int64_t fluid_rate(const struct fluid *fluid, flow_id flow); /* bytes/s, after fluid_solve */
bool fluid_link_is_slack(const struct fluid *fluid, link_id link);

struct fluid_statistics {
    uint64_t solves;        /* calls of fluid_solve that had work */
    uint64_t fills;         /* fillings, of a region or of few: none or more in a solve */
    uint64_t few;           /* of these, of a few flows that hang together */
    uint64_t flows_filled;  /* flows in them, summed */
    uint64_t flows_changed; /* flows whose rate changed */
    uint64_t region_max;    /* flows in the largest of these */
    uint64_t alone;         /* transfers that shared no link when they started */
    uint64_t direct;        /* transfers that needed no solving */
    uint64_t stale_events;
    double solve_s; /* our own time in solves, estimated; never part of a prediction */
};
struct fluid_statistics fluid_statistics(const struct fluid *fluid);

size_t fluid_link_count(const struct fluid *fluid);
size_t fluid_flow_count(const struct fluid *fluid);

/* The links of a flow on which others may slow it down, after fluid_seal. */
uint32_t fluid_contended_count(const struct fluid *fluid, flow_id flow);
link_id fluid_contended_link(const struct fluid *fluid, flow_id flow, uint32_t i);

/* ---- one after the other (fluid_due.c) ----
 *
 * The clock may go back if meanwhile only flows are started that share no link with those under
 * way, nor with those that are started before these go on. To be called after a solve: all flows
 * under way are put aside, with their rates, and the event of the next end is stale. One that is
 * taken up goes on; when all are that should, fluid_solve posts the next end. */
size_t fluid_under_way(const struct fluid *fluid); /* and not put aside */
void fluid_put_aside(struct fluid *fluid, flow_id *flows);
void fluid_take_up(struct fluid *fluid, flow_id flow);

/* ---- repeating (fluid_repeat.c) ----
 *
 * After a solve the future of all flows follows from those that are under way, each with what
 * remains, its cap and its rate: links hold nothing else. Written down relative to now, two equal
 * states go on alike.
 */

size_t fluid_state_words(const struct fluid *fluid); /* at most */
size_t fluid_state(const struct fluid *fluid, uint64_t *words);
uint32_t fluid_posted_version(const struct fluid *fluid); /* of the newest event */

/* What was counted up to now: bytes of each flow, statistics. */
struct fluid_counts;
struct fluid_counts *fluid_counts_new(struct arena *arena, const struct fluid *fluid);
void fluid_count(const struct fluid *fluid, struct fluid_counts *counts);

/* All times move on by `shift`; counts grow by `times` what they grew since `before`. */
void fluid_move_on(struct fluid *fluid, const struct fluid_counts *before, uint32_t times,
                   sim_time shift);

/* Bytes that crossed a link up to now (usage counted). For utilisation and
 * for the conservation test. */
double fluid_link_bytes(const struct fluid *fluid, link_id link);

#endif
