/* The inside of des/record/engine_record.h, shared by engine_record.c and engine_replay.c. */
#ifndef DES_ENGINE_RECORD_STATE_H
#define DES_ENGINE_RECORD_STATE_H

#include "des/record/engine_record.h"
#include "des/engine_stretch_state.h"

/* The collectives of a stream in a stretch. */
struct replay_meetings {
    uint32_t stream, first; /* tasks of the program */
    size_t capacity;
    struct engine_span *spans; /* [collective][speed] */
    uint32_t count;
};

/* The tasks of a stretch, worked out: of one actor, or of all who go together, by speed. */
struct engine_replay {
    const struct stretch_table *table;
    uint32_t owner; /* the actor, or the channel */
    sim_time start;
    uint32_t first, last; /* tasks of stream 0 */
    size_t capacity;
    struct engine_span *work; /* [task][speed] */
    uint32_t meeting_streams;
    struct replay_meetings meetings[STRETCH_STREAMS_MAX];
};

/* Another task begins or ends, with what it takes of the rate. */
struct rate_change {
    sim_time time;
    uint32_t more; /* modulo 2^32 */
};

/* A row of stream 0 that is a stretch, not moved on by a cycle. Changes are in the order of their
 * times; those up to its start are over. */
struct replay_request {
    uint32_t actor;
    const struct engine_row *row;
    uint32_t interference; /* at its start */
    const struct rate_change *changes;
    size_t change_count;
};

void engine_replay(struct arena *arena, const struct engine *engine,
                   const struct replay_request *request, struct engine_replay *replay);

/* Whether it is that of a row. */
bool engine_replay_is_of(const struct engine *engine, const struct engine_replay *replay,
                         uint32_t actor, const struct engine_row *row);

/* A task of it. */
struct engine_span engine_replay_span(const struct engine *engine,
                                      const struct engine_replay *replay, uint32_t actor,
                                      uint32_t stream, uint32_t index);

#endif
