/* What ended when: kept of a run of des/engine, for who asks afterwards (engine_critical).
 *
 * A run is recorded as it is simulated. What ends in one event is one *row*: a task of a stream, or
 * a stretch of them (des/engine.h), whose tasks are worked out when somebody asks for one. A cycle
 * that came again so often is a *jump*: what is asked of a later turn is answered by the first,
 * moved on. So a record costs what the simulation does: a row for each event, not for each task.
 *
 *     struct engine_record *record = engine_record_new(arena);
 *     engine_run(arena, system, &(struct engine_options){.record = record}, &outcome);
 *     struct engine_span span = engine_record_span(record, actor, stream, index);
 *
 * Spans are those of a run in which each task is simulated, to the nanosecond: a stretch that is
 * worked out ends when it did, which is asserted.
 *
 * Streams and tasks are numbered as in the programs, over all blocks. Rows of a stream follow one
 * another; their ends never fall.
 */
#ifndef DES_RECORD_ENGINE_RECORD_H
#define DES_RECORD_ENGINE_RECORD_H

#include "des/engine.h"

struct engine_record;

/* Memory is the arena's; the run's has to be there as long. It keeps the run that it was given to
 * last. */
struct engine_record *engine_record_new(struct arena *arena);

/* Of the run. */
const struct engine_system *engine_record_system(const struct engine_record *record);

/* When a task began to compute, or met its channel, and when it ended. */
struct engine_span {
    sim_time start, end;
};
struct engine_span engine_record_span(struct engine_record *record, uint32_t actor, uint32_t stream,
                                      uint32_t index);

/* The row in which a task lies. */
struct engine_row {
    sim_time start, end;
    uint32_t first, last; /* tasks of the stream */
    uint32_t stretch;     /* 0: just a task; 1: of a stretch that the actor does by itself; else
                           * with those whom it meets in stream `stretch` - 1 */
    bool is_quiet;        /* a stretch by itself that nothing else was under way beside */
};
struct engine_row engine_record_row(struct engine_record *record, uint32_t actor, uint32_t stream,
                                    uint32_t index);

/* The first task of the first row that ends after a time; as many as there are tasks: none. */
uint32_t engine_record_after(const struct engine_record *record, uint32_t actor, uint32_t stream,
                             sim_time time);

/* ---- cycles --------------------------------------------------------------------------------- */

/* What happened in (from, from + period] happened `times` more. */
struct engine_turns {
    sim_time from, period;
    uint32_t times;
};

/* The cycle of which a task is a part: the number of the jump, or ENGINE_NONE. `before`: how many
 * tasks are the same, one in each turn before it; `cycle`: how many tasks of the stream a turn has.
 */
uint32_t engine_record_turn(const struct engine_record *record, uint32_t actor, uint32_t stream,
                            uint32_t index, uint32_t *before, uint32_t *cycle);
struct engine_turns engine_record_turns(const struct engine_record *record, uint32_t jump);

#endif
