/* A builder of programs whose lists are emptied before each part, and a walk over the tasks of the
 * lists: a task ends when the one before it on its stream and those that it waits for have ended,
 * and its own time has passed. Before each part the host is as far ahead as can be.
 */
#include "train/bound/alone.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/scenario.h"
#include "train/program/program_block.h"
#include "train/program/program_builder.h"
#include "train/program/program_ends.h"
#include "train/program/program_layer.h"

#include <math.h>

/* Above what a run of an ensemble may have more of bandwidth. */
static const double SHORTER = 1.0 - 0.0005;

/* Of so large a buffer the fastest algorithm and protocol are taken. */
static const double LARGE_BYTES = 1e12;

double alone_shorter(double time)
{
    return time * SHORTER;
}

struct alone {
    struct arena *arena;
    struct step_system *system;
    const struct scenario *scenario;
    struct parallel parallel;   /* the scenario's, but no head is put off */
    struct recompute recompute; /* of the part that is being written */
    struct program_job job;
    struct timing timing;
    struct routing_load routing; /* of its tokens */
    struct transfer_table transfers;
    struct program_context context;
    struct builder builder;
    bool is_regular[GROUP_KIND_COUNT_]; /* all groups of the kind are alike; of those asked for */
    sim_time *ends[STREAM_COUNT_];      /* per task of the part */
    size_t capacities[STREAM_COUNT_];
    int64_t *transfer_ns; /* per transfer of the table, -1: not yet known */
    size_t transfer_count, transfer_capacity;
};

/* ---- groups ------------------------------------------------------------------------------ */

/* Whether a group lies over `nodes` nodes with as many ranks in each. */
static bool is_spread_over(const struct alone *alone, enum group_kind kind, uint32_t number,
                           uint32_t nodes, uint32_t *ranks)
{
    const struct system_job *job = &alone->system->jobs[0];
    const uint32_t size = groups_size(&job->layout, kind);
    groups_members(&job->layout, kind, number, ranks);
    uint32_t found = 0;
    uint32_t run = 0;
    uint32_t before = UINT32_MAX;
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t node =
            fabric_domain_of(&alone->system->fabric, system_gpu_of(job, ranks[i]));
        if (node != before && before != UINT32_MAX && run * nodes != size) {
            return false;
        }
        found += node != before;
        run = node != before ? 1 : run + 1;
        before = node;
    }
    return found == nodes && run * nodes == size;
}

/* Inside of nodes all are: the widest is. Else all lie over as many nodes, as many ranks in each;
 * they may differ in the switches between. */
static bool is_regular(const struct alone *alone, enum group_kind kind)
{
    const struct system_job *job = &alone->system->jobs[0];
    const struct group_shape *shape = &job->groups[kind];
    const struct cluster *cluster = &alone->scenario->cluster;
    if (shape->ranks == 1 || shape->nodes == 1) {
        return true;
    }
    if (cluster->routing != ROUTING_ADAPTIVE || cluster->fabric_kind == FABRIC_EXPLICIT) {
        return false;
    }
    const uint32_t count = groups_count(&job->layout, kind);
    uint32_t *ranks = arena_array(alone->arena, shape->ranks, sizeof *ranks);
    uint32_t number = 0;
    while (number < count && is_spread_over(alone, kind, number, shape->nodes, ranks)) {
        number++;
    }
    return number == count;
}

/* Nothing is sent in groups that may differ. */
static struct group_shape shape_of(const struct alone *alone, enum group_kind kind)
{
    static const struct group_shape nobody = {.ranks = 1, .nodes = 1};
    return alone->is_regular[kind] ? alone->system->jobs[0].groups[kind] : nobody;
}

static void choose_groups(struct alone *alone)
{
    const struct system_job *job = &alone->system->jobs[0];
    static const enum group_kind kinds[] = {GROUP_TENSOR,        GROUP_CONTEXT, GROUP_EXPERT,
                                            GROUP_EXPERT_TENSOR, GROUP_DATA,    GROUP_EXPERT_DATA};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        alone->is_regular[kinds[i]] = is_regular(alone, kinds[i]);
    }
    const bool is_tensor = mesh_experts_use_tensor_lines(&job->mesh);
    struct program_context *context = &alone->context;
    context->tensor = shape_of(alone, GROUP_TENSOR);
    context->context = shape_of(alone, GROUP_CONTEXT);
    context->expert = shape_of(alone, GROUP_EXPERT);
    context->expert_tensor = shape_of(alone, is_tensor ? GROUP_TENSOR : GROUP_EXPERT_TENSOR);
    context->expert_tensor_stream = is_tensor ? STREAM_TENSOR : STREAM_EXPERT_TENSOR;
    const struct group_shape nobody = {.ranks = 1, .nodes = 1};
    context->data = context->replica = context->expert_data = context->expert_replica = nobody;
    context->local = context->across = context->embedding = nobody;
    context->scales = context->world = nobody;
}

/* ---- timing ------------------------------------------------------------------------------ */

static void time_kernels(struct alone *alone)
{
    const struct timing_runner runner = timing_runner_of(alone->scenario);
    const struct cost_shape shape = timing_shape(alone->scenario, 0);
    timing_init(&runner, &shape, &alone->timing);
}

/* Of all segments these alone depend on what is computed again: of layers without experts, and
 * with. */
static void set_recompute(struct alone *alone, const struct recompute *recompute)
{
    static const enum segment_kind kinds[] = {SEGMENT_SELECTIVE_RECOMPUTE,
                                              SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS};
    const bool is_selective = recompute->kind == RECOMPUTE_SELECTIVE;
    alone->recompute = *recompute;
    for (uint32_t layer = 0; layer < alone->scenario->model.kind_count; layer++) {
        struct cost_shape shape = timing_shape(alone->scenario, layer);
        shape.recompute_modules = is_selective ? recompute->modules : 0;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            struct segment segment = {.count = 0};
            cost_segment(&shape, kinds[i], &segment);
            alone->timing.segments[layer][kinds[i]] =
                timing_segment(&alone->timing.runner, kinds[i], &segment);
        }
    }
}

struct alone *alone_of_groups(struct arena *arena, struct step_system *system,
                              const struct scenario *scenario)
{
    struct alone *alone = arena_alloc(arena, sizeof *alone);
    *alone = (struct alone){.arena = arena, .system = system, .scenario = scenario};
    choose_groups(alone);
    return alone;
}

struct alone *alone_new(struct arena *arena, struct step_system *system,
                        const struct scenario *scenario)
{
    struct alone *alone = alone_of_groups(arena, system, scenario);
    const struct routing_job router = routing_job_of(scenario);
    const struct software *software = &scenario->software;
    const enum precision precision = (enum precision)scenario->precision;
    alone->routing = routing_of(&router);
    alone->parallel = scenario->parallel;
    alone->parallel.deferred_heads = 0;
    alone->job = program_job_of(scenario);
    alone->job.parallel = &alone->parallel;
    alone->job.recompute = &alone->recompute;
    alone->context.arena = arena;
    alone->context.job = &alone->job;
    alone->context.timing = &alone->timing;
    alone->context.routing = &alone->routing;
    alone->context.setting = &system->setting;
    alone->context.transfers = &alone->transfers;
    alone->context.patterns = arena_array(arena, STREAM_COUNT_, sizeof *alone->context.patterns);
    time_kernels(alone);
    struct builder *builder = &alone->builder;
    builder->context = &alone->context;
    builder->job = &alone->job;
    builder->rows_sent = alone->routing.exchange_rows;
    builder->gather_bytes = software_gather_bytes(software, precision);
    builder->sequence_bytes = software_activation_gather_bytes(software, precision);
    builder->dispatch_bytes = software_dispatch_bytes(software, precision);
    builder->combine_bytes = software_combine_bytes(software, precision);
    builder->lanes.arena = arena;
    struct launch_spans *spans = arena_alloc(arena, sizeof *spans);
    launch_history_init(&builder->launches, arena, spans, software->host_queue);
    return alone;
}

/* ---- transfers ---------------------------------------------------------------------------- */

/* Of all phases, on idle links, at what the group's route carries. */
static int64_t transfer_alone_ns(const struct alone *alone, uint32_t number)
{
    const struct transfer_table *table = &alone->transfers;
    const struct transfer_origin *origin = &table->origins[number];
    struct transfer_quote quote;
    if (!origin->has_quote ||
        !transfer_price(&alone->system->setting, &origin->shape, origin->wish.operation,
                        origin->wish.bytes, origin->algorithm, origin->protocol, &quote)) {
        return 0;
    }
    double ns = 0;
    uint32_t phase = 0;
    for (uint32_t next = number + 1; next != 0 && phase < quote.phase_count; phase++) {
        const struct engine_transfer *item = &table->items[next - 1];
        const double share = item->share > 0 ? (double)item->share / ENGINE_FULL_SPEED : 1.0;
        ns += (double)item->latency_ns +
              (double)item->bytes / (quote.caps_bytes_per_s[phase] * share) * 1e9;
        next = item->next;
    }
    return (int64_t)(ns * SHORTER);
}

static int64_t transfer_ns(struct alone *alone, uint32_t number)
{
    alone->transfer_ns = arena_grow(alone->arena, alone->transfer_ns, &alone->transfer_capacity,
                                    (size_t)number + 1, sizeof *alone->transfer_ns);
    for (; alone->transfer_count <= number; alone->transfer_count++) {
        alone->transfer_ns[alone->transfer_count] = -1;
    }
    if (alone->transfer_ns[number] < 0) {
        alone->transfer_ns[number] = transfer_alone_ns(alone, number);
    }
    return alone->transfer_ns[number];
}

/* ---- the walk ------------------------------------------------------------------------------ */

static void begin_part(struct alone *alone)
{
    struct builder *builder = &alone->builder;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        builder->lists[s].count = 0;
        builder->needed[s] = 0;
    }
    builder->next = (struct task){.cause = CAUSE_COMPUTE};
    builder->has_work = false;
    builder->host_wait_ns = 0;
    launch_history_run_ahead(&builder->launches);
}

/* Takes the tasks of a stream as far as what they wait for has been taken. */
static bool advance(struct alone *alone, uint32_t stream, bool is_apart, size_t *taken)
{
    const struct task_list *list = &alone->builder.lists[stream];
    const size_t before = taken[stream];
    sim_time *ends = alone->ends[stream];
    while (taken[stream] < list->count) {
        const struct task *task = &list->tasks[taken[stream]];
        sim_time start = taken[stream] > 0 ? ends[taken[stream] - 1] : 0;
        for (uint32_t i = 0; i < task->wait_count; i++) {
            const uint32_t ended = (uint32_t)task->wait_ended[i];
            if (ended > taken[task->wait_stream[i]]) {
                return taken[stream] > before;
            }
            const sim_time end = alone->ends[task->wait_stream[i]][ended - 1];
            start = end > start ? end : start;
        }
        int64_t own_ns = task->work_ns;
        if (task->kind != TASK_COMPUTE) {
            const bool is_hidden = is_apart && stream == STREAM_EXPERT;
            own_ns = is_hidden ? 0 : transfer_ns(alone, task->transfer);
        }
        ends[taken[stream]++] = start + own_ns;
    }
    return taken[stream] > before;
}

/* When the compute stream may go on. */
static int64_t walk(struct alone *alone, bool is_apart)
{
    const struct task_list *compute = &alone->builder.lists[STREAM_COMPUTE];
    size_t taken[STREAM_COUNT_] = {0};
    bool goes_on = true;
    while (goes_on) {
        goes_on = false;
        for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
            goes_on = advance(alone, s, is_apart, taken) || goes_on;
        }
    }
    sim_assert(taken[STREAM_COMPUTE] == compute->count);
    return compute->count > 0 ? alone->ends[STREAM_COMPUTE][compute->count - 1] : 0;
}

static struct alone_time end_part(struct alone *alone)
{
    struct builder *builder = &alone->builder;
    builder_flush(builder);
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        alone->ends[s] = arena_grow(alone->arena, alone->ends[s], &alone->capacities[s],
                                    builder->lists[s].count + 1, sizeof *alone->ends[s]);
    }
    struct alone_time time = {.serial_ns = walk(alone, false)};
    time.apart_ns = builder->lists[STREAM_EXPERT].count > 0 ? walk(alone, true) : time.serial_ns;
    /* What waits for its launch here may find it done behind kernels of the other half. */
    time.apart_ns -= builder->host_wait_ns;
    time.work_ns -= builder->host_wait_ns;
    const struct task_list *compute = &builder->lists[STREAM_COMPUTE];
    for (size_t i = 0; i < compute->count; i++) {
        time.work_ns += compute->tasks[i].work_ns;
        time.busy_ns += compute->tasks[i].work_ns - (int64_t)compute->tasks[i].launch_ns;
    }
    const struct task_list *exchanges = &builder->lists[STREAM_EXPERT];
    for (size_t i = 0; i < exchanges->count; i++) {
        time.exchange_ns += transfer_ns(alone, exchanges->tasks[i].transfer);
    }
    sim_assert(time.work_ns <= time.apart_ns);
    sim_assert(time.apart_ns <= time.serial_ns);
    return time;
}

/* ---- parts --------------------------------------------------------------------------------- */

static struct alone_time sum(struct alone_time a, struct alone_time b)
{
    return (struct alone_time){a.serial_ns + b.serial_ns, a.apart_ns + b.apart_ns,
                               a.work_ns + b.work_ns, a.busy_ns + b.busy_ns,
                               a.exchange_ns + b.exchange_ns};
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static struct alone_time shorter(struct alone_time a, struct alone_time b)
{
    return (struct alone_time){smaller(a.serial_ns, b.serial_ns), smaller(a.apart_ns, b.apart_ns),
                               smaller(a.work_ns, b.work_ns), smaller(a.busy_ns, b.busy_ns),
                               smaller(a.exchange_ns, b.exchange_ns)};
}

static void find_either(struct alone_time parts[ALONE_PART_COUNT_])
{
    parts[ALONE_EITHER] =
        shorter(parts[ALONE_BOTH], sum(parts[ALONE_INPUTS], parts[ALONE_WEIGHTS]));
}

struct alone_layer alone_layer_of(struct alone *alone, uint32_t kind,
                                  const struct recompute *recompute)
{
    struct builder *builder = &alone->builder;
    const bool is_full = recompute->kind == RECOMPUTE_FULL;
    const struct layer_backward_options both = {is_full, false};
    const struct layer_backward_options inputs = {is_full, true};
    struct alone_layer layer;
    set_recompute(alone, recompute);
    begin_part(alone);
    layer_forward(builder, CAUSE_COMPUTE, kind);
    layer.forward = end_part(alone);
    begin_part(alone);
    layer_backward(builder, kind, &both);
    layer.backward[ALONE_BOTH] = end_part(alone);
    begin_part(alone);
    layer_backward(builder, kind, &inputs);
    layer.backward[ALONE_INPUTS] = end_part(alone);
    begin_part(alone);
    layer_weights(builder, kind);
    layer.backward[ALONE_WEIGHTS] = end_part(alone);
    find_either(layer.backward);
    return layer;
}

struct alone_ends alone_ends_of(struct alone *alone, const struct recompute *recompute)
{
    struct builder *builder = &alone->builder;
    struct alone_ends ends;
    set_recompute(alone, recompute);
    alone->recompute.layers = 0;
    begin_part(alone);
    ends_embedding(builder);
    ends.embedding = end_part(alone);
    begin_part(alone);
    ends_embedding_weights(builder);
    ends.embedding_backward = end_part(alone);
    begin_part(alone);
    ends_head(builder);
    ends.head = end_part(alone);
    begin_part(alone);
    ends_head_backward(builder, false);
    ends.head_backward[ALONE_BOTH] = end_part(alone);
    begin_part(alone);
    ends_head_backward(builder, true);
    ends.head_backward[ALONE_INPUTS] = end_part(alone);
    begin_part(alone);
    ends_head_weights(builder);
    ends.head_backward[ALONE_WEIGHTS] = end_part(alone);
    find_either(ends.head_backward);
    return ends;
}

int64_t alone_receive_ns(struct alone *alone, uint32_t kind, bool is_forward)
{
    struct builder *builder = &alone->builder;
    if (alone->parallel.is_sequence_parallel ||
        !software_scatters(&alone->scenario->software, is_forward)) {
        return 0;
    }
    begin_part(alone);
    builder_collective(builder, STREAM_TENSOR, &alone->context.tensor, COLLECTIVE_ALL_GATHER,
                       builder_activation_bytes(builder, kind));
    builder_need(builder, STREAM_TENSOR);
    return end_part(alone).serial_ns;
}

/* Of a share for each tensor-parallel rank, or whole. */
static double message_bytes(const struct alone *alone, double whole_bytes, bool is_forward)
{
    const bool is_share = alone->parallel.is_sequence_parallel ||
                          software_scatters(&alone->scenario->software, is_forward);
    return whole_bytes / (is_share ? (double)alone->parallel.tp : 1.0);
}

/* Of pieces in a vee both ways have activations and gradients. */
struct alone_messages alone_messages_of(const struct alone *alone)
{
    const struct cluster *cluster = &alone->scenario->cluster;
    double bytes = HUGE_VAL;
    for (uint32_t kind = 0; kind < alone->scenario->model.kind_count; kind++) {
        bytes = fmin(bytes, builder_activation_bytes(&alone->builder, kind));
    }
    const double least =
        fmin(message_bytes(alone, bytes, true), message_bytes(alone, bytes, false));
    return (struct alone_messages){
        .system = alone->system,
        .are_regular = alone->system->jobs[0].mesh.pp > 1 && cluster->routing == ROUTING_ADAPTIVE &&
                       cluster->fabric_kind != FABRIC_EXPLICIT,
        .bytes = {least, least},
    };
}

double alone_byte_ns(struct alone *alone, enum group_kind kind, enum collective_operation operation)
{
    const struct group_shape *shape = &alone->system->jobs[0].groups[kind];
    if (shape->ranks == 1 || !alone->is_regular[kind]) {
        return 0;
    }
    struct transfer_quote quote;
    transfer_quote(&alone->system->setting, shape, operation, LARGE_BYTES, &quote);
    double s = 0;
    for (uint32_t i = 0; i < quote.phase_count; i++) {
        s += quote.phases[i].bytes / fmin(quote.caps_bytes_per_s[i], quote.rates_bytes_per_s[i]);
    }
    return s / LARGE_BYTES * 1e9 * SHORTER;
}

/* Of each of the n / N ranks in a domain a like part of (N - 1) / N. */
double alone_nic_byte_ns(const struct alone *alone, enum group_kind kind)
{
    const struct group_shape *shape = &alone->system->jobs[0].groups[kind];
    if (shape->nodes == 1 || !alone->is_regular[kind]) {
        return 0;
    }
    const double part = (double)(shape->nodes - 1) / (double)shape->ranks;
    return alone_shorter(part * border_nic_byte_ns(&alone->system->fabric));
}

struct alone_share alone_share_of(struct alone *alone, enum group_kind kind,
                                  enum collective_operation operation, double bytes)
{
    const struct group_shape *shape = &alone->system->jobs[0].groups[kind];
    if (shape->ranks == 1 || !alone->is_regular[kind] || bytes <= 0) {
        return (struct alone_share){ENGINE_NONE, 0};
    }
    struct transfer_quote quote;
    transfer_quote(&alone->system->setting, shape, operation, bytes, &quote);
    double slowest_s = 0;
    double byte_ns = 0;
    for (uint32_t i = 0; i < quote.phase_count; i++) {
        const double s = quote.phases[i].bytes / quote.rates_bytes_per_s[i];
        if (s > slowest_s) {
            slowest_s = s;
            byte_ns = quote.phases[i].bytes / quote.caps_bytes_per_s[i] / bytes * 1e9;
        }
    }
    return (struct alone_share){quote.bottleneck, byte_ns * SHORTER};
}
