/* What the legs of a path consist of, and the sums of it all.
 *
 * A stretch that comes again has the same legs, and so has one of the same tasks elsewhere, as the
 * next layer's: what they add is noted the first time, and added.
 */
#include "des/record/engine_critical.h"

#include "base/arena.h"
#include "des/record/engine_record_state.h"

#include <string.h>

/* ---- what legs consist of ------------------------------------------------------------------- */

struct on_links;

struct addend {
    int64_t *to;
    int64_t ns;
};

/* What is summed by actor. */
struct of_actor {
    int64_t took;
    int64_t moved[ENGINE_STREAMS_MAX];
};

/* What the legs of a stretch add to a path. */
struct content {
    const struct stretch_table *table;
    uint32_t kind;    /* of the table's */
    uint32_t streams; /* beside it */
    sim_time takes_ns;
    uint64_t legs;
    uint32_t count;
    struct addend *addends;
    struct of_actor of_actor; /* whoever that is */
    uint32_t next;            /* of its bucket: its number; 0: none */
};

enum { ADDENDS_MAX = 48, BUCKETS = 256 };

struct summing {
    struct arena *arena;
    struct engine_record *record;
    const struct on_links *on;
    struct engine_critical *path;
    struct content *contents; /* [0] is none */
    size_t content_capacity;
    uint32_t content_count;
    uint32_t buckets[BUCKETS]; /* the newest content; 0: none */
    bool notes;                /* addends are noted, not added */
    uint32_t noted;            /* more than there is room for: not all are */
    struct addend addends[ADDENDS_MAX];
    struct of_actor of_actor;
};

static void put(struct summing *summing, int64_t *to, int64_t ns)
{
    if (!summing->notes) {
        *to += ns;
        return;
    }
    if (summing->noted > ADDENDS_MAX || ns == 0) {
        return;
    }
    uint32_t i = 0;
    while (i < summing->noted && summing->addends[i].to != to) {
        i++;
    }
    if (i < summing->noted) {
        summing->addends[i].ns += ns;
        return;
    }
    if (i < ADDENDS_MAX) {
        summing->addends[i] = (struct addend){to, ns};
    }
    summing->noted++;
}

static void put_took(struct summing *summing, uint32_t actor, int64_t ns)
{
    *(summing->notes ? &summing->of_actor.took : &summing->path->on_actor[actor]) += ns;
}

static void put_moved(struct summing *summing, uint32_t actor, uint32_t stream, int64_t ns)
{
    *(summing->notes ? &summing->of_actor.moved[stream] : &summing->path->moved[actor][stream]) +=
        ns;
}

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

/* Tasks of a stream of the same actor. */
static struct beside tasks_beside(struct engine_record *record, const struct engine_leg *leg,
                                  uint32_t stream)
{
    const uint32_t count = engine_record_program(record, leg->actor)->counts[stream];
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

/* The same of a leg that knows what was beside it. */
static struct beside known_beside(const struct engine_leg *leg, uint32_t stream)
{
    struct beside beside = {0};
    if (stream == leg->beside) {
        add_beside(leg, leg->beside_begin, leg->beside_end, &beside);
    }
    for (uint32_t i = 0; i < leg->other_count; i++) {
        if (leg->others[i].stream == stream) {
            add_beside(leg, leg->others[i].begin, leg->others[i].end, &beside);
        }
    }
    return beside;
}

/* Streams of which something may have been beside a leg. */
static uint32_t streams_beside(const struct engine_leg *leg)
{
    if (!leg->is_of_stretch) {
        return UINT32_MAX;
    }
    uint32_t streams = 1u << leg->beside;
    for (uint32_t i = 0; i < leg->other_count; i++) {
        streams |= 1u << leg->others[i].stream;
    }
    return streams;
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

static void divide(struct summing *summing, const struct division *division, int64_t whole,
                   int64_t times, int64_t *without_any)
{
    uint128 all = 0;
    for (uint32_t i = 0; i < division->count; i++) {
        all += division->parts[i];
    }
    int64_t left = whole;
    for (uint32_t i = 0; i < division->count; i++) {
        const int64_t part = (int64_t)((uint128)(uint64_t)whole * division->parts[i] / all);
        put(summing, division->takers[i], times * part);
        left -= part;
    }
    put(summing, division->count > 0 ? division->takers[division->count - 1] : without_any,
        times * left);
}

static void add_interference(struct summing *summing, const struct engine_leg *leg, int64_t extra)
{
    const struct engine_system *system = engine_record_system(summing->record);
    struct engine_critical *path = summing->path;
    struct division division;
    division.count = 0;
    for (uint32_t rest = streams_beside(leg) & ~1u; rest != 0; rest &= rest - 1) {
        const uint32_t s = (uint32_t)__builtin_ctz(rest);
        const uint32_t takes = s < system->stream_count ? system->streams[s].interference : 0;
        if (takes > 0) {
            const struct beside beside =
                leg->is_of_stretch ? known_beside(leg, s) : tasks_beside(summing->record, leg, s);
            add_taker(&division, beside.ended, takes, &path->interference[s]);
            add_taker(&division, beside.went_on, takes, &path->covered[s]);
        }
    }
    divide(summing, &division, extra, leg->times, &path->rounding);
}

static void add_work(struct summing *summing, const struct engine_leg *leg, const struct task *task)
{
    struct engine_critical *path = summing->path;
    const uint32_t speed = engine_record_system(summing->record)->actors[leg->actor].speed;
    const int64_t took = leg->end - leg->begin;
    const int64_t undisturbed = engine_work_ns(task, speed);
    sim_assert(took >= undisturbed);
    put(summing, &path->work[task->cause], leg->times * (task->work_ns - task->launch_ns));
    put(summing, &path->launch, leg->times * (int64_t)task->launch_ns);
    put(summing, &path->slow, leg->times * (undisturbed - task->work_ns));
    put_took(summing, leg->actor, leg->times * took);
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
    const uint32_t count = engine_record_program(record, first->actor)->counts[first->stream];
    struct beside beside = {0};
    uint32_t i = engine_record_after(record, first->actor, first->stream, leg->begin);
    for (; i < count; i++) {
        const struct engine_span span = engine_record_span(record, first->actor, first->stream, i);
        if (span.start >= leg->end) {
            break;
        }
        add_beside(leg, engine_critical_moves(record, channel, i), span.end, &beside);
    }
    return beside;
}

/* Others on the links of a leg's channel, by stream. O(channels that cross these). */
static void look_beside(struct summing *summing, const struct engine_leg *leg,
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

static void add_contention(struct summing *summing, const struct engine_leg *leg,
                           const struct engine_channel *channel, int64_t extra, int64_t *own)
{
    struct beside by_stream[ENGINE_STREAMS_MAX] = {{0}};
    look_beside(summing, leg, channel, by_stream);
    struct division division = {.count = 0};
    for (uint32_t s = 1; s < engine_record_system(summing->record)->stream_count; s++) {
        add_taker(&division, by_stream[s].ended, 1, &summing->path->held_up[s]);
        add_taker(&division, by_stream[s].went_on, 1, own);
    }
    divide(summing, &division, extra, leg->times, own);
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

static void add_transfer(struct summing *summing, const struct engine_leg *leg,
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
    put(summing, &summing->path->latency[task->transfer], leg->times * latency);
    put(summing, &summing->path->bytes[task->transfer], leg->times * bytes);
    alike = alike < contention ? alike : contention;
    put(summing, &summing->path->contention[task->transfer], leg->times * alike);
    if (contention > alike && engine_record_is_direct(summing->record, channel)) {
        put(summing, &summing->path->contention[task->transfer], leg->times * (contention - alike));
    } else if (contention > alike) {
        add_contention(summing, leg, channel, contention - alike,
                       &summing->path->contention[task->transfer]);
    }
    put_moved(summing, leg->actor, leg->stream, leg->times * bytes);
}

static void add_content(struct summing *summing, const struct content *content, uint32_t actor,
                        int64_t times)
{
    for (uint32_t i = 0; i < content->count; i++) {
        *content->addends[i].to += times * content->addends[i].ns;
    }
    summing->path->on_actor[actor] += times * content->of_actor.took;
    for (uint32_t s = 1; s < engine_record_system(summing->record)->stream_count; s++) {
        summing->path->moved[actor][s] += times * content->of_actor.moved[s];
    }
    summing->path->legs += content->legs * (uint64_t)times;
    summing->path->visited++;
}

static void sum_leg(void *context, const struct engine_leg *leg)
{
    struct summing *summing = context;
    const struct task *task = leg->task;
    if (leg->known != 0) {
        add_content(summing, &summing->contents[leg->known], leg->actor, leg->times);
        return;
    }
    summing->path->legs += (uint64_t)leg->times;
    summing->path->visited++;
    put(summing, &summing->path->length, leg->times * (leg->end - leg->begin));
    if (leg->is_on_its_way) {
        put(summing, &summing->path->latency[task->transfer], leg->times * (leg->end - leg->begin));
    } else if (task->kind == TASK_COMPUTE) {
        add_work(summing, leg, task);
    } else if (leg->begin < leg->end) { /* else a message that was there already */
        add_transfer(summing, leg, task);
    }
}

/* ---- stretches that come again -------------------------------------------------------------- */

static uint32_t tasks_of(const struct own_stretch *stretch)
{
    return stretch->row->last - stretch->row->first + 1;
}

static sim_time takes_of(const struct own_stretch *stretch)
{
    return stretch->row->end - stretch->row->start;
}

static uint32_t *bucket_of(struct summing *summing, const struct own_stretch *stretch)
{
    const uint64_t takes_ns = (uint64_t)takes_of(stretch);
    return &summing->buckets[(takes_ns + takes_ns / BUCKETS + (uint64_t)tasks_of(stretch) * 31) %
                             BUCKETS];
}

/* Those of one kind have the same tasks, with the same next to them (des/engine_stretch_find.c). */
static uint32_t kind_of(const struct own_stretch *stretch)
{
    return stretch->in->known->stretches[stretch->first]->kind;
}

static uint32_t find_content(void *context, const struct own_stretch *stretch)
{
    struct summing *summing = context;
    uint32_t number = *bucket_of(summing, stretch);
    while (number != 0) {
        const struct content *content = &summing->contents[number];
        if (content->table == stretch->in->table && content->kind == kind_of(stretch) &&
            content->takes_ns == takes_of(stretch) && content->streams == stretch->streams) {
            return number;
        }
        number = content->next;
    }
    return 0;
}

static uint32_t note_content(void *context, const struct own_stretch *stretch,
                             const struct engine_leg *legs, size_t count)
{
    struct summing *summing = context;
    const uint64_t legs_before = summing->path->legs;
    summing->notes = true;
    summing->noted = 0;
    summing->of_actor = (struct of_actor){0};
    for (size_t i = 0; i < count; i++) {
        sum_leg(summing, &legs[i]);
    }
    summing->notes = false;
    summing->path->legs = legs_before;
    summing->path->visited -= (uint32_t)count;
    if (summing->noted > ADDENDS_MAX) {
        return 0;
    }
    struct addend *addends = arena_array(summing->arena, summing->noted + 1u, sizeof *addends);
    memcpy(addends, summing->addends, summing->noted * sizeof *addends);
    summing->contents = arena_grow(summing->arena, summing->contents, &summing->content_capacity,
                                   summing->content_count + 1u, sizeof *summing->contents);
    uint32_t *bucket = bucket_of(summing, stretch);
    summing->contents[summing->content_count] = (struct content){.table = stretch->in->table,
                                                                 .kind = kind_of(stretch),
                                                                 .streams = stretch->streams,
                                                                 .takes_ns = takes_of(stretch),
                                                                 .legs = count,
                                                                 .count = summing->noted,
                                                                 .addends = addends,
                                                                 .of_actor = summing->of_actor,
                                                                 .next = *bucket};
    *bucket = summing->content_count;
    return summing->content_count++;
}

/* ---- all of it ------------------------------------------------------------------------------ */

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
    struct summing summing = {
        .arena = arena, .record = record, .on = &on, .path = path, .content_count = 1};
    const struct critical_visitor visitor = {sum_leg, find_content, note_content, &summing};
    engine_critical_walk_with(record, &visitor);
    const int64_t sum = sum_of(path->work, ENGINE_CAUSES_MAX) + path->launch + path->slow +
                        sum_of(path->interference, ENGINE_STREAMS_MAX) +
                        sum_of(path->covered, ENGINE_STREAMS_MAX) + path->rounding +
                        sum_of(path->held_up, ENGINE_STREAMS_MAX) +
                        sum_of(path->latency, transfers) + sum_of(path->bytes, transfers) +
                        sum_of(path->contention, transfers);
    sim_assert(sum == path->length);
}
