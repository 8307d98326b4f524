/* Stretches (coalesced events): what an actor does by itself takes one event.
 *
 * Under tensor parallelism a layer is work, collective, work, collective: stream 0 waits for each,
 * and nobody else takes notice of either. If those who meet are actors that do the same at the same
 * time, none waits for another; if nobody else can slow their transfers down (engine_flows.c), a
 * collective takes as long whatever else is under way. Then the end of it all is known when it
 * begins.
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
 * passes is booked, and the rest ends later or earlier: by sums over the tasks of a block, kept for
 * each interference (engine_stretch_sums.c). Every task is rounded to the nanosecond by itself, as
 * where each is simulated.
 *
 * Stretches are found when an actor comes to one (engine_stretch_find.c), and kept, by the block
 * and the place in it, in a table for all actors of its speed and kind of channels. Those who meet
 * and are not of one class go together (engine_together.c).
 *
 * Cost: O(1) for a stretch that was met before and for a new rate, O(its tasks) for a new one and
 * for the tasks that a cursor passes, O(tasks of its block) for an interference not met before.
 */
#include "des/record/engine_record.h"
#include "des/engine_stretch_state.h"

#include "base/arena.h"
#include "base/check.h"

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

/* Those who meet are of one class, and nobody else can slow their transfers down. */
static bool is_own(const struct engine *engine, uint32_t number)
{
    const struct engine_channel *channel = &engine->system->channels[number];
    return channel->kind == CHANNEL_COLLECTIVE && is_of_one_class(engine->system, channel) &&
           engine_stretch_is_direct(engine, channel) && engine_late_passes_through(engine, number);
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

/* What a direct path's bytes flow at, at most. */
static int64_t rate_of(const struct engine *engine, uint32_t path)
{
    const int64_t cap = engine->system->paths[path].cap_bytes_per_s;
    const int64_t limit = engine->limits[engine->paths[path].flow];
    sim_assert(engine->paths[path].is_direct);
    return cap < limit ? cap : limit;
}

bool engine_stretch_is_like(const struct engine *engine, uint32_t a, uint32_t b)
{
    const struct engine_system *system = engine->system;
    const struct engine_channel *left = &system->channels[a];
    const struct engine_channel *right = &system->channels[b];
    if (left->latency_ns != right->latency_ns || left->path_count != right->path_count) {
        return false;
    }
    for (uint32_t i = 0; i < left->path_count; i++) {
        const uint32_t mine = left->path_first + i;
        const uint32_t other = right->path_first + i;
        if (system->paths[mine].cap_bytes_per_s != system->paths[other].cap_bytes_per_s ||
            rate_of(engine, mine) != rate_of(engine, other)) {
            return false;
        }
    }
    return true;
}

static bool is_like_channel(const struct engine *engine, uint32_t a, uint32_t b)
{
    const bool *own = engine->stretches->is_own;
    if (a == ENGINE_NONE || b == ENGINE_NONE || !own[a] || !own[b]) {
        return (a != ENGINE_NONE && own[a]) == (b != ENGINE_NONE && own[b]);
    }
    return engine_stretch_is_like(engine, a, b);
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

/* Streams, as bits, in which an actor meets others in stretches by itself. */
static uint32_t own_streams(const struct engine *engine, uint32_t index)
{
    const struct engine_actor *actor = &engine->system->actors[index];
    uint32_t streams = 0;
    for (uint32_t s = 1; s < engine->system->stream_count; s++) {
        if (actor->channels[s] != ENGINE_NONE && engine->stretches->is_own[actor->channels[s]]) {
            streams |= 1u << s;
        }
    }
    return streams;
}

struct stretch_table *engine_stretch_add_table(struct engine_stretches *stretches, uint32_t example,
                                               uint32_t parts)
{
    stretches->tables = arena_grow(stretches->arena, stretches->tables, &stretches->table_capacity,
                                   stretches->table_count + 1, sizeof *stretches->tables);
    struct stretch_table *table = arena_alloc(stretches->arena, sizeof *table);
    stretches->tables[stretches->table_count++] = table;
    table->example = example;
    table->parts = parts;
    table->blocks = arena_array(stretches->arena, stretches->blocks.count, sizeof *table->blocks);
    table->known = engine_known_table(stretches->known, parts, stretches->blocks.count);
    return table;
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
    struct stretch_table *table =
        engine_stretch_add_table(stretches, index, own_streams(engine, index));
    table->speed_count = 1;
    table->speeds = &engine->system->actors[index].speed;
    table->costs = arena_array(stretches->arena, (size_t)engine->system->transfer_count + 1,
                               sizeof *table->costs);
    return (uint32_t)stretches->table_count - 1;
}

/* By channel: what stretches its transfers can be parts of. The streams of these, as bits. */
static uint32_t sort_channels(struct engine *engine)
{
    const struct engine_system *system = engine->system;
    struct engine_stretches *stretches = engine->stretches;
    uint32_t streams = 0;
    for (uint32_t i = 0; i < system->channel_count; i++) {
        stretches->is_own[i] = is_own(engine, i);
        stretches->can_together[i] = !stretches->is_own[i] && engine_together_can(engine, i);
        if (stretches->is_own[i] || stretches->can_together[i]) {
            streams |= 1u << system->members[system->channels[i].member_first].stream;
        }
    }
    return streams;
}

void engine_stretches_build(struct arena *arena, struct engine *engine)
{
    const struct engine_system *system = engine->system;
    struct engine_stretches *stretches = arena_alloc(arena, sizeof *stretches);
    engine->stretches = stretches;
    stretches->arena = arena;
    stretches->is_own = arena_array(arena, system->channel_count + 1u, sizeof *stretches->is_own);
    stretches->can_together =
        arena_array(arena, system->channel_count + 1u, sizeof *stretches->can_together);
    stretches->is_whole = arena_array(arena, system->program_count, sizeof *stretches->is_whole);
    for (uint32_t p = 0; p < system->program_count; p++) {
        stretches->is_whole[p] = has_whole_steps(&system->programs[p]);
    }
    const uint32_t streams = sort_channels(engine);
    if (streams == 0) {
        engine->stretches = NULL;
        return;
    }
    stretches->blocks = engine_blocks_of(arena, system->programs, system->program_count);
    struct known_programs *known = engine_known_find(arena, system, streams);
    if (known->facts == NULL) {
        known->facts = engine_waiters_count(known->arena, system, &stretches->blocks, streams);
    }
    stretches->known = known;
    stretches->facts = known->facts;
    stretches->table_of = arena_array(arena, system->actor_count, sizeof *stretches->table_of);
    for (uint32_t i = 0; i < system->actor_count; i++) {
        const bool has_any = stretches->is_whole[system->actors[i].program] &&
                             own_streams(engine, i) != 0 && engine_late_passes(engine, i);
        stretches->table_of[i] = has_any ? find_table(engine, i) : ENGINE_NONE;
    }
    engine_together_build(engine);
}

/* ---- when one begins ------------------------------------------------------------------------ */

/* The stretches of actors that go by themselves: those of a place of the program. */
static struct stretch_block *block_at(const struct engine *engine, uint32_t index, uint32_t place)
{
    const struct engine_stretches *stretches = engine->stretches;
    return engine_stretch_block(engine, stretches->tables[stretches->table_of[index]], index,
                                place);
}

const struct stretch *engine_stretch_like(const struct engine *engine, uint32_t index,
                                          uint32_t first)
{
    const struct engine_program *program = engine->actors[index].program;
    if (first >= program->counts[COMPUTE]) {
        return NULL;
    }
    const uint32_t place = engine_program_block(program, COMPUTE, first);
    const uint32_t number = first - program->firsts[place][COMPUTE];
    return engine->actors[index].stretch->together != 0
               ? engine_together_at(engine, index, place, number)
               : engine_stretch_found(engine, block_at(engine, index, place), number);
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
    if (engine->stretches == NULL || engine->stretches->table_of[index] == ENGINE_NONE) {
        return NULL;
    }
    const uint32_t place = actor->block[COMPUTE];
    const uint32_t number = actor->ended[COMPUTE] - actor->program->firsts[place][COMPUTE];
    const struct stretch *stretch =
        engine_stretch_found(engine, block_at(engine, index, place), number);
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
    struct stretch_block *in;
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
    const struct actor *actor = going->actor;
    struct pass pass = engine_pass_of(engine, going->in, cursor_of(going),
                                      going->in->table->speeds[0], actor->interference);
    engine_pass_begin(&pass, actor->begun, actor->begun);
    return pass;
}

/* What is between a task and the one before: what it takes. */
static sim_time takes_between(const struct under_way *going, uint32_t number)
{
    return engine_between(going->in, number)->takes_ns;
}

/* When the task at the cursor ends, at today's rates, with what is beside it. */
static sim_time end_of(struct actor *actor, const struct pass *pass)
{
    if (actor->remaining > 0) {
        actor->work_end = engine_pass_work_end(pass, actor->updated, actor->remaining);
    }
    return engine_later(actor->work_end, pass->beside_end);
}

sim_time engine_stretch_end(struct engine *engine, uint32_t index)
{
    struct actor *actor = &engine->actors[index];
    if (!actor->is_disturbed && actor->interference == 0) {
        return actor->compute_start + actor->stretch->takes_ns;
    }
    const struct under_way going = under_way(engine, index);
    const struct pass pass = pass_now(engine, &going);
    const sim_time end = end_of(actor, &pass);
    const uint32_t cursor = cursor_of(&going);
    if (cursor == going.last) {
        return end;
    }
    const struct stretch_sums *sums = engine_stretch_sums(engine, going.in, actor->interference);
    return end + sums->ends[going.last + 1] - sums->ends[cursor + 1];
}

static void book_task(struct engine *engine, uint32_t index, const struct pass *pass)
{
    if (engine->options.only_length) {
        return;
    }
    const sim_time end = engine->actors[index].work_end;
    engine_pass_book_work(engine, pass, end, engine->causes[index]);
    engine_pass_book_wait(engine, pass, end, engine->causes[index]);
}

/* The task that is under way at `now`, or what is between it and the next, or else the last; when
 * the task at the cursor, which is over, ended at `end`. */
static uint32_t find_task(const struct under_way *going, const struct stretch_sums *sums,
                          sim_time end, sim_time now)
{
    uint32_t number = cursor_of(going) + 1;
    const sim_time offset = end - sums->ends[number];
    while (number < going->last &&
           offset + sums->ends[number + 1] + takes_between(going, number + 1) <= now) {
        number++;
    }
    return number;
}

/* The task at the cursor has ended, and what is between it and the next: books what is over, and
 * moves the cursor. */
static void pass_on(struct engine *engine, uint32_t index, const struct under_way *going,
                    sim_time end)
{
    struct actor *actor = going->actor;
    int64_t *books = engine->causes[index];
    const struct stretch_sums *sums = engine_stretch_sums(engine, going->in, actor->interference);
    const uint32_t first = cursor_of(going) + 1;
    const uint32_t next = find_task(going, sums, end, event_now(engine->queue));
    if (!engine->options.only_length) {
        engine_stretch_book(sums, first, next, books);
    }
    const struct next_to *between = engine_between(going->in, next);
    if (between->stream != 0) {
        books[engine->system->streams[between->stream].exposed_cause] += between->takes_ns;
    }
    actor->cursor = going->block_first + next;
    actor->begun = end + sums->ends[next] - sums->ends[first] + between->takes_ns;
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
    struct pass pass = pass_now(engine, &going);
    const sim_time end = end_of(actor, &pass);
    const uint32_t cursor = cursor_of(&going);
    if (cursor != going.last && end + takes_between(&going, cursor + 1) <= now) {
        book_task(engine, index, &pass);
        pass_on(engine, index, &going, end);
        pass = pass_now(engine, &going);
        end_of(actor, &pass);
    }
    actor->remaining = actor->work_end > now
                           ? engine_pass_work_left(&pass, actor->updated, now, actor->remaining)
                           : 0;
    actor->updated = now;
}

/* ---- when it ends --------------------------------------------------------------------------- */

static void book_rest(struct engine *engine, uint32_t index)
{
    const struct under_way going = under_way(engine, index);
    const uint32_t cursor = cursor_of(&going);
    const struct pass pass = pass_now(engine, &going);
    end_of(going.actor, &pass);
    book_task(engine, index, &pass);
    if (cursor < going.last) {
        engine_stretch_book(engine_stretch_sums(engine, going.in, going.actor->interference),
                            cursor + 1, going.last + 1, engine->causes[index]);
    }
}

/* The stretch has ended. */
static void book_all(struct engine *engine, uint32_t index, const struct stretch *stretch)
{
    if (engine->actors[index].is_disturbed || engine->actors[index].interference != 0) {
        book_rest(engine, index);
        return;
    }
    for (uint32_t c = 0; c < engine->system->cause_count; c++) {
        engine->causes[index][c] += stretch->books[c];
    }
}

static void record_meetings(struct engine *engine, uint32_t index,
                            const struct stretch_meetings *meetings)
{
    const struct actor *actor = &engine->actors[index];
    const uint32_t first = actor->ended[meetings->stream];
    const struct engine_row row = {
        .start = actor->compute_start,
        .end = event_now(engine->queue),
        .first = first,
        .last = first + meetings->count - 1,
        .stretch = actor->stretch->together + 1,
    };
    engine_record_add(engine->options.record, index, meetings->stream, &row);
}

uint32_t engine_stretch_finish(struct engine *engine, uint32_t index)
{
    const struct engine_system *system = engine->system;
    struct actor *actor = &engine->actors[index];
    const struct stretch *stretch = actor->stretch;
    if (!engine->options.only_length) {
        book_all(engine, index, stretch);
    }
    if (engine->late != NULL) {
        engine_late_stretch(engine, index);
    }
    uint32_t streams = 0;
    for (uint32_t i = 0; i < stretch->stream_count; i++) {
        const struct stretch_meetings *meetings = &stretch->meetings[i];
        const uint32_t number = system->actors[index].channels[meetings->stream];
        if (engine->options.record != NULL) {
            record_meetings(engine, index, meetings);
        }
        engine_move_on(actor, meetings->stream, meetings->count);
        streams |= 1u << meetings->stream;
        engine->tasks += meetings->count;
        engine_ledger(actor, meetings->stream)->waited_ns += stretch->waited_ns;
        if (engine->options.only_length ||
            system->members[system->channels[number].member_first].actor != index) {
            continue; /* the first of them counts for all */
        }
        engine->traffic[number].transfers += meetings->count;
        engine->traffic[number].moving_ns += meetings->moving_ns;
        engine->traffic[number].alone_ns += meetings->alone_ns;
        engine->channels[number].bytes_total += meetings->bytes;
    }
    engine->tasks += stretch->tasks - 1;
    engine_move_on(actor, COMPUTE, stretch->tasks - 1);
    return streams;
}
