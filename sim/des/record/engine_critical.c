/* The walk looks at what a task waited for, three things at most, and at the members of the
 * collectives on the path: its cost is that of the path, not of the run. Each step goes to a task
 * that had to end before, so it comes to an end.
 *
 * Where a cycle came again (engine_record.h), so does the path, when it comes to the task at
 * which it was m turns later: what it saw in between, all of it in turns that are alike, it would
 * see m turns earlier, and again. Those legs are counted so many times more, as often as all that
 * they hang on began after the first of these turns did, and the walk goes on from there.
 */
#include "des/record/engine_critical.h"

#include "base/arena.h"
#include "des/record/engine_record_state.h"

/* ---- the walk ------------------------------------------------------------------------------- */

struct place {
    uint32_t actor, stream, index;
};

static struct engine_span at(struct engine_record *record, struct place place)
{
    return engine_record_span(record, place.actor, place.stream, place.index);
}

/* Whether a task ended then. Of a stretch the last of stream 0 ends with it, the others by then. */
static bool has_ended_at(struct engine_record *record, struct place place, sim_time time)
{
    const struct engine_row row = engine_record_row(record, place.actor, place.stream, place.index);
    if (row.stretch == 0 || row.end < time ||
        (place.stream == COMPUTE && place.index == row.last)) {
        return row.end == time;
    }
    return at(record, place).end == time;
}

/* The task of job 0 that ended last; of several, that of the lowest stream. */
static struct place last_of(struct engine_record *record)
{
    const struct engine_system *system = engine_record_system(record);
    struct place last = {0};
    sim_time end = -1;
    for (uint32_t s = 0; s < system->stream_count; s++) {
        for (uint32_t i = 0; i < system->actor_count; i++) {
            const uint32_t count = engine_record_program(record, i)->counts[s];
            if (count == 0 || system->actors[i].job != 0) {
                continue;
            }
            /* of collectives: of their stretch, as of its work, which is of a lower stream */
            const sim_time row_end = engine_record_row(record, i, s, count - 1).end;
            if (row_end > end) {
                last = (struct place){i, s, count - 1};
                end = row_end;
            }
        }
    }
    return last;
}

/* What a task waited for, by stream. */
struct awaited {
    struct place places[1 + ENGINE_WAITS_MAX];
    uint32_t count;
};

static void add_awaited(struct awaited *awaited, struct place place)
{
    uint32_t i = awaited->count++;
    while (i > 0 && awaited->places[i - 1].stream > place.stream) {
        awaited->places[i] = awaited->places[i - 1];
        i--;
    }
    awaited->places[i] = place;
}

/* Of what a task waited for, the one that ended when it began: that of the lowest stream, so those
 * are asked first. False: nothing, it began at 0. */
static bool released_by(struct engine_record *record, struct place place, sim_time began,
                        struct place *before)
{
    const struct engine_program *program = engine_record_program(record, place.actor);
    const struct task *task = engine_program_task(program, place.stream, place.index);
    struct awaited awaited = {.count = 0};
    if (place.index > 0) {
        add_awaited(&awaited, (struct place){place.actor, place.stream, place.index - 1});
    }
    for (uint32_t i = 0; i < task->wait_count; i++) {
        const uint32_t ended = engine_program_wait(program, place.stream, place.index, i);
        if (ended > 0) {
            add_awaited(&awaited, (struct place){place.actor, task->wait_stream[i], ended - 1});
        }
    }
    uint32_t i = 0;
    while (i < awaited.count && !has_ended_at(record, awaited.places[i], began)) {
        i++;
    }
    if (i < awaited.count) {
        *before = awaited.places[i];
    }
    return i < awaited.count;
}

static const struct engine_channel *channel_of(struct engine_record *record, struct place place)
{
    const struct engine_system *system = engine_record_system(record);
    return &system->channels[system->actors[place.actor].channels[place.stream]];
}

/* Of the members of a collective, the one that came last: what it has done, they have waited for.
 * The meetings of a channel are numbered alike on all its members. */
static struct place last_member(struct engine_record *record, struct place place)
{
    const struct engine_channel *channel = channel_of(record, place);
    struct place last = place;
    sim_time latest = -1;
    for (uint32_t i = 0; i < channel->member_count; i++) {
        const struct engine_member *member =
            &engine_record_system(record)->members[channel->member_first + i];
        const struct place other = {member->actor, member->stream, place.index};
        if (at(record, other).start > latest) {
            last = other;
            latest = at(record, other).start;
        }
    }
    return last;
}

sim_time engine_critical_moves(struct engine_record *record, const struct engine_channel *channel,
                               uint32_t index)
{
    const struct engine_member *member =
        &engine_record_system(record)->members[channel->member_first];
    struct place place = {member->actor, member->stream, index};
    if (channel->kind == CHANNEL_COLLECTIVE) {
        place = last_member(record, place);
    }
    return at(record, place).start;
}

/* The send of a message that was received. */
static struct place send_of(struct engine_record *record, struct place place)
{
    const struct engine_channel *channel = channel_of(record, place);
    const struct engine_member *sender =
        &engine_record_system(record)->members[channel->member_first];
    sim_assert(channel->kind == CHANNEL_PAIR);
    return (struct place){sender->actor, sender->stream, place.index};
}

static const struct task *task_of(struct engine_record *record, struct place place)
{
    return engine_program_task(engine_record_program(record, place.actor), place.stream,
                               place.index);
}

struct engine_span engine_critical_moving(struct engine_record *record, uint32_t actor,
                                          uint32_t stream, uint32_t index)
{
    const struct place place = {actor, stream, index};
    const struct engine_channel *channel = channel_of(record, place);
    const bool is_received = task_of(record, place)->kind == TASK_RECEIVE;
    return (struct engine_span){engine_critical_moves(record, channel, index),
                                is_received
                                    ? at(record, send_of(record, place)).end + channel->latency_ns
                                    : at(record, place).end};
}

/* The leg that ends with a task, which becomes the one to be released. */
static struct engine_leg leg_of(struct engine_record *record, struct place *place)
{
    const struct task *task = task_of(record, *place);
    const struct engine_span span = at(record, *place);
    struct engine_leg leg = {.begin = span.start, .end = span.end, .times = 1};
    if (task->kind == TASK_RECEIVE && span.start < span.end) {
        *place = send_of(record, *place);
        leg.begin = at(record, *place).end;
        leg.is_on_its_way = true;
        task = task_of(record, *place);
    } else if (task->kind == TASK_COLLECTIVE) {
        *place = last_member(record, *place);
        leg.begin = at(record, *place).start;
    }
    leg.actor = place->actor;
    leg.stream = place->stream;
    leg.index = place->index;
    leg.task = task;
    return leg;
}

/* ---- turns that come again ------------------------------------------------------------------ */

/* A task of a turn at which the path was. */
struct mark {
    uint32_t jump; /* ENGINE_NONE: none */
    uint32_t turn;
    struct place place; /* in the first turn */
    sim_time end;
    size_t leg;
    int64_t window; /* turns after which another is set */
};

struct walker {
    struct arena *arena;
    struct engine_record *record;
    const struct critical_visitor *visitor;
    struct place place;
    struct engine_leg *legs;
    size_t capacity, count;
    struct mark mark;
    uint32_t done;                     /* the jump that was walked over; ENGINE_NONE: none */
    const struct engine_other *others; /* beside the stretch that is walked through */
    uint32_t other_count;
    uint32_t first_actor; /* for which `is_first` was found; ENGINE_NONE: none yet */
    bool is_first;        /* of the members of all its stretches' collectives */
};

enum { WINDOW_FIRST = 4, LEGS_FIRST = 512 };

static bool is_marked(const struct mark *mark, uint32_t jump, const struct place *first)
{
    return mark->jump == jump && mark->place.actor == first->actor &&
           mark->place.stream == first->stream && mark->place.index == first->index;
}

/* The leg that ends with a task of this turn, and those since the mark, come again. */
static void repeat(struct walker *walker, struct engine_leg *leg, uint32_t turn, uint32_t cycle)
{
    const struct mark *mark = &walker->mark;
    const struct engine_turns turns = engine_record_turns(walker->record, mark->jump);
    const uint32_t apart = mark->turn - turn;
    const sim_time takes_ns = apart * turns.period;
    sim_assert(mark->end - leg->end == takes_ns);
    const int64_t by_time = leg->end > turns.from ? (leg->end - turns.from - 1) / takes_ns : 0;
    const uint32_t by_turn = turn / apart;
    const uint32_t times = by_time < by_turn ? (uint32_t)by_time : by_turn;
    for (size_t i = mark->leg; i < walker->count; i++) {
        walker->legs[i].times += times;
    }
    walker->place.index -= times * apart * cycle;
    leg->index = walker->place.index;
    leg->begin -= times * takes_ns;
    leg->end -= times * takes_ns;
    walker->done = mark->jump;
    walker->mark.jump = ENGINE_NONE;
}

/* Of a leg that ends with the walker's task. */
static void look_for_turns(struct walker *walker, struct engine_leg *leg)
{
    const struct place place = walker->place;
    uint32_t turn = 0;
    uint32_t cycle = 0;
    const uint32_t jump =
        engine_record_turn(walker->record, place.actor, place.stream, place.index, &turn, &cycle);
    if (jump == ENGINE_NONE || jump == walker->done) {
        return;
    }
    struct mark *mark = &walker->mark;
    const struct place first = {place.actor, place.stream, place.index - turn * cycle};
    if (is_marked(mark, jump, &first) && mark->turn > turn) {
        repeat(walker, leg, turn, cycle);
        return;
    }
    const sim_time period = engine_record_turns(walker->record, jump).period;
    if (mark->jump != jump || mark->end - leg->end > mark->window * period) {
        const int64_t window = mark->jump != jump ? WINDOW_FIRST : 2 * mark->window;
        *mark = (struct mark){jump, turn, first, leg->end, walker->count, window};
    }
}

static void add_leg(struct walker *walker, const struct engine_leg *leg)
{
    walker->legs = arena_grow(walker->arena, walker->legs, &walker->capacity, walker->count + 1,
                              sizeof *walker->legs);
    walker->legs[walker->count++] = *leg;
}

/* ---- stretches ------------------------------------------------------------------------------ */

/* Of those of a class who meet, the first is the one on the path: is that this actor? */
static bool is_first_member(struct engine_record *record, uint32_t actor, uint32_t stream)
{
    const struct engine_channel *channel = channel_of(record, (struct place){actor, stream, 0});
    return engine_record_system(record)->members[channel->member_first].actor == actor;
}

static bool are_first_members(struct engine_record *record, uint32_t actor)
{
    const struct engine_system *system = engine_record_system(record);
    for (uint32_t s = 1; s < system->stream_count; s++) {
        const uint32_t channel = system->actors[actor].channels[s];
        if (channel != ENGINE_NONE && system->channels[channel].kind == CHANNEL_COLLECTIVE &&
            engine_record_is_own(record, channel) && !is_first_member(record, actor, s)) {
            return false;
        }
    }
    return true;
}

/* Of the walker's actor: looked up once for as long as the path stays with it. */
static bool is_on_its_own(struct walker *walker)
{
    if (walker->first_actor != walker->place.actor) {
        walker->first_actor = walker->place.actor;
        walker->is_first = are_first_members(walker->record, walker->place.actor);
    }
    return walker->is_first;
}

static struct engine_span work_of(const struct engine_replay *replay, uint32_t index)
{
    return replay->work[index - replay->first];
}

static struct engine_span met_in(const struct engine_replay *replay, const struct next_to *meeting)
{
    const uint32_t index = replay->block_first[meeting->stream] + meeting->number;
    const struct replay_meetings *meetings = &replay->meetings[0];
    meetings += meetings->stream != meeting->stream;
    return meetings->spans[index - meetings->first];
}

/* A collective of it. */
static struct engine_span add_meeting(struct walker *walker, const struct own_stretch *own,
                                      const struct engine_replay *replay,
                                      const struct next_to *meeting)
{
    const uint32_t index = replay->block_first[meeting->stream] + meeting->number;
    const struct engine_span span = met_in(replay, meeting);
    add_leg(walker, &(struct engine_leg){
                        .actor = walker->place.actor,
                        .stream = meeting->stream,
                        .index = index, /* of the turn that it was worked out for */
                        .begin = span.start + own->later,
                        .end = span.end + own->later,
                        .times = 1,
                        .task = &replay->in->block->tasks[meeting->stream][meeting->number]});
    return span;
}

static sim_time add_work_leg(struct walker *walker, const struct own_stretch *own,
                             const struct engine_replay *replay, uint32_t index)
{
    const uint32_t number = index - replay->block_first[COMPUTE];
    const struct engine_span span = work_of(replay, index);
    const struct next_to *beside = engine_beside(replay->in, number);
    const struct engine_span met =
        beside->stream != 0 ? met_in(replay, beside) : (struct engine_span){0};
    add_leg(walker, &(struct engine_leg){.actor = walker->place.actor,
                                         .stream = COMPUTE,
                                         .index = index + own->tasks,
                                         .begin = span.start + own->later,
                                         .end = span.end + own->later,
                                         .times = 1,
                                         .task = &replay->in->block->tasks[COMPUTE][number],
                                         .is_of_stretch = true,
                                         .others = walker->others,
                                         .other_count = walker->other_count,
                                         .beside = beside->stream,
                                         .beside_begin = met.start + own->later,
                                         .beside_end = met.end + own->later});
    return span.start;
}

static void copy_others(struct walker *walker, sim_time later)
{
    size_t count;
    const struct engine_other *others = engine_record_others(walker->record, &count);
    struct engine_other *copy = arena_array(walker->arena, count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] =
            (struct engine_other){others[i].begin + later, others[i].end + later, others[i].stream};
    }
    walker->others = copy;
    walker->other_count = (uint32_t)count;
}

/* From a task of a stretch that the actor did by itself back to its first, whose leg is added last:
 * nobody else has a part in it. What is between two tasks released the later one, or else what is
 * beside the earlier one did, which began with it, or that itself; as above, stream 0 comes first.
 */
static void add_stretch(struct walker *walker, const struct own_stretch *own)
{
    const struct engine_replay *replay =
        engine_record_replay(walker->record, walker->place.actor, own);
    copy_others(walker, own->later);
    uint32_t index = walker->place.index - own->tasks;
    sim_time time = add_work_leg(walker, own, replay, index);
    while (index > replay->first) {
        const uint32_t number = index - replay->block_first[COMPUTE];
        const struct next_to *between = engine_between(replay->in, number);
        if (work_of(replay, index - 1).end == time) {
            time = add_work_leg(walker, own, replay, --index);
        } else if (between->stream != 0) {
            time = add_meeting(walker, own, replay, between).start;
        } else {
            time = add_meeting(walker, own, replay, engine_beside(replay->in, number - 1)).start;
            index--;
        }
    }
}

/* One leg for all of a stretch, which is known by a number. */
static void add_whole(struct walker *walker, const struct own_stretch *own, uint32_t known)
{
    add_leg(walker, &(struct engine_leg){.actor = walker->place.actor,
                                         .index = walker->place.index,
                                         .begin = own->row->start + own->later,
                                         .end = own->row->end + own->later,
                                         .times = 1,
                                         .known = known});
}

/* Of a whole stretch that is even. */
static void walk_even(struct walker *walker, const struct own_stretch *own)
{
    const struct critical_visitor *visitor = walker->visitor;
    uint32_t known = visitor->find(visitor->context, own);
    if (known == 0) {
        const size_t first = walker->count;
        add_stretch(walker, own);
        known = visitor->note(visitor->context, own, &walker->legs[first], walker->count - first);
        walker->count = known != 0 ? first : walker->count;
    }
    if (known != 0) {
        add_whole(walker, own, known);
    }
}

/* False: the walker's task is of no stretch that its actor did by itself, or another member of its
 * collectives is on the path. */
static bool walk_stretch(struct walker *walker)
{
    struct own_stretch own;
    const uint32_t actor = walker->place.actor;
    if (walker->place.stream != COMPUTE ||
        !engine_record_own_stretch(walker->record, actor, walker->place.index, &own) ||
        !is_on_its_own(walker)) {
        return false;
    }
    const bool is_whole = walker->place.index - own.tasks == own.row->last;
    if (walker->visitor->find != NULL && is_whole &&
        engine_record_is_even(walker->record, actor, &own)) {
        walk_even(walker, &own);
    } else {
        add_stretch(walker, &own);
    }
    walker->place.index = own.row->first + own.tasks;
    return true;
}

/* The leg that ends with the walker's task, as leg_of. Of a whole stretch, which is walked through
 * later, none of whose tasks need be worked out for that: when it began and ended. */
static struct engine_leg next_leg(struct walker *walker)
{
    const struct place place = walker->place;
    if (place.stream == COMPUTE) {
        const struct engine_row row =
            engine_record_row(walker->record, place.actor, place.stream, place.index);
        if (row.stretch == 1 && place.index == row.last && is_on_its_own(walker)) {
            return (struct engine_leg){.begin = row.start, .end = row.end};
        }
    }
    return leg_of(walker->record, &walker->place);
}

/* ---- all of it ------------------------------------------------------------------------------ */

void engine_critical_walk_with(struct engine_record *record, const struct critical_visitor *visitor)
{
    struct walker walker = {.arena = engine_record_arena(record),
                            .record = record,
                            .visitor = visitor,
                            .place = last_of(record),
                            .mark = {.jump = ENGINE_NONE},
                            .done = ENGINE_NONE,
                            .first_actor = ENGINE_NONE};
    walker.legs = arena_room(walker.arena, LEGS_FIRST, sizeof *walker.legs);
    walker.capacity = LEGS_FIRST;
    bool goes_on = true;
    while (goes_on) {
        struct engine_leg leg = next_leg(&walker);
        sim_assert(leg.begin <= leg.end);
        if (!leg.is_on_its_way) {
            look_for_turns(&walker, &leg);
        }
        if (leg.is_on_its_way || !walk_stretch(&walker)) {
            add_leg(&walker, &leg);
        }
        const sim_time begin = walker.legs[walker.count - 1].begin;
        struct place before = walker.place; /* of a message on its way: the same, its bytes left */
        goes_on = leg.is_on_its_way || released_by(record, walker.place, begin, &before);
        sim_assert(goes_on || begin == 0);
        debug_assert(!goes_on || at(record, before).end == begin);
        walker.place = before;
    }
    for (size_t i = 0; i < walker.count; i++) {
        visitor->leg(visitor->context, &walker.legs[i]);
    }
}

void engine_critical_walk(struct engine_record *record, engine_leg_visit *visit, void *context)
{
    engine_critical_walk_with(record, &(struct critical_visitor){.leg = visit, .context = context});
}
