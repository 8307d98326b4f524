/* Cycles that come again: microbatch after microbatch does the same, so what happened in one need
 * not be simulated a hundred times.
 *
 * A look, at the end of an instant, writes down the state: all that decides the future but for the
 * places in the programs, with times relative to now. When it is that of an earlier look, and
 *
 *   - a stream that ended d tasks in between finds next, and d tasks later, and so on, the same
 *     tasks as d tasks before, whose waits count as many more of each stream as that ended, and
 *   - a stream that ended none goes on waiting, for something that is not reached in that time,
 *
 * then the engine, which sees nothing else, does the same again, as often as that holds: by
 * induction over the events. So clock, pending events and all absolute times move on by so many
 * cycles, and counts, bytes and books grow by so many times what they grew in one. What happens
 * at one instant commutes (engine.h), hence pending events are compared as a set.
 *
 * Whether tasks are those of before is seen by the blocks in which they lie (engine_program.h): the
 * same block at both places, before which as many more tasks of each stream lie as were ended,
 * holds the same tasks with waits that count as many more. Where rows of blocks do not say it, each
 * task is looked at.
 *
 * Looks are taken when actor 0 has ended another period of stream 0: the smallest in the middle
 * half of its program, of blocks or else of tasks, found as Knuth, Morris and Pratt do ("Fast
 * pattern matching in strings", SIAM J. Comput. 6 (1977), section 2). It only says when to look;
 * what repeats is checked. Some earlier states are kept, for a cycle may last several periods.
 * After looks in vain, there are fewer.
 *
 * Cost: a look is linear in what is simulated (actors, channels, flows under way, pending events),
 * about as much as a few events of each.
 */
#include "des/record/engine_record.h"
#include "des/engine_state.h"

#include "base/arena.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEPT = 4,           /* periods that a cycle may last */
    PERIODS_MIN = 2,    /* in the middle half */
    LOOKS_IN_VAIN = 16, /* after which every second period is enough; then every fourth, ... */
    TIMES_MAX = 1 << 20
};

struct words {
    uint64_t *items;
    size_t count, capacity;
};

/* The state at a look, and what has been counted up to it. */
struct kept {
    sim_time now;
    struct words state;
    struct actor *actors;
    struct stream_ledger *ledgers; /* theirs */
    struct channel *channels;
    struct engine_traffic *traffic;
    int64_t (*causes)[ENGINE_CAUSES_MAX];
    struct fluid_counts *fluid;
    struct late base; /* engine_late_base */
    uint64_t events, tasks;
};

struct engine_repeat {
    struct arena *arena;
    uint32_t period; /* of stream 0 of actor 0: blocks, or tasks */
    bool has_blocks; /* it is blocks */
    uint32_t seen;   /* periods ended at the last look */
    struct words state;
    struct event *pending; /* scratch */
    size_t pending_capacity;
    sim_time *flights; /* scratch: of one channel */
    struct kept kept[KEPT];
    uint32_t kept_count; /* since the start or the last jump */
};

/* ---- when to look ------------------------------------------------------------------------- */

/* But for how many tasks of other streams it waits for. */
static bool is_same_task(const struct task *a, const struct task *b)
{
    return a->kind == b->kind && a->cause == b->cause && a->wait_count == b->wait_count &&
           a->launch_ns == b->launch_ns && a->transfer == b->transfer && a->work_ns == b->work_ns &&
           memcmp(a->wait_stream, b->wait_stream, a->wait_count) == 0;
}

/* Blocks are the same if they are one, tasks if they look it, too. */
static bool is_same(const void *a, const void *b, bool are_tasks)
{
    return a == b || (are_tasks && is_same_task(a, b));
}

/* The smallest p with items[i] the same as items[i - p] for all i from p on. */
static uint32_t smallest_period(struct arena *scratch, const void *const *items, uint32_t count,
                                bool are_tasks)
{
    uint32_t *border = arena_room(scratch, count, sizeof *border); /* of the first i + 1 */
    border[0] = 0;
    for (uint32_t i = 1, length = 0; i < count; i++) {
        while (length > 0 && !is_same(items[i], items[length], are_tasks)) {
            length = border[length - 1];
        }
        length += is_same(items[i], items[length], are_tasks) ? 1 : 0;
        border[i] = length;
    }
    return count - border[count - 1];
}

/* The smallest period of the items in the middle half; 0 if they do not repeat. */
static uint32_t middle_period(struct arena *scratch, const void *const *items, uint32_t count,
                              bool are_tasks)
{
    const uint32_t half = count / 2;
    if (half < PERIODS_MIN) {
        return 0;
    }
    const uint32_t period = smallest_period(scratch, items + count / 4, half, are_tasks);
    return period <= half / PERIODS_MIN ? period : 0;
}

static const void *const *list_tasks(struct arena *scratch, const struct engine_program *program)
{
    const void **tasks = arena_room(scratch, program->counts[COMPUTE], sizeof *tasks);
    for (struct engine_walk walk = engine_walk_of(program, COMPUTE); walk.task != NULL;
         engine_walk_next(&walk)) {
        tasks[walk.index] = walk.task;
    }
    return tasks;
}

static const void *const *list_blocks(struct arena *scratch, const struct engine_program *program)
{
    const void **blocks = arena_room(scratch, program->block_count, sizeof *blocks);
    for (uint32_t b = 0; b < program->block_count; b++) {
        blocks[b] = program->blocks[b];
    }
    return blocks;
}

static void find_period(const struct engine_program *program, struct engine_repeat *repeat)
{
    struct arena *scratch = arena_new();
    repeat->period =
        middle_period(scratch, list_blocks(scratch, program), program->block_count, false);
    repeat->has_blocks = repeat->period > 0;
    if (repeat->period == 0) {
        repeat->period =
            middle_period(scratch, list_tasks(scratch, program), program->counts[COMPUTE], true);
    }
    arena_free(scratch);
}

/* Jobs that share links, or steps that are told apart, are simulated whole. */
static bool can_repeat(const struct engine *engine)
{
    const struct engine_system *system = engine->system;
    bool has_steps = false;
    for (uint32_t i = 0; i < system->program_count; i++) {
        has_steps = has_steps || system->programs[i].step_tasks != 0;
    }
    return engine->options.on_task == NULL && !engine->options.each_cycle &&
           system->job_count == 1 && !has_steps && system->actor_count > 0;
}

struct engine_repeat *engine_repeat_new(struct arena *arena, const struct engine *engine)
{
    if (!can_repeat(engine)) {
        return NULL;
    }
    struct engine_repeat *repeat = arena_alloc(arena, sizeof *repeat);
    find_period(engine->actors[0].program, repeat);
    if (repeat->period == 0) {
        return NULL;
    }
    uint32_t room = 1;
    for (uint32_t i = 0; i < engine->system->channel_count; i++) {
        const uint32_t flights = engine->channels[i].flight_mask + 1;
        room = flights > room ? flights : room;
    }
    repeat->arena = arena;
    repeat->flights = arena_array(arena, room, sizeof *repeat->flights);
    return repeat;
}

/* ---- the state ---------------------------------------------------------------------------- */

static void reserve(struct engine_repeat *repeat, struct words *words, size_t more)
{
    words->items = arena_grow(repeat->arena, words->items, &words->capacity, words->count + more,
                              sizeof *words->items);
}

static void put(struct words *words, uint64_t value)
{
    debug_assert(words->count < words->capacity);
    words->items[words->count++] = value;
}

static void put_stretch(const struct actor *actor, sim_time now, struct words *out)
{
    put(out, (uint64_t)actor->stretch->tasks << 32 | actor->stretch->together << 1 |
                 actor->is_disturbed);
    put(out, actor->cursor - actor->ended[COMPUTE]);
    put(out, (uint64_t)(now - actor->begun));
    put(out, (uint64_t)(now - actor->updated));
    put(out, (uint64_t)actor->remaining);
    put(out, actor->remaining > 0 ? 0 : (uint64_t)(now - actor->work_end));
}

static void put_compute(const struct actor *actor, sim_time now, struct words *out)
{
    put(out, (uint64_t)(now - actor->compute_start));
    put(out, actor->stretch != NULL);
    if (actor->stretch != NULL) {
        put_stretch(actor, now, out);
        return;
    }
    put(out, actor->rate);
    put(out, (uint64_t)(actor->remaining - (now - actor->updated) * (int64_t)actor->rate));
}

/* Stream 0 waits: for what, since when, and what its partners were waited for since. */
static void put_wait(const struct actor *actor, sim_time now, struct words *out)
{
    const struct task *task = engine_task_at(actor, COMPUTE);
    put(out, actor->pending);
    put(out, (uint64_t)(now - actor->blocked_since));
    for (uint32_t i = 0; i < task->wait_count; i++) {
        const struct stream_ledger *ledger = engine_ledger(actor, task->wait_stream[i]);
        put(out, (uint64_t)(ledger->waited_ns - actor->waited_before[i]));
    }
}

enum { ACTOR_WORDS = 2 + 8 + 2 + ENGINE_WAITS_MAX + ENGINE_STREAMS_MAX + LATE_ACTOR_WORDS };

static void put_actor(const struct engine *engine, const struct actor *actor, struct words *out)
{
    const sim_time now = event_now(engine->queue);
    put(out, (uint64_t)actor->busy << 32 | actor->blocked);
    put(out, actor->interference);
    if (engine_is_busy(actor, COMPUTE)) {
        put_compute(actor, now, out);
    }
    if ((actor->blocked & 1u) != 0) {
        put_wait(actor, now, out);
    }
    for (uint32_t s = 1; s < engine->system->stream_count; s++) {
        if (engine_is_busy(actor, s)) {
            put(out, (uint64_t)(now - engine_ledger(actor, s)->arrived));
        }
    }
}

enum { CHANNEL_WORDS = 6 + ENGINE_LATES_MAX }; /* and, of a message on the way, */
enum { FLIGHT_WORDS = 1 + ENGINE_LATES_MAX };

static void put_channel(const struct engine *engine, const struct channel *channel,
                        struct words *out)
{
    const sim_time now = event_now(engine->queue);
    put(out, (uint64_t)channel->is_moving | (uint64_t)channel->has_receiver << 1 |
                 (uint64_t)channel->arrived << 2);
    put(out, channel->delivered - channel->received);
    put(out, channel->sent - channel->delivered);
    for (uint32_t i = channel->delivered; i != channel->sent; i++) {
        put(out, (uint64_t)(now - *engine_flight(engine, channel, i)));
    }
    if (channel->is_moving) {
        put(out, channel->phase);
        put(out, (uint64_t)(now - channel->started));
    }
}

static int compare_events(const void *left, const void *right)
{
    const struct event *a = left;
    const struct event *b = right;
    if (a->time != b->time) {
        return a->time < b->time ? -1 : 1;
    }
    if (a->target != b->target) {
        return a->target < b->target ? -1 : 1;
    }
    return (a->stamp > b->stamp) - (a->stamp < b->stamp);
}

/* Versions count events of one owner: only how old one is decides. */
static uint32_t age_of(const struct engine *engine, const struct event *event)
{
    const uint32_t kind = event->stamp & 0xff;
    const uint32_t newest = kind == EVENT_COMPUTE_END ? engine->actors[event->target].version
                            : kind == EVENT_FLUID     ? fluid_posted_version(engine->fluid)
                                                      : 0;
    return ((event->stamp >> 8) - newest) & 0xffffff;
}

static void put_events(const struct engine *engine, struct words *out)
{
    struct engine_repeat *repeat = engine->repeat;
    const size_t count = event_pending(engine->queue);
    repeat->pending = arena_grow(repeat->arena, repeat->pending, &repeat->pending_capacity, count,
                                 sizeof *repeat->pending);
    event_list(engine->queue, repeat->pending);
    for (size_t i = 0; i < count; i++) {
        struct event *event = &repeat->pending[i];
        event->stamp = age_of(engine, event) << 8 | (event->stamp & 0xff);
        event->time -= event_now(engine->queue);
    }
    qsort(repeat->pending, count, sizeof *repeat->pending, compare_events);
    reserve(repeat, out, 2 * count);
    for (size_t i = 0; i < count; i++) {
        put(out, (uint64_t)repeat->pending[i].time);
        put(out, (uint64_t)repeat->pending[i].target << 32 | repeat->pending[i].stamp);
    }
}

static void put_state(const struct engine *engine, struct words *out)
{
    const struct engine_system *system = engine->system;
    out->count = 0;
    for (uint32_t i = 0; i < system->actor_count; i++) {
        reserve(engine->repeat, out, ACTOR_WORDS);
        put_actor(engine, &engine->actors[i], out);
        out->count += engine_late_of_actor(engine, i, out->items + out->count);
    }
    for (uint32_t i = 0; i < system->channel_count; i++) {
        const struct channel *channel = &engine->channels[i];
        reserve(engine->repeat, out,
                CHANNEL_WORDS + FLIGHT_WORDS * ((size_t)channel->flight_mask + 1));
        put_channel(engine, channel, out);
        out->count += engine_late_of_channel(engine, i, out->items + out->count);
    }
    reserve(engine->repeat, out, fluid_state_words(engine->fluid));
    out->count += fluid_state(engine->fluid, out->items + out->count);
    put_events(engine, out);
}

static bool is_same_state(const struct words *a, const struct words *b)
{
    return a->count == b->count && memcmp(a->items, b->items, a->count * sizeof *a->items) == 0;
}

/* ---- what is kept ------------------------------------------------------------------------- */

static void *copy(struct arena *arena, void *into, const void *from, size_t count, size_t size)
{
    into = into != NULL ? into : arena_array(arena, count + 1, size);
    if (count > 0) {
        memcpy(into, from, count * size);
    }
    return into;
}

/* The state at hand, which is exchanged for the one that it replaces. */
static void keep(struct engine *engine)
{
    const struct engine_system *system = engine->system;
    struct engine_repeat *repeat = engine->repeat;
    struct kept *kept = &repeat->kept[repeat->kept_count++ % KEPT];
    const struct words unused = kept->state;
    kept->state = repeat->state;
    repeat->state = unused;
    kept->now = event_now(engine->queue);
    const size_t actors = system->actor_count;
    const size_t channels = system->channel_count;
    struct arena *arena = repeat->arena;
    kept->actors = copy(arena, kept->actors, engine->actors, actors, sizeof *kept->actors);
    kept->ledgers =
        copy(arena, kept->ledgers, engine->ledgers, engine->ledger_count, sizeof *kept->ledgers);
    for (size_t i = 0; i < actors; i++) {
        kept->actors[i].ledgers = kept->ledgers + (engine->actors[i].ledgers - engine->ledgers);
    }
    kept->channels =
        copy(arena, kept->channels, engine->channels, channels, sizeof *kept->channels);
    kept->traffic = copy(arena, kept->traffic, engine->traffic, channels, sizeof *kept->traffic);
    kept->causes = copy(arena, kept->causes, engine->causes, actors, sizeof *kept->causes);
    kept->fluid = kept->fluid != NULL ? kept->fluid : fluid_counts_new(arena, engine->fluid);
    fluid_count(engine->fluid, kept->fluid);
    kept->base = engine_late_base(engine);
    kept->events = engine->events;
    kept->tasks = engine->tasks;
}

/* ---- how often it comes again --------------------------------------------------------------- */

/* Its waits count as many more tasks as were ended of each stream. */
static bool waits_moved(const struct actor *actor, const struct actor *before,
                        const struct engine_walk *walk, const struct engine_walk *model)
{
    for (uint32_t i = 0; i < walk->task->wait_count; i++) {
        const uint32_t s = walk->task->wait_stream[i];
        if (engine_walk_wait(walk, i) - engine_walk_wait(model, i) !=
            actor->ended[s] - before->ended[s]) {
            return false;
        }
    }
    return true;
}

/* Tasks of stream 0 that will have ended after so many cycles more. */
static uint32_t ended_after(const struct actor *actor, const struct actor *before, uint32_t times)
{
    return actor->ended[COMPUTE] + times * (actor->ended[COMPUTE] - before->ended[COMPUTE]);
}

/* The tasks of a stream that are under way, or looked at next. */
static uint32_t under_way(const struct actor *actor, uint32_t stream)
{
    if (!engine_is_busy(actor, COMPUTE) || actor->stretch == NULL) {
        return 1;
    }
    if (stream == COMPUTE) {
        return actor->stretch->tasks;
    }
    for (uint32_t i = 0; i < actor->stretch->stream_count; i++) {
        if (actor->stretch->meetings[i].stream == stream) {
            return actor->stretch->meetings[i].count;
        }
    }
    return 1;
}

/* The first block that is not that of as many blocks before as stream 0 came on. In all before it,
 * from the first on in which a moving stream has tasks left, tasks are those of the cycle before,
 * and their waits have moved; 0: that cannot be seen by blocks. */
static uint32_t alike_until(const struct actor *actor, const struct actor *before, uint32_t streams)
{
    const struct engine_program *program = actor->program;
    const uint32_t cycle = actor->block[COMPUTE] - before->block[COMPUTE];
    uint32_t block = actor->block[COMPUTE];
    for (uint32_t s = 0; s < streams; s++) {
        if (actor->ended[s] != before->ended[s] && actor->block[s] < block) {
            block = actor->block[s];
        }
    }
    if (cycle == 0 || block < cycle) {
        return 0;
    }
    for (uint32_t s = 0; s < streams; s++) {
        if (program->firsts[block][s] - program->firsts[block - cycle][s] !=
            actor->ended[s] - before->ended[s]) {
            return 0;
        }
    }
    while (block < program->block_count &&
           program->blocks[block] == program->blocks[block - cycle]) {
        block++;
    }
    return block;
}

/* Whether what is left of a block is that of a cycle before, with waits that have moved as far: the
 * block is the same, and as many more tasks of each stream lie before it as were ended. Of the
 * walk's own stream that says that both are as far in it, for they are a cycle apart. */
static bool is_rest_alike(const struct actor *actor, const struct actor *before,
                          const struct engine_walk *walk, const struct engine_walk *model)
{
    const struct engine_program *program = actor->program;
    if (program->blocks[walk->block] != program->blocks[model->block]) {
        return false;
    }
    const uint32_t *first = program->firsts[walk->block];
    const uint32_t *model_first = program->firsts[model->block];
    for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
        if (first[s] - model_first[s] != actor->ended[s] - before->ended[s]) {
            return false;
        }
    }
    sim_assert(walk->index - first[walk->stream] == model->index - model_first[walk->stream]);
    return true;
}

/* How many of a stream's tasks are those of a cycle before, up to `wanted`; `alike` as above. Tasks
 * that are alike may lie in different blocks, and those after them in the same ones again. */
static uint64_t count_alike(const struct actor *actor, const struct actor *before, uint32_t stream,
                            uint32_t alike, uint64_t wanted)
{
    const struct engine_program *program = actor->program;
    const uint32_t ended = actor->ended[stream];
    uint64_t good = 0;
    if (alike > 0 && program->firsts[alike][stream] > ended) {
        good = program->firsts[alike][stream] - ended;
    }
    if (good >= wanted) {
        return wanted;
    }
    const uint32_t next = ended + (uint32_t)good;
    const uint32_t cycle = ended - before->ended[stream];
    struct engine_walk walk = engine_walk_from(program, stream, next);
    struct engine_walk model = engine_walk_from(program, stream, next - cycle);
    while (walk.task != NULL && good < wanted) {
        uint32_t count = 1;
        if (is_rest_alike(actor, before, &walk, &model)) {
            count = program->firsts[walk.block + 1][stream] - walk.index;
        } else if (!is_same_task(walk.task, model.task) ||
                   !waits_moved(actor, before, &walk, &model)) {
            break;
        }
        good += count;
        engine_walk_pass(&walk, count);
        engine_walk_pass(&model, count);
    }
    return good < wanted ? good : wanted;
}

/* A stream that ended tasks. Those under way or looked at next, when all is over, are among those
 * that have to be the same. */
static uint32_t times_of_moving(const struct actor *actor, const struct actor *before,
                                uint32_t stream, uint32_t alike, uint32_t most)
{
    const uint32_t last = under_way(actor, stream);
    const uint32_t cycle = actor->ended[stream] - before->ended[stream];
    const uint64_t wanted = (uint64_t)most * cycle + last;
    const uint64_t good = count_alike(actor, before, stream, alike, wanted);
    return good < last ? 0 : (uint32_t)((good - last) / cycle);
}

/* A stream that ended none: as long as one of its waits stays unmet. Of stream 0, whose books say
 * for whom it waits, all waits have to stay as they are. */
static uint32_t times_of_still(const struct actor *actor, const struct actor *before,
                               uint32_t stream, uint32_t most)
{
    const struct task *task = engine_task_at(actor, stream);
    if (task == NULL) {
        return most;
    }
    uint32_t longest = 0;
    for (uint32_t i = 0; i < task->wait_count; i++) {
        const uint32_t s = task->wait_stream[i];
        const uint32_t cycle = actor->ended[s] - before->ended[s];
        if (stream == COMPUTE && cycle != 0) {
            return 0;
        }
        const uint32_t ended = engine_wait_at(actor, stream, task, i);
        if (ended > actor->ended[s]) {
            const uint32_t times = cycle == 0 ? most : (ended - actor->ended[s] - 1) / cycle;
            longest = times > longest ? times : longest;
        }
    }
    return longest < most ? longest : most;
}

/* The stretch under way after so many cycles is like that of now: not cut short by somebody who
 * waits for a part of it. */
static bool stretches_hold(const struct engine *engine, const struct kept *kept, uint32_t times)
{
    for (uint32_t i = 0; i < engine->system->actor_count; i++) {
        const struct actor *actor = &engine->actors[i];
        if (engine_is_busy(actor, COMPUTE) && actor->stretch != NULL) {
            const struct stretch *then =
                engine_stretch_like(engine, i, ended_after(actor, &kept->actors[i], times));
            if (then == NULL || then->tasks != actor->stretch->tasks) {
                return false;
            }
        }
    }
    return true;
}

static uint32_t times_of(const struct engine *engine, const struct kept *kept, uint32_t most)
{
    for (uint32_t i = 0; i < engine->system->actor_count; i++) {
        const struct actor *actor = &engine->actors[i];
        const struct actor *before = &kept->actors[i];
        const uint32_t alike = alike_until(actor, before, engine->system->stream_count);
        for (uint32_t s = 0; s < engine->system->stream_count && most > 0; s++) {
            const uint32_t times = actor->ended[s] != before->ended[s]
                                       ? times_of_moving(actor, before, s, alike, most)
                                       : times_of_still(actor, before, s, most);
            most = times < most ? times : most;
        }
    }
    while (most > 0 && !stretches_hold(engine, kept, most)) {
        most--;
    }
    return most;
}

/* ---- moving over --------------------------------------------------------------------------- */

static void move_actor(struct actor *actor, const struct actor *before, uint32_t streams,
                       uint32_t times, sim_time shift)
{
    const struct task *task = engine_task_at(actor, COMPUTE);
    for (uint32_t i = 0; (actor->blocked & 1u) != 0 && i < task->wait_count; i++) {
        const uint32_t s = task->wait_stream[i];
        actor->waited_before[i] +=
            times * (engine_ledger(actor, s)->waited_ns - engine_ledger(before, s)->waited_ns);
    }
    for (uint32_t s = 0; s < streams; s++) {
        struct stream_ledger *ledger = engine_ledger(actor, s);
        ledger->waited_ns += times * (ledger->waited_ns - engine_ledger(before, s)->waited_ns);
        ledger->arrived += shift;
        engine_move_on(actor, s, times * (actor->ended[s] - before->ended[s]));
    }
    actor->updated += shift;
    actor->work_end += shift;
    actor->begun += shift;
    actor->compute_start += shift;
    actor->blocked_since += shift;
    actor->pending_time += shift;
}

static void move_channel(struct engine *engine, uint32_t number, const struct channel *before,
                         uint32_t times, sim_time shift)
{
    struct channel *channel = &engine->channels[number];
    sim_time *flights = engine->repeat->flights;
    const uint32_t on_the_way = channel->sent - channel->delivered;
    for (uint32_t i = 0; i < on_the_way; i++) {
        flights[i] = *engine_flight(engine, channel, channel->delivered + i) + shift;
    }
    channel->delivered += times * (channel->delivered - before->delivered);
    channel->received += times * (channel->received - before->received);
    channel->sent += times * (channel->sent - before->sent);
    channel->bytes_total += times * (channel->bytes_total - before->bytes_total);
    channel->bytes_received += times * (channel->bytes_received - before->bytes_received);
    channel->started += shift;
    sim_assert(channel->sent - channel->delivered == on_the_way);
    for (uint32_t i = 0; i < on_the_way; i++) {
        *engine_flight(engine, channel, channel->delivered + i) = flights[i];
    }
}

static void move_traffic(struct engine_traffic *traffic, const struct engine_traffic *before,
                         uint32_t times)
{
    traffic->transfers += times * (traffic->transfers - before->transfers);
    traffic->moving_ns += times * (traffic->moving_ns - before->moving_ns);
    traffic->alone_ns += times * (traffic->alone_ns - before->alone_ns);
}

static void move_on(struct engine *engine, const struct kept *kept, uint32_t times)
{
    const struct engine_system *system = engine->system;
    const sim_time shift = (event_now(engine->queue) - kept->now) * times;
    if (engine->options.record != NULL) {
        const struct engine_turns turns = {kept->now, event_now(engine->queue) - kept->now, times};
        engine_record_jump(engine->options.record, &turns, kept->actors);
    }
    engine_late_move_on(
        engine, &(struct late_turn){kept->base, kept->actors, kept->channels, times, shift});
    for (uint32_t i = 0; i < system->actor_count; i++) {
        struct actor *actor = &engine->actors[i];
        const uint32_t moved = ended_after(actor, &kept->actors[i], times) - actor->ended[COMPUTE];
        if (engine_is_busy(actor, COMPUTE) && actor->stretch != NULL) {
            actor->stretch = engine_stretch_like(engine, i, actor->ended[COMPUTE] + moved);
            actor->cursor += moved;
        }
        move_actor(actor, &kept->actors[i], system->stream_count, times, shift);
        for (uint32_t c = 0; c < system->cause_count; c++) {
            engine->causes[i][c] += times * (engine->causes[i][c] - kept->causes[i][c]);
        }
    }
    for (uint32_t i = 0; i < system->channel_count; i++) {
        move_channel(engine, i, &kept->channels[i], times, shift);
        move_traffic(&engine->traffic[i], &kept->traffic[i], times);
    }
    engine->jobs[0].end += shift;
    engine->tasks_repeated += times * (engine->tasks - kept->tasks);
    engine->tasks += times * (engine->tasks - kept->tasks);
    engine->events += times * (engine->events - kept->events);
    fluid_move_on(engine->fluid, kept->fluid, times, shift);
    event_move_on(engine->queue, shift, engine->repeat->pending);
}

/* ---- the look ------------------------------------------------------------------------------- */

static uint32_t periods_ended(const struct engine *engine)
{
    const struct actor *first = &engine->actors[0];
    const struct engine_repeat *repeat = engine->repeat;
    return (repeat->has_blocks ? first->block[COMPUTE] : first->ended[COMPUTE]) / repeat->period;
}

/* Whether a look is due after so many periods: of systems whose state does not come again, ever
 * fewer are. */
static bool is_due(const struct engine_repeat *repeat, uint32_t periods)
{
    const uint32_t rare = repeat->kept_count / LOOKS_IN_VAIN;
    return periods != repeat->seen && (periods & ((1u << (rare < 16 ? rare : 16)) - 1)) == 0;
}

/* The last state that is this one and comes again, with how often; NULL: none. */
static const struct kept *find(const struct engine *engine, uint32_t *times)
{
    const struct engine_repeat *repeat = engine->repeat;
    for (uint32_t i = 0; i < KEPT && i < repeat->kept_count; i++) {
        const struct kept *kept = &repeat->kept[(repeat->kept_count - 1 - i) % KEPT];
        if (is_same_state(&kept->state, &repeat->state) && times_of(engine, kept, 1) > 0) {
            *times = times_of(engine, kept, TIMES_MAX);
            return kept;
        }
    }
    return NULL;
}

void engine_repeat_look(struct engine *engine)
{
    struct engine_repeat *repeat = engine->repeat;
    const uint32_t periods = periods_ended(engine);
    if (!is_due(repeat, periods)) {
        return;
    }
    const sim_time next = event_next_time(engine->queue);
    if (next == event_now(engine->queue) || next == SIM_TIME_MAX) {
        return;
    }
    repeat->seen = periods;
    put_state(engine, &repeat->state);
    uint32_t times;
    const struct kept *kept = find(engine, &times);
    if (kept == NULL) {
        keep(engine);
        return;
    }
    move_on(engine, kept, times);
    repeat->kept_count = 0;
    repeat->seen = periods_ended(engine);
}
