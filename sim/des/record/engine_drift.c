/* The derivative is carried along: by how many nanoseconds each instant that something pends on
 * comes later if bytes take longer. What an event begins moves as that does.
 *
 *   - Bytes add what they take at their last rate, latencies and work nothing.
 *   - Work, or bytes, that go on at r_1 instead of r_0 from an instant on which moves by d have
 *     moved by x before, and by (r_0 x + (r_1 - r_0) d) / r_1 after it (engine_sensitivity.h, (1)).
 *
 * What changes the rate of a flow is any that began or ended in that instant: the one is taken by
 * which the flow moves the farthest from where it was.
 *
 * Bytes take longer in three ways: all by the same part of what they take; and each transfer either
 * so much longer or so much shorter, by chance, drawn twice. Where flows do not amplify what
 * disturbs them, such noise is a random walk, which after transfers of b_1, b_2, ... ns is at about
 * the root of the sum of their squares. The gain is how many times as far it has gone. Differences
 * are what flows amplify, which is why all bytes alike tell less: where phases lock an instant may
 * move by less than all that is before it, until it does not.
 *
 * Cost: O(1) for each event and each change of a rate.
 */
#include "des/engine_stretch_state.h"

#include "base/arena.h"
#include "base/check.h"

#include <math.h>
#include <string.h>

enum { ALIKE, NOISE, WAYS = NOISE + 2 };

/* Of an instant. */
struct drift {
    double ns[WAYS];
    double squares; /* of the bytes that it has come by */
};

/* The transfer under way, without its bytes. */
struct drifting_flow {
    struct drift drift;
    int64_t bytes, rate;
    sim_time start;
};

/* Of who came to links or left them in this instant. */
struct drift_range {
    bool is_empty;
    double least_ns[WAYS], most_ns[WAYS];
};

struct engine_drift {
    struct drift now;      /* of the event that is handled */
    struct drift *actors;  /* of what stream 0 has done of the task under way */
    struct drift *phases;  /* of the latency, or the direct bytes, under way in a channel */
    struct drift *flights; /* of messages on their way, as in engine->flights */
    struct drifting_flow *flows;
    struct drift_range changes;
    uint32_t added; /* bytes, so often */
    double squares; /* of the gain */
    double reach_ns;
};

/* ---- what moves by how much ------------------------------------------------------------------ */

/* An end of a flow: differences grow where flows meet, and what grows reaches such an end. */
static void measure(struct engine_drift *drift, const struct drift *at)
{
    const double reach_ns = fabs(at->ns[ALIKE]);
    drift->reach_ns = reach_ns > drift->reach_ns ? reach_ns : drift->reach_ns;
    for (uint32_t i = NOISE; i < WAYS; i++) {
        const double square = at->ns[i] * at->ns[i];
        if (square > drift->squares * at->squares) {
            drift->squares = square / at->squares;
        }
    }
}

/* A bit for each way, as by chance. */
static uint32_t draw(struct engine_drift *drift)
{
    uint32_t bits = ++drift->added * 2654435761u; /* Fibonacci hashing, and two rounds of mixing */
    bits = (bits ^ bits >> 15) * 2246822519u;
    bits = (bits ^ bits >> 13) * 3266489917u;
    return bits >> 16;
}

static void add_bytes(struct engine_drift *drift, double bytes_ns, struct drift *to)
{
    const uint32_t bits = draw(drift);
    to->ns[ALIKE] += bytes_ns;
    for (uint32_t i = NOISE; i < WAYS; i++) {
        to->ns[i] += (bits >> i & 1u) != 0 ? bytes_ns : -bytes_ns;
    }
    to->squares += bytes_ns * bytes_ns;
}

/* What goes on at another rate. */
static double bend(double drift_ns, double changed_ns, double before, double after)
{
    return (before * drift_ns + (after - before) * changed_ns) / after;
}

/* ---- stream 0 -------------------------------------------------------------------------------- */

void engine_drift_see_compute(struct engine *engine, uint32_t index)
{
    engine->drift->actors[index] = engine->drift->now;
}

/* Within a stretch a collective may be under way, which no rate moves: no work remains then. */
void engine_drift_see_rate(struct engine *engine, uint32_t index, uint32_t before)
{
    const struct actor *actor = &engine->actors[index];
    struct drift *drift = &engine->drift->actors[index];
    for (uint32_t i = 0; actor->remaining > 0 && i < WAYS; i++) {
        drift->ns[i] = bend(drift->ns[i], engine->drift->now.ns[i], before, actor->rate);
    }
}

static void end_compute(struct engine *engine, uint32_t index)
{
    const struct stretch *stretch = engine->actors[index].stretch;
    struct drift *now = &engine->drift->now;
    *now = engine->drift->actors[index];
    for (uint32_t i = 0; stretch != NULL && i < stretch->stream_count; i++) {
        add_bytes(engine->drift, (double)stretch->meetings[i].moving_ns, now);
    }
}

/* ---- transfers ------------------------------------------------------------------------------- */

void engine_drift_see_phase(struct engine *engine, uint32_t number, sim_time direct_ns)
{
    struct drift *phase = &engine->drift->phases[number];
    *phase = engine->drift->now;
    if (direct_ns > 0) {
        add_bytes(engine->drift, (double)direct_ns, phase);
    }
}

static struct drift *flight_of(const struct engine *engine, const struct channel *channel,
                               uint32_t message)
{
    return &engine->drift->flights[engine_flight(engine, channel, message) - engine->flights];
}

void engine_drift_see_leave(struct engine *engine, uint32_t number)
{
    const struct channel *channel = &engine->channels[number];
    *flight_of(engine, channel, channel->sent - 1) = engine->drift->now;
}

static void arrive(struct engine *engine, uint32_t number)
{
    const struct channel *channel = &engine->channels[number];
    engine->drift->now = *flight_of(engine, channel, channel->delivered);
}

/* ---- flows ----------------------------------------------------------------------------------- */

/* Somebody comes to links or leaves them. */
static void note_change(struct engine_drift *drift)
{
    struct drift_range *changes = &drift->changes;
    const double *ns = drift->now.ns;
    if (changes->is_empty) { /* mostly one does */
        memcpy(changes->least_ns, ns, sizeof changes->least_ns);
        memcpy(changes->most_ns, ns, sizeof changes->most_ns);
    }
    for (uint32_t i = 0; !changes->is_empty && i < WAYS; i++) {
        changes->least_ns[i] = ns[i] < changes->least_ns[i] ? ns[i] : changes->least_ns[i];
        changes->most_ns[i] = ns[i] > changes->most_ns[i] ? ns[i] : changes->most_ns[i];
    }
    changes->is_empty = false;
}

void engine_drift_see_flow(struct engine *engine, flow_id flow, int64_t bytes)
{
    struct engine_drift *drift = engine->drift;
    drift->flows[flow] = (struct drifting_flow){
        .drift = drift->now, .bytes = bytes, .start = event_now(engine->queue)};
    note_change(drift);
}

void engine_drift_see_flow_end(struct engine *engine, flow_id flow)
{
    const struct drifting_flow *ended = &engine->drift->flows[flow];
    struct drift *now = &engine->drift->now;
    *now = ended->drift;
    add_bytes(engine->drift, 1e9 * (double)ended->bytes / (double)ended->rate, now);
    measure(engine->drift, now);
    note_change(engine->drift);
}

static void bend_flow(const struct drift_range *changes, struct drifting_flow *flow, double after)
{
    for (uint32_t i = 0; i < WAYS; i++) {
        double *ns = &flow->drift.ns[i];
        const double least_ns = changes->least_ns[i];
        const double most_ns = changes->most_ns[i];
        const bool is_least = fabs(*ns - least_ns) > fabs(*ns - most_ns);
        *ns = bend(*ns, is_least ? least_ns : most_ns, (double)flow->rate, after);
    }
}

static void flow_gets_rate(void *context, flow_id number, int64_t bytes_per_s)
{
    const struct engine *engine = context;
    struct engine_drift *drift = engine->drift;
    struct drifting_flow *flow = &drift->flows[number];
    if (bytes_per_s == 0) { /* it has ended: engine_drift_see_flow_end follows */
        return;
    }
    if (event_now(engine->queue) > flow->start && !drift->changes.is_empty) {
        bend_flow(&drift->changes, flow, (double)bytes_per_s);
    }
    flow->rate = bytes_per_s;
}

/* ---- events ---------------------------------------------------------------------------------- */

void engine_drift_see_event(struct engine *engine, const struct event *event)
{
    switch (event->stamp & 0xff) {
    case EVENT_COMPUTE_END:
        if (event->stamp >> 8 == engine->actors[event->target].version) {
            end_compute(engine, event->target);
        }
        break;
    case EVENT_LATENCY_END:
    case EVENT_PHASE_END:
        engine->drift->now = engine->drift->phases[event->target];
        break;
    case EVENT_ARRIVAL:
        arrive(engine, event->target);
        break;
    default:
        break;
    }
}

void engine_drift_see_instant(struct engine *engine)
{
    engine->drift->changes.is_empty = true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Some have slower ones to wait for all along: not followed, for these are many and differ. */
static bool goes_together(const struct engine *engine)
{
    uint32_t i = 0;
    while (engine->stretches != NULL && i < engine->system->channel_count &&
           engine->stretches->table_of_together[i] == ENGINE_NONE) {
        i++;
    }
    return engine->stretches != NULL && i < engine->system->channel_count;
}

struct engine_drift *engine_drift_new(struct arena *arena, struct engine *engine)
{
    if (!engine->options.finds_steadiness || engine->islands != NULL || goes_together(engine)) {
        return NULL;
    }
    struct engine_drift *drift = arena_alloc(arena, sizeof *drift);
    const struct engine_system *system = engine->system;
    const size_t flows = fluid_flow_count(engine->fluid);
    drift->actors = arena_array(arena, system->actor_count, sizeof *drift->actors);
    drift->phases = arena_array(arena, system->channel_count + 1u, sizeof *drift->phases);
    drift->flights = arena_array(arena, engine->flight_count + 1u, sizeof *drift->flights);
    drift->flows = arena_array(arena, flows + 1u, sizeof *drift->flows);
    drift->changes.is_empty = true;
    sim_assert(engine->options.on_rate == NULL);
    fluid_watch(engine->fluid, flow_gets_rate, engine);
    return drift;
}

struct engine_steadiness engine_drift_steadiness(const struct engine *engine)
{
    const struct engine_drift *drift = engine->drift;
    if (drift == NULL || engine->tasks_repeated > 0) { /* what came again was not looked at */
        return (struct engine_steadiness){HUGE_VAL, HUGE_VAL};
    }
    return (struct engine_steadiness){sqrt(drift->squares), drift->reach_ns};
}
