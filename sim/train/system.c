/* Channels are appended group by group; each records its members (actor and the
 * stream that is bound to it) and its crossings, and is entered in the members' channel
 * tables. All arrays grow in the arena and are handed to the engine at the end.
 */
#include "train/system.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/fluid.h"
#include "train/metrics.h"

/* Of a group that crosses no link: its messages are a few bytes, their latency is all. */
#define UNLINKED_BYTES_PER_S 1000000000

struct system_builder {
    struct arena *arena;
    const struct scenario *scenario;
    const struct step_options *options;
    struct step_system *system;
    struct engine_actor *actors;
    struct engine_channel *channels;
    struct engine_member *members;
    struct engine_crossing *crossings;
    size_t channel_count, channel_capacity;
    size_t member_count, member_capacity;
    size_t crossing_count, crossing_capacity;
    uint32_t *ranks; /* scratch: one group */
};

/* ---- channels ------------------------------------------------------------------- */

static void add_member(struct system_builder *builder, uint32_t actor, enum stream stream)
{
    builder->members = arena_grow(builder->arena, builder->members, &builder->member_capacity,
                                  builder->member_count + 1, sizeof *builder->members);
    builder->members[builder->member_count++] = (struct engine_member){actor, stream, 1};
    sim_assert(builder->actors[actor].channels[stream] == ENGINE_NONE);
    builder->actors[actor].channels[stream] = (uint32_t)builder->channel_count;
}

/* Appends a channel whose members are the last `member_count` added. */
static void add_channel(struct system_builder *builder, enum channel_kind kind,
                        uint32_t member_count, sim_time latency_ns,
                        const struct fabric_route *route)
{
    const uint32_t crossings = route != NULL ? route->count : 0;
    builder->crossings =
        arena_grow(builder->arena, builder->crossings, &builder->crossing_capacity,
                   builder->crossing_count + crossings + 1, sizeof *builder->crossings);
    for (uint32_t i = 0; i < crossings; i++) {
        builder->crossings[builder->crossing_count + i] =
            (struct engine_crossing){route->crossings[i].link, route->crossings[i].usage};
    }
    builder->channels = arena_grow(builder->arena, builder->channels, &builder->channel_capacity,
                                   builder->channel_count + 1, sizeof *builder->channels);
    builder->channels[builder->channel_count++] = (struct engine_channel){
        .kind = (uint8_t)kind,
        .needed = member_count,
        .member_first = (uint32_t)(builder->member_count - member_count),
        .member_count = member_count,
        .crossing_first = (uint32_t)builder->crossing_count,
        .crossing_count = crossings,
        .latency_ns = latency_ns,
        .cap_bytes_per_s = route != NULL ? route->cap_bytes_per_s : UNLINKED_BYTES_PER_S,
        .multiplicity = 1,
    };
    builder->crossing_count += crossings;
}

static void add_group(struct system_builder *builder, uint32_t count, enum stream stream,
                      const struct fabric_route *route)
{
    for (uint32_t i = 0; i < count; i++) {
        add_member(builder, builder->ranks[i], stream);
    }
    add_channel(builder, CHANNEL_COLLECTIVE, count, 0, route);
}

static struct group_shape add_tensor_groups(struct system_builder *builder)
{
    struct step_system *system = builder->system;
    const struct mesh *mesh = &system->mesh;
    struct group_shape shape = {.ranks = 1, .nodes = 1, .cap_bytes_per_s = UNLINKED_BYTES_PER_S};
    for (uint32_t pp = 0; mesh->tp > 1 && pp < mesh->pp; pp++) {
        for (uint32_t dp = 0; dp < mesh->dp; dp++) {
            struct fabric_route route;
            mesh_tensor_group(mesh, dp, pp, builder->ranks);
            fabric_ring(&system->fabric, builder->ranks, mesh->tp, &route);
            add_group(builder, mesh->tp, STREAM_TENSOR, &route);
            if (shape.ranks == 1 || route.nodes > shape.nodes) { /* the widest sets the latency */
                shape = group_shape_of(&route, mesh->tp);
            }
        }
    }
    return shape;
}

static struct group_shape add_data_groups(struct system_builder *builder)
{
    struct step_system *system = builder->system;
    const struct mesh *mesh = &system->mesh;
    struct group_shape shape = {.ranks = 1, .nodes = 1, .cap_bytes_per_s = UNLINKED_BYTES_PER_S};
    for (uint32_t pp = 0; mesh->dp > 1 && pp < mesh->pp; pp++) {
        for (uint32_t tp = 0; tp < mesh->tp; tp++) {
            struct fabric_route route;
            mesh_data_group(mesh, tp, pp, builder->ranks);
            fabric_ring(&system->fabric, builder->ranks, mesh->dp, &route);
            add_group(builder, mesh->dp, STREAM_DATA_GATHER, &route);
            add_group(builder, mesh->dp, STREAM_DATA_REDUCE, &route);
            if (shape.ranks == 1 || route.nodes > shape.nodes ||
                (route.nodes == shape.nodes && route.hops_max > shape.hops_max)) {
                shape = group_shape_of(&route, mesh->dp);
            }
        }
    }
    return shape;
}

/* ---- between stages ---------------------------------------------------------------- */

/* A channel each way between a rank and its peer on the next stage. */
static void add_boundary(struct system_builder *builder, uint32_t from, uint32_t to)
{
    struct step_system *system = builder->system;
    struct fabric_route route;
    fabric_pair(&system->fabric, from, to, &route);
    const sim_time latency_ns = sim_time_from_s(fabric_message_s(&system->fabric, &route));
    add_member(builder, from, STREAM_SEND_FORWARD);
    add_member(builder, to, STREAM_RECEIVE_FORWARD);
    add_channel(builder, CHANNEL_PAIR, 2, latency_ns, &route);
    if (system->pair.ranks == 1) {
        system->pair = group_shape_of(&route, 2);
    }
    fabric_pair(&system->fabric, to, from, &route);
    add_member(builder, to, STREAM_SEND_BACKWARD);
    add_member(builder, from, STREAM_RECEIVE_BACKWARD);
    add_channel(builder, CHANNEL_PAIR, 2, latency_ns, &route);
}

static void add_boundaries(struct system_builder *builder)
{
    const struct mesh *mesh = &builder->system->mesh;
    const bool wraps = builder->scenario->parallel.virtual_stages > 1;
    const uint32_t boundaries = mesh->pp == 1 ? 0 : wraps ? mesh->pp : mesh->pp - 1;
    const uint32_t per_stage = mesh->tp * mesh->dp;
    for (uint32_t pp = 0; pp < boundaries; pp++) {
        for (uint32_t i = 0; i < per_stage; i++) {
            add_boundary(builder, pp * per_stage + i, (pp + 1) % mesh->pp * per_stage + i);
        }
    }
}

/* Tied embeddings live on the first and the last stage; their gradients are summed. */
static struct group_shape add_embedding_groups(struct system_builder *builder)
{
    struct step_system *system = builder->system;
    const struct mesh *mesh = &system->mesh;
    struct group_shape shape = {.ranks = 1, .nodes = 1, .cap_bytes_per_s = UNLINKED_BYTES_PER_S};
    if (mesh->pp == 1 || !builder->scenario->model.has_tied_embeddings) {
        return shape;
    }
    const uint32_t per_stage = mesh->tp * mesh->dp;
    for (uint32_t i = 0; i < per_stage; i++) {
        struct fabric_route route;
        builder->ranks[0] = i;
        builder->ranks[1] = (mesh->pp - 1) * per_stage + i;
        fabric_ring(&system->fabric, builder->ranks, 2, &route);
        add_group(builder, 2, STREAM_EMBEDDING, &route);
        shape = group_shape_of(&route, 2);
    }
    return shape;
}

static struct group_shape add_world(struct system_builder *builder)
{
    struct step_system *system = builder->system;
    const uint32_t count = mesh_size(&system->mesh);
    for (uint32_t i = 0; i < count; i++) {
        builder->ranks[i] = i;
    }
    add_group(builder, count, STREAM_WORLD, NULL);
    return (struct group_shape){count, system->fabric.nodes, system->fabric.pods > 1 ? 5 : 3,
                                UNLINKED_BYTES_PER_S};
}

static void add_storage(struct system_builder *builder)
{
    struct step_system *system = builder->system;
    for (uint32_t rank = 0; rank < mesh_size(&system->mesh); rank++) {
        struct fabric_route route;
        fabric_to_storage(&system->fabric, rank, builder->options->is_checkpoint_async, &route);
        builder->ranks[0] = rank;
        add_group(builder, 1, STREAM_STORAGE, &route);
    }
}

/* ---- actors and programs --------------------------------------------------------------- */

static uint32_t speed_of(const struct scenario *scenario, uint32_t rank)
{
    for (int64_t i = 0; i < scenario->slow_count; i++) {
        if (scenario->slow[i].rank == rank) {
            const double speed = scenario->slow[i].speed * ENGINE_FULL_SPEED + 0.5;
            return speed < 1 ? 1 : (uint32_t)speed;
        }
    }
    return ENGINE_FULL_SPEED;
}

static void add_actors(struct system_builder *builder)
{
    const struct mesh *mesh = &builder->system->mesh;
    const uint32_t count = mesh_size(mesh);
    builder->actors = arena_array(builder->arena, count, sizeof *builder->actors);
    for (uint32_t rank = 0; rank < count; rank++) {
        struct engine_actor *actor = &builder->actors[rank];
        actor->program = mesh_place_of(mesh, rank).pp;
        actor->speed = speed_of(builder->scenario, rank);
        actor->multiplicity = 1;
        for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
            actor->channels[s] = ENGINE_NONE;
        }
    }
}

static void build_programs(struct system_builder *builder)
{
    struct step_system *system = builder->system;
    struct timing *timing = arena_alloc(builder->arena, sizeof *timing);
    timing_init(builder->scenario, timing);
    const struct program_context context = {
        .arena = builder->arena,
        .scenario = builder->scenario,
        .timing = timing,
        .fabric = &system->fabric,
        .transfers = &system->transfers,
        .tensor = system->tensor,
        .data = system->data,
        .embedding = system->embedding,
        .world = system->world,
        .checkpoint_bytes_per_rank = builder->options->checkpoint_bytes / mesh_size(&system->mesh),
    };
    struct engine_program *programs =
        arena_array(builder->arena, system->mesh.pp, sizeof *programs);
    for (uint32_t stage = 0; stage < system->mesh.pp; stage++) {
        programs[stage] = program_build(&context, stage);
    }
    system->engine.programs = programs;
    system->engine.program_count = system->mesh.pp;
}

static void hand_over(struct system_builder *builder)
{
    struct step_system *system = builder->system;
    struct engine_system *engine = &system->engine;
    const uint32_t links = fabric_link_count(&system->fabric);
    int64_t *capacities = arena_array(builder->arena, links, sizeof *capacities);
    for (uint32_t i = 0; i < links; i++) {
        capacities[i] = system->fabric.capacity[fabric_link_kind(&system->fabric, i)];
    }
    engine->actors = builder->actors;
    engine->channels = builder->channels;
    engine->members = builder->members;
    engine->crossings = builder->crossings;
    engine->link_capacities = capacities;
    engine->transfers = system->transfers.items;
    engine->actor_count = mesh_size(&system->mesh);
    engine->channel_count = (uint32_t)builder->channel_count;
    engine->member_count = (uint32_t)builder->member_count;
    engine->crossing_count = (uint32_t)builder->crossing_count;
    engine->link_count = links;
    engine->transfer_count = (uint32_t)system->transfers.count;
    streams_describe(builder->scenario, engine);
}

struct step_system *system_build(struct arena *arena, const struct scenario *scenario,
                                 const struct step_options *options)
{
    struct step_system *system = arena_alloc(arena, sizeof *system);
    const struct parallel *parallel = &scenario->parallel;
    struct system_builder builder = {
        .arena = arena, .scenario = scenario, .options = options, .system = system};
    system->mesh =
        (struct mesh){(uint32_t)parallel->tp, (uint32_t)parallel->dp, (uint32_t)parallel->pp};
    system->pair.ranks = 1;
    const uint32_t gpus = mesh_size(&system->mesh);
    fabric_init(&system->fabric, arena, &scenario->cluster, &scenario->gpu, gpus);
    builder.ranks = arena_array(arena, gpus > 2 ? gpus : 2, sizeof *builder.ranks);
    add_actors(&builder);
    system->tensor = add_tensor_groups(&builder);
    system->data = add_data_groups(&builder);
    add_boundaries(&builder);
    system->embedding = add_embedding_groups(&builder);
    system->world = add_world(&builder);
    if (options->checkpoint_bytes > 0) {
        add_storage(&builder);
    }
    build_programs(&builder);
    hand_over(&builder);
    return system;
}

/* ---- loads of links -------------------------------------------------------------------- */

/* Bytes that each program's tasks move on each stream. */
static double *program_bytes(struct arena *arena, const struct engine_system *engine)
{
    double *bytes =
        arena_array(arena, (size_t)engine->program_count * STREAM_COUNT_, sizeof *bytes);
    for (uint32_t p = 0; p < engine->program_count; p++) {
        for (uint32_t s = STREAM_COMPUTE + 1; s < STREAM_COUNT_; s++) {
            for (uint32_t i = 0; i < engine->programs[p].counts[s]; i++) {
                const uint32_t number = engine->programs[p].tasks[s][i].transfer;
                bytes[p * STREAM_COUNT_ + s] += (double)engine->transfers[number].bytes;
            }
        }
    }
    return bytes;
}

void system_link_loads(struct arena *arena, const struct step_system *system,
                       struct link_load loads[LINK_KIND_COUNT_])
{
    const struct engine_system *engine = &system->engine;
    const double *bytes = program_bytes(arena, engine);
    double *carried = arena_array(arena, engine->link_count, sizeof *carried);
    for (uint32_t i = 0; i < engine->channel_count; i++) {
        const struct engine_channel *channel = &engine->channels[i];
        const struct engine_member *first = &engine->members[channel->member_first];
        const uint32_t program = engine->actors[first->actor].program;
        const double moved = bytes[program * STREAM_COUNT_ + first->stream];
        for (uint32_t j = 0; j < channel->crossing_count; j++) {
            const struct engine_crossing *crossing =
                &engine->crossings[channel->crossing_first + j];
            carried[crossing->link] += moved * (double)crossing->usage / (double)FLUID_USAGE_ONE;
        }
    }
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        loads[kind] = (struct link_load){.capacity_bytes_per_s = system->fabric.capacity[kind]};
    }
    for (uint32_t link = 0; link < engine->link_count; link++) {
        struct link_load *load = &loads[fabric_link_kind(&system->fabric, link)];
        load->bytes = carried[link] > load->bytes ? carried[link] : load->bytes;
        load->time_s = load->bytes / (double)load->capacity_bytes_per_s;
    }
}
