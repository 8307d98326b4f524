/* Flows that are declared, start and end.
 *
 * fluid_start and an ending take note of what changed; the rates are computed
 * by fluid_solve.c, with the filling in fluid_fill.c; fluid_due.c knows when
 * flows end. A flow that crosses only slack links has its cap as rate at once.
 */
#include "des/fluid_state.h"

#include "base/arena.h"

#define NANOSECONDS_PER_S 1000000000u

/* ---- declaring -------------------------------------------------------- */

struct fluid *fluid_new(struct arena *arena, struct event_queue *queue, uint32_t stamp_kind)
{
    sim_assert(stamp_kind < 256);
    struct fluid *fluid = arena_alloc(arena, sizeof *fluid);
    fluid->arena = arena;
    fluid->queue = queue;
    fluid->stamp_kind = stamp_kind;
    fluid->posted_time = -1;
    return fluid;
}

void fluid_reserve(struct fluid *fluid, const struct fluid_sizes *sizes)
{
    sim_assert(fluid->link_count == 0 && fluid->flow_count == 0);
    fluid->capacities = arena_array(fluid->arena, sizes->links, sizeof *fluid->capacities);
    fluid->records = arena_array(fluid->arena, sizes->flows, sizeof *fluid->records);
    fluid->crossings = arena_array(fluid->arena, sizes->crossings, sizeof *fluid->crossings);
    fluid->link_capacity = sizes->links;
    fluid->record_capacity = sizes->flows;
    fluid->crossing_capacity = sizes->crossings;
}

link_id fluid_add_link(struct fluid *fluid, int64_t capacity_bytes_per_s)
{
    sim_assert(!fluid->is_sealed);
    sim_assert(capacity_bytes_per_s >= 1);
    sim_assert(fluid->link_count < NONE / 2);
    fluid->capacities = arena_grow(fluid->arena, fluid->capacities, &fluid->link_capacity,
                                   fluid->link_count + 1, sizeof *fluid->capacities);
    fluid->capacities[fluid->link_count] = capacity_bytes_per_s;
    return (link_id)fluid->link_count++;
}

static void add_crossings(struct fluid *fluid, const struct fluid_flow_options *options)
{
    const size_t first = fluid->crossing_count;
    fluid->crossings = arena_grow(fluid->arena, fluid->crossings, &fluid->crossing_capacity,
                                  first + options->route_count, sizeof *fluid->crossings);
    for (uint32_t i = 0; i < options->route_count; i++) {
        const struct fluid_crossing *route = &options->route[i];
        sim_assert(route->link < fluid->link_count);
        sim_assert(route->usage > 0);
        fluid->crossings[first + i] = (struct crossing){
            .usage = route->usage, .link = route->link, .flow = (flow_id)fluid->flow_count};
    }
    fluid->crossing_count += options->route_count;
    sim_assert(fluid->crossing_count < NONE);
}

flow_id fluid_add_flow(struct fluid *fluid, const struct fluid_flow_options *options)
{
    sim_assert(!fluid->is_sealed);
    sim_assert(options->weight >= 1);
    sim_assert(options->cap_bytes_per_s_max >= 1);
    sim_assert(fluid->flow_count < NONE / 2);
    fluid->records = arena_grow(fluid->arena, fluid->records, &fluid->record_capacity,
                                fluid->flow_count + 1, sizeof *fluid->records);
    fluid->records[fluid->flow_count] =
        (struct flow_record){.cap_max = options->cap_bytes_per_s_max,
                             .weight = options->weight,
                             .first_crossing = (uint32_t)fluid->crossing_count,
                             .route_count = options->route_count,
                             .alternative = options->alternative};
    add_crossings(fluid, options);
    return (flow_id)fluid->flow_count++;
}

void fluid_watch(struct fluid *fluid, fluid_rate_hook *on_rate, void *context)
{
    fluid->on_rate = on_rate;
    fluid->context = context;
}

/* ---- sealing ---------------------------------------------------------- */

static void build_links(struct fluid *fluid)
{
    fluid->links = arena_array(fluid->arena, fluid->link_count, sizeof *fluid->links);
    for (size_t i = 0; i < fluid->link_count; i++) {
        struct link *link = &fluid->links[i];
        link->is_loose = true;
        link->level = level_infinite();
        link->owner = NONE;
    }
}

static void build_flows(struct fluid *fluid)
{
    fluid->flows = arena_room(fluid->arena, fluid->flow_count, sizeof *fluid->flows);
    for (size_t i = 0; i < fluid->flow_count; i++) {
        const struct flow_record *record = &fluid->records[i];
        fluid->flows[i] = (struct flow){.weight = record->weight,
                                        .first_crossing = record->first_crossing,
                                        .bound = NONE,
                                        .owner = NONE,
                                        .state = FLOW_IDLE};
    }
}

/* Gives each link its segment and fills it, by link and then by flow. */
static void build_segments(struct fluid *fluid)
{
    fluid->segments = arena_room(fluid->arena, fluid->crossing_count, sizeof *fluid->segments);
    for (size_t i = 0; i < fluid->crossing_count; i++) {
        fluid->links[fluid->crossings[i].link].declared_count++;
    }
    uint32_t first = 0;
    for (size_t i = 0; i < fluid->link_count; i++) {
        fluid->links[i].first = first;
        first += fluid->links[i].declared_count;
        fluid->links[i].declared_count = 0;
    }
    for (uint32_t i = 0; i < fluid->crossing_count; i++) {
        struct crossing *crossing = &fluid->crossings[i];
        struct link *link = &fluid->links[crossing->link];
        crossing->position = link->first + link->declared_count++;
        fluid->segments[crossing->position] = i;
    }
}

/* Each link at most once in a route: flows come in order, so a repeated
 * flow would be adjacent in the segment. */
static void assert_routes_are_simple(const struct fluid *fluid, const struct link *link)
{
    for (uint32_t i = 1; i < link->declared_count; i++) {
        sim_assert(fluid_flow_at(fluid, link, i - 1) != fluid_flow_at(fluid, link, i));
    }
}

/* Slack: capacity >= sum of usage * cap, of alternatives only the largest. Stops at the first
 * excess, so the sum stays below 2^87 + 2^127. The load of all must fit 64 bits. Alternatives
 * follow one another in a link's segment, as flows do. */
static bool can_be_tight(const struct fluid *fluid, link_id id)
{
    const struct link *link = &fluid->links[id];
    const uint128 capacity = capacity_scaled(fluid, id);
    uint128 demand = 0;
    uint128 load = 0;
    uint128 largest = 0; /* of the alternatives under way, in `demand` already */
    uint32_t alternative = 0;
    for (uint32_t i = 0; i < link->declared_count; i++) {
        const struct crossing *crossing = &fluid->crossings[fluid->segments[link->first + i]];
        const struct flow_record *record = &fluid->records[crossing->flow];
        const uint128 wanted = (uint128)crossing->usage * (uint64_t)record->cap_max;
        load += (uint128)crossing->usage * record->weight;
        if (record->alternative == 0 || record->alternative != alternative) {
            alternative = record->alternative;
            largest = 0;
        }
        if (demand <= capacity && wanted > largest) {
            demand += wanted - largest;
            largest = wanted;
        }
    }
    const bool is_tight = demand > capacity;
    sim_assert(!is_tight || load <= UINT64_MAX);
    return is_tight;
}

static void crossing_swap(struct fluid *fluid, uint32_t a, uint32_t b)
{
    const struct crossing kept = fluid->crossings[a];
    fluid->crossings[a] = fluid->crossings[b];
    fluid->crossings[b] = kept;
    fluid->segments[fluid->crossings[a].position] = a;
    fluid->segments[fluid->crossings[b].position] = b;
}

static int64_t at_least_one(uint128 bytes_per_s)
{
    return bytes_per_s > 0 ? (int64_t)bytes_per_s : 1;
}

/* Puts the crossings that can be tight first, in their order. On a route of
 * one, a cap of ceil(capacity / usage) or more never binds before the link. */
static void seal_flow(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    struct flow_record *record = &fluid->records[id];
    record->cap_useless = INT64_MAX;
    record->rate_alone = INT64_MAX;
    for (uint32_t i = 0; i < record->route_count; i++) {
        const struct crossing *crossing = &fluid->crossings[flow->first_crossing + i];
        if (fluid->links[crossing->link].is_slack) {
            continue;
        }
        const uint128 capacity = capacity_scaled(fluid, crossing->link);
        if (capacity < (uint128)record->cap_useless * crossing->usage) { /* else not the least */
            const uint128 alone = (capacity + crossing->usage - 1) / crossing->usage;
            record->cap_useless = (int64_t)alone;
            record->rate_alone = at_least_one(capacity / crossing->usage);
        }
        crossing_swap(fluid, flow->first_crossing + flow->contended, flow->first_crossing + i);
        flow->contended++;
    }
}

static void allocate_work(struct fluid *fluid)
{
    struct arena *arena = fluid->arena;
    const size_t links = fluid->link_count;
    const size_t flows = fluid->flow_count;
    fluid->dirty = arena_room(arena, links, sizeof *fluid->dirty);
    fluid->started = arena_room(arena, flows, sizeof *fluid->started);
    fluid->region_links = arena_room(arena, links, sizeof *fluid->region_links);
    fluid->region_flows = arena_room(arena, flows, sizeof *fluid->region_flows);
    fluid->group_flows = arena_room(arena, flows, sizeof *fluid->group_flows);
    fluid->joining = arena_room(arena, flows, sizeof *fluid->joining);
    fluid->group_links = arena_room(arena, links, sizeof *fluid->group_links);
    fluid->heap = arena_room(arena, links + flows, sizeof *fluid->heap);
    fluid->heap_places = arena_array(arena, links + flows, sizeof *fluid->heap_places);
    fluid->tight = arena_room(arena, links + flows, sizeof *fluid->tight);
    fluid->touched = arena_room(arena, links, sizeof *fluid->touched);
    fluid->due = arena_room(arena, flows, sizeof *fluid->due);
    fluid->due_places = arena_array(arena, flows, sizeof *fluid->due_places);
    fluid->ended = arena_room(arena, flows, sizeof *fluid->ended);
}

void fluid_seal(struct fluid *fluid)
{
    sim_assert(!fluid->is_sealed);
    build_links(fluid);
    build_flows(fluid);
    build_segments(fluid);
    for (size_t i = 0; i < fluid->link_count; i++) {
        struct link *link = &fluid->links[i];
        assert_routes_are_simple(fluid, link);
        link->is_slack = !can_be_tight(fluid, (link_id)i);
    }
    for (size_t i = 0; i < fluid->flow_count; i++) {
        seal_flow(fluid, (flow_id)i);
    }
    fluid_find_owners(fluid);
    allocate_work(fluid);
    fluid->is_sealed = true;
}

/* ---- links and their active flows -------------------------------------- */

static void mark_dirty(struct fluid *fluid, link_id id)
{
    if (!fluid->links[id].is_dirty) {
        fluid->links[id].is_dirty = true;
        fluid->dirty[fluid->dirty_count++] = id;
    }
}

/* Of an active flow, what it runs at by its cap and by what its links have for it alone, rounded
 * up: no less than its charge, nor than weight * level. */
static uint64_t most_of(const struct fluid *fluid, flow_id id)
{
    const int64_t cap = fluid->flows[id].cap;
    const int64_t alone = fluid->records[id].cap_useless;
    return (uint64_t)(cap < alone ? cap : alone);
}

/* Of a link, in bytes/s rounded up. */
static uint128 wanted_of(const struct crossing *crossing, uint64_t most)
{
    return ((uint128)crossing->usage * most + (FLUID_USAGE_ONE - 1)) / FLUID_USAGE_ONE;
}

void fluid_enter_links(struct fluid *fluid, flow_id id)
{
    const struct flow *flow = &fluid->flows[id];
    const uint64_t most = most_of(fluid, id);
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        const link_id number = crossing->link;
        struct link *link = &fluid->links[number];
        link->wanted += wanted_of(crossing, most);
        link->is_loose =
            link->is_loose && link->wanted < (uint128)(uint64_t)fluid->capacities[number];
        fluid_segment_swap(fluid, crossing->position, link->first + link->active_count);
        link->active_count++;
    }
}

void fluid_join_links(struct fluid *fluid, flow_id id)
{
    const struct flow *flow = &fluid->flows[id];
    const struct crossing *crossings = &fluid->crossings[flow->first_crossing];
    for (uint32_t i = 0; i < flow->contended; i++) {
        const uint32_t owner = fluid->links[crossings[i].link].owner;
        if (owner != NONE && owner != flow->owner) {
            fluid_come(fluid, owner);
        }
    }
    fluid_enter_links(fluid, id);
    for (uint32_t i = 0; i < flow->contended; i++) {
        if (fluid->links[crossings[i].link].is_kept) {
            mark_dirty(fluid, crossings[i].link);
        }
    }
}

/* A flow has left a strict link, which was charged that much for it if it is kept: whom it leaves
 * there may get more. */
static void give_back(struct fluid *fluid, const struct crossing *crossing, uint64_t charge)
{
    struct link *link = &fluid->links[crossing->link];
    const bool was_kept = link->is_kept;
    if (was_kept) {
        link->left += (uint128)crossing->usage * charge;
        link->rough -= fluid->flows[crossing->flow].is_rough ? crossing->usage : 0;
    }
    if (link->bound_count == 0) {
        fluid_loosen(fluid, crossing->link);
    }
    if (was_kept ? link->is_kept : link->active_count > 0) {
        mark_dirty(fluid, crossing->link);
    }
}

static void leave_links(struct fluid *fluid, flow_id id)
{
    const struct flow *flow = &fluid->flows[id];
    const uint64_t most = most_of(fluid, id);
    const uint64_t charge = fluid_charge(flow);
    fluid_unbind(fluid, flow);
    const struct crossing *end = fluid_crossings_end(fluid, flow);
    for (const struct crossing *crossing = fluid_crossings(fluid, flow); crossing < end;
         crossing++) {
        struct link *link = &fluid->links[crossing->link];
        debug_assert(crossing->position < link->first + link->active_count);
        link->active_count--;
        fluid_segment_swap(fluid, crossing->position, link->first + link->active_count);
        link->wanted -= wanted_of(crossing, most);
        if (link->owner != NONE && link->owner != flow->owner) {
            fluid->owners[link->owner].others--;
        }
        if (!link->is_loose) {
            give_back(fluid, crossing, charge);
        }
    }
}

/* ---- starting --------------------------------------------------------- */

static void start_direct(struct fluid *fluid, flow_id id)
{
    fluid->flows[id].rate = fluid->flows[id].cap;
    fluid_due_set(fluid, id);
    fluid->statistics.direct++;
}

void fluid_start(struct fluid *fluid, flow_id id, int64_t bytes, int64_t cap_bytes_per_s)
{
    sim_assert(fluid->is_sealed);
    sim_assert(id < fluid->flow_count);
    struct flow *flow = &fluid->flows[id];
    struct flow_record *record = &fluid->records[id];
    sim_assert(flow->state == FLOW_IDLE);
    sim_assert(bytes >= 0);
    sim_assert(cap_bytes_per_s >= 1);
    sim_assert(cap_bytes_per_s <= record->cap_max);
    flow->state = FLOW_ACTIVE;
    flow->remaining = (uint128)bytes * NANOSECONDS_PER_S;
    flow->cap = cap_bytes_per_s;
    flow->settled_at = event_now(fluid->queue);
    flow->has_cap = cap_bytes_per_s < record->cap_useless;
    record->transfer_bytes = bytes;
    if (bytes == 0 || flow->contended == 0) {
        start_direct(fluid, id);
        return;
    }
    if (flow->owner == NONE) {
        fluid_join_links(fluid, id);
    }
    fluid->started[fluid->started_count++] = id;
}

/* ---- ending ----------------------------------------------------------- */

static void end_flow(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    struct flow_record *record = &fluid->records[id];
    if (flow->is_apart) {
        fluid->owners[flow->owner].apart = NONE;
        fluid->has_ended_apart = true;
    } else if (record->transfer_bytes > 0) {
        leave_links(fluid, id);
    }
    flow->is_apart = false;
    flow->state = FLOW_ENDED;
    flow->rate = 0;
    flow->bound = NONE;
    flow->is_rough = false;
    flow->is_starved = false;
    fluid_tell_rate(fluid, id);
    record->done_bytes += (uint64_t)record->transfer_bytes;
    fluid->ended[fluid->ended_count++] = id;
}

static void collect_ended(struct fluid *fluid, const struct event *event)
{
    if (!fluid_due_is_posted(fluid, event)) {
        fluid->statistics.stale_events++;
        return;
    }
    for (flow_id id; (id = fluid_due_take(fluid, event->time)) != NONE;) {
        end_flow(fluid, id);
    }
    sim_assert(fluid->ended_count > 0);
}

bool fluid_complete(struct fluid *fluid, const struct event *event, flow_id *flow)
{
    if (fluid->ended_count == 0) {
        collect_ended(fluid, event);
    }
    if (fluid->ended_next == fluid->ended_count) {
        fluid->ended_next = 0;
        fluid->ended_count = 0;
        return false;
    }
    *flow = fluid->ended[fluid->ended_next++];
    fluid->flows[*flow].state = FLOW_IDLE;
    return true;
}

/* ---- asking ------------------------------------------------------------ */

size_t fluid_link_count(const struct fluid *fluid)
{
    return fluid->link_count;
}

size_t fluid_flow_count(const struct fluid *fluid)
{
    return fluid->flow_count;
}

uint32_t fluid_contended_count(const struct fluid *fluid, flow_id flow)
{
    return fluid->flows[flow].contended;
}

link_id fluid_contended_link(const struct fluid *fluid, flow_id flow, uint32_t i)
{
    debug_assert(i < fluid->flows[flow].contended);
    return fluid->crossings[fluid->flows[flow].first_crossing + i].link;
}

bool fluid_is_active(const struct fluid *fluid, flow_id flow)
{
    sim_assert(flow < fluid->flow_count);
    return fluid->flows[flow].state != FLOW_IDLE;
}

int64_t fluid_rate(const struct fluid *fluid, flow_id flow)
{
    sim_assert(flow < fluid->flow_count);
    return fluid->flows[flow].rate;
}

bool fluid_link_is_slack(const struct fluid *fluid, link_id link)
{
    sim_assert(fluid->is_sealed);
    sim_assert(link < fluid->link_count);
    return fluid->links[link].is_slack;
}

struct fluid_statistics fluid_statistics(const struct fluid *fluid)
{
    return fluid->statistics;
}

/* Bytes of all transfers of a flow up to now. */
static double sent_bytes(const struct fluid *fluid, flow_id id)
{
    const struct flow_record *record = &fluid->records[id];
    struct flow flow = fluid->flows[id];
    if (flow.state != FLOW_ACTIVE) {
        return (double)record->done_bytes;
    }
    fluid_settle(&flow, event_now(fluid->queue));
    const uint128 whole = (uint128)record->transfer_bytes * NANOSECONDS_PER_S;
    return (double)record->done_bytes + (double)(whole - flow.remaining) / 1e9;
}

double fluid_link_bytes(const struct fluid *fluid, link_id id)
{
    sim_assert(fluid->is_sealed);
    sim_assert(id < fluid->link_count);
    const struct link *link = &fluid->links[id];
    double bytes = 0.0;
    for (uint32_t i = 0; i < link->declared_count; i++) {
        const struct crossing *crossing = &fluid->crossings[fluid->segments[link->first + i]];
        bytes += (double)crossing->usage / FLUID_USAGE_ONE * sent_bytes(fluid, crossing->flow);
    }
    return bytes;
}
