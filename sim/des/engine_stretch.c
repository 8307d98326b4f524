/* Stretches: what an actor does by itself takes one event.
 *
 * Under tensor parallelism a layer is work, collective, work, collective: stream 0 waits for each,
 * and nobody else takes notice of either. If those who meet are actors that do the same at the same
 * time, none waits for another; if all links are slack (des/fluid.h), a collective takes as long
 * whatever else is under way. Then the end of it all is known when it begins.
 *
 * A stretch is tasks i to j - 1 of stream 0, all of one block (engine_program.h), and collectives
 * of that block, of which each lies either between two of them or beside one. For each k with
 * i < k < j
 *   - task k waits for nothing, or for one collective alone: the one between k - 1 and k (which
 *     itself waits for task k - 1 alone) or the one beside k - 1,
 *   - the one beside k waits for task k - 1 alone, and is queued behind that for which task k
 *     waits, if for any, so it begins with k; task k + 1 waits for it alone, and is part of the
 *     stretch,
 *   - no other task waits for any of them, and
 *   - the streams of its collectives begin nothing else before it ends.
 * Of what lies in other blocks the worst is taken, wherever the block stands (engine_waiters.c).
 *
 * While one is under way the actor's `ended` stay those of its beginning, and so do its channels:
 * nobody looks at them. Only the rate can change from outside, when a task of another stream begins
 * or ends. The cursor is then moved to the task that is under way, or that ended last; what it
 * passes is booked, and the rest is summed anew at the new rate. Every task is rounded to the
 * nanosecond by itself, as where each is simulated.
 *
 * Stretches are found when an actor comes to one, and kept, by the block and the place in it, in a
 * table for all actors of its speed and kind of channels. Tasks are counted from the beginning of
 * their block in this file, unless they are said to be the program's.
 *
 * Cost: O(1) for a stretch that was met before, O(its tasks) for a new one and for a new rate.
 */
#include "des/engine_state.h"

#include "base/arena.h"
#include "base/check.h"

/* What a collective takes on the channel of an actor. */
struct meeting_cost {
    uint32_t stream; /* for which the rest was found; 0: none yet */
    sim_time takes_ns;
    int64_t bytes;
};

/* A collective next to a task of stream 0: between it and the one before, or beside that. */
struct next_to {
    uint16_t stream; /* 0: there is none */
    bool is_beside;
    uint32_t number; /* of its stream's tasks */
    sim_time takes_ns;
    int64_t bytes;
};

static const struct next_to none = {0};

/* The stretches of a block, for the actors of a table. */
struct stretch_block {
    const struct engine_block *block;
    const struct engine_block_facts *facts;
    struct stretch_table *table;
    /* By the task of stream 0 that begins it; NULL: nobody came there yet. */
    struct stretch **found;
    struct next_to *next_to; /* what each task of stream 0 waits for; one more, for none */
};

/* Of actors to whom the same stretches take the same. */
struct stretch_table {
    uint32_t example;             /* one of them */
    struct stretch_block *blocks; /* by number; not begun: its block is NULL */
    struct meeting_cost *costs;   /* by transfer */
};

struct engine_stretches {
    struct arena *arena;
    bool *is_own; /* by channel: its transfers can be parts of stretches */
    struct engine_blocks blocks;
    const struct engine_block_facts *facts; /* by number of block */
    struct stretch_table **tables;
    size_t table_count, table_capacity;
    uint32_t *table_of; /* by actor; ENGINE_NONE: it has no stretches */
    struct stretch no_stretch;
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

/* A step begins with a block: else a stretch might go on into the next step. */
static bool has_whole_steps(const struct engine_program *program)
{
    uint32_t steps = 0;
    for (uint32_t b = 0; program->step_tasks != 0 && b < program->block_count; b++) {
        steps += program->firsts[b][COMPUTE] % program->step_tasks == 0 &&
                 program->blocks[b]->counts[COMPUTE] > 0;
    }
    return program->step_tasks == 0 || steps == program->counts[COMPUTE] / program->step_tasks;
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
    if (left->speed != right->speed) {
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
        if (is_like_actor(engine, index, stretches->tables[i - 1]->example)) {
            return (uint32_t)(i - 1);
        }
    }
    stretches->tables = arena_grow(stretches->arena, stretches->tables, &stretches->table_capacity,
                                   stretches->table_count + 1, sizeof *stretches->tables);
    struct stretch_table *table = arena_alloc(stretches->arena, sizeof *table);
    stretches->tables[stretches->table_count] = table;
    table->example = index;
    table->blocks = arena_array(stretches->arena, stretches->blocks.count, sizeof *table->blocks);
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
    uint32_t streams = 0; /* of such channels */
    for (uint32_t i = 0; i < system->channel_count; i++) {
        stretches->is_own[i] = is_own(engine, i);
        streams |= stretches->is_own[i]
                       ? 1u << system->members[system->channels[i].member_first].stream
                       : 0;
    }
    if (streams == 0) {
        engine->stretches = NULL;
        return;
    }
    stretches->blocks = engine_blocks_of(arena, system->programs, system->program_count);
    stretches->facts = engine_waiters_count(arena, system, &stretches->blocks, streams);
    bool *can_have = arena_array(arena, system->program_count, sizeof *can_have);
    for (uint32_t p = 0; p < system->program_count; p++) {
        can_have[p] = has_whole_steps(&system->programs[p]);
    }
    stretches->table_of = arena_array(arena, system->actor_count, sizeof *stretches->table_of);
    for (uint32_t i = 0; i < system->actor_count; i++) {
        const bool has_any = can_have[system->actors[i].program] && has_own(engine, i);
        stretches->table_of[i] = has_any ? find_table(engine, i) : ENGINE_NONE;
    }
}

/* ---- a task of a stretch, and the collectives next to it ------------------------------------ */

static const struct next_to *between(const struct stretch_block *in, uint32_t number)
{
    const struct next_to *meeting = &in->next_to[number];
    return meeting->is_beside ? &none : meeting;
}

static const struct next_to *beside(const struct stretch_block *in, uint32_t number)
{
    const struct next_to *meeting = &in->next_to[number + 1];
    return meeting->is_beside ? meeting : &none;
}

/* A task of stream 0 as it goes: its work is done at one rate while a collective is beside it, at
 * another one after that. */
struct pass {
    sim_time begun;
    sim_time beside_end; /* begun, if nothing is beside it */
    uint32_t rate_beside, rate;
};

static struct pass pass_of(const struct engine *engine, const struct stretch_block *in,
                           uint32_t number, sim_time begun, uint32_t interference)
{
    const uint32_t speed = engine->system->actors[in->table->example].speed;
    const struct next_to *meeting = beside(in, number);
    const uint32_t more =
        meeting->stream == 0 ? 0 : engine->system->streams[meeting->stream].interference;
    const uint32_t rate = engine_rate(speed, interference);
    return (struct pass){
        .begun = begun,
        .beside_end = begun + meeting->takes_ns,
        .rate_beside = more == 0 ? rate : engine_rate(speed, interference + more),
        .rate = rate,
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
static void book_pass(const struct engine *engine, const struct stretch_block *in, uint32_t number,
                      const struct pass *pass, sim_time end, int64_t books[ENGINE_CAUSES_MAX])
{
    const struct engine_system *system = engine->system;
    const struct engine_actor *actor = &system->actors[in->table->example];
    const struct task *task = &in->block->tasks[COMPUTE][number];
    const int64_t undisturbed_ns = engine_work_ns(task, actor->speed);
    const int64_t launch_ns = engine_launch_ns(task, actor->speed);
    books[system->launch_cause] += launch_ns;
    books[task->cause] += undisturbed_ns - launch_ns;
    books[system->interference_cause] += end - pass->begun - undisturbed_ns;
    if (pass->beside_end > end) {
        const struct next_to *meeting = beside(in, number);
        books[system->streams[meeting->stream].exposed_cause] += pass->beside_end - end;
    }
}

/* Books the collective between a task and the one before; what it takes. */
static sim_time book_between(const struct engine *engine, const struct stretch_block *in,
                             uint32_t number, int64_t books[ENGINE_CAUSES_MAX])
{
    const struct next_to *meeting = between(in, number);
    const sim_time takes = meeting->takes_ns;
    if (meeting->stream != 0) {
        books[engine->system->streams[meeting->stream].exposed_cause] += takes;
    }
    return takes;
}

/* ---- what a stretch is ---------------------------------------------------------------------- */

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
    const struct next_to *before = between(in, number);
    const struct next_to *earlier = beside(in, number - 1);
    const struct next_to *with = beside(in, number);
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
    meetings->bytes += meeting->bytes;
    return is_next;
}

/* Adds a task with the collectives next to it. */
static bool add_task(const struct engine *engine, const struct stretch_block *in, uint32_t number,
                     struct stretch *stretch)
{
    const struct task *task = &in->block->tasks[COMPUTE][number];
    if (stretch->tasks > 0 &&
        (!add_meeting(between(in, number), stretch) || !add_meeting(beside(in, number), stretch))) {
        return false;
    }
    if (stretch->tasks > 0) {
        stretch->takes_ns += book_between(engine, in, number, stretch->books);
    }
    const struct pass pass = pass_of(engine, in, number, stretch->takes_ns, 0);
    const sim_time end = work_end(&pass, pass.begun, task->work_ns * ENGINE_FULL_SPEED);
    book_pass(engine, in, number, &pass, end, stretch->books);
    stretch->takes_ns = later(end, pass.beside_end);
    stretch->tasks++;
    return true;
}

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
    return beside(in, end - 1)->stream == 0;
}

/* The longest that begins with that task. */
static struct stretch *find(const struct engine *engine, const struct stretch_block *in,
                            uint32_t first)
{
    struct stretch stretch = {0};
    uint32_t longest = 0;
    bool is_sound = true; /* what could not be added may have been in part */
    if (beside(in, first)->stream == 0 && add_task(engine, in, first, &stretch)) {
        for (uint32_t i = first + 1; is_sound && goes_on(in, i); i++) {
            is_sound = add_task(engine, in, i, &stretch);
            longest = is_sound && is_whole(in, first, &stretch) ? stretch.tasks : longest;
        }
    }
    if (longest <= 1) {
        return &engine->stretches->no_stretch;
    }
    struct stretch *kept = arena_alloc(engine->stretches->arena, sizeof *kept);
    if (is_sound && stretch.tasks == longest) {
        *kept = stretch;
        return kept;
    }
    for (uint32_t i = first; i < first + longest; i++) {
        const bool is_added = add_task(engine, in, i, kept);
        sim_assert(is_added);
    }
    return kept;
}

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
    *cost = (struct meeting_cost){.stream = stream, .takes_ns = channel->latency_ns};
    for (uint32_t phase = transfer + 1; phase != 0; phase = system->transfers[phase - 1].next) {
        const struct engine_transfer *step = &system->transfers[phase - 1];
        cost->takes_ns += step->latency_ns + engine_flowing_ns(system, channel, step);
        cost->bytes += step->bytes;
    }
    return cost;
}

/* That for which a task of stream 0 waits alone, when it is the actor's own and waits for just the
 * tasks before that one, or for all of these but the last. */
static struct next_to awaited(const struct engine *engine, const struct stretch_block *in,
                              uint32_t number)
{
    const struct engine_block *block = in->block;
    const struct task *task = &block->tasks[COMPUTE][number];
    const uint32_t stream = task->wait_stream[0];
    const int32_t ended = task->wait_ended[0];
    const uint32_t channel = engine->system->actors[in->table->example].channels[stream];
    if (task->wait_count != 1 || stream == COMPUTE || ended <= 0 ||
        (uint32_t)ended > block->counts[stream] || channel == ENGINE_NONE ||
        !engine->stretches->is_own[channel]) {
        return none;
    }
    const struct task *meeting = &block->tasks[stream][ended - 1];
    const uint32_t missing = number - (uint32_t)meeting->wait_ended[0];
    if (meeting->kind != TASK_COLLECTIVE || meeting->wait_count != 1 ||
        meeting->wait_stream[0] != COMPUTE || missing > 1) {
        return none;
    }
    const struct meeting_cost *cost = cost_of(engine, in->table, stream, meeting->transfer);
    return (struct next_to){.stream = (uint16_t)stream,
                            .is_beside = missing == 1,
                            .number = (uint32_t)ended - 1,
                            .takes_ns = cost->takes_ns,
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

/* The block at a place of an actor's program, with its stretches. */
static struct stretch_block *block_at(const struct engine *engine, uint32_t index, uint32_t place)
{
    const struct engine_stretches *stretches = engine->stretches;
    struct stretch_table *table = stretches->tables[stretches->table_of[index]];
    const uint32_t number = stretches->blocks.numbers[engine->system->actors[index].program][place];
    if (table->blocks[number].block == NULL) {
        begin_block(engine, table, number);
    }
    return &table->blocks[number];
}

/* The stretch that begins with the program's task of that number, which lies in the block at that
 * place; NULL: none. */
static const struct stretch *stretch_at(const struct engine *engine, uint32_t index, uint32_t place,
                                        uint32_t first)
{
    if (engine->stretches == NULL || engine->stretches->table_of[index] == ENGINE_NONE) {
        return NULL;
    }
    const struct stretch_block *in = block_at(engine, index, place);
    const uint32_t number = first - engine->actors[index].program->firsts[place][COMPUTE];
    if (in->found[number] == NULL) {
        in->found[number] = find(engine, in, number);
    }
    return in->found[number] == &engine->stretches->no_stretch ? NULL : in->found[number];
}

const struct stretch *engine_stretch_at(const struct engine *engine, uint32_t index, uint32_t first)
{
    const struct engine_program *program = engine->actors[index].program;
    return first < program->counts[COMPUTE]
               ? stretch_at(engine, index, engine_program_block(program, COMPUTE, first), first)
               : NULL;
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
    const uint32_t first = actor->program->firsts[actor->block[COMPUTE]][stream] + meetings->first;
    return actor->ended[stream] == first &&
           (engine->system->classes == NULL || first == 0 ||
            engine_ledger(actor, stream)->ended < event_now(engine->queue) ||
            waits_for_stream(actor, stream, first));
}

const struct stretch *engine_stretch_next(const struct engine *engine, uint32_t index)
{
    const struct actor *actor = &engine->actors[index];
    const struct stretch *stretch =
        stretch_at(engine, index, actor->block[COMPUTE], actor->ended[COMPUTE]);
    for (uint32_t i = 0; stretch != NULL && i < stretch->stream_count; i++) {
        if (!is_ready(engine, index, &stretch->meetings[i])) {
            return NULL;
        }
    }
    return stretch;
}

/* ---- while it is under way ------------------------------------------------------------------ */

/* The stretch under way of an actor; `cursor` and `last` as tasks of its block. */
struct under_way {
    struct actor *actor;
    const struct stretch_block *in;
    uint32_t block_first; /* of the program's tasks */
    uint32_t last;
};

static struct under_way under_way(const struct engine *engine, uint32_t index)
{
    struct actor *actor = &engine->actors[index];
    const uint32_t place = actor->block[COMPUTE];
    const uint32_t block_first = actor->program->firsts[place][COMPUTE];
    return (struct under_way){
        .actor = actor,
        .in = block_at(engine, index, place),
        .block_first = block_first,
        .last = actor->ended[COMPUTE] + actor->stretch->tasks - 1 - block_first,
    };
}

static uint32_t cursor_of(const struct under_way *going)
{
    return going->actor->cursor - going->block_first;
}

/* The task at the cursor at today's rates. */
static struct pass pass_now(const struct engine *engine, const struct under_way *going)
{
    return pass_of(engine, going->in, cursor_of(going), going->actor->begun,
                   going->actor->interference);
}

sim_time engine_stretch_end(struct engine *engine, uint32_t index)
{
    struct actor *actor = &engine->actors[index];
    if (!actor->is_disturbed && actor->interference == 0) {
        return actor->compute_start + actor->stretch->takes_ns;
    }
    const struct under_way going = under_way(engine, index);
    struct pass pass = pass_now(engine, &going);
    if (actor->remaining > 0) {
        actor->work_end = work_end(&pass, actor->updated, actor->remaining);
    }
    sim_time time = later(actor->work_end, pass.beside_end);
    for (uint32_t i = cursor_of(&going) + 1; i <= going.last; i++) {
        time += between(going.in, i)->takes_ns;
        pass = pass_of(engine, going.in, i, time, actor->interference);
        const int64_t work = going.in->block->tasks[COMPUTE][i].work_ns * ENGINE_FULL_SPEED;
        time = later(work_end(&pass, time, work), pass.beside_end);
    }
    return time;
}

/* The task at the cursor is over: books it, and goes to the next. */
static void pass_on(struct engine *engine, uint32_t index, const struct under_way *going,
                    const struct pass *pass)
{
    struct actor *actor = going->actor;
    int64_t *books = engine->causes[index];
    book_pass(engine, going->in, cursor_of(going), pass, actor->work_end, books);
    const sim_time end = later(actor->work_end, pass->beside_end);
    actor->cursor++;
    const uint32_t next = cursor_of(going);
    if (next > going->last) {
        return;
    }
    actor->begun = end + book_between(engine, going->in, next, books);
    actor->work_end = actor->begun;
    actor->updated = actor->begun;
    actor->remaining = going->in->block->tasks[COMPUTE][next].work_ns * ENGINE_FULL_SPEED;
}

void engine_stretch_seek(struct engine *engine, uint32_t index)
{
    const struct under_way going = under_way(engine, index);
    struct actor *actor = going.actor;
    const sim_time now = event_now(engine->queue);
    actor->is_disturbed = true;
    for (;;) {
        const struct pass pass = pass_now(engine, &going);
        if (actor->remaining > 0) {
            actor->work_end = work_end(&pass, actor->updated, actor->remaining);
        }
        const uint32_t cursor = cursor_of(&going);
        const bool is_last = cursor == going.last;
        const sim_time over = later(actor->work_end, pass.beside_end) +
                              (is_last ? 0 : between(going.in, cursor + 1)->takes_ns);
        if (over > now || is_last) {
            actor->remaining =
                actor->work_end > now ? work_left(&pass, actor->updated, now, actor->remaining) : 0;
            actor->updated = now;
            return;
        }
        pass_on(engine, index, &going, &pass);
    }
}

/* ---- when it ends --------------------------------------------------------------------------- */

static void book_rest(struct engine *engine, uint32_t index)
{
    const struct under_way going = under_way(engine, index);
    struct actor *actor = going.actor;
    while (cursor_of(&going) <= going.last) {
        const struct pass pass = pass_now(engine, &going);
        if (actor->remaining > 0) {
            actor->work_end = work_end(&pass, actor->updated, actor->remaining);
        }
        pass_on(engine, index, &going, &pass);
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
