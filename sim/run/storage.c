/* Each rank of a move that moves anything is an actor with one transfer. A node's signature is what
 * its ranks move; without a network in common, nodes of one signature differ in nothing, so the
 * first is built and the file system's links, which alone they share, are crossed as often as there
 * are such nodes (train/fold's rule, applied by hand).
 */
#include "run/storage.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "des/engine.h"
#include "des/fluid.h"
#include "hw/checkpoint_place.h"
#include "input/scenario.h"
#include "train/fold.h"

enum { STREAM_WORKS, STREAM_MOVES, STREAMS };

struct mover {
    struct arena *arena;
    const struct storage_move *moves;
    uint32_t count;
    struct fabric fabric;
    struct engine_program *programs;
    struct engine_transfer *transfers;
    struct engine_actor *actors;
    struct engine_channel *channels;
    struct engine_path *paths;
    struct engine_member *members;
    struct engine_crossing *crossings;
    size_t programs_room, transfers_room, actors_room, channels_room, paths_room, members_room,
        crossings_room;
    uint32_t program_count, actor_count, crossing_count;
};

/* ---- nodes that are alike --------------------------------------------------------------- */

/* Of the cluster's nodes: the first that is like it, and how many are like that one. */
struct alike {
    uint32_t *first;
    uint32_t *count;
    uint32_t nodes;
};

static uint32_t nodes_of(const struct storage_move *move, uint32_t per_node)
{
    return ((uint32_t)move->scenario->gpus + per_node - 1) / per_node;
}

static uint64_t signature_of(const struct mover *mover, uint32_t node, uint32_t per_node)
{
    uint64_t hash = 0;
    for (uint32_t m = 0; m < mover->count; m++) {
        const struct storage_move *move = &mover->moves[m];
        const uint64_t begin = (uint64_t)(node - move->node_first) * per_node;
        for (uint32_t i = 0; node >= move->node_first && i < per_node; i++) {
            if (begin + i < (uint64_t)move->scenario->gpus) {
                const uint64_t words[] = {m, i, move->kind_of_rank[begin + i]};
                hash = rng_hash_bytes(words, sizeof words, hash);
            }
        }
    }
    return hash;
}

/* A plain scan over the signatures there are: some for each pipeline stage. */
static struct alike find_alike(const struct mover *mover, uint32_t nodes, bool apart)
{
    const uint32_t per_node = (uint32_t)mover->moves[0].scenario->cluster.gpus_per_node;
    struct alike alike = {arena_array(mover->arena, nodes, sizeof *alike.first),
                          arena_array(mover->arena, nodes, sizeof *alike.count), nodes};
    uint64_t *signatures = arena_array(mover->arena, nodes, sizeof *signatures);
    uint32_t *firsts = arena_array(mover->arena, nodes, sizeof *firsts);
    uint32_t kinds = 0;
    for (uint32_t node = 0; node < nodes; node++) {
        const uint64_t signature = apart ? node : signature_of(mover, node, per_node);
        uint32_t kind = apart ? kinds : 0;
        while (kind < kinds && signatures[kind] != signature) {
            kind++;
        }
        if (kind == kinds) {
            firsts[kinds] = node;
            signatures[kinds++] = signature;
        }
        alike.first[node] = firsts[kind];
        alike.count[firsts[kind]]++;
    }
    return alike;
}

/* ---- the system ------------------------------------------------------------------------- */

/* A transfer of that many bytes, and whoever waits for its end. */
static uint32_t add_program(struct mover *mover, double bytes)
{
    struct arena *arena = mover->arena;
    const uint32_t number = mover->program_count++;
    mover->programs = arena_grow(arena, mover->programs, &mover->programs_room,
                                 mover->program_count, sizeof *mover->programs);
    mover->transfers = arena_grow(arena, mover->transfers, &mover->transfers_room,
                                  mover->program_count, sizeof *mover->transfers);
    mover->transfers[number] = (struct engine_transfer){.bytes = (int64_t)(bytes + 0.5)};
    struct task *tasks = arena_array(arena, STREAMS, sizeof *tasks);
    tasks[STREAM_WORKS] = (struct task){
        .kind = TASK_COMPUTE, .wait_count = 1, .wait_stream = {STREAM_MOVES}, .wait_ended = {1}};
    tasks[STREAM_MOVES] = (struct task){.kind = TASK_COLLECTIVE, .transfer = number};
    const struct engine_block block = {.tasks = {&tasks[STREAM_WORKS], &tasks[STREAM_MOVES]},
                                       .counts = {1, 1}};
    mover->programs[number] = engine_program_of_one(arena, &block);
    return number;
}

static bool is_shared_by_all(const struct fabric *fabric, uint32_t link)
{
    const enum link_kind kind = fabric_link_kind(fabric, link);
    return kind == LINK_STORAGE || kind == LINK_STORAGE_READ || kind == LINK_STORAGE_BOTH;
}

/* `first`: the GPU of the move's rank 0. */
static void add_path(struct mover *mover, const struct storage_move *move, uint32_t first,
                     uint32_t rank, uint32_t times)
{
    struct fabric_route route;
    fabric_trace_begin(&mover->fabric);
    if (move->source != NULL) {
        fabric_trace_send(&mover->fabric, first + move->source[rank], first + rank,
                          FLUID_USAGE_ONE);
    } else {
        fabric_trace_storage(&mover->fabric, first + rank, move->way);
    }
    fabric_trace_end(&mover->fabric, &route);
    const int64_t cap_bytes_per_s =
        move->source != NULL ? route.cap_bytes_per_s
                             : checkpoint_cap_bytes_per_s(&move->scenario->software, &mover->fabric,
                                                          move->way, route.cap_bytes_per_s);
    mover->paths[mover->actor_count] =
        (struct engine_path){mover->crossing_count, route.count, cap_bytes_per_s};
    mover->crossings =
        arena_grow(mover->arena, mover->crossings, &mover->crossings_room,
                   mover->crossing_count + (size_t)route.count, sizeof *mover->crossings);
    for (uint32_t i = 0; i < route.count; i++) {
        const struct fabric_crossing *crossing = &route.crossings[i];
        const uint64_t each = is_shared_by_all(&mover->fabric, crossing->link) ? times : 1;
        mover->crossings[mover->crossing_count++] =
            (struct engine_crossing){crossing->link, crossing->usage * each};
    }
}

static void add_actor(struct mover *mover, uint32_t number, uint32_t program, uint32_t rank,
                      uint32_t times)
{
    struct arena *arena = mover->arena;
    const uint32_t at = mover->actor_count;
    const size_t count = (size_t)at + 1;
    mover->actors =
        arena_grow(arena, mover->actors, &mover->actors_room, count, sizeof *mover->actors);
    mover->channels =
        arena_grow(arena, mover->channels, &mover->channels_room, count, sizeof *mover->channels);
    mover->paths = arena_grow(arena, mover->paths, &mover->paths_room, count, sizeof *mover->paths);
    mover->members =
        arena_grow(arena, mover->members, &mover->members_room, count, sizeof *mover->members);
    mover->actors[at] = (struct engine_actor){.program = program,
                                              .job = number,
                                              .speed = ENGINE_FULL_SPEED,
                                              .multiplicity = times,
                                              .channels = {ENGINE_NONE, at}};
    mover->members[at] = (struct engine_member){at, STREAM_MOVES, 1};
    mover->channels[at] = (struct engine_channel){.kind = CHANNEL_COLLECTIVE,
                                                  .needed = 1,
                                                  .member_first = at,
                                                  .member_count = 1,
                                                  .path_first = at,
                                                  .path_count = 1,
                                                  .multiplicity = times};
    const struct storage_move *move = &mover->moves[number];
    const uint32_t per_node = (uint32_t)move->scenario->cluster.gpus_per_node;
    add_path(mover, move, move->node_first * per_node, rank, times);
    mover->actor_count++;
}

static uint32_t kinds_of(const struct storage_move *move)
{
    uint32_t kinds = 0;
    for (int64_t rank = 0; rank < move->scenario->gpus; rank++) {
        kinds = move->kind_of_rank[rank] >= kinds ? move->kind_of_rank[rank] + 1 : kinds;
    }
    return kinds;
}

static void add_move(struct mover *mover, uint32_t number, const struct alike *alike)
{
    const struct storage_move *move = &mover->moves[number];
    const uint32_t per_node = (uint32_t)move->scenario->cluster.gpus_per_node;
    const uint32_t kinds = kinds_of(move);
    const uint32_t first = mover->program_count;
    for (uint32_t kind = 0; kind < kinds; kind++) {
        add_program(mover, move->kind_bytes[kind]);
    }
    for (uint32_t rank = 0; rank < (uint32_t)move->scenario->gpus; rank++) {
        const uint32_t node = move->node_first + rank / per_node;
        const uint32_t kind = move->kind_of_rank[rank];
        if (alike->first[node] == node && move->kind_bytes[kind] > 0) {
            add_actor(mover, number, first + kind, rank, alike->count[node]);
        }
    }
}

static struct engine_system system_of(const struct mover *mover)
{
    const uint32_t links = mover->fabric.link_count;
    int64_t *capacities = arena_array(mover->arena, links, sizeof *capacities);
    for (uint32_t i = 0; i < links; i++) {
        capacities[i] = fabric_link_capacity(&mover->fabric, i);
    }
    return (struct engine_system){
        .programs = mover->programs,
        .actors = mover->actors,
        .channels = mover->channels,
        .paths = mover->paths,
        .members = mover->members,
        .crossings = mover->crossings,
        .link_capacities = capacities,
        .transfers = mover->transfers,
        .streams = {{"works", 0, 0, 0}, {"moves", 1, 1, 0}},
        .program_count = mover->program_count,
        .actor_count = mover->actor_count,
        .channel_count = mover->actor_count,
        .member_count = mover->actor_count,
        .crossing_count = mover->crossing_count,
        .link_count = links,
        .path_count = mover->actor_count,
        .transfer_count = mover->program_count,
        .stream_count = STREAMS,
        .cause_count = 2,
        .job_count = mover->count,
    };
}

void storage_run(struct arena *arena, const struct storage_move *moves, uint32_t count,
                 sim_time *ends)
{
    const struct scenario *first = moves[0].scenario;
    const uint32_t per_node = (uint32_t)first->cluster.gpus_per_node;
    struct mover mover = {.arena = arena, .moves = moves, .count = count};
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t last = moves[i].node_first + nodes_of(&moves[i], per_node);
        nodes = last > nodes ? last : nodes;
        ends[i] = 0;
    }
    fabric_init(&mover.fabric, arena, &first->cluster, &first->gpu, nodes * per_node,
                (uint64_t)first->seed);
    bool apart = false;
    for (uint32_t i = 0; i < count; i++) {
        apart = apart || moves[i].source != NULL ||
                fabric_storage_uses_nics(&first->cluster, moves[i].way);
    }
    const struct alike alike = find_alike(&mover, nodes, apart);
    for (uint32_t i = 0; i < count; i++) {
        add_move(&mover, i, &alike);
    }
    if (mover.actor_count == 0) {
        return;
    }
    const struct engine_system whole = system_of(&mover);
    const struct engine_system system = apart ? fold_system(arena, &whole)->engine : whole;
    struct engine_outcome outcome;
    engine_run(arena, &system, NULL, &outcome);
    for (uint32_t i = 0; i < count; i++) {
        ends[i] = outcome.jobs[i].end;
    }
}
