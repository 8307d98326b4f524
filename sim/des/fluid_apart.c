/* Flows that start while nobody else is on their links, and those whom all others have left.
 *
 * Alone, a flow gets what its narrowest link or its cap gives. One that starts so still would have
 * to be entered on each of its links, and taken off again, though often nobody else comes: the
 * collectives of tensor parallelism cross all ports of a node, which a message between stages uses
 * now and then. So links have owners: alternatives of one another (they never run at once) of which
 * each one's links are all theirs. Such a flow runs apart: its links stay as they are without it.
 * An owner counts the crossings of its links by others, of which there are none then; the first of
 * these that comes calls the flow in, which puts its links into the state in which its start would
 * have left them.
 *
 * The order of flows on a link is another than without owners. Rates do not depend on it
 * (fluid_fill.c), nor does what is counted.
 *
 * Cost: O(1) for a start, and an end, that nobody disturbs; O(its links) for one who is left alone.
 */
#include "des/fluid_state.h"

#include "base/arena.h"

/* ---- who owns what ------------------------------------------------------- */

static link_id link_at(const struct fluid *fluid, const struct flow *flow, uint32_t i)
{
    return fluid->crossings[flow->first_crossing + i].link;
}

static bool can_own(const struct fluid *fluid, const struct flow *flow, uint32_t owner)
{
    for (uint32_t i = 0; i < flow->contended; i++) {
        const uint32_t is = fluid->links[link_at(fluid, flow, i)].owner;
        if (is != NONE && is != owner) {
            return false;
        }
    }
    return flow->contended > 0;
}

static void own(struct fluid *fluid, struct flow *flow, uint32_t owner)
{
    for (uint32_t i = 0; i < flow->contended; i++) {
        fluid->links[link_at(fluid, flow, i)].owner = owner;
    }
    flow->owner = owner;
}

/* The level of the link of a crossing to a flow that is alone there. */
static struct level level_on(const struct fluid *fluid, const struct crossing *crossing,
                             uint32_t weight)
{
    return level_new(capacity_scaled(fluid, crossing->link), crossing->usage * weight);
}

static uint32_t narrowest_of(const struct fluid *fluid, const struct flow *flow)
{
    struct level lowest = level_infinite();
    uint32_t narrowest = NONE;
    for (uint32_t i = flow->first_crossing; i < flow->first_crossing + flow->contended; i++) {
        const struct level level = level_on(fluid, &fluid->crossings[i], flow->weight);
        if (level_compare(&level, &lowest) < 0) {
            lowest = level;
            narrowest = i;
        }
    }
    return narrowest;
}

/* Alternatives follow one another; the first who come own a link. */
void fluid_find_owners(struct fluid *fluid)
{
    uint32_t alternative = 0;
    for (size_t i = 0; i < fluid->flow_count; i++) {
        struct flow *flow = &fluid->flows[i];
        const struct flow_record *record = &fluid->records[i];
        const bool is_next = record->alternative == 0 || record->alternative != alternative;
        alternative = record->alternative;
        fluid->owner_count += is_next;
        if (can_own(fluid, flow, fluid->owner_count - 1)) {
            own(fluid, flow, fluid->owner_count - 1);
        }
        fluid->records[i].narrowest = narrowest_of(fluid, flow);
    }
    fluid->owners = arena_array(fluid->arena, fluid->owner_count, sizeof *fluid->owners);
    for (uint32_t i = 0; i < fluid->owner_count; i++) {
        fluid->owners[i].apart = NONE;
    }
}

/* ---- alone --------------------------------------------------------------- */

/* The rate of a flow that is alone on its links, and what binds it. */
static struct level take_alone(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    const struct crossing *narrowest = &fluid->crossings[fluid->records[id].narrowest];
    const struct level level = level_on(fluid, narrowest, flow->weight);
    struct level lowest = fluid_cap_level(flow);
    flow->bound = BOUND_BY_CAP;
    if (level_compare(&level, &lowest) < 0) {
        lowest = level;
        flow->bound = narrowest->link;
    }
    const struct share share = share_at(&lowest, flow->weight);
    flow->is_rough = share.is_rough;
    flow->is_starved = share.rate == 0;
    flow->rate = share.rate > 0 ? (int64_t)share.rate : 1;
    return lowest;
}

/* The links of a flow that is alone there are charged for it. */
static void charge_alone(struct fluid *fluid, const struct flow *flow, const struct level *lowest)
{
    const uint64_t charge = fluid_charge(flow);
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        struct link *link = &fluid->links[crossing->link];
        if (link->is_loose) {
            continue;
        }
        link->left -= (uint128)crossing->usage * charge;
        link->rough = flow->is_rough ? crossing->usage : 0;
        link->level = level_infinite();
        link->is_dirty = false;
    }
    if (flow->bound != BOUND_BY_CAP) {
        sim_assert(!fluid->links[flow->bound].is_loose);
        fluid->links[flow->bound].level = *lowest;
        fluid->links[flow->bound].bound_count = 1;
    }
}

void fluid_start_alone(struct fluid *fluid, flow_id id)
{
    const struct level lowest = take_alone(fluid, id);
    charge_alone(fluid, &fluid->flows[id], &lowest);
    fluid_due_set(fluid, id);
    fluid->statistics.alone++;
}

void fluid_leave_alone(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    const int64_t rate_before = flow->rate;
    const uint64_t charge = fluid_charge(flow);
    fluid_unbind(fluid, flow);
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        struct link *link = &fluid->links[crossing->link];
        if (!link->is_loose) {
            link->left += (uint128)crossing->usage * charge;
            fluid_loosen(fluid, crossing->link);
        }
        link->is_dirty = false;
    }
    fluid_settle(flow, event_now(fluid->queue));
    const struct level lowest = take_alone(fluid, id);
    charge_alone(fluid, flow, &lowest);
    if (flow->rate != rate_before) {
        fluid_due_set(fluid, id);
        fluid->statistics.flows_changed++;
    }
}

/* ---- apart --------------------------------------------------------------- */

bool fluid_start_apart(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    struct owner *owner = &fluid->owners[flow->owner];
    if (owner->others > 0) {
        return false;
    }
    sim_assert(owner->apart == NONE);
    take_alone(fluid, id);
    flow->is_apart = true;
    owner->apart = id;
    fluid_due_set(fluid, id);
    fluid->statistics.alone++;
    return true;
}

/* It has the rate that it has alone: what binds it tells at which level. */
static void call_in(struct fluid *fluid, struct owner *owner)
{
    const flow_id id = owner->apart;
    struct flow *flow = &fluid->flows[id];
    const struct level lowest = take_alone(fluid, id);
    owner->apart = NONE;
    flow->is_apart = false;
    fluid_enter_links(fluid, id);
    charge_alone(fluid, flow, &lowest);
}

void fluid_come(struct fluid *fluid, uint32_t number)
{
    struct owner *owner = &fluid->owners[number];
    if (owner->apart != NONE) {
        call_in(fluid, owner);
    }
    owner->others++;
}
