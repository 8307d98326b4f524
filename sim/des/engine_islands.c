/* Islands (as logical processes of a parallel simulation): actors that seldom meet others go on by
 * themselves meanwhile, so that what they touch stays in the cache.
 *
 * A thousand replicas of a pipeline do the same in step: in the order of time each event is of
 * another replica, and what it touches has left the cache since the last one. But while gradients
 * are not summed no replica takes notice of another. So each is simulated by itself, up to the
 * instant at which the first of its actors would meet others; what lies ahead of it is then put
 * aside, the clock goes back, and the next one has its turn. When all have had it, what is pending
 * is put together, and time goes on in common, until nobody meets others again.
 *
 * A *bridge* is a collective of a stream that has few tasks in every program, against stream 0;
 * of these streams as many are bridges as it takes to have small islands. An *island* is a
 * connected set of actors, where two are connected if
 *   - they are members of one channel that is no bridge,
 *   - they are members of two such channels with a link in common on which the one may slow the
 *     other down (a link of des/fluid), or
 *   - the one is a member of such a channel and the other of a bridge with a link in common, of
 *     which no member is of the one's island otherwise.
 * Turns begin at the end of an instant at which nobody is in a bridge, nor waits for others to come
 * to it. An island stops at the end of the instant at which one of its members comes to a bridge;
 * that enters it when time goes on in common, still in that instant (EVENT_MEETING).
 *
 * So nothing is missed: what an island does before it stops can depend on others only by a transfer
 * of a bridge that one of its streams is in or that crosses one of its links. Of each such bridge a
 * member is of the island, and a transfer begins when all members have come. Which channels are
 * taken for bridges decides how far islands get, not what happens. Nor does the order in which they
 * have their turns: what happens at one instant commutes (engine.h).
 *
 * Cost: O(members of channels + crossings of links) once; O(pending events) for turns of all, which
 * are not had whenever they can be where they do not get far.
 */
#include "des/engine_state.h"

#include "base/arena.h"

#include <string.h>

enum {
    ISLAND_MAX = 1024,     /* actors: what they and their channels are fits into a cache */
    FREQUENCY_MAX = 50000, /* millionths: tasks of a bridge's stream for each of stream 0 */
    FAR = 4,               /* events for each that is put aside: turns were worth it */
    SKIPS_MAX = 64         /* of turns, where they were not */
};

struct engine_islands {
    uint32_t count;
    uint32_t *numbers; /* by actor: of its island */
    uint32_t bridges;  /* the streams that are, as bits */
    uint32_t meeting;  /* members of bridges that are there, be it to wait for others */
    bool have_met;     /* some, since turns were had or left out */
    uint64_t turns;
    uint32_t skips, skipped; /* turns: to leave out, and left out since the last ones */
    bool are_having_turns;
    bool has_stopped; /* who has its turn */
    /* While turns are had: what lies ahead of those who have had theirs. */
    struct arena *arena;
    struct event *events;
    size_t event_count, event_capacity;
    flow_id *flows; /* under way */
    size_t flow_count, flow_capacity;
};

/* ---- which streams are bridges --------------------------------------------------------------- */

/* How many tasks of a stream there are for each of stream 0, in millionths: in the program where it
 * has most. */
static uint64_t frequency_of(const struct engine_system *system, uint32_t stream)
{
    uint64_t most = 0;
    for (uint32_t p = 0; p < system->program_count; p++) {
        const uint32_t *counts = system->programs[p].counts;
        const uint64_t compute = counts[COMPUTE] > 0 ? counts[COMPUTE] : 1;
        const uint64_t frequency = (uint64_t)counts[stream] * 1000000 / compute;
        most = frequency > most ? frequency : most;
    }
    return most;
}

/* Of the streams that are not joined yet, as bits, the one that has most tasks. */
static uint32_t most_frequent(const uint64_t *frequencies, uint32_t streams)
{
    uint32_t found = (uint32_t)__builtin_ctz(streams);
    for (uint32_t rest = streams; rest != 0; rest &= rest - 1) {
        const uint32_t stream = (uint32_t)__builtin_ctz(rest);
        found = frequencies[stream] > frequencies[found] ? stream : found;
    }
    return found;
}

/* ---- islands -------------------------------------------------------------------------------- */

/* While islands are looked for. */
struct search {
    const struct engine *engine;
    uint32_t *parents; /* by actor: an earlier one of its island; itself: it is the first */
    uint32_t *users;   /* by link: an actor whose channels cross it; ENGINE_NONE: none do */
    uint32_t *meets;  /* by the first of an island: the flow whose bridge has a member there, + 1 */
    uint32_t *sizes;  /* by the first of an island */
    uint32_t bridges; /* streams, as bits */
};

static uint32_t first_of(struct search *search, uint32_t actor)
{
    uint32_t *parents = search->parents;
    while (parents[actor] != actor) {
        parents[actor] = parents[parents[actor]];
        actor = parents[actor];
    }
    return actor;
}

static void join(struct search *search, uint32_t a, uint32_t b)
{
    const uint32_t left = first_of(search, a);
    const uint32_t right = first_of(search, b);
    search->parents[left > right ? left : right] = left < right ? left : right;
}

static const struct engine_member *members_of(const struct engine *engine, uint32_t number)
{
    return &engine->system->members[engine->system->channels[number].member_first];
}

/* A pair is of the stream of its sender. */
static uint32_t stream_of(const struct engine *engine, uint32_t number)
{
    return members_of(engine, number)[0].stream;
}

/* The members of the channels of a stream, and those of others whose links they cross. */
static void join_stream(struct search *search, uint32_t stream)
{
    const struct engine *engine = search->engine;
    for (uint32_t i = 0; i < engine->system->channel_count; i++) {
        const struct engine_member *members = members_of(engine, i);
        const uint32_t count =
            members[0].stream == stream ? engine->system->channels[i].member_count : 0;
        for (uint32_t k = 1; k < count; k++) {
            join(search, members[0].actor, members[k].actor);
        }
    }
    for (flow_id flow = 0; flow < fluid_flow_count(engine->fluid); flow++) {
        const struct engine_member *members = members_of(engine, engine->channel_of_flow[flow]);
        const uint32_t count =
            members[0].stream == stream ? fluid_contended_count(engine->fluid, flow) : 0;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t *user = &search->users[fluid_contended_link(engine->fluid, flow, i)];
            *user = *user == ENGINE_NONE ? members[0].actor : *user;
            join(search, members[0].actor, *user);
        }
    }
}

/* Each island that has links of a bridge has a member of it. */
static void join_by_bridge(struct search *search, flow_id flow)
{
    const struct engine *engine = search->engine;
    const uint32_t number = engine->channel_of_flow[flow];
    const struct engine_member *members = members_of(engine, number);
    for (uint32_t k = 0; k < engine->system->channels[number].member_count; k++) {
        search->meets[first_of(search, members[k].actor)] = flow + 1;
    }
    for (uint32_t i = 0; i < fluid_contended_count(engine->fluid, flow); i++) {
        const uint32_t user = search->users[fluid_contended_link(engine->fluid, flow, i)];
        if (user != ENGINE_NONE && search->meets[first_of(search, user)] != flow + 1) {
            join(search, user, members[0].actor);
            search->meets[first_of(search, user)] = flow + 1;
        }
    }
}

static void join_by_bridges(struct search *search)
{
    const struct engine *engine = search->engine;
    for (flow_id flow = 0; flow < fluid_flow_count(engine->fluid); flow++) {
        const uint32_t stream = stream_of(engine, engine->channel_of_flow[flow]);
        if ((search->bridges >> stream & 1u) != 0) {
            join_by_bridge(search, flow);
        }
    }
}

/* The most actors that an island should have. */
static uint32_t island_max(const struct engine *engine)
{
    const uint32_t most = engine->options.island_max;
    return most > 0 ? most : ISLAND_MAX;
}

static uint32_t largest_island(struct search *search)
{
    const uint32_t actor_count = search->engine->system->actor_count;
    uint32_t largest = 0;
    memset(search->sizes, 0, actor_count * sizeof *search->sizes);
    for (uint32_t i = 0; i < actor_count; i++) {
        const uint32_t size = ++search->sizes[first_of(search, i)];
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* Joins stream after stream, the most frequent first, as long as islands stay small. The rest are
 * bridges. */
static void join_streams(struct search *search, uint32_t *scratch)
{
    const struct engine_system *system = search->engine->system;
    uint64_t frequencies[ENGINE_STREAMS_MAX];
    search->bridges = ((1u << system->stream_count) - 1) & ~1u;
    for (uint32_t s = 1; s < system->stream_count; s++) {
        frequencies[s] = frequency_of(system, s);
    }
    for (uint32_t i = 0; i < system->channel_count; i++) {
        if (system->channels[i].kind == CHANNEL_PAIR) { /* never a bridge */
            frequencies[stream_of(search->engine, i)] = UINT64_MAX;
        }
    }
    while (search->bridges != 0) {
        const uint32_t stream = most_frequent(frequencies, search->bridges);
        memcpy(scratch, search->parents, system->actor_count * sizeof *scratch);
        join_stream(search, stream);
        if (frequencies[stream] <= FREQUENCY_MAX &&
            largest_island(search) > island_max(search->engine)) {
            memcpy(search->parents, scratch, system->actor_count * sizeof *scratch);
            return;
        }
        search->bridges &= ~(1u << stream);
    }
}

static void find_islands(struct arena *scratch, const struct engine *engine,
                         struct engine_islands *islands)
{
    const uint32_t actor_count = engine->system->actor_count;
    const size_t link_count = fluid_link_count(engine->fluid);
    struct search search = {
        .engine = engine,
        .parents = arena_array(scratch, actor_count, sizeof *search.parents),
        .users = arena_array(scratch, link_count + 1, sizeof *search.users),
        .meets = arena_array(scratch, actor_count, sizeof *search.meets),
        .sizes = arena_array(scratch, actor_count, sizeof *search.sizes),
    };
    for (uint32_t i = 0; i < actor_count; i++) {
        search.parents[i] = i;
    }
    for (size_t i = 0; i < link_count; i++) {
        search.users[i] = ENGINE_NONE;
    }
    join_streams(&search, search.meets);
    memset(search.meets, 0, actor_count * sizeof *search.meets);
    join_by_bridges(&search);
    for (uint32_t i = 0; i < actor_count; i++) {
        const uint32_t first = first_of(&search, i);
        islands->numbers[i] = first == i ? islands->count++ : islands->numbers[first];
    }
    islands->bridges = search.bridges;
}

/* Not worth it for few; cycles are looked for in common, and hooks want the order of time. */
static bool can_have(const struct engine *engine)
{
    return engine->options.on_task == NULL && engine->repeat == NULL &&
           engine->system->actor_count > 2 * island_max(engine);
}

struct engine_islands *engine_islands_new(struct arena *arena, struct engine *engine)
{
    if (!can_have(engine)) {
        return NULL;
    }
    const struct engine_system *system = engine->system;
    struct engine_islands *islands = arena_alloc(arena, sizeof *islands);
    islands->numbers = arena_array(arena, system->actor_count, sizeof *islands->numbers);
    islands->have_met = true;
    struct arena *scratch = arena_new();
    find_islands(scratch, engine, islands);
    arena_free(scratch);
    if (islands->count == 1) {
        return NULL;
    }
    for (uint32_t i = 0; i < system->channel_count; i++) {
        engine->channels[i].is_bridge = (islands->bridges >> stream_of(engine, i) & 1u) != 0;
    }
    return islands;
}

/* ---- who meets others ----------------------------------------------------------------------- */

void engine_islands_meet(struct engine_islands *islands)
{
    islands->meeting++;
    islands->have_met = true;
}

void engine_islands_part(struct engine_islands *islands, uint32_t count)
{
    sim_assert(islands->meeting >= count);
    islands->meeting -= count;
}

static void reserve_events(struct engine_islands *islands, size_t more)
{
    islands->events = arena_grow(islands->arena, islands->events, &islands->event_capacity,
                                 islands->event_count + more, sizeof *islands->events);
}

bool engine_islands_stop(struct engine *engine, uint32_t index, uint32_t stream)
{
    struct engine_islands *islands = engine->islands;
    if (!islands->are_having_turns) {
        return false;
    }
    islands->has_stopped = true;
    reserve_events(islands, 1);
    islands->events[islands->event_count++] = (struct event){
        .time = event_now(engine->queue), .target = index, .stamp = EVENT_MEETING | stream << 8};
    return true;
}

/* ---- what lies ahead of whom ---------------------------------------------------------------- */

/* What is pending and under way when turns begin: of the first island, then of the next. */
struct ahead {
    struct event *events;
    size_t *event_ends; /* by island, from 1 on; of none: 0 */
    flow_id *flows;
    size_t *flow_ends;
};

static uint32_t island_of_channel(const struct engine *engine, uint32_t number)
{
    return engine->islands->numbers[members_of(engine, number)[0].actor];
}

static uint32_t island_of_event(const struct engine *engine, const struct event *event)
{
    const uint32_t kind = event->stamp & 0xff;
    return kind == EVENT_COMPUTE_END || kind == EVENT_MEETING
               ? engine->islands->numbers[event->target]
               : island_of_channel(engine, event->target);
}

/* Turns counts, by island from 2 on, into where each island begins, from 1 on: as places are
 * filled, these become where it ends. */
static void counts_to_firsts(size_t *counts, uint32_t island_count)
{
    for (uint32_t i = 1; i <= island_count; i++) {
        counts[i + 1] += counts[i];
    }
}

static void sort_events(struct arena *arena, struct engine *engine, struct ahead *ahead)
{
    const uint32_t island_count = engine->islands->count;
    const size_t count = event_pending(engine->queue);
    struct event *events = arena_array(arena, count + 1, sizeof *events);
    event_take_all(engine->queue, event_now(engine->queue), events);
    ahead->events = arena_array(arena, count + 1, sizeof *ahead->events);
    ahead->event_ends = arena_array(arena, island_count + 2u, sizeof *ahead->event_ends);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if ((events[i].stamp & 0xff) != EVENT_FLUID) { /* each island has one of its own */
            ahead->event_ends[island_of_event(engine, &events[i]) + 2]++;
            events[kept++] = events[i];
        }
    }
    counts_to_firsts(ahead->event_ends, island_count);
    for (size_t i = 0; i < kept; i++) {
        const uint32_t island = island_of_event(engine, &events[i]);
        ahead->events[ahead->event_ends[island + 1]++] = events[i];
    }
}

static void sort_flows(struct arena *arena, struct engine *engine, struct ahead *ahead)
{
    const uint32_t island_count = engine->islands->count;
    const size_t count = fluid_under_way(engine->fluid);
    flow_id *flows = arena_array(arena, count + 1, sizeof *flows);
    fluid_put_aside(engine->fluid, flows);
    ahead->flows = arena_array(arena, count + 1, sizeof *ahead->flows);
    ahead->flow_ends = arena_array(arena, island_count + 2u, sizeof *ahead->flow_ends);
    for (size_t i = 0; i < count; i++) {
        ahead->flow_ends[island_of_channel(engine, engine->channel_of_flow[flows[i]]) + 2]++;
    }
    counts_to_firsts(ahead->flow_ends, island_count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t island = island_of_channel(engine, engine->channel_of_flow[flows[i]]);
        ahead->flows[ahead->flow_ends[island + 1]++] = flows[i];
    }
}

/* ---- turns ---------------------------------------------------------------------------------- */

static void post(struct engine *engine, const struct event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        event_post(engine->queue, events[i].time, events[i].target, events[i].stamp);
    }
}

static void take_up(struct engine *engine, const flow_id *flows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fluid_take_up(engine->fluid, flows[i]);
    }
    fluid_solve(engine->fluid);
}

/* What lies ahead is put aside, and the clock goes back. */
static void put_aside(struct engine *engine, sim_time back)
{
    struct engine_islands *islands = engine->islands;
    const size_t pending = event_pending(engine->queue);
    reserve_events(islands, pending);
    struct event *events = pending > 0 ? &islands->events[islands->event_count] : NULL;
    event_take_all(engine->queue, back, events);
    for (size_t i = 0; i < pending; i++) {
        if ((events[i].stamp & 0xff) != EVENT_FLUID) {
            islands->events[islands->event_count++] = events[i];
        }
    }
    const size_t flows = fluid_under_way(engine->fluid);
    islands->flows = arena_grow(islands->arena, islands->flows, &islands->flow_capacity,
                                islands->flow_count + flows, sizeof *islands->flows);
    fluid_put_aside(engine->fluid, flows > 0 ? &islands->flows[islands->flow_count] : NULL);
    islands->flow_count += flows;
}

static void take_turn(struct engine *engine, const struct ahead *ahead, uint32_t island)
{
    const sim_time begin = event_now(engine->queue);
    const size_t event = ahead->event_ends[island];
    const size_t flow = ahead->flow_ends[island];
    engine->islands->turns++;
    engine->islands->has_stopped = false;
    post(engine, &ahead->events[event], ahead->event_ends[island + 1] - event);
    take_up(engine, &ahead->flows[flow], ahead->flow_ends[island + 1] - flow);
    sim_time time;
    while ((time = event_next_time(engine->queue)) != SIM_TIME_MAX &&
           !engine->islands->has_stopped) {
        engine_handle_instant(engine, time);
    }
    put_aside(engine, begin);
}

static void take_turns(struct engine *engine)
{
    struct engine_islands *islands = engine->islands;
    const uint64_t events_before = engine->events;
    struct ahead ahead;
    islands->arena = arena_new();
    sort_events(islands->arena, engine, &ahead);
    sort_flows(islands->arena, engine, &ahead);
    islands->are_having_turns = true;
    for (uint32_t i = 0; i < islands->count; i++) {
        take_turn(engine, &ahead, i);
    }
    islands->are_having_turns = false;
    post(engine, islands->events, islands->event_count);
    take_up(engine, islands->flows, islands->flow_count);
    const bool was_far = engine->events - events_before >= FAR * islands->event_count;
    const uint32_t more = islands->skips < SKIPS_MAX ? 2 * islands->skips + 1 : islands->skips;
    islands->skips = was_far ? 0 : more;
    arena_free(islands->arena);
    islands->arena = NULL;
    islands->events = NULL;
    islands->flows = NULL;
    islands->event_count = islands->event_capacity = 0;
    islands->flow_count = islands->flow_capacity = 0;
}

void engine_islands_look(struct engine *engine)
{
    struct engine_islands *islands = engine->islands;
    if (islands->meeting > 0 || !islands->have_met ||
        event_next_time(engine->queue) == event_now(engine->queue)) {
        return;
    }
    islands->have_met = false;
    if (islands->skipped < islands->skips) {
        islands->skipped++;
        return;
    }
    islands->skipped = 0;
    take_turns(engine);
}

uint64_t engine_islands_turns(const struct engine_islands *islands)
{
    return islands->turns;
}
