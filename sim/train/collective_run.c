/* Builds the smallest system in which a collective can run, one actor with one
 * channel, hands it to the engine, and adds the latency that comes before the
 * bytes.
 */
#include "train/collective_run.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/engine.h"
#include "hw/fabric.h"

/* A system of one actor, which stands for the whole group, and one channel, with a link for
 * each phase. */
struct lone_channel {
    struct engine_transfer items[COLLECTIVE_PHASES_MAX];
    struct engine_path paths[COLLECTIVE_PHASES_MAX];
    struct engine_crossing crossings[COLLECTIVE_PHASES_MAX];
    int64_t capacities[COLLECTIVE_PHASES_MAX];
};

/* Alone, a flow is bound by the tightest link of its route; the others cannot be, so they are
 * left out. */
static void add_path(const struct fabric *fabric, struct lone_channel *channel, uint32_t number,
                     const struct fabric_route *route)
{
    struct engine_path *path = &channel->paths[number];
    *path =
        (struct engine_path){.crossing_first = number, .cap_bytes_per_s = route->cap_bytes_per_s};
    for (uint32_t i = 0; i < route->count; i++) {
        if (route->crossings[i].link == route->bottleneck) {
            path->crossing_count = 1;
            channel->crossings[number] =
                (struct engine_crossing){number, route->crossings[i].usage};
            channel->capacities[number] = fabric_link_capacity(fabric, route->bottleneck);
        }
    }
}

static double simulate(struct arena *arena, const struct lone_channel *lone, uint32_t phases)
{
    const struct task task = {.kind = TASK_COLLECTIVE};
    const struct engine_block block = {.tasks = {NULL, &task}, .counts = {0, 1}};
    const struct engine_program program = engine_program_of_one(arena, &block);
    const struct engine_actor actor = {
        .speed = ENGINE_FULL_SPEED, .multiplicity = 1, .channels = {ENGINE_NONE, 0}};
    const struct engine_member member = {.actor = 0, .stream = 1, .weight = 1};
    const struct engine_channel channel = {.kind = CHANNEL_COLLECTIVE,
                                           .needed = 1,
                                           .member_count = 1,
                                           .path_count = phases,
                                           .multiplicity = 1};
    const struct engine_system system = {
        .programs = &program,
        .actors = &actor,
        .channels = &channel,
        .paths = lone->paths,
        .members = &member,
        .crossings = lone->crossings,
        .link_capacities = lone->capacities,
        .transfers = lone->items,
        .program_count = 1,
        .actor_count = 1,
        .channel_count = 1,
        .member_count = 1,
        .crossing_count = phases,
        .link_count = phases,
        .path_count = phases,
        .transfer_count = phases,
        .stream_count = 2,
        .cause_count = 1,
        .job_count = 1,
    };
    struct engine_outcome outcome;
    engine_run(arena, &system, NULL, &outcome);
    return sim_time_to_s(outcome.jobs[0].end);
}

void collective_run(const struct transfer_setting *setting, const struct group_shape *shape,
                    enum collective_operation operation, double bytes,
                    struct collective_outcome *outcome)
{
    sim_assert(shape->ranks >= 2);
    struct arena *arena = arena_new();
    struct transfer_setting own = *setting;
    own.arena = arena;
    struct transfer_quote *quote = &outcome->quote;
    transfer_quote(setting, shape, operation, bytes, quote);
    struct lone_channel *lone = arena_alloc(arena, sizeof *lone);
    for (uint32_t i = 0; i < quote->phase_count; i++) {
        struct fabric_route route;
        group_route(&own, shape, operation, quote->algorithm, i, &route);
        lone->capacities[i] = 1;
        add_path(own.fabric, lone, i, &route);
        lone->items[i] = (struct engine_transfer){
            .latency_ns = sim_time_from_s(quote->latencies_s[i]),
            .bytes = (int64_t)(quote->phases[i].bytes + 0.5),
            .path = i,
            .share = transfer_share(quote, i),
            .next = i + 1 < quote->phase_count ? i + 2 : 0,
        };
    }
    outcome->time_s = simulate(arena, lone, quote->phase_count);
    outcome->algbw_bytes_per_s = bytes / outcome->time_s;
    outcome->busbw_bytes_per_s =
        outcome->algbw_bytes_per_s * collective_busbw_factor(operation, shape->ranks);
    arena_free(arena);
}
