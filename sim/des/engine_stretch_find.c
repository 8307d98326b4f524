/* What a stretch is: which tasks of a block belong to it, and what it takes (engine_stretch.c).
 *
 * The times of a stretch are worked out for all speeds of its table at once, from 0 on. Each goes
 * from task to task by itself, up to where they meet: a collective starts when the last of them is
 * there, and ends for all at once. Where a table has one speed nobody waits.
 *
 * Cost: O(tasks * speeds) for each stretch, once.
 */
#include "des/engine_stretch_state.h"

#include "base/arena.h"
#include "base/check.h"

#include <string.h>

/* ---- a task of a stretch -------------------------------------------------------------------- */

struct pass engine_pass_of(const struct engine *engine, const struct stretch_block *in,
                           uint32_t number, uint32_t speed, uint32_t interference)
{
    const struct next_to *beside = engine_beside(in, number);
    const uint32_t more =
        beside->stream == 0 ? 0 : engine->system->streams[beside->stream].interference;
    const uint32_t rate = engine_rate(speed, interference);
    return (struct pass){
        .task = &in->block->tasks[COMPUTE][number],
        .beside = beside,
        .speed = speed,
        .rate_beside = more == 0 ? rate : engine_rate(speed, interference + more),
        .rate = rate,
    };
}

sim_time engine_pass_work_end(const struct pass *pass, sim_time from, int64_t remaining)
{
    if (from < pass->beside_end) {
        const sim_time end = from + engine_ns_at(remaining, pass->rate_beside);
        if (end <= pass->beside_end) {
            return end;
        }
        remaining -= (pass->beside_end - from) * (int64_t)pass->rate_beside;
        from = pass->beside_end;
    }
    return from + engine_ns_at(remaining, pass->rate);
}

int64_t engine_pass_work_left(const struct pass *pass, sim_time from, sim_time now,
                              int64_t remaining)
{
    if (from < pass->beside_end) {
        const sim_time until = now < pass->beside_end ? now : pass->beside_end;
        remaining -= (until - from) * (int64_t)pass->rate_beside;
        from = until;
    }
    return remaining - (now - from) * (int64_t)pass->rate;
}

void engine_pass_book_work(const struct engine *engine, const struct pass *pass, sim_time end,
                           int64_t books[ENGINE_CAUSES_MAX])
{
    const struct engine_system *system = engine->system;
    const int64_t undisturbed_ns = engine_work_ns(pass->task, pass->speed);
    const int64_t launch_ns = engine_launch_ns(pass->task, pass->speed);
    books[system->launch_cause] += launch_ns;
    books[pass->task->cause] += undisturbed_ns - launch_ns;
    books[system->interference_cause] += end - pass->begun - undisturbed_ns;
}

void engine_pass_book_wait(const struct engine *engine, const struct pass *pass, sim_time end,
                           int64_t books[ENGINE_CAUSES_MAX])
{
    if (pass->beside_end <= end) {
        return;
    }
    const struct engine_stream *stream = &engine->system->streams[pass->beside->stream];
    const sim_time start = engine_later(pass->beside_start, end);
    books[stream->wait_cause] += start - end;
    books[stream->exposed_cause] += pass->beside_end - start;
}

/* ---- which tasks are one -------------------------------------------------------------------- */

static bool is_waited_for_once(const struct stretch_block *in, const struct next_to *meeting)
{
    return in->facts->waiters[meeting->stream][meeting->number + 1] == 1;
}

/* What is beside a task waits for the end of the task before, and begins then, unless it is queued
 * behind what the task itself waits for. */
static bool begins_with_its_task(const struct next_to *with, const struct next_to *before,
                                 const struct next_to *earlier)
{
    const uint32_t awaited = before->stream != 0 ? before->stream : earlier->stream;
    return with->stream == 0 || awaited == 0 || with->stream == awaited;
}

/* Whether a task can follow the one before in a stretch that began earlier. */
static bool goes_on(const struct stretch_block *in, uint32_t number)
{
    if (number >= in->block->counts[COMPUTE]) {
        return false;
    }
    const struct task *task = &in->block->tasks[COMPUTE][number];
    const struct next_to *before = engine_between(in, number);
    const struct next_to *earlier = engine_beside(in, number - 1);
    const struct next_to *with = engine_beside(in, number);
    const uint32_t expected = (before->stream != 0 ? 1u : 0u) + (with->stream != 0 ? 1u : 0u);
    return (task->wait_count == 0 || before->stream != 0 || earlier->stream != 0) &&
           begins_with_its_task(with, before, earlier) &&
           in->facts->waiters[COMPUTE][number] == expected &&
           (before->stream == 0 || is_waited_for_once(in, before)) &&
           (with->stream == 0 || is_waited_for_once(in, with));
}

/* Adds a collective; false when it is not the next of its stream, or there are too many streams. */
static bool add_meeting(const struct next_to *meeting, struct stretch *stretch)
{
    if (meeting->stream == 0) {
        return true;
    }
    uint32_t i = 0;
    while (i < stretch->stream_count && stretch->meetings[i].stream != meeting->stream) {
        i++;
    }
    if (i == STRETCH_STREAMS_MAX) {
        return false;
    }
    struct stretch_meetings *meetings = &stretch->meetings[i];
    if (i == stretch->stream_count) {
        stretch->stream_count++;
        *meetings = (struct stretch_meetings){.stream = meeting->stream, .first = meeting->number};
    }
    const bool is_next = meetings->first + meetings->count == meeting->number;
    meetings->count++;
    meetings->moving_ns += meeting->takes_ns;
    meetings->alone_ns += meeting->alone_ns;
    meetings->bytes += meeting->bytes;
    return is_next;
}

static bool add_meetings(const struct stretch_block *in, uint32_t number,
                         struct stretch stretches[STRETCH_SPEEDS_MAX])
{
    for (uint32_t i = 0; i < in->table->speed_count; i++) {
        if (!add_meeting(engine_between(in, number), &stretches[i]) ||
            !add_meeting(engine_beside(in, number), &stretches[i])) {
            return false;
        }
    }
    return true;
}

/* ---- what it takes -------------------------------------------------------------------------- */

/* When the last of them has come so far. */
static sim_time when_all_are_there(const struct stretch_block *in,
                                   const struct stretch stretches[STRETCH_SPEEDS_MAX])
{
    sim_time last = 0;
    for (uint32_t i = 0; i < in->table->speed_count; i++) {
        last = engine_later(last, stretches[i].takes_ns);
    }
    return last;
}

/* They meet before the next task. */
static void meet(const struct engine *engine, const struct next_to *meeting, sim_time start,
                 struct stretch *stretch)
{
    const struct engine_stream *stream = &engine->system->streams[meeting->stream];
    stretch->books[stream->wait_cause] += start - stretch->takes_ns;
    stretch->books[stream->exposed_cause] += meeting->takes_ns;
    stretch->waited_ns += start - stretch->takes_ns;
    stretch->takes_ns = start + meeting->takes_ns;
}

/* With nothing beside it, at full speed. */
static void do_plain_task(const struct engine_system *system, const struct task *task,
                          struct stretch *stretch)
{
    stretch->books[system->launch_cause] += task->launch_ns;
    stretch->books[task->cause] += task->work_ns - (int64_t)task->launch_ns;
    stretch->takes_ns += task->work_ns;
    stretch->tasks++;
}

static void do_task(const struct engine *engine, const struct stretch_block *in, uint32_t number,
                    sim_time beside_start, uint32_t speed, struct stretch *stretch)
{
    if (speed == ENGINE_FULL_SPEED && engine_beside(in, number)->stream == 0) {
        do_plain_task(engine->system, &in->block->tasks[COMPUTE][number], stretch);
        return;
    }
    struct pass pass = engine_pass_of(engine, in, number, speed, 0);
    const bool is_alone = pass.beside->stream == 0;
    engine_pass_begin(&pass, stretch->takes_ns, is_alone ? stretch->takes_ns : beside_start);
    const sim_time end =
        engine_pass_work_end(&pass, pass.begun, pass.task->work_ns * ENGINE_FULL_SPEED);
    engine_pass_book_work(engine, &pass, end, stretch->books);
    engine_pass_book_wait(engine, &pass, end, stretch->books);
    stretch->waited_ns += pass.beside_start - pass.begun;
    stretch->takes_ns = engine_later(end, pass.beside_end);
    stretch->tasks++;
}

/* Adds a task with the collectives next to it, of who goes by himself: nobody waits. */
static bool add_own_task(const struct engine *engine, const struct stretch_block *in,
                         uint32_t number, struct stretch *stretch)
{
    const struct next_to *between = engine_between(in, number);
    if (stretch->tasks > 0) {
        if (!add_meeting(between, stretch) || !add_meeting(engine_beside(in, number), stretch)) {
            return false;
        }
        if (between->stream != 0) {
            meet(engine, between, stretch->takes_ns, stretch);
        }
    }
    do_task(engine, in, number, stretch->takes_ns, in->table->speeds[0], stretch);
    return true;
}

/* The same of all speeds of the table. */
static bool add_task(const struct engine *engine, const struct stretch_block *in, uint32_t number,
                     struct stretch stretches[STRETCH_SPEEDS_MAX])
{
    if (in->table->speed_count == 1) {
        return add_own_task(engine, in, number, stretches);
    }
    const struct stretch_table *table = in->table;
    const struct next_to *between = engine_between(in, number);
    const bool is_first = stretches[0].tasks == 0;
    if (!is_first && !add_meetings(in, number, stretches)) {
        return false;
    }
    const sim_time all_there = when_all_are_there(in, stretches);
    for (uint32_t i = 0; i < table->speed_count && !is_first && between->stream != 0; i++) {
        meet(engine, between, all_there, &stretches[i]);
    }
    const sim_time beside_start = when_all_are_there(in, stretches);
    for (uint32_t i = 0; i < table->speed_count; i++) {
        do_task(engine, in, number, beside_start, table->speeds[i], &stretches[i]);
    }
    return true;
}

/* ---- the longest ---------------------------------------------------------------------------- */

/* What follows the collectives of a stretch on their stream does not begin before it ends: it waits
 * for the last task, or for a later one. */
static bool is_followed_late(const struct stretch_block *in, uint32_t end,
                             const struct stretch_meetings *meetings)
{
    const uint32_t next = meetings->first + meetings->count;
    if (next == in->block->counts[meetings->stream]) {
        return (in->facts->follows_late >> meetings->stream & 1u) != 0;
    }
    const struct task *task = &in->block->tasks[meetings->stream][next];
    for (uint32_t k = 0; k < task->wait_count; k++) {
        if (task->wait_stream[k] == COMPUTE && task->wait_ended[k] >= (int32_t)end) {
            return true;
        }
    }
    return false;
}

/* Nothing is under way when it ends, and nothing else of its streams has begun by then. */
static bool is_whole(const struct stretch_block *in, uint32_t first, const struct stretch *stretch)
{
    const uint32_t end = first + stretch->tasks;
    for (uint32_t i = 0; i < stretch->stream_count; i++) {
        if (!is_followed_late(in, end, &stretch->meetings[i])) {
            return false;
        }
    }
    return engine_beside(in, end - 1)->stream == 0;
}

/* The longest that begins with that task. */
static struct stretch *find(const struct engine *engine, const struct stretch_block *in,
                            uint32_t first)
{
    struct stretch stretches[STRETCH_SPEEDS_MAX];
    const size_t size = in->table->speed_count * sizeof *stretches;
    memset(stretches, 0, size);
    uint32_t longest = 0;
    bool is_sound = true; /* what could not be added may have been in part */
    if (engine_beside(in, first)->stream == 0 && add_task(engine, in, first, stretches)) {
        for (uint32_t i = first + 1; is_sound && goes_on(in, i); i++) {
            is_sound = add_task(engine, in, i, stretches);
            longest = is_sound && is_whole(in, first, stretches) ? stretches->tasks : longest;
        }
    }
    if (longest <= 1) {
        return &engine->stretches->no_stretch;
    }
    if (!is_sound || stretches->tasks != longest) {
        memset(stretches, 0, size);
        for (uint32_t i = first; i < first + longest; i++) {
            const bool is_added = add_task(engine, in, i, stretches);
            sim_assert(is_added);
        }
    }
    struct stretch *kept = arena_alloc(engine->stretches->arena, size);
    memcpy(kept, stretches, size);
    for (uint32_t i = 0; i < in->table->speed_count; i++) {
        kept[i].together = in->table->together;
    }
    return kept;
}

/* ---- what is next to a task ----------------------------------------------------------------- */

/* What a collective takes on a channel of a table's actors. */
static const struct meeting_cost *cost_of(const struct engine *engine, struct stretch_table *table,
                                          uint32_t stream, uint32_t transfer)
{
    const struct engine_system *system = engine->system;
    struct meeting_cost *cost = &table->costs[transfer];
    if (cost->stream == stream) {
        return cost;
    }
    const uint32_t number = system->actors[table->example].channels[stream];
    const struct engine_channel *channel = &system->channels[number];
    *cost = (struct meeting_cost){
        .stream = stream, .takes_ns = channel->latency_ns, .alone_ns = channel->latency_ns};
    for (uint32_t phase = transfer + 1; phase != 0; phase = system->transfers[phase - 1].next) {
        const struct engine_transfer *step = &system->transfers[phase - 1];
        cost->takes_ns += step->latency_ns + engine_direct_ns(engine, channel, step);
        cost->alone_ns += step->latency_ns + engine_flowing_ns(system, channel, step);
        cost->bytes += step->bytes;
    }
    return cost;
}

/* Whether collectives of that stream are parts of the table's stretches. */
static bool is_part(const struct engine *engine, const struct stretch_table *table, uint32_t stream)
{
    if (table->together != 0) {
        return stream == table->together;
    }
    const uint32_t channel = engine->system->actors[table->example].channels[stream];
    return stream != COMPUTE && channel != ENGINE_NONE && engine->stretches->is_own[channel];
}

/* That for which a task of stream 0 waits alone, when it can be part of a stretch and waits for
 * just the tasks before that one, or for all of these but the last. */
static struct next_to awaited(const struct engine *engine, const struct stretch_block *in,
                              uint32_t number)
{
    const struct engine_block *block = in->block;
    const struct task *task = &block->tasks[COMPUTE][number];
    const uint32_t stream = task->wait_stream[0];
    const int32_t ended = task->wait_ended[0];
    if (task->wait_count != 1 || ended <= 0 || (uint32_t)ended > block->counts[stream] ||
        !is_part(engine, in->table, stream)) {
        return next_to_none;
    }
    const struct task *meeting = &block->tasks[stream][ended - 1];
    const uint32_t missing = number - (uint32_t)meeting->wait_ended[0];
    if (meeting->kind != TASK_COLLECTIVE || meeting->wait_count != 1 ||
        meeting->wait_stream[0] != COMPUTE || missing > 1) {
        return next_to_none;
    }
    const struct meeting_cost *cost = cost_of(engine, in->table, stream, meeting->transfer);
    return (struct next_to){.stream = (uint16_t)stream,
                            .is_beside = missing == 1,
                            .number = (uint32_t)ended - 1,
                            .takes_ns = cost->takes_ns,
                            .alone_ns = cost->alone_ns,
                            .bytes = cost->bytes};
}

static void begin_block(const struct engine *engine, struct stretch_table *table, uint32_t number)
{
    const struct engine_stretches *stretches = engine->stretches;
    struct stretch_block *in = &table->blocks[number];
    in->block = stretches->blocks.items[number];
    in->facts = &stretches->facts[number];
    in->table = table;
    const uint32_t count = in->block->counts[COMPUTE];
    in->found = arena_array(stretches->arena, count + 1u, sizeof *in->found);
    in->next_to = arena_array(stretches->arena, count + 1u, sizeof *in->next_to);
    for (uint32_t i = 0; i < count; i++) {
        in->next_to[i] = awaited(engine, in, i);
    }
}

struct stretch_block *engine_stretch_block(const struct engine *engine, struct stretch_table *table,
                                           uint32_t index, uint32_t place)
{
    const struct engine_stretches *stretches = engine->stretches;
    const uint32_t number = stretches->blocks.numbers[engine->system->actors[index].program][place];
    if (table->blocks[number].block == NULL) {
        begin_block(engine, table, number);
    }
    return &table->blocks[number];
}

const struct stretch *engine_stretch_found(const struct engine *engine,
                                           const struct stretch_block *in, uint32_t number)
{
    if (in->found[number] == NULL) {
        in->found[number] = find(engine, in, number);
    }
    return in->found[number] == &engine->stretches->no_stretch ? NULL : in->found[number];
}
