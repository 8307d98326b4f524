/* Backwards, from the last move to the first, all that follows from one has been passed when it
 * comes, so its weight is known, and it is handed on. Forwards, for a change of given size, each
 * move gathers by how much those have moved that it follows from (engine_follow.h is both).
 */
#include "des/record/engine_sensitivity.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/engine_state.h"
#include "des/record/engine_follow.h"

#include <math.h>

/* ---- backwards ------------------------------------------------------------------------------- */

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

static void go_backwards(struct following *pass)
{
    const struct engine_watch *watch = pass->watch;
    for (uint32_t i = 0; i < pass->system->channel_count; i++) {
        pass->last_flows[i] = watch->last_flows[i];
    }
    for (size_t i = watch->move_count; i > 0 && pass->found->gain <= ENGINE_GAIN_MAX; i--) {
        const struct watched_move *move = &watch->moves[i - 1];
        const double weight = *engine_follow_value(pass, move);
        pass->found->gain = fmax(pass->found->gain, fabs(weight));
        if (weight != 0) {
            engine_follow_move(pass, move, weight);
        }
    }
}

void engine_sensitivity_find(struct arena *arena, const struct engine_watch *watch,
                             struct engine_sensitivity *found)
{
    const struct engine_system *system = watch->system;
    *found = (struct engine_sensitivity){0};
    found->latency = arena_array(arena, system->transfer_count + 1u, sizeof *found->latency);
    found->bytes = arena_array(arena, system->transfer_count + 1u, sizeof *found->bytes);
    found->moved = arena_array(arena, system->channel_count + 1u, sizeof *found->moved);
    struct arena *scratch = arena_new();
    struct following pass = engine_follow_all(arena, scratch, watch);
    pass.found = found;
    const uint32_t last = last_of(watch);
    if (last != ENGINE_NONE) {
        pass.tasks[last] = 1;
        found->length = watch->tasks[last].end;
    }
    go_backwards(&pass);
    found->flow_weights = pass.flow_ends;
    arena_free(scratch);
    const double length = (double)found->length;
    sim_assert(found->gain > ENGINE_GAIN_MAX ||
               fabs(sum_of(system, found) - length) <= 1e-6 * length + 1);
}

/* ---- forwards -------------------------------------------------------------------------------- */

/* Of a link: the flow that is the last to leave it up to now, and when. */
struct last_left {
    double time;
    uint32_t flow; /* valid where time is not 0 */
};

struct ordering {
    struct following *pass;
    const double *weights; /* of flows' ends */
    struct last_left *links;
    double doubt_ns;
};

/* A flow comes that another one has left a link before: not any more, if that leaves later. Then
 * each has half of the link meanwhile, as long as nobody else is there. */
static void doubt_start(struct ordering *ordering, uint32_t number)
{
    const struct following *pass = ordering->pass;
    const struct watched_flow *flows = pass->watch->flows;
    const struct engine_path *path = engine_follow_path(pass, number);
    const double comes = (double)flows[number].start + pass->later_ns;
    double most_ns = 0;
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        const uint32_t link = pass->system->crossings[path->crossing_first + i].link;
        const struct last_left *left = &ordering->links[link];
        if (pass->kinds[link] != ENGINE_LINK_SHARED || left->time <= comes) {
            continue;
        }
        const double weight =
            fmax(fabs(ordering->weights[number]), fabs(ordering->weights[left->flow]));
        most_ns = fmax(most_ns, (left->time - comes) / 2 * weight);
    }
    ordering->doubt_ns += most_ns;
}

/* What changed its rate before it ended comes after that now, and changes nothing. */
static void doubt_rates(struct ordering *ordering, uint32_t number)
{
    struct following *pass = ordering->pass;
    const struct watched_flow *flow = &pass->watch->flows[number];
    const struct watched_rate *rates = pass->watch->rates;
    const double ends = (double)flow->end + pass->later_ns;
    uint32_t at = flow->rates;
    while (rates[at].time == flow->end && flow->end > flow->start) {
        at = rates[at].before;
    }
    const double last = (double)rates[at].bytes_per_s;
    for (; rates[at].time > flow->start; at = rates[at].before) {
        const double before = (double)rates[rates[at].before].bytes_per_s;
        pass->later_ns = 0;
        engine_follow_rate(pass, number, &rates[at], 1);
        const double over_ns = (double)rates[at].time + pass->later_ns - ends;
        if (over_ns > 0) {
            ordering->doubt_ns +=
                over_ns * fabs((last - before) / last * ordering->weights[number]);
        }
    }
}

static void leave_links(struct ordering *ordering, uint32_t number)
{
    const struct following *pass = ordering->pass;
    const struct engine_path *path = engine_follow_path(pass, number);
    const double ends = (double)pass->watch->flows[number].end + pass->later_ns;
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        struct last_left *left =
            &ordering->links[pass->system->crossings[path->crossing_first + i].link];
        if (ends > left->time) {
            *left = (struct last_left){ends, number};
        }
    }
}

static void move_later(struct ordering *ordering, const struct watched_move *move)
{
    struct following *pass = ordering->pass;
    if (move->kind == WATCHED_FLOW_START) {
        pass->last_flows[pass->watch->flows[move->number].channel] = move->number;
    }
    pass->later_ns = 0;
    engine_follow_move(pass, move, 1);
    *engine_follow_value(pass, move) = pass->later_ns;
    if (move->kind == WATCHED_FLOW_START) {
        doubt_start(ordering, move->number);
    } else if (move->kind == WATCHED_FLOW_END) {
        leave_links(ordering, move->number);
        doubt_rates(ordering, move->number);
    }
}

/* When the last task of job 0 ends now. */
static double ends_now(const struct following *pass)
{
    const struct engine_watch *watch = pass->watch;
    double latest = 0;
    for (uint32_t i = 0; i < watch->task_count; i++) {
        if (watch->system->actors[watch->tasks[i].actor].job == 0) {
            latest = fmax(latest, engine_follow_end(pass, i));
        }
    }
    return latest;
}

struct engine_longer engine_sensitivity_change(const struct engine_watch *watch,
                                               const struct engine_sensitivity *found,
                                               const struct engine_change *change)
{
    struct arena *scratch = arena_new();
    struct engine_sensitivity parts = *found; /* nothing is added to these */
    struct following pass = engine_follow_all(scratch, scratch, watch);
    pass.change = change;
    pass.found = &parts;
    struct ordering ordering = {
        .pass = &pass,
        .weights = found->flow_weights,
        .links = arena_array(scratch, watch->system->link_count + 1u, sizeof *ordering.links)};
    for (uint32_t i = 0; i < watch->system->channel_count; i++) {
        pass.last_flows[i] = ENGINE_NONE;
    }
    for (size_t i = 0; i < watch->move_count; i++) {
        move_later(&ordering, &watch->moves[i]);
    }
    const struct engine_longer longer = {ends_now(&pass) - (double)found->length,
                                         ordering.doubt_ns};
    arena_free(scratch);
    return longer;
}
