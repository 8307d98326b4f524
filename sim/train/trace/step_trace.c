/* The step is run once more and recorded (train/watch); what a class does is then a merge of its
 * streams. A stream's next task may come when all that it waits for has come; of those that may the
 * one that began first does, so that nodes are in order of time, and each after what it waits for
 * also where several began at one instant.
 */
#include "train/trace/step_trace.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/record/engine_critical.h"
#include "train/program/program_calls.h"
#include "train/step.h"
#include "train/trace/step_seen.h"
#include "train/watch.h"

enum { TAG_BITS = 24 }; /* of a tag, for the number of the message; the stream stands above it */

/* ---- groups --------------------------------------------------------------------------------- */

static const uint32_t *number_ranks(struct arena *arena, const struct group_layout *layout,
                                    enum group_kind kind, uint32_t ranks)
{
    uint32_t *group_of = arena_array(arena, ranks, sizeof *group_of);
    const uint32_t size = groups_size(layout, kind);
    uint32_t *members = arena_array(arena, size, sizeof *members);
    for (uint32_t i = 0; i < ranks; i++) {
        group_of[i] = ENGINE_NONE;
    }
    for (uint32_t number = 0; number < groups_count(layout, kind); number++) {
        groups_members(layout, kind, number, members);
        for (uint32_t i = 0; i < size; i++) {
            group_of[members[i]] = number;
        }
    }
    return group_of;
}

/* Groups of every kind that the layout has, numbered stream after stream. */
static void number_groups(struct arena *arena, struct step_trace *trace)
{
    const struct group_layout *layout = &trace->job->layout;
    uint32_t next = 1;
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        const uint32_t count = groups_count(layout, (enum group_kind)kind);
        if (count == 0) {
            continue;
        }
        const uint32_t *group_of = number_ranks(arena, layout, (enum group_kind)kind, trace->ranks);
        for (uint32_t i = 0; i < group_rows[kind].stream_count; i++) {
            trace->group_of[group_rows[kind].streams[i]] = group_of;
            trace->group_first[group_rows[kind].streams[i]] = next;
            next += count;
        }
    }
    trace->group_end = next;
}

static enum group_kind kind_of_stream(enum stream stream)
{
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        for (uint32_t i = 0; i < group_rows[kind].stream_count; i++) {
            if (group_rows[kind].streams[i] == stream) {
                return (enum group_kind)kind;
            }
        }
    }
    return GROUP_KIND_COUNT_;
}

uint32_t trace_group(const struct step_trace *trace, uint32_t rank, enum stream stream)
{
    sim_assert(trace->group_of[stream] != NULL && trace->group_of[stream][rank] != ENGINE_NONE);
    return trace->group_first[stream] + trace->group_of[stream][rank];
}

uint32_t trace_ranks_alike(const struct step_trace *trace, uint32_t class)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        count += trace->class_of[rank] == class;
    }
    return count;
}

uint32_t trace_group_size(const struct step_trace *trace, enum stream stream)
{
    return groups_size(&trace->job->layout, kind_of_stream(stream));
}

const uint32_t *trace_group_members(struct arena *arena, const struct step_trace *trace,
                                    uint32_t group, uint32_t *count)
{
    enum stream stream = STREAM_COUNT_;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        const bool is_nearer =
            trace->group_of[s] != NULL && trace->group_first[s] <= group &&
            (stream == STREAM_COUNT_ || trace->group_first[s] > trace->group_first[stream]);
        stream = is_nearer ? (enum stream)s : stream;
    }
    sim_assert(stream < STREAM_COUNT_ && group < trace->group_end);
    *count = trace_group_size(trace, stream);
    uint32_t *members = arena_array(arena, *count, sizeof *members);
    groups_members(&trace->job->layout, kind_of_stream(stream), group - trace->group_first[stream],
                   members);
    return members;
}

/* ---- peers ---------------------------------------------------------------------------------- */

/* Of a ring of the group's members, as they are numbered. */
static uint32_t neighbour(struct arena *scratch, const struct step_trace *trace, uint32_t rank,
                          const struct trace_node *node)
{
    uint32_t size;
    const uint32_t *members =
        trace_group_members(scratch, trace, trace_group(trace, rank, node->stream), &size);
    uint32_t place = 0;
    while (members[place] != rank) {
        place++;
        sim_assert(place < size);
    }
    return members[(place + (node->is_ahead ? 1 : size - 1)) % size];
}

uint32_t trace_peer(struct arena *scratch, const struct step_trace *trace, uint32_t rank,
                    const struct trace_node *node)
{
    const struct mesh *mesh = &trace->job->mesh;
    sim_assert(node->kind == TRACE_SEND || node->kind == TRACE_RECEIVE);
    if (trace->group_of[node->stream] != NULL) {
        return neighbour(scratch, trace, rank, node);
    }
    const uint32_t stage = mesh_stage_of(mesh, rank) + (node->is_ahead ? 1 : mesh->pp - 1);
    return mesh_stage_rank(mesh, stage % mesh->pp, mesh_stage_place(mesh, rank));
}

/* ---- what a task becomes -------------------------------------------------------------------- */

struct merging {
    struct arena *arena;
    struct step_trace *trace;
    struct trace_tasks *tasks;
    uint32_t class;
    struct engine_walk walks[STREAM_COUNT_];
    sim_time starts[STREAM_COUNT_]; /* of the task that is next */
    uint32_t *nodes[STREAM_COUNT_]; /* of each task: its first node, */
    bool *are_two[STREAM_COUNT_];   /* and whether the next one is its, too */
};

static struct trace_node *add(struct merging *merging, const struct trace_node *like)
{
    struct trace_tasks *tasks = merging->tasks;
    tasks->nodes[tasks->count] = *like;
    return &tasks->nodes[tasks->count++];
}

static void add_compute(struct merging *merging, uint32_t index, struct trace_node node)
{
    const struct program_actions *actions = &merging->trace->watch->actions[merging->tasks->stage];
    const struct engine_span span =
        engine_record_span(merging->trace->record, merging->class, STREAM_COMPUTE, index);
    sim_assert(index < actions->task_count);
    node.kind = TRACE_COMPUTE;
    node.cause = (enum cause)merging->walks[STREAM_COMPUTE].task->cause;
    node.action = actions->action_of[index];
    node.flop = actions->amounts[index].flop;
    node.bytes = actions->amounts[index].bytes;
    node.start = span.start;
    node.end = span.end;
    node.came = span.start;
    node.segments = actions->amounts[index].segments;
    const struct task *task = merging->walks[STREAM_COMPUTE].task;
    const struct engine_system *system = engine_record_system(merging->trace->record);
    const uint32_t speed = system->actors[merging->class].speed;
    node.launch_ns = engine_launch_ns(task, speed);
    node.interference_ns = span.end - span.start - engine_work_ns(task, speed);
    add(merging, &node);
}

static uint32_t tag_of(enum stream sender, uint32_t index)
{
    sim_assert(index < 1U << TAG_BITS);
    return (uint32_t)sender << TAG_BITS | index;
}

/* Of a channel of two stages, or of neighbours in a group. `sender`: whose stream numbers it. */
static void add_message(struct merging *merging, struct trace_node node, bool is_sent,
                        bool is_ahead, enum stream sender)
{
    node.kind = is_sent ? TRACE_SEND : TRACE_RECEIVE;
    node.is_ahead = is_ahead;
    node.tag = tag_of(sender, merging->walks[node.stream].index);
    add(merging, &node);
}

/* Two stages that meet: the first one's tasks are on STREAM_SEND_FORWARD. */
static void add_call(struct merging *merging, const struct trace_node *node, enum call_way way)
{
    const bool is_first = node->stream == STREAM_SEND_FORWARD;
    if (way != CALL_BACK) {
        add_message(merging, *node, is_first, is_first, STREAM_SEND_FORWARD);
    }
    if (way != CALL_AHEAD) {
        add_message(merging, *node, !is_first, is_first, STREAM_SEND_BACKWARD);
    }
}

static bool is_between_stages(enum stream stream)
{
    return stream >= STREAM_SEND_FORWARD && stream <= STREAM_RECEIVE_BACKWARD;
}

static void add_transfer(struct merging *merging, const struct task *task, struct trace_node node)
{
    const struct transfer_table *table = &merging->trace->watch->system->transfers;
    const enum stream stream = node.stream;
    const struct engine_span span = engine_critical_moving(merging->trace->record, merging->class,
                                                           stream, merging->walks[stream].index);
    node.operation = table->origins[task->transfer].operation;
    node.bytes = table->origins[task->transfer].bytes;
    node.start = span.start;
    node.end = span.end;
    node.transfer = task->transfer;
    node.came = engine_record_span(merging->trace->record, merging->class, stream,
                                   merging->walks[stream].index)
                    .start;
    if (task->kind == TASK_SEND) {
        add_message(merging, node, true, stream == STREAM_SEND_FORWARD, stream);
    } else if (task->kind == TASK_RECEIVE) {
        const bool is_ahead = stream == STREAM_RECEIVE_BACKWARD;
        add_message(merging, node, false, is_ahead,
                    is_ahead ? STREAM_SEND_BACKWARD : STREAM_SEND_FORWARD);
    } else if (is_between_stages(stream)) {
        add_call(merging, &node, (enum call_way)table->items[task->transfer].path);
    } else if (merging->trace->group_of[stream] == NULL) {
        const bool is_load = stream == STREAM_READ || stream == STREAM_FETCH;
        node.kind = is_load ? TRACE_LOAD : TRACE_STORE;
        add(merging, &node);
    } else if (node.operation == COLLECTIVE_SHIFT) {
        add_message(merging, node, true, true, stream);
        add_message(merging, node, false, false, stream);
    } else {
        node.kind = TRACE_COLLECTIVE;
        add(merging, &node);
    }
}

/* ---- what it waits for ---------------------------------------------------------------------- */

/* A task's one or two nodes. */
static uint32_t *add_wait(const struct merging *merging, enum stream stream, uint32_t index,
                          uint32_t *waits)
{
    const uint32_t first = merging->nodes[stream][index];
    *waits++ = first;
    if (merging->are_two[stream][index]) {
        *waits++ = first + 1;
    }
    return waits;
}

static struct trace_node waits_of(const struct merging *merging, enum stream stream)
{
    const struct engine_walk *walk = &merging->walks[stream];
    const uint32_t most = 2 * (walk->task->wait_count + 1U);
    uint32_t *const waits = arena_array(merging->arena, most, sizeof *waits);
    uint32_t *end = waits;
    if (walk->index > 0) {
        end = add_wait(merging, stream, walk->index - 1, end);
    }
    for (uint32_t i = 0; i < walk->task->wait_count; i++) {
        const uint32_t ended = engine_walk_wait(walk, i);
        const enum stream other = (enum stream)walk->task->wait_stream[i];
        if (ended > 0 && other != stream) {
            end = add_wait(merging, other, ended - 1, end);
        }
    }
    return (struct trace_node){.stream = stream,
                               .index = walk->index,
                               .action = PROGRAM_NO_ACTION,
                               .waits = waits,
                               .wait_count = (uint32_t)(end - waits)};
}

/* ---- the merge ------------------------------------------------------------------------------ */

static void look_ahead(struct merging *merging, uint32_t stream)
{
    if (merging->walks[stream].task != NULL) {
        merging->starts[stream] = engine_record_span(merging->trace->record, merging->class, stream,
                                                     merging->walks[stream].index)
                                      .start;
    }
}

static bool may_come(const struct merging *merging, uint32_t stream)
{
    const struct engine_walk *walk = &merging->walks[stream];
    for (uint32_t i = 0; i < walk->task->wait_count; i++) {
        if (engine_walk_wait(walk, i) > merging->walks[walk->task->wait_stream[i]].index) {
            return false;
        }
    }
    return true;
}

/* STREAM_COUNT_: that was all. */
static enum stream next_stream(const struct merging *merging)
{
    uint32_t next = STREAM_COUNT_;
    bool is_left = false;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        const bool is_there = merging->walks[s].task != NULL;
        is_left = is_left || is_there;
        if (is_there && (next == STREAM_COUNT_ || merging->starts[s] < merging->starts[next]) &&
            may_come(merging, s)) {
            next = s;
        }
    }
    sim_assert(next < STREAM_COUNT_ || !is_left);
    return (enum stream)next;
}

static void add_task(struct merging *merging, enum stream stream)
{
    struct engine_walk *walk = &merging->walks[stream];
    const struct trace_node node = waits_of(merging, stream);
    const uint32_t first = merging->tasks->count;
    merging->nodes[stream][walk->index] = first;
    if (stream == STREAM_COMPUTE) {
        add_compute(merging, walk->index, node);
    } else {
        add_transfer(merging, walk->task, node);
    }
    merging->are_two[stream][walk->index] = merging->tasks->count == first + 2;
    merging->tasks->tasks++;
    engine_walk_next(walk);
    look_ahead(merging, stream);
}

/* All wait for the slowest GPU, after the last task of each stream. */
static void add_jitter(struct merging *merging)
{
    const struct step_trace *trace = merging->trace;
    uint32_t *const waits = arena_array(merging->arena, 2 * (size_t)STREAM_COUNT_, sizeof *waits);
    uint32_t *end = waits;
    if (trace->jitter_ns == 0) {
        return;
    }
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        if (merging->walks[s].index > 0) {
            end = add_wait(merging, (enum stream)s, merging->walks[s].index - 1, end);
        }
    }
    add(merging, &(struct trace_node){.kind = TRACE_COMPUTE,
                                      .cause = CAUSE_STRAGGLER_WAIT,
                                      .action = PROGRAM_NO_ACTION,
                                      .start = trace->end - trace->jitter_ns,
                                      .came = trace->end - trace->jitter_ns,
                                      .end = trace->end,
                                      .waits = waits,
                                      .wait_count = (uint32_t)(end - waits)});
}

void step_trace_tasks(struct arena *arena, struct step_trace *trace, uint32_t class,
                      struct trace_tasks *tasks)
{
    const struct engine_system *system = engine_record_system(trace->record);
    const struct engine_program *program = engine_program_of_actor(system, class);
    struct merging merging = {.arena = arena, .trace = trace, .tasks = tasks, .class = class};
    size_t count = 0;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        count += program->counts[s];
        merging.nodes[s] = arena_array(arena, program->counts[s], sizeof *merging.nodes[s]);
        merging.are_two[s] = arena_array(arena, program->counts[s], sizeof *merging.are_two[s]);
        merging.walks[s] = engine_walk_of(program, s);
        look_ahead(&merging, s);
    }
    *tasks = (struct trace_tasks){
        .stage = system->actors[class].program - trace->watch->program_first,
        .nodes = arena_room(arena, 2 * count + 1, sizeof *tasks->nodes),
    };
    for (enum stream next = next_stream(&merging); next < STREAM_COUNT_;
         next = next_stream(&merging)) {
        add_task(&merging, next);
    }
    sim_assert(tasks->tasks == count); /* each once */
    add_jitter(&merging);
}

const char *trace_action(struct arena *arena, const struct step_trace *trace, uint32_t stage,
                         const struct trace_node *node)
{
    const struct schedule_order *order = &trace->watch->actions[stage].order;
    return node->action == PROGRAM_NO_ACTION
               ? NULL
               : schedule_action_text(arena, &order->actions[node->action], trace->watch->chunks);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static const uint32_t *classes_of(struct arena *arena, const struct step_trace *trace)
{
    uint32_t *class_of = arena_array(arena, trace->ranks, sizeof *class_of);
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        class_of[rank] = trace->watch->folded
                             ->actor_class[system_actor_of(trace->watch->system, trace->job, rank)];
    }
    return class_of;
}

void step_trace_simulate(struct arena *arena, const struct scenario *scenario,
                         const struct step_trace_request *request, struct step_trace *trace)
{
    const struct step_result *step = request->step;
    struct watch *watch = arena_alloc(arena, sizeof *watch);
    watch_prepare(arena, scenario,
                  &(struct watch_request){.folds = request->folds, .counts_work = true}, watch);
    watch->member.number = step->spread.median;
    *trace = (struct step_trace){
        .watch = watch,
        .record = engine_record_new(arena),
        .job = &watch->system->jobs[0],
        .ranks = mesh_size(&watch->system->jobs[0].mesh),
        .jitter_ns = step->jitter_ns,
    };
    watch_fold(arena, watch);
    struct engine_options hooks;
    if (request->seen != NULL) {
        hooks = step_seen_hooks(arena, watch, request->seen);
    }
    trace->end = watch_record(arena, watch, trace->record, request->seen != NULL ? &hooks : NULL);
    if (request->seen != NULL) {
        step_seen_end(request->seen, trace->record, trace->end);
    }
    trace->end += trace->jitter_ns;
    trace->classes = watch->folded->engine.actor_count;
    trace->class_of = classes_of(arena, trace);
    number_groups(arena, trace);
}
