/* The engine's paths as flows of des/fluid. The solver is given what can hold a transfer up, and
 * nothing else:
 *
 *   - links that cannot be tight (capacity at least the sum of usage * cap of all paths across
 *     them, of the paths of one channel only the largest) are left out, and paths that cross only
 *     such links are no flows at all;
 *   - paths of one channel with the same crossings and cap, as the phases of a collective in rounds
 *     have, are one flow: a channel runs one transfer at a time.
 *
 * Flows are numbered in the order of their channels, so those that end at one time come out in the
 * same order as if all paths were flows. All arrays are counted before they are filled.
 *
 * Cost: three looks at each crossing.
 */
#include "des/engine_state.h"

#include "base/arena.h"
#include "base/check.h"

/* While the paths of `channel` are looked at: the most that one of them takes of a link. */
struct link_demand {
    uint128 all;
    uint128 largest;
    uint32_t channel; /* + 1 */
};

static void add_demand(const struct engine_system *system, uint32_t number,
                       struct link_demand *demands)
{
    const struct engine_channel *channel = &system->channels[number];
    for (uint32_t k = 0; k < channel->path_count; k++) {
        const struct engine_path *path = &system->paths[channel->path_first + k];
        for (uint32_t i = 0; i < path->crossing_count; i++) {
            const struct engine_crossing *crossing = &system->crossings[path->crossing_first + i];
            struct link_demand *demand = &demands[crossing->link];
            const uint128 wanted = (uint128)crossing->usage * (uint64_t)path->cap_bytes_per_s;
            if (demand->channel != number + 1) {
                demand->channel = number + 1;
                demand->largest = 0;
            }
            if (wanted > demand->largest) {
                demand->all += wanted - demand->largest;
                demand->largest = wanted;
            }
        }
    }
}

/* By link: its number among those that can be tight, in their order, or ENGINE_NONE. */
static uint32_t *number_tight_links(struct arena *arena, struct engine *engine)
{
    const struct engine_system *system = engine->system;
    struct arena *scratch = arena_new();
    struct link_demand *demands = arena_array(scratch, system->link_count, sizeof *demands);
    for (uint32_t i = 0; i < system->channel_count; i++) {
        add_demand(system, i, demands);
    }
    uint32_t *numbers = arena_array(arena, system->link_count, sizeof *numbers);
    uint32_t count = 0;
    for (uint32_t i = 0; i < system->link_count; i++) {
        const uint128 capacity = (uint128)(uint64_t)system->link_capacities[i] * FLUID_USAGE_ONE;
        numbers[i] = demands[i].all > capacity ? count++ : ENGINE_NONE;
    }
    arena_free(scratch);
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
            const uint32_t twin = twin_of(system, channel, k);
            const uint32_t tight = count_tight(system, numbers, &system->paths[number]);
            struct path *path = &engine->paths[number];
            if (twin < k) {
                *path = engine->paths[channel->path_first + twin];
                continue;
            }
            path->is_direct = tight == 0;
            path->flow = tight == 0 ? ENGINE_NONE : (uint32_t)sizes.flows++;
            sizes.crossings += tight;
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
            if (engine->paths[number].flow == next) { /* else it is none, or an earlier one */
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
    const uint32_t *numbers = number_tight_links(scratch, engine);
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
