/* Two hooks of the engine write lists. The transfer that a flow is of is known from how many of its
 * channel's have ended: a channel runs one at a time, in order. */
#include "des/record/engine_watch.h"

#include "base/arena.h"
#include "base/check.h"

static void add_move(struct engine_watch *watch, enum watched_kind kind, size_t number)
{
    sim_assert(number < ENGINE_NONE && watch->move_count < ENGINE_NONE);
    watch->moves = arena_grow(watch->arena, watch->moves, &watch->move_capacity,
                              watch->move_count + 1, sizeof *watch->moves);
    watch->moves[watch->move_count++] = (struct watched_move){kind, (uint32_t)number};
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/* Of those who meet in the channel of a stream, the one whose tasks are counted. */
static bool counts_meetings(const struct engine_system *system, uint32_t actor, uint32_t stream)
{
    const struct engine_channel *channel =
        &system->channels[system->actors[actor].channels[stream]];
    const struct engine_member *first = &system->members[channel->member_first];
    return first->actor == actor && first->stream == stream;
}

static void see_task(void *context, uint32_t actor, uint32_t stream, uint32_t index, sim_time start,
                     sim_time end)
{
    struct engine_watch *watch = context;
    const struct engine_system *system = watch->system;
    if (stream != 0 && counts_meetings(system, actor, stream)) {
        watch->meetings[system->actors[actor].channels[stream]]++;
    }
    watch->tasks = arena_grow(watch->arena, watch->tasks, &watch->task_capacity,
                              watch->task_count + 1, sizeof *watch->tasks);
    const struct engine_program *program = engine_program_of_actor(system, actor);
    const uint32_t block = engine_program_block(program, stream, index);
    watch->tasks[watch->task_count] = (struct watched_task){
        .actor = actor,
        .stream = stream,
        .index = index,
        .block = block,
        .plan = &program->blocks[block]->tasks[stream][index - program->firsts[block][stream]],
        .start = start,
        .end = end};
    watch->task_of[watch->task_first[actor * system->stream_count + stream] + index] =
        (uint32_t)watch->task_count;
    add_move(watch, WATCHED_TASK, watch->task_count++);
}

/* ---- rates ---------------------------------------------------------------------------------- */

static void add_rate(struct engine_watch *watch, struct watched_flow *flow, int64_t bytes_per_s,
                     sim_time time)
{
    watch->rates = arena_grow(watch->arena, watch->rates, &watch->rate_capacity,
                              watch->rate_count + 1, sizeof *watch->rates);
    watch->rates[watch->rate_count] =
        (struct watched_rate){bytes_per_s, time, flow->rates, (uint32_t)watch->move_count};
    flow->rates = (uint32_t)watch->rate_count++;
}

static struct watched_flow *add_flow(struct engine_watch *watch, uint32_t channel, uint32_t phase,
                                     sim_time time)
{
    watch->flows = arena_grow(watch->arena, watch->flows, &watch->flow_capacity,
                              watch->flow_count + 1, sizeof *watch->flows);
    struct watched_flow *flow = &watch->flows[watch->flow_count];
    *flow = (struct watched_flow){.channel = channel,
                                  .phase = phase,
                                  .meeting = watch->meetings[channel],
                                  .rates = ENGINE_NONE,
                                  .sibling = watch->last_flows[channel],
                                  .start = time,
                                  .end = -1};
    watch->last_flows[channel] = (uint32_t)watch->flow_count;
    add_move(watch, WATCHED_FLOW_START, watch->flow_count++);
    return flow;
}

static void see_rate(void *context, uint32_t channel, uint32_t phase, int64_t bytes_per_s,
                     sim_time time)
{
    struct engine_watch *watch = context;
    const uint32_t last = watch->last_flows[channel];
    struct watched_flow *flow = last != ENGINE_NONE ? &watch->flows[last] : NULL;
    if (bytes_per_s == 0) {
        sim_assert(flow != NULL && flow->end < 0 && flow->phase == phase);
        flow->end = time;
        add_move(watch, WATCHED_FLOW_END, last);
        return;
    }
    if (flow == NULL || flow->end >= 0) {
        flow = add_flow(watch, channel, phase, time);
    }
    add_rate(watch, flow, bytes_per_s, time);
}

/* ---- all of it ------------------------------------------------------------------------------ */

struct engine_options engine_watch_options(struct arena *arena, const struct engine_system *system,
                                           struct engine_watch *watch)
{
    *watch = (struct engine_watch){.arena = arena, .system = system};
    watch->last_flows = arena_array(arena, system->channel_count + 1u, sizeof *watch->last_flows);
    watch->meetings = arena_array(arena, system->channel_count + 1u, sizeof *watch->meetings);
    for (uint32_t i = 0; i < system->channel_count; i++) {
        watch->last_flows[i] = ENGINE_NONE;
    }
    const uint32_t streams = system->stream_count;
    watch->task_first =
        arena_array(arena, (size_t)system->actor_count * streams + 1, sizeof *watch->task_first);
    size_t count = 0;
    for (uint32_t i = 0; i < system->actor_count; i++) {
        for (uint32_t s = 0; s < streams; s++) {
            watch->task_first[i * streams + s] = (uint32_t)count;
            count += engine_program_of_actor(system, i)->counts[s];
            sim_assert(count < ENGINE_NONE);
        }
    }
    watch->task_of = arena_array(arena, count + 1, sizeof *watch->task_of);
    return (struct engine_options){.on_task = see_task, .on_rate = see_rate, .context = watch};
}

sim_time engine_watch_time(const struct engine_watch *watch, uint32_t move)
{
    const uint32_t number = watch->moves[move].number;
    switch (watch->moves[move].kind) {
    case WATCHED_TASK:
        return watch->tasks[number].end;
    case WATCHED_FLOW_START:
        return watch->flows[number].start;
    case WATCHED_FLOW_END:
        return watch->flows[number].end;
    }
    sim_assert(false);
    return 0;
}
