/* Stretches: what an actor does by itself takes one event.
 *
 * Under tensor parallelism a layer is work, collective, work, collective: stream 0 waits for each,
 * and nobody else takes notice of either. If those who meet are actors that do the same at the same
 * time, none waits for another; if all links are slack (des/fluid.h), a collective takes as long
 * whatever else is under way. Then the end of it all is known when it begins.
 *
 * A stretch is tasks i to j - 1 of stream 0, and collectives of which each lies either between two
 * of them or beside one. For each k with i < k < j
 *   - task k waits for nothing, or for one collective alone: the one between k - 1 and k (which
 *     itself waits for task k - 1 alone) or the one beside k - 1,
 *   - the one beside k waits for task k - 1 alone, and is queued behind that for which task k
 *     waits, if for any, so it begins with k; task k + 1 waits for it alone, and is part of the
 *     stretch,
 *   - no other task waits for any of them,
 *   - the streams of its collectives begin nothing else before it ends, and
 *   - a step does not end between them (step_tasks).
 *
 * While one is under way the actor's `ended` stay those of its beginning, and so do its channels:
 * nobody looks at them. Only the rate can change from outside, when a task of another stream begins
 * or ends. The cursor is then moved to the task that is under way, or that ended last; what it
 * passes is booked, and the rest is summed anew at the new rate. Every task is rounded to the
 * nanosecond by itself, as where each is simulated.
 *
 * Stretches are found when an actor comes to one, and kept in a table for all actors of its
 * program, speed and kind of channels.
 *
 * Cost: O(1) for a stretch that was met before, O(its tasks) for a new one and for a new rate.
 */
#include "des/engine_state.h"

#include "base/arena.h"
#include "base/check.h"

/* Two may wait for a task of a stretch: what lies before the next one, and what lies beside it. */
enum { WAITERS_MAX = 3 };

/* What a collective takes on the channel of an actor. */
struct meeting_cost {
    uint32_t stream; /* for which the rest was found; 0: none yet */
    sim_time takes_ns;
    int64_t bytes;
};

/* Of actors to whom the same stretches take the same. */
struct stretch_table {
    uint32_t example; /* one of them */
    /* By the task of stream 0 that begins it; NULL: nobody came there yet. */
    struct stretch **found;
    struct meeting_cost *costs; /* by transfer */
};

struct engine_stretches {
    struct arena *arena;
    bool *is_own; /* by channel: its transfers can be parts of stretches */
    /* By program, stream and number of tasks ended: how many tasks wait for just that, up to
     * WAITERS_MAX. */
    const uint8_t *const **waiters;
    struct stretch_table *tables;
    size_t table_count, table_capacity;
    uint32_t *table_of; /* by actor; ENGINE_NONE: it has no stretches */
    struct stretch none;
};

/* ---- set-up --------------------------------------------------------------------------------- */

static bool is_of_one_class(const struct engine_system *system,
                            const struct engine_channel *channel)
{
    const struct engine_member *members = &system->members[channel->member_first];
    for (uint32_t i = 1; i < channel->member_count; i++) {
        if (system->classes == NULL || members[i].stream != members[0].stream ||
            system->classes[members[i].actor] != system->classes[members[0].actor]) {
            return false;
        }
    }
    return true;
}

/* Those who meet are of one class, and none of their links can be tight. */
static bool is_own(const struct engine *engine, uint32_t number)
{
    const struct engine_system *system = engine->system;
    const struct engine_channel *channel = &system->channels[number];
    if (channel->kind != CHANNEL_COLLECTIVE || !is_of_one_class(system, channel)) {
        return false;
    }
    for (uint32_t i = 0; i < channel->path_count; i++) {
        if (!engine->paths[channel->path_first + i].is_direct) {
            return false;
        }
    }
    return true;
}

static const uint8_t *const *count_waiters(struct arena *arena,
                                           const struct engine_program *program,
                                           uint32_t stream_count)
{
    uint8_t **waiters = arena_array(arena, stream_count, sizeof *waiters);
    for (uint32_t s = 0; s < stream_count; s++) {
        waiters[s] = arena_array(arena, (size_t)program->counts[s] + 1, sizeof **waiters);
    }
    for (uint32_t s = 0; s < stream_count; s++) {
        for (struct engine_walk walk = engine_walk_of(program, s); walk.task != NULL;
             engine_walk_next(&walk)) {
            for (uint32_t k = 0; k < walk.task->wait_count; k++) {
                uint8_t *count = &waiters[walk.task->wait_stream[k]][engine_walk_wait(&walk, k)];
                *count = (uint8_t)(*count < WAITERS_MAX ? *count + 1 : WAITERS_MAX);
            }
        }
    }
    return (const uint8_t *const *)waiters;
}

static bool is_like_channel(const struct engine *engine, uint32_t a, uint32_t b)
{
    const struct engine_system *system = engine->system;
    const bool *own = engine->stretches->is_own;
    if (a == ENGINE_NONE || b == ENGINE_NONE || !own[a] || !own[b]) {
        return (a != ENGINE_NONE && own[a]) == (b != ENGINE_NONE && own[b]);
    }
    const struct engine_channel *left = &system->channels[a];
    const struct engine_channel *right = &system->channels[b];
    if (left->latency_ns != right->latency_ns || left->path_count != right->path_count) {
        return false;
    }
    for (uint32_t i = 0; i < left->path_count; i++) {
        if (system->paths[left->path_first + i].cap_bytes_per_s !=
            system->paths[right->path_first + i].cap_bytes_per_s) {
            return false;
        }
    }
    return true;
}

static bool is_like_actor(const struct engine *engine, uint32_t a, uint32_t b)
{
    const struct engine_actor *left = &engine->system->actors[a];
    const struct engine_actor *right = &engine->system->actors[b];
    if (left->program != right->program || left->speed != right->speed) {
        return false;
    }
    for (uint32_t s = 1; s < engine->system->stream_count; s++) {
        if (!is_like_channel(engine, left->channels[s], right->channels[s])) {
            return false;
        }
    }
    return true;
}

static bool has_own(const struct engine *engine, uint32_t index)
{
    const struct engine_actor *actor = &engine->system->actors[index];
    for (uint32_t s = 1; s < engine->system->stream_count; s++) {
        if (actor->channels[s] != ENGINE_NONE && engine->stretches->is_own[actor->channels[s]]) {
            return true;
        }
    }
    return false;
}

/* The table of actors like that one; a new one, if it is the first. Neighbours are alike, so the
 * newest is looked at first. */
static uint32_t find_table(const struct engine *engine, uint32_t index)
{
    struct engine_stretches *stretches = engine->stretches;
    for (size_t i = stretches->table_count; i > 0; i--) {
        if (is_like_actor(engine, index, stretches->tables[i - 1].example)) {
            return (uint32_t)(i - 1);
        }
    }
    const struct engine_program *program = engine->actors[index].program;
    stretches->tables = arena_grow(stretches->arena, stretches->tables, &stretches->table_capacity,
                                   stretches->table_count + 1, sizeof *stretches->tables);
    struct stretch_table *table = &stretches->tables[stretches->table_count];
    table->example = index;
    table->found =
        arena_array(stretches->arena, (size_t)program->counts[COMPUTE] + 1, sizeof *table->found);
    table->costs = arena_array(stretches->arena, (size_t)engine->system->transfer_count + 1,
                               sizeof *table->costs);
    return (uint32_t)stretches->table_count++;
}

void engine_stretches_build(struct arena *arena, struct engine *engine)
{
    const struct engine_system *system = engine->system;
    struct engine_stretches *stretches = arena_alloc(arena, sizeof *stretches);
    engine->stretches = stretches;
    stretches->arena = arena;
    stretches->is_own = arena_array(arena, system->channel_count + 1u, sizeof *stretches->is_own);
    bool has_any = false;
    for (uint32_t i = 0; i < system->channel_count; i++) {
        stretches->is_own[i] = is_own(engine, i);
        has_any = has_any || stretches->is_own[i];
    }
    if (!has_any) {
        engine->stretches = NULL;
        return;
    }
    stretches->waiters = arena_array(arena, system->program_count, sizeof *stretches->waiters);
    for (uint32_t p = 0; p < system->program_count; p++) {
        stretches->waiters[p] = count_waiters(arena, &system->programs[p], system->stream_count);
    }
    stretches->table_of = arena_array(arena, system->actor_count, sizeof *stretches->table_of);
    for (uint32_t i = 0; i < system->actor_count; i++) {
        stretches->table_of[i] = has_own(engine, i) ? find_table(engine, i) : ENGINE_NONE;
    }
}

/* ---- a task of a stretch, and the collectives next to it ------------------------------------ */

/* A collective next to a task of stream 0: beside it, or between it and the one before. */
struct next_to {
    uint32_t stream; /* 0: there is none */
    uint32_t number; /* of its stream's tasks */
};

/* That for which a task of stream 0 waits alone, when it is the actor's own and waits for just
 * so many tasks of stream 0. */
static struct next_to waited_for(const struct engine *engine, const struct stretch_table *table,
                                 uint32_t number, uint32_t tasks_before)
{
    const struct next_to none = {0, 0};
    const struct engine_actor *actor = &engine->system->actors[table->example];
    const struct engine_program *program = &engine->system->programs[actor->program];
    if (number >= program->counts[COMPUTE]) {
        return none;
    }
    const struct task *task = engine_program_task(program, COMPUTE, number);
    const uint32_t stream = task->wait_stream[0];
    if (task->wait_count != 1 || stream == COMPUTE ||
        !engine->stretches->is_own[actor->channels[stream]]) {
        return none;
    }
    const uint32_t ended = engine_program_wait(program, COMPUTE, number, 0);
    if (ended == 0) {
        return none;
    }
    const struct task *meeting = engine_program_task(program, stream, ended - 1);
    const bool is_next = meeting->kind == TASK_COLLECTIVE && meeting->wait_count == 1 &&
                         meeting->wait_stream[0] == COMPUTE &&
                         engine_program_wait(program, stream, ended - 1, 0) == tasks_before;
    return is_next ? (struct next_to){stream, ended - 1} : none;
}

static struct next_to between(const struct engine *engine, const struct stretch_table *table,
                              uint32_t number)
{
    return waited_for(engine, table, number, number);
}

static struct next_to beside(const struct engine *engine, const struct stretch_table *table,
                             uint32_t number)
{
    return waited_for(engine, table, number + 1, number);
}

/* What a collective takes on the channels of a table's actors. */
static const struct meeting_cost *cost_of(const struct engine *engine, struct stretch_table *table,
                                          struct next_to meeting)
{
    const struct engine_system *system = engine->system;
    const struct engine_actor *actor = &system->actors[table->example];
    const uint32_t transfer =
        engine_program_task(&system->programs[actor->program], meeting.stream, meeting.number)
            ->transfer;
    struct meeting_cost *cost = &table->costs[transfer];
    if (cost->stream == meeting.stream) {
        return cost;
    }
    const struct engine_channel *channel = &system->channels[actor->channels[meeting.stream]];
    *cost = (struct meeting_cost){.stream = meeting.stream, .takes_ns = channel->latency_ns};
    for (uint32_t phase = transfer + 1; phase != 0; phase = system->transfers[phase - 1].next) {
        const struct engine_transfer *step = &system->transfers[phase - 1];
        cost->takes_ns += step->latency_ns + engine_flowing_ns(system, channel, step);
        cost->bytes += step->bytes;
    }
    return cost;
}

static sim_time takes_ns(const struct engine *engine, struct stretch_table *table,
                         struct next_to meeting)
{
    return meeting.stream == 0 ? 0 : cost_of(engine, table, meeting)->takes_ns;
}

/* A task of stream 0 as it goes: its work is done at one rate while a collective is beside it, at
 * another one after that. */
struct pass {
    sim_time begun;
    sim_time beside_end; /* begun, if nothing is beside it */
    uint32_t rate_beside, rate;
};

static struct pass pass_of(const struct engine *engine, struct stretch_table *table,
                           uint32_t number, sim_time begun, uint32_t interference)
{
    const uint32_t speed = engine->system->actors[table->example].speed;
    const struct next_to meeting = beside(engine, table, number);
    const uint32_t more =
        meeting.stream == 0 ? 0 : engine->system->streams[meeting.stream].interference;
    return (struct pass){
        .begun = begun,
        .beside_end = begun + takes_ns(engine, table, meeting),
        .rate_beside = engine_rate(speed, interference + more),
        .rate = engine_rate(speed, interference),
    };
}

static sim_time work_end(const struct pass *pass, sim_time from, int64_t remaining)
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

/* What is left of the work at `now`, before its end. */
static int64_t work_left(const struct pass *pass, sim_time from, sim_time now, int64_t remaining)
{
    if (from < pass->beside_end) {
        const sim_time until = now < pass->beside_end ? now : pass->beside_end;
        remaining -= (until - from) * (int64_t)pass->rate_beside;
        from = until;
    }
    return remaining - (now - from) * (int64_t)pass->rate;
}

static sim_time later(sim_time a, sim_time b)
{
    return a > b ? a : b;
}

/* Books a task, and the wait for the collective beside it. */
static void book_pass(const struct engine *engine, const struct stretch_table *table,
                      uint32_t number, const struct pass *pass, sim_time end,
                      int64_t books[ENGINE_CAUSES_MAX])
{
    const struct engine_system *system = engine->system;
    const struct engine_actor *actor = &system->actors[table->example];
    const struct task *task =
        engine_program_task(&system->programs[actor->program], COMPUTE, number);
    const int64_t undisturbed_ns = engine_work_ns(task, actor->speed);
    const int64_t launch_ns = engine_launch_ns(task, actor->speed);
    books[system->launch_cause] += launch_ns;
    books[task->cause] += undisturbed_ns - launch_ns;
    books[system->interference_cause] += end - pass->begun - undisturbed_ns;
    if (pass->beside_end > end) {
        const struct next_to meeting = beside(engine, table, number);
        books[system->streams[meeting.stream].exposed_cause] += pass->beside_end - end;
    }
}

/* Books the collective between a task and the one before; what it takes. */
static sim_time book_between(const struct engine *engine, struct stretch_table *table,
                             uint32_t number, int64_t books[ENGINE_CAUSES_MAX])
{
    const struct next_to meeting = between(engine, table, number);
    const sim_time takes = takes_ns(engine, table, meeting);
    if (meeting.stream != 0) {
        books[engine->system->streams[meeting.stream].exposed_cause] += takes;
    }
    return takes;
}

/* ---- what a stretch is ---------------------------------------------------------------------- */

static bool waits_for_nobody_else(const uint8_t *const *waiters, struct next_to meeting)
{
    return waiters[meeting.stream][meeting.number + 1] == 1;
}

/* What is beside a task waits for the end of the task before, and begins then, unless it is queued
 * behind what the task itself waits for. */
static bool begins_with_its_task(struct next_to with, struct next_to before, struct next_to earlier)
{
    const uint32_t awaited = before.stream != 0 ? before.stream : earlier.stream;
    return with.stream == 0 || awaited == 0 || with.stream == awaited;
}

/* Whether a task can follow the one before in a stretch that began earlier. */
static bool goes_on(const struct engine *engine, const struct stretch_table *table, uint32_t number)
{
    const uint32_t p = engine->system->actors[table->example].program;
    const struct engine_program *program = &engine->system->programs[p];
    const uint8_t *const *waiters = engine->stretches->waiters[p];
    if (number >= program->counts[COMPUTE] ||
        (program->step_tasks != 0 && number % program->step_tasks == 0)) {
        return false;
    }
    const struct task *task = engine_program_task(program, COMPUTE, number);
    const struct next_to before = between(engine, table, number);
    const struct next_to earlier = beside(engine, table, number - 1);
    const struct next_to with = beside(engine, table, number);
    const uint32_t expected = (before.stream != 0 ? 1u : 0u) + (with.stream != 0 ? 1u : 0u);
    return (task->wait_count == 0 || before.stream != 0 || earlier.stream != 0) &&
           begins_with_its_task(with, before, earlier) && waiters[COMPUTE][number] == expected &&
           (before.stream == 0 || waits_for_nobody_else(waiters, before)) &&
           (with.stream == 0 || waits_for_nobody_else(waiters, with));
}

/* Adds a collective; false when it is not the next of its stream, or there are too many streams. */
static bool add_meeting(const struct engine *engine, struct stretch_table *table,
                        struct next_to meeting, struct stretch *stretch)
{
    if (meeting.stream == 0) {
        return true;
    }
    uint32_t i = 0;
    while (i < stretch->stream_count && stretch->meetings[i].stream != meeting.stream) {
        i++;
    }
    if (i == STRETCH_STREAMS_MAX) {
        return false;
    }
    struct stretch_meetings *meetings = &stretch->meetings[i];
    if (i == stretch->stream_count) {
        stretch->stream_count++;
        *meetings = (struct stretch_meetings){.stream = meeting.stream, .first = meeting.number};
    }
    const struct meeting_cost *cost = cost_of(engine, table, meeting);
    const bool is_next = meetings->first + meetings->count == meeting.number;
    meetings->count++;
    meetings->moving_ns += cost->takes_ns;
    meetings->bytes += cost->bytes;
    return is_next;
}

/* Adds a task with the collectives next to it. */
static bool add_task(const struct engine *engine, struct stretch_table *table, uint32_t number,
                     struct stretch *stretch)
{
    const struct task *task =
        engine_program_task(engine->actors[table->example].program, COMPUTE, number);
    if (stretch->tasks > 0 &&
        (!add_meeting(engine, table, between(engine, table, number), stretch) ||
         !add_meeting(engine, table, beside(engine, table, number), stretch))) {
        return false;
    }
    if (stretch->tasks > 0) {
        stretch->takes_ns += book_between(engine, table, number, stretch->books);
    }
    const struct pass pass = pass_of(engine, table, number, stretch->takes_ns, 0);
    const sim_time end = work_end(&pass, pass.begun, task->work_ns * ENGINE_FULL_SPEED);
    book_pass(engine, table, number, &pass, end, stretch->books);
    stretch->takes_ns = later(end, pass.beside_end);
    stretch->tasks++;
    return true;
}

/* Nothing is under way when it ends, and nothing else of its streams has begun by then: what is
 * next of each waits for its last task, or for a later one. */
static bool is_whole(const struct engine *engine, const struct stretch_table *table, uint32_t first,
                     const struct stretch *stretch)
{
    const struct engine_program *program = engine->actors[table->example].program;
    const uint32_t end = first + stretch->tasks;
    for (uint32_t i = 0; i < stretch->stream_count; i++) {
        const struct stretch_meetings *meetings = &stretch->meetings[i];
        const uint32_t next = meetings->first + meetings->count;
        bool waits = next == program->counts[meetings->stream];
        const struct task *task =
            waits ? NULL : engine_program_task(program, meetings->stream, next);
        for (uint32_t k = 0; !waits && k < task->wait_count; k++) {
            waits = task->wait_stream[k] == COMPUTE &&
                    engine_program_wait(program, meetings->stream, next, k) >= end;
        }
        if (!waits) {
            return false;
        }
    }
    return beside(engine, table, end - 1).stream == 0;
}

/* The longest that begins with that task. */
static struct stretch *find(const struct engine *engine, struct stretch_table *table,
                            uint32_t first)
{
    struct stretch stretch = {0};
    struct stretch longest = {0};
    if (beside(engine, table, first).stream == 0 && add_task(engine, table, first, &stretch)) {
        longest = stretch;
        for (uint32_t i = first + 1; goes_on(engine, table, i); i++) {
            if (!add_task(engine, table, i, &stretch)) {
                break;
            }
            if (is_whole(engine, table, first, &stretch)) {
                longest = stretch;
            }
        }
    }
    if (longest.tasks <= 1) {
        return &engine->stretches->none;
    }
    struct stretch *kept = arena_alloc(engine->stretches->arena, sizeof *kept);
    *kept = longest;
    return kept;
}

static struct stretch_table *table_of(const struct engine *engine, uint32_t index)
{
    return &engine->stretches->tables[engine->stretches->table_of[index]];
}

const struct stretch *engine_stretch_at(const struct engine *engine, uint32_t index, uint32_t first)
{
    if (engine->stretches == NULL || engine->stretches->table_of[index] == ENGINE_NONE) {
        return NULL;
    }
    struct stretch_table *table = table_of(engine, index);
    if (table->found[first] == NULL) {
        table->found[first] = find(engine, table, first);
    }
    return table->found[first] == &engine->stretches->none ? NULL : table->found[first];
}

/* Whether stream 0's next task waits for so many of a stream. */
static bool waits_for_stream(const struct actor *actor, uint32_t stream, uint32_t ended)
{
    const struct task *task = engine_task_at(actor, COMPUTE);
    for (uint32_t i = 0; i < task->wait_count; i++) {
        if (task->wait_stream[i] == stream && engine_wait_at(actor, COMPUTE, task, i) >= ended) {
            return true;
        }
    }
    return false;
}

/* Whether the collectives of a stretch are next on their stream, and those of a class agree on it,
 * who may meet in this one or in another of the stretch: what ended in this instant may have done
 * so before some of them came here, and after others, unless all had to wait for it. */
static bool is_ready(const struct engine *engine, uint32_t index,
                     const struct stretch_meetings *meetings)
{
    const struct actor *actor = &engine->actors[index];
    const uint32_t stream = meetings->stream;
    return actor->ended[stream] == meetings->first &&
           (engine->system->classes == NULL || meetings->first == 0 ||
            actor->ledgers[stream].ended < event_now(engine->queue) ||
            waits_for_stream(actor, stream, meetings->first));
}

const struct stretch *engine_stretch_next(const struct engine *engine, uint32_t index)
{
    const uint32_t first = engine->actors[index].ended[COMPUTE];
    const struct stretch *stretch = engine_stretch_at(engine, index, first);
    for (uint32_t i = 0; stretch != NULL && i < stretch->stream_count; i++) {
        if (!is_ready(engine, index, &stretch->meetings[i])) {
            return NULL;
        }
    }
    return stretch;
}

/* ---- while it is under way ------------------------------------------------------------------ */

static uint32_t last_of(const struct actor *actor)
{
    return actor->ended[COMPUTE] + actor->stretch->tasks - 1;
}

/* The task at the cursor at today's rates. */
static struct pass pass_now(const struct engine *engine, uint32_t index)
{
    const struct actor *actor = &engine->actors[index];
    return pass_of(engine, table_of(engine, index), actor->cursor, actor->begun,
                   actor->interference);
}

sim_time engine_stretch_end(struct engine *engine, uint32_t index)
{
    struct actor *actor = &engine->actors[index];
    struct stretch_table *table = table_of(engine, index);
    if (!actor->is_disturbed && actor->interference == 0) {
        return actor->compute_start + actor->stretch->takes_ns;
    }
    struct pass pass = pass_now(engine, index);
    if (actor->remaining > 0) {
        actor->work_end = work_end(&pass, actor->updated, actor->remaining);
    }
    sim_time time = later(actor->work_end, pass.beside_end);
    for (uint32_t i = actor->cursor + 1; i <= last_of(actor); i++) {
        time += takes_ns(engine, table, between(engine, table, i));
        pass = pass_of(engine, table, i, time, actor->interference);
        const int64_t work =
            engine_program_task(actor->program, COMPUTE, i)->work_ns * ENGINE_FULL_SPEED;
        time = later(work_end(&pass, time, work), pass.beside_end);
    }
    return time;
}

/* The task at the cursor is over: books it, and goes to the next. */
static void pass_on(struct engine *engine, uint32_t index, const struct pass *pass)
{
    struct actor *actor = &engine->actors[index];
    struct stretch_table *table = table_of(engine, index);
    int64_t *books = engine->causes[index];
    book_pass(engine, table, actor->cursor, pass, actor->work_end, books);
    const sim_time end = later(actor->work_end, pass->beside_end);
    if (actor->cursor++ == last_of(actor)) {
        return;
    }
    actor->begun = end + book_between(engine, table, actor->cursor, books);
    actor->work_end = actor->begun;
    actor->updated = actor->begun;
    actor->remaining =
        engine_program_task(actor->program, COMPUTE, actor->cursor)->work_ns * ENGINE_FULL_SPEED;
}

void engine_stretch_seek(struct engine *engine, uint32_t index)
{
    struct actor *actor = &engine->actors[index];
    struct stretch_table *table = table_of(engine, index);
    const sim_time now = event_now(engine->queue);
    actor->is_disturbed = true;
    for (;;) {
        const struct pass pass = pass_now(engine, index);
        if (actor->remaining > 0) {
            actor->work_end = work_end(&pass, actor->updated, actor->remaining);
        }
        const bool is_last = actor->cursor == last_of(actor);
        const sim_time over =
            later(actor->work_end, pass.beside_end) +
            (is_last ? 0 : takes_ns(engine, table, between(engine, table, actor->cursor + 1)));
        if (over > now || is_last) {
            actor->remaining =
                actor->work_end > now ? work_left(&pass, actor->updated, now, actor->remaining) : 0;
            actor->updated = now;
            return;
        }
        pass_on(engine, index, &pass);
    }
}

/* ---- when it ends --------------------------------------------------------------------------- */

static void book_rest(struct engine *engine, uint32_t index)
{
    struct actor *actor = &engine->actors[index];
    const uint32_t last = last_of(actor);
    while (actor->cursor <= last) {
        const struct pass pass = pass_now(engine, index);
        if (actor->remaining > 0) {
            actor->work_end = work_end(&pass, actor->updated, actor->remaining);
        }
        pass_on(engine, index, &pass);
    }
}

uint32_t engine_stretch_finish(struct engine *engine, uint32_t index)
{
    const struct engine_system *system = engine->system;
    struct actor *actor = &engine->actors[index];
    const struct stretch *stretch = actor->stretch;
    if (actor->is_disturbed || actor->interference != 0) {
        book_rest(engine, index);
    } else {
        for (uint32_t c = 0; c < system->cause_count; c++) {
            engine->causes[index][c] += stretch->books[c];
        }
    }
    uint32_t streams = 0;
    for (uint32_t i = 0; i < stretch->stream_count; i++) {
        const struct stretch_meetings *meetings = &stretch->meetings[i];
        const uint32_t number = system->actors[index].channels[meetings->stream];
        engine_move_on(actor, meetings->stream, meetings->count);
        streams |= 1u << meetings->stream;
        engine->tasks += meetings->count;
        if (system->members[system->channels[number].member_first].actor != index) {
            continue; /* the first of them counts for all */
        }
        engine->traffic[number].transfers += meetings->count;
        engine->traffic[number].moving_ns += meetings->moving_ns;
        engine->traffic[number].alone_ns += meetings->moving_ns;
        engine->channels[number].bytes_total += meetings->bytes;
    }
    engine->tasks += stretch->tasks - 1;
    engine_move_on(actor, COMPUTE, stretch->tasks - 1);
    return streams;
}
