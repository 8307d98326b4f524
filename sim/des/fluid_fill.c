/* Weighted max-min fair rates of the region by progressive filling, in
 * integers; and which flows outside have to come in.
 *
 * Raise the level (rate / weight) of all flows together. A link is tight at
 * level left / load, where left is the capacity that other flows leave and
 * load the sum of weight * usage of those without a rate; a cap is a link of its own,
 * tight at cap / weight. Each round takes the lowest such level, an exact
 * fraction, and freezes all flows on all links and caps that have exactly
 * this level; each is charged floor(weight * level). For a flow at its cap this
 * is the cap.
 *
 * Invariants, with exact fractions and charges rounded down:
 *   - left >= 0, because each frozen flow takes at most weight * level of a
 *     link whose level is not lower;
 *   - levels never fall from round to round (for the same reason), while no
 *     flow joins. So the heap may hold old values: an entry whose link has
 *     changed since is brought up to date when it comes to the top, and only
 *     ever sinks; when a join lowers the level of a link, its entry rises.
 *   - A round is defined by sets and sums. It does not see the order of flows
 *     nor whether k equal flows are one flow with k-fold usage.
 *
 * Flows outside keep their charge. Where that is not right any more, they
 * join, in the middle of the filling if possible:
 *   - a link is about to become tight, and flows outside may have a higher
 *     level on it ("wealthy");
 *   - a flow has frozen at another level than before, and one of its links
 *     bound flows outside: what they get depends on it.
 * A join is harmless for the rounds that are over if all links of the flow
 * stay above their level, even after the rounding of everything that is
 * charged on them. If they do not, the filling is spoilt and starts again,
 * with all who have joined. How fluid_solve.c knows that nobody is missing is
 * explained there.
 *
 * The heap is ordered by keys in double precision. They only nominate: all
 * entries within rounding of the lowest are compared as fractions, and a
 * margin is left where a key decides on a join; so no result depends on them.
 *
 * A flow that is due less than 1 byte/s runs at 1, so that it ends some day;
 * the links are charged 0 (the excess is below 1 byte/s a flow, and only
 * where a link has more flows than bytes/s).
 *
 * Bounds: capacity < 2^63, usage and load < 2^64 (asserted), weight < 2^32:
 * weight * left < 2^119, and fractions are compared by 192-bit products.
 *
 * Cost: O(route lengths + entries * log entries) of the region, entries
 * counted again each time one is brought up to date, and the flows on links
 * where somebody wealthy may be.
 *
 * Reference: Bertsekas, Gallager, Data Networks, 2nd ed., section 6.5.2.
 */
#include "des/fluid_state.h"

/* A generous one, for sums and quotients of a few keys. */
#define MARGIN (1.0 + 0x1p-40)

/* ---- levels ------------------------------------------------------------- */

static struct level level_of(const struct fluid *fluid, uint32_t which)
{
    if (which >= fluid->link_count) {
        return fluid_cap_level(&fluid->flows[which - fluid->link_count]);
    }
    const struct link *link = &fluid->links[which];
    return level_new(link->left, link->load_left);
}

/* The same where the key is known: a division less. */
static struct level level_at(const struct fluid *fluid, const struct entry *entry)
{
    if (entry->which >= fluid->link_count) {
        const struct flow *flow = &fluid->flows[entry->which - fluid->link_count];
        return (struct level){(uint128)flow->cap, flow->weight, entry->key};
    }
    const struct link *link = &fluid->links[entry->which];
    return (struct level){link->left, link->load_left, entry->key};
}

/* The level of a flow in the last solution, bound by a link or its cap. */
static struct level level_before(const struct fluid *fluid, const struct flow *flow, uint32_t bound)
{
    debug_assert(bound != NONE);
    return bound == BOUND_BY_CAP ? fluid_cap_level(flow) : fluid->links[bound].level;
}

/* ---- a heap of levels --------------------------------------------------- */

static void place(struct fluid *fluid, uint32_t position, const struct entry *entry)
{
    fluid->heap[position] = *entry;
    fluid->heap_places[entry->which] = position + 1;
}

static void heap_sink(struct fluid *fluid, uint32_t hole, struct entry moved)
{
    const struct entry *heap = fluid->heap;
    const uint32_t count = fluid->heap_count;
    for (uint32_t child = 2 * hole + 1; child < count; child = 2 * hole + 1) {
        child += child + 1 < count && heap[child + 1].key < heap[child].key;
        if (moved.key <= heap[child].key) {
            break;
        }
        place(fluid, hole, &heap[child]);
        hole = child;
    }
    place(fluid, hole, &moved);
}

static void heap_rise(struct fluid *fluid, uint32_t hole, struct entry moved)
{
    const struct entry *heap = fluid->heap;
    while (hole > 0 && moved.key < heap[(hole - 1) / 2].key) {
        place(fluid, hole, &heap[(hole - 1) / 2]);
        hole = (hole - 1) / 2;
    }
    place(fluid, hole, &moved);
}

/* Enters a link or cap; if it is there, only moves it up. */
static void heap_enter(struct fluid *fluid, uint32_t which)
{
    const struct entry entry = {.key = level_of(fluid, which).key, .which = which};
    const uint32_t place_of = fluid->heap_places[which];
    if (place_of == 0) {
        heap_rise(fluid, fluid->heap_count++, entry);
    } else if (entry.key < fluid->heap[place_of - 1].key) {
        heap_rise(fluid, place_of - 1, entry);
    }
}

static void heap_drop_top(struct fluid *fluid)
{
    fluid->heap_places[fluid->heap[0].which] = 0;
    fluid->heap_count--;
    if (fluid->heap_count > 0) {
        heap_sink(fluid, 0, fluid->heap[fluid->heap_count]);
    }
}

static void heap_build(struct fluid *fluid)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < fluid->region_link_count; i++) {
        const uint32_t which = fluid->region_links[i];
        if (fluid->links[which].load_left > 0) {
            place(fluid, count++, &(struct entry){level_of(fluid, which).key, which});
        }
    }
    for (uint32_t i = 0; i < fluid->region_flow_count; i++) {
        const uint32_t which = (uint32_t)fluid->link_count + fluid->region_flows[i];
        if (fluid->flows[fluid->region_flows[i]].has_cap) {
            place(fluid, count++, &(struct entry){level_of(fluid, which).key, which});
        }
    }
    fluid->heap_count = count;
    fluid->is_fresh = true;
    for (uint32_t i = count / 2; i-- > 0;) {
        heap_sink(fluid, i, fluid->heap[i]);
    }
}

static void heap_clear(struct fluid *fluid)
{
    for (uint32_t i = 0; i < fluid->heap_count; i++) {
        fluid->heap_places[fluid->heap[i].which] = 0;
    }
    fluid->heap_count = 0;
}

/* Brings the top of the heap up to date: drops links and caps that bind
 * nobody any more, and sinks links whose level has risen. Ends, because each
 * turn drops an entry or refreshes one. */
static void heap_refresh(struct fluid *fluid)
{
    while (fluid->heap_count > 0 && !fluid->is_fresh) {
        const struct entry top = fluid->heap[0];
        if (top.which >= fluid->link_count) {
            if (!fluid->flows[top.which - fluid->link_count].is_frozen) {
                return;
            }
            heap_drop_top(fluid);
            continue;
        }
        if (fluid->links[top.which].load_left == 0) {
            heap_drop_top(fluid);
            continue;
        }
        const double key = level_of(fluid, top.which).key;
        if (key <= top.key) {
            fluid->heap[0].key = key;
            return;
        }
        heap_sink(fluid, 0, (struct entry){.key = key, .which = top.which});
    }
}

/* ---- joining ------------------------------------------------------------ */

/* With the flow on it, is the link above the rounds that are over, whatever
 * was lost by rounding? */
static bool stays_above(const struct fluid *fluid, const struct link *link)
{
    const double load = (double)link->load_left;
    const double low = fluid->level.key * MARGIN + (double)link->rough / load;
    return link->tight.denominator == 0 && (double)link->left / load > low;
}

/* The flow has joined: enters its links and cap. */
static void enter_flow(struct fluid *fluid, flow_id id)
{
    const struct flow *flow = &fluid->flows[id];
    const bool is_first_round = !(fluid->level.key > 0.0);
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        const link_id link = crossing->link;
        if (fluid->links[link].is_loose) {
            continue;
        }
        heap_enter(fluid, link);
        if (!is_first_round && !stays_above(fluid, &fluid->links[link])) {
            fluid->is_spoilt = true;
        }
    }
    if (flow->has_cap) {
        const uint32_t which = (uint32_t)fluid->link_count + id;
        heap_enter(fluid, which);
        if (level_of(fluid, which).key <= fluid->level.key * MARGIN) {
            fluid->is_spoilt = true;
        }
    }
    fluid->unfrozen_count++;
}

void fluid_join(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    const uint64_t charge = fluid_charge(flow);
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        struct link *link = &fluid->links[crossing->link];
        if (link->is_loose) {
            continue;
        }
        fluid_gather_link(fluid, crossing->link);
        debug_assert(crossing->position >= link->first + link->region_count);
        fluid_segment_swap(fluid, crossing->position, link->first + link->region_count);
        link->region_count++;
        link->left += (uint128)crossing->usage * charge;
        link->rough -= flow->is_rough ? crossing->usage : 0;
        link->load_left += crossing->usage * flow->weight;
    }
    fluid_unbind(fluid, flow);
    flow->bound_before = flow->bound;
    flow->is_frozen = false;
    fluid->region_flows[fluid->region_flow_count++] = id;
    fluid->is_fresh = false;
    if (fluid->is_filling) {
        enter_flow(fluid, id);
    }
}

void fluid_join_all_bound(struct fluid *fluid, link_id id)
{
    /* A join swaps the flow with one that this loop has passed. */
    const struct link *link = &fluid->links[id];
    for (uint32_t i = link->region_count; link->bound_count > 0; i++) {
        debug_assert(i < link->active_count);
        const flow_id flow = fluid_flow_at(fluid, link, i);
        if (fluid->flows[flow].bound == id) {
            fluid_join(fluid, flow);
        }
    }
}

/* May `level`, of a flow outside, be above that of the tight link? With
 * rounded charges on the link, also if it is below it by less than what all of
 * them lost, spread over the flows that the link binds. */
static bool is_wealthy(const struct level *level, const struct level *tight, double rounding)
{
    if (rounding > 0.0) {
        return level->key * MARGIN >= tight->key - rounding * MARGIN;
    }
    return level->key * MARGIN >= tight->key && level_compare(level, tight) > 0;
}

bool fluid_join_wealthy(struct fluid *fluid, link_id id, const struct level *tight)
{
    struct link *link = &fluid->links[id];
    const double rounding = (double)link->rough / (double)tight->denominator;
    /* While a link binds somebody, nobody on it has a higher level. */
    if (link->bound_count == 0 && link->level.denominator > 0 &&
        !is_wealthy(&link->level, tight, rounding)) {
        return false;
    }
    const uint32_t count = fluid->region_flow_count;
    for (uint32_t i = link->region_count; i < link->active_count; i++) {
        const flow_id id_outside = fluid_flow_at(fluid, link, i);
        const struct flow *flow = &fluid->flows[id_outside];
        const struct level level = level_before(fluid, flow, flow->bound);
        if (is_wealthy(&level, tight, rounding)) {
            fluid_join(fluid, id_outside);
        }
    }
    return fluid->region_flow_count > count;
}

/* ---- rounds -------------------------------------------------------------- */

/* Moves from the heap to `tight` all entries whose level may be the lowest. */
static void take_candidates(struct fluid *fluid)
{
    fluid->tight_count = 0;
    heap_refresh(fluid);
    const double limit = fluid->heap_count > 0 ? fluid->heap[0].key * FLUID_KEY_TOLERANCE : 0.0;
    while (fluid->heap_count > 0 && fluid->heap[0].key <= limit) {
        fluid->tight[fluid->tight_count++] = fluid->heap[0];
        heap_drop_top(fluid);
        heap_refresh(fluid);
    }
}

/* The lowest level, and all links and caps that have exactly it, to
 * fluid->tight; candidates that do not go back. Infinite: nothing left. */
static struct level take_tight(struct fluid *fluid)
{
    take_candidates(fluid);
    struct level lowest = level_infinite();
    const uint32_t candidate_count = fluid->tight_count;
    for (uint32_t i = 0; i < candidate_count; i++) {
        const struct level level = level_at(fluid, &fluid->tight[i]);
        if (level_compare(&level, &lowest) < 0) {
            lowest = level;
        }
    }
    if (candidate_count == 1) {
        return lowest;
    }
    fluid->tight_count = 0;
    for (uint32_t i = 0; i < candidate_count; i++) {
        const struct entry entry = fluid->tight[i];
        const struct level level = level_at(fluid, &entry);
        if (level_compare(&level, &lowest) == 0) {
            fluid->tight[fluid->tight_count++] = entry;
        } else {
            heap_enter(fluid, entry.which);
        }
    }
    return lowest;
}

/* The link is about to be tight. As long as it is not touched and has the
 * level that it had, it owes nobody anything. */
static void recruit(struct fluid *fluid, const struct entry *entry)
{
    const link_id id = entry->which;
    struct link *link = &fluid->links[id];
    link->is_checked = false;
    if (link->region_count == link->active_count) {
        link->is_checked = true;
        return;
    }
    const struct level level = level_at(fluid, entry);
    if (!link->is_touched && level_compare(&level, &link->level) == 0) {
        return;
    }
    const uint32_t count = fluid->region_flow_count;
    fluid_join_bound(fluid, id);
    if (fluid->region_flow_count == count) {
        link->is_checked = true;
        fluid_join_wealthy(fluid, id, &level);
    }
}

/* Calls in whom the tight links want. If there were any, the links go back to
 * the heap. */
static bool recruit_tight(struct fluid *fluid, const struct level *lowest)
{
    const uint32_t count = fluid->region_flow_count;
    for (uint32_t i = 0; i < fluid->tight_count; i++) {
        const struct entry *entry = &fluid->tight[i];
        if (entry->which >= fluid->link_count) {
            continue;
        }
        if (fluid->region_flow_count > count) { /* a link that a join has changed comes up again */
            const struct level level = level_of(fluid, entry->which);
            if (level_compare(&level, lowest) != 0) {
                continue;
            }
        }
        recruit(fluid, entry);
    }
    if (fluid->region_flow_count == count) {
        return false;
    }
    for (uint32_t i = 0; i < fluid->tight_count; i++) {
        heap_enter(fluid, fluid->tight[i].which);
    }
    return true;
}

static void touch(struct fluid *fluid, link_id id)
{
    struct link *link = &fluid->links[id];
    if (!link->is_touched) {
        link->is_touched = true;
        fluid->touched[fluid->touched_count++] = id;
    }
}

static bool has_changed(const struct fluid *fluid, const struct flow *flow)
{
    if (flow->bound_before == NONE || flow->rate != flow->rate_next) {
        return true;
    }
    const struct level before = level_before(fluid, flow, flow->bound_before);
    return level_compare(&before, &fluid->level) != 0;
}

static void freeze(struct fluid *fluid, flow_id id, uint32_t bound, const struct share *share)
{
    struct flow *flow = &fluid->flows[id];
    fluid->is_fresh = false;
    flow->is_frozen = true;
    flow->bound = bound;
    flow->rate_next = share->rate > 0 ? (int64_t)share->rate : 1;
    flow->is_starved = share->rate == 0;
    flow->is_rough = share->is_rough;
    fluid->unfrozen_count--;
    const bool is_changed = has_changed(fluid, flow);
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        struct link *link = &fluid->links[crossing->link];
        if (link->is_loose) {
            continue;
        }
        const uint128 taken = (uint128)crossing->usage * share->rate;
        debug_assert(taken <= link->left);
        link->left -= taken;
        link->load_left -= crossing->usage * flow->weight;
        link->rough += share->is_rough ? crossing->usage : 0;
        if (is_changed) {
            touch(fluid, crossing->link);
        }
    }
}

static void freeze_share(struct fluid *fluid, flow_id id, uint32_t bound, struct share *share)
{
    const struct flow *flow = &fluid->flows[id];
    if (flow->is_frozen) {
        return;
    }
    if (flow->weight != share->weight) {
        *share = share_at(&fluid->level, flow->weight);
    }
    sim_assert(share->rate <= (uint64_t)flow->cap);
    freeze(fluid, id, bound, share);
}

static void freeze_tight(struct fluid *fluid)
{
    struct share share = {0};
    /* Each with the load that it binds itself, so before any flow freezes. */
    for (uint32_t i = 0; i < fluid->tight_count; i++) {
        const struct entry *entry = &fluid->tight[i];
        if (entry->which < fluid->link_count) {
            fluid->links[entry->which].tight = level_at(fluid, entry);
        }
    }
    for (uint32_t i = 0; i < fluid->tight_count; i++) {
        const uint32_t which = fluid->tight[i].which;
        if (which >= fluid->link_count) {
            freeze_share(fluid, which - (uint32_t)fluid->link_count, BOUND_BY_CAP, &share);
            continue;
        }
        const struct link *link = &fluid->links[which];
        for (uint32_t j = 0; j < link->region_count; j++) {
            freeze_share(fluid, fluid_flow_at(fluid, link, j), which, &share);
        }
    }
}

/* Calls in whom the links bound that were touched in this round. */
static void recruit_touched(struct fluid *fluid)
{
    for (; fluid->touched_count > 0; fluid->touched_count--) {
        fluid_join_bound(fluid, fluid->touched[fluid->touched_count - 1]);
    }
}

static void fill_rounds(struct fluid *fluid)
{
    while (fluid->unfrozen_count > 0 && !fluid->is_spoilt) {
        const struct level level = take_tight(fluid);
        if (recruit_tight(fluid, &level)) {
            continue;
        }
        sim_assert(level.denominator > 0);
        sim_assert(level.key * FLUID_KEY_TOLERANCE >= fluid->level.key);
        fluid->level = level;
        freeze_tight(fluid);
        recruit_touched(fluid);
    }
}

bool fluid_fill(struct fluid *fluid)
{
    fluid->unfrozen_count = fluid->region_flow_count;
    fluid->touched_count = 0;
    fluid->level = (struct level){.denominator = 1};
    heap_build(fluid);
    fluid->is_spoilt = false;
    fluid->is_filling = true;
    fill_rounds(fluid);
    fluid->is_filling = false;
    heap_clear(fluid);
    return !fluid->is_spoilt;
}
