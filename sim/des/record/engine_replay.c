/* The tasks of a stretch that ended in one event, one by one (des/record/engine_record.h).
 *
 * As where the stretch was found (engine_stretch_find.c) each task takes what it takes from when it
 * begins; and as where the rate changed meanwhile (engine_stretch.c), work under way goes on at the
 * new one. Those who go together begin together and are undisturbed as long as they do.
 *
 * Of those whom a change of rate parted (engine_together.c) a task more is worked out than have
 * ended, for the collectives next to it may have.
 *
 * Cost: O(tasks * speeds + changes).
 */
#include "des/record/engine_record_state.h"

#include "base/arena.h"
#include "base/check.h"

/* On its way through a stretch. */
struct course {
    struct arena *arena;
    const struct engine *engine;
    const struct stretch_block *in;
    struct engine_replay *replay;
    uint32_t interference;
    const struct rate_change *change; /* the next */
    size_t changes_left;
    const uint32_t *block_first;     /* tasks of each stream before the block */
    sim_time at[STRETCH_SPEEDS_MAX]; /* where its next task begins, or it meets */
};

static sim_time last_of(const struct course *course)
{
    sim_time last = 0;
    for (uint32_t i = 0; i < course->in->table->speed_count; i++) {
        last = engine_later(last, course->at[i]);
    }
    return last;
}

/* Room for a collective's spans. NULL: it is none of the stretch, but lies after its end. */
static struct engine_span *add_meeting(const struct course *course, const struct next_to *meeting)
{
    struct engine_replay *replay = course->replay;
    const uint32_t index = course->block_first[meeting->stream] + meeting->number;
    uint32_t m = 0;
    while (m < replay->meeting_streams && replay->meetings[m].stream != meeting->stream) {
        m++;
    }
    if (m == STRETCH_STREAMS_MAX) {
        return NULL;
    }
    struct replay_meetings *meetings = &replay->meetings[m];
    if (m == replay->meeting_streams) {
        replay->meeting_streams++;
        meetings->stream = meeting->stream;
        meetings->first = index;
        meetings->count = 0;
    }
    if (index != meetings->first + meetings->count) {
        return NULL;
    }
    const uint32_t speeds = course->in->table->speed_count;
    meetings->count++;
    meetings->spans = arena_grow(course->arena, meetings->spans, &meetings->capacity,
                                 (size_t)meetings->count * speeds, sizeof *meetings->spans);
    return &meetings->spans[(size_t)(meetings->count - 1) * speeds];
}

static void pass_between(struct course *course, const struct next_to *meeting)
{
    const sim_time end = last_of(course) + meeting->takes_ns;
    struct engine_span *spans = add_meeting(course, meeting);
    for (uint32_t i = 0; i < course->in->table->speed_count; i++) {
        if (spans != NULL) {
            spans[i] = (struct engine_span){course->at[i], end};
        }
        course->at[i] = end;
    }
}

/* When the work of a task ends. Changes up to then are passed; only who goes by himself has any. */
static sim_time work_end(struct course *course, uint32_t number, struct pass *pass)
{
    int64_t remaining = pass->task->work_ns * ENGINE_FULL_SPEED;
    sim_time from = pass->begun;
    for (;;) {
        const sim_time end = engine_pass_work_end(pass, from, remaining);
        if (course->changes_left == 0 || course->change->time >= end) {
            return end;
        }
        const sim_time now = engine_later(course->change->time, from);
        remaining = engine_pass_work_left(pass, from, now, remaining);
        course->interference += course->change->more;
        course->change++;
        course->changes_left--;
        const sim_time begun = pass->begun;
        const sim_time beside_start = pass->beside_start;
        *pass =
            engine_pass_of(course->engine, course->in, number, pass->speed, course->interference);
        engine_pass_begin(pass, begun, beside_start);
        from = now;
    }
}

static void pass_task(struct course *course, uint32_t number, uint32_t task)
{
    const struct stretch_table *table = course->in->table;
    const struct next_to *beside = engine_beside(course->in, number);
    const sim_time all_there = last_of(course);
    struct engine_span *spans = beside->stream != 0 ? add_meeting(course, beside) : NULL;
    for (uint32_t i = 0; i < table->speed_count; i++) {
        const sim_time begun = course->at[i];
        struct pass pass = engine_pass_of(course->engine, course->in, number, table->speeds[i],
                                          course->interference);
        engine_pass_begin(&pass, begun, beside->stream != 0 ? all_there : begun);
        const sim_time end = work_end(course, number, &pass);
        course->replay->work[(size_t)task * table->speed_count + i] =
            (struct engine_span){begun, end};
        if (spans != NULL) {
            spans[i] = (struct engine_span){begun, pass.beside_end};
        }
        course->at[i] = engine_later(end, pass.beside_end);
    }
}

/* The table of those who go so, and who they are: the actor, or the channel. */
static struct stretch_table *table_of(const struct engine *engine, uint32_t actor, uint32_t stretch,
                                      uint32_t *owner)
{
    const struct engine_stretches *stretches = engine->stretches;
    if (stretch == 1) {
        *owner = actor;
        return stretches->tables[stretches->table_of[actor]];
    }
    *owner = engine->system->actors[actor].channels[stretch - 1];
    return stretches->tables[stretches->table_of_together[*owner]];
}

void engine_replay(struct arena *arena, const struct engine *engine,
                   const struct replay_request *request, struct engine_replay *replay)
{
    const struct engine_program *program = engine->actors[request->actor].program;
    const struct engine_row *row = request->row;
    const uint32_t place = engine_program_block(program, COMPUTE, row->first);
    uint32_t owner;
    struct stretch_table *table = table_of(engine, request->actor, row->stretch, &owner);
    struct course course = {
        .arena = arena,
        .engine = engine,
        .in = engine_stretch_block(engine, table, request->actor, place),
        .replay = replay,
        .interference = request->interference,
        .change = request->changes,
        .changes_left = request->change_count,
        .block_first = program->firsts[place],
    };
    for (uint32_t i = 0; i < table->speed_count; i++) {
        course.at[i] = row->start;
    }
    const uint32_t first = row->first - program->firsts[place][COMPUTE];
    const uint32_t all = course.in->block->counts[COMPUTE];
    uint32_t tasks = row->last - row->first + 1;
    tasks += row->stretch > 1 && first + tasks < all ? 1 : 0;
    sim_assert(first + tasks <= all);
    replay->table = table;
    replay->in = course.in;
    replay->block_first = course.block_first;
    replay->owner = owner;
    replay->start = row->start;
    replay->first = row->first;
    replay->last = row->first + tasks - 1;
    replay->meeting_streams = 0;
    replay->work = arena_grow(arena, replay->work, &replay->capacity,
                              (size_t)tasks * table->speed_count, sizeof *replay->work);
    for (uint32_t k = 0; k < tasks; k++) {
        const struct next_to *between = engine_between(course.in, first + k);
        if (k > 0 && between->stream != 0) {
            pass_between(&course, between);
        }
        pass_task(&course, first + k, k);
    }
}

static uint32_t number_of_speed(const struct engine *engine, const struct stretch_table *table,
                                uint32_t actor)
{
    uint32_t i = 0;
    while (table->speeds[i] != engine->system->actors[actor].speed) {
        i++;
        sim_assert(i < table->speed_count);
    }
    return i;
}

bool engine_replay_is_of(const struct engine *engine, const struct engine_replay *replay,
                         uint32_t actor, const struct engine_row *row)
{
    uint32_t owner;
    return replay->table == table_of(engine, actor, row->stretch, &owner) &&
           replay->owner == owner && replay->start == row->start && replay->first == row->first &&
           replay->last >= row->last;
}

struct engine_span engine_replay_span(const struct engine *engine,
                                      const struct engine_replay *replay, uint32_t actor,
                                      uint32_t stream, uint32_t index)
{
    const uint32_t speeds = replay->table->speed_count;
    const uint32_t speed = number_of_speed(engine, replay->table, actor);
    if (stream == COMPUTE) {
        sim_assert(index >= replay->first && index <= replay->last);
        return replay->work[(size_t)(index - replay->first) * speeds + speed];
    }
    uint32_t m = 0;
    while (replay->meetings[m].stream != stream) {
        m++;
        sim_assert(m < replay->meeting_streams);
    }
    const struct replay_meetings *meetings = &replay->meetings[m];
    sim_assert(index >= meetings->first && index - meetings->first < meetings->count);
    return meetings->spans[(size_t)(index - meetings->first) * speeds + speed];
}
