/* Flows that come and go, and which of them share a fate.
 *
 * The rates of a set of connected flows are fluid_fill.c's business; here
 * is when which set is filled.
 *
 * Components. fluid_start and an ending mark links as dirty. fluid_solve
 * gathers, by breadth-first search from the dirty links over active flows,
 * each component anew; the components that its flows were in are dissolved
 * as a whole, when they meet the search (a start) or when one of their flows
 * ends. An untouched component keeps its rates: it shares no link with the
 * others, so filling it alone or with them gives the same rates. A component
 * is named by one of its flows and has one pending event, valid while
 * both version and time agree. A flow that needs no solving is a component of
 * its own.
 *
 * What remains of a flow is brought up to date when its component is
 * dissolved: remaining -= rate * elapsed, exact, so it does not matter how
 * often. The end is the first nanosecond at which nothing remains.
 */
#include "des/fluid_state.h"

#include "base/arena.h"

#define NONE UINT32_MAX
#define NANOSECONDS_PER_S 1000000000u
#define VERSION_MASK 0xffffffu

/* ---- declaring -------------------------------------------------------- */

struct fluid *fluid_new(struct arena *arena, struct event_queue *queue, uint32_t stamp_kind)
{
    sim_assert(stamp_kind < 256);
    struct fluid *fluid = arena_alloc(arena, sizeof *fluid);
    fluid->arena = arena;
    fluid->queue = queue;
    fluid->stamp_kind = stamp_kind;
    return fluid;
}

link_id fluid_add_link(struct fluid *fluid, int64_t capacity_bytes_per_s)
{
    sim_assert(!fluid->is_sealed);
    sim_assert(capacity_bytes_per_s >= 1);
    sim_assert(fluid->link_count < NONE / 2);
    fluid->links = arena_grow(fluid->arena, fluid->links, &fluid->link_capacity,
                              fluid->link_count + 1, sizeof *fluid->links);
    fluid->links[fluid->link_count] = (struct link){.capacity = capacity_bytes_per_s};
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
        fluid->links[route->link].declared_count++;
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
    const size_t count = fluid->flow_count + 1;
    fluid->flows =
        arena_grow(fluid->arena, fluid->flows, &fluid->flow_capacity, count, sizeof *fluid->flows);
    fluid->records = arena_grow(fluid->arena, fluid->records, &fluid->record_capacity, count,
                                sizeof *fluid->records);
    fluid->flows[fluid->flow_count] =
        (struct flow){.weight = options->weight,
                      .first_crossing = (uint32_t)fluid->crossing_count,
                      .component = NONE,
                      .next = NONE,
                      .state = FLOW_IDLE};
    fluid->records[fluid->flow_count] = (struct flow_record){
        .cap_max = options->cap_bytes_per_s_max, .route_count = options->route_count};
    add_crossings(fluid, options);
    return (flow_id)fluid->flow_count++;
}

/* ---- sealing ---------------------------------------------------------- */

/* Gives each link its segment and fills it, by link and then by flow. */
static void build_segments(struct fluid *fluid)
{
    fluid->segments = arena_array(fluid->arena, fluid->crossing_count, sizeof *fluid->segments);
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
        const uint32_t *segment = &fluid->segments[link->first];
        sim_assert(fluid->crossings[segment[i - 1]].flow != fluid->crossings[segment[i]].flow);
    }
}

/* Slack: capacity >= sum of usage * cap. Stops at the first excess, so the
 * sum stays below 2^79 + 2^127. The load of all must fit 64 bits. */
static bool can_be_tight(const struct fluid *fluid, const struct link *link)
{
    const uint128 capacity = capacity_scaled(link);
    uint128 demand = 0;
    uint128 load = 0;
    for (uint32_t i = 0; i < link->declared_count; i++) {
        const struct crossing *crossing = &fluid->crossings[fluid->segments[link->first + i]];
        load += (uint128)crossing->usage * fluid->flows[crossing->flow].weight;
        if (demand <= capacity) {
            demand += (uint128)crossing->usage * (uint64_t)fluid->records[crossing->flow].cap_max;
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

/* Puts the crossings that can be tight first, in their order. On a route of
 * one, a cap of ceil(capacity / usage) or more never binds before the link. */
static void seal_flow(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    struct flow_record *record = &fluid->records[id];
    record->cap_useless = INT64_MAX;
    for (uint32_t i = 0; i < record->route_count; i++) {
        const struct crossing *crossing = &fluid->crossings[flow->first_crossing + i];
        const struct link *link = &fluid->links[crossing->link];
        if (link->is_slack) {
            continue;
        }
        const uint128 alone = (capacity_scaled(link) + crossing->usage - 1) / crossing->usage;
        if (alone < (uint128)record->cap_useless) {
            record->cap_useless = (int64_t)alone;
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
    fluid->components = arena_array(arena, flows, sizeof *fluid->components);
    for (size_t i = 0; i < flows; i++) {
        fluid->components[i] = (struct component){.completion = -1, .head = NONE};
    }
    fluid->dirty = arena_array(arena, links, sizeof *fluid->dirty);
    fluid->region_links = arena_array(arena, links, sizeof *fluid->region_links);
    fluid->region_flows = arena_array(arena, flows, sizeof *fluid->region_flows);
    fluid->ended = arena_array(arena, flows, sizeof *fluid->ended);
    fluid->heap = arena_array(arena, links + flows, sizeof *fluid->heap);
    fluid->tight = arena_array(arena, links + flows, sizeof *fluid->tight);
}

void fluid_seal(struct fluid *fluid)
{
    sim_assert(!fluid->is_sealed);
    build_segments(fluid);
    for (size_t i = 0; i < fluid->link_count; i++) {
        struct link *link = &fluid->links[i];
        assert_routes_are_simple(fluid, link);
        link->is_slack = !can_be_tight(fluid, link);
    }
    for (size_t i = 0; i < fluid->flow_count; i++) {
        seal_flow(fluid, (flow_id)i);
    }
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

static void segment_swap(struct fluid *fluid, uint32_t a, uint32_t b)
{
    const uint32_t at_a = fluid->segments[a];
    const uint32_t at_b = fluid->segments[b];
    fluid->segments[a] = at_b;
    fluid->segments[b] = at_a;
    fluid->crossings[at_b].position = a;
    fluid->crossings[at_a].position = b;
}

static void join_links(struct fluid *fluid, const struct flow *flow)
{
    for (uint32_t i = 0; i < flow->contended; i++) {
        const struct crossing *crossing = &fluid->crossings[flow->first_crossing + i];
        struct link *link = &fluid->links[crossing->link];
        segment_swap(fluid, crossing->position, link->first + link->active_count);
        link->active_count++;
        link->load += crossing->usage * flow->weight;
        mark_dirty(fluid, crossing->link);
    }
}

static void leave_links(struct fluid *fluid, const struct flow *flow)
{
    for (uint32_t i = 0; i < flow->contended; i++) {
        const struct crossing *crossing = &fluid->crossings[flow->first_crossing + i];
        struct link *link = &fluid->links[crossing->link];
        debug_assert(crossing->position < link->first + link->active_count);
        link->active_count--;
        segment_swap(fluid, crossing->position, link->first + link->active_count);
        link->load -= crossing->usage * flow->weight;
        mark_dirty(fluid, crossing->link);
    }
}

/* ---- components ------------------------------------------------------- */

static uint32_t stamp_of(const struct fluid *fluid, const struct component *component)
{
    return component->version << 8 | fluid->stamp_kind;
}

/* Posts the event of the earliest end among the component's flows, rounded
 * up; none if that is beyond the end of time. */
static void post_completion(struct fluid *fluid, flow_id id)
{
    struct component *component = &fluid->components[id];
    const sim_time now = event_now(fluid->queue);
    uint128 wait_ns = (uint128)SIM_TIME_MAX;
    for (flow_id i = component->head; i != NONE; i = fluid->flows[i].next) {
        const struct flow *flow = &fluid->flows[i];
        const uint64_t rate = (uint64_t)flow->rate;
        if (flow->remaining == 0) {
            wait_ns = 0;
        } else if (flow->remaining <= rate * (wait_ns - (wait_ns > 0))) {
            wait_ns = (flow->remaining + rate - 1) / rate;
        }
    }
    if (wait_ns < (uint128)(SIM_TIME_MAX - now)) {
        component->completion = now + (sim_time)wait_ns;
        event_post(fluid->queue, component->completion, id, stamp_of(fluid, component));
    }
}

static void settle(struct flow *flow, sim_time now)
{
    const uint128 sent = (uint128)flow->rate * (uint128)(now - flow->settled_at);
    flow->remaining = sent < flow->remaining ? flow->remaining - sent : 0;
    flow->settled_at = now;
}

/* Brings the flows of a component up to date and frees them of it. Its event
 * becomes stale. Returns the head of the list, which stays linked. */
static flow_id dissolve(struct fluid *fluid, flow_id id)
{
    struct component *component = &fluid->components[id];
    const sim_time now = event_now(fluid->queue);
    for (flow_id i = component->head; i != NONE; i = fluid->flows[i].next) {
        settle(&fluid->flows[i], now);
        fluid->flows[i].component = NONE;
    }
    const flow_id head = component->head;
    component->head = NONE;
    component->completion = -1;
    component->version = (component->version + 1) & VERSION_MASK;
    return head;
}

static void component_add(struct fluid *fluid, flow_id component, flow_id id)
{
    fluid->flows[id].component = component;
    fluid->flows[id].next = fluid->components[component].head;
    fluid->components[component].head = id;
}

/* ---- starting --------------------------------------------------------- */

static void start_direct(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    flow->rate = flow->cap;
    component_add(fluid, id, id);
    post_completion(fluid, id);
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
    flow->rate = 0;
    flow->cap = cap_bytes_per_s;
    flow->settled_at = event_now(fluid->queue);
    flow->has_cap = cap_bytes_per_s < record->cap_useless;
    record->transfer_bytes = bytes;
    if (bytes == 0 || flow->contended == 0) {
        start_direct(fluid, id);
    } else {
        join_links(fluid, flow);
    }
}

/* ---- ending ----------------------------------------------------------- */

/* Shell sort with Ciura's gaps: no memory, and fast for the few that end. */
static void sort_flows(flow_id *flows, uint32_t count)
{
    static const uint32_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        for (uint32_t i = gaps[g]; i < count; i++) {
            const flow_id moved = flows[i];
            uint32_t j = i;
            for (; j >= gaps[g] && flows[j - gaps[g]] > moved; j -= gaps[g]) {
                flows[j] = flows[j - gaps[g]];
            }
            flows[j] = moved;
        }
    }
}

static void end_flow(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    struct flow_record *record = &fluid->records[id];
    if (record->transfer_bytes > 0) {
        leave_links(fluid, flow);
    }
    flow->state = FLOW_ENDED;
    flow->rate = 0;
    record->done_bytes += (uint64_t)record->transfer_bytes;
    fluid->ended[fluid->ended_count++] = id;
}

static bool is_fresh(const struct fluid *fluid, const struct event *event)
{
    sim_assert((event->stamp & 0xff) == fluid->stamp_kind);
    sim_assert(event->target < fluid->flow_count);
    const struct component *component = &fluid->components[event->target];
    return event->time == component->completion && event->stamp == stamp_of(fluid, component);
}

static void collect_ended(struct fluid *fluid, const struct event *event)
{
    if (!is_fresh(fluid, event)) {
        fluid->statistics.stale_events++;
        return;
    }
    sim_assert(event->time == event_now(fluid->queue));
    flow_id next = NONE;
    for (flow_id id = dissolve(fluid, event->target); id != NONE; id = next) {
        next = fluid->flows[id].next;
        if (fluid->flows[id].remaining == 0) {
            end_flow(fluid, id);
        }
    }
    sim_assert(fluid->ended_count > 0);
    sort_flows(fluid->ended, fluid->ended_count);
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

/* ---- solving ------------------------------------------------------------ */

static void gather_link(struct fluid *fluid, link_id id)
{
    struct link *link = &fluid->links[id];
    if (link->is_gathered) {
        return;
    }
    link->is_gathered = true;
    link->is_dirty = false;
    link->left = capacity_scaled(link);
    link->load_left = link->load;
    fluid->region_links[fluid->region_link_count++] = id;
}

static void gather_flow(struct fluid *fluid, flow_id id)
{
    struct flow *flow = &fluid->flows[id];
    if (flow->is_gathered) {
        return;
    }
    flow->is_gathered = true;
    flow->is_frozen = false;
    fluid->region_flows[fluid->region_flow_count++] = id;
    if (flow->component != NONE) {
        dissolve(fluid, flow->component);
    }
    for (uint32_t i = 0; i < flow->contended; i++) {
        gather_link(fluid, fluid->crossings[flow->first_crossing + i].link);
    }
}

/* All links and flows connected with the link `seed`. */
static void gather(struct fluid *fluid, link_id seed)
{
    fluid->region_link_count = 0;
    fluid->region_flow_count = 0;
    gather_link(fluid, seed);
    for (uint32_t i = 0; i < fluid->region_link_count; i++) {
        const struct link *link = &fluid->links[fluid->region_links[i]];
        for (uint32_t j = 0; j < link->active_count; j++) {
            const uint32_t crossing = fluid->segments[link->first + j];
            gather_flow(fluid, fluid->crossings[crossing].flow);
        }
    }
}

/* The region becomes a component, named by its first flow. */
static void close_region(struct fluid *fluid)
{
    const flow_id component = fluid->region_flows[0];
    for (uint32_t i = fluid->region_flow_count; i-- > 0;) {
        sim_assert(fluid->flows[fluid->region_flows[i]].is_frozen);
        component_add(fluid, component, fluid->region_flows[i]);
    }
    post_completion(fluid, component);
    fluid->statistics.solves++;
    fluid->statistics.flows_solved += fluid->region_flow_count;
}

static void forget_marks(struct fluid *fluid)
{
    for (uint32_t i = 0; i < fluid->region_link_count; i++) {
        fluid->links[fluid->region_links[i]].is_gathered = false;
    }
    for (uint32_t i = 0; i < fluid->region_flow_count; i++) {
        fluid->flows[fluid->region_flows[i]].is_gathered = false;
    }
}

void fluid_solve(struct fluid *fluid)
{
    sim_assert(fluid->is_sealed);
    for (uint32_t i = 0; i < fluid->dirty_count; i++) {
        if (!fluid->links[fluid->dirty[i]].is_dirty) {
            continue;
        }
        gather(fluid, fluid->dirty[i]);
        if (fluid->region_flow_count > 0) {
            fluid_fill(fluid);
            close_region(fluid);
        }
        forget_marks(fluid);
    }
    fluid->dirty_count = 0;
}

/* ---- asking ------------------------------------------------------------ */

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
    settle(&flow, event_now(fluid->queue));
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
