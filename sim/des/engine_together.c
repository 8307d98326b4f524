/* Joint stretches, of actors in lockstep: those who meet and are not of one class begin together
 * and are cut together.
 *
 * The members of a channel run the same program, perhaps at different speeds, and whom else they
 * meet, and when, is not the same. But when a collective has ended for all of them and each begins
 * what follows it at that instant, nothing else under way, then all know when they will meet again,
 * and again, up to the end of a stretch (engine_stretch.c) whose collectives are of that channel
 * alone. So each is posted its own end; whoever is there first waits for the others, and his books
 * say so.
 *
 * When the rate of one of them is going to change, what they did is worked out up to now, for each
 * speed; all become tasks under way as if each had been simulated, and the next collective that
 * ends may have them go together again. What would be over just now is taken to be under way: its
 * event is due in this instant, and what happens in one instant commutes (engine.h).
 *
 * Cost: O(members) to begin and for each to end; O(members + tasks of the stretch * speeds) for a
 * cut.
 */
#include "des/record/engine_record.h"
#include "des/engine_stretch_state.h"

#include "base/arena.h"
#include "base/check.h"

#include <string.h>

/* ---- set-up ---------------------------------------------------------------------------------- */

/* The speeds of a channel's members, each once, in ascending order; how many, if they are not too
 * many. */
static uint32_t list_speeds(const struct engine_system *system,
                            const struct engine_channel *channel, uint32_t *speeds)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < channel->member_count; i++) {
        const uint32_t speed =
            system->actors[system->members[channel->member_first + i].actor].speed;
        uint32_t at = 0;
        while (at < count && speeds[at] < speed) {
            at++;
        }
        if (at < count && speeds[at] == speed) {
            continue;
        }
        if (count == STRETCH_SPEEDS_MAX) {
            return count + 1;
        }
        memmove(&speeds[at + 1], &speeds[at], (count - at) * sizeof *speeds);
        speeds[at] = speed;
        count++;
    }
    return count;
}

bool engine_together_can(const struct engine *engine, uint32_t number)
{
    const struct engine_system *system = engine->system;
    const struct engine_channel *channel = &system->channels[number];
    const struct engine_member *members = &system->members[channel->member_first];
    if (channel->kind != CHANNEL_COLLECTIVE || !engine_stretch_is_direct(engine, channel) ||
        !engine_late_passes_through(engine, number)) {
        return false;
    }
    const uint32_t program = system->actors[members[0].actor].program;
    for (uint32_t i = 0; i < channel->member_count; i++) {
        if (members[i].stream != members[0].stream ||
            system->actors[members[i].actor].program != program ||
            !engine_late_passes(engine, members[i].actor)) {
            return false;
        }
    }
    uint32_t speeds[STRETCH_SPEEDS_MAX];
    return engine->stretches->is_whole[program] &&
           list_speeds(system, channel, speeds) <= STRETCH_SPEEDS_MAX;
}

/* The costs of a channel's transfers: those of another table, if its channels are alike. */
static struct meeting_cost *costs_for(const struct engine *engine, uint32_t number, uint32_t stream,
                                      size_t first_table)
{
    const struct engine_system *system = engine->system;
    const struct engine_stretches *stretches = engine->stretches;
    for (size_t i = first_table; i < stretches->table_count; i++) {
        const struct stretch_table *table = stretches->tables[i];
        const uint32_t other = system->actors[table->example].channels[stream];
        if (table->together == stream && engine_stretch_is_like(engine, number, other)) {
            return table->costs;
        }
    }
    return arena_array(stretches->arena, (size_t)system->transfer_count + 1,
                       sizeof(struct meeting_cost));
}

/* The table of channels like that one; a new one, if it is the first. */
static uint32_t find_table(const struct engine *engine, uint32_t number, size_t first_table)
{
    const struct engine_system *system = engine->system;
    struct engine_stretches *stretches = engine->stretches;
    const struct engine_channel *channel = &system->channels[number];
    const struct engine_member *member = &system->members[channel->member_first];
    uint32_t speeds[STRETCH_SPEEDS_MAX];
    const uint32_t count = list_speeds(system, channel, speeds);
    struct meeting_cost *costs = costs_for(engine, number, member->stream, first_table);
    for (size_t i = stretches->table_count; i > first_table; i--) {
        const struct stretch_table *table = stretches->tables[i - 1];
        if (table->costs == costs && table->speed_count == count &&
            memcmp(table->speeds, speeds, count * sizeof *speeds) == 0) {
            return (uint32_t)i - 1;
        }
    }
    uint32_t *kept = arena_array(stretches->arena, count, sizeof *kept);
    memcpy(kept, speeds, count * sizeof *kept);
    struct stretch_table *table =
        engine_stretch_add_table(stretches, member->actor, 1u << member->stream);
    table->together = member->stream;
    table->speed_count = count;
    table->speeds = kept;
    table->costs = costs;
    return (uint32_t)stretches->table_count - 1;
}

void engine_together_build(struct engine *engine)
{
    const struct engine_system *system = engine->system;
    struct engine_stretches *stretches = engine->stretches;
    const size_t first_table = stretches->table_count;
    stretches->table_of_together = arena_array(stretches->arena, system->channel_count + 1u,
                                               sizeof *stretches->table_of_together);
    for (uint32_t i = 0; i < system->channel_count; i++) {
        stretches->table_of_together[i] =
            stretches->can_together[i] ? find_table(engine, i, first_table) : ENGINE_NONE;
    }
}

/* ---- those who go together ------------------------------------------------------------------- */

static struct stretch_table *table_of(const struct engine *engine, uint32_t number)
{
    const struct engine_stretches *stretches = engine->stretches;
    return stretches->tables[stretches->table_of_together[number]];
}

static uint32_t number_of_speed(const struct engine *engine, const struct stretch_table *table,
                                uint32_t index)
{
    uint32_t i = 0;
    while (table->speeds[i] != engine->system->actors[index].speed) {
        i++;
    }
    return i;
}

const struct stretch *engine_together_at(const struct engine *engine, uint32_t index,
                                         uint32_t place, uint32_t number)
{
    const uint32_t stream = engine->actors[index].stretch->together;
    struct stretch_table *table = table_of(engine, engine->system->actors[index].channels[stream]);
    const struct stretch *found =
        engine_stretch_found(engine, engine_stretch_block(engine, table, index, place), number);
    return found != NULL ? &found[number_of_speed(engine, table, index)] : NULL;
}

/* ---- when they begin ------------------------------------------------------------------------- */

/* It just began a task, as others at that place in the program did, and nothing else is under way
 * that could disturb it. */
static bool begins_alike(const struct engine *engine, const struct actor *actor,
                         const struct actor *first, uint32_t stream)
{
    return engine_is_busy(actor, COMPUTE) && actor->stretch == NULL &&
           actor->compute_start == event_now(engine->queue) && actor->interference == 0 &&
           !engine_is_busy(actor, stream) && actor->ended[COMPUTE] == first->ended[COMPUTE];
}

void engine_together_begin(struct engine *engine, uint32_t number)
{
    const struct engine_system *system = engine->system;
    if (engine->stretches == NULL || engine->stretches->table_of_together[number] == ENGINE_NONE) {
        return;
    }
    const struct engine_channel *channel = &system->channels[number];
    const struct engine_member *members = &system->members[channel->member_first];
    const struct actor *first = &engine->actors[members->actor];
    for (uint32_t i = 0; i < channel->member_count; i++) {
        if (!begins_alike(engine, &engine->actors[members[i].actor], first, members->stream) ||
            !engine_late_is_same(engine, members[i].actor, members->actor)) {
            return;
        }
    }
    struct stretch_table *table = table_of(engine, number);
    const uint32_t place = first->block[COMPUTE];
    const uint32_t *firsts = first->program->firsts[place];
    const struct stretch *found =
        engine_stretch_found(engine, engine_stretch_block(engine, table, members->actor, place),
                             first->ended[COMPUTE] - firsts[COMPUTE]);
    if (found == NULL ||
        (found->stream_count > 0 &&
         firsts[members->stream] + found->meetings[0].first != first->ended[members->stream])) {
        return;
    }
    for (uint32_t i = 0; i < channel->member_count; i++) {
        const uint32_t index = members[i].actor;
        engine->actors[index].stretch = &found[number_of_speed(engine, table, index)];
        engine_post_compute_end(engine, index);
    }
}

/* ---- where they are -------------------------------------------------------------------------- */

/* Where those of one speed are in a stretch. */
struct halt {
    bool is_found;
    bool works;                /* on the task after those that ended; else it waits */
    bool has_come;             /* to a collective that has not ended */
    uint32_t ended;            /* tasks of stream 0, */
    uint32_t met;              /* and collectives */
    sim_time ended_at, met_at; /* the last of these */
    sim_time since;            /* that it works, or waits */
    sim_time arrived;
    int64_t remaining;
    int64_t waited_ns;            /* for others, in collectives that ended */
    int64_t waited_before;        /* and when it began to wait, in the one that has not */
    sim_time moving_ns, alone_ns; /* these collectives */
    int64_t bytes;
    int64_t books[ENGINE_CAUSES_MAX];
};

/* Those of all speeds on their way through a stretch, up to now. */
struct course {
    const struct engine *engine;
    const struct stretch_block *in;
    sim_time now;
    sim_time at[STRETCH_SPEEDS_MAX]; /* where its next task begins, or it meets the others */
    struct halt halts[STRETCH_SPEEDS_MAX];
};

static sim_time last_of(const struct course *course)
{
    sim_time last = 0;
    for (uint32_t i = 0; i < course->in->table->speed_count; i++) {
        last = engine_later(last, course->at[i]);
    }
    return last;
}

/* A collective is over, which it came to then. */
static void leave(struct halt *halt, const struct next_to *meeting, sim_time arrived,
                  sim_time start)
{
    halt->met++;
    halt->met_at = start + meeting->takes_ns;
    halt->waited_ns += start - arrived;
    halt->moving_ns += meeting->takes_ns;
    halt->alone_ns += meeting->alone_ns;
    halt->bytes += meeting->bytes;
}

static void stop_waiting(struct halt *halt, sim_time arrived, sim_time since, int64_t waited_ns)
{
    halt->is_found = true;
    halt->has_come = true;
    halt->arrived = arrived;
    halt->since = since;
    halt->waited_before = halt->waited_ns + waited_ns;
}

/* They meet before a task. */
static void pass_between(struct course *course, const struct next_to *meeting)
{
    const struct engine_stream *stream = &course->engine->system->streams[meeting->stream];
    const sim_time start = last_of(course);
    const sim_time end = start + meeting->takes_ns;
    for (uint32_t i = 0; i < course->in->table->speed_count; i++) {
        struct halt *halt = &course->halts[i];
        const sim_time arrived = course->at[i];
        course->at[i] = end;
        if (halt->is_found) {
            continue;
        }
        if (end >= course->now) {
            stop_waiting(halt, arrived, arrived, 0);
            continue;
        }
        leave(halt, meeting, arrived, start);
        halt->books[stream->wait_cause] += start - arrived;
        halt->books[stream->exposed_cause] += meeting->takes_ns;
    }
}

/* At work on a task now. */
static void stop_at_work(const struct course *course, const struct pass *pass, struct halt *halt)
{
    const bool is_beside = pass->beside->stream != 0;
    sim_assert(pass->begun <= course->now);
    halt->is_found = true;
    halt->works = true;
    halt->since = pass->begun;
    halt->remaining = engine_pass_work_left(pass, pass->begun, course->now,
                                            pass->task->work_ns * ENGINE_FULL_SPEED);
    if (is_beside && pass->beside_end < course->now) {
        leave(halt, pass->beside, pass->begun, pass->beside_start);
    } else if (is_beside) {
        halt->has_come = true;
        halt->arrived = pass->begun;
    }
}

/* A task whose work ends then, and what is beside it. */
static void pass_task(const struct course *course, const struct pass *pass, sim_time end,
                      struct halt *halt)
{
    if (end >= course->now) {
        stop_at_work(course, pass, halt);
        return;
    }
    engine_pass_book_work(course->engine, pass, end, halt->books);
    halt->ended++;
    halt->ended_at = end;
    if (pass->beside->stream == 0) {
        return;
    }
    if (pass->beside_end >= course->now) {
        const sim_time start = pass->beside_start < end ? pass->beside_start : end;
        stop_waiting(halt, pass->begun, end, start - pass->begun);
        return;
    }
    engine_pass_book_wait(course->engine, pass, end, halt->books);
    leave(halt, pass->beside, pass->begun, pass->beside_start);
}

static void pass_tasks(struct course *course, uint32_t number)
{
    const struct stretch_table *table = course->in->table;
    const sim_time beside_start = last_of(course);
    for (uint32_t i = 0; i < table->speed_count; i++) {
        struct pass pass = engine_pass_of(course->engine, course->in, number, table->speeds[i], 0);
        const bool is_alone = pass.beside->stream == 0;
        engine_pass_begin(&pass, course->at[i], is_alone ? course->at[i] : beside_start);
        const sim_time end =
            engine_pass_work_end(&pass, pass.begun, pass.task->work_ns * ENGINE_FULL_SPEED);
        if (!course->halts[i].is_found) {
            pass_task(course, &pass, end, &course->halts[i]);
        }
        course->at[i] = engine_later(end, pass.beside_end);
    }
}

/* Follows the course over `tasks` tasks from `first` on. */
static void follow(struct course *course, uint32_t first, uint32_t tasks)
{
    for (uint32_t number = first; number < first + tasks; number++) {
        const struct next_to *between = engine_between(course->in, number);
        if (number > first && between->stream != 0) {
            pass_between(course, between);
        }
        pass_tasks(course, number);
    }
}

/* ---- when they are cut ----------------------------------------------------------------------- */

/* It waits for a collective that has not ended. */
static void wait_on(struct actor *actor, const struct halt *halt, int64_t waited_before)
{
    actor->version = (actor->version + 1) & 0xffffff; /* there is no end any more */
    actor->busy &= ~1u;
    actor->blocked |= 1u;
    actor->blocked_since = halt->since;
    actor->pending = 1;
    actor->pending_before = 1;
    actor->pending_time = halt->since;
    actor->waited_before[0] = waited_before;
}

/* What it did up to now. */
static void record_halt(struct engine *engine, uint32_t index, uint32_t stream,
                        const struct halt *halt)
{
    const struct actor *actor = &engine->actors[index];
    const struct engine_row work = {
        .start = actor->compute_start,
        .end = halt->ended_at,
        .first = actor->ended[COMPUTE],
        .last = actor->ended[COMPUTE] + halt->ended - 1,
        .stretch = stream + 1,
    };
    const struct engine_row met = {
        .start = actor->compute_start,
        .end = halt->met_at,
        .first = actor->ended[stream],
        .last = actor->ended[stream] + halt->met - 1,
        .stretch = stream + 1,
    };
    if (halt->ended > 0) {
        engine_record_add(engine->options.record, index, COMPUTE, &work);
    }
    if (halt->met > 0) {
        sim_assert(halt->ended > 0);
        engine_record_add(engine->options.record, index, stream, &met);
    }
}

/* From here on each of its tasks is simulated. */
static void go_alone(struct engine *engine, uint32_t index, uint32_t stream,
                     const struct halt *halt)
{
    struct actor *actor = &engine->actors[index];
    struct stream_ledger *ledger = engine_ledger(actor, stream);
    const int64_t waited_before = ledger->waited_ns + halt->waited_before;
    sim_assert(halt->is_found && actor->interference == 0);
    for (uint32_t c = 0; c < engine->system->cause_count; c++) {
        engine->causes[index][c] += halt->books[c];
    }
    if (engine->options.record != NULL) {
        record_halt(engine, index, stream, halt);
    }
    engine->tasks += halt->ended + halt->met;
    engine_move_on(actor, COMPUTE, halt->ended);
    engine_move_on(actor, stream, halt->met);
    ledger->waited_ns += halt->waited_ns;
    actor->stretch = NULL;
    if (halt->has_come) {
        const uint32_t bit = 1u << stream;
        actor->busy |= bit;
        actor->blocked &= ~bit;
        actor->awaits_compute &= ~bit;
        actor->interference = engine->system->streams[stream].interference;
        ledger->arrived = halt->arrived;
    }
    if (!halt->works) {
        wait_on(actor, halt, waited_before);
        return;
    }
    actor->compute_start = halt->since;
    actor->updated = event_now(engine->queue);
    actor->remaining = halt->remaining;
    engine_post_compute_end(engine, index);
}

/* A transfer that all came to, the last one then: the phase under way ends by an event. */
static void go_on_moving(struct engine *engine, uint32_t number, uint32_t transfer, sim_time start)
{
    const struct engine_system *system = engine->system;
    struct channel *channel = &engine->channels[number];
    channel->is_moving = true;
    channel->started = start;
    const struct engine_channel *plan = &system->channels[number];
    sim_time end = start + plan->latency_ns;
    engine->traffic[number].alone_ns += plan->latency_ns;
    for (uint32_t phase = transfer + 1; phase != 0; phase = system->transfers[phase - 1].next) {
        const struct engine_transfer *step = &system->transfers[phase - 1];
        end += step->latency_ns + engine_direct_ns(engine, plan, step);
        channel->phase = phase - 1;
        channel->bytes_total += step->bytes;
        engine->traffic[number].alone_ns +=
            step->latency_ns + engine_flowing_ns(system, plan, step);
        if (end >= event_now(engine->queue)) {
            break;
        }
    }
    event_post(engine->queue, end, number, EVENT_PHASE_END);
}

/* Those who are still on their way go alone; the weight of those who have come to a collective, the
 * last of them when? */
static uint32_t part(struct engine *engine, uint32_t number, const struct course *course,
                     const struct stretch *found, sim_time *last)
{
    const struct engine_channel *channel = &engine->system->channels[number];
    const struct engine_member *members = &engine->system->members[channel->member_first];
    uint32_t weight = 0;
    for (uint32_t i = 0; i < channel->member_count; i++) {
        const uint32_t index = members[i].actor;
        const struct actor *actor = &engine->actors[index];
        const uint32_t speed = number_of_speed(engine, course->in->table, index);
        const struct halt *halt = &course->halts[speed];
        if (!engine_is_busy(actor, COMPUTE) || actor->stretch != &found[speed]) {
            continue; /* at its end already */
        }
        if (i == 0) {
            engine->traffic[number].transfers += halt->met;
            engine->traffic[number].moving_ns += halt->moving_ns;
            engine->traffic[number].alone_ns += halt->alone_ns;
            engine->channels[number].bytes_total += halt->bytes;
        }
        if (halt->has_come) {
            weight += members[i].weight;
            *last = engine_later(*last, halt->arrived);
        }
        if (engine->late != NULL && halt->met > 0) {
            engine_late_part(engine, index, members[i].stream, halt->met_at);
        }
        go_alone(engine, index, members[i].stream, halt);
    }
    return weight;
}

void engine_together_cut(struct engine *engine, uint32_t index)
{
    const struct engine_system *system = engine->system;
    const struct actor *actor = &engine->actors[index];
    const uint32_t stream = actor->stretch->together;
    const uint32_t number = system->actors[index].channels[stream];
    struct stretch_table *table = table_of(engine, number);
    const uint32_t place = actor->block[COMPUTE];
    struct course course = {
        .engine = engine,
        .in = engine_stretch_block(engine, table, index, place),
        .now = event_now(engine->queue),
    };
    for (uint32_t i = 0; i < table->speed_count; i++) {
        course.at[i] = actor->compute_start;
    }
    const uint32_t speed = number_of_speed(engine, table, index);
    const struct stretch *found = actor->stretch - speed;
    follow(&course, actor->ended[COMPUTE] - actor->program->firsts[place][COMPUTE], found->tasks);
    const uint32_t met = found->meetings[0].first + course.halts[speed].met;
    sim_time last = 0;
    const uint32_t come = part(engine, number, &course, found, &last);
    if (engine->late != NULL) {
        engine_late_cut(engine, index, number, last);
    }
    if (come == system->channels[number].needed) {
        go_on_moving(engine, number, course.in->block->tasks[stream][met].transfer, last);
    } else if (come > 0) {
        engine->channels[number].arrived = come;
    }
}
