/* The inside of des/record/engine_record.h, shared by engine_record.c and engine_replay.c. */
#ifndef DES_RECORD_ENGINE_RECORD_STATE_H
#define DES_RECORD_ENGINE_RECORD_STATE_H

#include "des/record/engine_critical.h"
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
    const struct stretch_block *in;
    const uint32_t *block_first; /* tasks of each stream before the block */
    uint32_t owner;              /* the actor, or the channel */
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

/* ---- engine_record.c ------------------------------------------------------------------------- */

/* Memory that ends with the record's. */
struct arena *engine_record_arena(struct engine_record *record);

/* A stretch that an actor did by itself: which tasks of stream 0 of a block, how many tasks after
 * its row, and how much later. */
struct own_stretch {
    const struct engine_row *row;
    const struct stretch_block *in;
    uint32_t first; /* of the block */
    uint32_t tasks;
    sim_time later;
    uint32_t streams; /* by bit: of which something was under way beside all of it, if it is even */
};

/* That in which a task of stream 0 lies; false: it lies in none. */
bool engine_record_own_stretch(struct engine_record *record, uint32_t actor, uint32_t index,
                               struct own_stretch *own);

/* Whether nothing that takes some of the rate began or ended beside it: then each task of it takes
 * as long as in any other such stretch of the same tasks. Sets its `streams`. */
bool engine_record_is_even(struct engine_record *record, uint32_t actor, struct own_stretch *own);

/* Worked out, and there as long as nothing else is asked for; and what else was under way, as it is
 * in the rows. */
const struct engine_replay *engine_record_replay(struct engine_record *record, uint32_t actor,
                                                 const struct own_stretch *own);
const struct engine_other *engine_record_others(const struct engine_record *record, size_t *count);

/* Whether those who meet in a channel do so in stretches by themselves. */
bool engine_record_is_own(const struct engine_record *record, uint32_t channel);

/* What an actor runs. */
const struct engine_program *engine_record_program(const struct engine_record *record,
                                                   uint32_t actor);

/* Nobody else can slow the channel's transfers down. */
bool engine_record_is_direct(const struct engine_record *record,
                             const struct engine_channel *channel);

/* ---- engine_critical.c ----------------------------------------------------------------------- */

/* What visits a path, for which some legs of it can stand for others: stretches that actors did by
 * themselves, with the same beside them all along, have the same legs wherever the same tasks come.
 */
struct critical_visitor {
    void (*leg)(void *context, const struct engine_leg *leg);
    /* A number other than 0 for such a stretch, if one like it was noted before; 0: none was. */
    uint32_t (*find)(void *context, const struct own_stretch *stretch);
    /* Its legs, the first time. The number; 0: they are to be visited one by one. */
    uint32_t (*note)(void *context, const struct own_stretch *stretch,
                     const struct engine_leg *legs, size_t count);
    void *context;
};

/* When a transfer of a channel began to move: of a collective, when its last member had come. */
sim_time engine_critical_moves(struct engine_record *record, const struct engine_channel *channel,
                               uint32_t index);

void engine_critical_walk_with(struct engine_record *record,
                               const struct critical_visitor *visitor);

#endif
