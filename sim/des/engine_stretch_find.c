/* What a stretch is: which tasks of a block belong to it, and what it takes (engine_stretch.c).
 *
 * The times of a stretch are worked out for all speeds of its table at once, from 0 on. Each goes
 * from task to task by itself, up to where they meet: a collective starts when the last of them is
 * there, and ends for all at once. Where a table has one speed nobody waits.
 *
 * The layers of a model are alike: most stretches have the tasks of another, with the same next to
 * them, and take what that one takes. Those are of one *kind*. Which tasks are a stretch and which
 * stretches are of a kind does not depend on what anything takes, and is known for good
 * (engine_known.h).
 *
 * Cost: O(tasks) for each stretch of programs that are not known, O(tasks * speeds) for each kind
 * of stretch in a table, O(speeds) for another of the kind.
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

static bool add_meetings(const struct stretch_block *in, uint32_t number, struct stretch *stretches)
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
static sim_time when_all_are_there(const struct stretch_block *in, const struct stretch *stretches)
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
                     struct stretch *stretches)
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

/* ---- where one ends -------------------------------------------------------------------------- */

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

/* The first task after the longest stretch that begins with that one, which it is itself where
 * there is none. Sets which collectives are its first. */
static uint32_t find_end(const struct stretch_block *in, uint32_t first, struct stretch *stretch)
{
    memset(stretch, 0, sizeof *stretch);
    uint32_t end = first;
    if (engine_beside(in, first)->stream != 0) {
        return end;
    }
    stretch->tasks = 1;
    for (uint32_t i = first + 1; goes_on(in, i) && add_meeting(engine_between(in, i), stretch) &&
                                 add_meeting(engine_beside(in, i), stretch);
         i++) {
        stretch->tasks++;
        end = is_whole(in, first, stretch) ? i + 1 : end;
    }
    return end;
}

/* ---- those that are alike ------------------------------------------------------------------- */

static bool is_same_work(const struct task *a, const struct task *b)
{
    return a->cause == b->cause && a->launch_ns == b->launch_ns && a->work_ns == b->work_ns;
}

/* What lies next to a task of either block. */
static bool is_same_meeting(const struct engine_block *block, const struct known_meeting *a,
                            const struct engine_block *other, const struct known_meeting *b)
{
    return a->stream == b->stream && a->is_beside == b->is_beside &&
           (a->stream == 0 || block->tasks[a->stream][a->number].transfer ==
                                  other->tasks[b->stream][b->number].transfer);
}

/* The same tasks, with the same next to them; what is before the first and after the last is of
 * neither. */
static bool is_of_kind(const struct engine *engine, const struct stretch_block *in, uint32_t first,
                       const struct known_kind *kind)
{
    const struct engine_block *block = in->block;
    const struct engine_block *other = engine->stretches->blocks.items[kind->block];
    const struct task *a = &block->tasks[COMPUTE][first];
    const struct task *b = &other->tasks[COMPUTE][kind->first];
    const struct known_meeting *next_a = &in->known->next_to[first];
    const struct known_meeting *next_b =
        &in->table->known->blocks[kind->block].next_to[kind->first];
    bool is_same = is_same_work(a, b);
    for (uint32_t i = 1; is_same && i < kind->count; i++) {
        is_same =
            is_same_work(&a[i], &b[i]) && is_same_meeting(block, &next_a[i], other, &next_b[i]);
    }
    return is_same;
}

static uint32_t kind_of(const struct engine *engine, const struct stretch_block *in, uint32_t first,
                        uint32_t end)
{
    struct known_table *known = in->table->known;
    for (uint32_t i = 0; i < known->kind_count; i++) {
        if (known->kinds[i].count == end - first &&
            is_of_kind(engine, in, first, &known->kinds[i])) {
            return i;
        }
    }
    known->kinds = arena_grow(known->arena, known->kinds, &known->kind_capacity,
                              known->kind_count + 1u, sizeof *known->kinds);
    known->kinds[known->kind_count] =
        (struct known_kind){(uint32_t)(in - in->table->blocks), first, end - first};
    return known->kind_count++;
}

/* Looked for once in all runs of the same programs. */
static const struct known_stretch *known_from(const struct engine *engine,
                                              const struct stretch_block *in, uint32_t first)
{
    const struct known_stretch **known = &in->known->stretches[first];
    if (*known == NULL) {
        struct stretch stretch;
        struct known_stretch *found = arena_alloc(in->table->known->arena, sizeof *found);
        found->end = find_end(in, first, &stretch);
        found->kind = found->end > first ? kind_of(engine, in, first, found->end) : 0;
        for (uint32_t i = 0; i < STRETCH_STREAMS_MAX; i++) {
            found->meeting_first[i] = stretch.meetings[i].first;
        }
        *known = found;
    }
    return *known;
}

/* ---- the longest ---------------------------------------------------------------------------- */

/* A new stretch, with the time that it takes each speed. */
static struct stretch *work_out(const struct engine *engine, const struct stretch_block *in,
                                uint32_t first, uint32_t end)
{
    const uint32_t speeds = in->table->speed_count;
    struct stretch *stretches = arena_array(engine->stretches->arena, speeds, sizeof *stretches);
    for (uint32_t i = first; i < end; i++) {
        const bool is_added = add_task(engine, in, i, stretches);
        sim_assert(is_added);
    }
    for (uint32_t i = 0; i < speeds; i++) {
        stretches[i].together = in->table->together;
    }
    return stretches;
}

/* The same of another of its kind: its collectives are others. */
static struct stretch *copy_of(const struct engine *engine, const struct stretch *like,
                               uint32_t speeds, const struct known_stretch *known)
{
    struct stretch *stretches = arena_room(engine->stretches->arena, speeds, sizeof *stretches);
    memcpy(stretches, like, speeds * sizeof *stretches);
    for (uint32_t i = 0; i < speeds; i++) {
        for (uint32_t k = 0; k < like->stream_count; k++) {
            stretches[i].meetings[k].first = known->meeting_first[k];
        }
    }
    return stretches;
}

/* The longest that begins with that task. */
static struct stretch *find(const struct engine *engine, const struct stretch_block *in,
                            uint32_t first)
{
    const struct known_stretch *known = known_from(engine, in, first);
    if (known->end == first) {
        return &engine->stretches->no_stretch;
    }
    struct stretch_table *table = in->table;
    if (known->kind >= table->kind_capacity) {
        table->of_kind = arena_grow(engine->stretches->arena, table->of_kind, &table->kind_capacity,
                                    known->kind + 1u, sizeof *table->of_kind);
    }
    struct stretch **of_kind = &table->of_kind[known->kind];
    if (*of_kind == NULL) {
        *of_kind = work_out(engine, in, first, known->end);
        return *of_kind;
    }
    return copy_of(engine, *of_kind, table->speed_count, known);
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

/* That for which a task of stream 0 waits alone, when it can be part of a stretch and waits for
 * just the tasks before that one, or for all of these but the last. */
static struct known_meeting awaited(const struct stretch_block *in, uint32_t number)
{
    static const struct known_meeting none = {0};
    const struct engine_block *block = in->block;
    const struct task *task = &block->tasks[COMPUTE][number];
    const uint32_t stream = task->wait_stream[0];
    const int32_t ended = task->wait_ended[0];
    if (task->wait_count != 1 || ended <= 0 || (uint32_t)ended > block->counts[stream] ||
        (in->table->parts >> stream & 1u) == 0) {
        return none;
    }
    const struct task *meeting = &block->tasks[stream][ended - 1];
    const uint32_t missing = number - (uint32_t)meeting->wait_ended[0];
    if (meeting->kind != TASK_COLLECTIVE || meeting->wait_count != 1 ||
        meeting->wait_stream[0] != COMPUTE || missing > 1) {
        return none;
    }
    return (struct known_meeting){(uint32_t)ended - 1, (uint16_t)stream, missing == 1};
}

/* The same of all tasks of a block, and of one more, which is none. */
static void list_awaited(struct arena *arena, const struct stretch_block *in,
                         struct known_block *known)
{
    const uint32_t count = in->block->counts[COMPUTE];
    known->next_to = arena_array(arena, count + 1u, sizeof *known->next_to);
    known->stretches = arena_array(arena, count + 1u, sizeof *known->stretches);
    for (uint32_t i = 0; i < count; i++) {
        known->next_to[i] = awaited(in, i);
    }
}

static struct next_to with_cost(const struct engine *engine, const struct stretch_block *in,
                                const struct known_meeting *meeting)
{
    const struct task *task = &in->block->tasks[meeting->stream][meeting->number];
    const struct meeting_cost *cost = cost_of(engine, in->table, meeting->stream, task->transfer);
    return (struct next_to){.stream = meeting->stream,
                            .is_beside = meeting->is_beside,
                            .number = meeting->number,
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
    in->known = &table->known->blocks[number];
    const uint32_t count = in->block->counts[COMPUTE];
    in->found = arena_array(stretches->arena, count + 1u, sizeof *in->found);
    in->next_to = arena_array(stretches->arena, count + 1u, sizeof *in->next_to);
    if (in->known->next_to == NULL) {
        list_awaited(table->known->arena, in, in->known);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct known_meeting *meeting = &in->known->next_to[i];
        if (meeting->stream != 0) {
            in->next_to[i] = with_cost(engine, in, meeting);
        }
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
