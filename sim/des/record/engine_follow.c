/* Times within a transfer of which nobody tells (phases that nobody else can slow down, latencies)
 * have no moves: one goes through them at once to the flow or the task before.
 */
#include "des/record/engine_follow.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/engine_state.h"

#include <math.h>

/* ---- what a task's start followed from ------------------------------------------------------- */

static const struct engine_program *program_of(const struct following *pass, uint32_t actor)
{
    return engine_program_of_actor(pass->system, actor);
}

/* The move follows `factor` times another one. */
static void follow(struct following *pass, double *other, double factor)
{
    if (pass->change == NULL) {
        *other += factor;
    } else {
        pass->later_ns += factor * *other;
    }
}

/* And so many ns of it are a part of the run that a change makes longer by `longer`. */
static void consist(struct following *pass, double *part, double ns, double longer)
{
    if (pass->change == NULL) {
        *part += ns;
    } else {
        pass->later_ns += longer * ns;
    }
}

/* When a task ends, or ends now. */
double engine_follow_end(const struct following *pass, uint32_t task)
{
    const double later_ns = pass->change != NULL ? pass->tasks[task] : 0;
    return (double)pass->watch->tasks[task].end + later_ns;
}

/* Of a task and another that it waited for: the one that it began after; of several, that of the
 * lowest stream. */
static uint32_t better(const struct following *pass, uint32_t best, uint32_t other)
{
    const struct watched_task *tasks = pass->watch->tasks;
    if (best == ENGINE_NONE || engine_follow_end(pass, other) > engine_follow_end(pass, best)) {
        return other;
    }
    return engine_follow_end(pass, other) >= engine_follow_end(pass, best) &&
                   tasks[other].stream < tasks[best].stream
               ? other
               : best;
}

/* ENGINE_NONE: it waited for nothing. */
static uint32_t awaited_by(const struct following *pass, const struct watched_task *task)
{
    const struct engine_watch *watch = pass->watch;
    const uint32_t *firsts = program_of(pass, task->actor)->firsts[task->block];
    uint32_t best = ENGINE_NONE;
    if (task->index > 0) {
        best = engine_watched(watch, task->actor, task->stream, task->index - 1);
    }
    for (uint32_t i = 0; i < task->plan->wait_count; i++) {
        const uint32_t ended = engine_task_wait(task->plan, firsts, i);
        if (ended > 0) {
            best =
                better(pass, best,
                       engine_watched(watch, task->actor, task->plan->wait_stream[i], ended - 1));
        }
    }
    sim_assert(best == ENGINE_NONE || watch->tasks[best].end <= task->start);
    return best;
}

/* By how much the start of a task is later, forwards. */
static double start_later_ns(const struct following *pass, const struct watched_task *task)
{
    const uint32_t awaited = awaited_by(pass, task);
    return awaited != ENGINE_NONE ? engine_follow_end(pass, awaited) - (double)task->start : 0;
}

static void weigh_start(struct following *pass, const struct watched_task *task, double weight)
{
    if (pass->change != NULL) {
        pass->later_ns += weight * start_later_ns(pass, task);
        return;
    }
    const uint32_t awaited = awaited_by(pass, task);
    sim_assert(awaited != ENGINE_NONE ? pass->watch->tasks[awaited].end == task->start
                                      : task->start == 0);
    if (awaited != ENGINE_NONE) {
        pass->tasks[awaited] += weight;
    }
}

/* ---- work ----------------------------------------------------------------------------------- */

/* The rate of stream 0 changes, since another task of the actor begins or ends. */
struct disturbance {
    sim_time time;
    uint32_t takes; /* of the rate, more: modulo 2^32 */
    uint32_t task;
    bool begins;
};

static void add_disturbance(struct following *pass, const struct disturbance *item)
{
    pass->disturbances = arena_grow(pass->scratch, pass->disturbances, &pass->room, pass->count + 1,
                                    sizeof *pass->disturbances);
    size_t i = pass->count++;
    while (i > 0 && pass->disturbances[i - 1].time > item->time) {
        pass->disturbances[i] = pass->disturbances[i - 1];
        i--;
    }
    pass->disturbances[i] = *item;
}

/* The first task of a stream that ended after a time. */
static uint32_t first_after(const struct following *pass, uint32_t actor, uint32_t stream,
                            sim_time time)
{
    const struct engine_watch *watch = pass->watch;
    uint32_t low = 0;
    uint32_t high = program_of(pass, actor)->counts[stream];
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (watch->tasks[engine_watched(watch, actor, stream, middle)].end > time) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Tasks of a stream beside some work. What they take of the rate when that begins. */
static uint32_t list_disturbances(struct following *pass, const struct watched_task *work,
                                  uint32_t stream)
{
    const struct engine_watch *watch = pass->watch;
    const uint32_t count = program_of(pass, work->actor)->counts[stream];
    const uint32_t takes = pass->system->streams[stream].interference;
    uint32_t at_start = 0;
    for (uint32_t i = first_after(pass, work->actor, stream, work->start); i < count; i++) {
        const uint32_t number = engine_watched(watch, work->actor, stream, i);
        const struct watched_task *task = &watch->tasks[number];
        if (task->start >= work->end) {
            break;
        }
        if (task->start <= work->start) {
            at_start += takes;
        } else if (task->start < task->end) {
            add_disturbance(pass, &(struct disturbance){task->start, takes, number, true});
        }
        if (task->end < work->end && task->start < task->end) {
            add_disturbance(pass, &(struct disturbance){task->end, 0 - takes, number, false});
        }
    }
    return at_start;
}

static void weigh_disturbance(struct following *pass, const struct disturbance *item, double weight)
{
    if (item->begins) {
        weigh_start(pass, &pass->watch->tasks[item->task], weight);
    } else {
        follow(pass, &pass->tasks[item->task], weight);
    }
}

/* What the work itself is worth, in ns of this actor. */
static void add_work(struct following *pass, const struct watched_task *work, double ns)
{
    const struct task *plan = work->plan;
    const double speed = pass->system->actors[work->actor].speed;
    const double at_full_speed = ns * speed / ENGINE_FULL_SPEED;
    const double launch = at_full_speed * plan->launch_ns / (double)plan->work_ns;
    const struct engine_change *change = pass->change;
    const bool is_changed = change != NULL;
    consist(pass, &pass->found->launch, launch, is_changed ? change->launch : 0);
    consist(pass, &pass->found->work[plan->cause], at_full_speed - launch,
            is_changed ? change->work[plan->cause] : 0);
    consist(pass, &pass->found->slow, ns - at_full_speed, is_changed ? change->slow : 0);
}

/* (1), from the last rate back to the first. */
static void weigh_work(struct following *pass, const struct watched_task *work, double weight)
{
    const uint32_t speed = pass->system->actors[work->actor].speed;
    uint32_t taken = 0;
    pass->count = 0;
    for (uint32_t s = 1; s < pass->system->stream_count; s++) {
        taken += pass->system->streams[s].interference > 0 ? list_disturbances(pass, work, s) : 0;
    }
    for (size_t i = 0; i < pass->count; i++) {
        taken += pass->disturbances[i].takes;
    }
    const double last = engine_rate(speed, taken);
    double rate = last;
    double done = last * (double)work->end;
    for (size_t i = pass->count; i > 0; i--) {
        const struct disturbance *item = &pass->disturbances[i - 1];
        taken -= item->takes;
        const double before = engine_rate(speed, taken);
        done -= (rate - before) * (double)item->time;
        weigh_disturbance(pass, item, weight * (rate - before) / last);
        rate = before;
    }
    done -= rate * (double)work->start;
    add_work(pass, work, weight * done / last);
    weigh_start(pass, work, weight * rate / last);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static const struct engine_channel *channel_of(const struct following *pass, uint32_t number)
{
    return &pass->system->channels[number];
}

static const struct watched_task *member_task(const struct following *pass, uint32_t channel,
                                              uint32_t number, uint32_t meeting)
{
    const uint32_t first = channel_of(pass, channel)->member_first;
    const struct engine_member *member = &pass->system->members[first + number];
    return &pass->watch->tasks[engine_watched(pass->watch, member->actor, member->stream, meeting)];
}

/* Of the members of a collective, or the sender, the task that came last. */
static const struct watched_task *last_member(const struct following *pass, uint32_t number,
                                              uint32_t meeting)
{
    const struct engine_channel *channel = channel_of(pass, number);
    const uint32_t count = channel->kind == CHANNEL_PAIR ? 1 : channel->member_count;
    const struct watched_task *last = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct watched_task *task = member_task(pass, number, i, meeting);
        last = last == NULL || task->start > last->start ? task : last;
    }
    return last;
}

/* A transfer on the way back to its start. */
struct way {
    uint32_t channel, meeting;
    uint32_t first; /* phase */
    const struct watched_task *last;
};

static struct way way_of(const struct following *pass, uint32_t channel, uint32_t meeting)
{
    const struct watched_task *last = last_member(pass, channel, meeting);
    return (struct way){channel, meeting, last->plan->transfer, last};
}

static void add_bytes(struct following *pass, const struct way *way, double ns)
{
    if (pass->change == NULL) {
        pass->found->moved[way->channel] += ns;
    }
    consist(pass, &pass->found->bytes[way->first], ns,
            pass->change != NULL ? pass->change->bytes[way->first] : 0);
}

static void add_latency(struct following *pass, uint32_t transfer, double ns)
{
    consist(pass, &pass->found->latency[transfer], ns,
            pass->change != NULL ? pass->change->latency[transfer] : 0);
}

/* The flow of a phase; ENGINE_NONE: it has none, since nobody could slow it down. One asks for
 * transfers of a channel from the last to the first. */
static uint32_t flow_of(const struct following *pass, const struct way *way, uint32_t phase)
{
    const struct watched_flow *flows = pass->watch->flows;
    uint32_t *last = &pass->last_flows[way->channel];
    while (*last != ENGINE_NONE && flows[*last].meeting > way->meeting) {
        *last = flows[*last].sibling;
    }
    uint32_t flow = *last;
    while (flow != ENGINE_NONE && flows[flow].meeting == way->meeting) {
        if (flows[flow].phase == phase) {
            return flow;
        }
        flow = flows[flow].sibling;
    }
    return ENGINE_NONE;
}

/* Forwards, another member may come last. */
static void weigh_meeting(struct following *pass, const struct way *way, double weight)
{
    if (pass->change == NULL) {
        weigh_start(pass, way->last, weight);
        return;
    }
    const struct engine_channel *channel = channel_of(pass, way->channel);
    const uint32_t count = channel->kind == CHANNEL_PAIR ? 1 : channel->member_count;
    double latest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct watched_task *task = member_task(pass, way->channel, i, way->meeting);
        latest = fmax(latest, (double)task->start + start_later_ns(pass, task));
    }
    pass->later_ns += weight * (latest - (double)way->last->start);
}

static uint32_t phase_before(const struct following *pass, const struct way *way, uint32_t phase)
{
    uint32_t before = way->first;
    while (pass->system->transfers[before].next != phase + 1) {
        before = pass->system->transfers[before].next - 1;
    }
    return before;
}

/* The bytes of a phase have left at `time`. True: they were a flow, which knows when it began. */
static bool weigh_bytes(struct following *pass, const struct way *way, uint32_t phase,
                        sim_time *time, double weight)
{
    const uint32_t flow = flow_of(pass, way, phase);
    if (flow != ENGINE_NONE) {
        follow(pass, &pass->flow_ends[flow], weight);
        add_bytes(pass, way, weight * (double)(*time - pass->watch->flows[flow].end));
        return true;
    }
    const sim_time flowing_ns = engine_flowing_ns(pass->system, channel_of(pass, way->channel),
                                                  &pass->system->transfers[phase]);
    add_bytes(pass, way, weight * (double)flowing_ns);
    *time -= flowing_ns;
    return false;
}

/* The bytes of a phase begin to flow at `time`: back to the end of a flow of a phase before, or to
 * the transfer's start. */
static void weigh_phase_start(struct following *pass, const struct way *way, uint32_t phase,
                              sim_time time, double weight)
{
    while (phase != way->first) {
        const sim_time latency_ns = pass->system->transfers[phase].latency_ns;
        add_latency(pass, way->first, weight * (double)latency_ns);
        time -= latency_ns;
        phase = phase_before(pass, way, phase);
        if (weigh_bytes(pass, way, phase, &time, weight)) {
            return;
        }
    }
    const struct engine_channel *channel = channel_of(pass, way->channel);
    const sim_time latency_ns = pass->system->transfers[phase].latency_ns +
                                (channel->kind == CHANNEL_COLLECTIVE ? channel->latency_ns : 0);
    add_latency(pass, way->first, weight * (double)latency_ns);
    add_bytes(pass, way, weight * (double)(time - latency_ns - way->last->start));
    weigh_meeting(pass, way, weight);
}

static void weigh_transfer(struct following *pass, const struct watched_task *task, double weight)
{
    const uint32_t channel = pass->system->actors[task->actor].channels[task->stream];
    const struct way way = way_of(pass, channel, task->index);
    uint32_t last = way.first;
    while (pass->system->transfers[last].next != 0) {
        last = pass->system->transfers[last].next - 1;
    }
    sim_time time = task->end;
    if (!weigh_bytes(pass, &way, last, &time, weight)) {
        weigh_phase_start(pass, &way, last, time, weight);
    }
}

static void weigh_receive(struct following *pass, const struct watched_task *task, double weight)
{
    const struct engine_channel *channel =
        channel_of(pass, pass->system->actors[task->actor].channels[task->stream]);
    const struct engine_member *sender = &pass->system->members[channel->member_first];
    const uint32_t send = engine_watched(pass->watch, sender->actor, sender->stream, task->index);
    const struct watched_task *sent = &pass->watch->tasks[send];
    add_latency(pass, sent->plan->transfer, weight * (double)(task->end - sent->end));
    follow(pass, &pass->tasks[send], weight);
}

/* Forwards, whether a message is there when it is asked for may change, too. */
static void receive_later(struct following *pass, const struct watched_task *task)
{
    const uint32_t number = pass->system->actors[task->actor].channels[task->stream];
    const struct watched_task *sent = member_task(pass, number, 0, task->index);
    const uint32_t send = engine_watched(pass->watch, sent->actor, sent->stream, task->index);
    const double latency_ns = (double)channel_of(pass, number)->latency_ns;
    const double longer = pass->change->latency[sent->plan->transfer];
    const double arrives = engine_follow_end(pass, send) + latency_ns * (1 + longer);
    const double asks = (double)task->start + start_later_ns(pass, task);
    pass->later_ns += fmax(arrives, asks) - (double)task->end;
}

/* ---- flows ----------------------------------------------------------------------------------- */

const struct engine_path *engine_follow_path(const struct following *pass, uint32_t flow)
{
    const struct watched_flow *watched = &pass->watch->flows[flow];
    const struct engine_channel *channel = channel_of(pass, watched->channel);
    const uint32_t path = pass->system->transfers[watched->phase].path;
    return &pass->system->paths[channel->path_first + path];
}

/* A flow's links become those to be looked for. */
static void mark_links(struct following *pass, uint32_t flow)
{
    const struct engine_path *path = engine_follow_path(pass, flow);
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        pass->seen[pass->system->crossings[path->crossing_first + i].link] = flow + 1;
    }
}

/* Whether another crosses one of these that can be tight. */
static bool shares_link(const struct following *pass, uint32_t other, uint32_t flow)
{
    const struct engine_path *path = engine_follow_path(pass, other);
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        const uint32_t link = pass->system->crossings[path->crossing_first + i].link;
        if (pass->kinds[link] == ENGINE_LINK_SHARED && pass->seen[link] == flow + 1) {
            return true;
        }
    }
    return false;
}

/* Some moves of one instant. */
struct instant {
    uint32_t first, end;
};

static struct instant instant_of(const struct engine_watch *watch, const struct watched_rate *rate)
{
    struct instant instant = {rate->move, rate->move};
    while (instant.first > 0 && engine_watch_time(watch, instant.first - 1) == rate->time) {
        instant.first--;
    }
    while (instant.end < watch->move_count && engine_watch_time(watch, instant.end) == rate->time) {
        instant.end++;
    }
    return instant;
}

/* Whether a move may have changed the rate of a flow, whose links are marked: another one came or
 * went, on one of its links or, if that is not asked for, anywhere. */
static bool is_trigger(const struct following *pass, uint32_t move, uint32_t flow, bool shares)
{
    const struct watched_move *moved = &pass->watch->moves[move];
    return moved->kind != WATCHED_TASK && moved->number != flow &&
           (!shares || shares_link(pass, moved->number, flow));
}

static uint32_t count_triggers(const struct following *pass, struct instant instant, uint32_t flow,
                               bool shares)
{
    uint32_t count = 0;
    for (uint32_t i = instant.first; i < instant.end; i++) {
        count += is_trigger(pass, i, flow, shares);
    }
    return count;
}

/* Of who came or went on its links; if nobody did, of others who did, which changed the rates of
 * those who are on them. */
void engine_follow_rate(struct following *pass, uint32_t flow, const struct watched_rate *rate,
                        double weight)
{
    const struct instant instant = instant_of(pass->watch, rate);
    uint32_t count = count_triggers(pass, instant, flow, true);
    const bool shares = count > 0;
    count = shares ? count : count_triggers(pass, instant, flow, false);
    sim_assert(count > 0);
    for (uint32_t i = instant.first; i < instant.end; i++) {
        if (is_trigger(pass, i, flow, shares)) {
            const struct watched_move *move = &pass->watch->moves[i];
            double *others = move->kind == WATCHED_FLOW_END ? pass->flow_ends : pass->flow_starts;
            follow(pass, &others[move->number], weight / count);
        }
    }
}

/* (1), from the last rate back to that which it had after the instant of its start. */
static void weigh_flow_end(struct following *pass, uint32_t number, double weight)
{
    const struct watched_flow *flow = &pass->watch->flows[number];
    const struct watched_rate *rates = pass->watch->rates;
    if (flow->start == flow->end) {
        follow(pass, &pass->flow_starts[number], weight);
        return;
    }
    uint32_t at = flow->rates;
    while (rates[at].time == flow->end) {
        at = rates[at].before;
    }
    mark_links(pass, number);
    const double last = (double)rates[at].bytes_per_s;
    double done = last * (double)flow->end;
    for (; rates[at].time > flow->start; at = rates[at].before) {
        const struct watched_rate *rate = &rates[at];
        const double more = (double)rate->bytes_per_s - (double)rates[rate->before].bytes_per_s;
        done -= more * (double)rate->time;
        if (more != 0) {
            engine_follow_rate(pass, number, rate, weight * more / last);
        }
    }
    const double first = (double)rates[at].bytes_per_s;
    done -= first * (double)flow->start;
    follow(pass, &pass->flow_starts[number], weight * first / last);
    const struct way way = way_of(pass, flow->channel, flow->meeting);
    add_bytes(pass, &way, weight * done / last);
}

static void weigh_flow_start(struct following *pass, uint32_t number, double weight)
{
    const struct watched_flow *flow = &pass->watch->flows[number];
    const struct way way = way_of(pass, flow->channel, flow->meeting);
    weigh_phase_start(pass, &way, flow->phase, flow->start, weight);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void weigh_task(struct following *pass, uint32_t number, double weight)
{
    const struct watched_task *task = &pass->watch->tasks[number];
    const uint8_t kind = task->plan->kind;
    if (kind == TASK_RECEIVE && pass->change != NULL) {
        receive_later(pass, task);
    } else if (task->start == task->end) { /* no work; a message that was there already */
        weigh_start(pass, task, weight);
    } else if (kind == TASK_COMPUTE) {
        weigh_work(pass, task, weight);
    } else if (kind == TASK_RECEIVE) {
        weigh_receive(pass, task, weight);
    } else {
        weigh_transfer(pass, task, weight);
    }
}

void engine_follow_move(struct following *pass, const struct watched_move *move, double weight)
{
    static void (*const weigh[])(struct following *, uint32_t,
                                 double) = {[WATCHED_TASK] = weigh_task,
                                            [WATCHED_FLOW_START] = weigh_flow_start,
                                            [WATCHED_FLOW_END] = weigh_flow_end};
    weigh[move->kind](pass, move->number, weight);
}

/* A weight, or what the move is later. */
double *engine_follow_value(struct following *pass, const struct watched_move *move)
{
    double *const values[] = {[WATCHED_TASK] = pass->tasks,
                              [WATCHED_FLOW_START] = pass->flow_starts,
                              [WATCHED_FLOW_END] = pass->flow_ends};
    return &values[move->kind][move->number];
}

struct following engine_follow_all(struct arena *arena, struct arena *scratch,
                                   const struct engine_watch *watch)
{
    const struct engine_system *system = watch->system;
    return (struct following){
        .scratch = scratch,
        .watch = watch,
        .system = system,
        .tasks = arena_array(scratch, watch->task_count + 1, sizeof(double)),
        .flow_starts = arena_array(scratch, watch->flow_count + 1, sizeof(double)),
        .flow_ends = arena_array(arena, watch->flow_count + 1, sizeof(double)),
        .kinds = engine_links_sort(scratch, system),
        .seen = arena_array(scratch, system->link_count + 1u, sizeof(uint32_t)),
        .last_flows = arena_array(scratch, system->channel_count + 1u, sizeof(uint32_t)),
    };
}
