/* Events are written as they are made. To know how many there will be, the same functions count
 * first, with no stream to write to: of each class once.
 */
#include "report/trace/step_events.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/gzip.h"
#include "base/path.h"
#include "base/version.h"
#include "des/record/engine_critical.h"
#include "input/slow_ranks.h"
#include "plan/memory/memory.h"
#include "plan/memory/memory_live.h"
#include "report/trace/kernel_names.h"
#include "report/trace/trace_lines.h"
#include "run/power_trace.h"
#include "train/trace/step_seen.h"

#include <string.h>

enum { PROCESS_PATH = 1, PROCESS_LINKS, PROCESS_SITE, PROCESS_RANKS = 1000 };
enum { LANE_COMPUTE = 1, LANE_WAITS, LANE_STREAMS }; /* stream s has LANE_STREAMS + s */
enum { LANE_WHO = 1, LANE_WHAT };

static const double GBPS = 1e9 / 8; /* bytes/s */

struct writer {
    const struct step_events *of;
    struct trace_lines lines;
    struct arena *scratch; /* of what is being written */
    const bool *is_shown;  /* [ranks] */
    uint32_t *speaker;     /* [class]: its first rank that is shown; ENGINE_NONE: none is */
    sim_time until;        /* details that begin later are left out */
    uint64_t *details;     /* [DETAIL_BINS] of the step: how many begin there; NULL: not counted */
    uint32_t rank, class;
    struct trace_tasks tasks; /* of the class */
};

static const struct engine_system *run_of(const struct writer *writer)
{
    return &writer->of->trace->watch->folded->engine;
}

static struct trace_lane lane_of(uint32_t rank, uint32_t stream)
{
    return (struct trace_lane){PROCESS_RANKS + rank,
                               stream == STREAM_COMPUTE ? LANE_COMPUTE : LANE_STREAMS + stream};
}

/* ---- what is left out ----------------------------------------------------------------------- */

static bool is_detail(const struct trace_node *node)
{
    return node->stream == STREAM_COMPUTE ? node->action != PROGRAM_NO_ACTION
                                          : node->stream <= STREAM_RECEIVE_BACKWARD;
}

enum { DETAIL_BINS = 1024 };

/* All events since there were so many are details of something that began then. */
static void count_details(struct writer *writer, sim_time start, uint64_t since)
{
    if (writer->details != NULL) {
        const double share = (double)start / (double)writer->of->trace->end;
        writer->details[(uint32_t)(share * (DETAIL_BINS - 1))] += writer->lines.count - since;
    }
}

static bool is_left_out(const struct writer *writer, const struct trace_node *node)
{
    return is_detail(node) && node->start >= writer->until;
}

/* ---- kernels -------------------------------------------------------------------------------- */

static const char *const operation_names[] = {
    [SCHEDULE_FORWARD] = "forward",
    [SCHEDULE_BACKWARD] = "backward",
    [SCHEDULE_BACKWARD_INPUT] = "backward, input gradients",
    [SCHEDULE_WEIGHTS] = "backward, weight gradients",
    [SCHEDULE_PAIR] = "forward beside backward",
};

/* From the first kernel of an action to the last one's end. */
static struct trace_span *spans_of_actions(const struct writer *writer)
{
    const struct program_actions *actions = &writer->of->trace->watch->actions[writer->tasks.stage];
    struct trace_span *spans = arena_array(writer->scratch, actions->order.count, sizeof *spans);
    for (uint32_t i = 0; i < writer->tasks.count; i++) {
        const struct trace_node *node = &writer->tasks.nodes[i];
        if (node->stream == STREAM_COMPUTE && node->action != PROGRAM_NO_ACTION) {
            struct trace_span *span = &spans[node->action];
            span->start = span->end == 0 ? node->start : span->start;
            span->end = node->end;
        }
    }
    return spans;
}

static void write_action(struct writer *writer, const struct trace_node *node,
                         struct trace_span span)
{
    const struct step_trace *trace = writer->of->trace;
    const struct schedule_action *action =
        &trace->watch->actions[writer->tasks.stage].order.actions[node->action];
    trace_slice(&writer->lines, lane_of(writer->rank, STREAM_COMPUTE),
                trace_action(writer->scratch, trace, writer->tasks.stage, node),
                operation_names[action->operation], span);
    trace_argument_number(&writer->lines, "microbatch", action->microbatch);
    trace_argument_number(&writer->lines, "chunk", action->chunk);
}

static void write_kernels(struct writer *writer, const struct trace_node *node)
{
    const char *name = kernel_name(writer->scratch, node->segments);
    trace_slice(&writer->lines, lane_of(writer->rank, STREAM_COMPUTE),
                *name != '\0' ? name : cause_titles[node->cause], "kernels",
                (struct trace_span){node->start, node->end});
    trace_argument_text(&writer->lines, "cause", cause_names[node->cause]);
    if (node->flop > 0) {
        trace_argument_number(&writer->lines, "flop", node->flop);
        trace_argument_number(&writer->lines, "tflops",
                              node->flop / ((double)(node->end - node->start) / 1e9) / 1e12);
    }
    if (node->bytes > 0) {
        trace_argument_number(&writer->lines, "bytes", node->bytes);
    }
    trace_argument_time(&writer->lines, "launch_us", node->launch_ns);
    trace_argument_time(&writer->lines, "overlap_slowdown_us", node->interference_ns);
}

static void write_wait(struct writer *writer, const struct seen_wait *wait)
{
    trace_slice(&writer->lines, (struct trace_lane){PROCESS_RANKS + writer->rank, LANE_WAITS},
                cause_titles[wait->cause], "wait", (struct trace_span){wait->start, wait->end});
    trace_argument_text(&writer->lines, "cause", cause_names[wait->cause]);
}

static void write_waits(struct writer *writer)
{
    const struct seen_waits *waits = &writer->of->seen->waits[writer->class];
    for (size_t i = 0; i < waits->count; i++) {
        if (waits->items[i].start < writer->until) {
            write_wait(writer, &waits->items[i]);
            count_details(writer, waits->items[i].start, writer->lines.count - 1);
        }
    }
}

/* ---- transfers ------------------------------------------------------------------------------ */

/* `other`: of a rank that sends and receives at once, the second; else NULL. */
static const char *transfer_name(const struct writer *writer, const struct trace_node *node,
                                 const struct trace_node *other)
{
    const char *stream = run_of(writer)->streams[node->stream].name;
    const bool is_message = node->kind == TRACE_SEND || node->kind == TRACE_RECEIVE;
    const char *what = other != NULL                 ? "send and receive"
                       : node->kind == TRACE_SEND    ? "send"
                       : node->kind == TRACE_RECEIVE ? "receive"
                                                     : NULL;
    if (is_message) {
        return writer->of->trace->group_of[node->stream] == NULL
                   ? what
                   : arena_printf(writer->scratch, "%s %s", stream, what);
    }
    return node->kind == TRACE_COLLECTIVE
               ? arena_printf(writer->scratch, "%s %s", stream,
                              collective_operation_names[node->operation])
               : stream;
}

static void write_route(struct writer *writer, const struct transfer_origin *origin)
{
    const struct step_system *system = writer->of->trace->watch->system;
    if (!origin->has_quote) {
        return;
    }
    trace_argument_text(&writer->lines, "algorithm",
                        transfer_algorithm_name(&origin->shape, origin->algorithm));
    trace_argument_text(&writer->lines, "protocol", collective_protocol_names[origin->protocol]);
    trace_argument_text(&writer->lines, "bound_by",
                        origin->bottleneck == ENGINE_NONE
                            ? "library"
                            : link_titles[fabric_link_kind(&system->fabric, origin->bottleneck)]);
    trace_argument_number(&writer->lines, "alone_us", origin->time_s * 1e6);
}

static void write_peer(struct writer *writer, const struct trace_node *node)
{
    if (node->kind == TRACE_SEND || node->kind == TRACE_RECEIVE) {
        trace_argument_number(&writer->lines, node->kind == TRACE_SEND ? "to_rank" : "from_rank",
                              trace_peer(writer->scratch, writer->of->trace, writer->rank, node));
    }
}

static void write_transfer(struct writer *writer, const struct trace_node *node,
                           const struct trace_node *other, struct trace_span span)
{
    const struct step_trace *trace = writer->of->trace;
    const struct transfer_origin *origin = &trace->watch->system->transfers.origins[node->transfer];
    trace_slice(&writer->lines, lane_of(writer->rank, node->stream),
                transfer_name(writer, node, other),
                cause_names[run_of(writer)->streams[node->stream].exposed_cause], span);
    trace_argument_number(&writer->lines, "bytes", node->bytes);
    trace_argument_number(&writer->lines, "gbps",
                          node->bytes / ((double)(span.end - span.start) / 1e9) / GBPS);
    if (node->kind == TRACE_COLLECTIVE) {
        trace_argument_number(&writer->lines, "ranks", trace_group_size(trace, node->stream));
    }
    write_peer(writer, node);
    if (other != NULL) {
        write_peer(writer, other);
    }
    write_route(writer, origin);
}

/* The other end of a message's channel: neighbours of a ring have the same stream. */
static uint32_t stream_of_peer(const struct writer *writer, const struct trace_node *node)
{
    const struct engine_system *run = run_of(writer);
    if (writer->of->trace->group_of[node->stream] != NULL) {
        return node->stream;
    }
    const struct engine_channel *channel =
        &run->channels[run->actors[writer->class].channels[node->stream]];
    const struct engine_member *members = &run->members[channel->member_first];
    sim_assert(channel->member_count == 2);
    return members[members[0].stream == node->stream ? 1 : 0].stream;
}

/* From within the slice of the sender, or of who does the same, to within that of the receiver. */
static void write_arrival(struct writer *writer, const struct trace_node *node, sim_time end)
{
    struct step_trace *trace = writer->of->trace;
    if (writer->lines.out == NULL) { /* as many as there are, if all are shown */
        trace_flow(&writer->lines, "", lane_of(0, 0), 0, lane_of(0, 0), 0);
        return;
    }
    const uint32_t sender = trace_peer(writer->scratch, trace, writer->rank, node);
    const uint32_t class = trace->class_of[sender];
    const uint32_t shown = writer->is_shown[sender] ? sender : writer->speaker[class];
    if (shown == ENGINE_NONE) {
        return;
    }
    const uint32_t stream = stream_of_peer(writer, node);
    const struct engine_span sent =
        engine_critical_moving(trace->record, class, stream, node->index);
    if (sent.start + 1 < sent.end && sent.start + 1 < end && sent.start < writer->until) {
        trace_flow(&writer->lines, run_of(writer)->streams[stream].name, lane_of(shown, stream),
                   sent.start + 1, lane_of(writer->rank, node->stream), end - 1);
    }
}

static bool is_same_task(const struct trace_node *a, const struct trace_node *b)
{
    return a->stream == b->stream && a->index == b->index;
}

/* A rank that sends and receives at once has two nodes, of which the first is a slice. A message
 * may be on its way while the one before it arrives: it is shown from then on. */
static void write_moves(struct writer *writer, uint32_t number, sim_time *lane_end)
{
    const struct trace_node *node = &writer->tasks.nodes[number];
    const bool is_second = number > 0 && is_same_task(&node[-1], node);
    const bool is_first = number + 1 < writer->tasks.count && is_same_task(node, &node[1]);
    const struct trace_span span = {node->start > *lane_end ? node->start : *lane_end, node->end};
    if (!is_second && node->kind == TRACE_COLLECTIVE && node->came < span.start) {
        const sim_time came = node->came > *lane_end ? node->came : *lane_end;
        trace_slice(&writer->lines, lane_of(writer->rank, node->stream), "waits for peers", "wait",
                    (struct trace_span){came, span.start});
    }
    if (!is_second && span.end > span.start) {
        write_transfer(writer, node, is_first ? &node[1] : NULL, span);
    }
    if (node->kind == TRACE_RECEIVE) {
        write_arrival(writer, node, node->end);
    }
    *lane_end = node->end > *lane_end ? node->end : *lane_end;
}

/* ---- memory --------------------------------------------------------------------------------- */

static void write_memory(struct writer *writer, const struct trace_span *spans)
{
    static const char NAME[] = "memory, GB";
    const struct memory_job *job = writer->of->memory;
    const uint32_t process = PROCESS_RANKS + writer->rank;
    uint64_t count = 0;
    const struct memory_alive *alive =
        memory_live_over_actions(writer->scratch, job, writer->tasks.stage, &count);
    double most = 0;
    for (uint64_t i = 0; i < count; i++) {
        most = alive[i].during_bytes > most ? alive[i].during_bytes : most;
    }
    const double rest = memory_of_stage(job, writer->tasks.stage).total_bytes - most;
    trace_counter(&writer->lines, process, NAME, 0, rest / 1e9);
    for (uint64_t i = 0; i < count; i++) {
        trace_counter(&writer->lines, process, NAME, spans[i].start,
                      (rest + alive[i].during_bytes) / 1e9);
        trace_counter(&writer->lines, process, NAME, spans[i].end,
                      (rest + alive[i].after_bytes) / 1e9);
    }
}

/* ---- a rank --------------------------------------------------------------------------------- */

static const char *rank_name(const struct writer *writer, uint32_t rank)
{
    const struct step_trace *trace = writer->of->trace;
    const uint32_t speed = run_of(writer)->actors[trace->class_of[rank]].speed;
    const char *slow = speed < ENGINE_FULL_SPEED
                           ? arena_printf(writer->scratch, ", slow: %.4g %% of the speed",
                                          100.0 * speed / ENGINE_FULL_SPEED)
                           : "";
    return arena_printf(writer->scratch, "rank %u (stage %u%s)", rank,
                        mesh_stage_of(&trace->job->mesh, rank), slow);
}

static void write_names(struct writer *writer)
{
    const struct step_trace *trace = writer->of->trace;
    const struct engine_system *run = run_of(writer);
    const struct engine_program *program = engine_program_of_actor(run, writer->class);
    const uint32_t process = PROCESS_RANKS + writer->rank;
    const uint32_t alike = trace_ranks_alike(trace, writer->class);
    trace_process(&writer->lines, process, rank_name(writer, writer->rank),
                  alike > 1 ? arena_printf(writer->scratch, "%u ranks do the same", alike) : NULL);
    trace_lane_name(&writer->lines, lane_of(writer->rank, STREAM_COMPUTE), "compute");
    trace_lane_name(&writer->lines, (struct trace_lane){process, LANE_WAITS}, "waits");
    for (uint32_t s = STREAM_COMPUTE + 1; s < STREAM_COUNT_; s++) {
        if (program->counts[s] > 0) {
            trace_lane_name(&writer->lines, lane_of(writer->rank, s), run->streams[s].name);
        }
    }
}

/* The wait for the slowest GPU is a node of the trace and not of the run. */
static bool is_wait_at_end(const struct writer *writer, uint32_t number)
{
    return writer->of->trace->jitter_ns > 0 && number == writer->tasks.count - 1;
}

static void write_nodes(struct writer *writer, const struct trace_span *spans)
{
    sim_time lane_ends[STREAM_COUNT_] = {0};
    uint32_t action = PROGRAM_NO_ACTION;
    for (uint32_t i = 0; i < writer->tasks.count; i++) {
        const struct trace_node *node = &writer->tasks.nodes[i];
        if (is_wait_at_end(writer, i)) {
            write_wait(writer, &(struct seen_wait){node->start, node->end, node->cause});
            continue;
        }
        if (node->stream == STREAM_COMPUTE && node->action != PROGRAM_NO_ACTION &&
            node->action != action) {
            action = node->action;
            write_action(writer, node, spans[action]);
        }
        if (is_left_out(writer, node)) {
            continue;
        }
        const uint64_t before = writer->lines.count;
        if (node->stream != STREAM_COMPUTE) {
            write_moves(writer, i, &lane_ends[node->stream]);
        } else if (node->end > node->start) {
            write_kernels(writer, node);
        }
        if (is_detail(node)) {
            count_details(writer, node->start, before);
        }
    }
}

/* Of the class whose tasks are there. */
static void write_rank(struct writer *writer, uint32_t rank)
{
    struct arena *scratch = arena_new();
    writer->scratch = scratch;
    writer->rank = rank;
    const struct trace_span *spans = spans_of_actions(writer);
    write_names(writer);
    write_nodes(writer, spans);
    write_waits(writer);
    write_memory(writer, spans);
    writer->scratch = NULL;
    arena_free(scratch);
}

/* ---- the critical path ---------------------------------------------------------------------- */

struct path_leg {
    uint32_t class, stream, index;
    bool is_on_its_way;
    struct trace_span span;
};

struct path {
    struct arena *arena;
    struct path_leg *legs; /* the last one first */
    size_t count, capacity;
};

static void note_leg(void *context, const struct engine_leg *leg)
{
    struct path *path = context;
    sim_assert(leg->times == 1);
    if (leg->end > leg->begin) {
        path->legs = arena_grow(path->arena, path->legs, &path->capacity, path->count + 1,
                                sizeof *path->legs);
        path->legs[path->count++] = (struct path_leg){
            leg->actor, leg->stream, leg->index, leg->is_on_its_way, {leg->begin, leg->end}};
    }
}

static uint32_t first_rank(const struct step_trace *trace, uint32_t class)
{
    uint32_t rank = 0;
    while (trace->class_of[rank] != class) {
        rank++;
        sim_assert(rank < trace->ranks);
    }
    return rank;
}

static uint32_t speaker_of(const struct writer *writer, uint32_t class)
{
    return writer->speaker[class] != ENGINE_NONE ? writer->speaker[class]
                                                 : first_rank(writer->of->trace, class);
}

static const char *compute_name(const struct writer *writer, const struct path_leg *leg,
                                const struct task *task)
{
    const struct step_trace *trace = writer->of->trace;
    const uint32_t stage = run_of(writer)->actors[leg->class].program - trace->watch->program_first;
    const struct program_actions *actions = &trace->watch->actions[stage];
    const char *kernels = kernel_name(writer->scratch, actions->amounts[leg->index].segments);
    kernels = *kernels != '\0' ? kernels : cause_titles[task->cause];
    const struct trace_node node = {.action = actions->action_of[leg->index]};
    const char *action = trace_action(writer->scratch, trace, stage, &node);
    return action != NULL ? arena_printf(writer->scratch, "%s %s", action, kernels) : kernels;
}

static void write_leg(struct writer *writer, const struct path_leg *leg)
{
    const struct engine_system *run = run_of(writer);
    const struct task *task =
        engine_program_task(engine_program_of_actor(run, leg->class), leg->stream, leg->index);
    const bool computes = leg->stream == STREAM_COMPUTE;
    const struct transfer_origin *origins = writer->of->trace->watch->system->transfers.origins;
    const uint8_t cause = computes ? task->cause : run->streams[leg->stream].exposed_cause;
    const char *name =
        computes ? compute_name(writer, leg, task)
        : task->kind == TASK_COLLECTIVE
            ? arena_printf(writer->scratch, "%s %s", run->streams[leg->stream].name,
                           collective_operation_names[origins[task->transfer].operation])
            : arena_printf(writer->scratch, "%s%s", run->streams[leg->stream].name,
                           leg->is_on_its_way ? ", latency" : "");
    trace_slice(&writer->lines, (struct trace_lane){PROCESS_PATH, LANE_WHAT}, name,
                computes ? "kernels" : "transfer", leg->span);
    trace_argument_text(&writer->lines, "cause", cause_names[cause]);
    trace_argument_number(&writer->lines, "rank", speaker_of(writer, leg->class));
    if (!computes) {
        trace_argument_number(&writer->lines, "bytes", origins[task->transfer].bytes);
    }
}

/* Legs that follow one another on one rank. */
static void write_who(struct writer *writer, const struct path *path)
{
    const struct trace_lane lane = {PROCESS_PATH, LANE_WHO};
    size_t left = path->count;
    while (left > 0) {
        const struct path_leg *first = &path->legs[--left];
        struct trace_span span = first->span;
        while (left > 0 && path->legs[left - 1].class == first->class) {
            span.end = path->legs[--left].span.end;
        }
        trace_slice(&writer->lines, lane, rank_name(writer, speaker_of(writer, first->class)),
                    "rank", span);
    }
}

static void write_path(struct writer *writer)
{
    struct arena *scratch = arena_new();
    const struct step_trace *trace = writer->of->trace;
    struct path path = {.arena = scratch};
    writer->scratch = scratch;
    engine_critical_walk(trace->record, note_leg, &path);
    trace_process(&writer->lines, PROCESS_PATH, "critical path", NULL);
    trace_lane_name(&writer->lines, (struct trace_lane){PROCESS_PATH, LANE_WHO}, "on rank");
    trace_lane_name(&writer->lines, (struct trace_lane){PROCESS_PATH, LANE_WHAT}, "with");
    write_who(writer, &path);
    for (size_t i = path.count; i-- > 0;) {
        if (path.legs[i].span.start < writer->until) {
            write_leg(writer, &path.legs[i]);
            count_details(writer, path.legs[i].span.start, writer->lines.count - 1);
        }
    }
    if (trace->jitter_ns > 0) {
        const struct trace_span span = {trace->end - trace->jitter_ns, trace->end};
        trace_slice(&writer->lines, (struct trace_lane){PROCESS_PATH, LANE_WHO}, "the slowest GPU",
                    "rank", span);
        trace_slice(&writer->lines, (struct trace_lane){PROCESS_PATH, LANE_WHAT},
                    cause_titles[CAUSE_STRAGGLER_WAIT], "wait", span);
        trace_argument_text(&writer->lines, "cause", cause_names[CAUSE_STRAGGLER_WAIT]);
    }
    writer->scratch = NULL;
    arena_free(scratch);
}

/* ---- counters ------------------------------------------------------------------------------- */

struct curve {
    const char *name;
    const double *values;
    uint32_t count;
    sim_time bin_ns, end;
};

/* What is as it was is not told again. */
static void write_curve(struct writer *writer, uint32_t process, const struct curve *curve)
{
    const double *values = curve->values;
    for (uint32_t i = 0; i < curve->count; i++) {
        if (i == 0 || values[i] < values[i - 1] || values[i] > values[i - 1]) {
            trace_counter(&writer->lines, process, curve->name, i * curve->bin_ns, values[i]);
        }
    }
    trace_counter(&writer->lines, process, curve->name, curve->end, 0);
}

static void write_links(struct writer *writer)
{
    const struct seen_links *links = &writer->of->seen->links;
    const sim_time end = writer->of->trace->end - writer->of->trace->jitter_ns;
    struct arena *scratch = arena_new();
    trace_process(&writer->lines, PROCESS_LINKS, "links", "Gbps on the mean link of a kind");
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        if (links->bytes[kind] == NULL) {
            continue;
        }
        double *gbps = arena_array(scratch, links->bins, sizeof *gbps);
        for (uint32_t i = 0; i < links->bins; i++) {
            const sim_time left = end - i * links->bin_ns;
            const sim_time width = left < links->bin_ns ? left : links->bin_ns;
            gbps[i] = links->bytes[kind][i] / sim_time_to_s(width) / GBPS;
        }
        const char *name =
            arena_printf(scratch, "%s (%u of %.4g Gbps)", link_titles[kind], links->counts[kind],
                         links->capacity_bytes_per_s[kind] / GBPS);
        write_curve(writer, PROCESS_LINKS,
                    &(struct curve){name, gbps, links->bins, links->bin_ns, end});
    }
    arena_free(scratch);
}

static void write_power(struct writer *writer)
{
    const struct power_trace *power = writer->of->power;
    struct arena *scratch = arena_new();
    double *kw = arena_array(scratch, power->count, sizeof *kw);
    for (uint32_t i = 0; i < power->count; i++) {
        kw[i] = power->power_w[i] / 1e3;
    }
    trace_process(&writer->lines, PROCESS_SITE, "site", NULL);
    write_curve(writer, PROCESS_SITE,
                &(struct curve){"power, kW", kw, power->count, power->bin_ns, power->end});
    arena_free(scratch);
}

/* ---- which ranks ---------------------------------------------------------------------------- */

struct plan {
    bool *is_shown; /* [ranks] */
    uint32_t *speaker;
    uint32_t count; /* of those shown */
    sim_time until;
};

static struct writer writer_of(const struct step_events *events, const struct plan *plan, FILE *out)
{
    struct writer writer = {
        .of = events, .is_shown = plan->is_shown, .speaker = plan->speaker, .until = plan->until};
    trace_lines_begin(&writer.lines, out);
    return writer;
}

/* Of a class, all that a rank of it may have; its details by time, too, unless that is NULL. */
static uint64_t count_class(const struct step_events *events, const struct plan *plan,
                            uint32_t rank, uint64_t *details)
{
    struct arena *arena = arena_new();
    struct writer writer = writer_of(events, plan, NULL);
    writer.class = events->trace->class_of[rank];
    writer.details = details;
    step_trace_tasks(arena, events->trace, writer.class, &writer.tasks);
    write_rank(&writer, rank);
    trace_lines_end(&writer.lines);
    arena_free(arena);
    return writer.lines.count;
}

static uint64_t count_shared(const struct step_events *events, const struct plan *plan,
                             uint64_t *details)
{
    struct writer writer = writer_of(events, plan, NULL);
    writer.details = details;
    write_path(&writer);
    write_links(&writer);
    write_power(&writer);
    trace_lines_end(&writer.lines);
    return writer.lines.count;
}

/* Those asked for, the most telling first: slow ones, the first of each class, the others. */
static const uint32_t *by_worth(struct arena *arena, const struct step_events *events)
{
    const struct step_trace *trace = events->trace;
    const struct trace_ranks *ranks = &events->ranks;
    uint32_t *items = arena_array(arena, ranks->count, sizeof *items);
    bool *is_told = arena_array(arena, trace->classes, sizeof *is_told);
    bool *is_first = arena_array(arena, ranks->count, sizeof *is_first);
    for (uint32_t i = 0; i < ranks->count; i++) {
        const uint32_t class = trace->class_of[ranks->items[i]];
        is_first[i] = !is_told[class];
        is_told[class] = true;
    }
    uint32_t count = 0;
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < ranks->count; i++) {
            const uint32_t class = trace->class_of[ranks->items[i]];
            const bool is_slow =
                trace->watch->folded->engine.actors[class].speed < ENGINE_FULL_SPEED;
            const uint32_t worth = !is_first[i] ? 2 : is_slow ? 0 : 1;
            if (worth == round) {
                items[count++] = ranks->items[i];
            }
        }
    }
    sim_assert(count == ranks->count);
    return items;
}

/* One rank that is too large: how far its details go. */
static sim_time find_until(const struct step_events *events, const struct plan *plan, uint32_t rank)
{
    uint64_t details[DETAIL_BINS] = {0};
    uint64_t count = count_shared(events, plan, details) + count_class(events, plan, rank, details);
    uint32_t bin = DETAIL_BINS;
    while (bin > 0 && count > STEP_EVENTS_MAX) {
        count -= details[--bin];
    }
    return (sim_time)((double)events->trace->end * bin / (DETAIL_BINS - 1));
}

static void show(const struct step_events *events, struct plan *plan, uint32_t rank)
{
    const uint32_t class = events->trace->class_of[rank];
    plan->is_shown[rank] = true;
    plan->speaker[class] = plan->speaker[class] == ENGINE_NONE ? rank : plan->speaker[class];
    plan->count++;
}

/* The first that fit, as they come; at least one. */
static struct plan plan_of(struct arena *arena, const struct step_events *events)
{
    const struct step_trace *trace = events->trace;
    struct plan plan = {
        .is_shown = arena_array(arena, trace->ranks, sizeof *plan.is_shown),
        .speaker = arena_array(arena, trace->classes, sizeof *plan.speaker),
        .until = INT64_MAX,
    };
    uint64_t *of_class = arena_array(arena, trace->classes, sizeof *of_class);
    for (uint32_t class = 0; class < trace->classes; class ++) {
        plan.speaker[class] = ENGINE_NONE;
    }
    const uint32_t *ranks = by_worth(arena, events);
    uint64_t count = count_shared(events, &plan, NULL);
    for (uint32_t i = 0; i < events->ranks.count; i++) {
        const uint32_t class = trace->class_of[ranks[i]];
        if (of_class[class] == 0) {
            of_class[class] = count_class(events, &plan, ranks[i], NULL);
        }
        count += of_class[class];
        if (count > STEP_EVENTS_MAX && i > 0) {
            break;
        }
        show(events, &plan, ranks[i]);
    }
    if (plan.count == 1 && count > STEP_EVENTS_MAX) {
        plan.until = find_until(events, &plan, ranks[0]);
    }
    return plan;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Those of a class that are shown. */
static void write_class(struct writer *writer, uint32_t class)
{
    const struct step_trace *trace = writer->of->trace;
    struct arena *arena = arena_new();
    writer->class = class;
    step_trace_tasks(arena, writer->of->trace, class, &writer->tasks);
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        if (writer->is_shown[rank] && trace->class_of[rank] == class) {
            write_rank(writer, rank);
        }
    }
    arena_free(arena);
}

static void write_about(struct writer *writer)
{
    const struct step_trace *trace = writer->of->trace;
    trace_lines_about(&writer->lines);
    trace_argument_text(&writer->lines, "producer", "stoker");
    trace_argument_text(&writer->lines, "version", stoker_version());
    trace_argument_text(&writer->lines, "scenario", writer->of->title);
    trace_argument_number(&writer->lines, "step_ns", (double)trace->end);
    trace_argument_number(&writer->lines, "ranks", trace->ranks);
}

struct content {
    const struct step_events *events;
    const struct plan *plan;
    uint64_t *count;
};

static bool write_all(const void *context, FILE *out)
{
    const struct content *content = context;
    struct writer writer = writer_of(content->events, content->plan, out);
    write_path(&writer);
    write_links(&writer);
    write_power(&writer);
    for (uint32_t class = 0; class < content->events->trace->classes && ferror(out) == 0;
         class ++) {
        if (writer.speaker[class] != ENGINE_NONE) {
            write_class(&writer, class);
        }
    }
    write_about(&writer);
    trace_lines_end(&writer.lines);
    *content->count = writer.lines.count;
    return ferror(out) == 0;
}

bool step_events_write(struct arena *arena, const struct step_events *events, const char *path,
                       struct step_events_shown *shown, struct diag *diag)
{
    const struct plan plan = plan_of(arena, events);
    *shown = (struct step_events_shown){
        .ranks = plan.count,
        .until = plan.until < events->trace->end ? plan.until : events->trace->end};
    const struct content content = {events, &plan, &shown->events};
    return trace_lines_file(arena, path, write_all, &content, diag);
}
