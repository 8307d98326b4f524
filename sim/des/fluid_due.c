/* When flows end: an indexed 4-ary heap of (time, flow) over all active
 * flows, and one event in the queue for its top.
 *
 * The end is the first nanosecond at which nothing remains. What remains is
 * brought up to date only when the rate changes: remaining -= rate * elapsed is
 * exact, so it does not matter how often, and an unchanged rate leaves the
 * end where it is. The key has the flow's number, so flows that end together come
 * out in increasing number.
 *
 * An event is posted when the earliest end is another than that of the last
 * event; this makes the last one stale, which its version tells. (Two valid
 * versions 2^24 apart cannot both be pending at the same time: the posted time
 * is compared, too.)
 */
#include "des/fluid_state.h"

#define ARITY 4u
#define NANOSECONDS_PER_S 1000000000u
#define VERSION_MASK 0xffffffu

void fluid_settle(struct flow *flow, sim_time now)
{
    const uint128 sent = (uint128)flow->rate * (uint128)(now - flow->settled_at);
    flow->remaining = sent < flow->remaining ? flow->remaining - sent : 0;
    flow->settled_at = now;
}

/* ---- the heap ------------------------------------------------------------- */

static bool is_before(const struct due *a, const struct due *b)
{
    return a->time != b->time ? a->time < b->time : a->flow < b->flow;
}

static void place(struct fluid *fluid, uint32_t position, const struct due *due)
{
    fluid->due[position] = *due;
    fluid->due_places[due->flow] = position + 1;
}

static void rise(struct fluid *fluid, uint32_t hole, const struct due *moved)
{
    while (hole > 0 && is_before(moved, &fluid->due[(hole - 1) / ARITY])) {
        place(fluid, hole, &fluid->due[(hole - 1) / ARITY]);
        hole = (hole - 1) / ARITY;
    }
    place(fluid, hole, moved);
}

static void sink(struct fluid *fluid, uint32_t hole, const struct due *moved)
{
    const struct due *due = fluid->due;
    const uint32_t count = fluid->due_count;
    for (uint32_t first = ARITY * hole + 1; first < count; first = ARITY * hole + 1) {
        const uint32_t end = first + ARITY < count ? first + ARITY : count;
        uint32_t least = first;
        for (uint32_t child = first + 1; child < end; child++) {
            least = is_before(&due[child], &due[least]) ? child : least;
        }
        if (!is_before(&due[least], moved)) {
            break;
        }
        place(fluid, hole, &due[least]);
        hole = least;
    }
    place(fluid, hole, moved);
}

/* Fills the hole with an entry, upwards or downwards. */
static void settle_hole(struct fluid *fluid, uint32_t hole, const struct due *moved)
{
    if (hole > 0 && is_before(moved, &fluid->due[(hole - 1) / ARITY])) {
        rise(fluid, hole, moved);
    } else {
        sink(fluid, hole, moved);
    }
}

/* Now, or later by remaining / rate, rounded up; SIM_TIME_MAX if that is beyond
 * the end of time. */
static sim_time end_of(const struct flow *flow)
{
    const uint64_t rate = (uint64_t)flow->rate;
    const uint64_t left_ns = (uint64_t)(SIM_TIME_MAX - flow->settled_at);
    if (flow->remaining > (uint128)rate * (left_ns - 1)) {
        return SIM_TIME_MAX;
    }
    return flow->settled_at + (sim_time)((flow->remaining + rate - 1) / rate);
}

void fluid_due_set(struct fluid *fluid, flow_id id)
{
    const struct flow *flow = &fluid->flows[id];
    debug_assert(flow->settled_at == event_now(fluid->queue));
    fluid_tell_rate(fluid, id);
    const struct due due = {.time = end_of(flow), .flow = id};
    if (fluid->due_places[id] == 0) {
        rise(fluid, fluid->due_count++, &due);
    } else {
        settle_hole(fluid, fluid->due_places[id] - 1, &due);
    }
}

/* ---- the event ------------------------------------------------------------ */

void fluid_due_post(struct fluid *fluid)
{
    const sim_time earliest = fluid->due_count > 0 ? fluid->due[0].time : SIM_TIME_MAX;
    if (earliest == fluid->posted_time) {
        return;
    }
    fluid->posted_version = (fluid->posted_version + 1) & VERSION_MASK;
    fluid->posted_time = -1;
    if (earliest < SIM_TIME_MAX) {
        fluid->posted_time = earliest;
        event_post(fluid->queue, earliest, 0, fluid->posted_version << 8 | fluid->stamp_kind);
    }
}

bool fluid_due_is_posted(struct fluid *fluid, const struct event *event)
{
    sim_assert((event->stamp & 0xff) == fluid->stamp_kind);
    if (event->time != fluid->posted_time || event->stamp >> 8 != fluid->posted_version) {
        return false;
    }
    sim_assert(event->time == event_now(fluid->queue));
    fluid->posted_time = -1;
    return true;
}

flow_id fluid_due_take(struct fluid *fluid, sim_time time)
{
    if (fluid->due_count == 0 || fluid->due[0].time > time) {
        return NONE;
    }
    sim_assert(fluid->due[0].time == time);
    const flow_id flow = fluid->due[0].flow;
    fluid->due_places[flow] = 0;
    fluid->due_count--;
    if (fluid->due_count > 0) {
        const struct due last = fluid->due[fluid->due_count];
        sink(fluid, 0, &last);
    }
    return flow;
}

/* ---- one after the other -------------------------------------------------- */

size_t fluid_under_way(const struct fluid *fluid)
{
    return fluid->due_count;
}

void fluid_put_aside(struct fluid *fluid, flow_id *flows)
{
    sim_assert(fluid->dirty_count == 0 && fluid->started_count == 0 && fluid->ended_count == 0);
    for (uint32_t i = 0; i < fluid->due_count; i++) {
        flows[i] = fluid->due[i].flow;
        fluid->due_places[flows[i]] = 0;
    }
    fluid->due_count = 0;
    fluid->posted_time = -1;
}

/* Its end follows from what remained when it was settled. */
void fluid_take_up(struct fluid *fluid, flow_id id)
{
    const struct due due = {.time = end_of(&fluid->flows[id]), .flow = id};
    sim_assert(fluid->due_places[id] == 0);
    rise(fluid, fluid->due_count++, &due);
}
