/* The inside of des/engine.h, shared by engine*.c and included nowhere else. */
#ifndef DES_ENGINE_STATE_H
#define DES_ENGINE_STATE_H

#include "des/engine.h"

#define COMPUTE 0u /* the stream */

enum event_kind {
    EVENT_COMPUTE_END = 1,
    EVENT_LATENCY_END,
    EVENT_PHASE_END,
    EVENT_ARRIVAL,
    EVENT_FLUID
};

/* What one stream of an actor did so far, for the accounting of waits. */
struct stream_ledger {
    sim_time arrived;  /* when the task under way began or met its channel */
    int64_t waited_ns; /* in ended tasks: for partners */
};

struct actor {
    const struct engine_program *program;
    uint32_t ended[ENGINE_STREAMS_MAX];
    uint32_t busy;
    uint32_t blocked;
    uint8_t pending;
    uint8_t pending_before;
    uint32_t interference;
    uint32_t rate;     /* of the compute task under way */
    uint32_t version;  /* stamps its end event */
    sim_time updated;  /* when `remaining` was valid */
    int64_t remaining; /* ns * ENGINE_FULL_SPEED */
    sim_time compute_start;
    sim_time blocked_since; /* stream 0 */
    sim_time pending_time;
    int64_t waited_before[ENGINE_WAITS_MAX]; /* in each wait's ledger, when the wait began */
    struct stream_ledger ledgers[ENGINE_STREAMS_MAX];
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
    uint32_t phase;         /* of the transfer under way: an index into transfers */
    sim_time started;       /* of the transfer under way or the last one */
    int64_t bytes_total;    /* sent */
    int64_t bytes_received; /* pair: as the receive tasks expected them */
};

struct path {
    uint32_t channel;
    bool is_direct; /* all links slack: no solver */
};

struct engine {
    const struct engine_system *system;
    struct engine_options options;
    struct event_queue *queue;
    struct fluid *fluid;
    struct actor *actors;
    struct channel *channels;
    struct path *paths;
    sim_time *flights;              /* of pairs: when messages on the way began to leave */
    struct engine_traffic *traffic; /* per channel */
    int64_t (*causes)[ENGINE_CAUSES_MAX];
    uint32_t (*weights)[ENGINE_STREAMS_MAX]; /* of each actor in its channels */
    struct engine_job *jobs;                 /* end: of any task; stale events may lie later */
    struct engine_repeat *repeat;            /* NULL: every task is simulated */
    uint64_t events;
    uint64_t tasks;
    uint64_t tasks_repeated; /* of these, not simulated */
};

static inline bool engine_is_busy(const struct actor *actor, uint32_t stream)
{
    return ((uint32_t)actor->busy >> stream & 1u) != 0;
}

static inline const struct task *engine_task_at(const struct actor *actor, uint32_t stream)
{
    const uint32_t next = actor->ended[stream];
    return next < actor->program->counts[stream] ? &actor->program->tasks[stream][next] : NULL;
}

/* When the message of that number, counted from 0, began to leave. */
static inline sim_time *engine_flight(const struct engine *engine, const struct channel *channel,
                                      uint32_t message)
{
    return &engine->flights[channel->flight_first + (message & channel->flight_mask)];
}

/* ---- engine_repeat.c: cycles that come again ----------------------------------------------- */

/* To be called before the first event. NULL: nothing can repeat, or somebody watches each task. */
struct engine_repeat *engine_repeat_new(struct arena *arena, const struct engine *engine);

/* At the end of an instant: if what is to come are cycles like one that was, all but its rest is
 * moved over. */
void engine_repeat_look(struct engine *engine);

#endif
