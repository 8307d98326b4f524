/* The loop is: take every event of an instant, let actors go as far as they
 * can, then solve the fluid once; repeat until the instant has no more events.
 *
 * Invariants:
 *  - `ended[s]` counts the tasks of stream s that have ended; the task at that
 *    index is the one under way, blocked, or next.
 *  - An actor's stream is in exactly one of: finished, blocked (bit in
 *    `blocked`), busy (bit in `busy`).
 *  - A blocked stream other than 0 is looked at again when a task ends of the stream that the first
 *    of its unmet waits is for; those that wait for stream 0 (`awaits_compute`), when it has ended
 *    as many as the first of them wants.
 *  - Work under way is kept in ns * millionths, so re-timing loses nothing.
 *  - `pending` is the set of waits of the next compute task not yet met;
 *    `pending_before` the same at the start of the current instant, so that
 *    the owner of a wait does not depend on the order of events within it.
 *
 * Cost: O(1) per task and member that is simulated; what an actor does by itself takes one event
 * (engine_stretch.c), cycles that repeat none (engine_repeat.c).
 * Nothing is allocated after set-up but for what looks at cycles write down.
 */
#include "des/record/engine_record.h"
#include "des/engine_state.h"

#include "base/arena.h"
#include "base/check.h"

#include <string.h>

static void book(struct engine *engine, uint32_t index, uint8_t cause, int64_t ns)
{
    debug_assert(ns >= 0);
    engine->causes[index][cause] += ns;
}

static void book_wait(struct engine *engine, uint32_t index, uint8_t cause, int64_t ns)
{
    book(engine, index, cause, ns);
    if (engine->options.on_wait != NULL && ns > 0) {
        engine->options.on_wait(engine->options.context, index, cause, ns);
    }
}

/* ---- the rate of stream 0 ---------------------------------------------- */

/* Where the compute task under way stands now, at the rate so far. */
static void note_progress(struct engine *engine, uint32_t index)
{
    struct actor *actor = &engine->actors[index];
    const sim_time now = event_now(engine->queue);
    if (actor->stretch != NULL) {
        engine_stretch_seek(engine, index);
        return;
    }
    actor->remaining -= (now - actor->updated) * (int64_t)actor->rate;
    actor->updated = now;
}

void engine_post_compute_end(struct engine *engine, uint32_t index)
{
    struct actor *actor = &engine->actors[index];
    const int64_t left = actor->remaining > 0 ? actor->remaining : 0;
    actor->rate = engine_rate(engine->system->actors[index].speed, actor->interference);
    const sim_time end = actor->stretch != NULL ? engine_stretch_end(engine, index)
                                                : actor->updated + engine_ns_at(left, actor->rate);
    actor->version = (actor->version + 1) & 0xffffff;
    event_post(engine->queue, end, index, EVENT_COMPUTE_END | actor->version << 8);
}

/* Another stream begins or ended a task: the compute task goes on at a new rate. */
static void change_interference(struct engine *engine, uint32_t index, uint32_t stream, bool begins)
{
    const uint32_t amount = engine->system->streams[stream].interference;
    if (amount == 0) {
        return;
    }
    struct actor *actor = &engine->actors[index];
    if (engine_is_busy(actor, COMPUTE) && actor->stretch != NULL && actor->stretch->together != 0) {
        engine_together_cut(engine, index);
    }
    const bool computes = engine_is_busy(actor, COMPUTE);
    if (computes) {
        note_progress(engine, index);
    }
    actor->interference += begins ? amount : 0 - amount;
    if (computes) {
        const uint32_t before = actor->rate;
        engine_post_compute_end(engine, index);
        engine_drift_rate(engine, index, before);
    }
}

/* ---- accounting of waits ------------------------------------------------ */

/* When what a task waits for began to move; now, if it has not. */
static sim_time moving_since(const struct engine *engine, uint32_t index, uint32_t stream)
{
    const struct actor *actor = &engine->actors[index];
    const struct channel *channel = &engine->channels[engine_ledger(actor, stream)->channel];
    if (engine_task_at(actor, stream)->kind == TASK_RECEIVE) {
        return channel->sent > channel->delivered
                   ? *engine_flight(engine, channel, channel->delivered)
                   : event_now(engine->queue);
    }
    return channel->is_moving ? channel->started : event_now(engine->queue);
}

/* What a stream has waited for partners until now, in the task under way, too. */
static int64_t waited_now(const struct engine *engine, uint32_t index, uint32_t stream)
{
    const struct actor *actor = &engine->actors[index];
    const struct stream_ledger *ledger = engine_ledger(actor, stream);
    if (!engine_is_busy(actor, stream)) {
        return ledger->waited_ns;
    }
    const sim_time since = moving_since(engine, index, stream);
    return ledger->waited_ns + (since > ledger->arrived ? since - ledger->arrived : 0);
}

static void begin_wait(struct engine *engine, uint32_t index, const struct task *task)
{
    struct actor *actor = &engine->actors[index];
    actor->blocked_since = event_now(engine->queue);
    for (uint32_t i = 0; i < task->wait_count; i++) {
        actor->waited_before[i] = waited_now(engine, index, task->wait_stream[i]);
    }
}

/* Of the waits met in this instant, the one on the lowest stream owns the wait. */
static uint32_t owner_of_wait(const struct task *task, uint8_t candidates)
{
    uint32_t owner = ENGINE_NONE;
    for (uint32_t i = 0; i < task->wait_count; i++) {
        if (((uint32_t)candidates >> i & 1u) != 0 &&
            (owner == ENGINE_NONE || task->wait_stream[i] < task->wait_stream[owner])) {
            owner = i;
        }
    }
    sim_assert(owner != ENGINE_NONE);
    return owner;
}

/* A wait for partners, before a task or, after the last one, for the end. What was handed on ended
 * it. */
static void book_partners(struct engine *engine, uint32_t index, uint8_t cause, int64_t ns)
{
    const bool has_tasks = engine_task_at(&engine->actors[index], COMPUTE) != NULL;
    if (engine->late == NULL) {
        book_wait(engine, index, cause, ns);
        return;
    }
    const struct late late =
        has_tasks ? engine_late_wait(engine, index, ns) : engine_late_rest(engine, index, ns);
    for (uint32_t i = 0; i < ENGINE_LATES_MAX; i++) {
        ns -= late.ns[i];
    }
    book_wait(engine, index, cause, ns);
    for (uint32_t i = 0; i < engine->system->late_count; i++) {
        book_wait(engine, index, engine->system->lates[i], late.ns[i]);
    }
}

static void end_wait(struct engine *engine, uint32_t index, const struct task *task)
{
    struct actor *actor = &engine->actors[index];
    const int64_t waited = event_now(engine->queue) - actor->blocked_since;
    if (waited == 0) {
        return;
    }
    const uint32_t owner = owner_of_wait(task, actor->pending_before);
    const uint32_t stream = task->wait_stream[owner];
    const int64_t for_partners = waited_now(engine, index, stream) - actor->waited_before[owner];
    sim_assert(for_partners >= 0 && for_partners <= waited);
    book_partners(engine, index, engine->system->streams[stream].wait_cause, for_partners);
    book_wait(engine, index, engine->system->streams[stream].exposed_cause, waited - for_partners);
}

/* ---- starting tasks ------------------------------------------------------- */

/* The waits of a stream's next task not yet met, as a bit set. */
static uint8_t unmet_waits(const struct actor *actor, uint32_t stream, const struct task *task)
{
    uint8_t unmet = 0;
    for (uint32_t i = 0; i < task->wait_count; i++) {
        if (actor->ended[task->wait_stream[i]] < engine_wait_at(actor, stream, task, i)) {
            unmet |= (uint8_t)(1u << i);
        }
    }
    return unmet;
}

/* True when the waits of stream 0's next task are met; keeps the book of who
 * was waited for. */
static bool compute_may_start(struct engine *engine, uint32_t index, const struct task *task)
{
    struct actor *actor = &engine->actors[index];
    const uint8_t unmet = unmet_waits(actor, COMPUTE, task);
    const sim_time now = event_now(engine->queue);
    const bool was_blocked = ((uint32_t)actor->blocked & 1u) != 0;
    if (!was_blocked && unmet == 0) {
        return true;
    }
    if (engine->options.only_length) {
        actor->blocked = (actor->blocked & ~1u) | (unmet != 0);
        return unmet == 0;
    }
    if (!was_blocked) {
        begin_wait(engine, index, task);
        actor->pending = unmet;
        actor->blocked |= 1u;
        actor->pending_before = unmet;
        actor->pending_time = now;
    } else if (actor->pending_time != now) {
        actor->pending_before = actor->pending;
        actor->pending_time = now;
    }
    if (engine->late != NULL && actor->pending != unmet) {
        engine_late_met(engine, index, task, actor->pending & ~(uint32_t)unmet);
    }
    actor->pending = unmet;
    if (unmet != 0) {
        return false;
    }
    end_wait(engine, index, task);
    actor->blocked &= ~1u;
    return true;
}

/* True when the waits of another stream's next task are met. */
static bool meeting_may_start(struct actor *actor, uint32_t stream, const struct task *task)
{
    const uint32_t bit = 1u << stream;
    for (uint32_t i = 0; i < task->wait_count; i++) {
        const uint32_t wanted = engine_wait_at(actor, stream, task, i);
        if (actor->ended[task->wait_stream[i]] >= wanted) {
            continue;
        }
        actor->blocked |= bit;
        if (task->wait_stream[i] != COMPUTE) {
            actor->awaits_compute &= ~bit;
        } else {
            const bool is_first = actor->awaits_compute == 0 || wanted < actor->compute_wanted;
            actor->compute_wanted = is_first ? wanted : actor->compute_wanted;
            actor->awaits_compute |= bit;
        }
        return false;
    }
    actor->blocked &= ~bit;
    actor->awaits_compute &= ~bit;
    return true;
}

static void start_compute(struct engine *engine, uint32_t index, const struct task *task)
{
    struct actor *actor = &engine->actors[index];
    const sim_time now = event_now(engine->queue);
    sim_assert(task->work_ns <= ENGINE_WORK_NS_MAX);
    actor->busy |= 1u;
    actor->compute_start = now;
    actor->updated = now;
    actor->remaining = task->work_ns * ENGINE_FULL_SPEED;
    actor->stretch = engine_stretch_next(engine, index);
    actor->cursor = actor->ended[COMPUTE];
    actor->begun = now;
    actor->is_disturbed = false;
    engine_drift_compute(engine, index);
    engine_post_compute_end(engine, index);
}

static uint32_t path_of(const struct engine *engine, uint32_t number)
{
    const struct engine_transfer *phase =
        &engine->system->transfers[engine->channels[number].phase];
    debug_assert(phase->path < engine->system->channels[number].path_count);
    return engine->system->channels[number].path_first + phase->path;
}

/* The latency of a phase is over: its bytes flow. */
static void start_flow(struct engine *engine, uint32_t number)
{
    const struct engine_transfer *phase =
        &engine->system->transfers[engine->channels[number].phase];
    const uint32_t path = path_of(engine, number);
    engine_drift_flow(engine, engine->paths[path].flow, phase->bytes);
    fluid_start(engine->fluid, engine->paths[path].flow, phase->bytes,
                engine_phase_cap(phase, &engine->system->paths[path]));
}

/* A phase of a channel's transfer begins, after `latency_ns` more than its own. */
static void begin_phase(struct engine *engine, uint32_t number, uint32_t index, sim_time latency_ns)
{
    const struct engine_transfer *phase = &engine->system->transfers[index];
    struct channel *channel = &engine->channels[number];
    channel->phase = index;
    channel->bytes_total += phase->bytes;
    const uint32_t path = path_of(engine, number);
    const sim_time latencies_ns = latency_ns + phase->latency_ns;
    const sim_time starts = event_now(engine->queue) + latencies_ns;
    const struct engine_channel *plan = &engine->system->channels[number];
    if (!engine->options.only_length) {
        engine->traffic[number].alone_ns +=
            latencies_ns + engine_flowing_ns(engine->system, plan, phase);
    }
    const bool is_direct = engine->paths[path].is_direct;
    const sim_time direct_ns = is_direct ? engine_direct_ns(engine, plan, phase) : 0;
    engine_drift_phase(engine, number, direct_ns);
    if (is_direct) {
        event_post(engine->queue, starts + direct_ns, number, EVENT_PHASE_END);
    } else if (latencies_ns > 0) {
        event_post(engine->queue, starts, number, EVENT_LATENCY_END);
    } else {
        start_flow(engine, number);
    }
}

/* The transfer of a channel begins: its members are there. */
static void begin_transfer(struct engine *engine, uint32_t number, uint32_t transfer)
{
    struct channel *channel = &engine->channels[number];
    sim_assert(!channel->is_moving);
    channel->is_moving = true;
    channel->started = event_now(engine->queue);
    begin_phase(engine, number, transfer, engine->system->channels[number].latency_ns);
}

/* The bytes of a message begin to leave. */
static void begin_send(struct engine *engine, uint32_t number, uint32_t transfer)
{
    struct channel *channel = &engine->channels[number];
    sim_assert(!channel->is_moving);
    sim_assert(channel->sent - channel->delivered <= channel->flight_mask);
    channel->is_moving = true;
    channel->started = event_now(engine->queue);
    *engine_flight(engine, channel, channel->sent++) = channel->started;
    engine->traffic[number].alone_ns += engine->system->channels[number].latency_ns;
    begin_phase(engine, number, transfer, 0);
}

static void take_message(struct engine *engine, struct channel *channel, const struct task *task)
{
    channel->received++;
    channel->bytes_received += engine->system->transfers[task->transfer].bytes;
}

/* A task of another stream meets its channel. True when it ended at once. */
static bool start_meeting(struct engine *engine, uint32_t index, uint32_t stream,
                          const struct task *task)
{
    struct actor *actor = &engine->actors[index];
    const uint32_t number = engine_ledger(actor, stream)->channel;
    sim_assert(number != ENGINE_NONE);
    const struct engine_channel *plan = &engine->system->channels[number];
    struct channel *channel = &engine->channels[number];
    if (engine->late != NULL) {
        engine_late_begin(engine, index, stream, task);
    }
    if (task->kind == TASK_RECEIVE && channel->delivered > channel->received) {
        take_message(engine, channel, task);
        return true;
    }
    if (channel->is_bridge && engine_islands_stop(engine, index, stream)) {
        return false;
    }
    actor->busy |= 1u << stream;
    engine_ledger(actor, stream)->arrived = event_now(engine->queue);
    change_interference(engine, index, stream, true);
    if (task->kind == TASK_RECEIVE) {
        channel->has_receiver = true;
    } else if (task->kind == TASK_SEND) {
        if (engine->late != NULL) {
            engine_late_send(engine, index, stream);
        }
        begin_send(engine, number, task->transfer);
    } else {
        if (channel->is_bridge) {
            engine_islands_meet(engine->islands);
        }
        if (engine->late != NULL) {
            engine_late_arrive(engine, index, stream);
        }
        channel->arrived += engine_ledger(actor, stream)->weight;
        sim_assert(channel->arrived <= plan->needed);
        if (channel->arrived == plan->needed) {
            channel->arrived = 0;
            begin_transfer(engine, number, task->transfer);
        }
    }
    return false;
}

/* The last actor to finish a step's compute ends the step. */
static void note_step(struct engine *engine, uint32_t index)
{
    const struct engine_actor *actor = &engine->system->actors[index];
    const uint32_t step_tasks = engine->actors[index].program->step_tasks;
    if (step_tasks != 0 && engine->actors[index].ended[COMPUTE] % step_tasks == 0) {
        const uint32_t step = engine->actors[index].ended[COMPUTE] / step_tasks - 1;
        sim_assert(step < ENGINE_STEPS_MAX);
        sim_time *end = &engine->jobs[actor->job].step_ends[step];
        *end = event_now(engine->queue) > *end ? event_now(engine->queue) : *end;
    }
}

/* `stretch`: that which has ended with this task; NULL: it ended by itself. */
static void record_end(struct engine *engine, uint32_t index, uint32_t stream, sim_time start,
                       const struct stretch *stretch)
{
    const uint32_t last = engine->actors[index].ended[stream];
    const struct engine_row row = {
        .start = start,
        .end = event_now(engine->queue),
        .first = stretch != NULL ? last - (stretch->tasks - 1) : last,
        .last = last,
        .stretch = stretch != NULL ? stretch->together + 1 : 0,
        .is_quiet = stretch != NULL && stretch->together == 0 &&
                    !engine->actors[index].is_disturbed && engine->actors[index].interference == 0,
    };
    engine_record_add(engine->options.record, index, stream, &row);
}

static void task_ended(struct engine *engine, uint32_t index, uint32_t stream, sim_time start,
                       const struct stretch *stretch)
{
    struct actor *actor = &engine->actors[index];
    const uint32_t number = actor->ended[stream];
    if (engine->options.record != NULL) {
        record_end(engine, index, stream, start, stretch);
    }
    if (engine->late != NULL) {
        engine_late_end(engine, index, stream, start);
    }
    engine_move_on(actor, stream, 1);
    engine->tasks++;
    if (stream == COMPUTE) {
        note_step(engine, index);
    }
    sim_time *job_end = &engine->jobs[engine->system->actors[index].job].end;
    *job_end = event_now(engine->queue) > *job_end ? event_now(engine->queue) : *job_end;
    if (engine->options.on_task != NULL) {
        engine->options.on_task(engine->options.context, index, stream, number, start,
                                event_now(engine->queue));
    }
}

/* Lets a stream start its next task if it may. True when a task ended at once,
 * so that others may go on. */
static bool try_stream(struct engine *engine, uint32_t index, uint32_t stream)
{
    struct actor *actor = &engine->actors[index];
    if (engine_is_busy(actor, stream)) {
        return false;
    }
    const struct task *task = engine_task_at(actor, stream);
    if (task == NULL) {
        return false;
    }
    if (stream == COMPUTE) {
        if (!compute_may_start(engine, index, task)) {
            return false;
        }
        if (task->work_ns > 0) {
            start_compute(engine, index, task);
            return false;
        }
        task_ended(engine, index, stream, event_now(engine->queue), NULL);
        return true;
    }
    if (!meeting_may_start(actor, stream, task)) {
        return false;
    }
    if (!start_meeting(engine, index, stream, task)) {
        return false;
    }
    task_ended(engine, index, stream, event_now(engine->queue), NULL);
    return true;
}

/* The streams that may go on when tasks of these have ended. */
static uint32_t woken(struct actor *actor, uint32_t ended)
{
    uint32_t ready = ended | (actor->blocked & ~actor->awaits_compute);
    if ((ended & 1u) != 0 && actor->ended[COMPUTE] >= actor->compute_wanted) {
        ready |= actor->awaits_compute;
        actor->awaits_compute = 0;
    }
    return ready;
}

/* Streams in `ready` may have something to do; whenever a task ends at once,
 * its own stream and those that waited for it are looked at again. */
static void advance(struct engine *engine, uint32_t index, uint32_t ready)
{
    while (ready != 0) {
        const uint32_t stream = (uint32_t)__builtin_ctz(ready);
        ready &= ready - 1;
        if (try_stream(engine, index, stream)) {
            ready |= woken(&engine->actors[index], 1u << stream);
        }
    }
}

/* Tasks of these streams have ended. */
static void go_on(struct engine *engine, uint32_t index, uint32_t ended)
{
    advance(engine, index, woken(&engine->actors[index], ended));
}

/* ---- ending tasks ---------------------------------------------------------- */

static void book_task(struct engine *engine, uint32_t index)
{
    const struct actor *actor = &engine->actors[index];
    const struct task *task = engine_task_at(actor, COMPUTE);
    const uint32_t speed = engine->system->actors[index].speed;
    const int64_t undisturbed_ns = engine_work_ns(task, speed);
    const int64_t launch_ns = engine_launch_ns(task, speed);
    const int64_t took_ns = event_now(engine->queue) - actor->compute_start;
    sim_assert(took_ns >= undisturbed_ns);
    book(engine, index, engine->system->launch_cause, launch_ns);
    book(engine, index, task->cause, undisturbed_ns - launch_ns);
    book(engine, index, engine->system->interference_cause, took_ns - undisturbed_ns);
}

static void end_compute(struct engine *engine, uint32_t index)
{
    struct actor *actor = &engine->actors[index];
    uint32_t streams = 0; /* of which tasks end, too */
    if (actor->stretch != NULL) {
        streams = engine_stretch_finish(engine, index);
    } else if (!engine->options.only_length) {
        book_task(engine, index);
    }
    actor->busy &= ~1u;
    task_ended(engine, index, COMPUTE, actor->compute_start, actor->stretch);
    go_on(engine, index, streams | 1u);
}

/* A task of another stream ends with its channel's transfer. */
static void end_meeting(struct engine *engine, uint32_t index, uint32_t stream)
{
    struct actor *actor = &engine->actors[index];
    struct stream_ledger *ledger = engine_ledger(actor, stream);
    if (!engine->options.only_length) {
        ledger->waited_ns = waited_now(engine, index, stream);
    }
    ledger->ended = event_now(engine->queue);
    actor->busy &= ~(1u << stream);
    change_interference(engine, index, stream, false);
    task_ended(engine, index, stream, ledger->arrived, NULL);
}

/* The oldest message on the way is there. */
static void arrive(struct engine *engine, uint32_t number)
{
    const struct engine_channel *plan = &engine->system->channels[number];
    const struct engine_member *receiver = &engine->system->members[plan->member_first + 1];
    struct channel *channel = &engine->channels[number];
    const sim_time left = *engine_flight(engine, channel, channel->delivered);
    engine->traffic[number].transfers++;
    engine->traffic[number].moving_ns += event_now(engine->queue) - left;
    if (!channel->has_receiver) {
        channel->delivered++;
        return;
    }
    channel->has_receiver = false;
    take_message(engine, channel,
                 engine_task_at(&engine->actors[receiver->actor], receiver->stream));
    end_meeting(engine, receiver->actor, receiver->stream);
    channel->delivered++;
    go_on(engine, receiver->actor, 1u << receiver->stream);
}

/* The bytes of a message have left. */
static void end_send(struct engine *engine, uint32_t number)
{
    const struct engine_channel *plan = &engine->system->channels[number];
    const struct engine_member *sender = &engine->system->members[plan->member_first];
    end_meeting(engine, sender->actor, sender->stream);
    engine->channels[number].is_moving = false;
    engine_drift_leave(engine, number);
    event_post(engine->queue, event_now(engine->queue) + plan->latency_ns, number, EVENT_ARRIVAL);
    go_on(engine, sender->actor, 1u << sender->stream);
}

static void end_transfer(struct engine *engine, uint32_t number)
{
    const struct engine_channel *plan = &engine->system->channels[number];
    struct channel *channel = &engine->channels[number];
    const struct engine_member *members = &engine->system->members[plan->member_first];
    if (plan->kind == CHANNEL_PAIR) {
        end_send(engine, number);
        return;
    }
    engine->traffic[number].transfers++;
    engine->traffic[number].moving_ns += event_now(engine->queue) - channel->started;
    if (engine->late != NULL) {
        engine_late_transfer(engine, number);
    }
    for (uint32_t i = 0; i < plan->member_count; i++) {
        end_meeting(engine, members[i].actor, members[i].stream);
    }
    channel->is_moving = false;
    if (channel->is_bridge) {
        engine_islands_part(engine->islands, plan->member_count);
    }
    for (uint32_t i = 0; i < plan->member_count; i++) {
        go_on(engine, members[i].actor, 1u << members[i].stream);
    }
    engine_together_begin(engine, number);
}

static void end_phase(struct engine *engine, uint32_t number)
{
    const struct channel *channel = &engine->channels[number];
    sim_assert(channel->is_moving);
    const uint32_t next = engine->system->transfers[channel->phase].next;
    if (next != 0) {
        begin_phase(engine, number, next - 1, 0);
    } else {
        end_transfer(engine, number);
    }
}

/* ---- events ----------------------------------------------------------------- */

static void handle(struct engine *engine, const struct event *event)
{
    flow_id flow;
    engine_drift_event(engine, event);
    switch (event->stamp & 0xff) {
    case EVENT_COMPUTE_END:
        if (event->stamp >> 8 == engine->actors[event->target].version) {
            end_compute(engine, event->target);
        }
        break;
    case EVENT_LATENCY_END:
        start_flow(engine, event->target);
        break;
    case EVENT_PHASE_END:
        end_phase(engine, event->target);
        break;
    case EVENT_ARRIVAL:
        arrive(engine, event->target);
        break;
    case EVENT_FLUID:
        while (fluid_complete(engine->fluid, event, &flow)) {
            engine_drift_end_flow(engine, flow);
            end_phase(engine, engine->channel_of_flow[flow]);
        }
        break;
    case EVENT_MEETING:
        advance(engine, event->target, 1u << (event->stamp >> 8));
        break;
    default:
        sim_assert(false);
    }
}

void engine_handle_instant(struct engine *engine, sim_time time)
{
    struct event event;
    while (event_pop_at(engine->queue, time, &event)) {
        engine->events++;
        handle(engine, &event);
    }
    fluid_solve(engine->fluid);
    engine_drift_end_instant(engine);
}

static bool is_under_way(const struct engine *engine, uint32_t job)
{
    for (uint32_t i = 0; i < engine->system->actor_count; i++) {
        for (uint32_t s = 0; s < engine->system->stream_count; s++) {
            if (engine->system->actors[i].job == job &&
                engine_task_at(&engine->actors[i], s) != NULL) {
                return true;
            }
        }
    }
    return false;
}

/* False: it was cut, since job 0 goes on beyond the instant up to which it is asked about. */
static bool run_to_the_end(struct arena *arena, struct engine *engine)
{
    sim_time until = engine->options.until > 0 ? engine->options.until : SIM_TIME_MAX;
    struct engine_least *least = NULL;
    if (until != SIM_TIME_MAX && engine->islands == NULL && engine->system->job_count == 1) {
        least = engine_least_new(arena, engine, until);
    }
    sim_time time;
    while ((time = event_next_time(engine->queue)) != SIM_TIME_MAX) {
        if (time > until) {
            if (is_under_way(engine, 0)) {
                return false;
            }
            until = SIM_TIME_MAX;
            least = NULL;
        }
        engine_handle_instant(engine, time);
        if (least != NULL && engine_least_is_late(least, engine)) {
            return false;
        }
        if (engine->islands != NULL) {
            engine_islands_look(engine);
        }
        if (engine->repeat != NULL) {
            engine_repeat_look(engine);
        }
    }
    return true;
}

/* ---- set-up and outcome ------------------------------------------------------ */

/* Where the ledger of each stream is among those of an actor of that program, of which there are
 * `count`; the last one is of all streams without tasks. */
static const uint8_t *list_slots(struct arena *arena, const struct engine_program *program,
                                 uint32_t *count)
{
    uint8_t *slots = arena_array(arena, ENGINE_STREAMS_MAX, sizeof *slots);
    uint8_t used = 0;
    for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
        slots[s] = program->counts[s] > 0 || s == COMPUTE ? used++ : UINT8_MAX;
    }
    for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
        slots[s] = slots[s] == UINT8_MAX ? used : slots[s];
    }
    *count = used + 1u;
    return slots;
}

/* Each actor's, one after the other. */
static void build_ledgers(struct arena *arena, struct engine *engine)
{
    const struct engine_system *system = engine->system;
    const uint8_t **slots = arena_array(arena, system->program_count, sizeof *slots);
    uint32_t *counts = arena_array(arena, system->program_count, sizeof *counts);
    for (uint32_t p = 0; p < system->program_count; p++) {
        slots[p] = list_slots(arena, &system->programs[p], &counts[p]);
    }
    for (uint32_t i = 0; i < system->actor_count; i++) {
        engine->ledger_count += counts[system->actors[i].program];
    }
    engine->ledgers = arena_array(arena, engine->ledger_count, sizeof *engine->ledgers);
    struct stream_ledger *next = engine->ledgers;
    for (uint32_t i = 0; i < system->actor_count; i++) {
        struct actor *actor = &engine->actors[i];
        const struct engine_actor *plan = &system->actors[i];
        actor->program = &system->programs[plan->program];
        actor->slots = slots[plan->program];
        actor->ledgers = next;
        next += counts[plan->program];
        for (uint32_t s = 0; s < system->stream_count; s++) {
            actor->block[s] = engine_program_block(actor->program, s, 0);
            if (actor->program->counts[s] > 0) {
                engine_ledger(actor, s)->channel = plan->channels[s];
            }
        }
    }
    for (uint32_t i = 0; i < system->member_count; i++) {
        const struct engine_member *member = &system->members[i];
        engine_ledger(&engine->actors[member->actor], member->stream)->weight = member->weight;
    }
}

static void tell_rate(void *context, flow_id flow, int64_t bytes_per_s)
{
    const struct engine *engine = context;
    const uint32_t channel = engine->channel_of_flow[flow];
    engine->options.on_rate(engine->options.context, channel, engine->channels[channel].phase,
                            bytes_per_s, event_now(engine->queue));
}

/* What is of the outcome in the arena `kept`. */
static struct engine *build(struct arena *kept, const struct engine_system *system,
                            const struct engine_options *options)
{
    struct arena *arena = options != NULL && options->scratch != NULL ? options->scratch : kept;
    struct engine *engine = arena_alloc(arena, sizeof *engine);
    sim_assert(system->stream_count <= ENGINE_STREAMS_MAX);
    sim_assert(system->cause_count <= ENGINE_CAUSES_MAX);
    sim_assert(system->job_count >= 1);
    engine->system = system;
    if (options != NULL) {
        engine->options = *options;
    }
    engine->queue = event_queue_new(arena);
    engine->actors = arena_array(arena, system->actor_count, sizeof *engine->actors);
    engine->channels = arena_array(arena, system->channel_count, sizeof *engine->channels);
    engine->traffic = arena_array(kept, system->channel_count, sizeof *engine->traffic);
    engine->paths = arena_array(arena, system->path_count, sizeof *engine->paths);
    engine->jobs = arena_array(kept, system->job_count, sizeof *engine->jobs);
    engine->causes = arena_array(kept, system->actor_count, sizeof *engine->causes);
    build_ledgers(arena, engine);
    sim_assert(engine->options.on_wait == NULL || engine->options.on_task != NULL);
    sim_assert(!engine->options.only_length ||
               (engine->options.on_task == NULL && engine->options.record == NULL));
    sim_assert(engine->options.until == 0 || engine->options.only_length);
    if (engine->options.record != NULL) {
        engine_record_begin(engine->options.record, engine);
    }
    engine_flights_build(arena, engine);
    engine->late = engine->options.only_length ? NULL : engine_late_new(arena, engine);
    engine_flows_build(arena, engine);
    if (engine->options.on_rate != NULL) {
        sim_assert(engine->options.on_task != NULL);
        fluid_watch(engine->fluid, tell_rate, engine);
    }
    if (engine->options.on_task == NULL && !engine->options.each_task) {
        engine_stretches_build(arena, engine);
    }
    engine->repeat = engine_repeat_new(arena, engine);
    engine->islands = engine_islands_new(arena, engine);
    engine->drift = engine_drift_new(arena, engine);
    return engine;
}

static void check_finished(const struct engine *engine, uint32_t index)
{
    for (uint32_t s = 0; s < engine->system->stream_count; s++) {
        sim_assert(engine_task_at(&engine->actors[index], s) ==
                   NULL); /* else: a deadlock in the programs */
    }
}

/* Books the time after each actor's last task, up to its job's end, and sums up. */
static void close_books(struct engine *engine)
{
    const struct engine_system *system = engine->system;
    if (engine->late != NULL) {
        engine_late_close(engine);
    }
    for (uint32_t i = 0; i < system->actor_count; i++) {
        check_finished(engine, i);
        struct engine_job *job = &engine->jobs[system->actors[i].job];
        int64_t sum = 0;
        for (uint32_t c = 0; c < system->cause_count; c++) {
            sum += engine->causes[i][c];
        }
        sim_assert(sum <= job->end);
        book_partners(engine, i, system->end_cause, job->end - sum);
        for (uint32_t c = 0; c < system->cause_count; c++) {
            job->total_causes[c] += engine->causes[i][c] * system->actors[i].multiplicity;
        }
    }
}

static void sum_traffic(const struct engine *engine, struct engine_outcome *outcome)
{
    const struct engine_system *system = engine->system;
    for (uint32_t i = 0; i < system->channel_count; i++) {
        const struct engine_channel *plan = &system->channels[i];
        const struct channel *channel = &engine->channels[i];
        sim_assert(engine->traffic[i].alone_ns <= engine->traffic[i].moving_ns);
        if (plan->kind == CHANNEL_PAIR) {
            sim_assert(channel->delivered == channel->received);
            outcome->bytes_sent += channel->bytes_total * plan->multiplicity;
            outcome->bytes_received += channel->bytes_received * plan->multiplicity;
        }
    }
    sim_assert(outcome->bytes_sent == outcome->bytes_received);
}

static void begin_all(struct engine *engine)
{
    const uint32_t all_streams = (1u << engine->system->stream_count) - 1;
    for (uint32_t i = 0; i < engine->system->actor_count; i++) {
        advance(engine, i, all_streams);
    }
    fluid_solve(engine->fluid);
    engine_drift_end_instant(engine);
    if (engine->islands != NULL) {
        engine_islands_look(engine);
    }
}

void engine_run(struct arena *arena, const struct engine_system *system,
                const struct engine_options *options, struct engine_outcome *outcome)
{
    struct engine *engine = build(arena, system, options);
    begin_all(engine);
    memset(outcome, 0, sizeof *outcome);
    outcome->is_cut = !run_to_the_end(arena, engine);
    if (!engine->options.only_length) {
        close_books(engine);
        sum_traffic(engine, outcome);
    }
    outcome->jobs = engine->jobs;
    outcome->actor_causes = engine->causes;
    outcome->traffic = engine->traffic;
    outcome->tasks = engine->tasks;
    outcome->tasks_repeated = engine->tasks_repeated;
    outcome->events = engine->events;
    outcome->turns = engine->islands != NULL ? engine_islands_turns(engine->islands) : 0;
    outcome->steadiness = engine_drift_steadiness(engine);
    outcome->fluid = fluid_statistics(engine->fluid);
}
