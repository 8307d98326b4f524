/* All that happened in a run of des/engine, task by task and rate by rate, in the order in which it
 * did: kept for who asks what would have been (engine_sensitivity).
 *
 * Unlike a record (engine_record.h), which a run writes by the way, this is a run of its own, in
 * which each task is simulated: some times as long as the run that it repeats to the nanosecond,
 * and some 100 bytes of memory for each task and each rate.
 *
 *     struct engine_watch watch;
 *     const struct engine_options options = engine_watch_options(arena, system, &watch);
 *     engine_run(arena, system, &options, &outcome);
 *
 * What happens has a place in the list of moves. What another thing follows from has an earlier
 * one, also at the same instant.
 */
#ifndef DES_RECORD_ENGINE_WATCH_H
#define DES_RECORD_ENGINE_WATCH_H

#include "des/engine.h"

/* A task that ended. */
struct watched_task {
    uint32_t actor, stream, index;
    uint32_t block;          /* of the program: where it lies */
    const struct task *plan; /* borrowed: the programs' */
    sim_time start, end;     /* began to compute, or met its channel; ended */
};

/* The bytes of a phase, from when they begin to flow until the last has left. */
struct watched_flow {
    uint32_t channel, phase; /* `phase`: an index into transfers */
    uint32_t meeting;        /* of the channel: the number of the transfer */
    uint32_t rates;          /* the last of its rates */
    uint32_t sibling;        /* the flow of its channel before; ENGINE_NONE: none */
    sim_time start, end;
};

/* A rate that a flow got. */
struct watched_rate {
    int64_t bytes_per_s;
    sim_time time;
    uint32_t before; /* the flow's rate before this; ENGINE_NONE: it began with this */
    uint32_t move;   /* how many moves had come before */
};

enum watched_kind { WATCHED_TASK, WATCHED_FLOW_START, WATCHED_FLOW_END };

struct watched_move {
    enum watched_kind kind;
    uint32_t number; /* of the task or flow */
};

struct engine_watch {
    struct arena *arena;
    const struct engine_system *system;
    struct watched_task *tasks;
    struct watched_flow *flows;
    struct watched_rate *rates;
    struct watched_move *moves;
    size_t task_count, flow_count, rate_count, move_count;
    size_t task_capacity, flow_capacity, rate_capacity, move_capacity;
    uint32_t *last_flows; /* of each channel; ENGINE_NONE: none yet */
    uint32_t *meetings;   /* of each channel: transfers that have ended */
    uint32_t *task_first; /* [actor * streams + stream]: where the numbers of its tasks are */
    uint32_t *task_of;    /* which of `tasks` */
};

/* Memory is the arena's, of which `watch` is filled; the options point to it. */
struct engine_options engine_watch_options(struct arena *arena, const struct engine_system *system,
                                           struct engine_watch *watch);

/* A task that the program says. */
static inline uint32_t engine_watched(const struct engine_watch *watch, uint32_t actor,
                                      uint32_t stream, uint32_t index)
{
    return watch->task_of[watch->task_first[actor * watch->system->stream_count + stream] + index];
}

/* When that happened. */
sim_time engine_watch_time(const struct engine_watch *watch, uint32_t move);

#endif
