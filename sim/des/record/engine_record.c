/* Rows are appended to a log for each stream of each actor, in pieces: hundreds of logs grow at
 * once, and arrays that double would leave half of all memory behind. Who asks goes back in time,
 * so the row found last is looked at first, then the one before; else it is sought by halving.
 *
 * A jump keeps how many tasks of each stream had ended before and after the turn that came again.
 * Tasks after it up to `times` turns later are those of that turn: `times` * period later, to the
 * nanosecond (engine_repeat.c). No jump lies in the turn of another.
 *
 * Of stretches the one worked out last is kept: who goes back through one asks for all its tasks.
 */
#include "des/record/engine_record_state.h"

#include "base/arena.h"
#include "base/check.h"

enum { PIECE_ROWS = 16 };

struct log {
    struct engine_row **pieces; /* of so many rows each */
    size_t capacity;            /* of the list of these */
    uint32_t count;
    uint32_t hint; /* the row found last */
};

/* Tasks that had ended, by log. */
struct jump {
    struct engine_turns turns;
    uint32_t *before, *after;
};

struct engine_record {
    struct arena *arena;
    const struct engine *engine;
    struct log *logs; /* by ledger of the engine: only streams that have tasks */
    struct jump *jumps;
    size_t jump_capacity;
    uint32_t jump_count;
    struct engine_replay replay; /* its table NULL: none yet */
    struct rate_change *changes;
    size_t change_capacity, change_count;
    struct engine_other *others; /* beside it */
    size_t other_capacity, other_count;
};

struct engine_record *engine_record_new(struct arena *arena)
{
    struct engine_record *record = arena_alloc(arena, sizeof *record);
    record->arena = arena;
    return record;
}

const struct engine_program *engine_record_program(const struct engine_record *record,
                                                   uint32_t actor)
{
    return engine_program_of_actor(engine_record_system(record), actor);
}

struct arena *engine_record_arena(struct engine_record *record)
{
    return record->arena;
}

const struct engine_system *engine_record_system(const struct engine_record *record)
{
    return record->engine->system;
}

/* ---- while it runs -------------------------------------------------------------------------- */

void engine_record_begin(struct engine_record *record, const struct engine *engine)
{
    struct arena *arena = record->arena;
    *record = (struct engine_record){.arena = arena, .engine = engine};
    record->logs = arena_array(record->arena, engine->ledger_count, sizeof *record->logs);
}

static struct engine_row *row_at(const struct log *log, uint32_t number)
{
    return &log->pieces[number / PIECE_ROWS][number % PIECE_ROWS];
}

static size_t log_number(const struct engine_record *record, uint32_t actor, uint32_t stream)
{
    return (size_t)(engine_ledger(&record->engine->actors[actor], stream) -
                    record->engine->ledgers);
}

void engine_record_add(struct engine_record *record, uint32_t actor, uint32_t stream,
                       const struct engine_row *row)
{
    struct log *log = &record->logs[log_number(record, actor, stream)];
    sim_assert(log->count == 0 || row_at(log, log->count - 1)->last < row->first);
    debug_assert(log->count == 0 || row_at(log, log->count - 1)->end <= row->end);
    if (log->count % PIECE_ROWS == 0) {
        const uint32_t piece = log->count / PIECE_ROWS;
        log->pieces =
            arena_grow(record->arena, log->pieces, &log->capacity, piece + 1u, sizeof *log->pieces);
        log->pieces[piece] = arena_room(record->arena, PIECE_ROWS, sizeof **log->pieces);
    }
    *row_at(log, log->count++) = *row;
}

void engine_record_jump(struct engine_record *record, const struct engine_turns *turns,
                        const struct actor *before)
{
    const struct engine *engine = record->engine;
    record->jumps = arena_grow(record->arena, record->jumps, &record->jump_capacity,
                               record->jump_count + 1u, sizeof *record->jumps);
    struct jump *jump = &record->jumps[record->jump_count++];
    jump->turns = *turns;
    jump->before = arena_array(record->arena, engine->ledger_count, sizeof *jump->before);
    jump->after = arena_array(record->arena, engine->ledger_count, sizeof *jump->after);
    for (uint32_t i = 0; i < engine->system->actor_count; i++) {
        for (uint32_t s = 0; s < engine->system->stream_count; s++) {
            const size_t number = log_number(record, i, s);
            if (engine->actors[i].program->counts[s] > 0) {
                jump->before[number] = before[i].ended[s];
                jump->after[number] = engine->actors[i].ended[s];
            }
        }
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool is_in(const struct engine_row *row, uint32_t index)
{
    return row->first <= index && index <= row->last;
}

static const struct engine_row *find_row(struct log *log, uint32_t index)
{
    if (log->hint < log->count && is_in(row_at(log, log->hint), index)) {
        return row_at(log, log->hint);
    }
    if (log->hint > 0 && log->hint <= log->count && is_in(row_at(log, log->hint - 1), index)) {
        return row_at(log, --log->hint);
    }
    uint32_t low = 0;
    uint32_t high = log->count - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (row_at(log, middle)->last < index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    sim_assert(log->count > 0 && is_in(row_at(log, low), index));
    log->hint = low;
    return row_at(log, low);
}

uint32_t engine_record_turn(const struct engine_record *record, uint32_t actor, uint32_t stream,
                            uint32_t index, uint32_t *before, uint32_t *cycle)
{
    const size_t number = log_number(record, actor, stream);
    for (uint32_t j = record->jump_count; j-- > 0;) {
        const struct jump *jump = &record->jumps[j];
        *cycle = jump->after[number] - jump->before[number];
        if (index >= jump->after[number] + jump->turns.times * *cycle) {
            return ENGINE_NONE;
        }
        if (index >= jump->before[number]) {
            *before = (index - jump->before[number]) / *cycle;
            return j;
        }
    }
    return ENGINE_NONE;
}

/* As it is in its log, and how much later it is. */
static const struct engine_row *row_of(struct engine_record *record, uint32_t actor,
                                       uint32_t stream, uint32_t index, struct engine_row *moved)
{
    uint32_t turns = 0;
    uint32_t cycle = 0;
    const uint32_t jump = engine_record_turn(record, actor, stream, index, &turns, &cycle);
    const uint32_t tasks = jump == ENGINE_NONE ? 0 : turns * cycle;
    const sim_time later =
        jump == ENGINE_NONE ? 0 : (sim_time)turns * record->jumps[jump].turns.period;
    const struct engine_row *row =
        find_row(&record->logs[log_number(record, actor, stream)], index - tasks);
    *moved = *row;
    moved->start += later;
    moved->end += later;
    moved->first += tasks;
    moved->last += tasks;
    return row;
}

struct engine_row engine_record_row(struct engine_record *record, uint32_t actor, uint32_t stream,
                                    uint32_t index)
{
    struct engine_row moved;
    row_of(record, actor, stream, index, &moved);
    return moved;
}

/* The number of the first row that ended after a time; their count: none did. */
static uint32_t row_after(const struct log *log, sim_time time)
{
    uint32_t low = 0;
    uint32_t high = log->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (row_at(log, middle)->end > time) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Of the rows as they are. */
static uint32_t first_after(const struct log *log, uint32_t tasks, sim_time time)
{
    const uint32_t row = row_after(log, time);
    return row < log->count ? row_at(log, row)->first : tasks;
}

uint32_t engine_record_after(const struct engine_record *record, uint32_t actor, uint32_t stream,
                             sim_time time)
{
    const uint32_t tasks = record->engine->actors[actor].program->counts[stream];
    if (tasks == 0) {
        return 0;
    }
    const size_t number = log_number(record, actor, stream);
    for (uint32_t j = record->jump_count; j-- > 0;) {
        const struct jump *jump = &record->jumps[j];
        const struct engine_turns *turns = &jump->turns;
        if (time >= turns->from) {
            const int64_t turn = (time - turns->from) / turns->period;
            if (turn > (int64_t)turns->times) {
                break;
            }
            const uint32_t first =
                first_after(&record->logs[number], tasks, time - turn * turns->period);
            const uint32_t inside = first < jump->after[number] ? first : jump->after[number];
            return inside + (uint32_t)turn * (jump->after[number] - jump->before[number]);
        }
    }
    return first_after(&record->logs[number], tasks, time);
}

struct engine_turns engine_record_turns(const struct engine_record *record, uint32_t jump)
{
    sim_assert(jump < record->jump_count);
    return record->jumps[jump].turns;
}

/* ---- tasks of stretches --------------------------------------------------------------------- */

static void add_change(struct engine_record *record, sim_time time, uint32_t more)
{
    record->changes = arena_grow(record->arena, record->changes, &record->change_capacity,
                                 record->change_count + 1, sizeof *record->changes);
    size_t i = record->change_count++;
    while (i > 0 && record->changes[i - 1].time > time) {
        record->changes[i] = record->changes[i - 1];
        i--;
    }
    record->changes[i] = (struct rate_change){time, more};
}

/* What other tasks of a stream take of the rate beside a stretch; of it, at its start. */
static uint32_t note_beside(struct engine_record *record, uint32_t actor, uint32_t stream,
                            const struct engine_row *stretch)
{
    const uint32_t tasks = record->engine->actors[actor].program->counts[stream];
    const uint32_t takes = record->engine->system->streams[stream].interference;
    uint32_t at_start = 0;
    uint32_t index = engine_record_after(record, actor, stream, stretch->start);
    while (index < tasks) {
        const struct engine_row row = engine_record_row(record, actor, stream, index);
        if (row.start >= stretch->end) {
            break;
        }
        index = row.last + 1;
        if (row.stretch != 0 || row.start == row.end) {
            continue;
        }
        record->others = arena_grow(record->arena, record->others, &record->other_capacity,
                                    record->other_count + 1, sizeof *record->others);
        record->others[record->other_count++] = (struct engine_other){row.start, row.end, stream};
        if (row.start <= stretch->start) {
            at_start += takes;
        } else {
            add_change(record, row.start, takes);
        }
        if (row.end < stretch->end) {
            add_change(record, row.end, 0 - takes);
        }
    }
    return at_start;
}

/* The same of all streams. */
static uint32_t note_all_beside(struct engine_record *record, uint32_t actor,
                                const struct engine_row *stretch)
{
    const struct engine_system *system = record->engine->system;
    const uint32_t *tasks = record->engine->actors[actor].program->counts;
    const bool is_alone = stretch->is_quiet || stretch->stretch != 1;
    uint32_t at_start = 0;
    record->change_count = 0;
    record->other_count = 0;
    for (uint32_t s = 1; s < system->stream_count && !is_alone; s++) {
        if (system->streams[s].interference > 0 && tasks[s] > 0) {
            at_start += note_beside(record, actor, s, stretch);
        }
    }
    return at_start;
}

static void replay(struct engine_record *record, uint32_t actor, const struct engine_row *stretch)
{
    struct replay_request request = {.actor = actor, .row = stretch};
    request.interference = note_all_beside(record, actor, stretch);
    request.changes = record->changes;
    request.change_count = record->change_count;
    engine_replay(record->arena, record->engine, &request, &record->replay);
    const struct engine_span last =
        engine_replay_span(record->engine, &record->replay, actor, COMPUTE, stretch->last);
    sim_assert(last.end == stretch->end);
}

/* The stretch of which some collectives are a row. */
static const struct engine_row *stretch_of(struct engine_record *record, uint32_t actor,
                                           const struct engine_row *meetings)
{
    const struct log *log = &record->logs[log_number(record, actor, COMPUTE)];
    const uint32_t number = row_after(log, meetings->start);
    sim_assert(number < log->count);
    const struct engine_row *row = row_at(log, number);
    sim_assert(row->start == meetings->start && row->stretch == meetings->stretch);
    return row;
}

static void work_out(struct engine_record *record, uint32_t actor, const struct engine_row *stretch)
{
    if (record->replay.table == NULL ||
        !engine_replay_is_of(record->engine, &record->replay, actor, stretch)) {
        replay(record, actor, stretch);
    }
}

bool engine_record_own_stretch(struct engine_record *record, uint32_t actor, uint32_t index,
                               struct own_stretch *own)
{
    struct engine_row moved;
    const struct engine_row *row = row_of(record, actor, COMPUTE, index, &moved);
    if (row->stretch != 1) {
        return false;
    }
    const struct engine *engine = record->engine;
    const struct engine_program *program = engine->actors[actor].program;
    struct stretch_table *table = engine->stretches->tables[engine->stretches->table_of[actor]];
    const uint32_t place = engine_program_block(program, COMPUTE, row->first);
    *own = (struct own_stretch){.row = row,
                                .in = engine_stretch_block(engine, table, actor, place),
                                .first = row->first - program->firsts[place][COMPUTE],
                                .tasks = moved.first - row->first,
                                .later = moved.start - row->start};
    return true;
}

bool engine_record_is_even(struct engine_record *record, uint32_t actor, struct own_stretch *own)
{
    const struct engine_row *row = own->row;
    own->streams = 0;
    if (row->is_quiet) {
        return true;
    }
    note_all_beside(record, actor, row);
    record->replay.table = NULL; /* what is noted is not beside that one */
    for (size_t i = 0; i < record->other_count; i++) {
        const struct engine_other *other = &record->others[i];
        if (other->begin > row->start || other->end < row->end) {
            return false;
        }
        own->streams |= 1u << other->stream;
    }
    return true;
}

const struct engine_other *engine_record_others(const struct engine_record *record, size_t *count)
{
    *count = record->other_count;
    return record->others;
}

bool engine_record_is_own(const struct engine_record *record, uint32_t channel)
{
    return record->engine->stretches != NULL && record->engine->stretches->is_own[channel];
}

bool engine_record_is_direct(const struct engine_record *record,
                             const struct engine_channel *channel)
{
    return engine_stretch_is_direct(record->engine, channel);
}

const struct engine_replay *engine_record_replay(struct engine_record *record, uint32_t actor,
                                                 const struct own_stretch *own)
{
    work_out(record, actor, own->row);
    return &record->replay;
}

struct engine_span engine_record_span(struct engine_record *record, uint32_t actor, uint32_t stream,
                                      uint32_t index)
{
    struct engine_row moved;
    const struct engine_row *row = row_of(record, actor, stream, index, &moved);
    if (row->stretch == 0) {
        return (struct engine_span){moved.start, moved.end};
    }
    work_out(record, actor, stream == COMPUTE ? row : stretch_of(record, actor, row));
    struct engine_span span = engine_replay_span(record->engine, &record->replay, actor, stream,
                                                 index - (moved.first - row->first));
    span.start += moved.start - row->start;
    span.end += moved.start - row->start;
    return span;
}
