/* Which flows get new rates: the region.
 *
 * A solution. The level (rate / weight) of a flow is the lowest of its cap /
 * weight and the levels of its links. The level of a link is the least l with
 *
 *     sum over flows below l of usage * charge
 *         + l * sum over the other flows of usage * weight  >=  capacity,      (1)
 *
 * where a flow of level x is charged floor(weight * x); infinite if there is
 * none. By induction over the levels, from the lowest up, there is one
 * solution, that of filling everything. (The least l is needed: rounding
 * may leave a second solution to (1), above it.) So it does not matter how
 * the solution was reached, nor which flows were looked at: a folded and an
 * unfolded run give the same rates.
 *
 * The region starts with the flows that started and those bound by links that
 * a flow came to or left. It is filled as if the charge of all others were given
 * (fluid_fill.c), and who may be affected joins, until nobody is. What is left of each
 * link is kept up to date, so those who stay outside are not looked at. A link
 * is touched if a flow on it came, went, or changed its level. Then
 *
 *   - On a link that is not touched nothing in (1) has changed. If it binds a flow of
 *     the region at another level than before, see the next.
 *   - A link that is tight in the filling, at l, with all flows outside below
 *     l - U / D has level l by (1), where U is the usage of the flows below l
 *     that are charged less than weight * level (each by less than usage), and
 *     D the load that it binds. For let G be the left side of (1) without
 *     rounding: G is continuous, exceeds (1) by less than U from l - U / D
 *     on, and rises with a slope of at least D below l. If U = 0, flows
 *     outside at l itself may stay.
 *   - A touched link that is not tight and has U or more left binds nobody, for
 *     the same reason. With less left, all its flows join (this is rare).
 *   - Flows outside that a touched link bound always join.
 *
 * So all levels are those of (1), in the region and outside.
 *
 * A loose link (fluid_state.h) has no level by (1): let l be one, of a link that is not full even
 * if each flow takes what its cap and its links alone let it have. Those at l or above have links
 * and caps that let them have l, so l * weight is at most that, as a charge is: the left side of
 * (1) is below capacity. So such links are left out of all this. Which these are goes by which
 * flows are active, and is the same however a solution was reached.
 *
 * A flow that shares no strict link when it starts, or since others left them, is served without a
 * region, and when it starts without its links if it owns them (fluid_apart.c).
 *
 * Cost: that of the fillings. With 4,096 random flows on a fat tree of 4,096
 * hosts (tests/bench/bench_fluid.c) an end and a start together reach 6 flows.
 */
#include "des/fluid_state.h"

#include "base/host.h"

enum { TIMED_EVERY = 16 };

/* ---- the region --------------------------------------------------------- */

bool fluid_is_alone(const struct fluid *fluid, const struct flow *flow)
{
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        const struct link *link = &fluid->links[crossing->link];
        if (!link->is_loose && link->active_count > 1) {
            return false;
        }
    }
    return true;
}

/* Those that own their links go onto them if others are there, else they run apart. The rest stays
 * in the list. */
static void start_owners(struct fluid *fluid)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < fluid->started_count; i++) {
        const flow_id id = fluid->started[i];
        if (fluid->flows[id].owner != NONE) {
            if (fluid_start_apart(fluid, id)) {
                continue;
            }
            fluid_join_links(fluid, id);
        }
        fluid->started[count++] = id;
    }
    fluid->started_count = count;
}

/* Those of flows that came, and of those whom others left on links that are not kept. Then it is
 * known which links are. */
static void solve_groups(struct fluid *fluid)
{
    for (uint32_t i = 0; i < fluid->started_count; i++) {
        fluid_solve_group(fluid, fluid->started[i]);
    }
    for (uint32_t i = 0; i < fluid->dirty_count; i++) {
        struct link *link = &fluid->links[fluid->dirty[i]];
        for (uint32_t k = 0; !link->is_kept && k < link->active_count; k++) {
            fluid_solve_group(fluid, fluid_flow_at(fluid, link, k));
        }
        link->is_dirty = link->is_kept;
    }
}

static void start_region(struct fluid *fluid)
{
    start_owners(fluid);
    solve_groups(fluid);
    fluid_join_many(fluid);
    for (uint32_t i = 0; i < fluid->dirty_count; i++) {
        const struct link *link = &fluid->links[fluid->dirty[i]];
        if (!link->is_dirty) { /* its group was solved, or who is on it was served alone */
            continue;
        }
        const flow_id last = link->active_count == 1 ? fluid_flow_at(fluid, link, 0) : NONE;
        if (last != NONE && fluid_is_alone(fluid, &fluid->flows[last])) {
            fluid_leave_alone(fluid, last);
        } else {
            fluid_gather_link(fluid, fluid->dirty[i]);
            fluid_join_bound(fluid, fluid->dirty[i]);
        }
    }
}

/* Takes back the rate that a filling gave. */
static void thaw(struct fluid *fluid, struct flow *flow)
{
    const uint64_t charge = flow->is_starved ? 0 : (uint64_t)flow->rate_next;
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        struct link *link = &fluid->links[crossing->link];
        if (link->is_loose) {
            continue;
        }
        link->left += (uint128)crossing->usage * charge;
        link->load_left += crossing->usage * flow->weight;
        link->rough -= flow->is_rough ? crossing->usage : 0;
    }
    flow->is_frozen = false;
}

/* Back to the state before a filling, but for those who have joined. */
static void take_back(struct fluid *fluid)
{
    for (uint32_t i = 0; i < fluid->region_flow_count; i++) {
        struct flow *flow = &fluid->flows[fluid->region_flows[i]];
        if (flow->is_frozen) {
            thaw(fluid, flow);
        }
    }
    for (uint32_t i = 0; i < fluid->region_link_count; i++) {
        fluid_reset_link(&fluid->links[fluid->region_links[i]]);
    }
}

static void join_all(struct fluid *fluid, link_id id)
{
    const struct link *link = &fluid->links[id];
    while (link->region_count < link->active_count) {
        fluid_join(fluid, fluid_flow_at(fluid, link, link->region_count));
    }
}

/* After a filling: who has to join all the same? False: nobody. */
static bool enlarge(struct fluid *fluid)
{
    const uint32_t count = fluid->region_flow_count;
    const uint32_t link_count = fluid->region_link_count;
    for (uint32_t i = 0; i < link_count; i++) {
        const link_id id = fluid->region_links[i];
        const struct link *link = &fluid->links[id];
        if (!link->is_touched || link->is_checked) {
            continue;
        }
        sim_assert(link->bound_count == 0);
        if (link->tight.denominator > 0) {
            fluid_join_wealthy(fluid, id, &link->tight);
        } else if (link->left < link->rough) {
            join_all(fluid, id);
        }
    }
    return fluid->region_flow_count > count;
}

static void solve_region(struct fluid *fluid)
{
    struct fluid_statistics *statistics = &fluid->statistics;
    bool is_done = fluid->region_flow_count == 0;
    while (!is_done) {
        is_done = fluid_fill(fluid) && !enlarge(fluid);
        if (!is_done) {
            take_back(fluid);
        }
        statistics->fills++;
        statistics->flows_filled += fluid->region_flow_count;
    }
    if (fluid->region_flow_count > statistics->region_max) {
        statistics->region_max = fluid->region_flow_count;
    }
}

/* ---- the new solution ----------------------------------------------------- */

void fluid_change_rate(struct fluid *fluid, flow_id id, int64_t rate)
{
    struct flow *flow = &fluid->flows[id];
    if (flow->rate != rate) {
        fluid_settle(flow, event_now(fluid->queue));
        flow->rate = rate;
        fluid_due_set(fluid, id);
        fluid->statistics.flows_changed++;
    }
}

static void commit_flow(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    sim_assert(flow->is_frozen);
    if (flow->bound < fluid->link_count) {
        fluid->links[flow->bound].bound_count++;
    }
    fluid_change_rate(fluid, id, flow->rate_next);
}

static void commit_link(struct fluid *fluid, link_id id)
{
    struct link *link = &fluid->links[id];
    sim_assert(link->load_left == 0);
    if (link->tight.denominator > 0) {
        link->level = link->tight;
    } else if (link->is_touched) {
        link->level = level_infinite();
    }
    link->region_count = 0;
    link->is_gathered = false;
    link->is_touched = false;
    link->is_dirty = false;
    if (link->bound_count == 0) {
        fluid_loosen(fluid, id);
    }
}

static void commit(struct fluid *fluid)
{
    for (uint32_t i = 0; i < fluid->region_flow_count; i++) {
        commit_flow(fluid, fluid->region_flows[i]);
    }
    for (uint32_t i = 0; i < fluid->region_link_count; i++) {
        commit_link(fluid, fluid->region_links[i]);
    }
    fluid_forget_groups(fluid);
    fluid->region_link_count = 0;
    fluid->region_flow_count = 0;
    fluid->started_count = 0;
    fluid->dirty_count = 0;
    fluid->has_ended_apart = false;
}

void fluid_solve(struct fluid *fluid)
{
    sim_assert(fluid->is_sealed);
    if (fluid->dirty_count > 0 || fluid->started_count > 0 || fluid->has_ended_apart) {
        /* A look at the clock costs as much as a small region: every 16th solve is timed. */
        const bool is_timed = fluid->statistics.solves % TIMED_EVERY == 0;
        const double start_s = is_timed ? host_now_s() : 0;
        fluid->statistics.solves++;
        start_region(fluid);
        solve_region(fluid);
        commit(fluid);
        if (is_timed) {
            fluid->statistics.solve_s += TIMED_EVERY * (host_now_s() - start_s);
        }
    }
    fluid_due_post(fluid);
}
