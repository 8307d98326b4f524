#include "support/pipeline.h"

#include "base/arena.h"
#include "base/check.h"

enum { COMPUTE, SEND_FORWARD, RECEIVE_FORWARD, SEND_BACKWARD, RECEIVE_BACKWARD, STREAMS };

struct program_lists {
    struct task *tasks[STREAMS];
    uint32_t counts[STREAMS];
};

static void append(struct program_lists *lists, uint32_t stream, const struct task *task)
{
    lists->tasks[stream][lists->counts[stream]++] = *task;
}

static void compute_after(struct program_lists *lists, int64_t ns, uint32_t receive_stream)
{
    struct task task = {.kind = TASK_COMPUTE, .cause = PIPELINE_CAUSE_WORK, .work_ns = ns};
    if (receive_stream != COMPUTE) {
        append(lists, receive_stream, &(struct task){.kind = TASK_RECEIVE});
        task.wait_count = 1;
        task.wait_stream[0] = (uint8_t)receive_stream;
        task.wait_ended[0] = lists->counts[receive_stream];
    }
    append(lists, COMPUTE, &task);
}

static void send_after(struct program_lists *lists, uint32_t stream)
{
    struct task task = {.kind = TASK_SEND, .wait_count = 1};
    task.wait_stream[0] = COMPUTE;
    task.wait_ended[0] = lists->counts[COMPUTE];
    append(lists, stream, &task);
}

static struct engine_program build_program(struct arena *arena, const struct schedule_shape *shape,
                                           const struct pipeline_costs *costs, uint32_t stage)
{
    const uint32_t count = 2 * shape->chunks * shape->microbatches;
    const uint32_t last_piece = shape->chunks * shape->stages - 1;
    const struct schedule_action *actions = schedule_actions(arena, shape, stage);
    struct program_lists lists = {{NULL}, {0}};
    for (uint32_t s = 0; s < STREAMS; s++) {
        lists.tasks[s] = arena_array(arena, count, sizeof(struct task));
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t piece = actions[i].chunk * shape->stages + stage;
        if (actions[i].is_backward) {
            compute_after(&lists, costs->backward_ns,
                          piece == last_piece ? (uint32_t)COMPUTE : (uint32_t)RECEIVE_BACKWARD);
            if (piece > 0) {
                send_after(&lists, SEND_BACKWARD);
            }
        } else {
            compute_after(&lists, costs->forward_ns,
                          piece == 0 ? (uint32_t)COMPUTE : (uint32_t)RECEIVE_FORWARD);
            if (piece < last_piece) {
                send_after(&lists, SEND_FORWARD);
            }
        }
    }
    struct engine_program program = {.step_tasks = 0};
    for (uint32_t s = 0; s < STREAMS; s++) {
        program.tasks[s] = lists.tasks[s];
        program.counts[s] = lists.counts[s];
    }
    return program;
}

static void bind(struct engine_actor *actors, struct engine_member *members, uint32_t channel,
                 struct engine_member sender, struct engine_member receiver)
{
    members[2 * channel] = sender;
    members[2 * channel + 1] = receiver;
    actors[sender.actor].channels[sender.stream] = channel;
    actors[receiver.actor].channels[receiver.stream] = channel;
}

struct engine_system pipeline_system(struct arena *arena, const struct schedule_shape *shape,
                                     const struct pipeline_costs *costs)
{
    const uint32_t p = shape->stages;
    struct engine_program *programs = arena_array(arena, p, sizeof *programs);
    struct engine_actor *actors = arena_array(arena, p, sizeof *actors);
    struct engine_channel *channels = arena_array(arena, 2u * p, sizeof *channels);
    struct engine_member *members = arena_array(arena, 4u * p, sizeof *members);
    struct engine_path *paths = arena_array(arena, 2u * p, sizeof *paths);
    struct engine_transfer *transfer = arena_alloc(arena, sizeof *transfer);
    transfer->latency_ns = costs->latency_ns;
    for (uint32_t s = 0; s < p; s++) {
        programs[s] = build_program(arena, shape, costs, s);
        actors[s] =
            (struct engine_actor){.program = s, .speed = ENGINE_FULL_SPEED, .multiplicity = 1};
        for (uint32_t i = 0; i < ENGINE_STREAMS_MAX; i++) {
            actors[s].channels[i] = ENGINE_NONE;
        }
    }
    for (uint32_t s = 0; s < p && p > 1; s++) { /* the last pair is used by interleaving only */
        const uint32_t next = (s + 1) % p;
        bind(actors, members, 2 * s, (struct engine_member){s, SEND_FORWARD, 1},
             (struct engine_member){next, RECEIVE_FORWARD, 1});
        bind(actors, members, 2 * s + 1, (struct engine_member){next, SEND_BACKWARD, 1},
             (struct engine_member){s, RECEIVE_BACKWARD, 1});
    }
    for (uint32_t c = 0; c < 2 * p; c++) {
        channels[c] = (struct engine_channel){.kind = CHANNEL_PAIR,
                                              .member_first = 2 * c,
                                              .member_count = 2,
                                              .path_first = c,
                                              .path_count = 1,
                                              .multiplicity = 1};
        paths[c] = (struct engine_path){.cap_bytes_per_s = 1};
    }
    struct engine_system system = {.programs = programs,
                                   .actors = actors,
                                   .channels = channels,
                                   .paths = paths,
                                   .members = members,
                                   .transfers = transfer,
                                   .program_count = p,
                                   .actor_count = p,
                                   .channel_count = p > 1 ? 2 * p : 0,
                                   .member_count = p > 1 ? 4 * p : 0,
                                   .path_count = p > 1 ? 2 * p : 0,
                                   .transfer_count = 1,
                                   .job_count = 1,
                                   .stream_count = STREAMS,
                                   .cause_count = 4,
                                   .launch_cause = PIPELINE_CAUSE_OTHER,
                                   .interference_cause = PIPELINE_CAUSE_OTHER,
                                   .end_cause = PIPELINE_CAUSE_BUBBLE};
    for (uint32_t s = 0; s < STREAMS; s++) {
        system.streams[s] =
            (struct engine_stream){"", PIPELINE_CAUSE_EXPOSED, PIPELINE_CAUSE_BUBBLE, 0};
    }
    return system;
}

/* ---- the slow twin ------------------------------------------------------------ */

struct relaxation {
    const struct schedule_shape *shape;
    const struct pipeline_costs *costs;
    int64_t *forward_end; /* [piece][microbatch]; -1: unknown */
    int64_t *backward_end;
    struct schedule_action **orders;
    uint32_t *done;   /* per stage: actions placed */
    int64_t *free_at; /* per stage */
};

static int64_t *cell(const struct relaxation *r, int64_t *table, uint32_t piece, uint32_t mb)
{
    return &table[(size_t)piece * r->shape->microbatches + mb];
}

/* When an action's input is there, -1 if that is not known yet. */
static int64_t input_at(const struct relaxation *r, const struct schedule_action *action,
                        uint32_t piece)
{
    const uint32_t last = r->shape->chunks * r->shape->stages - 1;
    int64_t at;
    if (!action->is_backward) {
        if (piece == 0) {
            return 0;
        }
        at = *cell(r, r->forward_end, piece - 1, action->microbatch);
    } else {
        if (piece == last) {
            return 0;
        }
        at = *cell(r, r->backward_end, piece + 1, action->microbatch);
    }
    const bool is_local = r->shape->stages == 1;
    return at < 0 ? -1 : at + (is_local ? 0 : r->costs->latency_ns);
}

static bool place_next(struct relaxation *r, uint32_t stage)
{
    const uint32_t count = 2 * r->shape->chunks * r->shape->microbatches;
    if (r->done[stage] == count) {
        return false;
    }
    const struct schedule_action *action = &r->orders[stage][r->done[stage]];
    const uint32_t piece = action->chunk * r->shape->stages + stage;
    const int64_t input = input_at(r, action, piece);
    if (input < 0) {
        return false;
    }
    const int64_t start = input > r->free_at[stage] ? input : r->free_at[stage];
    const int64_t end =
        start + (action->is_backward ? r->costs->backward_ns : r->costs->forward_ns);
    *cell(r, action->is_backward ? r->backward_end : r->forward_end, piece, action->microbatch) =
        end;
    r->free_at[stage] = end;
    r->done[stage]++;
    return true;
}

int64_t pipeline_longest_path(struct arena *arena, const struct schedule_shape *shape,
                              const struct pipeline_costs *costs)
{
    const size_t cells = (size_t)shape->chunks * shape->stages * shape->microbatches;
    struct relaxation r = {.shape = shape, .costs = costs};
    r.forward_end = arena_array(arena, cells, sizeof *r.forward_end);
    r.backward_end = arena_array(arena, cells, sizeof *r.backward_end);
    for (size_t i = 0; i < cells; i++) {
        r.forward_end[i] = r.backward_end[i] = -1;
    }
    r.orders = arena_array(arena, shape->stages, sizeof *r.orders);
    r.done = arena_array(arena, shape->stages, sizeof *r.done);
    r.free_at = arena_array(arena, shape->stages, sizeof *r.free_at);
    for (uint32_t s = 0; s < shape->stages; s++) {
        r.orders[s] = schedule_actions(arena, shape, s);
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t s = 0; s < shape->stages; s++) {
            while (place_next(&r, s)) {
                moved = true;
            }
        }
    }
    int64_t makespan = 0;
    for (uint32_t s = 0; s < shape->stages; s++) {
        sim_assert(r.done[s] == 2 * shape->chunks * shape->microbatches);
        makespan = r.free_at[s] > makespan ? r.free_at[s] : makespan;
    }
    return makespan;
}
