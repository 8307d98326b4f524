#include "support/pipeline.h"

#include "base/arena.h"
#include "base/check.h"

/* Up: to the next stage, from the last one to the first. A stage takes messages in the order in
 * which its neighbour sends them. */
enum { COMPUTE, SEND_UP, RECEIVE_UP, SEND_DOWN, RECEIVE_DOWN, STREAMS };

/* What a message brings: a microbatch's activations or gradients, for a slot. */
struct message {
    uint32_t slot;
    uint32_t microbatch;
    bool is_gradient;
};

struct messages {
    struct message *list[2]; /* [is_down] */
    uint32_t counts[2];
};

struct pipeline {
    struct arena *arena;
    const struct pipeline_costs *costs;
    struct schedule_line line;
    struct messages *sent; /* by each stage */
};

/* What an action sends: at most its activations and its gradients. */
static uint32_t messages_of(const struct schedule_line *line, uint32_t stage,
                            const struct schedule_action *action, struct message *messages)
{
    uint32_t count = 0;
    if (schedule_action_is_forward(action)) {
        const uint32_t next = line->slots[stage * line->chunks + action->chunk].next;
        messages[count] = (struct message){next, action->microbatch, false};
        count += next != SCHEDULE_NOWHERE && next / line->chunks != stage;
    }
    if (schedule_action_is_backward(action)) {
        const uint32_t slot = stage * line->chunks + schedule_backward_chunk(action);
        const uint32_t previous = line->slots[slot].previous;
        messages[count] = (struct message){previous, schedule_backward_microbatch(action), true};
        count += previous != SCHEDULE_NOWHERE && previous / line->chunks != stage;
    }
    return count;
}

/* With two stages, both neighbours are the other one: back to stage 0 counts as down. */
static uint32_t is_down(const struct schedule_line *line, uint32_t from, uint32_t slot)
{
    const uint32_t to = slot / line->chunks;
    if (line->stages == 2) {
        return to < from ? 1 : 0;
    }
    return (from + 1) % line->stages == to ? 0 : 1;
}

static void list_messages(const struct pipeline *pipeline, uint32_t stage)
{
    const struct schedule_line *line = &pipeline->line;
    const struct schedule_order *order = &line->orders[stage];
    struct messages *sent = &pipeline->sent[stage];
    for (uint32_t down = 0; down < 2; down++) {
        sent->list[down] = arena_array(pipeline->arena, 2 * order->count, sizeof(struct message));
    }
    for (uint64_t i = 0; i < order->count; i++) {
        struct message messages[2];
        const uint32_t count = messages_of(line, stage, &order->actions[i], messages);
        for (uint32_t k = 0; k < count; k++) {
            const uint32_t down = is_down(line, stage, messages[k].slot);
            sent->list[down][sent->counts[down]++] = messages[k];
        }
    }
}

struct program_lists {
    struct task *tasks[STREAMS];
    uint32_t counts[STREAMS];
};

static void append(struct program_lists *lists, uint32_t stream, const struct task *task)
{
    lists->tasks[stream][lists->counts[stream]++] = *task;
}

/* Waits for the message for `slot`, if it comes from another stage. */
static void wait_for(const struct pipeline *pipeline, uint32_t from, struct message wanted,
                     struct task *task)
{
    const struct schedule_line *line = &pipeline->line;
    const uint32_t stage = wanted.slot / line->chunks;
    if (from == SCHEDULE_NOWHERE || from / line->chunks == stage) {
        return;
    }
    const uint32_t sender = from / line->chunks;
    const uint32_t down = is_down(line, sender, wanted.slot);
    const struct messages *sent = &pipeline->sent[sender];
    uint32_t at = 0;
    while (sent->list[down][at].slot != wanted.slot ||
           sent->list[down][at].microbatch != wanted.microbatch ||
           sent->list[down][at].is_gradient != wanted.is_gradient) {
        at++;
        sim_assert(at < sent->counts[down]);
    }
    task->wait_stream[task->wait_count] = down == 1 ? RECEIVE_DOWN : RECEIVE_UP;
    task->wait_ended[task->wait_count++] = (int32_t)at + 1;
}

static int64_t work_of(const struct pipeline_costs *costs, const struct schedule_action *action)
{
    const bool has_weights = action->operation == SCHEDULE_BACKWARD ||
                             action->operation == SCHEDULE_WEIGHTS ||
                             action->operation == SCHEDULE_PAIR;
    return (schedule_action_is_forward(action) ? costs->forward_ns : 0) +
           (schedule_action_is_backward(action) ? costs->backward_ns : 0) +
           (has_weights ? costs->weights_ns : 0);
}

static void add_action(const struct pipeline *pipeline, struct program_lists *lists, uint32_t stage,
                       const struct schedule_action *action)
{
    const struct schedule_line *line = &pipeline->line;
    struct task task = {.kind = TASK_COMPUTE,
                        .cause = PIPELINE_CAUSE_WORK,
                        .work_ns = work_of(pipeline->costs, action)};
    if (schedule_action_is_forward(action)) {
        const uint32_t slot = stage * line->chunks + action->chunk;
        wait_for(pipeline, line->slots[slot].previous,
                 (struct message){slot, action->microbatch, false}, &task);
    }
    if (schedule_action_is_backward(action)) {
        const uint32_t slot = stage * line->chunks + schedule_backward_chunk(action);
        wait_for(pipeline, line->slots[slot].next,
                 (struct message){slot, schedule_backward_microbatch(action), true}, &task);
    }
    append(lists, COMPUTE, &task);
    struct message messages[2];
    const uint32_t count = messages_of(line, stage, action, messages);
    for (uint32_t k = 0; k < count; k++) {
        struct task send = {.kind = TASK_SEND, .wait_count = 1};
        send.wait_stream[0] = COMPUTE;
        send.wait_ended[0] = (int32_t)lists->counts[COMPUTE];
        append(lists, is_down(line, stage, messages[k].slot) == 1 ? SEND_DOWN : SEND_UP, &send);
    }
}

static struct engine_program build_program(const struct pipeline *pipeline, uint32_t stage)
{
    const struct schedule_line *line = &pipeline->line;
    const struct schedule_order *order = &line->orders[stage];
    const uint32_t below = (stage + line->stages - 1) % line->stages;
    const uint32_t above = (stage + 1) % line->stages;
    const uint32_t receives[] = {pipeline->sent[below].counts[0], pipeline->sent[above].counts[1]};
    const size_t room = 2 * order->count + receives[0] + receives[1];
    struct program_lists lists = {{NULL}, {0}};
    for (uint32_t s = 0; s < STREAMS; s++) {
        lists.tasks[s] = arena_array(pipeline->arena, room, sizeof(struct task));
    }
    for (uint32_t down = 0; down < 2; down++) {
        for (uint32_t i = 0; i < receives[down]; i++) {
            append(&lists, down == 1 ? RECEIVE_DOWN : RECEIVE_UP,
                   &(struct task){.kind = TASK_RECEIVE});
        }
    }
    for (uint64_t i = 0; i < order->count; i++) {
        add_action(pipeline, &lists, stage, &order->actions[i]);
    }
    struct engine_block block = {.counts = {0}};
    for (uint32_t s = 0; s < STREAMS; s++) {
        block.tasks[s] = lists.tasks[s];
        block.counts[s] = lists.counts[s];
    }
    return engine_program_of_one(pipeline->arena, &block);
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
    const struct pipeline pipeline = {
        .arena = arena,
        .costs = costs,
        .line = schedule_line_of(arena, shape, schedule_orders(arena, shape)),
        .sent = arena_array(arena, p, sizeof(struct messages)),
    };
    for (uint32_t s = 0; s < p; s++) {
        list_messages(&pipeline, s);
    }
    struct engine_program *programs = arena_array(arena, p, sizeof *programs);
    struct engine_actor *actors = arena_array(arena, p, sizeof *actors);
    struct engine_channel *channels = arena_array(arena, 2u * p, sizeof *channels);
    struct engine_member *members = arena_array(arena, 4u * p, sizeof *members);
    struct engine_path *paths = arena_array(arena, 2u * p, sizeof *paths);
    struct engine_transfer *transfer = arena_alloc(arena, sizeof *transfer);
    for (uint32_t s = 0; s < p; s++) {
        programs[s] = build_program(&pipeline, s);
        actors[s] =
            (struct engine_actor){.program = s, .speed = ENGINE_FULL_SPEED, .multiplicity = 1};
        for (uint32_t i = 0; i < ENGINE_STREAMS_MAX; i++) {
            actors[s].channels[i] = ENGINE_NONE;
        }
    }
    for (uint32_t s = 0; s < p && p > 1; s++) { /* the last pair is used by interleaving only */
        const uint32_t next = (s + 1) % p;
        bind(actors, members, 2 * s, (struct engine_member){s, SEND_UP, 1},
             (struct engine_member){next, RECEIVE_UP, 1});
        bind(actors, members, 2 * s + 1, (struct engine_member){next, SEND_DOWN, 1},
             (struct engine_member){s, RECEIVE_DOWN, 1});
    }
    for (uint32_t c = 0; c < 2 * p; c++) {
        channels[c] = (struct engine_channel){.kind = CHANNEL_PAIR,
                                              .member_first = 2 * c,
                                              .member_count = 2,
                                              .path_first = c,
                                              .path_count = 1,
                                              .latency_ns = costs->latency_ns,
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

struct schedule_costs pipeline_schedule_costs(const struct pipeline_costs *costs)
{
    return (struct schedule_costs){
        .forward = (double)costs->forward_ns,
        .backward = (double)costs->backward_ns,
        .weights = (double)costs->weights_ns,
        .pair = (double)(costs->forward_ns + costs->backward_ns + costs->weights_ns),
        .latency = (double)costs->latency_ns,
    };
}
