/* The consumer is an actor: stream 0 computes steps, step i after batch i was made. A worker is a
 * stream of batches, i % workers each, and batch i begins when batch i - ahead was taken: when step
 * i - ahead - 1 is over (its own batch was made earlier, on the same stream).
 *
 *     consumer    step 0 | step 1 | step 2 | ...       step i waits for batch i
 *     worker 0    batch 0   batch W   batch 2W ...     batch i waits for i - ahead steps
 *     worker 1    batch 1   batch W+1 ...
 *
 * An actor has few streams (ENGINE_STREAMS_MAX). Further workers are streams of *relays*, actors
 * that pass messages of no bytes on: the consumer's that a batch is to be made, and back that it is
 * there. Main processes are a job of their own, one flow that outlasts the consumer.
 */
#include "hw/dataloader.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "des/engine.h"

#include <math.h>

enum { CAUSE_STEP, CAUSE_WAIT, CAUSES };

/* Streams of relays, and of the consumer where it has relays. */
enum { STREAM_STEPS = 0, RELAY_ASKED = 1, RELAY_READY = 2, RELAY_WORKERS = 3 };
enum {
    OWN_WORKERS_MAX = ENGINE_STREAMS_MAX - 1,
    RELAY_WORKERS_MAX = ENGINE_STREAMS_MAX - RELAY_WORKERS,
    RELAYS_MAX = (ENGINE_STREAMS_MAX - 1) / 2,
};
_Static_assert(RELAY_WORKERS_MAX *RELAYS_MAX >= DATALOADER_WORKERS_MAX,
               "all workers have a stream");

#define CORE_PER_S 1000000000 /* work in ns of one core */

enum { LINK_CORES, LINK_NODE, LINK_SYSTEM, LINK_REQUESTS, LINKS };

/* A stream that grows task by task. */
struct row {
    struct task *tasks;
    size_t room;
    uint32_t count;
};

struct loader {
    struct arena *arena;
    const struct dataloader_options *options;
    uint32_t workers, relays, steps, ahead;
    uint32_t parts; /* tasks of a step: one may be longer than the engine's longest task */
    sim_time step_ns;
    struct row (*rows)[ENGINE_STREAMS_MAX]; /* by actor */
    struct engine_transfer *transfers;
    size_t transfers_room;
    uint32_t transfer_count;
    uint32_t equal; /* the transfer of all batches, where they are equal */
    /* Per batch, from the engine: when it was made, and taken. */
    sim_time *made, *taken;
    sim_time end;
};

/* ---- a batch ------------------------------------------------------------------------------ */

static const double AMOUNT_MAX = 4e18; /* of a flow */

/* Over the mean: of one sample, or the mean of several. */
static double size_of(const struct dataloader_options *options, struct rng_key key)
{
    const double spread = options->spread;
    const uint32_t samples = options->samples > 0 ? options->samples : 1;
    double sum = 0;
    for (uint32_t i = 0; i < samples; i++) {
        key.operation = i;
        sum += options->law == BATCHES_LOGNORMAL
                   ? rng_lognormal(&key, -0.5 * spread * spread, spread)
                   : rng_exponential(&key, 1.0);
    }
    return sum / samples;
}

struct dataloader_batch dataloader_batch_of(const struct dataloader_options *options, uint64_t rank,
                                            uint32_t batch)
{
    const bool is_first = options->workers > 0 && batch < options->workers;
    const double times = is_first ? 1.0 + options->fills : 1.0;
    const double mean_s = times * sim_time_to_s(options->batch_ns);
    const struct rng_key key = {.seed = options->seed,
                                .stream = rng_stream("dataloader batch time"),
                                .rank = rank,
                                .step = batch};
    const double size = options->law == BATCHES_EQUAL ? 1.0 : size_of(options, key);
    const double requests = times * options->requests * DATALOADER_REQUEST;
    return (struct dataloader_batch){
        .read_bytes = (int64_t)fmin(times * size * options->read_bytes + 0.5, AMOUNT_MAX),
        .requests = options->requests_per_s > 0 ? (int64_t)fmin(requests + 0.5, AMOUNT_MAX) : 0,
        .first_byte_ns = options->first_byte_ns,
        .work_ns = sim_time_from_s(size * mean_s),
    };
}

uint32_t dataloader_phases(const struct dataloader_batch *batch, uint32_t first,
                           struct engine_transfer phases[DATALOADER_PATHS])
{
    uint32_t count = 0;
    if (batch->requests > 0) {
        phases[count++] =
            (struct engine_transfer){.bytes = batch->requests, .path = DATALOADER_REQUESTS};
    }
    if (batch->read_bytes > 0) {
        phases[count++] = (struct engine_transfer){.latency_ns = batch->first_byte_ns,
                                                   .bytes = batch->read_bytes,
                                                   .path = DATALOADER_READ};
    }
    phases[count++] = (struct engine_transfer){.bytes = batch->work_ns, .path = DATALOADER_CORES};
    for (uint32_t i = 0; i + 1 < count; i++) {
        phases[i].next = first + i + 2;
    }
    return count;
}

/* ---- tasks -------------------------------------------------------------------------------- */

static struct task *add_task(struct loader *loader, uint32_t actor, uint32_t stream,
                             enum task_kind kind)
{
    struct row *row = &loader->rows[actor][stream];
    row->tasks = arena_grow(loader->arena, row->tasks, &row->room, row->count + (size_t)1,
                            sizeof *row->tasks);
    row->tasks[row->count] = (struct task){.kind = (uint8_t)kind};
    return &row->tasks[row->count++];
}

static void wait_for(struct task *task, uint32_t stream, uint32_t ended)
{
    task->wait_stream[task->wait_count] = (uint8_t)stream;
    task->wait_ended[task->wait_count++] = (int32_t)ended;
}

static uint32_t add_transfer(struct loader *loader, struct engine_transfer transfer)
{
    loader->transfers = arena_grow(loader->arena, loader->transfers, &loader->transfers_room,
                                   loader->transfer_count + (size_t)1, sizeof *loader->transfers);
    loader->transfers[loader->transfer_count] = transfer;
    return loader->transfer_count++;
}

/* Its first phase. First batches may be larger. */
static uint32_t transfer_of(struct loader *loader, uint32_t batch)
{
    const struct dataloader_options *o = loader->options;
    const bool is_usual = o->law == BATCHES_EQUAL && (o->fills == 0 || batch >= o->workers);
    if (is_usual && loader->equal != ENGINE_NONE) {
        return loader->equal;
    }
    struct engine_transfer phases[DATALOADER_PATHS];
    const struct dataloader_batch is = dataloader_batch_of(o, 0, batch);
    const uint32_t first = loader->transfer_count;
    const uint32_t count = dataloader_phases(&is, first, phases);
    for (uint32_t i = 0; i < count; i++) {
        add_transfer(loader, phases[i]);
    }
    loader->equal = is_usual ? first : loader->equal;
    return first;
}

static uint32_t relay_of(const struct loader *loader, uint32_t worker)
{
    return worker % loader->relays;
}

/* A message of no bytes from the consumer to a relay, or back. */
static void add_message(struct loader *loader, uint32_t relay, bool is_back)
{
    const uint32_t own = 1 + (is_back ? 0 : loader->relays) + relay;
    struct task *task = is_back ? add_task(loader, 0, own, TASK_RECEIVE)
                                : add_task(loader, 1 + relay, RELAY_ASKED, TASK_RECEIVE);
    task->transfer = 0;
}

/* Batch i on its worker, and all that hands it out. */
static void add_batch(struct loader *loader, uint32_t batch)
{
    const uint32_t worker = batch % loader->workers;
    const bool is_asked = batch >= loader->ahead;
    const uint32_t steps_over = is_asked ? (batch - loader->ahead) * loader->parts : 0;
    const uint32_t transfer = transfer_of(loader, batch);
    if (loader->relays == 0) {
        struct task *task = add_task(loader, 0, 1 + worker, TASK_COLLECTIVE);
        task->transfer = transfer;
        if (steps_over > 0) {
            wait_for(task, STREAM_STEPS, steps_over);
        }
        return;
    }
    const uint32_t relay = relay_of(loader, worker);
    const uint32_t stream = RELAY_WORKERS + worker / loader->relays;
    if (is_asked) {
        struct task *asks = add_task(loader, 0, 1 + loader->relays + relay, TASK_SEND);
        wait_for(asks, STREAM_STEPS, steps_over);
        add_message(loader, relay, false);
    }
    struct task *task = add_task(loader, 1 + relay, stream, TASK_COLLECTIVE);
    task->transfer = transfer;
    if (is_asked) {
        wait_for(task, RELAY_ASKED, loader->rows[1 + relay][RELAY_ASKED].count);
    }
    struct task *tells = add_task(loader, 1 + relay, RELAY_READY, TASK_SEND);
    wait_for(tells, stream, loader->rows[1 + relay][stream].count);
    add_message(loader, relay, true);
}

static void add_step(struct loader *loader, uint32_t batch)
{
    const uint32_t worker = batch % loader->workers;
    const uint32_t stream = 1 + (loader->relays == 0 ? worker : relay_of(loader, worker));
    for (uint32_t part = 0; part < loader->parts; part++) {
        struct task *task = add_task(loader, 0, STREAM_STEPS, TASK_COMPUTE);
        task->cause = CAUSE_STEP;
        task->work_ns = loader->step_ns / loader->parts +
                        (part < (uint32_t)(loader->step_ns % loader->parts) ? 1 : 0);
        if (part == 0) {
            wait_for(task, stream, loader->rows[0][stream].count);
        }
    }
}

/* ---- the machine ------------------------------------------------------------------------ */

struct machine {
    struct engine_program *programs;
    struct engine_actor *actors;
    struct engine_channel *channels;
    struct engine_path *paths;
    struct engine_member *members;
    struct engine_crossing crossings[LINKS + 1];
    int64_t capacities[LINKS];
    uint32_t actor_count, channel_count, path_count, member_count;
};

/* Cores are crossed by all workers of the node, or by its main processes (3). */
static void lay_links(const struct dataloader_options *o, struct machine *machine)
{
    const uint32_t all = o->all_loaders > o->loaders ? o->all_loaders : o->loaders;
    machine->capacities[LINK_CORES] = (int64_t)o->cores * CORE_PER_S;
    machine->capacities[LINK_REQUESTS] = o->requests_per_s * DATALOADER_REQUEST + 1;
    machine->capacities[LINK_NODE] = o->node_bytes_per_s > 0 ? o->node_bytes_per_s : 1;
    machine->capacities[LINK_SYSTEM] = o->system_bytes_per_s > 0 ? o->system_bytes_per_s : 1;
    const uint64_t one = FLUID_USAGE_ONE;
    machine->crossings[0] = (struct engine_crossing){LINK_NODE, one * o->loaders};
    machine->crossings[1] = (struct engine_crossing){LINK_SYSTEM, one * all};
    machine->crossings[2] = (struct engine_crossing){LINK_CORES, one * o->loaders};
    machine->crossings[3] = (struct engine_crossing){LINK_CORES, one * o->mains};
    machine->crossings[4] = (struct engine_crossing){LINK_REQUESTS, one * all};
}

static void add_channel(struct machine *machine, enum channel_kind kind, uint32_t members,
                        uint32_t paths)
{
    machine->channels[machine->channel_count++] =
        (struct engine_channel){.kind = (uint8_t)kind,
                                .needed = members,
                                .member_first = machine->member_count - members,
                                .member_count = members,
                                .path_first = machine->path_count - paths,
                                .path_count = paths,
                                .multiplicity = 1};
}

static void add_member(struct machine *machine, uint32_t actor, uint32_t stream)
{
    machine->members[machine->member_count++] = (struct engine_member){actor, stream, 1};
    machine->actors[actor].channels[stream] = machine->channel_count;
}

static void add_worker(const struct dataloader_options *o, struct machine *machine, uint32_t actor,
                       uint32_t stream)
{
    const int64_t links = machine->capacities[LINK_NODE] < machine->capacities[LINK_SYSTEM]
                              ? machine->capacities[LINK_NODE]
                              : machine->capacities[LINK_SYSTEM];
    const int64_t least =
        o->stream_bytes_per_s > 0 && o->stream_bytes_per_s < links ? o->stream_bytes_per_s : links;
    add_member(machine, actor, stream);
    machine->paths[machine->path_count++] =
        (struct engine_path){0, o->read_bytes > 0 ? 2 : 0, least};
    machine->paths[machine->path_count++] = (struct engine_path){2, 1, CORE_PER_S};
    machine->paths[machine->path_count++] =
        (struct engine_path){4, 1, machine->capacities[LINK_REQUESTS]};
    add_channel(machine, CHANNEL_COLLECTIVE, 1, DATALOADER_PATHS);
}

static void add_pair(struct machine *machine, const struct engine_member ends[2])
{
    add_member(machine, ends[0].actor, ends[0].stream);
    add_member(machine, ends[1].actor, ends[1].stream);
    machine->paths[machine->path_count++] = (struct engine_path){0, 0, CORE_PER_S};
    add_channel(machine, CHANNEL_PAIR, 2, 1);
}

/* Which stream is whose. */
static void connect(const struct loader *loader, struct machine *machine)
{
    for (uint32_t worker = 0; worker < loader->workers; worker++) {
        const uint32_t relay = loader->relays > 0 ? relay_of(loader, worker) : 0;
        const uint32_t actor = loader->relays > 0 ? 1 + relay : 0;
        const uint32_t stream =
            loader->relays > 0 ? RELAY_WORKERS + worker / loader->relays : 1 + worker;
        add_worker(loader->options, machine, actor, stream);
    }
    for (uint32_t relay = 0; relay < loader->relays; relay++) {
        const uint32_t back = 1 + relay;
        add_pair(machine, (const struct engine_member[]){{0, loader->relays + back, 1},
                                                         {1 + relay, RELAY_ASKED, 1}});
        add_pair(machine,
                 (const struct engine_member[]){{1 + relay, RELAY_READY, 1}, {0, back, 1}});
    }
}

double dataloader_crowded_s(const struct dataloader_options *options)
{
    const struct dataloader_options *o = options;
    const double here = (double)o->loaders * (o->workers > 0 ? o->workers : 1);
    const double all = fmax(o->all_loaders, o->loaders) / o->loaders * here;
    const double crowd = fmax(1, (here + o->mains) / o->cores);
    double seconds = crowd * sim_time_to_s(o->batch_ns) + sim_time_to_s(o->first_byte_ns);
    if (o->requests_per_s > 0) {
        seconds += all * o->requests / (double)o->requests_per_s;
    }
    if (o->read_bytes > 0) {
        seconds += o->read_bytes *
                   (all / (double)o->system_bytes_per_s + here / (double)o->node_bytes_per_s);
    }
    if (o->stream_bytes_per_s > 0) {
        seconds += o->read_bytes / (double)o->stream_bytes_per_s;
    }
    return seconds;
}

/* The whole would be over by then, had it one worker that always shares with all. */
static double longest_ns(const struct loader *loader)
{
    const struct dataloader_options *o = loader->options;
    double batches = 0; /* of the usual size */
    for (uint32_t i = 0; i < loader->transfer_count; i++) {
        const struct engine_transfer *phase = &loader->transfers[i];
        batches += phase->path == DATALOADER_CORES && o->batch_ns > 0
                       ? (double)phase->bytes / (double)o->batch_ns
                       : 0;
    }
    batches = fmax(batches, 1) * (o->law == BATCHES_EQUAL ? loader->steps : 1);
    batches += loader->steps + (double)o->fills * loader->workers;
    return batches * dataloader_crowded_s(o) * 1e9 + loader->steps * (double)loader->step_ns;
}

/* One flow for all main processes: each takes what a worker takes. */
static void add_mains(struct loader *loader, struct machine *machine)
{
    const uint32_t actor = machine->actor_count - 1;
    const double longest = 2 * longest_ns(loader) + 1e9;
    struct task *task = add_task(loader, actor, 1, TASK_COLLECTIVE);
    task->transfer =
        add_transfer(loader, (struct engine_transfer){.bytes = (int64_t)fmin(longest, 4e18)});
    machine->actors[actor].job = 1;
    add_member(machine, actor, 1);
    machine->paths[machine->path_count++] = (struct engine_path){3, 1, CORE_PER_S};
    add_channel(machine, CHANNEL_COLLECTIVE, 1, 1);
}

static struct machine machine_of(struct loader *loader)
{
    const bool has_mains = loader->options->mains > 0;
    struct machine machine = {.actor_count = 1 + loader->relays + (has_mains ? 1 : 0)};
    const size_t channels = loader->workers + 2 * (size_t)loader->relays + 1;
    machine.programs = arena_array(loader->arena, machine.actor_count, sizeof *machine.programs);
    machine.actors = arena_array(loader->arena, machine.actor_count, sizeof *machine.actors);
    machine.channels = arena_array(loader->arena, channels, sizeof *machine.channels);
    machine.members = arena_array(loader->arena, 2 * channels, sizeof *machine.members);
    machine.paths = arena_array(loader->arena, DATALOADER_PATHS * channels, sizeof *machine.paths);
    for (uint32_t i = 0; i < machine.actor_count; i++) {
        machine.actors[i] =
            (struct engine_actor){.program = i, .speed = ENGINE_FULL_SPEED, .multiplicity = 1};
        for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
            machine.actors[i].channels[s] = ENGINE_NONE;
        }
    }
    lay_links(loader->options, &machine);
    connect(loader, &machine);
    if (has_mains) {
        add_mains(loader, &machine);
    }
    for (uint32_t i = 0; i < machine.actor_count; i++) {
        struct engine_block block = {{0}, {0}};
        for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
            block.tasks[s] = loader->rows[i][s].tasks;
            block.counts[s] = loader->rows[i][s].count;
        }
        machine.programs[i] = engine_program_of_one(loader->arena, &block);
    }
    return machine;
}

static struct engine_system system_of(const struct loader *loader, const struct machine *machine)
{
    struct engine_system system = {
        .programs = machine->programs,
        .actors = machine->actors,
        .channels = machine->channels,
        .paths = machine->paths,
        .members = machine->members,
        .crossings = machine->crossings,
        .link_capacities = machine->capacities,
        .transfers = loader->transfers,
        .program_count = machine->actor_count,
        .actor_count = machine->actor_count,
        .channel_count = machine->channel_count,
        .member_count = machine->member_count,
        .crossing_count = LINKS + 1,
        .link_count = LINKS,
        .path_count = machine->path_count,
        .transfer_count = loader->transfer_count,
        .stream_count = ENGINE_STREAMS_MAX,
        .cause_count = CAUSES,
        .job_count = loader->options->mains > 0 ? 2 : 1,
        .launch_cause = CAUSE_STEP,
        .interference_cause = CAUSE_STEP,
        .end_cause = CAUSE_WAIT,
    };
    for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
        system.streams[s] = (struct engine_stream){"loader", CAUSE_WAIT, CAUSE_WAIT, 0};
    }
    return system;
}

/* ---- what happened ----------------------------------------------------------------------- */

static void note_task(void *context, uint32_t actor, uint32_t stream, uint32_t index,
                      sim_time start, sim_time end)
{
    struct loader *loader = context;
    if (actor > loader->relays) {
        return; /* main processes */
    }
    if (actor == 0 && stream == STREAM_STEPS) {
        if (index % loader->parts == 0) {
            loader->taken[index / loader->parts] = start;
        }
        loader->end = end;
    } else if (loader->relays == 0 || (actor > 0 && stream >= RELAY_WORKERS)) {
        const uint32_t worker = loader->relays == 0
                                    ? stream - 1
                                    : (stream - RELAY_WORKERS) * loader->relays + actor - 1;
        loader->made[index * loader->workers + worker] = end;
    }
}

/* The buffer is fullest just before a batch is taken: then it holds what is made, of each worker a
 * batch after the other, less what was taken. */
static uint32_t buffered_max(const struct loader *loader)
{
    uint32_t *next = arena_array(loader->arena, loader->workers, sizeof *next);
    uint32_t made = 0;
    uint32_t most = 0;
    for (uint32_t taken = 0; taken < loader->steps; taken++) {
        for (uint32_t worker = 0; worker < loader->workers; worker++) {
            uint64_t batch = (uint64_t)next[worker] * loader->workers + worker;
            while (batch < loader->steps && loader->made[batch] <= loader->taken[taken]) {
                next[worker]++;
                made++;
                batch += loader->workers;
            }
        }
        most = made - taken > most ? made - taken : most;
    }
    return most;
}

static void add_up(const struct loader *loader, struct dataloader_outcome *outcome)
{
    const struct dataloader_options *o = loader->options;
    sim_time over = 0;
    for (uint32_t i = 0; i < loader->steps; i++) {
        const sim_time waited = loader->taken[i] - over;
        sim_assert(waited >= 0);
        outcome->stall_ns += waited;
        outcome->first_stall_ns += i == 0 ? waited : 0;
        outcome->counted_stall_ns += i >= o->counted_from && i < o->counted_to ? waited : 0;
        over = loader->taken[i] + loader->step_ns;
    }
    outcome->total_ns = over;
    outcome->buffered_max = loader->ahead > 0 ? buffered_max(loader) : 0;
    const double bytes = o->read_bytes * loader->steps;
    if (bytes > 0 && over > 0) {
        const double all = o->all_loaders > o->loaders ? o->all_loaders : o->loaders;
        const double rate = bytes / sim_time_to_s(over);
        outcome->reading_share = rate * all / (double)o->system_bytes_per_s;
        outcome->node_share = rate * o->loaders / (double)o->node_bytes_per_s;
    }
}

void dataloader_run(struct arena *arena, const struct dataloader_options *options, sim_time step_ns,
                    uint32_t steps, struct dataloader_outcome *outcome)
{
    sim_assert(options->cores >= 1);
    sim_assert(options->loaders >= 1);
    sim_assert(options->workers <= DATALOADER_WORKERS_MAX);
    *outcome = (struct dataloader_outcome){0};
    const uint32_t workers = options->workers > 0 ? options->workers : 1;
    struct loader loader = {
        .arena = arena,
        .options = options,
        .workers = workers,
        .relays =
            workers <= OWN_WORKERS_MAX ? 0 : (workers + RELAY_WORKERS_MAX - 1) / RELAY_WORKERS_MAX,
        .steps = steps,
        .ahead = options->workers * options->prefetch,
        .parts = (uint32_t)((step_ns + ENGINE_WORK_NS_MAX - 1) / ENGINE_WORK_NS_MAX),
        .step_ns = step_ns,
        .equal = ENGINE_NONE,
    };
    loader.parts = loader.parts > 0 ? loader.parts : 1;
    loader.rows = arena_array(arena, loader.relays + 2U, sizeof *loader.rows);
    loader.made = arena_array(arena, (size_t)steps + 1, sizeof *loader.made);
    loader.taken = arena_array(arena, (size_t)steps + 1, sizeof *loader.taken);
    const uint32_t nothing = add_transfer(&loader, (struct engine_transfer){.bytes = 0});
    sim_assert(nothing == 0);
    for (uint32_t batch = 0; batch < steps; batch++) {
        add_batch(&loader, batch);
        add_step(&loader, batch);
    }
    const struct machine machine = machine_of(&loader);
    const struct engine_system system = system_of(&loader, &machine);
    const struct engine_options hooks = {.on_task = note_task, .context = &loader};
    struct engine_outcome run;
    engine_run(arena, &system, &hooks, &run);
    add_up(&loader, outcome);
    sim_assert(outcome->total_ns == loader.end);
}
