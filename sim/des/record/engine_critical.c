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
#include "des/engine_state.h"

static const struct engine_program *program_of(struct engine_record *record, uint32_t actor)
{
    const struct engine_system *system = engine_record_system(record);
    return &system->programs[system->actors[actor].program];
}

/* ---- the walk ------------------------------------------------------------------------------- */

struct place {
    uint32_t actor, stream, index;
};

static struct engine_span at(struct engine_record *record, struct place place)
{
    return engine_record_span(record, place.actor, place.stream, place.index);
}

static sim_time end_of(struct engine_record *record, uint32_t actor, uint32_t stream,
                       uint32_t index)
{
    return engine_record_span(record, actor, stream, index).end;
}

/* The task of job 0 that ended last; of several, that of the lowest stream. */
static struct place last_of(struct engine_record *record)
{
    const struct engine_system *system = engine_record_system(record);
    struct place last = {0};
    sim_time end = -1;
    for (uint32_t s = 0; s < system->stream_count; s++) {
        for (uint32_t i = 0; i < system->actor_count; i++) {
            const uint32_t count = program_of(record, i)->counts[s];
            if (count == 0 || system->actors[i].job != 0) {
                continue;
            }
            if (end_of(record, i, s, count - 1) > end) {
                last = (struct place){i, s, count - 1};
                end = at(record, last).end;
            }
        }
    }
    return last;
}

/* Of what a task waited for, the one that ended when it began. False: nothing, it began at 0. */
static bool released_by(struct engine_record *record, struct place place, sim_time began,
                        struct place *before)
{
    const struct engine_program *program = program_of(record, place.actor);
    const struct task *task = engine_program_task(program, place.stream, place.index);
    uint32_t lowest = ENGINE_STREAMS_MAX;
    if (place.index > 0 && end_of(record, place.actor, place.stream, place.index - 1) == began) {
        lowest = place.stream;
        *before = (struct place){place.actor, place.stream, place.index - 1};
    }
    for (uint32_t i = 0; i < task->wait_count; i++) {
        const uint32_t stream = task->wait_stream[i];
        const uint32_t ended = engine_program_wait(program, place.stream, place.index, i);
        if (ended > 0 && stream < lowest &&
            end_of(record, place.actor, stream, ended - 1) == began) {
            lowest = stream;
            *before = (struct place){place.actor, stream, ended - 1};
        }
    }
    return lowest < ENGINE_STREAMS_MAX;
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

/* The send of a message that was received. */
static struct place send_of(struct engine_record *record, struct place place)
{
    const struct engine_channel *channel = channel_of(record, place);
    const struct engine_member *sender =
        &engine_record_system(record)->members[channel->member_first];
    sim_assert(channel->kind == CHANNEL_PAIR);
    return (struct place){sender->actor, sender->stream, place.index};
}

static uint8_t kind_of(struct engine_record *record, struct place place)
{
    const struct engine_program *program = program_of(record, place.actor);
    return engine_program_task(program, place.stream, place.index)->kind;
}

/* The leg that ends with a task, which becomes the one to be released. */
static struct engine_leg leg_of(struct engine_record *record, struct place *place)
{
    const uint8_t kind = kind_of(record, *place);
    const sim_time end = at(record, *place).end;
    if (kind == TASK_RECEIVE && at(record, *place).start < end) {
        const struct place send = send_of(record, *place);
        const struct engine_leg leg = {send.actor, send.stream, send.index, at(record, send).end,
                                       end,        true,        1};
        *place = send;
        return leg;
    }
    if (kind == TASK_COLLECTIVE) {
        *place = last_member(record, *place);
    }
    return (struct engine_leg){
        place->actor, place->stream, place->index, at(record, *place).start, end, false, 1};
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
    struct place place;
    struct engine_leg *legs;
    size_t capacity, count;
    struct mark mark;
    uint32_t done; /* the jump that was walked over; ENGINE_NONE: none */
};

enum { WINDOW_FIRST = 4 };

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

void engine_critical_walk(struct engine_record *record, engine_leg_visit *visit, void *context)
{
    struct walker walker = {.arena = arena_new(),
                            .record = record,
                            .place = last_of(record),
                            .mark = {.jump = ENGINE_NONE},
                            .done = ENGINE_NONE};
    bool goes_on = true;
    while (goes_on) {
        struct engine_leg leg = leg_of(record, &walker.place);
        sim_assert(leg.begin <= leg.end);
        if (!leg.is_on_its_way) {
            look_for_turns(&walker, &leg);
        }
        add_leg(&walker, &leg);
        struct place before = walker.place; /* of a message on its way: the same, its bytes left */
        goes_on = leg.is_on_its_way || released_by(record, walker.place, leg.begin, &before);
        sim_assert(goes_on || leg.begin == 0);
        sim_assert(!goes_on || at(record, before).end == leg.begin);
        walker.place = before;
    }
    for (size_t i = 0; i < walker.count; i++) {
        visit(context, &walker.legs[i]);
    }
    arena_free(walker.arena);
}

/* ---- what legs consist of ------------------------------------------------------------------- */

struct on_links;

struct summing {
    struct engine_record *record;
    const struct on_links *on;
    struct engine_critical *path;
};

/* For how long something went on beside a leg, of what ended before the leg did and of what did
 * not. */
struct beside {
    int64_t ended, went_on;
};

static void add_beside(const struct engine_leg *leg, sim_time start, sim_time end,
                       struct beside *beside)
{
    const sim_time from = start > leg->begin ? start : leg->begin;
    const sim_time to = end < leg->end ? end : leg->end;
    if (to > from) {
        *(end < leg->end ? &beside->ended : &beside->went_on) += to - from;
    }
}

/* Tasks of a stream of the same actor. Those of a stretch are beside its own tasks alone. */
static struct beside tasks_beside(struct engine_record *record, const struct engine_leg *leg,
                                  uint32_t stream)
{
    const uint32_t count = program_of(record, leg->actor)->counts[stream];
    struct beside beside = {0};
    uint32_t i = engine_record_after(record, leg->actor, stream, leg->begin);
    while (i < count) {
        const struct engine_row row = engine_record_row(record, leg->actor, stream, i);
        if (row.start >= leg->end) {
            break;
        }
        for (; row.stretch != 0 && i <= row.last; i++) {
            const struct engine_span span = engine_record_span(record, leg->actor, stream, i);
            add_beside(leg, span.start, span.end, &beside);
        }
        if (row.stretch == 0) {
            add_beside(leg, row.start, row.end, &beside);
        }
        i = row.last + 1;
    }
    return beside;
}

/* Some time that is divided in proportion to parts, each rounded down; what is left over goes to
 * the last that has one. */
struct division {
    uint128 parts[2 * ENGINE_STREAMS_MAX];
    int64_t *takers[2 * ENGINE_STREAMS_MAX];
    uint32_t count;
};

static void add_taker(struct division *division, int64_t time, uint32_t weight, int64_t *taker)
{
    if (time > 0) {
        sim_assert(division->count < 2 * ENGINE_STREAMS_MAX);
        division->parts[division->count] = (uint128)(uint64_t)time * weight;
        division->takers[division->count++] = taker;
    }
}

/* So many times. */
static void divide(const struct division *division, int64_t whole, int64_t times,
                   int64_t *without_any)
{
    uint128 all = 0;
    for (uint32_t i = 0; i < division->count; i++) {
        all += division->parts[i];
    }
    int64_t left = whole;
    for (uint32_t i = 0; i < division->count; i++) {
        const int64_t part = (int64_t)((uint128)(uint64_t)whole * division->parts[i] / all);
        *division->takers[i] += times * part;
        left -= part;
    }
    *(division->count > 0 ? division->takers[division->count - 1] : without_any) += times * left;
}

static void add_interference(const struct summing *summing, const struct engine_leg *leg,
                             int64_t extra)
{
    const struct engine_system *system = engine_record_system(summing->record);
    struct engine_critical *path = summing->path;
    struct division division = {.count = 0};
    for (uint32_t s = 1; s < system->stream_count; s++) {
        const uint32_t takes = system->streams[s].interference;
        if (takes > 0) {
            const struct beside beside = tasks_beside(summing->record, leg, s);
            add_taker(&division, beside.ended, takes, &path->interference[s]);
            add_taker(&division, beside.went_on, takes, &path->covered[s]);
        }
    }
    divide(&division, extra, leg->times, &path->rounding);
}

static void add_work(const struct summing *summing, const struct engine_leg *leg,
                     const struct task *task)
{
    struct engine_critical *path = summing->path;
    const uint32_t speed = engine_record_system(summing->record)->actors[leg->actor].speed;
    const int64_t took = leg->end - leg->begin;
    const int64_t undisturbed = engine_work_ns(task, speed);
    sim_assert(took >= undisturbed);
    path->work[task->cause] += leg->times * (task->work_ns - task->launch_ns);
    path->launch += leg->times * (int64_t)task->launch_ns;
    path->slow += leg->times * (undisturbed - task->work_ns);
    path->on_actor[leg->actor] += leg->times * took;
    if (took > undisturbed) {
        add_interference(summing, leg, took - undisturbed);
    }
}

/* ---- who else was on the links -------------------------------------------------------------- */

/* Channels by the links that they cross: those of link i are channels[firsts[i]] and on. */
struct on_links {
    uint32_t *firsts; /* [link_count + 1] */
    uint32_t *channels;
    uint32_t *seen; /* [channel_count]: the leg that looked at it last */
};

static const struct engine_path *first_path(const struct engine_system *system, uint32_t channel)
{
    return &system->paths[system->channels[channel].path_first];
}

static struct on_links list_on_links(struct arena *arena, const struct engine_system *system)
{
    struct on_links on = {0};
    on.firsts = arena_array(arena, system->link_count + 2u, sizeof *on.firsts);
    on.seen = arena_array(arena, system->channel_count + 1u, sizeof *on.seen);
    for (uint32_t c = 0; c < system->channel_count; c++) {
        const struct engine_path *path = first_path(system, c);
        for (uint32_t i = 0; i < path->crossing_count; i++) {
            on.firsts[system->crossings[path->crossing_first + i].link + 2]++;
        }
    }
    for (uint32_t l = 0; l < system->link_count; l++) {
        on.firsts[l + 2] += on.firsts[l + 1];
    }
    on.channels = arena_array(arena, on.firsts[system->link_count + 1] + 1u, sizeof *on.channels);
    for (uint32_t c = 0; c < system->channel_count; c++) {
        const struct engine_path *path = first_path(system, c);
        for (uint32_t i = 0; i < path->crossing_count; i++) {
            on.channels[on.firsts[system->crossings[path->crossing_first + i].link + 1]++] = c;
        }
    }
    return on;
}

/* Transfers of a channel: each moves from when its last member has come. */
static struct beside transfers_beside(struct engine_record *record, const struct engine_leg *leg,
                                      const struct engine_channel *channel)
{
    const struct engine_member *first =
        &engine_record_system(record)->members[channel->member_first];
    const uint32_t count = program_of(record, first->actor)->counts[first->stream];
    struct beside beside = {0};
    uint32_t i = engine_record_after(record, first->actor, first->stream, leg->begin);
    for (; i < count; i++) {
        const struct place place = {first->actor, first->stream, i};
        if (at(record, place).start >= leg->end) {
            break;
        }
        const struct place last =
            channel->kind == CHANNEL_PAIR ? place : last_member(record, place);
        add_beside(leg, at(record, last).start, at(record, place).end, &beside);
    }
    return beside;
}

/* Others on the links of a leg's channel, by stream. O(channels that cross these). */
static void look_beside(const struct summing *summing, const struct engine_leg *leg,
                        const struct engine_channel *channel,
                        struct beside by_stream[ENGINE_STREAMS_MAX])
{
    const struct engine_system *system = engine_record_system(summing->record);
    const struct on_links *on = summing->on;
    const uint32_t own = (uint32_t)(channel - system->channels);
    const struct engine_path *path = first_path(system, own);
    const uint32_t stamp = summing->path->visited;
    on->seen[own] = stamp;
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        const uint32_t link = system->crossings[path->crossing_first + i].link;
        for (uint32_t k = on->firsts[link]; k < on->firsts[link + 1]; k++) {
            const struct engine_channel *other = &system->channels[on->channels[k]];
            if (on->seen[on->channels[k]] == stamp) {
                continue;
            }
            on->seen[on->channels[k]] = stamp;
            const struct beside beside = transfers_beside(summing->record, leg, other);
            const uint32_t stream = system->members[other->member_first].stream;
            by_stream[stream].ended += beside.ended;
            by_stream[stream].went_on += beside.went_on;
        }
    }
}

static void add_contention(const struct summing *summing, const struct engine_leg *leg,
                           const struct engine_channel *channel, int64_t extra, int64_t *own)
{
    struct beside by_stream[ENGINE_STREAMS_MAX] = {{0}};
    look_beside(summing, leg, channel, by_stream);
    struct division division = {.count = 0};
    for (uint32_t s = 1; s < engine_record_system(summing->record)->stream_count; s++) {
        add_taker(&division, by_stream[s].ended, 1, &summing->path->held_up[s]);
        add_taker(&division, by_stream[s].went_on, 1, own);
    }
    divide(&division, extra, leg->times, own);
}

/* What the bytes of a phase take without others, but beside those like it: a channel of a folded
 * system stands for several, and where these meet on a link its usage there is of all of them. */
static int64_t alike_ns(const struct engine_system *system, const struct engine_channel *channel,
                        const struct engine_transfer *phase)
{
    const struct engine_path *path = &system->paths[channel->path_first + phase->path];
    int64_t least_ns = engine_flowing_ns(system, channel, phase);
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        const struct engine_crossing *crossing = &system->crossings[path->crossing_first + i];
        const uint128 rate = (uint128)(uint64_t)system->link_capacities[crossing->link] *
                             FLUID_USAGE_ONE / crossing->usage;
        const int64_t bytes_per_s = rate >= INT64_MAX ? INT64_MAX : rate > 0 ? (int64_t)rate : 1;
        const int64_t ns = engine_undisturbed_ns(phase->bytes, bytes_per_s);
        least_ns = ns > least_ns ? ns : least_ns;
    }
    return least_ns;
}

static void add_transfer(const struct summing *summing, const struct engine_leg *leg,
                         const struct task *task)
{
    const struct engine_system *system = engine_record_system(summing->record);
    const struct engine_channel *channel =
        &system->channels[system->actors[leg->actor].channels[leg->stream]];
    int64_t latency = channel->kind == CHANNEL_COLLECTIVE ? channel->latency_ns : 0;
    int64_t bytes = 0;
    int64_t alike = 0; /* what those like it cost one another */
    const struct engine_transfer *phase = &system->transfers[task->transfer];
    for (;;) {
        latency += phase->latency_ns;
        bytes += engine_flowing_ns(system, channel, phase);
        alike += alike_ns(system, channel, phase) - engine_flowing_ns(system, channel, phase);
        if (phase->next == 0) {
            break;
        }
        phase = &system->transfers[phase->next - 1];
    }
    const int64_t contention = leg->end - leg->begin - latency - bytes;
    sim_assert(contention >= 0);
    summing->path->latency[task->transfer] += leg->times * latency;
    summing->path->bytes[task->transfer] += leg->times * bytes;
    alike = alike < contention ? alike : contention;
    summing->path->contention[task->transfer] += leg->times * alike;
    if (contention > alike) {
        add_contention(summing, leg, channel, contention - alike,
                       &summing->path->contention[task->transfer]);
    }
    summing->path->moved[leg->actor][leg->stream] += leg->times * bytes;
}

static void sum_leg(void *context, const struct engine_leg *leg)
{
    const struct summing *summing = context;
    const struct task *task =
        engine_program_task(program_of(summing->record, leg->actor), leg->stream, leg->index);
    summing->path->legs += (uint64_t)leg->times;
    summing->path->visited++;
    summing->path->length += leg->times * (leg->end - leg->begin);
    if (leg->is_on_its_way) {
        summing->path->latency[task->transfer] += leg->times * (leg->end - leg->begin);
    } else if (task->kind == TASK_COMPUTE) {
        add_work(summing, leg, task);
    } else if (leg->begin < leg->end) { /* else a message that was there already */
        add_transfer(summing, leg, task);
    }
}

static int64_t sum_of(const int64_t *terms, uint32_t count)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sim_assert(terms[i] >= 0);
        sum += terms[i];
    }
    return sum;
}

void engine_critical_sum(struct arena *arena, struct engine_record *record,
                         struct engine_critical *path)
{
    const struct engine_system *system = engine_record_system(record);
    const uint32_t transfers = system->transfer_count;
    *path = (struct engine_critical){0};
    path->latency = arena_array(arena, transfers + 1u, sizeof *path->latency);
    path->bytes = arena_array(arena, transfers + 1u, sizeof *path->bytes);
    path->contention = arena_array(arena, transfers + 1u, sizeof *path->contention);
    path->moved = arena_array(arena, system->actor_count + 1u, sizeof *path->moved);
    path->on_actor = arena_array(arena, system->actor_count + 1u, sizeof *path->on_actor);
    const struct on_links on = list_on_links(arena, system);
    struct summing summing = {record, &on, path};
    engine_critical_walk(record, sum_leg, &summing);
    const int64_t sum = sum_of(path->work, ENGINE_CAUSES_MAX) + path->launch + path->slow +
                        sum_of(path->interference, ENGINE_STREAMS_MAX) +
                        sum_of(path->covered, ENGINE_STREAMS_MAX) + path->rounding +
                        sum_of(path->held_up, ENGINE_STREAMS_MAX) +
                        sum_of(path->latency, transfers) + sum_of(path->bytes, transfers) +
                        sum_of(path->contention, transfers);
    sim_assert(sum == path->length);
}
