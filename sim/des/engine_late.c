/* What made whom late, so that a wait is booked under what ended it.
 *
 * Of each moment of a stream we keep its *lates*: how much sooner it would have come, had the
 * transfers of channels that make late taken no time, or slow actors been at full speed; one late
 * for each cause that is handed on. Transfers of such channels add what they take, slow actors what
 * they take longer; all else passes on what it hangs on.
 *
 * A wait of stream 0 began at a moment with lates of its own, and what ended it has others. Of each
 * the waiter has then the least of what that has, and of its own with the whole wait: by so much
 * sooner both would have been there. What that is more than its own before, the wait is longer for
 * it: so much of a wait for partners is booked on the late's cause, from the first late to the
 * last. The rest would be there without any: a pipeline that starts, or drains.
 *
 *     first stage  |..data..|F1|.data.|F2|.data.|F3|              data 3 long, F 2
 *     second                   |F1|.data.|F2|.data.|F3|
 *                  |..data..|bb|                                  b: would wait anyway
 *
 * So what waits for data is data's, also on the stage that never loads: in the steady state all of
 * it, in the start what the first batch took.
 *
 * What ended a wait has the least of the lates of all that was waited for, each with what it was
 * there before the last; a collective those of its members, likewise; a message its sender's, if it
 * was waited for. Other streams go on with those of what they waited
 * for last: of their own last task, if it ended in this instant, else the least of the waits that
 * were met in it. Of several tasks of a stream that end in one instant the first counts. None of
 * this depends on the order of events within an instant.
 *
 * ASSUMES: what was there before it was waited for would have been so anyway. Else lates are less.
 *
 * Stretches (engine_stretch.c) of actors at full speed pass on what they began with, if those who
 * meet there began with the same. Slower ones, who meets them, and transfers that make late are
 * no part of any: they are simulated task by task.
 *
 * Cost: O(waits of a task) for each task that is simulated, where something makes late and waits
 * may be booked on several causes; none else.
 */
#include "des/engine_state.h"

#include "base/arena.h"

#include <string.h>

/* What a stream of an actor has of lateness. */
struct late_stream {
    sim_time since;  /* when its last tasks ended */
    uint32_t before; /* how many had ended before that instant */
    struct late is;  /* of the first of these, or of the task that began since */
};

/* Of those who have come to a collective, or of the waits of a task that were met: at the time of
 * the last of these. */
struct late_met {
    sim_time since;
    struct late is;
};

struct engine_late {
    struct late_stream *streams; /* as engine->ledgers */
    struct late_met *channels;
    struct late_met *waits; /* by actor: of stream 0's task, since it waits */
    struct late *flights;   /* as engine->flights */
    struct late *moved;     /* scratch: of one channel */
    struct late *jobs;      /* at their ends */
};

static struct late_stream *stream_of(const struct engine *engine, uint32_t index, uint32_t stream)
{
    return &engine->late->streams[engine_ledger(&engine->actors[index], stream) - engine->ledgers];
}

/* ---- set-up --------------------------------------------------------------------------------- */

/* A wait may be booked on another cause than this one: else who made it makes no difference. */
static bool tells_apart(const struct engine_system *system, uint8_t cause)
{
    for (uint32_t i = 0; i < system->member_count; i++) {
        if (system->streams[system->members[i].stream].wait_cause != cause) {
            return true;
        }
    }
    return system->end_cause != cause;
}

static bool makes_late(const struct engine_system *system)
{
    for (uint32_t i = 0; i < system->channel_count; i++) {
        if (system->channels[i].makes_late != 0) {
            return true;
        }
    }
    const bool asks = system->slow_late < system->late_count &&
                      tells_apart(system, system->lates[system->slow_late]);
    for (uint32_t i = 0; asks && i < system->actor_count; i++) {
        if (system->actors[i].speed < ENGINE_FULL_SPEED) {
            return true;
        }
    }
    return false;
}

static bool is_pair(const struct engine *engine, uint32_t number)
{
    return engine->system->channels[number].kind == CHANNEL_PAIR;
}

/* Of all channels; the most of any. */
static size_t count_flights(const struct engine *engine, size_t *most)
{
    size_t count = 0;
    *most = 0;
    for (uint32_t i = 0; i < engine->system->channel_count; i++) {
        const size_t flights = is_pair(engine, i) ? (size_t)engine->channels[i].flight_mask + 1 : 0;
        count += flights;
        *most = flights > *most ? flights : *most;
    }
    return count;
}

struct engine_late *engine_late_new(struct arena *arena, const struct engine *engine)
{
    const struct engine_system *system = engine->system;
    sim_assert(system->late_count <= ENGINE_LATES_MAX);
    if (system->late_count == 0 || !makes_late(system)) {
        return NULL;
    }
    struct engine_late *late = arena_alloc(arena, sizeof *late);
    late->streams = arena_array(arena, engine->ledger_count, sizeof *late->streams);
    late->channels = arena_array(arena, system->channel_count, sizeof *late->channels);
    late->waits = arena_array(arena, system->actor_count, sizeof *late->waits);
    size_t most;
    late->flights = arena_array(arena, count_flights(engine, &most) + 1, sizeof *late->flights);
    late->moved = arena_array(arena, most + 1, sizeof *late->moved);
    late->jobs = arena_array(arena, system->job_count, sizeof *late->jobs);
    return late;
}

bool engine_late_is_same(const struct engine *engine, uint32_t a, uint32_t b)
{
    return engine->late == NULL ||
           memcmp(&stream_of(engine, a, COMPUTE)->is, &stream_of(engine, b, COMPUTE)->is,
                  sizeof(struct late)) == 0;
}

bool engine_late_passes(const struct engine *engine, uint32_t index)
{
    return engine->late == NULL || engine->system->actors[index].speed == ENGINE_FULL_SPEED ||
           engine->system->slow_late >= engine->system->late_count;
}

bool engine_late_passes_through(const struct engine *engine, uint32_t number)
{
    return engine->late == NULL || engine->system->channels[number].makes_late == 0;
}

/* ---- where it is ---------------------------------------------------------------------------- */

static uint32_t channel_of(const struct engine *engine, uint32_t index, uint32_t stream)
{
    return engine_ledger(&engine->actors[index], stream)->channel;
}

static struct late *flight_of(const struct engine *engine, const struct channel *channel,
                              uint32_t message)
{
    return &engine->late->flights[engine_flight(engine, channel, message) - engine->flights];
}

/* Each the least of both, of which the other's moment was so much earlier. */
static void take_least(const struct engine *engine, const struct late *other, sim_time earlier,
                       struct late *late)
{
    for (uint32_t i = 0; i < engine->system->late_count; i++) {
        const int64_t ns = other->ns[i] + earlier;
        late->ns[i] = ns < late->ns[i] ? ns : late->ns[i];
    }
}

/* Of those waits of a task that were met in this instant. */
static struct late last_met(const struct engine *engine, uint32_t index, uint32_t stream,
                            const struct task *task)
{
    const struct actor *actor = &engine->actors[index];
    struct late least = stream_of(engine, index, stream)->is;
    bool is_first = true;
    for (uint32_t i = 0; i < task->wait_count; i++) {
        const struct late_stream *of = stream_of(engine, index, task->wait_stream[i]);
        if (of->since != event_now(engine->queue) ||
            of->before >= engine_wait_at(actor, stream, task, i)) {
            continue;
        }
        if (is_first) {
            least = of->is;
            is_first = false;
        }
        take_least(engine, &of->is, 0, &least);
    }
    return least;
}

/* ---- what happens --------------------------------------------------------------------------- */

void engine_late_begin(struct engine *engine, uint32_t index, uint32_t stream,
                       const struct task *task)
{
    struct late_stream *of = stream_of(engine, index, stream);
    if (of->since != event_now(engine->queue)) {
        of->is = last_met(engine, index, stream, task);
    }
}

/* Counts one more member that has come to a meeting. */
static void add_met(const struct engine *engine, const struct late *is, bool is_first,
                    struct late_met *met)
{
    const struct late_met before = *met;
    *met = (struct late_met){event_now(engine->queue), *is};
    if (!is_first) {
        take_least(engine, &before.is, met->since - before.since, &met->is);
    }
}

void engine_late_arrive(struct engine *engine, uint32_t index, uint32_t stream)
{
    const uint32_t number = channel_of(engine, index, stream);
    const bool is_first = engine->channels[number].arrived == 0;
    add_met(engine, &stream_of(engine, index, stream)->is, is_first,
            &engine->late->channels[number]);
}

void engine_late_send(struct engine *engine, uint32_t index, uint32_t stream)
{
    const struct channel *channel = &engine->channels[channel_of(engine, index, stream)];
    *flight_of(engine, channel, channel->sent) = stream_of(engine, index, stream)->is;
}

void engine_late_transfer(struct engine *engine, uint32_t number)
{
    const uint8_t makes = engine->system->channels[number].makes_late;
    if (makes != 0) {
        engine->late->channels[number].is.ns[makes - 1] +=
            event_now(engine->queue) - engine->channels[number].started;
    }
}

/* A task of stream 0 at a slower speed takes longer. */
static struct late after_work(const struct engine *engine, uint32_t index, struct late is)
{
    const struct engine_system *system = engine->system;
    const struct task *task = engine_task_at(&engine->actors[index], COMPUTE);
    if (system->slow_late < system->late_count) {
        is.ns[system->slow_late] +=
            engine_work_ns(task, system->actors[index].speed) - task->work_ns;
    }
    return is;
}

/* What the stream's next task hands on, which ends. */
static struct late handed_on(const struct engine *engine, uint32_t index, uint32_t stream,
                             sim_time start)
{
    const struct late is = stream_of(engine, index, stream)->is;
    if (stream == COMPUTE) {
        return after_work(engine, index, is);
    }
    const uint32_t number = channel_of(engine, index, stream);
    const struct channel *channel = &engine->channels[number];
    switch (engine_task_at(&engine->actors[index], stream)->kind) {
    case TASK_COLLECTIVE:
        return engine->late->channels[number].is;
    case TASK_RECEIVE:
        return start < event_now(engine->queue) ? *flight_of(engine, channel, channel->delivered)
                                                : is;
    default:
        return is;
    }
}

static void note_end(struct engine *engine, uint32_t index, uint32_t stream, const struct late *is)
{
    struct late_stream *of = stream_of(engine, index, stream);
    const sim_time now = event_now(engine->queue);
    if (of->since != now) {
        *of = (struct late_stream){now, engine->actors[index].ended[stream], *is};
    }
}

void engine_late_end(struct engine *engine, uint32_t index, uint32_t stream, sim_time start)
{
    const struct late is = handed_on(engine, index, stream, start);
    note_end(engine, index, stream, &is);
}

void engine_late_part(struct engine *engine, uint32_t index, uint32_t stream, sim_time met_at)
{
    *stream_of(engine, index, stream) = (struct late_stream){
        met_at, engine->actors[index].ended[stream], stream_of(engine, index, COMPUTE)->is};
}

/* Its last task is stream 0's: collectives ended before this instant. When does not matter: in the
 * end (end_of) stream 0, which went on on the same, has no more. */
void engine_late_stretch(struct engine *engine, uint32_t index)
{
    const struct stretch *stretch = engine->actors[index].stretch;
    const struct late is = stream_of(engine, index, COMPUTE)->is;
    sim_assert(engine_late_passes(engine, index));
    note_end(engine, index, COMPUTE, &is);
    for (uint32_t i = 0; i < stretch->stream_count; i++) {
        engine_late_part(engine, index, stretch->meetings[i].stream,
                         engine->actors[index].compute_start);
    }
}

void engine_late_cut(struct engine *engine, uint32_t index, uint32_t number, sim_time last)
{
    engine->late->channels[number] = (struct late_met){last, stream_of(engine, index, COMPUTE)->is};
}

/* ---- waits ---------------------------------------------------------------------------------- */

/* A wait of `waited_ns` was ended by `other`: what the waiter has then more than before, from the
 * first on, of so much at most. */
static struct late wait_for(const struct engine *engine, const struct late *other,
                            int64_t waited_ns, int64_t most, struct late *is)
{
    const struct late own = *is;
    struct late more = {{0}};
    *is = *other;
    take_least(engine, &own, waited_ns, is);
    for (uint32_t i = 0; i < engine->system->late_count; i++) {
        const int64_t ns = is->ns[i] - own.ns[i];
        more.ns[i] = ns < 0 ? 0 : ns < most ? ns : most;
        most -= more.ns[i];
    }
    return more;
}

/* Since the wait began: none was at its beginning. */
static bool has_met(const struct engine *engine, uint32_t index)
{
    return (engine->actors[index].blocked & 1u) != 0 &&
           engine->late->waits[index].since > engine->actors[index].blocked_since;
}

void engine_late_met(struct engine *engine, uint32_t index, const struct task *task, uint32_t met)
{
    for (uint32_t i = 0; i < task->wait_count; i++) {
        if ((met >> i & 1u) != 0) {
            add_met(engine, &stream_of(engine, index, task->wait_stream[i])->is,
                    !has_met(engine, index), &engine->late->waits[index]);
        }
    }
}

struct late engine_late_wait(struct engine *engine, uint32_t index, int64_t for_partners)
{
    const sim_time since = engine->actors[index].blocked_since;
    return wait_for(engine, &engine->late->waits[index].is, event_now(engine->queue) - since,
                    for_partners, &stream_of(engine, index, COMPUTE)->is);
}

/* Of whatever a job's actors did last. */
static struct late end_of(const struct engine *engine, uint32_t job)
{
    const struct engine_system *system = engine->system;
    struct late least = {{INT64_MAX, INT64_MAX, INT64_MAX}};
    for (uint32_t i = 0; i < system->actor_count; i++) {
        for (uint32_t s = 0; system->actors[i].job == job && s < system->stream_count; s++) {
            const struct late_stream *of = stream_of(engine, i, s);
            if (engine->actors[i].program->counts[s] > 0) {
                take_least(engine, &of->is, engine->jobs[job].end - of->since, &least);
            }
        }
    }
    return least;
}

void engine_late_close(struct engine *engine)
{
    for (uint32_t job = 0; job < engine->system->job_count; job++) {
        engine->late->jobs[job] = end_of(engine, job);
    }
}

struct late engine_late_rest(const struct engine *engine, uint32_t index, int64_t waited_ns)
{
    const struct late *other = &engine->late->jobs[engine->system->actors[index].job];
    struct late is = stream_of(engine, index, COMPUTE)->is;
    return wait_for(engine, other, waited_ns, waited_ns, &is);
}

/* ---- cycles that come again (engine_repeat.c) ----------------------------------------------- */

struct late engine_late_base(const struct engine *engine)
{
    return engine->late != NULL ? stream_of(engine, 0, COMPUTE)->is : (struct late){{0}};
}

static uint32_t put(const struct engine *engine, const struct late *late, uint64_t *words)
{
    const struct late base = engine_late_base(engine);
    for (uint32_t i = 0; i < engine->system->late_count; i++) {
        words[i] = (uint64_t)(late->ns[i] - base.ns[i]);
    }
    return engine->system->late_count;
}

/* Stream 0 has tasks left: of one that has not nothing moves on. */
static bool goes_on(const struct engine *engine, uint32_t index)
{
    return engine_task_at(&engine->actors[index], COMPUTE) != NULL;
}

uint32_t engine_late_of_actor(const struct engine *engine, uint32_t index, uint64_t *words)
{
    if (engine->late == NULL || !goes_on(engine, index)) {
        return 0;
    }
    uint32_t count = put(engine, &stream_of(engine, index, COMPUTE)->is, words);
    if (has_met(engine, index)) {
        const struct late_met *met = &engine->late->waits[index];
        words[count++] = (uint64_t)(event_now(engine->queue) - met->since);
        count += put(engine, &met->is, words + count);
    }
    return count;
}

uint32_t engine_late_of_channel(const struct engine *engine, uint32_t number, uint64_t *words)
{
    const struct channel *channel = &engine->channels[number];
    uint32_t count = 0;
    if (engine->late == NULL) {
        return 0;
    }
    for (uint32_t i = channel->delivered; i != channel->sent; i++) {
        count += put(engine, flight_of(engine, channel, i), words + count);
    }
    if (!is_pair(engine, number) && (channel->is_moving || channel->arrived != 0)) {
        const struct late_met *of = &engine->late->channels[number];
        words[count++] = (uint64_t)(channel->is_moving ? 0 : event_now(engine->queue) - of->since);
        count += put(engine, &of->is, words + count);
    }
    return count;
}

static void add(const struct engine *engine, const struct late *growth, struct late *late)
{
    for (uint32_t i = 0; i < engine->system->late_count; i++) {
        late->ns[i] += growth->ns[i];
    }
}

/* Messages on the way will have numbers so much higher. */
static void move_flights(struct engine *engine, uint32_t number, uint32_t higher,
                         const struct late *growth)
{
    const struct channel *channel = &engine->channels[number];
    struct late *moved = engine->late->moved;
    const uint32_t on_the_way = channel->sent - channel->delivered;
    for (uint32_t i = 0; i < on_the_way; i++) {
        moved[i] = *flight_of(engine, channel, channel->delivered + i);
        add(engine, growth, &moved[i]);
    }
    for (uint32_t i = 0; i < on_the_way; i++) {
        *flight_of(engine, channel, channel->delivered + higher + i) = moved[i];
    }
}

/* What ended tasks in the cycle did so again, and what is under way goes on. */
static void move_actor(struct engine *engine, uint32_t index, const struct actor *before,
                       const struct late *growth, sim_time shift)
{
    const struct actor *actor = &engine->actors[index];
    struct late_met *met = &engine->late->waits[index];
    met->since += shift;
    add(engine, growth, &met->is);
    for (uint32_t s = 0; s < engine->system->stream_count; s++) {
        struct late_stream *of = stream_of(engine, index, s);
        const bool has_ended = actor->ended[s] != before->ended[s];
        if (has_ended) {
            of->since += shift;
        }
        if (has_ended || engine_is_busy(actor, s) || (s == COMPUTE && goes_on(engine, index))) {
            add(engine, growth, &of->is);
        }
    }
}

void engine_late_move_on(struct engine *engine, const struct late_turn *turn)
{
    if (engine->late == NULL) {
        return;
    }
    struct late growth = engine_late_base(engine);
    for (uint32_t i = 0; i < engine->system->late_count; i++) {
        growth.ns[i] = turn->times * (growth.ns[i] - turn->base.ns[i]);
    }
    for (uint32_t i = 0; i < engine->system->channel_count; i++) {
        engine->late->channels[i].since += turn->shift;
        add(engine, &growth, &engine->late->channels[i].is);
        const uint32_t sent = engine->channels[i].sent - turn->channels[i].sent;
        move_flights(engine, i, turn->times * sent, &growth);
    }
    for (uint32_t i = 0; i < engine->system->actor_count; i++) {
        move_actor(engine, i, &turn->actors[i], &growth, turn->shift);
    }
}
