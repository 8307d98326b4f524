/* The engine's paths as flows of des/fluid. The solver is given what can hold a transfer up, and
 * nothing else:
 *
 *   - links that cannot be tight (engine_links.c) are left out;
 *   - paths are no flows at all that cross only such links, and links that no other channel
 *     crosses: what these give is known, and bounds the path's rate as its cap does. (A collective
 *     whose cap was worked out from the links of its members has it rounded up at times, and would
 *     be a flow for the sake of one byte/s.)
 *   - paths of one channel with the same crossings and cap, as the phases of a collective in rounds
 *     have, are one flow: a channel runs one transfer at a time.
 *
 * Flows are numbered in the order of their channels, so those that end at one time come out in the
 * same order as if all paths were flows. All arrays are counted before they are filled.
 *
 * Cost: some looks at each crossing.
 */
#include "des/engine_state.h"

#include "base/arena.h"
#include "base/check.h"

/* Whether nobody else may be on the links of a path; and what these give, in bytes/s rounded down
 * as des/fluid does. */
static bool look_at_links(const struct engine_system *system, const uint8_t *kinds,
                          const struct engine_path *plan, int64_t *limit)
{
    *limit = INT64_MAX;
    for (uint32_t i = 0; i < plan->crossing_count; i++) {
        const struct engine_crossing *crossing = &system->crossings[plan->crossing_first + i];
        if (kinds[crossing->link] == ENGINE_LINK_SHARED) {
            return false;
        }
        if (kinds[crossing->link] == ENGINE_LINK_OF_ONE) {
            const uint128 alone = (uint128)(uint64_t)system->link_capacities[crossing->link] *
                                  FLUID_USAGE_ONE / crossing->usage;
            *limit = alone < (uint128)*limit ? (int64_t)alone : *limit;
        }
    }
    *limit = *limit > 0 ? *limit : 1;
    return true;
}

/* Which paths are direct, and their limits: neighbours have the same. */
static void find_direct(struct arena *arena, struct engine *engine, const uint8_t *kinds)
{
    const struct engine_system *system = engine->system;
    size_t capacity = 0;
    uint32_t count = 1;
    engine->limits = arena_grow(arena, NULL, &capacity, count, sizeof *engine->limits);
    engine->limits[0] = INT64_MAX;
    for (uint32_t i = 0; i < system->path_count; i++) {
        const struct engine_path *plan = &system->paths[i];
        int64_t limit;
        engine->paths[i].is_direct = look_at_links(system, kinds, plan, &limit);
        if (!engine->paths[i].is_direct || limit >= plan->cap_bytes_per_s) {
            continue;
        }
        if (limit != engine->limits[count - 1]) {
            engine->limits =
                arena_grow(arena, engine->limits, &capacity, count + 1, sizeof *engine->limits);
            engine->limits[count++] = limit;
        }
        engine->paths[i].flow = count - 1;
    }
}

/* The solver's number of each tight link that a flow crosses, in the order of links. */
static uint32_t *number_links(struct arena *arena, const struct engine *engine,
                              const uint8_t *kinds)
{
    const struct engine_system *system = engine->system;
    uint32_t *numbers = arena_array(arena, system->link_count, sizeof *numbers);
    for (uint32_t i = 0; i < system->path_count; i++) {
        const struct engine_path *plan = &system->paths[i];
        for (uint32_t k = 0; !engine->paths[i].is_direct && k < plan->crossing_count; k++) {
            const uint32_t link = system->crossings[plan->crossing_first + k].link;
            numbers[link] = kinds[link] != ENGINE_LINK_SLACK;
        }
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < system->link_count; i++) {
        numbers[i] = numbers[i] != 0 ? count++ : ENGINE_NONE;
    }
    return numbers;
}

static uint32_t count_tight(const struct engine_system *system, const uint32_t *numbers,
                            const struct engine_path *path)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        count += numbers[system->crossings[path->crossing_first + i].link] != ENGINE_NONE;
    }
    return count;
}

/* Of the channel's paths before number k, one with the same crossings and cap; k: there is none. */
static uint32_t twin_of(const struct engine_system *system, const struct engine_channel *channel,
                        uint32_t k)
{
    const struct engine_path *paths = &system->paths[channel->path_first];
    uint32_t twin = 0;
    while (twin < k && (paths[twin].crossing_first != paths[k].crossing_first ||
                        paths[twin].crossing_count != paths[k].crossing_count ||
                        paths[twin].cap_bytes_per_s != paths[k].cap_bytes_per_s)) {
        twin++;
    }
    return twin;
}

/* Numbers the flows, and counts them and what they cross. */
static struct fluid_sizes plan_flows(struct engine *engine, const uint32_t *numbers)
{
    const struct engine_system *system = engine->system;
    struct fluid_sizes sizes = {0};
    for (uint32_t i = 0; i < system->link_count; i++) {
        sizes.links += numbers[i] != ENGINE_NONE;
    }
    for (uint32_t i = 0; i < system->channel_count; i++) {
        const struct engine_channel *channel = &system->channels[i];
        for (uint32_t k = 0; k < channel->path_count; k++) {
            const uint32_t number = channel->path_first + k;
            struct path *path = &engine->paths[number];
            if (path->is_direct) {
                continue;
            }
            const uint32_t twin = twin_of(system, channel, k);
            if (twin < k) {
                *path = engine->paths[channel->path_first + twin];
                continue;
            }
            path->flow = (uint32_t)sizes.flows++;
            sizes.crossings += count_tight(system, numbers, &system->paths[number]);
        }
    }
    return sizes;
}

static void add_flow(struct engine *engine, const uint32_t *numbers, uint32_t channel,
                     const struct engine_path *path, struct fluid_crossing *route)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < path->crossing_count; k++) {
        const struct engine_crossing *crossing =
            &engine->system->crossings[path->crossing_first + k];
        if (numbers[crossing->link] != ENGINE_NONE) {
            route[count++] = (struct fluid_crossing){numbers[crossing->link], crossing->usage};
        }
    }
    const struct fluid_flow_options options = {
        .route = route,
        .route_count = count,
        .weight = 1,
        .cap_bytes_per_s_max = path->cap_bytes_per_s,
        .alternative = channel + 1,
    };
    fluid_add_flow(engine->fluid, &options);
}

static void add_flows(struct arena *scratch, struct engine *engine, const uint32_t *numbers)
{
    const struct engine_system *system = engine->system;
    uint32_t longest = 1;
    for (uint32_t i = 0; i < system->path_count; i++) {
        const uint32_t count = system->paths[i].crossing_count;
        longest = count > longest ? count : longest;
    }
    struct fluid_crossing *route = arena_array(scratch, longest, sizeof *route);
    uint32_t next = 0;
    for (uint32_t i = 0; i < system->channel_count; i++) {
        const struct engine_channel *channel = &system->channels[i];
        for (uint32_t k = 0; k < channel->path_count; k++) {
            const uint32_t number = channel->path_first + k;
            const struct path *path = &engine->paths[number];
            if (!path->is_direct && path->flow == next) { /* else it is an earlier one */
                engine->channel_of_flow[next++] = i;
                add_flow(engine, numbers, i, &system->paths[number], route);
            }
        }
    }
}

void engine_flows_build(struct arena *arena, struct engine *engine)
{
    const struct engine_system *system = engine->system;
    struct arena *scratch = arena_new();
    const uint8_t *kinds = engine_links_sort(scratch, system);
    find_direct(arena, engine, kinds);
    const uint32_t *numbers = number_links(scratch, engine, kinds);
    const struct fluid_sizes sizes = plan_flows(engine, numbers);
    engine->fluid = fluid_new(arena, engine->queue, EVENT_FLUID);
    engine->channel_of_flow = arena_array(arena, sizes.flows + 1, sizeof *engine->channel_of_flow);
    fluid_reserve(engine->fluid, &sizes);
    for (uint32_t i = 0; i < system->link_count; i++) {
        if (numbers[i] != ENGINE_NONE) {
            fluid_add_link(engine->fluid, system->link_capacities[i]);
        }
    }
    add_flows(scratch, engine, numbers);
    fluid_seal(engine->fluid);
    arena_free(scratch);
}

/* ---- messages on their way ------------------------------------------------------------------- */

/* The smallest message that a stream of a program sends. */
static int64_t smallest_message(const struct engine_system *system,
                                const struct engine_program *program, uint32_t stream)
{
    int64_t smallest = INT64_MAX;
    for (struct engine_walk walk = engine_walk_of(program, stream); walk.task != NULL;
         engine_walk_next(&walk)) {
        const int64_t bytes = system->transfers[walk.task->transfer].bytes;
        if (walk.task->kind == TASK_SEND && bytes < smallest) {
            smallest = bytes;
        }
    }
    return smallest;
}

/* The smallest message of each stream of each program; -1: not looked for yet. */
typedef int64_t smallest_table[ENGINE_STREAMS_MAX];

static smallest_table *smallest_of_none(struct arena *arena, const struct engine_system *system)
{
    smallest_table *smallest = arena_array(arena, system->program_count, sizeof *smallest);
    for (uint32_t p = 0; p < system->program_count; p++) {
        for (uint32_t s = 0; s < system->stream_count; s++) {
            smallest[p][s] = -1;
        }
    }
    return smallest;
}

/* How many messages of a channel can be on the way at once: those that leave within its latency,
 * each of which takes at least as long as its bytes do at the full rate; the one that is leaving,
 * one that arrives at this instant, and one for rounding. */
static uint32_t flights_of(const struct engine_system *system, const struct engine_channel *channel,
                           smallest_table *smallest)
{
    const struct engine_member *sender = &system->members[channel->member_first];
    const uint32_t program = system->actors[sender->actor].program;
    const uint32_t count = system->programs[program].counts[sender->stream];
    int64_t *bytes = &smallest[program][sender->stream];
    if (*bytes < 0) {
        *bytes = smallest_message(system, &system->programs[program], sender->stream);
    }
    sim_assert(channel->path_count == 1);
    if (count == 0 || *bytes == 0) {
        return count;
    }
    const sim_time leaves_ns =
        engine_undisturbed_ns(*bytes, system->paths[channel->path_first].cap_bytes_per_s);
    const sim_time most = channel->latency_ns / leaves_ns + 3;
    return most < count ? (uint32_t)most : count;
}

/* Room for the times of messages on their way. */
void engine_flights_build(struct arena *arena, struct engine *engine)
{
    const struct engine_system *system = engine->system;
    smallest_table *smallest = smallest_of_none(arena, system);
    uint32_t count = 0;
    for (uint32_t i = 0; i < system->channel_count; i++) {
        if (system->channels[i].kind == CHANNEL_PAIR) {
            const uint32_t most = flights_of(system, &system->channels[i], smallest);
            uint32_t room = 1;
            while (room < most) {
                room *= 2;
            }
            engine->channels[i].flight_first = count;
            engine->channels[i].flight_mask = room - 1;
            count += room;
        }
    }
    engine->flights = arena_array(arena, count + 1, sizeof *engine->flights);
    engine->flight_count = count;
}
