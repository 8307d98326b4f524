/* The inside of des/engine.h, shared by engine*.c and included nowhere else. */
#ifndef DES_ENGINE_STATE_H
#define DES_ENGINE_STATE_H

#include "des/engine.h"

#include "base/check.h"
#include "base/wide.h"

#define COMPUTE 0u /* the stream */

enum event_kind {
    EVENT_COMPUTE_END = 1,
    EVENT_LATENCY_END,
    EVENT_PHASE_END,
    EVENT_ARRIVAL,
    EVENT_FLUID,
    EVENT_MEETING /* a stream of an actor comes to a bridge */
};

/* What a stream of an actor did so far, for the accounting of waits, and where it meets others. */
struct stream_ledger {
    sim_time arrived;  /* when the task under way began or met its channel */
    sim_time ended;    /* when the last task that took time ended */
    int64_t waited_ns; /* in ended tasks: for partners */
    uint32_t channel;  /* ENGINE_NONE: it has none */
    uint32_t weight;   /* of the actor in that */
};

enum { STRETCH_STREAMS_MAX = 2 };

/* The collectives of one stream in a stretch. */
struct stretch_meetings {
    uint32_t stream;
    uint32_t first, count; /* tasks of that stream */
    sim_time moving_ns, alone_ns;
    int64_t bytes;
};

/* What an actor does by itself, undisturbed (engine_stretch.c). */
struct stretch {
    uint32_t tasks; /* of stream 0 */
    uint32_t stream_count;
    uint32_t together; /* with those whom the actor meets in this stream; 0: by itself */
    sim_time takes_ns;
    int64_t waited_ns; /* of it, for these to come */
    struct stretch_meetings meetings[STRETCH_STREAMS_MAX];
    int64_t books[ENGINE_CAUSES_MAX]; /* sum to takes_ns */
};

struct actor {
    const struct engine_program *program;
    const struct stretch *stretch; /* under way on stream 0; NULL: just a task */
    struct stream_ledger *ledgers; /* of the streams that the program uses: engine_ledger */
    const uint8_t *slots;          /* of the program: by stream, where it is among these */
    uint32_t ended[ENGINE_STREAMS_MAX];
    uint32_t block[ENGINE_STREAMS_MAX]; /* of the program: that of the task at `ended` */
    uint32_t busy;
    uint32_t blocked;
    uint32_t awaits_compute; /* of these, those that wait for stream 0 first of all, */
    uint32_t compute_wanted; /* the soonest until so many tasks of it have ended */
    uint8_t pending;
    uint8_t pending_before;
    uint32_t interference;
    uint32_t rate;     /* of the compute task under way */
    uint32_t version;  /* stamps its end event */
    sim_time updated;  /* when `remaining` was valid */
    int64_t remaining; /* ns * ENGINE_FULL_SPEED */
    sim_time compute_start;
    sim_time work_end;      /* stretch: of the task at the cursor, once it is known */
    uint32_t cursor;        /* stretch: the task that is under way, or that ended last */
    bool is_disturbed;      /* stretch: what is before the cursor has been booked */
    sim_time begun;         /* stretch: the task at the cursor */
    sim_time blocked_since; /* stream 0 */
    sim_time pending_time;
    int64_t waited_before[ENGINE_WAITS_MAX]; /* in each wait's ledger, when the wait began */
};

struct channel {
    uint32_t arrived;       /* weight of members that are there */
    uint32_t delivered;     /* pair: messages that arrived */
    uint32_t received;      /* pair: messages that were taken */
    uint32_t sent;          /* pair: messages that began to leave */
    uint32_t flight_first;  /* pair: where the times at which they did are kept, */
    uint32_t flight_mask;   /* a power of two, less 1: room for all that can be on the way */
    bool is_moving;         /* latency or transfer under way; pair: bytes leave */
    bool has_receiver;      /* pair: a receive is waiting */
    bool is_bridge;         /* collective: between islands */
    uint32_t phase;         /* of the transfer under way: an index into transfers */
    sim_time started;       /* of the transfer under way or the last one */
    int64_t bytes_total;    /* sent */
    int64_t bytes_received; /* pair: as the receive tasks expected them */
};

struct path {
    uint32_t flow;  /* of the fluid; direct: the number of its limit */
    bool is_direct; /* nobody else can slow it down: no solver */
};

struct engine {
    const struct engine_system *system;
    struct engine_options options;
    struct event_queue *queue;
    struct fluid *fluid;
    struct actor *actors;
    struct stream_ledger *ledgers; /* of all actors */
    size_t ledger_count;
    struct channel *channels;
    struct path *paths;
    uint32_t *channel_of_flow;
    int64_t *limits;   /* bytes/s: what the links of direct paths give, where that is below a cap */
    sim_time *flights; /* of pairs: when messages on the way began to leave */
    uint32_t flight_count;
    struct engine_traffic *traffic; /* per channel */
    int64_t (*causes)[ENGINE_CAUSES_MAX];
    struct engine_job *jobs;            /* end: of any task; stale events may lie later */
    struct engine_stretches *stretches; /* NULL: there are none */
    struct engine_repeat *repeat;       /* NULL: every task is simulated */
    struct engine_islands *islands;     /* NULL: time goes on in common */
    struct engine_late *late;           /* NULL: nothing is handed on */
    struct engine_drift *drift;         /* NULL: it is not asked for, or not known */
    uint64_t events;
    uint64_t tasks;
    uint64_t tasks_repeated; /* of these, not simulated */
};

static inline bool engine_is_busy(const struct actor *actor, uint32_t stream)
{
    return ((uint32_t)actor->busy >> stream & 1u) != 0;
}

/* Streams that a program has no tasks on share one, of which nothing is read. */
static inline struct stream_ledger *engine_ledger(const struct actor *actor, uint32_t stream)
{
    return &actor->ledgers[actor->slots[stream]];
}

static inline const struct task *engine_task_at(const struct actor *actor, uint32_t stream)
{
    const struct engine_program *program = actor->program;
    const uint32_t next = actor->ended[stream];
    const uint32_t block = actor->block[stream];
    return next < program->counts[stream]
               ? &program->blocks[block]->tasks[stream][next - program->firsts[block][stream]]
               : NULL;
}

/* For how many tasks the next task of a stream waits, from the beginning of the program. */
static inline uint32_t engine_wait_at(const struct actor *actor, uint32_t stream,
                                      const struct task *task, uint32_t wait)
{
    return engine_task_wait(task, actor->program->firsts[actor->block[stream]], wait);
}

/* More tasks of a stream have ended: its cursor may have come to another block. */
static inline void engine_move_on(struct actor *actor, uint32_t stream, uint32_t count)
{
    const struct engine_program *program = actor->program;
    const uint32_t ended = actor->ended[stream] + count;
    const uint32_t block = actor->block[stream];
    actor->ended[stream] = ended;
    if (ended < program->firsts[block + 1][stream] || ended >= program->counts[stream]) {
        return;
    }
    actor->block[stream] = ended < program->firsts[block + 2][stream]
                               ? block + 1
                               : engine_program_block(program, stream, ended);
}

/* When the message of that number, counted from 0, began to leave. */
static inline sim_time *engine_flight(const struct engine *engine, const struct channel *channel,
                                      uint32_t message)
{
    return &engine->flights[channel->flight_first + (message & channel->flight_mask)];
}

/* As des/fluid rounds a completion: up to the next nanosecond. */
static inline sim_time engine_undisturbed_ns(int64_t bytes, int64_t bytes_per_s)
{
    const uint128 rate = (uint128)bytes_per_s;
    return (sim_time)(((uint128)bytes * 1000000000u + rate - 1) / rate);
}

/* What a phase may use of its path on idle links, bytes/s. */
static inline int64_t engine_phase_cap(const struct engine_transfer *phase,
                                       const struct engine_path *path)
{
    const uint128 cap = phase->share == 0
                            ? (uint128)path->cap_bytes_per_s
                            : (uint128)path->cap_bytes_per_s * phase->share / ENGINE_FULL_SPEED;
    return cap > 0 ? (int64_t)cap : 1;
}

/* What the bytes of a phase take on idle links. */
static inline sim_time engine_flowing_ns(const struct engine_system *system,
                                         const struct engine_channel *channel,
                                         const struct engine_transfer *phase)
{
    debug_assert(phase->path < channel->path_count);
    const struct engine_path *path = &system->paths[channel->path_first + phase->path];
    return engine_undisturbed_ns(phase->bytes, engine_phase_cap(phase, path));
}

/* What they take where nobody else can slow them down: as long, but that a cap is rounded up. */
static inline sim_time engine_direct_ns(const struct engine *engine,
                                        const struct engine_channel *channel,
                                        const struct engine_transfer *phase)
{
    const uint32_t path = channel->path_first + phase->path;
    const int64_t cap = engine_phase_cap(phase, &engine->system->paths[path]);
    sim_assert(engine->paths[path].is_direct);
    const int64_t limit = engine->limits[engine->paths[path].flow];
    return engine_undisturbed_ns(phase->bytes, cap < limit ? cap : limit);
}

/* The rate of stream 0, in millionths: at least a tenth of the speed is left. */
static inline uint32_t engine_rate(uint32_t speed, uint32_t interference)
{
    const uint32_t most = ENGINE_INTERFERENCE_MOST;
    if (interference == 0) {
        return speed;
    }
    const uint32_t taken = interference < most ? interference : most;
    const uint64_t rate = (uint64_t)speed * (ENGINE_FULL_SPEED - taken) / ENGINE_FULL_SPEED;
    return rate > 0 ? (uint32_t)rate : 1;
}

/* What work, in ns * ENGINE_FULL_SPEED, takes at a rate. */
static inline sim_time engine_ns_at(int64_t work, uint32_t rate)
{
    return rate == ENGINE_FULL_SPEED && work % ENGINE_FULL_SPEED == 0
               ? work / ENGINE_FULL_SPEED
               : (work + rate - 1) / (int64_t)rate;
}

/* ---- record/engine_record.c: what ended when ------------------------------------------------- */

struct engine_row;
struct engine_turns;

/* Before the first event, when ledgers are built. */
void engine_record_begin(struct engine_record *record, const struct engine *engine);

/* Tasks of a stream have ended, the next after those of its last row. */
void engine_record_add(struct engine_record *record, uint32_t actor, uint32_t stream,
                       const struct engine_row *row);

/* Before the engine moves on over turns like the one since these actors were as they are now. */
void engine_record_jump(struct engine_record *record, const struct engine_turns *turns,
                        const struct actor *before);

/* ---- engine_waiters.c: who waits for what of a block ----------------------------------------- */

/* Two may wait for a task of a stretch: what lies before the next one, and what lies beside it. */
enum { WAITERS_MAX = 3 };

/* What holds of a block wherever it stands. Sets of streams are bits. */
struct engine_block_facts {
    /* By stream and number of its tasks ended: how many tasks wait for just that, up to
     * WAITERS_MAX. NULL: of a stream that was not asked for. */
    const uint8_t *waiters[ENGINE_STREAMS_MAX];
    uint32_t has;          /* tasks of these streams */
    uint32_t begins_late;  /* the first of these wait for stream 0 up to where the block begins */
    uint32_t follows_late; /* so does what follows the last of these, if anything does */
};

/* Of each of the programs' blocks, for stream 0 and these streams. */
const struct engine_block_facts *engine_waiters_count(struct arena *arena,
                                                      const struct engine_system *system,
                                                      const struct engine_blocks *blocks,
                                                      uint32_t streams);

/* ---- engine_links.c: which links can be tight ------------------------------------------------ */

/* What a link is to flows: never tight; tight, but of one channel alone; tight at times. */
enum engine_link_kind { ENGINE_LINK_SLACK = 0, ENGINE_LINK_OF_ONE, ENGINE_LINK_SHARED };

/* Of each link, its kind. */
uint8_t *engine_links_sort(struct arena *arena, const struct engine_system *system);

/* ---- engine_flows.c: what the solver is given, and room for messages ------------------------ */

/* Sets engine->flights, for as many as can be on the way. */
void engine_flights_build(struct arena *arena, struct engine *engine);

/* Sets engine->fluid, and of all paths what they are in it. */
void engine_flows_build(struct arena *arena, struct engine *engine);

/* ---- engine_stretch.c: what an actor does by itself ------------------------------------------ */

/* To be called when paths know whether they are direct. Sets engine->stretches: NULL, if nobody
 * does anything by himself. */
void engine_stretches_build(struct arena *arena, struct engine *engine);

/* The stretch that would begin with that task of stream 0, of an actor that is in one: by itself,
 * if it is now, or else together with those whom it meets now. NULL: none. */
const struct stretch *engine_stretch_like(const struct engine *engine, uint32_t index,
                                          uint32_t first);

/* That which an actor begins with its next task by itself, if its streams are ready for it. */
const struct stretch *engine_stretch_next(const struct engine *engine, uint32_t index);

/* When the stretch under way ends, from the cursor on, with the interference of now. */
sim_time engine_stretch_end(struct engine *engine, uint32_t index);

/* The interference is going to change: moves the cursor, `updated` and `remaining` to now. */
void engine_stretch_seek(struct engine *engine, uint32_t index);

/* The stretch has ended: books it, and ends all tasks of it but the last of stream 0. The streams
 * of its collectives, as bits. */
uint32_t engine_stretch_finish(struct engine *engine, uint32_t index);

/* ---- engine_together.c: what those who meet do together -------------------------------------- */

/* A transfer of a channel has ended: its members go on together, if they can. */
void engine_together_begin(struct engine *engine, uint32_t number);

/* An actor's interference is going to change: all with whom it goes together do so no more. */
void engine_together_cut(struct engine *engine, uint32_t index);

/* ---- engine_late.c: what made whom late ------------------------------------------------------ */

/* How much sooner a moment would have come, had each cause that is handed on made nobody late. */
struct late {
    int64_t ns[ENGINE_LATES_MAX];
};

/* To be called before stretches are built. NULL: nothing here makes anybody late, or all waits are
 * booked on one cause anyway. */
struct engine_late *engine_late_new(struct arena *arena, const struct engine *engine);

/* Whether all that an actor does in stretches hangs on what it, and whom it meets there, began
 * with. */
bool engine_late_passes(const struct engine *engine, uint32_t index);

/* Whether transfers of a channel pass on what those who meet there have, and add nothing. */
bool engine_late_passes_through(const struct engine *engine, uint32_t number);

/* Whether stream 0 of both goes on on the same. */
bool engine_late_is_same(const struct engine *engine, uint32_t a, uint32_t b);

/* A task of another stream begins: meets its channel, or ends at once. */
void engine_late_begin(struct engine *engine, uint32_t index, uint32_t stream,
                       const struct task *task);

/* It meets a collective's channel, which counts it after that; the bytes of a message begin to
 * leave. */
void engine_late_arrive(struct engine *engine, uint32_t index, uint32_t stream);
void engine_late_send(struct engine *engine, uint32_t index, uint32_t stream);

/* A collective has ended: to be called before its members' tasks do. */
void engine_late_transfer(struct engine *engine, uint32_t number);

/* A stream's next task ends, which met its channel, if it has one, at `start`; a stretch does: to
 * be called before `ended`, the channel and the job's end move on. */
void engine_late_end(struct engine *engine, uint32_t index, uint32_t stream, sim_time start);
void engine_late_stretch(struct engine *engine, uint32_t index);

/* Those who go together are cut: the last of those who have come to a collective did so then. */
void engine_late_cut(struct engine *engine, uint32_t index, uint32_t number, sim_time last);

/* One of them, who has left some of the stretch's collectives, the last of them then: to be called
 * before `ended` moves on. */
void engine_late_part(struct engine *engine, uint32_t index, uint32_t stream, sim_time met_at);

/* Stream 0 waits, and so far that some of its task's waits, as bits, were met just now. */
void engine_late_met(struct engine *engine, uint32_t index, const struct task *task, uint32_t met);

/* All were: of the wait, `for_partners` of it for partners, what was handed on, by late. */
struct late engine_late_wait(struct engine *engine, uint32_t index, int64_t for_partners);

/* What an actor waited from its last task to the end of its job; when all are over, after
 * engine_late_close. */
void engine_late_close(struct engine *engine);
struct late engine_late_rest(const struct engine *engine, uint32_t index, int64_t waited_ns);

/* Cycles: what decides the future, relative to what actor 0 has; how many words, at most
 * LATE_ACTOR_WORDS for an actor, ENGINE_LATES_MAX for each message of a channel and one more for
 * itself. All
 * of it moves on by what that of actor 0 grew since it was `base`: to be called before actors and
 * channels do. Nothing where engine->late is NULL. */
enum { LATE_ACTOR_WORDS = 2 * ENGINE_LATES_MAX + 1 };
struct late_turn {
    struct late base;
    const struct actor *actors; /* as they were a turn ago */
    const struct channel *channels;
    uint32_t times;
    sim_time shift; /* of all of these */
};
struct late engine_late_base(const struct engine *engine);
uint32_t engine_late_of_actor(const struct engine *engine, uint32_t index, uint64_t *words);
uint32_t engine_late_of_channel(const struct engine *engine, uint32_t number, uint64_t *words);
void engine_late_move_on(struct engine *engine, const struct late_turn *turn);

/* ---- record/engine_drift.c: how far instants move when bytes take longer --------------------- */

/* To be called when islands, flows and room for messages are known. NULL: it is not asked for, or
 * not known. Watches the fluid. */
struct engine_drift *engine_drift_new(struct arena *arena, struct engine *engine);

struct engine_steadiness engine_drift_steadiness(const struct engine *engine);

/* The rest does nothing where engine->drift is NULL. An event is going to be handled, of which
 * nothing has been noted yet; of one for all flows, the end of a flow. */
void engine_drift_see_event(struct engine *engine, const struct event *event);
static inline void engine_drift_event(struct engine *engine, const struct event *event)
{
    if (__builtin_expect(engine->drift != NULL, 0)) {
        engine_drift_see_event(engine, event);
    }
}

void engine_drift_see_flow_end(struct engine *engine, flow_id flow);
static inline void engine_drift_end_flow(struct engine *engine, flow_id flow)
{
    if (__builtin_expect(engine->drift != NULL, 0)) {
        engine_drift_see_flow_end(engine, flow);
    }
}

/* It begins what an actor computes; changes its rate, which was `before`; */
void engine_drift_see_compute(struct engine *engine, uint32_t index);
static inline void engine_drift_compute(struct engine *engine, uint32_t index)
{
    if (__builtin_expect(engine->drift != NULL, 0)) {
        engine_drift_see_compute(engine, index);
    }
}

void engine_drift_see_rate(struct engine *engine, uint32_t index, uint32_t before);
static inline void engine_drift_rate(struct engine *engine, uint32_t index, uint32_t before)
{
    if (__builtin_expect(engine->drift != NULL, 0)) {
        engine_drift_see_rate(engine, index, before);
    }
}

/* begins a phase, of which so much are direct bytes; has the last message that began to leave on
 * its way; begins a flow. */
void engine_drift_see_phase(struct engine *engine, uint32_t number, sim_time direct_ns);
static inline void engine_drift_phase(struct engine *engine, uint32_t number, sim_time direct_ns)
{
    if (__builtin_expect(engine->drift != NULL, 0)) {
        engine_drift_see_phase(engine, number, direct_ns);
    }
}

void engine_drift_see_leave(struct engine *engine, uint32_t number);
static inline void engine_drift_leave(struct engine *engine, uint32_t number)
{
    if (__builtin_expect(engine->drift != NULL, 0)) {
        engine_drift_see_leave(engine, number);
    }
}

void engine_drift_see_flow(struct engine *engine, flow_id flow, int64_t bytes);
static inline void engine_drift_flow(struct engine *engine, flow_id flow, int64_t bytes)
{
    if (__builtin_expect(engine->drift != NULL, 0)) {
        engine_drift_see_flow(engine, flow, bytes);
    }
}

/* All flows that an instant changes have their rates. */
void engine_drift_see_instant(struct engine *engine);
static inline void engine_drift_end_instant(struct engine *engine)
{
    if (__builtin_expect(engine->drift != NULL, 0)) {
        engine_drift_see_instant(engine);
    }
}

/* ---- engine.c ------------------------------------------------------------------------------- */

/* Stream 0 goes on at the rate of now. */
void engine_post_compute_end(struct engine *engine, uint32_t index);

/* All that is pending for that time, the next one, and the rates that come of it. */
void engine_handle_instant(struct engine *engine, sim_time time);

/* ---- engine_islands.c: who seldom meets others ----------------------------------------------- */

/* To be called when flows and cycles are known. NULL: all are one, or few. Marks the channels that
 * are bridges. */
struct engine_islands *engine_islands_new(struct arena *arena, struct engine *engine);

/* A stream comes to a bridge: true, if that has to wait for time in common. */
bool engine_islands_stop(struct engine *engine, uint32_t index, uint32_t stream);

/* One has come to a bridge; so many leave it. */
void engine_islands_meet(struct engine_islands *islands);
void engine_islands_part(struct engine_islands *islands, uint32_t count);

/* At the end of an instant: if nobody meets others, each island goes on by itself until somebody
 * does. */
void engine_islands_look(struct engine *engine);

uint64_t engine_islands_turns(const struct engine_islands *islands);

/* ---- engine_repeat.c: cycles that come again ----------------------------------------------- */

/* To be called before the first event. NULL: nothing can repeat, or somebody watches each task. */
struct engine_repeat *engine_repeat_new(struct arena *arena, const struct engine *engine);

/* At the end of an instant: if what is to come are cycles like one that was, all but its rest is
 * moved over. */
void engine_repeat_look(struct engine *engine);

/* ---- least/engine_least.c: whether a run can still end in time ------------------------------ */

struct engine_least;

/* For runs of one job, all of whose actors go through time together, that are asked whether they
 * end by `until`. */
struct engine_least *engine_least_new(struct arena *arena, const struct engine *engine,
                                      sim_time until);

/* Whether the job ends later, whatever comes; looked at now and then. */
bool engine_least_is_late(struct engine_least *least, const struct engine *engine);

#endif
