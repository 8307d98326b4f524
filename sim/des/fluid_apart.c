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
    }
    fluid->owners = arena_array(fluid->arena, fluid->owner_count, sizeof *fluid->owners);
    for (uint32_t i = 0; i < fluid->owner_count; i++) {
        fluid->owners[i].apart = NONE;
    }
}

/* ---- alone --------------------------------------------------------------- */

static int64_t rate_alone(const struct fluid *fluid, flow_id id)
{
    const int64_t cap = fluid->flows[id].cap;
    const int64_t alone = fluid->records[id].rate_alone;
    return cap < alone ? cap : alone;
}

void fluid_start_alone(struct fluid *fluid, flow_id id)
{
    fluid->flows[id].rate = rate_alone(fluid, id);
    fluid_due_set(fluid, id);
    fluid->statistics.alone++;
}

void fluid_leave_alone(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    fluid_unbind(fluid, flow);
    flow->bound = NONE;
    flow->is_rough = false;
    flow->is_starved = false;
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        struct link *link = &fluid->links[crossing->link];
        if (link->is_kept) {
            link->is_kept = false;
            link->is_dirty = false;
            link->level = level_infinite();
            fluid_loosen(fluid, crossing->link);
        }
    }
    fluid_change_rate(fluid, id, rate_alone(fluid, id));
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
    flow->is_apart = true;
    owner->apart = id;
    fluid_start_alone(fluid, id);
    return true;
}

/* It has the rate that it has alone. */
static void call_in(struct fluid *fluid, struct owner *owner)
{
    const flow_id id = owner->apart;
    owner->apart = NONE;
    fluid->flows[id].is_apart = false;
    fluid_enter_links(fluid, id);
}

void fluid_come(struct fluid *fluid, uint32_t number)
{
    struct owner *owner = &fluid->owners[number];
    if (owner->apart != NONE) {
        call_in(fluid, owner);
    }
    owner->others++;
}
