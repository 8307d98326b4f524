/* Flows that hang together (fluid_state.h), and rates of a few of them, worked out from nothing.
 *
 * Loose links bind nobody, so the rates of flows that hang together follow from who they are, and
 * from nothing else. When a flow comes, theirs are filled with whom it hangs together now; when one
 * goes, those of all who were with it on a strict link. Mostly that is one flow, which has what its
 * links and its cap give, or two or three: then it costs less to fill them anew than to keep for
 * each link what is left of it and whom it binds, as fluid_solve.c has to.
 *
 * The filling is that of fluid_fill.c, without heap and without anybody outside: each round looks
 * at all links and caps of the group, takes the lowest level, an exact fraction, and freezes all
 * flows on all links and caps that have exactly this level.
 *
 * Where more than FEW hang together, or some of their links are kept already, all of these links
 * are from now on, and the flows join the region, in which all get their rates anew. Which links
 * are kept follows from who was under way together, so that cycles that come again do so with the
 * same work.
 *
 * Cost: O(flows * route) to gather a group; as much, and its links, for each level that it has.
 */
#include "des/fluid_state.h"

/* Measured on rows of tests/bench/commands: from five on a region, of which mostly two or three
 * flows change, costs less. */
enum { FEW = 4 };

/* A part of group_flows and of group_links. */
struct group {
    uint32_t flow_first, flow_end;
    uint32_t link_first, link_end;
};

/* ---- who is in it ---------------------------------------------------------------------------- */

static void add_flow(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    if (!flow->is_gathered) {
        flow->is_gathered = true;
        fluid->group_flows[fluid->group_flow_count++] = id;
    }
}

/* With the flows on it, whose load it has from now on. */
static void add_link(struct fluid *fluid, link_id id)
{
    struct link *link = &fluid->links[id];
    link->is_gathered = true;
    link->left = capacity_scaled(fluid, id);
    sim_assert(link->load_left == 0);
    fluid->group_links[fluid->group_link_count++] = id;
    for (uint32_t i = 0; i < link->active_count; i++) {
        const struct crossing *crossing = &fluid->crossings[fluid->segments[link->first + i]];
        link->load_left += crossing->usage * fluid->flows[crossing->flow].weight;
        add_flow(fluid, crossing->flow);
    }
}

/* Adds the links of a flow, and who is on them. False: one of these links is kept. */
static bool add_links_of(struct fluid *fluid, const struct flow *flow)
{
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        const struct link *link = &fluid->links[crossing->link];
        if (link->is_kept) {
            return false;
        }
        if (!link->is_loose && !link->is_gathered) {
            add_link(fluid, crossing->link);
        }
    }
    return true;
}

/* False: too many hang together, or some of their links are kept. */
static bool gather(struct fluid *fluid, flow_id id)
{
    const uint32_t first = fluid->group_flow_count;
    add_flow(fluid, id);
    for (uint32_t i = first; i < fluid->group_flow_count; i++) {
        if (!add_links_of(fluid, &fluid->flows[fluid->group_flows[i]]) ||
            fluid->group_flow_count - first > FEW) {
            return false;
        }
    }
    return true;
}

/* Forgets those from these on. */
static void forget(struct fluid *fluid, uint32_t flow_first, uint32_t link_first)
{
    for (uint32_t i = flow_first; i < fluid->group_flow_count; i++) {
        fluid->flows[fluid->group_flows[i]].is_gathered = false;
    }
    for (uint32_t i = link_first; i < fluid->group_link_count; i++) {
        struct link *link = &fluid->links[fluid->group_links[i]];
        link->is_gathered = false;
        link->load_left = 0;
    }
    fluid->group_flow_count = flow_first;
    fluid->group_link_count = link_first;
}

/* ---- few: what they get ---------------------------------------------------------------------- */

static bool is_lower(const struct level *a, const struct level *b)
{
    if (a->key * FLUID_KEY_TOLERANCE < b->key || b->key * FLUID_KEY_TOLERANCE < a->key) {
        return a->key < b->key;
    }
    return level_compare(a, b) < 0;
}

static bool is_equal(const struct level *a, const struct level *b)
{
    return a->key <= b->key * FLUID_KEY_TOLERANCE && b->key <= a->key * FLUID_KEY_TOLERANCE &&
           level_compare(a, b) == 0;
}

/* While a group is filled, a flow of it that has no new rate yet has rate_next 0. */
static bool is_due(const struct flow *flow)
{
    return flow->rate_next == 0;
}

/* Of all links that still owe somebody, each at its own, and of the caps of these. */
static struct level lowest_level(struct fluid *fluid, const struct group *group)
{
    struct level lowest = level_infinite();
    for (uint32_t i = group->link_first; i < group->link_end; i++) {
        struct link *link = &fluid->links[fluid->group_links[i]];
        if (link->load_left > 0) {
            link->tight = level_new(link->left, link->load_left);
            lowest = is_lower(&link->tight, &lowest) ? link->tight : lowest;
        }
    }
    for (uint32_t i = group->flow_first; i < group->flow_end; i++) {
        const struct flow *flow = &fluid->flows[fluid->group_flows[i]];
        if (flow->has_cap && is_due(flow)) {
            const struct level cap = fluid_cap_level(flow);
            lowest = is_lower(&cap, &lowest) ? cap : lowest;
        }
    }
    sim_assert(lowest.denominator > 0);
    return lowest;
}

/* Its links are charged what it is due, rounded down. */
static void freeze(struct fluid *fluid, struct flow *flow, const struct level *level)
{
    const struct share share = share_at(level, flow->weight);
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    sim_assert(share.rate <= (uint64_t)flow->cap);
    flow->rate_next = share.rate > 0 ? (int64_t)share.rate : 1;
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        struct link *link = &fluid->links[crossing->link];
        if (!link->is_loose) {
            const uint128 taken = (uint128)crossing->usage * share.rate;
            sim_assert(taken <= link->left);
            link->left -= taken;
            link->load_left -= crossing->usage * flow->weight;
        }
    }
}

/* All on a link that is tight at this level. How many had none yet. */
static uint32_t freeze_link(struct fluid *fluid, const struct link *link, const struct level *level)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < link->active_count; i++) {
        struct flow *flow = &fluid->flows[fluid_flow_at(fluid, link, i)];
        if (is_due(flow)) {
            freeze(fluid, flow, level);
            count++;
        }
    }
    return count;
}

/* A round: how many get their rate. Levels of links are those from before it. */
static uint32_t freeze_lowest(struct fluid *fluid, const struct group *group)
{
    const struct level level = lowest_level(fluid, group);
    uint32_t count = 0;
    for (uint32_t i = group->link_first; i < group->link_end; i++) {
        const struct link *link = &fluid->links[fluid->group_links[i]];
        if (link->load_left > 0 && is_equal(&link->tight, &level)) {
            count += freeze_link(fluid, link, &level);
        }
    }
    for (uint32_t i = group->flow_first; i < group->flow_end; i++) {
        struct flow *flow = &fluid->flows[fluid->group_flows[i]];
        if (flow->has_cap && is_due(flow)) {
            const struct level cap = fluid_cap_level(flow);
            if (is_equal(&cap, &level)) {
                freeze(fluid, flow, &level);
                count++;
            }
        }
    }
    return count;
}

static void fill(struct fluid *fluid, const struct group *group)
{
    struct fluid_statistics *statistics = &fluid->statistics;
    const uint32_t count = group->flow_end - group->flow_first;
    for (uint32_t i = group->flow_first; i < group->flow_end; i++) {
        fluid->flows[fluid->group_flows[i]].rate_next = 0;
    }
    for (uint32_t frozen = 0; frozen < count;) {
        frozen += freeze_lowest(fluid, group);
    }
    for (uint32_t i = group->flow_first; i < group->flow_end; i++) {
        const flow_id id = fluid->group_flows[i];
        fluid->flows[id].bound = NONE;
        fluid_change_rate(fluid, id, fluid->flows[id].rate_next);
    }
    statistics->fills++;
    statistics->few++;
    statistics->flows_filled += count;
    statistics->region_max = count > statistics->region_max ? count : statistics->region_max;
}

/* ---- many: they join the region -------------------------------------------------------------- */

/* It is charged for those that are on it. */
static void keep_link(struct fluid *fluid, link_id id)
{
    struct link *link = &fluid->links[id];
    sim_assert(link->bound_count == 0);
    link->is_kept = true;
    link->level = level_infinite();
    link->left = capacity_scaled(fluid, id);
    link->rough = 0;
    for (uint32_t i = 0; i < link->active_count; i++) {
        const struct crossing *crossing = &fluid->crossings[fluid->segments[link->first + i]];
        const struct flow *flow = &fluid->flows[crossing->flow];
        link->left -= (uint128)crossing->usage * fluid_charge(flow); /* given back by a join */
        link->rough += flow->is_rough ? crossing->usage : 0;
        add_flow(fluid, crossing->flow);
    }
}

static void keep_links_of(struct fluid *fluid, const struct flow *flow)
{
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        const struct link *link = &fluid->links[crossing->link];
        if (!link->is_loose && !link->is_kept) {
            keep_link(fluid, crossing->link);
        }
    }
}

/* All who hang together with it by links that were not kept. They join when all such links are. */
static void keep_links(struct fluid *fluid, flow_id id)
{
    const uint32_t first = fluid->group_flow_count;
    add_flow(fluid, id);
    for (uint32_t i = first; i < fluid->group_flow_count; i++) {
        keep_links_of(fluid, &fluid->flows[fluid->group_flows[i]]);
        fluid->joining[fluid->joining_count++] = fluid->group_flows[i];
    }
}

void fluid_join_many(struct fluid *fluid)
{
    for (; fluid->joining_count > 0; fluid->joining_count--) {
        fluid_join(fluid, fluid->joining[fluid->joining_count - 1]);
    }
}

/* ---- all of an instant ----------------------------------------------------------------------- */

static void solve_alone(struct fluid *fluid, flow_id id)
{
    if (fluid->flows[id].rate == 0) {
        fluid_start_alone(fluid, id);
    } else {
        fluid_leave_alone(fluid, id);
    }
}

void fluid_solve_group(struct fluid *fluid, flow_id id)
{
    if (fluid->flows[id].is_gathered) {
        return;
    }
    if (fluid_is_alone(fluid, &fluid->flows[id])) {
        solve_alone(fluid, id);
        return;
    }
    struct group group = {.flow_first = fluid->group_flow_count,
                          .link_first = fluid->group_link_count};
    if (!gather(fluid, id)) {
        forget(fluid, group.flow_first, group.link_first);
        keep_links(fluid, id);
        return;
    }
    group.flow_end = fluid->group_flow_count;
    group.link_end = fluid->group_link_count;
    fill(fluid, &group);
}

void fluid_forget_groups(struct fluid *fluid)
{
    forget(fluid, 0, 0);
}
