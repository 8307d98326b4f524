/* The system's arrays are copied with room for what is added: loaders in the order of their ranks,
 * then the main processes of each node. Batches that are equal are one chain of transfers, and
 * loaders that deliver as many of these one program, so that folding (train/fold) finds them alike.
 */
#include "train/loading/loaders.h"

#include "base/arena.h"
#include "base/check.h"
#include "plan/mesh.h"
#include "train/transfer.h"

#include <string.h>

#define CORE_PER_S 1000000000 /* work in ns of one core */

enum { DELIVER = STREAM_READ };

struct beside {
    struct arena *arena;
    const struct step_system *system;
    const struct loaders_options *options;
    const struct system_job *job;
    struct engine_system out;
    struct engine_actor *actors;
    struct engine_program *programs;
    struct engine_channel *channels;
    struct engine_path *paths;
    struct engine_member *members;
    struct engine_crossing *crossings;
    struct engine_transfer *transfers;
    size_t transfer_room, crossing_room;
    uint32_t workers, ahead, stock;
    uint32_t equal;         /* the chain of all batches, where they are equal */
    uint32_t *program_of;   /* by batches to be delivered: of equal ones; + 1 */
    uint32_t batches_most;  /* that any loader delivers */
    uint32_t mains_program; /* what main processes do */
    uint32_t cores_first;   /* link of node 0's cores */
    uint32_t requests_link;
    uint32_t nothing; /* a transfer of no bytes */
};

/* ---- who loads ------------------------------------------------------------------------------ */

static uint32_t actor_of(const struct beside *beside, uint32_t rank)
{
    return system_actor_of(beside->system, beside->job, rank);
}

/* Batches that a rank takes, in all steps. */
static uint32_t batches_of(const struct beside *beside, uint32_t rank)
{
    const struct engine_system *engine = &beside->system->engine;
    const uint32_t program = engine->actors[actor_of(beside, rank)].program;
    return engine->programs[program].counts[STREAM_READ];
}

/* The first of those that work on the same sequences. */
static bool loads(const struct beside *beside, uint32_t rank)
{
    const struct mesh_place place = mesh_place_of(&beside->job->mesh, rank);
    return place.tp == 0 && place.cp == 0 && batches_of(beside, rank) > 0;
}

/* ---- what a loader does -------------------------------------------------------------*/

static uint32_t add_transfer(struct beside *beside, struct engine_transfer transfer)
{
    const uint32_t number = beside->out.transfer_count++;
    beside->transfers = arena_grow(beside->arena, beside->transfers, &beside->transfer_room,
                                   beside->out.transfer_count, sizeof *beside->transfers);
    beside->transfers[number] = transfer;
    return number;
}

/* A batch's first phase. First batches may be larger. */
static uint32_t batch_transfer(struct beside *beside, uint32_t rank, uint32_t batch)
{
    const struct dataloader_options *of = beside->options->of;
    if (of->law == BATCHES_EQUAL && beside->equal != ENGINE_NONE) {
        return beside->equal;
    }
    struct engine_transfer phases[DATALOADER_PATHS];
    const struct dataloader_batch is = dataloader_batch_of(of, rank, batch);
    const uint32_t first = beside->out.transfer_count;
    const uint32_t count = dataloader_phases(&is, first, phases);
    for (uint32_t i = 0; i < count; i++) {
        add_transfer(beside, phases[i]);
    }
    beside->equal = first;
    return first;
}

/* Workers have the streams that neither compute nor deliver. */
static uint32_t stream_of(uint32_t worker)
{
    return worker + 1 < DELIVER ? worker + 1 : worker + 2;
}

static void wait_for(struct task *task, uint32_t stream, uint32_t ended)
{
    task->wait_stream[task->wait_count] = (uint8_t)stream;
    task->wait_ended[task->wait_count++] = (int32_t)ended;
}

/* Batch i begins when batch i - ahead was taken; those in stock are there. */
static uint32_t new_program(struct beside *beside, uint32_t rank, uint32_t delivered)
{
    struct engine_block block = {{0}, {0}};
    struct task *tasks[STREAM_COUNT_] = {NULL};
    const uint32_t made = delivered + beside->ahead;
    sim_assert(beside->workers > 0);
    for (uint32_t worker = 0; worker < beside->workers; worker++) {
        tasks[stream_of(worker)] =
            arena_array(beside->arena, made / beside->workers + 1, sizeof **tasks);
    }
    tasks[DELIVER] = arena_array(beside->arena, delivered + (size_t)1, sizeof **tasks);
    for (uint32_t batch = 0; batch < made; batch++) {
        const uint32_t stream = stream_of(batch % beside->workers);
        if (batch >= beside->stock) {
            struct task *task = &tasks[stream][block.counts[stream]++];
            task->kind = TASK_COLLECTIVE;
            task->transfer = batch_transfer(beside, rank, batch + beside->workers);
            if (batch >= beside->ahead) {
                wait_for(task, DELIVER, batch - beside->ahead + 1);
            }
        }
        if (batch < delivered) {
            struct task *task = &tasks[DELIVER][block.counts[DELIVER]++];
            task->kind = TASK_COLLECTIVE;
            task->transfer = beside->nothing;
            if (block.counts[stream] > 0) {
                wait_for(task, stream, block.counts[stream]);
            }
        }
    }
    memcpy(block.tasks, tasks, sizeof tasks);
    beside->programs[beside->out.program_count] = engine_program_of_one(beside->arena, &block);
    return beside->out.program_count++;
}

static uint32_t program_of(struct beside *beside, uint32_t rank)
{
    const uint32_t delivered = batches_of(beside, rank);
    if (beside->options->of->law != BATCHES_EQUAL) {
        return new_program(beside, rank, delivered);
    }
    if (beside->program_of[delivered] == 0) {
        beside->program_of[delivered] = new_program(beside, rank, delivered) + 1;
    }
    return beside->program_of[delivered] - 1;
}

/* ---- channels -----------------------------------------------------------------------*/

static uint32_t add_actor(struct beside *beside, uint32_t program)
{
    const uint32_t number = beside->out.actor_count++;
    struct engine_actor *actor = &beside->actors[number];
    *actor = (struct engine_actor){.program = program,
                                   .job = beside->out.job_count,
                                   .speed = ENGINE_FULL_SPEED,
                                   .multiplicity = 1};
    for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
        actor->channels[s] = ENGINE_NONE;
    }
    return number;
}

static void add_member(struct beside *beside, uint32_t actor, uint32_t stream)
{
    sim_assert(beside->actors[actor].channels[stream] == ENGINE_NONE);
    beside->actors[actor].channels[stream] = beside->out.channel_count;
    beside->members[beside->out.member_count++] = (struct engine_member){actor, stream, 1};
}

static void add_path(struct beside *beside, uint32_t first, uint32_t count, int64_t cap)
{
    beside->paths[beside->out.path_count++] = (struct engine_path){first, count, cap};
}

static void add_channel(struct beside *beside, uint32_t members, uint32_t paths)
{
    beside->channels[beside->out.channel_count++] =
        (struct engine_channel){.kind = CHANNEL_COLLECTIVE,
                                .needed = members,
                                .member_first = beside->out.member_count - members,
                                .member_count = members,
                                .path_first = beside->out.path_count - paths,
                                .path_count = paths,
                                .makes_late = streams_late(CAUSE_DATA_STALL),
                                .multiplicity = 1};
}

static uint32_t add_crossing(struct beside *beside, uint32_t link, uint64_t usage)
{
    const uint32_t number = beside->out.crossing_count++;
    beside->crossings = arena_grow(beside->arena, beside->crossings, &beside->crossing_room,
                                   beside->out.crossing_count, sizeof *beside->crossings);
    beside->crossings[number] = (struct engine_crossing){link, usage};
    return number;
}

static uint32_t node_of(const struct beside *beside, uint32_t rank)
{
    return fabric_node_of(&beside->system->fabric, system_gpu_of(beside->job, rank));
}

/* The workers of a loader cross the same links. */
static void add_workers(struct beside *beside, uint32_t loader, uint32_t rank)
{
    const struct dataloader_options *of = beside->options->of;
    struct fabric fabric = beside->system->fabric;
    struct fabric_route route;
    fabric.arena = beside->arena;
    fabric_trace_begin(&fabric);
    fabric_trace_storage(&fabric, system_gpu_of(beside->job, rank),
                         of->is_local ? STORAGE_READ_LOCAL : STORAGE_READ);
    fabric_trace_end(&fabric, &route);
    const uint32_t read = beside->out.crossing_count;
    for (uint32_t i = 0; i < route.count; i++) {
        add_crossing(beside, route.crossings[i].link, route.crossings[i].usage);
    }
    const uint32_t cores =
        add_crossing(beside, beside->cores_first + node_of(beside, rank), FLUID_USAGE_ONE);
    const uint32_t requests = add_crossing(beside, beside->requests_link, FLUID_USAGE_ONE);
    const int64_t stream = of->stream_bytes_per_s;
    const int64_t cap =
        stream > 0 && stream < route.cap_bytes_per_s ? stream : route.cap_bytes_per_s;
    for (uint32_t worker = 0; worker < beside->workers; worker++) {
        add_path(beside, read, route.count, cap);
        add_path(beside, cores, 1, CORE_PER_S);
        add_path(beside, requests, 1, beside->out.link_capacities[beside->requests_link]);
        add_member(beside, loader, stream_of(worker));
        add_channel(beside, 1, DATALOADER_PATHS);
    }
}

/* Those who work on the same sequences, and the loader. */
static void add_take(struct beside *beside, uint32_t loader, uint32_t rank)
{
    const struct mesh *mesh = &beside->job->mesh;
    struct mesh_place place = mesh_place_of(mesh, rank);
    for (place.cp = 0; place.cp < mesh->cp; place.cp++) {
        for (place.tp = 0; place.tp < mesh->tp; place.tp++) {
            add_member(beside, actor_of(beside, mesh_rank(mesh, &place)), STREAM_READ);
        }
    }
    add_member(beside, loader, DELIVER);
    add_path(beside, 0, 0, UNLINKED_BYTES_PER_S);
    add_channel(beside, mesh->tp * mesh->cp + 1, 1);
}

static void add_loaders(struct beside *beside)
{
    const uint32_t ranks = mesh_size(&beside->job->mesh);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        if (loads(beside, rank)) {
            const uint32_t loader = add_actor(beside, program_of(beside, rank));
            add_take(beside, loader, rank);
            add_workers(beside, loader, rank);
        }
    }
}

/* ---- main processes ------------------------------------------------------------------------- */

static uint32_t new_mains_program(struct beside *beside)
{
    struct engine_block block = {{0}, {0}};
    struct task *task = arena_alloc(beside->arena, sizeof *task);
    *task =
        (struct task){.kind = TASK_COLLECTIVE,
                      .transfer = add_transfer(
                          beside, (struct engine_transfer){.bytes = beside->options->longest_ns})};
    block.tasks[DELIVER] = task;
    block.counts[DELIVER] = 1;
    beside->programs[beside->out.program_count] = engine_program_of_one(beside->arena, &block);
    return beside->out.program_count++;
}

/* One flow for those of a node: each takes what a worker takes. */
static void add_mains(struct beside *beside)
{
    const uint32_t nodes = beside->system->fabric.nodes;
    const uint32_t ranks = mesh_size(&beside->job->mesh);
    uint32_t *mains = arena_array(beside->arena, nodes, sizeof *mains);
    const uint32_t program = new_mains_program(beside);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        mains[node_of(beside, rank)]++;
    }
    for (uint32_t node = 0; node < nodes; node++) {
        if (mains[node] > 0) {
            const uint64_t usage = (uint64_t)mains[node] * FLUID_USAGE_ONE;
            add_path(beside, add_crossing(beside, beside->cores_first + node, usage), 1,
                     CORE_PER_S);
            add_member(beside, add_actor(beside, program), DELIVER);
            add_channel(beside, 1, 1);
        }
    }
}

/* ---- the whole ----------------------------------------------------------------------*/

static void *copied(struct arena *arena, const void *items, uint32_t count, uint32_t more,
                    size_t each)
{
    char *copy = arena_array(arena, (size_t)count + more + 1, each);
    if (count > 0) { /* a GPU by itself moves nothing: `items` is NULL then */
        memcpy(copy, items, count * each);
    }
    return copy;
}

static void make_room(struct beside *beside)
{
    const struct engine_system *old = &beside->system->engine;
    const uint32_t ranks = mesh_size(&beside->job->mesh);
    const uint32_t nodes = beside->system->fabric.nodes;
    uint32_t loaders = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const uint32_t batches = batches_of(beside, rank);
        beside->batches_most = batches > beside->batches_most ? batches : beside->batches_most;
        loaders += loads(beside, rank) ? 1 : 0;
    }
    const uint32_t channels = loaders * (beside->workers + 1) + nodes;
    struct arena *arena = beside->arena;
    beside->out = *old;
    beside->actors =
        copied(arena, old->actors, old->actor_count, loaders + nodes, sizeof *beside->actors);
    beside->programs =
        copied(arena, old->programs, old->program_count, loaders + 1, sizeof *beside->programs);
    beside->channels =
        copied(arena, old->channels, old->channel_count, channels, sizeof *beside->channels);
    beside->paths = copied(arena, old->paths, old->path_count, channels * DATALOADER_PATHS,
                           sizeof *beside->paths);
    beside->members =
        copied(arena, old->members, old->member_count, channels + ranks, sizeof *beside->members);
    beside->crossings =
        copied(arena, old->crossings, old->crossing_count, 0, sizeof *beside->crossings);
    beside->crossing_room = old->crossing_count + (size_t)1;
    beside->transfers =
        copied(arena, old->transfers, old->transfer_count, 0, sizeof *beside->transfers);
    beside->transfer_room = old->transfer_count + (size_t)1;
    beside->program_of =
        arena_array(arena, beside->batches_most + (size_t)1, sizeof *beside->program_of);
}

/* Those of nodes' cores follow the fabric's, then what answers requests. */
static void add_links(struct beside *beside)
{
    const struct engine_system *old = &beside->system->engine;
    const uint32_t nodes = beside->system->fabric.nodes;
    int64_t *capacities =
        copied(beside->arena, old->link_capacities, old->link_count, nodes + 1, sizeof *capacities);
    for (uint32_t node = 0; node < nodes; node++) {
        capacities[old->link_count + node] = (int64_t)beside->options->of->cores * CORE_PER_S;
    }
    beside->cores_first = old->link_count;
    beside->requests_link = old->link_count + nodes;
    capacities[beside->requests_link] =
        beside->options->of->requests_per_s * DATALOADER_REQUEST + 1;
    beside->out.link_count = old->link_count + nodes + 1;
    beside->out.link_capacities = capacities;
}

struct engine_system loaders_beside(struct arena *arena, const struct step_system *system,
                                    const struct loaders_options *options)
{
    const struct dataloader_options *of = options->of;
    sim_assert(of->workers >= 1 && of->workers <= LOADERS_WORKERS_MAX);
    sim_assert(system->orbits == NULL && system->engine.job_count == 1);
    struct beside beside = {
        .arena = arena,
        .system = system,
        .options = options,
        .job = &system->jobs[0],
        .workers = of->workers,
        .ahead = of->workers * of->prefetch,
        .stock = options->starts_full ? of->workers * of->prefetch : 0,
        .equal = ENGINE_NONE,
    };
    make_room(&beside);
    add_links(&beside);
    beside.nothing = add_transfer(&beside, (struct engine_transfer){.bytes = 0});
    add_loaders(&beside);
    add_mains(&beside);
    beside.out.job_count++;
    beside.out.actors = beside.actors;
    beside.out.programs = beside.programs;
    beside.out.channels = beside.channels;
    beside.out.paths = beside.paths;
    beside.out.members = beside.members;
    beside.out.crossings = beside.crossings;
    beside.out.transfers = beside.transfers;
    return beside.out;
}
