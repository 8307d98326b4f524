/* The pass goes over the moves from the last to the first. When it comes to one, all that follows
 * from it has been passed, so its weight is known; it hands that on to moves before it.
 *
 * Times within a transfer of which nobody tells (phases that nobody else can slow down, latencies)
 * have no moves: weight goes through them at once to the flow or the task before.
 */
#include "des/record/engine_sensitivity.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/engine_state.h"

#include <math.h>

struct pass {
    const struct engine_watch *watch;
    const struct engine_system *system;
    struct engine_sensitivity *found;
    double *tasks; /* weights, by number: of ends; */
    double *flow_starts, *flow_ends;
    const uint8_t *kinds; /* of links */
    uint32_t *seen;       /* of links: the flow that was looked at last, + 1 */
    uint32_t *last_flows; /* of channels: those of later transfers have been passed */
    struct arena *scratch;
    struct disturbance *disturbances; /* of the work that is looked at, by time */
    size_t count, room;
};

/* ---- what a task's start followed from ------------------------------------------------------- */

static const struct engine_program *program_of(const struct pass *pass, uint32_t actor)
{
    return &pass->system->programs[pass->system->actors[actor].program];
}

/* Of a task and another that it waited for: the one to be followed. */
static uint32_t better(const struct pass *pass, uint32_t best, uint32_t other, sim_time start)
{
    const struct watched_task *tasks = pass->watch->tasks;
    if (tasks[other].end != start) {
        return best;
    }
    return best == ENGINE_NONE || tasks[other].stream < tasks[best].stream ? other : best;
}

static void weigh_start(struct pass *pass, const struct watched_task *task, double weight)
{
    const struct engine_watch *watch = pass->watch;
    const struct engine_program *program = program_of(pass, task->actor);
    const struct task *plan = engine_program_task(program, task->stream, task->index);
    uint32_t best = ENGINE_NONE;
    if (task->index > 0) {
        const uint32_t before = engine_watched(watch, task->actor, task->stream, task->index - 1);
        best = better(pass, best, before, task->start);
    }
    for (uint32_t i = 0; i < plan->wait_count; i++) {
        const uint32_t ended = engine_program_wait(program, task->stream, task->index, i);
        if (ended > 0) {
            const uint32_t other =
                engine_watched(watch, task->actor, plan->wait_stream[i], ended - 1);
            best = better(pass, best, other, task->start);
        }
    }
    sim_assert(best != ENGINE_NONE || task->start == 0);
    if (best != ENGINE_NONE) {
        pass->tasks[best] += weight;
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

static void add_disturbance(struct pass *pass, const struct disturbance *item)
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
static uint32_t first_after(const struct pass *pass, uint32_t actor, uint32_t stream, sim_time time)
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
static uint32_t list_disturbances(struct pass *pass, const struct watched_task *work,
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

static void weigh_disturbance(struct pass *pass, const struct disturbance *item, double weight)
{
    if (item->begins) {
        weigh_start(pass, &pass->watch->tasks[item->task], weight);
    } else {
        pass->tasks[item->task] += weight;
    }
}

/* What the work itself is worth, in ns of this actor. */
static void add_work(struct pass *pass, const struct watched_task *work, double ns)
{
    const struct task *plan =
        engine_program_task(program_of(pass, work->actor), COMPUTE, work->index);
    const double speed = pass->system->actors[work->actor].speed;
    const double at_full_speed = ns * speed / ENGINE_FULL_SPEED;
    const double launch = at_full_speed * plan->launch_ns / (double)plan->work_ns;
    pass->found->launch += launch;
    pass->found->work[plan->cause] += at_full_speed - launch;
    pass->found->slow += ns - at_full_speed;
}

/* (1), from the last rate back to the first. */
static void weigh_work(struct pass *pass, const struct watched_task *work, double weight)
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

static const struct engine_channel *channel_of(const struct pass *pass, uint32_t number)
{
    return &pass->system->channels[number];
}

/* Of the members of a collective, or the sender, the task that came last. */
static const struct watched_task *last_member(const struct pass *pass, uint32_t number,
                                              uint32_t meeting)
{
    const struct engine_channel *channel = channel_of(pass, number);
    const uint32_t count = channel->kind == CHANNEL_PAIR ? 1 : channel->member_count;
    const struct watched_task *last = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct engine_member *member = &pass->system->members[channel->member_first + i];
        const struct watched_task *task =
            &pass->watch
                 ->tasks[engine_watched(pass->watch, member->actor, member->stream, meeting)];
        last = last == NULL || task->start > last->start ? task : last;
    }
    return last;
}

static const struct task *plan_of(const struct pass *pass, const struct watched_task *task)
{
    return engine_program_task(program_of(pass, task->actor), task->stream, task->index);
}

/* A transfer on the way back to its start. */
struct way {
    uint32_t channel, meeting;
    uint32_t first; /* phase */
    const struct watched_task *last;
};

static struct way way_of(const struct pass *pass, uint32_t channel, uint32_t meeting)
{
    const struct watched_task *last = last_member(pass, channel, meeting);
    return (struct way){channel, meeting, plan_of(pass, last)->transfer, last};
}

static void add_bytes(struct pass *pass, const struct way *way, double ns)
{
    pass->found->bytes[way->first] += ns;
    pass->found->moved[way->channel] += ns;
}

/* The flow of a phase; ENGINE_NONE: it has none, since nobody could slow it down. One asks for
 * transfers of a channel from the last to the first. */
static uint32_t flow_of(const struct pass *pass, const struct way *way, uint32_t phase)
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

/* Bytes or latencies of a phase end at `time`: back to a flow or to the first phase's start. */
static void weigh_phase_end(struct pass *pass, const struct way *way, uint32_t phase, sim_time time,
                            double weight);

/* The bytes of a phase begin to flow at `time`. */
static void weigh_phase_start(struct pass *pass, const struct way *way, uint32_t phase,
                              sim_time time, double weight)
{
    const struct engine_transfer *transfers = pass->system->transfers;
    const struct engine_channel *channel = channel_of(pass, way->channel);
    double *latency = &pass->found->latency[way->first];
    if (phase != way->first) {
        uint32_t before = way->first;
        while (transfers[before].next != phase + 1) {
            before = transfers[before].next - 1;
        }
        *latency += weight * (double)transfers[phase].latency_ns;
        weigh_phase_end(pass, way, before, time - transfers[phase].latency_ns, weight);
        return;
    }
    const sim_time latency_ns = transfers[phase].latency_ns +
                                (channel->kind == CHANNEL_COLLECTIVE ? channel->latency_ns : 0);
    *latency += weight * (double)latency_ns;
    add_bytes(pass, way, weight * (double)(time - latency_ns - way->last->start));
    weigh_start(pass, way->last, weight);
}

static void weigh_phase_end(struct pass *pass, const struct way *way, uint32_t phase, sim_time time,
                            double weight)
{
    const uint32_t flow = flow_of(pass, way, phase);
    if (flow != ENGINE_NONE) {
        pass->flow_ends[flow] += weight;
        add_bytes(pass, way, weight * (double)(time - pass->watch->flows[flow].end));
        return;
    }
    const sim_time flowing_ns = engine_flowing_ns(pass->system, channel_of(pass, way->channel),
                                                  &pass->system->transfers[phase]);
    add_bytes(pass, way, weight * (double)flowing_ns);
    weigh_phase_start(pass, way, phase, time - flowing_ns, weight);
}

static void weigh_transfer(struct pass *pass, const struct watched_task *task, double weight)
{
    const uint32_t channel = pass->system->actors[task->actor].channels[task->stream];
    const struct way way = way_of(pass, channel, task->index);
    uint32_t last = way.first;
    while (pass->system->transfers[last].next != 0) {
        last = pass->system->transfers[last].next - 1;
    }
    weigh_phase_end(pass, &way, last, task->end, weight);
}

static void weigh_receive(struct pass *pass, const struct watched_task *task, double weight)
{
    const struct engine_channel *channel =
        channel_of(pass, pass->system->actors[task->actor].channels[task->stream]);
    const struct engine_member *sender = &pass->system->members[channel->member_first];
    const uint32_t send = engine_watched(pass->watch, sender->actor, sender->stream, task->index);
    const struct watched_task *sent = &pass->watch->tasks[send];
    pass->found->latency[plan_of(pass, sent)->transfer] += weight * (double)(task->end - sent->end);
    pass->tasks[send] += weight;
}

/* ---- flows ----------------------------------------------------------------------------------- */

static const struct engine_path *path_of(const struct pass *pass, uint32_t flow)
{
    const struct watched_flow *watched = &pass->watch->flows[flow];
    const struct engine_channel *channel = channel_of(pass, watched->channel);
    const uint32_t path = pass->system->transfers[watched->phase].path;
    return &pass->system->paths[channel->path_first + path];
}

/* A flow's links become those to be looked for. */
static void mark_links(struct pass *pass, uint32_t flow)
{
    const struct engine_path *path = path_of(pass, flow);
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        pass->seen[pass->system->crossings[path->crossing_first + i].link] = flow + 1;
    }
}

/* Whether another crosses one of these that can be tight. */
static bool shares_link(const struct pass *pass, uint32_t other, uint32_t flow)
{
    const struct engine_path *path = path_of(pass, other);
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
static bool is_trigger(const struct pass *pass, uint32_t move, uint32_t flow, bool shares)
{
    const struct watched_move *moved = &pass->watch->moves[move];
    return moved->kind != WATCHED_TASK && moved->number != flow &&
           (!shares || shares_link(pass, moved->number, flow));
}

static uint32_t count_triggers(const struct pass *pass, struct instant instant, uint32_t flow,
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
static void weigh_triggers(struct pass *pass, uint32_t flow, const struct watched_rate *rate,
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
            double *weights = move->kind == WATCHED_FLOW_END ? pass->flow_ends : pass->flow_starts;
            weights[move->number] += weight / count;
        }
    }
}

/* (1), from the last rate back to that which it had after the instant of its start. */
static void weigh_flow_end(struct pass *pass, uint32_t number)
{
    const struct watched_flow *flow = &pass->watch->flows[number];
    const struct watched_rate *rates = pass->watch->rates;
    const double weight = pass->flow_ends[number];
    if (flow->start == flow->end) {
        pass->flow_starts[number] += weight;
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
            weigh_triggers(pass, number, rate, weight * more / last);
        }
    }
    const double first = (double)rates[at].bytes_per_s;
    done -= first * (double)flow->start;
    pass->flow_starts[number] += weight * first / last;
    const struct way way = way_of(pass, flow->channel, flow->meeting);
    add_bytes(pass, &way, weight * done / last);
}

static void weigh_flow_start(struct pass *pass, uint32_t number)
{
    const struct watched_flow *flow = &pass->watch->flows[number];
    const struct way way = way_of(pass, flow->channel, flow->meeting);
    weigh_phase_start(pass, &way, flow->phase, flow->start, pass->flow_starts[number]);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void weigh_task(struct pass *pass, uint32_t number)
{
    const struct watched_task *task = &pass->watch->tasks[number];
    const double weight = pass->tasks[number];
    const uint8_t kind = plan_of(pass, task)->kind;
    if (task->start == task->end) { /* no work; a message that was there already */
        weigh_start(pass, task, weight);
    } else if (kind == TASK_COMPUTE) {
        weigh_work(pass, task, weight);
    } else if (kind == TASK_RECEIVE) {
        weigh_receive(pass, task, weight);
    } else {
        weigh_transfer(pass, task, weight);
    }
}

static void weigh_move(struct pass *pass, const struct watched_move *move)
{
    const double *const weights[] = {[WATCHED_TASK] = pass->tasks,
                                     [WATCHED_FLOW_START] = pass->flow_starts,
                                     [WATCHED_FLOW_END] = pass->flow_ends};
    static void (*const weigh[])(struct pass *,
                                 uint32_t) = {[WATCHED_TASK] = weigh_task,
                                              [WATCHED_FLOW_START] = weigh_flow_start,
                                              [WATCHED_FLOW_END] = weigh_flow_end};
    const double weight = weights[move->kind][move->number];
    pass->found->gain = fmax(pass->found->gain, fabs(weight));
    if (weight != 0) {
        weigh[move->kind](pass, move->number);
    }
}

/* Of two tasks: whether the first ended later, or is on a lower stream, or of an actor before. */
static bool is_later(const struct watched_task *task, const struct watched_task *other)
{
    if (task->end != other->end) {
        return task->end > other->end;
    }
    return task->stream != other->stream ? task->stream < other->stream
                                         : task->actor < other->actor;
}

/* Of job 0, the task that ended last. */
static uint32_t last_of(const struct engine_watch *watch)
{
    uint32_t last = ENGINE_NONE;
    for (uint32_t i = 0; i < watch->task_count; i++) {
        const struct watched_task *task = &watch->tasks[i];
        if (watch->system->actors[task->actor].job == 0 &&
            (last == ENGINE_NONE || is_later(task, &watch->tasks[last]) ||
             (task->stream == watch->tasks[last].stream &&
              task->actor == watch->tasks[last].actor))) {
            last = i;
        }
    }
    return last;
}

static double sum_of(const struct engine_system *system, const struct engine_sensitivity *found)
{
    double sum = found->launch + found->slow;
    for (uint32_t c = 0; c < ENGINE_CAUSES_MAX; c++) {
        sum += found->work[c];
    }
    for (uint32_t i = 0; i < system->transfer_count; i++) {
        sum += found->latency[i] + found->bytes[i];
    }
    return sum;
}

void engine_sensitivity_find(struct arena *arena, const struct engine_watch *watch,
                             struct engine_sensitivity *sensitivity)
{
    const struct engine_system *system = watch->system;
    *sensitivity = (struct engine_sensitivity){0};
    sensitivity->latency =
        arena_array(arena, system->transfer_count + 1u, sizeof *sensitivity->latency);
    sensitivity->bytes =
        arena_array(arena, system->transfer_count + 1u, sizeof *sensitivity->bytes);
    sensitivity->moved = arena_array(arena, system->channel_count + 1u, sizeof *sensitivity->moved);
    struct arena *scratch = arena_new();
    struct pass pass = {
        .scratch = scratch,
        .watch = watch,
        .system = system,
        .found = sensitivity,
        .tasks = arena_array(scratch, watch->task_count + 1, sizeof(double)),
        .flow_starts = arena_array(scratch, watch->flow_count + 1, sizeof(double)),
        .flow_ends = arena_array(scratch, watch->flow_count + 1, sizeof(double)),
        .kinds = engine_links_sort(scratch, system),
        .seen = arena_array(scratch, system->link_count + 1u, sizeof *pass.seen),
        .last_flows = arena_array(scratch, system->channel_count + 1u, sizeof *pass.last_flows),
    };
    for (uint32_t i = 0; i < system->channel_count; i++) {
        pass.last_flows[i] = watch->last_flows[i];
    }
    const uint32_t last = last_of(watch);
    if (last != ENGINE_NONE) {
        pass.tasks[last] = 1;
        sensitivity->length = watch->tasks[last].end;
    }
    for (size_t i = watch->move_count; i > 0 && sensitivity->gain <= ENGINE_GAIN_MAX; i--) {
        weigh_move(&pass, &watch->moves[i - 1]);
    }
    arena_free(scratch);
    const double length = (double)sensitivity->length;
    sim_assert(sensitivity->gain > ENGINE_GAIN_MAX ||
               fabs(sum_of(system, sensitivity) - length) <= 1e-6 * length + 1);
}
